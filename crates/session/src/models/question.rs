//! The question which of several models a name means.

use osier_agent::Severity;
use osier_protocol::questions::{Answer, Choice, Question, QuestionKind, Questions};
use tokio_util::sync::CancellationToken;

use super::{Models, SeveralModels};
use crate::emitter::{Callback, Emitter};

impl Models {
    /// The models that `reference` fits, if there are several.
    pub(crate) fn several(&self, reference: &str) -> Option<SeveralModels> {
        self.find(reference).err()?.several()
    }

    /// A name of the command line or the settings that fits several models.
    pub(crate) fn unclear(&self) -> Option<SeveralModels> {
        self.unclear.clone()
    }
}

impl SeveralModels {
    /// Asks which model is meant. `select` gets its name; without an answer it is not called.
    pub(crate) fn ask(self, questions: Questions, emitter: Emitter, select: Callback<String>) {
        osier_base::task::spawn(async move {
            let level = self.level.map(|level| format!(":{}", level.name()));
            let level = level.unwrap_or_default();
            let choice = |reference: &String| Choice {
                value: format!("{reference}{level}"),
                label: format!("{reference}{level}"),
                description: String::new(),
            };
            let question = Question {
                id: String::new(),
                origin: "osier".to_owned(),
                subagent: None,
                title: format!("`{}` fits several models. Which one?", self.wanted),
                subject: None,
                kind: QuestionKind::Select {
                    choices: self.fits.iter().map(choice).collect(),
                    other: false,
                },
            };
            let answer = questions.ask(question, &CancellationToken::new()).await;
            if let Answer::Text { text } = answer {
                select.call(text);
            } else {
                let text = format!("`{}` fits several models: none was selected", self.wanted);
                emitter.post_notice(Severity::Warning, text);
            }
        });
    }
}
