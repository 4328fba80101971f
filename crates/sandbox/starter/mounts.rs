//! The mounts of a command without bubblewrap. The starter copies all mounts of the host, and applies the words of `src/mounts.rs` to the
//! copy, one after the other.
//!
//! The copy becomes read-only before anything else is mounted in it. The sources are the mounts of the host with their attributes; the
//! starter only adds attributes, so what is read-only on the host stays read-only. No path may lead through a symbolic link, because
//! another command could have created it after osier checked the path.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use crate::system::{
    AT_EMPTY_PATH, AT_FDCWD, Arguments, EEXIST, ENOENT, O_CLOEXEC, O_CREATE_NEW, O_NOFOLLOW,
    O_PATH_CLOEXEC, O_WRONLY, STDOUT, at, call, check, check_at, close, fail_at, length, new_call,
    open, pointer, system_call,
};

const MS_BIND: usize = 4096;
const MS_PRIVATE_RECURSIVE: usize = 1 << 18 | 1 << 14;
const MNT_DETACH: usize = 2;
const OPEN_TREE_CLONE: usize = 1;
const RECURSIVE: usize = 0x8000;
const MOVE_MOUNT_BY_FILES: usize = 0x4 | 0x40;
const FSCONFIG_SET_STRING: usize = 1;
const FSCONFIG_CMD_CREATE: usize = 6;
const RESOLVE_NO_SYMLINKS: u64 = 0x4;
const RESOLVE_IN_ROOT: u64 = 0x10;

// Attributes of mounts.
const READ_ONLY: usize = 1;
const NO_SETUID: usize = 2;
const NO_DEVICES: usize = 4;
const NO_PROGRAMS: usize = 8;
/// A read-only device can still be written to, but root cannot change its mode and owner.
const DEVICE: usize = NO_SETUID | READ_ONLY;

const TCGETS: usize = 0x5401;
const STATX_BASIC: usize = 0x7ff;
const TYPE: u16 = 0o170_000;
const DIRECTORY: u16 = 0o40_000;

/// The attributes that a word adds to a mount of the host; `None` if the word is for something else.
fn added(kind: u8) -> Option<usize> {
    match kind {
        b'B' => Some(NO_SETUID | NO_DEVICES),
        b'R' => Some(NO_SETUID | NO_DEVICES | READ_ONLY),
        b'V' => Some(DEVICE),
        _ => None,
    }
}

/// The data of a file that `statx` returns.
struct Data(MaybeUninit<[u64; 32]>);

impl Data {
    const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Reads the data of `name` in the directory `file`, or of `file` itself if the name is empty. Returns whether that worked.
    fn read(&mut self, file: usize, name: *const u8) -> bool {
        let arguments = [file, name as usize, AT_EMPTY_PATH, STATX_BASIC, (&raw mut self.0) as usize];
        system_call(call::STATX, arguments) == 0
    }

    fn word(&self, index: usize) -> u64 {
        // SAFETY: the kernel has filled the complete buffer.
        unsafe { *self.0.as_ptr().cast::<u64>().add(index) }
    }

    fn is_directory(&self) -> bool {
        // SAFETY: the kernel has filled the buffer, and the mode is at byte 28.
        let mode = unsafe { *self.0.as_ptr().cast::<u16>().add(14) };
        mode & TYPE == DIRECTORY
    }

    /// Whether both are the same file: inode, file system and device number are equal.
    fn is_same(&self, other: &Self) -> bool {
        let is_same = |index| self.word(index) == other.word(index);
        is_same(4) && is_same(16) && is_same(17)
    }
}

/// The path of the terminal on standard output, if there is one and its path is known.
pub struct Terminal {
    path: MaybeUninit<[u8; Self::SIZE]>,
    is_known: bool,
}

impl Terminal {
    const SIZE: usize = 64;

    pub const fn unknown() -> Self {
        Self {
            path: MaybeUninit::uninit(),
            is_known: false,
        }
    }

    pub fn find(&mut self) {
        let mut settings = MaybeUninit::<[u64; 16]>::uninit();
        let is_terminal = [STDOUT, TCGETS, (&raw mut settings) as usize, 0, 0];
        if system_call(call::IOCTL, is_terminal) < 0 {
            return;
        }
        let path = self.path.as_mut_ptr().cast::<u8>();
        let read = [AT_FDCWD, pointer(c"/proc/self/fd/1"), path as usize, Self::SIZE - 1, 0];
        let length = system_call(call::READLINKAT, read);
        if length <= 0 {
            return;
        }
        // SAFETY: the length is less than the size of the buffer, so that the 0 fits.
        unsafe { *path.add(length as usize) = 0 };
        let (mut named, mut own) = (Data::new(), Data::new());
        let is_read = named.read(AT_FDCWD, path) && own.read(STDOUT, c"".as_ptr().cast());
        // The path can name another file: the terminal can belong to another file system.
        self.is_known = is_read && at(path, 0) == b'/' && named.is_same(&own);
    }

    fn path(&self) -> Option<*const u8> {
        self.is_known.then_some(self.path.as_ptr().cast())
    }
}

/// Opens a path without following symbolic links: below the root `folder`, or on the host for `AT_FDCWD`.
fn find(folder: usize, path: *const u8) -> isize {
    let is_host = folder == AT_FDCWD;
    let resolve = RESOLVE_NO_SYMLINKS | if is_host { 0 } else { RESOLVE_IN_ROOT };
    let how = [O_PATH_CLOEXEC as u64, 0, resolve];
    let arguments = [folder, path as usize, how.as_ptr() as usize, size_of_val(&how), 0];
    system_call(new_call::OPENAT2, arguments)
}

/// Copies the mount at `file` and the mounts below it. The copy is not mounted yet.
fn copied(file: usize, attributes: usize, path: *const u8) -> usize {
    let flags = OPEN_TREE_CLONE | RECURSIVE | O_CLOEXEC | AT_EMPTY_PATH;
    let tree = system_call(new_call::OPEN_TREE, [file, pointer(c""), flags, 0, 0]);
    let tree = check_at(tree, "cannot copy the mount", path);
    add(tree, attributes, RECURSIVE, path);
    tree
}

/// Adds attributes to the mount at `file`.
fn add(file: usize, attributes: usize, depth: usize, path: *const u8) {
    let change = [attributes as u64, 0, 0, 0];
    let (given, size) = (change.as_ptr() as usize, size_of_val(&change));
    let arguments = [file, pointer(c""), AT_EMPTY_PATH | depth, given, size];
    let changed = system_call(new_call::MOUNT_SETATTR, arguments);
    check_at(changed, "cannot limit the mount", path);
}

/// Mounts `tree` at the file or directory `target`.
fn mount(tree: usize, target: usize, path: *const u8) {
    let arguments = [tree, pointer(c""), target, pointer(c""), MOVE_MOUNT_BY_FILES];
    let moved = system_call(new_call::MOVE_MOUNT, arguments);
    check_at(moved, "cannot mount", path);
    close(tree);
    close(target);
}

/// The root of a command while it is prepared.
pub struct Root(usize);

impl Root {
    /// Copies all mounts. The copy is mounted over `/`, where only its open file leads to it.
    pub fn copy() -> Self {
        let root = c"/".as_ptr().cast();
        // Mounts that the host makes later would arrive without the attributes of the others.
        let private = [pointer(c""), pointer(c"/"), 0, MS_PRIVATE_RECURSIVE, 0];
        check(system_call(call::MOUNT, private), "cannot separate the mounts");
        let host = check_at(find(AT_FDCWD, root), "cannot open", root);
        let tree = copied(host, READ_ONLY | NO_SETUID | NO_DEVICES, root);
        let arguments = [tree, pointer(c""), host, pointer(c""), MOVE_MOUNT_BY_FILES];
        check_at(system_call(new_call::MOVE_MOUNT, arguments), "cannot mount", root);
        close(host);
        Self(tree)
    }

    /// Makes the copy the root of the process and detaches the mounts of the host.
    pub fn enter(self) {
        let step = "cannot leave the mounts of the host";
        let here = pointer(c".");
        check(system_call(call::FCHDIR, [self.0, 0, 0, 0, 0]), step);
        check(system_call(call::PIVOT_ROOT, [here, here, 0, 0, 0]), step);
        check(system_call(call::UMOUNT2, [here, MNT_DETACH, 0, 0, 0]), step);
        check(system_call(call::CHDIR, [pointer(c"/"), 0, 0, 0, 0]), step);
        close(self.0);
    }

    /// Applies the words for mounts; they begin with capital letters.
    pub fn apply(&self, arguments: &mut Arguments, terminal: &Terminal) {
        while arguments.peek().is_ascii_uppercase() {
            let word = arguments.next();
            // SAFETY: the word has at least its letter and the final 0.
            let path = unsafe { word.add(1) };
            let kind = at(word, 0);
            match kind {
                b'M' => close(self.target(path, true)),
                b'L' => self.link(path, arguments.next()),
                b'C' => {
                    if let Some(host) = terminal.path() {
                        self.bind(host, path, DEVICE);
                    }
                }
                b'O' => {
                    let file = check_at(find(self.0, path), "cannot open", path);
                    add(file, READ_ONLY, 0, path);
                    close(file);
                }
                _ => match (added(kind), new(kind)) {
                    (Some(added), _) => self.bind(path, arguments.next(), added),
                    (_, Some(tree)) => mount(tree, self.target(path, true), path),
                    _ => fail_at("invalid arguments", word),
                },
            }
        }
    }

    fn bind(&self, source: *const u8, path: *mut u8, attributes: usize) {
        let file = check_at(find(AT_FDCWD, source), "cannot open", source);
        let mut data = Data::new();
        if !data.read(file, c"".as_ptr().cast()) {
            fail_at("cannot read", source);
        }
        let tree = copied(file, attributes, source);
        close(file);
        mount(tree, self.target(path, data.is_directory()), path);
    }

    fn link(&self, target: *const u8, path: *const u8) {
        let arguments = [target as usize, self.0, relative(path), 0, 0];
        check_at(system_call(call::SYMLINKAT, arguments), "cannot create", path);
    }

    /// Opens the target of a mount, and creates missing files and directories. This only works in directories of the sandbox: all others
    /// are read-only.
    fn target(&self, path: *mut u8, is_directory: bool) -> usize {
        let found = find(self.0, path);
        if found != ENOENT {
            return check_at(found, "cannot open", path);
        }
        let (mut folder, mut start, end) = (self.0, 1, length(path));
        while start <= end {
            // SAFETY: the index is at most that of the final 0.
            let name = unsafe { path.add(start) };
            let mut stop = start;
            while stop < end && at(path, stop) != b'/' {
                stop += 1;
            }
            // SAFETY: the index is at most that of the final 0.
            let slash = unsafe { core::mem::replace(&mut *path.add(stop), 0) };
            let mut next = find(folder, name);
            if next == ENOENT {
                create(folder, name, is_directory || stop < end);
                next = find(folder, name);
            }
            let next = check_at(next, "cannot create", path);
            // SAFETY: the index is at most that of the final 0.
            unsafe { *path.add(stop) = slash };
            if folder != self.0 {
                close(folder);
            }
            (folder, start) = (next, stop + 1);
        }
        folder
    }
}

/// Creates the target of a mount, unless another command has created it at the same time.
fn create(folder: usize, name: *const u8, is_directory: bool) {
    let created = if is_directory {
        system_call(call::MKDIRAT, [folder, name as usize, 0o755, 0, 0])
    } else {
        let flags = O_WRONLY | O_CREATE_NEW | O_NOFOLLOW | O_CLOEXEC;
        system_call(call::OPENAT, [folder, name as usize, flags, 0o444, 0])
    };
    if created == EEXIST {
        return;
    }
    let file = check_at(created, "cannot create", name);
    if !is_directory {
        close(file);
    }
}

/// The path relative to the root.
fn relative(path: *const u8) -> usize {
    // SAFETY: paths begin with a slash.
    unsafe { path.add(1) as usize }
}

/// Creates the file system that a word names, not mounted yet; `None` if the word names none.
fn new(kind: u8) -> Option<usize> {
    let (name, attributes) = match kind {
        b'T' => (c"tmpfs", NO_SETUID | NO_DEVICES),
        b'D' => (c"devpts", NO_SETUID | NO_PROGRAMS),
        b'P' => (c"proc", READ_ONLY | NO_SETUID | NO_DEVICES | NO_PROGRAMS),
        _ => return None,
    };
    let path = name.as_ptr().cast();
    let opened = system_call(new_call::FSOPEN, [pointer(name), 1, 0, 0, 0]);
    let opened = check_at(opened, "cannot create the file system", path);
    let set = |key: &CStr, value: &CStr| {
        let arguments = [opened, FSCONFIG_SET_STRING, pointer(key), pointer(value), 0];
        check_at(system_call(new_call::FSCONFIG, arguments), "cannot set up", path);
    };
    set(c"source", name);
    match kind {
        b'T' => set(c"mode", c"0755"),
        b'D' => {
            set(c"ptmxmode", c"0666");
            set(c"mode", c"620");
        }
        _ => {}
    }
    let created = system_call(new_call::FSCONFIG, [opened, FSCONFIG_CMD_CREATE, 0, 0, 0]);
    check_at(created, "cannot create the file system", path);
    let tree = system_call(new_call::FSMOUNT, [opened, 1, attributes, 0, 0]);
    close(opened);
    Some(check_at(tree, "cannot create the file system", path))
}

/// Mounts each symbolic link over itself, so that commands can neither replace nor remove it.
pub fn keep_links(arguments: &mut Arguments) {
    let step = "cannot protect symbolic links";
    while let Some(name) = arguments.next_of(b'l') {
        let opened = open(AT_FDCWD, name as usize, O_PATH_CLOEXEC | O_NOFOLLOW);
        // Another command has removed the link.
        if opened == ENOENT {
            continue;
        }
        let opened = check(opened, step);
        // The path below has one digit: no other file is open here.
        if opened > 9 {
            fail_at(step, name);
        }
        // The link's own path would lead to its target.
        let mut path = *b"/proc/self/fd/?\0";
        path[path.len() - 2] = b'0' + opened as u8;
        let itself = path.as_ptr() as usize;
        check(system_call(call::MOUNT, [itself, itself, 0, MS_BIND, 0]), step);
        close(opened);
    }
}
