//! Parses the front matter of a Markdown file: `name: value` lines between two `---`. It supports the part of
//! YAML that skills, prompt templates and agent definitions use. An invalid line is reported with its number,
//! and the other lines are used.

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
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
            Value::Map(_) => None,
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
        let text = self.text(name)?;
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
    let mut lines = Lines::new(text);
    if lines
        .next()
        .is_none_or(|line| line.text.trim_end() != "---")
    {
        return whole;
    }
    let mut head = Vec::new();
    for line in lines.by_ref() {
        if line.text.trim_end() == "---" {
            let mut document = read(&head);
            document.body = &text[lines.offset..];
            return document;
        }
        head.push(line);
    }
    Document {
        faults: vec![Fault {
            line: 1,
            message: "the front matter has no closing `---`".to_owned(),
        }],
        ..whole
    }
}

#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    /// Line number, from 1.
    number: usize,
}

impl Line<'_> {
    fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }

    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

struct Lines<'a> {
    text: &'a str,
    offset: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            number: 0,
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = &self.text[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
        self.offset += length;
        self.number += 1;
        Some(Line {
            text: rest[..length].trim_end_matches(['\n', '\r']),
            number: self.number,
        })
    }
}

fn read(head: &[Line<'_>]) -> Document<'static> {
    let mut document = Document::default();
    let mut at = 0;
    while at < head.len() {
        let line = head[at];
        at += 1;
        if line.is_blank() || line.text.trim_start().starts_with('#') {
            continue;
        }
        let Some((name, rest)) = split_field(line.text).filter(|_| line.indent() == 0) else {
            document.faults.push(Fault {
                line: line.number,
                message: format!("`{}` is not `name: value`", line.text.trim()),
            });
            continue;
        };
        let count = head[at..].iter().take_while(|line| belongs(line)).count();
        let below = &head[at..at + count];
        at += count;
        match value(rest.trim(), below) {
            Ok(value) => document.fields.push(Field {
                name: name.to_owned(),
                value,
                line: line.number,
            }),
            Err(message) => document.faults.push(Fault {
                line: line.number,
                message,
            }),
        }
    }
    document
}

/// Whether a line continues the field above it.
fn belongs(line: &Line<'_>) -> bool {
    line.is_blank() || line.indent() > 0 || line.text.starts_with("- ")
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

fn value(text: &str, below: &[Line<'_>]) -> Result<Value, String> {
    let text = without_comment(text);
    if text.starts_with(['|', '>']) && text[1..].trim_start_matches(['-', '+']).is_empty() {
        return Ok(Value::Text(block(below, text.starts_with('|'))));
    }
    if let Some(items) = text.strip_prefix('[') {
        let items = items
            .strip_suffix(']')
            .ok_or_else(|| "the list has no closing `]`".to_owned())?;
        let items = list_items(items);
        let items = items.filter(|item| !item.is_empty()).map(scalar);
        return Ok(Value::List(items.collect::<Result<_, _>>()?));
    }
    let filled: Vec<&str> = below
        .iter()
        .map(|line| line.text.trim())
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    if !text.is_empty() {
        let mut joined = text.to_owned();
        for line in filled {
            joined.push(' ');
            joined.push_str(line);
        }
        return scalar(&joined).map(Value::Text);
    }
    if filled.is_empty() {
        return Ok(Value::Text(String::new()));
    }
    if filled.iter().all(|line| line.starts_with('-')) {
        let items = filled.iter().map(|line| scalar(line[1..].trim()));
        return Ok(Value::List(items.collect::<Result<_, _>>()?));
    }
    let pairs = filled.iter().map(|line| {
        let (name, rest) =
            split_field(line).ok_or_else(|| format!("`{line}` is not `name: value`"))?;
        Ok((name.to_owned(), scalar(without_comment(rest.trim()))?))
    });
    Ok(Value::Map(pairs.collect::<Result<_, String>>()?))
}

/// The items between the brackets of a list. A comma in quotes separates nothing.
fn list_items(text: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    let items = text.split(move |char| {
        match quote {
            None if matches!(char, '"' | '\'') => quote = Some(char),
            Some(open) if open == char => quote = None,
            _ => {}
        }
        char == ',' && quote.is_none()
    });
    items.map(str::trim)
}

/// A block of lines: unchanged after `|`, joined into paragraphs after `>`.
fn block(below: &[Line<'_>], literal: bool) -> String {
    let indent = below
        .iter()
        .filter(|line| !line.is_blank())
        .map(Line::indent)
        .min()
        .unwrap_or_default();
    let lines = below
        .iter()
        .map(|line| line.text.get(indent..).unwrap_or_default().trim_end());
    let lines: Vec<&str> = lines.collect();
    if literal {
        return lines.join("\n").trim_end().to_owned();
    }
    let mut text = String::new();
    for line in lines {
        let gap = match (text.is_empty() || text.ends_with('\n'), line.is_empty()) {
            (_, true) => "\n",
            (true, false) => "",
            (false, false) => " ",
        };
        text.push_str(gap);
        text.push_str(line);
    }
    text.trim_end().to_owned()
}

/// A plain or quoted string. A colon in a plain string is accepted, because many skills contain it.
fn scalar(text: &str) -> Result<String, String> {
    if let Some(rest) = text.strip_prefix('"') {
        let inner = rest
            .strip_suffix('"')
            .ok_or_else(|| "a quote is not closed".to_owned())?;
        let unescaped = inner.replace("\\\\", "\u{0}");
        let unescaped = unescaped
            .replace("\\\"", "\"")
            .replace("\\n", "\n")
            .replace("\\t", "\t");
        return Ok(unescaped.replace('\u{0}', "\\"));
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let inner = rest
            .strip_suffix('\'')
            .ok_or_else(|| "a quote is not closed".to_owned())?;
        return Ok(inner.replace("''", "'"));
    }
    Ok(text.to_owned())
}

fn without_comment(text: &str) -> &str {
    if text.starts_with(['"', '\'']) {
        return text;
    }
    if text.starts_with('#') {
        return "";
    }
    text.split(" #").next().unwrap_or_default().trim_end()
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
                (4, "a quote is not closed"),
                (5, "the list has no closing `]`"),
            ]
        );
        assert_eq!(document.text("name").as_deref(), Some("a"));
        assert_eq!(document.body, "body");
        assert_eq!(parse("---\nname: a\n").faults[0].line, 1);
        assert_eq!(parse("# No head\n").body, "# No head\n");
    }
}
