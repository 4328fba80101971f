//! Parses the front matter of a Markdown file: YAML between two `---`. Each field is parsed for itself: an invalid one is
//! reported with its line, and the other fields are used.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

/// Maximum depth of nested values.
const DEPTH: usize = 16;

/// A value. Values nested in a list or a map are their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
}

impl Value {
    /// The value as one text.
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::List(items) => items.join(", "),
            Self::Map(pairs) => {
                let pairs = pairs.iter().map(|(name, value)| format!("{name}: {value}"));
                pairs.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// A field, `name: value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub value: Value,
    /// Line number, from 1.
    pub line: usize,
}

/// An invalid line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Line number, from 1.
    pub line: usize,
    pub message: String,
}

/// A parsed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document<'a> {
    pub fields: Vec<Field>,
    pub body: &'a str,
    pub faults: Vec<Fault>,
}

impl Document<'_> {
    /// The field `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The text of a field; a list is joined with spaces, because `allowed-tools` is written in both ways.
    pub fn text(&self, name: &str) -> Option<String> {
        match &self.field(name)?.value {
            Value::Text(text) => Some(text.clone()),
            Value::List(items) => Some(items.join(" ")),
            map @ Value::Map(_) => Some(map.clone().into_text()),
        }
    }

    /// The items of a field that is a list, or its text as the only item.
    pub fn list(&self, name: &str) -> Option<Vec<String>> {
        match &self.field(name)?.value {
            Value::Text(text) => Some(vec![text.clone()]),
            Value::List(items) => Some(items.clone()),
            Value::Map(_) => None,
        }
    }

    /// The words of a field, written as a list or separated by spaces or commas. `Bash(git log:*)` is one word.
    pub fn words(&self, name: &str) -> Option<Vec<String>> {
        let text = self.list(name)?.join(" ");
        let mut depth = 0usize;
        let words = text.split(|char| {
            match char {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && [' ', ','].contains(&char)
        });
        let words = words.filter(|word| !word.is_empty());
        Some(words.map(str::to_owned).collect())
    }
}

/// Parses `text`. A file without front matter is all body.
pub fn parse(text: &str) -> Document<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = Document {
        body: text,
        ..Document::default()
    };
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else {
        return whole;
    };
    let mut head = Vec::new();
    let mut end = first.len();
    for line in lines {
        end += line.len();
        if is_fence(line) {
            return Document {
                body: &text[end..],
                ..read(&head)
            };
        }
        head.push(line.trim_end_matches(['\n', '\r']));
    }
    Document {
        faults: vec![Fault {
            line: 1,
            message: "the front matter has no closing `---`".to_owned(),
        }],
        ..whole
    }
}

/// The fields in the lines of `head`, which start with the second line of the file.
fn read(head: &[&str]) -> Document<'static> {
    let mut document = Document::default();
    let mut at = 0;
    while let Some(first) = head.get(at) {
        let line = at + 2;
        if first.trim().is_empty() || first.trim_start().starts_with('#') {
            at += 1;
            continue;
        }
        let below = head[at + 1..].iter().take_while(|line| belongs(line));
        let lines = &head[at..=at + below.count()];
        let count = lines.len();
        at += count;
        let Some((name, rest)) = split_field(first).filter(|_| !belongs(first)) else {
            document.faults.push(Fault {
                line,
                message: format!("`{}` is not `name: value`", first.trim()),
            });
            continue;
        };
        match value(rest.trim(), lines) {
            Ok(value) => document.fields.push(Field {
                name: name.to_owned(),
                value,
                line,
            }),
            Err(error) => document.faults.push(Fault {
                line: line + error.marker().line().saturating_sub(1).min(count - 1),
                message: error.info().to_owned(),
            }),
        }
    }
    document
}

/// Whether a line continues the field above it. A bracket can close a list that the field begins.
fn belongs(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with([' ', '\t', ']', '}']) || line.starts_with("- ")
}

fn split_field(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    let name = name.trim_matches([' ', '"', '\'']);
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|char| char.is_alphanumeric() || "-_.".contains(char));
    (is_name && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some((name, rest))
}

/// The value of the field in `lines`; `rest` follows its name.
fn value(rest: &str, lines: &[&str]) -> Result<Value, ScanError> {
    let found = yaml(&lines.join("\n"));
    found.or_else(|error| plain(rest, &lines[1..]).ok_or(error))
}

/// The value of the only field of `text`.
fn yaml(text: &str) -> Result<Value, ScanError> {
    let mut parser = Parser::new_from_str(text);
    let mut next = || {
        let event = parser
            .next()
            .unwrap_or(Ok((Event::Nothing, Span::default())));
        event.map(|(event, span)| (event, span.start))
    };
    // Skips the name of the field, which comes first.
    while !matches!(next()?.0, Event::Scalar(..) | Event::Nothing) {}
    let first = next()?;
    let value = node(first, &mut next, 0)?;
    // An error after the value is an error of the field.
    while next()?.0 != Event::Nothing {}
    Ok(value)
}

/// The node that starts with `event`. Aliases are not followed, so that a short text cannot become a long one.
fn node<'t>(
    (event, at): (Event<'t>, Marker),
    next: &mut impl FnMut() -> Result<(Event<'t>, Marker), ScanError>,
    depth: usize,
) -> Result<Value, ScanError> {
    if depth > DEPTH {
        return Err(ScanError::new_str(at, "the value is nested too deeply"));
    }
    match event {
        Event::Scalar(text, ScalarStyle::Plain, ..) if matches!(&*text, "~" | "null") => {
            Ok(Value::Text(String::new()))
        }
        Event::Scalar(text, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
            Ok(Value::Text(text.trim_end().to_owned()))
        }
        Event::Scalar(text, ..) => Ok(Value::Text(text.into_owned())),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            loop {
                match next()? {
                    (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                    item => items.push(node(item, next, depth + 1)?.into_text()),
                }
            }
        }
        Event::MappingStart(..) => {
            let mut pairs = Vec::new();
            loop {
                match next()? {
                    (Event::MappingEnd, _) => return Ok(Value::Map(pairs)),
                    name => {
                        let name = node(name, next, depth + 1)?.into_text();
                        let value = next()?;
                        pairs.push((name, node(value, next, depth + 1)?.into_text()));
                    }
                }
            }
        }
        _ => Err(ScanError::new_str(at, "aliases are not supported")),
    }
}

/// A text that is not valid YAML, but that many files contain: with a colon or brackets in it, or with `*` at its start.
fn plain(rest: &str, below: &[&str]) -> Option<Value> {
    if rest.is_empty() {
        return None;
    }
    let lines = below.iter().map(|line| line.trim());
    let lines = std::iter::once(rest).chain(lines);
    let lines: Vec<&str> = lines
        .map(without_comment)
        .filter(|line| !line.is_empty())
        .collect();
    let text = lines.join(" ");
    let is_open = match text.chars().next()? {
        '"' | '\'' | '|' | '>' => true,
        '[' => !text.ends_with(']'),
        '{' => !text.ends_with('}'),
        _ => false,
    };
    (!is_open).then_some(Value::Text(text))
}

fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    line.split(" #").next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_parsed_and_the_body_is_unchanged() {
        let text = "---\nname: pdf # short\ndescription: Reads: all\n  of it\nlist: [a, 'b, c']\n\
            tools:\n  - read\n  - bash\nmetadata:\n  author: \"x \\\"y\\\"\"\n  version: 1\n\
            long: >-\n  one\n  two\n\n  three\nraw: |\n  a\n    b\n---\n\n# Body\n";
        let document = parse(text);
        let texts: Vec<(&str, Value)> = document
            .fields
            .iter()
            .map(|field| (field.name.as_str(), field.value.clone()))
            .collect();
        let text = |text: &str| Value::Text(text.to_owned());
        let list = |items: &[&str]| Value::List(items.iter().map(ToString::to_string).collect());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            texts,
            [
                ("name", text("pdf")),
                ("description", text("Reads: all of it")),
                ("list", list(&["a", "b, c"])),
                ("tools", list(&["read", "bash"])),
                (
                    "metadata",
                    Value::Map(vec![pair("author", "x \"y\""), pair("version", "1")])
                ),
                ("long", text("one two\nthree")),
                ("raw", text("a\n  b")),
            ]
        );
        assert_eq!((document.body, document.faults), ("\n# Body\n", Vec::new()));
    }

    #[test]
    fn errors_name_their_line_and_the_rest_is_used() {
        let document = parse("---\nname: a\n???\nx: \"open\ny: [1\n---\nbody");
        let faults: Vec<(usize, &str)> = document
            .faults
            .iter()
            .map(|fault| (fault.line, fault.message.as_str()))
            .collect();
        assert_eq!(
            faults,
            [
                (3, "`???` is not `name: value`"),
                (
                    4,
                    "while scanning a quoted scalar, found unexpected end of stream"
                ),
                (5, "while parsing a flow sequence, expected ',' or ']'"),
            ]
        );
        assert_eq!(document.text("name").as_deref(), Some("a"));
        assert_eq!(document.body, "body");
        assert_eq!(parse("---\nname: a\n").faults[0].line, 1);
        assert_eq!(parse("# No head\n").body, "# No head\n");
    }

    #[test]
    fn every_form_of_yaml_is_read() {
        let list = |items: &[&str]| Value::List(items.iter().map(ToString::to_string).collect());
        let text = |text: &str| Value::Text(text.to_owned());
        for (field, expected) in [
            (
                "\"Reads PDF files\" # the short text",
                text("Reads PDF files"),
            ),
            ("\"\\u00e9t\\u00e9\"", text("\u{e9}t\u{e9}")),
            ("[\n  read,\n  bash,\n]", list(&["read", "bash"])),
            ("[a, [b, c]]", list(&["a", "b, c"])),
            (
                "\n  tags:\n    - one\n    - two",
                Value::Map(vec![("tags".into(), "one, two".into())]),
            ),
            ("", text("")),
            ("~", text("")),
            ("1.10", text("1.10")),
            ("&a b", text("b")),
            // Texts that are not YAML, but that people write.
            ("Use when: a", text("Use when: a")),
            ("**/*.ts", text("**/*.ts")),
            ("[file] [focus]", text("[file] [focus]")),
            ("@scope # x", text("@scope")),
        ] {
            let source = format!("---\nx: {field}\n---\n");
            let document = parse(&source);
            assert_eq!(document.faults, [], "{field}");
            assert_eq!(
                document.field("x").map(|field| &field.value),
                Some(&expected),
                "{field}"
            );
        }
    }

    #[test]
    fn aliases_and_deep_values_cost_their_field_only() {
        let bomb = "---\na: &a [x, x]\nb:\n  - &b [1]\n  - [*b, *b, *b]\nname: n\n---\n";
        let document = parse(bomb);
        assert_eq!(document.text("name").as_deref(), Some("n"));
        assert_eq!(document.faults.len(), 1);
        assert_eq!(document.faults[0].message, "aliases are not supported");
        let deep = format!(
            "---\nx:\n  {}{}\nname: n\n---\n",
            "[".repeat(40),
            "]".repeat(40)
        );
        let document = parse(&deep);
        assert_eq!(document.text("name").as_deref(), Some("n"));
        assert_eq!(document.faults[0].message, "the value is nested too deeply");
    }
}
