//! Checkpoints: the state of the project's files at every entry of a session's tree.
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::fs;
//!
//! use osier_checkpoint::CheckpointStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (data, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let files = CheckpointStore::new(data.path(), project.path());
//! let note = project.path().join("note.txt");
//! fs::write(&note, "first")?;
//! let first = files.capture()?.id;
//! fs::write(&note, "second version")?;
//!
//! let plan = files.plan(first, None, &BTreeSet::new())?;
//! files.apply(&plan, false, None)?.finish();
//! assert_eq!(fs::read_to_string(&note)?, "first");
//! # Ok(())
//! # }
//! ```
//!
//! - [`CheckpointStore`] records, compares and restores the states of one directory.
//! - [`Checkpointer`] is the interceptor that records states during a session.
//! - [`Plan`] has the changes that restoring a state makes.
//! - [`Applied`] and [`Interrupted`] are changes that were carried out, and that a kill interrupted.
//! - [`prune`] removes states that no session needs.
//! - [`LineCounts`] has the number of changed lines of each file.
//! - [`working_tree`] compares the files with the checked-out commit.
//!
//! A *state* is a tree of content-addressed objects in the data directory, like git's, but separate: the project's
//! `.git` is never changed, and is not required. A state is recorded before the first tool of a user turn that can
//! change files, and again at the end of the turn; a scan finds the changes of commands. Restoring starts with a
//! plan: the files to create, change and remove, and those that were changed outside of osier since. A journal names the
//! change while it is carried out, so that the next process finishes it after a kill.
//!
//! Not covered: ignored files, files larger than [`MAX_FILE`] bytes, unreadable files, empty directories and
//! everything outside of the working directory. A tree of more than [`MAX_FILES`] files is not recorded at all.
//! osier reports each of these, and changes none of them.
//!
//! The crate does not depend on settings or the screen.
//!
//! # Design
//!
//! - States are content-addressed trees in the data directory. The interceptor of the session records them, and
//!   `checkpoint` entries of the session name them.
//! - Files change for the user in one way: restores, reverted hunks and lanes are plans, whose journal is written
//!   first. Each step can be repeated, so a kill leaves no half of a change.

mod adopt;
mod cache;
mod error;
mod hunk;
mod journal;
mod line_counts;
mod lock_wait;
mod objects;
mod path_names;
mod plan;
mod prune;
mod recorder;
mod restore;
mod scan;
mod state;
mod step;
mod store;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a project of the test's own, with real git"
)]
mod tests;
pub mod working_tree;

pub use error::CheckpointError;
pub use hunk::hunks;
pub use line_counts::LineCounts;
pub use lock_wait::{LockWait, Notify};
pub use osier_base::fault;
pub use plan::Plan;
pub use prune::{PruneError, PruneOptions, Pruned, prune, prune_when_idle};
pub use recorder::{Checkpoint, Checkpointer, Moment};
pub use restore::{Applied, Interrupted, Restored};
pub use scan::{MAX_FILE, MAX_FILES};
pub use state::StateId;
pub use store::{Captured, CheckpointStore};
