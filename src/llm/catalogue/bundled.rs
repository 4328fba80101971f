//! The table of models that ships with the program. `scripts/bundle-models.mjs` writes it from published
//! data; its `notice` says which and when.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::providers::{PROVIDERS, ProviderEntry};
use crate::llm::model::{Api, Compat, Modality, Model, ThinkingLevel};
use crate::llm::usage::Price;

const TABLE: &str = include_str!("bundled.json");

#[derive(Deserialize)]
struct Table {
    models: BTreeMap<String, Vec<Row>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    name: String,
    context_window: u64,
    max_tokens: u64,
    thinking_levels: Vec<ThinkingLevel>,
    input: Vec<Modality>,
    cost: Price,
    #[serde(default)]
    compat: Map<String, Value>,
}

/// Every bundled model, in the order of `PROVIDERS`.
pub(super) fn models() -> Vec<Model> {
    // A test reads the table; a build whose table is broken does not pass.
    let Ok(mut table) = serde_json::from_str::<Table>(TABLE) else {
        return Vec::new();
    };
    let mut models = Vec::with_capacity(64);
    for row in PROVIDERS {
        let entry = ProviderEntry::from(row);
        let rows = table.models.remove(row.name).unwrap_or_default();
        models.extend(rows.into_iter().map(|row| model(row, &entry)));
    }
    models.push(tour());
    models
}

fn model(row: Row, entry: &ProviderEntry) -> Model {
    let mut compat = entry.compat.clone();
    for (key, value) in row.compat {
        // Unknown keys cannot be: the same test reads them.
        set_compat(&mut compat, &key, value).ok();
    }
    Model {
        provider: entry.name.clone(),
        id: row.id,
        name: row.name,
        api: entry.api,
        base_url: entry.base_url.clone(),
        context_window: row.context_window,
        max_tokens: row.max_tokens,
        thinking_levels: row.thinking_levels,
        input: row.input,
        price: row.cost,
        headers: BTreeMap::new(),
        compat,
    }
}

/// The scripted model that shows every part without a key.
fn tour() -> Model {
    Model {
        provider: "demo".to_owned(),
        id: "tour".to_owned(),
        name: "Tour (a script, no model)".to_owned(),
        api: Api::Scripted,
        base_url: String::new(),
        context_window: 200_000,
        max_tokens: 8192,
        thinking_levels: vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::High],
        input: vec![Modality::Text, Modality::Image],
        price: Price::default(),
        headers: BTreeMap::new(),
        compat: Compat::default(),
    }
}

/// Sets one field of `compat` by the name it has in files. Says why when it cannot.
pub(super) fn set_compat(compat: &mut Compat, key: &str, value: Value) -> Result<(), String> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&*compat) else {
        return Err("cannot be changed".to_owned());
    };
    if !fields.contains_key(key) {
        return Err("is not known".to_owned());
    }
    fields.insert(key.to_owned(), value);
    *compat = serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table: Table = serde_json::from_str(TABLE).unwrap();
        for (provider, rows) in &table.models {
            assert!(
                PROVIDERS.iter().any(|row| row.name == provider),
                "{provider}"
            );
            for row in rows {
                for (key, value) in &row.compat {
                    let mut compat = Compat::default();
                    assert_eq!(
                        set_compat(&mut compat, key, value.clone()),
                        Ok(()),
                        "{}",
                        row.id
                    );
                }
            }
        }
        let models = models();
        assert!(models.len() >= 40, "{}", models.len());
        let mut references: Vec<String> = models.iter().map(Model::reference).collect();
        references.sort();
        let count = references.len();
        references.dedup();
        assert_eq!(references.len(), count);
        for model in &models {
            assert!(model.max_tokens * 2 <= model.context_window, "{}", model.id);
            assert!(!model.thinking_levels.is_empty() && model.thinking_levels.is_sorted());
            assert!(model.input.contains(&Modality::Text));
        }
    }
}
