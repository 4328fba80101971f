//! The interface of a store of users and their usage.

use std::fmt::Debug;
use std::path::PathBuf;

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

/// Users and what they spend. A call is reserved before it starts and settled when it ends, so that parallel calls
/// cannot spend the same money.
pub trait UserStore: Debug + Send + Sync {
    /// The user with this token.
    ///
    /// # Errors
    /// The store cannot be read.
    fn find(&self, token: &str) -> Result<Option<User>, UsersError>;

    /// Reserves the highest cost of a call.
    ///
    /// # Errors
    /// The limit or the maximum number of calls is reached, or the store cannot be written.
    fn reserve(
        &self,
        user: &User,
        model: &str,
        most: Amount,
    ) -> Result<Reservation, ReservationError>;

    /// Replaces a reservation by what the call used; `None` if the call did not reach a model. A reservation that
    /// was settled before is ignored.
    ///
    /// # Errors
    /// The store cannot be written.
    fn settle(&self, reservation: Reservation, used: Option<Amount>) -> Result<(), UsersError>;

    /// All users by name.
    ///
    /// # Errors
    /// The store cannot be read.
    fn list(&self) -> Result<Vec<UserRow>, UsersError>;
}

/// An authenticated user.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    pub(crate) id: i64,
    pub name: String,
    pub rules: UserRules,
}

impl User {
    /// Whether the user may call `PROVIDER/ID`.
    pub fn may_call(&self, model: &str) -> bool {
        let matches = |allowed: &String| match allowed.strip_suffix('*') {
            Some(start) => model.starts_with(start),
            None => allowed == model,
        };
        self.rules.models.is_empty() || self.rules.models.iter().any(matches)
    }
}

/// The models and the spending that a user is allowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserRules {
    /// Limit in US dollars per month.
    pub limit: Option<f64>,
    /// Maximum number of calls at the same time.
    pub calls: Option<u32>,
    /// The models that the user may call, `PROVIDER/ID` or `PROVIDER/*`; all if empty.
    pub models: Vec<String>,
}

/// Tokens and US dollars of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amount {
    pub tokens: u64,
    pub cost: f64,
}

/// A call that was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation(pub(crate) i64);

/// Why a call cannot be reserved.
#[derive(Debug, thiserror::Error)]
pub enum ReservationError {
    #[error(
        "monthly limit reached: {} of {} are spent or reserved by running calls",
        dollars(*.spent),
        dollars(*.limit)
    )]
    Spent { spent: f64, limit: f64 },
    #[error("{0} calls of this user are running, which is the maximum; retry when one has ended")]
    Calls(u32),
    #[error(transparent)]
    Store(#[from] UsersError),
}

/// A user in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct UserRow {
    pub name: String,
    pub rules: UserRules,
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

/// An amount in US dollars with four digits, rounded up: a cost above zero is never shown as zero.
pub fn dollars(amount: f64) -> String {
    // The subtraction removes the error of sums such as 0.1 + 0.2.
    let steps = (amount * 1e4 - 1e-6).ceil().max(0.0);
    // Adding zero removes the sign of a negative zero.
    format!("${:.4}", steps / 1e4 + 0.0)
}
