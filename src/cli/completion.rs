//! Completions in shells: `osier completions SHELL` prints a script that calls osier at each completion, so that models and
//! sessions are completed as well as commands and options.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use clap::{CommandFactory as _, Parser as _};
use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _, complete,
};
use clap_complete::env::{Elvish, EnvCompleter, Fish, Powershell, Zsh};

use super::args::Args;
use super::exit::{Exit, failure};
use super::run_config::RunConfig;
use osier_base::text::{self, single_line};
use osier_base::visible::visible;
use osier_base::{clock, path, terminal_output};
use osier_llm::ThinkingLevel;
use osier_protocol::{KeyState, ModelInfo};
use osier_session::models::Models;
use osier_store::{Scope, SessionDirectory};

/// The variable with the name of the shell, in which scripts call osier.
const VARIABLE: &str = "OSIER_COMPLETE";
/// The maximum number of candidates: nobody reads more.
const MOST: usize = 200;
/// Columns of a title.
const TITLE: usize = 60;

/// Prints the completion script for a shell.
pub(super) fn write_script(shell: Shell, out: &mut dyn Write) -> io::Result<Exit> {
    let mut script = Vec::new();
    let name = shell.to_string();
    if let Some(completer) = completer(OsStr::new(&name)) {
        completer.write_registration(VARIABLE, "osier", "osier", "osier", &mut script)?;
    }
    out.write_all(&script)?;
    Ok(Exit::Success)
}

/// Completes a command line if a shell asks for that.
pub(super) fn answer() -> Option<Exit> {
    let shell = std::env::var_os(VARIABLE).filter(|shell| !shell.is_empty())?;
    let Some(completer) = completer(&shell) else {
        let text = format!("unknown shell `{}` in `{VARIABLE}`", shell.display());
        return Some(failure(&text));
    };
    let words = std::env::args_os().skip_while(|word| word != "--");
    let words: Vec<OsString> = words.skip(1).collect();
    let cwd = std::env::current_dir().ok();
    let mut out = Vec::new();
    let completed = if words.is_empty() {
        Ok(())
    } else {
        completer.write_complete(
            &mut with_values(Args::command()),
            words,
            cwd.as_deref(),
            &mut out,
        )
    };
    let written = completed.and_then(|()| terminal_output::stdout().write_all(&out));
    // A command line that cannot be completed has no completions.
    Some(written.map_or(Exit::Failure, |()| Exit::Success))
}

/// The command line with the values that are looked up. An option with an optional value has one: otherwise everything that
/// can follow the option is listed with the sessions.
fn with_values(command: clap::Command) -> clap::Command {
    // `restore` lists the trash.
    let is_restore = command.get_name() == "restore";
    let command = command.mut_args(|argument| {
        let name = argument.get_value_names().and_then(<[_]>::first).cloned();
        match (argument.get_id().as_str(), name.as_deref()) {
            ("resume", _) => argument.num_args(1).add(sessions()),
            (_, Some("SESSION")) if is_restore => argument,
            (_, Some("SESSION" | "ID|PATH")) => argument.add(sessions()),
            ("session", Some("PATH")) => argument.add(session_files()),
            ("model" | "models", _) => argument.add(models()),
            _ => argument,
        }
    });
    command.mut_subcommands(with_values)
}

fn completer(shell: &OsStr) -> Option<&'static dyn EnvCompleter> {
    const SHELLS: [&dyn EnvCompleter; 5] = [&Bash, &Elvish, &Fish, &Powershell, &Zsh];
    let name = Path::new(shell).file_stem()?.to_str()?;
    SHELLS.into_iter().find(|known| known.is(name))
}

/// Completes models that can be used: those with a key, and any model where no such name fits.
fn models() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let current = current.to_str().unwrap_or_default();
        let models = known_models().unwrap_or_default();
        complete_models(&models, current)
    })
}

/// Completes the ids of sessions, those of this directory first, and files.
fn sessions() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let found = complete_sessions(current, |session| session.id.clone().into());
        if found.is_empty() && !current.is_empty() {
            return PathCompleter::file().complete(current);
        }
        found
    })
}

/// Completes the files of sessions, and other files.
fn session_files() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut found = Vec::new();
        if current.is_empty() || Path::new(current).is_absolute() {
            found = complete_sessions(current, |session| session.path.clone().into_os_string());
        }
        found.extend(PathCompleter::file().complete(current));
        found
    })
}

/// The models of the configuration, without looking for local servers: a completion must be fast.
fn known_models() -> Option<Vec<ModelInfo>> {
    let setup = config()?.setup().ok()?;
    Some(Models::load_lenient(&setup).0.list())
}

/// The configuration of the current directory.
fn config() -> Option<RunConfig> {
    let args = Args::try_parse_from(["osier"]).ok()?;
    RunConfig::new(args).ok()
}

fn complete_models(models: &[ModelInfo], current: &str) -> Vec<CompletionCandidate> {
    // Fallback models follow after commas.
    let (before, current) = match current.rfind(',') {
        Some(comma) => current.split_at(comma + 1),
        None => ("", current),
    };
    let candidate = |value: String, help: &str| {
        CompletionCandidate::new(format!("{before}{value}")).help(Some(help.to_owned().into()))
    };
    if let Some((reference, level)) = current.rsplit_once(':')
        && let Some(model) = models.iter().find(|model| model.reference() == reference)
    {
        let levels = model
            .thinking_levels
            .iter()
            .copied()
            .map(ThinkingLevel::name);
        let levels = levels.filter(|name| name.starts_with(level));
        let levels = levels.map(|name| candidate(format!("{reference}:{name}"), "thinking level"));
        let levels: Vec<_> = levels.collect();
        if !levels.is_empty() {
            return levels;
        }
    }
    let word = current.to_lowercase();
    let fits = |model: &&ModelInfo| model.reference().to_lowercase().starts_with(&word);
    let contains = |model: &&ModelInfo| model.reference().to_lowercase().contains(&word);
    let usable = |model: &&ModelInfo| model.key != KeyState::Absent;
    let found: [Vec<&ModelInfo>; 3] = [
        models.iter().filter(usable).filter(fits).collect(),
        models.iter().filter(usable).filter(contains).collect(),
        models.iter().filter(fits).collect(),
    ];
    let found = found.into_iter().find(|found| !found.is_empty());
    let found = found.unwrap_or_default().into_iter().take(MOST);
    found
        .map(|model| candidate(model.reference(), &plain(&model.name)))
        .collect()
}

fn complete_sessions(
    current: &OsStr,
    value: impl Fn(&osier_store::SessionSummary) -> OsString,
) -> Vec<CompletionCandidate> {
    let Some(config) = config() else {
        return Vec::new();
    };
    let directory = SessionDirectory::new(&config.folders.data);
    let now = clock::now_ms();
    for scope in [Scope::Project(&config.cwd), Scope::All] {
        let is_elsewhere = matches!(scope, Scope::All);
        let listed = directory.list(scope).unwrap_or_default().into_iter();
        let fitting = listed.filter_map(|session| {
            let value = value(&session);
            let fits = value
                .as_encoded_bytes()
                .starts_with(current.as_encoded_bytes());
            fits.then_some((session, value))
        });
        let found: Vec<CompletionCandidate> = fitting
            .take(MOST)
            .map(|(session, value)| {
                let title = session.name.as_deref().or(session.first_prompt.as_deref());
                let title =
                    text::truncate(&plain(title.unwrap_or("no prompt")), TITLE).into_owned();
                let age = clock::age(session.modified, now);
                let mut help = format!("{title} · {age}");
                if is_elsewhere {
                    let place = path::below_home(Path::new(&session.cwd));
                    let _ = write!(help, " · {}", plain(&place));
                }
                CompletionCandidate::new(value).help(Some(help.into()))
            })
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Text of models and sessions on one line, without control characters.
fn plain(text: &str) -> String {
    single_line(&visible(text.trim())).trim().to_owned()
}

/// bash, which splits words at colons and shows no descriptions: the script joins the words, and a list shows descriptions
/// behind the values.
struct Bash;

const BASH: &str = r#"_osier() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} word prefix=
    local -a words=()
    # Words of the line as bash sees them, joined again where it split them at `:` or `=`.
    local index
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if ((index > 0)) && [[ $word == [:=]* || ${COMP_WORDS[index-1]} == *[:=] ]] &&
            [[ $line == *"${words[-1]}$word"* ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    word=${words[-1]}
    # bash replaces only what follows the last colon or equals sign.
    [[ $word == *[:=]* ]] && prefix=${word%"${word##*[:=]}"}
    COMPREPLY=($(OSIER_COMPLETE=bash OSIER_COMPLETE_TYPE=$COMP_TYPE OSIER_COMPLETE_PREFIX=$prefix \
        osier -- "${words[@]}" 2>/dev/null))
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace
    fi
}
complete -o bashdefault -o nosort -F _osier osier 2>/dev/null || complete -o bashdefault -F _osier osier
"#;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        _var: &str,
        _name: &str,
        _bin: &str,
        _completer: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        out.write_all(BASH.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        cwd: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let index = words.len() - 1;
        let variable = |name| std::env::var(name).unwrap_or_default();
        let prefix = variable("OSIER_COMPLETE_PREFIX");
        // The key `%` inserts what it shows.
        let inserts = variable("OSIER_COMPLETE_TYPE") == "37";
        let found = complete(command, words, index, cwd)?;
        let describes = found.len() > 1 && !inserts;
        let width = found
            .iter()
            .map(|candidate| candidate.get_value().len())
            .max();
        for candidate in &found {
            let value = candidate.get_value().to_string_lossy();
            let value = value.strip_prefix(&prefix).unwrap_or(&value);
            match candidate
                .get_help()
                .filter(|_| describes && !value.starts_with('-'))
            {
                Some(help) => {
                    let width = width.unwrap_or_default().saturating_sub(prefix.len());
                    let help = help.to_string();
                    writeln!(
                        out,
                        "{value:<width$}  ({})",
                        help.lines().next().unwrap_or_default()
                    )?;
                }
                None => writeln!(out, "{value}")?,
            }
        }
        Ok(())
    }
}
