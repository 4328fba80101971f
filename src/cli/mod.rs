//! The command line: parses the arguments, resolves the configuration, runs a mode and returns the exit
//! code.

mod aliases;
mod args;
mod attach;
mod codex;
mod commands;
mod completion;
mod dispatch;
mod exit;
#[cfg(feature = "transfer")]
mod html_theme;
mod input;
#[cfg(feature = "proxy")]
mod llm_proxy;
mod mcp_serve;
mod parse_error;
mod run_config;
mod run_mode;
mod runtime;
mod script_args;
#[cfg(test)]
mod sdk_option_tests;
mod serve;
mod token_argument;

pub use dispatch::run;
