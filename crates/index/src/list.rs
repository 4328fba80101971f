//! Which sessions there are: filtered, sorted, narrowed by letters.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use serde::{Deserialize, Serialize};

use super::error::LibraryError;
use super::row::SessionRow;
use super::schema::{Index, Library};
use super::update::models;

/// Characters of a first prompt in which letters may be far apart.
const FUZZY: usize = 160;

/// Selects sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionFilter {
    /// Those that ran in this directory; all without one.
    pub cwd: Option<String>,
    /// Those in which something was stored since; milliseconds since the Unix epoch.
    pub since: Option<i64>,
    /// The name contains this.
    pub name: Option<String>,
    /// Only those with a name.
    pub named: bool,
    /// The `PROVIDER/ID` of a model contains this.
    pub model: Option<String>,
    /// Letters of the name or the first prompt, in this order; the best matches come first.
    pub letters: Option<String>,
    pub sort: Sort,
    /// Ids of the sessions at the top, when there are no letters.
    pub first: Vec<String>,
    /// Ids of excluded sessions.
    pub apart: Vec<String>,
    /// Those alone, instead.
    pub only_apart: bool,
}

/// In which order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Last used first.
    #[default]
    Active,
    /// Newest first.
    Created,
    /// Dearest first.
    Cost,
    /// Largest first.
    Size,
    /// By name, those without one last.
    Name,
}

impl Sort {
    /// Every order, as a key goes through them.
    pub const ALL: [Self; 5] = [
        Self::Active,
        Self::Created,
        Self::Cost,
        Self::Size,
        Self::Name,
    ];

    fn sql(self) -> &'static str {
        match self {
            Self::Active => "active DESC, number DESC",
            Self::Created => "created DESC, number DESC",
            Self::Cost => "cost DESC, active DESC",
            Self::Size => "size DESC, active DESC",
            Self::Name => "name IS NULL, name COLLATE NOCASE, active DESC",
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "last used",
            Self::Created => "created",
            Self::Cost => "cost",
            Self::Size => "size",
            Self::Name => "name",
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    pub rows: Vec<SessionRow>,
    /// Sessions that match, those that are not in `rows` included.
    pub total: usize,
    /// Whether an index exists; without one, the sessions are unknown.
    pub ready: bool,
}

const COLUMNS: &str = "path, id, cwd, name, prompt, created, active, size, prompts, answers, calls, \
     damaged, tokens, cost, models, labels, parent, seen, written, number";

impl Library {
    /// At most `limit` sessions that match, from the `offset`th on.
    pub fn list(
        &self,
        filter: &SessionFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Listing, LibraryError> {
        match self.open()? {
            Some(index) => index.list(filter, offset, limit),
            None => Ok(Listing::default()),
        }
    }
}

impl Library {
    /// The sessions that were forked from the one with this id, the last used first.
    pub fn forks(&self, id: &str) -> Result<Vec<SessionRow>, LibraryError> {
        let Some(index) = self.open()? else {
            return Ok(Vec::new());
        };
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE parent = ?1 ORDER BY active DESC");
        let mut statement = index.connection.prepare(&sql)?;
        let rows = statement.query_map([id], |row| index.session(row))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Index {
    /// At most `limit` sessions that match, from the `offset`th on.
    pub fn list(
        &self,
        filter: &SessionFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Listing, LibraryError> {
        let connection = &self.connection;
        let (condition, values) = self.condition(filter);
        let letters = filter.letters.as_deref().map(str::trim);
        if let Some(letters) = letters.filter(|letters| !letters.is_empty()) {
            let found = narrow(connection, letters, (&condition, &values), filter.sort)?;
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
        let mut order = filter.sort.sql().to_owned();
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
    pub(super) fn row(&self, number: i64) -> Result<SessionRow, LibraryError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE number = ?1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_row([number], |row| self.session(row))?)
    }

    /// What a filter asks for, but for its letters.
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
            add("(cwd = ? OR cwd = '')", Value::Text(cwd.clone()));
            // A damaged header no longer says where; its file still stands among the project's.
            let length = prefix.len();
            let sql = format!("(cwd <> '' OR substr(path, 1, {length}) = ?)");
            add(&sql, Value::Blob(prefix));
        }
        if let Some(since) = filter.since {
            add("active >= ?", Value::Integer(since));
        }
        if let Some(name) = &filter.name {
            add(
                "instr(lower(name), lower(?)) > 0",
                Value::Text(name.clone()),
            );
        }
        if let Some(model) = &filter.model {
            add(
                "instr(lower(models), lower(?)) > 0",
                Value::Text(model.clone()),
            );
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
            whole: count(17)? > 0 && row.get::<_, i64>(18)? != 0,
        })
    }
}

/// A list of ids as one value.
fn ids(ids: &[String]) -> Value {
    Value::Text(serde_json::json!(ids).to_string())
}

/// Whether a session's id is in the list that is the value of this number.
fn among(number: usize) -> String {
    format!("(id IN (SELECT value FROM json_each(?{number})))")
}

/// Numbers of the sessions with the letters in their name or first prompt, the best first.
fn narrow(
    connection: &Connection,
    letters: &str,
    (condition, values): (&str, &[Value]),
    sort: Sort,
) -> Result<Vec<i64>, LibraryError> {
    let order = sort.sql();
    let sql = format!(
        "SELECT number, name, substr(prompt, 1, {FUZZY}) FROM sessions WHERE {condition} ORDER BY {order}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let pattern = Pattern::parse(letters, CaseMatching::Smart, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let (mut found, mut buffer, mut text) = (Vec::new(), Vec::new(), String::new());
    while let Some(row) = rows.next()? {
        text.clear();
        for place in [1, 2] {
            if let Some(part) = row.get_ref(place)?.as_str_or_null().unwrap_or_default() {
                text.push_str(part);
                text.push(' ');
            }
        }
        if let Some(score) = pattern.score(Utf32Str::new(&text, &mut buffer), &mut matcher) {
            found.push((score, row.get::<_, i64>(0)?));
        }
    }
    // Among equals the order of the list stays.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    Ok(found.into_iter().map(|(_, number)| number).collect())
}
