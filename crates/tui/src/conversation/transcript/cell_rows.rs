//! The rows of prompts, thinking and notices.

use std::borrow::Cow;

use super::cell_style::{CellStyle, picture_rows, plain};
use osier_agent::{AttachmentKind, Notice, Severity, UserMessage};
use osier_base::text;
use osier_term::images::dimensions;
use osier_term::keymap::describe;
use osier_term::{Emphasis, Face, Row, Span, Token, Wrap, sentence};

/// Lines of a long prompt that are shown.
pub(super) const PROMPT_LINES: usize = 20;
/// Rows that a picture of a prompt may take.
const PROMPT_ROWS: u16 = 16;

/// The text of a prompt as far as it is shown, and how many lines are not.
pub(super) fn shown_prompt(text: &str, expanded: bool) -> (&str, usize) {
    let lines = text.lines().count();
    if expanded || lines <= PROMPT_LINES + PROMPT_LINES / 2 {
        return (text, 0);
    }
    let end = text.match_indices('\n').nth(PROMPT_LINES - 1);
    let end = end.map_or(text.len(), |(newline, _)| newline);
    (&text[..end], lines - PROMPT_LINES)
}

/// The user's message, literally, behind a bar. A long paste shows only its start until the message is expanded.
pub(super) fn user_rows(
    message: &UserMessage,
    width: u16,
    expanded: bool,
    style: CellStyle,
) -> Vec<Row> {
    let (first, bar) = if style.linear {
        ("You: ", "  ")
    } else {
        ("▌ ", "▌ ")
    };
    let first = [Span::new(first, Token::UserMarker)];
    let bar = [Span::new(bar, Token::UserMarker)];
    let fill = Face::from(Token::User);
    // A prompt that is only a file has no empty row above the file.
    let has_text = style.linear || !message.text.is_empty() || message.attachments.is_empty();
    let mut rows = if has_text {
        let (shown, hidden) = shown_prompt(&message.text, expanded);
        let mut rows = plain(shown, Token::User, width, &first, &bar);
        if hidden > 0 {
            let mut more = format!("… {} below", text::counted(hidden, "line", "lines"));
            if let Some(key) = style.expand_key {
                more.extend([" · ", &describe(key), " to show"]);
            }
            rows.extend(plain(&more, Token::Muted, width, &bar, &bar));
        }
        rows
    } else {
        Vec::new()
    };
    let mut images = 0;
    for attachment in &message.attachments {
        let pixels = (attachment.kind == AttachmentKind::Image)
            .then(|| dimensions(&attachment.content))
            .flatten();
        let mark = if style.linear { "Attached:" } else { "▣" };
        let (name, kind) = (&attachment.file_name, &attachment.mime_type);
        let label = if let Some((width, height)) = pixels {
            images += 1;
            format!("[image {images}: {name}, {width}x{height}]")
        } else {
            format!("{mark} {name} ({kind}, {} bytes)", attachment.size)
        };
        rows.extend(plain(&label, Token::Muted, width, &bar, &bar));
        if let Some(cell) = style
            .cell
            .filter(|_| attachment.kind == AttachmentKind::Image)
        {
            rows.extend(picture_rows(
                &attachment.content,
                cell,
                width,
                PROMPT_ROWS,
                &bar,
            ));
        }
    }
    for row in &mut rows {
        row.fill = Some(fill);
    }
    rows
}

/// The text of a prompt; for a prompt without text, the name of its first file.
pub(super) fn named(message: &UserMessage) -> Cow<'_, str> {
    match message.attachments.first() {
        Some(file) if message.text.trim().is_empty() => Cow::Owned(format!("▣ {}", file.file_name)),
        _ => Cow::Borrowed(&message.text),
    }
}

/// The first line of a prompt, as the sticky row above the answer.
pub(super) fn sticky_row(text: &str, width: u16) -> Row {
    let line = text::single_line(text::head_bytes(text.trim_start(), 4 * usize::from(width)));
    let room = usize::from(width).saturating_sub(2);
    // The line separates the prompt from the rows that have scrolled below it.
    let user = Face::from(Token::User).emphasised(Emphasis::UNDERLINE);
    let mut row = Row::new(vec![
        Span::new("▌", Token::UserMarker),
        Span::new(" ", user),
        Span::new(&*text::truncate(&line, room), user),
    ]);
    row.decoration = 2;
    row.fill = Some(user);
    row
}

/// Thinking is dimmed: plain text takes its colour, other text keeps its own.
pub(super) fn as_thinking(row: &Row) -> Row {
    let mut row = row.clone();
    for span in row
        .spans
        .iter_mut()
        .filter(|span| span.face.token == Token::Text)
    {
        span.face.token = Token::Thinking;
        span.face = span.face.emphasised(Emphasis::ITALIC);
    }
    row
}

pub(super) fn thinking_row(open: bool) -> Row {
    let text = if open { "Thinking…" } else { "Thought" };
    Row::plain(
        text,
        Face::from(Token::Thinking).emphasised(Emphasis::ITALIC),
    )
}

/// Rows of the problems of one file at most.
const PROBLEM_ROWS: usize = 3;

/// The file of a problem in a file of the user: `/home/ann/settings.toml` of `/home/ann/settings.toml:1:1: unknown setting`.
pub(super) fn problem_file(text: &str) -> Option<&str> {
    let (place, _) = text.split_once(": ")?;
    let end = place.find(".toml").or_else(|| place.find(".json"))? + ".toml".len();
    let file = place.get(..end)?;
    file.starts_with(['/', '~']).then_some(file)
}

/// Several problems of one file: a row for each of the newest ones.
fn problem_rows(text: &str, token: Token, width: usize) -> Vec<Row> {
    let lines: Vec<&str> = text.lines().collect();
    let shown = if lines.len() > PROBLEM_ROWS {
        PROBLEM_ROWS - 1
    } else {
        lines.len()
    };
    let named = lines.iter().skip(lines.len() - shown).map(|line| {
        let folder = problem_file(line).and_then(|file| file.rfind('/'));
        line[folder.map_or(0, |end| end + 1)..].to_owned()
    });
    let more = (shown < lines.len()).then(|| {
        let count = lines.len() - shown;
        format!("… {count} more: fix these, then `/reload`")
    });
    let rows = more
        .into_iter()
        .chain(named)
        .enumerate()
        .map(|(place, line)| {
            let mut row = Row::plain(if place == 0 { "! " } else { "  " }, token);
            row.spans.extend(sentence(&line, token));
            row.truncated(width)
        });
    rows.collect()
}

pub(super) fn notice_rows(notice: &Notice, width: u16, linear: bool) -> Vec<Row> {
    let (mark, word, token) = match notice.severity {
        Severity::Info => ("· ", "Note: ", Token::Text),
        Severity::Warning => ("! ", "Warning: ", Token::Warning),
        Severity::Error => ("✗ ", "Error: ", Token::Error),
    };
    let mark = if linear { word } else { mark };
    let first = [Span::new(mark, token)];
    let rest = [Span::new("  ", token)];
    let mut rows = Vec::new();
    if !linear && notice.text.contains('\n') && problem_file(&notice.text).is_some() {
        return problem_rows(&notice.text, token, usize::from(width));
    }
    Wrap::new(usize::from(width))
        .hanging(&first, &rest)
        .sentences(&notice.text, token, &mut rows);
    rows
}
