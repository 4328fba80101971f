//! Permissions: which tool calls run, which require a question, and which are denied; and trust in the files
//! of a project.
//!
//! Start at [`Permissions`], the mode and the rules of a session; [`Rule`], a tool and a pattern such as
//! `bash(git *)`; and [`Gate`], the interceptor that checks every call and asks the user. [`trust`] decides
//! whether a project can run code through its files.
//!
//! - `policy` decides about a call, `gate` asks the user, `rule` and `wildcard` compare, `saved_rules` stores what was granted.
//! - `aspects` says what a call does; for commands from [`shell`], which reads them, `known`, the table of forms of which all
//!   effects are known, `programs`, the table of programs that run others, `equivalents`, the commands that a command stands
//!   for, and `repository`, the configuration that git would obey.
//! - `files`, `sensitive` and `project_files` are about paths.
//!
//! A deny rule overrides everything: other rules, granted permissions and the mode. A call that cannot be
//! fully parsed requires a question. Plan mode is read-only, whatever the rules say.
//!
//! The crate does not know how questions are displayed, where settings come from, or how the sandbox works.
//!
//! ```
//! use osier_permissions::{Permissions, RuleLists, Verdict};
//! use osier_protocol::PermissionMode;
//! use serde_json::json;
//!
//! let allow = ["bash(git *)".to_owned()];
//! let deny = ["bash(git push *)".to_owned()];
//! let rules = RuleLists { allow: &allow, deny: &deny, ..RuleLists::default() };
//! let store = "/nonexistent/permissions.json".into();
//! let permissions = Permissions::new("/work".as_ref(), store, PermissionMode::Ask, rules);
//!
//! let decide = |command| permissions.decide("bash", &json!({"command": command}), None, false);
//! assert_eq!(decide("git status"), Verdict::Allow);
//! assert!(matches!(decide("git status && git push origin"), Verdict::Deny(_)));
//! assert!(matches!(decide("make"), Verdict::Ask { .. }));
//! ```
//!
//! # Design
//!
//! - A command line is allowed only if it is understood: the grammar of `shell` is strict, and a
//!   line that it does not read completely needs permission. Options are known good, not known bad:
//!   a list of bad ones can never be complete. A model may judge instead of the user, but only
//!   where nothing else decides, and without the conversation.
//! - Files of a project that run code are read only where `trust` allows it.

mod advice;
mod aspects;
mod denied;
mod equivalents;
mod files;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod gate;
mod known;
mod policy;
mod programs;
mod project_files;
mod repository;
mod review;
mod rule;
mod saved_rules;
mod sensitive;
pub mod shell;
mod tool_names;
pub mod trust;
mod wildcard;

pub use advice::{Advised, Advisor, Hints};
pub use denied::DenyRules;
pub use files::denies_reading;
pub use gate::Gate;
pub use policy::{Hint, Permissions, RuleLists, Verdict};
pub use review::{ReviewRequest, Reviewer};
pub use rule::Rule;
pub use tool_names::ServerTools;
