//! Reads the settings of the user. A file with unreadable safety settings never loosens what applies.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::regular_file::{self, ReadError};

use super::last_valid::{LastValid, settings_of};
use super::parse::{parse, unreadable};
use super::{FILE_LIMIT, Settings};

/// How often a file that has vanished is looked for: an editor may be replacing it.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(40);

impl Settings {
    /// Parses `text`, the content of `path`. Safety settings that cannot be read have the strictest value.
    pub fn parse(path: &Path, text: &str) -> (Self, Vec<Problem>) {
        parse(Self::default(), path, text).resolve(None)
    }

    /// Reads the file at `path`, without regard to earlier settings. A missing file is not an error.
    pub fn load(path: &Path) -> (Self, Vec<Problem>) {
        match read(path) {
            Ok(text) => Self::parse(path, &text),
            Err(ReadError::Missing) => (Self::default(), Vec::new()),
            Err(error) => {
                let problem = Problem::of_file(path, error.to_string(), "");
                unreadable(Self::default(), problem).resolve(None)
            }
        }
    }

    /// The user's settings, in a session where `current` applies. If they cannot be read, `current` or the last valid
    /// ones apply. In a session, a file that has vanished changes nothing.
    pub(super) fn load_user(folders: &Folders, current: Option<&Self>) -> (Self, Vec<Problem>) {
        let (path, stored) = (folders.settings(), LastValid::new(folders));
        let restricts = || match current {
            Some(current) => !current.written.is_empty(),
            None => stored.may_restrict(),
        };
        let mut file = read(&path);
        let is_gone = |file: &Result<String, ReadError>| match file {
            Ok(text) => text.is_empty(),
            Err(error) => *error == ReadError::Missing,
        };
        let mut attempts = if current.is_none() { ATTEMPTS } else { 0 };
        while attempts > 0 && is_gone(&file) && restricts() {
            attempts -= 1;
            sleep(PAUSE);
            file = read(&path);
        }
        let fault =
            |message: &str| unreadable(Self::default(), Problem::of_file(&path, message, ""));
        let parsed = match file {
            Err(ReadError::Missing) if current.is_none() => {
                stored.remove();
                return (Self::default(), Vec::new());
            }
            Err(ReadError::Missing) if !restricts() => return (Self::default(), Vec::new()),
            Ok(text) if text.is_empty() && restricts() => fault("is empty"),
            Ok(text) => parse(Self::default(), &path, &text),
            Err(error) => fault(&error.to_string()),
        };
        if !parsed.settings.faults.is_empty() {
            let last = || stored.text().as_deref().and_then(settings_of);
            let last = current.cloned().or_else(last);
            return parsed.resolve(last.as_ref());
        }
        let problem = stored.store(&parsed.settings.written);
        let (settings, mut problems) = parsed.resolve(None);
        problems.extend(problem);
        (settings, problems)
    }
}

/// The file, which exists if a link leads to nothing.
fn read(path: &Path) -> Result<String, ReadError> {
    match regular_file::read_text(path, FILE_LIMIT) {
        Err(ReadError::Missing) if path.symlink_metadata().is_ok() => Err(ReadError::Io {
            message: "the link leads to no file".to_owned(),
        }),
        read => read,
    }
}
