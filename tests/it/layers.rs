//! Rules for the sources that the compiler cannot check: which crates may use heavy dependencies, what the program and
//! its modes may import, where code is unsafe, how long a file may be, and that fuzz targets are tested.

use std::fs;
use std::path::{Path, PathBuf};

/// Dependencies that only some crates may have.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("agent-client-protocol-schema", &["acp"]),
    ("anyhow", &["osier", "tui"]),
    ("axum", &["serve"]),
    ("boon", &["agent", "testing"]),
    ("clap", &["osier"]),
    ("ignore", &["walk"]),
    ("mlua", &["extensions"]),
    ("pdf-extract", &["tools"]),
    ("ratatui", &["term", "tui"]),
    ("reqwest", &["llm", "mcp", "rpc", "web"]),
    ("rmcp", &["mcp"]),
    ("rusqlite", &["index", "peers", "proxy"]),
    ("syntect", &["term"]),
    ("tree-sitter", &["map"]),
    ("vt100", &["tools"]),
];

/// Clients of a session never depend on one another, and the toolkit depends on nothing but the foundation.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("acp", &["serve", "tui"]),
    ("serve", &["acp", "tui"]),
    ("tui", &["acp", "serve"]),
    (
        "term",
        &["agent", "llm", "markdown", "protocol", "session", "store"],
    ),
];

/// The modules of the crate `agent`, lowest layer first.
const AGENT_LAYERS: &[&str] = &[
    "mailbox",
    "data",
    "retry",
    "transport",
    "tool",
    "interceptor",
    "history",
    "change",
    "config",
    "state",
    "core",
    "run",
    "agent",
];

/// The rooms of the crate `tools`, lowest layer first: shared code, one room for each kind of tool, and code that knows
/// the table of tools.
const TOOL_LAYERS: &[&str] = &[
    "call",
    "files",
    "commands",
    "terminal",
    "workspace",
    "built_in",
    "of_session",
    "read",
    "edit",
    "search",
    "shell",
    "ask",
    "code",
    "trained_forms",
    "calls",
    "preview",
    "testing",
];

/// The rooms of the folder `trust` of the crate `permissions`, lowest layer first.
const TRUST_LAYERS: &[&str] = &[
    "program_use",
    "snapshot",
    "texts",
    "facts",
    "reach",
    "runners",
    "programs",
    "tests",
];

/// The rooms of the crate `session`, lowest layer first.
const SESSION_LAYERS: &[&str] = &[
    "setup",
    "choices",
    "run_log",
    "emitter",
    "cx",
    "context",
    "files",
    "models",
    "conversation",
    "safety",
    "agents",
    "extensions",
    "sessions",
    "actor",
];

/// The rooms of the crate `term`, lowest layer first.
const TERM_LAYERS: &[&str] = &[
    "document", "text", "input", "frame", "theme", "images", "keymap", "terminal", "widgets",
    "screen", "fuzz",
];

/// The rooms of the crate `tui`, lowest layer first.
const SCREEN_LAYERS: &[&str] = &[
    "actions",
    "drawing",
    "status",
    "conversation",
    "input",
    "history",
    "dialogs",
    "screen",
];

/// The files that implement the app of the screen, below `crates/tui/src`.
const APP_FILES: [&str; 6] = [
    "screen/app/apply.rs",
    "screen/app/commands.rs",
    "screen/app/draw.rs",
    "screen/app/events.rs",
    "screen/app/keys.rs",
    "screen/app/mod.rs",
];

/// Maximum number of methods of the app: it owns the state of the features and passes events and commands on to them.
const APP_METHODS: usize = 60;

/// Lines of a file, its tests included.
const LINE_LIMIT: usize = 800;

#[test]
fn heavy_dependencies_stay_in_their_crates() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        for (dependency, allowed) in DEPENDENCIES {
            if depends_on(&manifest, dependency) && !allowed.contains(&name.as_str()) {
                faults.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn clients_do_not_depend_on_one_another() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        let forbidden = FORBIDDEN.iter().find(|(of, _)| *of == name);
        for other in forbidden.map_or(&[][..], |(_, others)| others) {
            if depends_on(&manifest, &format!("osier-{other}")) {
                faults.push(format!("{name} depends on {other}"));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn unsafe_code_is_in_four_files() {
    let found: Vec<String> = sources()
        .into_iter()
        .filter(|source| source.code.contains("unsafe_code"))
        .map(|source| source.path.display().to_string())
        .collect();
    assert_eq!(
        found,
        [
            "crates/base/src/allocator.rs",
            "crates/sandbox/src/supervisor.rs",
            "crates/sandbox/starter/main.rs",
            "crates/term/src/terminal/death.rs"
        ]
    );
}

/// Text on a terminal is sanitized in one place; the full screen has its own.
#[test]
fn the_standard_streams_have_one_owner() {
    const OWNERS: [&str; 3] = [
        "crates/base/src/terminal_output.rs",
        "crates/term/src/terminal",
        "crates/testing/src",
    ];
    let prints = |line: &&str| {
        let line = line.trim_start();
        let asks = [".is_terminal()", "tcgetwinsize"];
        let writes = ["io::stdout()", "io::stderr()", "print!(", "println!("];
        !line.starts_with("//")
            && !asks.iter().any(|asks| line.contains(asks))
            && writes.iter().any(|writes| line.contains(writes))
    };
    let mut faults = Vec::new();
    for source in sources() {
        let is_owner = OWNERS.iter().any(|owner| source.path.starts_with(owner));
        if is_owner || !source.path.iter().any(|part| part == "src") {
            continue;
        }
        let code = source
            .code
            .split("\n#[cfg(test)]\n")
            .next()
            .unwrap_or_default();
        let lines = code.lines().filter(prints);
        faults.extend(lines.map(|line| format!("{}: {line}", source.path.display())));
    }
    // Tests print what they have measured.
    faults.retain(|fault| !fault.contains("tests.rs"));
    assert_eq!(faults, Vec::<String>::new());
}

/// Times for people are local and made by `clock`. These files write times that programs read, or that name UTC.
#[test]
fn times_are_formatted_in_one_place() {
    const FORMATS: &[&str] = &[
        "crates/base/src/clock.rs",
        "crates/llm/src/sigv4.rs",
        "crates/mcp/src/log.rs",
    ];
    const STORES: &[&str] = &[
        "crates/base/src/clock.rs",
        "crates/peers/src/import/opencode.rs",
        "crates/peers/src/import/session.rs",
        "crates/protocol/src/entry.rs",
        "crates/protocol/src/session_log.rs",
        // The month of a limit, and the name of a folder.
        "crates/proxy/src/users.rs",
        "crates/session/src/agents/fan/run.rs",
        "crates/store/src/load.rs",
        "crates/store/src/owner.rs",
        // The date in a cell, which has no zone.
        "crates/tools/src/read/document/sheet.rs",
    ];
    // The name of a session file has its time in UTC.
    const NAMES: &[&str] = &["crates/store/src/directory.rs"];
    let rules: [(&[&str], &[&str]); 3] = [
        (&[".strftime(", "TimeZone::system()"], FORMATS),
        (&["rfc3339("], STORES),
        (
            &["timestamp.get(", "timestamp[", ".timestamp.replace("],
            NAMES,
        ),
    ];
    let mut faults = Vec::new();
    for source in sources() {
        let path = source.path.display().to_string();
        let code = source.code.split("\n#[cfg(test)]\n").next();
        let code = code.unwrap_or_default();
        let is_test = path.contains("/tests/") || path.contains("tests.rs");
        for (words, allowed) in rules {
            let has = words.iter().find(|word| code.contains(**word));
            if let Some(word) = has.filter(|_| !is_test && !allowed.contains(&path.as_str())) {
                faults.push(format!("{path}: `{word}`; use `osier_base::clock`"));
            }
        }
    }
    // `--since` reads a local date.
    faults.retain(|fault| !fault.starts_with("src/cli/commands/sessions/filter.rs"));
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn files_stay_small() {
    let faults: Vec<String> = sources()
        .iter()
        .map(|source| (source.code.lines().count(), source.path.display()))
        .filter(|(lines, _)| *lines > LINE_LIMIT)
        .map(|(lines, path)| format!("{path}: {lines} lines, the limit is {LINE_LIMIT}"))
        .collect();
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn agent_modules_import_only_lower_layers() {
    let checked = imports_point_down("crates/agent/src", AGENT_LAYERS, |_, _| false);
    assert!(checked > 50, "the imports were not found");
}

#[test]
fn tool_rooms_import_only_lower_layers() {
    // Tests of each room use the bench and the tools; the names of Gemini are those of all tools.
    let allowed = |own: &str, other: &str| {
        own == other
            || matches!(other, "build" | "testing")
            || (own, other) == ("trained_forms", "find")
    };
    let checked = imports_point_down("crates/tools/src", TOOL_LAYERS, allowed);
    assert!(checked > 100, "the imports were not found");
}

#[test]
fn trust_rooms_import_only_lower_layers() {
    let allowed = |own: &str, other: &str| own == other || other.starts_with(char::is_uppercase);
    let checked = imports_point_down("crates/permissions/src/trust", TRUST_LAYERS, allowed);
    assert!(checked > 50, "the imports were not found");
}

#[test]
fn session_rooms_import_only_lower_layers() {
    let allowed = |own: &str, other: &str| own == other;
    let checked = imports_point_down("crates/session/src", SESSION_LAYERS, allowed);
    assert!(checked > 200, "the imports were not found");
}

#[test]
fn rooms_of_the_terminal_toolkit_import_only_lower_layers() {
    // The tests of frames ask which features a terminal has.
    let allowed = |own: &str, other: &str| own == other || (own, other) == ("frame", "terminal");
    let checked = imports_point_down("crates/term/src", TERM_LAYERS, allowed);
    assert!(checked > 50, "the imports were not found");
}

#[test]
fn screen_rooms_import_only_lower_layers() {
    let allowed = |own: &str, other: &str| own == other;
    let checked = imports_point_down("crates/tui/src", SCREEN_LAYERS, allowed);
    assert!(checked > 200, "the imports were not found");
}

#[test]
fn every_fuzz_target_has_cases_and_a_test() {
    let names = |folder: &str| {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .display()
                    .to_string()
            })
            .collect();
        names.sort();
        names
    };
    let targets = names("fuzz/targets");
    assert_eq!(targets, names("fuzz/cases"));
    let manifest = fs::read_to_string("fuzz/Cargo.toml").unwrap();
    let sources = sources();
    let mut faults = Vec::new();
    for target in targets {
        if !manifest.contains(&format!("path = \"targets/{target}.rs\"")) {
            faults.push(format!("`fuzz/Cargo.toml` does not build {target}"));
        }
        let test = format!("run_cases(\"{target}\", super::{target})");
        if !sources.iter().any(|source| source.code.contains(&test)) {
            faults.push(format!("no test runs the cases of {target}"));
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

/// Checks that the modules below a folder import only lower layers and what is `allowed`; returns how many imports there
/// are.
fn imports_point_down(root: &str, layers: &[&str], allowed: impl Fn(&str, &str) -> bool) -> usize {
    let prefix = root.split_once("/src/").map_or_else(
        || "crate::".to_owned(),
        |(_, folder)| format!("crate::{}::", folder.replace('/', "::")),
    );
    let root = Path::new(root);
    let layer = |name: &str| layers.iter().position(|layer| *layer == name);
    let mut checked = 0;
    let mut faults = Vec::new();
    for source in sources() {
        let Ok(path) = source.path.strip_prefix(root) else {
            continue;
        };
        let first = path.iter().next().and_then(|name| name.to_str()).unwrap();
        let name = first.trim_end_matches(".rs");
        let Some(own) = layer(name) else {
            assert_eq!(first, "lib.rs", "the module has no layer");
            continue;
        };
        for import in source.code.split(&prefix).skip(1) {
            for module in imported(import) {
                checked += 1;
                let is_lower = layer(module).is_some_and(|other| other < own);
                if !is_lower && !allowed(name, module) {
                    faults.push(format!("{} imports `{module}`", path.display()));
                }
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    checked
}

/// The modules that the text behind `crate::` names: one, or those of a list in braces.
fn imported(import: &str) -> Vec<&str> {
    let Some(list) = import.strip_prefix('{') else {
        return words(import).take(1).collect();
    };
    let list = list.split('}').next().unwrap_or_default();
    let modules = list.split(',').map(str::trim);
    let modules = modules.filter_map(|module| words(module).next());
    modules.filter(|module| !module.is_empty()).collect()
}

#[test]
fn features_of_the_screen_do_not_know_the_app() {
    let root = Path::new("crates/tui/src");
    let own = [Path::new("screen"), Path::new("lib.rs")];
    let names_app = |code: &str| {
        let lines = code.lines().map(str::trim_start);
        let mut code = lines.filter(|line| !line.starts_with("//"));
        code.any(|line| words(line).any(|word| word == "App"))
    };
    let (mut owners, mut faults, mut checked) = (Vec::new(), Vec::new(), 0);
    for source in sources() {
        let Ok(path) = source.path.strip_prefix(root) else {
            continue;
        };
        checked += 1;
        if source.code.contains("impl App {") {
            owners.push(path.display().to_string());
        }
        if names_app(&source.code) && !own.iter().any(|own| path.starts_with(own)) {
            faults.push(path.display().to_string());
        }
    }
    owners.sort_unstable();
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(owners, APP_FILES);
    assert!(checked > 100, "the files were not found");
}

#[test]
fn the_app_only_routes() {
    let mut methods = 0;
    for file in APP_FILES {
        let code = fs::read_to_string(Path::new("crates/tui/src").join(file)).unwrap();
        methods += app_methods(&code);
    }
    assert!(
        methods <= APP_METHODS,
        "`App` has {methods} methods, the limit is {APP_METHODS}"
    );
    assert!(methods > 30, "the methods were not found");
}

/// Methods in the `impl App` blocks of a file.
fn app_methods(code: &str) -> usize {
    let blocks = code.split("\nimpl App {\n").skip(1);
    let bodies = blocks.map(|block| block.split("\n}\n").next().unwrap_or_default());
    let lines = bodies.flat_map(str::lines);
    let is_method = |line: &&str| line.starts_with("    ") && !line.starts_with("     ");
    lines
        .filter(is_method)
        .filter(|line| words(line).any(|word| word == "fn"))
        .count()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|char: char| !char.is_alphanumeric() && char != '_')
}

/// Whether the `[dependencies]` of a manifest name a crate.
fn depends_on(manifest: &str, name: &str) -> bool {
    let tables = manifest.split("\n[");
    tables
        .filter(|table| table.starts_with("dependencies]") || table.starts_with("target."))
        .flat_map(str::lines)
        .any(|line| {
            let key = line.split(['.', ' ', '=']).next();
            key == Some(name)
        })
}

/// Where the name of a tool is a literal outside of its row, and what it is there. A tool is one row (`BuiltIn`): what differs
/// between tools is asked of it, and where one tool is meant its constant is used (`osier_tools::BASH`).
const OTHER_MEANINGS: &[(&str, &str, &str)] = &[
    ("crates/acp/src/connection.rs", "terminal", "how to sign in"),
    ("crates/base/src/process/terminal.rs", "bash", "a shell"),
    ("crates/extensions/src/hooks/programs.rs", "bash", "a shell"),
    (
        "crates/llm/src/http/adapt/diagnose/tools.rs",
        "definition",
        "a word in errors",
    ),
    ("crates/llm/src/tuning.rs", "edit", "a form of tools"),
    (
        "crates/llm/src/wire/",
        "definition map web_search",
        "a provider's API",
    ),
    (
        "crates/lsp/src/capabilities.rs",
        "definition diagnostics hover references rename",
        "a capability",
    ),
    (
        "crates/lsp/src/known_servers.rs",
        "bash",
        "an end of file names",
    ),
    ("crates/map/src/language.rs", "bash", "an end of file names"),
    ("crates/map/src/project.rs", "map", "a thread"),
    ("crates/map/src/storage.rs", "map", "an end of file names"),
    ("crates/mcp/src/tasks.rs", "task", "a field of MCP"),
    (
        "crates/peers/src/import/opencode.rs",
        "read write",
        "a field of OpenCode",
    ),
    (
        "crates/peers/src/import/tools.rs",
        "read",
        "an action of `bash`",
    ),
    (
        "crates/peers/src/tools/calls.rs",
        "read",
        "an action of `bash`",
    ),
    (
        "crates/permissions/src/known/reader.rs",
        "write",
        "a function of queries",
    ),
    (
        "crates/permissions/src/known/table.rs",
        "read",
        "a builtin of the shell",
    ),
    (
        "crates/permissions/src/shell/builtins.rs",
        "read",
        "a builtin of the shell",
    ),
    ("crates/protocol/src/op.rs", "bash", "a command of RPC"),
    (
        "crates/protocol/src/plan.rs",
        "exit_plan_mode",
        "its constant: sessions read plans",
    ),
    ("crates/protocol/src/roles.rs", "edit", "a role of models"),
    (
        "crates/protocol/src/todo.rs",
        "todo",
        "its constant: sessions read the list",
    ),
    ("crates/rpc/src/", "bash", "a command of RPC"),
    ("crates/sandbox/src/denied.rs", "ls", "a program"),
    (
        "crates/session/src/files/formatting/table.rs",
        "bash",
        "an end of file names",
    ),
    ("crates/settings/src/fuzz.rs", "write", "a setting"),
    (
        "crates/settings/src/screen.rs",
        "diagnostics",
        "a part of the footer",
    ),
    (
        "crates/settings/src/values.rs",
        "diagnostics",
        "a part of the footer",
    ),
    (
        "crates/term/src/text/highlight.rs",
        "bash terminal",
        "a language of code",
    ),
    (
        "crates/transfer/src/html/tool.rs",
        "bash",
        "a language of code",
    ),
    (
        "crates/tui/src/actions/command/registry.rs",
        "edit map terminal todo write",
        "a command",
    ),
    (
        "crates/tui/src/conversation/transcript/jump.rs",
        "edit",
        "a place to jump to",
    ),
    ("crates/tui/src/dialogs/project_map.rs", "map", "a dialog"),
    (
        "crates/tui/src/dialogs/questions/dialog/choose.rs",
        "edit",
        "a key hint",
    ),
    ("crates/tui/src/history/", "edit find rename", "a key hint"),
    ("crates/tui/src/status/footer/mod.rs", "terminal", "a noun"),
    ("src/cli/commands/doctor.rs", "terminal", "a check"),
    ("src/cli/completion.rs", "bash", "a shell"),
    ("src/cli/codex.rs", "web_search", "a key of Codex"),
];

#[test]
fn names_of_tools_are_in_their_rows() {
    let names: Vec<&str> = osier_tools::all().map(|tool| tool.name).collect();
    let mut faults = Vec::new();
    let mut used = vec![false; OTHER_MEANINGS.len()];
    for source in sources() {
        let path = source.path.to_string_lossy();
        // Slash commands have names of their own.
        let is_product = !path.starts_with("crates/tools/src/")
            && !path.starts_with("crates/protocol/src/slash/")
            && ![
                "/tests",
                "tests.rs",
                "testing.rs",
                "crates/testing",
                "crates/eval",
            ]
            .iter()
            .any(|part| path.contains(part));
        let code = source.code.split("#[cfg(test)]\nmod tests").next();
        let lines = code.unwrap_or_default().lines().enumerate();
        for (number, line) in lines.filter(|_| is_product) {
            // Errors name the operation on a file: `io("read", …)`.
            let is_operation = ["io(\"", "error(\""].iter().any(|call| line.contains(call));
            if is_operation || line.trim_start().starts_with("//") {
                continue;
            }
            let is_literal = |name: &&&str| line.contains(&format!("\"{name}\""));
            for name in names.iter().filter(is_literal) {
                let known = OTHER_MEANINGS.iter().position(|(place, words, _)| {
                    path.starts_with(place) && words.split(' ').any(|word| word == *name)
                });
                match known {
                    Some(known) => used[known] = true,
                    None => faults.push(format!("{path}:{}: {}", number + 1, line.trim())),
                }
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new(), "ask the row of the tool");
    let unused = OTHER_MEANINGS.iter().zip(used).filter(|(_, used)| !used);
    let unused: Vec<_> = unused.map(|((place, ..), _)| place).collect();
    assert_eq!(unused, Vec::<&&str>::new(), "nothing needs these rows");
}

/// The name of each crate and its manifest; the program is `osier`.
fn manifests() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let mut found = vec![("osier".to_owned(), read(root.join("Cargo.toml")))];
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.push((name, read(path.join("Cargo.toml"))));
    }
    assert!(found.len() > 20, "the crates were not found");
    found
}

pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) code: String,
}

pub(crate) fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for folder in ["src", "crates"] {
        collect(Path::new(folder), &mut found);
    }
    assert!(found.len() > 500, "the sources were not found");
    // The file system has an order of its own.
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let code = fs::read_to_string(&path).unwrap();
            found.push(Source { path, code });
        }
    }
}
