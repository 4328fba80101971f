//! Runs for programs: each event becomes lines in the format that scripts of another agent read.
//!
//! A [`Format`] translates events; this module sends prompts, answers questions and checks the final answer against a
//! schema. With an input, prompts and control requests arrive as JSON lines (`control`).

pub mod claude;
pub mod codex;
mod control;
pub mod schema;

use std::collections::VecDeque;
use std::io::{self, Write};

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, Split};

pub(crate) use self::control::permission_mode;
use self::control::{Control, Effect};
use self::schema::AnswerSchema;
use super::print::cut_reason;
use osier_agent::{AgentMessage, RunOutcome, Subscription};
use osier_protocol::questions::Answer;
use osier_protocol::{Event, Op, Prompt, final_text};
use osier_session::SessionHandle;

/// How a run ended, for the last line of a format.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    pub outcome: RunOutcome,
    /// The answer as a value that fits the schema.
    pub structured: Option<Value>,
}

/// Translates events to lines.
pub trait Format {
    /// The lines for an event of the session.
    fn event(&mut self, event: &Event) -> Vec<Value>;

    /// The lines for the end of a prompt's run.
    fn end(&mut self, end: &RunEnd) -> Vec<Value>;

    /// The lines for a prompt that is about to run.
    fn prompt(&mut self, _prompt: &Prompt) -> Vec<Value> {
        Vec::new()
    }
}

/// What a run for a program needs.
pub struct Script<'a> {
    pub session: &'a SessionHandle,
    pub prompts: Vec<Prompt>,
    pub format: &'a mut (dyn Format + Send),
    pub schema: Option<AnswerSchema>,
    /// Whether the program answers questions about permissions.
    pub asks: bool,
    pub output: &'a mut (dyn Write + Send),
}

impl std::fmt::Debug for Script<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Script").finish_non_exhaustive()
    }
}

/// The run in progress.
#[derive(Debug, Default)]
struct Progress {
    /// Whether the session is open.
    opened: bool,
    running: bool,
    outcome: Option<RunOutcome>,
    answer: String,
    cut: Option<&'static str>,
    /// Whether the model was asked to repair its answer.
    repaired: bool,
}

impl Script<'_> {
    /// Runs the prompts, then those of `input` until its end. Returns the outcome of the last run.
    ///
    /// # Errors
    /// The output is closed.
    pub async fn run(
        mut self,
        mut events: Subscription<Event>,
        input: Option<impl AsyncBufRead + Unpin>,
    ) -> io::Result<RunOutcome> {
        let outcome = self.converse(&mut events, input).await;
        self.session.send(Op::ShutDown);
        while events
            .recv()
            .await
            .is_some_and(|event| event != Event::ShutDown)
        {}
        outcome
    }

    async fn converse(
        &mut self,
        events: &mut Subscription<Event>,
        input: Option<impl AsyncBufRead + Unpin>,
    ) -> io::Result<RunOutcome> {
        let mut queue: VecDeque<Prompt> = std::mem::take(&mut self.prompts).into();
        let mut lines = input.map(|input| input.split(b'\n'));
        let mut control = Control::new(self.asks);
        let mut progress = Progress::default();
        // Its answer comes before the first run, which formats report.
        self.session.send(osier_agent::Op::ListTools.into());
        loop {
            if progress.opened && !progress.running {
                match queue.pop_front() {
                    Some(prompt) => self.begin(prompt, &mut progress)?,
                    None if lines.is_none() => break,
                    None => {}
                }
            }
            tokio::select! {
                event = events.recv() => {
                    let Some(event) = event else { break };
                    if event == Event::ShutDown {
                        return Ok(RunOutcome::Interrupted);
                    }
                    if let Event::SessionFailed { message, .. } = &event {
                        let outcome = RunOutcome::Stopped { message: message.clone() };
                        self.write_end(outcome.clone(), None)?;
                        return Ok(outcome);
                    }
                    progress.opened |= matches!(event, Event::SessionOpened { .. });
                    self.write(control.event(&event, self.session))?;
                    let written = self.format.event(&event);
                    self.write(written)?;
                    self.follow(&event, &mut progress)?;
                }
                line = next_line(&mut lines) => if let Some(line) = line {
                    let Effect { prompt, lines } = control.line(&line?, self.session);
                    self.write(lines)?;
                    queue.extend(prompt);
                } else {
                    lines = None;
                    control.end(self.session);
                },
            }
        }
        Ok(progress.outcome.unwrap_or(RunOutcome::Completed))
    }

    fn begin(&mut self, prompt: Prompt, progress: &mut Progress) -> io::Result<()> {
        let lines = self.format.prompt(&prompt);
        self.write(lines)?;
        self.session.send(prompt.into());
        progress.running = true;
        progress.repaired = false;
        Ok(())
    }

    /// Follows the run, and ends it.
    fn follow(&mut self, event: &Event, progress: &mut Progress) -> io::Result<()> {
        match event {
            Event::Agent(osier_agent::Event::MessageEnd { message, .. }) => {
                if let Some(text) = final_text(message) {
                    progress.answer = text;
                }
                if let AgentMessage::Assistant(answer) = &**message {
                    progress.cut = cut_reason(answer.stop_reason);
                }
            }
            Event::Agent(osier_agent::Event::AgentSettled { outcome }) => {
                let outcome = match progress.cut.take() {
                    Some(reason) if *outcome == RunOutcome::Completed => RunOutcome::Stopped {
                        message: reason.to_owned(),
                    },
                    _ => outcome.clone(),
                };
                self.settle(outcome, progress)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks the answer. The model may repair it once.
    fn settle(&mut self, outcome: RunOutcome, progress: &mut Progress) -> io::Result<()> {
        let (mut outcome, mut structured) = (outcome, None);
        if let (RunOutcome::Completed, Some(schema)) = (&outcome, &self.schema) {
            match schema.check(&progress.answer) {
                Ok(value) => structured = Some(value),
                Err(error) if !progress.repaired => {
                    progress.repaired = true;
                    let text = schema::repair(&error);
                    self.session.send(
                        Prompt {
                            text,
                            ..Prompt::default()
                        }
                        .into(),
                    );
                    return Ok(());
                }
                Err(error) => {
                    let message = format!("the answer does not match the schema: {error}");
                    outcome = RunOutcome::Stopped { message };
                }
            }
        }
        progress.running = false;
        progress.outcome = Some(outcome.clone());
        self.write_end(outcome, structured)
    }

    fn write_end(&mut self, outcome: RunOutcome, structured: Option<Value>) -> io::Result<()> {
        let lines = self.format.end(&RunEnd {
            outcome,
            structured,
        });
        self.write(lines)
    }

    fn write(&mut self, lines: Vec<Value>) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for line in lines {
            match line {
                // Only the text format writes text.
                Value::String(text) => bytes.extend(text.into_bytes()),
                line => serde_json::to_writer(&mut bytes, &line)?,
            }
            bytes.push(b'\n');
        }
        self.output.write_all(&bytes)?;
        self.output.flush()
    }
}

/// Only the final answer, as text.
#[derive(Debug, Default)]
pub struct FinalText {
    answer: String,
}

impl Format for FinalText {
    fn event(&mut self, event: &Event) -> Vec<Value> {
        if let Event::Agent(osier_agent::Event::MessageEnd { message, .. }) = event
            && let Some(text) = final_text(message)
        {
            self.answer = text;
        }
        Vec::new()
    }

    fn end(&mut self, end: &RunEnd) -> Vec<Value> {
        let text = match &end.structured {
            Some(value) => value.to_string(),
            None => self.answer.trim_end().to_owned(),
        };
        if text.is_empty() {
            return Vec::new();
        }
        vec![Value::String(text)]
    }
}

/// The next line; `None` at the end of the input. Without an input it never returns.
async fn next_line<R: AsyncBufRead + Unpin>(
    lines: &mut Option<Split<R>>,
) -> Option<io::Result<Vec<u8>>> {
    match lines {
        Some(lines) => lines.next_segment().await.transpose(),
        None => std::future::pending().await,
    }
}

/// Answers a question that no program is there to answer.
fn dismiss(session: &SessionHandle, id: String) {
    let answer = Answer::Dismissed;
    session.send(Op::AnswerQuestion { id, answer });
}
