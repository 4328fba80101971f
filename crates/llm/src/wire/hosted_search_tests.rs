//! Searches by providers: how they are requested, and the pages that they report.

use serde_json::{Value, json};

use super::testing::{body, events, model, request, user};
use crate::event::StreamEvent;
use crate::model::{Api, Model};

/// The `tools` of a request that searches.
fn asked(api: Api) -> Value {
    let mut request = request(model(api), vec![user("osier")]);
    request.context.tools.clear();
    request.options.hosted_search = true;
    body(&request)["tools"].clone()
}

/// The pages that a stream of server-sent events reports.
fn sources(model: &Model, data: &[Value]) -> Vec<(String, String)> {
    let lines: Vec<String> = data
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    let events = events(model, lines.concat().as_bytes(), 7).unwrap();
    let sources = events.into_iter().filter_map(|event| match event {
        StreamEvent::Source { title, url } => Some((title, url)),
        _ => None,
    });
    sources.collect()
}

fn page(title: &str, url: &str) -> (String, String) {
    (title.to_owned(), url.to_owned())
}

#[test]
fn each_provider_has_its_own_tool() {
    assert_eq!(
        asked(Api::AnthropicMessages),
        json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 4}])
    );
    assert_eq!(asked(Api::OpenaiResponses), json!([{"type": "web_search"}]));
    assert_eq!(
        asked(Api::GoogleGenerativeAi),
        json!([{"googleSearch": {}}])
    );
    let mut request = request(model(Api::OpenaiResponses), vec![user("osier")]);
    request.options.hosted_search = true;
    let include = body(&request)["include"].clone();
    let expected = json!([
        "reasoning.encrypted_content",
        "web_search_call.action.sources"
    ]);
    assert_eq!(include, expected);
}

#[test]
fn anthropic_reports_results() {
    let call =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let results = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
        {"type": "web_search_result", "title": "One", "url": "https://one.example/", "encrypted_content": "x"},
        {"type": "web_search_result", "title": "Two", "url": "https://two.example/", "encrypted_content": "y"},
    ]});
    let failed = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2",
        "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}});
    let block = |index: u64, block: &Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stream = [
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}),
        block(0, &call),
        json!({"type": "content_block_stop", "index": 0}),
        block(1, &results),
        block(2, &failed),
        block(3, &json!({"type": "text", "text": "Found."})),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let expected = [
        page("One", "https://one.example/"),
        page("Two", "https://two.example/"),
    ];
    assert_eq!(sources(&model(Api::AnthropicMessages), &stream), expected);
}

#[test]
fn responses_report_sources_and_citations() {
    let call = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {
        "type": "search", "query": "q", "sources": [{"type": "url", "url": "https://one.example/"}],
    }});
    let citation = json!({"type": "url_citation", "title": "One", "url": "https://one.example/", "start_index": 0, "end_index": 3});
    let part = json!({"type": "output_text", "text": "Found.", "annotations": [citation]});
    let message = json!({"type": "message", "id": "msg_1", "content": [part]});
    let response = json!({"id": "r", "output": [call, message], "usage": {"input_tokens": 1, "output_tokens": 1}});
    let stream = [json!({"type": "response.completed", "response": response})];
    let expected = [
        page("", "https://one.example/"),
        page("One", "https://one.example/"),
    ];
    assert_eq!(sources(&model(Api::OpenaiResponses), &stream), expected);
}

#[test]
fn gemini_reports_grounding() {
    let chunks = json!([{"web": {"uri": "https://one.example/", "title": "one.example"}}, {}]);
    let stream = [
        json!({"candidates": [{"content": {"parts": [{"text": "Found."}]}}]}),
        json!({"candidates": [{
            "content": {}, "finishReason": "STOP", "groundingMetadata": {"groundingChunks": chunks},
        }]}),
    ];
    let expected = [page("one.example", "https://one.example/")];
    assert_eq!(sources(&model(Api::GoogleGenerativeAi), &stream), expected);
}
