//! The cost of sessions by model.

use osier_base::sort;
use rusqlite::params_from_iter;

use super::error::IndexError;
use super::list::SessionFilter;
use super::schema::IndexReader;
use super::update::models;
use osier_protocol::ModelCost;

impl IndexReader {
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
