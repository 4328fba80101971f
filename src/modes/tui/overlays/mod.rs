//! Layers above the main screen. Most are pickers: a query, a list, and what taking an item does.

pub mod account;
pub mod capture;
pub mod context;
pub mod diff;
pub mod fan;
pub mod help;
pub mod history;
pub mod hooks;
pub mod in_use;
pub mod jobs;
pub mod keymap;
pub mod login;
pub mod model;
pub mod palette;
pub mod permissions;
pub mod picker;
pub mod question;
pub mod restore;
pub mod search;
pub mod server;
pub mod settings;
pub mod skill;
pub mod summary;
pub mod theme;
pub mod tools;
pub mod value;
