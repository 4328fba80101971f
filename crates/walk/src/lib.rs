//! Walks the files of a project: the one walker of searches, `@`, maps, checkpoints and lanes. [`Rules`] say which entries a
//! walk leaves out; [`walk`] lists the others in order, [`visit`] on several threads and in no order.
//!
//! Ignore files belong to the project, so they are not trusted: only regular files of a limited size are read, and no
//! `.gitignore` that is a symbolic link, as in git. A file that is not read is an error of the walk, which continues.
//!
//! A walk never follows symbolic links, and never lists what is in `.git`.
//!
//! - `rules`: the ignore files, from the folder of an entry to the root of the file system
//! - `walk`: the walk in order
//! - `parallel`: the walk on several threads

mod entry;
mod parallel;
mod rules;
mod walk;

#[cfg(test)]
mod tests;

pub use ignore::overrides::{Override, OverrideBuilder};

pub use entry::{Entry, WalkError};
pub use parallel::visit;
pub use rules::{IgnoreFile, Rules};
pub use walk::{Walk, walk};
