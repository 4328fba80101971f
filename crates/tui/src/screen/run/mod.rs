//! Connects the app to the terminal and the session. The loop is in `screen`; the other modules execute the effects of
//! the app.

mod appearance;
mod attachments;
mod attention;
mod effects;
mod external_programs;
mod inline;
mod options;
mod painted;
mod pictures;
mod screen;
mod serve;
mod server_notice;
mod sessions;
mod tab;
mod tabs;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::mpsc;

use self::external_programs::leave_behind;
use self::painted::Painted;
use self::screen::{AttentionState, Screen};
use self::tab::Tab;
use self::tabs::Tabs;
use crate::actions::Command;
use crate::conversation::Printing;
use crate::dialogs::{Appearance, appearance::terminal_kind, guide};
use crate::screen::{App, AppOptions};
use osier_agent::Subscription;
use osier_base::text::sanitize;
use osier_base::{clock, exit_limit};
use osier_protocol::Event;
use osier_session::{SessionChoice, SessionHandle, SessionSetup};
use osier_settings::ScreenMode;
use osier_term::Highlighter;
use osier_term::clipboard::Clipboard;
use osier_term::frame::{FrameClock, FrameWriter};
use osier_term::terminal::{
    Alternate, Signals, Terminal, TerminalOptions, restore_without_waiting,
};

pub use self::options::{Elsewhere, Options};
pub use self::screen::Open;

/// How long the sessions may take to end, from the moment the user quits; and at least after the screen is closed.
const LAST_WORK: Duration = Duration::from_millis(700);
const MIN_LAST_WORK: Duration = Duration::from_millis(150);

/// Runs the interface with sessions in this process until the user quits. Returns the signal that ended it.
pub async fn run(mut setup: SessionSetup, options: Options) -> anyhow::Result<Option<i32>> {
    setup.answers_questions = true;
    setup.starts_with_faults = true;
    let (here, template) = (setup.clone(), setup.clone());
    let open = Open::new(move |wanted, opening| {
        let choice = match (&wanted.session, &template.session) {
            (Some(target), _) => SessionChoice::opening(opening, target.clone()),
            (None, SessionChoice::Unstored) => SessionChoice::Unstored,
            (None, _) => SessionChoice::New,
        };
        let setup = wanted.setup(&template, choice);
        let setup = setup.map_err(|error| error.to_string())?;
        SessionHandle::start(setup).map_err(|error| error.to_string())
    });
    run_with(
        move || Ok(SessionHandle::start(setup)?),
        open,
        &here,
        options,
    )
    .await
}

/// Runs the interface with an existing session until the user quits. `open` opens other sessions of the same server.
pub async fn run_over(
    host: SessionHandle,
    events: Subscription<Event>,
    open: Open,
    setup: &SessionSetup,
    options: Options,
) -> anyhow::Result<Option<i32>> {
    run_with(move || Ok((host, events)), open, setup, options).await
}

async fn run_with(
    start: impl FnOnce() -> anyhow::Result<(SessionHandle, Subscription<Event>)>,
    open: Open,
    setup: &SessionSetup,
    mut options: Options,
) -> anyhow::Result<Option<i32>> {
    let kind = terminal_kind(&options.environment);
    let appearance = Appearance::new(&options.folders, &kind);
    let (colours, highlighted) = mpsc::unbounded_channel();
    let highlighter = Highlighter::new(move |lines| drop(colours.send(lines)));
    let app = new_app(setup, &options, &appearance, highlighter);
    let terminal_options = TerminalOptions {
        mouse: options.settings.screen.mouse,
        bidi: options.settings.screen.bidi.is_on(),
        alternate: match options.settings.screen.screen {
            ScreenMode::Full => Alternate::Always,
            ScreenMode::Inline => Alternate::Off,
        },
        ..TerminalOptions::default()
    };
    let shows_guide = shows_guide(setup, &options);
    // Check the setup before the screen is taken: the error belongs on a plain line.
    let (host, events) = start()?;
    let mut tab = Tab::new(1, app, host, events);
    tab.prompts = std::mem::take(&mut options.prompts);
    tab.prompts.reverse();
    let display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| options.environment.contains_key(*name));
    let mut clipboard = Clipboard::new(&kind, display, options.folders.data.join("clipboard.txt"));
    let tmux = ["TMUX", "TMUX_PANE"].map(|name| options.environment.get(name));
    if let [Some(server), pane] = tmux
        && !server.is_empty()
    {
        // Other children do not inherit the variables.
        let server = format!("TMUX={server}");
        let pane = pane.map(|pane| format!("TMUX_PANE={pane}"));
        let words = ["env", &server].into_iter().chain(pane.as_deref());
        clipboard = clipboard.with_tmux(&words.chain(["tmux"]).collect::<Vec<_>>());
    }
    // Before the size is read: a resize from here on is not missed.
    let signals = Signals::listen().context("cannot listen for signals")?;
    let (terminal, input) = Terminal::enter(kind, terminal_options)?;
    exit_limit::set_last_action(restore_without_waiting);
    let mut writer = FrameWriter::new(terminal.size(), terminal.features());
    let is_inline = options.settings.screen.screen == ScreenMode::Inline;
    writer.set_inline(is_inline, !terminal.kind().keeps_rows);
    let (results, finished) = mpsc::unbounded_channel();
    let mut screen = Box::new(Screen {
        tabs: Tabs::new(tab),
        terminal,
        writer,
        clock: FrameClock::default(),
        appearance,
        clipboard,
        results,
        options,
        colours_changed: false,
        painted: Painted::default(),
        attention: AttentionState::default(),
        open,
        place: setup.cwd.clone(),
        lender: None,
        demos: Vec::new(),
        started: u64::try_from(clock::now_ms() / 1000).unwrap_or_default(),
    });
    if shows_guide {
        guide::set_shown(&screen.options.folders);
        let app = &mut screen.tabs.front.app;
        app.act(Command::Guide, Instant::now());
    }
    screen.start_pictures();
    screen.clock.queries_sent(Instant::now());
    screen.draw();
    let left = screen.serve((signals, input), highlighted, finished).await;
    leave(screen, left).await
}

/// Whether the guide of the first start is shown: a new user starts osier without a task, at home.
fn shows_guide(setup: &SessionSetup, options: &Options) -> bool {
    options.prompts.is_empty()
        && !options.pick_session
        && options.elsewhere.is_none()
        && setup.session == SessionChoice::New
        && !options.environment.contains_key("OSIER_HOME")
        && guide::is_first_start(&options.folders)
}

/// Restores the terminal, ends every session and prints how to resume each.
async fn leave(
    mut screen: Box<Screen>,
    left: anyhow::Result<Option<i32>>,
) -> anyhow::Result<Option<i32>> {
    let code = match &left {
        Ok(signal) => signal.map_or(0, |signal| 128 + signal),
        Err(_) => 2,
    };
    (screen.options.leaving)(code);
    // Before the sessions are left, which ends the connections.
    let server = screen.tabs.server_state();
    let deadline = Instant::now() + LAST_WORK;
    screen.tabs.shut_down();
    screen.print_rest(Printing::All);
    screen.delete_pictures();
    screen.forget_attention();
    let Screen {
        terminal,
        options,
        tabs,
        ..
    } = *screen;
    let panics = terminal.leave();
    let mut said = tabs.front.said.clone();
    let output = options.settings.screen.exit_output;
    let sessions = tabs.sessions();
    // The partial answers are stored, commands are stopped; a hanging disk must not hold the shell up.
    let deadline = deadline.max(Instant::now() + MIN_LAST_WORK);
    let _ = tokio::time::timeout_at(deadline.into(), tabs.ended_all(&mut said, output)).await;
    if options.settings.screen.screen == ScreenMode::Inline {
        // It is in the terminal already.
        said.clear();
    }
    leave_behind(&options, &said, &sessions, &server);
    let signal = left?;
    match panics.first() {
        Some(panic) => Err(anyhow::anyhow!("internal error: {}", sanitize(panic))),
        None => Ok(signal),
    }
}

/// The app before the first event of the session.
fn new_app(
    setup: &SessionSetup,
    options: &Options,
    appearance: &Appearance,
    highlighter: Highlighter,
) -> App {
    let settings = &options.settings;
    let (theme, theme_problems) = appearance.theme(&settings.screen.theme);
    let (keymap, keymap_problems) = appearance.keymap(&settings.screen.keymap);
    let named = setup.model.as_ref().or(settings.model.as_ref());
    let mut app = App::new(AppOptions {
        theme,
        keymap,
        highlighter,
        settings: settings.screen.clone(),
        cwd: setup.cwd.display().to_string(),
        model_hint: named.cloned().unwrap_or_default(),
    });
    if let Some(elsewhere) = &options.elsewhere
        && !elsewhere.files_are_here
    {
        app.prompt.editor.set_elsewhere();
    }
    for problems in [&options.problems, &theme_problems, &keymap_problems] {
        app.report(problems);
    }
    app
}
