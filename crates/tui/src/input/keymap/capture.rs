//! Waits for the keys of a command and shows their present bindings, with file and line, before anything is
//! written.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::list::place;
use crate::actions::{Action, Command, Effect, NewBinding};
use crate::drawing::{frame::Panel, layout::docked_over};
use osier_term::input::{KeyCode, KeyModifiers};
use osier_term::keymap::describe_all;
use osier_term::{Component, Cx, Handled, KeyPress, Keymap, Row, Span, Token, View, Wrap};

pub(super) const ID: &str = "capture";

/// Most keys of a sequence.
const LONGEST: usize = 4;

/// Keys that tmux or zellij take by default.
const TAKEN: &str = "bghnopqst";

/// The keys pressed so far.
#[derive(Debug)]
pub(super) struct Capture {
    context: String,
    command: Command,
    keys: Vec<KeyPress>,
}

impl Capture {
    pub(super) fn new(context: String, command: Command) -> Self {
        Self {
            context,
            command,
            keys: Vec::new(),
        }
    }

    /// Conflicts and limits of these keys.
    fn remarks(&self, keymap: &Keymap<Command>) -> Vec<(String, Token)> {
        let mut remarks = Vec::new();
        if self.keys.is_empty() {
            return remarks;
        }
        let clashes = keymap.conflicts(&self.context, &self.keys);
        for clash in clashes.iter().filter(|clash| clash.action != self.command) {
            let what = clash.action.description();
            let text = format!(
                "{} is bound to \"{what}\" ({}); it will be replaced",
                clash.keys,
                place(clash)
            );
            remarks.push((text, Token::Warning));
        }
        let first = self.keys[0];
        let only = |modifier| first.modifiers == modifier;
        if let KeyCode::Char(char) = first.code
            && only(KeyModifiers::CONTROL)
            && TAKEN.contains(char)
        {
            remarks.push(("tmux or zellij may intercept it".to_owned(), Token::Muted));
        }
        if self.keys.iter().any(|key| needs_protocol(*key)) {
            let text = "requires a terminal with the Kitty keyboard protocol".to_owned();
            remarks.push((text, Token::Muted));
        }
        if remarks.is_empty() {
            remarks.push(("not bound".to_owned(), Token::Success));
        }
        remarks
    }
}

/// Whether common terminals send the key as another one.
fn needs_protocol(key: KeyPress) -> bool {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Char(char) if ctrl => {
            shift || !(char.is_ascii_lowercase() || " \\]^_".contains(char)) || "im".contains(char)
        }
        KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace | KeyCode::Esc => ctrl || shift,
        _ => false,
    }
}

impl Component<Command, Action> for Capture {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let inner = usize::from(docked_over(area, 80, 1).width.saturating_sub(2));
        let mut remarks = Vec::new();
        for (text, token) in self.remarks(view.keymap) {
            let indent = [Span::new(" ", token)];
            Wrap::new(inner)
                .prefixed(&indent)
                .sentences(&text, token, &mut remarks);
        }
        let height = u16::try_from(remarks.len() + 3).unwrap_or(u16::MAX);
        let area = docked_over(area, 80, height);
        let keys = if self.keys.is_empty() {
            Row::plain(" press the new keys", Token::Placeholder)
        } else {
            Row::plain(format!(" {}", describe_all(&self.keys)), Token::Accent)
        };
        remarks.insert(0, keys);
        let mut help = vec!["esc cancel"];
        if !self.keys.is_empty() {
            help.splice(0..0, ["enter save", "backspace remove a key"]);
        }
        let panel = Panel {
            title: self.command.description(),
            remark: &self.context,
            rows: remarks,
            keys: help.into_iter().map(str::to_owned).collect(),
            token: Token::Muted,
        };
        panel.draw(area, buffer, view);
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        match key.code {
            KeyCode::Esc => cx.push(Action::CloseLayer),
            // Pressed first, enter and backspace are themselves the new binding.
            KeyCode::Enter if key.modifiers.is_empty() && !self.keys.is_empty() => {
                cx.push(Action::CloseLayer);
                cx.push(Effect::Bind(NewBinding {
                    context: self.context.clone(),
                    keys: self.keys.clone(),
                    action: self.command.to_string(),
                }));
            }
            KeyCode::Backspace if key.modifiers.is_empty() && !self.keys.is_empty() => {
                self.keys.pop();
            }
            _ if self.keys.len() < LONGEST => self.keys.push(key),
            _ => {}
        }
        Handled::Yes
    }

    fn captures(&self) -> bool {
        true
    }

    fn context(&self) -> &'static str {
        "list"
    }
}
