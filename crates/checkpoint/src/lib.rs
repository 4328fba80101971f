//! Checkpoints: the state of the project's files at every entry of a session's tree.
//!
//! Start at [`CheckpointStore`], which stores states; [`Checkpointer`], the interceptor that records them; and
//! [`Plan`], the changes that restoring a state makes.
//!
//! A *state* is a tree of content-addressed objects in the data directory, like git's, but separate: the
//! project's `.git` is never changed, and is not required. A state is recorded before the first tool of a
//! user turn that can change files, and again at the end of the turn; a scan finds the changes of commands.
//! Restoring starts with a plan: the files to create, change and remove, and those that were changed outside
//! of osier since.
//!
//! Not covered: ignored files, files larger than [`MAX_FILE`] bytes, unreadable files, empty directories and
//! everything outside of the working directory. A tree of more than [`MAX_FILES`] files is not recorded at
//! all. osier reports each of these, and changes none of them.
//!
//! The crate does not know settings or the screen.

mod cache;
mod hunk;
mod objects;
mod plan;
mod prune;
mod recorder;
mod restore;
mod scan;
mod state;
mod store;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a project of the test's own, with real git"
)]
mod tests;
pub mod working_tree;

pub use hunk::hunks;
pub use plan::{ChangeKind, FileChange, Plan};
pub use prune::{PruneError, PruneOptions, Pruned, prune};
pub use recorder::{Checkpoint, Checkpointer, Moment, Notify};
pub use restore::{Restored, Unrestored};
pub use scan::{MAX_FILE, MAX_FILES};
pub use state::StateId;
pub use store::{Captured, CheckpointError, CheckpointStore};
