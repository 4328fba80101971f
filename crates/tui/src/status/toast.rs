//! The toast: a line that is shown for a moment.

use std::time::{Duration, Instant};

use crate::actions::{Toast, shell_commands::as_slash_commands};
use osier_base::text;
use osier_term::{Row, Span, Token, Wrap, sentence};

/// How long a toast stays.
pub(crate) const TOAST_TIME: Duration = Duration::from_secs(4);

/// How long a toast stays even if a key is pressed.
const READ_TIME: Duration = Duration::from_millis(1500);

/// The toast that was requested last.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToastLine {
    shown: Option<Shown>,
}

#[derive(Debug, Clone)]
struct Shown {
    toast: Toast,
    until: Instant,
    /// The toast names a key that has this effect only if it is pressed next.
    is_armed: bool,
}

impl ToastLine {
    pub(crate) fn show(&mut self, toast: &Toast, now: Instant) {
        self.shown = Some(Shown {
            toast: Toast {
                text: as_slash_commands(&toast.text),
                ..*toast
            },
            until: now + TOAST_TIME,
            is_armed: false,
        });
    }

    /// Shows what another press of the same key does.
    pub(crate) fn arm(&mut self, text: &str, now: Instant) {
        self.show(&Toast::info(text), now);
        if let Some(shown) = &mut self.shown {
            shown.is_armed = true;
        }
    }

    /// Another key was pressed, so that the toast is not true any more.
    pub(crate) fn disarm(&mut self) {
        self.shown.take_if(|shown| shown.is_armed);
    }

    /// The user continues: a notice that was long enough on the screen to be read disappears.
    pub(crate) fn dismiss(&mut self, now: Instant) {
        self.shown
            .take_if(|shown| now + TOAST_TIME >= shown.until + READ_TIME);
    }

    pub(crate) fn clear(&mut self) {
        self.shown = None;
    }

    pub(crate) fn expire(&mut self, now: Instant) {
        self.shown.take_if(|shown| shown.until <= now);
    }

    /// When the toast disappears. A toast that expires while a frame is drawn is in that frame, so another frame is
    /// needed.
    pub(super) fn end(&self) -> Option<Instant> {
        self.shown.as_ref().map(|shown| shown.until)
    }

    pub(crate) fn is_shown(&self, now: Instant) -> bool {
        self.at(now).is_some()
    }

    fn at(&self, now: Instant) -> Option<&Toast> {
        let shown = self.shown.as_ref().filter(|shown| shown.until > now);
        shown.map(|shown| &shown.toast)
    }

    /// The text of the toast on one line, and how it is shown.
    pub(super) fn line(&self, now: Instant) -> Option<(String, Token)> {
        let toast = self.at(now)?;
        let token = if toast.is_error {
            Token::Error
        } else {
            Token::Success
        };
        Some((text::single_line(&toast.text), token))
    }

    /// The toast on rows of its own.
    pub(crate) fn rows(&self, now: Instant, width: u16) -> Vec<Row> {
        let line = self.line(now);
        line.map_or_else(Vec::new, |(line, token)| {
            wrapped(&line, token, usize::from(width), "")
        })
    }
}

/// Rows of a text in the status line at most.
const MOST_ROWS: usize = 2;

/// The first rows of a text, behind the column of marks. If some are missing, the last one ends with `end`.
pub(super) fn wrapped(source: &str, token: Token, width: usize, end: &str) -> Vec<Row> {
    let indent = [Span::new("  ", token)];
    let mut rows = Vec::new();
    let wrap = Wrap::new(width).hanging(&indent, &indent);
    wrap.line(&sentence(source, token), &mut rows);
    if rows.len() > MOST_ROWS {
        rows.truncate(MOST_ROWS);
        let end = format!("…{end}");
        let room = width.saturating_sub(text::width(&end));
        if let Some(mut last) = rows.pop() {
            let kept = text::prefix_of_width(&last.text(), room)
                .trim_end()
                .to_owned();
            last = Row::plain(kept, token);
            last.spans.extend(sentence(&end, token));
            rows.push(last);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_removes_a_notice_that_could_be_read() {
        let mut toast = ToastLine::default();
        let now = Instant::now();
        toast.show(&Toast::info("done"), now);
        toast.dismiss(now + READ_TIME / 2);
        assert!(toast.is_shown(now + READ_TIME / 2));
        toast.dismiss(now + READ_TIME);
        assert!(!toast.is_shown(now + READ_TIME));
    }

    #[test]
    fn a_notice_names_a_slash_command() {
        let mut toast = ToastLine::default();
        let now = Instant::now();
        toast.show(
            &Toast::error("list the sessions with `osier sessions`"),
            now,
        );
        let rows: Vec<String> = toast.rows(now, 80).iter().map(Row::text).collect();
        assert_eq!(rows, ["  list the sessions with /resume"]);
    }

    #[test]
    fn a_line_about_the_same_key_goes_with_another_key() {
        let mut toast = ToastLine::default();
        let now = Instant::now();
        toast.arm("press ctrl+c again to quit", now);
        assert!(toast.is_shown(now));
        toast.disarm();
        assert!(!toast.is_shown(now));
        toast.show(&Toast::info("copied"), now);
        toast.disarm();
        assert!(toast.is_shown(now));
    }
}
