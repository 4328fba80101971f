//! The overlay of the session list: the query, the found sessions, the selection and the keys.

use std::path::{Path, PathBuf};

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command, StoredSession};
use crate::drawing::preview_pane::edit;
use osier_protocol::{
    FoundSession, IndexOp, Mark, Op, Opening, Preview, SessionQuery, SessionState, Sort,
};
use osier_term::{Component, Cx, Handled, KeyPress, LineInput, View};

pub(crate) const ID: &str = "session";

/// The sessions that the index has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub sessions: Vec<FoundSession>,
    /// All sessions that match, including those that are not loaded.
    pub total: usize,
    pub cut: bool,
    /// The index can be searched.
    pub ready: bool,
    /// The results answer the current query.
    pub current: bool,
}

/// The picker on screen.
#[derive(Debug, Default)]
pub(crate) struct SessionsView {
    pub(super) input: LineInput,
    pub(super) query: SessionQuery,
    pub(super) found: Found,
    request: u64,
    /// During indexing, how many sessions are indexed and how many there are.
    pub(super) indexing: Option<(usize, usize)>,
    pub(super) selected: usize,
    /// The first session on the screen.
    pub(super) top: usize,
    /// Sessions that fit on it.
    pub(super) page: usize,
    pub(super) preview: Option<(PathBuf, Preview)>,
    asked: Option<PathBuf>,
    /// Opens the selected session, in a new tab or not, as soon as the results for the query are there.
    hurried: Option<bool>,
    /// The sessions that are open here, with their numbers.
    open: Vec<(PathBuf, usize)>,
    /// A session that is open elsewhere is on the server of this client, so it is joined.
    pub(super) joins: bool,
    /// A new name is being typed.
    pub(super) naming: Option<LineInput>,
    /// The session that another press of the key deletes.
    pub(super) armed: Option<PathBuf>,
    /// The change of the selected session that waits for the results.
    waiting: Option<Mark>,
    /// Where deleted sessions are now, the last one last.
    deleted: Vec<PathBuf>,
    /// A status shown instead of the key hints.
    pub(super) status: Option<String>,
    ops: Vec<Op>,
    pub(super) cursor: Option<Position>,
}

impl SessionsView {
    /// An empty list that asks for the sessions of this directory.
    pub(crate) fn new() -> Self {
        let mut view = Self {
            page: 10,
            ..Self::default()
        };
        view.refresh();
        view
    }

    /// The requests of the view to the session.
    pub(crate) fn take_ops(&mut self) -> Vec<Op> {
        let wanted = self.selected().map(|found| found.session.path.clone());
        if wanted.is_some() && wanted != self.asked {
            self.asked.clone_from(&wanted);
            self.tell(IndexOp::PreviewSession {
                request: self.request,
                path: wanted.unwrap_or_default(),
            });
        }
        std::mem::take(&mut self.ops)
    }

    fn tell(&mut self, op: IndexOp) {
        self.ops.push(Op::Index(op));
    }

    /// Requests the sessions for the query, and the indexing of new ones.
    pub(super) fn refresh(&mut self) {
        self.ask(false);
    }

    fn ask(&mut self, as_is: bool) {
        self.request += 1;
        self.found.current = false;
        self.input.text().clone_into(&mut self.query.text);
        self.tell(IndexOp::FindSessions {
            request: self.request,
            query: self.query.clone(),
            as_is,
        });
    }

    /// Requests the sessions for another query: the best result is selected.
    fn ask_again(&mut self) {
        self.selected = 0;
        self.top = 0;
        self.found.sessions.truncate(self.page);
        self.ask(true);
    }

    /// Stores a reply; returns the actions that waited for it.
    pub(super) fn set_found(&mut self, request: u64, found: Found) -> Vec<Action> {
        if request != self.request {
            return Vec::new();
        }
        let before = self.selected().map(|found| found.session.path.clone());
        // A refresh preserves the selection.
        let place = before.filter(|_| self.selected > 0).and_then(|path| {
            let mut paths = found.sessions.iter().map(|found| &found.session.path);
            paths.position(|other| *other == path)
        });
        let last = found.sessions.len().saturating_sub(1);
        self.selected = place.unwrap_or(self.selected).min(last);
        self.found = found;
        if let Some(mark) = self.waiting.take() {
            self.mark(mark);
        }
        match self.hurried.take() {
            Some(new_tab) => self.accept(new_tab),
            None => Vec::new(),
        }
    }

    /// Stores the progress of reading all sessions; returns whether the results are outdated.
    pub(super) fn set_indexing(&mut self, done: usize, total: usize, finished: bool, read: usize) {
        self.indexing = (!finished).then_some((done, total));
        // A pending request is not repeated: that would restart it.
        let waits = self.found.current && !self.found.ready;
        if (finished && read > 0) || waits {
            self.ask(true);
        }
    }

    pub(super) fn set_preview(&mut self, path: &Path, preview: &Preview) {
        self.preview = Some((path.to_owned(), preview.clone()));
    }

    pub(super) fn set_deleted(&mut self, path: &Path, trashed: &Path) {
        self.deleted.push(trashed.to_owned());
        self.found
            .sessions
            .retain(|found| found.session.path != path);
        self.found.total = self.found.total.saturating_sub(1);
        let last = self.found.sessions.len().saturating_sub(1);
        self.selected = self.selected.min(last);
        self.status = Some("deleted".to_owned());
        self.refresh();
    }

    pub(super) fn refuse(&mut self, message: &str) {
        self.status = Some(message.to_owned());
    }

    pub(super) fn selected(&self) -> Option<&FoundSession> {
        self.found.sessions.get(self.selected)
    }

    pub(super) fn can_restore(&self) -> bool {
        !self.deleted.is_empty()
    }

    fn select(&mut self, place: usize) {
        self.selected = place.min(self.found.sessions.len().saturating_sub(1));
    }

    /// Opens the selected session; while the results for the query are pending, as soon as they
    /// arrive.
    fn accept(&mut self, new_tab: bool) -> Vec<Action> {
        let is_pending = !self.found.ready && self.found.sessions.is_empty();
        if !self.found.current || is_pending {
            self.hurried = Some(new_tab);
            return Vec::new();
        }
        let Some(found) = self.selected() else {
            return Vec::new();
        };
        let path = &found.session.path;
        let target = if self.joins {
            // A server accepts no paths.
            found.session.id.clone()
        } else {
            path.to_string_lossy().into_owned()
        };
        let is_elsewhere = matches!(found.state, SessionState::Elsewhere { .. });
        let action = match self.number_of(path) {
            None if is_elsewhere && !self.joins => Action::OfferInUse { target },
            _ => Action::OpenSession {
                stored: StoredSession {
                    target,
                    cwd: Some(found.session.cwd.clone()),
                    opening: Opening::Itself,
                },
                new_tab: new_tab || is_elsewhere,
            },
        };
        let hit = found.hit.as_ref().filter(|_| !new_tab);
        let entry = hit.and_then(|hit| hit.entry_id.clone());
        let shows = entry.map(|entry_id| {
            let words = self.query.text.clone();
            Action::ShowEntry((found.session.id.clone(), (entry_id, words)))
        });
        let actions = [Some(Action::CloseLayer), shows, Some(action)];
        actions.into_iter().flatten().collect()
    }

    /// Stores the sessions that are open here, with their tab numbers; `joins` is whether sessions that run elsewhere
    /// can be joined.
    pub(super) fn set_open(&mut self, open: Vec<(PathBuf, usize)>, joins: bool) {
        self.open = open;
        self.joins = joins;
    }

    /// The number of the open session that is stored there.
    pub(super) fn number_of(&self, path: &Path) -> Option<usize> {
        let found = self.open.iter().find(|(open, _)| open == path);
        found.map(|(_, number)| *number)
    }

    fn begin_naming(&mut self) {
        if let Some(found) = self.selected() {
            let name = found.session.name.clone().unwrap_or_default();
            self.naming = Some(LineInput::new(name));
        }
    }

    fn delete(&mut self) {
        let Some(path) = self.selected().map(|found| found.session.path.clone()) else {
            return;
        };
        if let Some(number) = self.number_of(&path) {
            // The session cannot be deleted, so there is no confirmation.
            self.status = Some(format!("open in tab {number}: close the tab first"));
        } else if matches!(
            self.selected().map(|found| found.state),
            Some(SessionState::Elsewhere { .. })
        ) {
            self.status = Some("open in another osier: close it there first".to_owned());
        } else if self.armed.as_ref() == Some(&path) {
            self.armed = None;
            self.tell(IndexOp::DeleteSession { path });
        } else {
            self.armed = Some(path);
        }
    }

    /// Pins or archives the selected session, or undoes that.
    fn mark(&mut self, mark: Mark) {
        // The results may not match the query yet.
        if !self.found.current {
            self.waiting = Some(mark);
            return;
        }
        let Some(found) = self.selected() else { return };
        let on = match mark {
            Mark::Pinned => !found.pinned,
            Mark::Archived => !found.archived,
        };
        let session = found.session.id.clone();
        self.status = Some(
            match (mark, on) {
                (Mark::Pinned, true) => "pinned to the top",
                (Mark::Pinned, false) => "unpinned",
                (Mark::Archived, true) => "archived: hidden from the list, not deleted",
                (Mark::Archived, false) => "unarchived",
            }
            .to_owned(),
        );
        self.tell(IndexOp::MarkSession { session, mark, on });
    }

    fn restore(&mut self) {
        if let Some(path) = self.deleted.pop() {
            self.tell(IndexOp::RestoreSession { path });
        }
    }

    /// Switches to the next order.
    fn sort(&mut self) {
        let place = Sort::ALL.iter().position(|sort| *sort == self.query.sort);
        let next = place.map_or(0, |place| (place + 1) % Sort::ALL.len());
        self.query.sort = Sort::ALL[next];
        self.ask_again();
    }

    /// A command for the line a name is typed in.
    fn on_naming(&mut self, command: Command) {
        let Some(mut line) = self.naming.take() else {
            return;
        };
        match command {
            Command::Accept => {
                if let Some(path) = self.selected().map(|found| found.session.path.clone()) {
                    let name = line.text().trim().to_owned();
                    self.tell(IndexOp::NameSession { path, name });
                }
                return;
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => return,
            command => {
                let _ = edit(&mut line, command);
            }
        }
        self.naming = Some(line);
    }

    fn on_list(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let here = self.selected;
        match command {
            Command::Up => self.select(here.saturating_sub(1)),
            Command::Down => self.select(here + 1),
            Command::PageUp => self.select(here.saturating_sub(self.page)),
            Command::PageDown => self.select(here + self.page),
            Command::First => self.select(0),
            Command::Last => self.select(usize::MAX),
            Command::Accept => cx.actions.extend(self.accept(false)),
            Command::SessionInTab => cx.actions.extend(self.accept(true)),
            Command::SessionWords => {
                self.query.in_words = !self.query.in_words;
                self.ask_again();
            }
            Command::SessionScope => {
                self.query.all = !self.query.all;
                self.ask_again();
            }
            Command::SessionNamed => {
                self.query.named = !self.query.named;
                self.ask_again();
            }
            Command::SessionArchived => {
                self.query.archived = !self.query.archived;
                self.ask_again();
            }
            Command::SessionPin => self.mark(Mark::Pinned),
            Command::SessionArchive => self.mark(Mark::Archived),
            Command::SessionSort => self.sort(),
            Command::SessionName => self.begin_naming(),
            Command::SessionDelete => self.delete(),
            Command::SessionRestore => self.restore(),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
            }
            command => {
                let before = self.input.text().len();
                if edit(&mut self.input, command) == Handled::No {
                    return Handled::No;
                }
                if self.input.text().len() != before {
                    self.ask_again();
                }
            }
        }
        Handled::Yes
    }

    fn insert(&mut self, text: &str) {
        self.status = None;
        self.armed = None;
        self.hurried = None;
        self.waiting = None;
        if let Some(line) = &mut self.naming {
            line.insert(text);
        } else {
            self.input.insert(text);
            self.ask_again();
        }
    }
}

impl Component<Command, Action> for SessionsView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.draw(area, buffer, view);
    }

    fn on_key(&mut self, key: KeyPress, _cx: &mut Cx<'_, Action>) -> Handled {
        if let Some(character) = key.typed() {
            self.insert(character.encode_utf8(&mut [0; 4]));
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, _cx: &mut Cx<'_, Action>) -> Handled {
        self.insert(text.lines().next().unwrap_or_default());
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        self.status = None;
        self.hurried = None;
        self.waiting = None;
        if self.naming.is_some() {
            self.on_naming(command);
            return Handled::Yes;
        }
        if command != Command::SessionDelete {
            self.armed = None;
        }
        self.on_list(command, cx)
    }

    fn context(&self) -> &'static str {
        "sessions"
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    fn typed(&self) -> Option<&str> {
        self.naming.is_none().then(|| self.input.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepting_before_the_index_is_read_opens_the_session_when_it_is_found() {
        let mut view = SessionsView::new();
        let nothing = Found {
            current: true,
            ..Found::default()
        };
        assert_eq!(view.set_found(view.request, nothing), []);
        assert_eq!(view.accept(true), []);
        view.set_indexing(1, 2, false, 1);
        let found = Found {
            sessions: vec![FoundSession::default()],
            total: 1,
            current: true,
            ready: true,
            ..Found::default()
        };
        let opens = Action::OpenSession {
            stored: StoredSession {
                target: String::new(),
                cwd: Some(String::new()),
                opening: Opening::Itself,
            },
            new_tab: true,
        };
        let actions = view.set_found(view.request, found);
        assert_eq!(actions, [Action::CloseLayer, opens]);
    }

    #[test]
    fn deleting_an_open_session_is_refused_without_a_question() {
        let mut view = SessionsView::new();
        let mut session = FoundSession::default();
        session.session.path = PathBuf::from("/s/1.jsonl");
        let found = Found {
            sessions: vec![session],
            total: 1,
            current: true,
            ready: true,
            ..Found::default()
        };
        view.set_found(view.request, found);
        view.set_open(vec![(PathBuf::from("/s/1.jsonl"), 2)], false);
        view.delete();
        assert_eq!(view.armed, None);
        assert_eq!(
            view.status.as_deref(),
            Some("open in tab 2: close the tab first")
        );
        view.set_open(Vec::new(), false);
        view.delete();
        assert!(view.armed.is_some());
    }

    /// The list shows old results while those of a new query load: the key means a session that is not there yet.
    #[test]
    fn mark_waits_for_the_results() {
        let results = |id: &str| {
            let mut session = FoundSession::default();
            session.session.id = id.to_owned();
            Found {
                sessions: vec![session],
                total: 1,
                current: true,
                ready: true,
                ..Found::default()
            }
        };
        let marked = |view: &mut SessionsView| {
            let ops = view.take_ops().into_iter();
            let marked = ops.filter_map(|op| match op {
                Op::Index(IndexOp::MarkSession { session, mark, on }) => Some((session, mark, on)),
                _ => None,
            });
            marked.collect::<Vec<_>>()
        };
        let mut view = SessionsView::new();
        view.set_found(view.request, results("old"));
        view.refresh();
        view.mark(Mark::Pinned);
        assert_eq!(marked(&mut view), []);
        view.set_found(view.request, results("new"));
        assert_eq!(marked(&mut view), [("new".to_owned(), Mark::Pinned, true)]);
        view.set_found(view.request, results("new"));
        assert_eq!(marked(&mut view), []);
    }
}
