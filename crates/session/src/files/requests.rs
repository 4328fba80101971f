//! Requests about the working directory, and clean-up while the session is idle.

use std::path::Path;

use osier_base::folders::Folders;
use osier_protocol::ProjectOp;

use super::checkpoints::Pruning;
use super::project_map;
use super::sweeping::Sweeping;
use crate::context::workspace::WorkingDirectory;
use crate::cx::Cx;
use crate::setup::SessionSetup;

/// The working directory, and the work in it between runs.
#[derive(Debug)]
pub(crate) struct Project {
    pub directory: WorkingDirectory,
    pruning: Pruning,
    pub(crate) sweeping: Sweeping,
}

impl Project {
    pub(crate) fn new(folders: &Folders, cwd: &Path, has_user: bool) -> Self {
        Self {
            directory: WorkingDirectory::new(cwd.to_owned()),
            pruning: Pruning::default(),
            sweeping: Sweeping::new(folders, cwd, has_user),
        }
    }

    /// Handles a request about the files and the map of the project.
    pub(crate) fn handle(&self, op: ProjectOp, cx: Cx<'_>) {
        match op {
            ProjectOp::ListFiles => self.directory.list_files(cx.emitter),
            ProjectOp::GetMap {
                request,
                query,
                tokens,
            } => project_map::outline(request, query, tokens, cx),
            ProjectOp::FindSymbols { request, query } => project_map::symbols(request, query, cx),
        }
    }

    /// The agent works: stops pruning and sweeping.
    pub(crate) fn run_started(&mut self, setup: &SessionSetup) {
        self.pruning.stop();
        if setup.answers_questions {
            self.sweeping.stop();
        }
    }

    /// The agent has settled. `records_files` if the session has checkpoints.
    pub(crate) fn run_ended(&mut self, setup: &SessionSetup, records_files: bool) {
        if setup.answers_questions && records_files {
            self.pruning.restart(&setup.folders.data, &setup.settings);
        }
        if setup.answers_questions {
            self.sweeping.start();
        }
    }
}
