//! The keys and commands, made from the live bindings: every key on the page works.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::{Action, Command, command::commands};
use crate::drawing::{frame, frame::Panel, layout::docked, scroll::Scroll};
use crate::input::{keymap::hints::merge_numbered, plugins};
use osier_base::text;
use osier_protocol::{AddedCommand, PluginKey, slash};
use osier_term::widgets::textarea::modal::EDITS;
use osier_term::{Component, Cx, Face, Handled, Keymap, Row, Span, Token, View, Wrap};

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
    scroll: Scroll,
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
    for slash in slash::COMMANDS {
        let usage = format!("/{} {}", slash.name, slash.argument);
        lines.push(Line::Entry(usage, slash.description.to_owned()));
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
        scroll: Scroll::default(),
    }
}

/// The bindings of the editor's modes and regions, if the keymap has any.
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
    let face = Face::bold(Token::Heading);
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
}

impl Component<Command, Action> for Help {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let inner = usize::from(docked(area, WIDTH, 1).width.saturating_sub(2));
        let page = self.rows(inner);
        let height = u16::try_from(page.len() + 2).unwrap_or(u16::MAX);
        let area = docked(area, WIDTH, height.min(area.height * 8 / 10));
        let fit = usize::from(area.height.saturating_sub(2));
        let shown = self.scroll.fit(page.len(), fit);
        let panel = Panel {
            title: "Keyboard shortcuts",
            remark: &self.scroll.percent(),
            rows: page[shown].to_vec(),
            keys: frame::hints(view.keymap, "list", HINTS),
            token: Token::Muted,
        };
        panel.draw(area, buffer, view);
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Accept | Command::Cancel | Command::Interrupt | Command::Help => {
                cx.push(Action::CloseLayer);
                Handled::Yes
            }
            command => self.scroll.on_command(command),
        }
    }

    fn context(&self) -> &'static str {
        "list"
    }
}
