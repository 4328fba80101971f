//! Which directories of a tree have changed: the kernel reports it (inotify), so that not all have to be compared.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::mem::MaybeUninit;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::statfs;
use rustix::io::Errno;

/// A change of the names in a directory, or of its own name. Once is enough: the directory is read again and watched again.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW)
    .union(WatchFlags::ONESHOT);

/// File systems on which nothing changes without this kernel, by the number that `statfs` returns: ext, XFS, Btrfs, tmpfs, overlayfs,
/// F2FS, ZFS, bcachefs.
const LOCAL: [i64; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x794c_7630,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0xca45_1a4e,
];

/// osier watches one of this many directories that the user can watch, because other programs need
/// some, too.
const SHARE: usize = 4;

const BUFFER: usize = 16 * 1024;

/// The number of a directory that is watched.
pub(super) type Number = i32;

/// The changes of watched directories.
#[derive(Debug)]
pub(super) struct Watch {
    queue: OwnedFd,
    /// The kernel reports when something was mounted.
    mounts: File,
    /// Whether a device is a file system of [`LOCAL`].
    is_local: HashMap<u64, bool>,
    left: usize,
}

/// The directory cannot be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unwatched {
    /// Another machine or program could change it.
    Foreign,
    /// The user cannot watch more directories.
    Limit,
}

impl Watch {
    pub(super) fn start() -> Option<Self> {
        let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        Some(Self {
            queue,
            mounts: File::open("/proc/self/mountinfo").ok()?,
            is_local: HashMap::new(),
            left: most.trim().parse::<usize>().ok()? / SHARE,
        })
    }

    /// Watches the directory at `path` of `device`, until it changes once.
    pub(super) fn add(&mut self, path: &Path, device: u64) -> Result<Number, Unwatched> {
        let find = || statfs(path).is_ok_and(|data| LOCAL.contains(&data.f_type));
        if !*self.is_local.entry(device).or_insert_with(find) {
            return Err(Unwatched::Foreign);
        }
        self.left = self.left.checked_sub(1).ok_or(Unwatched::Limit)?;
        match inotify::add_watch(&self.queue, path, CHANGES) {
            Ok(number) => Ok(number),
            Err(Errno::NOSPC | Errno::NOMEM) => Err(Unwatched::Limit),
            Err(_) => Err(Unwatched::Foreign),
        }
    }

    /// The directories that have changed. `None` if any could have: something was mounted, or changes were lost.
    pub(super) fn changes(&mut self) -> Option<HashSet<Number>> {
        let mut changed = HashSet::new();
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return None,
                Ok(event) if event.events().contains(ReadFlags::IGNORED) => self.left += 1,
                Ok(event) => {
                    changed.insert(event.wd());
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        let mut mounts = [PollFd::new(&self.mounts, PollFlags::PRI | PollFlags::ERR)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        (poll(&mut mounts, Some(&now)) == Ok(0)).then_some(changed)
    }
}
