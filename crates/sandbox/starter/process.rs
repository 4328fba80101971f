//! The privileges of a process, and waiting for its children.

use crate::system::{EINTR, EINVAL, EPERM, call, check, system_call};

const SIGINT: usize = 2;
const SIGQUIT: usize = 3;

const PR_CAPBSET_DROP: usize = 24;
const PR_SET_NO_NEW_PRIVS: usize = 38;
const PR_CAP_AMBIENT: usize = 47;
const PR_CAP_AMBIENT_CLEAR_ALL: usize = 4;
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// Prevents programs that this process executes from getting more privileges.
pub fn deny_privileges() {
    let arguments = [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0];
    check(system_call(call::PRCTL, arguments), "cannot deny privileges");
}

pub fn drop_capabilities() {
    let step = "cannot drop capabilities";
    deny_privileges();
    // An old kernel has no ambient set, so the result does not count.
    system_call(call::PRCTL, [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0]);
    for capability in 0..64 {
        match system_call(call::PRCTL, [PR_CAPBSET_DROP, capability, 0, 0, 0]) {
            // The kernel knows no more capabilities, or the bounding set cannot change; it has no effect without new privileges.
            EINVAL | EPERM => break,
            result => check(result, step),
        };
    }
    let header = [CAPABILITY_VERSION_3, 0];
    let none = [0_u32; 6];
    let arguments = [header.as_ptr() as usize, none.as_ptr() as usize, 0, 0, 0];
    check(system_call(call::CAPSET, arguments), step);
}

/// Ignores the keys that interrupt the programs of a terminal: only the command is meant, in the same group.
pub fn ignore_interrupts() {
    const IGNORE: u64 = 1;
    for signal in [SIGINT, SIGQUIT] {
        let action = [IGNORE, 0, 0, 0];
        let arguments = [signal, action.as_ptr() as usize, 0, size_of::<u64>(), 0];
        check(system_call(call::SIGACTION, arguments), "cannot ignore signals");
    }
}

/// Waits until `child` ends, and for processes that it leaves behind. Returns the exit code that a shell would report.
pub fn wait_for(child: usize) -> usize {
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
