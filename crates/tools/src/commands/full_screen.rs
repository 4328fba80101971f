//! Programs that are of no use without a terminal.

use std::io;

/// Programs that take over the terminal, and wait for keys without one.
#[rustfmt::skip]
const FULL_SCREEN: [&str; 44] = [
    "atop", "bashtop", "bpytop", "broot", "btop", "cgdb", "cmus", "emacs", "fzf", "gitui", "glances", "helix", "htop", "hx",
    "irssi", "jed", "joe", "k9s", "kak", "lazydocker", "lazygit", "lf", "mc", "mcedit", "micro", "mutt", "nano", "ncdu", "ne",
    "nnn", "nvim", "nvtop", "pico", "ranger", "rview", "rvim", "tig", "vi", "vifm", "view", "vim", "vimdiff", "watch", "yazi",
];

/// Programs that page, ask for a password or edit a file of the system. They end without a terminal.
const WITH_USER: [&str; 12] = [
    "chsh", "less", "login", "man", "more", "most", "passwd", "su", "top", "vigr", "vipw", "visudo",
];

/// Interpreters that read commands from the terminal if they get no argument.
const WITHOUT_ARGUMENTS: [&str; 21] = [
    "bash", "bpython", "clisp", "fish", "gdb", "ghci", "guile", "iex", "ipython", "irb", "julia",
    "lldb", "lua", "mysql", "node", "php", "psql", "python", "python3", "sh", "zsh",
];

/// Commands of git that ask about each change with `-p` or `-i`.
const PATCHING: [&str; 7] = [
    "add", "checkout", "clean", "commit", "reset", "restore", "stash",
];

/// Options with which these programs run a script, or only print.
#[rustfmt::skip]
const SCRIPTED: [&str; 19] = [
    "--batch", "--filter", "--headless", "--help", "--remote", "--script", "--version", "-E", "-Es", "-S", "-b", "-batch",
    "-c", "-e", "-es", "-f", "-h", "-s", "-v",
];

/// Words before the name of a program.
const PREFIXES: [&str; 8] = [
    "builtin", "command", "env", "exec", "nice", "nohup", "sudo", "time",
];

/// How a command line needs a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need<'a> {
    pub(crate) program: &'a str,
    /// Without a terminal, the program waits for keys.
    pub(crate) hangs: bool,
    /// Nothing else reads its input or output, so that the complete command can run on one.
    pub(crate) is_alone: bool,
}

/// The first program in `command` that needs a terminal.
pub(crate) fn need(command: &str) -> Option<Need<'_>> {
    let list = simple_commands(command)?;
    let found = list.commands.iter().find_map(|simple| of_simple(simple));
    found.map(|(program, hangs)| Need {
        program,
        hangs,
        is_alone: list.is_alone,
    })
}

/// Fails for a command that would wait for keys without a terminal.
pub(crate) fn check(command: &str, by_user: bool) -> io::Result<()> {
    let Some(need) = need(command).filter(|need| need.hangs) else {
        return Ok(());
    };
    let way = if by_user {
        format!("run `!> {command}`")
    } else {
        "start it with terminal, or change the file with another tool".to_owned()
    };
    let program = need.program;
    let message = format!("`{program}` needs a terminal, which this command does not have: {way}");
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

/// The simple commands of a command line, and whether it has neither pipes nor redirections.
struct List<'a> {
    commands: Vec<&'a str>,
    is_alone: bool,
}

/// Splits outside of quotes. `None` for what only a shell understands.
fn simple_commands(command: &str) -> Option<List<'_>> {
    let mut list = List {
        commands: Vec::new(),
        is_alone: true,
    };
    let (mut quote, mut start) = (None, 0);
    let mut chars = command.char_indices();
    while let Some((at, char)) = chars.next() {
        match (quote, char) {
            (None | Some('"'), '\\') => drop(chars.next()),
            (Some(open), _) => quote = (open != char).then_some(open),
            (None, '"' | '\'') => quote = Some(char),
            (None, '|' | '&' | ';' | '\n') => {
                // `&&` and `||` are two characters.
                let is_double = command[at + 1..].starts_with(char);
                if is_double {
                    chars.next();
                }
                let end = at + 1 + usize::from(is_double);
                let is_job = char == '&' && command[end..].trim().is_empty();
                let is_list = char != '|' && !is_job;
                list.is_alone &= is_double || is_list;
                list.commands.push(&command[start..at]);
                start = end;
            }
            (None, '<') if command[at..].starts_with("<<") => return None,
            (None, '<' | '>' | '(' | '{' | '`') => list.is_alone = false,
            (None, _) => {}
        }
    }
    list.commands.push(&command[start..]);
    quote.is_none().then_some(list)
}

/// The program of a simple command that needs a terminal, and whether it hangs without one.
fn of_simple(command: &str) -> Option<(&str, bool)> {
    let mut words = command
        .split_whitespace()
        .skip_while(|word| PREFIXES.contains(word) || is_assignment(word));
    let program = words.next()?.rsplit('/').next()?;
    let arguments: Vec<&str> = words.collect();
    let is_scripted = arguments.iter().any(|word| SCRIPTED.contains(word));
    let hangs = !is_scripted && FULL_SCREEN.contains(&program);
    let needs_user = !is_scripted && WITH_USER.contains(&program)
        || arguments.is_empty() && WITHOUT_ARGUMENTS.contains(&program)
        || program == "git" && asks_about_changes(&arguments);
    (hangs || needs_user).then_some((program, hangs))
}

fn is_assignment(word: &str) -> bool {
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    word.split_once('=')
        .is_some_and(|(name, _)| name.chars().all(is_name))
}

fn asks_about_changes(arguments: &[&str]) -> bool {
    let mut after = arguments.iter().skip_while(|word| !PATCHING.contains(word));
    after.next().is_some()
        && after.any(|word| matches!(*word, "-p" | "--patch" | "-i" | "--interactive"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_need_a_terminal_are_recognized() {
        for (command, program, hangs, is_alone) in [
            ("vim FILE", "vim", true, true),
            ("cd a && LANG=C /usr/bin/less b.txt", "less", false, true),
            ("sudo visudo", "visudo", false, true),
            ("python3", "python3", false, true),
            ("git -C x add -p src; git diff", "git", false, true),
            ("git clean -i", "git", false, true),
            ("echo a | vim -", "vim", true, false),
            ("vim a >log 2>&1", "vim", true, false),
            ("nano a &", "nano", true, false),
            ("false || vim 'a b'", "vim", true, true),
        ] {
            let expected = Need {
                program,
                hangs,
                is_alone,
            };
            assert_eq!(need(command), Some(expected), "{command}");
        }
        for command in [
            "top -b -n 1",
            "python3 a.py",
            "git log -p",
            "git commit -m 'one; vim two'",
            "cat <<EOF\nvim\nEOF",
            "vim --version",
            "emacs --batch -l a.el",
            "vim -es -c wq file",
            "echo vim",
            "",
        ] {
            assert_eq!(need(command), None, "{command}");
        }
    }
}
