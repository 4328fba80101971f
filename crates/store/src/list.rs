//! Lists sessions and finds one by id, name or path.

use osier_base::sort;
use std::io;
use std::path::{Path, PathBuf};

use super::directory::{EXTENSION, SessionDirectory, id_of};
use super::error::SessionError;
use super::summary::{SessionSummary, summarize};

/// Which sessions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Sessions that ran in this directory, also at the paths that it had before.
    Project(&'a Path),
    All,
}

/// Files to compare for the last used session: another program can have written to a file after its last use.
const LAST_WRITTEN: usize = 8;

/// Number of near matches in an error.
const NEAR: usize = 3;

impl SessionDirectory {
    /// The sessions of `scope`, last used first. Skips other files.
    pub fn list(&self, scope: Scope<'_>) -> Result<Vec<SessionSummary>, SessionError> {
        let paths = self.paths(scope);
        let mut sessions: Vec<_> = self
            .files(&paths)?
            .iter()
            .filter_map(|path| summarize(path).ok())
            .filter(|session| is_in(session, &paths))
            .collect();
        sort_by_use(&mut sessions);
        Ok(sessions)
    }

    /// The `limit` sessions whose files were written last, last used first. Reads only those.
    pub fn newest(
        &self,
        scope: Scope<'_>,
        limit: usize,
    ) -> Result<Vec<SessionSummary>, SessionError> {
        let paths = self.paths(scope);
        let mut files: Vec<_> = self
            .files(&paths)?
            .into_iter()
            .filter_map(|path| Some((std::fs::metadata(&path).ok()?.modified().ok()?, path)))
            .collect();
        sort::by(&mut files, |one, other| other.cmp(one));
        let sessions = files.iter().filter_map(|(_, path)| summarize(path).ok());
        let sessions = sessions.filter(|session| is_in(session, &paths));
        let mut sessions: Vec<_> = sessions.take(limit).collect();
        sort_by_use(&mut sessions);
        Ok(sessions)
    }

    /// The session that was last used in `cwd`. Reads only the files that were written last. In place of a session that
    /// still belongs to a former path of the project, its newest fork here.
    pub fn latest(&self, cwd: &Path) -> Result<Option<SessionSummary>, SessionError> {
        let newest = self.newest(Scope::Project(cwd), LAST_WRITTEN)?;
        let here = cwd.to_string_lossy();
        let fork = newest.first().and_then(|first| {
            let is_fork = |session: &&SessionSummary| {
                session.cwd == here && session.parent_session.as_deref() == Some(&*first.id)
            };
            let mut forks = newest.iter().filter(|_| first.cwd != here);
            forks.find(is_fork).cloned()
        });
        Ok(fork.or_else(|| newest.into_iter().next()))
    }

    /// Finds a session file by path, start of the id, or full name.
    pub fn find(&self, query: &str) -> Result<PathBuf, SessionError> {
        let not_found = |near| SessionError::NotFound {
            query: query.to_owned(),
            near,
        };
        let as_path = Path::new(query);
        if query.contains('/')
            || as_path
                .extension()
                .is_some_and(|ending| ending == EXTENSION)
        {
            return if as_path.is_file() {
                Ok(as_path.to_owned())
            } else {
                Err(not_found(Vec::new()))
            };
        }
        let files = self.files(&[])?;
        let lower_case = query.to_ascii_lowercase();
        let by_id: Vec<_> = files
            .iter()
            .filter(|path| id_of(path).is_some_and(|id| id.starts_with(&lower_case)))
            .collect();
        match &by_id[..] {
            [only] => return Ok((*only).clone()),
            [first, rest @ ..] if !query.is_empty() => {
                // Copies of one session differ only in their paths.
                let copies = rest.iter().all(|path| id_of(path) == id_of(first));
                let named = |path: &&PathBuf| match id_of(path) {
                    Some(id) if !copies => id.to_owned(),
                    _ => path.to_string_lossy().into_owned(),
                };
                return Err(SessionError::Ambiguous {
                    query: query.to_owned(),
                    candidates: by_id.iter().map(named).collect(),
                });
            }
            _ => {}
        }
        named(self.list(Scope::All)?, query)
            .map_err(|named| not_found(near(&files, &lower_case, named)))
    }

    /// The file of the session with the complete id `id`.
    pub fn file_of(&self, id: &str) -> Option<PathBuf> {
        let files = self.files(&[]).ok()?;
        files.into_iter().find(|path| id_of(path) == Some(id))
    }

    /// The row of a session in lists for clients. For a fork, it reads the session's source. Blocks.
    pub fn listed(&self, session: SessionSummary) -> osier_protocol::SessionSummary {
        let parent = session.parent_session.as_deref();
        osier_protocol::SessionSummary {
            fork_of: parent.and_then(|parent| self.source_title(parent)),
            id: session.id,
            path: session.path.to_string_lossy().into_owned(),
            cwd: session.cwd,
            name: session.name,
            first_prompt: session.first_prompt,
            last_prompt: session.last_prompt,
            modified: session.modified,
            size: session.size,
        }
    }

    /// The title of the session `parent`, from which another one was forked. Blocks.
    pub fn source_title(&self, parent: &str) -> Option<String> {
        let source = summarize(&self.file_of(parent)?).ok()?;
        let name = source.name.filter(|name| !name.is_empty());
        name.or(source.first_prompt)
    }

    /// The paths of the project, the present one first; none for all projects.
    fn paths(&self, scope: Scope<'_>) -> Vec<PathBuf> {
        match scope {
            Scope::Project(cwd) => std::iter::once(cwd.to_owned())
                .chain(self.former_paths(cwd))
                .collect(),
            Scope::All => Vec::new(),
        }
    }

    /// The files of the project with these paths, or all.
    fn files(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, SessionError> {
        // An unreadable folder must not look like one without sessions: the next start would begin a new session.
        let unreadable = |path: &Path, error| SessionError::io("read", path, error);
        let root = self.root();
        let Some((cwd, former)) = paths.split_first() else {
            // Other files in the directory are skipped, like the unreadable folder of one project.
            let projects = entries(root).map_err(|error| unreadable(root, error))?;
            let files = projects.iter().map(|project| session_files(project));
            return Ok(files.filter_map(io::Result::ok).flatten().collect());
        };
        if !root.exists() {
            entries(root).map_err(|error| unreadable(root, error))?;
        }
        let project = self.project(cwd);
        let mut files = session_files(&project).map_err(|error| unreadable(&project, error))?;
        let former = former
            .iter()
            .map(|former| self.project(former))
            .filter(|former| *former != project);
        let former = former.map(|former| session_files(&former));
        files.extend(former.filter_map(io::Result::ok).flatten());
        Ok(files)
    }
}

/// Sorts the session that was used last first.
fn sort_by_use(sessions: &mut [SessionSummary]) {
    sort::by(sessions, |one, other| {
        let newest_first = other.modified.cmp(&one.modified);
        newest_first.then_with(|| other.id.cmp(&one.id))
    });
}

/// The session of `all` named `query`; else the names that contain it.
fn named(all: Vec<SessionSummary>, query: &str) -> Result<PathBuf, Vec<String>> {
    let named: Vec<_> = all
        .into_iter()
        .filter_map(|session| Some((session.name?, session.path)))
        .collect();
    if let Some((_, path)) = named.iter().find(|(name, _)| name == query) {
        return Ok(path.clone());
    }
    let lower_case = query.to_lowercase();
    let close = |name: &String| !query.is_empty() && name.to_lowercase().contains(&lower_case);
    Err(named
        .into_iter()
        .map(|(name, _)| name)
        .filter(close)
        .collect())
}

/// Two projects can share a directory name; the header distinguishes them.
fn is_in(session: &SessionSummary, paths: &[PathBuf]) -> bool {
    // A damaged header has no directory, but the file is still in the project's folder.
    let is_any = paths.is_empty() || session.cwd.is_empty();
    is_any
        || paths
            .iter()
            .any(|path| session.cwd == path.to_string_lossy())
}

fn session_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = entries(directory)?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == EXTENSION));
    Ok(files)
}

/// The files in `directory`; empty if it does not exist, as before the first session.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(directory) {
        Ok(found) => Ok(found.flatten().map(|entry| entry.path()).collect()),
        // A link to nothing is a directory that is out of reach.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !directory.is_symlink() => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// Names that contain the query, then ids with the same start.
fn near(files: &[PathBuf], query: &str, named: Vec<String>) -> Vec<String> {
    let shared = |id: &str| {
        let pairs = id.bytes().zip(query.bytes());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let mut ids: Vec<_> = files
        .iter()
        .filter_map(|path| id_of(path))
        .map(|id| (shared(id), id))
        .filter(|(shared, _)| *shared >= 4)
        .collect();
    sort::by(&mut ids, |one, other| other.cmp(one));
    let ids = ids.into_iter().map(|(_, id)| id.to_owned());
    named.into_iter().chain(ids).take(NEAR).collect()
}
