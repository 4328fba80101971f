//! Selects the sessions of a subcommand.

use std::path::PathBuf;

use clap::ValueEnum;

use super::context::SessionsContext;
use osier_base::clock;
use osier_index::SessionFilter;
use osier_protocol::Sort;

/// The filter flags of `list`, `search` and `stats`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct FilterArgs {
    /// Include the sessions of all directories
    #[arg(long, short)]
    pub all: bool,

    /// Select the sessions of this directory
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with = "all")]
    pub directory: Option<PathBuf>,

    /// Select sessions used since a date (2026-01-31) or within a period (30m, 12h, 7d, 2w)
    #[arg(long, value_name = "WHEN", value_parser = since_now)]
    pub since: Option<i64>,

    /// Select sessions whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,

    /// Select only sessions with a name
    #[arg(long)]
    pub named: bool,

    /// Select sessions with a model whose PROVIDER/ID contains this text
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
}

impl FilterArgs {
    /// The filter of the flags; `everywhere` when the default is every directory.
    pub(super) fn filter(&self, context: &SessionsContext<'_>, everywhere: bool) -> SessionFilter {
        let cwd = match &self.directory {
            Some(directory) => {
                let path = context.cwd.join(directory);
                // A deleted directory still has its sessions.
                Some(path.canonicalize().unwrap_or(path))
            }
            None => (!self.all && !everywhere).then(|| context.cwd.to_owned()),
        };
        SessionFilter {
            cwd: cwd.map(|path| path.to_string_lossy().into_owned()),
            since: self.since,
            name: self.name.clone(),
            named: self.named,
            model: self.model.clone(),
            ..SessionFilter::default()
        }
    }
}

/// The sort order of `--sort`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Order {
    #[default]
    Used,
    Created,
    Cost,
    Size,
    Name,
}

impl From<Order> for Sort {
    fn from(order: Order) -> Self {
        match order {
            Order::Used => Self::Active,
            Order::Created => Self::Created,
            Order::Cost => Self::Cost,
            Order::Size => Self::Size,
            Order::Name => Self::Name,
        }
    }
}

fn since_now(text: &str) -> Result<i64, String> {
    since(text, clock::now_ms())
}

/// Parses a date, a time or a period before `now`, in milliseconds since the epoch.
fn since(text: &str, now: i64) -> Result<i64, String> {
    let invalid = || {
        "expected a date such as `2026-01-31` or a period such as `30m`, `12h`, `7d` or `2w`"
            .to_owned()
    };
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    if let Ok(date) = text.parse::<jiff::civil::Date>() {
        let zoned = date.to_zoned(jiff::tz::TimeZone::system());
        return zoned
            .map(|zoned| zoned.timestamp().as_millisecond())
            .map_err(|_| invalid());
    }
    let unit = text.chars().last().ok_or_else(invalid)?;
    let minutes = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        'w' => 7 * 24 * 60,
        _ => return Err(invalid()),
    };
    let count: i64 = text[..text.len() - unit.len_utf8()]
        .parse()
        .map_err(|_| invalid())?;
    let age = count.checked_mul(minutes * 60_000).filter(|age| *age >= 0);
    Ok(now.saturating_sub(age.ok_or_else(invalid)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_parses_dates_and_periods() {
        let now = 1_800_000_000_000;
        assert_eq!(since("2026-01-01T00:00:00Z", now), Ok(1_767_225_600_000));
        assert!(since("2026-01-01", now).is_ok());
        assert_eq!(since("1w", now), Ok(1_799_395_200_000));
        assert_eq!(since("30m", now), Ok(1_799_998_200_000));
        for wrong in ["", "d", "x7", "-3d", "7 days", "9223372036854775807w", "é"] {
            assert!(since(wrong, now).is_err(), "{wrong}");
        }
    }
}
