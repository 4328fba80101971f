//! `terminal`: types into a terminal session, waits, reads it, and watches it or a background job.

use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use osier_agent::{Concurrency, PreparedCall, Preparing, Refusal, ToolOutput, prepare_typed};
use osier_base::process::PtySize;
use osier_llm::ToolSpec;
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::built_in::{BuiltIn, Collapsed, Part, ToolEffect, ToolView, Verbs};
use crate::call::to_value;
use crate::commands::outcome::describe;
use crate::terminal::{TerminalSession, Typed, to_text};
use crate::workspace::Workspace;

/// The tool for terminals that run.
pub const TERMINAL: &str = "terminal";

pub(crate) const ROW: BuiltIn = BuiltIn {
    // Without input, it only reads, resizes or closes a terminal.
    acts_with: &["text", "keys"],
    view: ToolView {
        question: "Type this in the terminal?",
        collapsed: Collapsed::End,
        ..ToolView::new(
            Verbs::new("Using", "Used", "use"),
            &[
                Part::text("text"),
                Part::text("keys").around(" ", ""),
                Part::text("id").around(" in ", ""),
            ],
        )
    },
    does: "uses a program that `bash` started on a [terminal](terminals.md)",
    ..BuiltIn::new(TERMINAL, ToolEffect::Runs, || &SPEC, prepare)
};

/// How long the first screen of a new terminal may take.
const FIRST_SCREEN: Duration = Duration::from_secs(3);
/// Silence after which a program most likely waits for input.
const QUIET: Duration = Duration::from_millis(300);
/// How long a call waits, in seconds.
const TIMEOUT: f64 = 10.0;
const MAX_TIMEOUT: f64 = 600.0;
/// Rows and bytes of a result.
const ROWS: usize = 200;
const BYTES: usize = 12 * 1024;
/// Bytes of text of one call.
const TEXT: usize = 64 * 1024;
/// Size of a compiled pattern.
const PATTERN: usize = 256 * 1024;
/// Pause between two searches for a pattern in growing output.
const SEARCH_PAUSE: Duration = Duration::from_millis(20);

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
    freeform: None,
    name: TERMINAL.to_owned(),
    description: "Use a terminal that bash started: type text, then press keys, wait, and get the new output. A job id works with watch only.".to_owned(),
    parameters: json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "text": {"type": "string", "description": "Typed exactly; end a line with \\n"},
            "keys": {"type": "array", "items": {"type": "string"}, "description": "enter, esc, up, f1, ctrl+c, …"},
            "wait": {"type": "string", "description": "`quiet` (default after input), `exit` or a regex for the new output"},
            "timeout": {"type": "number", "description": "Seconds to wait, 10 by default"},
            "screen": {"type": "boolean", "description": "Get the complete screen instead"},
            "size": {"type": "string", "description": "Resize to COLUMNSxROWS"},
            "watch": {"type": "string", "description": "Regex; you get a message when later output matches or it ends"},
            "close": {"type": "boolean"},
        },
        "required": ["id"],
    }),
}
});

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct TerminalDetails {
    /// The id of the terminal.
    id: String,
    command: String,
    running: bool,
    exit_code: Option<i32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments {
    id: String,
    text: Option<String>,
    keys: Option<Vec<String>>,
    wait: Option<String>,
    timeout: Option<f64>,
    screen: Option<bool>,
    size: Option<String>,
    watch: Option<String>,
    close: Option<bool>,
}

/// The input that a call types.
struct Input {
    text: String,
    keys: Vec<String>,
    /// The input's meaning for a shell when the call was judged; `None` if another program read it.
    judged: Option<Typed>,
}

/// The condition that a call waits for.
enum Wait {
    Nothing,
    Quiet,
    /// Quiet after the first output.
    FirstScreen,
    Exit,
    Pattern(Regex),
}

impl Wait {
    fn of(wanted: Option<&str>, types: bool) -> Result<Self, Refusal> {
        Ok(match wanted.filter(|wanted| !wanted.is_empty()) {
            None if types => Self::Quiet,
            None => Self::Nothing,
            Some("quiet") => Self::Quiet,
            Some("exit") => Self::Exit,
            Some(pattern) => Self::Pattern(compile(pattern)?),
        })
    }
}

/// Compiles a pattern of the model.
fn compile(pattern: &str) -> Result<Regex, Refusal> {
    let mut builder = RegexBuilder::new(pattern);
    let built = builder.multi_line(true).size_limit(PATTERN).build();
    built.map_err(|error| Refusal::Invalid(format!("invalid regex `{pattern}`: {error}")))
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let text = arguments.text.unwrap_or_default();
        let keys = arguments.keys.unwrap_or_default();
        if text.len() > TEXT {
            let problem = "text is longer than 64 KiB: write a file instead";
            return Err(Refusal::invalid(problem));
        }
        let types = !text.is_empty() || !keys.is_empty();
        let id = arguments.id;
        let shell_input = types.then(|| workspace.shell_input(&id, &text, &keys));
        let (judged, shell_input) = shell_input.flatten().unzip();
        let seconds = arguments.timeout.filter(|seconds| *seconds > 0.0);
        let request = Request {
            watch: arguments.watch.as_deref().map(compile).transpose()?,
            size: arguments.size.as_deref().map(parse_size).transpose()?,
            wait: Wait::of(arguments.wait.as_deref(), types)?,
            input: types.then_some(Input { text, keys, judged }),
            limit: Duration::from_secs_f64(seconds.unwrap_or(TIMEOUT).min(MAX_TIMEOUT)),
            closes: arguments.close == Some(true),
            shows_screen: arguments.screen == Some(true),
            id,
        };
        let concurrency = Concurrency::Serial(format!("terminal {}", request.id));
        let call = PreparedCall::new(async move |cx| {
            let output = request.run(&workspace, &cx.cancel).await;
            output.unwrap_or_else(ToolOutput::from)
        });
        Ok(call.running(concurrency).typing(shell_input))
    })
}

/// A call.
struct Request {
    id: String,
    watch: Option<Regex>,
    size: Option<PtySize>,
    input: Option<Input>,
    wait: Wait,
    limit: Duration,
    closes: bool,
    shows_screen: bool,
}

impl Request {
    async fn run(
        self,
        workspace: &Arc<Workspace>,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, Refusal> {
        let id = &self.id;
        if let Some(regex) = self.watch {
            workspace.watch(id, regex).map_err(Refusal::Failed)?;
            if id.starts_with("job") {
                let text = format!("Watching {id}");
                return Ok(ToolOutput::success(text, Value::Null));
            }
        }
        let terminal = workspace.known_terminal(id).map_err(Refusal::Failed)?;
        if let Some(size) = self.size {
            let resized = terminal.resize(size);
            resized.map_err(|error| Refusal::Failed(format!("cannot resize: {error}")))?;
        }
        let mark = Mark::of(&terminal);
        if let Some(input) = &self.input {
            input.type_into(&terminal).await.map_err(Refusal::Failed)?;
        }
        if self.closes {
            terminal.close().await;
        }
        let note = wait_for(&terminal, &self.wait, &mark, self.limit, cancel).await;
        Ok(output(&terminal, self.shows_screen, note.as_deref()))
    }
}

impl Input {
    async fn type_into(&self, terminal: &TerminalSession) -> Result<(), String> {
        let meaning = terminal.meaning(&self.text, &self.keys);
        // Earlier input, or a program that ended meanwhile, can make another command of it.
        if meaning != self.judged && !matches!(meaning, None | Some(Typed::Nothing)) {
            return Err("a shell reads the input now, or reads another line than when the call was checked, so nothing was typed: call again".to_owned());
        }
        terminal.type_input(&self.text, &self.keys).await
    }
}

/// Starts `command` for `bash`; returns its first output.
pub(crate) async fn started(
    workspace: &Workspace,
    command: &str,
    cancel: &CancellationToken,
) -> Result<ToolOutput, Refusal> {
    if !workspace.has_terminals() {
        let message = "terminals are not available here; run the command without `terminal`";
        return Err(Refusal::Failed(message.to_owned()));
    }
    let prepared = workspace.confinement().prepare().await;
    prepared.map_err(|error| Refusal::Failed(error.to_string()))?;
    let terminal = workspace
        .terminals
        .start(&workspace.commands.shell, command);
    let terminal = terminal.map_err(|error| Refusal::Failed(not_started(&error)))?;
    let mark = Mark::of(&terminal);
    wait_for(&terminal, &Wait::FirstScreen, &mark, FIRST_SCREEN, cancel).await;
    let id = &terminal.id;
    let note = format!("type, read or close it with the tool `terminal`, id `{id}`");
    Ok(output(&terminal, false, Some(&note)))
}

pub(super) fn not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::QuotaExceeded => "too many terminals are open; close one first".to_owned(),
        _ => format!("cannot start the terminal: {error}"),
    }
}

/// The output before a call.
struct Mark {
    row: u64,
    /// The text of that row.
    text: String,
    at: Instant,
}

impl Mark {
    fn of(terminal: &TerminalSession) -> Self {
        let rows = terminal.rows_from(0, 1);
        Self {
            row: rows.next,
            text: rows.rows.into_iter().next().unwrap_or_default(),
            at: Instant::now(),
        }
    }

    /// The output since the mark.
    fn since(&self, terminal: &TerminalSession) -> String {
        if terminal.is_full_screen() {
            return terminal.rows().join("\n");
        }
        let text = terminal.rows_from(self.row, ROWS).rows.join("\n");
        match text.strip_prefix(&self.text) {
            Some(rest) => rest.to_owned(),
            None => text,
        }
    }
}

/// Waits; returns a note for the model.
async fn wait_for(
    terminal: &TerminalSession,
    wait: &Wait,
    mark: &Mark,
    limit: Duration,
    cancel: &CancellationToken,
) -> Option<String> {
    let reached = async {
        match wait {
            Wait::Nothing => {}
            Wait::Quiet => quiet(terminal, mark, false).await,
            Wait::FirstScreen => quiet(terminal, mark, true).await,
            Wait::Exit => ended(terminal).await,
            Wait::Pattern(regex) => return found(terminal, regex, mark).await,
        }
        true
    };
    tokio::select! {
        reached = timeout(limit, reached) => match (reached, wait) {
            (Ok(true), _) => None,
            (Ok(false), _) => Some("it ended without a match".to_owned()),
            (Err(_), Wait::Pattern(_)) => Some(format!("no match within {} s", limit.as_secs_f64())),
            (Err(_), _) => Some(format!("still busy after {} s", limit.as_secs_f64())),
        },
        () = cancel.cancelled() => Some("interrupted by the user; it continues".to_owned()),
    }
}

async fn ended(terminal: &TerminalSession) {
    let mut progress = terminal.progress();
    let _ = progress.wait_for(|progress| progress.ended.is_some()).await;
}

/// Waits until nothing is printed for a moment; with `first`, something must have been printed: `ssh` and REPLs take their
/// time.
async fn quiet(terminal: &TerminalSession, mark: &Mark, first: bool) {
    let mut progress = terminal.progress();
    loop {
        let now = *progress.borrow_and_update();
        if now.ended.is_some() {
            return;
        }
        let is_silent = now.last_output <= mark.at && mark.text.is_empty();
        let until = now.last_output.max(mark.at) + QUIET;
        tokio::select! {
            () = sleep_until(until), if !(first && is_silent) => return,
            changed = progress.changed() => if changed.is_err() {
                return;
            },
        }
    }
}

/// Whether the pattern was found before the program ended.
async fn found(terminal: &TerminalSession, regex: &Regex, mark: &Mark) -> bool {
    let mut progress = terminal.progress();
    loop {
        let has_ended = progress.borrow_and_update().ended.is_some();
        if regex.is_match(&mark.since(terminal)) {
            return true;
        }
        if has_ended || progress.changed().await.is_err() {
            return false;
        }
        tokio::time::sleep(SEARCH_PAUSE).await;
    }
}

fn output(terminal: &TerminalSession, complete: bool, note: Option<&str>) -> ToolOutput {
    let is_full_screen = terminal.is_full_screen();
    let new = terminal.new_rows(ROWS, true);
    let (lost, rows) = if complete {
        (0, terminal.rows())
    } else {
        (new.lost, new.rows)
    };
    let mut text = to_text(lost, &rows, BYTES);
    if text.is_empty() {
        "(no new output)".clone_into(&mut text);
    }
    let ended = terminal.ended();
    let size = terminal.size();
    let mut status = match ended {
        Some(exit) => format!("{}: {}", terminal.id, describe(exit)),
        None => format!("{} {}x{}", terminal.id, size.columns, size.rows),
    };
    if (is_full_screen || complete)
        && ended.is_none()
        && let Some((row, column)) = terminal.screen().cursor
    {
        status = format!("{status}, cursor in row {}, column {}", row + 1, column + 1);
    }
    if terminal.is_hidden() {
        status.push_str("; it reads hidden input, such as a password: ask the user to type it in the terminal, and do not ask for the secret");
    }
    if let Some(note) = note.filter(|_| ended.is_none()) {
        status = format!("{status}; {note}");
    }
    let details = TerminalDetails {
        id: terminal.id.clone(),
        command: terminal.command.clone(),
        running: ended.is_none(),
        exit_code: ended.and_then(|exit| exit.code),
    };
    ToolOutput::success(format!("{text}\n[{status}]"), to_value(&details))
}

/// `80x24` as columns and rows.
fn parse_size(size: &str) -> Result<PtySize, Refusal> {
    let parsed = size.split_once('x').and_then(|(columns, rows)| {
        let columns = columns.trim().parse().ok()?;
        let rows = rows.trim().parse().ok()?;
        Some(PtySize { rows, columns })
    });
    parsed.ok_or_else(|| Refusal::Invalid(format!("`{size}` is no size; write `80x24`")))
}
