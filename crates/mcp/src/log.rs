//! The log of a server: its standard error, invalid messages, and with `--trace-mcp` every message in both
//! directions. When the file is full, it is renamed and a new one starts.

use parking_lot::Mutex;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::hidden::Hidden;
use osier_base::{private, regular_file, text};

/// Size after which a new file starts.
const LIMIT: u64 = 5 * 1024 * 1024;
/// Maximum bytes of one line.
const LINE_LIMIT: usize = 16 * 1024;
/// Maximum number of lines that are logged in one second; the others are counted.
const LINES_A_SECOND: u64 = 500;

/// Maximum characters of the name of a server in the name of its file.
const MAX_NAME: usize = 40;

/// The format of the times of lines.
const TIME: &str = "%Y-%m-%dT%H:%M:%SZ";
/// The kind of the lines that a server wrote to standard error.
pub(super) const STDERR: &str = "stderr";

/// The last lines that the server with the log at `path` wrote to standard error since `began`, at most `most`.
pub fn last_lines(path: &Path, began: jiff::Timestamp, most: usize) -> Vec<String> {
    let began = began.strftime(TIME).to_string();
    let log = regular_file::read_text(path, LIMIT * 2).unwrap_or_default();
    let lines = log.lines().rev().filter_map(|line| {
        let (time, line) = line.split_once(' ')?;
        let (kind, line) = line.split_once(": ")?;
        (kind == STDERR && time >= began.as_str()).then(|| line.to_owned())
    });
    let mut lines: Vec<String> = lines.take(most).collect();
    lines.reverse();
    lines
}

/// A log. A failed write never fails the server.
#[derive(Debug)]
pub(super) struct ServerLog {
    path: PathBuf,
    open: Mutex<Option<Open>>,
    hidden: Hidden,
}

#[derive(Debug)]
struct Open {
    file: File,
    length: u64,
    /// The second that is counted, and its lines.
    second: i64,
    lines: u64,
}

impl ServerLog {
    /// The log of `server` in `folder`. The file is created with its first line.
    pub(super) fn new(folder: &Path, server: &str, hidden: Hidden) -> Self {
        let allowed = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.');
        let mut name: String = server
            .chars()
            .take(MAX_NAME)
            .map(|char| if allowed(char) { char } else { '_' })
            .collect();
        // Different servers have different files, even if the file system ignores letter case.
        if name != server || name != name.to_lowercase() {
            let _ = write!(name, "_{:08x}", crc32fast::hash(server.as_bytes()));
        }
        Self {
            path: folder.join(format!("mcp-{name}.log")),
            open: Mutex::default(),
            hidden,
        }
    }

    /// `text` without the values that messages must not show.
    pub(super) fn hide(&self, text: &str) -> String {
        self.hidden.hide(text)
    }

    /// A folder for the server below `parent`.
    pub(super) fn folder_in(&self, parent: &Path) -> PathBuf {
        parent.join(self.path.file_stem().unwrap_or_default())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line: `2026-11-21T10:00:00Z stderr: text`.
    pub(super) fn line(&self, kind: &str, text: &str) {
        self.try_line(kind, text);
    }

    /// Writes a line, and returns whether there was room for it.
    pub(super) fn try_line(&self, kind: &str, text: &str) -> bool {
        self.line_at(osier_base::clock::now(), kind, &self.hidden.hide(text))
    }

    fn line_at(&self, now: jiff::Timestamp, kind: &str, text: &str) -> bool {
        let mut open = self.open.lock();
        if open.as_ref().is_none_or(|open| open.length > LIMIT) {
            *open = self.begin().ok();
        }
        let Some(log) = open.as_mut() else {
            return true;
        };
        if log.second != now.as_second() {
            let dropped = log.lines.saturating_sub(LINES_A_SECOND);
            (log.second, log.lines) = (now.as_second(), 0);
            if dropped > 0 {
                let dropped = text::counted(dropped, "line was", "lines were");
                log.write(now, "osier", &format!("{dropped} not logged"));
            }
        }
        log.lines += 1;
        let has_room = log.lines <= LINES_A_SECOND;
        if has_room {
            log.write(now, kind, text);
        }
        has_room
    }

    fn begin(&self) -> std::io::Result<Open> {
        if let Some(folder) = self.path.parent() {
            private::create_folder(folder)?;
        }
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if length > LIMIT {
            std::fs::rename(&self.path, self.path.with_extension("log.old"))?;
        }
        let file = regular_file::open_append(&self.path, private::FILE_MODE)?;
        let length = file.metadata()?.len();
        Ok(Open {
            file,
            length,
            second: 0,
            lines: 0,
        })
    }
}

impl Open {
    fn write(&mut self, now: jiff::Timestamp, kind: &str, text: &str) {
        let now = now.strftime(TIME);
        let text = text::sanitize(text::head_bytes(text.trim_end(), LINE_LIMIT)).into_owned();
        let line = format!("{now} {kind}: {text}\n");
        if self.file.write_all(line.as_bytes()).is_ok() {
            self.length += line.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_run_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let log = ServerLog::new(folder.path(), "a", Hidden::default());
        let second = |second| jiff::Timestamp::from_second(second).unwrap();
        log.line_at(second(1), STDERR, "of another run");
        for number in 1..=6 {
            log.line_at(second(2), STDERR, &format!("line {number}: x"));
            log.line_at(second(2), "osier", "stopped");
        }
        assert_eq!(
            last_lines(log.path(), second(2), 2),
            ["line 5: x", "line 6: x"]
        );
        assert_eq!(last_lines(log.path(), second(3), 2), Vec::<String>::new());
    }

    #[test]
    fn a_flood_of_lines_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let log = ServerLog::new(folder.path(), "a", Hidden::default());
        let second = |second| jiff::Timestamp::from_second(second).unwrap();
        let logged = (0..2_000).filter(|_| log.line_at(second(1), "stderr", "y"));
        assert_eq!(logged.count(), 500);
        assert!(log.line_at(second(2), "stderr", "z"));
        let text = std::fs::read_to_string(log.path()).unwrap();
        let end: Vec<&str> = text.lines().skip(500).collect();
        assert_eq!(
            end,
            [
                "1970-01-01T00:00:02Z osier: 1500 lines were not logged",
                "1970-01-01T00:00:02Z stderr: z"
            ]
        );
    }

    #[test]
    fn lines_are_clean_and_the_file_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let log = ServerLog::new(folder.path(), "a/b", Hidden::default());
        assert_eq!(log.path(), folder.path().join("mcp-a_b_07f4401c.log"));
        for other in ["a_b", "a:b", "A_b"] {
            assert_ne!(
                ServerLog::new(folder.path(), other, Hidden::default()).path(),
                log.path()
            );
        }
        log.line("stderr", "\x1b[31mred\x1b[0m\n");
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(text.split_once(' ').unwrap().1, "stderr: red\n");
        for _ in 0..1000 {
            log.line("stderr", &"x".repeat(20_000));
        }
        let lengths = ["mcp-a_b_07f4401c.log", "mcp-a_b_07f4401c.log.old"]
            .map(|name| std::fs::metadata(folder.path().join(name)).unwrap().len());
        assert!(
            lengths.iter().all(|length| *length <= LIMIT + 20_000),
            "{lengths:?}"
        );
    }
}
