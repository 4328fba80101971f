//! The panel of the terminals: the live screen of one of them. Once it is entered, all keys go to the program; `ctrl+]`
//! leaves it. What is typed is sent and not stored.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command};
use crate::conversation::{transcript::Painted, transcript::tail_rows};
use crate::drawing::{frame, layout::docked};
use osier_base::text;
use osier_protocol::{Op, TerminalInfo, TerminalScreen};
use osier_term::{Component, Cx, Face, Handled, KeyPress, Keymap, Row, Span, Token, View, Wrap};

use super::keys;

pub(super) const ID: &str = "terminals";

/// The key that leaves an entered terminal; terminals without a wider protocol report `ctrl+]` as `ctrl+5`.
const LEAVE: [char; 2] = [']', '5'];
const EMPTY: &str = "no terminals yet: enter starts a shell, /terminal COMMAND another program";
/// The widest panel.
const WIDTH: u16 = 202;
/// Columns below which hints are short, so that the key that kills a program is among them.
const NARROW: usize = 72;

/// How many of the terminals run.
pub(crate) fn running(terminals: &[TerminalInfo]) -> usize {
    terminals.iter().filter(|terminal| terminal.running).count()
}

/// The panel.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    listed: Vec<TerminalInfo>,
    /// The terminal that is shown.
    selected: Option<String>,
    screen: TerminalScreen,
    /// Keys go to the program.
    entered: bool,
    /// The number of running terminals when a new one was requested: the panel enters the new
    /// terminal when it starts.
    awaited: Option<usize>,
    /// Another press of the key kills the program.
    doomed: bool,
    /// Where the screen is drawn.
    area: Rect,
    /// The size that was requested last.
    requested: Option<(u16, u16)>,
}

impl Terminals {
    /// A panel that enters the next terminal that starts; `running` terminals run now.
    pub(super) fn awaiting(running: usize) -> Self {
        Self {
            awaited: Some(running),
            ..Self::default()
        }
    }

    /// Stores a newer list. Returns the requests that it makes necessary.
    pub(super) fn set(&mut self, terminals: &[TerminalInfo]) -> Vec<Op> {
        let is_new = terminals.len() > self.listed.len() && !self.entered;
        self.listed = terminals.to_vec();
        let is_known = self.info().is_some();
        if !self.info().is_some_and(|info| info.running) {
            self.entered = false;
            self.doomed = false;
        }
        let mut ops = Vec::new();
        if is_new || !is_known {
            let newest = self.listed.last().map(|last| last.id.clone());
            ops.extend(self.select(newest));
        }
        let running = running(&self.listed);
        if self.awaited.take_if(|before| running > *before).is_some() {
            self.entered = self.info().is_some_and(|info| info.running);
            ops.extend(self.fit());
        }
        ops
    }

    pub(super) fn show(&mut self, id: &str, screen: &TerminalScreen) {
        if self.selected.as_deref() == Some(id) {
            self.screen = screen.clone();
        }
    }

    fn info(&self) -> Option<&TerminalInfo> {
        let id = self.selected.as_ref()?;
        self.listed.iter().find(|info| info.id == *id)
    }

    fn select(&mut self, id: Option<String>) -> Option<Op> {
        self.selected = id;
        self.screen = TerminalScreen::default();
        self.doomed = false;
        self.requested = None;
        let id = self.selected.clone()?;
        Some(Op::ShowTerminal { terminal: id })
    }

    fn step(&mut self, forward: bool, cx: &mut Cx<'_, Action>) {
        let count = self.listed.len();
        let at = self.listed.iter();
        let mut at = at.map(|info| Some(&info.id));
        let Some(at) = at.position(|id| id == self.selected.as_ref()) else {
            return;
        };
        let next = if forward { at + 1 } else { at + count - 1 } % count;
        let id = self.listed[next].id.clone();
        if let Some(op) = self.select(Some(id)) {
            cx.push(op);
        }
    }

    /// Types in a terminal that runs; starts the program of one that ended again, and a shell if there is none.
    fn enter(&mut self, cx: &mut Cx<'_, Action>) {
        match self.info() {
            Some(info) if info.running => {
                self.entered = true;
                cx.actions.extend(self.fit().map(Action::from));
            }
            info => {
                let command = info.map(|info| info.command.clone());
                self.start(command.unwrap_or_default(), cx);
            }
        }
    }

    /// Starts a command on a new terminal, which gets the keys; an empty command is the user's shell.
    fn start(&mut self, command: String, cx: &mut Cx<'_, Action>) {
        let is_repeated = self.listed.is_empty() && self.awaited.is_some();
        if !is_repeated {
            self.awaited = Some(running(&self.listed));
            cx.push(Op::StartTerminal { command });
        }
    }

    /// Gives the entered terminal the size of the panel.
    pub(super) fn fit_entered(&mut self) -> Option<Op> {
        self.entered.then(|| self.fit()).flatten()
    }

    /// Gives the terminal the size of the panel.
    fn fit(&mut self) -> Option<Op> {
        let terminal = self.selected.clone()?;
        let size = (self.area.height, self.area.width);
        if size.0 < 2 || size.1 < 2 || self.requested.replace(size) == Some(size) {
            return None;
        }
        let (rows, columns) = size;
        Some(Op::ResizeTerminal {
            terminal,
            rows,
            columns,
        })
    }

    fn type_text(&mut self, text: String, paste: bool, cx: &mut Cx<'_, Action>) {
        if let Some(id) = self.selected.clone() {
            // The panel may have another size since it was entered.
            cx.actions.extend(self.fit().map(Action::from));
            cx.push(Op::TypeInTerminal {
                terminal: id,
                text,
                paste,
            });
        }
    }

    /// Kills the program when the key is pressed twice.
    fn kill(&mut self, cx: &mut Cx<'_, Action>) {
        let Some(info) = self.info().filter(|info| info.running) else {
            return;
        };
        let id = info.id.clone();
        if std::mem::replace(&mut self.doomed, true) {
            self.doomed = false;
            cx.push(Op::CloseTerminal { terminal: id });
        }
    }

    /// Rules above and below, and no sides: the program has every column.
    fn rows(&self, width: usize, height: usize, keymap: &Keymap<Command>) -> Vec<Row> {
        let mut rows = vec![self.title_row(width)];
        let room = height.saturating_sub(2);
        if self.listed.is_empty() {
            let indent = [Span::new("  ", Token::Text)];
            let wrap = Wrap::new(width).hanging(&indent, &indent);
            wrap.text(EMPTY, Token::Text, &mut rows);
        }
        let columns = u16::try_from(width).unwrap_or(u16::MAX);
        let screen = Painted::from(&self.screen.output);
        let shown = tail_rows(screen, columns, &[], room.max(1).into());
        let cut = shown.len().saturating_sub(room);
        rows.extend(shown.into_iter().skip(cut));
        rows.resize_with(height.saturating_sub(1).max(rows.len()), Row::default);
        rows.push(self.hint_row(width, keymap));
        rows
    }

    fn title_row(&self, width: usize) -> Row {
        let rule = |title: &str, state: &str| {
            let title_face = Face::bold(Token::Title);
            frame::rule(title, title_face, (state, Token::Muted.into()), width)
        };
        let Some(info) = self.info() else {
            return rule("Terminals", "");
        };
        let state = match (&info.signal, info.exit_code) {
            _ if info.hidden_input => "hidden input".to_owned(),
            _ if info.running => format!("{}x{}", info.columns, info.rows),
            (Some(signal), _) => signal.clone(),
            (None, code) => format!("exit {}", code.unwrap_or_default()),
        };
        let title = text::single_line(&format!("{}  {}", info.id, info.command));
        rule(&title, &state)
    }

    fn hint_row(&self, width: usize, keymap: &Keymap<Command>) -> Row {
        let help = frame::help_hint(keymap, "list");
        let hints: Vec<String> = match self.info() {
            _ if self.doomed => {
                let asked = "press x again to kill it";
                return frame::rule(asked, Token::Warning.into(), ("", Face::default()), width);
            }
            _ if self.entered => [
                "ctrl+] leave",
                "ctrl+] n new terminal",
                "keys go to the program",
            ]
            .map(str::to_owned)
            .into(),
            None => ["enter start a shell", "esc close"]
                .map(str::to_owned)
                .into_iter()
                .chain(help)
                .collect(),
            Some(info) => {
                let enter = if info.running {
                    "enter type"
                } else {
                    "enter restart"
                };
                let new = if width < NARROW {
                    "n new"
                } else {
                    "n new terminal"
                };
                let mut hints = vec![enter.to_owned(), new.to_owned()];
                if info.running {
                    hints.push("x kill".to_owned());
                }
                if self.listed.len() > 1 {
                    hints.push("tab next terminal".to_owned());
                }
                hints.push("esc close".to_owned());
                hints.extend(help);
                hints
            }
        };
        let token = if self.entered {
            Token::Working
        } else {
            Token::Muted
        };
        let hints = frame::fitting(&hints, width.saturating_sub(4));
        frame::rule(&hints, token.into(), ("", Face::default()), width)
    }
}

impl Component<Command, Action> for Terminals {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let wanted = if self.listed.is_empty() && self.awaited.is_none() {
            5
        } else {
            area.height
        };
        let area = docked(area, WIDTH, wanted);
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        self.area = Rect {
            y: area.y.saturating_add(1),
            height: area.height.saturating_sub(2),
            ..area
        };
        let rows = self.rows(width, height, view.keymap);
        view.paint(&rows, area, buffer);
    }

    fn captures(&self) -> bool {
        self.entered
    }

    fn cursor(&self) -> Option<Position> {
        let (row, column) = self.screen.cursor.filter(|_| self.entered)?;
        let is_inside = row < self.area.height && column < self.area.width;
        is_inside.then(|| Position::new(self.area.x + column, self.area.y + row))
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        if !self.entered {
            match key.typed() {
                Some('x') => self.kill(cx),
                Some('n') => {
                    self.doomed = false;
                    self.start(String::new(), cx);
                }
                Some('q') => return self.on_command(Command::Cancel, cx),
                _ => self.doomed = false,
            }
            return Handled::Yes;
        }
        if LEAVE.iter().any(|leave| key == KeyPress::ctrl(*leave)) {
            self.entered = false;
        } else if let Some(text) = keys::sequence(key, self.screen.application_keys) {
            self.type_text(text, false, cx);
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, Action>) -> Handled {
        if self.entered {
            let text = text.replace("\r\n", "\r").replace('\n', "\r");
            // The text must not contain the sequence that ends the paste.
            let text = text.replace('\x1b', "");
            self.type_text(text, true, cx);
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Up | Command::PageUp => self.step(false, cx),
            Command::Down | Command::PageDown | Command::Complete => self.step(true, cx),
            Command::Accept => self.enter(cx),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                if !std::mem::take(&mut self.doomed) {
                    cx.push(Action::CloseLayer);
                }
            }
            _ => return Handled::No,
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        use Command::{First, Last, PageDown, PageUp};
        frame::is_of_most_lists(command) && !matches!(command, First | Last | PageDown | PageUp)
    }

    fn letters(&self) -> Vec<(String, String)> {
        frame::letters(&[
            ("n", "Start a shell in a new terminal"),
            ("x", "Kill the program; press twice"),
        ])
    }

    fn meaning(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::Accept => Some("Type in it, or start its program again"),
            Command::Up => Some("Previous terminal"),
            Command::Down => Some("Next terminal"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Outbox;
    use osier_term::input::KeyCode;
    use std::time::Instant;

    fn started(id: &str) -> TerminalInfo {
        TerminalInfo {
            id: id.to_owned(),
            running: true,
            ..TerminalInfo::default()
        }
    }

    #[test]
    fn a_terminal_that_the_user_starts_gets_the_keys_at_once() {
        let mut panel = Terminals::awaiting(1);
        panel.area = Rect::new(0, 1, 80, 21);
        panel.set(&[started("t1")]);
        assert!(!panel.captures(), "the terminal before it is not entered");
        let ops = panel.set(&[started("t1"), started("t2")]);
        let terminal = "t2".to_owned();
        let size = Op::ResizeTerminal {
            terminal: terminal.clone(),
            rows: 21,
            columns: 80,
        };
        assert_eq!(ops, [Op::ShowTerminal { terminal }, size]);
        assert!(panel.captures());
        // So does a newer size of the panel.
        panel.area.height = 30;
        let fitted = panel.fit_entered();
        assert!(matches!(fitted, Some(Op::ResizeTerminal { rows: 30, .. })));
        assert_eq!(panel.fit_entered(), None);
        // Another terminal, which the model starts, does not get the keys.
        panel.set(&[started("t1"), started("t2"), started("t3")]);
        assert_eq!(panel.selected.as_deref(), Some("t2"));
    }

    #[test]
    fn enter_restarts_a_program_that_ended_and_n_starts_a_shell() {
        let mut panel = Terminals::default();
        let ended = TerminalInfo {
            command: "top".to_owned(),
            running: false,
            ..started("t1")
        };
        panel.set(&[ended, started("t2"), started("t3")]);
        panel.select(Some("t1".to_owned()));
        let actions = |panel: &mut Terminals, act: &dyn Fn(&mut Terminals, &mut Cx<'_, Action>)| {
            let mut outbox = Outbox::default();
            act(panel, &mut outbox.cx(Instant::now()));
            (outbox.take(), panel.awaited.take())
        };
        let start = |command: &str| {
            let command = command.to_owned();
            (vec![Op::StartTerminal { command }.into()], Some(2))
        };
        let enter = actions(&mut panel, &|panel, cx| {
            let _ = panel.on_command(Command::Accept, cx);
        });
        assert_eq!(enter, start("top"));
        let shell = actions(&mut panel, &|panel, cx| {
            let _ = panel.on_key(KeyPress::plain(KeyCode::Char('n')), cx);
        });
        assert_eq!(shell, start(""));
        let hints = panel.hint_row(80, &Keymap::default()).text();
        let expected = "─ enter restart · n new terminal · tab next terminal · esc close ─";
        assert!(hints.starts_with(expected), "{hints}");
    }
}
