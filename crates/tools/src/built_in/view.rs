//! How clients show the calls of a tool: the screen, the browser chat, editors, exports and
//! questions.

use osier_base::text;
use osier_protocol::TodoList;
use serde::Serialize;
use serde_json::Value;

/// How the calls of a tool are shown.
#[derive(Debug, Serialize)]
pub struct ToolView {
    pub verbs: Verbs,
    /// The text after the name of the tool. A part whose argument is missing is left out.
    pub subject: &'static [Part],
    /// The fields of a result that say how much it is. The second one follows after `in`.
    pub counts: &'static [Count],
    /// The question before a call runs.
    #[serde(skip)]
    pub question: &'static str,
    #[serde(skip)]
    pub collapsed: Collapsed,
}

impl ToolView {
    /// A view that shows the start of a result.
    pub(crate) const fn new(verbs: Verbs, subject: &'static [Part]) -> Self {
        Self {
            verbs,
            subject,
            counts: &[],
            question: "",
            collapsed: Collapsed::Start,
        }
    }
}

/// The part of a result that shows while the result is collapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collapsed {
    /// Only the header of the call, unless the call failed.
    Nothing,
    Start,
    End,
}

/// The verbs of a tool, before the subject: `Reading`, `Read`, `read`.
#[derive(Debug, Serialize)]
pub struct Verbs {
    pub now: &'static str,
    pub done: &'static str,
    pub base: &'static str,
    /// Several calls in one line, as in `read 3 files`: the verb, and one of the things that are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub several: Option<(&'static str, &'static str)>,
}

impl Verbs {
    pub(crate) const fn new(now: &'static str, done: &'static str, base: &'static str) -> Self {
        Self {
            now,
            done,
            base,
            several: None,
        }
    }

    pub(crate) const fn several(self, verb: &'static str, thing: &'static str) -> Self {
        Self {
            several: Some((verb, thing)),
            ..self
        }
    }
}

/// A part of the subject: an argument with the text around it.
#[derive(Debug, Serialize)]
pub struct Part {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub before: &'static str,
    pub argument: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub after: &'static str,
    pub kind: PartKind,
}

/// How the argument of a part is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// A text, or a list of texts.
    Text,
    /// A command line.
    Command,
    /// The address of a web page.
    Page,
    /// The path of a file.
    Path,
    /// The lines from `offset` on, `limit` of them.
    Lines,
    /// The files of a patch.
    Patch,
    /// The first question, and how many follow.
    Questions,
    /// The first line of a Markdown text.
    Title,
    /// The progress of a to-do list.
    Progress,
}

impl PartKind {
    /// Whether the part is the text of its argument.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Command | Self::Page | Self::Path)
    }
}

impl Part {
    pub(crate) const fn of(argument: &'static str, kind: PartKind) -> Self {
        Self {
            before: "",
            argument,
            after: "",
            kind,
        }
    }

    pub(crate) const fn text(argument: &'static str) -> Self {
        Self::of(argument, PartKind::Text)
    }

    pub(crate) const fn path(argument: &'static str) -> Self {
        Self::of(argument, PartKind::Path)
    }

    pub(crate) const fn around(self, before: &'static str, after: &'static str) -> Self {
        Self {
            before,
            after,
            ..self
        }
    }

    /// The text of the part for a call, on one line unless it is `first`.
    fn of_call(
        &self,
        arguments: &Value,
        patched: &dyn Fn() -> Vec<String>,
        first: bool,
    ) -> Option<String> {
        let given = arguments.get(self.argument);
        let text = match self.kind {
            PartKind::Text | PartKind::Command | PartKind::Page | PartKind::Path => {
                value_text(given?)?
            }
            PartKind::Lines => lines(arguments)?,
            PartKind::Patch => patched().join(", "),
            PartKind::Questions => questions(given?)?,
            PartKind::Title => title(given?.as_str()?).to_owned(),
            PartKind::Progress => TodoList::of(arguments)?.summary(),
        };
        if text.is_empty() {
            return None;
        }
        let text = if first {
            text
        } else {
            text::single_line(&text)
        };
        Some(format!("{}{text}{}", self.before, self.after))
    }
}

/// The subject of a call; `None` if the call has none of its arguments.
pub(super) fn subject(
    parts: &[Part],
    arguments: &Value,
    patched: &dyn Fn() -> Vec<String>,
) -> Option<String> {
    let parts = parts.iter().enumerate();
    let mut shown = parts
        .filter_map(|(place, part)| part.of_call(arguments, patched, place == 0))
        .peekable();
    shown.peek()?;
    let shown: String = shown.collect();
    Some(shown.trim_start_matches(' ').to_owned())
}

/// The text of a string, or the joined strings of a list.
fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            Some(words?.join(" "))
        }
        _ => None,
    }
}

/// `10-19`, or `10-` without a limit.
fn lines(arguments: &Value) -> Option<String> {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let from = number("offset").unwrap_or(1);
    match (number("offset"), number("limit")) {
        (None, None) => None,
        (_, Some(limit)) => Some(format!("{from}-{}", from + limit.saturating_sub(1))),
        (_, None) => Some(format!("{from}-")),
    }
}

fn questions(given: &Value) -> Option<String> {
    let questions = given.as_array()?;
    let first = questions.first()?.get("question")?.as_str()?;
    let first = text::single_line(first);
    Some(match questions.len() - 1 {
        0 => first,
        more => format!(
            "{first} (+{})",
            text::counted(more, "question", "questions")
        ),
    })
}

/// The first line that is not empty, without the mark of a heading.
fn title(markdown: &str) -> &str {
    let lines = markdown.lines().map(|line| line.trim_start_matches('#'));
    lines
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

/// A number in the details of a result.
#[derive(Debug, Serialize)]
pub struct Count {
    pub field: &'static str,
    pub one: &'static str,
    pub many: &'static str,
}

impl Count {
    pub(crate) const fn new(field: &'static str, one: &'static str, many: &'static str) -> Self {
        Self { field, one, many }
    }

    fn number(&self, details: &Value) -> Option<u64> {
        details.get(self.field)?.as_u64()
    }

    fn of(&self, number: u64) -> String {
        text::counted(number, self.one, self.many)
    }
}

/// How much a call has read or found: `3 matches in 2 files`. A diff and a picture need no count.
pub(super) fn counted(counts: &[Count], details: &Value) -> Option<String> {
    let text = |name: &str| details.get(name).and_then(Value::as_str);
    if text("mimeType").is_some() || text("diff").is_some_and(|diff| !diff.is_empty()) {
        return None;
    }
    let (first, others) = counts.split_first()?;
    let mut shown = first.of(first.number(details)?);
    for count in others {
        if let Some(number) = count.number(details).filter(|number| *number > 0) {
            shown = format!("{shown} in {}", count.of(number));
        }
    }
    Some(shown)
}
