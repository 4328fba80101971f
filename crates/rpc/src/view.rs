//! What a client is told of that no op asks for, remembered from the host's events.

use serde_json::{Value, json};

use osier_protocol::Event;

/// The memory of one connection.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The slash commands that no mode brings.
    pub commands: Value,
    /// Messages that wait to be delivered before the next request.
    pub steering: usize,
    /// No session is open: the one that was asked for cannot be opened.
    pub sessionless: bool,
    /// A run is on, or begins.
    pub running: bool,
}

impl View {
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::SessionOpened { .. } => {
                *self = Self {
                    commands: std::mem::take(&mut self.commands),
                    ..Self::default()
                }
            }
            Event::SessionFailed { .. } => self.sessionless = true,
            Event::Commands { commands } => self.commands = json!(commands),
            Event::Agent(osier_agent::Event::QueueUpdate { steering, .. }) => {
                self.steering = steering.len();
            }
            Event::Agent(osier_agent::Event::AgentStart) => self.running = true,
            Event::Agent(osier_agent::Event::AgentSettled { .. }) => self.running = false,
            _ => {}
        }
    }
}
