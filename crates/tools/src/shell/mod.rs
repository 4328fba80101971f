//! The tool `bash`.

pub(crate) mod bash;
pub(crate) mod command_files;
pub(crate) mod prompt_detection;
