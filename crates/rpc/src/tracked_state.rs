//! State of the session that answers need, tracked from its events.

use osier_protocol::{AddedCommand, Event};

/// The tracked state of one connection.
#[derive(Debug, Default)]
pub(super) struct TrackedState {
    /// The slash commands of templates, skills and plugins.
    pub commands: Vec<AddedCommand>,
    /// The number of queued steering messages.
    pub steering: usize,
    /// No session is open, because opening failed.
    pub no_session: bool,
    /// A run is active.
    pub running: bool,
}

impl TrackedState {
    pub(super) fn on_event(&mut self, event: &Event) {
        match event {
            Event::SessionOpened { .. } => {
                *self = Self {
                    commands: std::mem::take(&mut self.commands),
                    ..Self::default()
                }
            }
            Event::SessionFailed { .. } => self.no_session = true,
            Event::Commands { commands } => self.commands.clone_from(commands),
            Event::Agent(osier_agent::Event::QueueUpdate { steering, .. }) => {
                self.steering = steering.len();
            }
            Event::Agent(osier_agent::Event::AgentStart) => self.running = true,
            Event::Agent(osier_agent::Event::AgentSettled { .. }) => self.running = false,
            _ => {}
        }
    }
}
