//! The screen: keys and a scripted model in, whole screens out.

#![expect(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper of tests fails as its tests do"
)]

mod support;

mod adjust;
mod attach;
mod changes;
mod colours;
mod editor;
mod exchange;
mod frames;
mod hooks;
mod keys;
mod length;
mod linear;
mod login;
mod looks;
mod overlays;
mod pictures;
mod plugins;
mod questions;
mod reading;
mod restore;
mod running;
mod sessions;
mod skills;
mod tools;
mod transcript;
mod tree;

mod pty;
