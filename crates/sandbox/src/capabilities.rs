//! Drops the privileges of root: neither this process nor the programs that it executes can regain them.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Drops all capabilities. A process without privileges has none to drop.
pub(super) fn drop_all() -> Result<(), String> {
    let failed = |error: Errno| format!("cannot drop capabilities: {error}");
    set_no_new_privs(true).map_err(failed)?;
    // Kernels before 4.3 have no ambient set.
    let _ = clear_ambient_capability_set();
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // Either the kernel does not know this capability and all later ones, or the set cannot
            // be changed, and `no_new_privs` keeps it from being used.
            Err(Errno::INVAL | Errno::PERM) => break,
            Err(error) => return Err(failed(error)),
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(failed)
}
