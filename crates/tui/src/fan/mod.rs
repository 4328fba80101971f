//! Several models that answer a prompt side by side.

mod view;

use std::time::Instant;

use crate::activity::Work;
use crate::app::App;
use crate::checkpoints;
use crate::overlays::Overlays;
use osier_agent::Severity;
use osier_base::path;
use osier_protocol::TreeEvent;
use view::FanView;

impl App {
    /// Applies the events of the models.
    pub(crate) fn on_fan(&mut self, event: &TreeEvent, now: Instant) {
        match event {
            TreeEvent::FanStarted { models } => {
                self.activity.work = Work::Working { since: now };
                let view = FanView::new(models);
                self.layers.push_modal(view::ID, view);
            }
            TreeEvent::LaneUpdate { state } => {
                if let Some(view) = fan_view(&mut self.layers) {
                    view.set_lane(state);
                }
            }
            TreeEvent::FanEnded { lanes } => {
                // Its copies may be removed long after it has ended.
                if fan_view(&mut self.layers).is_none() {
                    return;
                }
                self.activity.work = Work::Idle;
                if lanes.is_empty() {
                    self.layers.remove(view::ID);
                } else if let Some(view) = fan_view(&mut self.layers) {
                    for state in lanes {
                        view.set_lane(state);
                    }
                    view.end();
                }
            }
            TreeEvent::LaneTaken { files, kept, .. } => {
                self.layers.remove(view::ID);
                let kept = kept.as_ref().map_or_else(String::new, |kept| {
                    format!(
                        "; overwritten files are saved in {}",
                        path::below_home(kept)
                    )
                });
                let text = format!("applied: {} written{kept}", checkpoints::files(files.len()));
                self.transcript.notice(Severity::Info, &text);
            }
            TreeEvent::LaneConflicts { files, .. } => {
                if let Some(view) = fan_view(&mut self.layers) {
                    view.set_conflicts(files);
                }
            }
            _ => {}
        }
    }
}

fn fan_view(overlays: &mut Overlays) -> Option<&mut FanView> {
    overlays.get_mut(view::ID)?.as_any()?.downcast_mut()
}
