//! The stored sessions: search by name or text, preview, rename, delete and
//! restore. The session searches; the view has one page of the results.

mod elsewhere;
mod in_use;
mod rows;
mod view;

use std::path::PathBuf;

use crate::actions::{Outbox, StoredSession, TabRequest, Toast};
use crate::conversation::Transcript;
use crate::drawing::Overlays;
use osier_agent::Severity;
use osier_base::{path, text};
use osier_protocol::{
    Description, Event, IndexEvent, IndexOp, Mark, Op, SessionContents, SessionElsewhere,
    SessionHolder, SessionInfo, SessionSummary,
};
use view::{Found, ID, SessionsView};

/// A session that was requested and could not be opened.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// Why it is not open.
    failure: Option<String>,
    /// The session that is open in another osier, and the process that holds it.
    in_use: Option<(String, Option<SessionHolder>)>,
    /// If this tab was opened for a fork: how the user can open the fork when the tab cannot.
    other_way: Option<String>,
    /// The newest sessions of this directory, for the start page.
    recent: Vec<SessionSummary>,
}

/// Sessions on the start page.
const RECENT: usize = 3;

impl Sessions {
    pub(crate) fn on_failed(&mut self, event: &Event, is_new_tab: bool, outbox: &mut Outbox) {
        if let Event::SessionFailed {
            message,
            in_use,
            holder,
        } = event
        {
            let in_use = in_use.as_deref().map(|target| (target, holder.as_ref()));
            self.set_failed(message, in_use, is_new_tab, outbox);
        }
    }

    /// Stores why the requested session could not be opened; the new session that replaces it shows
    /// the reason. A new tab without a session is closed.
    fn set_failed(
        &mut self,
        message: &str,
        in_use: Option<(&str, Option<&SessionHolder>)>,
        is_new_tab: bool,
        outbox: &mut Outbox,
    ) {
        let other_way = self.other_way.take();
        if is_new_tab && in_use.is_none() {
            let message = match other_way {
                Some(other_way) => format!("cannot open the fork: {message}; {other_way}"),
                None => message.to_owned(),
            };
            return outbox.push(TabRequest::Abandon { message });
        }
        self.failure = Some(message.to_owned()).filter(|_| in_use.is_none());
        self.in_use = in_use.map(|(target, holder)| (target.to_owned(), holder.cloned()));
        outbox.push(Op::NewSession);
    }

    /// Says that this tab opens a fork. If opening fails, the error contains `other_way`.
    pub(crate) fn expect_fork(&mut self, other_way: String) {
        self.other_way = Some(other_way);
    }

    /// Requests the newest sessions for the start page of a session without messages.
    pub(crate) fn begin(session: &SessionInfo, transcript: &Transcript, outbox: &mut Outbox) {
        if transcript.is_empty() && !session.id.is_empty() {
            // The open session may be in the list.
            let limit = Some(RECENT as u64 + 1);
            outbox.push(Op::ListSessions { all: false, limit });
        }
    }

    /// Stores the sessions of this directory, newest first, without the open one.
    pub(crate) fn set_recent(&mut self, sessions: &[SessionSummary], open: &SessionInfo) {
        let others = sessions.iter().filter(|session| session.id != open.id);
        self.recent = others.take(RECENT).cloned().collect();
    }

    pub(crate) fn recent(&self) -> &[SessionSummary] {
        &self.recent
    }

    /// Shows in the session that replaces it why the requested one is not open.
    pub(crate) fn show_failure(&mut self, transcript: &mut Transcript, overlays: &mut Overlays) {
        if let Some(message) = self.failure.take() {
            transcript.notice(Severity::Error, &message);
        }
        if let Some((target, holder)) = self.in_use.take() {
            offer_in_use(&target, holder.as_ref(), overlays);
        }
    }
}

/// The text that says how to open a stored fork, or how to remove its worktree.
pub(crate) fn other_way(fork: &StoredSession) -> String {
    let id = &fork.target;
    match &fork.cwd {
        Some(cwd) => format!(
            "it is stored: run `osier --resume {id}` in the worktree {cwd}, or remove that with `git worktree remove`"
        ),
        None => format!("it is stored: `osier --resume {id}`"),
    }
}

/// Asks what to do with a session that is open elsewhere.
pub(crate) fn offer_in_use(target: &str, holder: Option<&SessionHolder>, overlays: &mut Overlays) {
    overlays.push(in_use::ID, in_use::picker(target, holder));
}

/// Asks once what to do with a session of another directory.
pub(crate) fn offer_elsewhere(elsewhere: &SessionElsewhere, overlays: &mut Overlays) {
    overlays.push(elsewhere::ID, elsewhere::picker(elsewhere));
}

/// The requests of the open list to the session.
pub(crate) fn take_ops(overlays: &mut Overlays) -> Vec<Op> {
    view(overlays)
        .map(SessionsView::take_ops)
        .unwrap_or_default()
}

fn view(overlays: &mut Overlays) -> Option<&mut SessionsView> {
    overlays.find(ID)
}

/// Reports lines of the session file that cannot be read.
pub(crate) fn report_damage(
    contents: SessionContents,
    session: &SessionInfo,
    transcript: &mut Transcript,
) {
    if let Some(text) = contents.damage(session.path.as_deref()) {
        transcript.notice(Severity::Warning, &text);
    }
}

/// Opens the list of stored sessions; see [`mark_open`].
pub(crate) fn open(open: Vec<(PathBuf, usize)>, joins: bool, overlays: &mut Overlays) {
    overlays.push_modal(ID, SessionsView::new());
    mark_open(open, joins, overlays);
}

/// Tells the list which sessions are open here, and whether opening one joins it.
pub(crate) fn mark_open(open: Vec<(PathBuf, usize)>, joins: bool, overlays: &mut Overlays) {
    if let Some(view) = view(overlays) {
        view.set_open(open, joins);
    }
}

/// Applies an event of the session index.
pub(crate) fn on_event(
    event: &IndexEvent,
    transcript: &mut Transcript,
    overlays: &mut Overlays,
    outbox: &mut Outbox,
) {
    if let IndexEvent::SessionDescribed { description } = event {
        return transcript.notice(Severity::Info, &lines(description).join("\n"));
    }
    let Some(view) = view(overlays) else {
        if let IndexEvent::LibraryRefused { message } = event {
            outbox.push(Toast::error(message));
        }
        return;
    };
    match event {
        IndexEvent::SessionsFound {
            request,
            sessions,
            total,
            cut,
            ready,
        } => {
            let found = Found {
                sessions: sessions.clone(),
                total: *total,
                cut: *cut,
                ready: *ready,
                current: true,
            };
            for action in view.set_found(*request, found) {
                outbox.push(action);
            }
        }
        IndexEvent::Indexing {
            done,
            total,
            finished,
            read,
        } => view.set_indexing(*done, *total, *finished, *read),
        IndexEvent::SessionPreview { path, preview, .. } => view.set_preview(path, preview),
        IndexEvent::SessionsChanged => view.refresh(),
        IndexEvent::SessionDeleted { path, trashed } => view.set_deleted(path, trashed),
        IndexEvent::LibraryRefused { message } => view.refuse(message),
        IndexEvent::SessionDescribed { .. } | IndexEvent::SearchCancelled { .. } => {}
    }
}

/// Shows the facts of the open session.
pub(crate) fn describe(outbox: &mut Outbox) {
    outbox.push(IndexOp::DescribeSession);
    outbox.push(Op::GetUsage);
}

/// Pins or archives a session, or undoes that.
pub(crate) fn mark(session: &str, mark: Mark, on: bool, outbox: &mut Outbox) {
    let session = session.to_owned();
    outbox.push(IndexOp::MarkSession { session, mark, on });
    let text = match (mark, on) {
        (Mark::Pinned, true) => "pinned to the top of the session list",
        (Mark::Pinned, false) => "unpinned",
        (Mark::Archived, true) => "archived: hidden from the session list",
        (Mark::Archived, false) => "unarchived",
    };
    outbox.push(Toast::info(text));
}

/// The lines of `/session`.
fn lines(description: &Description) -> Vec<String> {
    let session = &description.session;
    let clean = |text: &str| text::single_line(&text::sanitize(text));
    let name = session
        .name
        .as_deref()
        .map_or("(no name)".to_owned(), clean);
    let stored = !session.path.as_os_str().is_empty();
    let path = if stored {
        format!(
            "{} ({} bytes)",
            path::below_home(&session.path),
            session.size
        )
    } else {
        "(not stored)".to_owned()
    };
    let mut lines = vec![
        format!("session {}: {name}", session.id),
        format!("file: {path}"),
        format!("directory: {}", clean(&session.cwd)),
        format!(
            "{}, {}, {}",
            text::counted(description.entries, "entry", "entries"),
            text::counted(description.branches, "branch", "branches"),
            text::counted(description.checkpoints, "checkpoint", "checkpoints")
        ),
    ];
    if stored {
        lines.push(format!(
            "{}, {}, {}",
            text::counted(session.prompts, "prompt", "prompts"),
            text::counted(session.answers, "answer", "answers"),
            text::counted(session.tool_calls, "tool call", "tool calls")
        ));
    }
    if let Some(parent) = &session.parent {
        lines.push(format!("forked from {}", clean(parent)));
    }
    for fork in &description.forks {
        lines.push(format!("fork {}: {}", fork.id, clean(&fork.list_title())));
    }
    if session.damaged > 0 {
        lines.push(format!("{} damaged lines (skipped)", session.damaged));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Effect;
    use osier_protocol::Opening;

    #[test]
    fn a_session_that_cannot_be_opened_is_replaced_by_one_that_offers_what_to_do() {
        let (mut sessions, mut overlays) = (Sessions::default(), Overlays::default());
        let mut outbox = Outbox::default();
        let mut transcript = Transcript::new(&std::sync::Arc::default());
        sessions.set_failed("in use", Some(("/s/1.jsonl", None)), true, &mut outbox);
        assert_eq!(outbox.take(), [Op::NewSession.into()]);
        sessions.show_failure(&mut transcript, &mut overlays);
        assert!(transcript.is_empty() && overlays.contains(in_use::ID));
        overlays.pop();
        sessions.show_failure(&mut transcript, &mut overlays);
        assert!(overlays.is_empty());
        sessions.set_failed("no such session", None, true, &mut outbox);
        let message = "no such session".to_owned();
        let closes = Effect::Tabs(TabRequest::Abandon { message });
        assert_eq!(outbox.take(), [closes.into()]);
        let fork = StoredSession {
            target: "0190".to_owned(),
            cwd: Some("/work-fork-1".to_owned()),
            opening: Opening::Itself,
        };
        sessions.expect_fork(other_way(&fork));
        sessions.set_failed("its file is damaged", None, true, &mut outbox);
        let message = "cannot open the fork: its file is damaged; it is stored: run `osier --resume 0190` in the worktree /work-fork-1, or remove that with `git worktree remove`".to_owned();
        let closes = Effect::Tabs(TabRequest::Abandon { message });
        assert_eq!(outbox.take(), [closes.into()]);
        sessions.set_failed("no such session", None, false, &mut outbox);
        sessions.show_failure(&mut transcript, &mut overlays);
        assert!(!transcript.is_empty() && overlays.is_empty());
    }
}
