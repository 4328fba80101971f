//! The last line: where, which model, how full, what it cost. Settings choose the parts and their order.

mod row;

use std::sync::Arc;

use crate::status::{Presence, cache_countdown::CacheCountdown};
use osier_agent::{AccountingEntry, AgentMessage, AttachmentKind};
use osier_base::text;
use osier_llm::{AssistantBlock, ContentBlock, ThinkingLevel, Usage};
use osier_protocol::budget::{BudgetState, WARNING_SHARE};
use osier_protocol::{
    CodeServerInfo, ConnectionState, DiagnosticCounts, LaneState, ModelInfo, PermissionMode, Role,
    SandboxMode,
};
use osier_settings::{FooterPart, ScreenSettings};
use osier_term::{Face, Span, Token};

/// Most columns of plugin texts.
const PLUGIN_COLUMNS: usize = 30;

/// Parts of the conversation that not every model accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    pub thinking: bool,
    pub images: bool,
}

/// The data of the footer. Owned by the app, changed by events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Footer {
    /// Working directory with `~` for the home.
    pub cwd: String,
    pub branch: Option<String>,
    pub session_name: Option<String>,
    /// The session is read-only.
    pub read_only: bool,
    pub model: Option<ModelInfo>,
    /// The model that is shown until the session reports one.
    pub model_hint: String,
    pub level: ThinkingLevel,
    /// The role that is on while the level is this one.
    pub role: Option<(Role, ThinkingLevel)>,
    pub permissions: PermissionMode,
    /// Sum over the session.
    pub total: Usage,
    /// The budget of the session, if it has one.
    pub budget: BudgetState,
    /// Tokens of the newest answer: how full the window is.
    pub context_tokens: u64,
    pub cache: CacheCountdown,
    /// Subagents that have not ended.
    pub subagents: usize,
    /// Background jobs that run.
    pub jobs: usize,
    /// Terminals that run.
    pub terminals: usize,
    /// The language servers, and what they report.
    pub code_servers: Vec<CodeServerInfo>,
    /// Texts of plugins.
    pub plugins: String,
    /// The tabs, when there are several: which is shown, and the state of the others.
    pub sessions: Vec<Span>,
    /// The connection to a remote session.
    pub connection: Option<(ConnectionState, String)>,
    /// The other clients in the session.
    pub presence: Presence,
    /// The sandbox of commands.
    pub sandbox: SandboxMode,
    pub settings: Arc<ScreenSettings>,
    pub carried: Carried,
}

impl Carried {
    fn see(&mut self, message: &AgentMessage) {
        let is_image = |block: &ContentBlock| matches!(block, ContentBlock::Image { .. });
        match message {
            AgentMessage::User(prompt) => {
                let mut files = prompt.attachments.iter();
                self.images |= files.any(|file| file.kind == AttachmentKind::Image);
            }
            AgentMessage::ToolResult(result) => {
                self.images |= result.result.content.iter().any(is_image);
            }
            AgentMessage::Assistant(answer) => {
                let mut blocks = answer.content.iter();
                self.thinking |=
                    blocks.any(|block| matches!(block, AssistantBlock::Thinking { .. }));
            }
            _ => {}
        }
    }
}

/// How a part is drawn; no spans when it is empty.
type Show = fn(&Footer) -> Vec<Span>;

/// How each part is shown, and how long it stays where there is little room.
const SHOWN: &[(FooterPart, Show, u8)] = &[
    (FooterPart::Sessions, Footer::sessions, 9),
    (FooterPart::Cwd, Footer::cwd, 3),
    (FooterPart::Branch, Footer::branch, 2),
    (FooterPart::Session, Footer::session, 1),
    (FooterPart::Connection, Footer::connection, 9),
    (FooterPart::Plugins, Footer::plugins, 0),
    (FooterPart::Jobs, Footer::jobs, 5),
    (FooterPart::Diagnostics, Footer::diagnostics, 4),
    (FooterPart::Permissions, Footer::permissions, 8),
    (FooterPart::Sandbox, Footer::sandbox, 4),
    (FooterPart::Tokens, Footer::tokens, 1),
    (FooterPart::Cost, Footer::cost, 3),
    (FooterPart::Context, Footer::context, 7),
    (FooterPart::Cache, Footer::cache, 0),
    (FooterPart::Model, Footer::model, 10),
    (FooterPart::Thinking, Footer::thinking, 6),
];

impl Footer {
    /// Counts a model call of the conversation, a subagent, a compaction or a review.
    pub(crate) fn count(&mut self, entry: &AccountingEntry) {
        if let AccountingEntry::Llm { usage, .. } = entry {
            self.total += *usage;
        }
    }

    /// Counts the usage of models that answered side by side.
    pub(crate) fn add_lanes(&mut self, lanes: &[LaneState]) {
        for lane in lanes {
            self.total += lane.usage;
        }
    }

    /// The conversation continues on another branch: its messages follow.
    pub(crate) fn begin_branch(&mut self) {
        self.context_tokens = 0;
        self.carried = Carried::default();
    }

    /// Shows how full the context is, from the usage of an answer.
    pub(crate) fn show_tokens(&mut self, message: &AgentMessage) {
        self.carried.see(message);
        if let AgentMessage::Assistant(message) = message
            && message.usage.total_tokens() > 0
        {
            self.context_tokens = message.usage.total_tokens();
            self.cache.answered(message);
        }
    }

    /// Whether the session runs on a server: it continues without this terminal.
    pub(crate) fn is_remote(&self) -> bool {
        self.connection.is_some()
    }

    fn sessions(&self) -> Vec<Span> {
        self.sessions.clone()
    }

    fn cwd(&self) -> Vec<Span> {
        if self.cwd.is_empty() {
            return Vec::new();
        }
        // The directory is usually the first part: with space for the other parts, a frame allocates once.
        let mut spans = Vec::with_capacity(8);
        spans.push(Span::new(self.cwd.clone(), Token::Footer));
        spans
    }

    fn branch(&self) -> Vec<Span> {
        let branch = self.branch.as_ref();
        branch.map_or_else(Vec::new, |name| {
            spans_of(format!("({name})"), Token::Footer)
        })
    }

    fn session(&self) -> Vec<Span> {
        spans_of(self.session_name.clone().unwrap_or_default(), Token::Footer)
    }

    fn connection(&self) -> Vec<Span> {
        let Some((state, server)) = &self.connection else {
            return Vec::new();
        };
        let server = text::truncate(server, PLUGIN_COLUMNS);
        match state {
            ConnectionState::Connected => {
                let mut spans = spans_of(format!("on {server}"), Token::Footer);
                let clients = self.presence.summary();
                if !clients.is_empty() {
                    let is_other = self.presence.writer().is_some();
                    let token = if is_other {
                        Token::Working
                    } else {
                        Token::Footer
                    };
                    spans.push(self.gap("  "));
                    spans.push(Span::new(clients, token));
                }
                spans
            }
            ConnectionState::Connecting => {
                spans_of(format!("connecting to {server}"), Token::Working)
            }
            ConnectionState::Lost | ConnectionState::Stopped => {
                spans_of(format!("disconnected: {server}"), Token::Warning)
            }
            ConnectionState::Failed | ConnectionState::Closed => {
                spans_of(format!("not connected: {server}"), Token::Error)
            }
        }
    }

    fn plugins(&self) -> Vec<Span> {
        let label = text::truncate(&self.plugins, PLUGIN_COLUMNS).into_owned();
        spans_of(label, Token::Footer)
    }

    fn jobs(&self) -> Vec<Span> {
        let jobs = || text::counted(self.jobs, "job", "jobs");
        let terminals = || text::counted(self.terminals, "terminal", "terminals");
        match (self.jobs, self.terminals) {
            (0, 0) => Vec::new(),
            (_, 0) => spans_of(jobs(), Token::Working),
            (0, _) => spans_of(terminals(), Token::Working),
            _ => spans_of(format!("{}, {}", jobs(), terminals()), Token::Working),
        }
    }

    fn diagnostics(&self) -> Vec<Span> {
        let counts = DiagnosticCounts::of(&self.code_servers);
        let errors = || text::counted(counts.errors, "error", "errors");
        let warnings = || text::counted(counts.warnings, "warning", "warnings");
        match (counts.errors, counts.warnings) {
            (0, 0) => Vec::new(),
            (0, _) => spans_of(warnings(), Token::Warning),
            (_, 0) => spans_of(errors(), Token::Error),
            _ => vec![
                Span::new(errors(), Token::Error),
                self.gap(" "),
                Span::new(warnings(), Token::Warning),
            ],
        }
    }

    /// Separates two parts.
    fn gap(&self, blanks: &'static str) -> Span {
        let is_linear = self.settings.screen_reader;
        Span::new(if is_linear { ", " } else { blanks }, Token::Footer)
    }

    /// The permission mode as a chip.
    fn permissions(&self) -> Vec<Span> {
        let chip = if self.settings.screen_reader {
            Span::new(format!("mode {}", self.mode()), Token::Footer)
        } else {
            let token = match self.permissions {
                PermissionMode::Yolo => Token::Warning,
                _ => Token::Footer,
            };
            Span::new(self.chip(), Face::from(token).on(Token::CodeBlock))
        };
        if self.read_only {
            return vec![Span::new("read-only", Token::Warning), self.gap("  "), chip];
        }
        vec![chip]
    }

    /// The permission mode with a column around it. Every frame has it, so it is not built again.
    fn chip(&self) -> &'static str {
        match self.permissions {
            PermissionMode::Auto => " auto review ",
            PermissionMode::Ask => " ask ",
            PermissionMode::Plan => " plan ",
            PermissionMode::Yolo => " yolo ",
        }
    }

    /// The name of the permission mode.
    pub(crate) fn mode(&self) -> &'static str {
        match self.permissions {
            PermissionMode::Auto => "auto review",
            mode => mode.name(),
        }
    }

    /// The sandbox mode; nothing in plan mode, which confines commands itself.
    fn sandbox(&self) -> Vec<Span> {
        if self.sandbox == SandboxMode::Off || self.permissions == PermissionMode::Plan {
            return Vec::new();
        }
        spans_of(format!("sandbox {}", self.sandbox.name()), Token::Footer)
    }

    fn tokens(&self) -> Vec<Span> {
        let usage = self.total;
        if usage.total_tokens() == 0 {
            return Vec::new();
        }
        let signs = if self.settings.screen_reader {
            ["in ", ", out ", ", cached "]
        } else {
            ["↑", " ↓", " ↺"]
        };
        let input = tokens(usage.input + usage.cache_write);
        let mut counts = format!("{}{input}{}{}", signs[0], signs[1], tokens(usage.output));
        if usage.cache_read > 0 {
            counts = format!("{counts}{}{}", signs[2], tokens(usage.cache_read));
        }
        spans_of(counts, Token::Footer)
    }

    /// The countdown of the cache; nothing with a screen reader, which would read every change.
    fn cache(&self) -> Vec<Span> {
        let label = if self.settings.screen_reader {
            String::new()
        } else {
            self.cache.summary()
        };
        spans_of(label, Token::Footer)
    }

    /// The cost of the session, or what was used of its budget.
    fn cost(&self) -> Vec<Span> {
        let usage = self.total;
        let mut parts = Vec::new();
        let budget = self.budget.summary();
        if !budget.is_empty() {
            let token = match self.budget.share() {
                share if share >= 1.0 => Token::Error,
                share if share >= WARNING_SHARE => Token::Warning,
                _ => Token::Footer,
            };
            return spans_of(budget, token);
        }
        if usage.total_tokens() > 0 && usage.cost.total > 0.0 {
            parts.push(format!("${:.3}", usage.cost.total));
        }
        if usage.total_tokens() > 0 && usage.subscription {
            parts.push("sub".to_owned());
        }
        spans_of(parts.join(" "), Token::Footer)
    }

    fn context(&self) -> Vec<Span> {
        let window = self.model.as_ref().map_or(0, |model| model.context_window);
        if self.context_tokens == 0 || window == 0 {
            return Vec::new();
        }
        let percent = self.context_tokens * 100 / window;
        let token = match percent {
            0..70 => Token::Footer,
            70..90 => Token::Warning,
            _ => Token::Error,
        };
        spans_of(format!("{percent}% of {}", tokens(window)), token)
    }

    fn model(&self) -> Vec<Span> {
        let Some(model) = &self.model else {
            return spans_of(text::single_line(&self.model_hint), Token::FooterAccent);
        };
        let role = self.role.filter(|(_, level)| *level == self.level);
        let mut spans = role.map_or_else(Vec::new, |(role, _)| {
            spans_of(format!("{} ", role.name()), Token::Footer)
        });
        let (text, token) = match model.provider.as_str() {
            "demo" => ("scripted demo".to_owned(), Token::Warning),
            "none" => ("no model".to_owned(), Token::Warning),
            _ => (text::single_line(&model.reference()), Token::FooterAccent),
        };
        spans.push(Span::new(text, token));
        spans
    }

    fn thinking(&self) -> Vec<Span> {
        if self.model.is_none() || self.level == ThinkingLevel::Off {
            return Vec::new();
        }
        spans_of(self.level.name().to_owned(), Token::FooterAccent)
    }
}

/// One span, or none for an empty text.
fn spans_of(label: String, token: Token) -> Vec<Span> {
    if label.is_empty() {
        return Vec::new();
    }
    vec![Span::new(label, token)]
}

/// `999`, `1.2k`, `12k`, `1.2M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        for (count, shown) in [
            (999, "999"),
            (1_250, "1.2k"),
            (12_500, "12k"),
            (200_000, "200k"),
            (1_250_000, "1.2M"),
        ] {
            assert_eq!(tokens(count), shown);
        }
    }

    #[test]
    fn a_lost_connection_is_shown() {
        let mut footer = Footer {
            model_hint: "m/m".into(),
            connection: Some((ConnectionState::Connected, "box".into())),
            ..Footer::default()
        };
        assert_eq!(footer.row(20).text(), " on box   yolo   m/m");
        footer.connection = Some((ConnectionState::Lost, "no answer".into()));
        assert_eq!(footer.row(30).text(), "  disconnected: no answer  m/m");
    }
}
