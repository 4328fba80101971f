//! How an event is delivered, retained and replayed: one arm for every event.

use crate::{CheckpointEvent, Event, IndexEvent, TransferEvent, TreeEvent};
use osier_agent::Event as AgentEvent;

/// How an event is delivered to the clients of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The answer to a request. Not a change of the session.
    Answer,
    /// For the clients that are connected now. A client that reconnects does not need it.
    Connected,
    /// A change of the session. A client that reconnects receives it if it is still in the replay buffer.
    Change,
    /// A change whose latest event is retained for late clients until another session is opened.
    RetainedForSession,
    /// A change whose latest event is retained for late clients as long as the process runs.
    Retained,
}

impl Delivery {
    /// Whether a client that reconnects receives the events that it missed.
    pub fn is_replayed(self) -> bool {
        !matches!(self, Self::Answer | Self::Connected)
    }
}

impl Event {
    /// How this event is delivered.
    pub fn delivery(&self) -> Delivery {
        match self {
            Self::TranscriptPage { .. }
            | Self::SearchHits { .. }
            | Self::Sessions { .. }
            | Self::Files { .. }
            | Self::ProjectMap { .. }
            | Self::Symbols { .. }
            | Self::History { .. }
            | Self::DraftFound { .. }
            | Self::Stash { .. }
            | Self::Usage { .. }
            | Self::Status { .. }
            | Self::About { .. }
            | Self::Questions { .. }
            | Self::Context { .. }
            | Self::Hooks { .. } => Delivery::Answer,
            Self::JobOutput { .. } | Self::TerminalScreen { .. } | Self::OpEnded { .. } => {
                Delivery::Connected
            }
            Self::SessionOpened { .. }
            | Self::SessionFailed { .. }
            | Self::MessageStored { .. }
            | Self::ShellStart { .. }
            | Self::ShellUpdate { .. }
            | Self::ShellEnd { .. }
            | Self::Accounts { .. }
            | Self::LoginStarted { .. }
            | Self::LoginRefused { .. }
            | Self::LoginEnded { .. }
            | Self::QuestionAsked { .. }
            | Self::QuestionClosed { .. }
            | Self::HookRan { .. }
            | Self::CallReviewed { .. }
            | Self::Connection { .. }
            | Self::Presence { .. }
            | Self::Notice { .. }
            | Self::Transfer(
                TransferEvent::SessionExported { .. } | TransferEvent::SessionImported { .. },
            )
            | Self::ShutDown => Delivery::Change,
            Self::SessionIndexed { .. }
            | Self::SessionRenamed { .. }
            | Self::ModelSelected { .. }
            | Self::McpServers { .. }
            | Self::CodeServers { .. }
            | Self::Jobs { .. }
            | Self::Terminals { .. }
            | Self::Budget { .. }
            | Self::Todo { .. } => Delivery::RetainedForSession,
            Self::Models { .. }
            | Self::Permissions { .. }
            | Self::ProjectTrusted
            | Self::Commands { .. }
            | Self::PluginStatus { .. }
            | Self::PluginWidget { .. }
            | Self::PluginKeys { .. }
            | Self::Workspace { .. } => Delivery::Retained,
            Self::Tree(event) => tree(event),
            Self::Checkpoint(event) => match event {
                CheckpointEvent::FilesPreview { .. }
                | CheckpointEvent::FileDiffs { .. }
                | CheckpointEvent::ChangedLines { .. } => Delivery::Answer,
                CheckpointEvent::FilesRestored { .. }
                | CheckpointEvent::FilesChangedOutside { .. } => Delivery::Change,
            },
            Self::Index(event) => match event {
                IndexEvent::SessionsFound { .. }
                | IndexEvent::SearchCancelled { .. }
                | IndexEvent::SessionPreview { .. }
                | IndexEvent::SessionDescribed { .. } => Delivery::Answer,
                IndexEvent::Indexing { .. }
                | IndexEvent::SessionsChanged
                | IndexEvent::SessionDeleted { .. }
                | IndexEvent::LibraryRefused { .. } => Delivery::Connected,
            },
            Self::Agent(event) => agent(event),
        }
    }
}

fn tree(event: &TreeEvent) -> Delivery {
    match event {
        TreeEvent::Tree { .. }
        | TreeEvent::Entries { .. }
        | TreeEvent::StoredEntries { .. }
        | TreeEvent::TreeHits { .. }
        | TreeEvent::BranchesCompared { .. }
        | TreeEvent::Context { .. } => Delivery::Answer,
        TreeEvent::BranchSummaryStart
        | TreeEvent::BranchSummaryFailed { .. }
        | TreeEvent::Moved { .. }
        | TreeEvent::Forked { .. }
        | TreeEvent::EntryLabelled { .. }
        | TreeEvent::BranchHidden { .. }
        | TreeEvent::SummaryDrafted { .. }
        | TreeEvent::FanStarted { .. }
        | TreeEvent::LaneUpdate { .. }
        | TreeEvent::FanEnded { .. }
        | TreeEvent::LaneTaken { .. }
        | TreeEvent::LaneConflicts { .. } => Delivery::Change,
        TreeEvent::AutoCompactChanged { .. } => Delivery::RetainedForSession,
    }
}

fn agent(event: &AgentEvent) -> Delivery {
    match event {
        AgentEvent::State { .. } => Delivery::Answer,
        AgentEvent::AgentStart
        | AgentEvent::TurnStart { .. }
        | AgentEvent::MessageStart { .. }
        | AgentEvent::MessageUpdate { .. }
        | AgentEvent::MessageEnd { .. }
        | AgentEvent::MessageRetracted { .. }
        | AgentEvent::ToolExecutionStart { .. }
        | AgentEvent::ToolExecutionUpdate { .. }
        | AgentEvent::ToolExecutionEnd { .. }
        | AgentEvent::TurnEnd { .. }
        | AgentEvent::AgentEnd { .. }
        | AgentEvent::AgentSettled { .. }
        | AgentEvent::QueueRecalled { .. }
        | AgentEvent::RetryScheduled { .. }
        | AgentEvent::ProviderSwitched { .. }
        | AgentEvent::Tools { .. }
        | AgentEvent::MessagesReplaced { .. }
        | AgentEvent::CompactionStart { .. }
        | AgentEvent::CompactionEnd { .. }
        | AgentEvent::Notice { .. }
        | AgentEvent::Log { .. }
        | AgentEvent::Accounting { .. } => Delivery::Change,
        AgentEvent::QueueUpdate { .. }
        | AgentEvent::ModelsChanged { .. }
        | AgentEvent::ThinkingLevelChanged { .. }
        | AgentEvent::QueueModeChanged { .. }
        | AgentEvent::AutoRetryChanged { .. } => Delivery::RetainedForSession,
    }
}
