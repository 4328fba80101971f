//! `read`: the numbered lines of a text file, or an image. Files of any size are read in bounded memory; the
//! ledger records every file that is read.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Seek as _};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ReadDetails;
use super::binary::BinaryFile;
use super::document;
use super::error::ReadError;
use super::image;
use super::media;
use super::notebook;
use crate::built_in::{
    BuiltIn, Collapsed, Count, GeminiForm, Part, PartKind, PeerTool, ToolEffect, ToolView, Verbs,
    peer,
};
use crate::call::arguments;
use crate::call::spellings;
use crate::call::to_value;
use crate::files::encoding::decode;
use crate::files::error::FileError;
use crate::files::ledger::{MAX_HASHED, Stamp};
use crate::files::line_window::{Scan, Window, scan};
use crate::files::target::FileArgument;
use crate::workspace::Workspace;
use osier_agent::{
    FileTarget, FileUse, OtherName, PreparedCall, Preparing, Refusal, Spellings, ToolContext,
    ToolOutput, prepare_typed,
};
use osier_llm::ToolSpec;

/// Limits of one call. Code has about three bytes per token, with the numbers of its lines.
pub(crate) const MAX_LINES: u64 = 5_000;
const MAX_TOKENS: usize = 25_000;
pub(crate) const MAX_BYTES: usize = MAX_TOKENS * 3;
/// Bytes at the start of a file in which a NUL byte means binary.
const SNIFFED: usize = 8 * 1024;
const BUFFER: usize = 128 * 1024;

const FILE: FileArgument = FileArgument::new("file_path", FileUse::Read);

/// The name of the tool.
pub const READ: &str = "read";

pub(crate) const ROW: BuiltIn = BuiltIn {
    file: Some(FILE),
    spellings: &SPELLINGS,
    peers: &[
        PeerTool::claude("Read", &[peer::FILE, peer::OFFSET, peer::LIMIT]),
        PeerTool::pi(
            "read",
            &[("path", "file_path"), peer::FILE, peer::OFFSET, peer::LIMIT],
        ),
        PeerTool::codex("view_image", &[("path", "file_path")]),
        PeerTool::opencode(
            "read",
            &[("filePath", "file_path"), peer::OFFSET, peer::LIMIT],
        ),
    ],
    gemini: Some(GeminiForm {
        name: "read_file",
        arguments: &[],
    }),
    view: ToolView {
        counts: &[Count::new("linesRead", "line", "lines")],
        question: "Read this file?",
        collapsed: Collapsed::Nothing,
        ..ToolView::new(
            Verbs::new("Reading", "Read", "read").several("read", "file"),
            &[
                Part::path(FILE.name),
                Part::of("offset", PartKind::Lines).around(":", ""),
            ],
        )
    },
    does: "reads lines of a text file with their numbers, an image, a [recording](#recordings), the cells of a [notebook](#notebooks) or the pages of a [PDF](#pdf); at most 5,000 lines or about 25,000 tokens (75,000 bytes) per call",
    ..BuiltIn::new(READ, ToolEffect::Looks, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("read_file"),
        OtherName::of("file_read"),
        OtherName::of("view"),
        OtherName::of("view_file"),
        OtherName::of("open_file"),
        OtherName::of("cat"),
        OtherName::of("fs_read"),
        OtherName::of("view_image"),
        OtherName::with_command("str_replace_based_edit_tool", "view"),
        OtherName::with_command("str_replace_editor", "view"),
        OtherName::with_command("text_editor", "view"),
    ],
    arguments: &[
        ("file_path", spellings::FILE),
        (
            "offset",
            &[
                "start_line",
                "line_start",
                "start",
                "from_line",
                "start_line_one_indexed",
                "line",
            ],
        ),
        (
            "limit",
            &["max_lines", "num_lines", "line_count", "lines", "count"],
        ),
        (
            "end_line",
            &["line_end", "end", "to_line", "end_line_one_indexed"],
        ),
    ],
    without_effect: spellings::DESCRIPTIONS,
    adapt: spellings::values::read,
    ..Spellings::NONE
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    freeform: None,
    name: READ.to_owned(),
    description: format!(
        "Read a text file with line numbers, an image, notebook, PDF or office document. At most {MAX_LINES} lines; continue with offset."
    ),
    parameters: json!({
        "type": "object",
        "properties": {
            "file_path": {"type": "string"},
            "offset": {"type": "integer", "description": "First line"},
            "limit": {"type": "integer"},
        },
        "required": ["file_path"],
    }),
});

#[derive(Debug, Deserialize)]
pub(crate) struct Arguments {
    pub(crate) file_path: String,
    #[serde(default, deserialize_with = "arguments::count")]
    pub(crate) offset: Option<u64>,
    #[serde(default, deserialize_with = "arguments::count")]
    pub(crate) limit: Option<u64>,
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Interrupted => Self::Interrupted("interrupted"),
            error => Self::Failed(error.to_string()),
        }
    }
}

/// Prepares a call, which runs in order with the calls that change the same file.
fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let target = workspace.target(FILE, Some(&arguments.file_path)).await?;
        let file = target.clone();
        let read = move |cx: ToolContext| {
            read(&workspace, &file, &arguments, &cx.cancel).map_err(Refusal::from)
        };
        Ok(PreparedCall::blocking("reading", read).alone_on(target))
    })
}

/// The note for the model about a text with invalid bytes.
fn damaged(encoding: &str) -> String {
    format!(
        "[the file is {encoding} text with invalid bytes, for which � stands. edit and write refuse it; change it with bash]\n"
    )
}

/// Refuses binary files by their start. Returns whether the text is UTF-16.
fn check_text(start: &[u8], name: &str, size: u64) -> Result<bool, ReadError> {
    let path = name.to_owned();
    let is_utf16 = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    if is_utf16 && size > MAX_HASHED {
        return Err(ReadError::Utf16 { path });
    }
    if !is_utf16 && start.contains(&0) {
        return Err(ReadError::Binary { path, size });
    }
    Ok(is_utf16)
}

pub(crate) fn read(
    workspace: &Workspace,
    target: &FileTarget,
    arguments: &Arguments,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ReadError> {
    let path = &target.named;
    let name = workspace.display(path);
    let failed = |source| FileError::Io {
        path: name.clone(),
        source,
    };
    let (file, metadata) = workspace.open(target)?;
    let mut source = BufReader::with_capacity(BUFFER, file);
    let start = source.fill_buf().map_err(failed)?;
    let start = &start[..start.len().min(SNIFFED)];
    let binary = || BinaryFile {
        workspace,
        target,
        metadata: &metadata,
        name: name.clone(),
    };
    let range = (arguments.offset, arguments.limit);
    if image::image_type(start).is_some() {
        return binary().picture(source);
    }
    match media::media_type(start) {
        Some(media::PDF) => return binary().pdf_pages(source, range),
        Some(audio) => return binary().recording(source, audio),
        None => {}
    }
    let window = window(arguments);
    // A larger archive is no document that is read.
    if document::Kind::may_be(start) && metadata.len() <= document::LIMIT {
        let Some(content) = binary().document(&mut source)? else {
            let size = metadata.len();
            return Err(ReadError::Binary { path: name, size });
        };
        let scan = scan(content.as_bytes(), window, cancel).map_err(failed)?;
        return shown(path, name, window.offset, scan, "");
    }
    let is_utf16 = check_text(start, &name, metadata.len())?;
    let has_mark = start.starts_with("\u{feff}".as_bytes());
    if notebook::is_notebook(path) && metadata.len() <= notebook::LIMIT {
        let content = match workspace.text_in_editor(target, &metadata) {
            Some(text) => text.map_err(failed)?,
            None => io::read_to_string(&mut source).map_err(failed)?,
        };
        let cells = notebook::read(workspace, target, &metadata, &content, range);
        if let Some(output) = cells {
            return output.map_err(|total| ReadError::PastEnd {
                path: name,
                offset: arguments.offset.unwrap_or(1),
                total,
            });
        }
        source.rewind().map_err(failed)?;
    }
    let lines = match workspace.text_in_editor(target, &metadata) {
        Some(text) => scan(text.map_err(failed)?.as_bytes(), window, cancel)
            .map(|scan| Lines::of_utf8(scan, &metadata)),
        None => Lines::read(&mut source, &metadata, is_utf16, window, cancel),
    };
    let mut lines = match lines {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            return Err(ReadError::Interrupted);
        }
        lines => lines.map_err(failed)?,
    };
    if window.offset <= lines.scan.total_lines.max(1) {
        let known = lines.known.as_deref();
        workspace.ledger.record(target, lines.stamp, known);
    }
    if has_mark && lines.note.is_empty() {
        MARKED.clone_into(&mut lines.note);
    }
    shown(path, name, window.offset, lines.scan, &lines.note)
}

/// The note for the model about UTF-8 text with a byte order mark.
const MARKED: &str =
    "[the file is UTF-8 (with a byte order mark) text; edit and write keep this encoding]\n";

/// The lines of a file in any encoding, and what the session then knows of it.
struct Lines {
    scan: Scan,
    stamp: Stamp,
    known: Option<String>,
    note: String,
}

impl Lines {
    fn of_utf8(scan: Scan, metadata: &fs::Metadata) -> Self {
        Self {
            stamp: Stamp::hashed(metadata, &scan.hash),
            known: scan.hash.text().map(Cow::into_owned),
            note: if scan.is_damaged {
                damaged("UTF-8")
            } else {
                String::new()
            },
            scan,
        }
    }

    /// Reads UTF-8 in bounded memory, and other text at once, because the encoding follows from the complete text.
    fn read(
        source: &mut (impl io::BufRead + io::Seek),
        metadata: &fs::Metadata,
        is_utf16: bool,
        window: Window,
        cancel: &CancellationToken,
    ) -> io::Result<Self> {
        if !is_utf16 {
            let scan = scan(&mut *source, window, cancel)?;
            let is_utf8 = !scan.is_damaged && !scan.hash.is_not_utf8();
            if is_utf8 || metadata.len() > MAX_HASHED {
                return Ok(Self::of_utf8(scan, metadata));
            }
            source.rewind()?;
        }
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes)?;
        let Some(decoded) = decode(&bytes) else {
            let scan = scan(&*bytes, window, cancel)?;
            return Ok(Self::of_utf8(scan, metadata));
        };
        Ok(Self {
            scan: scan(decoded.text.as_bytes(), window, cancel)?,
            stamp: Stamp::of(metadata, &bytes),
            note: if decoded.is_exact {
                decoded.encoding.note()
            } else {
                damaged(&decoded.encoding.to_string())
            },
            known: decoded.is_exact.then(|| decoded.text.into_owned()),
        })
    }
}

fn window(arguments: &Arguments) -> Window {
    Window {
        offset: arguments.offset.unwrap_or(1).max(1),
        max_lines: arguments.limit.unwrap_or(MAX_LINES).clamp(1, MAX_LINES),
        max_bytes: MAX_BYTES,
    }
}

/// The lines, if the file has as many.
fn shown(
    path: &Path,
    name: String,
    offset: u64,
    scan: Scan,
    note: &str,
) -> Result<ToolOutput, ReadError> {
    if offset > scan.total_lines.max(1) {
        return Err(ReadError::PastEnd {
            path: name,
            offset,
            total: scan.total_lines,
        });
    }
    Ok(text(path, offset, scan, note))
}

fn text(path: &Path, offset: u64, scan: Scan, note: &str) -> ToolOutput {
    let next = offset + scan.lines_read;
    let more = scan.is_longer || next <= scan.total_lines;
    let details = ReadDetails {
        file_path: path.display().to_string(),
        total_lines: scan.total_lines,
        lines_read: scan.lines_read,
        offset,
        truncated: more || scan.cut_lines > 0,
        mime_type: None,
    };
    let mut text = scan.text;
    if more {
        let (last, total) = (next - 1, scan.total_lines);
        let limit = if scan.is_full {
            format!(", about {MAX_TOKENS} tokens, the limit of one read")
        } else {
            String::new()
        };
        let than = if scan.is_longer { "more than " } else { "" };
        let _ = writeln!(
            text,
            "[lines {offset}-{last} of {than}{total}{limit}; continue with offset {next}]"
        );
    }
    if scan.total_lines == 0 {
        text.push_str("(empty file)");
    }
    text.push_str(note);
    ToolOutput::success(text, to_value(&details))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, numbered, png, text};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use osier_llm::ContentBlock;

    use super::*;
    use osier_agent::ToolStatus;

    async fn read_text(bench: &Bench, arguments: Value) -> String {
        text(&bench.run("read", arguments).await)
    }

    #[tokio::test]
    async fn lines_are_numbered_and_details_reported() {
        let bench = Bench::new();
        bench.put("a.txt", "one\r\ntwo\n");
        let output = bench.run("read", json!({"file_path": "a.txt"})).await;
        assert_eq!(text(&output), "1\tone\n2\ttwo\n");
        let expected = json!({
            "filePath": bench.path("a.txt").to_str(),
            "totalLines": 2,
            "linesRead": 2,
            "offset": 1,
            "truncated": false,
        });
        assert_eq!(output.details, expected);
        bench.put("empty", "");
        assert_eq!(
            read_text(&bench, json!({"file_path": "empty"})).await,
            "(empty file)"
        );
    }

    #[tokio::test]
    async fn a_window_says_how_to_continue() {
        let bench = Bench::new();
        bench.put("long", numbered(1..=6000));
        let part = read_text(
            &bench,
            json!({"file_path": "long", "offset": 3, "limit": 2}),
        )
        .await;
        let expected = "3\t3\n4\t4\n[lines 3-4 of 6000; continue with offset 5]\n";
        assert_eq!(part, expected);
        let all = read_text(&bench, json!({"file_path": "long", "limit": 9000})).await;
        assert!(all.ends_with("\n5000\t5000\n[lines 1-5000 of 6000; continue with offset 5001]\n"));
        let end = read_text(&bench, json!({"file_path": "long", "offset": 6000})).await;
        assert_eq!(end, "6000\t6000\n");
    }

    #[tokio::test]
    async fn bytes_limit_a_call() {
        let bench = Bench::new();
        bench.put("wide", format!("{}\n", "x".repeat(1016)).repeat(1000));
        let output = bench.run("read", json!({"file_path": "wide"})).await;
        assert_eq!(output.details["linesRead"], 73);
        assert!(text(&output).ends_with(
            "[lines 1-73 of 1000, about 25000 tokens, the limit of one read; continue with offset 74]\n"
        ));
    }

    #[tokio::test]
    async fn errors_explain_what_to_do() {
        let bench = Bench::new();
        bench.put("settings.rs", "x\n");
        bench.put("dir/inner/file", "");
        bench.put("dir/b.txt", "");
        bench.put("binary", b"ELF\0\x01");
        for (path, offset, expected) in [
            (
                "setings.rs",
                1,
                "`setings.rs` does not exist; did you mean `settings.rs`?",
            ),
            ("zzz/file", 1, "`zzz/file` does not exist"),
            (
                "settings.rs/x",
                1,
                "`settings.rs/x` does not exist; did you mean `settings.rs`?",
            ),
            (
                "dir",
                1,
                "`dir` is a directory; name one of its files:\nb.txt\ninner/",
            ),
            (
                "settings.rs",
                2,
                "offset 2 is past the end of `settings.rs`, which has 1 line",
            ),
            (
                "binary",
                1,
                "`binary` is a binary file of 5 bytes; inspect it with bash: `file`, `xxd | head`",
            ),
            ("/dev/null", 1, "`/dev/null` is not a regular file"),
        ] {
            let output = bench
                .run("read", json!({"file_path": path, "offset": offset}))
                .await;
            assert_eq!(text(&output), expected);
            let message = expected.to_owned();
            assert_eq!(output.status, ToolStatus::ExecutionError { message });
        }
    }

    type Bytes<'a> = &'a dyn Fn(&str) -> Vec<u8>;

    /// `read` names the encoding; `edit`, `write` and `apply_patch` keep it, `grep` finds the same text.
    #[tokio::test]
    async fn other_encodings_are_named_and_stay() {
        let bench = Bench::new();
        let sjis = |text: &str| encoding_rs::SHIFT_JIS.encode(text).0.into_owned();
        let utf16 = |text: &str, big: bool| -> Vec<u8> {
            let bytes = if big {
                u16::to_be_bytes
            } else {
                u16::to_le_bytes
            };
            format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(bytes)
                .collect()
        };
        let latin = |text: &str| encoding_rs::WINDOWS_1252.encode(text).0.into_owned();
        let old = "// é: 日本語のコメント\nlet b = 1;\n";
        let western = "// é: a comment\nlet b = 1;\n";
        let quoted = "// “é”: a comment\nlet b = 1;\n";
        let kana = "// 日本語のコメントです\nlet b = 1;\n";
        let cases: [(&str, &str, Bytes<'_>); 6] = [
            ("UTF-16LE (with a byte order mark)", old, &|text| {
                utf16(text, false)
            }),
            ("UTF-16BE (with a byte order mark)", old, &|text| {
                utf16(text, true)
            }),
            ("UTF-8 (with a byte order mark)", old, &|text| {
                format!("\u{feff}{text}").into()
            }),
            ("ISO-8859-1", western, &latin),
            ("windows-1252", quoted, &latin),
            ("Shift_JIS", kana, &sjis),
        ];
        for (name, before, bytes) in cases {
            bench.put("f", bytes(before));
            let note = format!("[the file is {name} text; edit and write keep this encoding]\n");
            let first = before.lines().next().unwrap();
            let output = bench.run("read", json!({"file_path": "f"})).await;
            assert_eq!(text(&output), format!("1\t{first}\n2\tlet b = 1;\n{note}"));
            let held = || fs::read(bench.path("f")).unwrap();
            let edit =
                json!({"file_path": "f", "old_string": first, "new_string": format!("{first}!")});
            let edited = bench.run("edit", edit).await;
            let kept = if name.starts_with("UTF-8") { "" } else { &note };
            let expected = format!("Changed 1 place in `f` (+1 -1 lines)\n{kept}");
            assert_eq!(text(&edited), expected, "{name}");
            assert_eq!(
                held(),
                bytes(&before.replace(first, &format!("{first}!"))),
                "{name}"
            );
            let patch = format!(
                "*** Begin Patch\n*** Update File: f\n {first}!\n-let b = 1;\n+let c = 1;\n*** End Patch\n"
            );
            let patched = bench.run("apply_patch", json!({"input": patch})).await;
            let expected = format!("Changed 1 file:\nM f (+1 -1 lines)\n{kept}");
            assert_eq!(text(&patched), expected, "{name}");
            let content = before.replace("b = 1", "d = 1");
            let written = bench
                .run("write", json!({"file_path": "f", "content": content}))
                .await;
            assert!(
                text(&written).ends_with(format!("(+2 -2 lines)\n{kept}").trim_end()),
                "{}",
                text(&written)
            );
            assert_eq!(held(), bytes(&content), "{name}");
            let found = bench
                .run("grep", json!({"pattern": first, "literal": true}))
                .await;
            assert_eq!(text(&found), format!("f\n1:{first}\n"), "{name}");
        }
    }

    #[tokio::test]
    async fn a_character_that_the_encoding_lacks_is_refused_everywhere() {
        let bench = Bench::new();
        let bytes = b"caf\xe9 b\n";
        bench.put("latin", bytes);
        bench.run("read", json!({"file_path": "latin"})).await;
        let why = "`latin`: the file is ISO-8859-1 text, which has no `→`; use other characters, or convert the file to UTF-8 first with bash: `iconv`; nothing was ";
        let patch = "*** Begin Patch\n*** Update File: latin\n-café b\n+café →\n*** End Patch\n";
        for (tool, arguments, did) in [
            (
                "edit",
                json!({"file_path": "latin", "old_string": "b", "new_string": "→"}),
                "changed",
            ),
            ("apply_patch", json!({"input": patch}), "changed"),
            (
                "write",
                json!({"file_path": "latin", "content": "→\n"}),
                "written",
            ),
        ] {
            let output = bench.run(tool, arguments).await;
            assert_eq!(text(&output), format!("{why}{did}"), "{tool}");
            assert_eq!(fs::read(bench.path("latin")).unwrap(), bytes);
        }
    }

    /// UTF-8 with one wrong byte stays readable, and nothing writes it back changed.
    #[tokio::test]
    async fn damaged_text_is_shown_and_not_written() {
        let bench = Bench::new();
        let bytes = b"\xc3\xa9 \xc3\xbc \xff b\n";
        bench.put("f", bytes);
        let output = bench.run("read", json!({"file_path": "f"})).await;
        assert_eq!(text(&output), format!("1\té ü � b\n{}", damaged("UTF-8")));
        let edit = json!({"file_path": "f", "old_string": "b", "new_string": "c"});
        assert_eq!(
            text(&bench.run("edit", edit).await),
            "`f` is UTF-8 text with invalid bytes, which an edit would change; use bash to change it"
        );
        let write = json!({"file_path": "f", "content": "c\n"});
        assert_eq!(
            text(&bench.run("write", write).await),
            "`f` is UTF-8 text with invalid bytes; nothing was written. Convert it first with bash: `iconv`"
        );
        assert_eq!(fs::read(bench.path("f")).unwrap(), bytes);
    }

    #[tokio::test]
    async fn an_image_becomes_a_block() {
        let bench = Bench::new();
        let png = png(2, 1);
        bench.put("picture.txt", &png);
        let output = bench.run("read", json!({"file_path": "picture.txt"})).await;
        let head = format!("[picture.txt: 2x1, {} bytes]", png.len());
        let image = ContentBlock::Image {
            data: STANDARD.encode(&png),
            mime_type: "image/png".to_owned(),
        };
        assert_eq!(output.content, [ContentBlock::text(head), image]);
    }

    #[tokio::test]
    async fn a_large_image_is_scaled_down() {
        let bench = Bench::new();
        bench.put("large.png", png(3000, 300));
        let output = bench.run("read", json!({"file_path": "large.png"})).await;
        let [
            ContentBlock::Text { text, .. },
            ContentBlock::Image { data, .. },
        ] = &output.content[..]
        else {
            panic!("{:?}", output.content);
        };
        assert!(
            text.starts_with("[large.png: 3000x300, shown at 2000x200: scale 1.50, "),
            "{text}"
        );
        let sent = ::image::load_from_memory(&STANDARD.decode(data).unwrap()).unwrap();
        assert_eq!((sent.width(), sent.height()), (2000, 200));
    }

    #[tokio::test]
    async fn a_damaged_image_never_reaches_a_model() {
        let bench = Bench::new();
        let whole = png(64, 64);
        bench.put("torn.png", &whole[..whole.len() - 20]);
        let output = bench.run("read", json!({"file_path": "torn.png"})).await;
        let message = text(&output);
        assert!(
            message.starts_with("the image `torn.png` is damaged: "),
            "{message}"
        );
        assert_eq!(output.status, ToolStatus::ExecutionError { message });
        let file = fs::File::create(bench.path("huge.png")).unwrap();
        std::io::Write::write_all(&mut &file, &whole).unwrap();
        file.set_len(image::FILE_LIMIT + 1).unwrap();
        let message = read_text(&bench, json!({"file_path": "huge.png"})).await;
        assert!(
            message.contains("has 67108865 bytes, more than the limit of 67108864"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn an_interrupted_pass_gives_up() {
        let bench = Bench::new();
        bench.put("a", "x\n");
        let cancel = CancellationToken::new();
        cancel.cancel();
        let updates = osier_agent::UpdateSink::discard();
        let output = bench
            .run_with("read", json!({"file_path": "a"}), &cancel, updates)
            .await;
        assert_eq!(output.status, ToolStatus::Aborted);
    }
}
