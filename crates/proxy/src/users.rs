//! The users of this server and their usage: one SQLite file that the server and `osier serve users` share. It stores
//! only digests of tokens.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use osier_base::clock;
use osier_base::hex::hex;
use osier_base::private;
use osier_llm::Usage;

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
";

/// The users of a server.
#[derive(Debug)]
pub struct Users(Mutex<Connection>);

/// An authenticated user.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    id: i64,
    pub name: String,
    /// Limit in US dollars per month.
    pub limit: Option<f64>,
}

/// A user in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct UserRow {
    pub name: String,
    /// Limit in US dollars per month.
    pub limit: Option<f64>,
    /// Time of creation in milliseconds since the Unix epoch.
    pub made: i64,
    /// Usage of the current month.
    pub month: Spent,
    /// Total usage.
    pub all: Spent,
}

/// The usage of a user.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub calls: u64,
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
}

/// Why the users cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    #[error("user `{0}` already exists; remove it first, or choose another name")]
    Taken(String),
    #[error("unknown user `{0}`")]
    Unknown(String),
    #[error("invalid name `{0}`: use letters, digits, `.`, `-`, `_` and `@`")]
    Name(String),
    #[error("cannot use the users in `{}`: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot use the users: {0}")]
    Store(#[from] rusqlite::Error),
    #[error("the system provides no random numbers")]
    Random,
}

impl Users {
    /// Opens the file in the folder `data`; creates it, private to its owner, if it is missing.
    pub fn open(data: &Path) -> Result<Self, UsersError> {
        let path = data.join("serve-users.sqlite");
        let failed = |source| UsersError::File {
            path: path.clone(),
            source,
        };
        private::create_folder(data).map_err(failed)?;
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let connection = Connection::open(&path)?;
        connection.busy_timeout(LOCK_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Adds a user and returns the token, which is not stored.
    pub fn add(&self, name: &str, limit: Option<f64>) -> Result<String, UsersError> {
        let is_part = |char: char| char.is_alphanumeric() || ".-_@".contains(char);
        if name.is_empty() || !name.chars().all(is_part) {
            return Err(UsersError::Name(name.to_owned()));
        }
        let token = token()?;
        let added = self.lock().execute(
            "INSERT INTO users (name, digest, monthly_limit, made) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (name) DO NOTHING",
            params![name, digest(&token), limit, clock::now_ms()],
        )?;
        if added == 0 {
            return Err(UsersError::Taken(name.to_owned()));
        }
        Ok(token)
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

    /// The user with this token.
    pub fn find(&self, token: &str) -> Result<Option<User>, UsersError> {
        let connection = self.lock();
        let mut found = connection
            .prepare_cached("SELECT id, name, monthly_limit FROM users WHERE digest = ?1")?;
        let user = found.query_row([digest(token)], |row| {
            Ok(User {
                id: row.get(0)?,
                name: row.get(1)?,
                limit: row.get(2)?,
            })
        });
        Ok(user.optional()?)
    }

    /// What a user has spent this month, in US dollars.
    pub fn spent(&self, user: &User) -> Result<f64, UsersError> {
        let connection = self.lock();
        let mut sum = connection.prepare_cached(
            "SELECT COALESCE(SUM(cost), 0.0) FROM usage WHERE user = ?1 AND month = ?2",
        )?;
        Ok(sum.query_row(params![user.id, month()], |row| row.get(0))?)
    }

    /// Counts a call.
    pub fn count(&self, user: &User, model: &str, usage: &Usage) -> Result<(), UsersError> {
        let connection = self.lock();
        // The user may have been removed meanwhile.
        let mut count = connection.prepare_cached(
            "INSERT INTO usage (user, month, model, calls, tokens, cost)
             SELECT id, ?2, ?3, 1, ?4, ?5 FROM users WHERE id = ?1
             ON CONFLICT (user, month, model) DO UPDATE SET
               calls = calls + 1, tokens = tokens + excluded.tokens, cost = cost + excluded.cost",
        )?;
        let tokens = i64::try_from(usage.total_tokens()).unwrap_or(i64::MAX);
        count.execute(params![user.id, month(), model, tokens, usage.cost.total])?;
        Ok(())
    }

    /// All users by name.
    pub fn list(&self) -> Result<Vec<UserRow>, UsersError> {
        let connection = self.lock();
        let mut rows = connection.prepare(
            "SELECT name, monthly_limit, made,
               COALESCE(SUM(calls) FILTER (WHERE month = ?1), 0),
               COALESCE(SUM(tokens) FILTER (WHERE month = ?1), 0),
               COALESCE(SUM(cost) FILTER (WHERE month = ?1), 0.0),
               COALESCE(SUM(calls), 0), COALESCE(SUM(tokens), 0), COALESCE(SUM(cost), 0.0)
             FROM users LEFT JOIN usage ON usage.user = users.id
             GROUP BY users.id ORDER BY name",
        )?;
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
                name: row.get(0)?,
                limit: row.get(1)?,
                made: row.get(2)?,
                month: spent(3)?,
                all: spent(6)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // The next transaction rolls back what a panic left.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    use osier_llm::Cost;

    fn usage(tokens: u64, total: f64) -> Usage {
        Usage {
            input: tokens,
            cost: Cost {
                total,
                ..Cost::default()
            },
            ..Usage::default()
        }
    }

    #[test]
    fn users_are_identified_by_token_and_counted_separately() {
        let folder = tempfile::tempdir().unwrap();
        let users = Users::open(folder.path()).unwrap();
        let ann = users.add("ann", Some(2.0)).unwrap();
        let bob = users.add("bob", None).unwrap();
        assert!(matches!(users.add("ann", None), Err(UsersError::Taken(_))));
        assert!(matches!(users.add("a b", None), Err(UsersError::Name(_))));
        let user = users.find(&ann).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.limit), ("ann", Some(2.0)));
        assert_eq!(users.find("osier-none").unwrap(), None);
        users.count(&user, "a/one", &usage(10, 0.5)).unwrap();
        users.count(&user, "a/one", &usage(10, 0.25)).unwrap();
        users.count(&user, "a/two", &usage(5, 1.0)).unwrap();
        assert_eq!(users.spent(&user).unwrap().to_string(), "1.75");
        let other = users.find(&bob).unwrap().unwrap();
        assert_eq!(users.spent(&other).unwrap().to_string(), "0");
        // Another process reads the same data.
        let again = Users::open(folder.path()).unwrap();
        let rows = again.list().unwrap();
        let spent = Spent {
            calls: 3,
            tokens: 25,
            cost: 1.75,
        };
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.month))
            .collect();
        assert_eq!(told, [("ann", spent), ("bob", Spent::default())]);
        assert_eq!(rows[0].all, spent);
        again.remove("ann").unwrap();
        assert!(matches!(again.remove("ann"), Err(UsersError::Unknown(_))));
        assert_eq!(users.find(&ann).unwrap(), None);
        users.count(&user, "a/one", &usage(1, 1.0)).unwrap();
        assert_eq!(users.list().unwrap().len(), 1);
        let file = folder.path().join("serve-users.sqlite");
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
