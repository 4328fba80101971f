//! The modes of the program without a screen.

pub mod json;
pub mod print;
pub mod rpc;
