//! The time and allocations of single functions.
//!
//!     cargo bench --bench micro               # all
//!     cargo bench --bench micro -- markdown   # some
//!
//! Times need an idle machine; allocation counts are the same everywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark stops when its ground gives way"
)]

#[path = "support/answer.rs"]
mod answer;
#[path = "support/screen.rs"]
mod screen;
#[path = "support/session_fixture.rs"]
#[allow(
    clippy::single_match_else,
    dead_code,
    reason = "shared by programs that each use a part of it"
)]
mod session_fixture;
#[allow(dead_code, reason = "the terminal benchmark uses all of it")]
#[path = "support/wire.rs"]
mod wire;

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher, black_box};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// An answer of some 15,000 characters.
const DELTAS: usize = 3000;
const WIDTH: usize = 120;

mod llm {
    use osier_llm::sse::SseParser;

    use super::wire::Wire;
    use super::{Bencher, BytesCount, DELTAS, answer, black_box};

    fn stream(wire: Wire) -> Vec<String> {
        let text = answer::text(DELTAS);
        let deltas = answer::deltas(DELTAS).map(|delta| wire.delta(&delta));
        let begin = std::iter::once(wire.begin_text());
        begin.chain(deltas).chain([wire.end_text(&text)]).collect()
    }

    /// The events of an answer, one per read.
    #[divan::bench(args = [Wire::Chat, Wire::Messages, Wire::Responses])]
    fn sse(bencher: Bencher, wire: Wire) {
        let reads = stream(wire);
        let bytes = BytesCount::new(reads.iter().map(String::len).sum::<usize>());
        bencher.counter(bytes).bench_local(|| {
            let mut parser = SseParser::default();
            for read in &reads {
                black_box(parser.push(read.as_bytes()).unwrap());
            }
            black_box(parser.finish())
        });
    }
}

mod markdown {
    use osier_markdown::Markdown;

    use super::{Bencher, BytesCount, DELTAS, WIDTH, answer, black_box};

    /// Deltas between two frames of a quick stream.
    const FRAME: usize = 11;

    /// A streaming answer whose last screen is laid out for every frame.
    #[divan::bench(args = [300, DELTAS, 40_000])]
    fn stream(bencher: Bencher, count: usize) {
        let deltas: Vec<String> = answer::deltas(count).collect();
        let bytes = BytesCount::new(deltas.iter().map(String::len).sum::<usize>());
        bencher.counter(bytes).bench_local(|| {
            let mut document = Markdown::new();
            let mut rows = Vec::new();
            for frame in deltas.chunks(FRAME) {
                for delta in frame {
                    document.push(delta);
                }
                let height = document.height(WIDTH);
                rows.clear();
                document.rows(WIDTH, height.saturating_sub(40)..height, &mut rows);
            }
            black_box(rows.len())
        });
    }

    /// A complete document, parsed and measured.
    #[divan::bench]
    fn layout(bencher: Bencher) {
        let text = answer::text(DELTAS);
        bencher
            .counter(BytesCount::of_str(&text))
            .bench_local(|| Markdown::from_text(black_box(&text)).height(WIDTH));
    }

    /// Lays the document out at another width.
    #[divan::bench]
    fn reflow(bencher: Bencher) {
        let mut document = Markdown::from_text(&answer::text(DELTAS));
        let mut widths = (40..WIDTH).cycle();
        bencher.bench_local(|| document.height(widths.next().unwrap_or(WIDTH)));
    }
}

mod text {
    use osier_term::face::Token;
    use osier_term::row::Span;
    use osier_term::wrap::Wrap;

    use super::{Bencher, BytesCount, DELTAS, WIDTH, answer, black_box};

    /// One paragraph of 15,000 characters.
    #[divan::bench]
    fn wrap(bencher: Bencher) {
        let text = answer::text(DELTAS).replace('\n', " ");
        let spans = [Span::new(text.as_str(), Token::Text)];
        bencher.counter(BytesCount::of_str(&text)).bench_local(|| {
            let mut rows = Vec::new();
            Wrap::new(WIDTH).line(black_box(&spans), &mut rows);
            rows
        });
    }
}

mod diff {
    use osier_term::widgets::diff::rows;
    use osier_tools::diff::unified;

    use super::{Bencher, WIDTH, black_box};

    /// Two files of 5,000 lines that differ in every hundredth line.
    fn files() -> (String, String) {
        let line = |number: usize| format!("    let value_{number} = compute({number}, limit);\n");
        let old: String = (0..5000).map(line).collect::<Vec<_>>().concat();
        let new = (0..5000).map(|number| match number % 100 {
            50 => format!("    let changed_{number} = compute({number}, other);\n"),
            _ => line(number),
        });
        (old, new.collect::<Vec<_>>().concat())
    }

    #[divan::bench]
    fn make(bencher: Bencher) {
        let (old, new) = files();
        bencher.bench_local(|| unified("src/value.rs", Some(black_box(&old)), black_box(&new)));
    }

    #[divan::bench]
    fn show(bencher: Bencher) {
        let (old, new) = files();
        let patch = unified("src/value.rs", Some(&old), &new).text;
        bencher.bench_local(|| rows(black_box(&patch), WIDTH as u16, usize::MAX));
    }
}

mod frame {
    use super::screen::Screen;
    use super::{Bencher, DELTAS, answer};

    fn screen() -> Screen {
        Screen::with_answer(&answer::text(DELTAS))
    }

    /// Two frames: a key and its deletion.
    #[divan::bench]
    fn key(bencher: Bencher) {
        let mut screen = screen();
        bencher.bench_local(|| {
            screen.press("a");
            let typed = screen.frame();
            screen.press("backspace");
            typed + screen.frame()
        });
    }

    /// Two frames: a row up and a row down.
    #[divan::bench]
    fn scroll(bencher: Bencher) {
        let mut screen = screen();
        screen.press("pageup");
        screen.frame();
        bencher.bench_local(|| {
            screen.press("shift+up");
            let up = screen.frame();
            screen.press("shift+down");
            up + screen.frame()
        });
    }

    #[divan::bench]
    fn repaint(bencher: Bencher) {
        let mut screen = screen();
        bencher.bench_local(|| {
            screen.writer.repaint();
            screen.frame()
        });
    }

    /// An unchanged frame: layout and comparison only.
    #[divan::bench]
    fn unchanged(bencher: Bencher) {
        let mut screen = screen();
        bencher.bench_local(|| screen.frame());
    }
}

mod highlight {
    use std::sync::{Arc, mpsc};

    use osier_term::highlight::{HighlightRequest, Highlighter};

    use super::{Bencher, BytesCount};

    const SOURCE: &str = include_str!("micro.rs");

    /// This file, highlighted by the thread.
    #[divan::bench]
    fn rust(bencher: Bencher) {
        let (sender, answers) = mpsc::channel();
        let mut highlighter = Highlighter::new(move |lines| drop(sender.send(lines)));
        let lines: Vec<String> = SOURCE.lines().map(str::to_owned).collect();
        bencher.counter(BytesCount::of_str(SOURCE)).bench_local(|| {
            let mut left = lines.len();
            let key = highlighter.new_key();
            highlighter.request(HighlightRequest {
                key,
                language: Arc::from("rust"),
                first_line: 0,
                lines: lines.clone(),
                last: true,
            });
            while left > 0 {
                left -= answers.recv().unwrap().lines.len();
            }
        });
    }
}

mod session {
    use std::path::Path;

    use osier_agent::{AgentMessage, UserMessage};
    use osier_protocol::{EntryKind, Header};
    use osier_store::SessionStore;

    use super::session_fixture::{Shape, write};
    use super::{Bencher, black_box};

    /// Opens a file with this number of entries until the conversation is loaded.
    #[divan::bench(args = [1000, 10_000], sample_count = 20)]
    fn open(bencher: Bencher, entries: usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        write(&path, &Shape::work(entries)).unwrap();
        bencher.bench_local(|| SessionStore::open(black_box(&path)).unwrap());
    }

    /// Stores a prompt: one write that is awaited.
    #[divan::bench]
    fn append(bencher: Bencher) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let header = Header::new(Path::new("/work/project"));
        let store = SessionStore::create(folder.path().join("session.jsonl"), header).unwrap();
        let message = UserMessage {
            text: "What does the parser do with a token that never ends?".to_owned(),
            ..UserMessage::default()
        };
        bencher
            .with_inputs(|| EntryKind::message(AgentMessage::User(message.clone())))
            .bench_local_values(|entry| runtime.block_on(store.append(entry)).unwrap());
    }
}

mod tree {
    use std::sync::Arc;

    use osier_protocol::{Event, Outline, TreeEvent};
    use osier_store::SessionStore;

    use super::screen::Screen;
    use super::session_fixture::{Shape, write};
    use super::{Bencher, black_box};

    const ENTRIES: usize = 100_000;

    fn outline() -> Arc<Outline> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        write(&path, &Shape::messages(ENTRIES)).unwrap();
        let (store, _) = SessionStore::open(&path).unwrap();
        runtime.block_on(store.findings()).unwrap();
        Arc::new(store.index().outline(0))
    }

    /// Opens the tree of 100,000 entries, loads the outline, draws and closes it. Four frames.
    #[divan::bench(sample_count = 30, sample_size = 1)]
    fn open(bencher: Bencher) {
        let outline = outline();
        let mut screen = Screen::start();
        bencher.bench_local(|| {
            screen.press("alt+t");
            let mut bytes = screen.frame();
            screen.tell(&Event::Tree(TreeEvent::Tree {
                request: 0,
                outline: black_box(Arc::clone(&outline)),
            }));
            bytes += screen.frame();
            screen.press("q");
            bytes + screen.frame()
        });
    }

    /// Draws two frames of the tree: a row up and a row down.
    #[divan::bench]
    fn step(bencher: Bencher) {
        let outline = outline();
        let mut screen = Screen::start();
        screen.press("alt+t");
        screen.tell(&Event::Tree(TreeEvent::Tree {
            request: 0,
            outline,
        }));
        screen.frame();
        bencher.bench_local(|| {
            screen.press("up");
            let up = screen.frame();
            screen.press("down");
            up + screen.frame()
        });
    }

    /// Changes the filter of the rows.
    #[divan::bench(sample_count = 30, sample_size = 1)]
    fn filter(bencher: Bencher) {
        let outline = outline();
        let mut screen = Screen::start();
        screen.press("alt+t");
        screen.tell(&Event::Tree(TreeEvent::Tree {
            request: 0,
            outline,
        }));
        screen.frame();
        bencher.bench_local(|| {
            screen.press("tab");
            screen.frame()
        });
    }
}

mod editor {
    use osier_term::widgets::textarea::{Position, TextArea};

    use super::{Bencher, black_box};

    fn text() -> String {
        "a line of about forty characters of text\n".repeat(20_000)
    }

    /// Pastes 20,000 lines and draws the visible ones.
    #[divan::bench(sample_count = 20)]
    fn paste(bencher: Bencher) {
        let text = text();
        bencher
            .with_inputs(TextArea::default)
            .bench_local_refs(|area| {
                area.insert(black_box(&text));
                area.view(80, 20)
            });
    }

    /// Pastes the text as a chip and draws the visible lines.
    #[divan::bench(sample_count = 20)]
    fn paste_as_chip(bencher: Bencher) {
        let text = text();
        bencher
            .with_inputs(TextArea::default)
            .bench_local_refs(|area| {
                area.paste(black_box(&text));
                (area.view(80, 20), area.parts())
            });
    }

    /// Types a key in the middle, draws the visible lines, and stores the draft.
    #[divan::bench]
    fn key(bencher: Bencher) {
        let mut area = TextArea::default();
        area.insert(&text());
        area.set_cursor(Position::new(10_000, 3));
        bencher.bench_local(|| {
            area.insert("x");
            (area.view(80, 20), area.parts())
        });
    }

    /// Types a key after a chip, draws the visible lines, and stores the draft.
    #[divan::bench]
    fn key_behind_a_chip(bencher: Bencher) {
        let mut area = TextArea::default();
        area.paste(&text());
        bencher.bench_local(|| {
            area.insert("x");
            (area.view(80, 20), area.parts())
        });
    }
}

mod checkpoint {
    use std::path::Path;

    use osier_checkpoint::CheckpointStore;
    use tempfile::TempDir;

    use super::Bencher;

    const DIRECTORIES: usize = 100;
    const FILES: usize = 100;

    /// A directory of 10,000 files of 2 kB, recorded once.
    fn recorded() -> (TempDir, TempDir, CheckpointStore) {
        let (data, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for directory in 0..DIRECTORIES {
            let place = work.path().join(format!("part{directory:03}"));
            std::fs::create_dir(&place).unwrap();
            for file in 0..FILES {
                let text = format!("fn item_{directory}_{file}() {{}}\n").repeat(80);
                put(&place.join(format!("file{file:03}.rs")), &text);
            }
        }
        let store = CheckpointStore::new(data.path(), work.path());
        store.capture().unwrap();
        // Just written files are read again, because their time may hide a change. That is not measured.
        std::thread::sleep(std::time::Duration::from_secs(3));
        store.capture().unwrap();
        (data, work, store)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "files for measuring need no care"
    )]
    fn put(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
    }

    /// Records 10,000 files, of which three have changed.
    #[divan::bench(sample_count = 30, sample_size = 1)]
    fn three_files_changed(bencher: Bencher) {
        let (_data, work, store) = recorded();
        let mut round = 0;
        bencher.bench_local(|| {
            round += 1;
            for file in 0..3 {
                let path = work.path().join(format!("part05{file}/file000.rs"));
                put(&path, &format!("// round {round}\n").repeat(100));
            }
            store.capture().unwrap()
        });
    }

    #[divan::bench(sample_count = 30, sample_size = 1)]
    fn nothing_changed(bencher: Bencher) {
        let (_data, _work, store) = recorded();
        bencher.bench_local(|| store.capture().unwrap());
    }

    /// Records all files into an empty store.
    #[divan::bench(sample_count = 5, sample_size = 1)]
    fn the_first_time(bencher: Bencher) {
        let (_data, work, _) = recorded();
        bencher
            .with_inputs(|| tempfile::tempdir().unwrap())
            .bench_local_values(|data| {
                CheckpointStore::new(data.path(), work.path())
                    .capture()
                    .unwrap()
            });
    }
}

mod edit {
    use std::sync::Arc;

    use osier_agent::{ToolContext, UpdateSink};
    use osier_tools::{Workspace, build};
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::Bencher;

    /// The edit tool in a file of 5,000 lines: read, matched, compared, written.
    #[divan::bench(sample_count = 20)]
    fn file(bencher: Bencher) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("value.rs");
        let text: Vec<String> = (0..5000)
            .map(|line| format!("    let value_{line} = compute({line}, limit);\n"))
            .collect();
        let edit = build(&Arc::new(Workspace::new(folder.path())), None)
            .unwrap()
            .into_iter();
        let tool = |name: &str| edit.clone().find(|tool| tool.spec().name == name).unwrap();
        let call = |name: &str, arguments| {
            let cx = ToolContext {
                call_id: "call".to_owned(),
                cancel: CancellationToken::new(),
                updates: UpdateSink::discard(),
            };
            let output = runtime.block_on(async {
                let mut call = tool(name).prepare(arguments).await.unwrap();
                call.run(cx).await
            });
            assert!(output.status.is_success(), "{output:?}");
        };
        call(
            "write",
            json!({"file_path": path, "content": text.concat()}),
        );
        let mut there = false;
        bencher.bench_local(|| {
            let (old, new) = if there {
                ("new", "value")
            } else {
                ("value", "new")
            };
            there = !there;
            call(
                "edit",
                json!({"file_path": path,
                "old_string": format!("let {old}_2500 = compute(2500, limit);"),
                "new_string": format!("let {new}_2500 = compute(2500, limit);")}),
            );
        });
    }
}

mod search {
    use std::path::Path;
    use std::sync::{Arc, OnceLock};

    use osier_agent::{ToolContext, UpdateSink};
    use osier_tools::{Workspace, build};
    use serde_json::{Value, json};
    use tempfile::TempDir;
    use tokio_util::sync::CancellationToken;

    use super::Bencher;

    /// Nested directories with 100,000 files.
    const SHAPE: (usize, usize, usize) = (50, 20, 100);

    /// A directory in which every hundredth file contains the searched text, created once.
    fn tree() -> &'static Path {
        static TREE: OnceLock<TempDir> = OnceLock::new();
        let folder = TREE.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            for (outer, inner) in
                (0..SHAPE.0).flat_map(|outer| (0..SHAPE.1).map(move |inner| (outer, inner)))
            {
                let place = folder.path().join(format!("part{outer:02}/unit{inner:02}"));
                std::fs::create_dir_all(&place).unwrap();
                for file in 0..SHAPE.2 {
                    let sought = if file == SHAPE.2 - 1 {
                        "let needle = 1;\n"
                    } else {
                        ""
                    };
                    let text = format!(
                        "fn item_{file}() {{\n    {sought}    work({outer}, {inner});\n}}\n"
                    )
                    .repeat(8);
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "a tree for measuring needs no care"
                    )]
                    std::fs::write(place.join(format!("file{file:03}.rs")), text).unwrap();
                }
            }
            folder
        });
        folder.path()
    }

    /// Runs a call until it ends or first shows a result.
    fn call(bencher: Bencher, name: &str, arguments: &Value, first: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let tools = build(&Arc::new(Workspace::new(tree())), None).unwrap();
        let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
        bencher.bench_local(|| {
            let cancel = CancellationToken::new();
            let shown = cancel.clone();
            let cx = ToolContext {
                call_id: "call".to_owned(),
                cancel,
                updates: UpdateSink::new(move |_| {
                    if first {
                        shown.cancel();
                    }
                }),
            };
            runtime.block_on(async {
                let mut call = Arc::clone(tool).prepare(arguments.clone()).await.unwrap();
                call.run(cx).await
            })
        });
    }

    #[divan::bench(sample_count = 20, sample_size = 1)]
    fn grep_until_the_first_result(bencher: Bencher) {
        call(bencher, "grep", &json!({"pattern": "needle"}), true);
    }

    #[divan::bench(sample_count = 10, sample_size = 1)]
    fn grep_all_without_a_match(bencher: Bencher) {
        call(
            bencher,
            "grep",
            &json!({"pattern": "nothing of that kind"}),
            false,
        );
    }

    #[divan::bench(sample_count = 20, sample_size = 1)]
    fn find_until_the_first_result(bencher: Bencher) {
        call(bencher, "find", &json!({"pattern": "file099.rs"}), true);
    }

    #[divan::bench(sample_count = 10, sample_size = 1)]
    fn find_all_without_a_match(bencher: Bencher) {
        call(bencher, "find", &json!({"pattern": "*.zig"}), false);
    }
}
