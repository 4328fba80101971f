//! Attacks that must fail: tables of what was tried, each played against the real program.

mod environment;
mod terminal;
