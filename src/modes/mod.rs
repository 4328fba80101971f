//! The modes without a screen that belong to the program itself.

pub mod json;
pub mod print;
pub mod rpc;
