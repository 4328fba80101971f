//! Describes one session by reading its complete file, without the index.

use std::path::Path;

use super::error::IndexError;
use super::facts::Facts;
use super::reading;
use super::walk::stamp_of;
use osier_base::{clock, regular_file};
use osier_protocol::{ModelCost, SessionRow};

/// The list row of the session at `path` and the usage of each of its models.
pub fn describe(path: &Path) -> Result<(SessionRow, Vec<ModelCost>), IndexError> {
    let failed = |error| IndexError::io("read", path, error);
    let file = regular_file::open_plain(path).map_err(failed)?;
    let state = stamp_of(&file.metadata().map_err(failed)?);
    let mut facts = Facts::default();
    let now = clock::now_ms();
    reading::read(&file, path, &mut facts, 0, now, &mut |_, _| Ok(()))?;
    if facts.id.is_empty() {
        let reason = std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not a session");
        return Err(failed(reason));
    }
    let row = SessionRow {
        path: path.to_owned(),
        size: state.size,
        tokens: facts.tokens(),
        cost: facts.cost(),
        id: facts.id,
        cwd: facts.cwd,
        name: facts.name,
        first_prompt: facts.first_prompt,
        last_prompt: facts.last_prompt,
        created: facts.created,
        active: facts.active,
        prompts: facts.prompts,
        answers: facts.answers,
        tool_calls: facts.calls,
        damaged: facts.damaged,
        models: facts
            .models
            .iter()
            .map(|model| model.model.clone())
            .collect(),
        labels: facts.labels.into_values().collect(),
        parent: facts.parent,
        fork_of: None,
        whole: true,
    };
    Ok((row, facts.models))
}
