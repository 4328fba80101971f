//! Commands of a shell: how one runs to its end or continues as a background job, and where its output goes.

mod editor_terminal;
mod foreground;
pub(crate) mod full_screen;
mod in_place;
pub(crate) mod jobs;
pub(crate) mod live_output;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod output_directory;
mod output_file;
pub(crate) mod prompt_detection;
mod recorder;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod truncation;
