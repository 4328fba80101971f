//! What the words of a schema demand, one function each; the table is in the order in which faults are told.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Check, Fault, matches, same, shown};

type Words = Map<String, Value>;

/// Holds a word: where it is, the schema it stands in and what it says, the value.
type Hold = fn(&Check<'_>, (&Words, &Value), &Value, &mut Vec<Fault>);

pub(super) const WORDS: &[(&str, Hold)] = &[
    ("$ref", reference),
    ("additionalProperties", additional_properties),
    ("allOf", all_of),
    ("anyOf", any_of),
    ("const", constant),
    ("contains", contains),
    ("dependentRequired", dependent_required),
    ("dependentSchemas", dependent_schemas),
    ("enum", one_of_values),
    ("exclusiveMaximum", |at, (_, word), value, faults| {
        limit(
            at,
            (word, value),
            "less than",
            |value, limit| value < limit,
            faults,
        );
    }),
    ("exclusiveMinimum", |at, (_, word), value, faults| {
        limit(
            at,
            (word, value),
            "greater than",
            |value, limit| value > limit,
            faults,
        );
    }),
    ("if", condition),
    ("items", items),
    ("maxItems", |at, (_, word), value, faults| {
        let count = value.as_array().map(Vec::len);
        length(at, (word, value), count, ("at most", "items"), faults);
    }),
    ("maxLength", |at, (_, word), value, faults| {
        let count = value.as_str().map(|text| text.chars().count());
        length(at, (word, value), count, ("at most", "characters"), faults);
    }),
    ("maxProperties", |at, (_, word), value, faults| {
        let count = value.as_object().map(Map::len);
        length(at, (word, value), count, ("at most", "properties"), faults);
    }),
    ("maximum", |at, (_, word), value, faults| {
        limit(
            at,
            (word, value),
            "at most",
            |value, limit| value <= limit,
            faults,
        );
    }),
    ("minItems", |at, (_, word), value, faults| {
        let count = value.as_array().map(Vec::len);
        length(at, (word, value), count, ("at least", "items"), faults);
    }),
    ("minLength", |at, (_, word), value, faults| {
        let count = value.as_str().map(|text| text.chars().count());
        length(at, (word, value), count, ("at least", "characters"), faults);
    }),
    ("minProperties", |at, (_, word), value, faults| {
        let count = value.as_object().map(Map::len);
        length(at, (word, value), count, ("at least", "properties"), faults);
    }),
    ("minimum", |at, (_, word), value, faults| {
        limit(
            at,
            (word, value),
            "at least",
            |value, limit| value >= limit,
            faults,
        );
    }),
    ("multipleOf", multiple_of),
    ("not", not),
    ("oneOf", one_of),
    ("pattern", pattern),
    ("patternProperties", pattern_properties),
    ("prefixItems", prefix_items),
    ("properties", properties),
    ("propertyNames", property_names),
    ("required", required),
    ("type", types),
    ("uniqueItems", unique_items),
];

fn reference(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    if let Some(schema) = word.as_str().and_then(|word| at.target(word)) {
        at.value(schema, value, faults);
    }
}

/// Properties that no other word of the schema speaks of.
fn additional_properties(
    at: &Check<'_>,
    (words, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    let Some(fields) = value.as_object() else {
        return;
    };
    let patterns = words.get("patternProperties").and_then(Value::as_object);
    let is_known = |name: &str| {
        let named = words.get("properties").and_then(|known| known.get(name));
        named.is_some()
            || patterns.is_some_and(|known| known.keys().any(|pattern| matches(pattern, name)))
    };
    let others = fields.iter().filter(|(name, _)| !is_known(name));
    if *word == Value::Bool(false) {
        let names: Vec<String> = others.map(|(name, _)| format!("'{name}'")).collect();
        let were = match names.len() {
            0 => return,
            1 => "was",
            _ => "were",
        };
        let names = names.join(", ");
        let message = format!("Additional properties are not allowed ({names} {were} unexpected)");
        return at.fault(message, faults);
    }
    for (name, value) in others {
        at.part(name).value(word, value, faults);
    }
}

fn all_of(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    for (place, schema) in list(word).enumerate() {
        at.word(place).value(schema, value, faults);
    }
}

fn any_of(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    if !list(word).any(|schema| at.is_valid(schema, value)) {
        none_fits(at, word, value, faults);
    }
}

fn one_of(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    match list(word)
        .filter(|schema| at.is_valid(schema, value))
        .count()
    {
        0 => none_fits(at, word, value, faults),
        1 => {}
        count => {
            let message = format!("{} fits {count} of the schemas, not one", shown(value));
            at.fault(message, faults);
        }
    }
}

/// Says what is wrong by the one schema that comes nearest: the others are for values of other kinds.
fn none_fits(at: &Check<'_>, word: &Value, value: &Value, faults: &mut Vec<Fault>) {
    let attempts = list(word).enumerate().map(|(place, schema)| {
        let mut found = Vec::new();
        at.word(place).value(schema, value, &mut found);
        found
    });
    let is_deep = |found: &Vec<Fault>| found.iter().all(|fault| fault.place != at.place);
    let mut deep = attempts.filter(is_deep);
    match (deep.next(), deep.next()) {
        (Some(found), None) => faults.extend(found),
        _ => at.fault(format!("{} fits none of the schemas", shown(value)), faults),
    }
}

fn not(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    if at.is_valid(word, value) {
        at.fault(format!("{} is not allowed", shown(value)), faults);
    }
}

fn condition(
    at: &Check<'_>,
    (words, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    let branch = if at.is_valid(word, value) {
        "then"
    } else {
        "else"
    };
    if let Some(schema) = words.get(branch) {
        at.word(branch).value(schema, value, faults);
    }
}

fn constant(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    if !same(word, value) {
        at.fault(format!("{} was expected", shown(word)), faults);
    }
}

fn one_of_values(
    at: &Check<'_>,
    (_, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    if !list(word).any(|allowed| same(allowed, value)) {
        let allowed: Vec<String> = list(word).map(shown).collect();
        let message = format!("{} is not one of {}", shown(value), allowed.join(", "));
        at.fault(message, faults);
    }
}

fn contains(
    at: &Check<'_>,
    (words, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    let Some(values) = value.as_array() else {
        return;
    };
    let number = |name: &str| words.get(name).and_then(Value::as_u64);
    let count = values
        .iter()
        .filter(|value| at.is_valid(word, value))
        .count() as u64;
    let least = number("minContains").unwrap_or(1);
    let most = number("maxContains").unwrap_or(u64::MAX);
    if !(least..=most).contains(&count) {
        let message = format!("{} holds {count} items of the wanted kind", shown(value));
        at.fault(message, faults);
    }
}

fn dependent_required(
    at: &Check<'_>,
    (_, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    let (Some(rules), Some(fields)) = (word.as_object(), value.as_object()) else {
        return;
    };
    for (_, names) in rules.iter().filter(|(name, _)| fields.contains_key(*name)) {
        missing(at, names, value, faults);
    }
}

fn dependent_schemas(
    at: &Check<'_>,
    (_, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    let (Some(rules), Some(fields)) = (word.as_object(), value.as_object()) else {
        return;
    };
    for (name, schema) in rules.iter().filter(|(name, _)| fields.contains_key(*name)) {
        at.word(name).value(schema, value, faults);
    }
}

/// Compares numbers; `says` is how the value should be to the limit.
fn limit(
    at: &Check<'_>,
    (word, value): (&Value, &Value),
    says: &str,
    holds: fn(f64, f64) -> bool,
    faults: &mut Vec<Fault>,
) {
    if let (Some(limit), Some(number)) = (word.as_f64(), value.as_f64())
        && !holds(number, limit)
    {
        at.fault(format!("{value} is not {says} {word}"), faults);
    }
}

/// Compares a count; the first of `says` is the comparison.
fn length(
    at: &Check<'_>,
    (word, value): (&Value, &Value),
    count: Option<usize>,
    (says, what): (&str, &str),
    faults: &mut Vec<Fault>,
) {
    if let (Some(limit), Some(count)) = (word.as_f64(), count) {
        let count = count as f64;
        let holds = if says == "at most" {
            count <= limit
        } else {
            count >= limit
        };
        if !holds {
            at.fault(
                format!("{} has not {says} {word} {what}", shown(value)),
                faults,
            );
        }
    }
}

fn multiple_of(
    at: &Check<'_>,
    (_, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    if let (Some(step), Some(number)) = (word.as_f64(), value.as_f64()) {
        let count = number / step;
        if step > 0.0 && (count - count.round()).abs() > 1e-9 {
            at.fault(format!("{value} is not a multiple of {word}"), faults);
        }
    }
}

fn pattern(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    if let (Some(pattern), Some(text)) = (word.as_str(), value.as_str())
        && !matches(pattern, text)
    {
        at.fault(format!("{} does not match {word}", shown(value)), faults);
    }
}

/// Items behind those that `prefixItems` speaks of; older drafts have a list here.
fn items(at: &Check<'_>, (words, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    let Some(values) = value.as_array() else {
        return;
    };
    if word.is_array() {
        prefix_items(at, (words, word), value, faults);
        let others = values.iter().enumerate().skip(list(word).count());
        if let Some(rest) = words.get("additionalItems") {
            others.for_each(|(place, value)| at.part(place).value(rest, value, faults));
        }
        return;
    }
    let before = words
        .get("prefixItems")
        .map_or(0, |first| list(first).count());
    for (place, value) in values.iter().enumerate().skip(before) {
        at.part(place).value(word, value, faults);
    }
}

fn prefix_items(
    at: &Check<'_>,
    (_, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    for (place, (schema, value)) in list(word).zip(list(value)).enumerate() {
        at.word(place).part(place).value(schema, value, faults);
    }
}

fn properties(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    let (Some(schemas), Some(fields)) = (word.as_object(), value.as_object()) else {
        return;
    };
    for (name, schema) in schemas {
        if let Some(value) = fields.get(name) {
            at.word(name).part(name).value(schema, value, faults);
        }
    }
}

fn pattern_properties(
    at: &Check<'_>,
    (_, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    let (Some(schemas), Some(fields)) = (word.as_object(), value.as_object()) else {
        return;
    };
    for (pattern, schema) in schemas {
        for (name, value) in fields.iter().filter(|(name, _)| matches(pattern, name)) {
            at.word(pattern).part(name).value(schema, value, faults);
        }
    }
}

fn property_names(
    at: &Check<'_>,
    (_, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    for name in value.as_object().into_iter().flat_map(Map::keys) {
        at.value(word, &Value::String(name.clone()), faults);
    }
}

fn required(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    missing(at, word, value, faults);
}

fn missing(at: &Check<'_>, names: &Value, value: &Value, faults: &mut Vec<Fault>) {
    let Some(fields) = value.as_object() else {
        return;
    };
    for name in list(names).filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            at.fault(format!("\"{name}\" is a required property"), faults);
        }
    }
}

fn types(at: &Check<'_>, (_, word): (&Words, &Value), value: &Value, faults: &mut Vec<Fault>) {
    let wanted: Vec<&str> = match word {
        Value::String(one) => vec![one],
        word => list(word).filter_map(Value::as_str).collect(),
    };
    let is = |kind: &&str| match *kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        _ => true,
    };
    if !wanted.iter().any(is) {
        let kinds: Vec<String> = wanted.iter().map(|kind| format!("\"{kind}\"")).collect();
        let types = if kinds.len() == 1 { "type" } else { "types" };
        let message = format!("{} is not of {types} {}", shown(value), kinds.join(", "));
        at.fault(message, faults);
    }
}

fn unique_items(
    at: &Check<'_>,
    (_, word): (&Words, &Value),
    value: &Value,
    faults: &mut Vec<Fault>,
) {
    let mut seen = HashSet::new();
    let is_new = |value: &Value| seen.insert(value.to_string());
    if *word == Value::Bool(true) && !list(value).all(is_new) {
        at.fault(format!("{} has the same item twice", shown(value)), faults);
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
