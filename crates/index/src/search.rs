//! Full-text search in sessions.
//!
//! The index returns spans that may match, newest first; each is read from its file, and only real matches
//! count. A session is returned once, with its best match. The number of spans is limited, so a search for a
//! very common word returns the newest matches.

use osier_base::sort;
use osier_protocol::HitText;
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;

use rusqlite::params_from_iter;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::error::IndexError;
use super::list::SessionFilter;
use super::passage::passages;
use super::schema::IndexReader;
use super::terms::Terms;
use osier_base::regular_file;
use osier_base::text::{sanitize, single_line};
use osier_protocol::{Entry, SessionRow, TextSource};

/// Maximum number of spans to read for one search, and their total bytes.
const SPANS: usize = 1_500;
const BYTES: u64 = 48 << 20;
/// Maximum number of spans that are grouped by session.
const CANDIDATES: usize = 200_000;
/// Maximum number of spans that are read when the index cannot select any.
const NEWEST: usize = 400;
/// Bytes of the files that are searched without the index, and of the parts in which they are read.
const UNREAD: u64 = 1 << 30;
const PART: u64 = 128 * 1024;
/// A longer line is not searched.
const LONGEST_LINE: u64 = 32 << 20;
/// Bytes of an excerpt before the first match.
const BEFORE: usize = 40;
const AFTER: usize = 140;

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits {
    /// The sessions with a match, best first.
    pub hits: Vec<Hit>,
    /// Whether there may be more matches.
    pub cut: bool,
    /// Whether there is an index.
    pub ready: bool,
}

/// A session with a match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    pub session: SessionRow,
    pub source: TextSource,
    /// The entry with the match; not set for names and labels.
    pub entry_id: Option<String>,
    pub text: HitText,
}

/// A match before its session is loaded.
struct Match {
    session: i64,
    source: TextSource,
    entry_id: Option<String>,
    text: HitText,
}

impl IndexReader {
    /// At most `limit` sessions of `filter` in which every word of `query` occurs close together, or in the
    /// name. `"several words"` are a phrase; words in lower case match any case.
    pub fn search(
        &self,
        query: &str,
        filter: &SessionFilter,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Hits, IndexError> {
        let Some(terms) = Terms::parse(query) else {
            return Ok(Hits {
                ready: true,
                ..Hits::default()
            });
        };
        let mut search = Search {
            index: self,
            terms,
            limit,
            allowed: None,
            found: Vec::new(),
            known: HashSet::new(),
        };
        search.search_names(filter)?;
        let mut cut = search.search_text(cancel)?;
        cut |= search.search_unread(cancel)?;
        let mut hits = Vec::new();
        for matched in std::mem::take(&mut search.found) {
            hits.push(Hit {
                session: self.row(matched.session)?,
                source: matched.source,
                entry_id: matched.entry_id,
                text: matched.text,
            });
        }
        let newest = hits.iter().map(|hit| hit.session.active).max();
        sort::by(&mut hits, |one, other| {
            let score = |hit: &Hit| rank(hit, newest.unwrap_or_default());
            score(other).total_cmp(&score(one))
        });
        let cut = cut || hits.len() > limit;
        hits.truncate(limit);
        Ok(Hits {
            hits,
            cut,
            ready: true,
        })
    }
}

/// Names and prompts rank above answers, answers above output; the rank of each halves after some weeks.
fn rank(hit: &Hit, newest: i64) -> f64 {
    let source = match hit.source {
        TextSource::Name => 1000.0,
        TextSource::Label => 800.0,
        TextSource::Prompt => 500.0,
        TextSource::Answer | TextSource::Summary => 300.0,
        TextSource::Call => 250.0,
        TextSource::Thinking => 200.0,
        TextSource::Output => 150.0,
    };
    let days = (newest - hit.session.active).max(0) as f64 / 86_400_000.0;
    source - 40.0 * (1.0 + days).log2()
}

struct Search<'a> {
    index: &'a IndexReader,
    terms: Terms,
    limit: usize,
    /// Sessions that can match; all when not set.
    allowed: Option<HashSet<i64>>,
    found: Vec<Match>,
    /// Sessions that are in `found`.
    known: HashSet<i64>,
}

/// The lines of about [`PART`] bytes that end at `end`, but not those before `from`, and where they start. `None` if the
/// file cannot be read or a line is too long.
fn lines_before(file: &File, from: u64, end: u64) -> Option<(u64, Vec<u8>)> {
    let mut length = PART;
    while length <= LONGEST_LINE {
        let start = end.saturating_sub(length).max(from);
        let mut bytes = vec![0; (end - start) as usize];
        file.read_exact_at(&mut bytes, start).ok()?;
        if start == from {
            return Some((start, bytes));
        }
        // The last line ends at `end`.
        let body = bytes.len() - 1;
        if let Some(newline) = bytes[..body].iter().position(|byte| *byte == b'\n') {
            return Some((start + newline as u64 + 1, bytes.split_off(newline + 1)));
        }
        length *= 8;
    }
    None
}

impl Search<'_> {
    /// Searches names, labels and first prompts, and selects the sessions to search.
    fn search_names(&mut self, filter: &SessionFilter) -> Result<(), IndexError> {
        let (condition, values) = self.index.condition(filter);
        let everything = *filter == SessionFilter::default();
        let sql = format!(
            "SELECT number, name, labels FROM sessions WHERE {condition} ORDER BY active DESC, number DESC"
        );
        let mut statement = self.index.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&values))?;
        let mut allowed = HashSet::new();
        while let Some(row) = rows.next()? {
            let number = row.get(0)?;
            if !everything {
                allowed.insert(number);
            }
            if self.found.len() >= self.limit {
                if everything {
                    break;
                }
                continue;
            }
            let name = row.get_ref(1)?.as_str_or_null().unwrap_or_default();
            let labels = row.get_ref(2)?.as_str().unwrap_or_default();
            let name = name.filter(|name| self.terms.all_in(&[*name]));
            if let Some(name) = name {
                self.add(number, TextSource::Name, None, name);
            } else if labels.len() > 2 {
                let labels: std::collections::BTreeMap<String, String> =
                    serde_json::from_str(labels).unwrap_or_default();
                for (entry, label) in labels {
                    if self.terms.all_in(&[label.as_str()]) {
                        self.add(number, TextSource::Label, Some(entry), &label);
                        break;
                    }
                }
            }
        }
        self.allowed = (!everything).then_some(allowed);
        Ok(())
    }

    /// Searches the messages. Returns whether there may be more matches.
    fn search_text(&mut self, cancel: &CancellationToken) -> Result<bool, IndexError> {
        let expression = self.terms.expression();
        let sql = match &expression {
            Some(_) => {
                "SELECT spans.session, spans.start, spans.finish FROM words
                 JOIN spans ON spans.number = words.rowid
                 WHERE words MATCH ?1 ORDER BY words.rowid DESC"
            }
            None => "SELECT session, start, finish FROM spans ORDER BY number DESC",
        };
        let most = if expression.is_some() { SPANS } else { NEWEST };
        let mut statement = self.index.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(&expression))?;
        let (mut spans, mut bytes, mut candidates) = (0, 0, 0);
        let mut words = 0;
        let mut open: Option<(i64, Option<File>)> = None;
        while let Some(row) = rows.next()? {
            candidates += 1;
            if words >= self.limit || spans >= most || bytes >= BYTES || candidates >= CANDIDATES {
                return Ok(true);
            }
            let session: i64 = row.get(0)?;
            let known = self.known.contains(&session);
            if known
                || self
                    .allowed
                    .as_ref()
                    .is_some_and(|allowed| !allowed.contains(&session))
            {
                continue;
            }
            if cancel.is_cancelled() {
                return Err(IndexError::Cancelled);
            }
            let (start, finish) = (row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64);
            if open.as_ref().is_none_or(|(number, _)| *number != session) {
                open = Some((session, self.file(session)?));
            }
            let Some((_, Some(file))) = &open else {
                continue;
            };
            spans += 1;
            bytes += finish - start;
            let mut text = vec![0; finish.saturating_sub(start) as usize];
            // A file that has changed is indexed again; it does not match now.
            if file.read_exact_at(&mut text, start).is_ok() && self.search_span(session, &text) {
                words += 1;
            }
        }
        Ok(false)
    }

    /// The file of a session, if it can be opened.
    fn file(&self, session: i64) -> Result<Option<File>, IndexError> {
        Ok(regular_file::open_plain(&self.index.row(session)?.path).ok())
    }

    /// Searches the part of each file that is not indexed yet, from its end. Returns whether there may be more matches.
    fn search_unread(&mut self, cancel: &CancellationToken) -> Result<bool, IndexError> {
        let sql =
            "SELECT number, seen FROM sessions WHERE seen < size ORDER BY active DESC, number DESC";
        let mut statement = self.index.connection.prepare_cached(sql)?;
        let rows =
            statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
        let mut left = UNREAD;
        for row in rows {
            let (session, seen): (i64, u64) = row?;
            let allowed = self.allowed.as_ref();
            if self.known.contains(&session)
                || allowed.is_some_and(|allowed| !allowed.contains(&session))
            {
                continue;
            }
            if self.found.len() >= self.limit || left == 0 {
                return Ok(true);
            }
            let Some(file) = self.file(session)? else {
                continue;
            };
            let mut end = file.metadata().map_or(0, |data| data.len());
            while end > seen && left > 0 {
                if cancel.is_cancelled() {
                    return Err(IndexError::Cancelled);
                }
                let Some((start, lines)) = lines_before(&file, seen, end) else {
                    break;
                };
                left = left.saturating_sub(end - start);
                end = start;
                let has_all = self.terms.needles().all(|needle| needle.is_in_line(&lines));
                if has_all && self.search_span(session, &lines) {
                    break;
                }
            }
        }
        Ok(false)
    }

    /// Reads a span; true when it contains all words.
    fn search_span(&mut self, session: i64, bytes: &[u8]) -> bool {
        let mut missing: Vec<bool> = vec![true; self.terms.len()];
        let mut best: Option<(TextSource, usize, String, String)> = None;
        for line in bytes.split(|byte| *byte == b'\n') {
            let within = |needle: &osier_store::Needle| needle.is_in_line(line);
            if !self.terms.needles().any(within) {
                continue;
            }
            let Ok(entry) = Entry::parse(line) else {
                continue;
            };
            passages(&entry, &mut |source, text| {
                let mut terms = 0;
                for (needle, missing) in self.terms.needles().zip(&mut missing) {
                    if needle.find(text).is_some() {
                        *missing = false;
                        terms += 1;
                    }
                }
                // More matched words, then the better source, then the later match.
                let better = best.as_ref().is_none_or(|(other, others, ..)| {
                    terms > *others || (terms == *others && source <= *other)
                });
                if terms > 0 && better {
                    best = Some((source, terms, entry.id.clone(), self.excerpt(text)));
                }
            });
        }
        let Some((source, _, entry_id, text)) = best.filter(|_| !missing.contains(&true)) else {
            return false;
        };
        self.add(session, source, Some(entry_id), &text);
        true
    }

    /// The text around the first match.
    fn excerpt(&self, text: &str) -> String {
        let found = self.terms.needles().filter_map(|needle| needle.find(text));
        let Some(first) = found.min_by_key(|range| range.start) else {
            return String::new();
        };
        let start = text.floor_char_boundary(first.start.saturating_sub(BEFORE));
        let end = text.ceil_char_boundary((first.end + AFTER).min(text.len()));
        let mut excerpt = String::new();
        if start > 0 {
            excerpt.push('…');
        }
        excerpt.push_str(text[start..end].trim());
        if end < text.len() {
            excerpt.push('…');
        }
        excerpt
    }

    fn add(&mut self, session: i64, source: TextSource, entry_id: Option<String>, text: &str) {
        let text = single_line(&sanitize(text));
        let needles = self.terms.needles();
        let mut marks: Vec<(usize, usize)> = needles
            .flat_map(|needle| needle.find_all(&text))
            .map(|range| (range.start, range.end))
            .collect();
        marks.sort_unstable();
        // Matches of two words can overlap.
        marks.dedup_by(|later, earlier| {
            let overlap = later.0 < earlier.1;
            if overlap {
                earlier.1 = earlier.1.max(later.1);
            }
            overlap
        });
        self.known.insert(session);
        self.found.push(Match {
            session,
            source,
            entry_id,
            text: HitText { text, marks },
        });
    }
}
