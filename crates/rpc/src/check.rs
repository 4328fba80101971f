//! Parameters are checked against the table before anything is done with them: each fault is one sentence
//! that names the parameter and what it has to be.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use osier_base::request::{Kind, Parameter};

use super::command::Command;

/// The parameters under their own names, without those that are `null`.
pub(super) fn check(
    command: &Command,
    given: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let mut taken = Map::new();
    for (name, value) in given {
        let Some(field) = command
            .parameters
            .iter()
            .find(|parameter| is_named(parameter, &name))
        else {
            return Err(unknown(command, &name));
        };
        if value.is_null() {
            continue;
        }
        if !fits(field.kind, &value) {
            return Err(format!("`{name}` has to be {}", phrase(field.kind)));
        }
        if taken.insert(field.name.to_owned(), value).is_some() {
            return Err(format!("`{}` is given twice", field.name));
        }
    }
    let needed = command.parameters.iter().filter(|field| field.required);
    for field in needed {
        if !taken.contains_key(field.name) {
            let (name, kind) = (field.name, phrase(field.kind));
            return Err(format!("`{}` needs `{name}`: {kind}", command.name));
        }
    }
    Ok(taken)
}

fn unknown(command: &Command, name: &str) -> String {
    let mut text = format!("`{}` takes no `{name}`", command.name);
    let known: Vec<String> = command
        .parameters
        .iter()
        .map(|field| format!("`{}`", field.name))
        .collect();
    let known = if known.is_empty() {
        "it takes nothing".to_owned()
    } else {
        format!("it takes {}", known.join(", "))
    };
    // Writing to a text does not fail.
    let _ = write!(text, ": {known}");
    text
}

fn is_named(parameter: &Parameter, name: &str) -> bool {
    parameter.name == name || parameter.aliases.contains(&name)
}

fn fits(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::Text => value.is_string(),
        Kind::Number => value.is_u64(),
        Kind::Flag => value.is_boolean(),
        Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Kind::Texts => value
            .as_array()
            .is_some_and(|texts| texts.iter().all(Value::is_string)),
        Kind::List(_) => value.is_array(),
        Kind::Object(_) => value.is_object(),
        Kind::Any => true,
    }
}

/// A kind in words, for errors and the documentation.
pub(super) fn phrase(kind: Kind) -> String {
    match kind {
        Kind::Text => "a text".to_owned(),
        Kind::Number => "a whole number".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            match words.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
                None => "nothing".to_owned(),
            }
        }
        Kind::Texts => "a list of texts".to_owned(),
        Kind::List(name) => format!("a list of `{name}`"),
        Kind::Object(name) => format!("an object `{name}`"),
        Kind::Any => "anything".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::find;

    fn checked(command: &str, given: &Value) -> Result<Value, String> {
        let command = find(command).unwrap();
        check(command, given.as_object().unwrap().clone()).map(Value::Object)
    }

    #[test]
    fn parameters_have_their_own_names_and_kinds() {
        assert_eq!(
            checked("prompt", &json!({"text": "hi", "images": null})),
            Ok(json!({"message": "hi"}))
        );
        let fault = |command, given: Value| checked(command, &given).unwrap_err();
        assert_eq!(
            fault("set_thinking_level", json!({})),
            "`set_thinking_level` needs `level`: `off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`"
        );
        assert_eq!(
            fault("set_auto_retry", json!({"enabled": "yes"})),
            "`enabled` has to be true or false"
        );
        assert_eq!(
            fault("label_entry", json!({"id": "x"})),
            "`label_entry` takes no `id`: it takes `entryId`, `label`"
        );
        assert_eq!(
            fault("abort", json!({"now": true})),
            "`abort` takes no `now`: it takes nothing"
        );
        assert_eq!(
            fault("prompt", json!({"text": "a", "message": "b"})),
            "`message` is given twice"
        );
    }
}
