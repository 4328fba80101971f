//! One prompt to several models at once. Each works in a copy of the files (`copy`) and writes a branch
//! of its own beside the leaf of the session (`lane`), so that none sees another. Afterwards one of them
//! is taken: its files become those of the working directory (`apply`), the others stay as branches.

mod apply;
mod copy;
mod lane;
mod stamps;

pub use apply::{Applied, ApplyError, apply, changes};
pub use copy::{Copy, CopyError, original};
pub use lane::{Lane, LaneNews, LaneParts, LaneState, LaneStatus};
pub use stamps::Stamps;
