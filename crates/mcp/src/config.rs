//! `mcp.json`: the configured servers. Three files are read: the user's, the project's `.mcp.json` and the
//! project's `.osier/mcp.json`; later files override earlier ones. An error affects only its own server.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::expand::expand;
use super::hidden::Hidden;
pub use super::server_config::{
    HttpProtocol, Launch, OAuthConfig, SamplingRule, ServerConfig, ToolFilter,
};
use super::server_config::{LOG_LEVELS, REQUEST_TIMEOUT, START_TIMEOUT};
use osier_base::config_file::ConfigFile;
use osier_base::json;
use osier_base::problem::{Problem, nearest};
use osier_base::{process, secrets};

/// Maximum size of a file.
pub(super) const FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// The keys of a server entry.
const KEYS: &[&str] = &[
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "disabled",
    "enabled",
    "tools",
    "enabledTools",
    "disabledTools",
    "timeout",
    "startTimeout",
    "oauth",
    "sampling",
    "logLevel",
    "description",
    // The key `name` is for servers of the type `sdk`.
    "name",
];

/// A longer timeout is an error.
const MAX_SECONDS: f64 = 86_400.0;

/// The servers of all files.
#[derive(Debug, Default)]
pub struct Servers {
    /// The servers by name.
    pub servers: BTreeMap<String, ServerConfig>,
    pub problems: Vec<Problem>,
}

/// Reads the files. Later entries override earlier ones of the same name. A missing file is not an
/// error. Blocks.
pub fn load(files: &[ConfigFile], environment: &BTreeMap<String, String>) -> Servers {
    let mut all = Servers::default();
    for file in files {
        let path = &file.path;
        let text = match file.text(FILE_LIMIT) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(error) => {
                let hint = "its servers are ignored";
                let problem = Problem::of_file(path, error.to_string(), hint);
                all.problems.push(problem);
                continue;
            }
        };
        let mut read = parse_file(path, &text, environment, file.is_known());
        for server in read.servers.values_mut() {
            server.of_project = file.is_known();
            read.problems.extend(server.limit_project());
            read.problems.extend(server.relative_argument());
        }
        all.servers.extend(read.servers);
        all.problems.extend(read.problems);
    }
    all
}

/// Parses `text`, the content of `path`, which is a file of the user.
pub fn parse(path: &Path, text: &str, environment: &BTreeMap<String, String>) -> Servers {
    parse_file(path, text, environment, false)
}

fn parse_file(
    path: &Path,
    text: &str,
    environment: &BTreeMap<String, String>,
    of_project: bool,
) -> Servers {
    let mut all = Servers::default();
    let root = match json::from_people(text) {
        Ok(root) => root,
        Err(error) => {
            let hint = "its servers are ignored until it is fixed";
            let mut problem = Problem::of_file(path, message_of(&error), hint);
            (problem.line, problem.column) = (Some(error.line()), Some(error.column()));
            all.problems.push(problem);
            return all;
        }
    };
    // Some files list the servers at the top level.
    let servers = root.get("mcpServers").or_else(|| root.get("servers"));
    let Some(servers) = servers.and_then(Value::as_object) else {
        let hint = "write {\"mcpServers\": {\"NAME\": {\"command\": …}}}";
        let problem = Problem::of_file(path, "`mcpServers` is not an object", hint);
        all.problems.push(problem.at(text, 0));
        return all;
    };
    for (name, entry) in servers {
        let mut reader = Reader {
            path,
            text,
            name,
            environment,
            of_project,
            problems: &mut all.problems,
            hidden: Hidden::default(),
            keys: Vec::new(),
        };
        if let Some(server) = reader.server(entry) {
            all.servers.insert(name.clone(), server);
        }
        // The keys are withheld even if the entry is not used.
        process::withhold_variables(reader.keys, of_project);
        secrets::add_known_fields(entry);
    }
    all
}

/// The command, such as `npx -y server`, or the URL, as in the entry.
fn shown(entry: &Map<String, Value>) -> String {
    let words = ["url", "command", "args"]
        .into_iter()
        .filter_map(|key| entry.get(key));
    let words = words.flat_map(|value| match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        value => value.as_str().into_iter().collect::<Vec<_>>(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The message without its position, which is reported separately.
fn message_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let end = message.find(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

/// Parses the entry of one server.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    name: &'a str,
    environment: &'a BTreeMap<String, String>,
    /// Whether the file belongs to a project, which may not name keys of the user.
    of_project: bool,
    problems: &'a mut Vec<Problem>,
    hidden: Hidden,
    /// The variables in the environment, the headers and the URL of the server: only this server gets them.
    keys: Vec<String>,
}

impl Reader<'_> {
    fn server(&mut self, entry: &Value) -> Option<ServerConfig> {
        let Some(entry) = entry.as_object() else {
            self.fault(
                None,
                "is not an object",
                "write {\"command\": …} or {\"url\": …}",
            );
            return None;
        };
        if self.name.is_empty() || self.name.contains(char::is_whitespace) {
            self.fault(
                None,
                "has an empty name or a name with spaces",
                "use a name without spaces",
            );
            return None;
        }
        for key in entry.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let hint = match nearest(key, KEYS.iter().copied()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("expected one of {}", KEYS.join(", ")),
            };
            self.fault(Some(key), &format!("has the unknown key `{key}`"), &hint);
        }
        let launch = self.launch(entry)?;
        let disabled =
            self.flag(entry, "disabled", false)? || !self.flag(entry, "enabled", true)?;
        Some(ServerConfig {
            name: self.name.to_owned(),
            file: self.path.to_owned(),
            of_project: false,
            launch,
            shown: shown(entry),
            disabled,
            timeout: self.seconds(entry, "timeout", REQUEST_TIMEOUT),
            start_timeout: self.seconds(entry, "startTimeout", START_TIMEOUT),
            tools: self.filter(entry)?,
            sampling: self.sampling(entry),
            log_level: self.log_level(entry),
            hidden: std::mem::take(&mut self.hidden),
        })
    }

    /// Reads a flag; `None` after an error: the server is not used, because it may have been
    /// disabled.
    fn flag(&mut self, entry: &Map<String, Value>, key: &str, default: bool) -> Option<bool> {
        match entry.get(key) {
            None => Some(default),
            Some(Value::Bool(value)) => Some(*value),
            Some(value) => {
                let message = format!("has the invalid {key} `{value}`");
                self.fault(Some(key), &message, "expected true or false");
                None
            }
        }
    }

    fn launch(&mut self, entry: &Map<String, Value>) -> Option<Launch> {
        let kind = entry.get("type").and_then(Value::as_str);
        match (entry.contains_key("command"), entry.contains_key("url")) {
            (true, true) => {
                let hint = "remove one of them";
                self.fault(Some("url"), "has both `command` and `url`", hint);
                None
            }
            (false, false) if kind == Some("sdk") => Some(Launch::Program(None)),
            (false, false) => {
                let hint = "set the program to start, or the URL";
                self.fault(None, "has neither `command` nor `url`", hint);
                None
            }
            (true, false) => {
                let program = self.text(entry, "command")?;
                Some(Launch::Command {
                    program,
                    args: self.texts(entry, "args")?.unwrap_or_default(),
                    env: self.table(entry, "env")?,
                    cwd: if entry.contains_key("cwd") {
                        Some(self.text(entry, "cwd")?.into())
                    } else {
                        None
                    },
                })
            }
            (false, true) => {
                let protocol = match kind {
                    Some("sse") => HttpProtocol::Sse,
                    _ => HttpProtocol::Streamable,
                };
                self.url(entry, protocol)
            }
        }
    }

    fn url(&mut self, entry: &Map<String, Value>, protocol: HttpProtocol) -> Option<Launch> {
        let url = self.text(entry, "url")?;
        if let Some(Value::String(written)) = entry.get("url") {
            self.note_keys(written);
        }
        if !url.starts_with("https://") && !url.starts_with("http://") {
            let hint = "a URL starts with https:// or http://";
            self.fault(Some("url"), &format!("has the invalid URL `{url}`"), hint);
            return None;
        }
        let oauth = entry.get("oauth").and_then(Value::as_object);
        let oauth = oauth.cloned().unwrap_or_default();
        let optional = |reader: &mut Self, key: &str| {
            if oauth.contains_key(key) {
                reader.text(&oauth, key).map(Some)
            } else {
                Some(None)
            }
        };
        Some(Launch::Url {
            url,
            headers: self.table(entry, "headers")?,
            protocol,
            oauth: OAuthConfig {
                client_id: optional(self, "clientId")?,
                client_secret: optional(self, "clientSecret")?,
                client_metadata_url: optional(self, "clientMetadataUrl")?,
                scopes: self.texts(&oauth, "scopes")?.unwrap_or_default(),
            },
        })
    }

    /// Reads the rule for sampling. With an invalid rule, osier asks the user.
    fn sampling(&mut self, entry: &Map<String, Value>) -> SamplingRule {
        match entry.get("sampling").map(|rule| (rule, rule.as_str())) {
            None | Some((_, Some("ask"))) => SamplingRule::Ask,
            Some((_, Some("allow"))) => SamplingRule::Allow,
            Some((_, Some("deny"))) => SamplingRule::Deny,
            Some((rule, _)) => {
                let message = format!("has the invalid sampling `{rule}`");
                let hint = "expected `ask`, `allow` or `deny`; osier asks";
                self.fault(Some("sampling"), &message, hint);
                SamplingRule::Ask
            }
        }
    }

    fn log_level(&mut self, entry: &Map<String, Value>) -> Option<&'static str> {
        let level = entry.get("logLevel")?;
        let found = LOG_LEVELS.into_iter().find(|known| level == known);
        if found.is_none() {
            let message = format!("has the invalid logLevel `{level}`");
            let hint = format!("expected one of {}", LOG_LEVELS.join(", "));
            self.fault(Some("logLevel"), &message, &hint);
        }
        found
    }

    /// Reads the filter of tools; `None` after an error: the server is not used, because some of
    /// its tools may have been excluded.
    fn filter(&mut self, entry: &Map<String, Value>) -> Option<ToolFilter> {
        const LISTS: [&str; 3] = ["tools", "enabledTools", "disabledTools"];
        let mut unknown = entry.keys().filter(|key| !KEYS.contains(&key.as_str()));
        if unknown.any(|key| nearest(key, LISTS).is_some()) {
            return None;
        }
        let allow = self.texts(entry, "tools")?;
        let allow = allow.or(self.texts(entry, "enabledTools")?);
        let deny = self.texts(entry, "disabledTools")?.unwrap_or_default();
        match ToolFilter::new(allow.as_deref(), &deny) {
            Ok(filter) => Some(filter),
            Err(error) => {
                self.fault(
                    Some("tools"),
                    &error,
                    "the server is not used until it is fixed",
                );
                None
            }
        }
    }

    /// Reads a time in seconds. A large number is milliseconds, as other programs write it.
    fn seconds(&mut self, entry: &Map<String, Value>, key: &str, default: Duration) -> Duration {
        match entry.get(key) {
            None => default,
            Some(value) => match value.as_f64() {
                Some(number) if (1000.0..=MAX_SECONDS * 1000.0).contains(&number) => {
                    Duration::from_secs_f64(number / 1000.0)
                }
                Some(number) if number > 0.0 && number < 1000.0 => Duration::from_secs_f64(number),
                _ => {
                    let hint = "expected a number of seconds, at most a day";
                    self.fault(Some(key), &format!("has the invalid {key} `{value}`"), hint);
                    default
                }
            },
        }
    }

    fn text(&mut self, entry: &Map<String, Value>, key: &str) -> Option<String> {
        match entry.get(key).and_then(Value::as_str) {
            Some(text) if !text.is_empty() => self.expanded(key, text),
            _ => {
                self.fault(
                    Some(key),
                    &format!("has no string in `{key}`"),
                    "it is ignored",
                );
                None
            }
        }
    }

    /// Reads a list of texts; `None` after a reported error, `Some(None)` without a list.
    #[expect(clippy::option_option, reason = "an error and an absence differ")]
    fn texts(&mut self, entry: &Map<String, Value>, key: &str) -> Option<Option<Vec<String>>> {
        let Some(value) = entry.get(key) else {
            return Some(None);
        };
        let texts: Option<Vec<&str>> = value
            .as_array()
            .and_then(|values| values.iter().map(Value::as_str).collect());
        let Some(texts) = texts else {
            let hint = "the server is not used until it is fixed";
            self.fault(
                Some(key),
                &format!("has no list of strings in `{key}`"),
                hint,
            );
            return None;
        };
        let texts: Option<Vec<String>> = texts
            .into_iter()
            .map(|text| self.expanded(key, text))
            .collect();
        texts.map(Some)
    }

    fn table(&mut self, entry: &Map<String, Value>, key: &str) -> Option<BTreeMap<String, String>> {
        let Some(value) = entry.get(key) else {
            return Some(BTreeMap::new());
        };
        let Some(table) = value.as_object() else {
            let hint = "it is ignored";
            self.fault(Some(key), &format!("has no object in `{key}`"), hint);
            return None;
        };
        let mut texts = BTreeMap::new();
        for (name, value) in table {
            let text = match value {
                Value::String(text) => {
                    self.note_keys(text);
                    self.expanded(name, text)?
                }
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => {
                    let message = format!("has no string in `{key}.{name}`");
                    self.fault(Some(name), &message, "it is ignored");
                    return None;
                }
            };
            texts.insert(name.clone(), text);
        }
        Some(texts)
    }

    fn note_keys(&mut self, text: &str) {
        let used = |name: &str, _: &str| self.keys.push(name.to_owned());
        // A variable that is not set is reported elsewhere.
        let _ = expand(text, self.environment, used);
    }

    fn expanded(&mut self, key: &str, text: &str) -> Option<String> {
        let mut kept = None;
        let used = |name: &str, value: &str| {
            self.hidden.add(name, value);
            if self.of_project && process::is_kept_from_projects(name) {
                kept = Some(name.to_owned());
            }
        };
        let expanded = expand(text, self.environment, used);
        if let Some(name) = kept {
            let message = format!("uses the variable `{name}`, which holds a key of yours");
            let hint = "to give it to servers of projects, name it in `pass_environment` of your own settings; until then the server is ignored";
            self.fault(Some(key), &message, hint);
            return None;
        }
        match expanded {
            Ok(text) => Some(text),
            Err(missing) => {
                let message = format!("uses the variable `{missing}`, which is not set");
                let hint = "set it, or write ${NAME:-default}; until then the server is ignored";
                self.fault(Some(key), &message, hint);
                None
            }
        }
    }

    /// Reports an error at the entry, or at one of its keys.
    fn fault(&mut self, key: Option<&str>, message: &str, hint: &str) {
        let entry = place_of(self.text, self.name, 0);
        let place = key.map_or(entry, |key| place_of(self.text, key, entry).max(entry));
        let message = self.hidden.hide(message);
        let message = format!("the server `{}` {message}", self.name);
        let problem = Problem::of_file(self.path, message, hint);
        self.problems.push(problem.at(self.text, place));
    }
}

/// The offset of the key `name` in `text`, from byte `from` on.
fn place_of(text: &str, name: &str, from: usize) -> usize {
    let quoted = Value::from(name).to_string();
    let mut places = text[from..].match_indices(&quoted).map(|(at, _)| from + at);
    let is_key = |at: &usize| text[at + quoted.len()..].trim_start().starts_with(':');
    places.find(is_key).unwrap_or(from)
}

#[cfg(test)]
mod tests;
