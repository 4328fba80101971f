//! The input of programs that speak Claude Code's stream format: prompts, control requests, and
//! answers to control requests of osier.
//!
//! A control request that osier does not know is answered with an error, so that a program notices what is missing.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use osier_base::{ids, unique_json};
use osier_llm::ThinkingLevel;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Subject};
use osier_protocol::{Event, HookEvent, OnFailure, Op, PLAN_TOOL, PermissionMode, Prompt};
use osier_tools::attachment;

use super::facts::Facts;
use super::format::{AskedOps, AskedResult, Effect, SdkHook};
use super::initialize::{Initialize, is_empty};
use super::modes::{DONT_ASK, permission_mode};
use super::rules;
use crate::tools;

/// A question that osier has sent to the program.
#[derive(Debug)]
struct PendingQuestion {
    /// The id of the control request.
    request: String,
    /// The id of the question.
    question: String,
    tool: String,
    /// The arguments as the program sees them.
    input: Value,
    /// The rules that can be saved.
    patterns: Vec<String>,
}

/// The open questions, and whether the program answers them.
#[derive(Debug)]
pub(super) struct Control {
    asks: bool,
    questions: Vec<PendingQuestion>,
    /// The open calls of hooks and MCP servers: the id of the control request and that of the call.
    calls: Vec<ProgramCall>,
}

/// A call of the program that it has not answered.
#[derive(Debug)]
struct ProgramCall {
    request: String,
    id: u64,
    is_for_server: bool,
}

impl Control {
    pub(super) fn new(asks: bool) -> Self {
        Self {
            asks,
            questions: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Whether the program answers the question.
    pub(super) fn answers(&self, question: &Question, facts: &Facts) -> bool {
        self.asks && facts.mode_name() != DONT_ASK && asked_call(question).is_some()
    }

    /// Passes a question on to the program.
    pub(super) fn event(&mut self, event: &Event, facts: &Facts, effect: &mut Effect) {
        match event {
            Event::QuestionAsked { question } if self.answers(question, facts) => {
                let Some((call_id, tool, arguments)) = asked_call(question) else {
                    return;
                };
                let (tool, arguments) = (&tool, &arguments);
                let (name, input) = tools::claude_call(tool, arguments);
                let patterns = match &question.kind {
                    QuestionKind::Permission { patterns, .. } => patterns.clone(),
                    _ => Vec::new(),
                };
                let suggestions: Vec<Value> = patterns
                    .iter()
                    .map(|pattern| rules::suggestion(pattern))
                    .collect();
                let request = ids::prefixed("request");
                self.questions.push(PendingQuestion {
                    request: request.clone(),
                    question: question.id.clone(),
                    tool: tool.clone(),
                    input: input.clone(),
                    patterns,
                });
                effect.line(&json!({"type": "control_request", "request_id": request, "request": {
                        "subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": call_id,
                        "permission_suggestions": suggestions, "title": question.title,
                    }}));
            }
            Event::QuestionClosed { id } => {
                let Some(place) = self
                    .questions
                    .iter()
                    .position(|asked| asked.question == *id)
                else {
                    return;
                };
                let request = self.questions.remove(place).request;
                effect.line(&json!({"type": "control_cancel_request", "request_id": request}));
            }
            _ => {}
        }
    }

    /// Handles a line of the program.
    pub(super) fn line(&mut self, line: &[u8], facts: &mut Facts, effect: &mut Effect) {
        if line.trim_ascii().is_empty() {
            return;
        }
        // Equal keys are an error: one would decide, and the other would be ignored.
        let parsed = str::from_utf8(line).ok().map(unique_json::parse);
        let value = match parsed {
            Some(Ok(value)) => value,
            Some(Err(error)) if error.is_data() => return mistake(&error.to_string(), effect),
            _ => return mistake("not valid JSON", effect),
        };
        name_unknown_fields(&value, effect);
        match value["type"].as_str() {
            Some("user") => match prompt_of(&value["message"]["content"]) {
                Ok(prompt) => effect.prompt = Some(prompt),
                Err(error) => mistake(&error, effect),
            },
            Some("control_request") => request(&value, facts, effect),
            Some("control_response") => self.answer(&value["response"], facts, effect),
            Some("control_cancel_request" | "keep_alive") => {}
            _ => mistake(
                "expected a `type` of `user`, `control_request` or `control_response`",
                effect,
            ),
        }
    }

    /// Calls a hook of the program.
    pub(super) fn hook_call(
        &mut self,
        id: u64,
        callback: &str,
        input: &Value,
        effect: &mut Effect,
    ) {
        let request = json!({"subtype": "hook_callback", "callback_id": callback, "input": input,
            "tool_use_id": input.get("tool_use_id")});
        self.call(id, false, &request, effect);
    }

    /// Sends a message to an MCP server of the program.
    pub(super) fn server_call(
        &mut self,
        id: u64,
        server: &str,
        message: &Value,
        effect: &mut Effect,
    ) {
        let request = json!({"subtype": "mcp_message", "server_name": server, "message": message});
        self.call(id, true, &request, effect);
    }

    fn call(&mut self, id: u64, is_for_server: bool, request: &Value, effect: &mut Effect) {
        let name = ids::prefixed("request");
        self.calls.push(ProgramCall {
            request: name.clone(),
            id,
            is_for_server,
        });
        effect.line(&json!({"type": "control_request", "request_id": name, "request": request}));
    }

    fn answer(&mut self, response: &Value, facts: &mut Facts, effect: &mut Effect) {
        let id = response["request_id"].as_str().unwrap_or_default();
        if let Some(place) = self.calls.iter().position(|call| call.request == id) {
            let ProgramCall {
                id: call,
                is_for_server,
                ..
            } = self.calls.remove(place);
            let answer = if response["subtype"] == "success" {
                let answer = &response["response"];
                let of_server = answer.get("mcp_response").filter(|_| is_for_server);
                Ok(of_server.unwrap_or(answer).clone())
            } else {
                let error = response["error"].as_str().unwrap_or("the program failed");
                Err(error.to_owned())
            };
            effect.call_answers.push((call, answer));
            return;
        }
        let Some(place) = self.questions.iter().position(|asked| asked.request == id) else {
            return;
        };
        let asked = self.questions.remove(place);
        let decision = &response["response"];
        let is_odd = decision
            .get("updatedInput")
            .is_some_and(|input| !input.is_null() && !input.is_object());
        if is_odd {
            mistake(
                "`updatedInput` is not an object; the call is denied",
                effect,
            );
        }
        let allows = !is_odd && response["subtype"] == "success" && decision["behavior"] == "allow";
        let answer = if allows {
            let changed = decision
                .get("updatedInput")
                .filter(|input| input.is_object() && **input != asked.input);
            if asked.tool == PLAN_TOOL {
                Answer::Approve {
                    mode: next_mode(decision),
                    plan: changed.and_then(|input| Some(input.get("plan")?.as_str()?.to_owned())),
                }
            } else {
                Answer::Allow {
                    grant: Grant::Once,
                    arguments: changed.map(|input| tools::ours(&asked.tool, input)),
                }
            }
        } else {
            let reason = decision["message"].as_str().or(response["error"].as_str());
            Answer::Refuse {
                reason: reason.map(str::to_owned),
            }
        };
        let updates = decision["updatedPermissions"].as_array();
        for update in updates.into_iter().flatten() {
            match rules::update(update, &asked.patterns, facts) {
                // The approval of a plan already sets the mode.
                Ok(ops) => effect.ops.extend(ops.into_iter().filter(|op| {
                    asked.tool != PLAN_TOOL || !matches!(op, Op::SetPermissions { .. })
                })),
                Err(error) => mistake(&error, effect),
            }
        }
        let id = asked.question;
        effect.ops.push(Op::AnswerQuestion { id, answer });
        if decision["interrupt"] == true {
            effect.ops.push(osier_agent::Op::Abort.into());
        }
    }
}

/// The call that the program decides about: its id, the tool and the arguments.
fn asked_call(question: &Question) -> Option<(&str, String, Value)> {
    match (&question.kind, &question.subject) {
        (
            QuestionKind::Permission {
                call_id,
                tool,
                arguments,
                ..
            },
            _,
        ) => Some((call_id, tool.clone(), arguments.clone())),
        (QuestionKind::Plan { call_id, .. }, Some(Subject::Markdown { text })) => {
            Some((call_id, PLAN_TOOL.to_owned(), json!({ "plan": text })))
        }
        _ => None,
    }
}

/// The permission mode that the approval of a plan sets.
fn next_mode(decision: &Value) -> Option<PermissionMode> {
    let updates = decision["updatedPermissions"].as_array()?;
    let update = updates
        .iter()
        .rev()
        .find(|update| update["type"] == "setMode")?;
    permission_mode(update["mode"].as_str()?)
}

/// The fields of the objects that a program sends: where they are in a line, the type of the line,
/// and their names. `session_id`, `uuid`, `toolUseID` and `parent_tool_use_id` only link a message
/// to others.
const FIELDS: [(&str, &str, &[&str]); 7] = [
    (
        "",
        "user",
        &[
            "type",
            "message",
            "session_id",
            "uuid",
            "parent_tool_use_id",
        ],
    ),
    ("/message", "user", &["role", "content"]),
    ("", "control_request", &["type", "request_id", "request"]),
    ("", "control_response", &["type", "response"]),
    (
        "/response",
        "control_response",
        &["subtype", "request_id", "response", "error"],
    ),
    ("", "control_cancel_request", &["type", "request_id"]),
    ("", "keep_alive", &["type"]),
];

/// Reports the fields of a line that have no effect. The rest of the line is used: newer SDKs send
/// more fields.
fn name_unknown_fields(line: &Value, effect: &mut Effect) {
    let kind = line["type"].as_str().unwrap_or_default();
    for (place, _, known) in FIELDS.iter().filter(|(_, of, _)| *of == kind) {
        let fields = line.pointer(place).and_then(Value::as_object);
        for (name, value) in fields.into_iter().flatten() {
            if !known.contains(&name.as_str()) && !is_empty(value) {
                let path = format!("{place}/{name}").replace('/', ".");
                let error = format!("`{kind}` has no field `{}`", path.trim_start_matches('.'));
                mistake(&error, effect);
            }
        }
    }
}

/// The fields of control requests besides `subtype`; `initialize` has its own list.
const REQUESTS: [(&str, &[&str]); 7] = [
    ("interrupt", &[]),
    ("set_permission_mode", &["mode"]),
    ("set_model", &["model"]),
    ("set_max_thinking_tokens", &["max_thinking_tokens"]),
    ("rename_session", &["title"]),
    ("mcp_status", &[]),
    ("get_context_usage", &[]),
];

/// Refuses a field that a control request does not have.
fn check_request(request: &Value) -> Result<(), String> {
    let kind = request["subtype"].as_str().unwrap_or_default();
    let Some((_, known)) = REQUESTS.iter().find(|(name, _)| *name == kind) else {
        return Ok(());
    };
    let mut fields = request.as_object().into_iter().flatten();
    let unknown = fields.find(|(name, value)| {
        *name != "subtype" && !known.contains(&name.as_str()) && !is_empty(value)
    });
    unknown.map_or(Ok(()), |(name, _)| {
        Err(format!(
            "osier does not support `{name}` of the control request `{kind}`"
        ))
    })
}

/// Reports a line that cannot be read.
fn mistake(error: &str, effect: &mut Effect) {
    let message = format!("invalid input line: {error}");
    effect.line(&json!({"type": "system", "subtype": "error", "message": message}));
}

/// A prompt as Anthropic's API has it: text, or blocks of text, images and documents.
///
/// # Errors
/// Names the block that cannot be used.
pub fn prompt_of(content: &Value) -> Result<Prompt, String> {
    if let Some(text) = content.as_str() {
        return Ok(Prompt {
            text: text.to_owned(),
            ..Prompt::default()
        });
    }
    let blocks = content.as_array();
    let blocks = blocks.ok_or("`content` is neither a string nor a list of blocks")?;
    let mut texts = Vec::new();
    let mut attachments = Vec::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => texts.push(
                block["text"]
                    .as_str()
                    .ok_or("a block `text` has no `text`")?,
            ),
            Some(kind @ ("image" | "document")) if base64_of(block).is_some() => {
                let data = base64_of(block).unwrap_or_default();
                let name = block["title"].as_str().map(str::to_owned);
                let name = name.unwrap_or_else(|| format!("{kind}-{}", attachments.len() + 1));
                let bytes = STANDARD.decode(data);
                let bytes =
                    bytes.map_err(|error| format!("`{name}` is not valid base64: {error}"))?;
                let loaded = attachment::of_bytes(Path::new(&name), bytes);
                attachments.push(loaded.map_err(|error| error.to_string())?);
            }
            kind => {
                let kind = kind.unwrap_or("without type");
                return Err(format!(
                    "a block `{kind}` is not supported; send text, or an image or document in base64"
                ));
            }
        }
    }
    Ok(Prompt {
        text: texts.join("\n"),
        attachments,
        typed: None,
    })
}

/// The data of a block: in its `source`, as in Anthropic's API, or in the block itself, as in MCP.
fn base64_of(block: &Value) -> Option<&str> {
    let source = &block["source"];
    match source["type"].as_str() {
        Some("base64") => source["data"].as_str(),
        Some(_) => None,
        None => block["data"].as_str(),
    }
}

/// Carries out a control request.
fn request(line: &Value, facts: &mut Facts, effect: &mut Effect) {
    let id = &line["request_id"];
    let asked = &line["request"];
    if asked["subtype"] == "initialize" {
        match hooks(&asked["hooks"]) {
            Ok(hooks) => effect.hooks = Some(hooks),
            Err(error) => return refuse(id, error, effect),
        }
    }
    let is_answered_at_once = matches!(asked["subtype"].as_str(), Some("initialize" | "interrupt"));
    let result = match respond(asked, facts) {
        Ok((response, ops)) if is_answered_at_once || ops.is_empty() => {
            effect.ops.extend(ops);
            Ok(response)
        }
        Ok((response, ops)) => {
            let id = id.clone();
            return effect.asked.push(AskedOps { id, response, ops });
        }
        Err(error) if asked["subtype"] == "initialize" => return refuse(id, error, effect),
        Err(error) => Err(error),
    };
    let id = id.clone();
    answer_request(AskedResult { id, result }, effect);
}

/// Answers a control request.
pub(super) fn answer_request(ended: AskedResult, effect: &mut Effect) {
    let AskedResult { id, result } = ended;
    let response = match result {
        Ok(response) => json!({"subtype": "success", "request_id": id, "response": response}),
        Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
    };
    effect.line(&json!({"type": "control_response", "response": response}));
}

/// Refuses the start. The program sends its first prompt without waiting for this answer, so nothing runs.
fn refuse(id: &Value, error: String, effect: &mut Effect) {
    effect.line(&json!({"type": "control_response",
        "response": {"subtype": "error", "request_id": id, "error": error}}));
    effect.refused = Some(error);
}

/// The hooks of `initialize`: `{"EVENT": [{"matcher": "…", "hookCallbackIds": ["…"], "timeout": 60}]}`.
fn hooks(given: &Value) -> Result<Vec<SdkHook>, String> {
    let events = match given {
        Value::Null => return Ok(Vec::new()),
        Value::Object(events) => events,
        _ => return Err("`hooks` is not an object".to_owned()),
    };
    let mut hooks = Vec::new();
    for (name, matchers) in events {
        let matchers = match matchers {
            Value::Null => continue,
            Value::Array(matchers) if matchers.is_empty() => continue,
            Value::Array(matchers) => matchers,
            _ => return Err(format!("the hooks of `{name}` are not a list")),
        };
        let event = HookEvent::find(name)
            .ok_or_else(|| format!("osier has no hooks for the event `{name}`"))?;
        for entry in matchers {
            hooks.extend(hooks_of(entry, event, name)?);
        }
    }
    Ok(hooks)
}

/// The hooks of an entry of the event, which the program calls `name`.
fn hooks_of(entry: &Value, event: HookEvent, name: &str) -> Result<Vec<SdkHook>, String> {
    let invalid = |field: &str| format!("`{field}` of a hook of `{name}` is invalid");
    let matcher = match &entry["matcher"] {
        Value::Null => "",
        Value::String(matcher) => matcher.as_str(),
        _ => return Err(invalid("matcher")),
    };
    let timeout = match &entry["timeout"] {
        Value::Null => None,
        seconds => {
            let seconds = seconds.as_f64().map(Duration::try_from_secs_f64);
            let seconds = seconds.and_then(Result::ok);
            Some(seconds.ok_or_else(|| invalid("timeout"))?)
        }
    };
    let on_failure = match &entry["onFailure"] {
        Value::Null => None,
        word => {
            let known = word.as_str().and_then(OnFailure::find);
            Some(known.ok_or_else(|| invalid("onFailure"))?)
        }
    };
    let callbacks = entry["hookCallbackIds"].as_array();
    let callbacks = callbacks.ok_or_else(|| invalid("hookCallbackIds"))?.iter();
    let hooks = callbacks.map(|callback| {
        let callback = callback.as_str();
        Ok(SdkHook {
            event,
            matcher: matcher.to_owned(),
            callback: callback
                .ok_or_else(|| invalid("hookCallbackIds"))?
                .to_owned(),
            timeout,
            on_failure,
        })
    });
    let hooks = hooks.collect::<Result<Vec<_>, String>>()?;
    let known = ["matcher", "timeout", "onFailure", "hookCallbackIds"];
    let fields = entry.as_object().into_iter().flatten();
    let mut fields = fields.filter(|(_, value)| !value.is_null());
    if let Some((field, _)) = fields.find(|(field, _)| !known.contains(&field.as_str())) {
        return Err(format!(
            "osier does not support `{field}` of a hook of `{name}`"
        ));
    }
    Ok(hooks)
}

/// The response, and the operations for the session.
fn respond(request: &Value, facts: &mut Facts) -> Result<(Value, Vec<Op>), String> {
    check_request(request)?;
    match request["subtype"].as_str().unwrap_or_default() {
        "initialize" => {
            let initialize = Initialize::read(request)?;
            let agents = initialize
                .agents
                .iter()
                .map(|(name, _)| json!({"name": name, "description": ""}));
            let response = json!({"commands": facts.command_list(), "agents": agents.collect::<Vec<_>>(),
                "models": [], "account": {}, "output_style": "default", "available_output_styles": ["default"],
                "hook_on_failure_supported": true, "hooks_applied": true});
            let name = initialize.title.map(|name| Op::RenameSession { name });
            Ok((response, name.into_iter().collect()))
        }
        "interrupt" => Ok((json!({}), vec![osier_agent::Op::Abort.into()])),
        "set_permission_mode" => {
            let name = request["mode"].as_str().unwrap_or_default();
            let mode =
                permission_mode(name).ok_or_else(|| format!("unknown permission mode `{name}`"))?;
            Ok((json!({"mode": name}), rules::mode_ops(name, mode, facts)))
        }
        "set_model" => {
            let reference = request["model"].as_str();
            let reference = reference.ok_or("`model` is missing")?.to_owned();
            Ok((json!({}), vec![Op::SelectModel { reference }]))
        }
        "set_max_thinking_tokens" => {
            let tokens = &request["max_thinking_tokens"];
            let tokens = tokens.as_u64();
            let level = thinking_level(tokens.ok_or("`max_thinking_tokens` is not a number")?);
            Ok((
                json!({}),
                vec![osier_agent::Op::SetThinkingLevel { level }.into()],
            ))
        }
        "rename_session" => {
            let name = request["title"].as_str();
            let name = name.ok_or("`title` is missing")?.to_owned();
            Ok((json!({}), vec![Op::RenameSession { name }]))
        }
        "mcp_status" => Ok((json!({"mcpServers": facts.server_list()}), Vec::new())),
        "get_context_usage" => Ok((facts.context_usage(), Vec::new())),
        other => Err(format!(
            "osier does not support the control request `{other}`"
        )),
    }
}

/// The thinking level for a budget of tokens.
pub fn thinking_level(tokens: u64) -> ThinkingLevel {
    match tokens {
        0 => ThinkingLevel::Off,
        1..=2_047 => ThinkingLevel::Minimal,
        2_048..=8_191 => ThinkingLevel::Low,
        8_192..=16_383 => ThinkingLevel::Medium,
        16_384..=31_998 => ThinkingLevel::High,
        31_999..=63_998 => ThinkingLevel::Xhigh,
        _ => ThinkingLevel::Max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of osier that a line of the program causes, the number of operations, and whether it is a prompt.
    fn effect_of(line: &Value) -> (String, usize, bool) {
        let mut effect = Effect::default();
        let mut facts = Facts::default();
        Control::new(true).line(line.to_string().as_bytes(), &mut facts, &mut effect);
        let output = String::from_utf8(effect.output).unwrap();
        let asked = effect.asked.iter().map(|asked| asked.ops.len());
        let ops = effect.ops.len() + asked.sum::<usize>();
        (output, ops, effect.prompt.is_some())
    }

    /// Every field of every line has an effect, or osier reports it.
    #[test]
    fn fields_of_lines_have_an_effect_or_are_named() {
        let prompt = json!({"type": "user", "message": {"role": "user", "content": "hi"}, "session_id": "s",
            "uuid": "u", "parent_tool_use_id": null});
        assert_eq!(effect_of(&prompt), (String::new(), 0, true));
        for (place, kind, known) in FIELDS {
            let mut line = json!({"type": kind, "message": {"content": "hi"}, "response": {},
                "request": {"subtype": "interrupt"}});
            let fields = FIELDS.iter().find(|(at, of, _)| (*at, *of) == ("", kind));
            let fields = fields.unwrap().2;
            let object = line.as_object_mut().unwrap();
            object.retain(|name, _| fields.contains(&name.as_str()));
            for name in known {
                let mut with = line.clone();
                let object = with.pointer_mut(place).unwrap();
                if object.get(*name).is_none() {
                    object[*name] = json!("x");
                }
                assert!(!effect_of(&with).0.contains("has no field"), "{with}");
            }
            let mut with = line.clone();
            with.pointer_mut(place).unwrap()["extra"] = json!(1);
            let (output, _, is_prompt) = effect_of(&with);
            let path = format!("{place}/extra").replace('/', ".");
            let expected = format!("`{kind}` has no field `{}`", path.trim_start_matches('.'));
            assert!(output.contains(&expected), "{output}");
            // The rest of the line is used.
            assert_eq!(is_prompt, kind == "user");
        }
    }

    #[test]
    fn fields_of_control_requests_have_an_effect_or_are_refused() {
        let sent = |request: &Value| {
            effect_of(&json!({"type": "control_request", "request_id": "1", "request": request}))
        };
        for (kind, known) in REQUESTS {
            let mut request = json!({"subtype": kind});
            for name in known {
                request[*name] = match *name {
                    "max_thinking_tokens" => json!(4096),
                    _ => json!("plan"),
                };
            }
            let (output, ops, _) = sent(&request);
            let only_asks = matches!(kind, "mcp_status" | "get_context_usage");
            // All other requests are answered after the session has carried them out.
            let is_answered = output.contains(r#""subtype":"success""#);
            assert_eq!(is_answered, only_asks || kind == "interrupt", "{output}");
            assert_eq!(ops, usize::from(!only_asks), "{kind}");
            request["extra"] = json!(1);
            let (output, ops, _) = sent(&request);
            let error = format!("osier does not support `extra` of the control request `{kind}`");
            assert!(output.contains(&error), "{output}");
            assert_eq!(ops, 0);
        }
        let (output, _, _) = sent(&json!({"subtype": "initialize", "extra": 1}));
        assert!(
            output.contains("osier does not support `extra` of the SDK"),
            "{output}"
        );
    }

    /// The answer to the first call of a hook, or of a server, after the program sent `response`; and the lines of osier.
    fn call_answer(of_server: bool, response: &str) -> (Option<Result<Value, String>>, String) {
        let (mut control, mut facts) = (Control::new(true), Facts::default());
        let mut effect = Effect::default();
        if of_server {
            control.server_call(1, "s", &json!({}), &mut effect);
        } else {
            control.hook_call(1, "h", &json!({}), &mut effect);
        }
        let request = control.calls[0].request.clone();
        let line = format!(
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{request}","response":{response}}}}}"#
        );
        let mut effect = Effect::default();
        control.line(line.as_bytes(), &mut facts, &mut effect);
        let answer = effect.call_answers.pop().map(|(_, answer)| answer);
        (answer, String::from_utf8(effect.output).unwrap())
    }

    #[test]
    fn an_answer_of_a_hook_counts_as_it_is() {
        let blocks = r#"{"decision":"block","mcp_response":{}}"#;
        let whole = json!({"decision": "block", "mcp_response": {}});
        assert_eq!(call_answer(false, blocks).0, Some(Ok(whole)));
        assert_eq!(
            call_answer(true, r#"{"mcp_response":{"a":1}}"#).0,
            Some(Ok(json!({"a": 1})))
        );
        assert_eq!(call_answer(false, "null").0, Some(Ok(Value::Null)));
        // Two decisions are an error: one would be ignored.
        let (answer, told) = call_answer(false, r#"{"decision":"block","decision":"approve"}"#);
        assert_eq!(answer, None);
        assert!(told.contains("duplicate key `decision`"), "{told}");
    }
}
