//! The owner of the open sessions.

use osier_base::sort;
use std::time::Instant;

use futures_util::future::select_all;
use tokio::task::JoinSet;

use super::options::Options;
use super::server_notice::ServerState;
use super::tab::Tab;
use crate::history::{TabState, TabSummaries, TabSummary};
use crate::screen::inline;
use osier_protocol::{Op, SessionInfo};
use osier_settings::ExitOutput;

/// The tabs: the tab in front, and the others in the order of their numbers.
#[derive(Debug)]
pub(crate) struct Tabs {
    pub front: Tab,
    others: Vec<Tab>,
    /// Number of the tab that was shown before.
    before: Option<usize>,
    /// Closed sessions that are still being stored.
    closing: JoinSet<()>,
}

impl Tabs {
    pub(crate) fn new(front: Tab) -> Self {
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

    fn all(&self) -> impl Iterator<Item = &Tab> {
        std::iter::once(&self.front).chain(&self.others)
    }

    /// Every session, the one in front first.
    pub(crate) fn tabs(&mut self) -> impl Iterator<Item = &mut Tab> {
        std::iter::once(&mut self.front).chain(&mut self.others)
    }

    pub(crate) fn others(&mut self) -> impl Iterator<Item = &mut Tab> {
        self.others.iter_mut()
    }

    /// The smallest number that no session has.
    pub(crate) fn free_number(&self) -> usize {
        let is_taken = |number: usize| {
            self.front.number == number || self.others.iter().any(|tab| tab.number == number)
        };
        let most = self.others.len() + 2;
        (1..most).find(|number| !is_taken(*number)).unwrap_or(most)
    }

    /// Puts a new session in front.
    pub(crate) fn add(&mut self, tab: Tab) {
        let number = tab.number;
        self.others.push(tab);
        self.show(number);
    }

    /// Shows a tab; false when there is none with this number.
    pub(crate) fn show(&mut self, number: usize) -> bool {
        if number == self.front.number {
            return true;
        }
        let Some(place) = self.others.iter().position(|tab| tab.number == number) else {
            return false;
        };
        self.before = Some(self.front.number);
        let behind = &mut self.others[place];
        std::mem::swap(&mut self.front, behind);
        self.front.app.move_terminal_from(&mut behind.app);
        let title = self.front.title();
        inline::announce(&mut self.front.app, &title);
        behind.mark_seen();
        self.front.mark_seen();
        sort::by_key(&mut self.others, |tab| tab.number);
        true
    }

    /// Closes a tab and lets its session store its state; another tab is shown. False for the last
    /// one.
    pub(crate) fn close(&mut self, number: usize) -> bool {
        if number == self.front.number && !self.show_another() {
            return false;
        }
        if let Some(place) = self.others.iter().position(|tab| tab.number == number) {
            let tab = self.others.remove(place);
            if !tab.ended {
                tab.host.send(Op::ShutDown);
                self.closing.spawn(tab.ending());
            }
        }
        true
    }

    /// Shows the session that was in front before, else the next one; false when there is no other.
    fn show_another(&mut self) -> bool {
        let here = self.front.number;
        let known = |number: &usize| self.others.iter().any(|tab| tab.number == *number);
        let next = self.others.iter().find(|tab| tab.number > here);
        let next = next.or(self.others.first()).map(|tab| tab.number);
        let another = self.before.filter(known).or(next);
        another.is_some_and(|number| self.show(number))
    }

    /// Sessions whose hosts have ended, and the processes that took them over.
    pub(crate) fn ended(&self) -> Vec<(usize, Option<u32>)> {
        let ended = self.all().filter(|tab| tab.ended);
        ended.map(|tab| (tab.number, tab.taken_by)).collect()
    }

    /// Waits until something has happened in a session that is not shown. Pieces of an answer wait.
    pub(crate) async fn others_ready(&self) {
        let waiting = self.others.iter().map(|tab| {
            // A future must be pinned to be selected with others.
            Box::pin(tab.events.urgent_ready())
        });
        select_all(waiting).await;
    }

    /// Applies the events of background tabs; returns those that need attention now.
    pub(crate) fn apply_events_of_others(
        &mut self,
        options: &mut Options,
        now: Instant,
    ) -> Vec<TabSummary> {
        let mut alerts = Vec::new();
        for tab in &mut self.others {
            let before = tab.state();
            tab.apply_events(options, now);
            let state = tab.state();
            if state != before && state.needs_person() {
                alerts.push(tab.entry());
            }
        }
        alerts
    }

    /// The summaries of all tabs.
    pub(crate) fn summaries(&self) -> TabSummaries {
        let mut entries: Vec<TabSummary> = self.all().map(Tab::entry).collect();
        sort::by_key(&mut entries, |entry| entry.number);
        TabSummaries {
            entries,
            shown: self.front.number,
        }
    }

    /// The most urgent state.
    pub(crate) fn most_urgent(&self) -> TabState {
        let found = TabState::BY_URGENCY
            .into_iter()
            .find(|state| self.has(*state));
        found.unwrap_or(TabState::Idle)
    }

    /// The name of the shown session where there are several.
    pub(crate) fn front_name(&self) -> Option<String> {
        self.is_several().then(|| self.front.title())
    }

    /// Whether some session is in this state.
    pub(crate) fn has(&self, state: TabState) -> bool {
        self.all().any(|tab| tab.state() == state)
    }

    /// Whether some session has a background job or a terminal that runs.
    fn has_programs(&self) -> bool {
        self.all()
            .any(|tab| tab.app.footer.jobs + tab.app.footer.terminals > 0)
    }

    /// All sessions, the one in front first, and the processes that took them over.
    pub(crate) fn sessions(&self) -> Vec<(SessionInfo, Option<u32>)> {
        let sessions = self.all();
        sessions
            .map(|tab| (tab.app.session.clone(), tab.taken_by))
            .collect()
    }

    /// The state of the server of the sessions.
    pub(crate) fn server_state(&self) -> ServerState {
        let app = &self.front.app;
        ServerState {
            connection: app.footer.connection.clone(),
            has_joined: !app.session.id.is_empty(),
            is_running: self.has(TabState::Working)
                || self.has(TabState::Waiting)
                || self.has_programs(),
        }
    }

    /// Makes every session stop its work and store its state.
    pub(crate) fn shut_down(&self) {
        for tab in self.all() {
            tab.host.send(Op::ShutDown);
        }
    }

    /// Waits until the sessions have ended. Adds to `said` what stays in the terminal of the
    /// session in front, such as an interrupted answer.
    pub(crate) async fn ended_all(self, said: &mut Vec<String>, output: ExitOutput) {
        let mut closing = self.closing;
        for tab in self.others {
            closing.spawn(tab.ending());
        }
        let mut front = self.front;
        while let Some(message) = front.next_ending().await {
            front.leave_behind(&message, output);
            said.clone_from(&front.said);
        }
        closing.join_all().await;
    }
}
