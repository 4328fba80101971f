//! What screens are made of. Widgets hold state and give rows; what an input means is their owner's
//! business.

pub mod columns;
pub mod diff;
pub mod line_input;
pub mod paint;
pub mod select;
pub mod spinner;
pub mod textarea;
