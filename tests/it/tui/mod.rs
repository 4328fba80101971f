//! The interface: keys and a scripted model as input, complete screens as output.

#![expect(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper of tests fails as its tests do"
)]

mod support;

mod appearance;
mod attachments;
mod auto_review;
mod branches;
mod changes;
mod colours;
mod contrast;
mod editor;
mod everyday;
mod first_hour;
mod frames;
mod hooks;
mod images;
mod keys;
mod login;
mod long_sessions;
mod map;
mod navigation;
mod newest_row;
mod overlays;
mod plugins;
mod questions;
mod restore;
mod runs;
mod screen_reader;
mod sessions;
mod settings;
mod side_panel;
mod skills;
mod subagents;
mod terminals;
mod tools;
mod transcript;
mod transfer;
mod tree;
mod usage;

mod pty;
