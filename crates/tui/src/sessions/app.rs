//! Stored sessions in the app: opens their list and applies events to it.

use std::time::Instant;

use super::view::Found;
use super::{ID, SessionsView, in_use};
use crate::app::App;
use crate::overlays::Overlays;
use osier_agent::Severity;
use osier_base::{path, text};
use osier_protocol::{Description, IndexEvent, IndexOp, Op};

/// Asks what to do with a session that is open elsewhere.
pub(crate) fn offer_in_use(target: &str, overlays: &mut Overlays) {
    overlays.push(in_use::ID, in_use::picker(target));
}

/// The requests of the open list to the host.
pub(crate) fn take_ops(overlays: &mut Overlays) -> Vec<Op> {
    view(overlays)
        .map(SessionsView::take_ops)
        .unwrap_or_default()
}

fn view(overlays: &mut Overlays) -> Option<&mut SessionsView> {
    overlays.get_mut(ID)?.as_any()?.downcast_mut()
}

impl App {
    /// Opens the list of stored sessions.
    pub(crate) fn open_sessions(&mut self) {
        self.layers.push_modal(ID, SessionsView::new());
        self.mark_open_sessions();
    }

    /// Tells the list which sessions are open here.
    pub(crate) fn mark_open_sessions(&mut self) {
        let entries = self.summaries.entries.iter();
        let open = entries.filter_map(|entry| Some((entry.path.clone()?.into(), entry.number)));
        let (open, joins) = (open.collect(), self.footer.line.is_some());
        if let Some(view) = view(&mut self.layers) {
            view.set_open(open, joins);
        }
    }

    pub(crate) fn on_library(&mut self, event: &IndexEvent, now: Instant) {
        if let IndexEvent::SessionDescribed { description } = event {
            for line in lines(description) {
                self.transcript.notice(Severity::Info, &line);
            }
            return;
        }
        let Some(view) = view(&mut self.layers) else {
            if let IndexEvent::LibraryRefused { message } = event {
                self.activity.toast(message, true, now);
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
                let actions = view.set_found(*request, found);
                self.actions.extend(actions);
                self.apply_actions(now);
            }
            IndexEvent::Indexing {
                done,
                total,
                finished,
                read,
            } => view.set_indexing((*done, *total), *finished, *read),
            IndexEvent::SessionPreview { path, preview, .. } => view.set_preview(path, preview),
            IndexEvent::SessionsChanged => view.refresh(),
            IndexEvent::SessionDeleted { path, trashed } => view.set_deleted(path, trashed),
            IndexEvent::LibraryRefused { message } => view.refuse(message),
            IndexEvent::SessionDescribed { .. } => {}
        }
    }

    /// Tells about the open session.
    pub(crate) fn show_session(&mut self) {
        self.ops.push(Op::Index(IndexOp::DescribeSession));
        self.ops.push(Op::GetUsage);
    }
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
            "{} entries, {} branches, {} checkpoints",
            description.entries, description.branches, description.checkpoints
        ),
    ];
    if stored {
        lines.push(format!(
            "{} prompts, {} answers, {} tool calls",
            session.prompts, session.answers, session.tool_calls
        ));
    }
    if let Some(parent) = &session.parent {
        lines.push(format!("forked from {}", clean(parent)));
    }
    for fork in &description.forks {
        lines.push(format!("fork {}: {}", fork.id, clean(fork.title())));
    }
    if session.damaged > 0 {
        lines.push(format!("{} damaged lines (skipped)", session.damaged));
    }
    lines
}
