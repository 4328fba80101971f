//! Edits `mcp.json`: adds or removes one server and leaves everything else unchanged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use osier_base::atomic_file;
use osier_base::atomic_file::{Options, WriteError};
use osier_base::regular_file::{self, ReadError};

/// A server to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewServer {
    pub name: String,
    /// A program with its arguments; empty for a server over HTTP.
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub url: Option<String>,
    /// Whether the URL is an event stream (the HTTP protocol of 2024).
    pub is_sse: bool,
    pub headers: BTreeMap<String, String>,
}

/// The reason why the file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{}` {source}", path.display())]
    Read { path: PathBuf, source: ReadError },
    #[error("{}:{line}:{column}: not valid JSON", path.display())]
    Syntax {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    #[error("`{}` does not contain an object of servers", path.display())]
    Shape { path: PathBuf },
    #[error("the server `{name}` already exists in `{}`", path.display())]
    Taken { name: String, path: PathBuf },
    #[error("no server `{name}` in `{}`", path.display())]
    Unknown { name: String, path: PathBuf },
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl FileError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check its permissions",
            Self::Syntax { .. } | Self::Shape { .. } => "fix it first",
            Self::Taken { .. } => "remove it first, or use `--force`",
            Self::Unknown { .. } => "list the servers with `osier mcp list`",
            Self::Write(error) => error.hint(),
        }
    }
}

impl NewServer {
    fn entry(&self) -> Value {
        let mut entry = Map::new();
        if let Some(url) = &self.url {
            let kind = if self.is_sse { "sse" } else { "http" };
            entry.insert("type".to_owned(), json!(kind));
            entry.insert("url".to_owned(), json!(url));
            if !self.headers.is_empty() {
                entry.insert("headers".to_owned(), json!(self.headers));
            }
        } else if let Some((program, args)) = self.command.split_first() {
            entry.insert("command".to_owned(), json!(program));
            entry.insert("args".to_owned(), json!(args));
            if !self.env.is_empty() {
                entry.insert("env".to_owned(), json!(self.env));
            }
        }
        Value::Object(entry)
    }
}

/// Adds `server` to the file at `path`, which is created if needed. Blocks.
pub fn add(path: &Path, server: &NewServer, force: bool) -> Result<(), FileError> {
    let mut file = read(path)?;
    let servers = file.servers(path)?;
    if servers.contains_key(&server.name) && !force {
        let (name, path) = (server.name.clone(), path.to_owned());
        return Err(FileError::Taken { name, path });
    }
    servers.insert(server.name.clone(), server.entry());
    file.write(path)
}

/// Removes the server `name`. Blocks.
pub fn remove(path: &Path, name: &str) -> Result<(), FileError> {
    let mut file = read(path)?;
    if file.servers(path)?.shift_remove(name).is_none() {
        let (name, path) = (name.to_owned(), path.to_owned());
        return Err(FileError::Unknown { name, path });
    }
    file.write(path)
}

/// The content of the file and its indentation.
struct File {
    root: Value,
    indent: String,
}

fn read(path: &Path) -> Result<File, FileError> {
    let text = match regular_file::read_text(path, super::config::FILE_LIMIT) {
        Ok(text) => text,
        Err(ReadError::Missing) => "{}".to_owned(),
        Err(source) => {
            let path = path.to_owned();
            return Err(FileError::Read { path, source });
        }
    };
    let root = serde_json::from_str(&text).map_err(|error| FileError::Syntax {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
    })?;
    let first = text.lines().nth(1).unwrap_or("  ");
    let indent = &first[..first.len() - first.trim_start().len()];
    let indent = if indent.is_empty() { "  " } else { indent };
    Ok(File {
        root,
        indent: indent.to_owned(),
    })
}

impl File {
    fn servers(&mut self, path: &Path) -> Result<&mut Map<String, Value>, FileError> {
        let shape = || FileError::Shape {
            path: path.to_owned(),
        };
        let root = self.root.as_object_mut().ok_or_else(shape)?;
        let key = if root.contains_key("servers") && !root.contains_key("mcpServers") {
            "servers"
        } else {
            "mcpServers"
        };
        let servers = root.entry(key).or_insert_with(|| json!({}));
        servers.as_object_mut().ok_or_else(shape)
    }

    fn write(&self, path: &Path) -> Result<(), FileError> {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        if serde::Serialize::serialize(&self.root, &mut serializer).is_err() {
            return Err(FileError::Shape {
                path: path.to_owned(),
            });
        }
        bytes.push(b'\n');
        // Entries can contain keys.
        Ok(atomic_file::write_with(path, &bytes, Options::PRIVATE)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_added_and_removed_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/mcp.json");
        let server = NewServer {
            name: "git".into(),
            command: vec!["uvx".into(), "mcp-server-git".into()],
            env: BTreeMap::from([("A".into(), "${A}".into())]),
            ..NewServer::default()
        };
        add(&path, &server, false).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = "{\n  \"mcpServers\": {\n    \"git\": {\n      \"command\": \"uvx\",\n      \"args\": [\n        \"mcp-server-git\"\n      ],\n      \"env\": {\n        \"A\": \"${A}\"\n      }\n    }\n  }\n}\n";
        assert_eq!(text, expected);
        let error = add(&path, &server, false).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the server `git` already exists")
        );
        let tabbed =
            "{\n\t\"other\": 1,\n\t\"mcpServers\": {\n\t\t\"z\": {\"command\": \"z\"}\n\t}\n}\n";
        atomic_file::write(&path, tabbed.as_bytes()).unwrap();
        let web = NewServer {
            name: "web".into(),
            url: Some("https://h/mcp".into()),
            ..NewServer::default()
        };
        add(&path, &web, false).unwrap();
        remove(&path, "z").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = "{\n\t\"other\": 1,\n\t\"mcpServers\": {\n\t\t\"web\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"https://h/mcp\"\n\t\t}\n\t}\n}\n";
        assert_eq!(text, expected);
        let error = remove(&path, "z").unwrap_err();
        assert!(error.to_string().starts_with("no server `z`"));
    }
}
