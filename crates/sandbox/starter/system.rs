//! System calls, the arguments of the process, and its end when a step fails.

use core::arch::asm;
use core::ffi::CStr;

/// Numbers of system calls.
#[cfg(target_arch = "x86_64")]
pub mod call {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const SIGACTION: usize = 13;
    pub const IOCTL: usize = 16;
    pub const SOCKET: usize = 41;
    pub const CLONE: usize = 56;
    pub const EXECVE: usize = 59;
    pub const WAIT4: usize = 61;
    pub const CHDIR: usize = 80;
    pub const FCHDIR: usize = 81;
    pub const UMASK: usize = 95;
    pub const GETUID: usize = 102;
    pub const GETGID: usize = 104;
    pub const GETPPID: usize = 110;
    pub const CAPSET: usize = 126;
    pub const PIVOT_ROOT: usize = 155;
    pub const PRCTL: usize = 157;
    pub const MOUNT: usize = 165;
    pub const UMOUNT2: usize = 166;
    pub const EXIT_GROUP: usize = 231;
    pub const OPENAT: usize = 257;
    pub const MKDIRAT: usize = 258;
    pub const SYMLINKAT: usize = 266;
    pub const READLINKAT: usize = 267;
    pub const PPOLL: usize = 271;
    pub const UNSHARE: usize = 272;
    pub const PIPE2: usize = 293;
    pub const SECCOMP: usize = 317;
    pub const STATX: usize = 332;
}
#[cfg(not(target_arch = "x86_64"))]
pub mod call {
    pub const IOCTL: usize = 29;
    pub const MKDIRAT: usize = 34;
    pub const SYMLINKAT: usize = 36;
    pub const UMOUNT2: usize = 39;
    pub const MOUNT: usize = 40;
    pub const PIVOT_ROOT: usize = 41;
    pub const CHDIR: usize = 49;
    pub const FCHDIR: usize = 50;
    pub const OPENAT: usize = 56;
    pub const CLOSE: usize = 57;
    pub const PIPE2: usize = 59;
    pub const READ: usize = 63;
    pub const WRITE: usize = 64;
    pub const PPOLL: usize = 73;
    pub const READLINKAT: usize = 78;
    pub const CAPSET: usize = 91;
    pub const EXIT_GROUP: usize = 94;
    pub const UNSHARE: usize = 97;
    pub const SIGACTION: usize = 134;
    pub const UMASK: usize = 166;
    pub const PRCTL: usize = 167;
    pub const GETPPID: usize = 173;
    pub const GETUID: usize = 174;
    pub const GETGID: usize = 176;
    pub const SOCKET: usize = 198;
    pub const CLONE: usize = 220;
    pub const EXECVE: usize = 221;
    pub const WAIT4: usize = 260;
    pub const SECCOMP: usize = 277;
    pub const STATX: usize = 291;
}
/// Numbers of system calls that are the same on all architectures.
pub mod new_call {
    pub const OPEN_TREE: usize = 428;
    pub const MOVE_MOUNT: usize = 429;
    pub const FSOPEN: usize = 430;
    pub const FSCONFIG: usize = 431;
    pub const FSMOUNT: usize = 432;
    pub const PIDFD_OPEN: usize = 434;
    pub const CLOSE_RANGE: usize = 436;
    pub const OPENAT2: usize = 437;
    pub const MOUNT_SETATTR: usize = 442;
    pub const LANDLOCK_CREATE_RULESET: usize = 444;
    pub const LANDLOCK_ADD_RULE: usize = 445;
    pub const LANDLOCK_RESTRICT_SELF: usize = 446;
}

pub const EPERM: isize = -1;
pub const ENOENT: isize = -2;
pub const EINTR: isize = -4;
pub const EAGAIN: isize = -11;
pub const EEXIST: isize = -17;
pub const EINVAL: isize = -22;
pub const ENOSYS: isize = -38;

pub const AT_FDCWD: usize = -100_isize as usize;
pub const AT_EMPTY_PATH: usize = 0x1000;
pub const O_WRONLY: usize = 1;
pub const O_CREATE_NEW: usize = 0o300;
pub const O_NONBLOCK: usize = 0o4000;
pub const O_CLOEXEC: usize = 0o2_000_000;
pub const O_PATH_CLOEXEC: usize = 0o12_000_000;
#[cfg(target_arch = "aarch64")]
pub const O_NOFOLLOW: usize = 0o100_000;
#[cfg(not(target_arch = "aarch64"))]
pub const O_NOFOLLOW: usize = 0o400_000;
pub const SIGCHLD: usize = 17;

pub const STDOUT: usize = 1;
const STDERR: usize = 2;
/// A shell's exit code for a command that was found but could not be executed.
pub const NOT_RUN: usize = 126;

pub fn system_call(number: usize, arguments: [usize; 5]) -> isize {
    let [a, b, c, d, e] = arguments;
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: pointers among the arguments are valid during the call.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: pointers among the arguments are valid during the call.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => result, in("x1") b, in("x2") c,
            in("x3") d, in("x4") e, options(nostack));
    }
    #[cfg(target_arch = "riscv64")]
    // SAFETY: pointers among the arguments are valid during the call.
    unsafe {
        asm!("ecall", in("a7") number, inlateout("a0") a as isize => result, in("a1") b, in("a2") c,
            in("a3") d, in("a4") e, options(nostack));
    }
    result
}

pub fn exit(code: usize) -> ! {
    loop {
        system_call(call::EXIT_GROUP, [code, 0, 0, 0, 0]);
    }
}

fn say(text: *const u8, length: usize) {
    system_call(call::WRITE, [STDERR, text as usize, length, 0, 0]);
}

pub fn fail(step: &str) -> ! {
    fail_at(step, c"".as_ptr().cast())
}

/// Ends the process with an error that names the step and its path.
pub fn fail_at(step: &str, path: *const u8) -> ! {
    for text in ["osier: the sandboxed command did not run: ", step] {
        say(text.as_ptr(), text.len());
    }
    if at(path, 0) != 0 {
        say(b" `".as_ptr(), 2);
        say(path, length(path));
        say(b"`".as_ptr(), 1);
    }
    say(b"\n".as_ptr(), 1);
    exit(NOT_RUN)
}

pub fn check(result: isize, step: &str) -> usize {
    if result < 0 {
        fail(step);
    }
    result as usize
}

pub fn check_at(result: isize, step: &str, path: *const u8) -> usize {
    if result < 0 {
        fail_at(step, path);
    }
    result as usize
}

pub fn pointer(text: &CStr) -> usize {
    text.as_ptr() as usize
}

pub fn close(file: usize) {
    system_call(call::CLOSE, [file, 0, 0, 0, 0]);
}

/// Closes all files except the standard streams.
pub fn close_files() {
    let all = [3, u32::MAX as usize, 0, 0, 0];
    check(system_call(new_call::CLOSE_RANGE, all), "cannot close files");
}

/// Opens `name` in `folder` with the flags of `openat`.
pub fn open(folder: usize, name: usize, flags: usize) -> isize {
    system_call(call::OPENAT, [folder, name, flags, 0, 0])
}

/// The character at `index` of a string that ends with 0.
pub fn at(text: *const u8, index: usize) -> u8 {
    // SAFETY: no caller reads after the final 0.
    unsafe { *text.add(index) }
}

pub fn length(text: *const u8) -> usize {
    let mut length = 0;
    while at(text, length) != 0 {
        length += 1;
    }
    length
}

fn digit(character: u8) -> u8 {
    match character {
        b'0'..=b'9' => character - b'0',
        b'a'..=b'f' => character - b'a' + 10,
        _ => fail("invalid arguments"),
    }
}

pub fn number(text: *const u8) -> u64 {
    let (mut value, mut index) = (0, 0);
    while at(text, index) != 0 {
        value = value << 4 | u64::from(digit(at(text, index)));
        index += 1;
    }
    value
}

/// Decodes hexadecimal digits in place. Returns the number of bytes.
pub fn decode(text: *mut u8) -> usize {
    let mut length = 0;
    while at(text, 2 * length) != 0 {
        let byte = digit(at(text, 2 * length)) << 4 | digit(at(text, 2 * length + 1));
        // SAFETY: the byte lies before the digits that are still to be read.
        unsafe { *text.add(length) = byte };
        length += 1;
    }
    length
}

/// The arguments of this process.
pub struct Arguments {
    pub words: *const *mut u8,
    pub count: usize,
    pub next: usize,
}

impl Arguments {
    pub fn next(&mut self) -> *mut u8 {
        if self.next >= self.count {
            fail("invalid arguments");
        }
        // SAFETY: the index is less than the count.
        let word = unsafe { *self.words.add(self.next) };
        self.next += 1;
        word
    }

    /// The first character of the next word, which stays the next one.
    pub fn peek(&mut self) -> u8 {
        let word = self.next();
        self.next -= 1;
        at(word, 0)
    }

    /// The next word without its letter, if the letter is `kind`.
    pub fn next_of(&mut self, kind: u8) -> Option<*mut u8> {
        if self.peek() != kind {
            return None;
        }
        // SAFETY: the word has at least its letter and the final 0.
        Some(unsafe { self.next().add(1) })
    }
}
