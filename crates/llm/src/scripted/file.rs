//! Scripts in JSON files; the parent module documents the format. Unknown fields are errors, so that every
//! field of a script has an effect.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use super::script::{CHUNK, Chunked, Matcher, Script, Step, Turn};
use crate::message::StopReason;
use crate::status::TurnStatus;
use crate::usage::Usage;

/// A script that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}:{line}: {reason}")]
pub struct ScriptFileError {
    pub path: String,
    pub line: usize,
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm<'a> {
    #[serde(borrow)]
    turns: Vec<&'a RawValue>,
    /// A comment.
    #[serde(default, rename = "about")]
    _about: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnForm<'a> {
    #[serde(default)]
    when: Option<WhenForm>,
    #[serde(default)]
    repeat: bool,
    #[serde(borrow)]
    steps: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum WhenForm {
    User(String),
    ToolResult(String),
}

/// A step: exactly one of the fields that determine its kind.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StepForm {
    text: Option<String>,
    thinking: Option<String>,
    tool: Option<String>,
    /// A pause in milliseconds.
    wait: Option<u64>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    fail: Option<TurnStatus>,
    // The arguments of a `tool`: an object, or a text for invalid arguments.
    arguments: Option<Value>,
    id: Option<String>,
    // Characters per chunk of `text`, `thinking` and `tool`.
    chunk: Option<usize>,
    delay_ms: Option<u64>,
    times: Option<usize>,
}

impl Script {
    /// Parses the text of a script file; `path` is used in errors.
    pub fn parse(text: &str, path: &str) -> Result<Self, ScriptFileError> {
        let read = Reader { text, path };
        let form: FileForm = read.form(text)?;
        let mut script = Self::new();
        for raw in form.turns {
            let turn: TurnForm = read.form(raw.get())?;
            let steps = turn.steps.iter().map(|raw| {
                let form: StepForm = read.form(raw.get())?;
                form.step()
                    .map_err(|reason| read.error(raw.get(), 1, reason))
            });
            script.turns.push(Turn {
                when: turn.when.map(|when| match when {
                    WhenForm::User(part) => Matcher::User(part.to_lowercase()),
                    WhenForm::ToolResult(part) => Matcher::ToolResult(part.to_lowercase()),
                }),
                repeat: turn.repeat,
                steps: steps.collect::<Result<_, _>>()?,
            });
        }
        Ok(script)
    }
}

struct Reader<'a> {
    text: &'a str,
    path: &'a str,
}

impl Reader<'_> {
    /// Parses `part`, a slice of the text, so that error positions refer to the complete text.
    fn form<'de, T: Deserialize<'de>>(&self, part: &'de str) -> Result<T, ScriptFileError> {
        serde_json::from_str(part).map_err(|error| {
            let message = error.to_string();
            let end = message.rfind(" at line ").unwrap_or(message.len());
            self.error(part, error.line(), message[..end].to_owned())
        })
    }

    fn error(&self, part: &str, line: usize, reason: String) -> ScriptFileError {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..offset).unwrap_or_default();
        ScriptFileError {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + line.max(1),
            reason,
        }
    }
}

impl StepForm {
    fn step(self) -> Result<Step, String> {
        let kinds = [
            self.text.is_some(),
            self.thinking.is_some(),
            self.tool.is_some(),
            self.wait.is_some(),
            self.usage.is_some(),
            self.stop.is_some(),
            self.fail.is_some(),
        ];
        if kinds.iter().filter(|kind| **kind).count() != 1 {
            return Err("a step has exactly one of `text`, `thinking`, `tool`, `wait`, `usage`, `stop` and `fail`".to_owned());
        }
        if self.tool.is_none() && (self.arguments.is_some() || self.id.is_some()) {
            return Err("`arguments` and `id` belong to a step with `tool`".to_owned());
        }
        let (chunk, delay_ms, times) = (self.chunk, self.delay_ms, self.times);
        let chunked = |text: String| Chunked {
            text,
            chunk: chunk.unwrap_or(CHUNK).max(1),
            delay: Duration::from_millis(delay_ms.unwrap_or(0)),
            times: times.unwrap_or(1),
        };
        if let Some(name) = self.tool {
            let arguments = match self.arguments.unwrap_or_else(|| Map::new().into()) {
                Value::String(raw) => raw,
                value => value.to_string(),
            };
            return Ok(Step::Tool {
                id: self.id,
                name,
                arguments: chunked(arguments),
            });
        }
        let text = self.text.map(|text| Step::Text(chunked(text)));
        let thinking = self.thinking.map(|text| Step::Thinking(chunked(text)));
        let wait = self
            .wait
            .map(|wait| Step::Wait(Duration::from_millis(wait)));
        text.or(thinking)
            .or(wait)
            .or(self.usage.map(Step::Usage))
            .or(self.stop.map(Step::Stop))
            .or(self.fail.map(Step::Fail))
            .ok_or_else(|| "an empty step".to_owned())
    }
}
