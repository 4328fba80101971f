//! Finds the block of rows that moved between two frames, so that the terminal can scroll it
//! instead of receiving every cell again.
//!
//! Row hashes only propose distances. Gains and losses are counted on the real cells, and the
//! previous buffer is then moved exactly as the terminal moves its rows. A wrong proposal costs
//! bytes but never produces a wrong screen. `inset` finds moves inside a box, such as the list of
//! an overlay.

mod detector;
mod inset;

pub(crate) use detector::{Screen, Scroll, ScrollDetector, apply, apply_to_hashes};
