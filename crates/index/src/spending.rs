//! The cost of sessions by model, and their usage by day.

use std::path::Path;

use osier_base::sort;
use rusqlite::params_from_iter;

use super::error::IndexError;
use super::facts::Facts;
use super::list::SessionFilter;
use super::reading;
use super::schema::IndexReader;
use super::update::{days, models};
use osier_base::{clock, regular_file};
use osier_protocol::{ModelCost, UsageDay};

/// The usage of the session at `path` by day, with that of the entries that a fork copied. Reads the file.
pub fn usage(path: &Path) -> Result<Vec<UsageDay>, IndexError> {
    let failed = |error| IndexError::io("read", path, error);
    let file = regular_file::open_plain(path).map_err(failed)?;
    let mut facts = Facts {
        counts_copies: true,
        ..Facts::default()
    };
    let now = clock::now_ms();
    reading::read(&file, path, &mut facts, 0, now, &mut |_, _| Ok(()))?;
    Ok(facts.days)
}

impl IndexReader {
    /// The usage of each session by day, and whether all sessions are indexed. Entries that a fork copied count for their
    /// source alone.
    pub fn usage(&self) -> Result<(Vec<Vec<UsageDay>>, bool), IndexError> {
        let sql = "SELECT days, seen > 0 AND written <> 0 FROM sessions";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))
        })?;
        let (mut all, mut complete) = (Vec::new(), true);
        for row in rows {
            let (text, is_complete) = row?;
            all.push(days(&text));
            complete &= is_complete;
        }
        Ok((all, complete))
    }

    /// The usage of every model in the matching sessions, highest cost first.
    pub fn costs(&self, filter: &SessionFilter) -> Result<Vec<ModelCost>, IndexError> {
        let (condition, values) = self.condition(filter);
        let sql = format!("SELECT models FROM sessions WHERE {condition}");
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map(params_from_iter(&values), |row| row.get::<_, String>(0))?;
        let mut all: Vec<ModelCost> = Vec::new();
        for row in rows {
            for used in models(&row?) {
                match all.iter_mut().find(|known| known.model == used.model) {
                    Some(known) => known.join(&used),
                    None => all.push(used),
                }
            }
        }
        sort::by(&mut all, |one, other| {
            let dearest = other.cost.total_cmp(&one.cost);
            dearest.then_with(|| other.tokens().cmp(&one.tokens()))
        });
        Ok(all)
    }
}
