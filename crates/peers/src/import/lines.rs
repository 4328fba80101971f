//! JSON lines of another program's session.

use std::path::Path;

use osier_base::jsonl;
use osier_base::regular_file::{self, ReadError};
use serde_json::Value;

use super::draft::Draft;
use super::error::ImportError;

/// Longer lines are skipped; images take some megabytes.
pub(super) const LINE_LIMIT: u64 = 256 << 20;

/// One format.
pub(super) trait Read {
    /// Handles the value of one line.
    fn line(&mut self, value: Value, draft: &mut Draft);

    /// The end of the file.
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
/// for invalid JSON.
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
        let value = serde_json::from_slice::<Value>(bytes).ok();
        if !take(number, value.filter(Value::is_object)) {
            break;
        }
    }
    Ok(())
}

/// The text of a member.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}
