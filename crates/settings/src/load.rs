//! Reads the settings of the user. A file with unreadable safety settings never loosens what applies.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::regular_file::{ReadError, read_text};

use super::FILE_LIMIT;
use super::last_valid::{LastValid, settings_of};
use super::parse::{parse, unreadable};
use super::table::Settings;

/// How often osier looks for a file that has vanished, because an editor may be replacing it.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(40);

impl Settings {
    /// Parses `text`, the content of `path`. Safety settings that cannot be read have the strictest value.
    pub fn parse(path: &Path, text: &str) -> (Self, Vec<Problem>) {
        parse(Self::default(), path, text).resolve(None)
    }

    /// Reads the file at `path`, without regard to earlier settings. A missing file is not an error.
    pub fn load(path: &Path) -> (Self, Vec<Problem>) {
        match read_text(path, FILE_LIMIT) {
            Ok(text) => Self::parse(path, &text),
            Err(ReadError::Missing) => (Self::default(), Vec::new()),
            Err(error) => {
                let problem = Problem::of_file(path, error.to_string(), "");
                unreadable(Self::default(), problem).resolve(None)
            }
        }
    }

    /// The user's settings, in a session where `current` applies. If the file cannot be read,
    /// `current` or the last valid settings apply. In a session, a file that has vanished changes
    /// nothing. At the start, a missing file counts as removed if its folder exists; without the
    /// folder, it is only out of reach.
    pub(super) fn load_user(folders: &Folders, current: Option<&Self>) -> (Self, Vec<Problem>) {
        let (path, stored) = (folders.settings(), LastValid::new(folders));
        let restricts = || match current {
            Some(current) => !current.written.is_empty(),
            None => stored.may_restrict(),
        };
        let read = || read_text(&path, FILE_LIMIT);
        let mut file = read();
        let is_gone = |file: &Result<String, ReadError>| match file {
            Ok(text) => is_empty(text),
            Err(error) => *error == ReadError::Missing,
        };
        let mut attempts = if current.is_none() { ATTEMPTS } else { 0 };
        while attempts > 0 && is_gone(&file) && restricts() {
            attempts -= 1;
            sleep(PAUSE);
            file = read();
        }
        let fault =
            |message: &str| unreadable(Self::default(), Problem::of_file(&path, message, ""));
        let parsed = match file {
            Err(ReadError::Missing) if !restricts() => return (Self::default(), Vec::new()),
            Err(ReadError::Missing) if current.is_none() && folders.config.is_dir() => {
                stored.remove();
                let message = "does not exist any more: its safety settings no longer apply";
                return (Self::default(), vec![Problem::of_file(&path, message, "")]);
            }
            Err(ReadError::Missing) if current.is_none() => {
                fault("is out of reach: its folder does not exist")
            }
            Ok(text) if is_empty(&text) && restricts() => fault("is empty"),
            Ok(text) => parse(Self::default(), &path, &text),
            // Saved in another encoding, for example: new restrictions could be in it.
            Err(ReadError::NotText) => fault(&ReadError::NotText.to_string()).strict(),
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

/// Whether a file is empty, apart from a byte order mark that an editor writes into empty files.
fn is_empty(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').is_empty()
}
