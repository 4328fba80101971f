//! JSON lines of another program's session.

use std::path::Path;

use osier_base::regular_file::{self, ReadError};
use osier_base::{json, jsonl};
use serde_json::Value;

use super::draft::Draft;
use super::error::ImportError;

/// Longer lines are skipped; images take some megabytes.
pub(super) const LINE_LIMIT: u64 = 256 << 20;

/// The reader of one format.
pub(super) trait Read {
    /// Handles the value of one line.
    fn line(&mut self, value: Value, draft: &mut Draft);

    /// Handles the end of the file.
    fn end(&mut self, _draft: &mut Draft) {}
}

pub(super) fn each_line(
    path: &Path,
    draft: &mut Draft,
    mut reader: impl Read,
) -> Result<(), ImportError> {
    lines_of(path, |number, value| {
        draft.line = number;
        match value {
            Some(value) => reader.line(value, draft),
            None => draft.damaged(),
        }
        true
    })?;
    reader.end(draft);
    Ok(())
}

/// Calls `take` with the number and value of every non-empty line until it returns false; the value is `None`
/// for invalid JSON. The complete records in a damaged line follow it.
pub(super) fn lines_of(
    path: &Path,
    mut take: impl FnMut(u64, Option<Value>) -> bool,
) -> Result<(), ImportError> {
    let failed = |error| ImportError::io("read", path, error);
    let file = match regular_file::open(path) {
        Err(ReadError::NotRegular) => {
            return Err(ImportError::Unrecognised {
                path: path.to_owned(),
                reason: "it is not a regular file".to_owned(),
            });
        }
        file => file.map_err(|error| failed(error.into()))?,
    };
    let mut lines = jsonl::Lines::new(file);
    let mut number = 0;
    while let Some(line) = lines.next_within(LINE_LIMIT).map_err(failed)? {
        number += 1;
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            continue;
        }
        let value = json::from_record::<Value>(bytes).ok();
        let value = value.filter(Value::is_object).map(regular);
        let rescued = match value {
            Some(_) => Vec::new(),
            None => records_in(bytes),
        };
        let mut values = std::iter::once(value).chain(rescued.into_iter().map(Some));
        if !values.all(|value| take(number, value)) {
            break;
        }
    }
    Ok(())
}

/// Members that are names or ids. Some programs write them as numbers.
const IDS: &[&str] = &[
    "call_id",
    "callID",
    "firstKeptEntryId",
    "fromId",
    "id",
    "leafUuid",
    "logicalParentUuid",
    "parentId",
    "parentUuid",
    "sessionId",
    "targetId",
    "toolCallId",
    "tool_use_id",
    "uuid",
];

/// Members with the data of tools, which stay as they are.
const DATA: &[&str] = &[
    "arguments",
    "data",
    "details",
    "input",
    "metadata",
    "state",
    "toolUseResult",
];

/// `value` with the expected types: numbers become text in names and texts, and a single block
/// becomes a list.
pub(super) fn regular(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                let is_text = IDS.contains(&&**name) || ["text", "thinking"].contains(&&**name);
                match member {
                    Value::Number(number) if is_text => *member = number.to_string().into(),
                    _ if DATA.contains(&&**name) => {}
                    _ => *member = regular(member.take()),
                }
                if name == "content" && member.is_object() {
                    *member = Value::Array(vec![member.take()]);
                }
            }
        }
        Value::Array(parts) => parts
            .iter_mut()
            .for_each(|part| *part = regular(part.take())),
        _ => {}
    }
    value
}

/// Maximum number of objects that are tried in a damaged line.
const TRIED: usize = 200;

/// The complete records in a damaged line: a newline was lost, or another record was cut off before. A record ends where the
/// next begins or at the end of the line, unlike the objects inside of it.
fn records_in(line: &[u8]) -> Vec<Value> {
    let mut records = Vec::new();
    let mut at = 0;
    for _ in 0..TRIED {
        let Some(start) = memchr::memmem::find(&line[at..], b"{\"") else {
            break;
        };
        at += start;
        let mut values = serde_json::Deserializer::from_slice(&line[at..])
            .into_iter::<&serde_json::value::RawValue>();
        let length = match values.next() {
            Some(Ok(raw)) => raw.get().len(),
            _ => 0,
        };
        let behind = line[at + length..].trim_ascii_start();
        let is_record = length > 0 && (behind.is_empty() || behind.starts_with(b"{\""));
        let record = json::from_record::<Value>(&line[at..at + length]);
        match record.ok().filter(|_| is_record) {
            Some(record) => {
                records.push(regular(record));
                at += length;
            }
            None => at += 1,
        }
    }
    records
}

/// The text of a member.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}
