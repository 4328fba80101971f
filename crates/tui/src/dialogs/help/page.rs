//! The keys and commands, made from the live bindings: what is shown is what works.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::{Action, Command, command::commands, command::slash_commands};
use crate::drawing::{frame, frame::boxed, layout::docked};
use crate::input::{keymap::hints::merge_numbered, plugins};
use osier_base::text;
use osier_protocol::{AddedCommand, PluginKey};
use osier_term::widgets::textarea::modal::EDITS;
use osier_term::{
    Component, Cx, Emphasis, Face, Handled, Keymap, Row, Span, Token, View, Wrap, paint_rows,
};

pub(super) const ID: &str = "help";

/// Widest the page gets.
const WIDTH: u16 = 100;

const HINTS: &[(Command, &str)] = &[
    (Command::Down, "scroll"),
    (Command::PageDown, "page"),
    (Command::Cancel, "close"),
];

/// Columns of the keys.
const KEY_COLUMNS: usize = 28;

/// From this width on descriptions are next to their keys.
const SIDE_BY_SIDE: usize = 64;

/// Most keys shown for one command.
const MOST_KEYS: usize = 4;

/// The sections and the contexts of their bindings.
const SECTIONS: &[(&str, &[&str])] = &[
    ("Global", &["global", "editor"]),
    ("Browsing", &["transcript"]),
    ("Lists", &["list"]),
    ("Sessions", &["sessions"]),
    ("Tree", &["tree"]),
    ("Changes", &["diff"]),
    ("Questions", &["question"]),
    ("Search", &["search"]),
    ("Compaction summary", &["summary"]),
];

/// Where steps of modal editing are bound.
const EDITOR_CONTEXTS: [&str; 5] = ["editor", "insert", "normal", "operator", "visual"];

/// A line of the page before it is laid out.
#[derive(Debug)]
enum Line {
    Blank,
    Heading(&'static str),
    Entry(String, String),
}

/// The page.
#[derive(Debug)]
pub(super) struct Help {
    lines: Vec<Line>,
    /// Rows of the last draw.
    count: usize,
    top: usize,
    page: usize,
}

/// The page for these bindings.
pub(super) fn page(
    keymap: &Keymap<Command>,
    added: &[AddedCommand],
    plugin_keys: &[PluginKey],
) -> Help {
    let mut lines = Vec::new();
    for (heading, contexts) in SECTIONS {
        let mut section = Vec::new();
        for info in commands() {
            let bound = contexts
                .iter()
                .flat_map(|context| keymap.keys_for(context, info.command));
            let mut keys: Vec<String> = bound.collect();
            keys.dedup();
            keys.truncate(MOST_KEYS);
            if !keys.is_empty() {
                section.push((keys.join(", "), info.description.to_owned()));
            }
        }
        let section = merge_numbered(section).into_iter();
        let mut section: Vec<Line> = section
            .map(|(keys, what)| Line::Entry(keys, what))
            .collect();
        if contexts.contains(&"global") {
            let brought = plugins::describe(keymap, plugin_keys).into_iter();
            section.extend(brought.map(|(keys, what)| Line::Entry(keys, what)));
        }
        if !section.is_empty() {
            if !lines.is_empty() {
                lines.push(Line::Blank);
            }
            lines.push(Line::Heading(heading));
            lines.append(&mut section);
        }
    }
    lines.extend(steps(keymap));
    lines.extend([Line::Blank, Line::Heading("Commands")]);
    for (info, slash) in slash_commands() {
        let usage = format!("/{} {}", slash.name, slash.argument);
        lines.push(Line::Entry(usage, info.description.to_owned()));
    }
    for command in added {
        let usage = text::single_line(&format!("/{} {}", command.name, command.argument));
        lines.push(Line::Entry(usage, text::single_line(&command.description)));
    }
    for (usage, description) in [
        ("!COMMAND", "run a command; the model sees the output"),
        (
            "!!COMMAND",
            "run a command; the model does not see the output",
        ),
        ("@FILE", "attach a file"),
    ] {
        lines.push(Line::Entry(usage.to_owned(), description.to_owned()));
    }
    Help {
        lines,
        count: 0,
        top: 0,
        page: 10,
    }
}

/// What the editor's modes and regions bind, where the keymap has them.
fn steps(keymap: &Keymap<Command>) -> Vec<Line> {
    let mut lines = Vec::new();
    for info in EDITS {
        let mut keys: Vec<String> = Vec::new();
        for context in EDITOR_CONTEXTS {
            keys.extend(keymap.keys_for(context, Command::Edit(info.edit)));
        }
        keys.sort();
        keys.dedup();
        if !keys.is_empty() {
            let keys = keys.join(", ");
            lines.push(Line::Entry(keys, info.description.to_owned()));
        }
    }
    if !lines.is_empty() {
        lines.splice(0..0, [Line::Blank, Line::Heading("Editor modes")]);
    }
    lines
}

fn heading(text: &str) -> Row {
    let face = Face::from(Token::Heading).emphasised(Emphasis::BOLD);
    Row::plain(format!(" {text}"), face)
}

/// A long description wraps in its column; on a narrow screen it is below its keys.
fn entry(keys: &str, description: &str, width: usize, rows: &mut Vec<Row>) {
    if width < SIDE_BY_SIDE {
        rows.push(Row::plain(format!("  {keys}"), Token::Accent));
        let indent = [Span::new("      ", Token::Text)];
        Wrap::new(width)
            .prefixed(&indent)
            .sentences(description, Token::Text, rows);
        return;
    }
    let gap = " ".repeat(KEY_COLUMNS.saturating_sub(text::width(keys)));
    let first = [Span::new(format!("  {keys}{gap} "), Token::Accent)];
    let rest = [Span::new(" ".repeat(KEY_COLUMNS + 3), Token::Text)];
    Wrap::new(width)
        .hanging(&first, &rest)
        .sentences(description, Token::Text, rows);
}

impl Help {
    fn rows(&self, width: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for line in &self.lines {
            match line {
                Line::Blank => rows.push(Row::default()),
                Line::Heading(text) => rows.push(heading(text)),
                Line::Entry(keys, description) => entry(keys, description, width, &mut rows),
            }
        }
        rows
    }

    fn scroll(&mut self, rows: isize) {
        let last = self.count.saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }
}

impl Component<Command, Action> for Help {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let inner = usize::from(docked(area, WIDTH, 1).width.saturating_sub(2));
        let page = self.rows(inner);
        self.count = page.len();
        let height = u16::try_from(page.len() + 2).unwrap_or(u16::MAX);
        let area = docked(area, WIDTH, height.min(area.height * 8 / 10));
        self.page = usize::from(area.height.saturating_sub(2));
        self.scroll(0);
        let shown = page.iter().skip(self.top).take(self.page);
        let place = match self.count.saturating_sub(self.page) {
            0 => String::new(),
            last => format!("{}%", self.top * 100 / last),
        };
        let mut rows = vec![frame::top("Keyboard shortcuts", &place, inner + 2)];
        rows.extend(shown.map(|row| boxed(row.clone(), inner)));
        let keys = frame::hints(view.keymap, "list", HINTS);
        rows.push(frame::bottom(&keys, Token::Muted, inner + 2));
        paint_rows(&rows, area, buffer, view.links, |face| {
            view.theme.style(face)
        });
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let page = isize::try_from(self.page.saturating_sub(1).max(1)).unwrap_or(1);
        match command {
            Command::Up => self.scroll(-1),
            Command::Down => self.scroll(1),
            Command::PageUp => self.scroll(-page),
            Command::PageDown => self.scroll(page),
            Command::First => self.top = 0,
            Command::Last => self.scroll(isize::MAX),
            Command::Accept | Command::Cancel | Command::Interrupt | Command::Help => {
                cx.push(Action::CloseLayer);
            }
            _ => return Handled::No,
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }
}
