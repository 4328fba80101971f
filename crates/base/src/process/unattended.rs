//! The variables of children that nobody attends: no way to the terminal of osier, no editor that waits, no question for a
//! password.
//!
//! No child keeps a variable that leads to the terminal of osier: a program such as pinentry would take the screen and the
//! keys. A child without a terminal of its own also has another editor and another asker: the editor is a hidden subcommand
//! of osier, and the asker is `false`. In a command of the user, the subcommand opens the user's editor on the terminal of
//! the screen (`user_terminal`); elsewhere it ends at once with advice. Variables that `pass_environment` names stay.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::LazyLock;

use super::{environment, user_terminal};

/// The hidden subcommand that acts as an editor: the variable and the files follow.
const EDITOR: &str = "__editor";
/// The hidden subcommand that runs a command on the terminal of the screen: the shell and the command follow.
const ON_TERMINAL: &str = "__on-terminal";

const NO_TERMINAL: &str =
    "osier: the terminal of the screen is not available: run the command with `!> COMMAND`";

const NO_EDITOR: &str = "osier: no editor here: pass the text with an option such as `-m`, keep it as it is with `GIT_EDITOR=true`, or run the command on a terminal";

/// Variables that lead to the terminal of osier: its device, its window, or the program that it runs in.
#[rustfmt::skip]
pub(super) const TERMINAL: [&str; 44] = [
    "ABDUCO_SESSION", "ABDUCO_SOCKET", "ALACRITTY_LOG", "ALACRITTY_SOCKET", "ALACRITTY_WINDOW_ID", "BYOBU_TTY",
    "DVTM_WINDOW_ID", "GHOSTTY_SURFACE_ID", "GNOME_TERMINAL_SCREEN", "GNOME_TERMINAL_SERVICE", "GPG_TTY", "GUAKE_TAB_UUID",
    "ITERM_SESSION_ID", "KITTY_LISTEN_ON", "KITTY_PID", "KITTY_PUBLIC_KEY", "KITTY_WINDOW_ID", "KONSOLE_DBUS_SERVICE",
    "KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW", "NVIM", "NVIM_LISTEN_ADDRESS", "OSIER_TERMINAL_SOCKET", "ROXTERM_ID", "SHELL_SESSION_ID", "SSH_TTY",
    "STY", "SUDO_TTY", "TERMINATOR_DBUS_NAME", "TERMINATOR_DBUS_PATH", "TERMINATOR_UUID", "TERM_SESSION_ID", "TILIX_ID",
    "TMUX", "TMUX_PANE", "TTY", "VIM_SERVERNAME", "WEZTERM_PANE", "WEZTERM_UNIX_SOCKET", "WINDOW", "WINDOWID", "ZELLIJ", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME",
];

/// Variables in which programs look for an editor. That of git also wins over `core.editor` and `-c core.editor`.
#[rustfmt::skip]
const EDITORS: [&str; 19] = [
    "BRZ_EDITOR", "BZR_EDITOR", "CVSEDITOR", "DARCS_EDITOR", "EDITOR", "FCEDIT", "GH_EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
    "GLAB_EDITOR", "HGEDITOR", "JJ_EDITOR", "KUBE_EDITOR", "P4EDITOR", "PSQL_EDITOR", "SUDO_EDITOR", "SVN_EDITOR",
    "SYSTEMD_EDITOR", "VISUAL",
];

/// Programs that ask the user for a password in place of a terminal.
const ASKERS: [&str; 3] = ["GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS"];

/// This program, quoted for a shell.
static OSIER: LazyLock<Option<String>> = LazyLock::new(|| {
    let program = std::env::current_exe().ok()?;
    Some(quoted(program.to_str()?))
});

/// Each variable of an editor with its value, for a shell and for programs that split it at spaces.
static EDITOR_VALUES: LazyLock<Vec<(&'static str, OsString)>> = LazyLock::new(|| {
    let value = |name: &str| match &*OSIER {
        Some(osier) => OsString::from(format!("{osier} {EDITOR} {name}")),
        None => asker().to_owned(),
    };
    EDITORS.map(|name| (name, value(name))).into()
});

/// `command` as a command of the user that runs on the terminal of the screen.
pub fn on_user_terminal(shell: &str, command: &str) -> Option<String> {
    let osier = OSIER.as_ref()?;
    let (shell, command) = (quoted(shell), quoted(command));
    Some(format!("exec {osier} {ON_TERMINAL} {shell} {command}"))
}

fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// `false`: some programs want an absolute path.
fn asker() -> &'static OsStr {
    let known = ["/usr/bin/false", "/bin/false"];
    let found = known.into_iter().find(|path| Path::new(path).exists());
    OsStr::new(found.unwrap_or("false"))
}

/// The variables of a child without a terminal that would otherwise wait for a user.
pub(super) fn variables() -> impl Iterator<Item = (&'static str, &'static OsStr)> {
    let editors = EDITOR_VALUES
        .iter()
        .map(|(name, value)| (*name, value.as_os_str()));
    let askers = ASKERS.map(|name| (name, asker()));
    // ssh asks its program even where it has a terminal or no display.
    let always = [("SSH_ASKPASS_REQUIRE", OsStr::new("force"))];
    let all = editors.chain(askers).chain(always);
    all.filter(|(name, _)| !environment::is_passed(name))
}

/// Runs the hidden subcommand that `arguments` select.
pub fn run_for_user(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let subcommand = arguments.next()?;
    if subcommand != EDITOR && subcommand != ON_TERMINAL {
        return None;
    }
    let words: Option<Vec<String>> = arguments.map(|word| word.into_string().ok()).collect();
    let (code, problem) = match words.as_deref() {
        Some([variable, files @ ..]) if subcommand == EDITOR => (
            user_terminal::request_editor(variable, files.to_vec()),
            NO_EDITOR,
        ),
        Some([shell, command]) => (
            user_terminal::request_command(shell.clone(), command.clone()),
            NO_TERMINAL,
        ),
        _ => (None, NO_EDITOR),
    };
    if code.is_none() {
        // If standard error is closed, the problem cannot be reported.
        let _ = writeln!(crate::terminal_output::stderr(), "{problem}");
    }
    Some(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::{Invocation, run_captured};

    async fn printed(invocation: Invocation) -> String {
        let output = run_captured(&invocation, None, Duration::from_mins(1)).await;
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    fn shell(script: &str) -> Invocation {
        Invocation::new("sh", ["-c", script])
    }

    #[tokio::test]
    async fn children_find_no_terminal() {
        let command = shell("").command(&[], &[]);
        let variables = command.as_std().get_envs();
        let removed: Vec<&OsStr> = variables
            .filter_map(|(name, value)| value.is_none().then_some(name))
            .collect();
        let left = TERMINAL
            .iter()
            .filter(|name| !removed.contains(&OsStr::new(name)));
        assert_eq!(left.collect::<Vec<_>>(), Vec::<&&str>::new());
        let script = "(: </dev/tty) 2>/dev/null || echo none";
        assert_eq!(printed(shell(script)).await, "none\n");
    }

    #[tokio::test]
    async fn editors_and_askers_end_at_once() {
        let script =
            "echo $EDITOR; echo $GIT_EDITOR; $GIT_ASKPASS; echo $?; echo $SSH_ASKPASS_REQUIRE";
        let osier = OSIER.as_ref().unwrap();
        let expected = format!("{osier} __editor EDITOR\n{osier} __editor GIT_EDITOR\n1\nforce\n");
        assert_eq!(printed(shell(script)).await, expected);
        let own = Invocation {
            env: vec![("EDITOR".into(), "mine".into())],
            ..shell("echo $EDITOR")
        };
        assert_eq!(printed(own).await, "mine\n");
    }

    #[test]
    fn a_path_with_spaces_is_quoted_for_a_shell() {
        assert_eq!(quoted("/usr/bin/osier"), "/usr/bin/osier");
        assert_eq!(quoted("/my apps/it's"), r"'/my apps/it'\''s'");
    }

    #[test]
    fn without_a_screen_the_subcommands_fail() {
        let arguments = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let run = |words: &[&str]| run_for_user(arguments(words).into_iter());
        assert_eq!(run(&[EDITOR, "EDITOR", "file"]), Some(ExitCode::FAILURE));
        assert_eq!(run(&[ON_TERMINAL, "sh", "true"]), Some(ExitCode::FAILURE));
        assert_eq!(run(&["edit"]), None);
        assert_eq!(run(&[]), None);
    }
}
