//! Subagents: their list, and the page with the conversation of one. The states and conversations come from the session.

mod page;
mod panel;

use std::time::{Duration, Instant};

use crate::actions::Outbox;
use crate::conversation::Transcript;
use crate::drawing::Overlays;
use crate::status::Footer;
use osier_protocol::{Event, Op, SubagentInfo};
use page::Page;
use panel::Panel;

/// Opens the list.
pub(crate) fn open(overlays: &mut Overlays, outbox: &mut Outbox, now: Instant) {
    overlays.push(panel::ID, Panel::new(now));
    outbox.push(Op::ListSubagents);
}

impl Transcript {
    /// Opens the page of a subagent, with the text that was typed there before.
    pub(crate) fn open_page(
        &self,
        info: &SubagentInfo,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
        now: Instant,
    ) {
        let draft = self.subagent_draft(&info.id);
        overlays.push(page::ID, Page::new(info.clone(), &draft, now));
        outbox.push(Op::FollowSubagent {
            subagent: info.id.clone(),
        });
        outbox.push(Op::ListSubagents);
    }
}

/// Shows news in the open list and on the open page. The footer counts those that run.
pub(crate) fn on_event(event: &Event, footer: &mut Footer, overlays: &mut Overlays, now: Instant) {
    if let Event::Subagents { subagents } = event {
        footer.subagents = panel::active(subagents);
        if let Some(panel) = overlays.find::<Panel>(panel::ID) {
            panel.set(subagents, now);
        }
    }
    if let Some(page) = overlays.find::<Page>(page::ID) {
        page.on_event(event, now);
    }
}

/// Whether the page in front shows the subagent that asks, and nothing is typed there.
pub(crate) fn is_asked_on_page(event: &Event, overlays: &mut Overlays) -> bool {
    if overlays.top() != Some(page::ID) {
        return false;
    }
    let page = overlays.find::<Page>(page::ID);
    match event {
        Event::QuestionAsked { question } => {
            page.is_some_and(|page| page.is_asked(question.subagent.as_deref()))
        }
        _ => false,
    }
}

/// When the time of a running subagent changes.
pub(crate) fn next_change(active: usize, now: Instant) -> Option<Instant> {
    (active > 0).then(|| now + Duration::from_secs(1))
}
