//! The real program without a screen: answers, exit codes, JSON lines, invalid input, crashes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A home directory, a working directory, and runs of the program in it.
struct TestProject {
    home: TempDir,
}

struct Ran {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

impl TestProject {
    fn new() -> Self {
        let place = Self {
            home: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(place.work()).unwrap();
        place.write("osier/settings.toml", "describe_environment = false\n");
        place
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        self
    }

    fn script(&self, turns: &str) -> &Self {
        self.write("work/s.json", &format!("{{\"turns\": [{turns}]}}"))
    }

    #[expect(clippy::disallowed_methods, reason = "the test runs the real program")]
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
        command
            .args(args)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .env("OSIER_HOME", self.home.path().join("osier"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, None)
    }

    fn run_with(&self, args: &[&str], stdin: Option<&[u8]>) -> Ran {
        let mut command = self.command(args);
        if stdin.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        if let Some(bytes) = stdin {
            child.stdin.take().unwrap().write_all(bytes).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .unwrap()
                .replace(&*self.home.path().to_string_lossy(), "HOME")
        };
        Ran {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code(),
        }
    }

    /// The lines of the only session.
    fn session(&self) -> Vec<Value> {
        let folder = self.home.path().join("osier/sessions");
        let project = std::fs::read_dir(folder)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let mut files: Vec<PathBuf> = std::fs::read_dir(project)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let text = std::fs::read_to_string(files.remove(0)).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Texts of the messages in a session file, with their roles.
fn said(session: &[Value]) -> Vec<(String, String)> {
    let messages = session.iter().filter(|entry| entry["type"] == "message");
    messages
        .map(|entry| {
            let message = &entry["message"];
            let text = match message["role"].as_str().unwrap() {
                "user" => message["text"].as_str().unwrap().to_owned(),
                _ => message["content"][0]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            };
            (message["role"].as_str().unwrap().to_owned(), text)
        })
        .collect()
}

const HELLO: &str = r#"{"repeat": true, "steps": [{"text": "hello"}]}"#;

#[test]
fn print_mode_prints_only_the_answer() {
    let place = TestProject::new();
    place.script(
        r#"{"steps": [{"text": "looking"}, {"tool": "bash", "arguments": {"command": "echo out"}}]},
           {"steps": [{"text": "the answer"}]}"#,
    );
    let ran = place.run(&["-p", "--model", "script/s.json", "go"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str(), ran.code),
        ("the answer\n", "", Some(0))
    );
    let session = place.session();
    let parents: Vec<&Value> = session[1..]
        .iter()
        .map(|entry| &entry["parentId"])
        .collect();
    let ids: Vec<&Value> = session[1..].iter().map(|entry| &entry["id"]).collect();
    assert_eq!(parents[0], &Value::Null);
    assert_eq!(parents[1..], ids[..ids.len() - 1]);
    assert_eq!(
        said(&session),
        [
            ("user".into(), "go".into()),
            ("assistant".into(), "looking".into()),
            ("toolResult".into(), "out\n".into()),
            ("assistant".into(), "the answer".into()),
        ]
    );
}

#[test]
fn continue_resumes_the_session_and_no_session_stores_nothing() {
    let place = TestProject::new();
    place.script(HELLO);
    assert_eq!(
        place
            .run(&["-p", "--no-session", "--model", "script/s.json", "x"])
            .code,
        Some(0)
    );
    assert!(!place.home.path().join("osier/sessions").exists());
    place.run(&["-p", "--model", "script/s.json", "one"]);
    place.run(&["-p", "-c", "--model", "script/s.json", "two"]);
    let said = said(&place.session());
    let prompts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(prompts, ["one", "hello", "two", "hello"]);
    let listed = place.run(&["sessions"]);
    assert!(
        listed.stdout.trim_end().ends_with("HOME/work  one"),
        "{}",
        listed.stdout
    );
}

#[test]
fn piped_text_and_files_precede_the_prompt() {
    let place = TestProject::new();
    place.script(HELLO).write("work/notes.txt", "noted");
    let args = ["-p", "--model", "script/s.json", "@notes.txt", "do it"];
    assert_eq!(place.run_with(&args, Some(b"piped\n")).code, Some(0));
    let session = place.session();
    let message = &session[1]["message"];
    assert_eq!(message["text"], "piped\n\ndo it");
    assert_eq!(message["attachments"][0]["extractedText"], "noted");
}

#[test]
fn failures_have_an_exit_code_and_one_line() {
    let place = TestProject::new();
    place.script(r#"{"steps": [{"fail": {"type": "model_error", "message": "it broke", "retryable": false}}]}"#);
    let ran = place.run(&["-p", "--model", "script/s.json", "go"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)));
    assert_eq!(
        ran.stderr,
        "[ERR] ← [1.0] llm script:s.json: model_error: it broke\n"
    );
    let tools: Vec<&str> = osier_tools::BUILT_IN.iter().map(|tool| tool.name).collect();
    let unknown_tool = format!(
        "osier: unknown tool `saw`: expected one of {}\n",
        tools.join(", ")
    );
    for (args, stdin, error) in [
        (
            vec!["--modle", "x"],
            None,
            "osier: unknown argument `--modle`; did you mean `--model`?\n",
        ),
        (
            vec!["-p", "--model", "zzz/qqq", "go"],
            None,
            "osier: unknown model `zzz/qqq`\n",
        ),
        (vec!["-p", "--tools", "bash,saw", "go"], None, &unknown_tool),
        (
            vec!["-p", "--tools", "read,mcp__fs__good", "go"],
            None,
            "osier: unknown tool `mcp__fs__good`: no MCP server of this name is configured; `osier mcp list` lists them\n",
        ),
        (
            vec!["-p", "--thinking", "hard", "go"],
            None,
            "osier: unknown value `hard` for `--thinking <LEVEL>`; expected one of `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; see `osier --help`\n",
        ),
        (
            vec!["-p", "--cwd", "nowhere", "go"],
            None,
            "osier: cannot use `--cwd nowhere`: No such file or directory (os error 2)\n",
        ),
        (
            vec!["-p", "@none.txt"],
            None,
            "osier: cannot read `HOME/work/none.txt`: No such file or directory (os error 2)\n",
        ),
        (
            vec!["-p"],
            None,
            "osier: no prompt; pass one as an argument or on standard input\n",
        ),
        (
            vec!["-p", "go"],
            Some(&b"\xff\xfe\x00"[..]),
            "osier: standard input is not text; pass the file as `@FILE`\n",
        ),
        (
            vec!["-p", "--resume", "0000", "go"],
            None,
            "osier: no session matches `0000`; list the sessions with `osier sessions`\n",
        ),
    ] {
        let ran = place.run_with(&args, stdin);
        assert_eq!(
            (ran.stderr.as_str(), ran.code),
            (error, Some(2)),
            "{args:?}"
        );
    }
}

#[test]
fn invalid_files_are_reported_with_their_line() {
    let place = TestProject::new();
    place
        .script(HELLO)
        .write("osier/settings.toml", "mouse = 3\n")
        .write("osier/models.json", "{\"providers\": {,}}");
    let ran = place.run(&["-p", "--model", "script/s.json", "go"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("hello\n", Some(0)));
    assert!(
        ran.stderr
            .contains("HOME/osier/settings.toml:1:9: invalid value `3` for `mouse`"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("HOME/osier/models.json:1:16"),
        "{}",
        ran.stderr
    );
    let check = place.run(&["config", "check"]);
    assert_eq!(
        (check.stdout.lines().count(), check.code),
        (2, Some(1)),
        "{}",
        check.stdout
    );
}

#[test]
fn json_mode_reads_and_writes_json_lines() {
    let place = TestProject::new();
    place.script(HELLO);
    let input = b"{\"type\":\"message\",\"content\":\"hi\"}\nnonsense\n";
    let ran = place.run_with(&["--json", "--model", "script/s.json"], Some(input));
    assert_eq!(ran.code, Some(0));
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let types: Vec<&str> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types.iter().filter(|kind| **kind == "error").count(),
        1,
        "{types:?}"
    );
    assert_eq!(
        types
            .iter()
            .filter(|kind| **kind == "agent_settled")
            .count(),
        1,
        "{types:?}"
    );
    assert_eq!(types.last(), Some(&"shut_down"));
    let answer = lines
        .iter()
        .rfind(|line| line["type"] == "message_end")
        .unwrap();
    assert_eq!(answer["message"]["content"][0]["text"], "hello");
}

#[test]
fn an_interrupt_line_stops_the_run() {
    let place = TestProject::new();
    place.script(r#"{"steps": [{"text": "begun"}, {"wait": 600000}, {"text": "never"}]}"#);
    let mut child = place
        .command(&["--json", "--model", "script/s.json", "go"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    wait_for(&mut lines, "begun");
    child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"{\"type\":\"interrupt\"}\n")
        .unwrap();
    wait_for(&mut lines, "\"type\":\"interrupted\"");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_partial_answer_is_restored_after_sigkill() {
    let place = TestProject::new();
    place.script(
        r#"{"steps": [{"tool": "bash", "arguments": {"command": "echo kept"}}]},
           {"steps": [{"text": "cut off here"}, {"wait": 600000}]},
           {"repeat": true, "steps": [{"text": "hello again"}]}"#,
    );
    let mut child = place
        .command(&["--json", "--model", "script/s.json", "go"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    wait_for(&mut lines, "off here");
    let draft = wait_for_draft(&place.home.path().join("osier/sessions"), &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(draft.exists());
    place.write("work/s.json", &format!("{{\"turns\": [{HELLO}]}}"));
    let ran = place.run(&["-p", "-c", "--model", "script/s.json", "go on"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.code),
        ("hello\n", Some(0)),
        "{}",
        ran.stderr
    );
    let texts: Vec<String> = said(&place.session())
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(
        texts,
        ["go", "", "kept\n", "cut off here", "go on", "hello"]
    );
}

#[test]
fn a_session_open_in_another_process_is_an_error() {
    let place = TestProject::new();
    place.script(r#"{"steps": [{"text": "begun"}, {"wait": 600000}]}"#);
    let mut first = place
        .command(&[
            "--json",
            "--model",
            "script/s.json",
            "--session",
            "mine.jsonl",
            "go",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    wait_for(&mut lines, "begun");
    let second = place.run(&[
        "-p",
        "--model",
        "script/s.json",
        "--session",
        "mine.jsonl",
        "go",
    ]);
    assert_eq!((second.stdout.as_str(), second.code), ("", Some(1)));
    assert!(
        second.stderr.contains("is open in another process"),
        "{}",
        second.stderr
    );
    assert!(second.stderr.contains("`--fork ID`"), "{}", second.stderr);
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn a_response_that_is_not_a_model_response_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = vec![0; 65536];
        let _ = stream.read(&mut request).unwrap();
        let page = "<html>proxy login</html>";
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n",
            page.len()
        );
        stream
            .write_all(format!("{head}{page}").as_bytes())
            .unwrap();
    });
    let place = TestProject::new();
    place.write(
        "osier/models.json",
        &format!(r#"{{"providers": {{"p": {{"baseUrl": "http://127.0.0.1:{port}/v1", "apiKey": "sk-secret", "models": [{{"id": "m"}}]}}}}}}"#),
    );
    osier_base::private::restrict(&place.home.path().join("osier/models.json")).unwrap();
    let ran = place.run(&["-p", "--model", "p/m", "--max-retries", "0", "go"]);
    server.join().unwrap();
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)));
    assert!(
        ran.stderr
            .starts_with("[ERR] ← [1.0] llm p:m: model_error: "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("proxy login") && !ran.stderr.contains("sk-secret"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_demo_fixes_a_scratch_copy_only() {
    let place = TestProject::new();
    let ran = place.run(&["--json", "--model", "demo/tour", "show me"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let results: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["type"] == "tool_execution_end")
        .collect();
    let told: Vec<(&str, bool)> = results
        .iter()
        .map(|line| {
            (
                line["toolName"].as_str().unwrap(),
                line["result"]["isError"].as_bool().unwrap(),
            )
        })
        .collect();
    let mut first = told[..2].to_vec();
    first.sort_unstable();
    assert_eq!(first, [("bash", false), ("read", false)]);
    assert_eq!(
        told[2..],
        [
            ("bash", true),
            ("read", false),
            ("edit", false),
            ("bash", false),
            ("write", false)
        ]
    );
    assert!(ran.stdout.contains("not a language model"));
    let left: Vec<_> = std::fs::read_dir(place.work()).unwrap().collect();
    assert_eq!(left.len(), 0, "the demo changed the working directory");
}

fn wait_for(lines: &mut impl Iterator<Item = std::io::Result<String>>, wanted: &str) {
    for line in lines {
        if line.unwrap().contains(wanted) {
            return;
        }
    }
    panic!("the output ended before `{wanted}`");
}

/// The draft of the current answer, once it contains the answer. It is written shortly after the answer is shown.
fn wait_for_draft(sessions: &Path, child: &mut Child) -> PathBuf {
    loop {
        let projects = std::fs::read_dir(sessions)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        let files =
            projects.flat_map(|project| std::fs::read_dir(project.path()).into_iter().flatten());
        for file in files.filter_map(Result::ok) {
            let path = file.path();
            let is_draft = path.extension().is_some_and(|ending| ending == "draft");
            if is_draft
                && std::fs::read_to_string(&path).is_ok_and(|text| text.contains("off here"))
            {
                return path;
            }
        }
        assert!(child.try_wait().unwrap().is_none(), "the program ended");
        osier_testing::poll::pause();
    }
}
