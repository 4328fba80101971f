//! Connects the app to the terminal and the host: one loop, input first, then frames, then events.
//!
//! While a frame is due, pieces of an answer are left in their queue, where they merge: a fast stream wakes
//! this loop once a frame, not once a delta.

mod appearance;
mod attach;
mod outside;
mod pictures;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::mpsc;
use tokio::time::sleep_until;

use self::outside::leave_behind;
use self::pictures::Painted;
use super::app::{App, AppOptions, Effect};
use super::command::Command;
use super::looks::{Looks, terminal_kind};
use crate::agent::{self, AgentMessage, Attachment, Subscription};
use crate::base::browser;
use crate::base::problem::Problem;
use crate::base::text::sanitize;
use crate::coding::folders::Folders;
use crate::coding::host::{Event, Host, HostSetup, Op, TreeEvent};
use crate::coding::settings::{ExitOutput, Settings};
use crate::modes::prompt::Prompt;
use crate::term::clipboard::{Clipboard, ClipboardError, Copied};
use crate::term::frame::{Cursor, FrameClock, FrameWriter};
use crate::term::highlight::{Highlighted, Highlighter};
use crate::term::input::{InputEvent, TerminalReply};
use crate::term::picture::Drawn;
use crate::term::terminal::{Signal, Signals, Terminal, TerminalOptions};

/// Shortest time between two frames that only the model's work asks for. Keys are echoed at once; a
/// stream reads as well at 30 frames a second, at half the cost.
const STREAM_FRAME: Duration = Duration::from_millis(33);

/// Share of the time, one part in so many, that drawing a stream may take: what costs more is drawn less
/// often. Keys do not wait for it.
const DRAWING_SHARE: u32 = 8;
/// Longest time between two frames of a stream that is costly to draw.
const SLOWEST_STREAM_FRAME: Duration = Duration::from_millis(250);

/// How long the host may take to end what runs after the screen is gone.
const LAST_WORK: Duration = Duration::from_secs(3);

/// Events applied between two looks at the keyboard.
const EVENT_BATCH: usize = 512;

/// What the interface starts with, beside the host's setup.
#[derive(Debug)]
pub struct Options {
    pub prompts: Vec<Prompt>,
    pub problems: Vec<Problem>,
    pub settings: Settings,
    pub folders: Folders,
    pub environment: BTreeMap<String, String>,
    /// Open the session picker at once.
    pub pick_session: bool,
    pub accounting: Option<File>,
    /// The agent runs elsewhere.
    pub elsewhere: Option<Elsewhere>,
}

/// What is different when the agent runs elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its files are on this machine.
    pub files_are_here: bool,
    /// What is typed to come back.
    pub way_back: String,
}

/// Runs the interface with an agent of its own until the user leaves.
pub async fn run(mut setup: HostSetup, options: Options) -> anyhow::Result<()> {
    setup.answers_questions = true;
    let here = setup.clone();
    run_with(move || Ok(Host::start(setup)?), &here, options).await
}

/// Runs the interface with an agent that is there already, until the user leaves.
pub async fn run_over(
    (host, events): (Host, Subscription<Event>),
    setup: &HostSetup,
    options: Options,
) -> anyhow::Result<()> {
    run_with(move || Ok((host, events)), setup, options).await
}

async fn run_with(
    start: impl FnOnce() -> anyhow::Result<(Host, Subscription<Event>)>,
    setup: &HostSetup,
    options: Options,
) -> anyhow::Result<()> {
    let kind = terminal_kind(&options.environment);
    let looks = Looks::new(&options.folders, &kind);
    let (colours, highlighted) = mpsc::unbounded_channel();
    let highlighter = Highlighter::new(move |lines| drop(colours.send(lines)));
    let app = new_app(setup, &options, &looks, highlighter);
    let terminal_options = TerminalOptions {
        mouse: options.settings.mouse,
        ..TerminalOptions::default()
    };
    // What the setup names must exist before the screen is taken: the error belongs on a plain line.
    let (host, events) = start()?;
    let display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| options.environment.contains_key(*name));
    let clipboard = Clipboard::new(&kind, display, options.folders.data.join("clipboard.txt"));
    // Before the size is read: a resize from here on is not missed.
    let signals = Signals::listen().context("signals cannot be listened to")?;
    let (terminal, input) = Terminal::enter(kind, terminal_options)?;
    let writer = FrameWriter::new(terminal.size(), terminal.features());
    let (results, finished) = mpsc::unbounded_channel();
    let mut screen = Screen {
        app,
        host,
        terminal,
        writer,
        clock: FrameClock::default(),
        drawn: Instant::now(),
        pace: STREAM_FRAME,
        looks,
        clipboard,
        results,
        options,
        waiting: Vec::new(),
        running: false,
        answered: false,
        transcript: Vec::new(),
        unsent: (Some(String::new()), false),
        colours_told: false,
        painted: Painted::default(),
    };
    screen.start_pictures();
    screen.clock.asked(Instant::now());
    screen.draw();
    let mut events = events;
    let left = screen
        .serve((signals, input), &mut events, highlighted, finished)
        .await;
    screen.host.send(Op::ShutDown);
    screen.take_pictures_back();
    let Screen {
        terminal,
        options,
        transcript,
        app,
        ..
    } = screen;
    let panics = terminal.leave();
    // The partial answer is stored, commands are stopped; a hanging disk must not hold the shell up.
    let ended = async {
        while events
            .recv()
            .await
            .is_some_and(|event| event != Event::ShutDown)
        {}
    };
    let _ = tokio::time::timeout(LAST_WORK, ended).await;
    leave_behind(&options, &transcript, &app.session);
    left?;
    match panics.first() {
        Some(panic) => Err(anyhow::anyhow!(
            "a part of osier failed: {}",
            sanitize(panic)
        )),
        None => Ok(()),
    }
}

/// The app as it looks before the host has said anything.
fn new_app(setup: &HostSetup, options: &Options, looks: &Looks, highlighter: Highlighter) -> App {
    let settings = &options.settings;
    let (theme, theme_problems) = looks.theme(&settings.theme);
    let (keymap, keymap_problems) = looks.keymap(&settings.keymap);
    let named = setup.model.as_ref().or(settings.model.as_ref());
    let mut app = App::new(AppOptions {
        theme,
        keymap,
        highlighter,
        show_thinking: settings.show_thinking,
        reduced_motion: settings.reduced_motion,
        cwd: setup.cwd.display().to_string(),
        model_hint: named.cloned().unwrap_or_default(),
    });
    app.take_settings(settings);
    if let Some(elsewhere) = &options.elsewhere
        && !elsewhere.files_are_here
    {
        app.editor.set_elsewhere();
    }
    for problems in [&options.problems, &theme_problems, &keymap_problems] {
        app.report(problems);
    }
    app
}

/// What comes back from work done beside the loop.
#[derive(Debug)]
enum Finished {
    Copied(Result<Copied, ClipboardError>),
    /// The clipboard's text, where it can be read.
    Pasted(Option<String>),
    /// An address was shown in the browser, or could not be.
    Opened(bool),
    /// A picture is ready to be shown.
    Picture(Drawn),
    /// A file for the prompt was read, or why not.
    Attached(Result<Box<Attachment>, String>),
    /// The clipboard holds this instead of a picture.
    ClipboardText(String),
}

/// The loop's state.
struct Screen {
    app: App,
    host: Host,
    terminal: Terminal,
    writer: FrameWriter,
    clock: FrameClock,
    /// When the last frame was drawn.
    drawn: Instant,
    /// Shortest time to the next frame that only the model's work asks for.
    pace: Duration,
    looks: Looks,
    clipboard: Clipboard,
    results: mpsc::UnboundedSender<Finished>,
    options: Options,
    /// Prompts of the command line that have not been sent.
    waiting: Vec<Prompt>,
    running: bool,
    /// An answer has ended that was not drawn yet.
    answered: bool,
    /// What was said, for the scrollback.
    transcript: Vec<String>,
    /// The editor's text as the host keeps it, and whether it may be another now.
    unsent: (Option<String>, bool),
    /// The terminal has said something of its colours that no theme knows yet.
    colours_told: bool,
    painted: Painted,
}

impl Screen {
    async fn serve(
        &mut self,
        (mut signals, mut input): (Signals, mpsc::UnboundedReceiver<InputEvent>),
        events: &mut Subscription<Event>,
        mut highlighted: mpsc::UnboundedReceiver<Highlighted>,
        mut finished: mpsc::UnboundedReceiver<Finished>,
    ) -> anyhow::Result<()> {
        self.waiting = std::mem::take(&mut self.options.prompts);
        self.waiting.reverse();
        let (_watcher, mut changes) = self.watch();
        self.host.send(Op::ListHistory);
        if self.options.pick_session {
            self.app.run_command(Command::SessionPicker, Instant::now());
            self.after_change();
        }
        loop {
            let deadline = self.clock.deadline(Instant::now());
            let idle = self.terminal.output().is_idle();
            tokio::select! {
                biased;
                signal = signals.next() => {
                    if self.on_signal(signal)? {
                        return Ok(());
                    }
                }
                event = input.recv() => {
                    let Some(event) = event else { return Ok(()) };
                    let mut echoes = self.on_input(event);
                    while let Ok(event) = input.try_recv() {
                        echoes |= self.on_input(event);
                    }
                    if echoes {
                        self.clock.request_now(Instant::now());
                    }
                }
                () = self.terminal.output().ready(), if deadline.is_some() && !idle => {}
                () = sleep_to(deadline), if deadline.is_some() && idle => {
                    self.take_events(events);
                    self.draw();
                }
                // Pieces of an answer wait for their frame; its end, and what tools do, do not.
                () = events.whole_ready(), if deadline.is_some() => {
                    self.take_events(events);
                    self.clock.request(Instant::now());
                }
                () = events.ready(), if deadline.is_none() => {
                    if events.is_closed() {
                        return Ok(());
                    }
                    self.take_events(events);
                }
                Some(lines) = highlighted.recv() => self.app.on_highlight(&lines),
                Some(result) = finished.recv() => self.on_finished(result),
                Some(paths) = changes.recv() => self.on_files_changed(&paths),
            }
            if self.after_change() {
                return Ok(());
            }
        }
    }

    /// Applies what waits in the queue, a bounded number at a time.
    fn take_events(&mut self, events: &mut Subscription<Event>) {
        let now = Instant::now();
        for _ in 0..EVENT_BATCH {
            let Some(event) = events.try_recv() else {
                break;
            };
            self.remember(&event);
            self.app.on_event(&event, now);
        }
    }

    /// Sends ops, carries effects out, and asks for a frame when something changed. True when the user
    /// leaves.
    fn after_change(&mut self) -> bool {
        let now = Instant::now();
        self.send_waiting_prompt();
        for op in self.app.take_ops() {
            self.host.send(op);
        }
        self.keep_unsent();
        for effect in self.app.take_effects() {
            if self.carry_out(effect) {
                return true;
            }
        }
        if self.app.take_dirty() {
            let interval = self.pace.max(self.clock.interval());
            // The end of an answer is what one waits for.
            let soonest = if self.answered {
                now
            } else {
                self.drawn + interval
            };
            self.clock.request_at(soonest.max(now));
            self.answered = false;
        }
        if let Some(then) = self.app.next_change(now) {
            self.clock.request_decoration(then);
        }
        false
    }

    /// Has the host keep what is typed, when it has changed. Behind the op that sends it.
    fn keep_unsent(&mut self) {
        let (kept, stale) = &mut self.unsent;
        if !std::mem::take(stale) {
            return;
        }
        let text = self.app.editor.text();
        if kept.as_ref() != Some(&text) {
            *kept = Some(text.clone());
            self.host.send(Op::KeepUnsent { text });
        }
    }

    /// The prompts of the command line run one after the other.
    fn send_waiting_prompt(&mut self) {
        if self.running {
            return;
        }
        if let Some(prompt) = self.waiting.pop() {
            self.running = true;
            self.host.send(prompt.into());
        }
    }

    /// True for what the user does, which is echoed at once.
    fn on_input(&mut self, event: InputEvent) -> bool {
        let is_reply = if let InputEvent::Reply(reply) = &event {
            self.on_reply(reply);
            true
        } else {
            false
        };
        self.app.on_input(event, Instant::now());
        self.unsent.1 |= !is_reply;
        !is_reply
    }

    fn on_reply(&mut self, reply: &TerminalReply) {
        if matches!(reply, TerminalReply::DeviceAttributes(_)) {
            self.clock.acknowledged(Instant::now());
        }
        if self.terminal.on_reply(reply) {
            self.writer.set_features(self.terminal.features());
        }
        self.painted.on_reply(reply);
        self.colours_told |= self.looks.on_reply(reply);
        // The answers of the start come one by one: their fence says when all are there.
        if self.terminal.is_answered() && std::mem::take(&mut self.colours_told) {
            self.follow_colours();
        }
    }

    fn on_signal(&mut self, signal: Signal) -> anyhow::Result<bool> {
        match signal {
            Signal::Resize => {
                self.writer.resize(self.terminal.size());
                self.painted.forget();
                self.clock.request_now(Instant::now());
            }
            Signal::Continue => {
                self.terminal.resume()?;
                self.repaint();
            }
            Signal::Leave(_) => return Ok(true),
        }
        Ok(false)
    }

    fn on_finished(&mut self, result: Finished) {
        let now = Instant::now();
        match result {
            Finished::Pasted(Some(text)) => self.app.pasted(&text),
            Finished::Pasted(None) => {
                let text = "the clipboard cannot be read here: paste with the terminal's own key";
                self.app.toast(text, true, now);
            }
            Finished::Picture(drawn) => self.app.on_picture(drawn),
            Finished::Attached(Ok(file)) => self.app.attach(*file, now),
            Finished::Attached(Err(error)) => self.app.toast(&error, true, now),
            Finished::ClipboardText(text) => self.app.insert_paste(&text),
            Finished::Opened(true) => self.app.toast("opened in the browser", false, now),
            Finished::Opened(false) => {
                let text = "no browser can be opened here: copy the address";
                self.app.toast(text, true, now);
            }
            Finished::Copied(Ok(Copied { route, bytes })) => {
                self.writer.queue(bytes);
                self.app.toast(&route.to_string(), false, now);
            }
            Finished::Copied(Err(error)) => self.app.toast(&error.to_string(), true, now),
        }
    }

    fn open(&self, url: String) {
        let results = self.results.clone();
        let environment = self.options.environment.clone();
        tokio::spawn(async move {
            let is_set = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty());
            let opened = browser::open(&url, is_set).await;
            let _ = results.send(Finished::Opened(opened));
        });
    }

    /// Carries one effect out. True when the user leaves.
    fn carry_out(&mut self, effect: Effect) -> bool {
        let now = Instant::now();
        match effect {
            Effect::Quit => return true,
            Effect::Repaint => self.repaint(),
            Effect::Copy(text) => {
                let (clipboard, results) = (self.clipboard.clone(), self.results.clone());
                tokio::spawn(async move {
                    let _ = results.send(Finished::Copied(clipboard.copy(&text).await));
                });
            }
            Effect::ReadPicture => self.read_clipboard_picture(),
            Effect::ReadPictures(paths) => self.read_pictures(paths),
            Effect::ReadClipboard => {
                let (clipboard, results) = (self.clipboard.clone(), self.results.clone());
                tokio::spawn(async move {
                    let _ = results.send(Finished::Pasted(clipboard.paste().await));
                });
            }
            Effect::Open(url) => self.open(url),
            Effect::Suspend => {
                if let Err(error) = self.terminal.suspend() {
                    self.app.toast(&error.to_string(), true, now);
                }
                self.repaint();
            }
            Effect::ExternalEditor(text) => self.edit_externally(&text),
            Effect::EditFile { path, line } if self.has_files() => self.edit_file(&path, line),
            Effect::EditFile { path, .. } => {
                let text = format!("`{path}` is on the other machine: it cannot be opened here");
                self.app.toast(&text, true, now);
            }
            Effect::View { text, with } => self.view_externally(&text, with),
            Effect::Notify(text) => {
                if self.options.settings.notifications {
                    self.writer
                        .queue(self.terminal.kind().notification("osier", &text));
                }
            }
            Effect::PickSetting => self.list_settings(),
            Effect::WriteSetting { name, value } => self.change_setting(&name, value.as_deref()),
            Effect::Bind(binding) => self.bind(&binding),
            Effect::PreviewTheme(name) => self.preview_theme(name.as_deref()),
            Effect::LoadTheme(name) => self.keep_theme(&name),
            Effect::PickTheme => self
                .app
                .pick_theme(&self.looks.choices(), &self.options.settings.theme),
            Effect::ReloadLooks => self.reload_looks(),
        }
        false
    }

    fn repaint(&mut self) {
        self.writer.resize(self.terminal.size());
        self.writer.repaint();
        self.forget_pictures();
        self.clock.forget_fence();
        self.clock.request_now(Instant::now());
    }

    fn draw(&mut self) {
        let now = Instant::now();
        self.app.tick(now);
        let canvas = self.canvas();
        self.app.set_canvas(canvas);
        // What changed until now is in this frame.
        self.app.take_dirty();
        let (canvas, links) = self.writer.canvas();
        let position = self.app.draw(canvas, links, now);
        let shape = self.app.cursor_shape();
        let cursor = position.map(|position| Cursor { position, shape });
        self.send_pictures();
        let mut frame = self.terminal.output().buffer();
        self.writer.finish(cursor, &mut frame);
        let fenced = self.clock.wants_fence(frame.len()) && self.terminal.fence(&mut frame);
        let bytes = frame.len();
        let drain = self.terminal.output().drain();
        self.terminal.output().send(frame);
        self.drawn = Instant::now();
        let cost = self.drawn.saturating_duration_since(now);
        self.pace = (cost * DRAWING_SHARE).clamp(STREAM_FRAME, SLOWEST_STREAM_FRAME);
        self.clock.drawn(self.drawn, drain, bytes, fenced);
    }

    /// Keeps what the scrollback and the accounting file want.
    fn remember(&mut self, event: &Event) {
        match event {
            // What is typed goes along to the session; else what was left in it comes back.
            Event::SessionOpened { .. } => {
                self.unsent = (Some(String::new()), true);
                self.host.send(Op::FindUnsent);
            }
            // It may be cleared before this is looked at: that has to be told as well.
            Event::UnsentFound { .. } => self.unsent = (None, true),
            Event::Agent(agent::Event::QueueRecalled { .. })
            | Event::Tree(TreeEvent::Moved { .. } | TreeEvent::Forked { .. }) => {
                self.unsent.1 = true;
            }
            _ => {}
        }
        let Event::Agent(event) = event else { return };
        match event {
            agent::Event::AgentSettled { .. } => self.running = false,
            agent::Event::AgentStart => self.running = true,
            agent::Event::Accounting { entry } => {
                if let Some(file) = &mut self.options.accounting
                    && let Ok(line) = serde_json::to_string(entry)
                {
                    // A full disk must not end the conversation.
                    let _ = writeln!(file, "{line}");
                }
            }
            agent::Event::MessageEnd { message, .. } => {
                self.answered |= matches!(&**message, AgentMessage::Assistant(_));
                match (&**message, self.options.settings.exit_output) {
                    (AgentMessage::Assistant(answer), ExitOutput::Answer) => {
                        self.transcript = vec![answer.text()];
                    }
                    (AgentMessage::Assistant(answer), ExitOutput::Transcript) => {
                        self.transcript.push(answer.text());
                    }
                    (AgentMessage::User(prompt), ExitOutput::Transcript) => {
                        self.transcript.push(format!("> {}", prompt.text));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

async fn sleep_to(deadline: Option<Instant>) {
    match deadline {
        // The timer counts whole milliseconds and rounds up: the echo of a key must not wait for it.
        Some(deadline) if deadline <= Instant::now() => {}
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
