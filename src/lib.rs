//! osier: a full-screen coding agent for the terminal, and the layers it is built of.
//!
//! ```text
//! cli        arguments, mode choice, exit codes
//! modes      tui, print, json, rpc, acp
//! rpc        commands, answers and events for other programs, and a client
//! term       terminal toolkit (knows nothing of agents)
//! coding     tools, sessions, context, settings; `Host` wires them
//! agent      the loop: Op in, Event out
//! llm        one model call: messages, events, providers, catalogue, auth
//! base       text, paths, processes, atomic files, jsonl, ids, clock
//! ```
//!
//! Imports point down. An embedder starts at [`agent`] for the loop alone, or at [`coding`] for the
//! whole coding agent without a screen. Who drives another process starts at [`rpc::Client`].

pub mod agent;
pub mod base;
pub mod cli;
pub mod coding;
pub mod llm;
pub mod modes;
pub mod rpc;
pub mod term;
