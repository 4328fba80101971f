use super::*;
use proptest::prelude::*;
use serde_json::json;

const APIS: [Api; 6] = [
    Api::AnthropicMessages,
    Api::OpenaiResponses,
    Api::OpenaiChatCompletions,
    Api::BedrockConverse,
    Api::Ollama,
    Api::GoogleGenerativeAi,
];

/// The paths in a schema that a strict vendor refuses.
fn violations(schema: &Value, api: Api) -> Vec<String> {
    let mut found = Vec::new();
    let is_google = api == Api::GoogleGenerativeAi;
    let object = if is_google { "OBJECT" } else { "object" };
    if schema["type"] != object || !(is_google || schema["properties"].is_object()) {
        found.push("/: not an object".to_owned());
    }
    if !is_google {
        for keyword in ["anyOf", "oneOf", "allOf", "enum", "const", "not", "$ref"] {
            if schema.get(keyword).is_some() {
                found.push(format!("/{keyword}: at the top level"));
            }
        }
    }
    check(schema, schema, api, "", 0, &mut found);
    found
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn check(
    schema: &Value,
    root: &Value,
    api: Api,
    path: &str,
    depth: usize,
    found: &mut Vec<String>,
) {
    let Some(map) = schema.as_object() else {
        return found.push(format!("{path}: no schema"));
    };
    if depth > 24 {
        return found.push(format!("{path}: too deep"));
    }
    let is_google = api == Api::GoogleGenerativeAi;
    if is_google && !map.contains_key("type") && !map.contains_key("anyOf") {
        found.push(format!("{path}: no type"));
    }
    for (keyword, value) in map {
        let at = format!("{path}/{keyword}");
        let is_type = |value: &Value| {
            value.as_str().is_some_and(|name| {
                fix::TYPES.contains(&name.to_lowercase().as_str())
                    && is_google == name.chars().all(char::is_uppercase)
            })
        };
        let is_right = match keyword.as_str() {
            "type" => {
                let list = value.as_array().filter(|list| !is_google && list.len() > 1);
                is_type(value) || list.is_some_and(|list| list.iter().all(is_type))
            }
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    check(schema, root, api, &format!("{at}/{name}"), depth + 1, found);
                    let accepts = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
                    if keyword == "properties"
                        && (name.is_empty() || name.len() > 64 || !name.chars().all(accepts))
                    {
                        found.push(format!("{at}/{name}: name"));
                    }
                }
                value.is_object()
            }
            "items" | "not" | "contains" | "propertyNames" => {
                check(value, root, api, &at, depth + 1, found);
                true
            }
            "additionalProperties" => {
                if value.is_object() {
                    check(value, root, api, &at, depth + 1, found);
                }
                value.is_object() || value.is_boolean()
            }
            "anyOf" | "oneOf" | "allOf" => {
                for schema in value.as_array().into_iter().flatten() {
                    check(schema, root, api, &at, depth + 1, found);
                }
                value.as_array().is_some_and(|list| !list.is_empty())
            }
            "required" => {
                let names: Vec<&str> = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                let known = |name: &&str| {
                    map.get("properties")
                        .is_none_or(|properties| properties.get(name).is_some())
                };
                value
                    .as_array()
                    .is_some_and(|list| list.len() == names.len())
                    && names.iter().all(known)
            }
            "enum" => value.as_array().is_some_and(|list| {
                !list.is_empty() && (!is_google || list.iter().all(Value::is_string))
            }),
            "$ref" => value
                .as_str()
                .is_some_and(|path| target(root, path).is_some()),
            "title" | "description" | "format" | "pattern" => value.is_string(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                value.is_number()
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => value.is_u64(),
            "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => value.is_boolean(),
            "nullable" | "propertyOrdering" => is_google,
            "default" | "const" | "examples" => true,
            _ => false,
        };
        if !is_right {
            found.push(format!("{at}: {value}"));
        }
    }
    if map
        .get("type")
        .is_some_and(|it| it == "array" || it == "ARRAY")
        && !map.contains_key("items")
    {
        found.push(format!("{path}: no items"));
    }
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[test]
fn valid_schema_is_sent_as_it_is() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where", "minLength": 1},
            "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
            "mode": {"enum": ["r", "w"]},
            "either": {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "all"}]},
            "several": {"type": ["string", "null"]},
        },
        "required": ["path"],
        "additionalProperties": false,
        "$defs": {"edit": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    });
    for api in &APIS[..4] {
        assert_eq!(lower(&schema, *api), schema);
    }
    let mut inlined = schema.clone();
    inlined["properties"]["edits"]["items"] = schema["$defs"]["edit"].clone();
    inlined.as_object_mut().unwrap().shift_remove("$defs");
    assert_eq!(lower(&inlined, Api::Ollama), inlined);
    assert_eq!(lower(&schema, Api::Ollama), inlined);
}

/// Schemas that a vendor refuses, and the schemas that are sent instead.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn refused_schemas_are_repaired() {
    let text = json!({"type": "string"});
    for (schema, expected) in [
        (json!({}), object(&json!({}))),
        (json!(null), object(&json!({}))),
        (json!([1]), object(&json!({}))),
        (json!({"type": "object"}), object(&json!({}))),
        (json!({"type": "string"}), object(&json!({}))),
        (
            json!({"type": ["object", "null"], "properties": null}),
            object(&json!({})),
        ),
        (
            json!({"type": "object", "properties": {}, "required": null}),
            object(&json!({})),
        ),
        (
            json!({"properties": {"a": text}, "required": "a"}),
            object(&json!({"a": text})),
        ),
        (
            json!({"properties": {"a": text}, "required": ["a", "b", 1, "a"]}),
            json!({"type": "object", "properties": {"a": text}, "required": ["a"]}),
        ),
        // Flags of old drafts, and properties as a list.
        (
            json!({"properties": {"a": {"type": "string", "required": true}}}),
            json!({"type": "object", "properties": {"a": text}, "required": ["a"]}),
        ),
        (
            json!({"properties": [{"name": "a", "type": "string", "required": true}, "b", 3]}),
            json!({"type": "object", "properties": {"a": text, "b": {}}, "required": ["a"]}),
        ),
        (
            json!({"a": {"type": "string"}}),
            object(&json!({"a": text})),
        ),
        (
            json!({"properties": {"a": "str", "b": null, "c": true}}),
            object(&json!({"a": text, "b": {}, "c": {}})),
        ),
        // Choices at the top level.
        (
            json!({"anyOf": [
                {"type": "object", "properties": {"a": text, "b": {"type": "integer"}}, "required": ["a", "b"]},
                {"type": "object", "properties": {"a": text, "b": text}, "required": ["a"]},
            ]}),
            json!({
                "type": "object",
                "properties": {"a": text, "b": {"anyOf": [{"type": "integer"}, text]}},
                "required": ["a"],
            }),
        ),
        (
            json!({"allOf": [{"$ref": "#/$defs/one"}, {"properties": {"b": text}}], "$defs": {"one": {"properties": {"a": text}, "required": ["a"]}}}),
            json!({
                "$defs": {"one": {"type": "object", "properties": {"a": text}, "required": ["a"]}},
                "type": "object",
                "properties": {"a": text, "b": text},
                "required": ["a"],
            }),
        ),
        // References.
        (
            json!({"properties": {"a": {"$ref": "#/$defs/gone", "description": "x"}}}),
            object(&json!({"a": {"description": "x"}})),
        ),
        (
            json!({"properties": {"a": {"$ref": "https://example.org/x"}}}),
            object(&json!({"a": {}})),
        ),
        // Types.
        (
            json!({"properties": {"a": {"type": "any"}, "b": {"type": ["int", "str"]}, "c": {"type": []}, "d": {"type": {}}}}),
            object(&json!({"a": {}, "b": {"type": ["integer", "string"]}, "c": {}, "d": {}})),
        ),
        // Arrays, enumerations, bounds.
        (
            json!({"properties": {"a": {"type": "array"}, "b": {"type": "array", "items": [text, text]}, "c": {"type": "array", "items": null}}}),
            object(&json!({
                "a": {"type": "array", "items": {}},
                "b": {"type": "array", "items": text},
                "c": {"type": "array", "items": {}},
            })),
        ),
        (
            json!({"properties": {"a": {"enum": []}, "b": {"enum": "x"}, "c": {"enum": [1, 1]}, "d": {"anyOf": []}}}),
            object(&json!({"a": {}, "b": {"enum": ["x"]}, "c": {"enum": [1]}, "d": {}})),
        ),
        (
            json!({"properties": {"a": {"minimum": 0, "exclusiveMinimum": true, "maximum": "9", "minLength": -1}}}),
            object(&json!({"a": {"exclusiveMinimum": 0}})),
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "x-order": 1, "type": "object", "description": 7}),
            json!({"type": "object", "description": "7", "properties": {}}),
        ),
    ] {
        let lowered = lower(&schema, Api::AnthropicMessages);
        assert_eq!(lowered, expected, "{schema}");
        for api in APIS {
            let lowered = lower(&schema, api);
            assert_eq!(
                violations(&lowered, api),
                Vec::<String>::new(),
                "{api:?} {lowered}"
            );
        }
    }
}

#[test]
fn properties_with_other_names_are_renamed_and_restored() {
    let long = "x".repeat(70);
    let schema = json!({
        "type": "object",
        "properties": {
            "a b": {"type": "array", "items": {"type": "object", "properties": {"ü": {"type": "string"}}}},
            "a_b": {"type": "string"},
            "$filter": {"type": "string"},
            "": {"type": "string"},
            long.as_str(): {"type": "string"},
        },
        "required": ["a b", "a_b"],
    });
    let short = "x".repeat(60);
    let expected = json!({
        "type": "object",
        "properties": {
            "a_b_2": {"type": "array", "items": {"type": "object", "properties": {"_": {"type": "string"}}}},
            "a_b": {"type": "string"},
            "_filter": {"type": "string"},
            "__2": {"type": "string"},
            short.as_str(): {"type": "string"},
        },
        "required": ["a_b_2", "a_b"],
    });
    let lowered = lower(&schema, Api::AnthropicMessages);
    let names = |schema: &Value| -> Vec<String> {
        schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(names(&lowered).len(), names(&expected).len());
    assert_eq!(
        violations(&lowered, Api::AnthropicMessages),
        Vec::<String>::new()
    );
    let keys = original_keys(&schema, Api::AnthropicMessages).unwrap();
    // A call with every property of the sent schema.
    let mut call = Map::new();
    for name in names(&lowered) {
        call.insert(name, json!("x"));
    }
    let mut call = Value::Object(call);
    keys.restore(&mut call);
    let restored: Vec<String> = call.as_object().unwrap().keys().cloned().collect();
    assert_eq!(restored, names(&schema));
    assert_eq!(
        original_keys(&object(&json!({"a": {}})), Api::AnthropicMessages),
        None
    );
}

#[test]
fn deep_and_recursive_schemas_end() {
    let deep = (0..100).fold(json!({"type": "string"}), |inner, _| {
        object(&json!({ "a": inner }))
    });
    let wide = json!({"properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {
        "t": {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}, "b": {"$ref": "#/$defs/t"}, "c": {"$ref": "#"}}},
    }});
    for schema in [
        deep,
        wide,
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
    ] {
        for api in APIS {
            let lowered = lower(&schema, api);
            assert_eq!(violations(&lowered, api), Vec::<String>::new(), "{api:?}");
            assert!(lowered.to_string().len() < 400_000, "{api:?}");
        }
    }
}

/// Any JSON, with the words of schemas.
fn odd_schema() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "string",
        "object",
        "array",
        "int",
        "any",
        "",
        "a b",
        "#/$defs/x",
        "#",
        "#/properties/good",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..20).prop_map(Value::from),
        Just(json!(1.5)),
        word.prop_map(Value::from),
    ];
    let keyword = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "definitions",
        "additionalProperties",
        "description",
        "title",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "minLength",
        "pattern",
        "format",
        "nullable",
        "not",
        "default",
        "a b",
        "x",
        "$schema",
        "patternProperties",
        "uniqueItems",
        "contains",
        "if",
        "dependencies",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keyword.clone(), inner), 0..6).prop_map(|entries| {
                let entries = entries
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(entries.collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_schema_becomes_valid_and_costs_no_neighbour(odd in odd_schema()) {
        let good = json!({"type": "string", "description": "stays"});
        let both = object(&json!({"good": good, "odd": odd}));
        for api in APIS {
            let alone = lower(&odd, api);
            prop_assert_eq!(violations(&alone, api), Vec::<String>::new(), "{:?} {}", api, alone);
            let lowered = lower(&both, api);
            prop_assert_eq!(violations(&lowered, api), Vec::<String>::new(), "{:?} {}", api, lowered);
            let stays = &lowered["properties"]["good"];
            prop_assert_eq!(&stays["description"], "stays");
            prop_assert_eq!(stays["type"].as_str().map(str::to_lowercase), Some("string".to_owned()));
            // The same schema results in the same text, so that prompt caches stay valid.
            prop_assert_eq!(lower(&both, api).to_string(), lowered.to_string());
        }
    }
}
