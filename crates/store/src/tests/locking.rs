//! Tests that need another process or their own file system. They print a message and skip where that is not
//! available.

#![expect(
    clippy::disallowed_methods,
    reason = "other processes and full disks are what these tests are about"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use osier_testing::skip;

use super::*;
use crate::{SessionError, load};

const HOLD: &str = "import fcntl, sys
locked = open(sys.argv[1], 'a')
fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
print('locked', flush=True)
if len(sys.argv) > 2:
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print('deaf', flush=True)
sys.stdin.read()";

/// A process that tries to lock `path`.
pub(super) struct Holder(pub(super) Child);

impl Holder {
    /// The process and whether it got the lock; `None` without Python.
    pub(super) fn start(path: &Path) -> Option<(Self, bool)> {
        Self::run(path, &[])
    }

    /// A process that ignores SIGTERM.
    pub(super) fn deaf(path: &Path) -> Option<(Self, bool)> {
        Self::run(path, &["deaf"])
    }

    /// A process that runs `script` and prints a line when it is ready; `None` without Python.
    pub(super) fn listening(script: &str, arguments: &[&str]) -> Option<Self> {
        skip::program(&["python3"], "apt install python3")?;
        let child = Command::new("python3")
            .args(["-c", script])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Some(Self(child))
    }

    fn run(path: &Path, arguments: &[&str]) -> Option<(Self, bool)> {
        skip::program(&["python3"], "apt install python3")?;
        let child = Command::new("python3")
            .args(["-c", HOLD])
            .arg(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut line, mut rest) = (String::new(), String::new());
        output.read_line(&mut line).unwrap();
        if !arguments.is_empty() {
            output.read_line(&mut rest).unwrap();
        }
        Some((Self(child), line == "locked\n"))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn second_process_can_only_read() {
    let data = TestData::new();
    let store = data.create();
    let entry = store.append(user("mine")).await.unwrap();
    let path = path_of(&store).to_owned();
    let Some((holder, got_it)) = Holder::start(&path) else {
        return;
    };
    assert!(!got_it);
    drop(holder);
    store.close().await.unwrap();

    let (holder, got_it) = Holder::start(&path).unwrap();
    assert!(got_it);
    let Err(error) = SessionStore::open(&path) else {
        panic!("opened twice");
    };
    let SessionError::Locked { pid, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(pid.is_none_or(|pid| pid == holder.0.id()), "{pid:?}");
    assert!(error.hint().unwrap().contains("--fork"));
    let (reader, _) = SessionStore::open_read_only(&path).unwrap();
    let loaded = reader.read_all().await.unwrap();
    assert_eq!(loaded.entries, std::slice::from_ref(&entry));
    let refused = reader.append(user("no")).await;
    assert!(matches!(refused, Err(SessionError::ReadOnly { .. })));

    // The system releases the lock of a killed process.
    drop(holder);
    let (store, loaded) = open(&path).await;
    assert_eq!(loaded.entries, [entry]);
    store.append(user("mine again")).await.unwrap();
}

#[tokio::test]
async fn lock_applies_within_one_process() {
    let data = TestData::new();
    let store = data.create();
    store.append(user("mine")).await.unwrap();
    let again = SessionStore::open(path_of(&store));
    assert!(matches!(again, Err(SessionError::Locked { .. })));
    store.close().await.unwrap();
    SessionStore::open(path_of(&store)).unwrap();
}

/// A small file system.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        if !skip::has(&["mount", "umount"], "apt install mount") {
            return None;
        }
        let directory = TempDir::new().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(directory.path())
            .stderr(Stdio::null())
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            skip::unsupported("mount", "a tmpfs cannot be mounted");
            return None;
        }
        Some(Self(directory))
    }

    fn remount_read_only(&self) -> bool {
        Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(self.0.path())
            .status()
            .is_ok_and(|status| status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

fn create_on(disk: &SmallDisk) -> SessionStore {
    let header = Header::new(Path::new(CWD));
    let path = SessionDirectory::new(disk.0.path()).path_for(&header);
    SessionStore::create(path, header).unwrap()
}

#[tokio::test]
async fn full_disk_is_harmless_and_writing_resumes() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let filler = disk.0.path().join("filler");
    std::fs::write(&filler, vec![0; 40_000]).unwrap();
    let store = create_on(&disk);
    let mut stored = Vec::new();
    let error = loop {
        match store.append(user(&"z".repeat(3_000))).await {
            Ok(entry) => stored.push(entry),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, SessionError::DiskFull { .. }), "{error:?}");
    let loaded = load(path_of(&store)).unwrap();
    assert_eq!(loaded.entries, stored);
    assert_eq!((loaded.damaged, loaded.torn_bytes), (0, 0));

    store.begin_draft(answer("x"));
    store.flush_draft().await.unwrap();
    std::fs::remove_file(filler).unwrap();
    let added = store.append(user("space again")).await.unwrap();
    store.sync().await.unwrap();
    assert_eq!(
        added.parent_id.as_ref(),
        stored.last().map(|entry| &entry.id)
    );
    stored.push(added);
    assert_eq!(load(path_of(&store)).unwrap().entries, stored);
    store.close().await.unwrap();
}

#[tokio::test]
async fn session_is_created_after_the_disk_has_space_again() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let filler = disk.0.path().join("filler");
    // The write fails when the disk is full and leaves no space.
    let _ = std::fs::write(&filler, vec![0; 100_000]);
    let store = create_on(&disk);
    let model = EntryKind::ModelChange {
        provider: "demo".into(),
        model_id: "tour".into(),
    };
    let first = store.append(model).await.unwrap();
    let refused = store.append(user("hi")).await;
    assert!(
        matches!(refused, Err(SessionError::DiskFull { .. })),
        "{refused:?}"
    );
    assert!(!path_of(&store).exists());
    std::fs::remove_file(filler).unwrap();
    let second = store.append(user("hi")).await.unwrap();
    assert_eq!(load(path_of(&store)).unwrap().entries, [first, second]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn unwritable_directory_is_a_clear_error() {
    let data = TestData::new();
    let store = {
        let (_, header) = data.plan();
        let blocked = data.sessions.root().parent().unwrap().join("file");
        std::fs::write(&blocked, "in the way").unwrap();
        SessionStore::create(blocked.join("x.jsonl"), header).unwrap()
    };
    let Err(SessionError::Io { action, .. }) = store.append(user("hi")).await else {
        panic!("written under a file");
    };
    assert_eq!(action, "create");

    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let store = create_on(&disk);
    if disk.remount_read_only() {
        let error = store.append(user("hi")).await.unwrap_err();
        assert!(
            error.to_string().contains("Read-only file system"),
            "{error}"
        );
    }
    store.close().await.unwrap();
}
