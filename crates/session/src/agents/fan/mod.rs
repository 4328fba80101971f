//! Running several models side by side (`/fan`). Each model works in a copy of the files (`copy`) and on its own branch
//! of the session (`lane`). Afterwards one lane can be applied: its files replace those of the working directory
//! (`apply`). The other branches stay in the tree.

mod apply;
mod copy;
mod lane;
mod run;
mod stamps;

pub(crate) use apply::{ApplyError, Applying, LanePlan, changes, plan};
pub(crate) use copy::{Copy, LastingWorktree};
pub(crate) use lane::{Lane, LaneNews, LaneParts};
pub(crate) use run::{Fan, FanOutcome, FanState, LaneTarget, lane_models};
pub(crate) use stamps::Stamps;
