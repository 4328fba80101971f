//! The tools and options that models of five families get, as they are sent.

use osier_tools::FIRST_REQUEST_TOKENS;
use serde_json::{Value, json};

use crate::support::cli::Home;
use crate::support::model_server::{Answer, Server};

/// The first request to a model with this id.
fn request(id: &str, api: &str, settings: &str) -> Value {
    ask(id, api, settings).0
}

/// The first request, and the errors.
fn ask(id: &str, api: &str, settings: &str) -> (Value, String) {
    let refused = Answer::plain("400 Bad Request", "", "{}");
    let server = Server::start([refused]);
    let home = Home::new();
    let model = json!({"id": id, "compat": {"freeformTools": api == "openai-responses"}});
    let models = json!({"providers": {"here": {
        "baseUrl": server.url(), "api": api, "apiKey": "sk-test-key", "models": [model],
    }}});
    home.config("models.json", models.to_string());
    home.config("settings.toml", settings);
    let model = format!("here/{id}");
    let ended = home
        .cli()
        .args(["--model", &model, "--max-retries", "0", "-p", "hello"])
        .run();
    (server.requests().remove(0), ended.stderr)
}

fn names(request: &Value) -> Vec<String> {
    let tools = request.pointer("/tools/0/functionDeclarations");
    let tools = tools.unwrap_or(&request["tools"]).as_array();
    let name = |tool: &Value| {
        let name = tool.get("name").or_else(|| tool.pointer("/function/name"));
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    tools.into_iter().flatten().map(name).collect()
}

#[test]
fn every_family_gets_the_tools_that_it_is_trained_with() {
    let (edit, patch, gemini) = (
        ["read", "write", "edit"],
        ["read", "apply_patch", "bash"],
        ["read_file", "write_file", "replace"],
    );
    for (id, api, tools) in [
        ("claude-opus-5-5", "anthropic-messages", edit),
        ("gpt-6-luna", "openai-responses", patch),
        ("gpt-6-luna", "openai-chat-completions", patch),
        ("gemini-3-pro", "google-generative-ai", gemini),
        ("qwen3-coder", "openai-chat-completions", gemini),
        ("kimi-k2.6", "openai-chat-completions", edit),
        ("gpt-4.1", "openai-responses", edit),
    ] {
        assert_eq!(names(&request(id, api, ""))[..3], tools, "{id}, {api}");
    }
}

/// The tokens of a request as the model reads it, as `scripts/request-tokens.mjs` counts them.
fn tokens(request: &Value) -> usize {
    let part = |names: [&str; 2]| {
        let mut parts = names.into_iter().map(|name| request[name].clone());
        parts.find(|part| !part.is_null()).unwrap_or_default()
    };
    let mut parts = json!([
        request["tools"],
        part(["system", "instructions"]),
        part(["messages", "input"]),
    ]);
    remove_cache_marks(&mut parts);
    bpe_openai::o200k_base().count(&parts.to_string())
}

fn remove_cache_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(remove_cache_marks);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_cache_marks),
        _ => {}
    }
}

#[test]
fn first_request_with_subagents_stays_within_its_limit() {
    for api in [
        "openai-chat-completions",
        "openai-responses",
        "anthropic-messages",
    ] {
        let request = request("mock", api, "");
        assert!(names(&request).iter().any(|name| name == "task"), "{api}");
        let tokens = tokens(&request);
        assert!(
            tokens <= FIRST_REQUEST_TOKENS,
            "{api}: the first request has {tokens} tokens; the limit is {FIRST_REQUEST_TOKENS}"
        );
    }
}

#[test]
fn settings_change_the_tools_and_options_of_a_model() {
    let settings = "[model_options]\n\"here/gpt-*\" = {tools = \"edit\", verbosity = \"low\", service_tier = \"flex\", parallel_calls = false}\n\"qwen*\" = {tools = \"patch\"}\n";
    let gpt = request("gpt-5", "openai-responses", settings);
    assert_eq!(names(&gpt)[..3], ["read", "write", "edit"]);
    assert_eq!(
        (
            &gpt["text"],
            &gpt["service_tier"],
            &gpt["parallel_tool_calls"]
        ),
        (&json!({"verbosity": "low"}), &json!("flex"), &json!(false))
    );
    let qwen = request("qwen3-coder", "openai-chat-completions", settings);
    assert_eq!(names(&qwen)[..3], ["read", "apply_patch", "bash"]);
}

#[test]
fn an_invalid_option_is_named() {
    let settings = "[model_options]\n\"gpt-5\" = {tools = \"diff\"}\n";
    let (_, stderr) = ask("gpt-5", "openai-responses", settings);
    let expected = "for `model_options`; expected a table of tables by model";
    assert!(stderr.contains(expected), "{stderr}");
    assert!(
        stderr.contains("`tools` (\"edit\", \"patch\" or \"gemini\")"),
        "{stderr}"
    );
}

#[test]
fn an_option_that_the_api_does_not_have_is_a_warning() {
    let settings = "[model_options]\n\"claude*\" = {verbosity = \"low\", parallel_calls = false}\n";
    let (_, stderr) = ask("claude-opus-5-5", "anthropic-messages", settings);
    let warnings: Vec<&str> = stderr
        .lines()
        .filter(|line| line.contains("not sent"))
        .collect();
    assert_eq!(
        warnings,
        [
            "[WRN] `verbosity` is not sent: the API of here/claude-opus-5-5 does not have it; change `model_options` in \
          `settings.toml` or the model in `models.json`"
        ]
    );
}
