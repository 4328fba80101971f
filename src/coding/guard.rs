//! What stands between a model and its tools, in every place where an agent of a session works: the
//! permissions, the sandbox, and the way to somebody who can be asked.

use std::path::Path;
use std::sync::Arc;

use super::permission::{Gate, Permissions};
use super::questions::Questions;
use super::sandbox::Confinement;
use super::tools::Workspace;

/// The guard of one session. A copy guards another agent of it by the same rules.
#[derive(Debug, Clone)]
pub struct Guard {
    permissions: Arc<Permissions>,
    confinement: Arc<Confinement>,
    questions: Questions,
    /// Somebody is there to be asked.
    answered: bool,
}

impl Guard {
    pub fn new(
        permissions: Arc<Permissions>,
        confinement: Arc<Confinement>,
        questions: Questions,
        answered: bool,
    ) -> Self {
        Self {
            permissions,
            confinement,
            questions,
            answered,
        }
    }

    /// A place of work at `cwd` whose commands are held to the sandbox. What the sandbox allows to be
    /// written is there.
    pub fn workspace(&self, cwd: &Path) -> Workspace {
        Workspace::new(cwd).confined(self.confinement.at(cwd))
    }

    /// What decides on the calls of an agent that works in `workspace`. It has to stand behind everything
    /// that may change a call.
    pub fn gate(&self, workspace: &Arc<Workspace>) -> Gate {
        Gate::new(
            Arc::clone(&self.permissions),
            self.questions.clone(),
            Arc::clone(workspace),
            self.answered,
        )
    }
}
