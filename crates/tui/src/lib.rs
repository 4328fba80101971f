//! The full-screen interface, laid out by feature.
//!
//! [`App`] is the interface as one value; `run` connects it to the terminal and the host. Each feature is a
//! module with its state, its events, its overlay and its drawing. `command` lists everything that a key, the
//! palette or a slash command starts. The app is drawn only when something has changed, and only while the
//! terminal accepts bytes.

mod about;
mod accounts;
mod action;
mod activity;
mod app;
mod appearance;
mod budget;
mod cache_countdown;
mod checkpoints;
mod code_servers;
mod command;
mod compaction;
mod context;
mod effect;
mod fan;
mod footer;
mod guide;
mod help;
mod hooks;
mod jobs;
mod keymap;
mod layout;
mod mcp;
mod models;
mod mouse;
mod outbox;
mod overlays;
mod permissions;
mod plugins;
mod presence;
mod project_map;
mod prompt;
mod questions;
mod review;
mod run;
mod search;
mod sessions;
mod settings;
mod shell_commands;
mod side_panel;
mod skills;
mod stash;
mod styled_lines;
mod surface;
mod tabs;
mod terminals;
mod todo;
mod tools;
mod transcript;
mod transfer;
mod tree;
mod usage;
mod welcome;

pub use app::{App, AppOptions, NextChange};
pub use appearance::schema::{keymap_schema, theme_schema};
pub use appearance::{Appearance, ThemeChoice, check_files};
pub use command::Command;
pub use effect::{Effect, NewBinding, StoredSession, TabRequest, Viewer};
pub use run::{Elsewhere, Open, Options, run, run_over};
pub use tabs::{TabState, TabSummaries, TabSummary};
