//! Parses the arguments of tool calls: typed, and lenient about common mistakes of models that are
//! unambiguous.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use osier_agent::{ToolOutput, ToolStatus};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The arguments are invalid.
    Invalid(String),
    /// The arguments are valid, but the call failed.
    Failed(String),
}

impl Refusal {
    pub(crate) fn invalid(message: &str) -> Self {
        Self::Invalid(message.to_owned())
    }
}

impl From<Refusal> for ToolOutput {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(message) => Self::error(message),
            Refusal::Invalid(message) => {
                let text = format!("invalid arguments: {message}");
                let path = String::new();
                Self::failed(ToolStatus::InvalidParameters { path, message }, text)
            }
        }
    }
}

/// Parses the arguments as `T`.
pub(crate) fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, Refusal> {
    serde_json::from_value(arguments).map_err(|error| Refusal::Invalid(error.to_string()))
}

/// Runs a call on a blocking thread. `doing` names the action for the error when the thread fails.
pub(crate) async fn carry_out<T, F>(arguments: Value, doing: &str, work: F) -> ToolOutput
where
    T: DeserializeOwned + Send + 'static,
    F: FnOnce(T) -> Result<ToolOutput, Refusal> + Send + 'static,
{
    let arguments = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(refusal) => return refusal.into(),
    };
    match osier_base::task::spawn_blocking(move || work(arguments)).await {
        Ok(output) => output.unwrap_or_else(ToolOutput::from),
        Err(error) => ToolOutput::error(format!("{doing} failed: {error}")),
    }
}

/// A count that may be written as `3`, `3.0` or `"3"`.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Count {
        Whole(u64),
        Fraction(f64),
        Text(String),
    }
    let fail = || D::Error::custom("expected a whole number that is not negative");
    match Option::<Count>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Count::Whole(count)) => Ok(Some(count)),
        Some(Count::Fraction(count)) if count >= 0.0 && count.fract() == 0.0 => {
            Ok(Some(count as u64))
        }
        Some(Count::Fraction(_)) => Err(fail()),
        Some(Count::Text(text)) => text.trim().parse().map(Some).map_err(|_| fail()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Arguments {
        #[serde(default, deserialize_with = "count")]
        limit: Option<u64>,
    }

    #[test]
    fn counts_come_in_several_forms() {
        for (arguments, expected) in [
            (json!({}), None),
            (json!({"limit": null}), None),
            (json!({"limit": 3}), Some(3)),
            (json!({"limit": 3.0}), Some(3)),
            (json!({"limit": "3"}), Some(3)),
        ] {
            assert_eq!(parse::<Arguments>(arguments).unwrap().limit, expected);
        }
        for arguments in [
            json!({"limit": -1}),
            json!({"limit": 1.5}),
            json!({"limit": "x"}),
        ] {
            let refusal = parse::<Arguments>(arguments).unwrap_err();
            assert_eq!(
                ToolOutput::from(refusal).status.name(),
                "invalid_parameters"
            );
        }
    }
}
