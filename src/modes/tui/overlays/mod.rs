//! Layers above the main screen. Most are pickers: a query, a list, and what taking an item does.

pub mod account;
pub mod context;
pub mod fan;
pub mod help;
pub mod history;
pub mod jobs;
pub mod login;
pub mod model;
pub mod palette;
pub mod picker;
pub mod restore;
pub mod search;
pub mod summary;
pub mod tools;
