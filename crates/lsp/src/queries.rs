//! Questions to a server about symbols.

use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::client::Problem;
use crate::lists;
use crate::places::{Place, Symbol};
use crate::position::Lines;
use crate::server::Server;
use crate::uri;

/// Maximum bytes of an answer that is read at once.
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;
/// Maximum bytes of the text about a symbol.
const HOVER_BYTES: usize = 4 * 1024;

impl Server {
    /// The parameters for a symbol: a byte of a line, from 0, of an open file.
    pub(crate) fn at(&self, path: &Path, line: usize, byte: usize) -> Value {
        let text = self.text(path).unwrap_or_default();
        let position = Lines::new(&text).position(line, byte, self.capabilities.encoding);
        json!({"textDocument": {"uri": uri::of_path(path)}, "position": position.to_json()})
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Box<RawValue>, Problem> {
        let limit = self.answer_limit();
        self.connection.request(method, params, limit).await
    }

    /// At most `limit` places where a symbol is defined.
    pub async fn definition(
        &self,
        (path, line, byte): (&Path, usize, usize),
        limit: usize,
    ) -> Result<Vec<Place>, Problem> {
        let params = self.at(path, line, byte);
        let answer = self.ask("textDocument/definition", params).await?;
        Ok(places(answer.get(), limit).0)
    }

    /// At most `limit` places where a symbol is used, and how many there are.
    pub async fn references(
        &self,
        (path, line, byte): (&Path, usize, usize),
        limit: usize,
    ) -> Result<(Vec<Place>, usize), Problem> {
        let mut params = self.at(path, line, byte);
        params["context"] = json!({"includeDeclaration": true});
        let answer = self.ask("textDocument/references", params).await?;
        Ok(places(answer.get(), limit))
    }

    /// The type and the documentation of a symbol; empty without any.
    pub async fn hover(
        &self,
        (path, line, byte): (&Path, usize, usize),
    ) -> Result<String, Problem> {
        let params = self.at(path, line, byte);
        let answer = self.ask("textDocument/hover", params).await?;
        let answer = lists::value(answer.get(), ANSWER_LIMIT).unwrap_or_default();
        Ok(lists::clean(
            hover_text(&answer["contents"]).trim(),
            HOVER_BYTES,
        ))
    }

    /// The symbols of a file: at most `limit`, and how many there are.
    pub async fn document_symbols(
        &self,
        path: &Path,
        limit: usize,
    ) -> Result<(Vec<Symbol>, usize), Problem> {
        let params = json!({"textDocument": {"uri": uri::of_path(path)}});
        let answer = self.ask("textDocument/documentSymbol", params).await?;
        Ok(symbols(answer.get(), limit))
    }

    /// The symbols of the project whose names match: at most `limit`, and how many there are.
    pub async fn workspace_symbols(
        &self,
        query: &str,
        limit: usize,
    ) -> Result<(Vec<Symbol>, usize), Problem> {
        let params = json!({"query": query});
        let answer = self.ask("workspace/symbol", params).await?;
        Ok(symbols(answer.get(), limit))
    }
}

/// At most `limit` places of an answer, and how many there are.
fn places(answer: &str, limit: usize) -> (Vec<Place>, usize) {
    let mut found = Vec::new();
    let mut take = |value: &Value| {
        if let Some(place) = Place::read(value).filter(|place| !found.contains(place))
            && found.len() < limit
        {
            found.push(place);
        }
    };
    if answer.trim_start().starts_with('{') {
        lists::value(answer, ANSWER_LIMIT).iter().for_each(take);
        let count = found.len();
        return (found, count);
    }
    let count = lists::elements(answer, &mut take);
    let count = if found.len() < limit {
        found.len()
    } else {
        count
    };
    (found, count)
}

fn symbols(answer: &str, limit: usize) -> (Vec<Symbol>, usize) {
    let (mut found, mut count) = (Vec::new(), 0);
    // A symbol can contain others, so an element can be long.
    if let Some(Value::Array(list)) = lists::value(answer, ANSWER_LIMIT) {
        for symbol in &list {
            count += Symbol::read(symbol, 0, limit, &mut found);
        }
    } else {
        count = lists::elements(answer, &mut |symbol| {
            Symbol::read(symbol, 0, limit, &mut found);
        });
    }
    (found, count)
}

/// Text in any of the forms that servers use.
fn hover_text(contents: &Value) -> String {
    match contents {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts: Vec<String> = parts.iter().map(hover_text).collect();
            parts.join("\n\n")
        }
        Value::Object(marked) => {
            let text = marked.get("value").and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_several_forms() {
        let range =
            json!({"start": {"line": 4, "character": 0}, "end": {"line": 6, "character": 1}});
        let location = json!({"uri": "file:///a", "range": range});
        let link =
            json!({"targetUri": "file:///b", "targetRange": 0, "targetSelectionRange": range});
        let place = |path: &str| Place {
            path: path.into(),
            line: 5,
            end: 7,
        };
        for (answer, expected) in [
            (json!(null), vec![]),
            (location.clone(), vec![place("/a")]),
            (
                json!([location, link, location]),
                vec![place("/a"), place("/b")],
            ),
        ] {
            let count = expected.len();
            assert_eq!(places(&answer.to_string(), 10), (expected, count));
        }
        let many: Vec<Value> = (0..50)
            .map(|line| {
                let at = json!({"line": line, "character": 0});
                json!({"uri": "file:///a", "range": {"start": at, "end": at}})
            })
            .collect();
        let (found, count) = places(&json!(many).to_string(), 3);
        assert_eq!((found.len(), count), (3, 50));
    }

    #[test]
    fn symbols_within_symbols_are_flattened() {
        let range =
            json!({"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 1}});
        let child = json!({"name": "run\u{1b}[2J", "kind": 6, "range": range});
        let class = json!({"name": "App", "kind": 5, "range": range, "children": [child, child]});
        let (found, count) = symbols(&json!([class]).to_string(), 2);
        let names: Vec<_> = found
            .iter()
            .map(|one| (one.name.as_str(), one.kind, one.depth))
            .collect();
        assert_eq!(names, [("App", "class", 0), ("run", "method", 1)]);
        assert_eq!(count, 3);
    }

    #[test]
    fn hover_text_has_several_forms() {
        let marked = json!([{"language": "rust", "value": "fn a()"}, "Does it."]);
        assert_eq!(hover_text(&marked), "fn a()\n\nDoes it.");
        assert_eq!(hover_text(&json!({"kind": "plaintext", "value": "x"})), "x");
        assert_eq!(hover_text(&json!(null)), "");
    }
}
