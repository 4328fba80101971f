//! What can be chosen in a session: the mode of permissions, the model, how hard it thinks.

use serde_json::{Value, json};

use osier_llm::ThinkingLevel;
use osier_permissions::Mode;
use osier_session::host::{KeyState, ModelInfo, Op};

/// The modes, with what an editor says of them.
const MODES: &[(Mode, &str, &str)] = &[
    (Mode::Yolo, "Work", "Everything runs that no rule stops"),
    (
        Mode::Ask,
        "Ask",
        "What changes something or goes elsewhere is asked",
    ),
    (Mode::Plan, "Plan", "Nothing that writes runs"),
];

const MODE: &str = "mode";
const MODEL: &str = "model";
const LEVEL: &str = "thought_level";

/// What is chosen, and what could be.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub mode: Mode,
    pub model: Option<ModelInfo>,
    pub level: ThinkingLevel,
    pub models: Vec<ModelInfo>,
}

impl Options {
    /// `SessionModeState` of the protocol.
    pub(super) fn modes(&self) -> Value {
        let modes: Vec<Value> = MODES
            .iter()
            .map(|(mode, name, description)| {
                json!({"id": mode, "name": name, "description": description})
            })
            .collect();
        json!({"currentModeId": self.mode, "availableModes": modes})
    }

    /// Every `SessionConfigOption`.
    pub(super) fn config(&self) -> Value {
        let modes = MODES.iter().map(|(mode, name, description)| {
            json!({"value": mode, "name": name, "description": description})
        });
        let mut options = vec![select(
            (MODE, "Permissions", "mode"),
            &json!(self.mode),
            &modes.collect::<Vec<_>>(),
        )];
        if let Some(model) = &self.model {
            let usable = self.models.iter().filter(|other| {
                other.key != KeyState::Absent || other.reference() == model.reference()
            });
            let mut models: Vec<Value> = usable.map(as_choice).collect();
            if !models
                .iter()
                .any(|choice| choice["value"] == json!(model.reference()))
            {
                models.insert(0, as_choice(model));
            }
            let chosen = json!(model.reference());
            options.push(select((MODEL, "Model", "model"), &chosen, &models));
            if model.thinking_levels.len() > 1 {
                let levels = model.thinking_levels.iter();
                let levels = levels.map(|level| json!({"value": level, "name": level.name()}));
                let level = json!(self.effective(model));
                let about = (LEVEL, "Thinking", "thought_level");
                options.push(select(about, &level, &levels.collect::<Vec<_>>()));
            }
        }
        Value::Array(options)
    }

    /// The level that is asked for, or the nearest one that the model has.
    fn effective(&self, model: &ModelInfo) -> ThinkingLevel {
        let known = &model.thinking_levels;
        let below = known.iter().rev().find(|level| **level <= self.level);
        below.or(known.first()).copied().unwrap_or_default()
    }

    /// The op that chooses `value` for the option `id`; a sentence when there is none.
    pub(super) fn choose(id: &str, value: &Value) -> Result<Op, String> {
        let word = value.as_str().unwrap_or_default();
        match id {
            MODE => mode(word),
            MODEL => Ok(Op::SelectModel {
                reference: word.to_owned(),
            }),
            LEVEL => match ThinkingLevel::from_name(word) {
                Some(level) => Ok(osier_agent::Op::SetThinkingLevel { level }.into()),
                None => Err(format!("there is no level `{word}`")),
            },
            _ => Err(format!("there is no option `{id}`")),
        }
    }
}

/// The op that sets the mode of this name.
pub(super) fn mode(name: &str) -> Result<Op, String> {
    let mode = Mode::from_name(name).ok_or_else(|| format!("there is no mode `{name}`"))?;
    Ok(Op::SetPermissions { mode })
}

fn as_choice(model: &ModelInfo) -> Value {
    json!({"value": model.reference(), "name": model.name, "description": model.provider})
}

fn select((id, name, category): (&str, &str, &str), value: &Value, options: &[Value]) -> Value {
    json!({
        "type": "select", "id": id, "name": name, "category": category,
        "currentValue": value, "options": options,
    })
}
