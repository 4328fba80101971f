//! The subagents of the session in the cells of their calls.

use std::time::{Duration, Instant};

use super::cell::Body;
use super::state::Transcript;
use super::tool::ToolCell;
use crate::actions::SubagentDraft;
use osier_protocol::SubagentInfo;

/// Cells that are searched for the call of a subagent that is not running any more.
const RECENT: usize = 256;

impl Transcript {
    /// Shows the states of subagents. Returns whether a cell changed.
    pub(super) fn set_subagents(&mut self, infos: &[SubagentInfo]) -> bool {
        let before = std::mem::take(&mut self.subagents.infos);
        let is_new = |info: &&SubagentInfo| before.iter().all(|known| known != *info);
        let changed: Vec<SubagentInfo> = infos.iter().filter(is_new).cloned().collect();
        self.subagents.infos = infos.to_vec();
        self.subagents.counted = None;
        for info in &changed {
            self.show_subagent(info, Duration::ZERO);
        }
        !changed.is_empty()
    }

    /// The cell of a call was added: it shows its subagent.
    pub(super) fn show_subagent_of(&mut self, call_id: &str) {
        let mut infos = self.subagents.infos.iter();
        if let Some(info) = infos.find(|info| info.call_id == call_id).cloned() {
            self.show_subagent(&info, Duration::ZERO);
        }
    }

    /// Counts the time of running subagents. Returns whether a second has passed.
    pub(crate) fn count_subagents(&mut self, now: Instant) -> bool {
        let active = self.subagents.infos.iter().filter(|info| info.is_active());
        let active: Vec<SubagentInfo> = active.cloned().collect();
        if active.is_empty() {
            return false;
        }
        let since = *self.subagents.counted.get_or_insert(now);
        let since = now.saturating_duration_since(since);
        let mut changed = false;
        for info in &active {
            changed |= self.show_subagent(info, Duration::from_secs(since.as_secs()));
        }
        changed
    }

    /// The text that was typed on the page of a subagent and not sent.
    pub(crate) fn subagent_draft(&self, id: &str) -> String {
        let draft = self.subagents.drafts.get(id);
        draft.cloned().unwrap_or_default()
    }

    pub(crate) fn keep_subagent_draft(&mut self, draft: SubagentDraft) {
        self.subagents.drafts.insert(draft.subagent, draft.text);
    }

    /// The subagent of the picked call.
    pub(super) fn picked_subagent(&self) -> Option<SubagentInfo> {
        match &self.strip().cells[self.picked_cell()?].body {
            Body::Tool(tool) => tool.subagent.as_deref().map(|(info, _)| info.clone()),
            _ => None,
        }
    }

    /// The cell of a call that has ended.
    fn ended_call(&self, call_id: &str) -> Option<usize> {
        let cells = self.near.cells.iter().rev().take(RECENT);
        let back = cells.enumerate().find(|(_, cell)| cell.is_call(call_id));
        back.map(|(back, _)| self.near.cells.len() - 1 - back)
    }

    fn show_subagent(&mut self, info: &SubagentInfo, since: Duration) -> bool {
        let of_running = self.near.calls.get(&info.call_id).copied();
        let Some(place) = of_running.or_else(|| self.ended_call(&info.call_id)) else {
            return false;
        };
        let shown = Some(Box::new((info.clone(), since)));
        let is_shown = |body: &Body| matches!(body, Body::Tool(tool) if tool.subagent == shown);
        if self
            .near
            .cells
            .get(place)
            .is_none_or(|cell| is_shown(&cell.body))
        {
            return false;
        }
        self.near
            .change_tool(place, |cell: &mut ToolCell| cell.subagent = shown);
        true
    }
}
