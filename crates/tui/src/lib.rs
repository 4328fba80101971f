//! The full-screen interface.
//!
//! Start at [`App`], the interface as one value: input and events go in, requests come out, `draw` paints it. `run`
//! connects it to the terminal and to the sessions. A feature is a module with its state, its events, its overlay and
//! its drawing; it gets what it needs as arguments and never knows the app.
//!
//! The rooms, lowest first; a room imports only what is below it, which `tests/it/layers.rs` checks:
//!
//! - `actions`: commands, actions and effects, and the outbox that collects them. A command is one row of
//!   `actions/command/registry.rs`.
//! - `drawing`: areas, surface, overlays, the picker.
//! - `status`: the status line, the footer, the side panel.
//! - `conversation`: the transcript, the search in it, jobs and terminals.
//! - `input`: the prompt, keys, the mouse, stashed prompts.
//! - `history`: sessions, tabs, the tree, checkpoints, changes, compaction.
//! - `dialogs`: lists and questions above the conversation.
//! - `screen`: `App`, which only passes on keys, actions and events, and the loop that runs it.
//!
//! Drawing changes nothing outside of the screen. The app is drawn only when something has changed, and only while the
//! terminal accepts bytes. A frame costs the same in a session of any length.
//!
//! # Design
//!
//! - The screen is a function of the state: `App::apply` and `App::on_event` change it, `App::draw` reads it.
//! - `App` owns the state of every feature and only passes on keys, commands, actions and events; it alone knows them
//!   all. A feature gets what it needs as arguments, draws on a `Surface`, and puts what it wants done elsewhere into
//!   the `Outbox`.
//! - The transcript is a virtual list that walks outward from its position; no total height exists.
//! - Each open session is a `Tab` with its `App` and event queue. One tab is shown and owns what belongs to the
//!   terminal. A background tab wakes the loop only when a run ends or a question is asked.
//! - A command is one row of the registry: its keymap name, description, slash command, and what it sends.

mod actions;
mod conversation;
mod dialogs;
mod drawing;
mod history;
mod input;
mod screen;
mod status;

pub use actions::{Command, Effect, NewBinding, StoredSession, TabRequest, Toast, Viewer};
pub use conversation::Printing;
pub use dialogs::appearance::schema::{keymap_schema, theme_schema};
pub use dialogs::appearance::{Appearance, ThemeChoice, check_files};
pub use history::{TabState, TabSummaries, TabSummary};
pub use screen::{App, AppOptions, Elsewhere, NextChange, Open, Options, draw_next, run, run_over};
