//! The parts of a session that hooks without a program use, and the hooks for questions of MCP servers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::sampling::SessionSampler;
use osier_extensions::hooks::{ElicitationReply, HookQuestion, HookServices, SessionHooks};
use osier_llm::HttpOptions;
use osier_llm::http::post_json;
use osier_mcp::{ElicitationAnswer, ElicitationRules, Mcp};

/// Bytes of the body of an answer.
const BODY: usize = 8 * 1024 * 1024;

/// The services of one session.
#[derive(Debug)]
pub(crate) struct SessionServices {
    pub http: HttpOptions,
    pub environment: Arc<BTreeMap<String, String>>,
    pub sampler: Arc<SessionSampler>,
    pub mcp: Mcp,
}

#[async_trait]
impl HookServices for SessionServices {
    fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).cloned()
    }

    async fn post(
        &self,
        url: &str,
        headers: Vec<(String, String)>,
        json: Vec<u8>,
    ) -> Result<(u16, String), String> {
        post_json(self.http.clone(), url, &headers, json, BODY).await
    }

    async fn ask(&self, question: HookQuestion) -> Result<String, String> {
        self.sampler.ask(question).await
    }

    async fn call_tool(&self, server: &str, tool: &str, input: Value) -> Result<String, String> {
        self.mcp.call(server, tool, input).await
    }
}

/// Runs the hooks for questions of MCP servers.
#[derive(Debug)]
pub(crate) struct QuestionHooks {
    pub hooks: Arc<SessionHooks>,
    pub cwd: PathBuf,
}

#[async_trait]
impl ElicitationRules for QuestionHooks {
    async fn answer(&self, server: &str, question: &Value) -> Option<ElicitationAnswer> {
        let reply = self.hooks.elicited(server, question, &self.cwd).await?;
        let ElicitationReply { action, content } = reply;
        Some(ElicitationAnswer { action, content })
    }

    async fn review(
        &self,
        server: &str,
        question: &Value,
        answer: ElicitationAnswer,
    ) -> ElicitationAnswer {
        let ElicitationAnswer { action, content } = answer;
        let given = ElicitationReply { action, content };
        let reply = self
            .hooks
            .answered(server, question, given, &self.cwd)
            .await;
        let ElicitationReply { action, content } = reply;
        ElicitationAnswer { action, content }
    }
}
