//! The files of lanes that have ended: their branches have them when the copies are gone.

use std::path::{Path, PathBuf};

use super::{SessionFiles, background, last};
use osier_checkpoint::{Checkpoint, CheckpointError, Moment, StateId};

impl SessionFiles {
    /// The state of the working directory, and the one with `paths` as they are in the copy `source`. Blocks.
    ///
    /// # Errors
    /// The files cannot be read or stored.
    pub(crate) fn capture_copy(
        &self,
        source: &Path,
        paths: &[PathBuf],
        base: Option<StateId>,
    ) -> Result<(StateId, StateId), CheckpointError> {
        let base = match base {
            Some(base) => base,
            None => self.files.capture()?.id,
        };
        let copy = self.files.capture_with(base, source, paths)?;
        Ok((base, copy))
    }

    /// Records the files of lanes that have ended below their branches, so that a branch has its files when the copies are
    /// gone. `before` are the states of the working directory and of the lanes when they began.
    pub(crate) async fn record_lanes(
        &self,
        before: (StateId, StateId),
        lanes: Vec<(String, StateId)>,
    ) -> Result<(), String> {
        let latest = last(self.session.index());
        let checkpoint = |state, moment| Checkpoint {
            state,
            moment,
            by_hand: Vec::new(),
            since: None,
            from: None,
            step: None,
        };
        self.append(None, &checkpoint(before.0, Moment::Before))
            .await?;
        for (tip, state) in lanes {
            let turn = self.session.index().turn(&tip).map(|turn| turn.prompt);
            let begun = checkpoint(before.1, Moment::Before);
            self.append(turn.as_deref(), &begun).await?;
            self.append(Some(&tip), &checkpoint(state, Moment::After))
                .await?;
        }
        // The state recorded last is that of the working directory, with what other programs changed.
        let files = self.files.clone();
        let present = background(move || {
            let present = files.capture()?.id;
            Ok(Checkpoint::before(&files, present, latest))
        });
        let present = present.await?;
        self.append(None, &present).await?;
        self.checkpointer.moved(present.state);
        Ok(())
    }
}
