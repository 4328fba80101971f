//! Tuning: the forms that models are trained with, and options of their requests. A row of the catalogue has the tuning
//! of a model; `models.json` and the settings can change it.

use serde::{Deserialize, Serialize};

osier_base::words! {
    /// The tools for changing files, and the names of all tools, that a model is trained with.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum ToolForm {
        /// `edit` and `write`, with the arguments of Claude Code.
        #[default]
        Edit = "edit",
        /// `apply_patch`, which replaces both.
        Patch = "patch",
        /// The tools of Gemini CLI.
        Gemini = "gemini",
    }
}

/// Beginnings of ids, without the part before a slash, and the tool form that such models are
/// trained with. The first row that matches is used.
const FORMS: [(&str, ToolForm); 7] = [
    ("gpt-oss", ToolForm::Edit),
    ("gpt-3", ToolForm::Edit),
    ("gpt-4", ToolForm::Edit),
    ("gpt-", ToolForm::Patch),
    ("codex", ToolForm::Patch),
    ("gemini-", ToolForm::Gemini),
    // These models are trained with Qwen Code, which has the tools of Gemini CLI.
    ("qwen3-coder", ToolForm::Gemini),
];

osier_base::words! {
    /// How long the provider keeps its prompt cache after the last use.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum CacheRetention {
        /// The default of the provider: some minutes.
        #[default]
        Short = "short",
        /// An hour at Anthropic, a day at OpenAI. Writing the cache can cost more.
        Long = "long",
    }
}

/// An addition to the system prompt, for models that work better with it according to public evidence. See
/// `docs/models.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preamble {
    #[default]
    None,
    /// Continue until the task is done, check instead of guessing, plan before calls.
    Persistence,
    /// Plan, weigh risks, adapt the plan, check the result.
    Planning,
}

/// Beginnings of ids of models that get a preamble.
const PREAMBLES: [(&str, Preamble); 2] = [
    ("gpt-4.1", Preamble::Persistence),
    ("gemini-", Preamble::Planning),
];

impl ToolForm {
    /// The form for the model `id`, such as `openai/gpt-5` of a router.
    fn of(id: &str) -> Self {
        of_id(&FORMS, id)
    }
}

/// The value of the first row whose text `id` begins with. A part of `id` before a slash is
/// ignored.
fn of_id<T: Copy + Default>(rows: &[(&str, T)], id: &str) -> T {
    let id = id.rsplit('/').next().unwrap_or_default().to_lowercase();
    let row = rows.iter().find(|(start, _)| id.starts_with(start));
    row.map_or_else(T::default, |(_, value)| *value)
}

osier_base::words! {
    /// How long answers are.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum Verbosity {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
}

/// The forms that a model is trained with, and options of its requests. APIs without an option ignore it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Tuning {
    pub tools: ToolForm,
    pub preamble: Preamble,
    /// The verbosity of answers, in OpenAI's formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
    /// The service tier: `flex` or `priority` in OpenAI's formats, `standard_only` at Anthropic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Whether an answer can have several tool calls, in OpenAI's formats and at Anthropic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_calls: Option<bool>,
}

impl Tuning {
    /// The tuning of the model `id`.
    pub(crate) fn of(id: &str) -> Self {
        Self {
            tools: ToolForm::of(id),
            preamble: of_id(&PREAMBLES, id),
            ..Self::default()
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The user's changes of a [`Tuning`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TuningChange {
    pub tools: Option<ToolForm>,
    pub verbosity: Option<Verbosity>,
    pub service_tier: Option<String>,
    pub parallel_calls: Option<bool>,
}

impl TuningChange {
    pub(crate) fn apply(&self, tuning: &mut Tuning) {
        tuning.tools = self.tools.unwrap_or(tuning.tools);
        tuning.verbosity = self.verbosity.or(tuning.verbosity);
        tuning.parallel_calls = self.parallel_calls.or(tuning.parallel_calls);
        if let Some(tier) = &self.service_tier {
            tuning.service_tier = Some(tier.clone());
        }
    }
}

/// Changes of the settings for the models whose `PROVIDER/ID` or id matches `models`, which can contain `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOptions {
    pub models: String,
    pub change: TuningChange,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_decide_about_the_form() {
        for (id, expected) in [
            ("gpt-5", ToolForm::Patch),
            ("gpt-6.1-sol", ToolForm::Patch),
            ("gpt-5.3-codex-spark", ToolForm::Patch),
            ("codex-mini-latest", ToolForm::Patch),
            ("openai/GPT-5.4", ToolForm::Patch),
            ("gpt-4.1", ToolForm::Edit),
            ("gpt-oss-120b", ToolForm::Edit),
            ("o4-mini", ToolForm::Edit),
            ("gemini-3-pro", ToolForm::Gemini),
            ("google/gemini-2.5-flash", ToolForm::Gemini),
            ("claude-opus-5-5", ToolForm::Edit),
            ("qwen3-coder", ToolForm::Gemini),
            ("qwen/qwen3-coder-plus", ToolForm::Gemini),
            ("kimi-k2.6", ToolForm::Edit),
            ("devstral-medium-2512", ToolForm::Edit),
            ("my-gpt-5", ToolForm::Edit),
        ] {
            assert_eq!(ToolForm::of(id), expected, "{id}");
        }
        for form in ToolForm::ALL {
            assert_eq!(ToolForm::from_name(form.name()), Some(form));
        }
    }
}
