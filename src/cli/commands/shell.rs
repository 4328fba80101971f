//! `osier completions SHELL` and `osier man`: what the shell and the manual know of the command line, made from
//! the same description that parses it.

use std::fmt::Write as _;

use clap::{Arg, Command};

use crate::cli::args::Shell;

/// A command with the path that leads to it: `/mcp/add`.
fn all<'a>(command: &'a Command, path: &str, found: &mut Vec<(String, &'a Command)>) {
    found.push((path.to_owned(), command));
    for sub in visible(command) {
        all(sub, &format!("{path}/{}", sub.get_name()), found);
    }
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !arg.is_positional())
}

/// The first sentence of a help text, on one line.
fn brief(help: Option<&clap::builder::StyledStr>) -> String {
    let help = help.map(ToString::to_string).unwrap_or_default();
    help.lines().next().unwrap_or_default().to_owned()
}

/// The script that a shell reads.
pub(in crate::cli) fn completions(command: &Command, shell: Shell) -> String {
    match shell {
        Shell::Bash => bash(command),
        Shell::Zsh => format!(
            "#compdef osier\nautoload -U +X bashcompinit && bashcompinit\n{}",
            bash(command)
        ),
        Shell::Fish => fish(command),
    }
}

fn bash(command: &Command) -> String {
    let mut found = Vec::new();
    all(command, "", &mut found);
    let mut script = String::from(
        "_osier() {\n    local word words path=\n    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n        case \"$path/$word\" in\n",
    );
    for (path, _) in found.iter().skip(1) {
        let _ = writeln!(script, "            {path}) path={path} ;;");
    }
    script.push_str("        esac\n    done\n    case \"$path\" in\n");
    for (path, command) in &found {
        let names = visible(command).map(|sub| sub.get_name().to_owned());
        let longs = flags(command).filter_map(|arg| Some(format!("--{}", arg.get_long()?)));
        let shorts = flags(command).filter_map(|arg| Some(format!("-{}", arg.get_short()?)));
        let words: Vec<String> = names.chain(longs).chain(shorts).collect();
        let _ = writeln!(
            script,
            "        \"{path}\") words=\"{}\" ;;",
            words.join(" ")
        );
    }
    script.push_str(
        "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o default -F _osier osier\n",
    );
    script
}

fn fish(command: &Command) -> String {
    let mut found = Vec::new();
    all(command, "", &mut found);
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let mut script = String::new();
    for (path, command) in &found {
        let below: Vec<&str> = visible(command).map(Command::get_name).collect();
        let mut when: Vec<String> = path
            .split('/')
            .skip(1)
            .map(|name| format!("__fish_seen_subcommand_from {name}"))
            .collect();
        if path.is_empty() {
            when.push("__fish_use_subcommand".to_owned());
        } else if !below.is_empty() {
            when.push(format!(
                "not __fish_seen_subcommand_from {}",
                below.join(" ")
            ));
        }
        let when = quoted(&when.join("; and "));
        for sub in visible(command) {
            let about = quoted(&brief(sub.get_about()));
            let _ = writeln!(
                script,
                "complete -c osier -n {when} -a {} -d {about}",
                sub.get_name()
            );
        }
        for arg in flags(command) {
            let long = arg
                .get_long()
                .map(|long| format!(" -l {long}"))
                .unwrap_or_default();
            let short = arg
                .get_short()
                .map(|short| format!(" -s {short}"))
                .unwrap_or_default();
            let value = if arg.get_action().takes_values() {
                " -r"
            } else {
                ""
            };
            let help = quoted(&brief(arg.get_help()));
            let _ = writeln!(
                script,
                "complete -c osier -n {when}{long}{short}{value} -d {help}"
            );
        }
    }
    script
}

/// A text as roff takes it literally.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    if escaped.starts_with(['.', '\'']) {
        return format!("\\&{escaped}");
    }
    escaped
}

/// The page of the manual, for `man -l` and `/usr/share/man/man1/osier.1`.
pub(in crate::cli) fn man(command: &Command) -> String {
    let version = command.get_version().unwrap_or_default();
    let about = roff(&brief(command.get_about()));
    let mut page = format!(
        ".TH OSIER 1 \"\" \"osier {version}\"\n.SH NAME\nosier \\- {about}\n.SH SYNOPSIS\n.B osier\n[\\fIoptions\\fR] [\\fI@FILE\\fR|\\fIPROMPT\\fR ...]\n.br\n.B osier\n\\fIcommand\\fR ...\n.SH OPTIONS\n",
    );
    arguments(command, &mut page);
    page.push_str(".SH COMMANDS\n");
    let mut found = Vec::new();
    all(command, "", &mut found);
    for (path, command) in found.iter().skip(1) {
        let name = format!("osier{}", path.replace('/', " "));
        let _ = writeln!(
            page,
            ".SS {}\n{}",
            roff(&name),
            roff(&brief(command.get_about()))
        );
        arguments(command, &mut page);
    }
    page.push_str(
        ".SH ENVIRONMENT\n.TP\n.B OSIER_HOME\none folder for settings and sessions\n.TP\n.B NO_COLOR\nno colours\n.TP\n.BR VISUAL \", \" EDITOR\nthe editor for prompts\n.SH FILES\n.B osier config path\nshows where they are.\n.SH EXIT STATUS\n0 it worked, 1 a run failed, 2 it was called wrongly, 130 it was interrupted.\n",
    );
    page
}

fn arguments(command: &Command, page: &mut String) {
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let names = [
            arg.get_short().map(|short| format!("-{short}")),
            arg.get_long().map(|long| format!("--{long}")),
        ];
        let names: Vec<String> = names
            .into_iter()
            .flatten()
            .map(|name| format!("\\fB{}\\fR", roff(&name)))
            .collect();
        let values = arg
            .get_value_names()
            .filter(|_| arg.get_action().takes_values());
        let values = values.map(|names| {
            let names: Vec<String> = names
                .iter()
                .map(|name| format!("\\fI{}\\fR", roff(name)))
                .collect();
            names.join(" ")
        });
        let usage: Vec<String> = [names.join(", ")]
            .into_iter()
            .chain(values)
            .filter(|part| !part.is_empty())
            .collect();
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let help: Vec<String> = help.lines().map(roff).collect();
        let _ = writeln!(page, ".TP\n{}\n{}", usage.join(" "), help.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Args;

    #[test]
    fn every_command_and_flag_is_known_to_the_shells_and_the_manual() {
        let command = Args::command();
        let mut found = Vec::new();
        all(&command, "", &mut found);
        let texts = [
            completions(&command, Shell::Bash),
            completions(&command, Shell::Fish),
            man(&command).replace("\\-", "-"),
        ];
        for (path, command) in &found {
            for text in &texts {
                let name = path.rsplit('/').next().unwrap();
                assert!(text.contains(name), "{path}");
                for arg in flags(command).filter_map(Arg::get_long) {
                    assert!(text.contains(arg), "{path} --{arg}");
                }
            }
        }
        assert!(found.iter().any(|(path, _)| path == "/mcp/add"));
    }
}
