//! Commands of a shell: how one runs to its end or continues as a background job, and where its output goes.

pub(crate) mod editor_access;
pub(crate) mod foreground;
pub(crate) mod jobs;
pub(crate) mod live_output;
pub(crate) mod output;
pub(crate) mod output_directory;
pub(crate) mod output_file;
pub(crate) mod run;
pub(crate) mod truncation;
