//! Task runners, which run commands from a file of the project: `npm`, `bundle` and the like.

mod builds;
mod gems;
mod git;
mod hooks;
mod installers;
mod makefiles;
mod node;
mod python;

use crate::shell::{GLOB, Word};
use crate::trust::facts::programs::{
    BUNDLES, MAKE, NPM, NPX, PIP, SEQUENCES, is_in, is_purpose, is_quiet, is_task_runner,
};
use crate::trust::reach::Search;
use crate::trust::runners::node::QUIET;

impl Search<'_> {
    /// Adds the code that a task runner runs. Returns whether the program is one.
    pub(in crate::trust) fn runner(
        &mut self,
        name: &str,
        arguments: &[Word],
        moves: bool,
    ) -> Result<bool, String> {
        if !is_task_runner(name) {
            return Ok(false);
        }
        if is_quiet(name, arguments) || is_purpose(name, arguments) {
            return Ok(true);
        }
        if moves || !self.cwd.starts_with(self.project) {
            self.all();
            return Ok(true);
        }
        let is_quiet = |word: &&Word| QUIET.contains(&word.text.as_str());
        let quiet = arguments.iter().take_while(is_quiet).count();
        let arguments = &arguments[quiet..];
        self.selectors();
        match name {
            _ if is_in(NPM, name) => self.npm(name, arguments)?,
            _ if is_in(NPX, name) => self.package_program(arguments)?,
            _ if is_in(SEQUENCES, name) => {
                for word in arguments.iter().filter(|word| !word.text.starts_with('-')) {
                    // A pattern, and arguments after the name, are as in a quoted word: `"lint:* -- --fix"`.
                    let name = word.text.replace(GLOB, "*");
                    self.script_named(name.split(' ').next().unwrap_or_default())?;
                }
            }
            "lint-staged" => self.staged()?,
            _ if is_in(PIP, name) => self.pip(arguments),
            _ if is_in(BUNDLES, name) => self.bundle(name, arguments)?,
            _ if is_in(MAKE, name) => self.make(name, arguments)?,
            _ => self.python_runner(name, arguments)?,
        }
        Ok(true)
    }

    /// Adds the code of `bundle exec`, `turbo run` and `pre-commit run`.
    pub(in crate::trust) fn bundle(
        &mut self,
        name: &str,
        arguments: &[Word],
    ) -> Result<(), String> {
        match (name, arguments.first().map(|word| word.text.as_str())) {
            ("pre-commit", Some("run")) => {
                // The command line names other settings.
                let is_other =
                    |word: &Word| word.text.starts_with("-c") || word.text.starts_with("--config");
                self.reach.all |= arguments.iter().any(is_other);
                self.pre_commit()
            }
            ("turbo", Some("run")) => self.turbo(&arguments[1..]),
            ("bundle" | "bundler", Some("exec")) => self.gems(&arguments[1..]),
            _ => {
                self.all();
                Ok(())
            }
        }
    }
}
