//! Instructions of folders that are not above the working directory, and rules with patterns of
//! paths: they are found when the agent works on such files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::area::{Area, folders, root};
use super::files::Search;
use super::path_rules::{ContextFile, PathRule};
use super::project::ProjectContext;
use super::sources::ContextSources;
use osier_base::path;
use osier_base::problem::Problem;
use osier_peers::PeerFolders;

/// Finds the instructions for files that the agent works on. Each file of instructions is returned
/// once.
#[derive(Debug, Clone)]
pub struct PathInstructions {
    cwd: PathBuf,
    peers: Option<PeerFolders>,
    rules: Vec<PathRule>,
    /// The real paths of the instructions that the model has.
    seen: BTreeSet<PathBuf>,
    /// The folders that were searched.
    searched: BTreeSet<PathBuf>,
}

impl PathInstructions {
    /// The instructions that `context`, which was read from `sources`, does not contain.
    pub fn new(sources: &ContextSources, context: &ProjectContext) -> Self {
        let cwd = path::canonical_key(&sources.cwd);
        Self {
            peers: sources.peers.clone(),
            rules: context.rules.clone(),
            seen: context.seen.clone(),
            searched: folders(&cwd).into_iter().collect(),
            cwd,
        }
    }

    /// The instructions for work on `file`, an absolute path, that were not returned before; the nearest last. Blocks.
    pub fn for_file(&mut self, file: &Path) -> (Vec<ContextFile>, Vec<Problem>) {
        let root = root(&self.cwd).to_owned();
        let file = path::canonical_key(file);
        let mut problems = Vec::new();
        if !file.starts_with(&root) {
            return (Vec::new(), problems);
        }
        let folder = file.parent().unwrap_or(&root);
        let mut folders: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| folder.starts_with(&root))
            .filter(|folder| !self.searched.contains(*folder))
            .collect();
        folders.reverse();
        let seen = std::mem::take(&mut self.seen);
        let mut search = Search::new(self.peers.as_ref(), &mut problems).without(seen);
        let area = Area::of_project(&self.cwd);
        for folder in &folders {
            search.add_folder(folder, &area);
        }
        let found = search.finish();
        self.searched
            .extend(folders.into_iter().map(Path::to_owned));
        self.seen = found.seen;
        self.rules.extend(found.rules);
        let mut files = found.files;
        let (fitting, others) = std::mem::take(&mut self.rules)
            .into_iter()
            .partition(|rule| rule.fits(&file, &root));
        self.rules = others;
        files.extend(fitting.into_iter().map(|rule: PathRule| rule.file));
        (files, problems)
    }
}
