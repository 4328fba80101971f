//! Asks for what was published since this build, and keeps what differs from the bundled table in one small
//! file of the data folder. Only on request, or once a day where `refresh_models` says so; never while a
//! session starts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::{atomic_file, clock};
use osier_llm::HttpOptions;
use osier_llm::catalogue::Published;
use osier_llm::catalogue::refresh::{DOCUMENT_LIMIT, Reading};
use osier_llm::http::{Fetch, Fetched};

/// How long the answer may take, all of it.
const PATIENCE: Duration = Duration::from_mins(1);
/// Milliseconds between two questions of a running program.
const A_DAY: i64 = 24 * 60 * 60 * 1000;

/// The file as it is kept.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// Where it came from.
    source: String,
    /// When it was asked for last, in milliseconds since the epoch.
    asked: i64,
    /// The same for people, of when it last changed.
    date: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    providers: Published,
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq)]
pub enum Refreshed {
    /// Nothing was published since it was asked for last, on this date.
    Unchanged { date: String },
    Taken {
        new: usize,
        changed: usize,
        /// Models whose facts are not plausible.
        left_out: usize,
    },
}

impl Refreshed {
    /// For people, as one line.
    pub fn described(&self) -> String {
        match self {
            Self::Unchanged { date } => format!("nothing was published since {date}"),
            Self::Taken {
                new,
                changed,
                left_out,
            } => {
                let left_out = match left_out {
                    0 => String::new(),
                    count => format!("; {count} left out, whose facts are not plausible"),
                };
                format!("{new} new models, {changed} with other prices or limits{left_out}")
            }
        }
    }
}

/// Asks `source` and keeps what it says. On an error nothing has changed.
///
/// # Errors
/// One sentence.
pub async fn refresh(
    folders: &Folders,
    http: &HttpOptions,
    source: &str,
) -> Result<Refreshed, String> {
    let path = folders.published();
    let kept = kept(&path)
        .ok()
        .flatten()
        .filter(|kept| kept.source == source);
    let fetch = Fetch {
        url: source,
        token: None,
        etag: kept.as_ref().and_then(|kept| kept.etag.as_deref()),
        limit: DOCUMENT_LIMIT,
        time: PATIENCE,
    };
    let failed = |reason: String| format!("the published models were not taken: {reason}");
    let fetched = fetch.run(http).await;
    let now = clock::now_ms();
    let (fresh, outcome) = match fetched.map_err(|status| failed(status.message().to_owned()))? {
        Fetched::Unchanged => {
            let kept = kept.unwrap_or_default();
            let date = kept.date.clone();
            (Kept { asked: now, ..kept }, Refreshed::Unchanged { date })
        }
        Fetched::Whole { body, etag } => {
            // Some megabytes of JSON: not on the thread that draws.
            let read = tokio::task::spawn_blocking(move || Published::read(&body)).await;
            let read = read.map_err(|error| failed(error.to_string()))?;
            let Reading {
                published,
                new,
                changed,
                left_out,
            } = read.map_err(|reason| failed(format!("`{source}`: {reason}")))?;
            let date = clock::rfc3339(now);
            let fresh = Kept {
                source: source.to_owned(),
                asked: now,
                date: date.get(..10).unwrap_or_default().to_owned(),
                etag,
                providers: published,
            };
            let outcome = Refreshed::Taken {
                new,
                changed,
                left_out,
            };
            (fresh, outcome)
        }
    };
    let text = serde_json::to_vec(&fresh).map_err(|error| failed(error.to_string()))?;
    atomic_file::write(&path, &text)
        .map_err(|error| failed(format!("{error}; {}", error.hint())))?;
    Ok(outcome)
}

/// Whether a day has passed since it was asked for last.
pub fn is_due(folders: &Folders) -> bool {
    match kept(&folders.published()) {
        Ok(Some(kept)) => !(0..A_DAY).contains(&(clock::now_ms() - kept.asked)),
        _ => true,
    }
}

/// What is kept. A file that cannot be used is told, and the bundled table stands alone.
pub fn read(path: &Path, problems: &mut Vec<Problem>) -> Published {
    match kept(path) {
        Ok(kept) => kept.unwrap_or_default().providers,
        Err(reason) => {
            let hint = "the bundled models are used: `osier models --refresh` writes it anew";
            problems.push(Problem::of_file(path, reason, hint));
            Published::default()
        }
    }
}

fn kept(path: &Path) -> Result<Option<Kept>, String> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| format!("is damaged: {error}"))
}
