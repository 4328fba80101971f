//! The last line: where, which model, how full, what it cost.

use crate::base::text;
use crate::coding::host::{LineState, ModelInfo};
use crate::coding::permission::Mode;
use crate::coding::roles::Role;
use crate::llm::{ThinkingLevel, Usage};
use crate::term::face::Token;
use crate::term::row::{Row, Span};

/// Columns that plug-ins have.
const PLUGIN_COLUMNS: usize = 30;

/// What the footer knows. Owned by the app, changed by events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Footer {
    /// Working directory with `~` for the home.
    pub cwd: String,
    pub branch: Option<String>,
    pub session_name: Option<String>,
    /// The session is only looked at.
    pub read_only: bool,
    pub model: Option<ModelInfo>,
    /// What is shown until the host has said which model it is.
    pub model_hint: String,
    pub level: ThinkingLevel,
    /// The role that is on while the level is this one.
    pub role: Option<(Role, ThinkingLevel)>,
    pub permissions: Mode,
    /// Sum over the session.
    pub total: Usage,
    /// Tokens of the newest answer: how full the window is.
    pub context_tokens: u64,
    /// Background jobs that run.
    pub jobs: usize,
    /// Words of plug-ins.
    pub plugins: String,
    /// The open sessions, when there are several: which is shown, and how the others stand.
    pub sessions: Vec<Span>,
    /// The line to an agent elsewhere.
    pub line: Option<(LineState, String)>,
}

impl Footer {
    /// One row, never wider than `width`. What matters most stays longest: the model, then how full
    /// the context is, then the place.
    pub fn row(&self, width: u16) -> Row {
        let right = self.right();
        let columns =
            |spans: &[Span]| -> usize { spans.iter().map(|span| text::width(&span.text)).sum() };
        let width = usize::from(width);
        let right_width = columns(&right);
        let mut row = Row::new(self.sessions.clone());
        let room = width.saturating_sub(right_width + columns(&self.sessions) + 2);
        let left = self.left(room);
        row.push(left, Token::Footer);
        let gap = width.saturating_sub(row.width() + right_width);
        row.push(" ".repeat(gap), Token::Footer);
        row.spans.extend(right);
        row
    }

    fn left(&self, room: usize) -> String {
        let mut parts = self.cwd.clone();
        if let Some(branch) = &self.branch {
            parts = format!("{parts} ({branch})");
        }
        if let Some(name) = &self.session_name {
            parts = format!("{parts} · {name}");
        }
        if room < 8 {
            String::new()
        } else {
            text::truncate_start(&parts, room).into_owned()
        }
    }

    fn right(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        if let Some((state, place)) = &self.line {
            let place = text::truncate(place, PLUGIN_COLUMNS);
            let (text, token) = match state {
                LineState::Connected => (format!("on {place}  "), Token::Footer),
                LineState::Connecting => (format!("connecting to {place}  "), Token::Working),
                LineState::Lost => (format!("no line: {place}  "), Token::Warning),
            };
            spans.push(Span::new(text, token));
        }
        if !self.plugins.is_empty() {
            let text = text::truncate(&self.plugins, PLUGIN_COLUMNS);
            spans.push(Span::new(format!("{text}  "), Token::Footer));
        }
        if self.jobs > 0 {
            let jobs = if self.jobs == 1 { "job" } else { "jobs" };
            spans.push(Span::new(format!("{} {jobs}  ", self.jobs), Token::Working));
        }
        if self.read_only {
            spans.push(Span::new("read only  ", Token::Warning));
        }
        // The default goes without saying.
        if self.permissions != Mode::Yolo {
            let text = format!("{}  ", self.permissions.name());
            spans.push(Span::new(text, Token::Warning));
        }
        if self.total.total_tokens() > 0 {
            let usage = self.total;
            let mut counts = format!(
                "↑{} ↓{}",
                tokens(usage.input + usage.cache_write),
                tokens(usage.output)
            );
            if usage.cache_read > 0 {
                counts = format!("{counts} ↺{}", tokens(usage.cache_read));
            }
            if usage.cost.total > 0.0 {
                counts = format!("{counts} ${:.3}", usage.cost.total);
            }
            if usage.subscription {
                counts.push_str(" sub");
            }
            spans.push(Span::new(format!("{counts}  "), Token::Footer));
        }
        if let Some(model) = &self.model {
            if self.context_tokens > 0 && model.context_window > 0 {
                let percent = self.context_tokens * 100 / model.context_window;
                let token = match percent {
                    0..70 => Token::Footer,
                    70..90 => Token::Warning,
                    _ => Token::Error,
                };
                let text = format!("{percent}% of {}  ", tokens(model.context_window));
                spans.push(Span::new(text, token));
            }
            if let Some((role, _)) = self.role.filter(|(_, level)| *level == self.level) {
                let text = format!("{} ", role.name());
                spans.push(Span::new(text, Token::Footer));
            }
            spans.push(Span::new(model.reference(), Token::FooterAccent));
            if self.level != ThinkingLevel::Off {
                spans.push(Span::new(
                    format!(" {}", self.level.name()),
                    Token::FooterAccent,
                ));
            }
        } else {
            spans.push(Span::new(self.model_hint.as_str(), Token::FooterAccent));
        }
        spans
    }
}

/// `999`, `1.2k`, `12k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        for (count, shown) in [
            (999, "999"),
            (1_250, "1.2k"),
            (12_500, "12k"),
            (200_000, "200k"),
            (1_250_000, "1.2M"),
        ] {
            assert_eq!(tokens(count), shown);
        }
    }

    #[test]
    fn a_line_that_is_away_is_said() {
        let mut footer = Footer {
            model_hint: "m/m".into(),
            line: Some((LineState::Connected, "box".into())),
            ..Footer::default()
        };
        assert_eq!(footer.row(20).text(), "         on box  m/m");
        footer.line = Some((LineState::Lost, "it is silent".into()));
        assert_eq!(footer.row(28).text(), "  no line: it is silent  m/m");
    }

    #[test]
    fn a_narrow_footer_keeps_the_model() {
        let footer = Footer {
            cwd: "~/very/long/path".into(),
            model_hint: "mock/mock".into(),
            ..Footer::default()
        };
        assert_eq!(footer.row(12).text(), "   mock/mock");
        assert_eq!(footer.row(30).text(), "~/very/long/path     mock/mock");
    }
}
