//! `read`: the numbered lines of a text file, or an image. Files of any size are read in bounded memory; the
//! ledger records every file that is read.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Seek as _};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::binary::BinaryFile;
use super::document;
use super::error::ReadError;
use super::image;
use super::media;
use super::notebook;
use crate::built_in::{
    BuiltIn, Collapsed, Count, GeminiForm, Part, PartKind, PeerTool, RuleText, ToolEffect,
    ToolView, Verbs, peer,
};
use crate::call::arguments;
use crate::call::details::{ReadDetails, to_value};
use crate::call::spellings;
use crate::files::ledger::{MAX_HASHED, Stamp};
use crate::files::line_window::{Scan, Window, scan};
use crate::files::target::{FileArgument, is_missing};
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
/// Names shown for a directory.
const MAX_LISTED: usize = 100;

const FILE: FileArgument = FileArgument::new("file_path", FileUse::Read);

/// The name of the tool.
pub const READ: &str = "read";

pub(crate) const ROW: BuiltIn = BuiltIn {
    rule_text: RuleText::Argument("file_path"),
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
                Part::path("file_path"),
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
        "Read a text file with line numbers, an image, a notebook, a PDF or an office document. At most {MAX_LINES} lines a call; continue with offset."
    ),
    parameters: json!({
        "type": "object",
        "properties": {
            "file_path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 1, "description": "First line"},
            "limit": {"type": "integer", "minimum": 1, "description": "Number of lines"},
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

/// Ordered with the calls that change the same file.
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

/// Notes for the model about a text in another encoding than UTF-8.
const UTF_16: &str = "[the file is UTF-16 text, shown as UTF-8. edit and write refuse it; change it with bash, e.g. `iconv -f UTF-16 -t UTF-8`]\n";
const NOT_UTF_8: &str = "[the file is no UTF-8 text: � stands for bytes of another encoding, such as ISO-8859-1. edit and write refuse it; convert it with bash, e.g. `iconv -f ISO-8859-1 -t UTF-8`]\n";

/// The text of a file that begins with the byte order mark of UTF-16.
fn utf16(bytes: &[u8]) -> Option<String> {
    let unit = match bytes.get(..2)? {
        b"\xff\xfe" => u16::from_le_bytes,
        b"\xfe\xff" => u16::from_be_bytes,
        _ => return None,
    };
    let units = bytes[2..]
        .chunks_exact(2)
        .map(|pair| unit([pair[0], pair[1]]));
    Some(
        char::decode_utf16(units)
            .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    )
}

fn is_utf16(start: &[u8]) -> bool {
    start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff")
}

/// Refuses binary files by their start. Returns whether the text is UTF-16.
fn check_text(start: &[u8], name: &str, size: u64) -> Result<bool, ReadError> {
    let path = name.to_owned();
    let is_utf16 = is_utf16(start);
    if is_utf16 && size > MAX_HASHED {
        return Err(ReadError::Utf16 { path });
    }
    if !is_utf16 && start.contains(&0) {
        return Err(ReadError::Binary { path, size });
    }
    Ok(is_utf16)
}

/// Opens a regular file.
fn open(
    workspace: &Workspace,
    target: &FileTarget,
    name: &str,
) -> Result<(fs::File, fs::Metadata), ReadError> {
    let path = name.to_owned();
    match target.open() {
        Ok((Some(file), metadata)) => Ok((file, metadata)),
        Ok((None, metadata)) if metadata.is_dir() => Err(ReadError::Directory {
            listing: listing(&target.host),
            path,
        }),
        Ok((None, _)) => Err(ReadError::NotRegular { path }),
        Err(error) if is_missing(&error) => Err(missing(workspace, &target.named)),
        Err(source) => Err(ReadError::Io { path, source }),
    }
}

pub(crate) fn read(
    workspace: &Workspace,
    target: &FileTarget,
    arguments: &Arguments,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ReadError> {
    let path = &target.named;
    let name = workspace.display(path);
    let failed = |source| ReadError::Io {
        path: name.clone(),
        source,
    };
    let (file, metadata) = open(workspace, target, &name)?;
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
    let mut decoded = None;
    let scanned = match workspace.text_in_editor(target, &metadata) {
        Some(text) => scan(text.map_err(failed)?.as_bytes(), window, cancel),
        None if is_utf16 => {
            let (text, stamp) = decode(source, &metadata).map_err(failed)?;
            decoded = Some(stamp);
            scan(text.as_bytes(), window, cancel)
        }
        None => scan(source, window, cancel),
    };
    let scan = match scanned {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            return Err(ReadError::Interrupted);
        }
        scan => scan.map_err(failed)?,
    };
    let (stamp, known, note) = match decoded {
        Some(stamp) => (stamp, None, UTF_16),
        None => (
            Stamp::hashed(&metadata, &scan.hash),
            scan.hash.text(),
            if scan.is_damaged { NOT_UTF_8 } else { "" },
        ),
    };
    if window.offset <= scan.total_lines.max(1) {
        workspace.ledger.record(target, stamp, known);
    }
    shown(path, name, window.offset, scan, note)
}

fn window(arguments: &Arguments) -> Window {
    Window {
        offset: arguments.offset.unwrap_or(1).max(1),
        max_lines: arguments.limit.unwrap_or(MAX_LINES).clamp(1, MAX_LINES),
        max_bytes: MAX_BYTES,
    }
}

/// The text of a file in UTF-16, and its stamp.
fn decode(mut source: impl io::Read, metadata: &fs::Metadata) -> io::Result<(String, Stamp)> {
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes)?;
    let text = utf16(&bytes).unwrap_or_default();
    Ok((text, Stamp::of(metadata, &bytes)))
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
    let more = next <= scan.total_lines;
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
        let _ = writeln!(
            text,
            "[lines {offset}-{last} of {total}{limit}; continue with offset {next}]"
        );
    }
    if scan.total_lines == 0 {
        text.push_str("(empty file)");
    }
    text.push_str(note);
    ToolOutput::success(text, to_value(&details))
}

fn missing(workspace: &Workspace, path: &Path) -> ReadError {
    ReadError::Missing {
        path: workspace.display(path),
        suggestion: workspace.suggestion(path),
    }
}

/// Names in `directory`, one per line, directories with a slash.
fn listing(directory: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    let left_out = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    if left_out > 0 {
        names.push(format!("[{left_out} more]"));
    }
    if names.is_empty() {
        names.push("(empty)".to_owned());
    }
    names.join("\n")
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
                "`dir` is a directory; read one of its files:\nb.txt\ninner/",
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

    #[tokio::test]
    async fn other_encodings_are_named_and_never_written_over() {
        let bench = Bench::new();
        let utf16 = b"\xff\xfea\0\xe9\0\n\0b\0\n\0";
        for (name, bytes, shown, note) in [
            ("wide", &utf16[..], "1\taé\n2\tb\n", UTF_16),
            (
                "latin",
                b"caf\xe9\nb\n",
                "1\tcaf\u{fffd}\n2\tb\n",
                NOT_UTF_8,
            ),
        ] {
            bench.put(name, bytes);
            let output = bench.run("read", json!({"file_path": name})).await;
            assert_eq!(text(&output), format!("{shown}{note}"));
            let written = bench
                .run("write", json!({"file_path": name, "content": "x\n"}))
                .await;
            assert_eq!(
                text(&written),
                format!(
                    "`{name}` is not UTF-8 text; nothing was written. Convert it first with bash: `iconv`"
                )
            );
            let edited = bench
                .run(
                    "edit",
                    json!({"file_path": name, "old_string": "b", "new_string": "c"}),
                )
                .await;
            assert!(
                text(&edited).contains("is not UTF-8 text"),
                "{}",
                text(&edited)
            );
            assert_eq!(std::fs::read(bench.path(name)).unwrap(), bytes);
        }
        let found = bench.run("grep", json!({"pattern": "é"})).await;
        assert_eq!(text(&found), "wide\n1:aé\n");
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
