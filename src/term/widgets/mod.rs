//! Widgets: state that lays itself out as rows. None knows colours, channels or the application; the
//! caller paints what they return.

pub mod diff;
pub mod line_input;
pub mod paint;
pub mod select;
pub mod spinner;
pub mod textarea;
