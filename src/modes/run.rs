//! The driver of every run without a screen: it sends prompts, one after the other, follows their events, checks the
//! answer against a schema, and ends the session. A [`Format`] decides about input and output.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;

use osier_agent::{AgentMessage, RunOutcome, Severity, Subscription};
use osier_base::{clock, exit_limit};
use osier_extensions::hooks::{CallbackHook, CallbackHooks, HookCall};
use osier_llm::{AssistantMessage, StopReason};
use osier_mcp::{ProgramLink, ServerCall};
use osier_peers::formats::{Effect, Format, RunEnd, SdkHook};
use osier_protocol::questions::Answer;
use osier_protocol::{Event, Op, Prompt, final_text};
use osier_session::SessionHandle;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, Split};
use tokio::sync::{mpsc, oneshot};

use super::asked::AskedRequests;
use super::command::{AddedCommands, RunningCommand, typed};
use super::prompt_request::PromptRequest;
use super::schema::{self, AnswerSchema};

/// Why an answer is not complete although the call succeeded.
pub(super) fn cut_reason(answer: &AssistantMessage) -> Option<&'static str> {
    match answer.stop_reason {
        StopReason::Stop if answer.text().trim().is_empty() => Some(
            "the model ended its turn without an answer; send the prompt again, or use another model",
        ),
        StopReason::Length => Some(
            "the answer is incomplete: it reached the output limit of the model; ask for less at once, or raise \
             `maxTokens` in models.json",
        ),
        StopReason::Refusal => Some(
            "the answer is incomplete: the model or the content filter of its provider refused; change the prompt",
        ),
        _ => None,
    }
}

/// A run of prompts.
pub struct Run<'a> {
    pub session: &'a SessionHandle,
    pub prompts: VecDeque<Prompt>,
    pub format: &'a mut (dyn Format + Send),
    /// The schema that the answer must match.
    pub schema: Option<AnswerSchema>,
    pub output: &'a mut (dyn Write + Send),
    /// Whether the run ends when its prompts have run, although the input is open, as long as no valid line arrived.
    pub ends_with_prompts: bool,
    /// The hooks of the program that reads and writes lines.
    pub hooks: Option<ProgramHooks>,
    /// The requests of the program that are not answered yet.
    pub asked: AskedRequests,
}

/// The hooks and MCP servers of a program, and their calls that it has not answered.
#[derive(Debug)]
pub struct ProgramHooks {
    registry: Arc<CallbackHooks>,
    calls: mpsc::UnboundedReceiver<HookCall>,
    servers: mpsc::UnboundedReceiver<ServerCall>,
    open: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
    last: u64,
}

impl ProgramHooks {
    /// Creates a registry without hooks for the setup of the session, and the link for its MCP
    /// servers in the program.
    pub fn new() -> (Arc<CallbackHooks>, ProgramLink, Self) {
        let (registry, calls) = CallbackHooks::new();
        let (link, servers) = ProgramLink::new();
        let hooks = Self {
            registry: Arc::clone(&registry),
            calls,
            servers,
            open: HashMap::new(),
            last: 0,
        };
        (registry, link, hooks)
    }

    /// Replaces the hooks.
    fn set(&self, hooks: Vec<SdkHook>) -> Result<(), String> {
        let hooks = hooks.into_iter().map(|hook| CallbackHook {
            event: hook.event,
            matcher: hook.matcher,
            callback: hook.callback,
            timeout: hook.timeout,
            on_failure: hook.on_failure,
        });
        self.registry.set(hooks.collect())
    }
}

osier_base::opaque_debug!(Run<'a>);

/// How all prompts ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The outcome of the last prompt that ran.
    pub outcome: RunOutcome,
    /// Why the run failed, if no event of the session says it.
    pub problem: Option<String>,
}

impl From<RunOutcome> for Ended {
    fn from(outcome: RunOutcome) -> Self {
        let problem = None;
        Self { outcome, problem }
    }
}

/// The state between two events.
#[derive(Debug)]
struct Progress {
    /// The session is open.
    is_open: bool,
    is_running: bool,
    /// No further prompt runs.
    is_over: bool,
    request: PromptRequest,
    answer: String,
    /// Why the last answer is not complete.
    cut: Option<&'static str>,
    /// The model was asked to repair its answer.
    is_repaired: bool,
    /// The commands of skills, templates and plugins.
    added: AddedCommands,
    /// The slash command that runs in place of a prompt.
    command: Option<RunningCommand>,
    /// The answer is that of a slash command.
    answers_command: bool,
    /// The ids of the questions that the program has not answered.
    questions: Vec<String>,
    ended: Ended,
}

impl Progress {
    fn new() -> Self {
        Self {
            is_open: false,
            is_running: false,
            is_over: false,
            request: PromptRequest::new(0),
            answer: String::new(),
            cut: None,
            is_repaired: false,
            added: AddedCommands::default(),
            command: None,
            answers_command: false,
            questions: Vec::new(),
            ended: RunOutcome::Completed.into(),
        }
    }

    /// How the prompt ends by this event, if it starts no run.
    fn end_without_run(&mut self, event: &Event) -> Option<RunOutcome> {
        let ended = self.request.on_event(event);
        let Some(command) = &mut self.command else {
            return ended;
        };
        // A refused request has failed, and no event answers it.
        let has_ended = command.on_event(event);
        ended
            .filter(|outcome| has_ended || *outcome != RunOutcome::Completed)
            .or_else(|| has_ended.then(|| command.outcome()))
    }
}

impl Run<'_> {
    /// Runs the prompts, then the prompts of `input` until its end.
    ///
    /// # Errors
    /// The output is closed, or the input cannot be read.
    pub async fn run(
        mut self,
        mut events: Subscription<Event>,
        input: Option<impl AsyncBufRead + Unpin>,
    ) -> io::Result<Ended> {
        let ended = match self.converse(&mut events, input).await {
            // A second signal has shut the session down.
            Ok(None) => return Ok(RunOutcome::Interrupted.into()),
            Ok(Some(ended)) => Ok(ended),
            Err(error) => Err(error),
        };
        self.hooks = None;
        // Also when the output is closed: this stops the run and stores the session.
        self.session.send(Op::ShutDown);
        let mut written = Ok(());
        while let Some((time, event)) = events.recv_timed().await {
            if ended.is_ok() && written.is_ok() {
                written = self.answer_asked(&event);
            }
            if ended.is_ok() && written.is_ok() {
                written = self.tell(time, &event);
            }
            if event == Event::ShutDown {
                break;
            }
        }
        written.and(ended)
    }

    /// Reads and runs until the input ends and no run is active; `None` when the session shut down first.
    async fn converse(
        &mut self,
        events: &mut Subscription<Event>,
        input: Option<impl AsyncBufRead + Unpin>,
    ) -> io::Result<Option<Ended>> {
        let mut lines = input.map(|input| input.split(b'\n'));
        let mut progress = Progress::new();
        self.effect(|format, effect| format.begin(effect))?;
        loop {
            let is_ready = progress.is_open && !progress.is_running;
            let next = self.prompts.front().filter(|_| is_ready);
            let waits = next.is_some_and(|next| progress.added.are_missing_for(next, self.session));
            if is_ready && !waits {
                match self.prompts.pop_front() {
                    Some(prompt) => {
                        self.effect(|format, effect| format.prompt(&prompt, effect))?;
                        progress.is_repaired = false;
                        self.start(prompt, &mut progress)?;
                        if progress.is_over {
                            break;
                        }
                        // A refused command has ended already.
                        continue;
                    }
                    None if lines.is_none() || self.ends_with_prompts => break,
                    None => {}
                }
            }
            tokio::select! {
                event = events.recv_timed() => {
                    let Some((time, event)) = event else { break };
                    self.answer_asked(&event)?;
                    if progress.added.on_event(&event) {
                        continue;
                    }
                    if event == Event::ShutDown {
                        self.tell(time, &event)?;
                        return Ok(None);
                    }
                    let without_run = progress.end_without_run(&event);
                    if let Some(event) = progress.request.without_number(event) {
                        self.tell(time, &event)?;
                        self.follow(event, &mut progress, lines.is_some())?;
                    }
                    if let Some(outcome) = without_run {
                        if let Some(command) = progress.command.take() {
                            progress.answer = command.answer(&outcome);
                            progress.answers_command = true;
                        }
                        self.settle(outcome.into(), None, &mut progress)?;
                    }
                }
                Some(call) = next_call(&mut self.hooks) => self.call_program(call)?,
                line = next_line(&mut lines) => if let Some(line) = line {
                    let line = line?;
                    let mut effect = Effect::default();
                    self.format.input(&line, &mut effect);
                    self.ends_with_prompts &= effect.prompt.is_none()
                        && effect.ops.is_empty() && effect.asked.is_empty();
                    let refused = self.register_hooks(&mut effect);
                    self.carry_out(effect)?;
                    if let Some(message) = refused {
                        self.prompts.clear();
                        self.settle(RunOutcome::Stopped { message }.into(), None, &mut progress)?;
                        progress.is_over = true;
                    }
                } else {
                    lines = None;
                    // Nobody answers the calls of hooks any more: guards block.
                    self.hooks = None;
                    for id in progress.questions.drain(..) {
                        self.dismiss(id);
                    }
                },
            }
            if progress.is_over {
                break;
            }
        }
        Ok(Some(progress.ended))
    }

    /// Registers the hooks of the program and passes on its answers. Returns why nothing runs.
    fn register_hooks(&mut self, effect: &mut Effect) -> Option<String> {
        let Some(hooks) = &mut self.hooks else {
            return effect.refused.take();
        };
        for (id, answer) in effect.call_answers.drain(..) {
            if let Some(reply) = hooks.open.remove(&id) {
                // The hook may have been interrupted.
                let _ = reply.send(answer);
            }
        }
        let registered = effect.hooks.take().map_or(Ok(()), |given| hooks.set(given));
        effect.refused.take().or(registered.err())
    }

    /// Passes a call on to the program.
    fn call_program(&mut self, call: ProgramCall) -> io::Result<()> {
        let Some(hooks) = &mut self.hooks else {
            return Ok(());
        };
        hooks.last += 1;
        let id = hooks.last;
        match call {
            ProgramCall::Hook(HookCall {
                callback,
                input,
                reply,
            }) => {
                hooks.open.insert(id, reply);
                self.effect(|format, effect| format.hook_call(id, &callback, &input, effect))
            }
            ProgramCall::Server(ServerCall {
                server,
                message,
                reply,
            }) => {
                hooks.open.insert(id, reply);
                self.effect(|format, effect| format.server_call(id, &server, &message, effect))
            }
        }
    }

    /// Sends a prompt, or the requests of the slash command that it is.
    fn start(&mut self, prompt: Prompt, progress: &mut Progress) -> io::Result<()> {
        let mut ops = match typed(&prompt, progress.added.list()) {
            None => vec![prompt.into()],
            Some(Ok(ops)) => ops,
            Some(Err(message)) => {
                let notice = Event::Notice {
                    severity: Severity::Error,
                    text: message.clone(),
                    request: None,
                };
                self.tell(clock::now_ms(), &notice)?;
                let ended = Ended {
                    problem: Some(message.clone()),
                    outcome: RunOutcome::Stopped { message },
                };
                return self.settle(ended, None, progress);
            }
        };
        let Some(last) = ops.pop() else {
            return self.settle(RunOutcome::Completed.into(), None, progress);
        };
        for op in ops {
            self.session.send(op);
        }
        let is_prompt = matches!(last, Op::Agent(osier_agent::Op::Prompt { .. }));
        let request = self.session.next_request();
        let command = RunningCommand::new(request, &last);
        progress.command = (!is_prompt).then_some(command);
        self.send(request, last, progress);
        Ok(())
    }

    fn send(&self, request: u64, op: Op, progress: &mut Progress) {
        self.session.ask(request, op);
        progress.request = PromptRequest::new(request);
        progress.is_running = true;
        progress.answer.clear();
    }

    fn dismiss(&self, id: String) {
        let answer = Answer::Dismissed;
        self.session.send(Op::AnswerQuestion { id, answer });
    }

    /// Answers the requests of the program that this event ends.
    fn answer_asked(&mut self, event: &Event) -> io::Result<()> {
        for ended in self.asked.on_event(event) {
            self.effect(|format, effect| format.asked_ended(ended, effect))?;
        }
        Ok(())
    }

    fn tell(&mut self, time: i64, event: &Event) -> io::Result<()> {
        self.effect(|format, effect| {
            effect.time = Some(time);
            format.event(event, effect);
        })
    }

    /// Carries out what follows from a call of the format.
    fn effect(
        &mut self,
        call: impl FnOnce(&mut (dyn Format + Send), &mut Effect),
    ) -> io::Result<()> {
        let mut effect = Effect::default();
        call(self.format, &mut effect);
        self.carry_out(effect)
    }

    fn carry_out(&mut self, effect: Effect) -> io::Result<()> {
        for op in effect.ops {
            self.session.send(op);
        }
        for asked in effect.asked {
            self.asked.send(asked, self.session);
        }
        self.prompts.extend(effect.prompt);
        if effect.output.is_empty() {
            return Ok(());
        }
        exit_limit::write_out(|| {
            self.output.write_all(&effect.output)?;
            self.output.flush()
        })
    }

    /// Follows the run, and ends it. `is_read` says whether the program can still answer.
    fn follow(&mut self, event: Event, progress: &mut Progress, is_read: bool) -> io::Result<()> {
        match event {
            Event::SessionOpened { .. } => progress.is_open = true,
            // Do not continue in a session other than the requested one.
            Event::SessionFailed { message, .. } => {
                progress.is_over = true;
                self.end(RunOutcome::Stopped { message }, progress)?;
            }
            Event::QuestionAsked { question } => {
                if is_read && self.format.answers(&question) {
                    progress.questions.push(question.id);
                } else {
                    self.dismiss(question.id);
                }
            }
            Event::QuestionClosed { id } => progress.questions.retain(|pending| *pending != id),
            Event::Agent(osier_agent::Event::MessageEnd { message, .. }) => {
                if let Some(text) = final_text(&message) {
                    progress.answer = text;
                }
                if let AgentMessage::Assistant(answer) = &*message {
                    progress.cut = cut_reason(answer);
                }
            }
            Event::Agent(osier_agent::Event::AgentSettled { outcome }) => {
                self.end(outcome, progress)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The run of a prompt ended with `outcome`. Checks the answer; the model may repair it once.
    fn end(&mut self, outcome: RunOutcome, progress: &mut Progress) -> io::Result<()> {
        let cut = progress.cut.take();
        if outcome != RunOutcome::Completed {
            progress.answer.clear();
            return self.settle(outcome.into(), None, progress);
        }
        if let Some(reason) = cut {
            let message = reason.to_owned();
            return self.settle(RunOutcome::Stopped { message }.into(), None, progress);
        }
        let Some(schema) = &self.schema else {
            return self.settle(outcome.into(), None, progress);
        };
        match schema.check(&progress.answer) {
            Ok(value) => self.settle(outcome.into(), Some(value), progress),
            Err(error) if !progress.is_repaired => {
                progress.is_repaired = true;
                let text = schema::repair(&error);
                let prompt = Prompt {
                    text,
                    ..Prompt::default()
                };
                self.send(self.session.next_request(), prompt.into(), progress);
                Ok(())
            }
            Err(error) => {
                let message = format!("the answer does not match the schema: {error}");
                let ended = Ended {
                    problem: Some(message.clone()),
                    outcome: RunOutcome::Stopped { message },
                };
                self.settle(ended, None, progress)
            }
        }
    }

    fn settle(
        &mut self,
        ended: Ended,
        structured: Option<Value>,
        progress: &mut Progress,
    ) -> io::Result<()> {
        let end = RunEnd {
            outcome: ended.outcome.clone(),
            answer: std::mem::take(&mut progress.answer),
            of_command: std::mem::take(&mut progress.answers_command),
            structured,
        };
        progress.is_running = false;
        progress.is_over |= !self.format.continues() && ended.outcome != RunOutcome::Completed;
        progress.ended = ended;
        self.effect(|format, effect| format.end(&end, effect))
    }
}

/// A call of a function of the program, or a message for one of its servers.
enum ProgramCall {
    Hook(HookCall),
    Server(ServerCall),
}

/// The next call. Without hooks it never returns.
async fn next_call(hooks: &mut Option<ProgramHooks>) -> Option<ProgramCall> {
    let Some(hooks) = hooks else {
        return std::future::pending().await;
    };
    tokio::select! {
        Some(call) = hooks.calls.recv() => Some(ProgramCall::Hook(call)),
        Some(call) = hooks.servers.recv() => Some(ProgramCall::Server(call)),
        else => None,
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
