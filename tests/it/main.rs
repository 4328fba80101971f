//! Tests from outside: whole programs, whole screens, real files and processes.

#![allow(
    clippy::expect_used,
    clippy::format_collect,
    clippy::match_wild_err_arm,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, and say on standard error why a test was skipped"
)]

mod acp;
mod agent;
mod auth;
mod book;
mod budget;
mod caching;
mod checkpoints;
mod clouds;
mod compaction;
mod context;
mod crowd;
mod discovery;
mod examples;
#[cfg(feature = "transfer")]
mod exchange;
mod faults;
mod hooks;
mod json;
mod language;
mod layers;
mod lost_ground;
mod mcp;
mod mcp_conformance;
mod peer;
mod permissions;
mod plugin_examples;
mod plugins;
mod print;
mod program;
mod proxy;
mod questions;
mod real_model;
mod refresh;
mod rpc;
#[cfg(target_os = "linux")]
mod sandbox;
mod searching;
mod serve;
mod sessions;
mod shells;
mod subagents;
mod support;
mod tls;
mod tool_sources;
mod tools_loop;
mod tree;
mod tui;
mod turns;
mod vim;
mod web;
mod wire;
mod wires;
