//! The file of a plan: Markdown in the data directory, so that plan mode changes nothing in the project.

use parking_lot::{Mutex, MutexGuard};
use std::path::{Path, PathBuf};

use osier_base::atomic_file::{Options, WriteError, write_with};
use osier_base::regular_file::{self, ReadError};
use osier_tools::PLAN_BYTES;

/// Characters of the part of a name that comes from the plan.
const NAME_LENGTH: usize = 40;
/// Characters of the part of a name that comes from the session.
const ID_LENGTH: usize = 8;

/// Where the plans of a session are saved.
#[derive(Debug)]
pub(crate) struct PlanFiles {
    /// Not set for a session that is not stored.
    pub folder: Option<PathBuf>,
    pub session: String,
    /// The file of the plan that is not approved yet.
    pub current: Mutex<Option<PathBuf>>,
}

impl PlanFiles {
    /// The file for `plan`. A plan that is presented again replaces the one before.
    pub(super) fn path(&self, plan: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        if let Some(current) = &*self.current() {
            return Some(current.clone());
        }
        // The start of an id is the time.
        let start = self.session.len().saturating_sub(ID_LENGTH);
        let id = self.session.get(start..).unwrap_or_default();
        Some(folder.join(format!("{}-{id}.md", name(plan))))
    }

    pub(super) fn current(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.current.lock()
    }
}

/// The first line of the plan as a file name: `# Add retries!` is `add-retries`.
fn name(plan: &str) -> String {
    let line = plan
        .lines()
        .find(|line| line.chars().any(char::is_alphanumeric));
    let words = line
        .unwrap_or_default()
        .split(|c: char| !c.is_ascii_alphanumeric());
    let mut name = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        let length = name.len() + usize::from(!name.is_empty()) + word.len();
        if length > NAME_LENGTH {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase());
    }
    if name.is_empty() {
        "plan".to_owned()
    } else {
        name
    }
}

pub(super) fn write(path: &Path, plan: &str) -> Result<(), WriteError> {
    write_with(path, format!("{plan}\n").as_bytes(), Options::PRIVATE)
}

/// Reads a plan that the user may have edited.
pub(super) fn read(path: &Path) -> Result<String, ReadError> {
    regular_file::read_text(path, PLAN_BYTES as u64)
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn name_is_made_of_the_first_line_and_the_session() {
        let files = PlanFiles {
            folder: Some("/plans".into()),
            session: "0123456789abcdef".to_owned(),
            current: Mutex::default(),
        };
        for (plan, name) in [
            (
                "\n# Add retries: to the `client`!\n\nText",
                "add-retries-to-the-client-89abcdef.md",
            ),
            ("---\n## Überblick ../../etc", "berblick-etc-89abcdef.md"),
            ("計画", "plan-89abcdef.md"),
            (
                "# one two three four five six seven eight nine",
                "one-two-three-four-five-six-seven-eight-89abcdef.md",
            ),
        ] {
            assert_eq!(
                files.path(plan),
                Some(Path::new("/plans").join(name)),
                "{plan}"
            );
        }
        *files.current() = Some("/plans/a.md".into());
        assert_eq!(files.path("# Other"), Some("/plans/a.md".into()));
        let unstored = PlanFiles {
            folder: None,
            ..files
        };
        assert_eq!(unstored.path("# Plan"), None);
    }
}
