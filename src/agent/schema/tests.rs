use serde_json::json;

use super::*;

fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let found = Schema::new(schema).unwrap().faults(value);
    let told = found.iter().map(|fault| {
        let Fault {
            place,
            schema_path,
            message,
        } = fault;
        format!("{place} {message} {schema_path}")
    });
    told.collect()
}

#[test]
fn each_word_lets_the_right_pass_and_not_the_wrong() {
    let long = "x".repeat(10);
    for (schema, right, wrong) in [
        (json!({"type": "string"}), json!("a"), json!(1)),
        (json!({"type": "integer"}), json!(1.0), json!(1.5)),
        (json!({"type": ["null", "number"]}), json!(null), json!("1")),
        (json!({"enum": [1, "a"]}), json!(1.0), json!("b")),
        (
            json!({"const": {"a": [1]}}),
            json!({"a": [1.0]}),
            json!({"a": [2]}),
        ),
        (
            json!({"required": ["a"]}),
            json!({"a": null}),
            json!({"b": 1}),
        ),
        (
            json!({"properties": {"a": {"type": "null"}}}),
            json!({"b": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"additionalProperties": {"type": "null"}}),
            json!({"b": null}),
            json!({"b": 1}),
        ),
        (
            json!({"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": false}),
            json!({"xa": null}),
            json!({"a": null}),
        ),
        (
            json!({"propertyNames": {"maxLength": 2}}),
            json!({"ab": 1}),
            json!({"abc": 1}),
        ),
        (
            json!({"minProperties": 1, "maxProperties": 1}),
            json!({"a": 1}),
            json!({}),
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"b": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"dependentSchemas": {"a": false}}),
            json!({"b": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"items": {"type": "null"}}),
            json!([null]),
            json!([null, 1]),
        ),
        (
            json!({"prefixItems": [true, {"type": "null"}], "items": false}),
            json!([1, null]),
            json!([1, null, 1]),
        ),
        (
            json!({"items": [{"type": "null"}], "additionalItems": false}),
            json!([null]),
            json!([null, 1]),
        ),
        (
            json!({"contains": {"type": "null"}, "maxContains": 1}),
            json!([1, null]),
            json!([null, null]),
        ),
        (
            json!({"minItems": 1, "maxItems": 2}),
            json!([1]),
            json!([1, 2, 3]),
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 2]),
            json!([1, 2, 1]),
        ),
        (
            json!({"minLength": 2, "maxLength": 3}),
            json!("漢字"),
            json!(long),
        ),
        (json!({"pattern": "^a+$"}), json!("aa"), json!("ab")),
        (json!({"minimum": 1, "maximum": 2}), json!(2), json!(2.5)),
        (json!({"exclusiveMinimum": 1}), json!(1.5), json!(1)),
        (json!({"exclusiveMaximum": 1}), json!(0), json!(1)),
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
        (
            json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}),
            json!(1),
            json!(3),
        ),
        (
            json!({"anyOf": [{"minimum": 3}, {"maximum": 1}]}),
            json!(1),
            json!(2),
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}),
            json!(1),
            json!(2),
        ),
        (json!({"not": {"type": "null"}}), json!(1), json!(null)),
        (
            json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}),
            json!("a"),
            json!(0),
        ),
        (
            json!({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "null"}}}),
            json!(null),
            json!(1),
        ),
        (json!(true), json!(1), json!(null)),
    ] {
        assert_eq!(faults(&schema, &right), [""; 0], "{schema}");
        if schema != json!(true) {
            assert_ne!(faults(&schema, &wrong), [""; 0], "{schema}");
        }
    }
}

#[test]
fn a_fault_says_where_and_why() {
    let schema = json!({
        "properties": {"edits": {"items": {"properties": {"to": {"type": "string"}}}}},
        "additionalProperties": false,
        "required": ["path"],
    });
    let value = json!({"edits": [{"to": "a"}, {"to": 5}], "a": 1, "b/c": 1});
    assert_eq!(
        faults(&schema, &value),
        [
            " Additional properties are not allowed ('a', 'b/c' were unexpected) /additionalProperties",
            "/edits/1/to 5 is not of type \"string\" /properties/edits/items/properties/to/type",
            " \"path\" is a required property /required",
        ]
    );
    let either = json!({"anyOf": [{"type": "null"}, {"properties": {"a": {"enum": [1, 2]}}}]});
    assert_eq!(
        faults(&either, &json!({"a": 3})),
        ["/a 3 is not one of 1, 2 /anyOf/1/properties/a/enum"]
    );
    let number = json!({"anyOf": [{"type": "null"}, {"type": "string"}]});
    assert_eq!(
        faults(&number, &json!(3)),
        [" 3 fits none of the schemas /anyOf"]
    );
}

#[test]
fn what_is_unknown_is_allowed_and_nothing_is_checked_for_ever() {
    for schema in [
        json!({"$ref": "https://example.org/schema", "format": "date", "x-mine": 1}),
        json!({"pattern": "(?<=a)b"}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/none"}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
    ] {
        assert_eq!(faults(&schema, &json!("b")), [""; 0], "{schema}");
    }
    let knot = json!({"not": {"anyOf": [{"not": {"$ref": "#"}}, {"not": {"$ref": "#"}}]}});
    let _ = faults(&knot, &json!([[["deep"]]]));
}

#[test]
fn a_schema_that_is_none_is_refused() {
    for (schema, fault) in [
        (json!(5), "5 at `` is no schema"),
        (json!({"type": "text"}), "\"text\" at `/type` is no type"),
        (
            json!({"properties": {"a": {"items": "b"}}}),
            "\"b\" at `/properties/a/items` is no schema",
        ),
        (
            json!({"properties": []}),
            "[] at `/properties` holds no schemas",
        ),
        (
            json!({"required": "a"}),
            "\"a\" at `/required` is no list of names",
        ),
        (json!({"minimum": "1"}), "\"1\" at `/minimum` is no number"),
    ] {
        assert_eq!(Schema::new(&schema).unwrap_err(), fault);
    }
    assert!(Schema::new(&json!({})).is_ok());
}
