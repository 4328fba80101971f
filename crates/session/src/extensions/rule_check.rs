//! The check of the deny rules in the settings, for `osier config check` and `osier doctor`.

use osier_permissions::Rule;

use super::mcp;
use crate::safety::deny_rules::advice;
use crate::safety::permissions::PermissionState;
use crate::setup::SessionSetup;

/// The deny rules of the settings that are only advice, and those of servers that are not configured, as sentences.
pub async fn check_deny_rules(setup: &SessionSetup) -> Vec<String> {
    let sandbox = PermissionState::sandbox_of(setup);
    // Without a backend, commands do not run in the sandbox at all.
    let _ = sandbox.ready().await;
    let servers = mcp::names_of_servers(setup);
    let mut found = Vec::new();
    for text in &setup.settings.deny {
        let Some(rule) = Rule::parse(text) else {
            continue;
        };
        if let Some(advice) = advice(&rule, &sandbox, &setup.cwd) {
            found.push(format!("the deny rule `{text}`: {advice}"));
        }
        if rule.is_of_other_server(&servers) {
            found.push(format!(
                "the deny rule `{text}` is about an MCP server that is not configured"
            ));
        }
    }
    found
}
