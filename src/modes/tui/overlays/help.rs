//! The keys and commands, made from the live bindings: what is shown is what works.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::palette::keys;
use super::picker::boxed;
use crate::modes::tui::action::Action;
use crate::modes::tui::command::{COMMANDS, Command};
use crate::modes::tui::layout::centred;
use crate::modes::tui::slash::SLASH_COMMANDS;
use crate::term::component::{Component, Cx, Handled, View};
use crate::term::face::{Emphasis, Face, Token};
use crate::term::keymap::Keymap;
use crate::term::row::Row;
use crate::term::widgets::paint::paint_rows;

pub const ID: &str = "help";

/// The page.
#[derive(Debug)]
pub struct Help {
    rows: Vec<Row>,
    top: usize,
    page: usize,
}

/// The page for these bindings.
pub fn page(keymap: &Keymap) -> Help {
    let mut rows = vec![heading("Keys")];
    for info in COMMANDS {
        let keys = keys(keymap, info.name);
        if !keys.is_empty() {
            rows.push(entry(&keys, info.description));
        }
    }
    rows.extend([Row::default(), heading("Commands")]);
    for command in SLASH_COMMANDS {
        let usage = format!("/{} {}", command.name, command.argument);
        rows.push(entry(&usage, command.description));
    }
    rows.push(entry(
        "!COMMAND",
        "run a command; the model sees what it printed",
    ));
    rows.push(entry(
        "!!COMMAND",
        "run a command; the model does not see it",
    ));
    rows.push(entry("@FILE", "name a file"));
    Help {
        rows,
        top: 0,
        page: 10,
    }
}

fn heading(text: &str) -> Row {
    let face = Face::from(Token::Heading).emphasised(Emphasis::BOLD);
    Row::plain(format!(" {text}"), face)
}

fn entry(keys: &str, description: &str) -> Row {
    let mut row = Row::plain(format!("  {keys:<34} "), Token::Accent);
    row.push(description, Token::Text);
    row
}

impl Help {
    fn scroll(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }
}

impl Component<Command, Action> for Help {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_>) {
        let height = u16::try_from(self.rows.len() + 2).unwrap_or(u16::MAX);
        let area = centred(area, 100, height.min(area.height * 8 / 10));
        let inner = usize::from(area.width.saturating_sub(2));
        self.page = usize::from(area.height.saturating_sub(2));
        self.scroll(0);
        let line = |left: &str, right: &str| {
            Row::plain(
                format!("{left}{}{right}", "─".repeat(inner)),
                Token::BorderActive,
            )
        };
        let shown = self.rows.iter().skip(self.top).take(self.page);
        let mut rows = vec![line("╭", "╮")];
        rows.extend(shown.map(|row| boxed(row.clone(), inner)));
        rows.push(line("╰", "╯"));
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
