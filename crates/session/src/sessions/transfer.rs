//! Import and export of sessions, in the background.

use std::path::PathBuf;
use std::sync::Arc;

use crate::emitter::{Callback, Emitter};
use crate::safety::known_secrets;
use crate::setup::SessionSetup;
use osier_agent::Severity;
use osier_base::path::resolve;
use osier_protocol::{Event, Imported, TransferEvent};
use osier_store::{Reading, SessionStore};
use osier_transfer::{ExportOptions, ImportOptions, TransferError};

/// Writes a session to `path`, which is relative to `cwd`, and publishes the outcome.
pub(crate) fn export(
    store: &SessionStore,
    setup: &SessionSetup,
    path: Option<String>,
    options: ExportOptions,
    emitter: &Emitter,
) {
    let (store, emitter) = (store.clone(), emitter.clone());
    let cwd = setup.cwd.clone();
    let (folders, environment) = (setup.folders.clone(), Arc::clone(&setup.environment));
    osier_base::task::spawn(async move {
        // An error of the file was published when the session was opened.
        let _ = store.findings().await;
        let written = osier_base::task::spawn_blocking(move || {
            known_secrets::remember(&folders, &environment);
            let reading = Reading::of(store.header().clone(), store.index());
            let path = path.map(|path| resolve(&cwd, &path));
            osier_transfer::export(&reading, &cwd, path.as_deref(), &options)
        });
        match written.await {
            Ok(Ok(exported)) => emitter.post(Event::Transfer(TransferEvent::SessionExported {
                exported: Box::new(exported),
            })),
            Ok(Err(error)) => fail(&error, &emitter),
            Err(error) => emitter.post_notice(Severity::Error, error.to_string()),
        }
    });
}

/// Imports the session `path`, which is relative to `cwd`, into the data directory `data`.
pub(crate) fn import(
    data: PathBuf,
    cwd: PathBuf,
    path: &str,
    options: ImportOptions,
    emitter: &Emitter,
    done: Callback<Imported>,
) {
    let (path, emitter) = (resolve(&cwd, path), emitter.clone());
    osier_base::task::spawn_blocking(move || {
        match osier_transfer::import(&data, &cwd, &path, options) {
            Ok(imported) => done.call(imported),
            Err(error) => fail(&error, &emitter),
        }
    });
}

fn fail(error: &TransferError, emitter: &Emitter) {
    let hint = error.hint().map(|hint| format!("; {hint}"));
    let text = format!("{error}{}", hint.unwrap_or_default());
    emitter.post_notice(Severity::Error, text);
}
