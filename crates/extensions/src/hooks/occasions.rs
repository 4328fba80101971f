//! Events outside of a run: a switch of the model, instructions, settings, and questions of MCP servers.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::HookNews;
use super::answer::{Decision, HookAnswer};
use super::session::{SessionHooks, question};
use osier_protocol::HookEvent;

/// A switch of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSwitch {
    pub from: String,
    pub to: String,
    /// The name that the user entered.
    pub requested: Option<String>,
    /// Whether osier switched the model without a choice of the user.
    pub is_automatic: bool,
    /// Tokens of the conversation, which the next request sends.
    pub tokens: u64,
    /// Whether the cache of the previous model is likely to be valid.
    pub is_cached: bool,
    /// Whether the cache is valid for an hour, not for five minutes.
    pub is_long: bool,
    /// US dollars for writing the tokens to the cache of the new model; `None` if it has no price.
    pub cost: Option<f64>,
}

/// The decision of hooks about a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchDecision {
    Proceed,
    /// Ask the user, for this reason.
    Ask(String),
    Deny(String),
}

/// An answer to the question of an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationReply {
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    /// The values of the form.
    pub content: Option<Value>,
}

impl ModelSwitch {
    fn fields(&self) -> Value {
        json!({
            "from_model": self.from,
            "to_model": self.to,
            "requested_model": self.requested,
            "source": if self.is_automatic { "auto" } else { "command" },
            "context_tokens": self.tokens,
            "prompt_cache_warm": self.is_cached,
            "cache_ttl": if self.is_long { "1h" } else { "5m" },
            "estimated_cache_write_usd": self.cost.unwrap_or_default(),
            "pricing": if self.cost.is_some() { "catalog" } else { "default" },
        })
    }
}

impl SessionHooks {
    /// Runs the hooks for instructions in `file` that the session has loaded.
    pub async fn instructed(&self, file: &Path, of_user: bool, cwd: &Path) {
        let reason = "session_start";
        let kind = if of_user { "User" } else { "Project" };
        let fields = json!({"file_path": file, "memory_type": kind, "load_reason": reason});
        self.occur(HookEvent::InstructionsLoaded, reason, fields, cwd)
            .await;
    }

    /// Runs the hooks for a change of the settings in `file`.
    pub async fn configured(&self, file: &Path, cwd: &Path) {
        let source = "user_settings";
        let fields = json!({"source": source, "file_path": file});
        self.occur(HookEvent::ConfigChange, source, fields, cwd)
            .await;
    }

    /// Runs the hooks before the user switches to another model, and returns their decision.
    pub async fn before_switch(&self, switch: &ModelSwitch, cwd: &Path) -> SwitchDecision {
        let (event, fields) = (HookEvent::PreModelSwitch, switch.fields());
        let answer = self.occur(event, &switch.to, fields, cwd).await;
        if answer.interrupted {
            return SwitchDecision::Deny("interrupted while a hook checked it".to_owned());
        }
        if let Some(reason) = answer.stop.or(answer.block) {
            return SwitchDecision::Deny(reason);
        }
        match answer.decision {
            Some((Decision::Allow, _)) | None => SwitchDecision::Proceed,
            Some((decision, reason)) => SwitchDecision::Ask(question(decision, &reason)),
        }
    }

    /// Runs the hooks after a switch to another model.
    pub async fn after_switch(&self, switch: &ModelSwitch, cwd: &Path) {
        let (event, fields) = (HookEvent::PostModelSwitch, switch.fields());
        let answer = self.occur(event, &switch.to, fields, cwd).await;
        for text in answer.context {
            self.tell(HookNews::Context { event, text });
        }
    }

    /// Runs the hooks for a server that asks the user. Returns the answer of a hook, if one
    /// answers. The fields of `request` have the names of MCP.
    pub async fn elicited(
        &self,
        server: &str,
        request: &Value,
        cwd: &Path,
    ) -> Option<ElicitationReply> {
        let event = HookEvent::Elicitation;
        if !self.has(event) {
            return None;
        }
        let fields = named(
            server,
            request,
            &[
                ("message", "message"),
                ("mode", "mode"),
                ("url", "url"),
                ("elicitationId", "elicitation_id"),
                ("requestedSchema", "requested_schema"),
            ],
        );
        let answer = self.occur(event, server, fields, cwd).await;
        reply(answer)
    }

    /// Runs the hooks for the answer `given` of the user to a server. Returns the answer to send.
    pub async fn answered(
        &self,
        server: &str,
        request: &Value,
        given: ElicitationReply,
        cwd: &Path,
    ) -> ElicitationReply {
        let event = HookEvent::ElicitationResult;
        if !self.has(event) {
            return given;
        }
        let kept = [("mode", "mode"), ("elicitationId", "elicitation_id")];
        let mut fields = named(server, request, &kept);
        fields["action"] = json!(given.action);
        if let Some(content) = &given.content {
            fields["content"] = content.clone();
        }
        let answer = self.occur(event, server, fields, cwd).await;
        match reply(answer) {
            Some(ElicitationReply {
                action,
                content: None,
            }) if action == given.action => given,
            Some(changed) => changed,
            None => given,
        }
    }
}

/// The fields of `request` under the names that hooks know.
fn named(server: &str, request: &Value, names: &[(&str, &str)]) -> Value {
    let given = names.iter().filter_map(|(from, to)| {
        let value = request.get(from).filter(|value| !value.is_null())?;
        Some(((*to).to_owned(), value.clone()))
    });
    let server = ("mcp_server_name".to_owned(), json!(server));
    Value::Object(std::iter::once(server).chain(given).collect::<Map<_, _>>())
}

fn reply(answer: HookAnswer) -> Option<ElicitationReply> {
    if answer.stop.is_some() || answer.block.is_some() {
        return Some(ElicitationReply {
            action: "decline".to_owned(),
            content: None,
        });
    }
    let (action, content) = answer.reply?;
    Some(ElicitationReply { action, content })
}
