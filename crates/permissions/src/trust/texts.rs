//! Reads texts of code just far enough to see what they load and run. Knows no program and no file of a project.

pub(in crate::trust) mod code;
pub(in crate::trust) mod node;
pub(in crate::trust) mod python;
pub(in crate::trust) mod shell;
