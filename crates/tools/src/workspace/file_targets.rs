//! The files of calls, and what searches may show.

use std::path::{Path, PathBuf};

use osier_agent::{FileTarget, Refusal};
use osier_base::working_folder::FolderState;

use super::Workspace;
use crate::files::target::{FileArgument, NamedFile, resolve};

/// Whether the contents of a file, a real path, may be shown.
pub type ReadFilter = Box<dyn Fn(&Path) -> bool + Send + Sync>;

/// Makes the filter of a search.
pub type ReadFilters = Box<dyn Fn() -> ReadFilter + Send + Sync>;

impl Workspace {
    /// Lets searches show only what the `filters` let through.
    pub fn filter_reads(&self, filters: ReadFilters) {
        let _ = self.read_filters.set(filters);
    }

    /// Whether a search may show the contents of a file that it has found.
    pub(crate) fn read_filter(&self) -> ReadFilter {
        match self.read_filters.get() {
            Some(filters) => filters(),
            None => Box::new(|_| true),
        }
    }

    /// The file that a call names in `argument`. Its path is resolved here and nowhere else: rules judge what the tool opens.
    pub(crate) async fn target(
        &self,
        argument: FileArgument,
        given: Option<&str>,
    ) -> Result<FileTarget, Refusal> {
        let named = argument.file(given);
        let named = named.ok_or_else(|| Refusal::invalid("the path is missing"))?;
        Ok(self.targets(&[named]).await?.remove(0))
    }

    /// The files that a call names, in order. A working directory that was removed is not made again.
    pub(crate) async fn targets(&self, named: &[NamedFile]) -> Result<Vec<FileTarget>, Refusal> {
        let mut targets = Vec::with_capacity(named.len());
        for named in named {
            targets.push(self.found(named).await);
        }
        let mut written = targets.iter().filter(|target| target.purpose.writes());
        if written.any(|target| target.named.starts_with(self.cwd()))
            && let Some(note) = self.commands.shell.folder_note()
        {
            return Err(Refusal::Failed(note));
        }
        Ok(targets)
    }

    /// A file that is not written.
    pub(crate) async fn found(&self, named: &NamedFile) -> FileTarget {
        // Without a working sandbox no command runs, and the files are those of the host.
        let _ = self.confinement().prepare().await;
        self.resolve(named)
    }

    /// Resolves a file of no call. Without a sandbox that is ready, the file is a file of the host.
    pub(crate) fn resolve(&self, named: &NamedFile) -> FileTarget {
        let sandbox = Some(self.confinement().as_ref());
        let FolderState::MovedTo(cwd) = self.commands.shell.folder_state() else {
            return resolve(named, self.cwd(), sandbox);
        };
        let below = Path::new(&named.path).strip_prefix(self.cwd());
        let moved = below.map_or_else(
            |_| named.clone(),
            |below| NamedFile {
                path: below.display().to_string(),
                ..named.clone()
            },
        );
        resolve(&moved, &cwd, sandbox)
    }

    /// Records what hooks changed in the files of a call that has written them, for example a formatter.
    pub fn record_hooks(&self, files: &[FileTarget]) {
        let written = files.iter().filter(|file| file.purpose.writes());
        let written: Vec<PathBuf> = written.map(|file| file.host.clone()).collect();
        if !written.is_empty() {
            self.ledger.record_command(written, &[]);
        }
    }

    /// The real file behind a path that contains symbolic links below the working directory, whose real path is `root`:
    /// `` `a` → `/etc/b` ``.
    pub fn link_target(&self, root: &Path, target: &FileTarget) -> Option<String> {
        // Links above the working directory are the user's own.
        let plain = match target.named.strip_prefix(self.cwd()) {
            Ok(inside) => root.join(inside),
            Err(_) => target.named.clone(),
        };
        let shown = self.display(&target.named);
        (target.real != plain).then(|| format!("`{shown}` → `{}`", target.real.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use osier_agent::FileUse;

    use super::*;

    #[test]
    fn a_question_names_the_target_of_a_link() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let cwd = folder.path().join("work");
        std::fs::create_dir(&cwd).unwrap();
        symlink(outside.path(), cwd.join("folder")).unwrap();
        symlink("/etc/passwd", cwd.join("link.txt")).unwrap();
        // A working directory that is itself a link is the user's own choice.
        symlink(&cwd, folder.path().join("alias")).unwrap();
        let real = outside.path().canonicalize().unwrap();
        for cwd in [cwd, folder.path().join("alias")] {
            let workspace = Workspace::new(&cwd);
            let root = cwd.canonicalize().unwrap();
            let target = |path: &str| {
                let target = workspace.resolve(&NamedFile::new(path, FileUse::Write));
                workspace.link_target(&root, &target)
            };
            for (path, expected) in [
                ("new.txt", None),
                ("link.txt", Some("`link.txt` → `/etc/passwd`".to_owned())),
                (
                    "folder/new.txt",
                    Some(format!(
                        "`folder/new.txt` → `{}`",
                        real.join("new.txt").display()
                    )),
                ),
            ] {
                assert_eq!(target(path), expected, "{path}");
            }
        }
    }
}
