//! Draws the dialog in the place of the editor: a rule with the question, what it is about, the answers, and a rule with
//! the keys. There is no frame, and the conversation above keeps its colours.

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::step::Painted;
use super::{Body, Dialog, Setting};
use crate::actions::Command;
use crate::conversation::transcript::proposal::{plan_rows, subject_rows};
use crate::dialogs::accounts::login::address;
use crate::drawing::fit::{first_row, truncate};
use crate::drawing::frame;
use osier_base::visible::one_line;
use osier_base::{path, text};
use osier_protocol::questions::QuestionKind;
use osier_term::{Face, Row, Span, Token, View, Wrap};

/// Fewest rows of a long subject: with one of them for the count, the rest can be read by scrolling.
const LEAST_ROWS: usize = 3;
/// Rows a title may take.
const TITLE_ROWS: usize = 3;
/// Rows that the dialog always gets if the screen has them.
const ALWAYS: u16 = 8;
/// Rows of the conversation above a dialog that shows its subject: few, because the user must read
/// the subject.
const LEFT: u16 = 3;

/// The rows of the dialog, and where its parts are.
struct Layout {
    rows: Vec<Row>,
    body: Painted,
    /// The index of the body's first row in `rows`, the first visible row of the body, and the
    /// number of visible rows.
    body_at: usize,
    first: usize,
    shown: usize,
}

impl Dialog {
    pub(in crate::dialogs::questions) fn set_setting(&mut self, setting: Setting) {
        self.setting = setting;
    }

    pub(in crate::dialogs::questions) fn set_cut(&mut self, cut: (usize, usize)) {
        self.setting.cut = cut;
    }

    /// The rows that the dialog needs above the footer.
    pub(in crate::dialogs::questions) fn height(&mut self, screen: Rect) -> u16 {
        let layout = self.lay_out(screen, false);
        // The rule with the keys.
        u16::try_from(layout.rows.len() + 1).unwrap_or(u16::MAX)
    }

    pub(super) fn draw(&mut self, screen: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let linear = view.settings.screen_reader;
        let Layout {
            mut rows,
            body,
            body_at,
            first,
            shown,
        } = self.lay_out(screen, linear);
        let width = usize::from(screen.width);
        rows.push(self.bottom_row(width, view));
        // Commands, paths and patterns are read in the order in which programs read them.
        let is_permission = matches!(
            &self.question.kind,
            QuestionKind::Permission { .. } | QuestionKind::Confirm
        );
        if is_permission {
            for row in &mut rows {
                row.is_logical = true;
            }
        }
        let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
        let height = height.min(screen.height.saturating_sub(1)).max(1);
        self.area = Rect {
            y: screen.bottom().saturating_sub(height + 1).max(screen.y),
            height,
            ..screen
        };
        view.paint(&rows, self.area, buffer);
        let area = self.area;
        let row_of = |row: usize| {
            let row = row.checked_sub(first).filter(|row| *row < shown)?;
            Some(area.y + u16::try_from(body_at + row).unwrap_or(0))
        };
        self.cursor = body.cursor.and_then(|(column, row)| {
            Some(Position {
                x: area.x + u16::try_from(column).unwrap_or(0),
                y: row_of(row)?,
            })
        });
        let hits = body.hits.iter().filter_map(|hit| {
            let columns = u16::try_from(hit.columns.len()).unwrap_or(u16::MAX);
            let area = Rect {
                x: area.x + u16::try_from(hit.columns.start).unwrap_or(0),
                y: row_of(hit.row)?,
                width: columns.min(area.width),
                height: 1,
            };
            Some((area, hit.choice))
        });
        self.hits = hits.collect();
    }

    fn lay_out(&mut self, screen: Rect, linear: bool) -> Layout {
        let width = usize::from(screen.width).max(4);
        let inner = width - 2;
        let mut rows = self.title_rows(width);
        let subject = if self.setting.has_call && !linear {
            0
        } else {
            self.lay_out_subject(inner)
        };
        let above_footer = screen.height.saturating_sub(1);
        let most = match subject {
            0 => screen.height * 7 / 10,
            _ => above_footer.saturating_sub(LEFT),
        };
        let most = usize::from(most.max(ALWAYS.min(above_footer)));
        let mut body = match &mut self.body {
            Body::Choose(choose) => choose.rows(width, linear),
            Body::Write(write) => write.rows(width, most.saturating_sub(rows.len() + 1)),
            Body::Fields(fields) => fields.rows(width),
        };
        // A subject that would not fit takes rows of the conversation, except the last one.
        let needed = 1 + rows.len() + subject + body.rows.len();
        let all = usize::from(above_footer.saturating_sub(1));
        let most = if subject > 0 && needed <= all {
            most.max(needed)
        } else {
            most
        };
        // The title and the keys are always shown; then the body, at least its part with the focus; then the subject;
        // then an empty row between them.
        let room = most.saturating_sub(1 + rows.len());
        let least = (room / 4).max(LEAST_ROWS.min(room.saturating_sub(1)));
        let wanted = subject.min(room.saturating_sub(body.rows.len()).max(least));
        let (first, shown) = body.window(room - wanted);
        self.page = wanted.max(1);
        self.scroll(0);
        let air = usize::from(wanted > 0 && room > wanted + shown);
        if let (Some((_, laid_out)), 1..) = (&self.subject, wanted) {
            let below: Vec<Row> = laid_out.iter().skip(self.top).cloned().collect();
            let below = match wanted {
                1 => first_row(below, inner),
                shown => truncate(below, shown),
            };
            rows.extend(below.into_iter().map(indented));
        }
        rows.extend(std::iter::repeat_n(Row::default(), air));
        let body_at = rows.len();
        rows.extend(body.rows.drain(first..first + shown));
        Layout {
            rows,
            body,
            body_at,
            first,
            shown,
        }
    }

    /// The rule with the question and who asks; a long question is below the rule.
    fn title_rows(&self, width: usize) -> Vec<Row> {
        let title = one_line(&self.question.title, usize::MAX);
        let mut remark = match &self.question.kind {
            QuestionKind::Permission { tool, .. } => one_line(tool, width / 3),
            QuestionKind::Plan { .. } => String::new(),
            _ => text::unticked(&one_line(&self.question.origin, width / 3)),
        };
        if let Some(subagent) = &self.question.subagent {
            let gap = if remark.is_empty() { "" } else { " · " };
            remark = format!("{subagent}{gap}{remark}");
        }
        if self.setting.waiting > 1 {
            let gap = if remark.is_empty() { "" } else { " · " };
            remark = format!("{remark}{gap}1 of {}", self.setting.waiting);
        }
        let face = Face::bold(Token::Warning);
        if text::width(&title) + text::width(&remark) + 9 <= width {
            return vec![frame::rule(
                &title,
                face,
                (&remark, Token::Muted.into()),
                width,
            )];
        }
        let mut rows = vec![frame::rule("", face, (&remark, Token::Muted.into()), width)];
        let mut words = Vec::new();
        Wrap::new(width - 2).text(&title, face, &mut words);
        let words = truncate(words, TITLE_ROWS);
        rows.extend(words.into_iter().map(indented));
        rows
    }

    /// Lays the subject out once for a width.
    fn lay_out_subject(&mut self, inner: usize) -> usize {
        if self
            .subject
            .as_ref()
            .is_none_or(|(width, _)| *width != inner)
        {
            let mut rows = match &self.edited {
                Some(plan) => plan_rows(plan, inner),
                None => subject_rows(&self.question, inner, &self.syntax),
            };
            if let QuestionKind::Plan {
                path: Some(path), ..
            } = &self.question.kind
            {
                let state = if self.edited.is_some() {
                    "edited, not saved yet in"
                } else {
                    "saved in"
                };
                let path = one_line(&path::below_home(Path::new(path)), usize::MAX);
                rows.push(Row::default());
                Wrap::new(inner).text(&format!("{state} {path}"), Token::Muted, &mut rows);
            }
            if let QuestionKind::Visit { url } = &self.question.kind {
                rows.extend(address(&one_line(url, usize::MAX), inner.saturating_sub(2)));
            }
            self.subject = Some((inner, rows));
        }
        self.subject.as_ref().map_or(0, |(_, rows)| rows.len())
    }

    /// The rule with the keys, and how many rows of the call are not on the screen.
    fn bottom_row(&self, width: usize, view: &View<'_, Command>) -> Row {
        let (above, below) = self.setting.cut;
        let (remark, face) = match (above, below) {
            (0, 0) => (self.setting.status.clone(), Face::from(Token::Muted)),
            (0, below) => (format!("↓ {}", more(below)), Face::from(Token::Warning)),
            (above, 0) => (format!("↑ {}", more(above)), Face::from(Token::Warning)),
            (above, below) => {
                let both = format!("↑ {above} ↓ {}", more(below));
                (both, Face::from(Token::Warning))
            }
        };
        let around = if remark.is_empty() { 4 } else { 9 };
        let room = width.saturating_sub(text::width(&remark) + around);
        let hints = frame::fitting(&self.hints(width, view), room);
        frame::rule(&hints, Token::Muted.into(), (&remark, face), width)
    }

    fn hints(&self, width: usize, view: &View<'_, Command>) -> Vec<String> {
        let key = |command: Command| {
            let keys = view.keymap.keys_for("question", command);
            keys.into_iter().next()
        };
        let mut parts = vec![
            match &self.body {
                Body::Choose(_) => "enter select",
                Body::Write(write) => write.hint(),
                Body::Fields(fields) => fields.hint(),
            }
            .to_owned(),
        ];
        parts.retain(|part| !part.is_empty());
        let dismiss = match &self.question.kind {
            QuestionKind::Permission { .. } => "deny",
            _ => "skip",
        };
        let is_detour = matches!(&self.body, Body::Write(write) if write.is_detour());
        let named = [
            (Command::Cancel, if is_detour { "back" } else { "later" }),
            (Command::Dismiss, dismiss),
        ];
        let named = named
            .into_iter()
            .filter_map(|(command, word)| Some(format!("{} {word}", key(command)?)));
        parts.extend(named);
        if let Body::Choose(choose) = &self.body {
            parts.extend(choose.pattern_hint(width, view.settings.screen_reader));
        }
        if matches!(&self.body, Body::Write(write) if write.has_lines()) {
            parts.extend(frame::key_hints(
                view.keymap,
                "editor",
                &[(Command::ExternalEditor, "editor")],
            ));
        }
        // If rows are hidden, the key that shows them comes first.
        let place = if self.is_cut() || self.setting.cut != (0, 0) {
            parts.len().min(1)
        } else {
            parts.len()
        };
        let scroll = key(Command::PageUp).map(|key| format!("{key} scroll"));
        parts.splice(place..place, scroll);
        parts.extend(frame::help_hint(view.keymap, "question"));
        parts
    }
}

fn more(count: usize) -> String {
    text::counted(count, "more row", "more rows")
}

fn indented(mut row: Row) -> Row {
    row.spans.insert(0, Span::new("  ", Token::Text));
    row
}
