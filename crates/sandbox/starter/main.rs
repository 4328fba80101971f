//! `starter NAMESPACES OWNER HANDLED OF_FILE FILTER [MOUNT]… [lPATH]… [wPATH] [dPATH|fPATH]… -- PROGRAM ARGUMENTS…` starts a command in the
//! sandbox. If NAMESPACES is 0, bubblewrap has made the namespaces and mounts; otherwise the starter makes them itself.
//!
//! The starter is a separate program without the standard library, because starting osier a second time takes longer than all of
//! bubblewrap, mostly to relocate tables with pointers. The starter has no such tables.
//!
//! The starter decides nothing. `src/starter.rs` computes its arguments. The first five are hexadecimal: the namespaces, the process of
//! osier, the rights that Landlock limits, those of them that a file can have, and the filter for system calls. The others are the mounts
//! (`src/mounts.rs`), the symbolic links that nothing can replace, the working directory, and the directories and files that the command
//! can write to. If a step fails, the command does not run.
//!
//! `build.rs` compiles the starter, so it is not a module of the crate.

#![no_std]
#![no_main]
#![no_builtins]
#![allow(
    unsafe_code,
    reason = "without a standard library, arguments are pointers and system calls are assembly"
)]

mod mounts;
mod namespaces;
mod process;
mod system;

use core::arch::global_asm;

use process::{drop_capabilities, wait_for};
use system::{
    AT_FDCWD, Arguments, ENOSYS, NOT_RUN, O_PATH_CLOEXEC, SIGCHLD, at, call, check, close,
    close_files, decode, exit, fail, new_call, number, open, system_call,
};

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "mov rdi, rsp", "and rsp, -16", "call {start}", start = sym start);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x0, sp", "bl {start}", start = sym start);
#[cfg(target_arch = "riscv64")]
global_asm!(".globl _start", "_start:", "mv a0, sp", "call {start}", start = sym start);

const NEW_MOUNTS: usize = 0x2_0000;
const PATH_BENEATH: usize = 1;
const SET_MODE_FILTER: usize = 1;

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

/// Limits writing to the paths before `--`.
fn confine_files(arguments: &mut Arguments, handled: u64, of_file: u64) {
    let step = "cannot set up Landlock";
    let attribute = (&raw const handled) as usize;
    let created = system_call(new_call::LANDLOCK_CREATE_RULESET, [attribute, size_of::<u64>(), 0, 0, 0]);
    // Landlock can be missing here even if osier has it, for example in a container; the mounts still protect the files.
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
        // SAFETY: the word has at least its letter and the final 0.
        let name = unsafe { path.add(1) } as usize;
        let opened = open(AT_FDCWD, name, O_PATH_CLOEXEC);
        let opened = check(opened, "cannot open a directory that commands can write to");
        let rule = PathBeneath {
            allowed,
            parent: opened as i32,
        };
        let added = [rules, PATH_BENEATH, (&raw const rule) as usize, 0, 0];
        check(system_call(new_call::LANDLOCK_ADD_RULE, added), step);
        close(opened);
    }
    if is_missing {
        return;
    }
    check(system_call(new_call::LANDLOCK_RESTRICT_SELF, [rules, 0, 0, 0, 0]), step);
    close(rules);
}

fn apply_filter(instructions: *mut u8) {
    let filter = Filter {
        length: (decode(instructions) / 8) as u16,
        instructions,
    };
    let arguments = [SET_MODE_FILTER, 0, (&raw const filter) as usize, 0, 0];
    check(system_call(call::SECCOMP, arguments), "cannot limit system calls");
}

/// Gets the stack as the kernel leaves it: the number of arguments, the arguments, null, the environment.
unsafe extern "C" fn start(stack: *const usize) -> ! {
    // The program that started osier can have left files open, to which a command could write.
    close_files();
    // SAFETY: `stack` is the stack of a new process, as described above.
    let (count, words) = unsafe { (*stack, stack.add(1).cast::<*mut u8>()) };
    // Without arguments, osier only checks whether the starter can be executed.
    if count <= 1 {
        exit(0);
    }
    let mut arguments = Arguments {
        words,
        count,
        next: 1,
    };
    let namespaces = number(arguments.next()) as usize;
    let owner = number(arguments.next()) as usize;
    let handled = number(arguments.next());
    let of_file = number(arguments.next());
    let filter = arguments.next();
    if namespaces != 0 {
        namespaces::enter(namespaces, owner, &mut arguments);
    } else if arguments.peek() == b'l' {
        // `bwrap` can leave this process in a user namespace that does not own its mounts.
        let unshared = system_call(call::UNSHARE, [NEW_MOUNTS, 0, 0, 0, 0]);
        check(unshared, "cannot protect symbolic links");
        mounts::keep_links(&mut arguments);
    }
    drop_capabilities();
    namespaces::enter_directory(&mut arguments);
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
