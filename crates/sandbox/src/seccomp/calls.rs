//! The denied system calls.

use super::{Denied, Test};

/// Gaps of the rest of the sandbox, which the filter closes.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Coverage {
    /// No sockets at all, because there is no network namespace.
    pub no_sockets: bool,
    /// Metadata of files outside can be changed, because there are no read-only mounts.
    pub metadata: bool,
    /// Nothing can be written: then no program needs to change metadata.
    pub read_only: bool,
    /// The own user and group, to which files can still be given.
    pub owner: (u32, u32),
}

// recipe: a denied system call, 1: its row
// recipe: a denied system call, 2: `tests/fixtures/sandbox/attacks.py`: an attack
/// Calls that change the system, leave a namespace or lead around the filter.
const ALWAYS: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_open_by_handle_at,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_kcmp,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
];

#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: i64 = libc::SYS_kexec_file_load;
#[cfg(not(target_arch = "x86_64"))]
const KEXEC_FILE_LOAD: i64 = 294;

// Numbers that are the same on every architecture; the calls are newer than the C library.
const QUOTACTL_FD: i64 = 443;
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

/// Flags of `clone` and `unshare` that create namespaces.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .unsigned_abs();
/// A flag of `unshare` only: in `clone` it is part of a signal number.
const NEW_TIME: u32 = 0x80;

/// Input for another program of the terminal.
const TERMINAL_IOCTLS: [u32; 2] = [0x5412, 0x541c];
/// Flags of files, such as immutable.
const FLAG_IOCTLS: [u32; 4] = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0xc018_5890];

/// `fcntl` with this command delays every other program that opens the file.
const SET_LEASE: u32 = 1024;

const SET_IDS: u32 = 0o6000;
/// `(uid_t) -1`: unchanged.
const UNCHANGED: u32 = u32::MAX;

/// The table for `coverage`.
pub(in super::super) fn denied(coverage: Coverage) -> Vec<Denied> {
    let mut table: Vec<Denied> = ALWAYS.iter().map(|call| never(*call)).collect();
    #[cfg(target_arch = "x86_64")]
    table.extend([libc::SYS_iopl, libc::SYS_ioperm].map(never));
    // The flags of `clone3` are in memory, where a filter cannot read them. The C library falls back to `clone`.
    table.push(Denied {
        errno: libc::ENOSYS,
        ..never(libc::SYS_clone3)
    });
    table.push(when(libc::SYS_clone, &[any(0, NAMESPACES)]));
    table.push(when(libc::SYS_unshare, &[any(0, NAMESPACES | NEW_TIME)]));
    table.extend(TERMINAL_IOCTLS.map(|ioctl| when(libc::SYS_ioctl, &[is(1, ioctl)])));
    table.push(when(libc::SYS_fcntl, &[is(1, SET_LEASE)]));
    sockets(coverage.no_sockets, &mut table);
    modes(coverage.metadata && coverage.read_only, &mut table);
    if coverage.metadata {
        metadata(coverage, &mut table);
        other_processes(&mut table);
    }
    table
}

/// A local daemon could do the work outside, so there are no Unix sockets but connected pairs and those that were
/// inherited. A pair of datagram sockets can be connected again.
fn sockets(none: bool, table: &mut Vec<Denied>) {
    let (unix, inet, inet6) = (libc::AF_UNIX, libc::AF_INET, libc::AF_INET6);
    let [unix, inet, inet6] = [unix, inet, inet6].map(i32::unsigned_abs);
    let netlink = libc::AF_NETLINK.unsigned_abs();
    if none {
        table.push(never(libc::SYS_socket));
    } else {
        let others = [not(0, inet), not(0, inet6), not(0, netlink)];
        table.push(when(libc::SYS_socket, &others));
        let route = libc::NETLINK_ROUTE.unsigned_abs();
        table.push(when(libc::SYS_socket, &[is(0, netlink), not(2, route)]));
    }
    table.push(when(libc::SYS_socketpair, &[not(0, unix)]));
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(i32::unsigned_abs);
    let tests = connected.map(|kind| Test {
        mask: 0xf,
        ..not(1, kind)
    });
    table.push(when(libc::SYS_socketpair, &tests));
}

/// Denies modes that let a program run as another user. Without read-only mounts, a read-only
/// sandbox also denies every other mode and every time.
fn modes(all: bool, table: &mut Vec<Denied>) {
    let mut calls = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_chmod, 1));
    created(table);
    if !all {
        let set_ids = |(call, argument)| when(call, &[any(argument, SET_IDS)]);
        table.extend(calls.into_iter().map(set_ids));
        return;
    }
    table.extend(calls.into_iter().map(|(call, _)| never(call)));
    table.push(never(libc::SYS_utimensat));
    #[cfg(target_arch = "x86_64")]
    table.extend([libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat].map(never));
}

/// Denies new files that run as another user or group.
fn created(table: &mut Vec<Denied>) {
    let create = libc::O_CREAT.unsigned_abs();
    // A part of `O_TMPFILE`, which only directories have.
    let temporary = (libc::O_TMPFILE & !libc::O_DIRECTORY).unsigned_abs();
    let with_flags = create | temporary;
    table.push(when(
        libc::SYS_openat,
        &[any(2, with_flags), any(3, SET_IDS)],
    ));
    table.push(when(libc::SYS_mknodat, &[any(2, SET_IDS)]));
    #[cfg(target_arch = "x86_64")]
    table.extend([
        when(libc::SYS_open, &[any(1, with_flags), any(2, SET_IDS)]),
        when(libc::SYS_creat, &[any(1, SET_IDS)]),
        when(libc::SYS_mknod, &[any(1, SET_IDS)]),
    ]);
    // The mode of `openat2` is in memory. Programs fall back to `openat`.
    table.push(Denied {
        errno: libc::ENOSYS,
        ..never(libc::SYS_openat2)
    });
}

/// Denies changes of owners, extended attributes and flags.
fn metadata(coverage: Coverage, table: &mut Vec<Denied>) {
    let (user, group) = coverage.owner;
    let mut calls = vec![(libc::SYS_fchown, 1), (libc::SYS_fchownat, 2)];
    #[cfg(target_arch = "x86_64")]
    calls.extend([(libc::SYS_chown, 1), (libc::SYS_lchown, 1)]);
    for (call, argument) in calls {
        for (argument, own) in [(argument, user), (argument + 1, group)] {
            table.push(when(call, &[not(argument, own), not(argument, UNCHANGED)]));
        }
    }
    let attributes = [
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        SETXATTRAT,
        REMOVEXATTRAT,
        FILE_SETATTR,
    ];
    // Programs that copy files ignore this error.
    let unsupported = |rule| Denied {
        errno: libc::EOPNOTSUPP,
        ..rule
    };
    table.extend(attributes.map(|call| unsupported(never(call))));
    table.extend(FLAG_IOCTLS.map(|ioctl| unsupported(when(libc::SYS_ioctl, &[is(1, ioctl)]))));
}

/// Denies changes of priorities and limits of other processes than the caller.
fn other_processes(table: &mut Vec<Denied>) {
    // 0 is a process, 1 a group, 2 a user.
    table.push(when(libc::SYS_setpriority, &[not(1, 0)]));
    table.push(when(libc::SYS_setpriority, &[is(0, 2)]));
    // 1 is a process, 2 a group, 3 a user.
    table.push(when(libc::SYS_ioprio_set, &[not(1, 0)]));
    table.push(when(libc::SYS_ioprio_set, &[is(0, 3)]));
    let schedulers = [
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ];
    table.extend(schedulers.map(|call| when(call, &[not(0, 0)])));
    // With new limits.
    for upper_half in [false, true] {
        let given = Test {
            upper_half,
            ..not(2, 0)
        };
        table.push(when(libc::SYS_prlimit64, &[not(0, 0), given]));
    }
}

fn never(call: i64) -> Denied {
    when(call, &[])
}

fn when(call: i64, tests: &[Test]) -> Denied {
    Denied {
        call,
        when: tests.to_vec(),
        errno: libc::EPERM,
    }
}

/// The argument is `value`. The kernel reads the lower half of all these arguments.
fn is(argument: u32, value: u32) -> Test {
    Test {
        argument,
        upper_half: false,
        mask: u32::MAX,
        value,
        equal: true,
    }
}

/// The argument is not `value`.
fn not(argument: u32, value: u32) -> Test {
    Test {
        equal: false,
        ..is(argument, value)
    }
}

/// The argument has any of the bits of `mask`.
fn any(argument: u32, mask: u32) -> Test {
    Test {
        mask,
        ..not(argument, 0)
    }
}
