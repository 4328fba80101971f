//! JSON lines in and out: for scripts that want to see everything.
//!
//! Input lines are `{"type":"message","content":…}`, `{"type":"interrupt"}` and, for a client that answers
//! questions, `{"type":"answer","id":…,"answer":…}`. Every event of the host is one complete object on one
//! line; a line that cannot be understood is answered by an `error` line and nothing else happens. After the
//! end of the input nobody is there: what is asked then is dismissed.

use std::collections::VecDeque;
use std::io::{self, Write};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, Split};

use osier_agent::{RunOutcome, Subscription};
use osier_protocol::questions::Answer;
use osier_session::host::{Event, Host, Op};

use osier_session::user_prompt::Prompt;

/// A line of input.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Input {
    Message {
        content: Content,
    },
    Interrupt,
    /// To the open question `id`.
    Answer {
        id: String,
        answer: Answer,
    },
}

/// Text, or a list of blocks of which the text counts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
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

/// Runs the prompts and then the messages of `input` until it ends and nothing runs. Returns how the
/// last run ended.
pub async fn run(
    host: &Host,
    mut events: Subscription<Event>,
    prompts: Vec<Prompt>,
    input: impl AsyncBufRead + Unpin,
    output: &mut (dyn Write + Send),
    accounting: Option<&mut (dyn Write + Send)>,
) -> io::Result<RunOutcome> {
    let outcome = match converse(host, &mut events, prompts, input, output, accounting).await {
        // Somebody else ended the host: a second signal.
        Ok(None) => return Ok(RunOutcome::Interrupted),
        Ok(Some(outcome)) => Ok(outcome),
        Err(error) => Err(error),
    };
    // Also when nobody reads any more: what runs is stopped and stored.
    host.send(Op::ShutDown);
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

/// Reads and runs until the input has ended and nothing runs; `None` when the host ended first.
async fn converse(
    host: &Host,
    events: &mut Subscription<Event>,
    prompts: Vec<Prompt>,
    input: impl AsyncBufRead + Unpin,
    output: &mut (dyn Write + Send),
    mut accounting: Option<&mut (dyn Write + Send)>,
) -> io::Result<Option<RunOutcome>> {
    let mut lines = Some(input.split(b'\n'));
    let mut waiting: VecDeque<Prompt> = prompts.into();
    let mut running = false;
    let mut outcome = RunOutcome::Completed;
    // Questions that nobody has answered yet.
    let mut open = Vec::new();
    loop {
        if !running {
            match waiting.pop_front() {
                Some(prompt) => {
                    host.send(prompt.into());
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
                write_event(output, &event)?;
                follow_questions(&event, &mut open);
                if lines.is_none() {
                    dismiss(host, &mut open);
                }
                // Going on in another session than the one that was named would be a surprise.
                if let Event::SessionFailed { message, .. } = event {
                    return Ok(Some(RunOutcome::Stopped { message }));
                }
                if let Event::Agent(osier_agent::Event::AgentSettled { outcome: ended }) = event {
                    running = false;
                    if ended == RunOutcome::Interrupted {
                        write_line(output, &json!({"type": "interrupted"}))?;
                    }
                    outcome = ended;
                }
            }
            line = next_line(&mut lines) => if let Some(line) = line {
                read_line(host, &line?, &mut waiting, output)?;
            } else {
                lines = None;
                dismiss(host, &mut open);
            },
        }
    }
    Ok(Some(outcome))
}

fn follow_questions(event: &Event, open: &mut Vec<String>) {
    match event {
        Event::QuestionAsked { question } => open.push(question.id.clone()),
        Event::QuestionClosed { id } => open.retain(|known| known != id),
        _ => {}
    }
}

fn dismiss(host: &Host, open: &mut Vec<String>) {
    for id in open.drain(..) {
        let answer = Answer::Dismissed;
        host.send(Op::AnswerQuestion { id, answer });
    }
}

/// The next line; `None` at the end of the input. Waits for ever when the input has ended before.
async fn next_line<R: AsyncBufRead + Unpin>(
    lines: &mut Option<Split<R>>,
) -> Option<io::Result<Vec<u8>>> {
    match lines {
        Some(lines) => lines.next_segment().await.transpose(),
        None => std::future::pending().await,
    }
}

fn read_line(
    host: &Host,
    line: &[u8],
    waiting: &mut VecDeque<Prompt>,
    output: &mut dyn Write,
) -> io::Result<()> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    match serde_json::from_slice(line) {
        Ok(Input::Message { content }) => {
            waiting.push_back(Prompt {
                text: content.into_text(),
                attachments: Vec::new(),
            });
        }
        Ok(Input::Interrupt) => host.send(osier_agent::Op::Abort.into()),
        Ok(Input::Answer { id, answer }) => host.send(Op::AnswerQuestion { id, answer }),
        Err(error) => write_line(
            output,
            &json!({
                "type": "error",
                "message": format!("this input line was not understood: {error}"),
                "hint": "send {\"type\":\"message\",\"content\":\"…\"}, {\"type\":\"interrupt\"} or {\"type\":\"answer\",\"id\":\"…\",\"answer\":{…}}",
            }),
        )?,
    }
    Ok(())
}

fn write_event(output: &mut dyn Write, event: &Event) -> io::Result<()> {
    write_line(output, &serde_json::to_value(event)?)
}

/// One object, one line, one write.
fn write_line(output: &mut dyn Write, value: &Value) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
