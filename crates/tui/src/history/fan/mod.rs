//! Several models that answer a prompt side by side.

mod view;

use std::time::Instant;

use crate::conversation::Transcript;
use crate::drawing::Overlays;
use crate::history::checkpoints;
use crate::status::{Activity, Footer};
use osier_agent::Severity;
use osier_base::path;
use osier_protocol::TreeEvent;
use view::FanView;

/// Applies the events of the models.
pub(crate) fn on_event(
    event: &TreeEvent,
    transcript: &mut Transcript,
    activity: &mut Activity,
    footer: &mut Footer,
    overlays: &mut Overlays,
    now: Instant,
) {
    match event {
        TreeEvent::FanStarted { models } => {
            activity.begin(now);
            let view = FanView::new(models);
            overlays.push_modal(view::ID, view);
        }
        TreeEvent::LaneUpdate { state } => {
            if let Some(view) = fan_view(overlays) {
                view.set_lane(state);
            }
        }
        TreeEvent::FanEnded { lanes } => {
            // The copies of a fan may be removed long after it has ended.
            if fan_view(overlays).is_none() {
                return;
            }
            activity.end();
            footer.add_lanes(lanes);
            if lanes.is_empty() {
                overlays.remove(view::ID);
            } else if let Some(view) = fan_view(overlays) {
                for state in lanes {
                    view.set_lane(state);
                }
                view.end();
            }
        }
        TreeEvent::LaneTaken { files, kept, .. } => {
            overlays.remove(view::ID);
            let kept = kept.as_ref().map_or_else(String::new, |kept| {
                format!(
                    "; overwritten files are saved in {}",
                    path::below_home(kept)
                )
            });
            let text = format!("applied: {} written{kept}", checkpoints::files(files.len()));
            transcript.notice(Severity::Info, &text);
        }
        TreeEvent::LaneConflicts { files, .. } => {
            if let Some(view) = fan_view(overlays) {
                view.set_conflicts(files);
            }
        }
        _ => {}
    }
}

fn fan_view(overlays: &mut Overlays) -> Option<&mut FanView> {
    overlays.find(view::ID)
}
