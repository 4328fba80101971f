//! Programs that treat files as data but can still run code: by options that name a program, and by the programs of filters.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use osier_base::{path, regular_file};

use crate::programs::name_of;
use crate::shell::{self, Word};
use crate::trust::reach::{Search, TEXT};
use crate::trust::texts::shell::heads;

/// Programs and their options that run another program: the one in the option's value.
#[rustfmt::skip]
const RUNNING: [&str; 23] = [
    "rg --pre --hostname-bin", "sort --compress-program", "bat --pager", "curl -K --config", "wget -e --execute --use-askpass --config",
    "awk -l --load -i --include -E --exec", "gawk -l --load -i --include -E --exec", "mapfile -C", "readarray -C", "hash -p",
    "install --strip-program", "ktlint -R --ruleset --reporter", "ls --config", "split --filter",
    "tar -I -F --to-command --use-compress-program --checkpoint-action --info-script --new-volume-script --rsh-command --rmt-command",
    "rsync -e --rsh", "zip -TT --unzip-command", "scp -S -o", "sftp -S -D -o", "ssh -o", "cc -fplugin -specs -wrapper -B", "gcc -fplugin -specs -wrapper -B", "clang -fplugin -B",
];

/// Programs that copy or move files.
const COPIES: [&str; 9] = [
    "cp", "mv", "ln", "install", "rsync", "tee", "cat", "tar", "scp",
];

/// Whether a shell looks for programs in the folder.
fn is_searched(folder: &Path) -> bool {
    let variable = std::env::var_os("PATH").unwrap_or_default();
    folder.ends_with("bin") || std::env::split_paths(&variable).any(|known| known == folder)
}

/// Whether an option of the program can run another one.
pub(in crate::trust) fn runs_options(name: &str) -> bool {
    RUNNING
        .iter()
        .any(|row| row.split(' ').next() == Some(name))
}

impl Search<'_> {
    /// Adds files whose words become arguments of a program: they can contain options.
    pub(in crate::trust) fn options_in_files(&mut self, text: &str) {
        if !["xargs", "$(cat", "$(<", "`cat"]
            .iter()
            .any(|word| text.contains(word))
        {
            return;
        }
        let is_end = |char: char| char.is_whitespace() || "\"'`;|&<>(){}".contains(char);
        for start in ["cat ", "<", " -a", "--arg-file=", "--arg-file "] {
            for (at, _) in text.match_indices(start) {
                let rest = text[at + start.len()..].trim_start_matches([' ', '"', '\'']);
                let file = path::resolve(&self.cwd, rest.split(is_end).next().unwrap_or_default());
                if file.starts_with(self.project) && file.is_file() {
                    self.reach.files.insert(file);
                }
            }
        }
    }

    /// Every file could run, if the text copies a file to a place outside of the project from which it then runs.
    pub(in crate::trust) fn copies(&mut self, text: &str) {
        let is_end = |char: char| char.is_whitespace() || "\"'`;|&<>(){}".contains(char);
        let words: Vec<&str> = text.split(is_end).filter(|word| !word.is_empty()).collect();
        if !words.iter().any(|word| COPIES.contains(word)) {
            return;
        }
        let text = &["$PWD/", "${PWD}/", "$(pwd)/"]
            .iter()
            .fold(text.to_owned(), |text, here| text.replace(here, ""));
        let words: Vec<&str> = text.split(is_end).filter(|word| !word.is_empty()).collect();
        let heads: Vec<&str> = heads(text).collect();
        let runners = ["sh ", "bash ", ". ", "source ", "python3 ", "node "];
        let is_run = |word: &str| {
            let mut starts = runners.iter();
            heads.contains(&word) || starts.any(|start| text.contains(&format!("{start}{word}")))
        };
        let outside = words.iter().filter(|word| word.starts_with(['/', '~']));
        let outside = outside.map(|word| (path::resolve(&self.cwd, word), word));
        let outside: Vec<_> = outside
            .filter(|(file, _)| !file.starts_with(self.project) && !file.starts_with("/dev"))
            .collect();
        let runs = outside.iter().enumerate().any(|(place, (file, word))| {
            let is_put = |(folder, _): &(PathBuf, &&str)| file.starts_with(folder);
            is_run(word) && outside[..place].iter().any(is_put)
        });
        // The target is a folder in which the user's programs lie, or the text runs a name that it copied.
        let is_own = |word: &&str| {
            let file = path::resolve(&self.cwd, word);
            file.starts_with(self.project) && file.exists()
        };
        let own: Vec<&str> = words.iter().copied().filter(is_own).collect();
        let parts = text.split([';', '|', '&', '\n']);
        let parts = parts.map(|part| part.split(is_end).collect::<Vec<_>>());
        let copies = parts.filter(|part| part.iter().any(|word| COPIES.contains(word)));
        let copied: BTreeSet<&str> = copies.flatten().collect();
        let mut targets = outside.iter().filter(|(_, word)| copied.contains(**word));
        let is_found = |file: &Path| {
            let mut folders = [Some(file), file.parent()].into_iter().flatten();
            folders.any(is_searched)
        };
        let puts = targets.any(|(file, word)| {
            let mut names = own.iter().chain([*word]);
            is_found(file) || names.any(|word| is_run(name_of(word)))
        });
        if runs || puts && !own.is_empty() {
            self.every();
        }
    }

    /// Adds the programs in options that run one.
    pub(in crate::trust) fn options(
        &mut self,
        name: &str,
        words: &[Word],
        moves: bool,
    ) -> Result<(), String> {
        for (place, word) in words.iter().enumerate() {
            let (option, value) = match word.text.split_once('=') {
                Some((option, value)) => (option, Some(value.to_owned())),
                None => (
                    word.text.as_str(),
                    words.get(place + 1).map(|word| word.text.clone()),
                ),
            };
            let known = RUNNING.iter().find_map(|row| {
                let mut row = row.split(' ');
                let is_program = row.next() == Some(name);
                let fits = |known: &&str| {
                    *known == option || known.len() == 2 && option.starts_with(*known)
                };
                row.find(fits).filter(|_| is_program)
            });
            if let Some(known) = known {
                let value = value.unwrap_or_default();
                let attached = option.strip_prefix(known).filter(|rest| !rest.is_empty());
                let value = attached.map_or(value, str::to_owned);
                // The command has a name before it: `exec=COMMAND` of tar, `ProxyCommand=COMMAND` of ssh.
                let value = match value.split_once('=') {
                    Some((name, command)) if !name.contains([' ', '/']) => command.to_owned(),
                    _ => value,
                };
                if moves || value.contains([shell::HOLE, shell::GLOB]) {
                    self.every();
                } else {
                    self.line(&value)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the file with the program of a filter such as awk or sed, and the commands in it.
    pub(in crate::trust) fn filter(
        &mut self,
        name: &str,
        arguments: &[Word],
    ) -> Result<(), String> {
        for text in arguments.iter().map(|word| &word.text) {
            self.filter_text(name, text)?;
        }
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            let value = match text.split_once('=') {
                Some(("--file" | "--from-file", value)) => value.to_owned(),
                _ if text.starts_with('-') && text.ends_with('f') && !text.starts_with("--")
                    || ["--file", "--from-file", "-L"].contains(&text) =>
                {
                    match words.next() {
                        Some(value) if value.is_fixed() => value.text.clone(),
                        _ => {
                            self.every();
                            continue;
                        }
                    }
                }
                _ => text.strip_prefix("-f").unwrap_or_default().to_owned(),
            };
            let file = path::resolve(&self.cwd, &value);
            if !value.is_empty() && file.starts_with(self.project) && file.exists() {
                self.program(&file)?;
                let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
                self.filter_text(name, &text)?;
                self.settings_text(&text)?;
            }
        }
        Ok(())
    }

    /// Adds the commands that the program of a filter runs.
    fn filter_text(&mut self, name: &str, text: &str) -> Result<(), String> {
        if name.ends_with("awk") {
            let runs = ["system", "getline", "| \"", "|\"", "|&"];
            if runs.iter().any(|word| text.contains(word)) {
                for part in text.split('"').skip(1).step_by(2) {
                    self.line(part)?;
                }
            }
            // The program computes a command.
            let is_plain = |rest: &str| {
                let call = rest
                    .trim_start()
                    .strip_prefix('(')
                    .unwrap_or("\"\")")
                    .trim_start();
                let quoted = call.strip_prefix('"').and_then(|call| call.split_once('"'));
                quoted.is_some_and(|(_, rest)| rest.trim_start().starts_with(')'))
            };
            let mut calls = text.split("system").skip(1);
            let mut pipes = text.split('|').skip(1);
            let pipes_computed = pipes.any(|rest| {
                let rest = rest.trim_start_matches('&').trim_start();
                rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '(')
                    && !rest.starts_with("getline")
            });
            if text.contains("print") && pipes_computed && !text.contains("||")
                || calls.any(|rest| !is_plain(rest))
            {
                self.every();
            }
        }
        if name.ends_with("sed") && text.split(['\n', ';', '{', '}']).any(sed_runs) {
            self.every();
            self.named(text);
        }
        Ok(())
    }
}

/// Whether a command of sed runs a program: the command `e`, or `s` with the flag `e`.
fn sed_runs(command: &str) -> bool {
    let is_address = |char: char| char.is_ascii_digit() || "$, !".contains(char);
    let command = command.trim_start_matches(is_address);
    let command = match command
        .strip_prefix('/')
        .and_then(|rest| rest.rsplit_once('/'))
    {
        Some((_, rest)) if rest.starts_with([' ', 'e', 's']) => rest.trim_start(),
        _ => command,
    };
    if let Some(rest) = command.strip_prefix('e') {
        return rest.is_empty() || rest.starts_with(' ');
    }
    let Some(mark) = command
        .strip_prefix('s')
        .and_then(|rest| rest.chars().next())
    else {
        return false;
    };
    let parts: Vec<&str> = command.split(mark).collect();
    !mark.is_alphanumeric()
        && parts.len() > 3
        && parts[3..].iter().any(|flags| {
            flags.chars().all(|flag| "egipmIM0123456789".contains(flag)) && flags.contains('e')
        })
}
