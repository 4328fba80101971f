//! The network by name: commands reach only listed hosts, through a proxy outside of the sandbox.
//!
//! The sandbox has a network namespace of its own. The helper in it opens a TCP listener and hands it over to osier
//! (`handover`) before the command starts, so that the command needs no other way out. osier accepts the connections
//! (`proxy`, which speaks HTTP and SOCKS5), decides about the host by its name (`policy`), resolves allowed names
//! only, checks every address (`address`), and connects to exactly that address.

mod address;
mod destination;
#[cfg(target_os = "linux")]
mod handover;
mod hosts;
mod hosts_file;
mod http;
mod policy;
mod proxies;
mod proxy;
mod reach;
mod socks;

pub use hosts::HostRule;
pub(super) use policy::{Asker, Hosts};
pub use reach::{Reach, ReachError};

#[cfg(target_os = "linux")]
pub(super) use handover::hand_over_listener;
pub(super) use proxies::{Proxies, environment};
