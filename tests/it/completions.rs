//! Completion scripts and manual pages.

#![expect(clippy::disallowed_methods, reason = "the test runs the shells")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use osier_testing::skip;
use serde_json::{Value, json};

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
        ("bash", "complete -o bashdefault -F _osier osier"),
        ("elvish", "set edit:completion:arg-completer[osier]"),
        ("fish", "complete --keep-order --exclusive --command osier"),
        ("powershell", "Register-ArgumentCompleter -Native"),
        ("zsh", "#compdef osier"),
    ] {
        let ended = home.cli().args(["completions", shell]).run();
        assert!(ended.stdout.contains(text), "{shell}: {}", ended.stdout);
    }
}

/// A home with two models, one of them with a colon in its name, and two sessions.
fn with_models_and_sessions() -> (Home, Vec<String>) {
    let home = Home::new();
    let models = json!({"providers": {"here": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-chat-completions",
    "apiKey": "k", "models": [
        {"id": "small:8b", "name": "Small", "thinkingLevels": ["off", "high"]},
        {"id": "large", "name": "Large \u{1b}[31mred"},
    ]}}});
    home.config("models.json", models.to_string());
    home.config("settings.toml", "discover_local_models = false\n");
    for prompt in ["fix the parser", "write the docs"] {
        let ended = home
            .scripted(&json!([{"steps": [{"text": "done"}]}]))
            .arg(prompt)
            .run();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let mut ids: Vec<(String, String)> = Vec::new();
    for path in home.sessions() {
        let text = std::fs::read_to_string(&path).unwrap();
        let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let is_docs = text.contains("write the docs");
        ids.push((
            u8::from(!is_docs).to_string(),
            header["id"].as_str().unwrap().to_owned(),
        ));
    }
    ids.sort();
    (home, ids.into_iter().map(|(_, id)| id).collect())
}

/// Runs a shell with osier in its path.
fn complete_in(home: &Home, shell: &str, script: &str) -> Option<String> {
    write_script(home, shell);
    let program = Path::new(env!("CARGO_BIN_EXE_osier")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(shell);
    command
        .args(if shell == "zsh" {
            &["-f", "-c"][..]
        } else {
            &["-c"][..]
        })
        .arg(script)
        .current_dir(home.work())
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HOME", home.home())
        .env("OSIER_HOME", home.home())
        .stdin(std::process::Stdio::null());
    let Ok(output) = command.output() else {
        skip::missing(shell, &format!("apt install {shell}"));
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).replace('\r', ""))
}

/// The completions of bash for a command line; bash splits words at colons.
fn in_bash(home: &Home, words: &[&str]) -> Option<Vec<String>> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source osier.bash; COMP_WORDS=({}); COMP_CWORD={}; COMP_TYPE=9; COMP_LINE='{}'; COMP_POINT=${{#COMP_LINE}}; \
         _osier 2>/dev/null; printf '%s\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1,
        words.join(" ").replace(" : ", ":"),
    );
    let completed = complete_in(home, "bash", &script)?;
    Some(completed.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_values_models_and_sessions() {
    let (home, ids) = with_models_and_sessions();
    for (words, expected) in [
        (&["osier", "mcp", "a"][..], vec!["add"]),
        (&["osier", "--permissions", "p"], vec!["plan"]),
        (&["osier", "completions", "el"], vec!["elvish"]),
        (&["osier", "-m", "here/l"], vec!["here/large"]),
        (&["osier", "-m", "large,here/l"], vec!["large,here/large"]),
        // Only what follows the colon is replaced.
        (&["osier", "-m", "here/small", ":", "8"], vec!["8b"]),
        (&["osier", "-m", "here/large", ":", "o"], vec!["off"]),
        (&["osier", "--resume", &ids[1]], vec![&*ids[1]]),
        (&["osier", "sessions", "show", &ids[0]], vec![&*ids[0]]),
    ] {
        let Some(completed) = in_bash(&home, words) else {
            return;
        };
        assert_eq!(completed, expected, "{words:?}");
    }
    let completed = in_bash(&home, &["osier", "-r", ""]).unwrap();
    let titles = ["(write the docs · ", "(fix the parser · "];
    for (number, title) in titles.into_iter().enumerate() {
        let line = completed.get(number).cloned().unwrap_or_default();
        let is_listed = line.starts_with(&ids[number]) && line.contains(title);
        assert!(is_listed, "{completed:?}");
    }
}

#[test]
fn fish_completes_models_and_sessions_with_descriptions() {
    let (home, ids) = with_models_and_sessions();
    let script = "source osier.fish; complete -C 'osier -m here/'; echo ==; complete -C 'osier --resume '; echo ==; \
                  complete -C 'osier sessions re'";
    let Some(completed) = complete_in(&home, "fish", script) else {
        return;
    };
    let parts: Vec<Vec<&str>> = completed
        .split("==\n")
        .map(|part| {
            part.lines()
                .map(|line| line.split(" · ").next().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(
        parts[0],
        ["here/small:8b\tSmall", "here/large\tLarge ^[[31mred"]
    );
    let sessions = [
        format!("{}\twrite the docs", ids[0]),
        format!("{}\tfix the parser", ids[1]),
    ];
    assert_eq!(parts[1][..2], sessions);
    let commands: Vec<&str> = parts[2]
        .iter()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(commands, ["rename", "restore", "reindex"]);
}

#[test]
fn zsh_completes_models_and_sessions_when_tab_is_pressed() {
    let (home, ids) = with_models_and_sessions();
    // A terminal in which the keys are typed; the line is printed instead of run.
    let script = r#"
        zmodload zsh/zpty
        zpty -b z zsh -f -i
        line() { local text; zpty -w -n z "$1"; until zpty -r -m z text "*$2*" ; do :; done; print -r -- "$text" }
        zpty -w z 'PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source ./osier.zsh; accept() { print -r -- "<${BUFFER}>"; BUFFER=; zle .accept-line; }; zle -N accept; bindkey "^M" accept; print ready'
        zpty -r -m z text '*ready*'
        line $'osier -m here/l\t\r' 'large >'
        line $'osier --resume SESSION\t\r' 'SESSION >'
    "#;
    let script = script.replace("SESSION", &ids[1]);
    let Some(completed) = complete_in(&home, "zsh", &script) else {
        return;
    };
    for expected in [
        "<osier -m here/large >".to_owned(),
        format!("<osier --resume {} >", ids[1]),
    ] {
        assert!(completed.contains(&expected), "{expected}: {completed}");
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
fn manual_page_of_a_command_is_found_by_its_words() {
    let home = Home::new();
    let page = home.cli().args(["man", "sessions", "list"]).run();
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    assert!(
        page.stdout.contains(".TH osier-sessions-list 1"),
        "{}",
        page.stdout
    );
    for other in ["sessions-list", "osier-sessions-list"] {
        assert_eq!(home.cli().args(["man", other]).run(), page, "{other}");
    }
    for (words, error) in [
        (
            ["man", "session"].as_slice(),
            "osier: no manual page for `osier session`; did you mean `sessions`?\n",
        ),
        (
            &["man", "mcp", "zzz"],
            "osier: no manual page for `osier mcp zzz`; expected one of add, list, rm, test, login, serve\n",
        ),
        (
            &["man", "doctor", "zzz"],
            "osier: no manual page for `osier doctor zzz`; `osier doctor` has no commands\n",
        ),
    ] {
        let mut cli = home.cli();
        for word in words {
            cli = cli.arg(*word);
        }
        assert_eq!(cli.run(), ProgramOutput::new(2, "", error), "{words:?}");
    }
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
