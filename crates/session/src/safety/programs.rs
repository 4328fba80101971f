//! Programs of the project that osier starts by itself: formatters, language servers, hooks. A program that has changed since
//! the user trusted it runs only if the user allows it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use osier_permissions::trust::{
    ChangedProgram, ProgramGuard, ProgramUse, ProjectPrograms, Trust, project_root,
};
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};

use crate::setup::SessionSetup;

const TITLE: &str = "This program could load code that is not as you trusted it. Run it?";

/// Asks about programs of the project that are not as the user trusted them.
#[derive(Debug)]
pub(crate) struct ProgramTrust {
    programs: Arc<ProjectPrograms>,
    project: PathBuf,
    questions: Questions,
    is_interactive: bool,
    /// The programs that the user did not allow. Locked during a question: each program is asked about once.
    refused: Mutex<HashSet<String>>,
}

impl ProgramTrust {
    pub(crate) fn new(setup: &SessionSetup, questions: Questions) -> Self {
        let (trust, project) = (Trust::new(&setup.folders), project_root(&setup.cwd));
        Self {
            programs: Arc::new(ProjectPrograms::new(trust, &project)),
            project,
            questions,
            is_interactive: setup.answers_questions,
            refused: Mutex::default(),
        }
    }

    async fn check(&self, run: &ProgramUse) -> Result<Option<ChangedProgram>, String> {
        let (all, run) = (Arc::clone(&self.programs), run.clone());
        let checked = osier_base::task::spawn_blocking(move || all.check(&run).err());
        checked.await.map_err(|error| error.to_string())
    }
}

#[async_trait]
impl ProgramGuard for ProgramTrust {
    /// Asks about each program once.
    async fn permit(&self, run: &ProgramUse, may_ask: bool) -> Result<(), String> {
        let Some(changed) = self.check(run).await? else {
            return Ok(());
        };
        let name = osier_base::path::display(Path::new(&run.name), &self.project);
        let text = format!("`{name}` {}", changed.reason);
        let listed = [vec![text.clone()], changed.files.clone()].concat();
        let Some(id) = changed.id() else {
            return Err(text);
        };
        let refusal = format!("{text}; allow it when osier asks, or start osier with `--trust`");
        if !self.is_interactive || !may_ask {
            return Err(refusal);
        }
        let mut refused = self.refused.lock().await;
        // Another call may have asked in the meantime.
        let Some(changed) = self.check(run).await? else {
            return Ok(());
        };
        if refused.contains(&id) {
            return Err(refusal);
        }
        let question = Question {
            id: String::new(),
            origin: "this project".to_owned(),
            subagent: None,
            title: TITLE.to_owned(),
            subject: Some(Subject::Text {
                text: listed.join("\n"),
            }),
            kind: QuestionKind::Confirm,
        };
        let never = CancellationToken::new();
        let answer = self.questions.ask(question, &never).await;
        if answer != Answer::Yes {
            refused.insert(id);
            return Err(refusal);
        }
        let all = Arc::clone(&self.programs);
        let stored = osier_base::task::spawn_blocking(move || all.allow(&changed)).await;
        let stored = stored.map_err(|error| error.to_string())?;
        stored.map_err(|error| format!("cannot save the decision: {error}"))?;
        // The program could have changed during the question.
        match self.check(run).await? {
            None => Ok(()),
            Some(_) => Err(refusal),
        }
    }
}
