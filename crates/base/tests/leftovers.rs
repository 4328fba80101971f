//! A sweep removes what killed processes left, and nothing else.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "leftovers are made on purpose; helpers fail by panicking"
)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use osier_base::leftovers::{FolderKind, Places, Swept, TemporaryFolder, sweep_at, worktree};
use osier_base::pending_file::PendingFile;

const DAY: Duration = Duration::from_hours(24);
const SOON: Duration = Duration::from_secs(10);

struct Machine {
    folder: tempfile::TempDir,
    places: Places,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let places = Places {
            temporary: at("tmp"),
            data: at("data"),
            config: at("config"),
            workspace: Some(at("work")),
        };
        for name in [
            "tmp",
            "data/fans",
            "data/checkpoints/objects/ab",
            "config",
            "work/src",
        ] {
            fs::create_dir_all(at(name)).unwrap();
        }
        Self { folder, places }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A private folder with a file.
    fn folder(&self, name: &str, content: &str) -> PathBuf {
        let path = self.at(name);
        let file = path.join(content);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "content").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        path
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Sweeps when everything is `age` old.
    fn sweep(&self, age: Duration) -> (usize, usize) {
        let Swept { folders, files } = sweep_at(&self.places, SystemTime::now() + age);
        (folders, files)
    }
}

/// Kills the process of the folder: the folder stays, and its lock is released.
fn kill(folder: TemporaryFolder) -> PathBuf {
    let path = folder.path().to_owned();
    let elsewhere = path.with_extension("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    drop(folder);
    fs::rename(elsewhere, &path).unwrap();
    path
}

fn left(paths: &[PathBuf]) -> Vec<&PathBuf> {
    let paths = paths.iter();
    paths
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

const NONE: Vec<&PathBuf> = Vec::new();

#[test]
fn folders_of_killed_processes_are_removed_and_those_in_use_stay() {
    let machine = Machine::new();
    let kinds = [
        (FolderKind::Outputs, "tmp"),
        (FolderKind::Sandbox, "tmp"),
        (FolderKind::Tour, "tmp"),
        (FolderKind::Editor, "tmp"),
        (FolderKind::Lane, "data/fans"),
    ];
    let new = || {
        kinds.map(|(kind, parent)| {
            let folder = TemporaryFolder::new_in(kind, &machine.at(parent)).unwrap();
            fs::write(folder.path().join("file"), "content").unwrap();
            folder
        })
    };
    let (used, dead) = (new(), new().map(kill));
    assert_eq!(machine.sweep(30 * DAY), (5, 0));
    assert_eq!(left(&dead), NONE);
    let is_complete = |folder: &TemporaryFolder| folder.path().join("file").exists();
    assert!(used.iter().all(is_complete));
    let dead = used.map(kill);
    // Without waiting.
    assert_eq!(machine.sweep(Duration::ZERO), (5, 0));
    assert_eq!(left(&dead), NONE);
}

#[test]
fn other_folders_stay() {
    let machine = Machine::new();
    let outside = machine.folder("outside", "file");
    let stay = [
        // Six letters, as earlier versions had, but it is the user's.
        machine.folder("tmp/osier-backup", "letter.txt"),
        machine.folder("tmp/osier-tmp-backup", "letter.txt"),
        machine.folder("tmp/osier-outputs-mine", "0123456789ab.log"),
        machine.folder("data/fans/overwritten-2026-11-23T21-00-00Z", "file"),
    ];
    // Everybody could have written it.
    let shared = machine.folder("tmp/osier-outputs-0123456789ac", "file");
    fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
    symlink(&outside, machine.at("tmp/osier-outputs-0123456789ab")).unwrap();
    assert_eq!(machine.sweep(30 * DAY), (0, 0));
    assert_eq!(left(&stay).len(), stay.len());
    assert!(outside.join("file").exists() && shared.exists());
}

#[test]
fn new_empty_folder_stays_because_it_is_not_locked_yet() {
    let machine = Machine::new();
    let folder = TemporaryFolder::new_in(FolderKind::Outputs, &machine.at("tmp")).unwrap();
    let path = kill(folder);
    assert_eq!(machine.sweep(Duration::ZERO), (0, 0));
    assert!(path.exists());
    assert_eq!(machine.sweep(SOON), (1, 0));
}

#[test]
fn folders_of_earlier_versions_are_removed_after_a_week() {
    let machine = Machine::new();
    let old = [
        machine.folder("tmp/osier-aB3dE6", "0123456789ab.log"),
        machine.folder("tmp/osier-tmp-aB3dE6", "var-tmp/file"),
        machine.folder("tmp/osier-tour-aB3dE6", "slug.sh"),
        machine.folder("data/fans/fan-aB3dE6", "files/file"),
    ];
    assert_eq!(machine.sweep(6 * DAY), (0, 0));
    assert_eq!(left(&old).len(), old.len());
    assert_eq!(machine.sweep(8 * DAY), (4, 0));
    assert_eq!(left(&old), NONE);
}

#[test]
fn removed_lanes_are_unregistered_and_other_worktrees_stay() {
    let machine = Machine::new();
    let lane = |lane: &str, registration: &str, back: &str| {
        let folder = machine.folder(&format!("data/fans/{lane}"), "files/file");
        let registration = machine.at(registration);
        fs::create_dir_all(&registration).unwrap();
        let link = format!("gitdir: {}\n", registration.display());
        fs::write(folder.join("files/.git"), link).unwrap();
        let back = format!("{}\n", machine.at(back).join(".git").display());
        fs::write(registration.join("gitdir"), back).unwrap();
        registration
    };
    machine.folder("other", ".git");
    let own = |lane: &str| format!("data/fans/{lane}/files");
    let names = ["fan-0123456789ab", "fan-0123456789ac", "fan-0123456789ad"];
    let swept = lane(names[0], "repo/.git/worktrees/files", &own(names[0]));
    // The lane was changed: it names the registration of another worktree, or a folder that is none.
    let other = lane(names[1], "repo/.git/worktrees/other", "other");
    let documents = lane(names[2], "documents", &own(names[2]));
    assert_eq!(machine.sweep(SOON), (3, 0));
    assert_eq!(
        left(&[swept, other.clone(), documents.clone()]),
        [&other, &documents]
    );
}

#[test]
fn registration_that_git_did_not_complete_is_removed_and_those_of_the_user_stay() {
    let machine = Machine::new();
    let registrations = machine.at("repo/.git/worktrees");
    // Every step of `git worktree add`, and a registration that names another worktree.
    let steps = [
        ("fan-0123456789ab", &[][..], None),
        ("fan-0123456789ac", &["locked"], None),
        (
            "fan-0123456789ad",
            &["locked"],
            Some("data/fans/fan-0123456789ad/fan-0123456789ad"),
        ),
        ("fan-0123456789ae", &["locked", "HEAD"], Some("other")),
    ];
    for (name, files, worktree) in steps {
        let lane = machine.folder(&format!("data/fans/{name}"), "file");
        worktree::will_register(&lane, &machine.at("repo/.git")).unwrap();
        let registration = registrations.join(name);
        fs::create_dir_all(&registration).unwrap();
        for file in files {
            fs::write(registration.join(file), "initializing").unwrap();
        }
        if let Some(worktree) = worktree {
            let link = machine.at(worktree).join(".git");
            fs::write(registration.join("gitdir"), format!("{}\n", link.display())).unwrap();
        }
    }
    machine.folder("other", ".git");
    let own = registrations.join("topic");
    fs::create_dir(&own).unwrap();
    assert_eq!(machine.sweep(SOON), (4, 0));
    let all = steps.map(|(name, ..)| registrations.join(name));
    assert_eq!(left(&all), [&all[3]]);
    assert!(own.exists());
}

#[test]
fn worktree_of_a_fork_that_was_not_completed_is_removed_and_a_complete_one_stays() {
    const NAME: &str = "repo-fork-0123abcd";
    /// The files in the worktree, and those in its registration.
    type Files = (
        Option<&'static [&'static str]>,
        Option<&'static [&'static str]>,
    );
    let rows: [(&str, Files, bool); 6] = [
        ("nothing yet", (None, None), false),
        ("a registration", (None, Some(&["locked"])), false),
        ("a folder", (Some(&[]), Some(&["locked"])), false),
        (
            "files",
            (Some(&[".git", "a"]), Some(&["gitdir", "HEAD"])),
            false,
        ),
        (
            "a branch",
            (Some(&[".git", "a"]), Some(&["gitdir", "branch"])),
            true,
        ),
        (
            "a folder of the user",
            (Some(&["a"]), Some(&["gitdir", "HEAD"])),
            true,
        ),
    ];
    for (case, (worktree, registration), stays) in rows {
        let machine = Machine::new();
        let folder = machine.folder("data/fans/fan-0123456789ab", "file");
        let place = machine.at(NAME);
        // Git replaces characters that a reference cannot have.
        let registered = machine.at(&format!("repo/.git/worktrees/my-{NAME}"));
        fs::create_dir_all(machine.at("repo/.git/worktrees/topic")).unwrap();
        worktree::will_register_outside(&folder, &place, &machine.at("repo/.git")).unwrap();
        for (at, files) in [(&place, worktree), (&registered, registration)] {
            let Some(files) = files else { continue };
            fs::create_dir(at).unwrap();
            for file in files {
                let (file, text) = match *file {
                    ".git" => (".git", format!("gitdir: {}\n", registered.display())),
                    "gitdir" => ("gitdir", format!("{}\n", place.join(".git").display())),
                    "branch" => ("HEAD", "ref: refs/heads/topic\n".to_owned()),
                    other => (other, "text".to_owned()),
                };
                fs::write(at.join(file), text).unwrap();
            }
        }
        assert_eq!(machine.sweep(SOON), (1, 0), "{case}");
        assert_eq!(
            (place.exists(), registered.exists()),
            (stays, stays),
            "{case}"
        );
        assert!(machine.at("repo/.git/worktrees/topic").exists(), "{case}");
    }
    let machine = Machine::new();
    let folder = machine.folder("data/fans/fan-0123456789ab", "file");
    let place = machine.folder(NAME, ".git");
    worktree::will_register_outside(&folder, &place, &machine.at("repo/.git")).unwrap();
    worktree::keep_outside(&folder).unwrap();
    assert_eq!(machine.sweep(SOON), (1, 0));
    assert!(place.join(".git").exists());
}

#[test]
fn pending_files_are_removed_after_a_kill_and_not_while_they_are_written() {
    let machine = Machine::new();
    let rows = [
        ("data/checkpoints/objects/ab/.tmpaB3dE6", true),
        ("data/.import-aB3dE6", true),
        ("data/.osier-0123456789ab.tmp", true),
        ("config/.osier-aB3dE6.tmp", true),
        ("work/src/.osier-0123456789ab.tmp", true),
        // Of other programs, or of a change of files that the next start continues.
        ("work/.tmpaB3dE6", false),
        ("work/notes.tmp", false),
        ("work/.osier-notes.tmp", false),
        ("work/.osier-0190-3.old.tmp", false),
    ];
    for (name, _) in rows {
        machine.file(name, "partial");
    }
    let outside = machine.file("outside", "text");
    symlink(&outside, machine.at("config/.osier-0123456789ab.tmp")).unwrap();
    let used = machine.file("work/.osier-0123456789ac.tmp", "partial");
    let lock = File::open(&used).unwrap();
    lock.lock().unwrap();
    let pending = PendingFile::create(&machine.at("work"), 0o600).unwrap();
    // Just written: it may not be locked yet.
    assert_eq!(machine.sweep(Duration::ZERO), (0, 0));
    assert_eq!(machine.sweep(2 * DAY), (0, 5));
    for (name, is_swept) in rows {
        assert_eq!(machine.at(name).exists(), !is_swept, "{name}");
    }
    assert!(used.exists() && outside.exists());
    pending.persist_new(&machine.at("work/file")).unwrap();
}

#[test]
fn displaced_file_is_removed_only_if_it_was_to_be_replaced() {
    use std::hash::{DefaultHasher, Hasher as _};
    let machine = Machine::new();
    let mark = |text: &str| {
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        format!("{:016x}", hasher.finish())
    };
    let marks = format!("{}-{}", mark("old"), mark("new"));
    let file = |number: u32, text: &str| {
        let name = format!("work/src/.osier-{marks}-00000000000{number}.tmp");
        machine.file(&name, text)
    };
    let files = [file(1, "old"), file(2, "new"), file(3, "another program's")];
    assert_eq!(machine.sweep(SOON), (0, 2));
    assert_eq!(left(&files), [&files[2]]);
}
