//! `grep`: finds lines that match a regular expression like `rg --sort path --heading`, on all cores.
//! docs/tools.md lists the differences.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use osier_walk::{Override, OverrideBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::grep_file::{FileMatches, Line, Meaning, Pattern, search};
use super::listing::Listing;
use super::ordered_jobs::in_order;
use super::walk::{Problems, Root, entries, names_hidden};
use crate::built_in::BuiltIn;
use crate::call::arguments;
use crate::call::details::{GrepDetails, to_value};
use crate::call::spellings;
use crate::files::target::{FileArgument, reason};
use crate::workspace::Workspace;
use osier_agent::{
    FileUse, PreparedCall, Preparing, Refusal, ToolContext, ToolOutput, ToolStatus, UpdateSink,
    prepare_typed,
};
use osier_base::text::counted;
use osier_llm::{ContentBlock, ToolSpec};

/// Default number of matches.
const DEFAULT_LIMIT: u64 = 100;
/// Maximum lines of context; for more, reading the file is better.
const MAX_CONTEXT: u64 = 50;

const FILE: FileArgument = FileArgument::new("path", FileUse::Search);

pub(crate) const ROW: BuiltIn = BuiltIn {
    read_only: true,
    file: Some(FILE),
    spellings: &spellings::GREP,
    ..BuiltIn::new("grep", "Grep", "pattern", || &SPEC, prepare)
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
        freeform: None,
        name: "grep".to_owned(),
        description: "Search file contents for a regex. Skips ignored and hidden files unless path or glob names them.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string", "description": "File or directory"},
                "glob": {"type": "string", "description": "e.g. *.{ts,tsx}"},
                "ignore_case": {"type": "boolean"},
                "literal": {"type": "boolean"},
                "context": {"type": "integer", "minimum": 0},
                "limit": {"type": "integer", "minimum": 1},
            },
            "required": ["pattern"],
        }),
    }
});

#[derive(Debug, Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    ignore_case: Option<bool>,
    literal: Option<bool>,
    #[serde(default, deserialize_with = "arguments::count")]
    context: Option<u64>,
    #[serde(default, deserialize_with = "arguments::count")]
    limit: Option<u64>,
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let meaning = Meaning {
            ignore_case: arguments.ignore_case.unwrap_or(false),
            literal: arguments.literal.unwrap_or(false),
        };
        if arguments.pattern.is_empty() {
            return Err(Refusal::invalid("the pattern is empty"));
        }
        let pattern = Pattern::new(&arguments.pattern, meaning).map_err(|error| {
            Refusal::Invalid(format!(
                "{error}\nEscape special characters, or set literal"
            ))
        })?;
        let target = workspace.target(FILE, arguments.path.as_deref()).await?;
        let root = target.clone();
        let search = move |cx: ToolContext| {
            let root = Root::find(&workspace, root)?;
            let plan = Plan::new(workspace, root, pattern, arguments)?;
            Ok(plan.execute(&cx.cancel, cx.updates))
        };
        Ok(PreparedCall::blocking("searching", search).on(vec![target]))
    })
}

/// A search with valid arguments.
struct Plan {
    workspace: Arc<Workspace>,
    given: String,
    pattern: Pattern,
    root: Root,
    overrides: Option<Override>,
    /// The glob names hidden files.
    hidden: bool,
    context: usize,
    limit: usize,
}

impl Plan {
    fn new(
        workspace: Arc<Workspace>,
        root: Root,
        pattern: Pattern,
        arguments: Arguments,
    ) -> Result<Self, Refusal> {
        let glob = arguments.glob.filter(|glob| !glob.is_empty());
        let overrides = match &glob {
            Some(glob) if !root.is_file => Some(overrides(&root, glob)?),
            _ => None,
        };
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Ok(Self {
            workspace,
            given: arguments.pattern,
            pattern,
            root,
            overrides,
            hidden: glob.is_some_and(|glob| names_hidden(&glob)),
            context: count(arguments.context.unwrap_or(0).min(MAX_CONTEXT)),
            limit: count(arguments.limit.unwrap_or(DEFAULT_LIMIT).max(1)),
        })
    }

    fn execute(&self, cancel: &CancellationToken, updates: UpdateSink) -> ToolOutput {
        let problems = Problems::default();
        // Only files with shown matches are checked. A file that the call names was checked before.
        let (may_show, mut hidden) = (self.workspace.read_filter(), 0);
        // Cancelled also when enough matches were found, so that no thread keeps searching.
        let stop = cancel.child_token();
        let mut results = Results {
            listing: Listing::new(updates),
            matches: 0,
            files: 0,
            more: false,
        };
        let files = || {
            let entries = entries(
                &self.root.path,
                self.overrides.clone(),
                self.hidden,
                &problems,
            );
            let files = entries.filter(|entry| entry.kind.is_file());
            let files = files.map(|entry| entry.path);
            let named = self.root.is_file.then(|| self.root.path.clone());
            let walked = (!self.root.is_file).then_some(files).into_iter().flatten();
            walked.chain(named).take_while(|_| !stop.is_cancelled())
        };
        let worker = || {
            let mut searcher = self.pattern.searcher(self.context);
            let (stop, problems) = (&stop, &problems);
            move |path: PathBuf| {
                let search = search(
                    &path,
                    &self.pattern,
                    &mut searcher,
                    self.limit,
                    self.root.is_file,
                    stop,
                );
                match search {
                    Ok(found) if found.matches > 0 => Some((path, found)),
                    Ok(_) => None,
                    Err(error) => {
                        problems.note(|| format!("`{}`: {}", self.name_of(&path), reason(&error)));
                        None
                    }
                }
            }
        };
        in_order(files, worker, |found| {
            if let Some(Some((path, found))) = found {
                if !self.root.is_file && !may_show(&self.root.real_of(&path)) {
                    hidden += 1;
                } else {
                    results.add(&self.name_of(&path), found, self);
                }
            }
            results.listing.show();
            let go_on = !results.is_full() && !cancel.is_cancelled();
            if !go_on {
                stop.cancel();
            }
            go_on
        });
        let mut output = self.output(results, &problems, cancel.is_cancelled());
        if hidden > 0 {
            let files = counted(hidden, "file", "files");
            let note = format!("[{files} with matches skipped by permission rules]\n");
            output.content.push(ContentBlock::text(note));
        }
        output
    }

    fn name_of(&self, path: &Path) -> String {
        self.workspace.display(&self.root.name_of(path))
    }

    fn output(&self, results: Results, problems: &Problems, aborted: bool) -> ToolOutput {
        let Results {
            listing,
            matches,
            files,
            more,
        } = results;
        let cut = listing.is_full();
        let mut notices = Vec::new();
        if aborted {
            notices.push(format!(
                "[interrupted after {}]",
                counted(matches, "match", "matches")
            ));
        } else if more || cut {
            notices.push(format!(
                "[stopped after {}; there are more: narrow the pattern, path or glob{}]",
                counted(matches, "match", "matches"),
                if cut { "" } else { ", or raise limit" }
            ));
        } else if matches == 0 {
            let hidden = if self.root.is_file {
                ""
            } else {
                "; ignored and hidden files were skipped"
            };
            notices.push(format!("no matches{hidden}"));
        }
        notices.extend(problems.notice());
        let details = GrepDetails {
            pattern: self.given.clone(),
            path: self.root.named().display().to_string(),
            matches: matches as u64,
            files: files as u64,
            truncated: more || cut || aborted,
            unreadable: problems.count() as u64,
        };
        let text = listing.end(&notices);
        ToolOutput {
            status: if aborted {
                ToolStatus::Aborted
            } else {
                ToolStatus::Success
            },
            ..ToolOutput::success(text, to_value(&details))
        }
    }
}

/// The files that a glob includes; a glob that starts with `!` excludes.
fn overrides(root: &Root, glob: &str) -> Result<Override, Refusal> {
    let mut builder = OverrideBuilder::new(&root.path);
    let added = builder.add(glob).and_then(|builder| builder.build());
    added.map_err(|error| Refusal::Invalid(error.to_string()))
}

/// The results so far, in order.
struct Results {
    listing: Listing,
    matches: usize,
    files: usize,
    /// There are more matches than the limit.
    more: bool,
}

impl Results {
    fn is_full(&self) -> bool {
        self.more || self.listing.is_full()
    }

    fn add(&mut self, name: &str, mut found: FileMatches, plan: &Plan) {
        let room = plan.limit - self.matches;
        if room == 0 {
            self.more = true;
            return;
        }
        if found.matches > room {
            shorten(&mut found, room, plan.context);
        }
        self.more |= found.more;
        self.files += 1;
        let mut text = String::new();
        if self.files > 1 {
            text.push('\n');
        }
        let _ = writeln!(text, "{name}");
        self.listing.push(&text);
        for line in &found.lines {
            let text = match line {
                Line::Match(number, text) | Line::Further(number, text) => {
                    format!("{number}:{text}\n")
                }
                Line::Context(number, text) => format!("{number}-{text}\n"),
                Line::Gap => "--\n".to_owned(),
            };
            if !self.listing.push(&text) {
                return;
            }
            self.matches += usize::from(matches!(line, Line::Match(..)));
        }
        if found.binary {
            self.listing.push(if plan.root.is_file {
                "[a binary file; NUL bytes count as line ends]\n"
            } else {
                "[binary data from here on; the rest was not searched]\n"
            });
        }
    }
}

/// Shortens to the first `room` matches, with the context after the last.
fn shorten(found: &mut FileMatches, room: usize, context: usize) {
    let matches = found.lines.iter().enumerate();
    let mut matches = matches.filter(|(_, line)| matches!(line, Line::Match(..)));
    let Some((next, _)) = matches.nth(room) else {
        return;
    };
    let is_context = |line: &Line| matches!(line, Line::Context(..) | Line::Gap);
    let before = &found.lines[..next];
    let last = before
        .iter()
        .rposition(|line| !is_context(line))
        .unwrap_or(0);
    let after = before[last + 1..].iter();
    let after = after
        .take(context)
        .take_while(|line| matches!(line, Line::Context(..)));
    let end = last + 1 + after.count();
    found.lines.truncate(end);
    found.matches = room;
    found.more = true;
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::Mutex;

    use super::*;
    use crate::testing::{Bench, numbered, text};
    use osier_agent::ToolUpdate;

    async fn grep(bench: &Bench, arguments: Value) -> String {
        text(&bench.run("grep", arguments).await)
    }

    #[tokio::test]
    async fn matches_are_ordered_by_file_and_line() {
        let bench = Bench::new();
        bench.put("b/z.rs", "fn one() {}\n\nfn two() {}\n");
        bench.put("a.rs", "// fn\r\nFN\r\n");
        bench.put("x.log", "fn\n");
        bench.put(".gitignore", "*.log\n");
        bench.put(".hidden", "fn\n");
        let output = bench.run("grep", json!({"pattern": "fn"})).await;
        assert_eq!(
            text(&output),
            "a.rs\n1:// fn\n\nb/z.rs\n1:fn one() {}\n3:fn two() {}\n"
        );
        let expected = GrepDetails {
            pattern: "fn".to_owned(),
            path: bench.workspace.cwd().display().to_string(),
            matches: 3,
            files: 2,
            truncated: false,
            unreadable: 0,
        };
        assert_eq!(output.details, to_value(&expected));
    }

    #[tokio::test]
    async fn arguments_narrow_and_widen_the_search() {
        let bench = Bench::new();
        bench.put("src/a.rs", "one (a)\ntwo\nthree\n");
        bench.put("src/a.md", "ONE\n");
        bench.put("src/.env", "one\n");
        let none = "no matches; ignored and hidden files were skipped\n";
        for (arguments, expected) in [
            (json!({"pattern": "ONE"}), "src/a.md\n1:ONE\n"),
            (
                json!({"pattern": "ONE", "ignore_case": true}),
                "src/a.md\n1:ONE\n\nsrc/a.rs\n1:one (a)\n",
            ),
            (json!({"pattern": "one", "glob": "*.md"}), none),
            (
                json!({"pattern": "e$", "glob": "!*.rs", "ignore_case": true}),
                "src/a.md\n1:ONE\n",
            ),
            (
                json!({"pattern": "one", "glob": ".env"}),
                "src/.env\n1:one\n",
            ),
            (
                json!({"pattern": "one", "path": "src/.env"}),
                "src/.env\n1:one\n",
            ),
            (
                json!({"pattern": "(a)", "literal": true}),
                "src/a.rs\n1:one (a)\n",
            ),
            (
                json!({"pattern": "two", "context": 1}),
                "src/a.rs\n1-one (a)\n2:two\n3-three\n",
            ),
            (
                json!({"pattern": "two\nth", "path": "src"}),
                "src/a.rs\n2:two\n3:three\n",
            ),
            (json!({"pattern": "two\\sthree"}), none),
            (
                json!({"pattern": "four", "path": "src/a.rs"}),
                "no matches\n",
            ),
        ] {
            assert_eq!(
                grep(&bench, arguments.clone()).await,
                expected,
                "{arguments}"
            );
        }
    }

    #[tokio::test]
    async fn a_limit_cuts_between_matches_and_is_reported() {
        let bench = Bench::new();
        bench.put("a", numbered(1..=9));
        bench.put("b", numbered(1..=9));
        let arguments = json!({"pattern": "[357]", "limit": 4, "context": 1});
        let expected = "a\n2-2\n3:3\n4-4\n5:5\n6-6\n7:7\n8-8\n\nb\n2-2\n3:3\n4-4\n\
            [stopped after 4 matches; there are more: narrow the pattern, path or glob, or raise limit]\n";
        assert_eq!(grep(&bench, arguments).await, expected);
        let arguments = json!({"pattern": "[357]", "limit": 1});
        let expected = "a\n3:3\n\
            [stopped after 1 match; there are more: narrow the pattern, path or glob, or raise limit]\n";
        assert_eq!(grep(&bench, arguments).await, expected);
        let all = bench
            .run("grep", json!({"pattern": "[357]", "limit": 6}))
            .await;
        assert_eq!(all.details["truncated"], false);
        assert_eq!(all.details["matches"], 6);
    }

    #[tokio::test]
    async fn long_lines_show_the_part_around_the_match() {
        let bench = Bench::new();
        let line = format!("{}漢needle漢{}\n", "x漢".repeat(1000), "y".repeat(100_000));
        bench.put("long", &line);
        let shown = grep(&bench, json!({"pattern": "needle"})).await;
        assert!(shown.len() < 620, "{shown}");
        assert!(shown.starts_with("long\n1:…"), "{shown}");
        assert!(shown.contains("漢needle漢yyy"), "{shown}");
        let end = format!("yyy… [cut; the line has {} bytes]\n", line.len() - 1);
        assert!(shown.ends_with(&end), "{shown}");
        assert!(!shown.contains('\u{fffd}'), "{shown}");
    }

    #[tokio::test]
    async fn binary_data_is_handled() {
        let bench = Bench::new();
        bench.put("object", b"\x7fELF\0needle\n");
        bench.put("binary", b"needle\n\0\nneedle\n");
        bench.put("latin", b"caf\xe9 needle\x1b[2J\rx\n");
        bench.put("utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
        bench.put("bom", "\u{feff}needle\n");
        let shown = grep(&bench, json!({"pattern": "needle"})).await;
        let expected = "bom\n1:needle\n\nlatin\n1:caf\u{fffd} needle␍x\n\nutf16\n1:needle\n";
        assert_eq!(shown.replace('\u{feff}', ""), expected);
        // As in ripgrep, matches before the first NUL byte are reported.
        let late = [
            b"early needle\n".as_slice(),
            &vec![b'x'; 100_000],
            b"\n\0needle\n",
        ]
        .concat();
        bench.put("late/file", late);
        let shown = grep(&bench, json!({"pattern": "needle", "path": "late"})).await;
        let note = "[binary data from here on; the rest was not searched]\n";
        assert_eq!(shown, format!("late/file\n1:early needle\n{note}"));
        // A file that is named explicitly is searched.
        let shown = grep(&bench, json!({"pattern": "needle", "path": "binary"})).await;
        assert_eq!(
            shown,
            "binary\n1:needle\n4:needle\n[a binary file; NUL bytes count as line ends]\n"
        );
    }

    #[tokio::test]
    async fn links_are_not_followed_unless_named() {
        let bench = Bench::new();
        bench.put("dir/file", "needle\n");
        symlink("..", bench.path("dir/up")).unwrap();
        symlink("dir", bench.path("link")).unwrap();
        symlink("dir/file", bench.path("one")).unwrap();
        let expected = "dir/file\n1:needle\n";
        assert_eq!(grep(&bench, json!({"pattern": "needle"})).await, expected);
        let through = grep(&bench, json!({"pattern": "needle", "path": "link"})).await;
        assert_eq!(through, "link/file\n1:needle\n");
        let one = grep(&bench, json!({"pattern": "needle", "path": "one"})).await;
        assert_eq!(one, "one\n1:needle\n");
    }

    #[tokio::test]
    async fn long_output_is_cut_and_live_results_come_first() {
        let bench = Bench::new();
        for file in 0..100 {
            bench.put(&format!("{file:03}"), "needle and more of it\n".repeat(100));
        }
        let sent: Arc<Mutex<String>> = Arc::default();
        let sink = Arc::clone(&sent);
        let updates = UpdateSink::new(move |update: ToolUpdate| {
            sink.lock().unwrap().push_str(update.text());
        });
        let arguments = json!({"pattern": "needle", "limit": 100_000});
        let cancel = CancellationToken::new();
        let output = bench.run_with("grep", arguments, &cancel, updates).await;
        assert!(text(&output).len() < 51 * 1024);
        let notice = "there are more: narrow the pattern, path or glob]\n";
        assert!(text(&output).ends_with(notice));
        assert_eq!(output.details["truncated"], true);
        let sent = sent.lock().unwrap();
        assert!(
            sent.starts_with("000\n1:needle and more of it\n2:"),
            "{sent}"
        );
    }

    #[tokio::test]
    async fn an_interrupt_keeps_the_results() {
        let bench = Bench::new();
        bench.put("a", "needle\n");
        let cancel = CancellationToken::new();
        let from_update = cancel.clone();
        bench.put("z", "x\n".repeat(3_000_000));
        let updates = UpdateSink::new(move |_| from_update.cancel());
        let arguments = json!({"pattern": "needle"});
        let output = bench.run_with("grep", arguments, &cancel, updates).await;
        assert_eq!(output.status, ToolStatus::Aborted);
        assert_eq!(text(&output), "a\n1:needle\n[interrupted after 1 match]\n");
    }

    #[tokio::test]
    async fn invalid_arguments_are_rejected() {
        let bench = Bench::new();
        bench.put("sources/x", "");
        for (arguments, expected) in [
            (
                json!({"pattern": ""}),
                "invalid arguments: the pattern is empty",
            ),
            (
                json!({"pattern": "x", "path": "souces"}),
                "`souces` does not exist; did you mean `sources`?",
            ),
            (
                json!({"pattern": "x", "path": "/dev/null"}),
                "`/dev/null` is neither a directory nor a regular file",
            ),
        ] {
            assert_eq!(grep(&bench, arguments).await, expected);
        }
        let refused = bench.run("grep", json!({"pattern": "f(x"})).await;
        assert_eq!(refused.status.name(), "invalid_parameters");
        let advice = "\nEscape special characters, or set literal";
        assert!(text(&refused).ends_with(advice), "{}", text(&refused));
    }
}
