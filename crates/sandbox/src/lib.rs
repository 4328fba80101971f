//! The sandbox for commands: it limits where they can write and whether they have a network.
//!
//! Start at [`Confinement`], the sandbox of a workspace, and [`osier_protocol::SandboxMode`], what commands can do.
//! `Confinement::ready` detects the backend: bubblewrap, else Landlock on Linux; `sandbox-exec` on macOS. [`helper`] is
//! the hidden subcommand that runs in the sandbox before the command: it drops all privileges and applies the filter for
//! system calls. [`network`] lets commands use some hosts, and [`denial`] detects a denial in the output of a command.
//!
//! When a sandbox is requested and no backend works, the command does not run, and the error gives the reason.
//!
//! The crate does not know tools, permission rules or settings.
//!
//! ```
//! use osier_protocol::SandboxMode;
//! use osier_sandbox::Confinement;
//!
//! let sandbox = Confinement::new("/work".as_ref(), None);
//! sandbox.set(SandboxMode::Workspace, false, Vec::new());
//! assert_eq!(sandbox.mode(), SandboxMode::Workspace);
//! assert!(!sandbox.has_network());
//!
//! // Plan mode forces read-only.
//! sandbox.set_plan(true);
//! assert_eq!(sandbox.mode(), SandboxMode::ReadOnly);
//! ```
//!
//! # Design
//!
//! - The sandbox starts as osier itself: the hidden subcommand of `helper` limits itself and becomes the command. In bubblewrap,
//!   the starter does the same in less time: a program of 10 KB that osier contains (`starter`). Where the kernel allows it, the starter
//!   also makes the namespaces and mounts in place of `bwrap` (`mounts`), which takes half the time.
//! - A mount hides the programs and files that deny rules name (`denied`). Landlock grants access to all files except these.
//! - In bubblewrap, Landlock closes a gap of read-only mounts: a command could write to pipes outside.
//! - Hosts by name are reached through a proxy outside of the sandbox (`network`).

mod backend;
mod bubblewrap;
#[cfg(target_os = "linux")]
mod capabilities;
mod confinement;
pub mod denial;
mod denied;
#[cfg(target_os = "linux")]
pub mod helper;
#[cfg(target_os = "linux")]
mod landlock;
mod mount_table;
mod mounts;
pub mod network;
mod protected;
mod report;
mod scope;
#[cfg(target_os = "macos")]
mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod spec;
#[cfg(target_os = "linux")]
mod starter;
#[cfg(target_os = "linux")]
mod supervisor;
mod tree;
#[cfg_attr(not(target_os = "linux"), path = "no_watch.rs")]
mod watch;

pub use backend::{Backend, Preferred, SandboxError};
pub use confinement::{Confined, Confinement};
pub use denied::{Denial, Limit};
pub use report::Report;

/// The hidden subcommand that sandboxes itself and then executes the command.
pub(crate) const HELPER: &str = "__sandbox";
