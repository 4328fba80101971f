//! Integration tests: complete programs, complete screens, real files and processes.

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
mod acp_registry;
mod agent;
mod attacks;
mod auth;
mod auto_review;
mod bounded_reads;
mod budget;
mod call_repair;
mod checkpoints;
mod circles;
mod cloud_providers;
mod code_intelligence;
mod code_servers;
mod compaction;
mod completions;
mod concurrency;
mod config_schema;
mod context;
mod dialects;
mod discovery;
mod docs;
mod examples;
mod exit_limit;
mod faults;
mod harbor;
mod hooks;
mod http_calls;
mod interoperability;
mod json;
mod language;
mod lasting_context;
mod layers;
mod llm_proxy;
mod loop_guard;
mod map;
mod mcp;
mod mcp_conformance;
mod media;
mod model_refresh;
mod no_model;
mod patches;
mod pdf;
mod peer_files;
mod permissions;
mod plan_mode;
mod plugin_examples;
mod plugins;
mod prepared_calls;
mod preserved_thinking;
mod print;
mod program;
mod promises;
mod prompt_cache;
mod questions;
mod real_model;
mod reminders;
mod rpc;
mod safety_settings;
#[cfg(target_os = "linux")]
mod sandbox;
mod scripts;
mod search_tools;
mod serve;
mod session_budget;
mod sessions;
mod slash_in_scripts;
mod slash_rule;
mod subagent_control;
mod subagents;
mod support;
mod terminal_programs;
mod terminal_sessions;
mod tls;
mod tool_sources;
mod tool_tour;
mod tools_loop;
#[cfg(feature = "transfer")]
mod transfer;
mod tree;
mod tui;
mod turns;
mod unattended;
mod vim;
mod watchers;
mod web;
mod web_fetch;
mod web_search;
mod wire_formats;
mod write_errors;
