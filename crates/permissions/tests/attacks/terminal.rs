//! Input for programs on a terminal that makes one of them run a denied command: typed in parts, ahead of a shell, into the
//! history, into other shells and into programs that run commands.

use std::sync::Arc;

use osier_agent::{Interceptor as _, ToolContext, ToolDecision, UpdateSink};
use osier_llm::ToolCall;
use osier_permissions::{Gate, Permissions, RuleLists};
use osier_protocol::PermissionMode::{self, Ask, Yolo};
use osier_protocol::questions::Questions;
use osier_testing::skip;
use osier_tools::Workspace;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::known::Project;

/// Text and keys of one call.
type Input = (&'static str, &'static [&'static str]);

/// The program that must be installed, the command that starts on the terminal, and the input. Only
/// the last input must be refused.
type Attack = (&'static str, &'static str, &'static [Input]);

const BASH: &str = "PS1='$ ' exec bash --norc --noprofile -i";
const SH: &str = "exec sh -i";
const ZSH: &str = "exec zsh -f -i";
const FISH: &str = "exec fish --no-config -i";
const TCSH: &str = "exec tcsh -f";
/// Input for `cat`, which prints the file and then reads the terminal.
const AHEAD: Input = ("cat README.md -\n", &[]);
const PYTHON: &str = "PYTHON_BASIC_REPL=1 exec python3 -q";
const TOUCH: Input = ("touch made\n", &[]);

/// Attacks that no rule for the tool `terminal` allows.
#[rustfmt::skip]
const SHELLS: &[Attack] = &[
    // Typed in parts.
    ("bash", BASH, &[TOUCH]),
    ("bash", BASH, &[("to", &[]), ("uch made\n", &[])]),
    ("bash", BASH, &[("touch made", &[]), ("", &["enter"])]),
    ("bash", BASH, &[("", &["t", "o", "u", "c", "h", "space", "m", "a", "d", "e", "C-m"])]),
    ("bash", BASH, &[("echo a; tou\"\"ch ", &[]), ("made", &["ctrl+j"])]),
    ("bash", BASH, &[("echo a\ntouch made\necho b\n", &[])]),
    ("bash", BASH, &[("\x03touch made\n", &[])]),
    ("bash", BASH, &[("echo a", &[]), ("", &["ctrl+d"])]),
    ("bash", BASH, &[("$(echo touch) made\n", &[])]),
    ("bash", BASH, &[("x=touch; $x made\n", &[])]),
    ("sh", SH, &[TOUCH]),
    ("sh", SH, &[("to", &[]), ("uch made\n", &[])]),
    // Ahead of a shell.
    ("bash", BASH, &[AHEAD, TOUCH]),
    ("bash", BASH, &[AHEAD, ("to", &[]), ("uch made\n", &[])]),
    ("bash", BASH, &[AHEAD, ("", &["t", "o", "u", "c", "h", "space", "m", "enter"])]),
    ("bash", BASH, &[AHEAD, ("to", &["u"]), ("ch", &["space", "m"])]),
    ("bash", BASH, &[AHEAD, ("$(echo touch) made\n", &[])]),
    ("bash", BASH, &[AHEAD, ("tou\\\nch made\n", &[])]),
    ("bash", BASH, &[AHEAD, ("'touch' made\n", &[])]),
    ("bash", BASH, &[AHEAD, ("", &["up", "enter"])]),
    ("bash", BASH, &[AHEAD, ("\x1b[A\n", &[])]),
    ("bash", BASH, &[AHEAD, ("", &["ctrl+o"])]),
    ("bash", BASH, &[AHEAD, ("!-2\n", &[])]),
    ("bash", BASH, &[AHEAD, ("echo x # ; touch made\n", &[])]),
    ("sh", SH, &[AHEAD, TOUCH]),
    ("zsh", ZSH, &[("echo a\n", &[])]),
    // History.
    ("bash", BASH, &[("echo \"x;touch made\"\n", &[]), ("echo !!:1:s/\"x;/x;/:s/made\"/made/\n", &[])]),
    ("bash", BASH, &[("!!\n", &[])]),
    ("bash", BASH, &[("!:1-$\n", &[])]),
    ("bash", BASH, &[("^echo^touch\n", &[])]),
    ("bash", BASH, &[("!touch\n", &[])]),
    ("bash", BASH, &[("!?touch\n", &[])]),
    ("bash", BASH, &[("echo touch made\n", &[]), ("!!:1*\n", &[])]),
    ("bash", BASH, &[("echo a !#:0\n", &[])]),
    ("bash", BASH, &[("fc -s echo=touch\n", &[])]),
    ("bash", BASH, &[("history -s touch made\n", &[])]),
    ("bash", BASH, &[("", &["up", "enter"])]),
    ("bash", BASH, &[("", &["ctrl+p", "enter"])]),
    ("bash", BASH, &[("", &["ctrl+r", "t", "enter"])]),
    ("bash", BASH, &[("", &["alt+.", "enter"])]),
    ("bash", BASH, &[("ech", &["tab", "enter"])]),
    ("bash", BASH, &[("echo ", &["ctrl+y", "enter"])]),
    // Lines that change what later lines and prompts run.
    ("bash", BASH, &[("alias echo=touch\n", &[])]),
    ("bash", BASH, &[("echo() { command touch made; }\n", &[])]),
    ("bash", BASH, &[("PROMPT_COMMAND='tou\"\"ch made'\n", &[])]),
    ("bash", BASH, &[("PS1='$(tou\"\"ch made)'\n", &[])]),
    ("bash", BASH, &[("read PS1 <<< '$(t''ouch made)'\n", &[])]),
    ("bash", BASH, &[("printf -v PROMPT_COMMAND %s 'x'\n", &[])]),
    ("bash", BASH, &[("for PS1 in 'x'; do :; done\n", &[])]),
    ("bash", BASH, &[("export BASH_ENV=x\n", &[])]),
    ("bash", BASH, &[("PATH=.\n", &[])]),
    ("bash", BASH, &[("bind -x '\"a\": x'\n", &[])]),
    ("bash", BASH, &[("hash -p /usr/bin/touch ls\n", &[])]),
    ("bash", BASH, &[("source x\n", &[])]),
    ("bash", BASH, &[("trap 'x' DEBUG\n", &[])]),
    ("bash", BASH, &[("set -o vi\n", &[])]),
    ("bash", BASH, &[("exec zsh\n", &[])]),
    // Other languages.
    ("zsh", ZSH, &[("echo x # ; touch made\n", &[])]),
    ("zsh", ZSH, &[("echo a =(touch made)\n", &[])]),
    ("zsh", ZSH, &[("echo =touch\n", &[])]),
    ("zsh", ZSH, &[("!!\n", &[])]),
    ("zsh", ZSH, &[("alias -g a='; touch made'\n", &[])]),
    ("zsh", ZSH, &[("echo", &[]), (" a\n", &[])]),
    ("fish", FISH, &[("echo 'a\\' 'b; touch made #'\n", &[])]),
    ("fish", FISH, &[("echo a\n", &[])]),
    ("tcsh", TCSH, &[("echo x # ; touch made\n", &[])]),
    ("tcsh", TCSH, &[("echo a\n", &[])]),
    ("bash", "cp /bin/bash pwsh; exec ./pwsh --norc -i", &[("echo a\n", &[])]),
    ("zsh", "ln -s /usr/bin/zsh bash; exec ./bash -f -i", &[("echo x # ; touch made\n", &[])]),
    ("bash", "cp /bin/bash sh; exec ./sh --norc -i", &[("echo a\n", &[])]),
    ("bash", "cp /bin/bash zsh-5.9; exec ./zsh-5.9 --norc -i", &[("echo a\n", &[])]),
    // Programs that start a shell, here or elsewhere.
    ("script", "exec script -q -c 'bash --norc -i' /dev/null", &[TOUCH]),
    ("tmux", "exec tmux -L osier-$$ -f /dev/null new 'exec bash --norc -i'", &[("echo a\n", &[])]),
    ("bash", "cp /bin/bash ssh; exec ./ssh --norc -i", &[TOUCH]),
    ("bash", "cp /bin/bash su; exec ./su --norc -i", &[TOUCH]),
    ("bash", "cp /bin/bash docker; exec ./docker --norc -i", &[TOUCH]),
    ("bash", "cp /bin/bash kubectl; exec ./kubectl --norc -i", &[TOUCH]),
    ("bash", "cp /bin/bash wsl; exec ./wsl --norc -i", &[("echo a\n", &[])]),
    ("bash", "cp /bin/bash nsenter; exec ./nsenter --norc -i", &[("echo a\n", &[])]),
    ("bash", "cp /bin/bash machinectl; exec ./machinectl --norc -i", &[("echo a\n", &[])]),
    ("bash", "cp /bin/bash chroot; exec ./chroot --norc -i", &[("echo a\n", &[])]),
    // These programs become the shell, for which paths lead to other files.
    ("unshare", "exec unshare -m bash --norc --noprofile -i", &[("echo a\n", &[])]),
    ("unshare", "exec unshare -rm bash --norc --noprofile -i", &[("echo a\n", &[])]),
    ("nsenter", "exec unshare -m nsenter -t $$ -w bash --norc --noprofile -i", &[("echo a\n", &[])]),
];

/// Attacks that a rule for the tool `terminal` allows.
#[rustfmt::skip]
const PROGRAMS: &[Attack] = &[
    ("python3", PYTHON, &[("import os; os.system('touch made')\n", &[])]),
    ("python3", PYTHON, &[("6 * 7\n", &[])]),
    ("node", "exec node -i", &[("require('fs').writeFileSync('made', '')\n", &[])]),
    ("sqlite3", "exec sqlite3", &[(".shell touch made\n", &[])]),
    ("sqlite3", "exec sqlite3", &[(".once made\n", &[])]),
    ("cat", "echo ready; cp /bin/cat psql; exec ./psql", &[("\\! touch made\n", &[])]),
    ("vim", "exec vim -u NONE -N -i NONE x", &[(":!touch made\n", &[])]),
    ("less", "echo a > x; exec less x", &[("!touch made\n", &[])]),
    ("cat", "echo ready; exec cat", &[TOUCH]),
];

/// A terminal with a gate that nobody answers.
struct Terminal {
    project: Project,
    workspace: Arc<Workspace>,
    gate: Gate,
}

impl Terminal {
    fn new(mode: PermissionMode, allow: &[&str], deny: &[&str]) -> Self {
        let project = Project::new();
        let owned = |rules: &[&str]| -> Vec<String> {
            rules.iter().map(|rule| (*rule).to_owned()).collect()
        };
        let (allow, deny) = (owned(allow), owned(deny));
        let rules = RuleLists {
            allow: &allow,
            deny: &deny,
            ..RuleLists::default()
        };
        let store = project.root.join("../permissions.json");
        let permissions = Permissions::new(&project.root, store, mode, rules);
        let workspace = Workspace::new(&project.root).with_terminals(Arc::new(|_| {}));
        let workspace = Arc::new(workspace);
        let (questions, _) = Questions::new();
        let gate = Gate::new(
            Arc::new(permissions),
            questions,
            Arc::clone(&workspace),
            false,
        );
        Self {
            project,
            workspace,
            gate,
        }
    }

    /// Runs a call if the gate allows it, or if it `is_free`. Returns the result if it ran.
    async fn call(&self, tool: &str, arguments: Value, is_free: bool) -> Option<String> {
        let call = ToolCall {
            id: "call".to_owned(),
            name: tool.to_owned(),
            arguments,
            ..ToolCall::default()
        };
        let mut call = self.workspace.prepare(call).await.ok()?;
        let cancel = CancellationToken::new();
        let is_allowed = is_free
            || matches!(
                self.gate.before_tool(&call, &cancel).await,
                ToolDecision::Allow
            );
        if !is_allowed {
            return None;
        }
        let context = ToolContext {
            call_id: "call".to_owned(),
            cancel,
            updates: UpdateSink::discard(),
        };
        Some(call.prepared.run(context).await.text())
    }

    /// Starts `command` and types `inputs`, until one is refused. Returns how many ran.
    async fn types(&self, command: &str, inputs: &[Input]) -> usize {
        let start = json!({"command": command, "terminal": true});
        let Some(screen) = self.call("bash", start, true).await else {
            return 0;
        };
        if screen.starts_with("(no new output)") {
            let prompt = json!({"id": "term1", "wait": "\\S", "timeout": 60});
            self.call("terminal", prompt, true).await;
        }
        let mut ran = 0;
        for input in inputs {
            let wait = if *input == AHEAD { "Project" } else { "quiet" };
            let (text, keys) = input;
            let typed =
                json!({"id": "term1", "text": text, "keys": keys, "wait": wait, "timeout": 60});
            if self.call("terminal", typed, false).await.is_none() {
                break;
            }
            ran += 1;
        }
        let close = json!({"id": "term1", "close": true});
        self.call("terminal", close, true).await;
        ran
    }
}

/// Number of terminals at a time: a row mostly waits until its terminal is quiet.
const AT_ONCE: usize = 8;

/// The faults of all rows.
async fn faults<T>(rows: impl IntoIterator<Item = T>) -> Vec<String>
where
    T: Future<Output = Vec<String>> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let start = |row: T| {
        let slots = Arc::clone(&slots);
        tokio::spawn(async move {
            let _slot = slots.acquire().await;
            row.await
        })
    };
    let started: Vec<_> = rows.into_iter().map(start).collect();
    let mut found = Vec::new();
    for row in started {
        found.extend(row.await.unwrap_or_else(|error| vec![error.to_string()]));
    }
    found
}

/// The fault of a row of which not exactly the last input is refused.
async fn attack(
    (program, command, inputs): Attack,
    mode: PermissionMode,
    allow: &[&str],
    deny: &[&str],
) -> Vec<String> {
    let mut faults = Vec::new();
    if !skip::has(&[program, "setsid"], program) {
        return faults;
    }
    let terminal = Terminal::new(mode, allow, deny);
    let ran = terminal.types(command, inputs).await;
    if ran != inputs.len() - 1 {
        faults.push(format!("{mode:?} {command}: {ran} of {inputs:?}"));
    }
    if terminal.project.root.join("made").exists() {
        faults.push(format!("{mode:?} {command}: {inputs:?} wrote"));
    }
    faults
}

/// The rows of which not exactly the last input is refused.
async fn passed(
    attacks: &'static [Attack],
    mode: PermissionMode,
    allow: &'static [&'static str],
    deny: &'static [&'static str],
) -> Vec<String> {
    faults(attacks.iter().map(|row| attack(*row, mode, allow, deny))).await
}

const NONE: &[String] = &[];
const ALLOW: &[&str] = &["bash(echo *)", "bash(cat *)", "terminal"];
const DENY: &[&str] = &["bash(touch *)"];

#[tokio::test]
async fn no_input_for_a_shell_gets_past_a_deny_rule() {
    assert!(SHELLS.len() + PROGRAMS.len() >= 80);
    assert_eq!(passed(SHELLS, Yolo, &["terminal"], DENY).await, NONE);
}

#[tokio::test]
async fn no_input_for_a_shell_gets_past_the_rule_for_terminals() {
    assert_eq!(passed(SHELLS, Ask, ALLOW, DENY).await, NONE);
}

#[tokio::test]
async fn programs_that_may_run_commands_are_asked_about() {
    for (mode, deny) in [(Yolo, DENY), (Ask, &[])] {
        assert_eq!(passed(PROGRAMS, mode, &[], deny).await, NONE);
    }
}

/// The allow rules for commands, the deny rules, the command that starts, and input that needs no
/// permission.
type Allowed = (
    PermissionMode,
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
    &'static [Input],
);

const LINES: &[Input] = &[("echo a\n", &[]), ("ls", &["enter"]), AHEAD, ("y\n", &[])];
const STOP: &[Input] = &[AHEAD, ("", &["ctrl+c"])];

const ALLOWED: &[Allowed] = &[
    (Ask, ALLOW, &[], BASH, LINES),
    (Ask, ALLOW, DENY, BASH, LINES),
    (Yolo, &["terminal"], DENY, BASH, LINES),
    (Yolo, &[], &[], BASH, LINES),
    (Yolo, &[], &[], ZSH, &[("echo a\n", &[])]),
    (Ask, ALLOW, DENY, BASH, STOP),
    (Yolo, &[], DENY, BASH, STOP),
    (Ask, ALLOW, DENY, PYTHON, &[TOUCH]),
    (Yolo, &["terminal"], DENY, PYTHON, &[TOUCH]),
];

/// Input that rules allow needs no permission.
#[tokio::test]
async fn allowed_input_is_typed() {
    if !skip::has(
        &["python3", "zsh", "setsid"],
        "apt install python3 zsh util-linux",
    ) {
        return;
    }
    let rows = ALLOWED
        .iter()
        .map(|(mode, allow, deny, command, inputs)| async move {
            let terminal = Terminal::new(*mode, allow, deny);
            let ran = terminal.types(command, inputs).await;
            let is_wrong = ran != inputs.len();
            Vec::from_iter(is_wrong.then(|| format!("{mode:?} {command}: {ran} of {inputs:?}")))
        });
    assert_eq!(faults(rows).await, NONE);
}
