//! The last valid safety settings of the user's file, stored for the time when it cannot be read. The file is written
//! only when they have changed.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use osier_base::atomic_file::{self, Options};
use osier_base::folders::Folders;
use osier_base::hex::hex;
use osier_base::problem::Problem;
use osier_base::regular_file;

use super::FILE_LIMIT;
use super::parse::parse;
use super::table::Settings;

/// The stored settings.
pub(super) struct LastValid {
    path: PathBuf,
    /// The settings file that they belong to.
    of: PathBuf,
}

impl LastValid {
    pub(super) fn new(folders: &Folders) -> Self {
        Self {
            path: folders.data.join("last-safety-settings.toml"),
            of: folders.settings(),
        }
    }

    /// The stored text, if it is what osier wrote for this settings file.
    pub(super) fn text(&self) -> Option<String> {
        let stored = regular_file::read_text(&self.path, 2 * FILE_LIMIT).ok()?;
        let (_, text) = stored.split_once(END)?;
        (stored == self.content(text)).then(|| text.to_owned())
    }

    /// Whether there were safety settings; also if what is stored is damaged.
    pub(super) fn may_restrict(&self) -> bool {
        let is_empty = self.text().is_some_and(|text| text.is_empty());
        !is_empty && self.path.symlink_metadata().is_ok()
    }

    /// Stores the safety settings `text`, if they are not stored yet.
    pub(super) fn store(&self, text: &str) -> Option<Problem> {
        let content = self.content(text);
        if regular_file::read_text(&self.path, 2 * FILE_LIMIT).is_ok_and(|stored| stored == content)
        {
            return None;
        }
        let error =
            atomic_file::write_with(&self.path, content.as_bytes(), Options::PRIVATE).err()?;
        // The stored settings are outdated: no stored settings are better than looser ones. A
        // missing file is not outdated.
        let is_stale = fs::remove_file(&self.path).is_err() && self.path.symlink_metadata().is_ok();
        let hint = "it has older settings: remove it";
        is_stale.then(|| Problem::of_file(&self.path, error.to_string(), hint))
    }

    /// Removes the stored settings.
    pub(super) fn remove(&self) {
        // If that fails, the file has an effect only when the settings cannot be read later.
        let _ = fs::remove_file(&self.path);
    }

    /// The complete file: what it is, a hash, and the settings.
    fn content(&self, text: &str) -> String {
        let of = shown(&self.of);
        let hash = hex(Sha256::digest(format!("{of}\n{text}")));
        format!("# Written by osier: the last valid safety settings of {of}\n# {hash}{END}{text}")
    }
}

const END: &str = "\n# Changes are ignored.\n";

/// The path on one line.
fn shown(path: &Path) -> String {
    path.display().to_string().replace('\n', " ")
}

/// The settings in stored text; `None` if it is not valid.
pub(super) fn settings_of(text: &str) -> Option<Settings> {
    let parsed = parse(Settings::default(), Path::new(""), text);
    // Warnings, such as one about a doubtful rule, are no faults.
    let is_valid = parsed.settings.faults.is_empty();
    is_valid.then_some(parsed.settings)
}
