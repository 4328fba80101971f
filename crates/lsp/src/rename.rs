//! A new name for a symbol, as changes of files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::Problem;
use crate::lists;
use crate::position::{Encoding, Lines, Position};
use crate::server::Server;
use crate::uri;

/// Maximum bytes of an answer that is read.
const ANSWER_LIMIT: usize = 4 * 1024 * 1024;
/// Files that one rename can change.
const MAX_FILES: usize = 200;
/// Maximum bytes of a changed file.
const FILE_LIMIT: u64 = 8 * 1024 * 1024;

/// The changes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdits {
    pub path: PathBuf,
    /// The edits in the order of their positions, without overlaps.
    pub edits: Vec<TextEdit>,
}

/// A replaced part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    pub old: String,
    pub new: String,
}

impl Server {
    /// The edits that rename a symbol. No file is changed.
    ///
    /// # Errors The reason why the server cannot rename the symbol.
    pub async fn rename(
        &self,
        (path, line, byte): (&Path, usize, usize),
        new: &str,
    ) -> Result<Vec<FileEdits>, Problem> {
        let mut params = self.at(path, line, byte);
        params["newName"] = json!(new);
        let answer = self.ask("textDocument/rename", params).await?;
        let encoding = self.capabilities.encoding;
        let read = osier_base::task::spawn_blocking(move || {
            let changes = changes(answer.get())?;
            let files = changes.into_iter();
            files
                .map(|(path, edits)| located(path, &edits, encoding))
                .collect()
        });
        let read = read.await.unwrap_or_else(|error| Err(error.to_string()));
        read.map_err(Problem::Refused)
    }
}

/// The edits of each file, as the server wrote them.
type Changes = Vec<(PathBuf, Vec<Value>)>;

/// Reads a `WorkspaceEdit`.
fn changes(answer: &str) -> Result<Changes, String> {
    let answer = lists::value(answer, ANSWER_LIMIT);
    let answer = answer.ok_or("its answer is too long")?;
    let mut changes: Changes = Vec::new();
    let mut add = |uri: &str, edits: &Value| {
        let path = uri::to_path(uri).ok_or("it wants to change something that is not a file")?;
        let edits = edits.as_array().cloned().unwrap_or_default();
        match changes.iter_mut().find(|(known, _)| *known == path) {
            Some((_, known)) => known.extend(edits),
            None => changes.push((path, edits)),
        }
        Ok::<(), String>(())
    };
    if let Some(documents) = answer["documentChanges"].as_array() {
        for document in documents {
            if let Some(kind) = document["kind"].as_str() {
                let kind = lists::line(kind, 20);
                return Err(format!(
                    "it also wants to {kind} files, which osier does not do"
                ));
            }
            let uri = document["textDocument"]["uri"].as_str();
            add(uri.unwrap_or_default(), &document["edits"])?;
        }
    } else if let Some(files) = answer["changes"].as_object() {
        for (uri, edits) in files {
            add(uri, edits)?;
        }
    }
    if changes.len() > MAX_FILES {
        let count = changes.len();
        return Err(format!(
            "it wants to change {count} files, and the limit is {MAX_FILES}"
        ));
    }
    Ok(changes)
}

/// The edits with their positions in the current file.
fn located(path: PathBuf, edits: &[Value], encoding: Encoding) -> Result<FileEdits, String> {
    let shown = path.display();
    let text = osier_base::regular_file::read(&path, FILE_LIMIT)
        .map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    let text = String::from_utf8(text).map_err(|_| format!("`{shown}` is not UTF-8 text"))?;
    let lines = Lines::new(&text);
    let mut found = Vec::with_capacity(edits.len());
    for edit in edits {
        let offset = |end: &str| {
            let position = Position::read(&edit["range"][end])?;
            lines.offset(position, encoding)
        };
        let place = offset("start").zip(offset("end"));
        let place = place.filter(|(start, end)| start <= end);
        let (start, end) = place.ok_or("it wants to change a place that does not exist")?;
        let new = edit["newText"].as_str().unwrap_or_default();
        found.push((start, end, new.to_owned()));
    }
    osier_base::sort::by_key(&mut found, |(start, end, _)| (*start, *end));
    found.dedup();
    if found.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        return Err(format!("its changes of `{shown}` overlap"));
    }
    let edits = found.into_iter().map(|(start, end, new)| {
        let (line, column) = lines.place(start);
        TextEdit {
            line,
            column,
            old: text.get(start..end).unwrap_or_default().to_owned(),
            new,
        }
    });
    let edits = edits.collect();
    Ok(FileEdits { path, edits })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(line: u32, from: u32, to: u32, new: &str) -> Value {
        json!({"newText": new, "range": {
            "start": {"line": line, "character": from}, "end": {"line": line, "character": to},
        }})
    }

    #[test]
    fn edits_are_located_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.rs");
        osier_base::atomic_file::write(&path, "let 😀é = 1;\nuse(é, é);\n".as_bytes()).unwrap();
        let uri = uri::of_path(&path);
        let edits = json!([edit(1, 7, 8, "x"), edit(0, 6, 7, "x"), edit(1, 4, 5, "x")]);
        let by_uri = json!({"changes": {uri.as_str(): edits}}).to_string();
        let versioned = json!({"documentChanges": [
            {"textDocument": {"uri": uri, "version": 1}, "edits": edits},
        ]});
        for answer in [by_uri, versioned.to_string()] {
            let (path, edits) = changes(&answer).unwrap().remove(0);
            let found = located(path.clone(), &edits, Encoding::Utf16).unwrap();
            let text_edit = |line, column| TextEdit {
                line,
                column,
                old: "é".to_owned(),
                new: "x".to_owned(),
            };
            let edits = vec![text_edit(1, 6), text_edit(2, 5), text_edit(2, 8)];
            assert_eq!(found, FileEdits { path, edits });
        }
        let overlapping = [edit(0, 0, 3, ""), edit(0, 2, 4, "")];
        let error = located(path.clone(), &overlapping, Encoding::Utf8).unwrap_err();
        assert_eq!(
            error,
            format!("its changes of `{}` overlap", path.display())
        );
        let error = located(path, &[edit(9, 0, 0, "")], Encoding::Utf8).unwrap_err();
        assert_eq!(error, "it wants to change a place that does not exist");
    }

    #[test]
    fn other_changes_are_refused() {
        for (answer, expected) in [
            (
                json!({"documentChanges": [{"kind": "delete", "uri": "file:///a"}]}),
                "it also wants to delete files, which osier does not do",
            ),
            (
                json!({"changes": {"untitled:1": []}}),
                "it wants to change something that is not a file",
            ),
        ] {
            assert_eq!(changes(&answer.to_string()).unwrap_err(), expected);
        }
        assert_eq!(changes("null").unwrap(), []);
    }
}
