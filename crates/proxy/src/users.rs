//! The users of this server and their usage: one SQLite file that the server and `osier serve users` share. It stores
//! only digests of tokens.

use parking_lot::{Mutex, MutexGuard};
use std::path::Path;
use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use osier_base::clock;
use osier_base::hex::hex;
use osier_base::regular_file::ReadError;
use osier_base::{private, regular_file};

use super::store::{
    Amount, Reservation, ReservationError, Spent, User, UserRow, UserRules, UserStore, UsersError,
};

/// Maximum number of calls of a user at the same time, unless the user has another one.
pub const MAX_CALLS: u32 = 32;
/// The smallest cost that is stored, in US dollars. Costs are rounded up to a multiple of it.
const COST_STEP: f64 = 1e-6;
/// How long to wait for another process's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS users (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL UNIQUE,
  monthly_limit REAL,
  made INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS usage (
  user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  month TEXT NOT NULL,
  model TEXT NOT NULL,
  calls INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  cost REAL NOT NULL,
  PRIMARY KEY (user, month, model)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reservations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  month TEXT NOT NULL,
  model TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  cost REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS reservations_of_user ON reservations (user);
";

/// Columns that files of earlier versions do not have.
const ADDED_COLUMNS: [(&str, &str); 2] = [("calls", "INTEGER"), ("models", "TEXT")];

/// The rules of a user, for `rules_of`.
const RULES: &str = "monthly_limit, users.calls, models";

/// The users of a server.
#[derive(Debug)]
pub struct Users(Mutex<Connection>);

impl Users {
    /// Opens the file in the folder `data`; creates it, private to its owner, if it is missing.
    pub fn open(data: &Path) -> Result<Self, UsersError> {
        let path = data.join("serve-users.sqlite");
        let failed = |source| UsersError::File {
            path: path.clone(),
            source,
        };
        private::create_folder(data).map_err(failed)?;
        regular_file::open_append(&path, private::FILE_MODE).map_err(failed)?;
        if !regular_file::is_database(&path) {
            return Err(failed(ReadError::NotRegular.into()));
        }
        let connection = Connection::open(&path)?;
        connection.busy_timeout(LOCK_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // A crash of the system can lose the last calls, a kill of the server cannot.
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.execute_batch(SCHEMA)?;
        for (column, kind) in ADDED_COLUMNS {
            let known = "SELECT 1 FROM pragma_table_info('users') WHERE name = ?1";
            if !connection.prepare(known)?.exists([column])? {
                connection
                    .execute_batch(&format!("ALTER TABLE users ADD COLUMN {column} {kind}"))?;
            }
        }
        Ok(Self(Mutex::new(connection)))
    }

    /// Adds a user and returns the token, which is not stored.
    pub fn add(&self, name: &str, rules: &UserRules) -> Result<String, UsersError> {
        let is_part = |char: char| char.is_alphanumeric() || ".-_@".contains(char);
        if name.is_empty() || !name.chars().all(is_part) {
            return Err(UsersError::Name(name.to_owned()));
        }
        let token = token()?;
        let models = (!rules.models.is_empty()).then(|| rules.models.join("\n"));
        let added = self.lock().execute(
            "INSERT INTO users (name, digest, monthly_limit, calls, models, made)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (name) DO NOTHING",
            params![
                name,
                digest(&token),
                rules.limit,
                rules.calls,
                models,
                clock::now_ms()
            ],
        )?;
        if added == 0 {
            return Err(UsersError::Taken(name.to_owned()));
        }
        Ok(token)
    }

    /// Replaces the token of a user and returns the new one. The usage stays.
    pub fn replace_token(&self, name: &str) -> Result<String, UsersError> {
        let token = token()?;
        let changed = self.lock().execute(
            "UPDATE users SET digest = ?2 WHERE name = ?1",
            params![name, digest(&token)],
        )?;
        if changed == 0 {
            return Err(UsersError::Unknown(name.to_owned()));
        }
        Ok(token)
    }

    /// Counts the reservations of a server that was killed as spent. A server calls this before its first call.
    pub fn settle_interrupted(&self) -> Result<(), UsersError> {
        let mut connection = self.lock();
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute_batch(
            "INSERT INTO usage (user, month, model, calls, tokens, cost)
             SELECT user, month, model, COUNT(*), SUM(tokens), SUM(cost) FROM reservations
             WHERE true GROUP BY user, month, model
             ON CONFLICT (user, month, model) DO UPDATE SET calls = calls + excluded.calls,
               tokens = tokens + excluded.tokens, cost = cost + excluded.cost;
             DELETE FROM reservations;",
        )?;
        Ok(change.commit()?)
    }

    /// Removes a user with all usage.
    pub fn remove(&self, name: &str) -> Result<(), UsersError> {
        let removed = self
            .lock()
            .execute("DELETE FROM users WHERE name = ?1", [name])?;
        if removed == 0 {
            return Err(UsersError::Unknown(name.to_owned()));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // The next transaction rolls back what a panic left.
        self.0.lock()
    }
}

impl UserStore for Users {
    fn find(&self, token: &str) -> Result<Option<User>, UsersError> {
        let connection = self.lock();
        let mut found = connection.prepare_cached(&format!(
            "SELECT {RULES}, id, name FROM users WHERE digest = ?1"
        ))?;
        let user = found.query_row([digest(token)], |row| {
            Ok(User {
                id: row.get(3)?,
                name: row.get(4)?,
                rules: rules_of(row)?,
            })
        });
        Ok(user.optional()?)
    }

    fn reserve(
        &self,
        user: &User,
        model: &str,
        most: Amount,
    ) -> Result<Reservation, ReservationError> {
        let mut connection = self.lock();
        let change = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(UsersError::from)?;
        let month = month();
        let running = running(&change, user, &month)?;
        let calls = user.rules.calls.unwrap_or(MAX_CALLS);
        if running.calls >= u64::from(calls) {
            return Err(ReservationError::Calls(calls));
        }
        let cost = rounded_up(most.cost);
        if let Some(limit) = user.rules.limit {
            let spent = running.cost + spent(&change, user, &month)?;
            // A call that runs alone can exceed the limit once: its highest cost is far above the usual one.
            let fits = spent + cost <= limit || running.calls == 0;
            if spent >= limit || !fits {
                return Err(ReservationError::Spent { spent, limit });
            }
        }
        let reserved = reserve(&change, user, &month, model, most.tokens, cost);
        let reserved = reserved.and_then(|reservation| change.commit().map(|()| reservation));
        Ok(reserved.map_err(UsersError::from)?)
    }

    fn settle(&self, reservation: Reservation, used: Option<Amount>) -> Result<(), UsersError> {
        let mut connection = self.lock();
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(used) = used {
            let tokens = i64::try_from(used.tokens).unwrap_or(i64::MAX);
            change
                .prepare_cached(
                    "INSERT INTO usage (user, month, model, calls, tokens, cost)
                     SELECT user, month, model, 1, ?2, ?3 FROM reservations WHERE id = ?1
                     ON CONFLICT (user, month, model) DO UPDATE SET calls = calls + 1,
                       tokens = tokens + excluded.tokens, cost = cost + excluded.cost",
                )?
                .execute(params![reservation.0, tokens, rounded_up(used.cost)])?;
        }
        change
            .prepare_cached("DELETE FROM reservations WHERE id = ?1")?
            .execute([reservation.0])?;
        Ok(change.commit()?)
    }

    fn list(&self) -> Result<Vec<UserRow>, UsersError> {
        let connection = self.lock();
        let mut rows = connection.prepare(&format!(
            "SELECT {RULES}, name, made,
               COALESCE(SUM(usage.calls) FILTER (WHERE month = ?1), 0),
               COALESCE(SUM(tokens) FILTER (WHERE month = ?1), 0),
               COALESCE(SUM(cost) FILTER (WHERE month = ?1), 0.0),
               COALESCE(SUM(usage.calls), 0), COALESCE(SUM(tokens), 0), COALESCE(SUM(cost), 0.0)
             FROM users LEFT JOIN usage ON usage.user = users.id
             GROUP BY users.id ORDER BY name"
        ))?;
        let rows = rows.query_map([month()], |row| {
            let spent = |first: usize| -> rusqlite::Result<Spent> {
                let whole = |place| row.get::<_, i64>(place).map(i64::unsigned_abs);
                Ok(Spent {
                    calls: whole(first)?,
                    tokens: whole(first + 1)?,
                    cost: row.get(first + 2)?,
                })
            };
            Ok(UserRow {
                rules: rules_of(row)?,
                name: row.get(3)?,
                made: row.get(4)?,
                month: spent(5)?,
                all: spent(8)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The rules in the first columns of a row.
fn rules_of(row: &Row<'_>) -> rusqlite::Result<UserRules> {
    let models: Option<String> = row.get(2)?;
    let models = models.unwrap_or_default();
    Ok(UserRules {
        limit: row.get(0)?,
        calls: row.get(1)?,
        models: models.lines().map(str::to_owned).collect(),
    })
}

/// The reservations of a user: the number of all calls, and the cost of the calls in `month`.
fn running(change: &Transaction<'_>, user: &User, month: &str) -> Result<Spent, UsersError> {
    let mut sum = change.prepare_cached(
        "SELECT COUNT(*), COALESCE(SUM(cost) FILTER (WHERE month = ?2), 0.0)
         FROM reservations WHERE user = ?1",
    )?;
    Ok(sum.query_row(params![user.id, month], |row| {
        Ok(Spent {
            calls: row.get::<_, i64>(0)?.unsigned_abs(),
            tokens: 0,
            cost: row.get(1)?,
        })
    })?)
}

/// The spending of a user in `month`, in US dollars.
fn spent(change: &Transaction<'_>, user: &User, month: &str) -> Result<f64, UsersError> {
    let mut sum = change.prepare_cached(
        "SELECT COALESCE(SUM(cost), 0.0) FROM usage WHERE user = ?1 AND month = ?2",
    )?;
    Ok(sum.query_row(params![user.id, month], |row| row.get(0))?)
}

fn reserve(
    change: &Transaction<'_>,
    user: &User,
    month: &str,
    model: &str,
    tokens: u64,
    cost: f64,
) -> rusqlite::Result<Reservation> {
    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
    change
        .prepare_cached(
            "INSERT INTO reservations (user, month, model, tokens, cost) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![user.id, month, model, tokens, cost])?;
    Ok(Reservation(change.last_insert_rowid()))
}

/// A cost rounded up to a multiple of `COST_STEP`.
fn rounded_up(cost: f64) -> f64 {
    (cost / COST_STEP - 1e-6).ceil().max(0.0) * COST_STEP + 0.0
}

/// The current month in UTC: `2026-11`.
fn month() -> String {
    clock::rfc3339(clock::now_ms())[..7].to_owned()
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// 256 random bits.
fn token() -> Result<String, UsersError> {
    let mut bytes = [0_u8; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| UsersError::Random)?;
    Ok(format!("osier-{}", hex(bytes)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn amount(tokens: u64, cost: f64) -> Amount {
        Amount { tokens, cost }
    }

    fn limited(limit: f64) -> UserRules {
        UserRules {
            limit: Some(limit),
            ..UserRules::default()
        }
    }

    fn spend(users: &Users, user: &User, used: Amount) {
        let reservation = users.reserve(user, "a/one", used).unwrap();
        users.settle(reservation, Some(used)).unwrap();
    }

    #[test]
    fn users_are_identified_by_token_and_counted_separately() {
        let folder = tempfile::tempdir().unwrap();
        let users = Users::open(folder.path()).unwrap();
        let rules = limited(2.0);
        let ann = users.add("ann", &rules).unwrap();
        users.add("bob", &UserRules::default()).unwrap();
        assert!(matches!(
            users.add("ann", &rules),
            Err(UsersError::Taken(_))
        ));
        assert!(matches!(users.add("a b", &rules), Err(UsersError::Name(_))));
        let user = users.find(&ann).unwrap().unwrap();
        assert_eq!((user.name.as_str(), &user.rules), ("ann", &rules));
        assert_eq!(users.find("osier-none").unwrap(), None);
        spend(&users, &user, amount(10, 0.5));
        spend(&users, &user, amount(15, 1.25));
        // Another process reads the same data. A new token keeps it.
        let again = Users::open(folder.path()).unwrap();
        let new = again.replace_token("ann").unwrap();
        assert_eq!(users.find(&ann).unwrap(), None);
        assert_eq!(users.find(&new).unwrap(), Some(user.clone()));
        let spent = Spent {
            calls: 2,
            tokens: 25,
            cost: 1.75,
        };
        let rows = again.list().unwrap();
        let listed: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.month, row.all))
            .collect();
        let none = Spent::default();
        assert_eq!(listed, [("ann", spent, spent), ("bob", none, none)]);
        again.remove("ann").unwrap();
        assert!(matches!(again.remove("ann"), Err(UsersError::Unknown(_))));
        assert_eq!(users.list().unwrap().len(), 1);
        let file = folder.path().join("serve-users.sqlite");
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn parallel_calls_share_the_limit_and_interrupted_ones_are_spent() {
        let folder = tempfile::tempdir().unwrap();
        let users = Users::open(folder.path()).unwrap();
        let token = users.add("ann", &limited(1.0)).unwrap();
        let ann = users.find(&token).unwrap().unwrap();
        let first = users.reserve(&ann, "a/one", amount(1, 0.75)).unwrap();
        let refused = users.reserve(&ann, "a/one", amount(1, 0.5));
        assert!(matches!(refused, Err(ReservationError::Spent { .. })));
        users.reserve(&ann, "a/one", amount(1, 0.25)).unwrap();
        users.settle(first, None).unwrap();
        users.settle_interrupted().unwrap();
        let spent = users.list().unwrap()[0].month;
        assert_eq!((spent.calls, spent.cost.to_string().as_str()), (1, "0.25"));
        // Nothing is counted twice.
        users.settle(first, Some(amount(1, 1.0))).unwrap();
        assert_eq!(users.list().unwrap()[0].month, spent);
    }

    #[test]
    fn costs_are_rounded_up() {
        let shown = [0.0, 1e-9, 0.0001, 0.016, 0.1 + 0.2].map(super::super::store::dollars);
        assert_eq!(
            shown,
            ["$0.0000", "$0.0001", "$0.0001", "$0.0160", "$0.3000"]
        );
        let stored = [0.0, 1e-9].map(|cost| rounded_up(cost).to_string());
        assert_eq!(stored, ["0", "0.000001"]);
    }
}
