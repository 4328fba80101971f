//! Widgets. They hold state and produce rows; their owner interprets input.

pub mod columns;
pub mod diff;
pub mod line_input;
mod number_limits;
pub mod paint;
pub mod select;
pub mod spinner;
pub mod textarea;
