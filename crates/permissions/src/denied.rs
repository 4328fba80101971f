//! Deny rules of one agent, next to those of the session.

use std::path::Path;

use async_trait::async_trait;
use osier_agent::{CheckedCall, Interceptor, ToolDecision};
use osier_protocol::PermissionMode;
use osier_tools::BASH;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Permissions, RuleLists, Verdict};

/// Refuses the calls that its rules deny, and leaves all others to the gate.
#[derive(Debug)]
pub struct DenyRules(Permissions);

impl DenyRules {
    pub fn new(cwd: &Path, deny: &[String]) -> Self {
        let rules = RuleLists {
            deny,
            ..RuleLists::default()
        };
        // No rule is saved for one agent.
        let store = "/nonexistent/permissions.json".into();
        Self(Permissions::new(cwd, store, PermissionMode::Yolo, rules))
    }
}

#[async_trait]
impl Interceptor for DenyRules {
    async fn before_tool(&self, call: &CheckedCall, _cancel: &CancellationToken) -> ToolDecision {
        let typed = call.prepared.shell_input.as_ref();
        let typed = typed.and_then(|input| input.command.as_ref());
        let verdict = if let Some(command) = typed {
            let arguments = json!({ "command": command });
            self.0.decide(BASH, &arguments, None, false)
        } else {
            let files = self.0.for_rules(call.files(), self.0.cwd());
            let (name, arguments) = (&call.call.name, &call.call.arguments);
            self.0.decide_targets(name, arguments, &files, None, false)
        };
        match verdict {
            Verdict::Deny(reason) => ToolDecision::Deny { reason },
            _ => ToolDecision::Allow,
        }
    }
}
