//! Prepares the text of a shell for the grammar: known variables get their values, and parts that run nothing are removed.

use std::path::Path;

use osier_base::path;

/// Variables whose value is the root of the project.
const ROOTS: [&str; 2] = ["CLAUDE_PROJECT_DIR", "OSIER_PROJECT_DIR"];
/// Text that can follow `git rev-parse --show-toplevel`, for folders without a repository.
#[rustfmt::skip]
const FALLBACKS: [&str; 7] = [
    "2>/dev/null || pwd", "2>/dev/null || echo .", "2> /dev/null || pwd", "2>/dev/null", "2> /dev/null", "|| pwd", "|| echo .",
];
/// Commands of version managers that print assignments of variables.
#[rustfmt::skip]
const MANAGERS: [&str; 12] = [
    "fnm env", "pyenv init", "rbenv init", "nodenv init", "goenv init", "jenv init", "mise activate", "rtx activate", "brew shellenv",
    "/opt/homebrew/bin/brew shellenv", "opam env", "ssh-agent",
];
/// Expressions for the path of the running script, as they occur inside of `dirname`.
#[rustfmt::skip]
const OWN_NAMES: [&str; 9] = [
    "$(readlink -f \"$0\")", "$(readlink -f -- \"$0\")", "$(realpath \"$0\")", "$(readlink -f \"${BASH_SOURCE[0]}\")",
    "$(realpath \"${BASH_SOURCE[0]}\")", "${BASH_SOURCE[0]}", "${BASH_SOURCE}", "$BASH_SOURCE", "$0",
];
/// The number of rounds in which variables are replaced by their values, which can contain others.
const ROUNDS: usize = 6;
/// The number of functions that are read.
const FUNCTIONS: usize = 50;

/// The beginnings of the names of variables that only say where something is. osier looks up what `PATH` finds in the project when a
/// program runs.
#[rustfmt::skip]
const INHERITED: [&str; 10] = [
    "PATH", "HOME", "CARGO_TARGET_DIR", "CARGO_MANIFEST", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "npm_package", "npm_lifecycle",
    "npm_config_local_prefix",
];
/// The text with the values that are known: the root of the project, the home directory, the folder of the script, and variables that the
/// text sets once to a fixed text.
pub(in crate::trust) fn with_values(text: &str, project: &Path, script: Option<&Path>) -> String {
    let root = project.display().to_string();
    let home = std::env::home_dir().unwrap_or_default();
    let home = home.display().to_string();
    let mut text = text
        .replace("${HOME}", &home)
        .replace("$HOME/", &format!("{home}/"));
    text = without_managers(&text);
    for name in ROOTS {
        text = with_root(&text, name, &root);
    }
    text = with_top_level(&text, &root);
    if let Some(folder) = script.and_then(Path::to_str) {
        text = with_own_folder(&text, folder);
    }
    for _ in 0..ROUNDS {
        let next = with_constants(&with_directories(&text));
        if next == text {
            break;
        }
        text = next;
    }
    with_sourced(&text)
}

/// The text in which a script that a loop sources is the pattern of the loop: `for a in lib/*.sh; do . "$a"; done`.
fn with_sourced(text: &str) -> String {
    let mut found = text.to_owned();
    for rest in text.split("for ").skip(1) {
        let Some((name, list)) = rest.split_once(" in ") else {
            continue;
        };
        let pattern = list.split([';', '\n']).next().unwrap_or_default().trim();
        let is_pattern = ["/*.sh", "/*.bash"]
            .iter()
            .any(|end| pattern.ends_with(end));
        let is_one = is_pattern && !pattern.contains(char::is_whitespace);
        if !is_one || !name.chars().all(is_of_name) || !is_set_once(text, name) {
            continue;
        }
        for variable in [format!("\"${name}\""), format!("\"${{{name}}}\"")] {
            for command in ["source", "."] {
                let sourced = format!("{command} {pattern}");
                found = found.replace(&format!("{command} {variable}"), &sourced);
            }
        }
    }
    found
}

/// The text without `eval "$(fnm env)"` and the like, which only choose the versions of programs.
fn without_managers(text: &str) -> String {
    let mut text = text.to_owned();
    for manager in MANAGERS {
        for (start, end) in [
            ("eval \"$(", ")\""),
            ("eval $(", ")"),
            ("eval \"`", "`\""),
            ("source <(", ")"),
            (". <(", ")"),
        ] {
            let head = format!("{start}{manager}");
            while let Some(at) = text.find(&head) {
                let rest = &text[at + head.len()..];
                let Some((options, _)) = rest.split_once(end) else {
                    break;
                };
                let is_part = |char: char| char.is_ascii_alphanumeric() || " -=_".contains(char);
                if !options.chars().all(is_part) {
                    break;
                }
                let length = head.len() + options.len() + end.len();
                text.replace_range(at..at + length, ":");
            }
        }
    }
    text
}

/// Replaces `$NAME`, `${NAME}` and `${NAME:-other}` by the root.
fn with_root(text: &str, name: &str, root: &str) -> String {
    let mut text = text.replace(&format!("${{{name}}}"), root);
    text = text.replace(&format!("${name}"), root);
    for start in [
        format!("${{{name}:-"),
        format!("${{{name}-"),
        format!("${{{name}:?"),
    ] {
        while let Some(at) = text.find(&start) {
            let Some(end) = end_of(&text[at + 2..], '{', '}') else {
                break;
            };
            text.replace_range(at..=at + 2 + end, root);
        }
    }
    text
}

fn with_top_level(text: &str, root: &str) -> String {
    let mut text = text.to_owned();
    for (start, close) in [("$(", ')'), ("`", '`')] {
        let start = format!("{start}git rev-parse --show-toplevel");
        let mut parts = text.split(&start);
        let mut found = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match part.split_once(close) {
                Some((fallback, rest))
                    if fallback.is_empty() || FALLBACKS.contains(&fallback.trim()) =>
                {
                    found.extend([root, rest]);
                }
                _ => found.extend([&start, part]),
            }
        }
        text = found;
    }
    text
}

/// Replaces the expressions for the folder of the script.
fn with_own_folder(text: &str, folder: &str) -> String {
    let spaced = [
        ("$( cd ", "$(cd "),
        ("$(cd -- ", "$(cd "),
        ("$( dirname ", "$(dirname "),
        ("&> /dev/null", ">/dev/null"),
        ("&>/dev/null", ">/dev/null"),
        ("}\" )", "}\")"),
        ("\"$0\" )", "\"$0\")"),
        ("&& pwd )", "&& pwd)"),
    ];
    let text = spaced
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let mut text = text.replace("${0%/*}", folder);
    text = text
        .replace("${BASH_SOURCE[0]%/*}", folder)
        .replace("${BASH_SOURCE%/*}", folder);
    for own in OWN_NAMES {
        for name in [format!("\"{own}\""), own.to_owned()] {
            for start in ["dirname ", "dirname -- "] {
                text = text.replace(&format!("$({start}{name})"), folder);
                text = text.replace(&format!("`{start}{name}`"), folder);
            }
        }
    }
    text
}

/// Replaces `$(cd FOLDER && pwd)` by the folder, if that is known.
fn with_directories(text: &str) -> String {
    let mut text = text.to_owned();
    let mut from = 0;
    while let Some(at) = text[from..].find("$(cd ").map(|at| at + from) {
        from = at + 1;
        let Some(end) = end_of(&text[at + 2..], '(', ')') else {
            break;
        };
        let inner = text[at + 5..at + 2 + end].trim();
        let inner = inner.strip_prefix("-- ").unwrap_or(inner);
        let parts = inner.split_once("&&").or_else(|| inner.split_once(';'));
        let Some((folder, command)) = parts else {
            continue;
        };
        let folder = folder
            .trim()
            .trim_end_matches(">/dev/null 2>&1")
            .trim_end_matches(">/dev/null");
        let folder = folder.trim().trim_matches('"').to_owned();
        let is_path = folder.starts_with('/') && is_plain(&folder);
        if is_path && ["pwd", "pwd -P"].contains(&command.trim()) {
            text.replace_range(at..=at + 2 + end, &without_dots(&folder));
        }
    }
    text
}

/// The absolute path without `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
    {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    format!("/{}", parts.join("/"))
}

/// Replaces variables that the text sets once, on a line of their own.
fn with_constants(given: &str) -> String {
    let mut text = given.to_owned();
    for line in given.split(['\n', ';']).map(str::trim) {
        let starts = ["export ", "readonly ", "local ", "local -r ", "declare -r "];
        let start = starts.iter().find_map(|start| line.strip_prefix(start));
        let Some((name, value)) = start.unwrap_or(line).split_once('=') else {
            continue;
        };
        let value = value.split(" && ").next().unwrap_or_default();
        let value = value.split(" || exit").next().unwrap_or_default().trim();
        let value = unquoted(value);
        let is_name = !name.is_empty()
            && name.chars().all(is_of_name)
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name != "PATH";
        if is_name && !value.is_empty() && is_plain(value) && is_set_once(given, name) {
            text = replaced(&text, name, value);
        }
    }
    text
}

fn is_of_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// Whether the text is one word in which a shell replaces nothing.
fn is_plain(text: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "_./-@+:,".contains(char);
    text.chars().all(is_part)
}

pub(in crate::trust) fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|text| text.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    text
}

/// Whether the name occurs only once without `$`: where the text sets it.
fn is_set_once(text: &str, name: &str) -> bool {
    let uses = text.match_indices(name).filter(|(at, _)| {
        let (before, after) = (&text[..*at], &text[at + name.len()..]);
        let is_part = before.ends_with(is_of_name) || after.starts_with(is_of_name);
        let is_use = before.ends_with('$')
            || before.ends_with("${") && after.starts_with(['}', '%', '#', '[', '/']);
        !is_part && !is_use
    });
    uses.count() == 1
}

fn replaced(text: &str, name: &str, value: &str) -> String {
    let text = text.replace(&format!("${{{name}}}"), value);
    let mut found = String::new();
    let variable = format!("${name}");
    let mut parts = text.split(&variable);
    found.push_str(parts.next().unwrap_or_default());
    for part in parts {
        if part.starts_with(is_of_name) {
            found.extend(["$", name]);
        } else {
            found.push_str(value);
        }
        found.push_str(part);
    }
    found
}

/// The text with each call of a function that runs its arguments, such as `run() { "$@"; }`, replaced by the function's body.
pub(in crate::trust) fn with_calls(text: &str) -> String {
    let mut text = text.to_owned();
    let (mut from, mut rounds) = (0, 0);
    while let Some(at) = text[from..].find("()").map(|at| at + from) {
        from = at + 2;
        rounds += 1;
        if rounds > FUNCTIONS {
            break;
        }
        if let Some((start, next)) = with_function(&text, at) {
            (text, from) = (next, start);
        }
    }
    text
}

/// The text without the function whose name ends at `at`, and with its body in place of each call. Also returns where the function was.
fn with_function(text: &str, at: usize) -> Option<(usize, String)> {
    let mut before = text[..at].trim_end().char_indices();
    let name_start = before.rfind(|(_, char)| !is_of_name(*char));
    let name_start = name_start.map_or(0, |(place, char)| place + char.len_utf8());
    let name = text[name_start..at].trim_end();
    let body = text[at + 2..].trim_start().strip_prefix('{')?;
    let body_start = text.len() - body.len();
    let body = &body[..end_of(body, '{', '}')?];
    // Another command could call the function by its name.
    let calls_by_name = ["trap ", "eval ", "xargs ", "export -f", "declare -f"];
    if name.is_empty()
        || !body.contains("\"$@\"")
        || words(body, name).next().is_some()
        || calls_by_name.iter().any(|word| text.contains(*word))
    {
        return None;
    }
    let start = text[..name_start].trim_end_matches("function ").len();
    let rest = &text[body_start + body.len() + 1..];
    let shifts = words(body, "shift").count();
    let (mut found, mut done) = (text[..start].to_owned(), 0);
    for place in words(rest, name) {
        let before = rest[..place].trim_end_matches([' ', '\t']);
        let starts = ["then", "do", "else", "if", "!"];
        let is_start = before.is_empty()
            || before.ends_with(['\n', ';', '&', '|', '(', '{'])
            || starts.iter().any(|word| before.ends_with(*word));
        if !is_start || place < done {
            continue;
        }
        let call = &rest[place + name.len()..];
        let arguments = &call[..unquoted_end(call, &['\n', ';', '&', '|', ')'])];
        let mut given = arguments.trim();
        for _ in 0..shifts {
            given = given[unquoted_end(given, &[' ', '\t'])..].trim_start();
        }
        found.push_str(&rest[done..place]);
        found.extend(["{ ", &body.trim().replace("\"$@\"", given), "\n}"]);
        done = place + name.len() + arguments.len();
    }
    found.push_str(&rest[done..]);
    Some((start, found))
}

/// The positions of a word in the text.
fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> {
    text.match_indices(word).filter_map(move |(at, _)| {
        let is_part = |char: char| is_of_name(char) || "-./$".contains(char);
        let is_word =
            !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part);
        is_word.then_some(at)
    })
}

/// The length of the text up to the first of these characters outside of quotes.
fn unquoted_end(text: &str, ends: &[char]) -> usize {
    let mut quote = None;
    let end = text.find(|char| match quote {
        Some(mark) => {
            quote = Some(mark).filter(|_| mark != char);
            false
        }
        None if ends.contains(&char) => true,
        None => {
            quote = Some(char).filter(|char| "'\"".contains(*char));
            false
        }
    });
    end.unwrap_or(text.len())
}

/// The text without arithmetic, and with the command in `< <(…)` on a line of its own.
fn without_substitutions(text: &str) -> String {
    let mut text = text.to_owned();
    for (start, close) in [("< <(", ")"), ("((", "))")] {
        let mut from = 0;
        while let Some(at) = text[from..].find(start).map(|at| at + from) {
            from = at + 1;
            let inner = &text[at + start.len()..];
            let Some(end) = end_of(inner, '(', ')') else {
                break;
            };
            let after = at + start.len() + end + close.len();
            let inner = inner[..end].to_owned();
            let is_whole = text.get(..after).is_some_and(|text| text.ends_with(close));
            if start == "< <(" {
                text.replace_range(at..after, &format!("\n{inner}\n"));
            } else if is_whole && !text[..at].ends_with('$') && !inner.contains(['`', '(']) {
                text.replace_range(at..after, ":");
            }
        }
    }
    text
}

/// The position of the bracket that closes the one before the text.
pub(in crate::trust) fn end_of(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 1;
    text.find(|char| {
        if char == open {
            depth += 1;
        } else if char == close {
            depth -= 1;
        }
        depth == 0
    })
}

/// The text with a plain word in place of each regular expression in `[[ … =~ … ]]`.
fn without_patterns(text: &str) -> String {
    let mut parts = text.split("=~ ");
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(" ]]") {
            Some((pattern, rest)) if !pattern.contains(['`', '\n']) && !pattern.contains("$(") => {
                found.extend(["== pattern ]]", rest]);
            }
            _ => found.extend(["=~ ", part]),
        }
    }
    found
}

/// The text without parts that the grammar does not read and that run nothing: `case`, functions, and expansions such as `${name%.*}`.
pub(in crate::trust) fn plain(text: &str) -> String {
    let text = &without_substitutions(text);
    let mut found = String::new();
    // Whether each open `case` expects a pattern.
    let mut cases: Vec<bool> = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim();
        if rest.starts_with('#') {
            continue;
        }
        let name = rest.strip_suffix('{').map(str::trim_end);
        if let Some(name) = name.and_then(|name| name.strip_suffix("()")) {
            let is_name = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
            let name = name.strip_prefix("function ").unwrap_or(name).trim();
            rest = if name.chars().all(is_name) { "{" } else { rest };
        }
        while !rest.is_empty() {
            let case = rest.strip_prefix("case ");
            if let Some(case) = case {
                let Some((word, after)) = case.split_once(" in") else {
                    return text.to_owned();
                };
                // The word after `case` can contain commands.
                found.extend([": ", word, "\n"]);
                cases.push(true);
                rest = after.trim_start();
            } else if !cases.is_empty() && rest.starts_with("esac") {
                cases.pop();
                rest = rest[4..].trim_start_matches([' ', ';']);
            } else if let Some(expects) = cases.last_mut()
                && *expects
                && let Some((_, after)) = rest.split_once(')')
            {
                *expects = false;
                rest = after.trim_start();
            } else {
                let end = rest.find(";;").filter(|_| !cases.is_empty());
                let case = rest.find(" case ").map(|at| at + 1);
                if let Some(at) = case.filter(|at| end.is_none_or(|end| *at < end)) {
                    found.push_str(&rest[..at]);
                    rest = &rest[at..];
                    continue;
                }
                found.push_str(&rest[..end.unwrap_or(rest.len())]);
                rest = rest[end.map_or(rest.len(), |end| end + 2)..].trim_start();
                if let Some(expects) = cases.last_mut().filter(|_| end.is_some()) {
                    *expects = true;
                    found.push('\n');
                }
            }
        }
        found.push('\n');
    }
    let found = without_patterns(&found);
    // `${name%.*}` also stands for the value of the variable.
    let mut parts = found.split("${");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name: String = part.chars().take_while(|char| is_of_name(*char)).collect();
        match part[name.len()..].split_once('}') {
            Some((change, rest)) if !name.is_empty() && !change.contains(['`', '(']) => {
                text.extend(["${", &name, "}", rest]);
            }
            _ => text.extend(["${", part]),
        }
    }
    text
}

/// The first words of the commands in a text that the grammar does not understand.
pub(in crate::trust) fn heads(text: &str) -> impl Iterator<Item = &str> {
    let starts = [
        "then ", "do ", "else ", "elif ", "! ", "exec ", "if ", "while ", "until ",
    ];
    let parts = text.split([';', '|', '&', '\n', '(', '{']);
    parts.filter_map(move |part| {
        let part = part.trim_start();
        let start = starts.iter().find_map(|word| part.strip_prefix(word));
        start.unwrap_or(part).split_whitespace().next()
    })
}

/// Whether a command of the text lists names of files for another one.
pub(in crate::trust) fn lists_files(text: &str) -> bool {
    let lists = [
        "git ls-files",
        "git diff",
        "git status",
        "find ",
        "ls ",
        "fd ",
        "rg ",
        "cat ",
    ];
    let starts = |text: &str| lists.iter().any(|word| text.trim_start().starts_with(word));
    let substitutes = ["$(", "`"]
        .iter()
        .any(|mark| text.split(mark).skip(1).any(starts));
    substitutes || text.contains("xargs") && text.split(['|', ';', '\n', '&']).any(starts)
}

/// Whether the text splits texts into words that variables then stand for: by a loop, an array or the arguments of the script.
pub(in crate::trust) fn splits_words(text: &str) -> bool {
    let starts = ["in ", "=(", "set -- "];
    let is_unquoted = |start: &str| {
        let mut rests = text.split(start).skip(1);
        rests.any(|rest| rest.trim_start().starts_with(['$', '`']))
    };
    starts.into_iter().any(is_unquoted)
}

/// Whether everything after the only `cd` surely runs in the new directory: the `cd` is a statement of its own, outside of parentheses,
/// functions and conditions.
pub(in crate::trust) fn is_certain_move(text: &str) -> bool {
    let places = ["cd ", "pushd ", "chdir "].into_iter().find_map(|word| {
        let mut places = text.match_indices(word).map(|(at, _)| at);
        places.find(|at| {
            !text[..*at].ends_with(|char: char| char.is_alphanumeric() || "_-./".contains(char))
        })
    });
    let Some(at) = places else {
        return false;
    };
    let (before, after) = text.split_at(at);
    let count = |word: &str| before.matches(word).count();
    let is_closed =
        count("(") == count(")") && count("{") == count("}") && count("case ") <= count("esac");
    let end = before.trim_end();
    let is_first = end.is_empty() || end.ends_with(';') || before[end.len()..].contains('\n');
    let is_own = is_first && !end.ends_with(['&', '|', '\\']);
    let after = ["2>&1", "&>", ">&2"]
        .iter()
        .fold(after.to_owned(), |text, word| text.replace(word, ""));
    let next = after
        .find(['\n', ';', '&', '|', ')', '}'])
        .map_or("", |at| &after[at..]);
    let goes_on = !next.starts_with(['&', '|']) || next.starts_with("&&") || next.starts_with("||");
    is_closed && is_own && goes_on
}

/// The only `<<` text in the line, if the shell replaces nothing in it.
pub(in crate::trust) fn document(text: &str) -> Option<String> {
    let (_, rest) = text
        .split_once("<<")
        .filter(|(_, rest)| !rest.contains("<<"))?;
    let quote = rest.chars().next().filter(|char| "'\"".contains(*char));
    let (mark, rest) = match quote {
        Some(quote) => rest[1..].split_once(quote)?,
        None => rest.split_at(rest.find(|char| !is_of_name(char))?),
    };
    if mark.is_empty() || quote.is_none() && rest.contains(['$', '`', '\\']) {
        return None;
    }
    let (first, body) = rest.split_once('\n')?;
    let (body, after) = format!("{body}\n")
        .split_once(&format!("{mark}\n"))
        .map(|(body, after)| (body.to_owned(), after.to_owned()))?;
    let is_alone = first.trim().is_empty() && after.trim().is_empty();
    (is_alone && (body.is_empty() || body.ends_with('\n'))).then_some(body)
}

/// The name of the file that is the only input of the line.
pub(in crate::trust) fn input(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('<')?;
    let rest = rest.trim_start();
    let name = rest.split([' ', '\n', ';', '>', '&']).next()?;
    let name = unquoted(name);
    (!text.contains('|') && !rest.contains('<') && is_plain(name)).then_some(name)
}

/// Whether the variable chooses code that programs load, by its name. The text that sets it is trusted, so that a list of names is enough.
pub fn selects_code(assignment: &str) -> bool {
    let name = assignment.split('=').next().unwrap_or_default();
    let name = name.trim_end_matches('+');
    #[rustfmt::skip]
    let starts = [
        "LD_", "DYLD_", "PYTHON", "NODE_", "NPM_", "npm_", "PERL", "RUBY", "BASH_", "GIT_", "CARGO_", "RUST", "JAVA", "LUA_", "GEM_",
        "BUNDLE_", "MAKE", "GO", "UV_", "PIP_", "PHP", "DENO_", "BUN_", "MISE_",
    ];
    #[rustfmt::skip]
    let ends = ["PATH", "OPTIONS", "OPTS", "PRELOAD", "EDITOR", "PAGER", "SHELL", "_HOME", "_WRAPPER"];
    let plain = [
        "NODE_ENV",
        "RUST_LOG",
        "RUST_BACKTRACE",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "GOOS",
        "GOARCH",
        "UV_OFFLINE",
        "UV_FROZEN",
    ];
    !plain.contains(&name)
        && (matches!(name, "ENV" | "IFS" | "HOME")
            || starts.iter().any(|start| name.starts_with(start))
            || ends.iter().any(|end| name.ends_with(end)))
}

/// Whether osier has inherited a variable that chooses code and names a path in the project.
pub(in crate::trust) fn inherits(
    variables: impl IntoIterator<Item = (String, String)>,
    cwd: &Path,
    project: &Path,
) -> bool {
    let is_own = |part: &str| {
        let part = part.trim_matches(['"', '\'']);
        let file = path::resolve(cwd, part);
        part.len() > 1 && file.starts_with(project) && file.exists()
    };
    variables.into_iter().any(|(name, value)| {
        let is_place = INHERITED.iter().any(|start| name.starts_with(start));
        let mut parts = value.split([':', ' ', '=', ',', ';']);
        selects_code(&name) && !is_place && parts.any(is_own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_names_code_of_the_project_counts() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        std::fs::create_dir(project.join("src")).unwrap();
        std::fs::File::create(project.join("src/e.js")).unwrap();
        let root = project.to_str().unwrap();
        for (name, value, expected) in [
            ("PYTHONPATH", "/usr/none:ROOT/src", true),
            ("PYTHONPATH", "src", true),
            ("NODE_OPTIONS", "--require=ROOT/src/e.js", true),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("BASH_ENV", "ROOT/src/e.js", true),
            ("PERL5OPT", "-I ROOT/src", true),
            ("RUBYOPT", "-r ./src/e.js", true),
            ("PYTHONPATH", "/usr/none", false),
            ("PATH", "ROOT/src", false),
            ("PWD", "ROOT/src", false),
            ("CARGO_TARGET_DIR", "ROOT/src", false),
        ] {
            let given = [(name.to_owned(), value.replace("ROOT", root))];
            assert_eq!(
                inherits(given, &project, &project),
                expected,
                "{name}={value}"
            );
        }
    }

    #[test]
    fn known_values_replace_variables_and_substitutions() {
        let (project, script) = (Path::new("/p"), Path::new("/p/hooks"));
        for (text, expected) in [
            (". \"$(dirname \"$0\")/lib.sh\"", ". \"/p/hooks/lib.sh\""),
            (
                "DIR=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n. \"$DIR/lib.sh\"",
                "DIR=/p/hooks\n. \"/p/hooks/lib.sh\"",
            ),
            (
                "R=\"$(cd \"$(dirname \"$0\")/..\" >/dev/null && pwd)\"\n\"$R\"/x",
                "R=\"/p\"\n\"/p\"/x",
            ),
            ("cd ${CLAUDE_PROJECT_DIR:-.} && ./x", "cd /p && ./x"),
            (
                "root=$(git rev-parse --show-toplevel 2>/dev/null || pwd)\n$root/x",
                "root=/p\n/p/x",
            ),
            // The variable gets another value, by a loop or from outside.
            ("A=x\nread A\n$A", "A=x\nread A\n$A"),
            ("for A in x y; do ./$A; done", "for A in x y; do ./$A; done"),
            (
                "for f in lib/*.sh; do [ -r \"$f\" ] && . \"$f\"; done",
                "for f in lib/*.sh; do [ -r \"$f\" ] && . lib/*.sh; done",
            ),
            (
                "for f in lib/*; do . \"$f\"; done",
                "for f in lib/*; do . \"$f\"; done",
            ),
            ("A=x; A=y; $A", "A=x; A=y; $A"),
            ("A=x B=y c $A", "A=x B=y c $A"),
            (
                "A=$(git rev-parse --show-toplevel x)",
                "A=$(git rev-parse --show-toplevel x)",
            ),
        ] {
            assert_eq!(with_values(text, project, Some(script)), expected, "{text}");
        }
    }
}
