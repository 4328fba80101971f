//! The interface of a format: events of a session and lines of a program in; lines, operations and prompts out.

use std::time::Duration;

use osier_agent::RunOutcome;
use osier_base::secrets::write_json;
use osier_base::{clock, jsonl};
use osier_protocol::questions::Question;
use osier_protocol::{Event, HookEvent, OnFailure, Op, Prompt};
use serde::Serialize;
use serde_json::Value;

/// The effect of an event or of a line of the program.
#[derive(Debug, Default)]
pub struct Effect {
    /// The time of the event, in milliseconds since the Unix epoch; lines with other causes get the
    /// current time.
    pub time: Option<i64>,
    /// A prompt from the program.
    pub prompt: Option<Prompt>,
    /// Operations for the session.
    pub ops: Vec<Op>,
    /// Requests to the session that get an answer when the session has carried them out or refused them.
    pub asked: Vec<AskedOps>,
    /// Lines for the program.
    pub output: Vec<u8>,
    /// The hooks that the program registers.
    pub hooks: Option<Vec<SdkHook>>,
    /// Answers of the program to calls of its hooks and MCP servers, by the id of the call, or errors.
    pub call_answers: Vec<(u64, Result<Value, String>)>,
    /// Why nothing runs: the program asked for something that osier does not have.
    pub refused: Option<String>,
}

impl Effect {
    /// Adds an object as a line of JSON without the keys of osier, with the time as `timestamp`, in milliseconds. Not by way
    /// of a `Value`: the program would contain the code of each type twice.
    pub fn line(&mut self, value: &impl Serialize) {
        // Maps have only texts as keys, so nothing can fail.
        let mut line = Vec::new();
        if write_json(value, &mut line) {
            jsonl::add_time(&mut line, self.time.unwrap_or_else(clock::now_ms));
            self.output.extend(line);
            self.output.push(b'\n');
        }
    }

    pub(super) fn lines(&mut self, lines: &[Value]) {
        for line in lines {
            self.line(line);
        }
    }
}

/// A request of the program that the session must carry out.
#[derive(Debug)]
pub struct AskedOps {
    /// The id of the request.
    pub id: Value,
    /// The answer if the session carries out the request.
    pub response: Value,
    /// The operations of the request, at least one.
    pub ops: Vec<Op>,
}

/// The end of a request of the program.
#[derive(Debug, PartialEq)]
pub struct AskedResult {
    /// The id of the request.
    pub id: Value,
    /// The answer, or the reason why the session refused the request.
    pub result: Result<Value, String>,
}

/// A hook of the program.
#[derive(Debug, Clone, PartialEq)]
pub struct SdkHook {
    pub event: HookEvent,
    /// Empty for everything.
    pub matcher: String,
    /// The name of the function.
    pub callback: String,
    pub timeout: Option<Duration>,
    pub on_failure: Option<OnFailure>,
}

/// How the run of a prompt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    pub outcome: RunOutcome,
    /// The last answer; empty if the run failed.
    pub answer: String,
    /// Whether the answer is that of a slash command, which no event contains.
    pub of_command: bool,
    /// The answer as a value that fits the schema.
    pub structured: Option<Value>,
}

/// A format for programs.
pub trait Format {
    /// Handles an event of the session.
    fn event(&mut self, event: &Event, effect: &mut Effect);

    /// Called before the first prompt.
    fn begin(&mut self, _effect: &mut Effect) {}

    /// Called before a prompt runs.
    fn prompt(&mut self, _prompt: &Prompt, _effect: &mut Effect) {}

    /// Called when the run of a prompt has ended.
    fn end(&mut self, _end: &RunEnd, _effect: &mut Effect) {}

    /// Whether the next prompt runs after one that failed.
    fn continues(&self) -> bool {
        true
    }

    /// Handles a line of the program.
    fn input(&mut self, _line: &[u8], _effect: &mut Effect) {}

    /// Calls a hook of the program, whose answer has this id.
    fn hook_call(&mut self, _id: u64, _callback: &str, _input: &Value, _effect: &mut Effect) {}

    /// Sends a message to an MCP server of the program, whose answer has this id.
    fn server_call(&mut self, _id: u64, _server: &str, _message: &Value, _effect: &mut Effect) {}

    /// Handles the end of a request of the program.
    fn asked_ended(&mut self, _ended: AskedResult, _effect: &mut Effect) {}

    /// Whether the program answers the question.
    fn answers(&self, _question: &Question) -> bool {
        false
    }
}
