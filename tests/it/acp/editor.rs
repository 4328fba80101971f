//! A scripted editor that validates its own messages and the agent's against the schema.

#![expect(
    clippy::needless_pass_by_value,
    reason = "literal values at the call are easier to read"
)]

use std::collections::HashMap;

use osier_testing::json_schema::JsonSchema;
use serde_json::{Value, json};

use crate::support::cli::{Cli, Home, Running, without_time};

/// A running `osier acp`.
pub(super) struct Editor {
    running: Running,
    schema: Value,
    agent: JsonSchema,
    last: u64,
    /// The methods of open requests.
    sent: HashMap<u64, String>,
    unread: Vec<Value>,
}

impl Editor {
    pub(super) fn start(cli: Cli<'_>) -> Self {
        let schema: Value = serde_json::from_str(include_str!("schema.json")).expect("a schema");
        let agent = JsonSchema::new(&schema);
        Self {
            running: cli.start(),
            schema,
            agent,
            last: 0,
            sent: HashMap::new(),
            unread: Vec::new(),
        }
    }

    /// An initialized editor without capabilities, and its session in the working directory.
    pub(super) fn with_session(cli: Cli<'_>, home: &Home) -> (Self, String) {
        Self::with_capabilities(json!({}), cli, home)
    }

    /// Starts an editor with capabilities.
    pub(super) fn with_capabilities(
        capabilities: Value,
        cli: Cli<'_>,
        home: &Home,
    ) -> (Self, String) {
        let mut editor = Self::start(cli);
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        editor.validate_part("initialize", "Request", &hello);
        editor.call("initialize", hello);
        let new = json!({"cwd": home.work(), "mcpServers": []});
        let session = editor.call("session/new", new)["sessionId"].take();
        (editor, session.as_str().expect("an id").to_owned())
    }

    pub(super) fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    pub(super) fn send_line(&mut self, line: &Value) {
        self.running.say(&line.to_string());
    }

    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        self.sent.insert(self.last, method.to_owned());
        let line = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.send_line(&line);
        self.last
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.send_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Responds to a request of the agent.
    pub(super) fn respond(&mut self, request: &Value, result: Value) {
        let method = request["method"].as_str().expect("a method");
        self.validate_part(method, "Response", &result);
        self.send_line(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub(super) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.response(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    pub(super) fn call_error(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.send(method, params);
        let answer = self.response(id);
        self.validate("Error", &answer["error"]);
        let error = &answer["error"];
        let message = error["message"].as_str().expect("an error").to_owned();
        (error["code"].as_i64().expect("a code"), message)
    }

    pub(super) fn response(&mut self, id: u64) -> Value {
        let answer = self.wait_for(|line| line["id"] == id && line.get("method").is_none());
        let method = self.sent.remove(&id).expect("a request");
        if let Some(result) = answer.get("result") {
            self.validate_part(&method, "Response", result);
        }
        answer
    }

    /// Responds to a request of the agent with an error.
    pub(super) fn respond_error(&mut self, request: &Value, message: &str) {
        let error = json!({"code": -32603, "message": message});
        self.send_line(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    }

    /// The next request of the agent.
    pub(super) fn request(&mut self, method: &str) -> Value {
        self.wait_for(|line| line["method"] == method && line.get("id").is_some())
    }

    /// The next update of this kind.
    pub(super) fn update(&mut self, kind: &str) -> Value {
        let mut line = self.wait_for(|line| line["params"]["update"]["sessionUpdate"] == kind);
        line["params"]["update"].take()
    }

    pub(super) fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
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

    /// The kinds of the unread updates.
    pub(super) fn unread(&self) -> Vec<&str> {
        let updates = self.unread.iter();
        updates
            .filter_map(|line| line["params"]["update"]["sessionUpdate"].as_str())
            .collect()
    }

    pub(super) fn clear_unread(&mut self) {
        self.unread.clear();
    }

    fn next(&mut self) -> Option<Value> {
        let line: Value = serde_json::from_str(&self.running.line()?).expect("a JSON line");
        assert!(self.agent.is_valid(&line), "invalid message: {line:#}");
        let params = &line["params"];
        if let Some(method) = line["method"].as_str() {
            let of = if line.get("id").is_some() {
                "Request"
            } else {
                "Notification"
            };
            self.validate_part(method, of, params);
            if method == "session/update" {
                without_time(&params["_meta"]);
            }
        }
        Some(line)
    }

    /// Validates the parameters or the result of a method.
    fn validate_part(&self, method: &str, of: &str, value: &Value) {
        let definitions = self.schema["$defs"].as_object().expect("definitions");
        let (name, _) = definitions
            .iter()
            .find(|(name, schema)| schema["x-method"] == method && name.ends_with(of))
            .unwrap_or_else(|| panic!("the schema has no {of} of {method}"));
        self.validate(name, value);
    }

    fn validate(&self, name: &str, value: &Value) {
        let part = json!({"$ref": format!("#/$defs/{name}"), "$defs": self.schema["$defs"]});
        let errors = JsonSchema::new(&part).errors(value);
        assert!(errors.is_empty(), "{name}: {errors:#?} in {value:#}");
    }

    /// The remaining lines, the exit code and standard error.
    pub(super) fn end(mut self) -> (Vec<Value>, Option<i32>, String) {
        let mut rest = std::mem::take(&mut self.unread);
        while let Some(line) = self.next() {
            rest.push(line);
        }
        let (_, code, errors) = self.running.end();
        (rest, code, errors)
    }
}
