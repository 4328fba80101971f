//! What the arguments of well-known programs can do beyond what their name says: run another program, or write to
//! a file that an option names. A wildcard of an allow rule does not cover such an argument; the rule must name it.

use crate::equivalents::{is_wrapper, name_of};
use crate::shell::Word;

/// The dangerous arguments of a program.
struct Program {
    names: &'static [&'static str],
    /// Subcommands that run other programs, or change what later commands run.
    subcommands: &'static [&'static str],
    /// Options, which can be abbreviated and have a value after `=`; one letter also matches in a group.
    options: &'static [&'static str],
    /// Options of one subcommand.
    of_subcommand: &'static [(&'static str, &'static [&'static str])],
}

const NONE: Program = Program {
    names: &[],
    subcommands: &[],
    options: &[],
    of_subcommand: &[],
};

const PROGRAMS: &[Program] = &[
    Program {
        names: &["git"],
        subcommands: &[
            "bisect",
            "config",
            "daemon",
            "difftool",
            "filter-branch",
            "for-each-repo",
            "hook",
            "instaweb",
            "mergetool",
            "send-email",
            "submodule",
            "web--browse",
        ],
        options: &[
            "--config-env",
            "--exec-path",
            "--exec",
            "--ext-diff",
            "--extcmd",
            "--open-files-in-pager",
            "--output",
            "--receive-pack",
            "--separate-git-dir",
            "--template",
            "--textconv",
            "--upload-pack",
            "--git-dir",
            "--work-tree",
        ],
        of_subcommand: &[
            ("", &["-c", "-C"]),
            ("archive", &["-o"]),
            ("clone", &["-c", "-u", "--config"]),
            ("fetch-pack", &["--upload-pack"]),
            ("grep", &["-O"]),
            ("init", &["--template"]),
            ("rebase", &["-x", "-i", "--interactive"]),
        ],
    },
    Program {
        names: &["find", "gfind"],
        options: &[
            "-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok",
            "-okdir",
        ],
        ..NONE
    },
    Program {
        names: &["fd", "fdfind"],
        options: &["-x", "-X", "--exec", "--exec-batch"],
        ..NONE
    },
    Program {
        names: &["rg"],
        options: &["--hostname-bin", "--pre"],
        ..NONE
    },
    Program {
        names: &["ack", "ag", "bat", "batcat", "delta"],
        options: &["--pager"],
        ..NONE
    },
    Program {
        names: &["man"],
        options: &["-P", "-H", "--html", "--pager"],
        ..NONE
    },
    Program {
        names: &["sort", "gsort"],
        options: &["--compress-program", "-o", "--output"],
        ..NONE
    },
    Program {
        names: &["tar", "gtar", "bsdtar"],
        options: &[
            "-F",
            "-I",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
        ..NONE
    },
    Program {
        names: &["zip"],
        options: &["-TT", "--unzip-command"],
        ..NONE
    },
    Program {
        names: &["rsync"],
        options: &["-e", "--rsh", "--rsync-path"],
        ..NONE
    },
    Program {
        names: &["scp", "sftp", "ssh"],
        options: &["-F", "-o", "-S"],
        ..NONE
    },
    Program {
        names: &["curl"],
        options: &[
            "-c",
            "-D",
            "-K",
            "-O",
            "-o",
            "-T",
            "--config",
            "--cookie-jar",
            "--dump-header",
            "--etag-save",
            "--libcurl",
            "--output",
            "--output-dir",
            "--remote-name",
            "--stderr",
            "--trace",
            "--trace-ascii",
            "--upload-file",
        ],
        ..NONE
    },
    Program {
        names: &["wget"],
        options: &[
            "-a",
            "-e",
            "-O",
            "-o",
            "-P",
            "--append-output",
            "--config",
            "--directory-prefix",
            "--execute",
            "--output-document",
            "--output-file",
            "--post-file",
            "--use-askpass",
        ],
        ..NONE
    },
    Program {
        names: &["sed", "gsed"],
        options: &["-f", "-i", "--file", "--in-place"],
        ..NONE
    },
    Program {
        names: &["yq", "tree"],
        options: &["-i", "--inplace", "-o"],
        ..NONE
    },
    Program {
        names: &["cargo"],
        options: &["--config"],
        ..NONE
    },
    Program {
        names: &["go"],
        options: &[
            "-exec",
            "--exec",
            "-toolexec",
            "--toolexec",
            "-vettool",
            "--vettool",
        ],
        subcommands: &["generate", "env"],
        ..NONE
    },
    Program {
        names: &["npm", "pnpm", "yarn", "bun"],
        options: &["--node-options", "--script-shell"],
        subcommands: &["config", "dlx", "exec", "explore", "x"],
        ..NONE
    },
    Program {
        names: &["gh"],
        subcommands: &["alias", "extension"],
        ..NONE
    },
];

/// Programs whose first argument is a subcommand: a rule for all of them would allow too much.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "aws",
    "brew",
    "cargo",
    "dnf",
    "gh",
    "git",
    "go",
    "gcloud",
    "helm",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "systemctl",
    "terraform",
    "yarn",
];

/// Programs that run whatever their arguments say: no rule with a wildcard is offered for them.
const RUNS_ANYTHING: &[&str] = &[
    "ansible",
    "at",
    "awk",
    "batch",
    "bun",
    "bunx",
    "cmake",
    "crontab",
    "csh",
    "deno",
    "docker",
    "ed",
    "emacs",
    "ex",
    "expect",
    "gawk",
    "gradle",
    "gradlew",
    "java",
    "jshell",
    "julia",
    "just",
    "kubectl",
    "less",
    "lua",
    "luajit",
    "make",
    "man",
    "mawk",
    "more",
    "mvn",
    "nano",
    "nawk",
    "ninja",
    "node",
    "nodejs",
    "npx",
    "nvim",
    "osascript",
    "perl",
    "php",
    "pipx",
    "pnpx",
    "podman",
    "psql",
    "pwsh",
    "rake",
    "rm",
    "rsync",
    "ruby",
    "scp",
    "screen",
    "sed",
    "sqlite3",
    "tclsh",
    "tcsh",
    "tmux",
    "ts-node",
    "tsx",
    "uv",
    "uvx",
    "vi",
    "view",
    "vim",
    "xdg-open",
];

/// The arguments of the command `words` that an allow rule must name. `None` when one cannot be known.
pub(super) fn dangerous(words: &[Word]) -> Option<Vec<&str>> {
    let start = words.iter().position(|word| !word.assigns);
    let Some((program, arguments)) = start.and_then(|start| words[start..].split_first()) else {
        return Some(Vec::new());
    };
    let name = name_of(&program.text);
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk") {
        let is_plain = |word: &Word| word.is_fixed() && is_plain_awk(&word.text);
        return arguments.iter().all(is_plain).then(Vec::new);
    }
    let Some(known) = PROGRAMS.iter().find(|known| known.names.contains(&name)) else {
        return Some(Vec::new());
    };
    let mut found = Vec::new();
    let mut subcommand = None;
    let mut is_value = false;
    let mut has_message = false;
    for (place, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        if word.may_be_option && (word.splits || !has_message) {
            return None;
        }
        has_message = name == "git" && takes_message(subcommand, text);
        let is_option = text.starts_with('-');
        if subcommand.is_none() && !is_option && !std::mem::take(&mut is_value) {
            subcommand = Some(text);
            if known.subcommands.contains(&text) {
                found.push(text);
            }
            // What is unknown could be a subcommand that runs something.
            if !word.is_fixed() && !known.subcommands.is_empty() {
                return None;
            }
        }
        is_value = is_option
            && matches!(
                text,
                "-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace"
            );
        let letters = matches!(name, "tar" | "gtar" | "bsdtar") && place == 0 && !is_option;
        let mut options = known.options.iter().chain(
            known
                .of_subcommand
                .iter()
                .filter(|(of, _)| subcommand.unwrap_or_default() == *of)
                .flat_map(|(_, options)| options.iter()),
        );
        if options.any(|option| is_given(option, text, letters)) {
            found.push(text);
        }
    }
    if matches!(name, "sed" | "gsed") && !sed_scripts_are_plain(arguments) {
        return None;
    }
    Some(found)
}

/// Whether the word after `option` is the message of a commit, tag or merge, whatever it begins with.
fn takes_message(subcommand: Option<&str>, option: &str) -> bool {
    matches!(subcommand, Some("commit" | "tag" | "merge"))
        && matches!(option, "-m" | "-am" | "--message")
}

/// Whether the argument `given` is, contains or abbreviates `option`.
fn is_given(option: &str, given: &str, letters: bool) -> bool {
    let name = given.split('=').next().unwrap_or_default();
    if let Some(long) = option.strip_prefix("--") {
        return name
            .strip_prefix("--")
            .is_some_and(|name| !name.is_empty() && long.starts_with(name));
    }
    let letter = option.strip_prefix('-').unwrap_or(option);
    if letter.chars().count() > 1 {
        return name == option;
    }
    let group = if letters {
        Some(given)
    } else {
        given
            .strip_prefix('-')
            .filter(|group| !group.starts_with('-'))
    };
    group.is_some_and(|group| group.contains(letter))
}

/// Whether an awk program can only read its input and print.
fn is_plain_awk(text: &str) -> bool {
    !text.contains(['|', '>', '@', '`'])
        && !["system", "getline", "close", "fflush"]
            .iter()
            .any(|word| text.contains(word))
        && !matches!(
            text.get(..2),
            Some("-f" | "-i" | "-l" | "-e" | "-E" | "-v" | "--")
        )
}

/// Whether the scripts of sed only print, delete and substitute: no `e`, `r`, `w` and no such flag.
fn sed_scripts_are_plain(arguments: &[Word]) -> bool {
    let mut rest = arguments.iter();
    let mut scripts = Vec::new();
    let mut first = None;
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-e" | "--expression" => scripts.extend(rest.next()),
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "--" | "--quiet" | "--silent" => {}
            text if text.starts_with('-')
                && !is_given("-i", text, false)
                && text != "--in-place" =>
            {
                return false;
            }
            text if text.starts_with('-') => {}
            _ => first = first.or(Some(word)),
        }
    }
    if scripts.is_empty() {
        scripts.extend(first);
    }
    scripts
        .iter()
        .all(|word| word.is_fixed() && is_plain_sed(&word.text))
}

/// Whether a sed script is lines such as `1,20p`, `/x/d`, `$!d` and `s/a/b/g`.
fn is_plain_sed(script: &str) -> bool {
    script.split([';', '\n']).all(|command| {
        let command = command.trim();
        let address = |char: char| char.is_ascii_digit() || "$,~+! ".contains(char);
        let command = command.trim_start_matches(address);
        let mut chars = command.chars();
        match chars.next() {
            None | Some('#') => true,
            Some('p' | 'd' | 'q' | '=' | 'n') => chars.as_str().trim().is_empty(),
            Some('/') => {
                let mut parts = chars.as_str().rsplitn(2, '/');
                let end = parts.next().unwrap_or_default();
                let end = end.trim_start_matches(address);
                matches!(end, "p" | "d" | "q" | "=") && parts.next().is_some()
            }
            Some('s') => {
                let Some(mark) = chars.next().filter(char::is_ascii_punctuation) else {
                    return false;
                };
                let parts: Vec<&str> = chars.as_str().split(mark).collect();
                let is_flag = |flag: char| flag.is_ascii_digit() || "gpiI".contains(flag);
                mark != '\\'
                    && parts.len() == 3
                    && !parts[0].ends_with('\\')
                    && !parts[1].ends_with('\\')
                    && parts[2].trim().chars().all(is_flag)
            }
            _ => false,
        }
    })
}

/// The start of the widest rule to offer for `words`: the program with its subcommand.
pub(super) fn prefix(words: &[Word]) -> Option<String> {
    let program = words.first()?;
    let name = program.text.as_str();
    let is_plain = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || "-_:".contains(char))
    };
    let version = |char: char| char.is_ascii_digit() || char == '.';
    let base = name.trim_end_matches(version);
    let runs_anything =
        is_wrapper(name) || RUNS_ANYTHING.contains(&name) || RUNS_ANYTHING.contains(&base);
    if program.assigns
        || runs_anything
        || matches!(base, "python" | "pypy" | "source")
        || !name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "-_+.".contains(char))
        || name == "."
        || !dangerous(words).is_some_and(|found| found.is_empty())
    {
        return None;
    }
    let second = words.get(1)?;
    if second.is_fixed() && is_plain(&second.text) {
        return Some(format!("{name} {}", second.text));
    }
    let is_option = second.text.starts_with('-');
    (is_option && !WITH_SUBCOMMANDS.contains(&name)).then(|| name.to_owned())
}
