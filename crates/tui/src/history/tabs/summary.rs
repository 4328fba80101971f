//! Summaries of the tabs, as the tab that is shown knows them.

use std::path::Path;

use osier_base::text;
use osier_term::{Span, Token};

/// The state of the session in a tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TabState {
    /// A question waits for the user.
    Waiting,
    /// The last run failed and was not seen yet.
    Failed,
    /// A run has ended and was not seen yet.
    Done,
    Working,
    /// Nothing happens, nothing is new.
    Idle,
}

/// States in the order of their urgency: sign, word and colour.
const SIGNS: &[(TabState, &str, &str, Token)] = &[
    (TabState::Waiting, "?", "waiting for you", Token::Warning),
    (TabState::Failed, "✗", "failed", Token::Error),
    (TabState::Done, "✓", "done", Token::Success),
    (TabState::Working, "…", "running", Token::Working),
    (TabState::Idle, " ", "idle", Token::Muted),
];

impl TabState {
    /// The most urgent state first.
    pub const BY_URGENCY: [Self; 5] = [
        Self::Waiting,
        Self::Failed,
        Self::Done,
        Self::Working,
        Self::Idle,
    ];

    fn row(self) -> (&'static str, &'static str, Token) {
        let found = SIGNS.iter().find(|(state, ..)| *state == self);
        found.map_or((" ", "", Token::Muted), |(_, sign, word, token)| {
            (*sign, *word, *token)
        })
    }

    /// The sign of the state, one column wide.
    pub fn sign(self) -> &'static str {
        self.row().0
    }

    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// The word after a count; none for tabs without news.
    fn short_word(self) -> Option<&'static str> {
        match self {
            Self::Waiting => Some("waiting"),
            Self::Idle => None,
            state => Some(state.word()),
        }
    }

    pub fn token(self) -> Token {
        self.row().2
    }

    /// Whether the tab needs attention.
    pub fn needs_person(self) -> bool {
        matches!(self, Self::Waiting | Self::Failed | Self::Done)
    }

    /// Whether leaving would cut something off.
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Waiting | Self::Working)
    }
}

/// One open session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabSummary {
    /// The number of the tab; it stays while the session is open.
    pub number: usize,
    pub state: TabState,
    /// The name of the session, or the start of its first prompt.
    pub title: String,
    pub id: String,
    /// Not set while nothing is stored.
    pub path: Option<String>,
    /// Working directory with `~` for the home.
    pub cwd: String,
    pub model: String,
    /// The prompt that was sent last.
    pub prompt: String,
    /// The pending question, else the last answer.
    pub said: String,
    /// The editor of the tab has text that was not sent.
    pub has_draft: bool,
}

impl TabSummary {
    /// The number and the title of the tab, on one line.
    pub fn label(&self) -> String {
        format!("{} · {}", self.number, self.title)
    }
}

/// Characters of an id that encode its time: two sessions hardly share them.
const TIME: usize = 13;

/// All open sessions by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TabSummaries {
    pub entries: Vec<TabSummary>,
    /// Number of the shown tab.
    pub shown: usize,
}

impl TabSummaries {
    /// Whether there are several tabs.
    pub fn is_several(&self) -> bool {
        self.entries.len() > 1
    }

    pub fn others(&self) -> impl Iterator<Item = &TabSummary> {
        let shown = self.shown;
        self.entries
            .iter()
            .filter(move |entry| entry.number != shown)
    }

    /// The open session with this path, id, start of an id, or name.
    pub fn find(&self, target: &str) -> Option<&TabSummary> {
        let target = target.trim();
        let is_path = |entry: &&TabSummary| {
            let path = entry.path.as_deref();
            path.is_some_and(|path| Path::new(path) == Path::new(target))
        };
        let is_named = |entry: &&TabSummary| {
            target.len() >= TIME && entry.id.starts_with(target) || entry.title == target
        };
        let entries = || self.entries.iter();
        entries()
            .find(is_path)
            .or_else(|| entries().find(is_named))
            .filter(|_| !target.is_empty())
    }

    /// Number of the next tab, wrapping at the end; with `needing`, of those that need attention.
    fn step(&self, backward: bool, needing: bool) -> Option<usize> {
        let count = self.entries.len();
        let here = self
            .entries
            .iter()
            .position(|entry| entry.number == self.shown)?;
        let mut places = (1..count).map(|step| {
            let step = if backward { count - step } else { step };
            &self.entries[(here + step) % count]
        });
        let found = places.find(|entry| !needing || entry.state.needs_person());
        found.map(|entry| entry.number)
    }

    /// The tab to show for a number; none when it is shown already.
    ///
    /// # Errors
    /// No tab has this number.
    pub(crate) fn numbered(&self, number: usize) -> Result<Option<usize>, String> {
        if !self.entries.iter().any(|entry| entry.number == number) {
            let count = match self.entries.len() {
                0 | 1 => "1 tab is".to_owned(),
                count => format!("{count} tabs are"),
            };
            return Err(format!("no tab {number}: {count} open"));
        }
        Ok((number != self.shown).then_some(number))
    }

    /// The next or previous tab to show; with `needing`, of those that need attention.
    ///
    /// # Errors
    /// There is no such tab.
    pub(crate) fn next(&self, backward: bool, needing: bool) -> Result<Option<usize>, String> {
        match self.step(backward, needing) {
            Some(number) => Ok(Some(number)),
            None if self.is_several() => Err("no other tab needs attention".to_owned()),
            None => Err("no other tab is open".to_owned()),
        }
    }

    /// The marks for the footer: the number of the tab in front, the number of tabs, and how many others are active or
    /// wait for the user.
    pub fn marks(&self) -> Vec<Span> {
        if !self.is_several() {
            return Vec::new();
        }
        let place = format!("tab {}/{}", self.shown, self.entries.len());
        let mut spans = vec![Span::new(place, Token::FooterAccent)];
        for state in TabState::BY_URGENCY {
            let count = self.others().filter(|entry| entry.state == state).count();
            let Some(word) = state.short_word().filter(|_| count > 0) else {
                continue;
            };
            spans.push(Span::new(", ", Token::Footer));
            spans.push(Span::new(format!("{count} {word}"), state.token()));
        }
        spans.push(Span::new("  ", Token::Footer));
        spans
    }
}

/// The start of a text on one line.
pub(crate) fn line(text: &str) -> String {
    let head = text::head_bytes(text.trim(), 200);
    text::single_line(&text::sanitize(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize, state: TabState) -> TabSummary {
        TabSummary {
            number,
            state,
            title: format!("title {number}"),
            id: format!("0190000{number}-aaaa-7000"),
            path: Some(format!("/s/{number}.jsonl")),
            cwd: String::new(),
            model: String::new(),
            prompt: String::new(),
            said: String::new(),
            has_draft: false,
        }
    }

    fn summaries(shown: usize, states: &[(usize, TabState)]) -> TabSummaries {
        let entries = states.iter().map(|(number, state)| entry(*number, *state));
        TabSummaries {
            entries: entries.collect(),
            shown,
        }
    }

    #[test]
    fn stepping_goes_round_and_can_keep_to_what_needs_somebody() {
        let states = [
            (1, TabState::Done),
            (2, TabState::Working),
            (4, TabState::Idle),
            (5, TabState::Waiting),
        ];
        let at = |shown| summaries(shown, &states);
        assert_eq!(at(2).step(false, false), Some(4));
        assert_eq!(at(5).step(false, false), Some(1));
        assert_eq!(at(1).step(true, false), Some(5));
        assert_eq!(at(2).step(false, true), Some(5));
        assert_eq!(at(5).step(false, true), Some(1));
        assert_eq!(at(2).step(true, true), Some(1));
        let calm = summaries(1, &[(1, TabState::Waiting), (2, TabState::Idle)]);
        assert_eq!(calm.step(false, true), None);
        assert_eq!(
            summaries(1, &[(1, TabState::Idle)]).step(false, false),
            None
        );
    }

    #[test]
    fn the_marks_name_the_others_by_what_they_want() {
        let text = |summaries: &TabSummaries| -> String {
            let spans = summaries.marks();
            spans.iter().map(|span| span.text.as_ref()).collect()
        };
        let states = [
            (1, TabState::Working),
            (2, TabState::Done),
            (3, TabState::Waiting),
            (4, TabState::Working),
            (5, TabState::Idle),
        ];
        assert_eq!(
            text(&summaries(1, &states)),
            "tab 1/5, 1 waiting, 1 done, 1 running  "
        );
        assert_eq!(text(&summaries(1, &states[..1])), "");
    }

    #[test]
    fn an_open_session_is_found_by_path_id_and_name() {
        let summaries = summaries(1, &[(1, TabState::Idle), (2, TabState::Idle)]);
        let number = |target: &str| summaries.find(target).map(|entry| entry.number);
        assert_eq!(number("/s/2.jsonl"), Some(2));
        assert_eq!(number("01900002-aaaa"), Some(2));
        assert_eq!(number("01900002"), None);
        assert_eq!(number("title 1"), Some(1));
        assert_eq!(number(""), None);
    }
}
