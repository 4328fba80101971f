//! Import and export of sessions, in the background.

use std::fmt::Display;
use std::sync::Arc;

use crate::cx::Cx;
use crate::emitter::{Callback, Emitter};
use crate::run_log;
use crate::safety::known_secrets;
use osier_agent::Severity;
use osier_base::path::resolve;
use osier_peers::import::{ImportOptions, import};
use osier_protocol::{Event, Imported, TransferEvent, TransferOp};
use osier_store::Reading;
use osier_transfer::ExportOptions;

/// Handles a request about import and export. `done` gets an imported session, and whether to open it.
pub(crate) fn handle(op: TransferOp, cx: Cx<'_>, done: Callback<(Imported, bool)>) {
    match op {
        TransferOp::ExportSession {
            path,
            format,
            scope,
            theme,
            force,
            log,
        } => {
            let options = ExportOptions {
                format,
                scope,
                force,
                themes: cx.setup.html_themes.clone(),
                theme,
                log: None,
            };
            export(path, options, log, cx);
        }
        TransferOp::ImportSession { path, again, open } => {
            let (data, cwd) = (cx.setup.folders.data.clone(), cx.setup.cwd.clone());
            let emitter = cx.emitter.clone();
            osier_base::task::spawn_blocking(move || {
                let path = resolve(&cwd, &path);
                match import(&data, &cwd, &path, ImportOptions { again }) {
                    Ok(imported) => done.call((imported, open)),
                    Err(error) => fail(&error, error.hint(), &emitter),
                }
            });
        }
    }
}

/// Writes the open session to `path`, which is relative to the working directory, and publishes the outcome.
fn export(path: Option<String>, mut options: ExportOptions, log: bool, cx: Cx<'_>) {
    let Some(session) = cx.needs_session() else {
        return;
    };
    let (store, emitter) = (session.store.clone(), cx.emitter.clone());
    let (cwd, folders) = (cx.setup.cwd.clone(), cx.setup.folders.clone());
    let environment = Arc::clone(&cx.setup.environment);
    osier_base::task::spawn(async move {
        // An error of the file was published when the session was opened.
        let _ = store.findings().await;
        let written = osier_base::task::spawn_blocking(move || {
            known_secrets::remember(&folders, &environment);
            options.log = log.then(|| run_log::read(&folders.outputs().join(&store.header().id)));
            let reading = Reading::of(store.header().clone(), store.index());
            let path = path.map(|path| resolve(&cwd, &path));
            osier_transfer::export(&reading, &cwd, path.as_deref(), &options)
        });
        match written.await {
            Ok(Ok(exported)) => emitter.post(Event::Transfer(TransferEvent::SessionExported {
                exported: Box::new(exported),
            })),
            Ok(Err(error)) => fail(&error, error.hint(), &emitter),
            Err(error) => emitter.post_notice(Severity::Error, error.to_string()),
        }
    });
}

fn fail(error: &impl Display, hint: Option<&str>, emitter: &Emitter) {
    let hint = hint.map(|hint| format!("; {hint}"));
    let text = format!("{error}{}", hint.unwrap_or_default());
    emitter.post_notice(Severity::Error, text);
}
