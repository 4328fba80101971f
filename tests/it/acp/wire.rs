//! An editor by hand: requests, replies, and the schema over every line of both sides.

#![expect(
    clippy::needless_pass_by_value,
    reason = "what is said is written where it is said"
)]

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::cli::{Cli, Home, Running};

/// A running `osier acp`.
pub(super) struct Editor {
    running: Running,
    schema: Value,
    agent: Validator,
    last: u64,
    /// Methods of the requests that were made.
    sent: HashMap<u64, String>,
    unread: Vec<Value>,
}

impl Editor {
    pub(super) fn start(cli: Cli<'_>) -> Self {
        let schema: Value = serde_json::from_str(include_str!("schema.json")).expect("a schema");
        let agent = jsonschema::validator_for(&schema).expect("a schema");
        Self {
            running: cli.start(),
            schema,
            agent,
            last: 0,
            sent: HashMap::new(),
            unread: Vec::new(),
        }
    }

    /// The same, greeted and with a session in the working directory.
    pub(super) fn with_session(cli: Cli<'_>, home: &Home) -> (Self, String) {
        Self::offering(json!({}), cli, home)
    }

    /// The same for an editor that can do this.
    pub(super) fn offering(capabilities: Value, cli: Cli<'_>, home: &Home) -> (Self, String) {
        let mut editor = Self::start(cli);
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        editor.hold_part("initialize", "Request", &hello);
        editor.call("initialize", hello);
        let new = json!({"cwd": home.work(), "mcpServers": []});
        let session = editor.call("session/new", new)["sessionId"].take();
        (editor, session.as_str().expect("an id").to_owned())
    }

    pub(super) fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    pub(super) fn say(&mut self, line: &Value) {
        self.running.say(&line.to_string());
    }

    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        self.sent.insert(self.last, method.to_owned());
        let line = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.say(&line);
        self.last
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request of the agent.
    pub(super) fn reply(&mut self, request: &Value, result: Value) {
        let method = request["method"].as_str().expect("a method");
        self.hold_part(method, "Response", &result);
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub(super) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    pub(super) fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.send(method, params);
        let answer = self.answer(id);
        self.hold("Error", &answer["error"]);
        let error = &answer["error"];
        let message = error["message"].as_str().expect("an error").to_owned();
        (error["code"].as_i64().expect("a code"), message)
    }

    pub(super) fn answer(&mut self, id: u64) -> Value {
        let answer = self.until(|line| line["id"] == id && line.get("method").is_none());
        let method = self.sent.remove(&id).expect("a request");
        if let Some(result) = answer.get("result") {
            self.hold_part(&method, "Response", result);
        }
        answer
    }

    /// Answers a request of the agent with an error.
    pub(super) fn refuse(&mut self, request: &Value, message: &str) {
        let error = json!({"code": -32603, "message": message});
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    }

    /// The next request of the agent.
    pub(super) fn asked(&mut self, method: &str) -> Value {
        self.until(|line| line["method"] == method && line.get("id").is_some())
    }

    /// The next update of this kind.
    pub(super) fn update(&mut self, kind: &str) -> Value {
        let mut line = self.until(|line| line["params"]["update"]["sessionUpdate"] == kind);
        line["params"]["update"].take()
    }

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

    /// What was told and not asked for, by kind.
    pub(super) fn unread(&self) -> Vec<&str> {
        let updates = self.unread.iter();
        updates
            .filter_map(|line| line["params"]["update"]["sessionUpdate"].as_str())
            .collect()
    }

    pub(super) fn forget(&mut self) {
        self.unread.clear();
    }

    fn next(&mut self) -> Option<Value> {
        let line: Value = serde_json::from_str(&self.running.line()?).expect("a JSON line");
        assert!(self.agent.is_valid(&line), "no message: {line:#}");
        let params = &line["params"];
        if let Some(method) = line["method"].as_str() {
            let of = if line.get("id").is_some() {
                "Request"
            } else {
                "Notification"
            };
            self.hold_part(method, of, params);
        }
        Some(line)
    }

    /// Holds a part of a message to what the schema says of it for the method.
    fn hold_part(&self, method: &str, of: &str, value: &Value) {
        let definitions = self.schema["$defs"].as_object().expect("definitions");
        let (name, _) = definitions
            .iter()
            .find(|(name, schema)| schema["x-method"] == method && name.ends_with(of))
            .unwrap_or_else(|| panic!("the schema knows no {of} of {method}"));
        self.hold(name, value);
    }

    fn hold(&self, name: &str, value: &Value) {
        let part = json!({"$ref": format!("#/$defs/{name}"), "$defs": self.schema["$defs"]});
        let validator = jsonschema::validator_for(&part).expect("a schema");
        let faults: Vec<String> = validator
            .iter_errors(value)
            .map(|fault| fault.to_string())
            .collect();
        assert!(faults.is_empty(), "{name}: {faults:#?} in {value:#}");
    }

    /// The rest of its lines, and how it ended.
    pub(super) fn end(mut self) -> (Vec<Value>, Option<i32>, String) {
        let mut rest = std::mem::take(&mut self.unread);
        while let Some(line) = self.next() {
            rest.push(line);
        }
        let (_, code, errors) = self.running.end();
        (rest, code, errors)
    }
}
