//! The settings in `settings.toml`.
//!
//! Start at [`Settings`], the resolved values; [`SETTINGS`], the table of which each row is a setting; and [`list`], which
//! returns every value with its source.
//!
//! - `table` has the rows, `screen` those of the screen: field, default, parser, checks, schema and documentation come from
//!   them. `row` says what a row is, `kinds` what settings accept, `form` how values are described, `values` has types that
//!   only settings have.
//! - `load`, `project` and `claude` read files with `parse`, and `overrides` the command line; `edit` changes one.
//! - `strict`, `misspelt` and `last_valid` decide what applies while a file cannot be read.
//!
//! An invalid line is reported and skipped; all other lines apply. A safety setting that cannot be read is a fault: the
//! strictest value applies, never the default (`Safety` in `row`), [`Settings::faults`] has the reason, and a session
//! starts only if a person sees it. The settings of a trusted project override the user's, but cannot weaken permissions
//! or change where secrets are sent.
//!
//! The crate does not know sessions or the screen.
//!
//! ```
//! use osier_settings::Settings;
//!
//! let (settings, problems) = Settings::parse("settings.toml".as_ref(), "theme = \"dark\"\nmouse = 3\n");
//! assert_eq!(settings.screen.theme, "dark");
//! assert_eq!(problems.len(), 1);
//! ```
//!
//! # Design
//!
//! - A safety setting never becomes its default by mistake: its row has the strictest value, which applies if the
//!   written one cannot be read.

mod claude;
mod edit;
mod form;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod kinds;
mod last_valid;
mod list;
mod load;
mod misspelt;
mod options;
mod overrides;
#[cfg(test)]
mod page;
mod parse;
mod project;
mod row;
pub mod schema;
mod screen;
mod strict;
mod table;
mod values;

pub use edit::{edit_list, quoted, set, write};
pub use list::{SettingInfo, Source, list, literal, readable};
pub use options::{READING, wants_reading};
pub use overrides::overrides;
pub use table::{Group, SETTINGS, ScreenSettings, Setting, Settings, setting};
pub use values::{
    Bidi, CredentialStore, Density, ExitOutput, FooterPart, Images, LanguageServer, ScreenMode,
    WebSearch,
};

/// Maximum size of a settings file.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

#[cfg(test)]
mod tests;
