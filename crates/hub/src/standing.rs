//! What holds in a session at the moment, as the events that say so: whoever comes late and applies them in
//! order stands where those who heard everything stand.

use std::mem::{Discriminant, discriminant};

use osier_agent::{AgentMessage, Coalesce as _};
use osier_protocol::questions::Question;
use osier_protocol::{Delivery, Event, TreeEvent};

/// The memory of one room.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    /// The session, or why none is open.
    opened: Option<Event>,
    /// The last event of every kind that says how something is.
    settled: Vec<(Key, Event)>,
    /// What runs: each event belongs to something that has not ended.
    running: Vec<Event>,
    questions: Vec<Question>,
    /// The models that answered one prompt last, until one of them is taken or their copies are gone.
    fan: Vec<TreeEvent>,
    /// Who is there, as long as there are several.
    presence: Option<Event>,
}

/// Which events take the place of one another: those of one kind, of one plug-in where it has one.
type Key = (Place, String);

/// Kinds of both enums side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Host(Discriminant<Event>),
    Agent(Discriminant<osier_agent::Event>),
    Tree(Discriminant<TreeEvent>),
}

impl Standing {
    /// Takes an event.
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::SessionOpened {
                session, at_start, ..
            } => {
                self.running.clear();
                self.fan.clear();
                self.settled
                    .retain(|(_, event)| event.delivery() == Delivery::Retained);
                // Its messages are read anew for whoever asks.
                self.opened = Some(Event::SessionOpened {
                    session: session.clone(),
                    messages: Vec::new(),
                    at_start: *at_start,
                });
            }
            Event::SessionFailed { .. } => self.opened = Some(event.clone()),
            Event::QuestionAsked { question } => self.questions.push((**question).clone()),
            Event::QuestionClosed { id } => self.questions.retain(|question| question.id != *id),
            Event::Presence { .. } => self.presence = Some(event.clone()),
            Event::Tree(event) if is_of_fan(event) => self.fan_out(event),
            event => match event.delivery() {
                Delivery::Retained | Delivery::RetainedForSession => self.settle(event),
                _ => self.run(event),
            },
        }
    }

    /// Nobody has to be told who is there.
    pub(super) fn forget_presence(&mut self) {
        self.presence = None;
    }

    fn settle(&mut self, event: &Event) {
        let key = key_of(event);
        match self.settled.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => known.clone_from(event),
            None => self.settled.push((key, event.clone())),
        }
    }

    /// How far each lane of a fan is.
    fn fan_out(&mut self, event: &TreeEvent) {
        use TreeEvent as Of;
        match event {
            Of::FanEnded { lanes } if lanes.is_empty() => self.fan.clear(),
            Of::FanStarted { .. } | Of::LaneTaken { .. } => self.fan.clear(),
            Of::FanEnded { .. } => self
                .fan
                .retain(|known| matches!(known, Of::FanStarted { .. })),
            Of::LaneUpdate { state } => self.fan.retain(
                |known| !matches!(known, Of::LaneUpdate { state: of } if of.lane == state.lane),
            ),
            _ => self
                .fan
                .retain(|known| !matches!(known, Of::LaneConflicts { .. })),
        }
        let is_over = match event {
            Of::FanEnded { lanes } => lanes.is_empty(),
            Of::FanStarted { .. } => false,
            // What is told of a fan that is gone means nothing.
            _ => self.fan.is_empty(),
        };
        if !is_over {
            self.fan.push(event.clone());
        }
    }

    /// Keeps what began and forgets what ended.
    fn run(&mut self, event: &Event) {
        match event {
            Event::ShellUpdate { .. } => self.grow(event),
            Event::ShellEnd { id, .. } => self.forget(
                |event| matches!(event, Event::ShellStart { id: at, .. } | Event::ShellUpdate { id: at, .. } if at == id),
            ),
            Event::ShellStart { .. } => self.running.push(event.clone()),
            Event::Agent(event) => self.run_agent(event),
            _ => {}
        }
    }

    fn run_agent(&mut self, event: &osier_agent::Event) {
        use osier_agent::Event as Of;
        let of = Event::Agent;
        match event {
            Of::AgentStart | Of::CompactionStart { .. } => self.running.push(of(event.clone())),
            Of::TurnStart { .. } => {
                self.forget(|event| matches!(event, Event::Agent(Of::TurnStart { .. })));
                self.forget(is_tool);
                self.running.push(of(event.clone()));
            }
            Of::MessageStart { message, .. } => {
                self.forget(|event| matches!(event, Event::Agent(Of::RetryScheduled { .. })));
                if matches!(&**message, AgentMessage::Assistant(_)) {
                    self.running.push(of(event.clone()));
                }
            }
            Of::MessageUpdate { .. } | Of::ToolExecutionUpdate { .. } => {
                self.grow(&of(event.clone()));
            }
            Of::MessageEnd { id, .. } | Of::MessageRetracted { id } => self.forget(
                |event| matches!(event, Event::Agent(Of::MessageStart { id: at, .. } | Of::MessageUpdate { id: at, .. }) if at == id),
            ),
            Of::ToolExecutionStart { .. } | Of::ToolExecutionEnd { .. } => {
                self.running.push(of(event.clone()));
            }
            Of::RetryScheduled { .. } => {
                self.forget(|event| matches!(event, Event::Agent(Of::RetryScheduled { .. })));
                self.running.push(of(event.clone()));
            }
            Of::TurnEnd { .. } => self.forget(is_tool),
            Of::CompactionEnd { .. } => {
                self.forget(|event| matches!(event, Event::Agent(Of::CompactionStart { .. })));
            }
            Of::AgentSettled { .. } => self.forget(|event| matches!(event, Event::Agent(_))),
            _ => {}
        }
    }

    /// Appends to the last event of its kind where both can be one.
    fn grow(&mut self, event: &Event) {
        let grown = self
            .running
            .iter_mut()
            .rev()
            .any(|last| last.coalesce(event));
        if !grown {
            self.running.push(event.clone());
        }
    }

    fn forget(&mut self, which: impl Fn(&Event) -> bool) {
        self.running.retain(|event| !which(event));
        if self.running.is_empty() {
            // It rests until the next run: the room for a burst is given back.
            self.running = Vec::new();
        }
    }

    /// Something runs.
    pub(super) fn is_running(&self) -> bool {
        let ended = |event: &TreeEvent| matches!(event, TreeEvent::FanEnded { .. });
        !self.running.is_empty() || !self.fan.is_empty() && !self.fan.iter().any(ended)
    }

    /// Somebody has to decide something.
    pub(super) fn is_waiting(&self) -> bool {
        !self.questions.is_empty()
    }

    /// The events that say it, in an order in which they can be applied.
    pub(super) fn events(&self) -> Vec<Event> {
        let settled = self.settled.iter().map(|(_, event)| event.clone());
        let questions = self.questions.iter().map(|question| Event::QuestionAsked {
            question: Box::new(question.clone()),
        });
        let opened = self.opened.iter().cloned();
        let running = self.running.iter().cloned();
        opened
            .chain(settled)
            .chain(running)
            .chain(self.fan.iter().cloned().map(Event::Tree))
            .chain(self.presence.iter().cloned())
            .chain(questions)
            .collect()
    }
}

fn is_tool(event: &Event) -> bool {
    use osier_agent::Event as Of;
    matches!(
        event,
        Event::Agent(
            Of::ToolExecutionStart { .. }
                | Of::ToolExecutionUpdate { .. }
                | Of::ToolExecutionEnd { .. }
        )
    )
}

fn is_of_fan(event: &TreeEvent) -> bool {
    use TreeEvent as Of;
    matches!(
        event,
        Of::FanStarted { .. }
            | Of::LaneUpdate { .. }
            | Of::FanEnded { .. }
            | Of::LaneConflicts { .. }
            | Of::LaneTaken { .. }
    )
}

fn key_of(event: &Event) -> Key {
    let place = match event {
        Event::Agent(event) => Place::Agent(discriminant(event)),
        Event::Tree(event) => Place::Tree(discriminant(event)),
        event => Place::Host(discriminant(event)),
    };
    let plugin = match event {
        Event::PluginStatus { plugin, .. } | Event::PluginWidget { plugin, .. } => plugin.clone(),
        _ => String::new(),
    };
    (place, plugin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_llm::Usage;
    use osier_protocol::{LaneState, LaneStatus, TodoItem, TodoList, TodoState};

    fn list(text: &str) -> Event {
        let item = TodoItem {
            text: text.to_owned(),
            state: TodoState::Open,
        };
        Event::Todo {
            list: TodoList { items: vec![item] },
        }
    }

    #[test]
    fn lanes_are_told_until_one_is_taken() {
        let lane = |lane, text: &str| LaneState {
            lane,
            model: "a/a".to_owned(),
            directory: "/copy".into(),
            status: LaneStatus::Working,
            error: None,
            text: text.to_owned(),
            tool: None,
            turns: 1,
            usage: Usage::default(),
            duration_ms: 1,
            files: Vec::new(),
            leaf: None,
        };
        let tell = |standing: &mut Standing, event| standing.take(&Event::Tree(event));
        let update = |state| TreeEvent::LaneUpdate {
            state: Box::new(state),
        };
        let models = vec!["a/a".to_owned(), "b/b".to_owned()];
        let started = TreeEvent::FanStarted { models };
        let mut standing = Standing::default();
        tell(&mut standing, started.clone());
        tell(&mut standing, update(lane(0, "o")));
        tell(&mut standing, update(lane(1, "t")));
        tell(&mut standing, update(lane(0, "one")));
        let told = |events: &[TreeEvent]| -> Vec<Event> {
            events.iter().cloned().map(Event::Tree).collect()
        };
        let lanes = [update(lane(1, "t")), update(lane(0, "one"))];
        let [other, first] = lanes;
        assert_eq!(standing.events(), told(&[started.clone(), other, first]));
        assert!(standing.is_running());
        let ended = TreeEvent::FanEnded {
            lanes: vec![lane(0, "one"), lane(1, "two")],
        };
        tell(&mut standing, ended.clone());
        assert_eq!(standing.events(), told(&[started, ended]));
        assert!(!standing.is_running());
        let taken = TreeEvent::LaneTaken {
            lane: 0,
            files: Vec::new(),
            kept: None,
        };
        tell(&mut standing, taken);
        assert_eq!(standing.events(), []);
    }

    #[test]
    fn the_last_list_is_told_to_whoever_comes_late() {
        let mut standing = Standing::default();
        standing.take(&list("one"));
        standing.take(&list("two"));
        assert_eq!(standing.events(), [list("two")]);
    }
}
