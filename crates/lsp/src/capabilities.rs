//! The capabilities that osier announces to a server, and the capabilities that a server announces.

use std::path::Path;

use serde_json::{Value, json};

use crate::position::Encoding;
use crate::tsserver;
use crate::uri;

/// The parameters of `initialize`.
pub(crate) fn initialize(root: &Path, options: &Value) -> Value {
    let uri = uri::of_path(root);
    let name = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    json!({
        "processId": std::process::id(),
        "clientInfo": {"name": "osier"},
        "rootUri": uri,
        "rootPath": root.to_string_lossy(),
        "workspaceFolders": [{"uri": uri, "name": name.unwrap_or_default()}],
        "initializationOptions": options,
        "capabilities": {
            "general": {"positionEncodings": Encoding::OFFERED},
            "window": {"workDoneProgress": true},
            "workspace": {
                "configuration": true,
                "workspaceFolders": true,
                "didChangeWatchedFiles": {"dynamicRegistration": false},
                "symbol": {"dynamicRegistration": false},
                "workspaceEdit": {"documentChanges": true},
                "diagnostics": {"refreshSupport": true},
            },
            "textDocument": {
                "synchronization": {"didSave": true},
                "publishDiagnostics": {"versionSupport": true, "relatedInformation": false},
                "diagnostic": {"dynamicRegistration": false, "relatedDocumentSupport": true},
                "definition": {"linkSupport": true},
                "references": {},
                "hover": {"contentFormat": ["plaintext", "markdown"]},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                "rename": {"prepareSupport": false},
            },
        },
    })
}

/// A feature that a language server may support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    Definition,
    References,
    Hover,
    DocumentSymbols,
    WorkspaceSymbols,
    Rename,
}

impl Capability {
    const ALL: [Self; 6] = [
        Self::Definition,
        Self::References,
        Self::Hover,
        Self::DocumentSymbols,
        Self::WorkspaceSymbols,
        Self::Rename,
    ];

    /// The field of the capabilities.
    fn provider(self) -> &'static str {
        match self {
            Self::Definition => "definitionProvider",
            Self::References => "referencesProvider",
            Self::Hover => "hoverProvider",
            Self::DocumentSymbols => "documentSymbolProvider",
            Self::WorkspaceSymbols => "workspaceSymbolProvider",
            Self::Rename => "renameProvider",
        }
    }
}

/// The features that a server supports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) encoding: Encoding,
    /// The server answers requests of the protocol for diagnostics.
    pub(crate) pulls: bool,
    /// The server passes requests to TypeScript.
    pub(crate) asks_tsserver: bool,
    /// The server wants a notification when a file is saved.
    pub(crate) saves: bool,
    able: Vec<Capability>,
}

impl Capabilities {
    /// Reads the capabilities from the answer to `initialize`.
    ///
    /// # Errors
    /// The server speaks an encoding that was not offered.
    pub(crate) fn read(answer: &Value) -> Result<Self, String> {
        let given = &answer["capabilities"];
        let encoding = match given["positionEncoding"].as_str() {
            None => Encoding::default(),
            Some(name) => Encoding::from_name(name).ok_or_else(|| {
                let name = crate::lists::line(name, 40);
                format!("it counts columns in `{name}`, which osier does not support")
            })?,
        };
        let has = |name: &str| match &given[name] {
            Value::Bool(able) => *able,
            Value::Object(_) => true,
            _ => false,
        };
        let saves = match &given["textDocumentSync"] {
            Value::Object(sync) => sync.get("save").is_some_and(|save| *save != json!(false)),
            _ => false,
        };
        let commands = given["executeCommandProvider"]["commands"].as_array();
        let mut commands = commands.into_iter().flatten();
        let asks_tsserver = commands.any(|command| command == tsserver::COMMAND);
        let able = Capability::ALL.into_iter();
        Ok(Self {
            encoding,
            pulls: has("diagnosticProvider"),
            asks_tsserver,
            saves,
            able: able
                .filter(|capability| has(capability.provider()))
                .collect(),
        })
    }

    /// Whether the server answers requests for diagnostics.
    pub(crate) fn answers(&self) -> bool {
        self.pulls || self.asks_tsserver
    }

    pub(crate) fn can(&self, capability: Capability) -> bool {
        self.able.contains(&capability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_flags_or_options() {
        let answer = json!({"capabilities": {
            "positionEncoding": "utf-8",
            "definitionProvider": true,
            "hoverProvider": {"workDoneProgress": true},
            "renameProvider": false,
            "textDocumentSync": {"change": 1, "save": {"includeText": false}},
        }});
        let read = Capabilities::read(&answer).unwrap();
        let expected = Capabilities {
            encoding: Encoding::Utf8,
            pulls: false,
            asks_tsserver: false,
            saves: true,
            able: vec![Capability::Definition, Capability::Hover],
        };
        assert_eq!(read, expected);
        let none = Capabilities::read(&json!("odd")).unwrap();
        assert_eq!(none, Capabilities::default());
        let odd = json!({"capabilities": {"positionEncoding": "ebcdic"}});
        assert_eq!(
            Capabilities::read(&odd).unwrap_err(),
            "it counts columns in `ebcdic`, which osier does not support"
        );
    }
}
