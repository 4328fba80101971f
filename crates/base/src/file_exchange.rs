//! Replaces files so that watchers see them.
//!
//! Programs that watch files (`tsc --watch`, `sass --watch`, editors) act on the last event of a name. The last event of a
//! replaced file must therefore say that it is there and new, never that it was moved away.

use std::path::Path;

use rustix::fs::{
    CWD, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens, open,
    renameat_with,
};
use rustix::io::Errno;

/// Exchanges the files at `temporary` and `target`. The kernel reports the move of the first name before the move of the
/// second, so `target` goes first: its last event is its arrival.
pub fn exchange(temporary: &Path, target: &Path) -> Result<(), Errno> {
    renameat_with(CWD, target, CWD, temporary, RenameFlags::EXCHANGE)
}

/// Reports `path` as written to watchers that wait for a change of the content rather than of the directory. Its content
/// is not touched: another program may write it at the same moment.
pub fn report_written(path: &Path) {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = open(path, flags, Mode::empty()) else {
        return;
    };
    let time = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    // Sets only the time of the content: with both times, the kernel would report a change of
    // attributes.
    let times = Timestamps {
        last_access: time(UTIME_OMIT),
        last_modification: time(UTIME_NOW),
    };
    let _ = futimens(&file, &times);
}
