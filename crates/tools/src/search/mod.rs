//! Tools that search the project: `grep`, `find`, `ls` and `map`, and the paths that `@` completes.

pub mod completion;
pub(crate) mod find;
pub(crate) mod grep;
pub(crate) mod grep_file;
pub(crate) mod listing;
pub(crate) mod ls;
pub(crate) mod map;
pub(crate) mod ordered_jobs;
pub(crate) mod walk;
