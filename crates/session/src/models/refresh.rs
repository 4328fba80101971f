//! Downloads models that were published since this build, and stores the differences to the bundled table in one small
//! file of the data directory. On request, or once a day unless `refresh_models` is off; never while a session starts.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use osier_base::atomic_file::Options;
use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::regular_file::{self, ReadError};
use osier_base::{atomic_file, clock};
use osier_llm::HttpOptions;
use osier_llm::catalogue::refresh::{DOCUMENT_LIMIT, Reading};
use osier_llm::catalogue::{Published, VendorList};
use osier_llm::http::{Fetch, Fetched};

/// The time limit of the download.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The size and time limits of the list of a provider.
const LIST_LIMIT: usize = 8 * 1024 * 1024;
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// Milliseconds between two downloads.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The stored file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredModels {
    /// The URL of the source.
    source: String,
    /// The time of the last download, in milliseconds since the epoch.
    #[serde(rename = "asked")]
    downloaded: i64,
    /// The date of the last change, for people.
    date: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    providers: Published,
}

/// The result of a refresh.
#[derive(Debug, Clone, PartialEq)]
pub enum Refreshed {
    /// Nothing was published since this date.
    Unchanged { date: String, lists: Lists },
    Taken {
        new: usize,
        changed: usize,
        /// Models with implausible data.
        left_out: usize,
        lists: Lists,
    },
}

/// The models that the lists of the providers themselves added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lists {
    pub new: usize,
    /// Providers whose list cannot be read.
    pub failed: Vec<String>,
}

impl Lists {
    fn described(&self) -> String {
        let mut text = match self.new {
            0 => String::new(),
            count => format!("; {count} more in the lists of your providers"),
        };
        if !self.failed.is_empty() {
            let _ = write!(text, "; no list from `{}`", self.failed.join("`, `"));
        }
        text
    }
}

impl Refreshed {
    fn with_lists(mut self, (new, failed): (usize, Vec<String>)) -> Self {
        let (Self::Unchanged { lists, .. } | Self::Taken { lists, .. }) = &mut self;
        *lists = Lists { new, failed };
        self
    }

    /// For people, as one line.
    pub fn described(&self) -> String {
        match self {
            Self::Unchanged { date, lists } => {
                format!("nothing was published since {date}{}", lists.described())
            }
            Self::Taken {
                new,
                changed,
                left_out,
                lists,
            } => {
                let left_out = match left_out {
                    0 => String::new(),
                    count => format!("; {count} with implausible data ignored"),
                };
                let lists = lists.described();
                format!("{new} new models, {changed} with other prices or limits{left_out}{lists}")
            }
        }
    }
}

/// Downloads the models from `source` and stores them. An error changes nothing.
///
/// # Errors
/// The download failed, or the file cannot be written.
pub async fn refresh(
    folders: &Folders,
    http: &HttpOptions,
    source: &str,
    lists: &[VendorList],
) -> Result<Refreshed, String> {
    let path = folders.published();
    let stored = stored(&path)
        .ok()
        .flatten()
        .filter(|stored| stored.source == source);
    let fetch = Fetch {
        headers: &[],
        url: source,
        token: None,
        etag: stored.as_ref().and_then(|stored| stored.etag.as_deref()),
        limit: DOCUMENT_LIMIT,
        time: TIMEOUT,
    };
    let failed = |reason: String| format!("cannot refresh the models: {reason}");
    let fetched = fetch.run(http).await;
    let now = clock::now_ms();
    let (mut fresh, outcome) =
        match fetched.map_err(|status| failed(status.message().to_owned()))? {
            Fetched::Unchanged => {
                let stored = stored.unwrap_or_default();
                let date = stored.date.clone();
                (
                    StoredModels {
                        downloaded: now,
                        ..stored
                    },
                    Refreshed::Unchanged {
                        date,
                        lists: Lists::default(),
                    },
                )
            }
            Fetched::Whole { body, etag } => {
                // Some megabytes of JSON.
                let read = osier_base::task::spawn_blocking(move || Published::read(&body)).await;
                let read = read.map_err(|error| failed(error.to_string()))?;
                let Reading {
                    published,
                    new,
                    changed,
                    left_out,
                } = read.map_err(|reason| failed(format!("`{source}`: {reason}")))?;
                let fresh = StoredModels {
                    source: source.to_owned(),
                    downloaded: now,
                    date: clock::local_minute(now)[..10].to_owned(),
                    etag,
                    providers: published,
                };
                let outcome = Refreshed::Taken {
                    new,
                    changed,
                    left_out,
                    lists: Lists::default(),
                };
                (fresh, outcome)
            }
        };
    let listed = add_lists(&mut fresh.providers, http, lists).await;
    let outcome = outcome.with_lists(listed);
    let text = serde_json::to_vec(&fresh).map_err(|error| failed(error.to_string()))?;
    atomic_file::write_with(&path, &text, Options::PRIVATE)
        .map_err(|error| failed(format!("{error}; {}", error.hint())))?;
    Ok(outcome)
}

/// Adds the models in the lists of providers; returns their number and the providers whose list cannot be read.
async fn add_lists(
    published: &mut Published,
    http: &HttpOptions,
    lists: &[VendorList],
) -> (usize, Vec<String>) {
    let fetches = lists.iter().map(|list| async move {
        let fetch = Fetch {
            url: &list.url,
            token: None,
            headers: &list.headers,
            etag: None,
            limit: LIST_LIMIT,
            time: LIST_TIMEOUT,
        };
        (list.provider.clone(), fetch.run(http).await)
    });
    let mut count = 0;
    let mut failed = Vec::new();
    for (provider, fetched) in futures_util::future::join_all(fetches).await {
        match fetched {
            Ok(Fetched::Whole { body, .. }) => count += published.add_list(&provider, &body),
            _ => failed.push(provider),
        }
    }
    (count, failed)
}

/// Whether models were downloaded before.
pub fn is_first(folders: &Folders) -> bool {
    matches!(stored(&folders.published()), Ok(None))
}

/// Whether the last download is a day ago.
pub fn is_due(folders: &Folders) -> bool {
    match stored(&folders.published()) {
        Ok(Some(stored)) => !(0..DAY).contains(&(clock::now_ms() - stored.downloaded)),
        _ => true,
    }
}

/// The stored models. If the file cannot be used, that is a problem and only the bundled models remain.
pub fn read(path: &Path, problems: &mut Vec<Problem>) -> Published {
    match stored(path) {
        Ok(stored) => stored.unwrap_or_default().providers,
        Err(reason) => {
            let hint = "the bundled models are used: `osier models --refresh` replaces the file";
            problems.push(Problem::of_file(path, reason, hint));
            Published::default()
        }
    }
}

fn stored(path: &Path) -> Result<Option<StoredModels>, String> {
    let text = match regular_file::read(path, regular_file::SMALL) {
        Ok(text) => text,
        Err(ReadError::Missing) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| format!("is damaged: {error}"))
}
