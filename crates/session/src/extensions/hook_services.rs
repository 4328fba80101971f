//! The parts of a session that hooks without a program use, and the hooks for questions of MCP servers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::sampling::SessionSampler;
use super::verifier;
use crate::safety::tool_policy::ToolPolicy;
use osier_base::process::is_withheld;
use osier_extensions::hooks::{ElicitationReply, HookQuestion, HookServices, SessionHooks};
use osier_llm::HttpOptions;
use osier_llm::http::{PostAnswer, post_json};
use osier_mcp::{ElicitationAnswer, ElicitationRules, Mcp};
use osier_protocol::JobInfo;
use osier_tools::Workspace;

/// Bytes of the body of an answer.
const BODY: usize = 8 * 1024 * 1024;

/// The services of one session.
#[derive(Debug)]
pub(crate) struct SessionServices {
    pub http: HttpOptions,
    pub environment: Arc<BTreeMap<String, String>>,
    pub sampler: Arc<SessionSampler>,
    pub mcp: Mcp,
    pub workspace: Arc<Workspace>,
    /// The policy for agents of hooks.
    pub policy: ToolPolicy,
}

#[async_trait]
impl HookServices for SessionServices {
    fn variable(&self, name: &str, of_project: bool) -> Result<Option<String>, String> {
        if of_project && is_withheld(name) {
            return Err(format!(
                "`{name}` holds a key; a hook of a project gets it if `pass_environment` in your own settings names it"
            ));
        }
        Ok(self.environment.get(name).cloned())
    }

    async fn post(
        &self,
        url: &str,
        headers: Vec<(String, String)>,
        json: Vec<u8>,
    ) -> Result<PostAnswer, String> {
        post_json(self.http.clone(), url, &headers, json, BODY).await
    }

    async fn ask(&self, question: HookQuestion) -> Result<String, String> {
        self.sampler.ask(question).await
    }

    async fn verify(&self, question: HookQuestion) -> Result<String, String> {
        verifier::run((&self.sampler, &self.policy, &self.workspace), question).await
    }

    async fn call_tool(&self, server: &str, tool: &str, input: Value) -> Result<String, String> {
        self.mcp.call(server, tool, input).await
    }

    fn folders(&self) -> Vec<PathBuf> {
        let roots = self.workspace.roots().into_iter();
        roots.map(Path::to_owned).collect()
    }

    fn background_jobs(&self) -> Vec<JobInfo> {
        let jobs = self.workspace.background_jobs().into_iter();
        jobs.filter(|job| job.running).collect()
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
