//! Attacks that must fail: tables of what was tried, each played against the real program. None leaves a trace.

mod environment;
mod files;
mod git;
mod git_variables;
mod known_keys;
mod programs;
mod terminal;
mod trust;
