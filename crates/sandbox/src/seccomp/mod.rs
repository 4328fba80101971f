//! The filter for system calls: [`calls`] is the table of what is denied, this module compiles it for the kernel.
//!
//! The table denies; everything else is allowed. System calls of a foreign architecture, such as the 32-bit calls of
//! a 64-bit kernel, end the process, so that no other numbering is a way around the table.
//!
//! The kernel runs the filter for each number when a process gets it, and later for each call whose arguments matter. So the filter
//! searches the number by halves.

mod calls;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use seccompiler::sock_filter;

pub(super) use calls::{Coverage, denied};

/// The architecture of the kernel's numbering.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

/// Numbers from here are the same calls for x32 programs.
const X32: u32 = 0x4000_0000;

// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;

// Instructions of the kernel's filters.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const ERROR: u32 = 0x0005_0000;
const KILL_PROCESS: u32 = 0x8000_0000;

/// A denied system call.
#[derive(Debug, Clone)]
pub(super) struct Denied {
    pub call: i64,
    /// All must be true; always denied without any.
    pub when: Vec<Test>,
    pub errno: i32,
}

/// A test of half of an argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct Test {
    pub argument: u32,
    pub upper_half: bool,
    pub mask: u32,
    pub value: u32,
    pub equal: bool,
}

/// Applies `denied` to this process, which has one thread, and to everything it executes.
pub(super) fn apply(denied: &[Denied]) -> Result<(), String> {
    let program = compile(denied)?;
    seccompiler::apply_filter(&program).map_err(|error| format!("seccomp: {error}"))
}

/// The filter as the kernel reads it, in hexadecimal digits.
pub(super) fn encoded(denied: &[Denied]) -> Result<String, String> {
    let mut digits = String::new();
    for instruction in compile(denied)? {
        let code = instruction.code.to_ne_bytes();
        let jumps = [instruction.jt, instruction.jf];
        for byte in code
            .into_iter()
            .chain(jumps)
            .chain(instruction.k.to_ne_bytes())
        {
            let _ = write!(digits, "{byte:02x}");
        }
    }
    Ok(digits)
}

fn compile(denied: &[Denied]) -> Result<Vec<sock_filter>, String> {
    let architecture = ARCHITECTURE.ok_or("seccomp: the architecture is not supported")?;
    let mut program = vec![
        load(ARCH),
        branch(IF_EQUAL, architecture, 1, 0),
        returns(KILL_PROCESS),
        load(NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        let no_such_call = returns(ERROR | libc::ENOSYS.unsigned_abs());
        program.extend([branch(IF_AT_LEAST, X32, 0, 1), no_such_call]);
    }
    let mut calls: BTreeMap<u32, Vec<sock_filter>> = BTreeMap::new();
    for rule in denied {
        let body = calls.entry(rule.call as u32).or_default();
        body.extend(tests(rule));
    }
    let calls: Vec<(u32, Vec<sock_filter>)> = calls.into_iter().collect();
    program.extend(search(&calls));
    Ok(program)
}

/// Returns the error of a rule if its tests are true.
fn tests(rule: &Denied) -> Vec<sock_filter> {
    // From the end, because a failed test jumps over the rest.
    let mut body = vec![returns(ERROR | rule.errno.unsigned_abs())];
    for test in rule.when.iter().rev() {
        let skip = body.len() as u8;
        let (if_true, if_false) = if test.equal { (0, skip) } else { (skip, 0) };
        body.insert(0, branch(IF_EQUAL, test.value, if_true, if_false));
        if test.mask != u32::MAX {
            body.insert(0, statement(AND, test.mask));
        }
        let half = if test.upper_half { 4 } else { 0 };
        body.insert(0, load(ARGUMENTS + 8 * test.argument + half));
    }
    body
}

/// Finds the number among sorted `calls`, and runs what belongs to it.
fn search(calls: &[(u32, Vec<sock_filter>)]) -> Vec<sock_filter> {
    match calls {
        [] => vec![returns(ALLOW)],
        [(call, body)] => {
            let mut program = over(body.len(), |skip| branch(IF_EQUAL, *call, 0, skip));
            program.extend_from_slice(body);
            program.push(returns(ALLOW));
            program
        }
        _ => {
            let (lower, upper) = calls.split_at(calls.len() / 2);
            let (first, lower, upper) = (upper[0].0, search(lower), search(upper));
            let mut program = over(lower.len(), |skip| branch(IF_AT_LEAST, first, skip, 0));
            program.extend(lower);
            program.extend(upper);
            program
        }
    }
}

/// A branch that jumps over `length` instructions on one of its sides. A branch reaches 255 instructions, a jump all of them.
fn over(length: usize, branch: impl Fn(u8) -> sock_filter) -> Vec<sock_filter> {
    if let Ok(skip) = u8::try_from(length) {
        return vec![branch(skip)];
    }
    // The branch jumps over the first jump, which is for its other side: that side skips the second
    // jump, which is the long one.
    vec![
        branch(1),
        statement(JUMP, 1),
        statement(JUMP, length as u32),
    ]
}

fn load(offset: u32) -> sock_filter {
    statement(LOAD, offset)
}

fn returns(action: u32) -> sock_filter {
    statement(RETURN, action)
}

fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

fn branch(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests;
