//! Reads the files of models and keys. Invalid parts are reported and ignored.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::FutureExt;

use crate::setup::SessionSetup;
use osier_base::problem::Problem;
use osier_base::process::{self, Invocation};
use osier_base::regular_file::{self, ReadError};
use osier_llm::auth::{CommandRunner, CredentialFile, Keys, SignIns, Store};
use osier_llm::catalogue::{Catalogue, ModelsFile, ModelsFileError};

/// A command that prints a key may take this long.
const KEY_COMMAND_TIME: Duration = Duration::from_secs(30);

/// The user's own providers and models.
pub(super) fn read_models_file(path: &Path, problems: &mut Vec<Problem>) -> ModelsFile {
    let text = match regular_file::read_text(path, regular_file::SMALL) {
        Ok(text) => text,
        Err(ReadError::Missing) => return ModelsFile::default(),
        Err(error) => {
            let hint = "the bundled models are used";
            problems.push(Problem::of_file(path, error.to_string(), hint));
            return ModelsFile::default();
        }
    };
    match ModelsFile::parse(&text, &path.to_string_lossy()) {
        Ok(file) => {
            let prefix = format!("{}: ", path.display());
            for warning in &file.warnings {
                let message = warning.strip_prefix(&prefix).unwrap_or(warning);
                problems.push(Problem::of_file(path, message, ""));
            }
            file
        }
        Err(error) => {
            problems.push(unusable(path, error));
            ModelsFile::default()
        }
    }
}

/// A problem has its location in separate fields, so the text does not repeat it.
fn unusable(path: &Path, error: ModelsFileError) -> Problem {
    let hint = error.hint();
    match error {
        ModelsFileError::Syntax {
            line,
            column,
            reason,
            ..
        } => Problem {
            line: Some(line),
            column: Some(column),
            ..Problem::of_file(path, reason, hint)
        },
        ModelsFileError::Shape { .. } => {
            Problem::of_file(path, "`providers` is not an object", hint)
        }
    }
}

/// The sources of keys: the environment, the credential store, the sign-ins of `models.json`.
pub(super) fn read_keys(setup: &SessionSetup, problems: &mut Vec<Problem>) -> Keys {
    let variables = Arc::clone(&setup.environment);
    let environment = Arc::new(move |name: &str| variables.get(name).cloned());
    let file = CredentialFile::new(setup.folders.credentials())
        .keep_in_vault(setup.settings.credential_store.is_keyring());
    let store = file.read().unwrap_or_else(|error| {
        let message = error.to_string();
        problems.push(Problem::of_file(file.path(), message, error.hint()));
        Store::default()
    });
    // `read_models_file` reports a file that cannot be read.
    let text =
        regular_file::read_text(&setup.folders.models(), regular_file::SMALL).unwrap_or_default();
    let (sign_ins, warnings) = SignIns::read(&text);
    let http = setup.settings.http();
    for warning in warnings {
        problems.push(Problem::of_file(setup.folders.models(), warning, ""));
    }
    Keys::new(environment, store)
        .with_file(file, sign_ins.with_http(&http))
        .with_http(http)
        .with_runner(command_runner(&setup.cwd))
}

/// Commands, hooks, plugins and MCP servers do not inherit the keys of osier, except those that the settings name.
pub(super) fn withhold_keys(catalogue: &Catalogue, setup: &SessionSetup) {
    process::pass_variables(setup.settings.pass_environment.iter().cloned());
    process::withhold_variables(catalogue.key_variables(), false);
}

/// Runs `!command` keys with the user's shell, in the working directory.
fn command_runner(cwd: &Path) -> CommandRunner {
    let cwd = cwd.to_owned();
    Arc::new(move |command: String| {
        let cwd = cwd.clone();
        async move {
            let script = format!("cd \"$0\" && {command}");
            let args: [OsString; 3] = ["-c".into(), script.into(), cwd.into_os_string()];
            let command = Invocation {
                // The command is part of the user's configuration, and can need another key.
                has_keys: true,
                ..Invocation::new("sh", args)
            };
            let ran = process::run_captured(&command, None, KEY_COMMAND_TIME).await;
            match ran {
                Ok(output) if output.exit.is_success() => {
                    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
                }
                Ok(output) => Err(format!(
                    "it ended with exit code {}",
                    output.exit.shell_code()
                )),
                Err(error) => Err(error.to_string()),
            }
        }
        .boxed()
    })
}
