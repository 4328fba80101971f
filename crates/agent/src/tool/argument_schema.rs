//! The schema of a tool's arguments. Servers and plugins also bring schemas, so documents that a
//! schema refers to are not loaded.

use osier_base::sort;
use std::error::Error;
use std::thread;

use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use osier_base::text::head_bytes;
use serde_json::{Map, Value, json};

use super::schema_cost;

/// The URL of the schema. No document is there. An `$id` may be relative to it.
const URL: &str = "tool:///arguments";
/// Maximum number of reported mistakes of one call.
const REPORTED: usize = 10;
/// Maximum bytes of the description of one mistake. It may contain the invalid value, or all valid values.
const MISTAKE_BYTES: usize = 1000;

/// Maximum levels of lists and objects in a schema, as in a JSON text.
const DEPTH: usize = 128;
/// Bytes of the stack for one subschema that is checked within another, in a build without optimisation.
const FRAME: usize = 16 * 1024;
/// Bytes of the stack for one level of a schema that is compiled.
const COMPILED_LEVEL: usize = 64 * 1024;
/// Work with a smaller stack uses the current thread.
const SMALL_STACK: usize = 512 * 1024;
/// Maximum bytes of the stack. Only the used part needs memory.
const MAX_STACK: usize = 1024 * 1024 * 1024;

/// A compiled schema.
pub(super) struct ArgumentSchema {
    schemas: Schemas,
    root: SchemaIndex,
    nesting: Nesting,
    /// The schema, if it has references.
    referring: Option<Value>,
}

/// Maximum number of subschemas that are checked inside one another.
#[derive(Debug, Clone, Copy)]
enum Nesting {
    /// The levels of the schema.
    Levels(usize),
    /// The number of objects in the schema, which is at least the number of its subschemas: with
    /// references, a value can be checked with each subschema.
    Objects(usize),
}

impl Nesting {
    fn new(schema: &Value) -> Self {
        if has_references(schema) {
            Self::Objects(count_objects(schema))
        } else {
            Self::Levels(depth(schema, DEPTH).unwrap_or(DEPTH))
        }
    }

    /// The maximum for a value with `depth` levels.
    fn of(self, depth: usize) -> usize {
        match self {
            Self::Levels(levels) => levels + 1,
            Self::Objects(objects) => (objects + 1).saturating_mul(depth + 1),
        }
    }
}

/// The mistakes in a call's arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistakes {
    /// The path in the schema that the first mistake violates: `/properties/text/type`.
    pub(super) path: String,
    /// The message about all mistakes.
    pub(super) message: String,
    /// Whether the schema is wrong, not the arguments.
    pub(super) is_of_schema: bool,
}

/// Whether `schema` is a JSON schema.
///
/// # Errors
/// The mistake in the schema.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    ArgumentSchema::new(schema).map(drop)
}

/// Whether `value` matches `schema`.
///
/// # Errors
/// The mistake in the value or in the schema.
pub fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    let schema = ArgumentSchema::new(schema)?;
    schema.check(value).map_err(|mistakes| mistakes.message)
}

impl ArgumentSchema {
    /// # Errors
    /// A message, if `schema` is no JSON schema.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        let depth = depth(schema, DEPTH).ok_or("it has too many levels")?;
        with_stack(COMPILED_LEVEL * (depth + 1), || Self::compile(schema))?
    }

    fn compile(schema: &Value) -> Result<Self, String> {
        let mut schema = schema.clone();
        visit(&mut schema, &mut remove_decimal_multiple);
        compile(schema.clone()).or_else(|error| {
            // Unlike other validators, the engine supports no look-around, and only the drafts of JSON Schema.
            visit(&mut schema, &mut remove_unsupported_patterns);
            if let Some(root) = schema.as_object_mut() {
                root.remove("$schema");
            }
            compile(schema).map_err(|_| error)
        })
    }

    pub(super) fn check(&self, arguments: &Value) -> Result<(), Mistakes> {
        let stack = depth(arguments, DEPTH)
            .and_then(|depth| self.nesting.of(depth).checked_mul(FRAME))
            .filter(|stack| *stack <= MAX_STACK);
        let checked = match stack {
            Some(stack) => with_stack(stack, || self.find_mistakes(arguments)),
            None => Err("the arguments have too many levels for their schema".to_owned()),
        };
        checked.unwrap_or_else(|message| {
            let path = String::new();
            Err(Mistakes {
                path,
                message,
                is_of_schema: false,
            })
        })
    }

    fn find_mistakes(&self, arguments: &Value) -> Result<(), Mistakes> {
        let referring = self.referring.as_ref();
        if referring.is_some_and(|schema| !schema_cost::is_affordable(schema, arguments)) {
            return Err(Mistakes {
                path: String::new(),
                message: "the references of the schema are too much work to check".to_owned(),
                is_of_schema: true,
            });
        }
        let Err(error) = self.schemas.validate(arguments, self.root) else {
            return Ok(());
        };
        let mut leaves = Vec::new();
        collect_leaves(&error, &mut leaves);
        // Properties are checked in random order.
        sort::by_key(&mut leaves, |leaf| leaf.instance_location.to_string());
        let mut messages: Vec<String> = Vec::new();
        for leaf in &leaves {
            let message = describe(leaf);
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
        if let Some(more @ 1..) = messages.len().checked_sub(REPORTED) {
            messages.truncate(REPORTED);
            messages.push(format!("{more} more"));
        }
        let is_cycle =
            |leaf: &&ValidationError<'_, '_>| matches!(leaf.kind, ErrorKind::RefCycle { .. });
        Err(Mistakes {
            is_of_schema: leaves.iter().any(is_cycle),
            path: leaves
                .first()
                .map(|leaf| schema_path(leaf))
                .unwrap_or_default(),
            message: messages.join("; "),
        })
    }
}

/// Runs `work`, which needs `bytes` of stack: an overflow would end the program.
fn with_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    if bytes <= SMALL_STACK {
        return Ok(work());
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("schema".into());
        let started = thread.stack_size(bytes).spawn_scoped(scope, work);
        let thread = started.map_err(|error| format!("cannot check the arguments: {error}"))?;
        thread
            .join()
            .map_err(|_| "the check of the arguments failed".to_owned())
    })
}

/// The levels of lists and objects in `value`; `None` if there are more than `limit`.
fn depth(value: &Value, limit: usize) -> Option<usize> {
    match value {
        Value::Array(list) => deepest(list.iter(), limit),
        Value::Object(map) => deepest(map.values(), limit),
        _ => Some(0),
    }
}

fn deepest<'v>(mut values: impl Iterator<Item = &'v Value>, limit: usize) -> Option<usize> {
    let below = limit.checked_sub(1)?;
    values.try_fold(1, |deepest, value| {
        Some(deepest.max(depth(value, below)? + 1))
    })
}

/// The objects in a schema: at least the number of its subschemas.
fn count_objects(schema: &Value) -> usize {
    match schema {
        Value::Array(list) => list.iter().map(count_objects).sum(),
        Value::Object(map) => 1 + map.values().map(count_objects).sum::<usize>(),
        _ => 0,
    }
}

fn has_references(schema: &Value) -> bool {
    let is_reference = |name: &String| ["$ref", "$dynamicRef", "$recursiveRef"].contains(&&**name);
    match schema {
        Value::Array(list) => list.iter().any(has_references),
        Value::Object(map) => map.keys().any(is_reference) || map.values().any(has_references),
        _ => false,
    }
}

fn compile(schema: Value) -> Result<ArgumentSchema, String> {
    let nesting = Nesting::new(&schema);
    let referring = matches!(nesting, Nesting::Objects(_)).then(|| schema.clone());
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(NoLoader));
    let message = |error: CompileError| error.to_string();
    compiler.add_resource(URL, schema).map_err(message)?;
    let root = compiler.compile(URL, &mut schemas).map_err(message)?;
    Ok(ArgumentSchema {
        schemas,
        root,
        nesting,
        referring,
    })
}

/// Refuses every document.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, _url: &str) -> Result<Value, Box<dyn Error>> {
        Err("a tool's schema can only refer to itself".into())
    }
}

/// Calls `change` for a schema and all schemas in it.
fn visit(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else { return };
    change(map);
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            // These keywords contain values, not schemas.
            ("const" | "default" | "enum" | "examples", _) => {}
            (
                "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
                | "properties",
                Value::Object(schemas),
            ) => schemas
                .values_mut()
                .for_each(|schema| visit(schema, change)),
            (_, Value::Array(list)) => list.iter_mut().for_each(|schema| visit(schema, change)),
            (_, value) => visit(value, change),
        }
    }
}

/// Removes the condition that a number is a multiple of a decimal one. The engine computes it with binary numbers, in
/// which 19.99 is no multiple of 0.01.
fn remove_decimal_multiple(schema: &mut Map<String, Value>) {
    let multiple = schema.get("multipleOf").and_then(Value::as_f64);
    if multiple.is_some_and(|multiple| multiple.fract() != 0.0) {
        schema.shift_remove("multipleOf");
    }
}

/// Removes regular expressions that the engine does not support. The properties that they describe may have any name.
fn remove_unsupported_patterns(schema: &mut Map<String, Value>) {
    let is_supported = |pattern: &Value| compile(json!({ "pattern": pattern })).is_ok();
    if schema.get("pattern").is_some_and(|it| !is_supported(it)) {
        schema.shift_remove("pattern");
    }
    if let Some(Value::Object(patterns)) = schema.get_mut("patternProperties") {
        let count = patterns.len();
        patterns.retain(|pattern, _| is_supported(&Value::from(pattern.as_str())));
        if patterns.len() < count {
            patterns.insert(String::new(), Value::Bool(true));
        }
    }
}

/// Collects the errors for which there is no more exact error.
fn collect_leaves<'e>(
    error: &'e ValidationError<'e, 'e>,
    leaves: &mut Vec<&'e ValidationError<'e, 'e>>,
) {
    if error.causes.is_empty() {
        leaves.push(error);
    }
    for cause in &error.causes {
        collect_leaves(cause, leaves);
    }
}

fn schema_path(error: &ValidationError<'_, '_>) -> String {
    let place = error
        .schema_url
        .split_once('#')
        .map_or("", |(_, place)| place);
    match error.kind.keyword_path() {
        Some(keyword) => format!("{place}/{keyword}"),
        None => place.to_owned(),
    }
}

fn describe(error: &ValidationError<'_, '_>) -> String {
    let text = match &error.kind {
        ErrorKind::Required { want } => format!("missing {}", quoted(want)),
        ErrorKind::AdditionalProperties { got } => format!("unknown {}", quoted(got)),
        kind => kind.to_string(),
    };
    let mut text = match argument_name(&error.instance_location.to_string()).as_str() {
        "" => text,
        argument => format!("`{argument}`: {text}"),
    };
    let head = head_bytes(&text, MISTAKE_BYTES).len();
    if head < text.len() {
        text.truncate(head);
        text.push('…');
    }
    text
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    let names = names.iter().map(|name| format!("`{}`", name.as_ref()));
    names.collect::<Vec<_>>().join(", ")
}

/// A JSON pointer as a model writes the argument: `/edits/0/text` as `edits[0].text`.
fn argument_name(pointer: &str) -> String {
    let mut name = String::new();
    for part in pointer.split('/').skip(1) {
        if part.parse::<usize>().is_ok() {
            name.extend(["[", part, "]"]);
        } else {
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(part);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(schema: &Value, arguments: &Value) -> Result<(), (String, String)> {
        let schema = ArgumentSchema::new(schema).unwrap();
        schema
            .check(arguments)
            .map_err(|mistakes| (mistakes.path, mistakes.message))
    }

    fn edit() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
                "times": {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["all"]}]},
            },
            "required": ["path"],
            "additionalProperties": false,
            "$defs": {"edit": {"type": "object", "properties": {"text": {"type": "string"}}}},
        })
    }

    #[test]
    fn mistakes_are_named_with_their_argument() {
        let fits = json!({"path": "a", "edits": [{"text": "b"}], "times": "all"});
        assert_eq!(checked(&edit(), &fits), Ok(()));
        for (arguments, path, message) in [
            (json!({}), "/required", "missing `path`"),
            (
                json!({"path": "a", "file": 1, "mode": 2}),
                "/additionalProperty",
                "unknown `file`, `mode`",
            ),
            (
                json!({"path": 1, "edits": [{}, {"text": null}]}),
                "/$defs/edit/properties/text/type",
                "`edits[1].text`: want string, but got null; `path`: want string, but got number",
            ),
            (
                json!({"path": "a", "times": 0}),
                "/properties/times/anyOf/0/minimum",
                "`times`: must be >=1, but got 0; `times`: value must be 'all'",
            ),
        ] {
            let mistakes = (path.to_owned(), message.to_owned());
            assert_eq!(checked(&edit(), &arguments), Err(mistakes));
        }
    }

    #[test]
    fn many_mistakes_are_counted() {
        let list = json!({"type": "array", "items": {"type": "string"}});
        let arguments: Value = (0..25).collect();
        let (_, message) = checked(&list, &arguments).unwrap_err();
        assert_eq!(message.matches("want string").count(), REPORTED);
        assert!(message.ends_with("; 15 more"), "{message}");
    }

    #[test]
    fn a_long_value_is_not_repeated() {
        let schema = json!({"properties": {"name": {"pattern": "^[a-z]+$"}}});
        let (_, message) = checked(&schema, &json!({"name": "é".repeat(5000)})).unwrap_err();
        assert!(
            message.starts_with("`name`: 'éé") && message.ends_with("é…"),
            "{message}"
        );
        assert!(message.len() < MISTAKE_BYTES + 10, "{}", message.len());
    }

    #[test]
    fn an_unsupported_pattern_is_not_checked() {
        let schema = json!({
            "properties": {
                "pattern": {"type": "string", "pattern": "^(?!-)"},
                "count": {"type": "integer"},
            },
        });
        assert_eq!(
            checked(&schema, &json!({"pattern": "-x", "count": 1})),
            Ok(())
        );
        let (path, message) = checked(&schema, &json!({"pattern": 1})).unwrap_err();
        assert_eq!(path, "/properties/pattern/type");
        assert_eq!(message, "`pattern`: want string, but got number");
        let supported = json!({"properties": {"name": {"pattern": "^[a-z]+$"}}});
        let (_, message) = checked(&supported, &json!({"name": "A"})).unwrap_err();
        assert_eq!(message, "`name`: 'A' does not match pattern '^[a-z]+$'");
    }

    #[test]
    fn only_unsupported_patterns_are_removed() {
        let schema = json!({
            "properties": {
                "email": {"pattern": "^(?!x)"},
                "word": {"pattern": "^[a-z]+$"},
                "headers": {
                    "patternProperties": {"^[a-z]+$": {"type": "string"}},
                    "additionalProperties": false,
                },
                "names": {
                    "patternProperties": {"^(?!x)": {"type": "string"}},
                    "additionalProperties": false,
                },
                "patternProperties": {"const": {"pattern": "(?=x)"}},
                "large": {"pattern": "(a{1000}){1000}"},
            },
            "additionalProperties": false,
        });
        let fits = json!({
            "email": "x", "word": "a", "headers": {"accept": "all"}, "names": {"a": "b"},
            "patternProperties": {"pattern": "(?=x)"}, "large": "b",
        });
        assert_eq!(checked(&schema, &fits), Ok(()));
        let (_, message) =
            checked(&schema, &json!({"headers": {"A": "", "b": 1}, "word": "1"})).unwrap_err();
        assert_eq!(
            message,
            "`headers`: unknown `A`; `headers.b`: want string, but got number; `word`: '1' does not match pattern '^[a-z]+$'"
        );
    }

    #[test]
    fn an_id_may_be_relative() {
        let schema = json!({
            "$id": "tool.json",
            "properties": {"item": {"$ref": "item"}, "other": {"$ref": "#/$defs/item"}},
            "$defs": {"item": {"$id": "item", "type": "string"}},
        });
        assert_eq!(
            checked(&schema, &json!({"item": "a", "other": "b"})),
            Ok(())
        );
        assert!(checked(&schema, &json!({"item": 1})).is_err());
    }

    #[test]
    fn decimal_multiples_are_not_checked() {
        let schema = json!({"properties": {
            "price": {"multipleOf": 0.01}, "multipleOf": {"type": "number"}, "even": {"multipleOf": 2.0},
        }});
        let fits = json!({"price": 19.99, "multipleOf": 0.5, "even": 4});
        assert_eq!(checked(&schema, &fits), Ok(()));
        assert!(checked(&schema, &json!({"even": 3})).is_err());
    }

    #[test]
    fn an_unknown_dialect_is_checked_as_the_newest_draft() {
        for dialect in [
            "http://json-schema.org/draft-07/schema#",
            "https://example.org/own",
        ] {
            let schema = json!({"$schema": dialect, "properties": {"name": {"type": "string"}}});
            let (_, message) = checked(&schema, &json!({"name": 1})).unwrap_err();
            assert_eq!(message, "`name`: want string, but got number");
        }
    }

    #[test]
    fn nothing_outside_the_schema_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("schema.json");
        osier_base::atomic_file::write(&file, br#"{"type": "string"}"#).unwrap();
        for url in [
            format!("file://{}", file.display()),
            "http://127.0.0.1:9/x".to_owned(),
        ] {
            let Err(error) = ArgumentSchema::new(&json!({"$ref": url})) else {
                panic!("{url} was loaded");
            };
            assert_eq!(error, format!("error loading {url}"));
        }
        assert!(ArgumentSchema::new(&json!({"type": "text"})).is_err());
    }

    #[test]
    fn long_chains_and_deep_values_do_not_overflow_the_stack() {
        let reference = |number: usize| json!({"$ref": format!("#/$defs/{number}")});
        let mut definitions: Map<String, Value> = (0..2000)
            .map(|number| (number.to_string(), reference(number + 1)))
            .collect();
        definitions.insert("2000".to_owned(), json!({"type": "object"}));
        let chain = json!({"$ref": "#/$defs/0", "$defs": definitions});
        assert_eq!(checked(&chain, &json!({})), Ok(()));

        let nested = |levels: usize, innermost: Value| {
            (0..levels).fold(innermost, |value, _| json!({"properties": {"a": value}}))
        };
        assert_eq!(checked(&nested(60, json!(true)), &json!({})), Ok(()));
        assert!(ArgumentSchema::new(&nested(70, json!(true))).is_err());

        let list = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
        let value = (0..127).fold(json!({}), |value, _| json!({"a": value}));
        assert_eq!(checked(&list, &value), Ok(()));
        let (_, message) = checked(&list, &json!({"a": value})).unwrap_err();
        assert_eq!(
            message,
            "the arguments have too many levels for their schema"
        );
    }

    #[test]
    fn endless_references_end() {
        let endless = json!({"$ref": "#"});
        let (_, message) = checked(&endless, &json!({})).unwrap_err();
        assert!(message.contains("reference cycle"), "{message}");
        let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        assert_eq!(checked(&list, &json!({"next": {"next": {}}})), Ok(()));
    }
}
