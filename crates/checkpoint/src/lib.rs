//! How the files of the working directory stood at every node of a session's tree.
//!
//! A *state* is a tree of content-addressed objects in the data directory, like git's and apart from it:
//! the project's own `.git` is never touched, and none is needed. A state is recorded before
//! the first tool of a user turn that may change files, and again when the turn has ended; what commands
//! changed is found by looking. Going back to a state is a plan first: it says what would be made,
//! changed and removed, and which of those a person changed since.
//!
//! What is not covered: ignored files, files above [`MAX_FILE`] bytes, unreadable ones, empty
//! directories, anything outside the working directory, and trees of more than [`MAX_FILES`] files,
//! where nothing is recorded at all. Each is said, none is touched.

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
