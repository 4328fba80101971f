//! Lists sessions: filtered, sorted and matched by letters.

use osier_base::sort;
use osier_base::text::composed;
use osier_protocol::Sort;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use super::error::IndexError;
use super::schema::{IndexReader, SessionIndex};
use super::update::models;
use osier_protocol::SessionRow;

/// Characters of a first prompt that are matched fuzzily.
const FUZZY: usize = 160;

/// Selects sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionFilter {
    /// Only sessions that ran in this directory.
    pub cwd: Option<String>,
    /// Only sessions with an entry since this time, in milliseconds since the Unix epoch.
    pub since: Option<i64>,
    /// The name contains this.
    pub name: Option<String>,
    /// Only sessions with a name.
    pub named: bool,
    /// The `PROVIDER/ID` of a model contains this.
    pub model: Option<String>,
    /// Letters of the name or the first prompt, in this order; best matches first.
    pub letters: Option<String>,
    pub sort: Sort,
    /// Ids of the sessions to list first, without `letters`.
    pub first: Vec<String>,
    /// Ids of excluded sessions.
    pub apart: Vec<String>,
    /// Only the sessions in `apart`, instead of excluding them.
    pub only_apart: bool,
}

/// The `ORDER BY` of a sort order.
fn order_by(sort: Sort) -> &'static str {
    match sort {
        Sort::Active => "active DESC, number DESC",
        Sort::Created => "created DESC, number DESC",
        Sort::Cost => "cost DESC, active DESC",
        Sort::Size => "size DESC, active DESC",
        Sort::Name => "name IS NULL, name COLLATE NOCASE, active DESC",
    }
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    pub rows: Vec<SessionRow>,
    /// Number of matching sessions, including those not in `rows`.
    pub total: usize,
    /// Whether an index exists; without one, the sessions are unknown.
    pub ready: bool,
}

const COLUMNS: &str = "path, id, cwd, name, prompt, created, active, size, prompts, answers, calls, \
     damaged, tokens, cost, models, labels, parent, seen, written, number, last_prompt, \
     (SELECT coalesce(nullif(source.name, ''), source.prompt) FROM sessions AS source \
      WHERE source.id = sessions.parent LIMIT 1)";

impl SessionIndex {
    /// The sessions that were forked from the one with this id, last used first.
    pub fn forks(&self, id: &str) -> Result<Vec<SessionRow>, IndexError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE parent = ?1 ORDER BY active DESC");
        self.query(|index| {
            let mut statement = index.connection.prepare(&sql)?;
            let rows = statement.query_map([id], |row| index.session(row))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

impl IndexReader {
    /// At most `limit` matching sessions, starting with number `offset`.
    pub fn list(
        &self,
        filter: &SessionFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Listing, IndexError> {
        let connection = &self.connection;
        let (condition, values) = self.condition(filter);
        let letters = filter.letters.as_deref().map(str::trim);
        if let Some(letters) = letters.filter(|letters| !letters.is_empty()) {
            let found = narrow(connection, letters, &condition, &values, filter.sort)?;
            let total = found.len();
            let page = found.into_iter().skip(offset).take(limit);
            let rows = page.map(|number| self.row(number));
            return Ok(Listing {
                rows: rows.collect::<Result<Vec<_>, _>>()?,
                total,
                ready: true,
            });
        }
        let sql = format!("SELECT count(*) FROM sessions WHERE {condition}");
        let mut count = connection.prepare_cached(&sql)?;
        let total = count.query_row(params_from_iter(&values), |row| row.get::<_, i64>(0))?;
        let mut order = order_by(filter.sort).to_owned();
        let mut values = values;
        if !filter.first.is_empty() {
            values.push(ids(&filter.first));
            order = format!("{} DESC, {order}", among(values.len()));
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE {condition} ORDER BY {order} LIMIT {limit} OFFSET {offset}"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&values), |row| self.session(row))?;
        Ok(Listing {
            rows: rows.collect::<Result<_, _>>()?,
            total: total as usize,
            ready: true,
        })
    }

    /// The row with this number.
    pub(super) fn row(&self, number: i64) -> Result<SessionRow, IndexError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE number = ?1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_row([number], |row| self.session(row))?)
    }

    /// The SQL condition of a filter, without its letters.
    pub(super) fn condition(&self, filter: &SessionFilter) -> (String, Vec<Value>) {
        let mut parts = vec!["id <> ''".to_owned()];
        let mut values = Vec::new();
        let mut add = |sql: &str, value: Value| {
            values.push(value);
            parts.push(sql.replace('?', &format!("?{}", values.len())));
        };
        if let Some(cwd) = &filter.cwd {
            let project = self.library.directory.project(Path::new(cwd));
            let name = project.file_name().unwrap_or_default().as_bytes();
            let prefix = [name, b"/"].concat();
            let directory = &self.library.directory;
            let mut paths = vec![cwd.clone()];
            let former = directory.former_paths(Path::new(cwd)).into_iter();
            paths.extend(former.map(|path| path.to_string_lossy().into_owned()));
            let paths = serde_json::Value::from(paths).to_string();
            let is_in = "(cwd IN (SELECT value FROM json_each(?)) OR cwd = '')";
            add(is_in, Value::Text(paths));
            // A damaged header has no directory, but the file is still in the project's folder.
            let length = prefix.len();
            let sql = format!("(cwd <> '' OR substr(path, 1, {length}) = ?)");
            add(&sql, Value::Blob(prefix));
        }
        if let Some(since) = filter.since {
            add("active >= ?", Value::Integer(since));
        }
        if let Some(model) = &filter.model {
            add(
                "instr(lower(models), lower(?)) > 0",
                Value::Text(model.clone()),
            );
        }
        if let Some(name) = &filter.name {
            let place = values.len() + 1;
            values.extend([name.nfc().collect(), name.nfd().collect()].map(Value::Text));
            let has = |place| format!("instr(lower(name), lower(?{place})) > 0");
            parts.push(format!("({} OR {})", has(place), has(place + 1)));
        }
        if filter.only_apart || !filter.apart.is_empty() {
            values.push(ids(&filter.apart));
            let not = if filter.only_apart { "" } else { "NOT " };
            parts.push(format!("{not}{}", among(values.len())));
        }
        if filter.named {
            parts.push("name IS NOT NULL AND name <> ''".to_owned());
        }
        (parts.join(" AND "), values)
    }

    fn session(&self, row: &Row<'_>) -> rusqlite::Result<SessionRow> {
        let path: Vec<u8> = row.get(0)?;
        let path = self
            .library
            .directory
            .root()
            .join(std::ffi::OsStr::from_bytes(&path));
        let count = |place| row.get::<_, i64>(place).map(|count| count as u64);
        let labels: std::collections::BTreeMap<String, String> =
            serde_json::from_str(&row.get::<_, String>(15)?).unwrap_or_default();
        let used = models(&row.get::<_, String>(14)?);
        Ok(SessionRow {
            path,
            id: row.get(1)?,
            cwd: row.get(2)?,
            name: row.get(3)?,
            first_prompt: row.get(4)?,
            created: row.get(5)?,
            active: row.get(6)?,
            size: count(7)?,
            prompts: count(8)?,
            answers: count(9)?,
            tool_calls: count(10)?,
            damaged: count(11)?,
            tokens: count(12)?,
            cost: row.get(13)?,
            models: used.into_iter().map(|model| model.model).collect(),
            labels: labels.into_values().collect(),
            parent: row.get(16)?,
            last_prompt: row.get(20)?,
            fork_of: row.get(21)?,
            whole: count(17)? > 0 && row.get::<_, i64>(18)? != 0,
        })
    }
}

/// A list of ids as one SQL value.
fn ids(ids: &[String]) -> Value {
    Value::Text(serde_json::json!(ids).to_string())
}

/// The condition that a session's id is in the list with this parameter number.
fn among(number: usize) -> String {
    format!("(id IN (SELECT value FROM json_each(?{number})))")
}

/// Numbers of the sessions with the letters in their name or first prompt, best match first.
fn narrow(
    connection: &Connection,
    letters: &str,
    condition: &str,
    values: &[Value],
    sort: Sort,
) -> Result<Vec<i64>, IndexError> {
    let order = order_by(sort);
    let sql = format!(
        "SELECT number, name, substr(prompt, 1, {FUZZY}), \
         CASE WHEN parent IS NOT NULL THEN 'fork ' || substr(coalesce(last_prompt, ''), 1, {FUZZY}) END \
         FROM sessions WHERE {condition} ORDER BY {order}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let pattern = Pattern::parse(
        &composed(letters),
        CaseMatching::Smart,
        Normalization::Smart,
    );
    let mut matcher = Matcher::new(Config::DEFAULT);
    let (mut found, mut buffer, mut text) = (Vec::new(), Vec::new(), String::new());
    while let Some(row) = rows.next()? {
        text.clear();
        for place in [1, 2, 3] {
            if let Some(part) = row.get_ref(place)?.as_str_or_null().unwrap_or_default() {
                text.push_str(part);
                text.push(' ');
            }
        }
        if let Some(score) =
            pattern.score(Utf32Str::new(&composed(&text), &mut buffer), &mut matcher)
        {
            found.push((score, row.get::<_, i64>(0)?));
        }
    }
    // The sort is stable: equal scores retain the order of the list.
    sort::by_key(&mut found, |(score, _)| std::cmp::Reverse(*score));
    Ok(found.into_iter().map(|(_, number)| number).collect())
}
