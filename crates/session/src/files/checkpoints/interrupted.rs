//! Finishes a change of files that another osier began in this directory and did not complete.

use std::path::PathBuf;

use super::{SessionFiles, background};
use crate::emitter::Emitter;
use osier_agent::Severity;
use osier_base::text::counted;
use osier_checkpoint::{Checkpoint, CheckpointStore, Interrupted, Moment, StateId};
use osier_store::SessionStore;

/// Finishes the change, if there is one, and reports it. `files` is the open session. Without an interrupted change it
/// makes one system call.
pub(crate) async fn finish_interrupted(
    store: &CheckpointStore,
    files: Option<&SessionFiles>,
    emitter: &Emitter,
) {
    if !store.is_interrupted() {
        return;
    }
    let resuming = store.clone();
    let found = match background(move || resuming.resume()).await {
        Ok(Some(found)) => found,
        Ok(None) => return,
        Err(text) => return emitter.post_notice(Severity::Warning, text),
    };
    let recorded = match found.before {
        Some(before) => record(store, files, &found, before).await,
        None => Ok(false),
    };
    let is_recorded = matches!(recorded, Ok(true));
    let mut text = describe(&found, is_recorded);
    if let Err(error) = recorded {
        text.push_str("; it was not recorded: ");
        text.push_str(&error);
    }
    emitter.post_notice(Severity::Warning, text);
    // A change that is not finished here is reported again by the next session, which can record
    // it.
    if is_recorded || found.is_complete() || found.undone {
        found.finish();
    }
}

/// Records the files in the open session and in the session that requested the change. Returns
/// whether the open session can undo the change.
async fn record(
    store: &CheckpointStore,
    files: Option<&SessionFiles>,
    found: &Interrupted,
    before: StateId,
) -> Result<bool, String> {
    let capturing = store.clone();
    let state = background(move || capturing.capture()).await?.id;
    let checkpoint = Checkpoint {
        state,
        moment: Moment::Restore,
        by_hand: found.by_hand.clone(),
        since: None,
        from: Some(before),
        step: None,
    };
    let own = files.and_then(|files| files.session.path());
    let owner = found.session.as_ref().map(PathBuf::from);
    let owner = owner.filter(|owner| Some(owner.as_path()) != own);
    // The requesting session may be open elsewhere, or deleted.
    let owner = osier_base::task::spawn_blocking(move || {
        owner.and_then(|path| SessionStore::open(&path).ok())
    });
    let owner = owner.await.ok().flatten();
    if let Some((session, _)) = &owner {
        let appended = session.append_on_branch(None, checkpoint.entry()).await;
        let _ = session.close().await;
        appended.map_err(|error| error.to_string())?;
    }
    let Some(files) = files else {
        return Ok(false);
    };
    files.append(None, &checkpoint).await?;
    files.checkpointer.moved(state);
    if owner.is_none() {
        // No other session refers to the state, so this entry must reach the disk.
        let flushed = files.session.flush().await;
        flushed.map_err(|error| error.to_string())?;
    }
    Ok(true)
}

fn describe(found: &Interrupted, is_recorded: bool) -> String {
    let files = counted(found.files, "file", "files");
    let reason = found.left.first().map_or_else(String::new, |left| {
        let path = osier_base::text::single_line(&left.path);
        let others = match found.left.len() {
            1 => String::new(),
            several => format!(", and {} more", several - 1),
        };
        format!("; left alone: `{path}` ({}){others}", left.reason)
    });
    let undo = if is_recorded {
        "; `/restore undo` restores the files from before"
    } else if found.is_complete() || found.undone {
        ""
    } else {
        "; open a session that is stored here, and use `/restore undo`"
    };
    if let Some(reason) = &found.unknown {
        return format!(
            "an interrupted change of files in this directory cannot be completed: {reason}{undo}"
        );
    }
    let state = if found.undone {
        "was undone".to_owned()
    } else if found.is_complete() {
        "is complete now".to_owned()
    } else {
        format!("has changed {} of them", found.changed)
    };
    format!("an interrupted change of {files} in this directory {state}{reason}{undo}")
}
