//! Programs that run commands which they read from their input, if it is connected to something.

use super::inputs::{has_flag, is_input, operands};
use crate::shell::Word;

/// Programs that start a shell if no command is given: the word that must be there, and the operands before the command.
const STARTERS: &[(&str, &str, usize)] = &[
    ("capsh", "", usize::MAX),
    ("chroot", "", 1),
    ("conda", "run", usize::MAX),
    ("dbus-run-session", "", 0),
    ("distrobox", "enter", 2),
    ("doas", "", 0),
    ("docker", "attach", usize::MAX),
    ("docker", "exec", 2),
    ("docker", "run", 2),
    ("docker", "start", usize::MAX),
    ("fakechroot", "", 0),
    ("fakeroot", "", 0),
    ("firejail", "", 0),
    ("gchroot", "", 1),
    ("i386", "", 0),
    ("kubectl", "attach", usize::MAX),
    ("kubectl", "debug", 2),
    ("kubectl", "exec", 2),
    ("kubectl", "run", 2),
    ("linux32", "", 0),
    ("linux64", "", 0),
    ("lxc-attach", "", 0),
    ("machinectl", "shell", 2),
    ("nix", "develop", 2),
    ("nix", "shell", usize::MAX),
    ("nix-shell", "", usize::MAX),
    ("nsenter", "", 0),
    ("pipenv", "shell", usize::MAX),
    ("pkexec", "", 0),
    ("poetry", "shell", usize::MAX),
    ("proot", "", 0),
    ("pyenv", "shell", usize::MAX),
    ("run0", "", 0),
    ("runuser", "", usize::MAX),
    ("schroot", "", 0),
    ("script", "", usize::MAX),
    ("scriptlive", "", usize::MAX),
    ("setarch", "", 1),
    ("sg", "", 1),
    ("ssh", "", 1),
    ("sudo", "", 0),
    ("systemd-nspawn", "", 0),
    ("systemd-run", "", 0),
    ("toolbox", "enter", 2),
    ("unshare", "", 0),
    ("x86_64", "", 0),
];

/// Programs whose input can be commands of their own, one of which runs another program.
const READERS: &[&str] = &[
    "dc", "ed", "ex", "ftp", "gdb", "gnuplot", "lftp", "lldb", "m4", "mail", "mailx", "mariadb",
    "mysql", "nvim", "psql", "red", "rview", "rvim", "sftp", "sqlite3", "vi", "view", "vim",
];

/// Programs whose script can be the input, and the options that name it. Without an option every argument can.
const SCRIPTED: &[(&str, char, &[&str])] = &[
    ("awk", 'f', &["--file"]),
    ("gawk", 'f', &["--file"]),
    ("gmake", 'f', &["--file", "--makefile"]),
    ("gsed", 'f', &["--file"]),
    ("just", 'f', &["--justfile"]),
    ("make", 'f', &["--file", "--makefile"]),
    ("mawk", 'f', &["--file"]),
    ("nawk", 'f', &["--file"]),
    ("ninja", 'f', &[]),
    ("screen", 'c', &[]),
    ("sed", 'f', &["--file"]),
    ("tmux", ' ', &[]),
];

/// Whether `name` can run commands of its input.
pub(super) fn decide(name: &str, arguments: &[Word]) -> bool {
    if READERS.contains(&name) {
        return true;
    }
    let names = |word: &str| word.is_empty() || arguments.iter().any(|given| given.text == word);
    let mut starters = STARTERS.iter();
    if starters.any(|(known, word, own)| {
        // Docker and its like are called in the same way.
        let alike = match name {
            "podman" | "nerdctl" => "docker",
            "oc" => "kubectl",
            name => name,
        };
        *known == alike && names(word) && operands(arguments) <= *own
    }) {
        return true;
    }
    match name {
        "su" => !has_flag(arguments, 'c'),
        "crontab" => operands(arguments) == 0 || arguments.iter().any(is_input),
        "tmux" if has_flag(arguments, 'C') => true,
        _ => {
            let mut scripted = SCRIPTED.iter().filter(|(known, ..)| *known == name);
            scripted.any(|(_, short, long)| reads_script(arguments, *short, long))
        }
    }
}

/// Whether the value of the option `short` or one of `long` is the input.
fn reads_script(arguments: &[Word], short: char, long: &[&str]) -> bool {
    let is_option = |text: &str| {
        let group = text
            .strip_prefix('-')
            .filter(|group| !group.starts_with('-'));
        group.is_some_and(|group| group.ends_with(short)) || long.contains(&text)
    };
    arguments.iter().enumerate().any(|(place, word)| {
        let text = word.text.as_str();
        let attached = match text.split_once('=') {
            Some((option, value)) if long.contains(&option) => Some(value),
            _ => text
                .strip_prefix('-')
                .and_then(|group| group.split_once(short))
                .map(|(_, value)| value),
        };
        if attached.is_some_and(|value| is_input(&Word::literal(value))) {
            return true;
        }
        let is_value = place
            .checked_sub(1)
            .is_some_and(|before| is_option(&arguments[before].text));
        is_input(word) && (is_value || short == ' ')
    })
}
