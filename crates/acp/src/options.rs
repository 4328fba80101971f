//! The modes and configuration options of a session: permission mode, model and thinking level.

use agent_client_protocol_schema::v1 as acp;

use osier_llm::ThinkingLevel;
use osier_protocol::{KeyState, ModelInfo, Op, PermissionMode};

/// The permission modes with their names and descriptions in the editor.
const MODES: &[(PermissionMode, &str, &str)] = &[
    (
        PermissionMode::Yolo,
        "Yolo",
        "Run everything unless a rule denies it",
    ),
    (
        PermissionMode::Auto,
        "Auto review",
        "A model allows, asks about or denies what would need permission",
    ),
    (
        PermissionMode::Ask,
        "Ask",
        "Ask before changes and network access",
    ),
    (PermissionMode::Plan, "Plan", "Read-only"),
];

const MODE: &str = "mode";
const MODEL: &str = "model";
const LEVEL: &str = "thought_level";

/// The current values, and the models to choose from.
#[derive(Debug, Default)]
pub(super) struct SessionOptions {
    pub mode: PermissionMode,
    pub model: Option<ModelInfo>,
    pub level: ThinkingLevel,
    pub models: Vec<ModelInfo>,
}

impl SessionOptions {
    pub(super) fn modes(&self) -> acp::SessionModeState {
        let modes = MODES.iter().map(|(mode, name, description)| {
            acp::SessionMode::new(mode.name(), *name).description(*description)
        });
        acp::SessionModeState::new(self.mode.name(), modes.collect())
    }

    pub(super) fn config(&self) -> Vec<acp::SessionConfigOption> {
        let modes = MODES.iter().map(|(mode, name, description)| {
            acp::SessionConfigSelectOption::new(mode.name(), *name).description(*description)
        });
        let modes: Vec<_> = modes.collect();
        let mode = acp::SessionConfigOption::select(MODE, "Permissions", self.mode.name(), modes)
            .category(acp::SessionConfigOptionCategory::Mode);
        let mut options = vec![mode];
        let Some(model) = &self.model else {
            return options;
        };
        let current = model.reference();
        let usable = self
            .models
            .iter()
            .filter(|other| other.key != KeyState::Absent || other.reference() == current);
        let mut models: Vec<_> = usable.map(model_option).collect();
        if !models.iter().any(|option| *option.value.0 == *current) {
            models.insert(0, model_option(model));
        }
        options.push(
            acp::SessionConfigOption::select(MODEL, "Model", current, models)
                .category(acp::SessionConfigOptionCategory::Model),
        );
        if model.thinking_levels.len() > 1 {
            let levels = model.thinking_levels.iter();
            let levels =
                levels.map(|level| acp::SessionConfigSelectOption::new(level.name(), level.name()));
            let levels: Vec<_> = levels.collect();
            let level = self.effective_level(model).name();
            options.push(
                acp::SessionConfigOption::select(LEVEL, "Thinking", level, levels)
                    .category(acp::SessionConfigOptionCategory::ThoughtLevel),
            );
        }
        options
    }

    /// The current level, or the nearest one that the model supports.
    fn effective_level(&self, model: &ModelInfo) -> ThinkingLevel {
        let levels = &model.thinking_levels;
        let below = levels.iter().rev().find(|level| **level <= self.level);
        below.or(levels.first()).copied().unwrap_or_default()
    }
}

/// The op that sets an option, or an error message.
pub(super) fn set_option(request: &acp::SetSessionConfigOptionRequest) -> Result<Op, String> {
    let value = request.value.as_value_id().map_or("", |value| &*value.0);
    match &*request.config_id.0 {
        MODE => set_mode(value),
        MODEL if value.is_empty() => {
            Err("missing model; expected a value of the option `model`".to_owned())
        }
        MODEL => Ok(Op::SelectModel {
            reference: value.to_owned(),
        }),
        LEVEL => ThinkingLevel::from_name(value)
            .map(|level| osier_agent::Op::SetThinkingLevel { level }.into())
            .ok_or_else(|| {
                let levels = ThinkingLevel::ALL.map(ThinkingLevel::name);
                unknown("thinking level", value, &levels)
            }),
        id => Err(unknown("option", id, &[MODE, MODEL, LEVEL])),
    }
}

/// The op that sets the permission mode, or an error message.
pub(super) fn set_mode(name: &str) -> Result<Op, String> {
    match PermissionMode::from_name(name) {
        Some(mode) => Ok(Op::SetPermissions { mode }),
        None => Err(unknown(
            "mode",
            name,
            &PermissionMode::ALL.map(PermissionMode::name),
        )),
    }
}

fn unknown(kind: &str, value: &str, valid: &[&str]) -> String {
    let valid = valid.join("`, `");
    match value {
        "" => format!("missing {kind}; expected one of `{valid}`"),
        value => format!("unknown {kind} `{value}`; expected one of `{valid}`"),
    }
}

fn model_option(model: &ModelInfo) -> acp::SessionConfigSelectOption {
    acp::SessionConfigSelectOption::new(model.reference(), &*model.name)
        .description(&model.provider)
}
