//! The variables of children that nobody attends: no way to the terminal of osier, no editor that waits, no question for a
//! password.
//!
//! No child keeps a variable that leads to the terminal of osier: a program such as pinentry would take the screen and the
//! keys. A child without a terminal of its own also has another editor and another asker: the editor is a hidden subcommand
//! of osier that ends at once with advice, and the asker is `false`. Variables that `pass_environment` names stay.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::LazyLock;

use super::environment;

/// The hidden subcommand.
const NO_EDITOR: &str = "__no-editor";

const NO_EDITOR_ADVICE: &str = "osier: no editor here: pass the text with an option such as `-m`, keep it as it is with `GIT_EDITOR=true`, or run the command on a terminal";

/// Variables that lead to the terminal of osier: its device, its window, or the program that it runs in.
#[rustfmt::skip]
pub(super) const TERMINAL: [&str; 43] = [
    "ABDUCO_SESSION", "ABDUCO_SOCKET", "ALACRITTY_LOG", "ALACRITTY_SOCKET", "ALACRITTY_WINDOW_ID", "BYOBU_TTY",
    "DVTM_WINDOW_ID", "GHOSTTY_SURFACE_ID", "GNOME_TERMINAL_SCREEN", "GNOME_TERMINAL_SERVICE", "GPG_TTY", "GUAKE_TAB_UUID",
    "ITERM_SESSION_ID", "KITTY_LISTEN_ON", "KITTY_PID", "KITTY_PUBLIC_KEY", "KITTY_WINDOW_ID", "KONSOLE_DBUS_SERVICE",
    "KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW", "NVIM", "NVIM_LISTEN_ADDRESS", "ROXTERM_ID", "SHELL_SESSION_ID", "SSH_TTY",
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

/// The command that starts the hidden subcommand, for a shell and for programs that split it at spaces.
static EDITOR: LazyLock<OsString> = LazyLock::new(|| {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::to_str);
    program.map_or_else(
        || asker().to_owned(),
        |program| format!("{} {NO_EDITOR}", quoted(program)).into(),
    )
});

fn quoted(program: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+".contains(char);
    if program.chars().all(is_plain) {
        return program.to_owned();
    }
    format!("'{}'", program.replace('\'', r"'\''"))
}

/// `false`: some programs want an absolute path.
fn asker() -> &'static OsStr {
    let known = ["/usr/bin/false", "/bin/false"];
    let found = known.into_iter().find(|path| Path::new(path).exists());
    OsStr::new(found.unwrap_or("false"))
}

/// The variables of a child without a terminal that would otherwise wait for a user.
pub(super) fn variables() -> impl Iterator<Item = (&'static str, &'static OsStr)> {
    let editors = EDITORS.map(|name| (name, EDITOR.as_os_str()));
    let askers = ASKERS.map(|name| (name, asker()));
    // ssh asks its program even where it has a terminal or no display.
    let always = [("SSH_ASKPASS_REQUIRE", OsStr::new("force"))];
    let all = editors.into_iter().chain(askers).chain(always);
    all.filter(|(name, _)| !environment::is_passed(name))
}

/// Ends the hidden subcommand that stands for an editor, if `arguments` select it.
pub fn refuse_to_edit(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != NO_EDITOR {
        return None;
    }
    // Nothing reads it when standard error is closed.
    let _ = writeln!(crate::terminal_output::stderr(), "{NO_EDITOR_ADVICE}");
    Some(ExitCode::FAILURE)
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
        let editor = EDITOR.to_str().unwrap();
        assert!(editor.ends_with(" __no-editor"), "{editor}");
        let expected = format!("{editor}\n{editor}\n1\nforce\n");
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
    fn only_the_subcommand_is_refused() {
        let arguments = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let run = |words: &[&str]| refuse_to_edit(arguments(words).into_iter());
        assert_eq!(run(&[NO_EDITOR, "file"]), Some(ExitCode::FAILURE));
        assert_eq!(run(&["edit"]), None);
        assert_eq!(run(&[]), None);
    }
}
