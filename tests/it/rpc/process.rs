//! Controls `osier rpc` line by line and validates every line against the published schema.

#![expect(
    clippy::needless_pass_by_value,
    reason = "what is said is written where it is said"
)]

use std::collections::{BTreeSet, HashMap};

use osier_testing::json_schema::JsonSchema;
use serde_json::{Value, json};

use crate::support::cli::{Cli, Running};

/// The schema with its compiled parts.
pub(super) struct Schema {
    root: Value,
    parts: HashMap<String, JsonSchema>,
}

impl Schema {
    pub(super) fn new() -> Self {
        let mut text = Vec::new();
        osier_rpc::schema::write(&mut text).expect("a schema");
        let root = serde_json::from_slice(&text).expect("a schema");
        let parts = HashMap::new();
        Self { root, parts }
    }

    /// The part of the schema at a place, such as `events/agent_start`.
    fn part(&mut self, place: &str) -> &JsonSchema {
        let root = &self.root;
        self.parts.entry(place.to_owned()).or_insert_with(|| {
            let found = root.pointer(&format!("/{place}"));
            assert!(found.is_some(), "the schema knows no {place}");
            let mut part = root.clone();
            part["$ref"] = json!(format!("#/{place}"));
            JsonSchema::new(&part)
        })
    }

    pub(super) fn hold(&mut self, place: &str, value: &Value) {
        let faults = self.part(place).errors(value);
        assert!(faults.is_empty(), "{place}: {faults:#?} in {value:#}");
    }

    fn hold_line(&mut self, line: &Value) {
        let kind = line["type"].as_str().expect("a type");
        if self.root["frames"].get(kind).is_some() {
            self.hold(&format!("frames/{kind}"), line);
        } else {
            self.hold(&format!("events/{kind}"), line);
        }
    }
}

/// A running `osier rpc`.
pub(super) struct RpcProcess {
    running: Running,
    schema: Schema,
    last: u64,
    /// Unread lines.
    unread: Vec<Value>,
    /// Commands that were sent.
    pub(super) played: BTreeSet<&'static str>,
    /// Types of the received events.
    pub(super) seen: BTreeSet<String>,
}

impl RpcProcess {
    pub(super) fn start(cli: Cli<'_>) -> Self {
        Self {
            running: cli.start(),
            schema: Schema::new(),
            last: 0,
            unread: Vec::new(),
            played: BTreeSet::new(),
            seen: BTreeSet::new(),
        }
    }

    pub(super) fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Sends a raw line.
    pub(super) fn say(&mut self, line: &Value) {
        self.running.say(&line.to_string());
    }

    /// Sends a command and returns its id.
    pub(super) fn send(&mut self, command: &str, parameters: Value) -> u64 {
        self.last += 1;
        let known = osier_rpc::find_command(command).expect("a command");
        self.played.insert(known.name);
        let mut line = json!({"id": self.last, "type": command});
        for (name, value) in parameters.as_object().expect("parameters") {
            line[name] = value.clone();
        }
        if known.name == command {
            let place = format!("commands/{command}/parameters");
            if known.parameters.iter().all(|one| one.aliases.is_empty()) {
                self.schema.hold(&place, &parameters);
            }
        }
        self.say(&line);
        self.last
    }

    /// The answer to the command with this id.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        let answer = self.until(|line| line["type"] == "response" && line["id"] == id);
        let known = osier_rpc::find_command(answer["command"].as_str().expect("a command"));
        let known = known.expect("a command").name;
        if let Some(data) = answer.get("data") {
            self.schema.hold(&format!("commands/{known}/data"), data);
        }
        answer
    }

    /// The result of a command.
    pub(super) fn call(&mut self, command: &str, parameters: Value) -> Value {
        let id = self.send(command, parameters);
        let mut answer = self.answer(id);
        assert_eq!(answer["success"], json!(true), "{answer}");
        answer["data"].take()
    }

    /// The error of a command.
    pub(super) fn refused(&mut self, command: &str, parameters: Value) -> String {
        let id = self.send(command, parameters);
        let answer = self.answer(id);
        assert_eq!(answer["success"], json!(false), "{answer}");
        answer["error"].as_str().expect("an error").to_owned()
    }

    /// The next line that `wanted` accepts. Earlier lines stay unread.
    pub(super) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.unread.iter().position(&wanted) {
            return self.unread.remove(place);
        }
        loop {
            let line = self.next();
            let line = line.unwrap_or_else(|| panic!("the program ended: {:#?}", self.unread));
            if wanted(&line) {
                return line;
            }
            self.unread.push(line);
        }
    }

    /// The next event of this type.
    pub(super) fn event(&mut self, kind: &str) -> Value {
        self.until(|line| line["type"] == kind)
    }

    /// Discards unread lines.
    pub(super) fn forget(&mut self) {
        self.unread.clear();
    }

    fn next(&mut self) -> Option<Value> {
        let line = self.running.line()?;
        let line: Value = serde_json::from_str(&line).expect("a JSON line");
        self.schema.hold_line(&line);
        let kind = line["type"].as_str().expect("a type").to_owned();
        self.seen.insert(kind);
        Some(line)
    }

    /// The remaining lines, and the exit code.
    pub(super) fn end(mut self) -> (Vec<Value>, Option<i32>, String) {
        let mut rest = std::mem::take(&mut self.unread);
        while let Some(line) = self.next() {
            rest.push(line);
        }
        let (_, code, errors) = self.running.end();
        (rest, code, errors)
    }
}
