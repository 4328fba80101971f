//! The namespaces of a command without bubblewrap. Bubblewrap takes longer, because it reads the table of mounts for each mount.

use core::ffi::CStr;

use crate::mounts::{Root, Terminal, keep_links};
use crate::process::{deny_privileges, drop_capabilities, ignore_interrupts, wait_for};
use crate::system::{
    AT_FDCWD, Arguments, EAGAIN, ENOENT, NOT_RUN, O_CLOEXEC, O_NONBLOCK, O_PATH_CLOEXEC, O_WRONLY, SIGCHLD,
    call, check, check_at, close, close_files, exit, new_call, open, pointer, system_call,
};

const NEW_USERS: usize = 0x1000_0000;
const NEW_NETWORK: usize = 0x4000_0000;

const PR_SET_PDEATHSIG: usize = 1;
const PR_SET_DUMPABLE: usize = 4;
const SIGKILL: usize = 9;

const AF_INET: usize = 2;
const SOCK_DGRAM_CLOEXEC: usize = 0o2_000_002;
const SIOCSIFFLAGS: usize = 0x8914;
const IFF_UP: u64 = 1;

/// Makes new namespaces of `kinds` and continues in their first process. The calling process waits until that one ends, and never returns.
/// If the process `owner` ends, the namespaces end, too.
///
/// Mounting a new `devpts` needs user 0. So every user is user 0 until all mounts are made, and gets its own id again in a second user
/// namespace.
pub fn enter(kinds: usize, owner: usize, arguments: &mut Arguments) {
    end_with_parent();
    // osier can have ended before `end_with_parent`. The parent can be another program that starts commands for osier.
    if ask(call::GETPPID) != owner && has_ended(owner) {
        exit(NOT_RUN);
    }
    deny_privileges();
    let mut terminal = Terminal::unknown();
    terminal.find();
    let (user, group) = (ask(call::GETUID), ask(call::GETGID));
    let mut parent_lives = [0_u32; 2];
    let pipe = [(&raw mut parent_lives) as usize, O_CLOEXEC | O_NONBLOCK, 0, 0, 0];
    check(system_call(call::PIPE2, pipe), "cannot create a pipe");
    let child = system_call(call::CLONE, [kinds | SIGCHLD, 0, 0, 0, 0]);
    let child = check(child, "cannot create namespaces");
    if child != 0 {
        ignore_interrupts();
        drop_capabilities();
        exit(wait_for(child));
    }
    close(parent_lives[1] as usize);
    end_with_parent();
    let mask = check(system_call(call::UMASK, [0; 5]), "cannot set the mask");
    // Open `/proc/self` on the host: the `/proc` of the command will be read-only.
    let own = open(AT_FDCWD, pointer(c"/proc/self"), O_PATH_CLOEXEC);
    let own = check(own, "cannot open /proc");
    map(own, c"uid_map", [0, user]);
    write(own, c"setgroups", b"deny");
    map(own, c"gid_map", [0, group]);
    if kinds & NEW_NETWORK != 0 {
        set_up_loopback();
    }
    let root = Root::copy();
    root.apply(arguments, &terminal);
    root.enter();
    keep_links(arguments);
    if user != 0 || group != 0 {
        let step = "cannot create the second user namespace";
        check(system_call(call::UNSHARE, [NEW_USERS, 0, 0, 0, 0]), step);
        map(own, c"uid_map", [user, 0]);
        map(own, c"gid_map", [group, 0]);
    }
    system_call(call::UMASK, [mask, 0, 0, 0, 0]);
    // The program of this process is a file of the host; `/proc/1/exe` must not give it to the command.
    check(system_call(call::PRCTL, [PR_SET_DUMPABLE, 0, 0, 0, 0]), "cannot hide files");
    // A change of privileges can have reset the signal.
    end_with_parent();
    let read = [parent_lives[0] as usize, (&raw mut parent_lives) as usize, 1, 0, 0];
    // If the parent has ended, the other end of the pipe is closed, and the read does not return `EAGAIN`.
    if system_call(call::READ, read) != EAGAIN {
        exit(1);
    }
    // Without a standard input, these files can have the numbers of the standard streams, which `close_files` leaves open.
    close(own);
    close(parent_lives[0] as usize);
    close_files();
}

/// Enters the working directory. The privileges are dropped before.
pub fn enter_directory(arguments: &mut Arguments) {
    if let Some(path) = arguments.next_of(b'w') {
        let entered = system_call(call::CHDIR, [path as usize, 0, 0, 0, 0]);
        check_at(entered, "cannot enter the working directory", path);
    }
}

/// The result of a system call that has no arguments and cannot fail.
fn ask(number: usize) -> usize {
    system_call(number, [0; 5]) as usize
}

fn end_with_parent() {
    let arguments = [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0];
    check(system_call(call::PRCTL, arguments), "cannot end with its parent");
}

/// Whether a process has ended, even if its parent has not waited for it.
fn has_ended(process: usize) -> bool {
    const POLLIN: u64 = 1;
    let opened = system_call(new_call::PIDFD_OPEN, [process, 0, 0, 0, 0]);
    if opened < 0 {
        return true;
    }
    // A `pollfd`: the file, then the events.
    let asked = [opened as u64 | POLLIN << 32];
    let at_once = [0_u64; 2];
    let arguments = [asked.as_ptr() as usize, 1, at_once.as_ptr() as usize, 0, 0];
    let ended = system_call(call::PPOLL, arguments);
    close(opened as usize);
    ended != 0
}

/// Maps the id `ids[0]` of this namespace to the id `ids[1]` outside.
fn map(own: usize, name: &CStr, ids: [usize; 2]) {
    let mut line = [b' '; 32];
    let mut start = line.len();
    // The line is written from its end: `INSIDE OUTSIDE 1`.
    for mut number in [1, ids[1], ids[0]] {
        start -= 1;
        while let Some(place) = line.get_mut(start) {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
            start -= 1;
        }
        start -= 1;
    }
    write(own, name, line.get(start + 1..).unwrap_or_default());
}

/// Writes to a file in `/proc/self`.
fn write(own: usize, name: &CStr, text: &[u8]) {
    let step = "cannot map users";
    let opened = open(own, pointer(name), O_WRONLY | O_CLOEXEC);
    // An old kernel without `setgroups` does not require it.
    if opened == ENOENT {
        return;
    }
    let opened = check(opened, step);
    let arguments = [opened, text.as_ptr() as usize, text.len(), 0, 0];
    check(system_call(call::WRITE, arguments), step);
    close(opened);
}

fn set_up_loopback() {
    let step = "cannot set up the loopback device";
    let socket = system_call(call::SOCKET, [AF_INET, SOCK_DGRAM_CLOEXEC, 0, 0, 0]);
    let socket = check(socket, step);
    // An `ifreq`: the name, then the flags.
    let request = [u64::from_ne_bytes(*b"lo\0\0\0\0\0\0"), 0, IFF_UP.to_le(), 0, 0];
    let arguments = [socket, SIOCSIFFLAGS, request.as_ptr() as usize, 0, 0];
    check(system_call(call::IOCTL, arguments), step);
    close(socket);
}
