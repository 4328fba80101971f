//! Scripted models: `demo/tour`, and `script/FILE` for tests and benchmarks.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::placeholder::{NO_MODEL, NONE};
use super::tour;
use crate::setup::SessionSetup;
use osier_base::leftovers::TemporaryFolder;
use osier_base::{path, regular_file};
use osier_llm::Model;
use osier_llm::catalogue::Catalogue;
use osier_llm::scripted::{Script, ScriptedProvider};

/// Provider name of models that play a file.
pub(super) const SCRIPT_PROVIDER: &str = "script";
/// `PROVIDER/ID` of the tour.
pub const TOUR: &str = "demo/tour";
pub const DEMO_PROVIDER: &str = "demo";

/// Whether a session plays models of this provider only if the user has selected them.
pub(super) fn must_be_selected(provider: &str) -> bool {
    matches!(provider, SCRIPT_PROVIDER | DEMO_PROVIDER)
}

/// A provider that finds the script of a model when it is first called. The sample project of the demo exists
/// as long as the provider.
pub(super) fn provider(cwd: &Path) -> ScriptedProvider {
    let cwd = cwd.to_owned();
    let scratch: Arc<Mutex<Vec<TemporaryFolder>>> = Arc::default();
    ScriptedProvider::default().with_loader(Arc::new(move |model: &Model| {
        if model.reference() == TOUR {
            let (script, folder) = tour::of_session(&cwd)
                .map_err(|error| format!("cannot create the files of the demo: {error}"))?;
            scratch.lock().extend(folder);
            return Ok(script);
        }
        if model.provider == NONE {
            return Err(NO_MODEL.to_owned());
        }
        read(&file_of(&cwd, model))
    }))
}

/// Parses a script, so that errors are reported before it runs.
pub(super) fn check(cwd: &Path, model: &Model) -> Result<(), String> {
    if model.provider == SCRIPT_PROVIDER {
        read(&file_of(cwd, model)).map(drop)
    } else {
        Ok(())
    }
}

/// The model of a session for which nothing is selected.
pub(super) fn default_of(catalogue: &Catalogue, setup: &SessionSetup) -> Option<Arc<Model>> {
    // A script must not look like the answer of a model.
    let demo = catalogue.get(TOUR).filter(|_| setup.may_demo);
    demo.cloned()
}

fn file_of(cwd: &Path, model: &Model) -> PathBuf {
    path::resolve(cwd, &model.id)
}

fn read(file: &Path) -> Result<Script, String> {
    let text = regular_file::read_named_text(file, regular_file::NAMED)
        .map_err(|error| format!("cannot read the script `{}`: {error}", file.display()))?;
    Script::parse(&text, &file.to_string_lossy()).map_err(|error| error.to_string())
}
