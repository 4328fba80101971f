//! The HTML that models write into Markdown for other renderers. The tags of known elements are
//! omitted, or have a meaning: a line break, a link, raised text. Comments are omitted. Everything
//! else is shown as it was written: it can be text, as in `Vec<String>`.

use std::borrow::Cow;
use std::fmt::Write as _;

use osier_base::text::head_bytes;
use pulldown_cmark::{Event, Parser};

use crate::optional::{lowered, raised};

/// Elements whose tags are omitted and whose text stays. All other words in angle brackets are
/// text.
const KNOWN: &[&str] = &[
    "a",
    "abbr",
    "b",
    "big",
    "blockquote",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "details",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "picture",
    "pre",
    "q",
    "s",
    "samp",
    "small",
    "source",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
];

/// Maximum bytes of a tag, and of an entity.
const TAG: usize = 1024;
const ENTITY: usize = 40;

/// The meaning of an element of HTML in a line of text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Markup<'a> {
    LineBreak,
    Nothing,
    /// The tag is not that of a known element.
    Text,
    /// The start of raised or lowered text.
    Script(Script),
    ScriptEnd,
    Link(Cow<'a, str>),
    LinkEnd,
    /// The description of an image.
    Image(Cow<'a, str>),
    Cell,
    Item,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Raised,
    Lowered,
}

impl Script {
    /// The text with its Unicode characters, or as `^(…)`.
    pub(super) fn of(self, text: &str) -> String {
        match self {
            Self::Raised => raised(text),
            Self::Lowered => lowered(text),
        }
    }
}

/// A tag.
struct Tag<'a> {
    name: &'a str,
    is_end: bool,
    attributes: &'a str,
}

impl<'a> Tag<'a> {
    fn of(html: &'a str) -> Option<Self> {
        let inside = html.strip_prefix('<')?.strip_suffix('>')?;
        let (is_end, inside) = match inside.strip_prefix('/') {
            Some(inside) => (true, inside),
            None => (false, inside),
        };
        let end = inside.find(|char: char| !char.is_ascii_alphanumeric());
        let (name, attributes) = inside.split_at(end.unwrap_or(inside.len()));
        // A known name with a hyphen after it is the start of another name.
        if !attributes.is_empty() && !attributes.starts_with([' ', '\t', '\n', '\r', '/']) {
            return None;
        }
        let attributes = attributes.trim_end_matches('/').trim();
        Some(Self {
            name,
            is_end,
            attributes,
        })
    }

    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Whether it is an element and not a word in angle brackets, such as the argument of a generic type. `before` is the
    /// character before it.
    fn is_known(&self, before: Option<char>) -> bool {
        let name = self.name;
        if self.is("br") {
            return true;
        }
        if !KNOWN.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return false;
        }
        let is_lower = name.chars().all(|char| !char.is_ascii_uppercase());
        let is_upper = name.len() > 1 && name.chars().all(|char| !char.is_ascii_lowercase());
        let follows_word = before.is_some_and(|char| char.is_alphanumeric() || "_:".contains(char));
        let is_plain = self.attributes.is_empty() && !self.is_end;
        let is_argument = is_plain && follows_word && !["sub", "sup"].contains(&name);
        (is_lower || is_upper) && !is_argument && !(is_plain && self.is("a"))
    }

    fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut rest = self.attributes;
        while let Some((key, behind)) = rest.split_once('=') {
            let key = key.split_whitespace().next_back().unwrap_or_default();
            let behind = behind.trim_start();
            let quote = behind.chars().next().filter(|char| "\"'".contains(*char));
            let (value, left) = match quote {
                Some(quote) => behind[1..].split_once(quote)?,
                None => behind
                    .split_once(char::is_whitespace)
                    .unwrap_or((behind, "")),
            };
            if key.eq_ignore_ascii_case(name) {
                return Some(with_entities(value));
            }
            rest = left;
        }
        None
    }
}

/// The meaning of `html`, one tag or comment, after the character `before`.
pub(super) fn meaning(html: &str, before: Option<char>) -> Markup<'_> {
    if html.starts_with("<!--") {
        return Markup::Nothing;
    }
    let Some(tag) = Tag::of(html).filter(|tag| tag.is_known(before)) else {
        return Markup::Text;
    };
    let name = tag.name.to_ascii_lowercase();
    match (&*name, tag.is_end) {
        ("br", _) => Markup::LineBreak,
        ("sup" | "sub", true) => Markup::ScriptEnd,
        ("sup", false) => Markup::Script(Script::Raised),
        ("sub", false) => Markup::Script(Script::Lowered),
        ("a", true) => Markup::LinkEnd,
        ("a", false) => tag.attribute("href").map_or(Markup::Nothing, Markup::Link),
        ("img", _) => tag
            .attribute("alt")
            .filter(|alt| !alt.trim().is_empty())
            .map_or(Markup::Nothing, Markup::Image),
        ("td" | "th", false) => Markup::Cell,
        ("li", false) => Markup::Item,
        _ => Markup::Nothing,
    }
}

/// The text with the characters that its entities stand for.
fn with_entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let mut left = text;
    while let Some(at) = left.find('&') {
        shown.push_str(&left[..at]);
        left = &left[at..];
        let length = head_bytes(left, ENTITY).find(';').map_or(1, |end| end + 1);
        let (entity, behind) = left.split_at(length);
        // The parser knows the entities of HTML.
        let character = Parser::new(entity).find_map(|event| match event {
            Event::Text(text) if length > 1 => Some(text.into_string()),
            _ => None,
        });
        shown.push_str(character.as_deref().unwrap_or(entity));
        left = behind;
    }
    shown.push_str(left);
    Cow::Owned(shown)
}

/// A line of an HTML block as it is shown, empty where it has nothing to show. A comment that
/// starts before `closes_comments` has an end; `in_comment` says whether the line begins in a
/// comment.
pub(super) fn line<'l>(
    line: &'l str,
    closes_comments: usize,
    in_comment: &mut bool,
) -> Cow<'l, str> {
    if !*in_comment && !line.contains(['<', '&']) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::new();
    let mut left = line;
    let mut is_changed = line.contains('&');
    let (mut script, mut link): (Option<Script>, Option<Cow<'_, str>>) = (None, None);
    while !left.is_empty() {
        if *in_comment {
            is_changed = true;
            let Some(end) = left.find("-->") else { break };
            left = &left[end + 3..];
            *in_comment = false;
            continue;
        }
        let tag = left.find('<').unwrap_or(left.len());
        let text = with_entities(&left[..tag]);
        match script {
            Some(script) => shown.push_str(&script.of(&text)),
            None => shown.push_str(&text),
        }
        left = &left[tag..];
        if left.is_empty() {
            break;
        }
        // A comment without an end is shown, because it would hide the rest of the answer.
        let at = line.len() - left.len();
        if left.starts_with("<!--") && at < closes_comments {
            *in_comment = true;
            left = &left[4..];
            continue;
        }
        let length = head_bytes(left, TAG).find('>').map_or(1, |end| end + 1);
        let (html, behind) = left.split_at(length);
        left = behind;
        let before = line[..at].chars().next_back();
        is_changed = true;
        match meaning(html, before) {
            _ if length == 1 || html.starts_with("<!") => shown.push_str(html),
            Markup::Text => shown.push_str(html),
            Markup::LineBreak => shown.push('\n'),
            Markup::Nothing => {}
            Markup::Script(begins) => script = Some(begins),
            Markup::ScriptEnd => script = None,
            Markup::Link(to) => link = Some(to),
            Markup::LinkEnd => {
                let to = link.take().filter(|to| to.starts_with("http"));
                if let Some(to) = to.filter(|to| !shown.ends_with(&**to)) {
                    let _ = write!(shown, " ({to})");
                }
            }
            Markup::Image(text) => shown.push_str(&text),
            Markup::Cell if shown.trim().is_empty() => {}
            Markup::Cell => shown.push_str(" │ "),
            Markup::Item => shown.push_str("- "),
        }
    }
    match (is_changed, shown.trim().is_empty()) {
        (false, _) => Cow::Borrowed(line),
        (true, true) => Cow::Borrowed(""),
        (true, false) => Cow::Owned(shown),
    }
}
