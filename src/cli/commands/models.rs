//! `osier models`: every model that is known, or those that match.

use std::io::{self, Write};

use crate::cli::exit::Exit;
use osier_llm::Modality;
use osier_llm::catalogue::refresh::SOURCE;
use osier_session::host::{HostSetup, KeyState, ModelInfo};
use osier_session::models::Models;
use osier_session::refresh;

/// Lists the models that match, after asking for newly published ones where that is wanted. The outer error
/// is for the person; the inner one says that nobody reads.
///
/// # Errors
/// One sentence: nothing matches, or whoever was asked does not answer.
pub(in crate::cli) async fn answer(
    setup: &HostSetup,
    search: &str,
    refreshed: bool,
    out: &mut dyn Write,
) -> Result<io::Result<Exit>, String> {
    if refreshed {
        let source = setup.settings.refresh_models.as_deref().unwrap_or(SOURCE);
        let outcome = refresh::refresh(&setup.folders, &setup.settings.http(), source).await?;
        if let Err(error) = writeln!(out, "{}", outcome.described()) {
            return Ok(Err(error));
        }
        if search.is_empty() {
            return Ok(Ok(Exit::Success));
        }
    }
    let (mut models, _) = Models::load_lenient(setup);
    models.ask_server().await?;
    match run(&models.list(), search, out) {
        Ok(0) => Err(format!(
            "no model matches `{search}`: `osier models` lists them all"
        )),
        Ok(_) => Ok(Ok(Exit::Success)),
        Err(error) => Ok(Err(error)),
    }
}

/// Prints one line a model whose reference or name contains every word of `search`.
fn run(models: &[ModelInfo], search: &str, out: &mut dyn Write) -> io::Result<usize> {
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

/// Window, price, abilities and key on one line.
fn describe(model: &ModelInfo) -> String {
    let window = format!("{}k", model.context_window / 1000);
    let price = match (model.price.input, model.price.output) {
        (0.0, 0.0) => "free or unknown".to_owned(),
        (input, output) => format!("${input}/${output} per M"),
    };
    let mut abilities = Vec::new();
    if model.thinking_levels.len() > 1 {
        abilities.push("thinking");
    }
    if model.input.contains(&Modality::Image) {
        abilities.push("images");
    }
    let key = match model.key {
        KeyState::Present => "key present",
        KeyState::Absent => "no key",
        KeyState::NotNeeded => "no key needed",
    };
    format!(
        "{window:>6}  {price:<22}  {:<16}  {key}",
        abilities.join(" ")
    )
}
