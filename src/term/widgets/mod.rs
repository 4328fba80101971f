//! Widgets: state that lays itself out as rows. None knows colours, channels or the application; the
//! caller paints what they return.

pub mod textarea;
