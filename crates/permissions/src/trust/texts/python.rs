//! The modules that a text in Python imports and the commands that it runs.

use crate::trust::texts::code::{Commands, Loads, calls, names, selects, sets_any, within};

/// Names that import a module by a computed name.
#[rustfmt::skip]
const IMPORTS: [&str; 7] = ["__import__", "importlib", "imp", "__loader__", "__path__", "pkgutil", "pkg_resources"];
/// Names that load or run other code, and functions that do so when they are called.
#[rustfmt::skip]
const RUNS: [&str; 35] = [
    "__builtins__", "builtins", "runpy", "ctypes", "cffi", "pty", "sys.path", "sys.modules", "meta_path", "path_hooks", "zipimport", "addsitedir",
    "spec_from_file_location", "SourceFileLoader", "fileConfig", "pickle", "cPickle", "dill", "cloudpickle", "joblib",
    "marshal", "shelve", "environ.update", "unsafe_load", "full_load", "putenv", "multiprocessing", "read_pickle", "allow_pickle",
    "StdioServerParameters", "StdioTransport", "PythonStdioTransport", "NodeStdioTransport", "UvStdioTransport", "NpxStdioTransport",
];
#[rustfmt::skip]
const CALLS: [&str; 10] = [
    "compile", "eval", "exec", "execfile", "posix_spawn", "startfile", "create_subprocess_exec", "create_subprocess_shell",
    "CGIHTTPRequestHandler", "fork",
];
/// The beginnings of the names of functions that replace or start a process.
const PROCESSES: [&str; 3] = ["execl", "execv", "spawn"];
/// Calls whose argument is a command.
#[rustfmt::skip]
const COMMANDS: [&str; 9] = [
    "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.Popen",
    "subprocess.getoutput", "subprocess.getstatusoutput", "os.system", "os.popen",
];
/// Expressions for the root of the project, or for the directory in which the script starts.
#[rustfmt::skip]
const ROOTS: [&str; 9] = [
    "None", "os.getcwd()", "Path.cwd()", "os.environ[\"CLAUDE_PROJECT_DIR\"]", "os.environ.get(\"CLAUDE_PROJECT_DIR\"",
    "os.environ['CLAUDE_PROJECT_DIR']", "os.environ.get('CLAUDE_PROJECT_DIR'", "os.environ[\"OSIER_PROJECT_DIR\"]",
    "os.environ.get(\"OSIER_PROJECT_DIR\"",
];

/// Finds the modules and commands that a text in Python loads.
pub(in crate::trust) fn loads(text: &str) -> Loads {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut found = Loads::default();
    let text = with_paths(&text, &mut found.paths);
    let has = |list: &[&str]| {
        names(&text).any(|name| {
            list.iter().any(|word| {
                name.split('.').any(|part| part == *word)
                    || word.contains('.') && name.contains(word)
            })
        })
    };
    found.imports_any = has(&IMPORTS);
    let reads = [
        "get(",
        "copy(",
        "items(",
        "keys(",
        "values(",
        "pop(",
        "setdefault(",
    ];
    found.sets_variables = sets_any(&text, "environ", &reads);
    let is_plain = |name: &str, before: &str| name == "compile" && before.ends_with("re.");
    let is_called = |name: &&str| calls(&text, name).any(|(before, _)| !is_plain(name, before));
    let starts_process = |name: &str| {
        let last = name.rsplit('.').next().unwrap_or_default();
        PROCESSES.iter().any(|start| last.starts_with(start))
    };
    found.runs_any = has(&RUNS) || CALLS.iter().any(is_called) || names(&text).any(starts_process);
    imports(&text, &mut found);
    found.runs_any |= calls(&text, "dictConfig").any(|(_, rest)| !is_plain_logging(rest, &text));
    // The name of another file with variables.
    found.runs_any |= calls(&text, "load_dotenv").any(|(_, rest)| {
        let file = within(rest).unwrap_or_default();
        !file.is_empty() && !file.contains(".env")
    });
    // YAML can run code, unless the script uses the safe functions.
    let is_yaml = |name: &String| ["yaml", "ruamel"].contains(&name.as_str());
    let is_load = |name: &str| {
        let (from, last) = name.rsplit_once('.').unwrap_or(("yaml", name));
        let is_other = ["json", "toml", "tomllib", "tomli", "csv"].contains(&from);
        [
            "load",
            "load_all",
            "Loader",
            "CLoader",
            "FullLoader",
            "UnsafeLoader",
        ]
        .contains(&last)
            && !is_other
    };
    found.runs_any |= found.modules.iter().any(is_yaml) && names(&text).any(is_load);
    match commands(&text) {
        Some(commands) => found.commands = commands,
        None => found.runs_any = true,
    }
    found.runs_any |= !found.commands.is_empty() && (selects(&text) || moves(&text));
    if found.runs_any {
        found.commands.clear();
    }
    found
}

/// Whether a call that configures logging gets a fixed value of the text, whose classes are those of Python.
fn is_plain_logging(arguments: &str, text: &str) -> bool {
    let argument = within(arguments).unwrap_or_default().trim();
    let is_fixed = argument.starts_with('{') || text.contains(&format!("{argument} = {{"));
    let text = text.replace('\'', "\"");
    let is_own = |rest: &str| {
        rest.trim_start_matches([':', ' '])
            .starts_with("\"logging.")
    };
    let parts = text.split("ext://").skip(1);
    is_fixed
        && !argument.is_empty()
        && !text.contains("\"()\"")
        && text.split("\"class\"").skip(1).all(is_own)
        && parts.into_iter().all(|name| name.starts_with("sys."))
}

/// The text without the calls that add a folder to the places of modules, if all these folders are known from the script's own.
fn with_paths(text: &str, paths: &mut Vec<String>) -> String {
    let mut all = Vec::new();
    for name in ["sys.path.insert", "sys.path.append"] {
        for (_, rest) in calls(text, name) {
            let folder = within(rest).unwrap_or_default();
            let at_start = ["0,", "1,"].iter().find_map(|at| folder.strip_prefix(at));
            let folder = at_start.unwrap_or(folder).trim();
            match place_of(folder, text, 8) {
                Some(place) => all.push(place.join("/")),
                None => return text.to_owned(),
            }
        }
    }
    if all.is_empty() {
        return text.to_owned();
    }
    *paths = all;
    ["sys.path.insert", "sys.path.append", " in sys.path"]
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, " known"))
}

/// The path of an expression relative to the folder of the script: `Path(__file__).parent.parent` is `..`.
fn place_of(expression: &str, text: &str, depth: usize) -> Option<Vec<String>> {
    let expression = expression.trim().trim_end_matches(',').trim_end();
    let inner = |part: &str| place_of(part, text, depth.checked_sub(1)?);
    let parent = |mut place: Vec<String>| {
        match place.last() {
            Some(last) if last != ".." => drop(place.pop()),
            _ => place.push("..".to_owned()),
        }
        place
    };
    let literal = |part: &str| {
        let part = part.trim();
        let quote = part.chars().next().filter(|quote| "\"'".contains(*quote))?;
        let name = part.strip_prefix(quote)?.strip_suffix(quote)?;
        let is_plain = !name.starts_with('/') && !name.contains(['\\', '"', '\'', '{']);
        is_plain.then(|| name.to_owned())
    };
    let joined = |mut place: Vec<String>, name: String| {
        for part in name.split('/').filter(|part| !["", "."].contains(part)) {
            match part {
                ".." => place = parent(place),
                part => place.push(part.to_owned()),
            }
        }
        place
    };
    if expression == "__file__" {
        return Some(vec!["file".to_owned()]);
    }
    for end in [".resolve()", ".absolute()"] {
        if let Some(rest) = expression.strip_suffix(end) {
            return inner(rest);
        }
    }
    if let Some(rest) = expression.strip_suffix(".parent") {
        return inner(rest).map(parent);
    }
    if let Some((rest, count)) = expression.rsplit_once(".parents[")
        && let Some(count) = count.strip_suffix(']')
    {
        let count: usize = count.parse().ok()?;
        return Some((0..=count.min(16)).fold(inner(rest)?, |place, _| parent(place)));
    }
    if let Some((rest, name)) = expression.rsplit_once('/')
        && let Some(name) = literal(name)
    {
        return Some(joined(inner(rest)?, name));
    }
    if let Some((function, rest)) = expression.split_once('(') {
        let arguments = within(rest).filter(|inner| inner.len() + 1 == rest.len())?;
        return match function {
            "str" | "Path" | "pathlib.Path" | "os.path.abspath" | "os.path.realpath" => {
                inner(arguments)
            }
            "os.path.dirname" => inner(arguments).map(parent),
            "os.path.join" => {
                let at = arguments.rfind(['(', ')']).unwrap_or(0);
                let comma = at + arguments[at..].find(',')?;
                let (first, names) = arguments.split_at(comma);
                let mut names = names.split(',').skip(1);
                names.try_fold(inner(first)?, |place, name| {
                    Some(joined(place, literal(name)?))
                })
            }
            _ => None,
        };
    }
    let is_name = |char: char| char.is_alphanumeric() || char == '_';
    let mut values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(expression)?.trim_start();
        rest.strip_prefix('=')
    });
    let value = values.next().filter(|_| expression.chars().all(is_name))?;
    values.next().is_none().then(|| inner(value))?
}

/// Whether the text changes its working directory to another one than the root.
fn moves(text: &str) -> bool {
    let is_root = |arguments: &str| ROOTS.iter().any(|root| arguments.starts_with(root));
    calls(text, "chdir").any(|(_, arguments)| !is_root(arguments))
}

/// The commands that the text runs; `None` if one is computed.
fn commands(text: &str) -> Option<Vec<String>> {
    let all = Commands {
        text,
        mark: '=',
        roots: &ROOTS,
        depth: 3,
    };
    let mut found = Vec::new();
    let mut handled = 0;
    for name in COMMANDS {
        for (_, arguments) in calls(text, name) {
            found.extend(all.of_call(arguments)?);
            handled += 1;
        }
    }
    #[rustfmt::skip]
    let constants = ["PIPE", "DEVNULL", "STDOUT", "CalledProcessError", "TimeoutExpired", "SubprocessError", "CompletedProcess"];
    let is_use = |name: &&str| {
        let rest = name.strip_prefix("subprocess.");
        rest.is_some_and(|rest| !constants.iter().any(|constant| rest.starts_with(constant)))
            || name.ends_with("os.system")
            || name.ends_with("os.popen")
    };
    (names(text).filter(is_use).count() == handled).then_some(found)
}

/// Adds the modules that the statements of the text import.
fn imports(text: &str, found: &mut Loads) {
    let (mut count, mut processes) = (0, 0);
    for statement in text.split(['\n', ';']).map(str::trim) {
        if let Some(rest) = statement.strip_prefix("from ") {
            let Some((module, names)) = rest.split_once(" import") else {
                continue;
            };
            let module = module.trim();
            let is_search_path = module == "sys" && names.contains("path");
            let is_command = module == "os"
                && ["*", "system", "popen", "exec", "spawn", "environ", "chdir"]
                    .iter()
                    .any(|name| names.contains(name));
            found.runs_any |= is_search_path || is_command || module == "subprocess";
            let first = module.trim_start_matches('.').split('.').next();
            // `from . import x` can load any file next to the script.
            match first.filter(|first| !first.is_empty() && !module.starts_with("..")) {
                Some(first) => found.modules.push(first.to_owned()),
                None => found.imports_any = true,
            }
            count += 1;
        } else if let Some(rest) = statement.strip_prefix("import ") {
            for module in rest.split(',') {
                let mut words = module
                    .split(['#', ' ', '\t'])
                    .filter(|part| !part.is_empty());
                let module = words.next().unwrap_or_default();
                let module = module.split('.').next().unwrap_or_default();
                found.runs_any |=
                    ["subprocess", "os"].contains(&module) && words.next() == Some("as");
                processes += usize::from(module == "subprocess");
                found.modules.push(module.to_owned());
            }
            count += 1;
        }
    }
    found.imports_any |= names(text).filter(|name| *name == "import").count() != count;
    found.runs_any |= names(text).filter(|name| *name == "subprocess").count() != processes;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports_any(modules: &[&str]) -> Loads {
        Loads {
            imports_any: true,
            ..Loads::only(modules, &[])
        }
    }

    fn runs_any(modules: &[&str]) -> Loads {
        Loads {
            runs_any: true,
            ..Loads::only(modules, &[])
        }
    }

    #[test]
    fn a_text_in_python_loads_what_it_names_or_everything() {
        for (text, expected) in [
            (
                "import json, sys\nfrom rules import (\n one,\n two)\n",
                Loads::only(&["json", "sys", "rules"], &[]),
            ),
            (
                "def f():\n    import rules.deep as x; import os\n",
                Loads::only(&["rules", "os"], &[]),
            ),
            ("re.compile('x')\nplatform.system()", Loads::only(&[], &[])),
            (
                "# import x\nimport json # data",
                Loads::only(&["json"], &[]),
            ),
            ("importlib.import_module('x')", imports_any(&[])),
            ("__import__('x')", imports_any(&[])),
            ("if True: import x", imports_any(&[])),
            ("from .. import x", imports_any(&[])),
            ("from sys import path", runs_any(&["sys"])),
            ("sys.path.insert(0, 'src')", runs_any(&[])),
            ("os.execvp('sh', x)", runs_any(&[])),
            ("os.spawnlp(os.P_WAIT, name)", runs_any(&[])),
            ("exec(open('x').read())", runs_any(&[])),
            ("import pickle\npickle.load(file)", runs_any(&["pickle"])),
            ("logging.config.fileConfig('log.ini')", runs_any(&[])),
        ] {
            assert_eq!(loads(text), expected, "{text}");
        }
    }

    #[test]
    fn places_of_modules_are_relative_to_the_script() {
        for (expression, expected) in [
            ("str(Path(__file__).resolve().parent)", Some("")),
            ("str(pathlib.Path(__file__).parent.parent)", Some("..")),
            ("str(Path(__file__).resolve().parents[2])", Some("../..")),
            ("os.path.dirname(os.path.abspath(__file__))", Some("")),
            ("os.path.join(os.path.dirname(__file__), '..')", Some("..")),
            (
                "os.path.join(os.path.dirname(__file__), \"..\", \"lib\")",
                Some("../lib"),
            ),
            (
                "str(Path(__file__).parent / 'lib' / 'deep')",
                Some("lib/deep"),
            ),
            ("str(HERE / '..')", Some("..")),
            ("str(TWICE)", None),
            ("str(Path(__file__).parent / name)", None),
            ("'src'", None),
            ("os.environ['HOOKS']", None),
        ] {
            let text = format!(
                "HERE = Path(__file__).parent\nTWICE = Path(__file__)\nTWICE = x\nsys.path.insert(0, {expression})"
            );
            let paths: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            let expected = Loads {
                runs_any: paths.is_empty(),
                paths,
                ..Loads::default()
            };
            assert_eq!(loads(&text), expected, "{expression}");
        }
    }

    #[test]
    fn commands_of_python_are_read_from_calls() {
        for (text, expected) in [
            (
                "subprocess.run([\"ruff\", \"format\", path], stdout=subprocess.PIPE)",
                Some(&["'ruff' 'format' \"$unknown\""][..]),
            ),
            (
                "os.system(f\"npx prettier {path}\")",
                Some(&["npx prettier $spliced"]),
            ),
            (
                "cmd = ['npx', 'prettier']\nsubprocess.run(cmd + [path], check=True)",
                Some(&["'npx' 'prettier' \"$unknown\""]),
            ),
            (
                "cmd = ['npx', 'prettier']\nsubprocess.run([*cmd, path])",
                Some(&["'npx' 'prettier' \"$unknown\""]),
            ),
            (
                "def run(cmd):\n return subprocess.run(cmd)\nrun(['ruff', x])\nrun(['make'])",
                Some(&["'ruff' \"$unknown\" \"$unknown\"", "'make' \"$unknown\""]),
            ),
            (
                "subprocess.run(['make'], cwd='sub')",
                Some(&["cd 'sub' && 'make'"]),
            ),
            (
                "root = os.getcwd()\nsubprocess.run(['make'], cwd=root)",
                Some(&["'make'"]),
            ),
            (
                "subprocess.run(['make'], cwd=path)",
                Some(&["cd \"$unknown\" && 'make'"]),
            ),
            ("subprocess.run(['make'], env=load())", None),
            ("subprocess.run(words)", None),
            ("cmd = words()\nsubprocess.run(cmd)", None),
            ("cmd = ['a']\ncmd[0] = x\nsubprocess.run(cmd)", None),
            (
                "def run(cmd):\n return subprocess.run(cmd)\nrun(words)",
                None,
            ),
            ("run = subprocess.run", None),
            ("os.system('make ' + x)", None),
        ] {
            let expected = expected.map(|all| all.iter().map(ToString::to_string).collect());
            assert_eq!(commands(text), expected, "{text}");
        }
    }
}
