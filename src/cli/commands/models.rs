//! `osier models`: lists all models or those that match a search.

use std::io::{self, Write};

use crate::cli::exit::Exit;
use osier_llm::Modality;
use osier_llm::catalogue::refresh::SOURCE;
use osier_protocol::{KeyState, ModelInfo};
use osier_session::SessionSetup;
use osier_session::models::Models;
use osier_session::models::refresh;

/// Lists the models that match, after downloading newly published ones if `with_refresh` is set. The inner error
/// is a failed write to `out`.
///
/// # Errors
/// No model matches, or a server does not respond.
pub(in crate::cli) async fn run(
    setup: &SessionSetup,
    search: &str,
    with_refresh: bool,
    out: &mut dyn Write,
) -> Result<io::Result<Exit>, String> {
    if with_refresh {
        let source = setup.settings.refresh_models.as_deref().unwrap_or(SOURCE);
        let lists = Models::load_lenient(setup).0.vendor_lists().await;
        let http = setup.settings.http();
        let outcome = refresh::refresh(&setup.folders, &http, source, &lists).await?;
        if let Err(error) = writeln!(out, "{}", outcome.described()) {
            return Ok(Err(error));
        }
        if search.is_empty() {
            return Ok(Ok(Exit::Success));
        }
    }
    let (mut models, _) = Models::load_lenient(setup);
    models.ask_server().await?;
    if setup.settings.discover_local_models {
        models.add_local().await;
    }
    match list(&models.list(), search, out) {
        Ok(0) => Err(format!(
            "no model matches `{search}`; `osier models` lists all models"
        )),
        Ok(_) => Ok(Ok(Exit::Success)),
        Err(error) => Ok(Err(error)),
    }
}

/// Prints one line for each model whose reference or name contains every word of `search`.
fn list(models: &[ModelInfo], search: &str, out: &mut dyn Write) -> io::Result<usize> {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let matches = |model: &ModelInfo| {
        let text = format!("{} {}", model.reference(), model.name).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let found: Vec<&ModelInfo> = models.iter().filter(|model| matches(model)).collect();
    let width = found
        .iter()
        .map(|model| model.reference().len())
        .max()
        .unwrap_or(0);
    for model in &found {
        writeln!(out, "{:<width$}  {}", model.reference(), describe(model))?;
    }
    Ok(found.len())
}

/// Context window, price, capabilities and key state.
fn describe(model: &ModelInfo) -> String {
    let window = format!("{}k", model.context_window / 1000);
    let price = match (model.price.input, model.price.output) {
        (0.0, 0.0) => "free or unknown".to_owned(),
        (input, output) => format!("${input}/${output} per M"),
    };
    let mut capabilities = Vec::new();
    if model.thinking_levels.len() > 1 {
        capabilities.push("thinking");
    }
    if model.input.contains(&Modality::Image) {
        capabilities.push("images");
    }
    let key = match model.key {
        KeyState::Present => "key present",
        KeyState::Absent => "no key",
        KeyState::NotNeeded => "no key needed",
    };
    format!(
        "{window:>6}  {price:<22}  {:<16}  {key}",
        capabilities.join(" ")
    )
}
