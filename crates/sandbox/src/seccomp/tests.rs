//! The compiled filter, run by a small interpreter.

use super::calls::{Coverage, denied};
use super::*;

const NATIVE: u32 = ARCHITECTURE.unwrap();

/// The action for a call.
fn verdict(coverage: Coverage, arch: u32, number: i64, arguments: &[u64]) -> u32 {
    run(coverage, arch, number, arguments).0
}

/// The instructions that are run for a call.
fn steps(coverage: Coverage, number: i64) -> usize {
    run(coverage, NATIVE, number, &[]).1
}

/// The action for a call, and how many instructions found it.
fn run(coverage: Coverage, arch: u32, number: i64, arguments: &[u64]) -> (u32, usize) {
    let program = compile(&denied(coverage)).unwrap();
    let word = |offset: u32| match offset {
        NUMBER => number as u32,
        ARCH => arch,
        offset => {
            let place = (offset - ARGUMENTS) as usize;
            let argument = arguments.get(place / 8).copied().unwrap_or_default();
            (argument >> (8 * (place % 8))) as u32
        }
    };
    interpreted(&program, word, 0)
}

/// The action of a program that begins with `value`, and how many instructions found it.
fn interpreted(program: &[sock_filter], word: impl Fn(u32) -> u32, mut value: u32) -> (u32, usize) {
    let mut next = 0;
    for steps in 1.. {
        let step = &program[next];
        next += 1;
        let jump = |is_true: bool| usize::from(if is_true { step.jt } else { step.jf });
        match step.code {
            LOAD => value = word(step.k),
            AND => value &= step.k,
            IF_EQUAL => next += jump(value == step.k),
            IF_AT_LEAST => next += jump(value >= step.k),
            JUMP => next += step.k as usize,
            RETURN => return (step.k, steps),
            other => panic!("unknown instruction {other:#x}"),
        }
    }
    unreachable!("a filter ends")
}

fn error(errno: i32) -> u32 {
    ERROR | errno.unsigned_abs()
}

#[test]
fn calls_are_denied_by_their_arguments() {
    let eperm = error(libc::EPERM);
    let unix = libc::AF_UNIX as u64;
    let inet = libc::AF_INET as u64;
    let netlink = libc::AF_NETLINK as u64;
    let (stream, dgram) = (libc::SOCK_STREAM as u64, libc::SOCK_DGRAM as u64);
    let cloexec = libc::SOCK_CLOEXEC as u64;
    let newuser = libc::CLONE_NEWUSER as u64;
    for (number, arguments, expected) in [
        (libc::SYS_read, &[0, 0, 0][..], ALLOW),
        (libc::SYS_openat, &[0, 0, 0o101, 0o755], ALLOW),
        (libc::SYS_openat, &[0, 0, 0, 0o4755], ALLOW),
        (libc::SYS_openat, &[0, 0, 0o101, 0o4755], eperm),
        (
            libc::SYS_openat,
            &[0, 0, libc::O_TMPFILE as u64, 0o2755],
            eperm,
        ),
        (
            libc::SYS_openat,
            &[0, 0, libc::O_DIRECTORY as u64, 0o2755],
            ALLOW,
        ),
        (libc::SYS_mknodat, &[0, 0, 0o100_644], ALLOW),
        (libc::SYS_mknodat, &[0, 0, 0o104_755], eperm),
        (libc::SYS_openat2, &[0, 0, 0, 24], error(libc::ENOSYS)),
        (libc::SYS_socket, &[inet, stream | cloexec, 0], ALLOW),
        (libc::SYS_socket, &[unix, stream, 0], eperm),
        // The kernel ignores the upper half of the family.
        (libc::SYS_socket, &[unix | (7 << 32), stream, 0], eperm),
        (libc::SYS_socket, &[inet | (7 << 32), stream, 0], ALLOW),
        (libc::SYS_socket, &[libc::AF_VSOCK as u64, stream, 0], eperm),
        (libc::SYS_socket, &[libc::AF_PACKET as u64, 3, 0], eperm),
        (libc::SYS_socket, &[netlink, 3, 0], ALLOW),
        (libc::SYS_socket, &[netlink, 3, 15], eperm),
        (libc::SYS_socketpair, &[unix, stream | cloexec, 0], ALLOW),
        (libc::SYS_socketpair, &[unix, 5, 0], ALLOW),
        (libc::SYS_socketpair, &[unix, dgram | cloexec, 0], eperm),
        (libc::SYS_socketpair, &[inet, stream, 0], eperm),
        (libc::SYS_clone, &[libc::SIGCHLD as u64], ALLOW),
        (libc::SYS_clone, &[newuser | libc::SIGCHLD as u64], eperm),
        (libc::SYS_unshare, &[libc::CLONE_FILES as u64], ALLOW),
        (libc::SYS_unshare, &[newuser], eperm),
        (libc::SYS_clone3, &[0, 88], error(libc::ENOSYS)),
        (libc::SYS_ioctl, &[0, 0x5412], eperm),
        (libc::SYS_ioctl, &[0, 0x5412 | (1 << 32)], eperm),
        (libc::SYS_ioctl, &[0, 0x5401], ALLOW),
        (libc::SYS_fchmodat, &[0, 0, 0o755], ALLOW),
        (libc::SYS_fchmodat, &[0, 0, 0o4755], eperm),
        (libc::SYS_fchmod, &[0, 0o2755], eperm),
        (libc::SYS_mount, &[], eperm),
        (libc::SYS_fchownat, &[0, 0, 1, 1], ALLOW),
        (libc::SYS_utimensat, &[0, 0, 1], ALLOW),
    ] {
        let found = verdict(Coverage::default(), NATIVE, number, arguments);
        assert_eq!(found, expected, "{number} {arguments:?}");
    }
}

#[test]
fn landlock_needs_more_denied_calls() {
    let coverage = Coverage {
        no_sockets: true,
        metadata: true,
        read_only: false,
        owner: (1000, 100),
    };
    let eperm = error(libc::EPERM);
    let unsupported = error(libc::EOPNOTSUPP);
    let unchanged = u64::from(u32::MAX);
    for (number, arguments, expected) in [
        (libc::SYS_socket, &[libc::AF_INET as u64, 1, 0][..], eperm),
        (libc::SYS_fchownat, &[0, 0, 1000, 100], ALLOW),
        (libc::SYS_fchownat, &[0, 0, unchanged, unchanged], ALLOW),
        (libc::SYS_fchownat, &[0, 0, 1000, 27], eperm),
        (libc::SYS_fchown, &[3, 0, unchanged], eperm),
        (libc::SYS_setxattr, &[], unsupported),
        (libc::SYS_ioctl, &[3, 0x4008_6602], unsupported),
        (libc::SYS_setpriority, &[0, 0, 5], ALLOW),
        (libc::SYS_setpriority, &[0, 77, 5], eperm),
        (libc::SYS_setpriority, &[2, 0, 5], eperm),
        (libc::SYS_prlimit64, &[0, 7, 0xffff_0000_0000], ALLOW),
        (libc::SYS_prlimit64, &[77, 7, 0, 1], ALLOW),
        (libc::SYS_prlimit64, &[77, 7, 0xffff_0000_0000], eperm),
        (libc::SYS_prlimit64, &[77, 7, 0x1000], eperm),
        (libc::SYS_fchmodat, &[0, 0, 0o755], ALLOW),
        (libc::SYS_utimensat, &[0, 0, 1], ALLOW),
    ] {
        let found = verdict(coverage, NATIVE, number, arguments);
        assert_eq!(found, expected, "{number} {arguments:?}");
    }
    let coverage = Coverage {
        read_only: true,
        ..coverage
    };
    for number in [libc::SYS_fchmodat, libc::SYS_utimensat] {
        assert_eq!(verdict(coverage, NATIVE, number, &[0, 0, 0o755]), eperm);
    }
}

#[test]
fn foreign_numbers_lead_nowhere() {
    let found = verdict(Coverage::default(), 0x4000_0003, 102, &[]);
    assert_eq!(found, KILL_PROCESS);
    if cfg!(target_arch = "x86_64") {
        let number = i64::from(X32) | libc::SYS_read;
        let found = verdict(Coverage::default(), NATIVE, number, &[]);
        assert_eq!(found, error(libc::ENOSYS));
    }
}

/// The kernel runs the filter for about 460 numbers when a command starts: a list of all comparisons took 0.1 ms.
#[test]
fn a_call_is_found_after_few_comparisons() {
    let coverage = Coverage {
        no_sockets: true,
        metadata: true,
        read_only: true,
        owner: (1000, 100),
    };
    let longest = (0..600).map(|number| steps(coverage, number)).max();
    assert!(longest <= Some(30), "{longest:?}");
}

#[test]
fn a_branch_reaches_over_any_number_of_instructions() {
    let body = |value: u32| vec![returns(value); 300];
    let calls: Vec<_> = [1, 5, 9].map(|number| (number, body(number))).into();
    let program = search(&calls);
    for (number, expected) in [(1, 1), (5, 5), (9, 9), (0, ALLOW), (4, ALLOW), (10, ALLOW)] {
        assert_eq!(interpreted(&program, |_| number, number).0, expected);
    }
}
