//! Lists and questions above the conversation.

pub(crate) mod about;
pub(crate) mod accounts;
pub(crate) mod appearance;
pub(crate) mod guide;
pub(crate) mod help;
pub(crate) mod hooks;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod permissions;
pub(crate) mod project_map;
pub(crate) mod questions;
pub(crate) mod settings;
pub(crate) mod skills;
pub(crate) mod tools;

pub(crate) use appearance::{Appearance, ThemeChoice};
pub(crate) use mcp::Servers;
pub(crate) use models::{Models, switch_costs};
pub(crate) use permissions::PermissionsDialog;
pub(crate) use questions::Questions;
pub(crate) use settings::SettingsEditor;
pub(crate) use tools::Tools;
