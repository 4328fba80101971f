//! Widgets. They hold state and produce rows; their owner interprets input.

pub mod columns;
pub mod diff;
pub mod line_input;
pub mod paint;
pub mod select;
pub mod spinner;
pub mod textarea;
