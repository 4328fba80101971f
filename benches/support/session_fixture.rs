//! Long sessions for benchmarks and tests, always with the same bytes.
//!
//! The content resembles real work: prompts, answers in Markdown with code, thinking, commands with output, edits
//! with diffs. It uses no clock and only a deterministic random generator, and stores nothing in memory: two
//! hundred megabytes are written at the speed of the disk.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The length and size of a session.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Lines after the header.
    pub(crate) entries: usize,
    /// The approximate average bytes per line; 0 for short plain messages.
    pub(crate) bytes_per_entry: usize,
    /// Whether some turns before the end have very long entries: output and an answer of megabytes, a diff of 10,000
    /// lines.
    pub(crate) giants: bool,
    /// The working directory in the header.
    pub(crate) cwd: String,
    /// UUID of the session.
    pub(crate) id: String,
}

/// A prompt that occurs only in the first entry.
pub(crate) const FIRST_PROMPT: &str = "Begin at the very beginning: the quokka question.";
/// Words that occur only in the last answer.
pub(crate) const LAST_ANSWER: &str = "And that is where the zebra finally rests.";

impl Shape {
    /// 10,000 short messages.
    pub(crate) fn messages(entries: usize) -> Self {
        Self {
            entries,
            bytes_per_entry: 0,
            giants: false,
            cwd: "/work/project".into(),
            id: "0199b3c4-0000-7000-8000-00000000000a".into(),
        }
    }

    /// 100,000 entries are about 200 MB.
    pub(crate) fn work(entries: usize) -> Self {
        Self {
            bytes_per_entry: 2000,
            id: "0199b3c4-0000-7000-8000-00000000000b".into(),
            ..Self::messages(entries)
        }
    }
}

/// Writes the session to `path`, which must not exist.
pub(crate) fn write(path: &Path, shape: &Shape) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = File::create_new(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    writeln!(
        out,
        r#"{{"type":"session","version":1,"id":"{}","timestamp":"2026-01-01T00:00:00.000Z","cwd":{}}}"#,
        shape.id,
        quoted(&shape.cwd)
    )?;
    let mut source = Source::new(shape);
    for number in 0..shape.entries {
        source.line.clear();
        source.entry(number);
        out.write_all(source.line.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// The turns with very long entries, counted from the end.
const GIANT_OUTPUT: usize = 3;
const GIANT_DIFF: usize = 4;
const GIANT_ANSWER: usize = 6;
/// Bytes of a very long entry.
const GIANT: usize = 5_000_000;
const GIANT_LINES: usize = 10_000;

/// Generates the lines.
struct Source<'a> {
    shape: &'a Shape,
    random: u64,
    line: String,
}

const WORDS: &[&str] = &[
    "the", "parser", "reads", "a", "token", "and", "keeps", "its", "place", "in", "buffer", "so",
    "that", "error", "names", "line", "column", "when", "file", "ends", "early", "test", "shows",
    "what", "happens", "session", "writes", "every", "entry", "once", "never", "again", "window",
    "scrolls", "while", "stream", "grows", "cache", "holds", "rows", "width", "changes", "index",
    "finds", "parent", "before", "child", "lock", "guards", "against", "second", "process",
];

const CODE: &[&str] = &[
    "fn next(&mut self) -> Option<Token> {",
    "    let start = self.position;",
    "    while let Some(byte) = self.peek() {",
    "        if !byte.is_ascii_alphanumeric() { break; }",
    "        self.position += 1;",
    "    }",
    "    match &self.input[start..self.position] {",
    "        \"\" => None,",
    "        word => Some(Token::Word(word.to_owned())),",
    "    }",
    "}",
];

/// The entries of one turn, by their position.
const TURN: usize = 8;

impl<'a> Source<'a> {
    fn new(shape: &'a Shape) -> Self {
        Self {
            shape,
            random: 0x9e37_79b9_7f4a_7c15,
            line: String::with_capacity(16 * 1024),
        }
    }

    /// The next number below `limit` (xorshift64*).
    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let number = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        number as usize % limit.max(1)
    }

    fn words(&mut self, count: usize) -> String {
        let mut text = String::new();
        for place in 0..count {
            let word = WORDS[self.below(WORDS.len())];
            text.push_str(if place == 0 { "" } else { " " });
            text.push_str(word);
        }
        text
    }

    fn entry(&mut self, number: usize) {
        let parent = match number {
            0 => "null".to_owned(),
            _ => format!("\"{:08x}\"", number - 1),
        };
        let (hours, minutes, seconds) = (number / 3600 % 24, number / 60 % 60, number % 60);
        let day = 1 + number / 86_400 % 28;
        let _ = write!(
            self.line,
            r#"{{"id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.000Z","type":"message","message":"#
        );
        let last = number + 1 == self.shape.entries;
        if self.shape.bytes_per_entry == 0 {
            self.short_message(number, last);
        } else {
            self.work_message(number, last);
        }
        self.line.push('}');
    }

    fn short_message(&mut self, number: usize, last: bool) {
        let text = if number == 0 {
            FIRST_PROMPT.to_owned()
        } else {
            let count = 20 + self.below(40);
            format!("Message {number}: {}.", self.words(count))
        };
        if number.is_multiple_of(2) {
            self.user(&text);
        } else {
            let text = if last { LAST_ANSWER } else { &text };
            self.assistant(number, &[text_block(text)], "stop");
        }
    }

    fn work_message(&mut self, number: usize, last: bool) {
        if last {
            return self.assistant(number, &[text_block(LAST_ANSWER)], "stop");
        }
        match number % TURN {
            0 => {
                let count = 12 + self.below(60);
                let text = match number {
                    0 => FIRST_PROMPT.to_owned(),
                    _ => format!("Prompt {}: {}.", number / TURN, self.words(count)),
                };
                self.user(&text);
            }
            1 | 3 | 5 => {
                let count = 30 + self.below(60);
                let thinking = self.words(count);
                let (name, arguments) = match number % TURN {
                    1 => ("read", r#"{"file_path":"src/parser.rs"}"#.to_owned()),
                    3 => (
                        "edit",
                        r#"{"file_path":"src/parser.rs","old_string":"a","new_string":"b"}"#
                            .to_owned(),
                    ),
                    _ => {
                        let command = format!("cargo test parser::case_{number}");
                        ("bash", format!(r#"{{"command":{}}}"#, quoted(&command)))
                    }
                };
                let count = 8 + self.below(20);
                let says = self.words(count);
                let blocks = [
                    format!(r#"{{"type":"thinking","thinking":{}}}"#, quoted(&thinking)),
                    text_block(&says),
                    format!(
                        r#"{{"type":"toolCall","id":"call_{number}","name":"{name}","arguments":{arguments}}}"#
                    ),
                ];
                self.assistant(number, &blocks, "toolUse");
            }
            2 => {
                let text = self.source_file();
                self.result(number, "read", &text, r#"{"linesRead":120}"#);
            }
            4 if self.is_giant(number, GIANT_DIFF) => {
                let mut diff = String::from("@@ -1,10000 +1,10000 @@\n");
                for line in 0..GIANT_LINES {
                    let mark = [" ", "-", "+"][line % 3];
                    let _ = writeln!(diff, "{mark}{}", CODE[line % CODE.len()]);
                }
                let details = format!(r#"{{"diff":{}}}"#, quoted(&diff));
                self.result(number, "edit", "The file was changed.", &details);
            }
            4 => {
                let diff = self.diff();
                let details = format!(r#"{{"diff":{}}}"#, quoted(&diff));
                self.result(number, "edit", "The file was changed.", &details);
            }
            6 => {
                let bytes = self.bulk_of(number, GIANT_OUTPUT);
                let text = self.test_output(number, bytes);
                self.result(number, "bash", &text, r#"{"exitCode":0}"#);
            }
            _ => {
                let bytes = self.bulk_of(number, GIANT_ANSWER);
                let text = self.markdown(number, bytes);
                self.assistant(number, &[text_block(&text)], "stop");
            }
        }
    }

    fn user(&mut self, text: &str) {
        let _ = write!(
            self.line,
            r#"{{"role":"user","text":{},"timestamp":1}}"#,
            quoted(text)
        );
    }

    fn assistant(&mut self, number: usize, blocks: &[String], stop: &str) {
        let _ = write!(
            self.line,
            r#"{{"role":"assistant","content":[{}],"provider":"fixture","model":"long","api":"scripted","usage":{{"input":{},"output":{},"cacheRead":0,"cacheWrite":0,"reasoning":0,"cost":{{"input":0.0,"output":0.0,"cacheRead":0.0,"cacheWrite":0.0,"total":0.0}}}},"stopReason":"{stop}","timestamp":{number},"durationMs":900}}"#,
            blocks.join(","),
            100 + number % 50,
            20 + number % 30,
        );
    }

    fn result(&mut self, number: usize, name: &str, text: &str, details: &str) {
        let _ = write!(
            self.line,
            r#"{{"role":"toolResult","toolCallId":"call_{}","toolName":"{name}","content":[{}],"isError":false,"timestamp":{number},"status":{{"type":"success"}},"details":{details},"durationMs":120}}"#,
            number - 1,
            text_block(text),
        );
    }

    /// Bytes of the long texts of a turn: four of its eight entries carry nearly all of it.
    fn bulk(&mut self) -> usize {
        let mean = (self.shape.bytes_per_entry * TURN).saturating_sub(4500) / 4;
        mean / 2 + self.below(mean.max(1))
    }

    /// Whether the entry belongs to the turn with this distance from the end.
    fn is_giant(&self, number: usize, turns: usize) -> bool {
        self.shape.giants && number / TURN + turns == self.shape.entries / TURN
    }

    fn bulk_of(&mut self, number: usize, turns: usize) -> usize {
        let bytes = self.bulk();
        if self.is_giant(number, turns) {
            GIANT
        } else {
            bytes
        }
    }

    fn source_file(&mut self) -> String {
        let bytes = self.bulk();
        let mut text = String::new();
        let mut line = 1;
        while text.len() < bytes {
            let code = CODE[line % CODE.len()];
            let _ = writeln!(text, "{line:>5}\t{code}");
            line += 1;
        }
        text
    }

    fn diff(&mut self) -> String {
        let bytes = self.bulk();
        let mut text = String::from("--- a/src/parser.rs\n+++ b/src/parser.rs\n");
        let mut line = 1;
        while text.len() < bytes {
            let _ = writeln!(text, "@@ -{line},3 +{line},4 @@");
            for offset in 0..4 {
                let mark = [" ", "-", "+", "+"][offset];
                let _ = writeln!(text, "{mark}{}", CODE[(line + offset) % CODE.len()]);
            }
            line += 17;
        }
        text
    }

    fn test_output(&mut self, number: usize, bytes: usize) -> String {
        let mut text = String::new();
        let mut case = 0;
        while text.len() < bytes {
            let words = self.words(3).replace(' ', "_");
            let _ = writeln!(text, "test parser::case_{number}::{words}_{case} ... ok");
            case += 1;
        }
        let _ = write!(text, "\ntest result: ok. {case} passed; 0 failed");
        text
    }

    fn markdown(&mut self, number: usize, bytes: usize) -> String {
        let mut text = format!("## Turn {}\n\n", number / TURN);
        while text.len() < bytes {
            let count = 30 + self.below(50);
            let prose = self.words(count);
            let _ = writeln!(text, "It is **done**: {prose}. See `src/parser.rs`.\n");
            for item in 0..3 {
                let words = self.words(9);
                let _ = writeln!(text, "- item {item}: {words}");
            }
            text.push_str("\n```rust\n");
            for line in CODE {
                text.push_str(line);
                text.push('\n');
            }
            text.push_str("```\n\n");
        }
        text
    }
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
}

/// `text` as a JSON string. Generated texts have no other control characters.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
