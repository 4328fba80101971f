//! Validates parameters against the command table before a command runs. An error names the parameter and the
//! expected value.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

use osier_base::problem::nearest;
use osier_base::request::{Kind, Parameter};
use osier_protocol::Op;

use super::command::Command;

const SCHEMA_HINT: &str = "`osier rpc --schema` describes all requests and their types";

/// Parameters that commands had before, by command. They are accepted without effect.
const FORMER: [(&str, &str); 2] = [("fork", "keepOpen"), ("clone", "keepOpen")];

/// Returns the parameters with aliases resolved, and without `null` values and former parameters.
pub(super) fn check(
    command: &Command,
    parameters: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let mut checked = Map::new();
    for (name, value) in parameters {
        let Some(field) = command
            .parameters
            .iter()
            .find(|parameter| is_named(parameter, &name))
        else {
            if is_former(command.name, &name) {
                continue;
            }
            return Err(unknown_text(&name, command.name, &command.parameters));
        };
        if value.is_null() {
            continue;
        }
        if !fits(field.kind, &value) {
            return Err(format!("`{name}` must be {}", phrase(field.kind)));
        }
        if checked.insert(field.name.to_owned(), value).is_some() {
            return Err(format!("`{}` is set twice", field.name));
        }
    }
    let required = command.parameters.iter().filter(|field| field.required);
    for field in required {
        if !checked.contains_key(field.name) {
            return Err(missing(command.name, field));
        }
    }
    Ok(checked)
}

/// Parses a request. The error names the parameter that is missing, invalid or unknown.
pub(super) fn parse_op(op: &Value) -> Result<Op, String> {
    // serde accepts the index of a variant as its name.
    let is_named = op.get("type").is_some_and(Value::is_string);
    let parsed = is_named.then(|| Op::deserialize(op).ok()).flatten();
    let parsed = parsed.ok_or_else(|| op_error(op))?;
    unknown_parameter(op).map_or(Ok(parsed), Err)
}

/// The error for a parameter that the request does not have.
fn unknown_parameter(op: &Value) -> Option<String> {
    let fields = op.as_object()?;
    let name = fields.get("type")?.as_str()?;
    let mut requests = Op::requests().into_iter();
    let known = requests.find(|request| request.name == name)?.parameters;
    let is_known = |field: &str| {
        field == "type" || is_former(name, field) || known.iter().any(|known| known.name == field)
    };
    let unknown = fields.keys().find(|field| !is_known(field))?;
    Some(unknown_text(unknown, name, known))
}

/// The mistake in a request. serde reports only that no variant of `Op` matches.
fn op_error(op: &Value) -> String {
    let Some(name) = op.get("type").and_then(Value::as_str) else {
        return "the request has no `type` with its name".to_owned();
    };
    let requests = Op::requests();
    let Some(request) = requests.iter().find(|request| request.name == name) else {
        let hint = match nearest(name, requests.iter().map(|request| request.name)) {
            Some(known) => format!("did you mean `{known}`?"),
            None => SCHEMA_HINT.to_owned(),
        };
        return format!("unknown request `{name}`; {hint}");
    };
    let value = |parameter: &Parameter| op.get(parameter.name).filter(|value| !value.is_null());
    for parameter in request.parameters {
        match value(parameter) {
            None if parameter.required => return missing(name, parameter),
            Some(value) if !fits(parameter.kind, value) => return mismatch(parameter),
            _ => {}
        }
    }
    // Every value has the right JSON type; the content of a list or an object is wrong.
    let nested = request.parameters.iter().filter(|parameter| {
        let is_nested = matches!(parameter.kind, Kind::List(_) | Kind::Object(_));
        is_nested && value(parameter).is_some()
    });
    let nested: Vec<&Parameter> = nested.collect();
    let is_valid_without = |parameter: &Parameter| {
        let mut rest = op.clone();
        let fields = rest.as_object_mut();
        fields.is_some_and(|fields| fields.shift_remove(parameter.name).is_some())
            && Op::deserialize(&rest).is_ok()
    };
    let wrong = match nested.as_slice() {
        [only] => Some(*only),
        several => several.iter().copied().find(|one| is_valid_without(one)),
    };
    match wrong.map(|parameter| (parameter.name, parameter.kind)) {
        Some((field, Kind::Object(kind))) => {
            format!("`{field}` is not a valid `{kind}`; {SCHEMA_HINT}")
        }
        Some((field, Kind::List(kind))) => {
            format!("`{field}` contains an invalid `{kind}`; {SCHEMA_HINT}")
        }
        _ => format!("a parameter of `{name}` is invalid; {SCHEMA_HINT}"),
    }
}

fn missing(command: &str, parameter: &Parameter) -> String {
    let (name, kind) = (parameter.name, phrase(parameter.kind));
    format!("`{command}` requires `{name}`: {kind}")
}

fn mismatch(parameter: &Parameter) -> String {
    let (name, kind) = (parameter.name, phrase(parameter.kind));
    format!("`{name}` must be {kind}")
}

fn unknown_text(name: &str, command: &str, known: &[Parameter]) -> String {
    let mut text = format!("unknown parameter `{name}` of `{command}`");
    let known: Vec<String> = known
        .iter()
        .map(|field| format!("`{}`", field.name))
        .collect();
    let known = if known.is_empty() {
        "it has no parameters".to_owned()
    } else {
        format!("expected one of {}", known.join(", "))
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "; {known}");
    text
}

fn is_named(parameter: &Parameter, name: &str) -> bool {
    parameter.name == name || parameter.aliases.contains(&name)
}

fn is_former(command: &str, parameter: &str) -> bool {
    FORMER.contains(&(command, parameter))
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

/// The type in words, for errors and the documentation.
pub(super) fn phrase(kind: Kind) -> String {
    match kind {
        Kind::Text => "a string".to_owned(),
        Kind::Number => "an integer from 0".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            match words.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
                None => "nothing".to_owned(),
            }
        }
        Kind::Texts => "a list of strings".to_owned(),
        Kind::List(name) => format!("a list of `{name}`"),
        Kind::Object(name) => format!("an object `{name}`"),
        Kind::Any => "any value".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::find_command;

    fn check_json(command: &str, parameters: &Value) -> Result<Value, String> {
        let command = find_command(command).unwrap();
        check(command, parameters.as_object().unwrap().clone()).map(Value::Object)
    }

    #[test]
    fn parameters_are_checked_and_renamed() {
        assert_eq!(
            check_json("prompt", &json!({"text": "hi", "images": null})),
            Ok(json!({"message": "hi"}))
        );
        let error = |command, parameters: Value| check_json(command, &parameters).unwrap_err();
        assert_eq!(
            error("set_thinking_level", json!({})),
            "`set_thinking_level` requires `level`: `off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`"
        );
        assert_eq!(
            error("set_auto_retry", json!({"enabled": "yes"})),
            "`enabled` must be true or false"
        );
        assert_eq!(
            error("label_entry", json!({"id": "x"})),
            "unknown parameter `id` of `label_entry`; expected one of `entryId`, `label`"
        );
        assert_eq!(
            error("abort", json!({"now": true})),
            "unknown parameter `now` of `abort`; it has no parameters"
        );
        assert_eq!(
            error("prompt", json!({"text": "a", "message": "b"})),
            "`message` is set twice"
        );
    }

    #[test]
    fn former_parameters_have_no_effect() {
        for (command, parameter) in FORMER {
            let given = json!({(parameter): true});
            assert_eq!(check_json(command, &given), Ok(json!({})));
            let op = json!({"type": command, (parameter): true});
            assert_eq!(parse_op(&op), parse_op(&json!({"type": command})));
        }
        let error = check_json("label_entry", &json!({"keepOpen": true})).unwrap_err();
        assert!(error.starts_with("unknown parameter `keepOpen` of `label_entry`"));
    }

    /// Every parameter of every command and request is checked, and any other is refused by name.
    #[test]
    fn parameters_of_all_commands_and_requests_are_checked() {
        for command in crate::table::commands() {
            let extra = json!({"extra": 1}).as_object().unwrap().clone();
            let error = check(command, extra).unwrap_err();
            let expected = format!("unknown parameter `extra` of `{}`; ", command.name);
            assert!(error.starts_with(&expected), "{error}");
            for field in command
                .parameters
                .iter()
                .filter(|field| field.kind != Kind::Any)
            {
                // No parameter is a list of numbers.
                let wrong = json!({(field.name): [7]}).as_object().unwrap().clone();
                let refused = check(command, wrong);
                if !matches!(field.kind, Kind::List(_)) {
                    let error = refused.unwrap_err();
                    assert!(
                        error.starts_with(&format!("`{}` must be ", field.name)),
                        "{error}"
                    );
                }
            }
        }
        for request in Op::requests() {
            let valid = simple_request(request.parameters, request.name);
            let error = |op: &Value| parse_op(op).unwrap_err();
            let mut extra = valid.clone();
            extra["extra"] = json!(1);
            // The content of an object or a list is not known here.
            if parse_op(&valid).is_ok() {
                let expected = format!("unknown parameter `extra` of `{}`; ", request.name);
                assert!(error(&extra).starts_with(&expected), "{}", error(&extra));
            } else {
                assert!(parse_op(&extra).is_err());
            }
        }
    }

    /// A request with a value for each required parameter that has a simple type.
    fn simple_request(parameters: &[Parameter], name: &str) -> Value {
        let mut op = json!({"type": name});
        for parameter in parameters.iter().filter(|parameter| parameter.required) {
            op[parameter.name] = match parameter.kind {
                Kind::Text => json!("x"),
                Kind::Number | Kind::Any => json!(1),
                Kind::Flag => json!(true),
                Kind::Word(words) => json!(words[0]),
                Kind::Texts | Kind::List(_) => json!([]),
                Kind::Object(_) => json!({}),
            };
        }
        op
    }

    #[test]
    fn number_is_no_name_of_a_request() {
        for number in 0..4 {
            let error = parse_op(&json!({"type": number})).unwrap_err();
            assert_eq!(error, "the request has no `type` with its name");
        }
    }
}
