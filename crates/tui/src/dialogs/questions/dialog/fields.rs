//! A form: one line for each field, a switch for yes and no. The choices of the field with the focus are below it, each
//! once. An error is below its field.

use serde_json::Value;

use super::step::{Painted, Step};
use crate::actions::Command;
use crate::drawing::preview_pane::edit;
use osier_base::text;
use osier_protocol::form::{Field, FieldKind, Form, as_text, listed};
use osier_protocol::questions::Answer;
use osier_term::{Emphasis, Face, LineInput, Row, Span, Token, Wrap};

/// The form and its values.
#[derive(Debug)]
pub(super) struct Fields {
    form: Form,
    texts: Vec<LineInput>,
    faults: Vec<(usize, String)>,
    /// The field with the focus; after the last one are "Send" and "Decline".
    at: usize,
    /// The choice with the focus in a field that takes several.
    choice: usize,
}

const BUTTONS: [&str; 2] = ["Send", "Decline"];

impl Fields {
    pub(super) fn new(schema: &Value, draft: &[String]) -> Self {
        let form = Form::new(schema);
        let texts = form.fields.iter().enumerate().map(|(place, field)| {
            LineInput::new(draft.get(place).unwrap_or(&field.default).as_str())
        });
        Self {
            texts: texts.collect(),
            form,
            faults: Vec::new(),
            at: 0,
            choice: 0,
        }
    }

    /// The keys of the field with the focus.
    pub(super) fn hint(&self) -> &'static str {
        match self.form.fields.get(self.at).map(|field| &field.kind) {
            Some(FieldKind::Several { .. }) => "←→ choose · space select · tab next field",
            Some(FieldKind::Flag | FieldKind::Choice(_)) => "←→ change · tab next field",
            _ => "tab next field",
        }
    }

    pub(super) fn draft(&self) -> Vec<String> {
        self.texts
            .iter()
            .map(|text| text.text().to_owned())
            .collect()
    }

    pub(super) fn rows(&self, inner: usize) -> Painted {
        let mut painted = Painted::default();
        for (place, field) in self.form.fields.iter().enumerate() {
            if place == self.at {
                painted.focus = painted.rows.len();
            }
            self.field_rows(place, field, inner, &mut painted);
        }
        for (place, label) in BUTTONS.iter().enumerate() {
            let selected = self.at == self.form.fields.len() + place;
            if selected {
                painted.focus = painted.rows.len();
            }
            painted
                .rows
                .push(row(selected, &format!("[ {label} ]"), Token::Accent));
        }
        painted
    }

    fn field_rows(&self, place: usize, field: &Field, inner: usize, painted: &mut Painted) {
        let selected = place == self.at;
        let star = if field.required { "*" } else { "" };
        let title = text::single_line(&field.title);
        let label = format!("{title}{star}: ");
        let is_cut = text::width(&label) > inner / 2;
        let label = text::truncate(&label, inner / 2).into_owned();
        let mut line = row(selected, &label, Token::Text);
        let before = line.width();
        let room = inner.saturating_sub(before).max(1);
        let shown = self.shown(place, field);
        let shown = if is_text(field) {
            text::truncate_start(&shown, room)
        } else {
            text::truncate(&shown, room)
        };
        line.push(shown.into_owned(), Token::Code);
        if selected && is_text(field) {
            let column = self.texts[place]
                .cursor_column()
                .min(room.saturating_sub(1));
            painted.cursor = Some((before + column, painted.rows.len()));
        }
        painted.rows.push(line);
        let indent = [Span::new("    ", Token::Muted)];
        let wrap = Wrap::new(inner).prefixed(&indent);
        if selected && is_cut {
            wrap.text(&title, Token::Text, &mut painted.rows);
        }
        if selected && !field.description.is_empty() {
            let description = text::single_line(&field.description);
            wrap.text(&description, Token::Text, &mut painted.rows);
        }
        match &field.kind {
            FieldKind::Several { choices, .. } if selected => {
                self.choice_rows(place, choices, inner, &mut painted.rows);
            }
            FieldKind::Choice(choices) if selected => {
                self.option_rows(place, choices, inner, &mut painted.rows);
            }
            _ => {}
        }
        for (_, fault) in self.faults.iter().filter(|(at, _)| *at == place) {
            wrap.text(fault, Token::Error, &mut painted.rows);
        }
    }

    /// Every choice of a field that takes one, each in a row.
    fn option_rows(
        &self,
        place: usize,
        choices: &[(Value, String)],
        inner: usize,
        rows: &mut Vec<Row>,
    ) {
        let given = self.texts[place].text();
        rows.extend(choices.iter().map(|(value, label)| {
            let is_chosen = as_text(value) == given;
            let mark = if is_chosen { "(•)" } else { "( )" };
            let label = format!("    {mark} {}", text::single_line(label));
            let label = text::truncate(&label, inner).into_owned();
            let face = Face::from(if is_chosen { Token::Code } else { Token::Muted });
            Row::plain(label, face)
        }));
    }

    /// Every choice with its mark, as many in a row as there is room for.
    fn choice_rows(
        &self,
        place: usize,
        choices: &[(Value, String)],
        inner: usize,
        rows: &mut Vec<Row>,
    ) {
        let chosen = listed(self.texts[place].text());
        let mut line = Row::plain("   ", Token::Text);
        for (at, (value, label)) in choices.iter().enumerate() {
            let mark = if chosen.contains(value) { "[x]" } else { "[ ]" };
            let label = format!("{mark} {}", text::single_line(label));
            let label = text::truncate(&label, inner.saturating_sub(4)).into_owned();
            let is_full = line.width() + 1 + text::width(&label) > inner;
            if is_full && line.spans.len() > 1 {
                rows.push(std::mem::replace(&mut line, Row::plain("   ", Token::Text)));
            }
            let face = Face::from(Token::Code);
            let face = if at == self.choice {
                face.emphasised(Emphasis::REVERSE)
            } else {
                face
            };
            line.push(" ", Token::Text);
            line.push(label, face);
            line.push(" ", Token::Text);
        }
        rows.push(line);
    }

    fn shown(&self, place: usize, field: &Field) -> String {
        let given = self.texts[place].text();
        match &field.kind {
            FieldKind::Flag => if given == "true" { "[x] yes" } else { "[ ] no" }.to_owned(),
            FieldKind::Choice(choices) => {
                let chosen = choices.iter().find(|(value, _)| as_text(value) == given);
                let label = chosen.map_or("—", |(_, label)| label.as_str());
                format!("‹ {} ›", text::single_line(label))
            }
            FieldKind::Several { choices, .. } => {
                let chosen = listed(given);
                let labels = choices.iter().filter(|(value, _)| chosen.contains(value));
                let labels: Vec<String> =
                    labels.map(|(_, label)| text::single_line(label)).collect();
                match labels.as_slice() {
                    [] => "—".to_owned(),
                    labels => labels.join(", "),
                }
            }
            _ => given.to_owned(),
        }
    }

    pub(super) fn on_typed(&mut self, character: char) -> Step {
        let text = self.form.fields.get(self.at).is_some_and(is_text);
        if text {
            self.texts[self.at].insert(character.encode_utf8(&mut [0; 4]));
        } else if character == ' ' && !self.mark() {
            return self.on_command(Command::Right);
        }
        Step::Stay
    }

    pub(super) fn paste(&mut self, given: &str) {
        if self.form.fields.get(self.at).is_some_and(is_text) {
            self.texts[self.at].insert(given.trim_end());
        }
    }

    pub(super) fn on_command(&mut self, command: Command) -> Step {
        let last = self.form.fields.len() + BUTTONS.len() - 1;
        let before = self.at;
        let step = self.obey(command, last);
        if self.at != before {
            self.choice = 0;
        }
        step
    }

    fn obey(&mut self, command: Command, last: usize) -> Step {
        match command {
            Command::Up => self.at = self.at.checked_sub(1).unwrap_or(last),
            Command::Down => self.at = if self.at == last { 0 } else { self.at + 1 },
            Command::Accept => return self.accept(),
            command => match self.form.fields.get(self.at) {
                Some(field) if is_text(field) => {
                    let _ = edit(&mut self.texts[self.at], command);
                }
                Some(_) if matches!(command, Command::Left | Command::Right) => {
                    self.turn(command == Command::Right);
                }
                _ => {}
            },
        }
        Step::Stay
    }

    /// Marks the choice with the focus or takes its mark away; false when the field takes no marks.
    fn mark(&mut self) -> bool {
        let field = self.form.fields.get(self.at).map(|field| &field.kind);
        let Some(FieldKind::Several { choices, .. }) = field else {
            return false;
        };
        let mut marked = listed(self.texts[self.at].text());
        if let Some((value, _)) = choices.get(self.choice) {
            match marked.iter().position(|known| known == value) {
                Some(place) => drop(marked.remove(place)),
                None => marked.push(value.clone()),
            }
        }
        self.texts[self.at] = LineInput::new(Value::Array(marked).to_string().as_str());
        true
    }

    /// The next value of a switch or a choice, or the next choice of several.
    fn turn(&mut self, forward: bool) {
        let Some(field) = self.form.fields.get(self.at) else {
            return;
        };
        if let FieldKind::Several { choices, .. } = &field.kind {
            let count = choices.len().max(1);
            self.choice = (self.choice + if forward { 1 } else { count - 1 }) % count;
            return;
        }
        let values: Vec<String> = match &field.kind {
            FieldKind::Flag => vec!["false".to_owned(), "true".to_owned()],
            FieldKind::Choice(choices) => choices.iter().map(|(value, _)| as_text(value)).collect(),
            _ => return,
        };
        let count = values.len().max(1);
        let given = self.texts[self.at].text();
        let place = values.iter().position(|value| value == given);
        let next = match (place, forward) {
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(place), true) => (place + 1) % count,
            (Some(place), false) => (place + count - 1) % count,
        };
        if let Some(value) = values.get(next) {
            self.texts[self.at] = LineInput::new(value.as_str());
        }
    }

    fn accept(&mut self) -> Step {
        let fields = self.form.fields.len();
        if self.at < fields {
            self.at += 1;
            return Step::Stay;
        }
        if self.at > fields {
            return Step::Answer(Answer::Refuse { reason: None });
        }
        match self.form.values(&self.draft()) {
            Ok(values) => Step::Answer(Answer::Values { values }),
            Err(faults) => {
                self.at = faults.first().map_or(0, |(place, _)| *place);
                self.faults = faults;
                Step::Stay
            }
        }
    }
}

fn is_text(field: &Field) -> bool {
    matches!(
        field.kind,
        FieldKind::Text { .. } | FieldKind::Number { .. }
    )
}

fn row(selected: bool, label: &str, token: Token) -> Row {
    let mark = Span::new(if selected { "❯ " } else { "  " }, Token::Accent);
    let face = Face::from(token);
    let face = if selected {
        face.emphasised(Emphasis::BOLD)
    } else {
        face
    };
    Row::new(vec![mark, Span::new(label, face)])
}
