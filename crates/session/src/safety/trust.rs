//! Trust in the project: whether its files can run code.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use osier_agent::Severity;
use osier_base::config_file::ConfigFile;
use osier_base::path;
use osier_permissions::trust::{ProjectFiles, Trust, TrustState};
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};

use crate::emitter::{Callback, Emitter};
use crate::files::code::AskTrust;
use crate::setup::SessionSetup;

/// The files of the project that can run code, if it is trusted.
pub(crate) fn trusted_files(setup: &SessionSetup) -> ProjectFiles {
    Trust::new(&setup.folders).trusted_files(&setup.cwd)
}

/// The user's decision about files.
#[derive(Debug)]
pub(crate) struct TrustDecision {
    files: ProjectFiles,
    pub trusted: bool,
}

impl TrustDecision {
    /// Whether the decision that is stored before this one trusts the project.
    pub(crate) fn is_stored_trust(&self, setup: &SessionSetup) -> bool {
        Trust::new(&setup.folders).decision(&self.files) == TrustState::Trusted
    }
}

/// Asks the user about the project whatever is decided, for `/trust`.
pub(crate) fn review(
    setup: &SessionSetup,
    questions: Questions,
    emitter: Emitter,
    decided: Callback<TrustDecision>,
) {
    if !setup.answers_questions {
        return emitter.post_notice(
            Severity::Warning,
            "nobody can answer questions here; use `--trust` to trust this folder",
        );
    }
    let (trust, cwd) = (Trust::new(&setup.folders), setup.cwd.clone());
    osier_base::task::spawn(async move {
        let read = osier_base::task::spawn_blocking(move || {
            let files = ProjectFiles::read(&cwd);
            let paths = files.paths().map(|file| path::display(file, &cwd));
            let paths: Vec<String> = paths.collect();
            (trust.decision(&files), paths, files)
        });
        let Ok((state, paths, files)) = read.await else {
            return;
        };
        let title = match state {
            TrustState::Trusted => STAYS_TRUSTED,
            TrustState::Refused => REFUSED,
            TrustState::Changed(_) => CHANGED,
            TrustState::Nothing | TrustState::Undecided(_) if paths.is_empty() => UNDECIDED,
            TrustState::Nothing | TrustState::Undecided(_) => NEW,
        };
        let subject = match paths.as_slice() {
            [] => "no settings, hooks, plugins, servers or agents".to_owned(),
            paths => paths.join("\n"),
        };
        let question = question(subject, title);
        let trusted = match questions.ask(question, &CancellationToken::new()).await {
            Answer::Yes => true,
            Answer::Refuse { .. } => false,
            _ => return,
        };
        let text = if trusted {
            "this folder is trusted: its files that can run code are loaded"
        } else {
            "this folder is not trusted: its files that can run code are ignored"
        };
        decided.call(TrustDecision { files, trusted });
        emitter.post_notice(Severity::Info, text);
    });
}

/// Asks the user about the project if it has files that can run code and there is no decision on their present
/// contents.
pub(crate) fn ask(
    setup: &SessionSetup,
    questions: Questions,
    emitter: Emitter,
    decided: Callback<TrustDecision>,
) {
    let (trust, cwd) = (Trust::new(&setup.folders), setup.cwd.clone());
    let interactive = setup.answers_questions;
    let (servers, environment) = (
        ConfigFile::from(setup.folders.servers()),
        Arc::clone(&setup.environment),
    );
    osier_base::task::spawn(async move {
        let read = {
            let cwd = cwd.clone();
            osier_base::task::spawn_blocking(move || {
                let files = ProjectFiles::read(&cwd);
                let state = trust.state(&files);
                if state != TrustState::Nothing {
                    return (state, files, Vec::new());
                }
                let servers = servers_in(servers, &environment, &cwd);
                let state = match servers.as_slice() {
                    [] => state,
                    _ => trust.decision(&files),
                };
                (state, files, servers)
            })
            .await
        };
        let Ok((state, files, servers)) = read else {
            return;
        };
        for problem in files.rejected() {
            emitter.post_notice(Severity::Warning, problem.to_string());
        }
        let (paths, changed) = match state {
            TrustState::Undecided(paths) => (paths, false),
            TrustState::Changed(paths) => (paths, true),
            _ => return,
        };
        let paths: Vec<String> = paths.iter().map(|file| path::display(file, &cwd)).collect();
        let answer = if interactive {
            let question = if paths.is_empty() {
                question(servers.join("\n"), SERVERS_START)
            } else {
                question(paths.join("\n"), if changed { CHANGED } else { NEW })
            };
            questions.ask(question, &CancellationToken::new()).await
        } else {
            Answer::Dismissed
        };
        match answer {
            Answer::Yes => decided.call(TrustDecision {
                files,
                trusted: true,
            }),
            Answer::Refuse { .. } => decided.call(TrustDecision {
                files,
                trusted: false,
            }),
            // The servers are reported where they do not start.
            _ if paths.is_empty() => {}
            _ => emitter.post_notice(
                Severity::Warning,
                "this folder is not trusted: its settings, hooks, plugins, servers and agents are ignored; \
                 use `--trust` to trust it",
            ),
        }
    });
}

/// The servers of the user that start in the project, as lines. Blocks.
fn servers_in(file: ConfigFile, environment: &BTreeMap<String, String>, cwd: &Path) -> Vec<String> {
    let servers = osier_mcp::load(&[file], environment).servers;
    let servers = servers.values().filter(|server| !server.disabled);
    let servers = servers.filter(|server| server.wants_project(cwd));
    let lines = servers.map(|server| format!("{}: {}", server.name, server.shown));
    lines.collect()
}

/// Asks once before a language server or a formatter starts in a project that the user has not decided about. Where nobody
/// can answer, it does not start.
pub(crate) fn asker(
    setup: &SessionSetup,
    questions: Questions,
    emitter: Emitter,
    decided: Callback<TrustDecision>,
) -> AskTrust {
    let (trust, cwd) = (Trust::new(&setup.folders), setup.cwd.clone());
    let interactive = setup.answers_questions;
    Box::new(move |program| {
        if !interactive {
            return;
        }
        let (trust, cwd) = (trust.clone(), cwd.clone());
        let (questions, decided) = (questions.clone(), decided.clone());
        let (emitter, program) = (emitter.clone(), program.to_owned());
        osier_base::task::spawn(async move {
            let read = osier_base::task::spawn_blocking(move || {
                let files = ProjectFiles::read(&cwd);
                (trust.decision(&files), files)
            });
            let Ok((state, files)) = read.await else {
                return;
            };
            // If files need a decision, the user is asked when the session opens.
            let is_open = matches!(state, TrustState::Undecided(_) | TrustState::Changed(_));
            if !is_open || !files.is_empty() {
                return;
            }
            let question = question(program.clone(), PROGRAMS_START);
            let answer = questions.ask(question, &CancellationToken::new()).await;
            let trusted = match answer {
                Answer::Yes => true,
                Answer::Refuse { .. } => false,
                _ => return,
            };
            if trusted {
                let text = format!("{program} starts with the next file that the model uses");
                emitter.post_notice(Severity::Info, text);
            }
            decided.call(TrustDecision { files, trusted });
        });
    })
}

/// Stores the decision on the project. Whether that worked.
pub(crate) fn decide(decision: &TrustDecision, setup: &SessionSetup, emitter: &Emitter) -> bool {
    let stored = Trust::new(&setup.folders).decide(&decision.files, decision.trusted);
    if let Err(error) = &stored {
        emitter.notice(
            Severity::Warning,
            format!("cannot save the decision: {error}"),
        );
    }
    stored.is_ok()
}

const STAYS_TRUSTED: &str = "You trust this folder: its files can run code. Keep trusting it?";
const REFUSED: &str =
    "You do not trust this folder: its files that can run code are ignored. Trust it now?";
const UNDECIDED: &str =
    "Language servers, formatters and MCP servers start in it only with trust. Trust this folder?";
const CHANGED: &str = "Its files that can run code have changed. Trust this folder as it is now?";
const NEW: &str = "It has files that can run code: settings, hooks, plugins, servers or agents. Trust this folder?";
const SERVERS_START: &str =
    "MCP servers of your configuration start in it and can run its files. Trust this folder?";

const PROGRAMS_START: &str =
    "Language servers and formatters start in it and can run its files. Trust this folder?";

fn question(subject: String, title: &str) -> Question {
    Question {
        id: String::new(),
        origin: "this project".to_owned(),
        subagent: None,
        title: title.to_owned(),
        subject: Some(Subject::Text { text: subject }),
        kind: QuestionKind::Confirm,
    }
}
