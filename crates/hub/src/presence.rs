//! Who is in a session, and who of them writes.
//!
//! Whoever begins something while nobody writes has the pen until it has ended. The others read, and what they
//! have typed stays theirs; they write when the pen is free again, or after they have taken it over. Stopping
//! is open to everybody. One that is alone never hears of any of this.

use std::time::Duration;

use tokio::time::Instant;

use osier_agent::Severity;
use osier_base::request::Effect;
use osier_base::text::{sanitize, single_line, take_width};
use osier_protocol::{Client, Event, Op};

/// How long one whose line is cut keeps its place.
pub(super) const GRACE: Duration = Duration::from_secs(30);
/// Columns of a name.
const NAME: usize = 40;
/// What one is called that says nothing.
const NAMELESS: &str = "a program";

/// How a client wants to be known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// For the others to read.
    pub name: String,
    /// A word that only this client knows: with it it has its place again after its line was cut.
    pub key: Option<String>,
}

/// Another client writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} writes here: take over to write, or wait for the end of the turn", .writer.name)]
pub struct Occupied {
    pub writer: Client,
}

/// Everybody who is in a session.
#[derive(Debug, Default)]
pub(super) struct Presence {
    present: Vec<Present>,
    pen: Option<Pen>,
    last: u64,
    /// What was told last, while there were several.
    told: Option<Event>,
    /// It has to be told again.
    again: bool,
}

#[derive(Debug)]
struct Present {
    client: Client,
    key: Option<String>,
    /// Lines it has.
    lines: usize,
    /// When its place is given up, while it has none.
    until: Option<Instant>,
}

/// The pen in a hand.
#[derive(Debug, Clone, Copy)]
struct Pen {
    client: u64,
    /// What it began: the number of its op, until that has ended.
    request: Option<u64>,
    /// The agent goes on with it, and has not begun yet.
    awaited: bool,
}

impl Presence {
    /// Somebody comes, or comes back; its number.
    pub(super) fn enter(&mut self, introduction: Introduction) -> u64 {
        let Introduction { name, key } = introduction;
        let back = self
            .present
            .iter_mut()
            .find(|known| key.is_some() && known.key == key);
        if let Some(known) = back {
            known.lines += 1;
            known.until = None;
            known.client.away = false;
            // One that was back before anybody had missed it has missed what it was told itself.
            self.again = true;
            return known.client.id;
        }
        self.last += 1;
        let name = self.free_name(&name);
        self.present.push(Present {
            client: Client {
                id: self.last,
                name,
                away: false,
            },
            key,
            lines: 1,
            until: None,
        });
        self.last
    }

    /// A line of this client is gone: for good, or cut. One that can come back has its place for a while.
    pub(super) fn leave(&mut self, id: u64, cut: bool, now: Instant) {
        let Some(place) = self.place(id) else {
            return;
        };
        let known = &mut self.present[place];
        known.lines -= 1;
        if known.lines > 0 {
            return;
        }
        if cut && known.key.is_some() {
            known.client.away = true;
            known.until = Some(now + GRACE);
        } else {
            self.remove(place);
        }
    }

    /// Gives up the places of those who did not come back.
    pub(super) fn expire(&mut self, now: Instant) {
        let gone = |known: &Present| known.until.is_some_and(|until| until <= now);
        while let Some(place) = self.present.iter().position(gone) {
            self.remove(place);
        }
    }

    /// When `expire` has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.present.iter().filter_map(|known| known.until).min()
    }

    /// Whether an op may be done that is asked for under this number; by nobody in particular when it comes
    /// from outside. `works` says whether something goes on. What everybody should know of it is a sentence.
    pub(super) fn judge(
        &mut self,
        by: Option<u64>,
        op: &Op,
        request: u64,
        works: bool,
    ) -> Result<Option<String>, Occupied> {
        if matches!(op, Op::TakeOver) {
            return Ok(self.take_over(by));
        }
        match op.effect() {
            Effect::Stop if works && self.present.len() > 1 => {
                return Ok(Some(format!("{} has stopped it", self.name(by))));
            }
            Effect::None | Effect::Stop => {}
            effect => {
                if let Some(pen) = self.pen
                    && Some(pen.client) != by
                    && let Some(place) = self.place(pen.client)
                {
                    let writer = self.present[place].client.clone();
                    return Err(Occupied { writer });
                }
                // What its holder does beside what goes on does not end with that.
                let begins = effect == Effect::Begin && (self.pen.is_none() || !works);
                if let Some(client) = by.filter(|_| begins) {
                    self.pen = Some(Pen {
                        client,
                        request: Some(request),
                        awaited: true,
                    });
                }
            }
        }
        Ok(None)
    }

    /// What goes on has another author from now on. Where nobody writes there is nothing to take over.
    fn take_over(&mut self, by: Option<u64>) -> Option<String> {
        let pen = self.pen.filter(|pen| Some(pen.client) != by)?;
        self.pen = by.map(|client| Pen { client, ..pen });
        Some(format!("{} has taken over", self.name(by)))
    }

    /// Follows what goes on: with its end the pen is let go. `works` says whether something still does.
    pub(super) fn follow(&mut self, event: &Event, works: bool) {
        let Some(pen) = &mut self.pen else {
            return;
        };
        pen.awaited &= !works;
        match event {
            Event::OpEnded {
                request,
                with_agent,
            } if pen.request == Some(*request) => {
                pen.request = None;
                pen.awaited &= with_agent;
            }
            Event::HostNotice {
                severity: Severity::Warning | Severity::Error,
                request: Some(request),
                ..
            } if pen.request == Some(*request) => pen.awaited = false,
            // It had nothing to go on with.
            Event::Agent(
                osier_agent::Event::AgentSettled { .. } | osier_agent::Event::Notice { .. },
            ) => {
                pen.awaited = false;
            }
            _ => {}
        }
        if pen.request.is_none() && !pen.awaited && !works {
            self.pen = None;
        }
    }

    /// What everybody is to be told; nothing when they know it, and as long as there is one at most.
    pub(super) fn news(&mut self) -> Option<Event> {
        let event = self.event();
        if self.present.len() > 1 {
            let is_new = std::mem::take(&mut self.again) || self.told.as_ref() != Some(&event);
            self.told = Some(event.clone());
            return is_new.then_some(event);
        }
        self.again = false;
        self.told.take()?;
        (!self.is_empty()).then_some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    fn event(&self) -> Event {
        Event::Presence {
            clients: self
                .present
                .iter()
                .map(|known| known.client.clone())
                .collect(),
            writer: self.pen.map(|pen| pen.client),
            you: None,
        }
    }

    fn place(&self, id: u64) -> Option<usize> {
        self.present.iter().position(|known| known.client.id == id)
    }

    fn remove(&mut self, place: usize) {
        let gone = self.present.remove(place);
        if self.pen.is_some_and(|pen| pen.client == gone.client.id) {
            self.pen = None;
        }
    }

    fn name(&self, id: Option<u64>) -> &str {
        let place = id.and_then(|id| self.place(id));
        place.map_or(NAMELESS, |place| &self.present[place].client.name)
    }

    /// The name as it can be shown, told apart from those of the others.
    fn free_name(&self, name: &str) -> String {
        let shown = single_line(sanitize(name).trim());
        let shown = take_width(&shown, NAME).trim_end();
        let shown = if shown.is_empty() { NAMELESS } else { shown };
        let taken = |name: &str| self.present.iter().any(|known| known.client.name == name);
        let others = (2..).map(|number| format!("{shown} {number}"));
        let mut names = std::iter::once(shown.to_owned()).chain(others);
        names.find(|name| !taken(name)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::{Op as AgentOp, RunOutcome};

    fn named(name: &str, key: Option<&str>) -> Introduction {
        Introduction {
            name: name.to_owned(),
            key: key.map(str::to_owned),
        }
    }

    fn client(id: u64, name: &str, away: bool) -> Client {
        Client {
            id,
            name: name.to_owned(),
            away,
        }
    }

    fn presence(clients: &[Client], writer: Option<u64>) -> Event {
        Event::Presence {
            clients: clients.to_vec(),
            writer,
            you: None,
        }
    }

    fn prompt() -> Op {
        Op::Agent(AgentOp::Prompt {
            text: "hello".to_owned(),
            attachments: Vec::new(),
        })
    }

    fn settled() -> Event {
        let outcome = RunOutcome::Completed;
        Event::Agent(osier_agent::Event::AgentSettled { outcome })
    }

    const ENDED: Event = Event::OpEnded {
        request: 7,
        with_agent: true,
    };

    #[test]
    fn one_writes_until_what_it_began_has_ended() {
        let mut all = Presence::default();
        let anna = all.enter(named("anna", None));
        assert_eq!(all.judge(Some(anna), &prompt(), 7, false), Ok(None));
        assert_eq!(all.news(), None, "one that is alone hears nothing");
        let bob = all.enter(named("bob", None));
        let both = [client(1, "anna", false), client(2, "bob", false)];
        assert_eq!(all.news(), Some(presence(&both, Some(anna))));
        let writer = both[0].clone();
        let occupied = Occupied { writer };
        assert_eq!(
            occupied.to_string(),
            "anna writes here: take over to write, or wait for the end of the turn"
        );
        let answer = Op::AnswerQuestion {
            id: "q".to_owned(),
            answer: osier_protocol::questions::Answer::Yes,
        };
        for op in [prompt(), answer, Op::NewSession] {
            assert_eq!(all.judge(Some(bob), &op, 8, true), Err(occupied.clone()));
            assert_eq!(all.judge(None, &op, 8, true), Err(occupied.clone()));
        }
        assert_eq!(all.judge(Some(bob), &Op::GetUsage, 8, true), Ok(None));
        let stopped = all.judge(Some(bob), &Op::Agent(AgentOp::Abort), 8, true);
        assert_eq!(stopped, Ok(Some("bob has stopped it".to_owned())));
        // Steering does not end it, and neither does what ends beside.
        assert_eq!(all.judge(Some(anna), &prompt(), 9, true), Ok(None));
        all.follow(&ENDED, false);
        assert_eq!(all.news(), None, "the agent has not begun yet");
        all.follow(&Event::Agent(osier_agent::Event::AgentStart), true);
        all.follow(&settled(), false);
        assert_eq!(all.news(), Some(presence(&both, None)));
        assert_eq!(all.judge(Some(bob), &prompt(), 10, false), Ok(None));
        assert_eq!(all.news(), Some(presence(&both, Some(bob))));
        all.leave(anna, false, Instant::now());
        assert_eq!(all.news(), Some(presence(&both[1..], Some(bob))));
        all.leave(bob, false, Instant::now());
        assert_eq!((all.news(), all.is_empty()), (None, true));
    }

    #[test]
    fn the_pen_is_taken_over_and_goes_with_its_holder() {
        let mut all = Presence::default();
        let (anna, bob) = (
            all.enter(named("anna", None)),
            all.enter(named("bob", None)),
        );
        assert_eq!(all.judge(Some(bob), &Op::TakeOver, 1, false), Ok(None));
        assert_eq!(all.judge(Some(anna), &prompt(), 7, false), Ok(None));
        let said = Some("bob has taken over".to_owned());
        assert_eq!(all.judge(Some(bob), &Op::TakeOver, 8, true), Ok(said));
        assert!(all.judge(Some(anna), &prompt(), 9, true).is_err());
        assert_eq!(all.judge(Some(bob), &prompt(), 9, true), Ok(None));
        all.leave(bob, false, Instant::now());
        assert_eq!(all.judge(Some(anna), &prompt(), 10, true), Ok(None));
        // One that only passes by takes it from whoever has it, and keeps nothing.
        let said = Some("a program has taken over".to_owned());
        assert_eq!(all.judge(None, &Op::TakeOver, 11, true), Ok(said));
        assert_eq!(all.judge(Some(anna), &prompt(), 12, true), Ok(None));
    }

    #[test]
    fn what_is_refused_leaves_the_pen_free() {
        let mut all = Presence::default();
        let (anna, bob) = (
            all.enter(named("anna", None)),
            all.enter(named("bob", None)),
        );
        assert_eq!(all.judge(Some(anna), &prompt(), 7, false), Ok(None));
        let notice = Event::HostNotice {
            severity: Severity::Warning,
            text: "no session is open".to_owned(),
            request: Some(7),
        };
        all.follow(&notice, false);
        all.follow(&ENDED, false);
        assert_eq!(all.judge(Some(bob), &prompt(), 8, false), Ok(None));
    }

    #[test]
    fn one_that_is_cut_off_has_its_place_for_a_while() {
        let mut all = Presence::default();
        let (now, key) = (Instant::now(), Some("secret"));
        let anna = all.enter(named("anna", key));
        let bob = all.enter(named("bob", None));
        all.judge(Some(anna), &prompt(), 7, false).unwrap();
        all.news();
        all.leave(anna, true, now);
        let cut = [client(1, "anna", true), client(2, "bob", false)];
        assert_eq!(all.news(), Some(presence(&cut, Some(anna))));
        assert!(all.judge(Some(bob), &prompt(), 8, true).is_err());
        assert_eq!(all.enter(named("anna", key)), anna);
        let both = [client(1, "anna", false), client(2, "bob", false)];
        assert_eq!(all.news(), Some(presence(&both, Some(anna))));
        // The old line ends later than the new one began.
        assert_eq!(all.enter(named("anna", key)), anna);
        assert_eq!(
            all.news(),
            Some(presence(&both, Some(anna))),
            "it is told again"
        );
        all.leave(anna, true, now);
        assert_eq!((all.news(), all.deadline()), (None, None));
        all.leave(anna, true, now);
        assert_eq!(all.deadline(), Some(now + GRACE));
        all.expire(now);
        assert_eq!(all.news(), Some(presence(&cut, Some(anna))));
        all.expire(now + GRACE);
        assert_eq!(all.news(), Some(presence(&both[1..], None)));
    }

    #[test]
    fn names_are_short_clean_and_told_apart() {
        let mut all = Presence::default();
        for name in ["anna", "anna", " \u{1b}[31m\n", &"x".repeat(99)] {
            all.enter(named(name, None));
        }
        let names: Vec<&str> = all.present.iter().map(|one| &*one.client.name).collect();
        assert_eq!(names, ["anna", "anna 2", "a program", &"x".repeat(40)]);
    }
}
