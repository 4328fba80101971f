//! The retained state: the current state of a session as a list of events. A client that joins late applies them in
//! order and has the same state as the clients that received every event.

use std::mem::{Discriminant, discriminant};

use osier_agent::{AgentMessage, Coalesce as _};
use osier_protocol::questions::Question;
use osier_protocol::{Delivery, Event, TreeEvent};

use super::replay::TimedEvent;

/// The retained state of one session.
#[derive(Debug, Clone, Default)]
pub(super) struct RetainedState {
    /// The open session, or why none is open.
    opened: Option<TimedEvent>,
    /// The last event of every retained kind.
    latest: Vec<(ReplacementKey, TimedEvent)>,
    /// Events of work that has not ended.
    running: Vec<TimedEvent>,
    /// The open questions, and when they were asked.
    questions: Vec<(i64, Question)>,
    /// The events of the last `/fan`, until a lane is accepted or the copies of the lanes are
    /// removed.
    fan: Vec<(i64, TreeEvent)>,
    /// The clients, while there are several.
    presence: Option<TimedEvent>,
}

/// Events with the same key replace each other: the kind of event, and the plugin if the event has one.
type ReplacementKey = (EventKind, String);

/// The kind of an event, across the nested enums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventKind {
    Session(Discriminant<Event>),
    Agent(Discriminant<osier_agent::Event>),
    Tree(Discriminant<TreeEvent>),
}

impl RetainedState {
    /// Updates the state with an event of this time.
    pub(super) fn apply(&mut self, time: i64, event: &Event) {
        let timed = || TimedEvent {
            time,
            event: event.clone(),
        };
        match event {
            Event::SessionOpened {
                session, at_start, ..
            } => {
                self.running.clear();
                self.fan.clear();
                self.latest
                    .retain(|(_, known)| known.event.delivery() == Delivery::Retained);
                // The event is retained without messages: a snapshot reads them again.
                self.opened = Some(TimedEvent {
                    time,
                    event: Event::SessionOpened {
                        session: session.clone(),
                        messages: Vec::new(),
                        at_start: *at_start,
                    },
                });
            }
            Event::SessionFailed { .. } => self.opened = Some(timed()),
            Event::QuestionAsked { question } => self.questions.push((time, (**question).clone())),
            Event::QuestionClosed { id } => {
                self.questions.retain(|(_, question)| question.id != *id);
            }
            Event::Presence { .. } => self.presence = Some(timed()),
            Event::Tree(event) if is_fan_event(event) => self.update_fan(time, event),
            event => match event.delivery() {
                Delivery::Retained | Delivery::RetainedForSession => self.replace(timed()),
                _ => self.update_work(timed()),
            },
        }
    }

    /// Forgets the presence event.
    pub(super) fn clear_presence(&mut self) {
        self.presence = None;
    }

    fn replace(&mut self, timed: TimedEvent) {
        let key = replacement_key(&timed.event);
        match self.latest.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = timed,
            None => self.latest.push((key, timed)),
        }
    }

    /// Updates the lanes.
    fn update_fan(&mut self, time: i64, event: &TreeEvent) {
        use TreeEvent as E;
        match event {
            E::FanEnded { lanes } if lanes.is_empty() => self.fan.clear(),
            E::FanStarted { .. } | E::LaneTaken { .. } => self.fan.clear(),
            E::FanEnded { .. } => self
                .fan
                .retain(|(_, known)| matches!(known, E::FanStarted { .. })),
            E::LaneUpdate { state } => self.fan.retain(
                |(_, known)| !matches!(known, E::LaneUpdate { state: known } if known.lane == state.lane),
            ),
            _ => self
                .fan
                .retain(|(_, known)| !matches!(known, E::LaneConflicts { .. })),
        }
        let is_over = match event {
            E::FanEnded { lanes } => lanes.is_empty(),
            E::FanStarted { .. } => false,
            // Events of removed lanes have no meaning.
            _ => self.fan.is_empty(),
        };
        if !is_over {
            self.fan.push((time, event.clone()));
        }
    }

    /// Adds events of work that started and removes those of work that ended.
    fn update_work(&mut self, timed: TimedEvent) {
        match &timed.event {
            Event::ShellUpdate { .. } => self.merge_delta(timed),
            Event::ShellEnd { id, .. } => self.remove(
                |event| matches!(event, Event::ShellStart { id: known, .. } | Event::ShellUpdate { id: known, .. } if known == id),
            ),
            Event::ShellStart { .. } => self.running.push(timed),
            Event::Agent(_) => self.update_agent_work(timed),
            _ => {}
        }
    }

    fn update_agent_work(&mut self, timed: TimedEvent) {
        use osier_agent::Event as E;
        let Event::Agent(event) = &timed.event else {
            return;
        };
        match event {
            E::AgentStart
            | E::CompactionStart { .. }
            | E::ToolExecutionStart { .. }
            | E::ToolExecutionEnd { .. } => self.running.push(timed),
            E::TurnStart { .. } => {
                self.remove(|event| matches!(event, Event::Agent(E::TurnStart { .. })));
                self.remove(is_tool_event);
                self.running.push(timed);
            }
            E::MessageStart { message, .. } => {
                self.remove(|event| matches!(event, Event::Agent(E::RetryScheduled { .. })));
                if matches!(&**message, AgentMessage::Assistant(_)) {
                    self.running.push(timed);
                }
            }
            E::MessageUpdate { .. } | E::ToolExecutionUpdate { .. } => self.merge_delta(timed),
            E::MessageEnd { id, .. } | E::MessageRetracted { id } => self.remove(
                |event| matches!(event, Event::Agent(E::MessageStart { id: known, .. } | E::MessageUpdate { id: known, .. }) if known == id),
            ),
            E::RetryScheduled { .. } => {
                self.remove(|event| matches!(event, Event::Agent(E::RetryScheduled { .. })));
                self.running.push(timed);
            }
            E::TurnEnd { .. } => self.remove(is_tool_event),
            E::CompactionEnd { .. } => {
                self.remove(|event| matches!(event, Event::Agent(E::CompactionStart { .. })));
            }
            E::AgentSettled { .. } => self.remove(|event| matches!(event, Event::Agent(_))),
            _ => {}
        }
    }

    /// Merges a delta into the last event that can take it, or adds it.
    fn merge_delta(&mut self, timed: TimedEvent) {
        let merged = self
            .running
            .iter_mut()
            .rev()
            .any(|last| last.event.coalesce(&timed.event));
        if !merged {
            self.running.push(timed);
        }
    }

    fn remove(&mut self, which: impl Fn(&Event) -> bool) {
        self.running.retain(|known| !which(&known.event));
        if self.running.is_empty() {
            // Release the memory of a burst until the next run.
            self.running = Vec::new();
        }
    }

    /// Whether a run, a command or a fan is active.
    pub(super) fn is_running(&self) -> bool {
        let ended = |(_, event): &(i64, TreeEvent)| matches!(event, TreeEvent::FanEnded { .. });
        !self.running.is_empty() || !self.fan.is_empty() && !self.fan.iter().any(ended)
    }

    /// Whether a question is open.
    pub(super) fn has_question(&self) -> bool {
        !self.questions.is_empty()
    }

    /// The events in the order in which a client applies them.
    pub(super) fn events(&self) -> Vec<TimedEvent> {
        let latest = self.latest.iter().map(|(_, event)| event.clone());
        let questions = self.questions.iter().map(|(time, question)| TimedEvent {
            time: *time,
            event: Event::QuestionAsked {
                question: Box::new(question.clone()),
            },
        });
        let fan = self.fan.iter().map(|(time, event)| TimedEvent {
            time: *time,
            event: Event::Tree(event.clone()),
        });
        let opened = self.opened.iter().cloned();
        let running = self.running.iter().cloned();
        opened
            .chain(latest)
            .chain(running)
            .chain(fan)
            .chain(self.presence.iter().cloned())
            .chain(questions)
            .collect()
    }
}

fn is_tool_event(event: &Event) -> bool {
    use osier_agent::Event as E;
    matches!(
        event,
        Event::Agent(
            E::ToolExecutionStart { .. }
                | E::ToolExecutionUpdate { .. }
                | E::ToolExecutionEnd { .. }
        )
    )
}

fn is_fan_event(event: &TreeEvent) -> bool {
    use TreeEvent as E;
    matches!(
        event,
        E::FanStarted { .. }
            | E::LaneUpdate { .. }
            | E::FanEnded { .. }
            | E::LaneConflicts { .. }
            | E::LaneTaken { .. }
    )
}

fn replacement_key(event: &Event) -> ReplacementKey {
    let kind = match event {
        Event::Agent(event) => EventKind::Agent(discriminant(event)),
        Event::Tree(event) => EventKind::Tree(discriminant(event)),
        event => EventKind::Session(discriminant(event)),
    };
    let plugin = match event {
        Event::PluginStatus { plugin, .. } | Event::PluginWidget { plugin, .. } => plugin.clone(),
        _ => String::new(),
    };
    (kind, plugin)
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
    fn lanes_are_retained_until_one_is_accepted() {
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
        let mut time = 0;
        let mut apply = |retained: &mut RetainedState, event| {
            time += 1;
            retained.apply(time, &Event::Tree(event));
        };
        let update = |state| TreeEvent::LaneUpdate {
            state: Box::new(state),
        };
        let models = vec!["a/a".to_owned(), "b/b".to_owned()];
        let started = TreeEvent::FanStarted { models };
        let mut retained = RetainedState::default();
        apply(&mut retained, started.clone());
        apply(&mut retained, update(lane(0, "o")));
        apply(&mut retained, update(lane(1, "t")));
        apply(&mut retained, update(lane(0, "one")));
        let as_events = |events: &[(i64, TreeEvent)]| -> Vec<TimedEvent> {
            let events = events.iter().cloned();
            let timed = |(time, event)| TimedEvent {
                time,
                event: Event::Tree(event),
            };
            events.map(timed).collect()
        };
        let lanes = [update(lane(1, "t")), update(lane(0, "one"))];
        let [other, first] = lanes;
        assert_eq!(
            retained.events(),
            as_events(&[(1, started.clone()), (3, other), (4, first)])
        );
        assert!(retained.is_running());
        let ended = TreeEvent::FanEnded {
            lanes: vec![lane(0, "one"), lane(1, "two")],
        };
        apply(&mut retained, ended.clone());
        assert_eq!(retained.events(), as_events(&[(1, started), (5, ended)]));
        assert!(!retained.is_running());
        let taken = TreeEvent::LaneTaken {
            lane: 0,
            files: Vec::new(),
            kept: None,
        };
        apply(&mut retained, taken);
        assert_eq!(retained.events(), []);
    }

    #[test]
    fn only_the_last_todo_list_is_retained() {
        let mut retained = RetainedState::default();
        retained.apply(1, &list("one"));
        retained.apply(2, &list("two"));
        let event = list("two");
        assert_eq!(retained.events(), [TimedEvent { time: 2, event }]);
    }
}
