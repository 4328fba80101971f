//! Drives the interface without a terminal: keys in, a scripted model behind a real session, screens out.
//!
//! Nothing sleeps or reads the clock: `now` is a value that tests advance, and events are awaited until a condition
//! holds. Durations and temporary paths are replaced by fixed ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use osier_agent::{AgentMessage, Subscription};
use osier_base::folders::Folders;
use osier_base::text::width;
use osier_llm::scripted::{Script, ScriptedProvider};
use osier_llm::{Api, Compat, ContentBlock, Modality, Model, Price, ThinkingLevel, Usage};
use osier_protocol::questions::{Answer, Question};
use osier_protocol::{Event, Op};
use osier_session::{SessionChoice, SessionHandle, SessionSetup};
use osier_settings::{FooterPart, ScreenSettings, Settings};
use osier_term::frame::Links;
use osier_term::highlight::Highlighter;
use osier_term::input::{InputEvent, KeyPress, MouseInput};
use osier_term::keymap::parse_sequence;
use osier_term::terminal::TerminalKind;
use osier_term::theme::ColourDepth;
use osier_tui::{App, AppOptions, Appearance, Effect};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier};
use regex::{Captures, Regex};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The tools of screens that list tools, so that a new tool changes no such screen.
pub(super) const TOOLS: [&str; 11] = [
    "read",
    "write",
    "edit",
    "bash",
    "grep",
    "find",
    "ls",
    "todo",
    "ask_user",
    "web_fetch",
    "exit_plan_mode",
];

/// The number of all commands, keys, models or settings in the title of a list, which changes with each new one.
static TOTAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d{2,}(/\d{2,})?( in all)? ─").unwrap());

/// The timeout of conditions. A test that reaches it fails and prints the screen.
const PATIENCE: Duration = Duration::from_mins(2);

/// The configuration of a screen.
pub(super) struct Builder {
    size: (u16, u16),
    script: Script,
    place: Rc<TempDir>,
    settings: Settings,
    environment: BTreeMap<String, String>,
    depth: ColourDepth,
    session: SessionChoice,
    tools: Option<Vec<String>>,
    price: Price,
}

/// A running interface.
pub(super) struct Screen {
    pub(super) app: Box<App>,
    pub(super) provider: ScriptedProvider,
    /// The effects that the app requested, in order.
    pub(super) effects: Vec<Effect>,
    pub(super) now: Instant,
    host: SessionHandle,
    events: Subscription<Event>,
    looks: Appearance,
    /// The theme of the settings.
    theme: String,
    size: (u16, u16),
    place: Rc<TempDir>,
    /// Numbers of ended runs, and of runs that the test has awaited.
    ended: (usize, usize),
}

/// The model that plays the script.
pub(super) fn model() -> Model {
    Model {
        provider: "mock".to_owned(),
        id: "mock".to_owned(),
        name: "Mock".to_owned(),
        api: Api::Scripted,
        base_url: String::new(),
        context_window: 200_000,
        max_tokens: 8_000,
        thinking_levels: vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::High],
        input: vec![Modality::Text, Modality::Image],
        price: Price::default(),
        headers: BTreeMap::new(),
        compat: Compat::default(),
        tuning: osier_llm::Tuning::default(),
    }
}

impl Builder {
    #[must_use]
    pub(super) fn script(mut self, script: Script) -> Self {
        self.script = script;
        self
    }

    /// The price of the model.
    #[must_use]
    pub(super) fn price(mut self, price: Price) -> Self {
        self.price = price;
        self
    }

    /// A file below the user's home (`settings.toml`, `themes/mine.toml`).
    #[must_use]
    pub(super) fn home_file(self, name: &str, text: &str) -> Self {
        let path = home(&self.place).join(name);
        write(&path, text);
        osier_base::private::restrict(&path).unwrap();
        self
    }

    /// A file in the working directory.
    #[must_use]
    pub(super) fn file(self, name: &str, text: &str) -> Self {
        write(&work(&self.place).join(name), text);
        self
    }

    #[must_use]
    pub(super) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub(super) fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    #[must_use]
    pub(super) fn depth(mut self, depth: ColourDepth) -> Self {
        self.depth = depth;
        self
    }

    /// Uses the files of another screen.
    #[must_use]
    pub(super) fn with_files_of(mut self, other: &Screen) -> Self {
        self.place = Rc::clone(&other.place);
        self
    }

    #[must_use]
    pub(super) fn session(mut self, session: SessionChoice) -> Self {
        self.session = session;
        self
    }

    /// Offers only [`TOOLS`].
    #[must_use]
    pub(super) fn tools(mut self) -> Self {
        self.tools = Some(TOOLS.map(str::to_owned).to_vec());
        self
    }

    /// Shows the tokens of the session in the footer.
    #[must_use]
    pub(super) fn with_tokens(self) -> Self {
        self.settings(|settings| settings.screen.footer_right.push(FooterPart::Tokens))
    }

    /// Starts the session and waits for all events of the start.
    pub(super) async fn start(self) -> Screen {
        let folders = Folders::under(&home(&self.place));
        let provider = ScriptedProvider::new(self.script);
        let (_, mut problems) = Settings::load(&folders.settings());
        let mut kind = TerminalKind::detect(|_| None);
        kind.depth = self.depth;
        let looks = Appearance::new(&folders, &kind);
        let (theme, found) = looks.theme(&self.settings.screen.theme);
        problems.extend(found);
        let (keymap, found) = looks.keymap(&self.settings.screen.keymap);
        problems.extend(found);
        let mut app = App::new(AppOptions {
            theme,
            keymap,
            highlighter: Highlighter::new(|_| {}),
            settings: ScreenSettings {
                reduced_motion: true,
                ..self.settings.screen.clone()
            },
            cwd: "~/work".to_owned(),
            model_hint: "mock/mock".to_owned(),
        });
        app.report(&problems);
        let theme = self.settings.screen.theme.clone();
        let setup = SessionSetup {
            settings: Settings {
                discover_local_models: false,
                describe_environment: false,
                ..self.settings
            },
            environment: Arc::new(self.environment),
            session: self.session,
            tools: self.tools,
            answers_questions: true,
            embedded: Some((
                Model {
                    price: self.price,
                    ..model()
                },
                Arc::new(provider.clone()),
            )),
            ..SessionSetup::new(folders, work(&self.place))
        };
        let (host, events) = SessionHandle::start(setup).unwrap();
        host.send(Op::ListModels);
        host.send(Op::ListHistory);
        let mut screen = Screen {
            app: Box::new(app),
            provider,
            effects: Vec::new(),
            now: Instant::now(),
            host,
            events,
            looks,
            theme,
            size: self.size,
            place: self.place,
            ended: (0, 0),
        };
        let mut missing = 4;
        screen
            .until(|event| {
                missing -= usize::from(matches!(
                    event,
                    Event::SessionOpened { .. }
                        | Event::Workspace { .. }
                        | Event::Models { .. }
                        | Event::History { .. }
                ));
                missing == 0
            })
            .await;
        screen
    }
}

/// The row of the screen with the start of the editor's text; `None` while something covers it.
fn first_editor_row(rows: &[&str]) -> Option<usize> {
    rows.iter().rposition(|row| row.starts_with('❯'))
}

impl Screen {
    #[expect(
        clippy::new_ret_no_self,
        reason = "a screen is built before it is started"
    )]
    pub(super) fn new(columns: u16, rows: u16) -> Builder {
        let place = Rc::new(tempfile::tempdir().unwrap());
        fs::create_dir_all(home(&place)).unwrap();
        fs::create_dir_all(work(&place)).unwrap();
        let mut settings = Settings::default();
        // Durations differ from run to run, and counts of tokens with every change of a tool.
        let screen = &mut settings.screen;
        screen.turn_summary = false;
        screen
            .footer_right
            .retain(|part| *part != FooterPart::Tokens);
        Builder {
            size: (columns, rows),
            script: Script::default(),
            place,
            settings,
            environment: BTreeMap::new(),
            depth: ColourDepth::True,
            session: SessionChoice::New,
            price: Price::default(),
            tools: None,
        }
    }

    /// Types text, one key per character.
    pub(super) fn type_text(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            self.input(InputEvent::Key(KeyPress::char(character)));
        }
        self
    }

    /// Presses the keys of a keymap sequence: `ctrl+l`, `enter`, `up up`.
    pub(super) fn press(&mut self, keys: &str) -> &mut Self {
        for key in parse_sequence(keys, None).unwrap() {
            self.input(InputEvent::Key(key));
        }
        self
    }

    pub(super) fn paste(&mut self, text: &str) -> &mut Self {
        self.input(InputEvent::Paste(text.to_owned()))
    }

    pub(super) fn mouse(&mut self, mouse: MouseInput) -> &mut Self {
        self.input(InputEvent::Mouse(mouse))
    }

    /// Any other event of the terminal.
    pub(super) fn event(&mut self, event: InputEvent) -> &mut Self {
        self.input(event)
    }

    /// Types a prompt and sends it.
    pub(super) fn send(&mut self, prompt: &str) -> &mut Self {
        self.type_text(prompt).press("enter")
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.size = (columns, rows);
        self
    }

    pub(super) fn advance(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self
    }

    /// Applies events until the next run has ended.
    pub(super) async fn settled(&mut self) -> &mut Self {
        while self.ended.0 == self.ended.1 {
            self.next_event().await;
        }
        self.ended.1 += 1;
        self
    }

    /// Applies events until `done` accepts one.
    pub(super) async fn until(&mut self, mut done: impl FnMut(&Event) -> bool) -> &mut Self {
        loop {
            let event = self.next_event().await;
            if done(&event) {
                return self;
            }
        }
    }

    /// Applies events until the screen shows `text`.
    pub(super) async fn shows(&mut self, text: &str) -> &mut Self {
        while !self.screen().contains(text) {
            self.next_event().await;
        }
        self
    }

    /// Applies events until the screen no longer shows `text`.
    pub(super) async fn hides(&mut self, text: &str) -> &mut Self {
        while self.screen().contains(text) {
            self.next_event().await;
        }
        self
    }

    /// The screen as text, without the spaces at line ends.
    pub(super) fn screen(&mut self) -> String {
        let (buffer, _) = self.draw();
        self.clean(&text_of(&buffer))
    }

    /// One row of the screen.
    pub(super) fn row(&mut self, row: usize) -> String {
        self.screen()
            .lines()
            .nth(row)
            .unwrap_or_default()
            .to_owned()
    }

    /// The text of the transcript: everything above the status line.
    pub(super) fn conversation(&mut self) -> String {
        let screen = self.screen();
        let rows: Vec<&str> = screen.lines().collect();
        let editor = first_editor_row(&rows);
        let end = editor.map_or(rows.len(), |editor| editor - 1) - 1;
        rows[..end].join("\n").trim_end().to_owned()
    }

    /// The lines between the rule and the footer, without the prompt marker. If a box covers them,
    /// the text of the editor.
    pub(super) fn editor(&mut self) -> String {
        let screen = self.screen();
        let rows: Vec<&str> = screen.lines().collect();
        let Some(first) = first_editor_row(&rows) else {
            return self.app.prompt.editor.text();
        };
        let rows = rows[first..rows.len() - 1].iter();
        let texts = rows.map(|row| row.trim_start_matches('❯').strip_prefix(' ').unwrap_or(row));
        let texts: Vec<&str> = texts
            .map(|row| row.strip_prefix(' ').unwrap_or(row))
            .collect();
        texts.join("\n")
    }

    pub(super) fn footer(&mut self) -> String {
        let row = self.row(usize::from(self.size.1) - 1);
        row.trim_start().to_owned()
    }

    /// The screen with the style of every cell: a letter for each style, a dot for the default style.
    pub(super) fn styled(&mut self) -> String {
        let (buffer, cursor) = self.draw();
        let mut out = self.clean(&text_of(&buffer));
        let mut legend: Vec<String> = Vec::new();
        out.push_str("\n── styles ──\n");
        for row in rows_of(&buffer) {
            let letters: String = row
                .iter()
                .map(|cell| letter(cell, &mut legend))
                .collect::<String>();
            let _ = writeln!(out, "{}", letters.trim_end_matches('.'));
        }
        for (place, style) in legend.iter().enumerate() {
            let _ = writeln!(out, "{} {style}", mark(place));
        }
        if let Some(Position { x, y }) = cursor {
            let _ = writeln!(out, "cursor {x},{y}");
        }
        out
    }

    pub(super) fn cursor(&mut self) -> Option<(u16, u16)> {
        self.draw().1.map(|position| (position.x, position.y))
    }

    /// The cells as they would be drawn.
    pub(super) fn draw(&mut self) -> (Buffer, Option<Position>) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        let cursor = self.app.draw(&mut buffer, &Links::default(), self.now);
        (buffer, cursor)
    }

    /// Asks a question through the session, like a tool or a server.
    pub(super) fn ask(&self, question: Question) -> JoinHandle<Answer> {
        let questions = self.host.questions();
        tokio::spawn(async move { questions.ask(question, &CancellationToken::new()).await })
    }

    /// The working directory.
    pub(super) fn work(&self) -> PathBuf {
        work(&self.place)
    }

    /// The last request.
    pub(super) fn request(&self) -> osier_llm::Request {
        self.provider.last_request().unwrap()
    }

    /// The text of the last message in the last request.
    pub(super) fn last_prompt(&self) -> String {
        let request = self.provider.last_request().unwrap();
        let user = request.context.messages.iter().rev().find_map(|message| {
            let osier_llm::Message::User(user) = message else {
                return None;
            };
            let texts = user.content.iter().filter_map(|block| block.as_text());
            Some(texts.collect::<String>())
        });
        user.unwrap()
    }

    /// Applies one event of the session and returns it.
    pub(super) async fn next_event(&mut self) -> Event {
        // Drawing may have sent requests.
        self.flush();
        let Ok(event) = tokio::time::timeout(PATIENCE, self.events.recv()).await else {
            panic!("nothing happens any more:\n{}", self.screen());
        };
        let Some(event) = event else {
            panic!("the host is gone:\n{}", self.screen());
        };
        let event = normal(event);
        if matches!(event, Event::Agent(osier_agent::Event::AgentSettled { .. })) {
            self.ended.0 += 1;
        }
        self.app.on_event(&event, self.now);
        self.flush();
        event
    }

    /// Shuts the session down, like exiting the program.
    pub(super) async fn close(mut self) {
        self.host.send(Op::ShutDown);
        self.until(|event| matches!(event, Event::ShutDown)).await;
    }

    fn input(&mut self, event: InputEvent) -> &mut Self {
        self.app.on_input(event, self.now);
        self.flush();
        self
    }

    fn flush(&mut self) {
        for op in self.app.take_ops() {
            self.host.send(op);
        }
        for effect in self.app.take_effects() {
            match &effect {
                Effect::LoadTheme(name) | Effect::PreviewTheme(Some(name)) => self.load_theme(name),
                Effect::PreviewTheme(None) => self.load_theme(&self.theme.clone()),
                Effect::PickSetting => self.list_settings(),
                Effect::WriteSetting { name, value } => {
                    let file = self.home().join("settings.toml");
                    osier_settings::write(&file, name, value.as_deref()).unwrap();
                }
                Effect::Remember { name, value } => {
                    let file = self.home().join("settings.toml");
                    osier_settings::write(&file, name, Some(value)).unwrap();
                }
                Effect::Bind(binding) => {
                    self.looks.bind("default", binding).unwrap();
                    self.keymap("default");
                }
                Effect::PickTheme => self.app.pick_theme(&self.looks.choices(), &self.theme),
                _ => {}
            }
            self.effects.push(effect);
        }
    }

    /// Switches the keymap, as a changed setting does.
    pub(super) fn keymap(&mut self, name: &str) -> &mut Self {
        let (keymap, problems) = self.looks.keymap(name);
        self.app.set_keymap(keymap);
        self.app.report(&problems);
        self
    }

    fn list_settings(&mut self) {
        let settings = osier_settings::list(&Folders::under(&self.home()), &self.work());
        self.app.show_settings(settings);
    }

    /// The user's folder.
    pub(super) fn home(&self) -> PathBuf {
        home(&self.place)
    }

    fn load_theme(&mut self, name: &str) {
        let (theme, problems) = self.looks.theme(name);
        self.app.set_theme(theme);
        self.app.report(&problems);
    }

    fn clean(&self, text: &str) -> String {
        let work = work(&self.place).to_string_lossy().into_owned();
        let home = home(&self.place).to_string_lossy().into_owned();
        let text = text.replace(&work, "/work").replace(&home, "/home");
        TOTAL
            .replace_all(&text, |total: &Captures<'_>| {
                total[0].replace(|char: char| char.is_ascii_digit(), "#")
            })
            .into_owned()
    }
}

fn home(place: &TempDir) -> PathBuf {
    place.path().canonicalize().unwrap().join("home")
}

fn work(place: &TempDir) -> PathBuf {
    place.path().canonicalize().unwrap().join("work")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The usage that a model reports. Without a report, tokens are estimated from the text, and the output of a command
/// contains its duration, which differs from run to run.
pub(super) fn usage_of(input: u64, output: u64) -> Usage {
    Usage {
        input,
        output,
        ..Usage::default()
    }
}

/// The event with durations and directories replaced by fixed ones.
fn normal(mut event: Event) -> Event {
    match &mut event {
        Event::Workspace { cwd, .. } => "~/work".clone_into(cwd),
        Event::ShellEnd { run, .. } => run.duration_ms = 0,
        Event::SessionOpened { messages, .. } | Event::TranscriptPage { messages, .. } => {
            let messages = messages.iter_mut();
            messages.for_each(|stored| without_time(&mut stored.message));
        }
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. }) => {
            Arc::make_mut(result).result_time_gone();
        }
        Event::Agent(
            osier_agent::Event::MessageStart { message, .. }
            | osier_agent::Event::MessageEnd { message, .. },
        ) => without_time(message),
        _ => {}
    }
    event
}

trait TimeGone {
    fn result_time_gone(&mut self);
}

impl TimeGone for osier_agent::ToolResultMessage {
    fn result_time_gone(&mut self) {
        self.duration_ms = 0;
        for block in &mut self.result.content {
            if let ContentBlock::Text { text } = block {
                *text = without_duration(text);
            }
        }
    }
}

/// `[exit code 3, after 12ms]` without the number.
fn without_duration(text: &str) -> String {
    let Some((before, after)) = text.rsplit_once(" after ") else {
        return text.to_owned();
    };
    let end = after.find([';', ']']).unwrap_or(after.len());
    let is_time = after.starts_with(|first: char| first.is_ascii_digit());
    if is_time {
        format!("{before} after TIME{}", &after[end..])
    } else {
        text.to_owned()
    }
}

fn without_time(message: &mut Arc<AgentMessage>) {
    match Arc::make_mut(message) {
        AgentMessage::ToolResult(result) => result.result_time_gone(),
        AgentMessage::ShellRun(run) => run.duration_ms = 0,
        _ => {}
    }
}

pub(super) fn rows_of(buffer: &Buffer) -> impl Iterator<Item = &[Cell]> {
    buffer.content.chunks(usize::from(buffer.area.width.max(1)))
}

/// The text of a buffer, without the cells behind wide characters.
pub(super) fn text_of(buffer: &Buffer) -> String {
    let mut out = String::new();
    for row in rows_of(buffer) {
        let mut line = String::new();
        let mut skip = 0;
        for cell in row {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            line.push_str(cell.symbol());
            skip = width(cell.symbol()).saturating_sub(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn letter(cell: &Cell, legend: &mut Vec<String>) -> char {
    let mut parts = Vec::new();
    if cell.fg != Color::Reset {
        parts.push(format!("{}", cell.fg));
    }
    if cell.bg != Color::Reset {
        parts.push(format!("on {}", cell.bg));
    }
    for (modifier, name) in [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::ITALIC, "italic"),
        (Modifier::UNDERLINED, "underlined"),
        (Modifier::REVERSED, "reversed"),
        (Modifier::CROSSED_OUT, "struck"),
    ] {
        if cell.modifier.contains(modifier) {
            parts.push(name.to_owned());
        }
    }
    if cell.underline_color != Color::Reset {
        parts.push("link".to_owned());
    }
    if parts.is_empty() {
        return '.';
    }
    let style = parts.join(" ");
    let place = legend.iter().position(|known| *known == style);
    mark(place.unwrap_or_else(|| {
        legend.push(style);
        legend.len() - 1
    }))
}

fn mark(place: usize) -> char {
    let letters = ('a'..='z').chain('A'..='Z');
    letters.into_iter().nth(place).unwrap_or('?')
}
