//! The modules that a JavaScript text loads, the commands that it runs, and the quoted texts in it that can name code.

use crate::trust::texts::code::{
    Commands, Loads, calls, literal, names, selects, sets_any, within,
};

#[rustfmt::skip]
const CALLS: [&str; 10] = [
    "eval", "Function", "Worker", "createRequire", "dlopen", "fork", "_load", "StdioClientTransport", "runInNewContext", "template",
];
#[rustfmt::skip]
const COMMANDS: [&str; 6] = ["execSync", "execFileSync", "spawnSync", "execFile", "spawn", "exec"];
/// Expressions for the root of the project, or for the directory in which the script starts.
#[rustfmt::skip]
const ROOTS: [&str; 3] = ["process.cwd()", "process.env.CLAUDE_PROJECT_DIR", "process.env.OSIER_PROJECT_DIR"];
/// Names in settings that can compute the name of a file.
#[rustfmt::skip]
const COMPUTES: [&str; 22] = [
    "concat", "replace", "replaceAll", "readFileSync", "readFile", "readdirSync", "readdir", "fromCharCode", "atob", "Buffer", "glob",
    "globSync", "eval", "Function", "child_process", "execSync", "spawnSync", "JSON", "decodeURIComponent", "padStart", "slice", "repeat",
];
/// Keys of settings that name code.
#[rustfmt::skip]
const KEYS: [&str; 7] = ["plugins", "extends", "overrides", "rulesdir", "processors", "presets", "jsPlugins"];

/// Finds the modules and commands that a text for Node loads.
pub(in crate::trust) fn loads(text: &str) -> Loads {
    let words = ["\\u", "\\x", "process.binding"];
    let mut found = Loads {
        runs_any: CALLS.iter().any(|name| calls(text, name).next().is_some())
            || words.iter().any(|word| text.contains(word)),
        sets_variables: sets_any(text, "process.env", &[""])
            || ["loadEnvFile", "parseEnv"]
                .iter()
                .any(|name| text.contains(name)),
        ..Loads::default()
    };
    modules(text, &mut found);
    if text.contains("child_process") {
        match commands(text) {
            Some(commands) => found.commands = commands,
            None => found.runs_any = true,
        }
        let is_root = |arguments: &str| ROOTS.iter().any(|root| arguments.starts_with(root));
        let moves = calls(text, "chdir").any(|(_, arguments)| !is_root(arguments));
        found.runs_any |= moves || selects(text);
    }
    if found.runs_any {
        found.commands.clear();
    }
    found
}

/// The commands that the text runs; `None` if one is computed.
fn commands(text: &str) -> Option<Vec<String>> {
    let statements = text.split_inclusive(['\n', ';']);
    let (imports, code): (Vec<&str>, Vec<&str>) =
        statements.partition(|statement| statement.contains("child_process"));
    let code = code.concat();
    // The import itself is called: `require("child_process").exec(…)`.
    let is_call = |name: &&str| {
        let mut imports = imports.iter();
        imports.any(|line| calls(line, name).next().is_some())
    };
    if COMMANDS.iter().any(is_call) {
        return None;
    }
    let is_listed = imports.iter().all(|line| line.contains('{'));
    let renames = |line: &&str| line.contains(" as ") || line.replace("node:", "").contains(':');
    if is_listed && imports.iter().any(renames) {
        return None;
    }
    let all = Commands {
        text: &code,
        mark: ':',
        roots: &ROOTS,
        depth: 3,
    };
    let mut found = Vec::new();
    let mut handled = 0;
    for name in COMMANDS {
        for (before, arguments) in calls(&code, name) {
            // `exec` of a regular expression runs no command: `/x/.exec(text)`.
            if !(is_listed && before.ends_with('.')) {
                found.extend(all.of_call(arguments)?);
            }
            handled += 1;
        }
    }
    let is_use = |name: &&str| {
        name.rsplit('.')
            .next()
            .is_some_and(|last| COMMANDS.contains(&last))
    };
    (names(&code).filter(is_use).count() == handled).then_some(found)
}

/// Adds the modules that the text names.
fn modules(text: &str, found: &mut Loads) {
    for keyword in ["require", "import", "from"] {
        for (place, _) in text.match_indices(keyword) {
            let is_name = |char: char| char.is_alphanumeric() || "_$-".contains(char);
            let (before, after) = (&text[..place], &text[place + keyword.len()..]);
            let is_part = before.ends_with(is_name) || after.starts_with(is_name);
            if is_part
                || keyword != "require" && before.ends_with('.')
                || before.ends_with(['"', '\'', '/'])
            {
                continue;
            }
            // The name of the file that is loaded, and whether the text is the main program.
            let after = match keyword {
                "require" if after.starts_with(".main") => continue,
                "require" => after.strip_prefix(".resolve").unwrap_or(after),
                _ => after,
            };
            let after = after.trim_start();
            let quoted = after.strip_prefix('(').map_or(after, str::trim_start);
            let quote = quoted.chars().next().filter(|char| "'\"".contains(*char));
            let literal = quote.and_then(|quote| quoted[1..].split_once(quote));
            match literal {
                Some((module, _)) => found.modules.push(module.to_owned()),
                // The name of the module follows later in the statement: `import {x} from './x'`.
                None if keyword == "import" && !after.starts_with('(') => {}
                None if keyword == "from" => {}
                None => found.imports_any = true,
            }
        }
    }
}

/// The quoted texts in settings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::trust) struct Texts {
    /// The texts, each with whether it is a key. Computed parts of a text are a variable.
    pub all: Vec<(String, bool)>,
    /// Whether the settings can compute a text.
    pub computes: bool,
    /// Whether the settings have keys that name code.
    pub has_keys: bool,
}

/// Reads the quoted texts in settings.
pub(in crate::trust) fn texts(text: &str) -> Texts {
    let mut found = Texts::default();
    // The code without comments; a number stands for each quoted text, and `r` for each regular expression.
    let mut code = String::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let after = &rest[char.len_utf8()..];
        let before = code.trim_end().chars().next_back().unwrap_or('(');
        rest = match char {
            '/' if after.starts_with('/') => after.split_once('\n').map_or("", |(_, rest)| rest),
            '/' if after.starts_with('*') => after.split_once("*/").map_or("", |(_, rest)| rest),
            '/' if "(,=:[!&|?{};>".contains(before) => {
                let Some(end) = regular_expression(after) else {
                    found.computes = true;
                    return found;
                };
                code.push('r');
                &after[end..]
            }
            '"' | '\'' | '`' => {
                let Some(inner) = quoted(after, char) else {
                    found.computes = true;
                    return found;
                };
                let end = &after[inner.len() + 1..];
                let is_key = end.trim_start().starts_with(':');
                let is_template = char == '`' && inner.contains("${");
                found.computes |= is_template;
                let text =
                    literal(&rest[..inner.len() + 2]).map_or(inner.to_owned(), |(text, _)| text);
                found.all.push((text, is_key));
                // The number of the text.
                code.extend(["\"", &(found.all.len() - 1).to_string(), "\""]);
                end
            }
            _ => {
                code.push(char);
                after
            }
        };
    }
    let is_name = |name: &str, list: &[&str]| name.split('.').any(|part| list.contains(&part));
    found.computes |=
        code.replace("++", "").contains('+') || names(&code).any(|name| is_name(name, &COMPUTES));
    found.has_keys = names(&code).any(|name| is_name(name, &KEYS))
        || found
            .all
            .iter()
            .any(|(text, is_key)| *is_key && KEYS.contains(&&**text));
    joins(&code, &mut found);
    found
}

/// Adds the paths that `join` and `resolve` make of known texts.
fn joins(code: &str, found: &mut Texts) {
    let known = ["__dirname", "import.meta.dirname", "process.cwd()"];
    for name in ["join", "resolve"] {
        for (_, arguments) in calls(code, name) {
            let given = within(arguments).unwrap_or_default();
            let mut path = String::from(".");
            for part in given
                .split(',')
                .map(str::trim)
                .filter(|part| !known.contains(part))
            {
                let place = part
                    .strip_prefix('"')
                    .and_then(|part| part.strip_suffix('"'));
                let text = place.and_then(|place| found.all.get(place.parse::<usize>().ok()?));
                match text {
                    Some((text, _)) => path.extend(["/", text]),
                    None => found.computes = true,
                }
            }
            found.all.push((path, false));
        }
    }
}

/// The text up to the quote that closes it.
fn quoted(text: &str, mark: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            '\n' if mark != '`' => return None,
            _ if char == mark => return Some(&text[..at]),
            _ => {}
        }
    }
    None
}

/// The length of a regular expression, counted after its opening slash.
fn regular_expression(text: &str) -> Option<usize> {
    let mut is_class = false;
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            '\n' => return None,
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_for_node_loads_what_it_names_or_everything() {
        let imports_any = || Loads {
            imports_any: true,
            ..Loads::default()
        };
        let runs_any = |modules| Loads {
            runs_any: true,
            ..Loads::only(modules, &[])
        };
        let process = "import { spawn } from 'child_process'\n";
        for (text, expected) in [
            (
                "const fs = require('fs'), r = require(\"./rules\")".to_owned(),
                Loads::only(&["fs", "./rules"], &[]),
            ),
            (
                "import fs, {x} from 'node:fs'\nimport './a.js'".to_owned(),
                Loads::only(&["./a.js", "node:fs"], &[]),
            ),
            (
                "fs.existsSync('tsconfig.json'); /x/.exec(y)".to_owned(),
                Loads::only(&[], &[]),
            ),
            (
                "x = {sourceType: 'module', rules: {'no-eval': 2}}".to_owned(),
                Loads::only(&[], &[]),
            ),
            (
                format!("{process}spawn('npx', ['prettier', file])"),
                Loads::only(&["child_process"], &["'npx' 'prettier' \"$unknown\""]),
            ),
            (
                format!("{process}const a = ['prettier']\nspawn('npx', a, {{ cwd: 'sub' }})"),
                Loads::only(
                    &["child_process"],
                    &["cd 'sub' && 'npx' 'prettier' \"$unknown\""],
                ),
            ),
            (
                format!("{process}spawn(name)"),
                runs_any(&["child_process"]),
            ),
            (
                format!("{process}spawn('npx', words)"),
                runs_any(&["child_process"]),
            ),
            (
                "const { exec: run } = require('child_process')\nrun(x)".to_owned(),
                runs_any(&["child_process"]),
            ),
            ("require(name)".to_owned(), imports_any()),
            ("await import(`./${x}`)".to_owned(), imports_any()),
            ("new Function('x')".to_owned(), runs_any(&[])),
        ] {
            assert_eq!(loads(&text), expected, "{text}");
        }
    }

    #[test]
    fn the_texts_of_settings_are_read_if_none_is_put_together() {
        for (text, all, computes) in [
            (
                "export default { plugins: ['./a.mjs'] } // 'x'",
                &["./a.mjs"][..],
                false,
            ),
            ("x = { 'a': \"b\", /* ' */ c: /['\"]/ }", &["a", "b"], false),
            (
                "p = path.join(__dirname, 'lib', 'p')",
                &["lib", "p", "./lib/p"],
                false,
            ),
            ("p = path.join(folder, 'p')", &["p", "./p"], true),
            ("p = './' + name", &["./"], true),
            ("p = `./${name}`", &["./$unknown"], true),
            ("p = fs.readFileSync('list')", &["list"], true),
        ] {
            let found = texts(text);
            let found_texts: Vec<&str> = found.all.iter().map(|(text, _)| &**text).collect();
            assert_eq!(
                (found_texts, found.computes),
                (all.to_vec(), computes),
                "{text}"
            );
        }
    }
}
