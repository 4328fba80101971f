//! `starter HANDLED OF_FILE FILTER [lPATH]… [dPATH|fPATH]… -- PROGRAM ARGUMENTS…`: the first process of a command in bubblewrap.
//!
//! A program of its own without the standard library: a second start of osier takes longer than all of bubblewrap, mostly to
//! relocate its tables. It decides nothing. `src/starter.rs` computes what it applies: the rights of Landlock that are limited,
//! those that a file can have, and the filter for system calls, as hexadecimal numbers; then the symbolic links that
//! nothing can replace, and the directories and files that can be written. When anything fails, the command does not run. `build.rs` compiles it, so it is not a module of the crate.

#![no_std]
#![no_main]
#![no_builtins]
#![allow(
    unsafe_code,
    reason = "without a standard library, arguments are pointers and system calls are assembly"
)]

use core::arch::{asm, global_asm};

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "mov rdi, rsp", "and rsp, -16", "call {start}", start = sym start);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x0, sp", "bl {start}", start = sym start);
#[cfg(target_arch = "riscv64")]
global_asm!(".globl _start", "_start:", "mv a0, sp", "call {start}", start = sym start);

/// Numbers of system calls.
#[cfg(target_arch = "x86_64")]
mod call {
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const CLONE: usize = 56;
    pub const EXECVE: usize = 59;
    pub const WAIT4: usize = 61;
    pub const CAPSET: usize = 126;
    pub const PRCTL: usize = 157;
    pub const MOUNT: usize = 165;
    pub const EXIT_GROUP: usize = 231;
    pub const OPENAT: usize = 257;
    pub const UNSHARE: usize = 272;
    pub const SECCOMP: usize = 317;
}
#[cfg(not(target_arch = "x86_64"))]
mod call {
    pub const MOUNT: usize = 40;
    pub const OPENAT: usize = 56;
    pub const CLOSE: usize = 57;
    pub const WRITE: usize = 64;
    pub const CAPSET: usize = 91;
    pub const EXIT_GROUP: usize = 94;
    pub const UNSHARE: usize = 97;
    pub const PRCTL: usize = 167;
    pub const CLONE: usize = 220;
    pub const EXECVE: usize = 221;
    pub const WAIT4: usize = 260;
    pub const SECCOMP: usize = 277;
}
const CLOSE_RANGE: usize = 436;
const LANDLOCK_CREATE_RULESET: usize = 444;
const LANDLOCK_ADD_RULE: usize = 445;
const LANDLOCK_RESTRICT_SELF: usize = 446;

const ENOENT: isize = -2;
const EINTR: isize = -4;
const EPERM: isize = -1;
const EINVAL: isize = -22;
const ENOSYS: isize = -38;

const AT_FDCWD: usize = -100_isize as usize;
const O_PATH_CLOEXEC: usize = 0o12_000_000;
#[cfg(target_arch = "aarch64")]
const O_NOFOLLOW: usize = 0o100_000;
#[cfg(not(target_arch = "aarch64"))]
const O_NOFOLLOW: usize = 0o400_000;
const NEW_MOUNTS: usize = 0x2_0000;
const MS_BIND: usize = 4096;
const PATH_BENEATH: usize = 1;
const SIGCHLD: usize = 17;
const SET_MODE_FILTER: usize = 1;

const PR_CAPBSET_DROP: usize = 24;
const PR_SET_NO_NEW_PRIVS: usize = 38;
const PR_CAP_AMBIENT: usize = 47;
const PR_CAP_AMBIENT_CLEAR_ALL: usize = 4;
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

const STDERR: usize = 2;
/// A shell's exit code for a command that was found but could not be executed.
const NOT_RUN: usize = 126;

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

#[repr(C)]
struct Filter {
    length: u16,
    instructions: *const u8,
}

fn system_call(number: usize, arguments: [usize; 5]) -> isize {
    let [a, b, c, d, e] = arguments;
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the pointers among the arguments are valid for the call.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => result, in("x1") b, in("x2") c,
            in("x3") d, in("x4") e, options(nostack));
    }
    #[cfg(target_arch = "riscv64")]
    // SAFETY: as above.
    unsafe {
        asm!("ecall", in("a7") number, inlateout("a0") a as isize => result, in("a1") b, in("a2") c,
            in("a3") d, in("a4") e, options(nostack));
    }
    result
}

fn exit(code: usize) -> ! {
    loop {
        system_call(call::EXIT_GROUP, [code, 0, 0, 0, 0]);
    }
}

fn fail(step: &str) -> ! {
    for text in ["osier: the sandboxed command did not run: ", step, "\n"] {
        system_call(call::WRITE, [STDERR, text.as_ptr() as usize, text.len(), 0, 0]);
    }
    exit(NOT_RUN)
}

fn check(result: isize, step: &str) -> usize {
    if result < 0 {
        fail(step);
    }
    result as usize
}

/// A character of a string that ends with 0.
fn at(text: *const u8, index: usize) -> u8 {
    // SAFETY: nobody reads behind the 0.
    unsafe { *text.add(index) }
}

fn digit(character: u8) -> u8 {
    match character {
        b'0'..=b'9' => character - b'0',
        b'a'..=b'f' => character - b'a' + 10,
        _ => fail("invalid arguments"),
    }
}

fn number(text: *const u8) -> u64 {
    let (mut value, mut index) = (0, 0);
    while at(text, index) != 0 {
        value = value << 4 | u64::from(digit(at(text, index)));
        index += 1;
    }
    value
}

/// Decodes hexadecimal bytes where they are, and returns their number.
fn decode(text: *mut u8) -> usize {
    let mut length = 0;
    while at(text, 2 * length) != 0 {
        let byte = digit(at(text, 2 * length)) << 4 | digit(at(text, 2 * length + 1));
        // SAFETY: before the digits that are still to be read.
        unsafe { *text.add(length) = byte };
        length += 1;
    }
    length
}

fn drop_capabilities() {
    let step = "cannot drop capabilities";
    check(system_call(call::PRCTL, [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]), step);
    // Old kernels have no ambient set.
    system_call(call::PRCTL, [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0]);
    for capability in 0..64 {
        match system_call(call::PRCTL, [PR_CAPBSET_DROP, capability, 0, 0, 0]) {
            // The first that the kernel does not know; or the set cannot be changed, and is not used.
            EINVAL | EPERM => break,
            result => check(result, step),
        };
    }
    let header = [CAPABILITY_VERSION_3, 0];
    let none = [0_u32; 6];
    let arguments = [header.as_ptr() as usize, none.as_ptr() as usize, 0, 0, 0];
    check(system_call(call::CAPSET, arguments), step);
}

/// The arguments of this process.
struct Arguments {
    words: *const *mut u8,
    count: usize,
    next: usize,
}

impl Arguments {
    fn next(&mut self) -> *mut u8 {
        if self.next >= self.count {
            fail("invalid arguments");
        }
        // SAFETY: below the count.
        let word = unsafe { *self.words.add(self.next) };
        self.next += 1;
        word
    }

    /// The first character of the next word.
    fn peek(&mut self) -> u8 {
        let word = self.next();
        self.next -= 1;
        at(word, 0)
    }
}

/// Mounts links where they are: what is mounted can be neither replaced nor removed.
fn keep_links(arguments: &mut Arguments) {
    let step = "cannot protect symbolic links";
    if arguments.peek() == b'l' {
        // `bwrap` can leave this process in a namespace to which its mounts do not belong.
        check(system_call(call::UNSHARE, [NEW_MOUNTS, 0, 0, 0, 0]), step);
    }
    while arguments.peek() == b'l' {
        // SAFETY: behind the letter is at least the 0.
        let name = unsafe { arguments.next().add(1) } as usize;
        let flags = O_PATH_CLOEXEC | O_NOFOLLOW;
        let opened = system_call(call::OPENAT, [AT_FDCWD, name, flags, 0, 0]);
        // Another command removed it.
        if opened == ENOENT {
            continue;
        }
        let opened = check(opened, step);
        // No other file is open.
        if opened > 9 {
            fail(step);
        }
        // The path of the link would lead to its target.
        let mut path = *b"/proc/self/fd/?\0";
        path[path.len() - 2] = b'0' + opened as u8;
        let itself = path.as_ptr() as usize;
        check(system_call(call::MOUNT, [itself, itself, 0, MS_BIND, 0]), step);
        system_call(call::CLOSE, [opened, 0, 0, 0, 0]);
    }
}

/// Limits writing to the paths before `--`.
fn confine_files(arguments: &mut Arguments, handled: u64, of_file: u64) {
    let step = "cannot set up Landlock";
    let attribute = (&raw const handled) as usize;
    let created = system_call(LANDLOCK_CREATE_RULESET, [attribute, size_of::<u64>(), 0, 0, 0]);
    // A container can lack what osier has, as an old kernel does: the mounts still apply without
    // Landlock.
    let is_missing = created == ENOSYS;
    let rules = if is_missing { 0 } else { check(created, step) };
    loop {
        let path = arguments.next();
        let allowed = match at(path, 0) {
            b'd' => handled,
            b'f' => of_file,
            b'-' => break,
            _ => fail("invalid arguments"),
        };
        if is_missing {
            continue;
        }
        // SAFETY: behind the letter is at least the 0.
        let name = unsafe { path.add(1) } as usize;
        let opened = system_call(call::OPENAT, [AT_FDCWD, name, O_PATH_CLOEXEC, 0, 0]);
        let opened = check(opened, "cannot open a directory that commands can write to");
        let rule = PathBeneath {
            allowed,
            parent: opened as i32,
        };
        let added = [rules, PATH_BENEATH, (&raw const rule) as usize, 0, 0];
        check(system_call(LANDLOCK_ADD_RULE, added), step);
        system_call(call::CLOSE, [opened, 0, 0, 0, 0]);
    }
    if is_missing {
        return;
    }
    check(system_call(LANDLOCK_RESTRICT_SELF, [rules, 0, 0, 0, 0]), step);
    system_call(call::CLOSE, [rules, 0, 0, 0, 0]);
}

fn apply_filter(instructions: *mut u8) {
    let filter = Filter {
        length: (decode(instructions) / 8) as u16,
        instructions,
    };
    let arguments = [SET_MODE_FILTER, 0, (&raw const filter) as usize, 0, 0];
    check(system_call(call::SECCOMP, arguments), "cannot limit system calls");
}

/// Waits for `child` and what it leaves behind; returns the code that a shell would report.
fn wait_for(child: usize) -> usize {
    loop {
        let mut status = 0_i32;
        let ended = system_call(call::WAIT4, [usize::MAX, (&raw mut status) as usize, 0, 0, 0]);
        if ended == EINTR {
            continue;
        }
        if check(ended, "cannot wait for it") == child {
            let signal = status & 0x7f;
            let code = if signal == 0 { status >> 8 & 0xff } else { 128 + signal };
            return code as usize;
        }
    }
}

/// Gets the stack as the kernel leaves it: the number of arguments, the arguments, null, the environment.
unsafe extern "C" fn start(stack: *const usize) -> ! {
    // Files that the program that started osier left open: a command could write to them.
    check(system_call(CLOSE_RANGE, [3, u32::MAX as usize, 0, 0, 0]), "cannot close files");
    // SAFETY: see above.
    let (count, words) = unsafe { (*stack, stack.add(1).cast::<*mut u8>()) };
    // osier only asks whether it can be executed.
    if count <= 1 {
        exit(0);
    }
    let mut arguments = Arguments {
        words,
        count,
        next: 1,
    };
    let handled = number(arguments.next());
    let of_file = number(arguments.next());
    let filter = arguments.next();
    keep_links(&mut arguments);
    drop_capabilities();
    confine_files(&mut arguments, handled, of_file);
    apply_filter(filter);
    let first = arguments.next;
    let program = arguments.next();
    let child = system_call(call::CLONE, [SIGCHLD, 0, 0, 0, 0]);
    if check(child, "cannot start a process") != 0 {
        exit(wait_for(child as usize));
    }
    // SAFETY: the program is the first of its own arguments, and the environment follows the null after the last one.
    let (of_program, environment) = unsafe { (words.add(first), words.add(count + 1)) };
    let execute = [program as usize, of_program as usize, environment as usize, 0, 0];
    system_call(call::EXECVE, execute);
    fail("the program cannot be executed")
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(NOT_RUN)
}
