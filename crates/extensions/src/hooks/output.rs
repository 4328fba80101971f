//! The output of a hook: an answer in JSON, or a text. An output that looks like an answer but
//! cannot be read is not used as a text.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Deserializer, Map, Value};

use super::fields::is_of_answer;
use osier_base::{text, unique_json};
use osier_protocol::EventInfo;

/// The field names with which an answer decides, as JSON or as a dictionary of Python.
static DECIDES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"["'](?:decision|permissionDecision(?:Reason)?|hookSpecificOutput|continue|updatedInput|behavior)["']\s*:"#,
    )
    .ok()
});
/// Maximum number of lines that are tried as the start of an answer after other text.
const TRIED: usize = 4 * 1024;

/// The meaning of an output.
#[derive(Debug, PartialEq)]
pub(super) enum Printed {
    Answer(Map<String, Value>),
    Text(String),
    /// The output seems to contain an answer, which cannot be read.
    Unread(String),
    /// The output is not from the hook.
    Foreign(&'static str),
}

/// Reads the output of a hook for the event.
pub(super) fn read(info: &EventInfo, stdout: &str) -> Printed {
    let printed = stdout.trim_start_matches(is_space).trim_end();
    if printed.starts_with('{') {
        return answer(printed);
    }
    if let Some(problem) = (info.guards || info.continues)
        .then(|| hidden(printed, info.text_is_context))
        .flatten()
    {
        return Printed::Unread(problem.to_owned());
    }
    let mut chars = printed.chars();
    let is_markup = chars.next() == Some('<')
        && chars
            .next()
            .is_some_and(|char| char.is_alphabetic() || matches!(char, '!' | '?'));
    if info.guards && is_markup {
        return Printed::Foreign("its output is an HTML page");
    }
    let is_value = matches!(
        serde_json::from_str(printed),
        Ok(Value::Null | Value::Bool(_) | Value::String(_))
    );
    if info.guards && is_value && !info.text_is_context {
        return Printed::Unread("its output is not an object".to_owned());
    }
    Printed::Text(printed.to_owned())
}

fn is_space(char: char) -> bool {
    char.is_whitespace() || char == '\u{feff}'
}

fn answer(printed: &str) -> Printed {
    if printed.contains('\u{fffd}') {
        return Printed::Unread("its output looks like JSON but is not UTF-8".to_owned());
    }
    match unique_json::parse(printed) {
        Ok(Value::Object(answer)) => Printed::Answer(answer),
        Ok(_) => Printed::Unread("its output is not an object".to_owned()),
        Err(error) => Printed::Unread(format!(
            "its output looks like JSON but is invalid: {error}"
        )),
    }
}

/// Why a text may contain an answer. Other text is only a log, or context.
fn hidden(printed: &str, is_context: bool) -> Option<&'static str> {
    let clean = text::sanitize(printed);
    let is_invisible = |char| is_space(char) || char == char::REPLACEMENT_CHARACTER;
    if clean.trim_start_matches(is_invisible).starts_with('{') {
        return Some("its output has other bytes before the JSON");
    }
    if let Some(inner) = clean.strip_prefix('[') {
        let is_list = match serde_json::from_str(&clean) {
            Ok(Value::Array(list)) => list
                .iter()
                .any(|value| (!is_context && decides_in_list(value)) || is_answer(value)),
            // The list may be too deeply nested to be read.
            _ => !is_context && inner.trim_start().starts_with(['[', '{']),
        };
        if is_list {
            return Some("its output is a list instead of an object");
        }
    }
    let decides = || DECIDES.as_ref().is_none_or(|names| names.is_match(&clean));
    let rests = clean.match_indices('\n').map(|(at, _)| &clean[at + 1..]);
    let mut objects = rests
        .map(|rest| rest.trim_start_matches(is_space))
        .filter(|rest| rest.starts_with('{'))
        .take(TRIED);
    let begins_answer = |rest: &str| {
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        values
            .next()
            .and_then(Result::ok)
            .is_some_and(|value| is_answer(&value))
    };
    let is_after_text = (!is_context && decides()) || objects.any(begins_answer);
    is_after_text.then_some("its output has text before the JSON")
}

/// Whether an element of a list may be a decision: an object, or a word for one.
fn decides_in_list(value: &Value) -> bool {
    let words = ["allow", "approve", "ask", "block", "defer", "deny"];
    value.is_object() || value.as_str().is_some_and(|word| words.contains(&word))
}

fn is_answer(value: &Value) -> bool {
    let mut names = value.as_object().into_iter().flat_map(Map::keys);
    names.any(|name| is_of_answer(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::HookEvent;

    fn of(event: HookEvent, stdout: &str) -> Printed {
        read(event.info(), stdout)
    }

    #[test]
    fn an_answer_is_read_after_spaces_and_a_byte_order_mark() {
        for output in ["{}", " \n{}\n", "\u{feff}{}", "\n\u{feff} {}"] {
            assert_eq!(
                of(HookEvent::PreToolUse, output),
                Printed::Answer(Map::new())
            );
        }
    }

    #[test]
    fn what_looks_like_an_answer_and_cannot_be_read_is_no_text() {
        let utf16 = |text: &str| {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        for (output, expected) in [
            (
                "{\"decision\": ".to_owned(),
                "looks like JSON but is invalid",
            ),
            (
                "{'decision': 'block'}".to_owned(),
                "looks like JSON but is invalid",
            ),
            ("{} {}".to_owned(), "trailing characters"),
            (
                "{\"reason\": 1, \"reason\": 2}".to_owned(),
                "duplicate key `reason`",
            ),
            ("{\"reason\": \"\u{fffd}\"}".to_owned(), "is not UTF-8"),
            (
                utf16("{\"decision\": \"block\"}"),
                "looks like JSON but is invalid",
            ),
            (
                utf16("\u{feff}{\"decision\": \"block\"}"),
                "other bytes before the JSON",
            ),
            (
                "\u{1b}[0m{\"decision\": \"block\"}".to_owned(),
                "other bytes before the JSON",
            ),
            (
                "\u{1b}]0;t\u{7}{\"a\": \"b\"}".to_owned(),
                "other bytes before the JSON",
            ),
            ("\u{8}{}".to_owned(), "other bytes before the JSON"),
            ("[{\"decision\": \"block\"}]".to_owned(), "a list instead"),
            ("[\"deny\"]".to_owned(), "a list instead"),
            (
                "checking\n{\"decision\": \"block\"}".to_owned(),
                "text before the JSON",
            ),
            (
                "checking {\"decision\": \"block\"}".to_owned(),
                "text before the JSON",
            ),
            (
                "checking\n{\"decison\": \"block\"}\ndone".to_owned(),
                "text before the JSON",
            ),
            (
                "checking\n\u{feff}{\"deny\": true}".to_owned(),
                "text before the JSON",
            ),
            (
                format!("log\n{}{{\"blocked\": 1}}", "{log\n".repeat(99)),
                "text before the JSON",
            ),
            (
                "checking\n{'permissionDecision': 'deny'}".to_owned(),
                "text before the JSON",
            ),
        ] {
            match of(HookEvent::PreToolUse, &output) {
                Printed::Unread(problem) => {
                    assert!(problem.contains(expected), "{output}: {problem}");
                }
                other => panic!("{output}: {other:?}"),
            }
        }
        let after_text = "checking\n{\"decision\": \"block\"}";
        let unread = Printed::Unread("its output has text before the JSON".to_owned());
        assert_eq!(of(HookEvent::UserPromptSubmit, after_text), unread);
        assert_eq!(of(HookEvent::Stop, after_text), unread);
        let text = Printed::Text(after_text.to_owned());
        assert_eq!(of(HookEvent::SessionStart, after_text), text);
    }

    #[test]
    fn pages_and_single_values_are_no_log_of_a_guard() {
        for page in [
            "<!DOCTYPE html><p>502",
            "<h1>502 Bad Gateway</h1>",
            "<!-- c --><html>",
            "<?xml version=\"1.0\"?>",
        ] {
            let expected = Printed::Foreign("its output is an HTML page");
            assert_eq!(of(HookEvent::PreToolUse, page), expected, "{page}");
        }
        for value in ["false", "null", "\"deny\""] {
            let expected = Printed::Unread("its output is not an object".to_owned());
            assert_eq!(of(HookEvent::PreToolUse, value), expected, "{value}");
        }
    }

    #[test]
    fn other_text_is_a_log_or_context() {
        let log = |event: HookEvent, text: &str| {
            assert_eq!(of(event, text), Printed::Text(text.to_owned()), "{text}");
        };
        for text in [
            "",
            "checked",
            "[info] checked",
            "[1, 2]",
            "12",
            "a\n{b",
            "read\n{\"tool_name\": \"Bash\"}",
            "{\"a\": 1}".strip_prefix('{').unwrap(),
        ] {
            log(HookEvent::PreToolUse, text);
        }
        for text in [
            "a document:\n{\"name\": \"osier\", \"version\": 1}",
            "the docs say {\"decision\": \"block\"}",
            "[1, 2]",
        ] {
            log(HookEvent::UserPromptSubmit, text);
        }
    }
}
