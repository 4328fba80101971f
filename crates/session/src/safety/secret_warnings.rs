//! Warns about keys and passwords in the texts that a model gets: results of tools, attachments and the output of the
//! user's commands.
//!
//! Each text is scanned once, on another thread, when it enters the conversation. A secret is reported once per session,
//! by its name, its place and at most four of its characters.

use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::emitter::Emitter;
use osier_agent::{AgentMessage, Interceptor, Severity, StopRun};
use osier_base::secrets::{self, Found};
use osier_base::text::counted;
use osier_base::{path, visible};
use osier_tools::READ;

/// Secrets of one text that are named; the rest is counted.
const NAMED: usize = 4;
/// Values shorter than this are not shown in part: four characters would be much of a password.
const SHORTEST_SHOWN: usize = 16;

/// The interceptor that scans. Not created when the setting is off.
#[derive(Debug)]
pub(crate) struct SecretWarnings {
    emitter: Emitter,
    cwd: PathBuf,
    reported: Arc<Reported>,
}

/// Hashes of the secrets that were reported: the secrets themselves are not stored.
#[derive(Debug, Default)]
struct Reported {
    hasher: RandomState,
    hashes: Mutex<HashSet<u64>>,
}

impl Reported {
    /// Whether the secret is new.
    fn add(&self, secret: &str) -> bool {
        let hash = self.hasher.hash_one(secret);
        let mut hashes = self.hashes.lock();
        hashes.insert(hash)
    }
}

/// A text and where it is from.
struct Source {
    name: String,
    text: String,
    /// Lines start with their number in the file.
    numbered: bool,
}

impl SecretWarnings {
    pub(crate) fn new(emitter: &Emitter, cwd: &Path) -> Self {
        Self {
            emitter: emitter.detached(),
            cwd: cwd.to_owned(),
            reported: Arc::default(),
        }
    }

    /// The texts of a message that a model gets, except text that the user typed or a model wrote.
    fn sources(&self, message: &AgentMessage) -> Vec<Source> {
        match message {
            AgentMessage::User(message) => {
                let files = message.attachments.iter();
                let texts = files.filter_map(|file| Some((file, file.extracted_text.clone()?)));
                texts
                    .map(|(file, text)| Source {
                        name: format!("`{}`", visible::one_line(&file.file_name, 200)),
                        text,
                        numbered: false,
                    })
                    .collect()
            }
            AgentMessage::ToolResult(message) => {
                let file = message.details["filePath"].as_str();
                let tool = &message.result.tool_name;
                let name = match file {
                    Some(file) => {
                        let file = path::display(Path::new(file), &self.cwd);
                        format!("`{}`", visible::one_line(&file, 200))
                    }
                    None => format!("the result of `{}`", visible::one_line(tool, 60)),
                };
                let texts = message.result.content.iter();
                texts
                    .filter_map(|block| block.as_text())
                    .map(|text| Source {
                        name: name.clone(),
                        text: text.to_owned(),
                        numbered: file.is_some() && tool == READ,
                    })
                    .collect()
            }
            AgentMessage::ShellRun(run) if !run.exclude_from_context => vec![Source {
                name: format!("the output of `{}`", visible::one_line(&run.command, 60)),
                text: run.output.clone(),
                numbered: false,
            }],
            _ => Vec::new(),
        }
    }
}

#[async_trait]
impl Interceptor for SecretWarnings {
    async fn commit(&self, message: &AgentMessage) -> Result<(), StopRun> {
        let sources = self.sources(message);
        if !sources.is_empty() {
            let (reported, emitter) = (Arc::clone(&self.reported), self.emitter.clone());
            osier_base::task::spawn_blocking(move || {
                for source in &sources {
                    if let Some(warning) = warning(source, &reported) {
                        emitter.post_notice(Severity::Warning, warning);
                    }
                }
            });
        }
        Ok(())
    }
}

/// The warning about the new secrets of a text.
fn warning(source: &Source, reported: &Reported) -> Option<String> {
    let found = secrets::scan(&source.text).into_iter();
    let new: Vec<String> = found
        .filter(|found| reported.add(&source.text[found.range.clone()]))
        .map(|found| describe(source, &found))
        .collect();
    let (first, rest) = new.split_first()?;
    let name = &source.name;
    if rest.is_empty() {
        let (line, secret) = first.split_once(": ")?;
        return Some(format!(
            "{name} {line} contains a secret that was sent to the model: {secret}"
        ));
    }
    let count = counted(new.len(), "secret", "secrets");
    let mut named: Vec<String> = new.iter().take(NAMED).cloned().collect();
    if new.len() > NAMED {
        named.push(format!("{} more", new.len() - NAMED));
    }
    Some(format!(
        "{name} contains {count} that were sent to the model: {}",
        named.join("; ")
    ))
}

/// `line 3: AWS access key (AKIA…)`.
fn describe(source: &Source, found: &Found) -> String {
    let (before, secret) = (
        &source.text[..found.range.start],
        &source.text[found.range.clone()],
    );
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let shown = source.text[line_start..].split('\t').next().map(str::trim);
    let number = shown.and_then(|number| number.parse::<usize>().ok());
    let line = number.filter(|_| source.numbered);
    let line = line.unwrap_or_else(|| before.matches('\n').count() + 1);
    let start: String = secret.chars().take(4).collect();
    match secret.len() {
        SHORTEST_SHOWN.. => format!(
            "line {line}: {} ({}…)",
            found.name,
            visible::one_line(&start, 40)
        ),
        _ => format!("line {line}: {}", found.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_reported_once_with_its_place_and_its_start() {
        let key = format!("AKIA{}", "Q7W2E9R4T6Y1U8I3");
        let url = format!("postgres://app:{}@db", "s3cr3t");
        let reported = Reported::default();
        let of = |text: String, numbered| {
            let name = "`.env`".to_owned();
            warning(
                &Source {
                    name,
                    text,
                    numbered,
                },
                &reported,
            )
        };
        assert_eq!(of("A=1\n".to_owned(), false), None);
        assert_eq!(
            of(format!("    12\tA=1\n    13\tB={key}\n"), true).unwrap(),
            "`.env` line 13 contains a secret that was sent to the model: AWS access key (AKIA…)"
        );
        assert_eq!(of(format!("again {key}"), false), None);
        let token = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fL");
        assert_eq!(
            of(format!("{key}\n{url}\n{token}"), false).unwrap(),
            "`.env` contains 2 secrets that were sent to the model: line 2: password of a URL; \
             line 3: GitHub token (ghp_…)"
        );
    }
}
