//! Draws the tree: the list with its lines, and the selected entry to the right of it, or below it on a narrow screen.
//! Only visible rows are computed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::flat::{Filter, FlatRow, HERE};
use super::view::{LEVEL, Summarized, TreeView, Typing};
use crate::actions::Command;
use crate::drawing::{
    frame, preview_pane::above_rows, preview_pane::at_column, preview_pane::divide,
    preview_pane::written,
};
use osier_base::{clock, text};
use osier_markdown::plain;
use osier_protocol::{ChangedLines, Tag};
use osier_term::{Emphasis, Face, Keymap, Row, Span, Token, View, Wrap};

/// Below this height there is no preview.
const PREVIEW_HEIGHT: u16 = 18;

/// Key hints below the list: the first ones where there is little room.
const HINTS: &[(Command, &str)] = &[
    (Command::Accept, "go here"),
    (Command::TreeWithFiles, "with files"),
    (Command::TreeSummarize, "summary"),
    (Command::TreeSummarizeBefore, "summary"),
    (Command::TreeFork, "fork"),
    (Command::TreeForkWorktree, "fork"),
    (Command::TreeCompare, "compare"),
    (Command::TreeLabel, "label"),
    (Command::TreeMenu, "menu"),
    (Command::TreeFiles, "files"),
    (Command::TreeDelete, "hide"),
    (Command::TreeRestore, "hide"),
    (Command::TreeErase, "delete"),
    (Command::Search, "find"),
    (Command::TreeFilter, "filter"),
    (Command::Fold, "fold"),
    (Command::GoBack, "return"),
];

/// Key hints of the list of prompts to go back to.
const REWIND_HINTS: &[(Command, &str)] = &[
    (Command::Accept, "conversation only"),
    (Command::TreeWithFiles, "conversation and files"),
    (Command::TreeFiles, "files only"),
    (Command::TreeSummarize, "summary"),
    (Command::TreeFork, "fork"),
    (Command::Search, "find"),
    (Command::TreeMenu, "menu"),
    (Command::Cancel, "stay"),
];

/// Key hints while an entry is marked.
const COMPARE_HINTS: &[(Command, &str)] = &[
    (Command::Accept, "compare with this"),
    (Command::Cancel, "stop comparing"),
];

/// Rows of a branch that its first row sums up, and columns of its model.
const BRANCH_ROWS: usize = 64;
const BRANCH_MODEL: usize = 20;

/// How the line of a call begins.
const CALL: &str = "⚙ ";

/// The sign at the start of a row, by its kind.
fn sign(tag: Tag) -> (&'static str, Token) {
    match tag {
        Tag::User => ("❯", Token::UserMarker),
        Tag::Assistant => ("●", Token::Accent),
        Tag::ToolResult => ("└", Token::Muted),
        Tag::Compaction | Tag::BranchSummary => ("≡", Token::Heading),
        Tag::Message => ("!", Token::Warning),
        _ => ("·", Token::Muted),
    }
}

/// Splits the text of an entry into Markdown of a model and literal text: the calls below an answer, or the complete
/// text.
fn parts(tag: Option<Tag>, text: &str) -> (&str, &str) {
    let is_written = matches!(
        tag,
        Some(Tag::Assistant | Tag::Compaction | Tag::BranchSummary)
    );
    if !is_written || text.starts_with(CALL) {
        return ("", text);
    }
    match text.find(&format!("\n{CALL}")) {
        Some(calls) => text.split_at(calls + 1),
        None => (text, ""),
    }
}

impl TreeView {
    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.settle();
        self.cursor = None;
        let lines = if area.height < PREVIEW_HEIGHT { 1 } else { 2 };
        let (body, keys) = above_rows(area, lines);
        let (list, preview) = divide(body, PREVIEW_HEIGHT);
        self.height = usize::from(list.height.saturating_sub(1)).max(1);
        let selected = self.selected_row();
        let last_top = self.flat.rows.len().saturating_sub(self.height);
        self.top = self.top.min(selected).min(last_top);
        self.top = self.top.max((selected + 1).saturating_sub(self.height));
        let mut rows = vec![self.title(usize::from(list.width))];
        rows.extend(self.list(usize::from(list.width), selected));
        view.paint(&rows, list, buffer);
        self.foot = keys.height;
        let bottom = self.bottom(keys, view.keymap);
        view.paint(&bottom, keys, buffer);
        if let Some(preview) = preview {
            if !self.words().is_empty()
                && let Some(number) = self.selected
            {
                self.want_whole(number);
            }
            let rows = self.preview(selected, preview, list.width < area.width);
            view.paint(&rows, preview, buffer);
        }
    }

    fn title(&self, width: usize) -> Row {
        let mut row = Row::plain(" Tree ", Face::bold(Token::Title));
        row.push(
            format!("· {} ", self.memory.borrow().filter.name()),
            Token::Muted,
        );
        if !self.query.is_empty() {
            let state = if self.searching { "…" } else { "" };
            let query = text::single_line(&self.query);
            row.push(format!("· “{query}”{state} "), Token::Match);
        }
        if let Some(marked) = self.marked {
            let (name, _) = self.first_line(marked);
            let name = text::truncate(&name, width / 3).into_owned();
            row.push(format!("· compare “{name}” with "), Token::Warning);
        }
        let count = self.flat.rows.len();
        let place = (self.selected_row() + 1).min(count);
        let count = format!(" {place}/{count} ");
        let line = width.saturating_sub(row.width() + text::width(&count));
        row.push("─".repeat(line), Token::Border);
        row.push(count, Token::Muted);
        row
    }

    fn list(&mut self, width: usize, selected: usize) -> Vec<Row> {
        if self.flat.rows.is_empty() {
            let text = match (self.outline.end(), self.searching) {
                (0, _) => "  no messages yet",
                (_, true) => "  searching…",
                _ => "  no entry matches",
            };
            return vec![Row::plain(text, Token::Text)];
        }
        let level = self.flat.rows[selected].level as usize;
        // The text of the selected row begins in the first half of the screen.
        let fitting = (width / 2).saturating_sub(6) / LEVEL;
        let pan = level
            .saturating_sub(fitting)
            .saturating_add_signed(self.shift);
        let end = (self.top + self.height).min(self.flat.rows.len());
        let mut rails = self.flat.rails(self.top);
        let mut rows = Vec::with_capacity(end - self.top);
        for place in self.top..end {
            self.flat.next_rails(place, &mut rails);
            let shown = self.flat.rows[place];
            if shown.number == HERE {
                if let Some(leaf) = self.outline.leaf {
                    self.want(leaf);
                }
                rows.push(here_row(place == selected, width));
                continue;
            }
            self.want(shown.number);
            if shown.is_head {
                let own: Vec<u32> = self.rows_of_branch(place).collect();
                for number in own {
                    self.want(number);
                }
            }
            if self.memory.borrow().filter == Filter::UserOnly {
                self.want_changes(shown.number);
            }
            rows.push(self.row(shown, &rails, pan, width, place == selected));
        }
        rows
    }

    fn row(
        &self,
        shown: FlatRow,
        rails: &[bool],
        pan: usize,
        width: usize,
        is_selected: bool,
    ) -> Row {
        let ground = |face: Face| {
            if is_selected {
                face.on(Token::Selected)
            } else {
                face
            }
        };
        let mut row = Row::default();
        if is_selected {
            row.fill = Some(Face::from(Token::Selected));
        }
        let mut push = |text: String, face: Face| row.push(text, ground(face));
        let mark = if self.marked == Some(shown.number) {
            "◆ "
        } else if is_selected {
            "› "
        } else {
            "  "
        };
        push(mark.to_owned(), Token::Accent.into());
        push(gutter(shown, rails, pan, width), Token::Border.into());
        let on_path = self.flat.is_on_path(shown.number);
        let tag = self
            .outline
            .get(shown.number)
            .map_or(Tag::Other, |entry| entry.tag);
        let (line, failed) = self.first_line(shown.number);
        let (sign, token) = if failed {
            ("✗", Token::Error)
        } else {
            sign(tag)
        };
        push(
            if on_path { "▎" } else { " " }.to_owned(),
            Token::Success.into(),
        );
        push(format!("{sign} "), token.into());
        if let Some(label) = self.label(shown.number) {
            push(
                format!("[{}] ", text::single_line(label)),
                Token::Chip.into(),
            );
        }
        let mut face = match tag {
            Tag::User => Face::bold(Token::Text),
            Tag::ToolResult => Token::Muted.into(),
            _ if on_path => Token::Text.into(),
            _ => Token::Muted.into(),
        };
        if self.flat.is_hidden(shown.number) {
            face = Face::from(Token::Muted).emphasised(Emphasis::STRIKE);
        }
        let (here, here_token) = self.position_mark(shown.number);
        let folded = match shown.folded {
            0 => String::new(),
            count => format!("  ⊞ {count}"),
        };
        let lane = self.branch_facts(shown);
        let tail = text::width(&lane) + text::width(&here) + text::width(&folded);
        let room = width.saturating_sub(row.width() + tail);
        let (changes, room) = self.changes_within(shown.number, room);
        let mut push = |text: String, face: Face| row.push(text, ground(face));
        push(text::truncate(&line, room).into_owned(), face);
        for span in changes {
            push(span.text.into(), span.face);
        }
        push(lane, Token::Muted.into());
        push(folded, Token::Warning.into());
        push(here, here_token.into());
        row.truncated(width)
    }

    /// The files that a turn changed, if the prompt itself has at least half of the columns, and the columns of the prompt.
    fn changes_within(&self, number: u32, room: usize) -> (Vec<Span>, usize) {
        let changes = self.changes.get(&number).map(Vec::as_slice);
        let changes = changed(changes.unwrap_or_default());
        let width: usize = changes.iter().map(|span| text::width(&span.text)).sum();
        if width * 2 > room {
            return (Vec::new(), room);
        }
        (changes, room - width)
    }

    /// Model, time and cost of the answers of a branch, for the row it begins with.
    fn branch_facts(&self, head: FlatRow) -> String {
        let Some(from) = self.flat.row_of(head.number).filter(|_| head.is_head) else {
            return String::new();
        };
        let is_answer = |number: &u32| {
            let entry = self.outline.get(*number);
            entry.is_some_and(|entry| entry.tag == Tag::Assistant)
        };
        let answers = self.rows_of_branch(from).filter(is_answer);
        let (mut model, mut time, mut cost) = (None, 0, 0.0);
        for answer in answers.filter_map(|number| self.glimpses.get(&number)) {
            model = Some(answer.by.as_str());
            time += answer.duration_ms;
            cost += answer.cost;
        }
        let Some(model) = model else {
            return String::new();
        };
        let cost = match cost {
            0.0 => String::new(),
            cost => format!(" · ${cost:.3}"),
        };
        let model = text::truncate(&text::single_line(model), BRANCH_MODEL).into_owned();
        format!("  {model} · {}{cost}", clock::human_duration(time))
    }

    /// The mark of the current entry, and of those before the last moves.
    fn position_mark(&self, own: u32) -> (String, Token) {
        let is_rewind = self.memory.borrow().is_rewind;
        let is_here = !is_rewind
            && self.outline.leaf.and_then(|leaf| self.flat.row_of(leaf)) == self.flat.row_of(own);
        let recent = self.outline.recent.iter();
        let back = recent
            .map(|number| self.flat.row_of(*number))
            .position(|row| row.is_some() && row == self.flat.row_of(own));
        let here = match back {
            _ if is_here => "  ◂ current".to_owned(),
            Some(steps) => format!("  ◂{}", steps + 1),
            None => String::new(),
        };
        let token = if is_here {
            Token::Success
        } else {
            Token::Muted
        };
        (here, token)
    }

    /// The entries of the first rows of a branch, up to where it branches again.
    fn rows_of_branch(&self, head: usize) -> impl Iterator<Item = u32> {
        let level = self.flat.rows[head].level;
        let below = self.flat.rows[head..].iter().skip(1).take(BRANCH_ROWS);
        let own = below.take_while(move |row| !row.is_head && row.level == level);
        own.map(|row| row.number)
    }

    /// The first line of the entry's text, on one row.
    fn first_line(&self, number: u32) -> (String, bool) {
        let Some(glimpse) = self.glimpses.get(&number) else {
            return ("…".to_owned(), false);
        };
        let tag = self.outline.get(number).map(|entry| entry.tag);
        let (said, rest) = parts(tag, &glimpse.text);
        let mut line = plain::first_line(said);
        if line.is_empty() {
            let first = rest.lines().find(|line| !line.trim().is_empty());
            first.unwrap_or_default().trim().clone_into(&mut line);
        }
        let line = text::single_line(&text::sanitize(&line));
        let is_result = tag == Some(Tag::ToolResult);
        let line = match (is_result, line.is_empty()) {
            (true, _) => format!("{}: {}", glimpse.by, text::unticked(&line)),
            (false, true) => "(empty)".to_owned(),
            (false, false) => line,
        };
        (line, glimpse.failed)
    }

    /// The line under the list: the input, else the keys.
    fn bottom(&mut self, area: Rect, keymap: &Keymap<Command>) -> Vec<Row> {
        let width = usize::from(area.width);
        if !self.remark.is_empty() {
            return vec![Row::plain(format!(" {}", self.remark), Token::Warning)];
        }
        let hints = match self.marked {
            Some(_) => COMPARE_HINTS,
            None if self.memory.borrow().is_rewind => REWIND_HINTS,
            None => HINTS,
        };
        let mut hints = hints.to_vec();
        if !self.query.is_empty() && self.marked.is_none() {
            hints.insert(0, (Command::Cancel, "show all"));
        }
        let (mark, line) = match &self.typing {
            Typing::Nothing => {
                let room = width.saturating_sub(1);
                let keys = if area.height < 2 || self.marked.is_some() {
                    vec![frame::view_keys(keymap, "tree", &hints, room)]
                } else {
                    frame::view_keys_in_two(keymap, "tree", &hints, room).to_vec()
                };
                let rows = keys.into_iter();
                return rows
                    .map(|keys| Row::plain(format!(" {keys}"), Token::Muted))
                    .collect();
            }
            Typing::Query(line) => (" find: ", line),
            Typing::Label(line) => (" label: ", line),
            Typing::Instructions(line, _) => (" instructions for the summary (optional): ", line),
        };
        let hints: &[_] = match &self.typing {
            Typing::Query(_) => &[
                (Command::Down, "next"),
                (Command::Accept, "keep the results"),
                (Command::Cancel, "show all"),
            ],
            Typing::Instructions(_, Summarized::LeftBranch) => &[
                (
                    Command::Accept,
                    "go here, summarize the branch that you leave",
                ),
                (Command::Cancel, "cancel"),
            ],
            Typing::Instructions(_, Summarized::Before) => &[
                (Command::Accept, "summarize everything before this entry"),
                (Command::Cancel, "cancel"),
            ],
            _ => &[(Command::Accept, "save"), (Command::Cancel, "cancel")],
        };
        let keys = frame::hints(keymap, "list", hints);
        let keys = frame::fitting(&keys, width.saturating_sub(1));
        let column = text::width(mark) + line.cursor_column();
        self.cursor = Some(at_column(area, area.y, column));
        let mut row = Row::plain(mark, Token::Accent);
        row.push(line.text(), Token::Text);
        let mut rows = vec![row];
        if area.height > 1 {
            rows.push(Row::plain(format!(" {keys}"), Token::Muted));
        }
        rows
    }

    /// The loaded text of the selected entry.
    fn preview(&self, selected: usize, area: Rect, is_beside: bool) -> Vec<Row> {
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let side = if is_beside { "│ " } else { " " };
        let mut rows = Vec::new();
        let number = match self.flat.rows.get(selected).map(|row| row.number) {
            // The end of the conversation stays in sight.
            Some(HERE) => self.outline.leaf,
            number => number,
        };
        let glimpse = number.and_then(|number| self.glimpses.get(&number));
        let mut title = String::new();
        if let Some(glimpse) = glimpse {
            let time = clock::stored_minute(&glimpse.timestamp);
            title = format!(" {time} {} {} ", glimpse.entry_id, glimpse.by);
        }
        let title = text::truncate(&title, width.saturating_sub(2)).into_owned();
        let line = width.saturating_sub(text::width(&title) + 1);
        let corner = if is_beside { "┬" } else { "─" };
        let mut head = Row::plain(corner, Token::Border);
        head.push(title, Token::Muted);
        head.push("─".repeat(line), Token::Border);
        rows.push(head);
        if let Some(glimpse) = glimpse {
            let indent = [Span::new(side, Token::Border)];
            let tag = number.and_then(|number| Some(self.outline.get(number)?.tag));
            let (said, literal) = match from_hit(&glimpse.text, self.words(), (width, height)) {
                Some(hit) => {
                    let mut row = Row::new(indent.to_vec());
                    row.push("…", Token::Muted);
                    rows.push(row);
                    ("", hit)
                }
                None => parts(tag, &glimpse.text),
            };
            rows.extend(written(said, &indent, width, height));
            if !said.is_empty() && !literal.is_empty() {
                rows.push(Row::new(indent.to_vec()));
            }
            let clean = text::sanitize(literal);
            for line in text::expand_tabs(&clean).lines() {
                if rows.len() >= height {
                    break;
                }
                Wrap::new(width)
                    .hanging(&indent, &indent)
                    .text(line, Token::Text, &mut rows);
            }
        }
        while is_beside && rows.len() < height {
            rows.push(Row::plain(side, Token::Border));
        }
        rows.truncate(height);
        rows
    }
}

/// The changes of a turn: `  cart.py +1 -1`, or how many files.
fn changed(files: &[ChangedLines]) -> Vec<Span> {
    let name = match files {
        [] => return Vec::new(),
        [file] => {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            text::single_line(name)
        }
        files => format!("{} files", files.len()),
    };
    let added: u64 = files.iter().map(|file| file.added).sum();
    let removed: u64 = files.iter().map(|file| file.removed).sum();
    vec![
        Span::new(format!("  {name}"), Token::Text),
        Span::new(format!(" +{added}"), Token::Success),
        Span::new(format!(" -{removed}"), Token::Error),
    ]
}

/// The text from the line with most of these words on, unless it is certainly among the first `rows` of this width.
fn from_hit<'a>(text: &'a str, words: &str, (width, rows): (usize, usize)) -> Option<&'a str> {
    /// Bytes of the line before the hit.
    const BEFORE: usize = 60;
    // Letters keep their length.
    let words = words.to_ascii_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    let (mut best, mut most) = (None, 0);
    // Rows above a line, twice as many as its text has: Markdown adds some.
    let (mut start, mut above) = (0, 0);
    for line in text.split_inclusive('\n') {
        let lower = line.to_ascii_lowercase();
        let found = words.iter().filter_map(|word| lower.find(word));
        let found: Vec<usize> = found.collect();
        if found.len() > most {
            most = found.len();
            let first = found.into_iter().min().unwrap_or_default();
            best = Some((start, first, above + first / width.max(1)));
        }
        start += line.len();
        above += 2 * (1 + text::width(line) / width.max(1));
    }
    let (line, hit, above) = best?;
    if above + 2 < rows {
        return None;
    }
    let start = line + hit.saturating_sub(BEFORE);
    Some(&text[text.floor_char_boundary(start)..])
}

/// The row that stays where the conversation is.
fn here_row(is_selected: bool, width: usize) -> Row {
    let mut row = Row::default();
    if is_selected {
        row.fill = Some(Face::from(Token::Selected));
    }
    for (text, face) in [
        (if is_selected { "› " } else { "  " }, Token::Accent.into()),
        ("stay here", Face::bold(Token::Success)),
        ("  ◂ current", Token::Success.into()),
    ] {
        let face: Face = face;
        row.push(
            text,
            if is_selected {
                face.on(Token::Selected)
            } else {
                face
            },
        );
    }
    row.truncated(width)
}

/// The lines before a row, without the `pan` outermost levels; at most two thirds of the width.
fn gutter(shown: FlatRow, rails: &[bool], pan: usize, width: usize) -> String {
    let mut gutter = String::new();
    let level = rails.len();
    for (place, rail) in rails.iter().enumerate().skip(pan) {
        if text::width(&gutter) + LEVEL > width * 2 / 3 {
            break;
        }
        let own = place + 1 == level && shown.is_head;
        gutter.push_str(match (own, rail) {
            (true, true) => "├─ ",
            (true, false) => "└─ ",
            (false, true) => "│  ",
            (false, false) => "   ",
        });
    }
    gutter
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::ChangeKind;

    #[test]
    fn the_preview_begins_at_a_hit_that_is_not_among_its_first_rows() {
        let text = format!("start\n{}the Needle is here\nend", "line\n".repeat(40));
        let found = Some("the Needle is here\nend");
        assert_eq!(from_hit(&text, "needle", (80, 7)), found);
        assert_eq!(from_hit(&text, "start", (80, 7)), None);
        assert_eq!(from_hit(&text, "other", (80, 7)), None);
        // The line with most of the words is the hit.
        assert_eq!(from_hit(&text, "line the needle", (80, 7)), found);
        // Three lines above fill the seven rows of a low screen when they wrap.
        let long = format!("{}needle", "word word word word word\n".repeat(3));
        assert_eq!(from_hit(&long, "needle", (10, 7)), Some("needle"));
        assert_eq!(from_hit(&long, "needle", (80, 20)), None);
        let line = format!("{} needle", "ä".repeat(500));
        assert!(from_hit(&line, "needle", (80, 7)).is_some_and(|text| text.ends_with(" needle")));
    }

    #[test]
    fn a_prompt_shows_what_its_turn_changed() {
        let file = |path: &str, added, removed| ChangedLines {
            path: path.to_owned(),
            kind: ChangeKind::Modify,
            added,
            removed,
        };
        let text = |files: &[ChangedLines]| Row::new(changed(files)).text();
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[file("src/cart.py", 1, 1)]), "  cart.py +1 -1");
        let two = [file("src/cart.py", 1, 1), file("README.md", 3, 0)];
        assert_eq!(text(&two), "  2 files +4 -1");
    }
}
