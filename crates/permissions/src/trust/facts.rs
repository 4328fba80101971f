//! Facts about programs, names of settings and places of files, as tables.

pub(in crate::trust) mod places;
pub(in crate::trust) mod programs;
pub(in crate::trust) mod settings;
