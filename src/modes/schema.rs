//! A JSON Schema for the final answer: the model receives the schema, and the answer is checked and repaired once.

use serde_json::Value;

/// The schema of an answer.
#[derive(Debug, Clone)]
pub struct AnswerSchema {
    schema: Value,
}

impl AnswerSchema {
    /// # Errors
    /// `text` is no JSON Schema; the error says why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
        if !schema.is_object() {
            return Err("it is not a JSON object".to_owned());
        }
        osier_agent::check_schema(&schema)?;
        Ok(Self { schema })
    }

    /// The instructions for the model.
    pub fn instructions(&self) -> String {
        format!(
            "When the task is done, answer with one JSON value that matches this JSON Schema, and with nothing else: no \
             explanation, no code fence.\n\n{}",
            self.schema
        )
    }

    /// The value in `answer`.
    ///
    /// # Errors
    /// The answer is no JSON, or does not match the schema.
    pub(super) fn check(&self, answer: &str) -> Result<Value, String> {
        let json = without_fence(answer.trim());
        let value: Value =
            serde_json::from_str(json).map_err(|error| format!("not valid JSON: {error}"))?;
        osier_agent::check_value(&self.schema, &value)?;
        Ok(value)
    }
}

/// The request for a better answer.
pub(super) fn repair(error: &str) -> String {
    format!(
        "Your answer does not match the JSON Schema: {error}. Answer again with one JSON value that matches it, and \
         with nothing else."
    )
}

/// The content of a Markdown code block that is all of the text.
fn without_fence(text: &str) -> &str {
    let Some(inner) = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"))
    else {
        return text;
    };
    inner
        .split_once('\n')
        .map_or(inner, |(_, body)| body)
        .trim()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_checked_with_and_without_a_fence() {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let schema = AnswerSchema::parse(&schema.to_string()).unwrap();
        assert_eq!(schema.check(" {\"n\": 1}\n"), Ok(json!({"n": 1})));
        assert_eq!(
            schema.check("```json\n{\"n\": 2}\n```"),
            Ok(json!({"n": 2}))
        );
        for wrong in ["", "one", "{}", "{\"n\": \"1\"}", "Here: {\"n\": 1}"] {
            assert!(schema.check(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_invalid_schema_is_an_error() {
        for wrong in ["", "[]", "{\"type\": 3}"] {
            assert!(AnswerSchema::parse(wrong).is_err(), "{wrong}");
        }
    }
}
