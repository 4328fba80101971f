//! The working tree compared with the current git commit. It needs no session.

use std::path::Path;

use crate::emitter::Emitter;
use osier_agent::Severity;
use osier_checkpoint::working_tree::against_head;
use osier_protocol::{CheckpointEvent, DiffRange, Event};

/// Publishes the differences between `cwd` and `HEAD`.
pub(crate) fn compare_with_head(request: u64, cwd: &Path, emitter: &Emitter) {
    let (cwd, emitter) = (cwd.to_owned(), emitter.clone());
    osier_base::task::spawn(async move {
        let found = match against_head(&cwd).await {
            Ok(found) => found,
            Err(error) => return emitter.post_notice(Severity::Warning, error.to_string()),
        };
        if found.more > 0 {
            let text = format!(
                "{} more files differ from HEAD and are not shown: commit some, or add generated files \
                 to `.gitignore`",
                found.more
            );
            emitter.post_notice(Severity::Warning, text);
        }
        emitter.post(Event::Checkpoint(CheckpointEvent::FileDiffs {
            request,
            range: DiffRange::Head,
            known: true,
            files: found.files,
        }));
    });
}
