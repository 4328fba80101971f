//! The frame of every box over the conversation: its name and a remark in the line above, its keys in the line below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::Command;
use osier_base::text;
use osier_term::{Face, Keymap, Row, Span, Token, View};

/// A box: its title with a remark, its rows, and its keys.
#[derive(Debug)]
pub(crate) struct Panel<'a> {
    pub(crate) title: &'a str,
    pub(crate) remark: &'a str,
    pub(crate) rows: Vec<Row>,
    pub(crate) keys: Vec<String>,
    /// How the keys are shown.
    pub(crate) token: Token,
}

impl Panel<'_> {
    /// Draws the box; rows without contents stay empty.
    pub(crate) fn draw(mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let width = usize::from(area.width);
        let (inner, height) = (width.saturating_sub(2), usize::from(area.height));
        let mut rows = vec![top(self.title, self.remark, width)];
        let missing = height.saturating_sub(self.rows.len() + 2);
        self.rows
            .extend(std::iter::repeat_n(Row::default(), missing));
        rows.extend(self.rows.into_iter().map(|row| boxed(row, inner)));
        rows.push(bottom(&self.keys, self.token, width));
        view.paint(&rows, area, buffer);
    }
}

/// `╭─ Title ──── remark ─╮`. The title is cut before the remark goes.
pub(crate) fn top(title: &str, remark: &str, width: usize) -> Row {
    let remark = match remark {
        "" => String::new(),
        remark => format!(" {remark} "),
    };
    let least = text::width(title).min(width / 2);
    let remark = text::truncate(&remark, width.saturating_sub(least + 7)).into_owned();
    let room = width.saturating_sub(text::width(&remark) + 7);
    let mut row = Row::plain("╭─ ", Token::Border);
    row.push(
        text::truncate(title, room).into_owned(),
        Face::bold(Token::Title),
    );
    row.push(" ", Token::Border);
    let line = width.saturating_sub(row.width() + text::width(&remark) + 2);
    row.push("─".repeat(line), Token::Border);
    row.push(remark, Token::Muted);
    row.push("─╮", Token::Border);
    row
}

/// `╰─ enter opens · esc closes ───╯`, with as many hints as fit, in the order of their importance.
pub(crate) fn bottom(hints: &[String], token: Token, width: usize) -> Row {
    let inner = width.saturating_sub(2);
    let shown = fitting(hints, inner.saturating_sub(3));
    if shown.is_empty() {
        return Row::plain(format!("╰{}╯", "─".repeat(inner)), Token::Border);
    }
    let line = inner.saturating_sub(text::width(&shown) + 3);
    let mut row = Row::plain("╰─", Token::Border);
    row.push(format!(" {shown} "), token);
    row.push(format!("{}╯", "─".repeat(line)), Token::Border);
    row
}

/// `─ text ──────── remark ─`, as wide as the screen.
pub(crate) fn rule(text: &str, face: Face, remark: (&str, Face), width: usize) -> Row {
    let padded = |text: &str| match text {
        "" => String::new(),
        text => format!(" {text} "),
    };
    let remark_text = text::truncate(&padded(remark.0), width.saturating_sub(2)).into_owned();
    let room = width.saturating_sub(text::width(&remark_text) + 2);
    let text = text::truncate(&padded(text), room).into_owned();
    let line = width.saturating_sub(text::width(&text) + text::width(&remark_text) + 2);
    let mut row = Row::plain("─", Token::Border);
    row.push(text, face);
    row.push("─".repeat(line), Token::Border);
    row.push(remark_text, remark.1);
    row.push("─", Token::Border);
    row
}

/// The separator between two hints.
const GAP: &str = " · ";

/// The end of every line of hints: the key that shows all keys of the view.
const ALL_KEYS: &str = " keys";

/// The hints that fit, none of them cut. The hints that leave the view and show all keys have
/// priority.
pub(crate) fn fitting(hints: &[String], width: usize) -> String {
    let is_kept = |hint: &&String| {
        hint.starts_with("esc ") || hint.ends_with(" back") || hint.ends_with(ALL_KEYS)
    };
    let mut line = String::new();
    for (place, hint) in hints.iter().enumerate() {
        let gap = if line.is_empty() { "" } else { GAP };
        let kept = hints[place + 1..].iter().filter(is_kept);
        let reserved: usize = kept.map(|hint| text::width(hint) + text::width(GAP)).sum();
        if text::width(&line) + text::width(gap) + text::width(hint) + reserved > width {
            continue;
        }
        line.push_str(gap);
        line.push_str(hint);
    }
    line
}

/// The hints of a footer: those of `words`, and the one that shows all keys of the view.
pub(crate) fn hints(
    keymap: &Keymap<Command>,
    context: &str,
    words: &[(Command, &str)],
) -> Vec<String> {
    let mut hints = key_hints(keymap, context, words);
    hints.extend(help_hint(keymap, context));
    hints
}

/// The hints of a box, on two lines if one line has no room for all of them: the text of the upper
/// line, and the hints of the lower one.
pub(crate) fn in_two(hints: &[String], width: usize) -> (String, &[String]) {
    let fits = |count: &usize| text::width(&hints[..*count].join(GAP)) <= width;
    match (0..=hints.len()).rev().find(fits) {
        Some(upper) if upper < hints.len() => (hints[..upper].join(GAP), &hints[upper..]),
        _ => (String::new(), hints),
    }
}

/// A hint for each command that has a key in `context`: its key and a verb.
pub(crate) fn key_hints(
    keymap: &Keymap<Command>,
    context: &str,
    words: &[(Command, &str)],
) -> Vec<String> {
    let hint = |(command, word): &(Command, &str)| {
        let key = shown_key(keymap, context, *command)?;
        Some(format!("{key} {word}"))
    };
    words.iter().filter_map(hint).collect()
}

/// The letters of a view, for its page of keys.
pub(crate) fn letters(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(key, meaning): &(&str, &str)| ((*key).to_owned(), (*meaning).to_owned());
    rows.iter().map(owned).collect()
}

/// Whether most lists use the command: some commands of their context are for few lists.
pub(crate) fn is_of_most_lists(command: Command) -> bool {
    !matches!(
        command,
        Command::Remove
            | Command::Favourite
            | Command::ShowAll
            | Command::ListOrder
            | Command::SaveDefault
    )
}

/// How to see all keys of the view.
pub(crate) fn help_hint(keymap: &Keymap<Command>, context: &str) -> Option<String> {
    let mut contexts = [context, "global"].into_iter();
    let key = contexts.find_map(|context| shown_key(keymap, context, Command::Help))?;
    Some(format!("{key}{ALL_KEYS}"))
}

/// The line of keys below a view that fills the screen: the shortest key of each command.
pub(crate) fn view_keys(
    keymap: &Keymap<Command>,
    context: &str,
    words: &[(Command, &str)],
    width: usize,
) -> String {
    fitting(&shortest_hints(keymap, context, words), width)
}

/// The line of keys below a view, on two lines.
pub(crate) fn view_keys_in_two(
    keymap: &Keymap<Command>,
    context: &str,
    words: &[(Command, &str)],
    width: usize,
) -> [String; 2] {
    let hints = shortest_hints(keymap, context, words);
    let fits = |count: &usize| text::width(&hints[..*count].join(GAP)) <= width;
    let first = (0..=hints.len()).rev().find(fits).unwrap_or_default();
    [hints[..first].join(GAP), fitting(&hints[first..], width)]
}

fn shortest_hints(
    keymap: &Keymap<Command>,
    context: &str,
    words: &[(Command, &str)],
) -> Vec<String> {
    // Keys with the same word are one hint.
    let groups = words.chunk_by(|(_, word), (_, next)| word == next);
    let hint = |group: &[(Command, &str)]| {
        let keys = group
            .iter()
            .filter_map(|(command, _)| shown_key(keymap, context, *command));
        let keys = keys.collect::<Vec<_>>().join("/");
        let (_, word) = group.first().filter(|_| !keys.is_empty())?;
        Some(format!("{keys} {word}"))
    };
    let mut hints: Vec<String> = groups.filter_map(hint).collect();
    hints.extend(help_hint(keymap, context));
    hints
}

/// The key that the screen names for a command of a view, in its line of keys and in help: the shortest.
pub(crate) fn shown_key(
    keymap: &Keymap<Command>,
    context: &str,
    command: Command,
) -> Option<String> {
    let keys = keymap.keys_for(context, command).into_iter();
    keys.min_by_key(String::len)
}

/// A row between two sides, cut or filled to `inner` columns.
pub(crate) fn boxed(mut row: Row, inner: usize) -> Row {
    let mut left = inner;
    for span in &mut row.spans {
        let kept = text::prefix_of_width(&span.text, left);
        left -= text::width(kept);
        if kept.len() < span.text.len() {
            span.text = kept.into();
        }
    }
    let fill = row.fill.take().unwrap_or_default();
    row.push(" ".repeat(left), fill);
    row.spans.insert(0, Span::new("│", Token::Border));
    row.push("│", Token::Border);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_without_room_on_one_line_have_two() {
        let hints = ["enter open", "ctrl+d delete it now", "esc close"].map(str::to_owned);
        assert_eq!(in_two(&hints, 46), (String::new(), &hints[..]));
        let upper = "enter open · ctrl+d delete it now".to_owned();
        assert_eq!(in_two(&hints, 44), (upper, &hints[2..]));
    }

    #[test]
    fn hints_are_left_out_whole_and_a_title_makes_room() {
        let hints = ["enter open", "ctrl+d delete it now", "esc close"].map(str::to_owned);
        let shown = |width| bottom(&hints, Token::Muted, width).text();
        assert_eq!(
            shown(56),
            "╰─ enter open · ctrl+d delete it now · esc close ──────╯"
        );
        assert_eq!(shown(34), "╰─ enter open · esc close ───────╯");
        assert_eq!(shown(20), "╰─ esc close ──────╯");
        assert_eq!(shown(10), "╰────────╯");
        assert_eq!(top("Models", "1/9", 24).text(), "╭─ Models ─────── 1/9 ─╮");
        assert_eq!(
            top("A long name of a list", "1/9", 24).text(),
            "╭─ A long name… ─ 1/9 ─╮"
        );
    }
}
