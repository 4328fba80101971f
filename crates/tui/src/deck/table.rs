//! The owner of the open sessions.

use std::time::Instant;

use futures_util::future::select_all;
use tokio::task::JoinSet;

use super::card::Card;
use super::roster::{Entry, Roster, State};
use crate::run::Options;
use osier_session::host::{Op, SessionInfo};

/// The open sessions: the one that is shown in front, the others in the order of their numbers.
#[derive(Debug)]
pub(crate) struct Deck {
    pub front: Card,
    others: Vec<Card>,
    /// Number of the one that was in front before.
    before: Option<usize>,
    /// Hosts that are storing what there is.
    closing: JoinSet<()>,
}

impl Deck {
    pub(crate) fn new(front: Card) -> Self {
        Self {
            front,
            others: Vec::new(),
            before: None,
            closing: JoinSet::new(),
        }
    }

    pub(crate) fn is_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// Every session, the one in front first.
    pub(crate) fn cards(&mut self) -> impl Iterator<Item = &mut Card> {
        std::iter::once(&mut self.front).chain(&mut self.others)
    }

    pub(crate) fn others(&mut self) -> impl Iterator<Item = &mut Card> {
        self.others.iter_mut()
    }

    /// The smallest number that no session has.
    pub(crate) fn free_number(&self) -> usize {
        let is_taken = |number: usize| {
            self.front.number == number || self.others.iter().any(|card| card.number == number)
        };
        let most = self.others.len() + 2;
        (1..most).find(|number| !is_taken(*number)).unwrap_or(most)
    }

    /// Puts a new session in front.
    pub(crate) fn add(&mut self, card: Card) {
        let number = card.number;
        self.others.push(card);
        self.show(number);
    }

    /// Brings a session to the front; false when there is none of this number.
    pub(crate) fn show(&mut self, number: usize) -> bool {
        if number == self.front.number {
            return true;
        }
        let Some(place) = self.others.iter().position(|card| card.number == number) else {
            return false;
        };
        self.before = Some(self.front.number);
        let behind = &mut self.others[place];
        std::mem::swap(&mut self.front, behind);
        self.front.app.come_forward(&mut behind.app);
        behind.look_at();
        self.front.look_at();
        self.others.sort_by_key(|card| card.number);
        true
    }

    /// Takes a session away and lets it store what there is; what is left comes to the front. False for the last
    /// one.
    pub(crate) fn close(&mut self, number: usize) -> bool {
        if number == self.front.number && !self.show_another() {
            return false;
        }
        if let Some(place) = self.others.iter().position(|card| card.number == number) {
            let card = self.others.remove(place);
            if !card.ended {
                card.host.send(Op::ShutDown);
                self.closing.spawn(card.ending());
            }
        }
        true
    }

    /// Shows the session that was in front before, else the next one; false when there is no other.
    fn show_another(&mut self) -> bool {
        let here = self.front.number;
        let known = |number: &usize| self.others.iter().any(|card| card.number == *number);
        let next = self.others.iter().find(|card| card.number > here);
        let next = next.or(self.others.first()).map(|card| card.number);
        let another = self.before.filter(known).or(next);
        another.is_some_and(|number| self.show(number))
    }

    /// Sessions whose hosts have ended.
    pub(crate) fn ended(&self) -> Vec<usize> {
        let cards = std::iter::once(&self.front).chain(&self.others);
        let ended = cards.filter(|card| card.ended);
        ended.map(|card| card.number).collect()
    }

    /// Waits until something has happened in a session that is not shown. Pieces of an answer wait.
    pub(crate) async fn others_ready(&self) {
        let waiting = self.others.iter().map(|card| {
            // Only one that is pinned can be waited for beside others.
            Box::pin(card.events.whole_ready())
        });
        select_all(waiting).await;
    }

    /// Applies what has happened in sessions that are not shown; those that want somebody now.
    pub(crate) fn take_events_of_others(
        &mut self,
        options: &mut Options,
        now: Instant,
    ) -> Vec<Entry> {
        let mut alerts = Vec::new();
        for card in &mut self.others {
            let before = card.state();
            card.take_events(options, now);
            let state = card.state();
            if state != before && state.needs_person() {
                alerts.push(card.entry());
            }
        }
        alerts
    }

    /// How all of them stand.
    pub(crate) fn roster(&self) -> Roster {
        let cards = std::iter::once(&self.front).chain(&self.others);
        let mut entries: Vec<Entry> = cards.map(Card::entry).collect();
        entries.sort_by_key(|entry| entry.number);
        Roster {
            entries,
            shown: self.front.number,
        }
    }

    /// The state that somebody should know of first.
    pub(crate) fn most_urgent(&self) -> State {
        let found = State::BY_URGENCY.into_iter().find(|state| self.has(*state));
        found.unwrap_or(State::Idle)
    }

    /// What the session in front is called where it has to be told from others.
    pub(crate) fn front_name(&self) -> Option<String> {
        self.is_several().then(|| self.front.title())
    }

    /// Whether some session is in this state.
    pub(crate) fn has(&self, state: State) -> bool {
        let mut cards = std::iter::once(&self.front).chain(&self.others);
        cards.any(|card| card.state() == state)
    }

    /// What every session is, the one in front first.
    pub(crate) fn sessions(&self) -> Vec<SessionInfo> {
        let cards = std::iter::once(&self.front).chain(&self.others);
        cards.map(|card| card.app.session.clone()).collect()
    }

    /// Has every session stop what runs and store what there is.
    pub(crate) fn shut_down(&self) {
        for card in std::iter::once(&self.front).chain(&self.others) {
            card.host.send(Op::ShutDown);
        }
    }

    /// Waits until that is done.
    pub(crate) async fn ended_all(self) {
        let mut closing = self.closing;
        for card in std::iter::once(self.front).chain(self.others) {
            closing.spawn(card.ending());
        }
        closing.join_all().await;
    }
}
