use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::errors::Fault;
use crate::event::StreamEvent;
use crate::http::{HttpOptions, HttpProvider};
use crate::message::UserMessage;
use crate::model::Api;
use crate::provider::{Provider as _, ToolSpec};
use crate::status::TurnStatus;
use crate::wire;
use crate::wire::testing::{answer, call, model, request, result, thinking, user};

fn image(data: &str) -> ContentBlock {
    ContentBlock::Image {
        data: data.to_owned(),
        mime_type: "image/png".to_owned(),
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "x".to_owned(),
        parameters: json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        freeform: None,
    }
}

/// A conversation with three tools and images `AAAA`, `BBBB`, `CCCC`; the last one is in a result.
fn conversation(api: Api) -> Request {
    let mut model = model(api);
    model.compat.developer_role = true;
    let first = Message::User(UserMessage {
        content: vec![ContentBlock::text("look"), image("AAAA"), image("BBBB")],
        timestamp: 0,
    });
    let content = vec![
        thinking("hm", Some("SIGNED")),
        call("c1", json!({"path": "x"})),
    ];
    let messages = vec![
        first,
        answer(&model, content),
        result("c1", vec![ContentBlock::text("done"), image("CCCC")]),
        user("and?"),
    ];
    let mut request = request(model, messages);
    request
        .context
        .tools
        .extend([tool("mcp__a__one"), tool("mcp__a__two")]);
    request.options.thinking = crate::model::ThinkingLevel::Medium;
    request.options.temperature = Some(0.5);
    request
}

fn diagnosed(api: Api, error: &Value) -> Option<Diagnosed> {
    let request = conversation(api);
    let body = (wire::find(api).unwrap().body)(&request).json;
    let mut fault = Fault::from_body(error).unwrap();
    fault.status = fault.status.or(Some(400));
    let change = diagnose(&fault, &request, &body)?.change;
    Some(Diagnosed(change))
}

/// A change that is printed in words.
struct Diagnosed(Change);

impl Diagnosed {
    fn words(&self) -> String {
        let data = [
            ("AAAA", "A"),
            ("BBBB", "B"),
            ("CCCC", "C"),
            ("SIGNED", "signature"),
        ];
        match &self.0 {
            Change::Tools(tools) => {
                let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
                names.join(" ")
            }
            Change::NoTools => "no tools".to_owned(),
            Change::UnknownTool => "search".to_owned(),
            Change::ToolLimit(limit) => format!("{limit} tools"),
            Change::Parts => "texts".to_owned(),
            Change::Data(hashes) | Change::Guess(hashes) => {
                let known = data.iter().filter(|(data, _)| hashes.contains(&hash(data)));
                known.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
            }
            Change::Modality(kind) => format!("no {kind:?}"),
            Change::Field(pointer) => format!("without {pointer}"),
            Change::Rename(from, to) => format!("{from} as {to}"),
            Change::SystemRole => "role system".to_owned(),
            Change::OutputLimit(limit) => format!("limit {limit}"),
        }
    }
}

/// Errors of vendors, and the part that is omitted.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn errors_name_the_refused_part() {
    use Api::{
        AnthropicMessages as Anthropic, BedrockConverse as Bedrock, GoogleGenerativeAi as Google,
        Ollama, OpenaiChatCompletions as Chat, OpenaiResponses as Responses,
    };
    for (api, message, expected) in [
        // Tools.
        (
            Anthropic,
            "tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
            "mcp__a__one",
        ),
        (
            Anthropic,
            "tools.2.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
            "mcp__a__two",
        ),
        (
            Anthropic,
            "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
            "read",
        ),
        (
            Chat,
            "Invalid schema for function 'mcp__a__two': In context=(), object schema missing properties.",
            "mcp__a__two",
        ),
        (
            Chat,
            "Invalid 'tools[1].function.parameters': schema is too large",
            "mcp__a__one",
        ),
        (
            Responses,
            "Invalid 'tools[2].name': string does not match pattern.",
            "mcp__a__two",
        ),
        // Errors with the server's own name of a tool, without a name, and about the number of
        // tools.
        (
            Chat,
            "Invalid schema for function 'a__two': missing properties",
            "mcp__a__two",
        ),
        (Chat, "A tool has an invalid schema", "search"),
        (
            Chat,
            "Invalid 'tools': array too long. Expected an array with maximum length 2, but got 3",
            "2 tools",
        ),
        (
            Chat,
            "messages[1].content: invalid type: sequence, expected a string",
            "texts",
        ),
        (
            Google,
            "* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[x].items: missing field.",
            "mcp__a__one",
        ),
        (
            Google,
            "Unable to submit request because `mcp__a__two` functionDeclaration `parameters.a` schema specified other fields alongside any_of.",
            "mcp__a__two",
        ),
        (
            Bedrock,
            "The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of the following: object.",
            "mcp__a__one",
        ),
        (
            Ollama,
            "registry.ollama.ai/library/gemma:2b does not support tools",
            "no tools",
        ),
        (Chat, "tools param requires --jinja flag", "no tools"),
        (
            Chat,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "no tools",
        ),
        (
            Chat,
            "No endpoints found that support tool use.",
            "no tools",
        ),
        (
            Chat,
            "Unsupported parameter: 'tools' is not supported with this model.",
            "no tools",
        ),
        // Images.
        (
            Anthropic,
            "messages.0.content.2.image.source.base64: Could not process image",
            "B",
        ),
        (
            Anthropic,
            "messages.2.content.0.tool_result.content.1.image.source.base64.data: image exceeds 5 MB maximum: 6 > 5",
            "C",
        ),
        (Anthropic, "Could not process image", "C"),
        (
            Anthropic,
            "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
            "A",
        ),
        (Anthropic, "Too many images and documents: 3 + 0 > 2", "A"),
        (
            Chat,
            "At most 1 image(s) may be provided in one request.",
            "A B",
        ),
        (
            Chat,
            "The image data you provided does not represent a valid image. Please check your input and try again.",
            "C",
        ),
        (
            Responses,
            "Invalid 'input[0].content[1].image_url'. Expected a base64-encoded data URL with an image MIME type",
            "A",
        ),
        (
            Google,
            "Unable to process input image. Please retry or report in https://x",
            "C",
        ),
        (
            Google,
            "* GenerateContentRequest.contents[0].parts[2].inline_data.mime_type: unsupported MIME type",
            "B",
        ),
        (
            Bedrock,
            "The model returned the following errors: messages.0.content.1.image.source: Could not process image",
            "A",
        ),
        (Chat, "This model does not support image input", "no Image"),
        (
            Chat,
            "No endpoints found that support image input",
            "no Image",
        ),
        (
            Chat,
            "Invalid content type. image_url is only supported by certain models.",
            "no Image",
        ),
        (
            Ollama,
            "this model is missing data required for image input; it does not support images",
            "no Image",
        ),
        // Thinking of another model or conversation.
        (
            Anthropic,
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            "signature",
        ),
        (
            Responses,
            "The encrypted content for item rs_1 could not be verified.",
            "signature",
        ),
        (
            Responses,
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            "signature",
        ),
        (Google, "Thought signature is not valid", "signature"),
        // Fields.
        (
            Chat,
            "Unsupported parameter: 'max_completion_tokens' is not supported with this model.",
            "max_completion_tokens as max_tokens",
        ),
        (
            Chat,
            "Unrecognized request argument supplied: reasoning_effort",
            "without /reasoning_effort",
        ),
        (
            Chat,
            "Unknown parameter: 'stream_options'.",
            "without /stream_options",
        ),
        (
            Chat,
            "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
            "without /temperature",
        ),
        (
            Chat,
            "`temperature` may only be set to 1 when thinking is enabled",
            "without /temperature",
        ),
        (
            Chat,
            "messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
            "role system",
        ),
        (Chat, "Unexpected role 'developer'", "role system"),
        (
            Responses,
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            "without /reasoning",
        ),
        (
            Anthropic,
            "adaptive thinking is not supported on this model",
            "without /thinking",
        ),
        (
            Google,
            "Thinking level is not supported for this model.",
            "without /generationConfig/thinkingConfig",
        ),
        (
            Google,
            "Invalid JSON payload received. Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.",
            "without /generationConfig/thinkingConfig",
        ),
        (
            Ollama,
            "\"gemma:2b\" does not support thinking",
            "without /think",
        ),
        (
            Chat,
            "max_tokens is too large: 8192. This model supports at most 4096 completion tokens",
            "limit 4096",
        ),
        (
            Anthropic,
            "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude",
            "limit 4096",
        ),
    ] {
        let found = diagnosed(api, &json!({"error": {"message": message}}));
        let words = found.map(|found| found.words());
        assert_eq!(words.as_deref(), Some(expected), "{api:?} {message}");
    }
    // FastAPI, and OpenAI's parameter.
    for (error, expected) in [
        (
            json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}),
            "without /stream_options",
        ),
        (
            json!({"error": {"message": "Invalid value", "param": "tools[2].function.parameters"}}),
            "mcp__a__two",
        ),
        (
            json!({"error": {"message": "Unsupported", "param": "reasoning_effort"}}),
            "without /reasoning_effort",
        ),
    ] {
        let found = diagnosed(Chat, &error);
        assert_eq!(
            found.map(|found| found.words()).as_deref(),
            Some(expected),
            "{error}"
        );
    }
}

#[test]
fn other_errors_name_no_part() {
    for (status, message) in [
        (401, "Could not process image"),
        (402, "tools.1: credit balance is too low"),
        (429, "Too many images"),
        (503, "thinking is not supported"),
        (500, "Internal server error: unexpected thinking"),
        (400, "prompt is too long: 250000 tokens > 200000 maximum"),
        (400, "The model `x` does not exist"),
        (400, "messages: at least one message is required"),
        (400, "Invalid request"),
    ] {
        let request = conversation(Api::AnthropicMessages);
        let body = (wire::find(Api::AnthropicMessages).unwrap().body)(&request).json;
        let fault = Fault {
            status: Some(status),
            message: message.to_owned(),
            ..Fault::default()
        };
        let found = diagnose(&fault, &request, &body).map(|it| Diagnosed(it.change).words());
        assert_eq!(found, None, "{status} {message}");
    }
}

type Refuses = fn(&Value) -> Option<&'static str>;

/// A server that refuses requests for which `refuses` returns an error; records the bodies.
async fn strict(refuses: Refuses, success: &'static str) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            let mut buffer = [0; 4096];
            let body = loop {
                let count = socket.read(&mut buffer).await.unwrap();
                bytes.extend_from_slice(&buffer[..count]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
                if let Ok(body) = serde_json::from_str::<Value>(body) {
                    break body;
                }
            };
            let answer = match refuses(&body) {
                Some(message) => {
                    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
                    format!("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{error}")
                }
                None => format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{success}"),
            };
            seen.lock().unwrap().push(body);
            socket.write_all(answer.as_bytes()).await.unwrap();
            socket.shutdown().await.ok();
        }
    });
    (base, bodies)
}

const ANSWER: &str = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\
    \"content_block\":{\"type\":\"text\",\"text\":\"ok\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
    data: {\"type\":\"message_stop\"}\n\n";

/// The warnings and the last event of a call.
async fn called(provider: &HttpProvider, request: Request) -> (Vec<String>, StreamEvent) {
    let events: Vec<StreamEvent> = provider.stream(request).collect().await;
    let warnings = events.iter().filter_map(|event| match event {
        StreamEvent::Warning { text } => Some(text.clone()),
        _ => None,
    });
    (warnings.collect(), events.last().unwrap().clone())
}

#[tokio::test]
async fn refused_tool_and_images_are_left_out_and_remembered() {
    let refuses: Refuses = |body| {
        let text = body.to_string();
        if text.contains("mcp__a__one") {
            return Some("tools.1.custom.input_schema: JSON schema is invalid");
        }
        // Named without a position: the newest image first.
        ["CCCC", "AAAA"]
            .iter()
            .any(|data| text.contains(data))
            .then_some("Could not process image")
    };
    let (base, bodies) = strict(refuses, ANSWER).await;
    let mut request = conversation(Api::AnthropicMessages);
    Arc::make_mut(&mut request.model).base_url = base;
    let provider = HttpProvider::new(HttpOptions::default());
    let (warnings, last) = called(&provider, request.clone()).await;
    assert!(matches!(last, StreamEvent::Done { .. }), "{last:?}");
    assert_eq!(
        warnings,
        [
            "`vendor/model-1` refused the tool `mcp__a__one` (tools.1.custom.input_schema: JSON schema is invalid): it is left out",
            "`vendor/model-1` refused [image/png, 3 bytes] (Could not process image): requests contain a note instead; the session keeps it",
            "`vendor/model-1` refused [image/png, 3 bytes], [image/png, 3 bytes] (Could not process image): requests contain a note \
             instead; the session keeps it",
        ]
    );
    let count = bodies.lock().unwrap().len();
    assert_eq!(count, 4);
    // The first guess may have been wrong, so it is tried again.
    let (warnings, _) = called(&provider, request.clone()).await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    // Later requests are sent without the refused parts at once.
    let (warnings, last) = called(&provider, request).await;
    assert!(
        warnings.is_empty() && matches!(last, StreamEvent::Done { .. }),
        "{warnings:?}"
    );
    let bodies = bodies.lock().unwrap();
    assert_eq!(bodies.len(), 7);
    assert_eq!(bodies[3], bodies[6]);
    let names: Vec<&str> = bodies[4]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["read", "mcp__a__two"]);
    let note = "[image/png, 3 bytes]: left out, because the provider refused it";
    assert_eq!(
        bodies[4]["messages"][0]["content"][1],
        json!({"type": "text", "text": note})
    );
}

#[tokio::test]
async fn the_tools_of_a_server_are_left_out_after_three_refusals() {
    let refuses: Refuses = |body| {
        let tools = body["tools"].as_array().unwrap().iter();
        let mut names = tools.filter_map(|tool| tool["name"].as_str());
        names
            .any(|name| name.starts_with("shop__"))
            .then_some("tools.1.custom.input_schema: JSON schema is invalid")
    };
    let (base, bodies) = strict(refuses, ANSWER).await;
    let mut request = conversation(Api::AnthropicMessages);
    Arc::make_mut(&mut request.model).base_url = base;
    let own = request.context.tools.remove(0);
    request.context.tools = (0..40).map(|at| tool(&format!("shop__t{at}"))).collect();
    request.context.tools.insert(0, own);
    request.context.tools.push(tool("bank__pay"));
    let provider = HttpProvider::new(HttpOptions::default());
    let (warnings, last) = called(&provider, request).await;
    assert!(matches!(last, StreamEvent::Done { .. }), "{last:?}");
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    let others = "; so are the other tools of the server `shop`: `shop__t3`, `shop__t4`";
    assert!(warnings[2].contains(others), "{}", warnings[2]);
    let bodies = bodies.lock().unwrap();
    let tools = bodies.last().unwrap()["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["read", "bank__pay"]);
}

#[tokio::test]
async fn a_good_image_stays_if_an_older_one_is_refused() {
    let refuses: Refuses = |body| {
        let has = body.to_string().contains("AAAA");
        has.then_some("Could not process image")
    };
    let (base, bodies) = strict(refuses, ANSWER).await;
    let mut request = conversation(Api::AnthropicMessages);
    Arc::make_mut(&mut request.model).base_url = base;
    let provider = HttpProvider::new(HttpOptions::default());
    let (warnings, _) = called(&provider, request.clone()).await;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let (warnings, _) = called(&provider, request).await;
    assert!(warnings.is_empty(), "{warnings:?}");
    let bodies = bodies.lock().unwrap();
    let last = bodies.last().unwrap().to_string();
    assert!(last.contains("CCCC") && !last.contains("AAAA"), "{last}");
}

#[tokio::test]
async fn refusal_that_stays_ends_the_call() {
    let (base, bodies) = strict(|_| Some("Could not process image"), ANSWER).await;
    let mut request = conversation(Api::AnthropicMessages);
    Arc::make_mut(&mut request.model).base_url = base;
    let (warnings, last) = called(&HttpProvider::new(HttpOptions::default()), request).await;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let StreamEvent::Failed { status, .. } = last else {
        panic!("{last:?}");
    };
    assert_eq!(
        status,
        TurnStatus::ModelError {
            message: "`vendor` answered 400: Could not process image".to_owned(),
            retryable: false,
        }
    );
    assert_eq!(bodies.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn arguments_with_renamed_keys_get_their_names_back() {
    const CALLS: &str = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"odd\",\
        \"input\":{\"a_b\":1}}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let (base, bodies) = strict(|_| None, CALLS).await;
    let mut request = conversation(Api::AnthropicMessages);
    Arc::make_mut(&mut request.model).base_url = base;
    request.context.tools = vec![ToolSpec {
        parameters: json!({"type": "object", "properties": {"a b": {"type": "integer"}}}),
        ..tool("odd")
    }];
    let provider = HttpProvider::new(HttpOptions::default());
    let events: Vec<StreamEvent> = provider.stream(request).collect().await;
    let arguments = events.iter().find_map(|event| match event {
        StreamEvent::Delta(crate::event::Delta::ToolcallEnd { arguments, .. }) => Some(arguments),
        _ => None,
    });
    assert_eq!(arguments, Some(&json!({"a b": 1})));
    let properties = bodies.lock().unwrap()[0]["tools"][0]["input_schema"]["properties"].clone();
    assert_eq!(properties, json!({"a_b": {"type": "integer"}}));
}
