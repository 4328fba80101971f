//! Places and symbols in answers.

use std::path::PathBuf;

use serde_json::Value;

use crate::lists;
use crate::position::Position;
use crate::uri;

/// Maximum bytes of a name.
const NAME_BYTES: usize = 200;
/// Levels of symbols within symbols that are read.
const DEPTH: usize = 16;

/// A range of lines in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub path: PathBuf,
    /// The first line, from 1.
    pub line: u32,
    /// The last line, from 1.
    pub end: u32,
}

impl Place {
    /// Reads a `Location` or a `LocationLink`.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let (uri, range) = match value["uri"].as_str() {
            Some(uri) => (uri, &value["range"]),
            None => (value["targetUri"].as_str()?, &value["targetSelectionRange"]),
        };
        let (start, end) = lines(range)?;
        Some(Self {
            path: uri::to_path(uri)?,
            line: start,
            end,
        })
    }
}

/// The first and the last line of a range, from 1.
fn lines(range: &Value) -> Option<(u32, u32)> {
    let start = Position::read(&range["start"])?.line.saturating_add(1);
    let end = Position::read(&range["end"])?.line.saturating_add(1);
    Some((start, end.max(start)))
}

/// A function, a type, a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub kind: &'static str,
    /// The name of the enclosing symbol, in the results of a search; empty if there is none.
    pub container: String,
    /// The file of the symbol; not set for the symbols of one file.
    pub path: Option<PathBuf>,
    pub line: u32,
    pub end: u32,
    /// The number of enclosing symbols in the file.
    pub depth: usize,
}

/// The kinds of the protocol, from 1.
const KINDS: [&str; 26] = [
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "variant",
    "struct",
    "event",
    "operator",
    "type parameter",
];

impl Symbol {
    /// Reads a symbol and the symbols inside it into `found`, up to `limit`. Returns how many there are.
    pub(crate) fn read(value: &Value, depth: usize, limit: usize, found: &mut Vec<Self>) -> usize {
        let Some(symbol) = Self::read_one(value, depth) else {
            return 0;
        };
        if found.len() < limit {
            found.push(symbol);
        }
        let children = value["children"].as_array().map_or(&[][..], Vec::as_slice);
        if depth >= DEPTH {
            return 1;
        }
        let below = children
            .iter()
            .map(|child| Self::read(child, depth + 1, limit, found));
        1 + below.sum::<usize>()
    }

    fn read_one(value: &Value, depth: usize) -> Option<Self> {
        let text = |name: &str| {
            let text = value[name].as_str().unwrap_or_default();
            lists::line(text, NAME_BYTES)
        };
        let kind = value["kind"].as_u64().unwrap_or_default();
        let kind = usize::try_from(kind)
            .ok()
            .and_then(|kind| kind.checked_sub(1));
        let location = &value["location"];
        let path = location["uri"].as_str().and_then(uri::to_path);
        let range = if location.is_object() {
            &location["range"]
        } else {
            &value["range"]
        };
        let (line, end) = lines(range).or(path.as_ref().map(|_| (1, 1)))?;
        Some(Self {
            name: text("name"),
            kind: kind.and_then(|kind| KINDS.get(kind)).unwrap_or(&"symbol"),
            container: text("containerName"),
            path,
            line,
            end,
            depth,
        })
    }
}
