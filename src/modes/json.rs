//! JSON mode: messages in and events out, one JSON object per line.
//!
//! Input lines are `{"type":"message","content":…}`, `{"type":"interrupt"}` and, for a client that answers
//! questions, `{"type":"answer","id":…,"answer":…}`. Every event of the session is one line of output. An
//! invalid input line causes an `error` line and has no other effect. After the end of the input osier
//! dismisses all questions.

use std::collections::VecDeque;
use std::io::{self, Write};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, Split};

use super::print::cut_reason;
use osier_agent::{AgentMessage, RunOutcome, Subscription};
use osier_protocol::questions::Answer;
use osier_protocol::{Event, Op};
use osier_session::SessionHandle;

use super::prompt_request::PromptRequest;
use osier_protocol::Prompt;

/// The types of input lines.
const TYPES: [&str; 3] = ["message", "interrupt", "answer"];

/// A line of input.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Input {
    Message {
        content: Content,
    },
    Interrupt,
    /// Answers the pending question `id`.
    Answer {
        id: String,
        answer: Answer,
    },
}

/// Text, or a list of text blocks.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`content` must be a string or a list of `{\"type\":\"text\",\"text\":\"…\"}`"
)]
enum Content {
    Text(String),
    Blocks(Vec<TextBlock>),
}

#[derive(Debug, Deserialize)]
struct TextBlock {
    text: String,
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Blocks(blocks) => blocks
                .into_iter()
                .map(|block| block.text)
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }
}

/// Runs the prompts, then the messages of `input` until its end. Returns the outcome of the last run.
pub async fn run(
    session: &SessionHandle,
    mut events: Subscription<Event>,
    prompts: Vec<Prompt>,
    input: impl AsyncBufRead + Unpin,
    output: &mut (dyn Write + Send),
    accounting: Option<&mut (dyn Write + Send)>,
) -> io::Result<RunOutcome> {
    let outcome = match converse(session, &mut events, prompts, input, output, accounting).await {
        // A second signal has shut the session down.
        Ok(None) => return Ok(RunOutcome::Interrupted),
        Ok(Some(outcome)) => Ok(outcome),
        Err(error) => Err(error),
    };
    // Also when the output is closed: this stops the run and stores the session.
    session.send(Op::ShutDown);
    let mut written = Ok(());
    while let Some(event) = events.recv().await {
        if outcome.is_ok() && written.is_ok() {
            written = write_event(output, &event);
        }
        if event == Event::ShutDown {
            break;
        }
    }
    written.and(outcome)
}

/// Reads and runs until the input ends and no run is active; `None` when the session shut down first.
async fn converse(
    session: &SessionHandle,
    events: &mut Subscription<Event>,
    prompts: Vec<Prompt>,
    input: impl AsyncBufRead + Unpin,
    output: &mut (dyn Write + Send),
    mut accounting: Option<&mut (dyn Write + Send)>,
) -> io::Result<Option<RunOutcome>> {
    let mut lines = Some(input.split(b'\n'));
    let mut queue: VecDeque<Prompt> = prompts.into();
    let mut running = false;
    let mut sent = PromptRequest::new(0);
    let mut outcome = RunOutcome::Completed;
    // Why the last answer is not complete.
    let mut cut = None;
    // The ids of the pending questions.
    let mut questions = Vec::new();
    loop {
        if !running {
            match queue.pop_front() {
                Some(prompt) => {
                    let request = session.next_request();
                    session.ask(request, prompt.into());
                    sent = PromptRequest::new(request);
                    running = true;
                }
                None if lines.is_none() => break,
                None => {}
            }
        }
        tokio::select! {
            event = events.recv() => {
                let Some(event) = event else { break };
                if event == Event::ShutDown {
                    write_event(output, &event)?;
                    return Ok(None);
                }
                if let (Event::Agent(osier_agent::Event::Accounting { entry }), Some(file)) =
                    (&event, &mut accounting)
                {
                    writeln!(file, "{}", serde_json::to_string(entry)?)?;
                }
                if let Some(ended) = sent.on_event(&event) {
                    running = false;
                    outcome = ended;
                }
                let Some(event) = sent.without_number(event) else { continue };
                write_event(output, &event)?;
                track_questions(&event, &mut questions);
                if lines.is_none() {
                    dismiss_all(session, &mut questions);
                }
                // Do not continue in a session other than the requested one.
                if let Event::SessionFailed { message, .. } = event {
                    return Ok(Some(RunOutcome::Stopped { message }));
                }
                if let Event::Agent(osier_agent::Event::MessageEnd { message, .. }) = &event
                    && let AgentMessage::Assistant(answer) = &**message
                {
                    cut = cut_reason(answer.stop_reason);
                }
                if let Event::Agent(osier_agent::Event::AgentSettled { outcome: ended }) = event {
                    running = false;
                    if ended == RunOutcome::Interrupted {
                        write_line(output, &json!({"type": "interrupted"}))?;
                    }
                    outcome = match cut.take() {
                        Some(reason) if ended == RunOutcome::Completed => RunOutcome::Stopped {
                            message: reason.to_owned(),
                        },
                        _ => ended,
                    };
                }
            }
            line = next_line(&mut lines) => if let Some(line) = line {
                read_line(session, &line?, &mut queue, output)?;
            } else {
                lines = None;
                dismiss_all(session, &mut questions);
            },
        }
    }
    Ok(Some(outcome))
}

fn track_questions(event: &Event, questions: &mut Vec<String>) {
    match event {
        Event::QuestionAsked { question } => questions.push(question.id.clone()),
        Event::QuestionClosed { id } => questions.retain(|pending| pending != id),
        _ => {}
    }
}

fn dismiss_all(session: &SessionHandle, questions: &mut Vec<String>) {
    for id in questions.drain(..) {
        let answer = Answer::Dismissed;
        session.send(Op::AnswerQuestion { id, answer });
    }
}

/// The next line; `None` at the end of the input. After that it never returns.
async fn next_line<R: AsyncBufRead + Unpin>(
    lines: &mut Option<Split<R>>,
) -> Option<io::Result<Vec<u8>>> {
    match lines {
        Some(lines) => lines.next_segment().await.transpose(),
        None => std::future::pending().await,
    }
}

fn read_line(
    session: &SessionHandle,
    line: &[u8],
    queue: &mut VecDeque<Prompt>,
    output: &mut dyn Write,
) -> io::Result<()> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    match parse_line(line) {
        Ok(Input::Message { content }) => {
            queue.push_back(Prompt {
                text: content.into_text(),
                ..Prompt::default()
            });
        }
        Ok(Input::Interrupt) => session.send(osier_agent::Op::Abort.into()),
        Ok(Input::Answer { id, answer }) => session.send(Op::AnswerQuestion { id, answer }),
        Err(error) => write_line(
            output,
            &json!({
                "type": "error",
                "message": format!("invalid input line: {error}"),
                "hint": "send {\"type\":\"message\",\"content\":\"…\"}, {\"type\":\"interrupt\"} or {\"type\":\"answer\",\"id\":\"…\",\"answer\":{…}}",
            }),
        )?,
    }
    Ok(())
}

/// Parses a line of input. The error names the part that is wrong and what is expected.
fn parse_line(line: &[u8]) -> Result<Input, String> {
    let value: Value =
        serde_json::from_slice(line).map_err(|error| format!("not valid JSON: {error}"))?;
    let valid = TYPES.map(|name| format!("`{name}`")).join(", ");
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if TYPES.contains(&kind) => {}
        Some(kind) => return Err(format!("unknown type `{kind}`; expected one of {valid}")),
        None => {
            return Err(format!(
                "not an object with a `type`; expected one of {valid}"
            ));
        }
    }
    if let Some(answer) = value.get("answer") {
        Answer::deserialize(answer).map_err(|error| format!("`answer`: {error}"))?;
    }
    Input::deserialize(value).map_err(|error| error.to_string())
}

/// Writes one event as one line. Not by way of a `Value`: the program would contain its code twice.
fn write_event(output: &mut dyn Write, event: &Event) -> io::Result<()> {
    write_bytes(output, serde_json::to_vec(event)?)
}

/// Writes one object as one line.
fn write_line(output: &mut dyn Write, value: &Value) -> io::Result<()> {
    write_bytes(output, serde_json::to_vec(value)?)
}

/// Writes a line in one write.
fn write_bytes(output: &mut dyn Write, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
