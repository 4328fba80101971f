//! Trust in the project: whether its files can run code.

use tokio_util::sync::CancellationToken;

use osier_agent::Severity;
use osier_base::path;
use osier_permissions::trust::{Trust, TrustState};
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};

use crate::emitter::{Callback, Emitter};
use crate::setup::SessionSetup;

/// Whether files of the project can run code.
pub(crate) fn is_trusted(setup: &SessionSetup) -> bool {
    Trust::new(&setup.folders).allows(&setup.cwd)
}

/// Asks the user about the project if it has files that can run code and there is no decision on them as they are.
pub(crate) fn ask(
    setup: &SessionSetup,
    questions: Questions,
    emitter: Emitter,
    decided: Callback<bool>,
) {
    let (trust, cwd) = (Trust::new(&setup.folders), setup.cwd.clone());
    let interactive = setup.answers_questions;
    osier_base::task::spawn(async move {
        let standing = {
            let cwd = cwd.clone();
            osier_base::task::spawn_blocking(move || trust.state(&cwd)).await
        };
        let (files, changed) = match standing {
            Ok(TrustState::Undecided(files)) => (files, false),
            Ok(TrustState::Changed(files)) => (files, true),
            _ => return,
        };
        let files: Vec<String> = files.iter().map(|file| path::display(file, &cwd)).collect();
        let answer = if interactive {
            let question = question(files.join("\n"), changed);
            questions.ask(question, &CancellationToken::new()).await
        } else {
            Answer::Dismissed
        };
        match answer {
            Answer::Yes => decided.call(true),
            Answer::Refuse { .. } => decided.call(false),
            _ => emitter.post_notice(
                Severity::Warning,
                "this folder is not trusted: its settings, hooks, plugins and servers are ignored; \
                 use `--trust` to trust it",
            ),
        }
    });
}

/// Stores the decision on the project. Whether that worked.
pub(crate) fn decide(trusted: bool, setup: &SessionSetup, emitter: &Emitter) -> bool {
    let stored = Trust::new(&setup.folders).decide(&setup.cwd, trusted);
    if let Err(error) = &stored {
        emitter.notice(
            Severity::Warning,
            format!("cannot save the decision: {error}"),
        );
    }
    stored.is_ok()
}

fn question(files: String, changed: bool) -> Question {
    let title = if changed {
        "Its files that can run code have changed. Trust this folder as it is now?"
    } else {
        "It has files that can run code: settings, hooks, plugins or servers. Trust this folder?"
    };
    Question {
        id: String::new(),
        origin: "this project".to_owned(),
        title: title.to_owned(),
        subject: Some(Subject::Text { text: files }),
        kind: QuestionKind::Confirm,
    }
}
