//! The tool of osier as an MCP server. It runs a prompt in a session of its own and reports progress; the client can cancel
//! it.

use osier_agent::RunOutcome;
use osier_base::text;
use osier_peers::formats::{Effect, Format, RunEnd};
use osier_protocol::{Event, Prompt};
use osier_serve::mcp::{CallContext, CallResult, Tool, failed};
use osier_session::{SessionChoice, SessionHandle, SessionSetup};
use serde_json::{Value, json};

use super::asked::AskedRequests;
use super::run::Run;

/// The name of the tool.
const TOOL: &str = "run_prompt";
/// The largest width of a progress message, in columns.
const SHOWN: usize = 120;

/// Runs prompts. Each call has a session of this setup.
#[derive(Debug)]
pub struct PromptTool {
    pub setup: SessionSetup,
}

impl Tool for PromptTool {
    fn name(&self) -> &'static str {
        TOOL
    }

    fn definition(&self) -> Value {
        json!({
            "name": TOOL,
            "title": "Run a prompt",
            "description": "Run a prompt in the coding agent osier, which can read and change the files of its working directory and run \
                commands, as far as its permissions allow. Returns its answer, and the session, in which a later prompt can continue.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "prompt": {"type": "string", "description": "the task"},
                    "session": {"type": "string", "description": "continue in this session, which an earlier call returned"},
                },
                "required": ["prompt"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {"answer": {"type": "string"}, "session": {"type": "string"}},
                "required": ["answer", "session"],
            },
            "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true},
        })
    }

    fn instructions(&self) -> &'static str {
        "osier is a coding agent. `run_prompt` gives it a task in its working directory."
    }

    fn call(&self, arguments: &Value, context: CallContext) -> Result<CallResult, String> {
        let arguments = Arguments::read(arguments)?;
        Ok(Box::pin(call(self.setup.clone(), arguments, context)))
    }
}

/// The arguments of a call.
#[derive(Debug, PartialEq)]
struct Arguments {
    prompt: String,
    session: Option<String>,
}

impl Arguments {
    fn read(given: &Value) -> Result<Self, String> {
        let fields = given.as_object().ok_or("`arguments` is not an object")?;
        let known = ["prompt", "session"];
        if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!(
                "`{TOOL}` has no argument `{name}`; expected `prompt` and `session`"
            ));
        }
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{name}` is not a text")),
        };
        Ok(Self {
            prompt: text("prompt")?.ok_or("`prompt` is missing")?,
            session: text("session")?,
        })
    }
}

/// Runs the prompt in a session and returns the result of the call.
async fn call(mut setup: SessionSetup, arguments: Arguments, context: CallContext) -> Value {
    let cancel = context.cancel.clone();
    if let Some(session) = arguments.session {
        setup.session = SessionChoice::Resume(session);
    }
    let (session, events) = match SessionHandle::start(setup) {
        Ok(started) => started,
        Err(error) => return failed(&error.to_string()),
    };
    let mut format = CallFormat {
        context,
        session: String::new(),
        answer: String::new(),
    };
    let prompt = Prompt {
        text: arguments.prompt,
        ..Prompt::default()
    };
    let run = Run {
        session: &session,
        prompts: [prompt].into(),
        format: &mut format,
        schema: None,
        output: &mut std::io::sink(),
        ends_with_prompts: true,
        hooks: None,
        asked: AskedRequests::default(),
    };
    let mut running = Box::pin(run.run(events, None::<&[u8]>));
    let mut is_cancelled = false;
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            () = cancel.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                session.send(osier_agent::Op::Abort.into());
            }
        }
    };
    drop(running);
    let outcome = match ended {
        Ok(ended) => ended.outcome,
        Err(error) => return failed(&error.to_string()),
    };
    let CallFormat {
        session, answer, ..
    } = format;
    match outcome {
        RunOutcome::Completed => json!({
            "content": [{"type": "text", "text": answer}],
            "structuredContent": {"answer": answer, "session": session},
            "isError": false,
        }),
        RunOutcome::Interrupted => failed("interrupted"),
        failure => failed(
            &failure
                .error()
                .unwrap_or_else(|| "the run failed".to_owned()),
        ),
    }
}

/// Handles the events of a call's run.
struct CallFormat {
    context: CallContext,
    session: String,
    answer: String,
}

impl Format for CallFormat {
    fn event(&mut self, event: &Event, _effect: &mut Effect) {
        match event {
            Event::SessionOpened { session, .. } => self.session.clone_from(&session.id),
            Event::Agent(osier_agent::Event::TurnStart { turn }) => {
                self.context.report(&format!("request {turn} to the model"));
            }
            Event::Agent(osier_agent::Event::ToolExecutionStart {
                tool_name,
                arguments,
                ..
            }) => self.context.report(&described(tool_name, arguments)),
            _ => {}
        }
    }

    fn end(&mut self, end: &RunEnd, _effect: &mut Effect) {
        end.answer.trim_end().clone_into(&mut self.answer);
    }

    fn continues(&self) -> bool {
        false
    }
}

/// The tool's name, with the first text among its arguments.
fn described(tool: &str, arguments: &Value) -> String {
    let fields = arguments.as_object().into_iter().flatten();
    let mut texts = fields.filter_map(|(_, value)| value.as_str());
    let shown = match texts.next() {
        Some(text) => format!("{tool}: {}", text::single_line(text)),
        None => tool.to_owned(),
    };
    text::truncate(&shown, SHOWN).into_owned()
}
