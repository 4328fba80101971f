//! Text of models, servers, files and arguments on a terminal: none of it may control the terminal.

use std::fs;
use std::io::Read as _;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use tempfile::TempDir;

/// Escapes, C1 controls, bidirectional overrides, line separators, tags, backspaces and carriage returns.
const EVIL: &str =
    "a\x1b]0;t\x07b\x1b[2Jc\u{9b}31md\u{202e}e\u{2028}f\u{e0041}g\x08h\ri\u{2066}j\x7fk";

/// A file below the home directory, and its content with a text in it.
type Input = (&'static str, fn(&str) -> String);

/// The files that an attack writes before the program runs, and the arguments.
struct Attack {
    files: &'static [Input],
    arguments: &'static [&'static str],
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn script(evil: &str) -> String {
    let text = json(evil);
    format!(
        r#"{{"turns": [
            {{"steps": [{{"thinking": {text}}}, {{"text": {text}}}, {{"tool": {text}, "arguments": {{"x": {text}}}}}]}},
            {{"steps": [{{"tool": "bash", "arguments": {{"command": "printf '\\033]0;t\\007\\302\\2332J'"}}}}]}},
            {{"steps": [{{"text": {text}}}]}}
        ]}}"#
    )
}

fn models(evil: &str) -> String {
    let text = json(evil);
    format!(
        r#"{{"providers": {{"x": {{"baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "apiKey": "k",
            "name": {text}, "models": [{{"id": "m", "name": {text}}}]}}, {text}: {{"baseUrl": {text}}}}}}}"#
    )
}

fn servers(evil: &str) -> String {
    let text = json(evil);
    format!(
        r#"{{"mcpServers": {{"x": {{"command": "sh", "args": ["-c", "printf '\\033]0;t\\007\\302\\2332J' >&2; exit 1", {text}]}},
            {text}: {{"command": {text}}}}}}}"#
    )
}

fn settings(evil: &str) -> String {
    format!(
        "theme = {0}\n{0} = 1\n",
        json(evil).replace('\u{7f}', "\\u007f")
    )
}

const SCRIPT: Input = ("work/s.json", script);
const MODELS: Input = ("osier/models.json", models);
const SERVERS: Input = ("osier/mcp.json", servers);
const SETTINGS: Input = ("osier/settings.toml", settings);

const PRINT: &[&str] = &["-p", "hi", "--model", "script/s.json"];

#[rustfmt::skip]
const ATTACKS: &[Attack] = &[
    Attack { files: &[SCRIPT], arguments: PRINT },
    Attack { files: &[SCRIPT], arguments: &["-p", "hi", "--model", "script/s.json", "--verbose"] },
    Attack { files: &[SCRIPT], arguments: &["-p", "hi", "--model", "script/s.json", "--trace-llm", "--trace-mcp"] },
    Attack { files: &[SCRIPT], arguments: &["-p", EVIL, "--model", "script/s.json", "--verbose"] },
    Attack { files: &[SCRIPT], arguments: &["--json", EVIL, "--model", "script/s.json"] },
    Attack { files: &[SETTINGS, SCRIPT], arguments: PRINT },
    Attack { files: &[MODELS], arguments: &["models"] },
    Attack { files: &[MODELS], arguments: &["models", EVIL] },
    Attack { files: &[MODELS, SETTINGS, SERVERS], arguments: &["doctor"] },
    Attack { files: &[MODELS], arguments: &["auth", "status"] },
    Attack { files: &[MODELS], arguments: &["auth", "status", EVIL] },
    Attack { files: &[SERVERS], arguments: &["mcp", "list"] },
    Attack { files: &[SERVERS], arguments: &["mcp", "test", "x"] },
    Attack { files: &[SERVERS], arguments: &["mcp", "test", EVIL] },
    Attack { files: &[SETTINGS], arguments: &["config", "check"] },
    Attack { files: &[], arguments: &[EVIL, "--modle"] },
    Attack { files: &[], arguments: &["-p", "--modle\x1b]0;t\x07\u{202e}"] },
    Attack { files: &[], arguments: &["--permissions", EVIL] },
    Attack { files: &[], arguments: &["--temperature", EVIL] },
    Attack { files: &[], arguments: &["--cwd", EVIL] },
    Attack { files: &[], arguments: &["-p", "x", "--model", EVIL] },
    Attack { files: &[], arguments: &["-p", "x", "--resume", EVIL] },
    Attack { files: &[], arguments: &["-p", "x", "--theme", EVIL] },
    Attack { files: &[], arguments: &["sessions", "show", EVIL] },
    Attack { files: &[], arguments: &["export", EVIL] },
    Attack { files: &[], arguments: &["import", EVIL] },
    Attack { files: &[], arguments: &["mcp", "rm", EVIL] },
    Attack { files: &[], arguments: &["attach", EVIL] },
];

/// Runs one after the other, on the sessions that earlier attacks have left.
const AFTER: &[&[&str]] = &[
    &["sessions"],
    &["sessions", "list", "--json"],
    &["sessions", "search", "a"],
    &["sessions", "show", ""],
    &["export", "--format", "jsonl", "", "-"],
    &["export", "--format", "markdown", "", "-"],
];

/// The output of the program on a terminal.
fn shown(home: &TempDir, arguments: &[&str]) -> String {
    let size = PtySize {
        rows: 50,
        cols: 200,
        ..PtySize::default()
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_osier"));
    command.env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", home.path());
    command.env("OSIER_HOME", home.path().join("osier"));
    command.env("TERM", "xterm-256color");
    command.cwd(home.path().join("work"));
    command.args(arguments);
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    // The end of the input, for modes that read it.
    drop(pair.master.take_writer().unwrap());
    let mut bytes = Vec::new();
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut part = [0; 4096];
    // On Linux reading fails when the last process has closed the terminal.
    while let Ok(length @ 1..) = reader.read(&mut part) {
        bytes.extend_from_slice(&part[..length]);
    }
    child.wait().unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything but text, line ends and what osier itself writes: colours, and a line that it replaces.
fn controls(output: &str) -> Vec<String> {
    let mut rest = output.replace("\r\n", "\n");
    // `osier doctor` first asks what the terminal supports; the last question is this one.
    if let Some((before, questions)) = rest.split_once("\x1b[?u")
        && let Some((_, after)) = questions.split_once("\x1b[c")
    {
        // Before the first one, the terminal echoes the end of the input.
        rest = before.replace("^D\x08\x08", "") + after;
    }
    for own in [
        "\x1b[90m", "\x1b[37m", "\x1b[33m", "\x1b[31m", "\x1b[0m", "\x1b[1m", "\x1b[22m", "\x1b[K",
    ] {
        rest = rest.replace(own, "");
    }
    let is_unsafe = |char: &char| {
        let is_format = matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}');
        is_format || (char.is_control() && !matches!(char, '\n' | '\t'))
    };
    let mut found: Vec<String> = rest
        .chars()
        .filter(is_unsafe)
        .map(|char| char.escape_unicode().to_string())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn no_text_controls_the_terminal() {
    let sessions = TempDir::new().unwrap();
    let mut passed = Vec::new();
    for attack in ATTACKS {
        let own = TempDir::new().unwrap();
        let home = if attack.arguments == PRINT && attack.files.len() == 1 {
            &sessions
        } else {
            &own
        };
        for folder in ["work", "osier"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        for (name, text) in attack.files {
            #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
            fs::write(home.path().join(name), text(EVIL)).unwrap();
        }
        let found = controls(&shown(home, attack.arguments));
        if !found.is_empty() {
            passed.push((attack.arguments, found));
        }
    }
    for arguments in AFTER {
        let found = controls(&shown(&sessions, arguments));
        if !found.is_empty() {
            passed.push((arguments, found));
        }
    }
    assert_eq!(passed, [], "of {}", ATTACKS.len() + AFTER.len());
}
