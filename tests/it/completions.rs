//! Completion scripts and manual pages.

#![expect(clippy::disallowed_methods, reason = "the test runs the shells")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use osier_testing::skip;

use crate::support::cli::{Home, ProgramOutput};

/// Runs a shell; `None`, listed as a skip, when it is not installed.
fn run_shell(shell: &str, arguments: &[&str], directory: &Path) -> Option<(Option<i32>, String)> {
    let mut command = Command::new(shell);
    let Ok(output) = command.args(arguments).current_dir(directory).output() else {
        skip::missing(shell, &format!("apt install {shell}"));
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.code(), String::from_utf8(text).unwrap()))
}

/// Writes the completion script of a shell to the working directory.
fn write_script(home: &Home, shell: &str) {
    let ended = home.cli().args(["completions", shell]).run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    home.file(&format!("osier.{shell}"), ended.stdout);
}

#[test]
fn shells_accept_their_completion_scripts() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        write_script(&home, shell);
        let checked = run_shell(shell, &["-n", &format!("osier.{shell}")], &home.work());
        assert!(
            checked
                .as_ref()
                .is_none_or(|checked| *checked == (Some(0), String::new())),
            "{shell}: {checked:?}"
        );
    }
}

#[test]
fn every_shell_has_a_completion_script() {
    let home = Home::new();
    for (shell, text) in [
        ("bash", "complete -F _osier"),
        ("elvish", "set edit:completion:arg-completer[osier]"),
        ("fish", "complete -c osier"),
        ("powershell", "Register-ArgumentCompleter -Native"),
        ("zsh", "#compdef osier"),
    ] {
        let ended = home.cli().args(["completions", shell]).run();
        assert!(ended.stdout.contains(text), "{shell}: {}", ended.stdout);
        assert!(!ended.stdout.contains("bashcompinit"), "{shell}");
    }
}

#[test]
fn bash_completes_commands_and_values() {
    let home = Home::new();
    write_script(&home, "bash");
    for (words, expected) in [
        (["osier", "mcp", "a"], "add"),
        (["osier", "--permissions", "p"], "plan"),
        (["osier", "completions", "el"], "elvish"),
    ] {
        let script = format!(
            "source osier.bash; COMP_WORDS=({}); COMP_CWORD=2; _osier osier {} {}; echo \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words[2],
            words[1]
        );
        let Some(completed) = run_shell("bash", &["-c", &script], &home.work()) else {
            return;
        };
        assert_eq!(completed, (Some(0), format!("{expected}\n")), "{words:?}");
    }
}

#[test]
fn manual_page_lists_options_commands_and_exit_codes() {
    let home = Home::new();
    let ended = home.cli().arg("man").run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let sections = ended
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix(".SH "));
    assert_eq!(
        sections.collect::<Vec<_>>(),
        [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "\"SCRIPTS AND SDKS\"",
            "SUBCOMMANDS",
            "VERSION",
            "ENVIRONMENT",
            "FILES",
            "\"EXIT STATUS\""
        ]
    );
    for text in ["\\-\\-permissions", "osier\\-sessions(1)"] {
        assert!(ended.stdout.contains(text), "{text}");
    }
}

#[test]
fn manual_pages_of_all_commands_are_written_to_a_directory() {
    let home = Home::new();
    let ended = home.cli().args(["man", "--dir", "pages"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "", ""));
    let pages: BTreeSet<String> = std::fs::read_dir(home.work().join("pages"))
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    let main = home.cli().arg("man").run().stdout;
    let listed = main
        .lines()
        .filter_map(|line| line.strip_suffix("(1)"))
        .map(|name| format!("{}.1", name.replace("\\-", "-")));
    for page in listed.chain(["osier.1".to_owned(), "osier-mcp-add.1".to_owned()]) {
        assert!(pages.contains(&page), "{page}: {pages:?}");
    }
    let written = std::fs::read_to_string(home.work().join("pages/osier.1")).unwrap();
    assert_eq!(written, main);
}

#[test]
fn mcp_add_help_says_where_flags_go() {
    let home = Home::new();
    let ended = home.cli().args(["mcp", "add", "--help"]).run();
    assert!(
        ended
            .stdout
            .contains("Flags come before the command or URL: "),
        "{}",
        ended.stdout
    );
}
