//! The full-screen interface.
//!
//! `App` is the whole of it as one value; `run` connects it to the terminal and the host. The app is
//! drawn only when something changed, and only while the terminal accepts bytes.

pub mod action;
pub mod activity;
mod adjust;
pub mod app;
mod apply;
mod asking;
mod attached;
mod beside;
mod changes;
pub mod command;
pub mod company;
mod deck;
mod draw;
pub mod editor;
mod exchange;
mod follow;
pub mod footer;
mod hints;
mod jobs;
mod keys;
pub mod layout;
mod linear;
mod looks;
mod mouse;
pub mod overlays;
pub mod plugins;
mod reading;
mod restore;
mod run;
mod search;
mod sent;
mod servers;
pub mod sessions;
mod stash;
pub mod todo;
mod tools;
pub mod transcript;
pub mod tree;
mod usage;
mod welcome;

pub use app::{App, AppOptions, Effect, Viewer};
pub use deck::{DeckRequest, Entry, Roster, State};
pub use looks::{Looks, NewBinding, ThemeChoice, check_files};
pub use run::{Elsewhere, Open, Options, run, run_over};
