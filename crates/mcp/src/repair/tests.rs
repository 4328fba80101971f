use proptest::prelude::*;
use rmcp::model::{ContentBlock, JsonRpcMessage, NumberOrString, ServerResult};

use super::*;
use crate::messages::parse;

/// The result in a message with `result`.
fn result(result: &Value) -> ServerResult {
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    match parse(&message).unwrap() {
        JsonRpcMessage::Response(response) => response.result,
        other => panic!("{other:?}"),
    }
}

/// The names of listed tools, and of the omitted parts.
fn tools(list: &Value) -> (Vec<String>, Vec<String>) {
    let ServerResult::ListToolsResult(list) = result(&json!({ "tools": list })) else {
        panic!("{list}");
    };
    let names = list.tools.iter().map(|tool| tool.name.to_string());
    (names.collect(), left_out(list.meta.as_ref()))
}

#[test]
fn odd_tools_cost_only_themselves() {
    let schema = json!({"type": "object"});
    let good = json!({"name": "good", "inputSchema": schema});
    let with = |more: Value| {
        let mut tool = json!({"name": "x", "inputSchema": schema});
        tool.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        tool
    };
    for (odd, name, lost) in [
        (json!(null), None, &["tool 2"][..]),
        (json!("x"), None, &["tool 2"]),
        (json!({}), None, &["tool 2"]),
        (json!({"name": ""}), None, &["tool 2"]),
        (json!({"name": "x"}), Some("x"), &[]),
        (with(json!({"name": 7})), Some("7"), &[]),
        (with(json!({"inputSchema": null})), Some("x"), &[]),
        (
            with(json!({"inputSchema": []})),
            Some("x"),
            &["the schema of tool `x`"],
        ),
        (
            with(json!({"inputSchema": "{\"type\":\"object\"}"})),
            Some("x"),
            &[],
        ),
        (
            json!({"name": "x", "input_schema": schema, "description": null}),
            Some("x"),
            &[],
        ),
        (
            with(json!({"description": ["a", "b"], "title": 3})),
            Some("x"),
            &[],
        ),
        (
            with(json!({"annotations": "safe"})),
            Some("x"),
            &["`annotations` of tool `x`"],
        ),
        (
            with(json!({"outputSchema": []})),
            Some("x"),
            &["`outputSchema` of tool `x`"],
        ),
        (
            with(json!({"icons": 3})),
            Some("x"),
            &["`icons` of tool `x`"],
        ),
        (
            with(json!({"_meta": 4})),
            Some("x"),
            &["`_meta` of tool `x`"],
        ),
    ] {
        let (names, left_out) = tools(&json!([good, odd, good]));
        let expected = [Some("good"), name, Some("good")].into_iter().flatten();
        assert_eq!(names, expected.collect::<Vec<_>>(), "{odd}");
        assert_eq!(left_out, lost, "{odd}");
    }
    assert_eq!(tools(&json!({"a": {"inputSchema": schema}})).0, ["a"]);
    assert_eq!(tools(&json!(null)).0, [""; 0]);
    let odd = with(json!({"annotations": {"readOnlyHint": 1, "destructiveHint": true}}));
    let list = result(&json!({"tools": [odd], "nextCursor": 5, "resultType": 1, "ttlMs": "x"}));
    let ServerResult::ListToolsResult(list) = list else {
        panic!("{list:?}");
    };
    assert_eq!(list.next_cursor.as_deref(), Some("5"));
    let annotations = list.tools[0].annotations.as_ref().unwrap();
    let hints = (annotations.read_only_hint, annotations.destructive_hint);
    assert_eq!(hints, (None, Some(true)));
}

#[test]
fn odd_prompts_and_resources_cost_only_themselves() {
    let list = result(&json!({"prompts": [
        "plain", {"name": "p", "arguments": ["a", {"name": "b", "required": "yes"}, 3]}, 4,
    ]}));
    let ServerResult::ListPromptsResult(list) = list else {
        panic!("{list:?}");
    };
    let names: Vec<&str> = list.prompts.iter().map(|prompt| &*prompt.name).collect();
    assert_eq!(names, ["plain", "p"]);
    let arguments = list.prompts[1].arguments.iter().flatten();
    let arguments: Vec<&str> = arguments.map(|argument| &*argument.name).collect();
    assert_eq!(arguments, ["a", "b"]);
    let lost = left_out(list.meta.as_ref());
    assert_eq!(
        lost,
        [
            "`required` of argument 2 of prompt `p`",
            "argument 3 of prompt `p`",
            "prompt 3"
        ]
    );
    let list = result(
        &json!({"resources": [{"uri": "a://b", "size": "big"}, {"name": "no uri"}, "c://d"]}),
    );
    let ServerResult::ListResourcesResult(list) = list else {
        panic!("{list:?}");
    };
    let uris: Vec<(&str, &str)> = list
        .resources
        .iter()
        .map(|it| (&*it.uri, &*it.name))
        .collect();
    assert_eq!(uris, [("a://b", "a://b"), ("c://d", "c://d")]);
}

/// The texts of a result, the kinds of its other blocks, and whether it is an error.
fn blocks(value: &Value) -> (Vec<String>, bool) {
    let ServerResult::CallToolResult(result) = result(value) else {
        panic!("{value}");
    };
    let shown = result.content.iter().map(|block| match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("IMAGE {}", image.mime_type),
        ContentBlock::Audio(audio) => format!("AUDIO {}", audio.mime_type),
        ContentBlock::Resource(_) => "RESOURCE".to_owned(),
        ContentBlock::ResourceLink(link) => format!("LINK {}", link.uri),
        other => panic!("{other:?}"),
    });
    (shown.collect(), result.is_error == Some(true))
}

#[test]
fn odd_blocks_cost_only_themselves() {
    let text = json!({"type": "text", "text": "good"});
    let unreadable =
        |kind: &str, json: &str| format!("[content{kind} that osier cannot read: {json}]");
    for (odd, shown) in [
        (json!("x"), "x".to_owned()),
        (json!(5), "5".to_owned()),
        (json!({"text": "x"}), "x".to_owned()),
        (
            json!({"type": "text", "text": {"a": 1}}),
            "{\"a\":1}".to_owned(),
        ),
        (
            json!({"type": "text", "text": ["a", "b"]}),
            "a\nb".to_owned(),
        ),
        (
            json!({"type": "text"}),
            unreadable(" of the type `text`", "{\"type\":\"text\"}"),
        ),
        (
            json!({"type": "text", "text": "x", "annotations": 3}),
            "x".to_owned(),
        ),
        (
            json!({"type": "video"}),
            unreadable(" of the type `video`", "{\"type\":\"video\"}"),
        ),
        (json!({"type": "json", "text": "x"}), "x".to_owned()),
        (
            json!({"type": "image", "data": "AAAA"}),
            "IMAGE image/png".to_owned(),
        ),
        (
            json!({"type": "image", "data": "data:image/gif;base64,AAAA"}),
            "IMAGE image/gif".to_owned(),
        ),
        (
            json!({"type": "image", "data": 3}),
            unreadable(" of the type `image`", "{\"type\":\"image\",\"data\":3}"),
        ),
        (
            json!({"type": "audio", "data": "AAAA", "mimeType": null}),
            "AUDIO audio/wav".to_owned(),
        ),
        (
            json!({"type": "resource", "resource": {"text": "x"}}),
            "RESOURCE".to_owned(),
        ),
        (
            json!({"type": "resource", "resource": "x"}),
            "RESOURCE".to_owned(),
        ),
        (
            json!({"type": "resource_link", "uri": "a://b"}),
            "LINK a://b".to_owned(),
        ),
        (json!([1]), unreadable("", "[1]")),
    ] {
        let (found, _) = blocks(&json!({"content": [text, odd, text]}));
        assert_eq!(found, ["good", &shown, "good"], "{odd}");
    }
    for (value, shown, is_error) in [
        (json!("x"), &["x"][..], false),
        (json!([text]), &["good"], false),
        (json!({"content": "x"}), &["x"], false),
        (json!({"content": text, "isError": "true"}), &["good"], true),
        (json!({"content": null, "isError": 0}), &[], false),
        (
            json!({"structuredContent": {"a": 1}, "_meta": []}),
            &[],
            false,
        ),
    ] {
        let expected = shown.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(blocks(&value), (expected, is_error), "{value}");
    }
}

#[test]
fn envelopes_and_handshakes_in_every_form_are_read() {
    let message = |value: Value| parse(&value.to_string()).unwrap();
    let answer = message(json!({"id": "7", "error": null, "result": {}}));
    let JsonRpcMessage::Response(response) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(response.id, NumberOrString::Number(7));
    for error in [
        json!("no"),
        json!({"code": "-32000", "message": "no"}),
        json!({"message": "no"}),
    ] {
        let answer = message(json!({"id": 7.0, "error": error, "result": null}));
        let JsonRpcMessage::Error(error) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(error.error.message, "no");
    }
    let changed = message(json!({"method": "notifications/tools/list_changed", "params": []}));
    assert!(
        matches!(changed, JsonRpcMessage::Notification(_)),
        "{changed:?}"
    );
    let found = result(
        &json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": true, "prompts": null,
        "resources": {"subscribe": "true"}}, "serverInfo": "shop", "instructions": ["a"]}),
    );
    let ServerResult::InitializeResult(found) = found else {
        panic!("{found:?}");
    };
    assert!(found.capabilities.tools.is_some() && found.capabilities.prompts.is_none());
    assert_eq!(found.capabilities.resources.unwrap().subscribe, Some(true));
    assert_eq!(found.server_info.name, "shop");
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(-1),
        json!("x"),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
        json!(["x", null, 1]),
        json!({"a": 1}),
        json!({"text": "x"}),
        json!(""),
        json!([[[]]]),
        json!({"type": "x"}),
        json!({"name": 3, "uri": 4}),
    ])
}

/// The pointers of all values in `value`, except for itself.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(at, value)| (at.to_string(), value))
            .collect(),
        _ => return,
    };
    for (name, child) in children {
        let path = format!("{path}/{name}");
        pointers(child, &path, found);
        found.push(path);
    }
}

/// Odd values at some places of an entry, or in place of it.
type Changes = (Vec<(prop::sample::Index, Value)>, Option<Value>);

fn changes() -> impl Strategy<Value = Changes> {
    let change = (any::<prop::sample::Index>(), odd_value());
    (
        prop::collection::vec(change, 1..4),
        prop::option::weighted(0.2, odd_value()),
    )
}

fn changed(mut entry: Value, (changes, whole): &Changes) -> Value {
    if let Some(whole) = whole {
        return whole.clone();
    }
    for (at, odd) in changes {
        let mut found = Vec::new();
        pointers(&entry, "", &mut found);
        if !found.is_empty() {
            *entry.pointer_mut(&found[at.index(found.len())]).unwrap() = odd.clone();
        }
    }
    entry
}

/// The first and the last name in a list of `alpha`, an odd entry and `omega`.
fn ends(
    list: &str,
    key: &str,
    entry: &dyn Fn(&str) -> Value,
    changes: &Changes,
) -> (String, String) {
    let odd = changed(entry("odd"), changes);
    let list = result(&json!({ list: [entry("alpha"), odd, entry("omega")] }));
    let list = serde_json::to_value(&list).unwrap();
    let entries = list
        .as_object()
        .unwrap()
        .values()
        .find_map(Value::as_array)
        .unwrap();
    let name = |entry: Option<&Value>| entry.unwrap()[key].as_str().unwrap().to_owned();
    (name(entries.first()), name(entries.last()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn odd_entry_costs_no_neighbour(changes in changes()) {
        let both = ("alpha".to_owned(), "omega".to_owned());
        let tool = |name: &str| json!({"name": name, "title": "t", "description": "d",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
            "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}, "icons": [{"src": "x"}], "_meta": {}});
        prop_assert_eq!(&ends("tools", "name", &tool, &changes), &both);
        let prompt = |name: &str| json!({"name": name, "description": "d", "arguments": [{"name": "a", "required": true}]});
        prop_assert_eq!(&ends("prompts", "name", &prompt, &changes), &both);
        let resource = |uri: &str| json!({"uri": uri, "name": "n", "size": 3, "mimeType": "text/plain"});
        prop_assert_eq!(&ends("resources", "uri", &resource, &changes), &both);
        let template = |uri: &str| json!({"uriTemplate": uri, "name": "n", "mimeType": "text/plain"});
        prop_assert_eq!(&ends("resourceTemplates", "uriTemplate", &template, &changes), &both);
    }

    #[test]
    fn odd_block_costs_no_neighbour(changes in changes(), kind in 0_usize..5) {
        let text = |text: &str| json!({"type": "text", "text": text});
        let block = [
            json!({"type": "text", "text": "odd", "annotations": {"priority": 1}}),
            json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
            json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}),
            json!({"type": "resource", "resource": {"uri": "a://b", "text": "x", "mimeType": "text/plain"}}),
            json!({"type": "resource_link", "uri": "a://b", "name": "n", "size": 3}),
        ][kind].clone();
        let odd = changed(block, &changes);
        let (found, _) = blocks(&json!({"content": [text("alpha"), odd, text("omega")], "isError": false}));
        prop_assert_eq!((&*found[0], &**found.last().unwrap()), ("alpha", "omega"));
    }
}
