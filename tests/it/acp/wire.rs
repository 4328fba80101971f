//! An editor by hand: requests, replies, and the schema over every line of both sides.

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::cli::{Cli, Home, Running};

/// A running `osier acp`.
pub(super) struct Editor {
    running: Running,
    schema: Value,
    agent: Validator,
    last: u64,
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
            unread: Vec::new(),
        }
    }

    /// The same, greeted and with a session in the working directory.
    pub(super) fn with_session(cli: Cli<'_>, home: &Home) -> (Self, String) {
        let mut editor = Self::start(cli);
        editor.call("initialize", json!({"protocolVersion": 1}));
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
        let line = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.say(&line);
        self.last
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request of the agent.
    pub(super) fn reply(&mut self, request: &Value, result: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub(super) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
        let result = answer["result"].take();
        self.hold_result(method, &result);
        result
    }

    pub(super) fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.send(method, params);
        let answer = self.answer(id);
        let error = &answer["error"];
        let message = error["message"].as_str().expect("an error").to_owned();
        (error["code"].as_i64().expect("a code"), message)
    }

    pub(super) fn answer(&mut self, id: u64) -> Value {
        self.until(|line| line["id"] == id && line.get("method").is_none())
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
        match line["method"].as_str() {
            Some("session/update") => self.hold("SessionNotification", params),
            Some("session/request_permission") => self.hold("RequestPermissionRequest", params),
            Some(method) => panic!("unknown {method}"),
            None => {}
        }
        Some(line)
    }

    /// Holds a result to what the schema says the method gives.
    fn hold_result(&self, method: &str, result: &Value) {
        let definitions = self.schema["$defs"].as_object().expect("definitions");
        let (name, _) = definitions
            .iter()
            .find(|(name, schema)| schema["x-method"] == method && name.ends_with("Response"))
            .unwrap_or_else(|| panic!("the schema knows no {method}"));
        self.hold(name, result);
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
