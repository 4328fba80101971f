//! The log of a session in a file, so that it can be looked up later. It is with the complete outputs of the session, and is
//! removed with them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_base::secrets::write_json;
use osier_base::{atomic_file, private, regular_file};
use osier_protocol::{Event, LogLine};
use osier_tools::OWNER;
use parking_lot::Mutex;

/// The files of a log: the current one, and the one before it.
const CURRENT: &str = "log.jsonl";
const EARLIER: &str = "log.1.jsonl";
/// Maximum bytes of one file.
const LIMIT: u64 = 512 * 1024;

/// Where the log goes; nowhere if the session is not stored. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunLog(Arc<Mutex<Option<Place>>>);

#[derive(Debug)]
struct Place {
    folder: PathBuf,
    session: PathBuf,
}

impl RunLog {
    /// Logs into this folder, for this file of a session.
    pub(crate) fn open(&self, place: Option<(PathBuf, PathBuf)>) {
        *self.0.lock() = place.map(|(folder, session)| Place { folder, session });
    }

    /// Writes the line of an event, if it has one.
    pub(crate) fn write(&self, event: &Event) {
        let Some(line) = LogLine::of(event) else {
            return;
        };
        if let Some(place) = &*self.0.lock() {
            // The event itself was sent. There is nowhere else to report this.
            let _ = place.append(&line);
        }
    }
}

impl Place {
    fn append(&self, line: &LogLine) -> io::Result<()> {
        // A session that was never stored needs no log.
        if !self.session.exists() {
            return Ok(());
        }
        private::create_folder(&self.folder)?;
        let owner = self.folder.join(OWNER);
        if !owner.exists() {
            let session = self.session.to_string_lossy();
            atomic_file::write(&owner, session.as_bytes()).map_err(io::Error::other)?;
        }
        let path = self.folder.join(CURRENT);
        if path.metadata().is_ok_and(|data| data.len() > LIMIT) {
            fs::rename(&path, self.folder.join(EARLIER))?;
        }
        let mut text = Vec::new();
        write_json(line, &mut text);
        text.push(b'\n');
        regular_file::open_append(&path, private::FILE_MODE)?.write_all(&text)
    }
}

/// The lines of the log in this folder, oldest first. Skips damaged ones. Blocks.
pub fn read(folder: &Path) -> Vec<LogLine> {
    let texts = [EARLIER, CURRENT].map(|name| {
        let text = regular_file::read(&folder.join(name), 2 * LIMIT);
        text.unwrap_or_default()
    });
    let lines = texts
        .iter()
        .flat_map(|text| text.split(|byte| *byte == b'\n'));
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use osier_agent::Severity;
    use osier_base::secrets;

    use super::*;

    #[test]
    fn log_is_kept_with_the_session_and_limited() {
        let place = tempfile::tempdir().unwrap();
        let (folder, session) = (place.path().join("outputs/1"), place.path().join("s.jsonl"));
        let notice = |text: &str| Event::Notice {
            severity: Severity::Warning,
            text: text.to_owned(),
            request: None,
        };
        let log = RunLog::default();
        log.write(&notice("nowhere"));
        log.open(Some((folder.clone(), session.clone())));
        log.write(&notice("not stored yet"));
        assert_eq!(read(&folder), []);
        atomic_file::write(&session, b"{}").unwrap();
        let long = "x".repeat(200 * 1024);
        secrets::add_known(["plain words of log 77".to_owned()]);
        for text in ["first plain words of log 77", &long, &long, &long, "last"] {
            log.write(&notice(text));
        }
        let owner = fs::read_to_string(folder.join(OWNER)).unwrap();
        assert_eq!(Path::new(&owner), session);
        let texts: Vec<String> = read(&folder).into_iter().map(|line| line.text).collect();
        assert_eq!(texts.len(), 5);
        assert_eq!((&*texts[0], &*texts[4]), ("first [key removed]", "last"));
        for _ in 0..8 {
            log.write(&notice(&long));
        }
        assert!(read(&folder).len() < 8);
    }
}
