//! The size of a message. A few bytes can become a JSON value of a hundred bytes in memory, so the
//! number of values is also limited, before a message is parsed.

use rmcp::model::{ErrorCode, ErrorData, NumberOrString};

/// Maximum number of JSON values in a message.
const VALUE_LIMIT: usize = 500_000;
/// Bytes at the start and the end of a message that are searched for its id.
pub(super) const EDGE: usize = 256;

/// The reason if `message` has too many values to be parsed.
pub(super) fn excess(message: &[u8]) -> Option<String> {
    let values = values(message);
    (values > VALUE_LIMIT).then(|| {
        format!("the server's message has {values} JSON values, and the limit is {VALUE_LIMIT}")
    })
}

/// The error for the sender of a refused message, or for the caller that waits for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    /// The answer to a request of the server.
    Request(NumberOrString, ErrorData),
    /// An error that replaces the server's answer.
    Answer(NumberOrString, ErrorData),
}

/// The refusal of the message with these `edges`, its start and its end. None if no id is found.
pub(super) fn refusal(edges: &[u8], reason: String) -> Option<Refusal> {
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, reason, None);
    let head = String::from_utf8_lossy(&edges[..edges.len().min(EDGE)]);
    let tail = String::from_utf8_lossy(&edges[edges.len().saturating_sub(EDGE)..]);
    let before_result = head.split("\"result\"").next().unwrap_or_default();
    let refusal = if before_result.contains("\"method\"") {
        Refusal::Request
    } else {
        Refusal::Answer
    };
    Some(refusal(id_of(&head, &tail)?, error))
}

/// The approximate number of values and names in `json`: the number of separators outside of
/// strings.
pub(super) fn values(json: &[u8]) -> usize {
    let (mut count, mut rest) = (0, json);
    loop {
        let string = memchr::memchr(b'"', rest);
        let (outside, inside) = rest.split_at(string.unwrap_or(rest.len()));
        let is_separator = |byte: &&u8| matches!(byte, b',' | b':' | b'[' | b'{');
        count += outside.iter().filter(is_separator).count();
        let Some(after) = inside.get(1..).and_then(after_string) else {
            return count;
        };
        rest = after;
    }
}

/// The bytes after the string that begins before `rest`; `None` if the string does not end.
fn after_string(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let at = memchr::memchr2(b'"', b'\\', rest)?;
        if rest[at] == b'"' {
            return Some(&rest[at + 1..]);
        }
        // Skips an escaped character.
        rest = rest.get(at + 2..)?;
    }
}

/// The id at the start or the end of a message: servers write it first or last.
fn id_of(head: &str, tail: &str) -> Option<NumberOrString> {
    let after = |text: &str| {
        let rest = text.trim_start().strip_prefix(':')?.trim_start();
        if let Some(string) = rest.strip_prefix('"') {
            let (id, _) = string.split_once('"')?;
            return Some(NumberOrString::String(id.into()));
        }
        let digits = rest
            .find(|char: char| !char.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..digits].parse().ok().map(NumberOrString::Number)
    };
    let first = head.split_once("\"id\"").and_then(|(_, rest)| after(rest));
    first.or_else(|| tail.rsplit_once("\"id\"").and_then(|(_, rest)| after(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (json, expected) in [
            ("", 0),
            ("1", 0),
            ("[1,2,[]]", 4),
            (r#"{"a":{"":0},"b":[]}"#, 7),
            (r#"["[,:{", "\"[,", "\\", 1]"#, 4),
            (r#"["open [,"#, 1),
            (r#"["open \"#, 1),
        ] {
            assert_eq!(values(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn many_small_values_are_refused_and_one_large_value_is_not() {
        let filling = "{\"\":0},".repeat(200_000);
        let many = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"a\":[{filling}0]}}}}");
        let reason = excess(many.as_bytes()).unwrap();
        let expected = "the server's message has 600009 JSON values, and the limit is 500000";
        assert_eq!(reason, expected);
        let error = ErrorData::internal_error(reason.clone(), None);
        let answer = Refusal::Answer(NumberOrString::Number(7), error);
        assert_eq!(refusal(many.as_bytes(), reason), Some(answer));
        let large = format!(
            "{{\"id\":7,\"result\":{{\"data\":\"{}\"}}}}",
            "QUJD".repeat(7_864_320)
        );
        assert_eq!(excess(large.as_bytes()), None);
    }

    #[test]
    fn a_refused_request_is_answered_and_a_refused_answer_is_an_error() {
        let error = || ErrorData::internal_error("r", None);
        let number = NumberOrString::Number;
        let string = |id: &str| NumberOrString::String(id.into());
        for (message, expected) in [
            (
                r#"{"id":"el","method":"ping","params":{}}"#,
                Some(Refusal::Request(string("el"), error())),
            ),
            (
                r#"{"method":"ping","params":{},"id":3}"#,
                Some(Refusal::Request(number(3), error())),
            ),
            (
                r#"{"id":3,"result":{"method":"ping"}}"#,
                Some(Refusal::Answer(number(3), error())),
            ),
            (r#"{"method":"note","params":{}}"#, None),
        ] {
            assert_eq!(
                refusal(message.as_bytes(), "r".into()),
                expected,
                "{message}"
            );
        }
    }
}
