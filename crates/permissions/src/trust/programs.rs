//! Programs that lie in a project, such as formatters, language servers and hooks: they run as they were when the user trusted the
//! project, or as the user allowed them since.

use std::collections::HashMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use osier_base::locked_json::LockedJsonError;
use osier_base::path;

use super::Trust;
use super::closure::{self, Files};

/// Programs of a project whose contents are stored.
const STORED: usize = 200;

/// Decides whether programs of a project may run.
#[async_trait]
pub trait ProgramGuard: Debug + Send + Sync {
    /// Asks if `may_ask` and the user can answer.
    ///
    /// # Errors
    /// Why these programs, which run together for the use `key`, may not run.
    async fn permit(&self, key: &str, programs: &[PathBuf], may_ask: bool) -> Result<(), String>;
}

/// Whether programs of a project are as the user trusted them.
#[derive(Debug)]
pub struct ProjectPrograms {
    trust: Trust,
    project: PathBuf,
    /// The hashes of files that have not changed since they were read.
    hashes: Mutex<HashMap<String, (Files, String)>>,
}

/// A program of the project that may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedProgram {
    /// Identifies the programs.
    key: String,
    /// The hash of the files; `None` if they cannot be read, so that nobody can allow them.
    hash: Option<String>,
    /// Why it does not run, as the end of a sentence.
    pub reason: String,
}

impl ChangedProgram {
    /// The question, once for each content.
    pub fn id(&self) -> Option<String> {
        self.hash
            .as_ref()
            .map(|hash| format!("{} {hash}", self.key))
    }
}

impl ProjectPrograms {
    /// The programs of the project at `project`.
    pub fn new(trust: Trust, project: &Path) -> Self {
        Self {
            trust,
            project: project.to_owned(),
            hashes: Mutex::default(),
        }
    }

    /// Checks `programs`, which run together: a program and its configuration, for example. Those outside of the project always
    /// may run. `key` is the use of them: the same use with fewer files is a change, too. Blocks.
    ///
    /// # Errors
    /// Some are not as the user trusted them.
    pub fn check(&self, key: &str, programs: &[PathBuf]) -> Result<(), ChangedProgram> {
        let changed = |hash, reason: String| ChangedProgram {
            key: key.to_owned(),
            hash,
            reason,
        };
        let files = closure::files(programs, &self.project);
        let files = files.map_err(|error| changed(None, format!("cannot be checked: {error}")))?;
        let decisions = self.trust.read();
        let stored = decisions.programs.get(&self.project);
        let stored = stored.and_then(|stored| stored.get(key));
        if files.is_empty() && stored.is_none() {
            return Ok(());
        }
        let hash = self.hash(key, &files);
        let hash = hash.map_err(|error| changed(None, format!("cannot be checked: {error}")))?;
        if stored == Some(&hash) {
            return Ok(());
        }
        let decision = decisions.folders.get(&self.project);
        let trusted_at = decision.filter(|decision| decision.trusted);
        let trusted_at = trusted_at.and_then(|decision| decision.at);
        let is_new = |at: u64| files.iter().find(|(_, stamp)| stamp.changed_at() > at);
        let reason = match (trusted_at.map(is_new), stored) {
            // The files that were read are those with these times.
            (Some(None), None)
                if closure::files(programs, &self.project).as_ref() == Ok(&files) =>
            {
                // Without the stored hash, the time decides again.
                let _ = self.store(key, &hash);
                return Ok(());
            }
            (Some(None), _) => "has changed since you trusted the folder".to_owned(),
            (Some(Some((path, _))), _) => {
                let path = path::display(path, &self.project);
                format!("has changed since you trusted the folder (`{path}`)")
            }
            (_, Some(_)) => "has changed since you allowed it".to_owned(),
            (None, None) => "lies in this folder, and is not known as you trusted it".to_owned(),
        };
        Err(changed(Some(hash), reason))
    }

    /// The user allows the program as it is.
    ///
    /// # Errors
    /// The decision cannot be stored.
    pub fn allow(&self, program: &ChangedProgram) -> Result<(), LockedJsonError> {
        match &program.hash {
            Some(hash) => self.store(&program.key, hash),
            None => Ok(()),
        }
    }

    fn store(&self, key: &str, hash: &str) -> Result<(), LockedJsonError> {
        self.trust.change(|decisions| {
            let stored = decisions.programs.entry(self.project.clone()).or_default();
            if stored.len() >= STORED {
                stored.pop_first();
            }
            stored.insert(key.to_owned(), hash.to_owned());
        })
    }

    fn hash(&self, key: &str, files: &Files) -> Result<String, String> {
        let lock = || self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, hash)) = lock().get(key)
            && known == files
        {
            return Ok(hash.clone());
        }
        let hash = closure::hash(files, &self.project)?;
        let mut hashes = lock();
        if hashes.len() >= STORED {
            hashes.clear();
        }
        hashes.insert(key.to_owned(), (files.clone(), hash.clone()));
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use osier_base::atomic_file;
    use osier_base::folders::Folders;

    use super::super::ProjectFiles;
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        trust: Trust,
        project: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let trust = Trust::new(&Folders::under(&folder.path().join("home")));
            let project = folder.path().join("project");
            fs::create_dir_all(&project).unwrap();
            let project = project.canonicalize().unwrap();
            Self {
                folder,
                trust,
                project,
            }
        }

        fn put(&self, name: &str, text: &str) -> PathBuf {
            let path = self.project.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // The system's clock for files is coarse: the change is later than what happened before.
            loop {
                let before = std::time::SystemTime::now();
                let mut file = fs::File::create(&path).unwrap();
                file.write_all(text.as_bytes()).unwrap();
                if path.metadata().unwrap().modified().unwrap() >= before {
                    return path;
                }
            }
        }

        fn link(&self, target: &str, name: &str) -> PathBuf {
            let path = self.project.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target, &path).unwrap();
            path
        }

        fn decide(&self, trusted: bool) {
            let files = ProjectFiles::read(&self.project);
            self.trust.decide(&files, trusted).unwrap();
        }

        fn check(&self, program: &Path) -> Result<(), String> {
            let programs = ProjectPrograms::new(self.trust.clone(), &self.project);
            let checked = programs.check(&program.display().to_string(), &[program.to_owned()]);
            checked.map_err(|changed| changed.reason)
        }
    }

    /// The files of a project whose formatter, language server and hook are attacked.
    fn installed() -> (Place, Vec<PathBuf>) {
        let place = Place::new();
        place.put(
            "node_modules/prettier/bin/prettier.cjs",
            "#!/usr/bin/env node\n",
        );
        place.put("node_modules/prettier/index.cjs", "1");
        place.put(
            "node_modules/prettier/package.json",
            r#"{"dependencies": {"@x/deep": "1"}}"#,
        );
        place.put("node_modules/.pnpm/deep/node_modules/@x/deep/index.js", "1");
        place.link("../.pnpm/deep/node_modules/@x/deep", "node_modules/@x/deep");
        place.put("lib/plugin.mjs", "1");
        place.put("lib/inner.mjs", "1");
        place.put("lib/plugin.mjs", "import x from './inner.mjs'");
        place.put("venv/pyvenv.cfg", "");
        place.put("venv/lib/python3/site-packages/black/__init__.py", "1");
        place.put(
            "venv/lib/python3/site-packages/black/__pycache__/x.pyc",
            "1",
        );
        place.put("venv/bin/python", "1");
        place.put(".claude/hooks/helper.py", "1");
        place.put("scripts/lib.sh", "1");
        let linked = place.link("../prettier/bin/prettier.cjs", "node_modules/.bin/prettier");
        let wrapper = "#!/bin/sh\nexec node \"$basedir/../prettier/bin/prettier.cjs\" \"$@\"\n";
        let programs = vec![
            linked,
            place.put("node_modules/.bin/wrapped", wrapper),
            place.put(
                "prettier.config.mjs",
                "export default {plugins: [\"./lib/plugin.mjs\"]}",
            ),
            place.put("venv/bin/black", "#!venv/bin/python\nimport black\n"),
            place.put(
                ".claude/hooks/check.py",
                "#!/usr/bin/env python3\nimport helper\n",
            ),
            place.put("scripts/check.sh", "#!/bin/sh\n. ./lib.sh\nnpx prettier\n"),
        ];
        (place, programs)
    }

    #[test]
    fn a_program_runs_only_as_it_was_trusted() {
        let package = "node_modules/prettier/index.cjs";
        let dependency = "node_modules/.pnpm/deep/node_modules/@x/deep/index.js";
        let attacks: &[(usize, &[&str])] = &[
            (
                0,
                &[
                    "node_modules/prettier/bin/prettier.cjs",
                    package,
                    dependency,
                    "node_modules/prettier/new.js",
                ],
            ),
            (1, &["node_modules/.bin/wrapped", package, dependency]),
            (
                2,
                &["prettier.config.mjs", "lib/plugin.mjs", "lib/inner.mjs"],
            ),
            (
                3,
                &[
                    "venv/bin/black",
                    "venv/bin/click.py",
                    "venv/lib/python3/site-packages/evil.pth",
                ],
            ),
            (
                4,
                &[
                    ".claude/hooks/check.py",
                    ".claude/hooks/helper.py",
                    ".claude/hooks/json.py",
                ],
            ),
            (5, &["scripts/check.sh", "scripts/lib.sh", package]),
        ];
        // The program ran before the attack, or did not.
        let (place, programs) = installed();
        for ran in [true, false] {
            for (number, files) in attacks {
                for file in *files {
                    let program = &programs[*number];
                    place.decide(true);
                    if ran {
                        assert_eq!(place.check(program), Ok(()), "{file}");
                    }
                    let before = fs::read_to_string(place.project.join(file)).ok();
                    let attacked = place.put(file, "evil");
                    let reason = place.check(program).expect_err(file);
                    let expected = "has changed since you trusted the folder";
                    assert!(reason.starts_with(expected), "{file}: {reason}");
                    match before {
                        Some(text) => drop(place.put(file, &text)),
                        None => fs::remove_file(attacked).unwrap(),
                    }
                }
            }
        }
    }

    #[test]
    fn a_link_to_another_program_is_a_change() {
        let (place, programs) = installed();
        place.put("tools/other.cjs", "1");
        place.decide(true);
        assert_eq!(place.check(&programs[0]), Ok(()));
        fs::remove_file(&programs[0]).unwrap();
        // Without its script, a guard would fail, and some failures pass.
        assert!(place.check(&programs[0]).is_err());
        place.link("../../tools/other.cjs", "node_modules/.bin/prettier");
        assert!(place.check(&programs[0]).is_err());
        // Also a link that leads out of the project.
        fs::remove_file(&programs[0]).unwrap();
        let outside = place.folder.path().join("outside");
        atomic_file::write(&outside, b"1").unwrap();
        place.link(outside.to_str().unwrap(), "node_modules/.bin/prettier");
        assert!(place.check(&programs[0]).is_err());
        assert_eq!(place.check(&outside), Ok(()));
    }

    #[test]
    fn what_does_not_run_changes_nothing() {
        let (place, programs) = installed();
        place.decide(true);
        place.put("src/main.js", "new");
        place.put("node_modules/other/index.js", "new");
        place.put(
            "venv/lib/python3/site-packages/black/__pycache__/y.pyc",
            "new",
        );
        for program in &programs {
            assert_eq!(place.check(program), Ok(()), "{}", program.display());
        }
    }

    #[test]
    fn the_same_content_is_no_change_and_a_changed_one_can_be_allowed() {
        let (place, programs) = installed();
        place.decide(true);
        assert_eq!(place.check(&programs[0]), Ok(()));
        let package = "node_modules/prettier/index.cjs";
        place.put(package, "1");
        assert_eq!(place.check(&programs[0]), Ok(()));
        place.put(package, "2");
        let all = ProjectPrograms::new(place.trust.clone(), &place.project);
        let changed = all.check("use", &programs[..1]).unwrap_err();
        all.allow(&changed).unwrap();
        assert_eq!(all.check("use", &programs[..1]), Ok(()));
        place.put(package, "3");
        assert!(all.check("use", &programs[..1]).is_err());
        // A new decision is about the folder as it is.
        place.decide(true);
        assert_eq!(all.check("use", &programs[..1]), Ok(()));
    }

    #[test]
    fn nothing_is_known_without_a_decision() {
        let (place, programs) = installed();
        let unknown = "lies in this folder, and is not known as you trusted it";
        assert_eq!(place.check(&programs[0]), Err(unknown.to_owned()));
        place.decide(false);
        assert_eq!(place.check(&programs[0]), Err(unknown.to_owned()));
        assert_eq!(place.check(Path::new("/bin/sh")), Ok(()));
    }
}
