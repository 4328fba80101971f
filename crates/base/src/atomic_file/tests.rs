use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn existing_file_retains_mode_and_owner() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("run.sh");
    write(&path, b"one").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
    let root = rustix::process::geteuid().is_root();
    if root {
        std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
    }
    write(&path, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(mode(&path), 0o751);
    if root {
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (1234, 2345));
    }
    assert_eq!(names(dir.path()), ["run.sh"]);
}

#[test]
fn a_changed_file_runs_as_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, b"old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o6755)).unwrap();
    write(&path, b"new").unwrap();
    assert_eq!(mode(&path), 0o755);
}

#[test]
fn requested_mode_is_set_on_new_and_existing_files() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("auth.json");
    let private = Options {
        mode: Some(0o600),
        ..Options::default()
    };
    write_with(&path, b"{}", private).unwrap();
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    write_with(&path, b"{}", private).unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn links_are_followed_and_stay() {
    let dir = TempDir::new().unwrap();
    let real = dir.path().join("real");
    fs::create_dir(&real).unwrap();
    write(&real.join("file"), b"old").unwrap();
    symlink("real/file", dir.path().join("first")).unwrap();
    symlink("first", dir.path().join("second")).unwrap();
    symlink("real/new", dir.path().join("dangling")).unwrap();

    write(&dir.path().join("second"), b"new").unwrap();
    write(&dir.path().join("dangling"), b"made").unwrap();

    assert_eq!(fs::read(real.join("file")).unwrap(), b"new");
    assert_eq!(fs::read(real.join("new")).unwrap(), b"made");
    assert_eq!(
        fs::read_link(dir.path().join("second")).unwrap(),
        Path::new("first")
    );
    assert_eq!(names(&real), ["file", "new"]);
}

#[test]
fn link_loop_is_an_error() {
    let dir = TempDir::new().unwrap();
    symlink("b", dir.path().join("a")).unwrap();
    symlink("a", dir.path().join("b")).unwrap();
    let error = write(&dir.path().join("a"), b"x").unwrap_err();
    assert!(matches!(error, WriteError::Other { .. }), "{error:?}");
}

#[test]
fn parents_are_created_only_on_request() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a/b/c.txt");
    assert!(matches!(
        write(&path, b"x"),
        Err(WriteError::MissingParent { .. })
    ));
    let parents = Options {
        parents: true,
        ..Options::default()
    };
    write_with(&path, b"x", parents).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"x");
}

#[test]
fn other_file_types_are_rejected_by_name() {
    let dir = TempDir::new().unwrap();
    write(&dir.path().join("file"), b"").unwrap();
    let parents = Options {
        parents: true,
        ..Options::default()
    };
    let below_file = dir.path().join("file/deep/er");
    assert!(matches!(
        write_with(&below_file, b"x", parents),
        Err(WriteError::ParentNotDirectory { .. })
    ));
    assert!(matches!(
        write(dir.path(), b"x"),
        Err(WriteError::Directory { .. })
    ));
    assert!(matches!(
        write(Path::new("/dev/null"), b"x"),
        Err(WriteError::NotRegular { .. })
    ));
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
fn concurrent_change_is_not_overwritten() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("f");
    let write_ours = |is_same: &dyn Fn(&Path, Name) -> bool| {
        let content = None;
        write_if(
            &path,
            b"ours",
            Options::default(),
            &Expected { content, is_same },
        )
    };
    let theirs = |target: &Path, _| {
        write(target, b"theirs").unwrap();
        true
    };
    // The file did not exist when we began.
    let error = write_ours(&theirs).unwrap_err();
    assert!(matches!(error, WriteError::Changed { .. }), "{error:?}");
    let error = write_ours(&|_, _| false).unwrap_err();
    assert!(matches!(error, WriteError::Changed { .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    write_ours(&|_, _| true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"ours");
    assert_eq!(names(dir.path()), ["f"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_displaced_file_that_cannot_be_deleted_is_no_failure() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("f");
    write(&path, b"old").unwrap();
    let times = std::cell::Cell::new(0);
    let is_same = |target: &Path, name| {
        if name == Name::Temporary {
            times.set(times.get() + 1);
        }
        if times.get() == 2 {
            fs::remove_file(target).unwrap();
        }
        true
    };
    let (content, is_same) = (None, &is_same);
    let expected = Expected { content, is_same };
    write_if(&path, b"new", Options::default(), &expected).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(times.get(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn extended_attributes_stay() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("f");
    write(&path, b"one").unwrap();
    if let Err(error) = setxattr(&path, "user.osier", b"kept", XattrFlags::empty()) {
        osier_testing::skip::unsupported("xattr", &error.to_string());
        return;
    }
    write(&path, b"two").unwrap();
    let mut value = [0; 8];
    let length = getxattr(&path, "user.osier", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"kept");
}

#[test]
fn other_hard_link_retains_the_old_bytes() {
    let dir = TempDir::new().unwrap();
    let (path, other) = (dir.path().join("f"), dir.path().join("g"));
    write(&path, b"old").unwrap();
    fs::hard_link(&path, &other).unwrap();
    write(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read(&other).unwrap(), b"old");
}

#[test]
fn full_disk_is_reported_as_such() {
    let error = WriteError::new(Path::new("f"), io::Error::from_raw_os_error(28));
    assert_eq!(error.to_string(), "no space left to write `f`");
}

/// Runs `work` as a user who owns `path`, but may not write its directory; false if that is not possible here.
fn as_owner_of(path: &Path, work: impl FnOnce() + Send) -> bool {
    let folder = path.parent().unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
    if !rustix::process::geteuid().is_root() {
        work();
        return true;
    }
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    as_nobody(path, work)
}

const NOBODY: u32 = 65_534;

/// Runs `work` as a user without rights; false if that user does not reach `path`. Only for root.
fn as_nobody(path: &Path, work: impl FnOnce() + Send) -> bool {
    // The system call changes the user of this thread only.
    let run = || {
        let user = Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(user, user, user).is_ok_and(|()| {
            let reaches = path.exists();
            if reaches {
                work();
            }
            reaches
        })
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn file_is_overwritten_in_place_if_its_directory_refuses_a_new_one() {
    let dir = TempDir::new().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(dir.path().join("closed")).unwrap();
    let path = dir.path().join("closed/f");
    write(&path, b"a long old text").unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    let result = std::sync::Mutex::new(Vec::new());
    let write_new = |new: &[u8], old: Option<&[u8]>, is_same| {
        let is_same: &dyn Fn(&Path, Name) -> bool =
            if is_same { &|_, _| true } else { &|_, _| false };
        let expected = Expected {
            content: old,
            is_same,
        };
        let written = write_if(&path, new, Options::default(), &expected);
        let written =
            written.map_err(|error| error.to_string().replace(path.to_str().unwrap(), "f"));
        let now = fs::read_to_string(&path).unwrap();
        result.lock().unwrap().push((written, now));
    };
    let ran = as_owner_of(&path, || {
        write_new(b"new", Some(b"a long old text"), true);
        write_new(b"a longer new text", Some(b"new"), true);
        // Another program changed the file, or its content is unknown.
        write_new(b"lost", Some(b"a longer new text"), false);
        write_new(b"lost", None, true);
    });
    if !ran {
        osier_testing::skip::unsupported("another user", "the temporary directory is not readable");
        return;
    }
    let error = |text: &str| Err(text.to_owned());
    let longer = || "a longer new text".to_owned();
    assert_eq!(
        result.into_inner().unwrap(),
        [
            (Ok(Replaced::InDirectory), "new".to_owned()),
            (Ok(Replaced::InDirectory), longer()),
            (error("`f` changed while it was being written"), longer()),
            (error("no permission to write `f`"), longer()),
        ]
    );
    assert_eq!(fs::metadata(&path).unwrap().ino(), before);
    assert_eq!(names(&dir.path().join("closed")), ["f"]);
}

#[cfg(target_os = "linux")]
#[test]
fn file_of_another_user_keeps_its_owner() {
    if !rustix::process::geteuid().is_root() {
        osier_testing::skip::unsupported("another user", "only root can become another user");
        return;
    }
    let dir = TempDir::new().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let shared = dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
    let path = shared.join("team.txt");
    write(&path, b"old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    std::os::unix::fs::chown(&path, Some(1001), Some(1002)).unwrap();
    let before = fs::metadata(&path).unwrap();
    let expected = Expected {
        content: Some(b"old"),
        is_same: &|_, _| true,
    };
    let mut replaced = None;
    let replaced_here = std::sync::Mutex::new(&mut replaced);
    let ran = as_nobody(&path, || {
        let expected = Expected {
            content: Some(b"old"),
            is_same: &|_, _| true,
        };
        **replaced_here.lock().unwrap() =
            Some(write_if(&path, b"new", Options::default(), &expected).unwrap());
    });
    if !ran {
        osier_testing::skip::unsupported("another user", "the temporary directory is not readable");
        return;
    }
    let after = fs::metadata(&path).unwrap();
    assert_eq!(replaced, Some(Replaced::WithOwner));
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(
        (after.ino(), after.uid(), after.gid(), mode(&path)),
        (before.ino(), 1001, 1002, 0o666)
    );
    assert_eq!(names(&shared), ["team.txt"]);
    // Its owner, or root, can give a new file the same owner.
    let expected = Expected {
        content: Some(b"new"),
        ..expected
    };
    let replaced = write_if(&path, b"newer", Options::default(), &expected).unwrap();
    assert_eq!(replaced, Replaced::Atomically);
    assert_eq!(fs::metadata(&path).unwrap().uid(), 1001);
}

/// Every event that a watcher of `folder` gets about `name` while `work` runs.
#[cfg(target_os = "linux")]
fn events_of(folder: &Path, name: &str, work: impl FnOnce()) -> Vec<&'static str> {
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    let flags = WatchFlags::MODIFY
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::MOVE
        | WatchFlags::CREATE
        | WatchFlags::DELETE;
    inotify::add_watch(&watch, folder, flags).unwrap();
    work();
    let mut buffer = [std::mem::MaybeUninit::uninit(); 16 * 1024];
    let mut reader = Reader::new(&watch, &mut buffer);
    let mut seen = Vec::new();
    while let Ok(event) = reader.next() {
        if event
            .file_name()
            .is_some_and(|found| found.to_bytes() == name.as_bytes())
        {
            let kinds = [
                (ReadFlags::CREATE, "created"),
                (ReadFlags::MOVED_FROM, "moved away"),
                (ReadFlags::MOVED_TO, "arrived"),
                (ReadFlags::DELETE, "deleted"),
                (ReadFlags::MODIFY, "modified"),
                (ReadFlags::CLOSE_WRITE, "written"),
            ];
            let kind = kinds
                .iter()
                .find(|(flag, _)| event.events().contains(*flag));
            seen.extend(kind.map(|(_, kind)| *kind));
        }
    }
    seen
}

#[cfg(target_os = "linux")]
#[test]
fn watchers_see_that_the_file_is_there_and_new() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.ts");
    let write_if = |old: Option<&[u8]>, new: &[u8]| {
        let expected = Expected {
            content: old,
            is_same: &|_, _| true,
        };
        write_if(&path, new, Options::default(), &expected).unwrap();
    };
    assert_eq!(
        events_of(dir.path(), "a.ts", || write_if(None, b"one")),
        ["created", "modified", "written"]
    );
    assert_eq!(
        events_of(dir.path(), "a.ts", || write_if(Some(b"one"), b"two")),
        ["moved away", "arrived", "modified", "written"]
    );
    assert_eq!(fs::read(&path).unwrap(), b"two");
}
