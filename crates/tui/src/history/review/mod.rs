//! Review of file changes: requests and display.

mod verdicts;
mod view;

use crate::actions::{Outbox, Toast};
use crate::drawing::Overlays;
use crate::status::Footer;
use osier_protocol::{
    CheckpointEvent, CheckpointOp, CodeServerInfo, DiffRange, FileDiff, Reviewed,
};
use verdicts::Review;
pub(crate) use view::ID;
use view::{DiffView, Problems, title};

/// The last request for changes, of which only the answer is shown, and the reviews that are not
/// sent yet.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    request: u64,
    range: Option<DiffRange>,
    /// The file to select in the requested changes.
    path: Option<String>,
    /// The review of each range whose view is closed.
    reviews: Vec<(DiffRange, Review)>,
}

impl Changes {
    /// Requests the changes of a range.
    pub(crate) fn read(&mut self, range: DiffRange, outbox: &mut Outbox) {
        self.request += 1;
        self.path = None;
        self.range = Some(range.clone());
        outbox.push(CheckpointOp::ReadFileDiffs {
            request: self.request,
            range,
        });
    }

    /// Requests the changes of the session, to show those of a file.
    pub(crate) fn read_file(&mut self, path: String, outbox: &mut Outbox) {
        self.read(DiffRange::Session, outbox);
        self.path = Some(path);
    }

    /// Requests the changes again when they are shown: the files have changed.
    pub(crate) fn reload(&mut self, overlays: &mut Overlays, outbox: &mut Outbox) {
        if diff_view(overlays).is_some()
            && let Some(range) = self.range.clone()
        {
            self.read(range, outbox);
        }
    }

    /// Shows requested changes; requests the shown ones again after files were restored. `has_branch`: the working
    /// directory is in a repository.
    pub(crate) fn on_event(
        &mut self,
        event: &CheckpointEvent,
        footer: &Footer,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        match event {
            CheckpointEvent::FilesRestored { .. } => self.reload(overlays, outbox),
            // A newer request replaces an older one.
            CheckpointEvent::FileDiffs {
                request,
                range,
                known,
                files,
            } if *request == self.request => {
                let shown = Shown {
                    range,
                    known: *known,
                    files,
                    servers: &footer.code_servers,
                };
                self.store_review(overlays);
                let review = self.take_review(range);
                let has_branch = footer.branch.is_some();
                if let Some(review) = shown.show(review, has_branch, overlays, outbox) {
                    self.reviews.push((range.clone(), review));
                }
                if let (Some(path), Some(view)) = (self.path.take(), diff_view(overlays)) {
                    view.select_file(&path);
                }
            }
            _ => {}
        }
    }

    /// Closes the layer in front. The review of the view stays until it is sent.
    pub(crate) fn close_layer(&mut self, overlays: &mut Overlays, outbox: &mut Outbox) {
        if overlays.top() != Some(ID) {
            overlays.pop();
            return;
        }
        if let Some(view) = diff_view(overlays) {
            let summary = view.review().summary();
            if let Some(parts) = summary.trim().strip_prefix("· ") {
                outbox.push(Toast::info(format!("review not sent yet: {parts}")));
            }
        }
        self.store_review(overlays);
        overlays.remove(ID);
    }

    /// Forgets the reviews of another session.
    pub(crate) fn forget_reviews(&mut self) {
        self.reviews.clear();
    }

    /// Sends a review; rejected changes wait while a run may edit the same files.
    pub(crate) fn send(
        pieces: Vec<Reviewed>,
        is_idle: bool,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        if pieces.is_empty() {
            let text = "nothing to send: reject or comment a change first";
            return outbox.push(Toast::info(text));
        }
        if pieces.iter().any(|piece| piece.rejected) && !is_idle {
            let text = "the model is running: wait, or stop it with esc, then send the review";
            return outbox.push(Toast::error(text));
        }
        overlays.remove(ID);
        let op = CheckpointOp::Review { pieces, tell: true };
        outbox.push(op);
    }

    /// Stores the review of the open view.
    fn store_review(&mut self, overlays: &mut Overlays) {
        if let Some(view) = diff_view(overlays) {
            let (range, review) = view.take_review();
            self.reviews.push((range, review));
        }
    }

    fn take_review(&mut self, range: &DiffRange) -> Review {
        let place = self.reviews.iter().position(|(of, _)| of == range);
        place.map_or_else(Review::default, |place| self.reviews.swap_remove(place).1)
    }
}

/// The changes that were requested.
#[derive(Debug)]
struct Shown<'a> {
    range: &'a DiffRange,
    known: bool,
    files: &'a [FileDiff],
    servers: &'a [CodeServerInfo],
}

impl Shown<'_> {
    /// Opens the overlay with a review, or updates the open one; returns the review if there is nothing to show.
    fn show(
        &self,
        review: Review,
        has_branch: bool,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) -> Option<Review> {
        let Self {
            range,
            known,
            files,
            servers,
        } = *self;
        // When switching ranges, an empty range is shown, so that the user can switch further.
        let before = diff_view(overlays);
        let continues = before.is_some();
        let had_git = before.is_some_and(|view| view.has_git());
        let has_something = !files.is_empty() || !review.pieces().is_empty();
        if continues || known && has_something {
            let compares_with_git = known && *range == DiffRange::Head;
            let has_git = had_git || compares_with_git || has_branch;
            let mut view = DiffView::new(range.clone(), has_git, files.to_vec(), review);
            if let Some(before) = diff_view(overlays) {
                view = view.continuing(before);
            }
            view.problems = Problems::of(servers);
            overlays.remove(ID);
            overlays.push_modal(ID, view);
            return None;
        }
        overlays.remove(ID);
        let text = if known {
            format!("no files changed {}", title(range))
        } else {
            format!("no file changes were recorded {}", title(range))
        };
        let is_error = !known;
        outbox.push(Toast { text, is_error });
        (!known).then_some(review)
    }
}

fn diff_view(overlays: &mut Overlays) -> Option<&mut DiffView> {
    overlays.find(ID)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Action;

    fn rejected() -> Vec<Reviewed> {
        vec![Reviewed {
            path: "a".to_owned(),
            hunk: "@@".to_owned(),
            rejected: true,
            comment: String::new(),
            outdated: false,
        }]
    }

    #[test]
    fn only_the_answer_to_the_last_request_is_shown() {
        let (mut changes, mut overlays) = (Changes::default(), Overlays::default());
        let mut outbox = Outbox::default();
        changes.read(DiffRange::Session, &mut outbox);
        changes.read(DiffRange::Head, &mut outbox);
        assert_eq!(outbox.take().len(), 2);
        for (request, shown) in [(1, 0), (2, 1)] {
            let event = CheckpointEvent::FileDiffs {
                request,
                range: DiffRange::Head,
                known: true,
                files: Vec::new(),
            };
            changes.on_event(&event, &Footer::default(), &mut overlays, &mut outbox);
            assert_eq!(outbox.take().len(), shown);
        }
        changes.reload(&mut overlays, &mut outbox);
        assert_eq!(outbox.take(), []);
    }

    #[test]
    fn a_review_with_rejected_changes_is_sent_when_nothing_runs() {
        let (mut overlays, mut outbox) = (Overlays::default(), Outbox::default());
        Changes::send(rejected(), false, &mut overlays, &mut outbox);
        assert!(matches!(outbox.take()[..], [Action::Toast(_)]));
        Changes::send(rejected(), true, &mut overlays, &mut outbox);
        assert_eq!(outbox.take().len(), 1);
    }
}
