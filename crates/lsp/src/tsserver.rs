//! Diagnostics of typescript-language-server. The server reports them late and in parts, and
//! reports nothing when a file still has no errors; its command for requests to TypeScript itself
//! answers at once.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::client::{Connection, Problem};
use crate::diagnostics::{self, FileDiagnostics};
use crate::position::Encoding;

/// The command that the server offers.
pub(crate) const COMMAND: &str = "typescript.tsserverRequest";
/// The requests to TypeScript that make up the diagnostics of a file.
const REQUESTS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

#[derive(Debug, Deserialize)]
struct Response<'m> {
    #[serde(default, borrow)]
    body: Option<&'m RawValue>,
}

/// The diagnostics of an open file.
pub(crate) async fn diagnostics(
    connection: &Connection,
    path: &Path,
    text: Option<&str>,
    limit: Duration,
) -> Result<FileDiagnostics, Problem> {
    let file = path.to_string_lossy();
    let ask = |request: &str| {
        let params = json!({"command": COMMAND, "arguments": [request, {"file": file}]});
        connection.request("workspace/executeCommand", params, limit)
    };
    let [syntactic, semantic] = REQUESTS.map(ask);
    let (syntactic, semantic) = futures_util::future::try_join(syntactic, semantic).await?;
    let mut found = read(syntactic.get(), text);
    found.join(read(semantic.get(), text));
    Ok(found)
}

fn read(answer: &str, text: Option<&str>) -> FileDiagnostics {
    let response = serde_json::from_str::<Response<'_>>(answer).ok();
    let body = response.and_then(|response| response.body);
    let body = body.map_or("[]", RawValue::get);
    // TypeScript itself counts in UTF-16.
    diagnostics::read_as(body, text, Encoding::Utf16, &standard)
}

/// A diagnostic of TypeScript in the form of the protocol.
fn standard(value: &Value) -> Value {
    let position = |end: &str| {
        let number = |name: &str| value[end][name].as_u64().unwrap_or(1).saturating_sub(1);
        json!({"line": number("line"), "character": number("offset")})
    };
    let severity = match value["category"].as_str() {
        Some("error") => 1,
        Some("warning") => 2,
        _ => 4,
    };
    json!({
        "range": {"start": position("start"), "end": position("end")},
        "severity": severity,
        "message": value["text"],
        "code": value["code"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counts, Diagnostic, Severity};

    #[test]
    fn diagnostics_have_the_form_of_typescript() {
        let place = json!({"line": 1, "offset": 4});
        let error = json!({"start": place, "end": place, "text": "Bad.", "code": 2554, "category": "error"});
        let answer =
            json!({"success": true, "body": [error, {"category": "suggestion", "text": "x"}]});
        let mut found = read(&answer.to_string(), Some("é😀x"));
        let diagnostic = |severity, column, message: &str, code: &str| Diagnostic {
            severity,
            line: 1,
            column,
            message: message.to_owned(),
            code: code.to_owned(),
        };
        let counts = Counts {
            errors: 1,
            warnings: 0,
            others: 1,
        };
        let worst = vec![
            diagnostic(Severity::Hint, 1, "x", ""),
            diagnostic(Severity::Error, 3, "Bad.", "2554"),
        ];
        assert_eq!(found, FileDiagnostics { counts, worst });
        found.join(read("{\"success\": false}", None));
        assert_eq!(found.counts, counts);
    }
}
