//! Tests from outside: whole programs, whole screens, real files and processes.

mod layers;
mod tui;
