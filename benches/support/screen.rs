//! The interface without terminal, session, threads and clock: events and keys in, frames of bytes out. The same
//! calls give the same bytes and allocations on every machine.

#![allow(dead_code, reason = "shared by programs that each use a part of it")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use osier_agent::{AgentMessage, UserMessage};
use osier_base::folders::Folders;
use osier_llm::{AssistantBlock, AssistantMessage, Delta, TurnStatus};
use osier_protocol::Event;
use osier_settings::{ScreenMode, ScreenSettings, Settings};
use osier_term::frame::{Features, FrameWriter};
use osier_term::highlight::Highlighter;
use osier_term::input::InputEvent;
use osier_term::keymap::parse_sequence;
use osier_term::terminal::TerminalKind;
use osier_tui::{App, AppOptions, Appearance, Printing};
use ratatui::layout::Size;
use tempfile::TempDir;

/// The size of the screen.
pub(crate) const SIZE: Size = Size {
    width: 120,
    height: 40,
};

const ANSWER: &str = "answer";

/// A running interface.
pub(crate) struct Screen {
    pub(crate) app: App,
    pub(crate) writer: FrameWriter,
    now: Instant,
    bytes: Vec<u8>,
    _home: TempDir,
}

impl Screen {
    /// Draws an empty session.
    pub(crate) fn start() -> Self {
        let kind = TerminalKind::detect(|_| None);
        Self::start_in(&Settings::default().screen.theme, &kind)
    }

    /// Draws an empty session in inline mode.
    pub(crate) fn start_inline() -> Self {
        let mut screen = Self::start();
        let settings = ScreenSettings {
            screen: ScreenMode::Inline,
            show_thinking: false,
            ..Settings::default().screen
        };
        screen.app.set_settings(&settings);
        screen.writer = FrameWriter::new(SIZE, screen.writer.features());
        screen.writer.set_inline(true, false);
        screen.frame();
        screen
    }

    /// Draws an empty session in this theme on this terminal.
    pub(crate) fn start_in(theme: &str, kind: &TerminalKind) -> Self {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::under(home.path());
        let settings = Settings::default();
        let looks = Appearance::new(&folders, kind);
        let features = Features {
            synchronized: true,
            ..Features::default()
        };
        let app = App::new(AppOptions {
            theme: looks.theme(theme).0,
            keymap: looks.keymap(&settings.screen.keymap).0,
            // Code stays plain, because another thread highlights it.
            highlighter: Highlighter::new(|_| {}),
            settings: ScreenSettings {
                show_thinking: false,
                ..settings.screen
            },
            cwd: "~/work".to_owned(),
            model_hint: "mock/mock".to_owned(),
        });
        let mut screen = Self {
            app,
            writer: FrameWriter::new(SIZE, features),
            now: Instant::now(),
            bytes: Vec::with_capacity(64 * 1024),
            _home: home,
        };
        screen.frame();
        screen
    }

    /// Draws a prompt and a complete answer.
    pub(crate) fn with_answer(text: &str) -> Self {
        let mut screen = Self::start();
        screen.begin_answer();
        screen.delta(text);
        screen.end_answer(text);
        screen.frame();
        screen
    }

    /// Sends a prompt and starts the answer.
    pub(crate) fn begin_answer(&mut self) {
        let prompt = UserMessage {
            text: "Explain the parser.".to_owned(),
            ..UserMessage::default()
        };
        let prompt = Arc::new(AgentMessage::User(prompt));
        let id = "prompt".to_owned();
        self.event(osier_agent::Event::AgentStart);
        self.event(osier_agent::Event::MessageStart {
            id: id.clone(),
            message: Arc::clone(&prompt),
        });
        self.event(osier_agent::Event::MessageEnd {
            id,
            message: prompt,
        });
        let empty = AgentMessage::Assistant(AssistantMessage::default());
        self.event(osier_agent::Event::MessageStart {
            id: ANSWER.to_owned(),
            message: Arc::new(empty),
        });
        self.update(Delta::TextStart { index: 0 });
    }

    /// Adds a delta to the answer.
    pub(crate) fn delta(&mut self, text: &str) {
        self.update(Delta::TextDelta {
            index: 0,
            delta: text.to_owned(),
        });
    }

    /// The call failed and is retried after `delay`.
    pub(crate) fn retry(&mut self, delay: Duration) {
        self.event(osier_agent::Event::RetryScheduled {
            attempt: 1,
            max_attempts: 5,
            delay_ms: delay.as_millis() as u64,
            status: TurnStatus::Timeout {
                message: "nothing came for 60 s".to_owned(),
            },
        });
    }

    /// Shows a toast.
    pub(crate) fn toast(&mut self, text: &str) {
        self.app.toast(osier_tui::Toast::info(text), self.now);
    }

    /// Completes the answer with the text `text`.
    pub(crate) fn end_answer(&mut self, text: &str) {
        let block = AssistantBlock::Text {
            text: text.to_owned(),
            signature: None,
        };
        let message = AssistantMessage {
            content: vec![block],
            ..AssistantMessage::default()
        };
        self.update(Delta::TextEnd {
            index: 0,
            signature: None,
        });
        self.event(osier_agent::Event::MessageEnd {
            id: ANSWER.to_owned(),
            message: Arc::new(AgentMessage::Assistant(message)),
        });
        self.event(osier_agent::Event::AgentSettled {
            outcome: osier_agent::RunOutcome::Completed,
        });
    }

    /// Presses the keys of a keymap sequence: `a`, `shift+up`, `enter`.
    pub(crate) fn press(&mut self, keys: &str) {
        for key in parse_sequence(keys, None).unwrap() {
            self.app.on_input(InputEvent::Key(key), self.now);
        }
    }

    pub(crate) fn advance(&mut self, time: Duration) {
        self.now += time;
    }

    /// Advances to the next change of the spinner or clock.
    pub(crate) fn advance_to_next_change(&mut self) {
        self.now = self.app.next_change(self.now).decoration.unwrap();
    }

    /// Draws a frame. Returns the number of its bytes.
    pub(crate) fn frame(&mut self) -> usize {
        let cursor =
            osier_tui::draw_next(&mut self.app, &mut self.writer, self.now, Printing::Settled);
        self.bytes.clear();
        self.writer.finish(cursor, &mut self.bytes);
        self.bytes.len()
    }

    /// Applies an event of the session that is not from the agent.
    pub(crate) fn tell(&mut self, event: &Event) {
        self.app.on_event(event, self.now);
    }

    fn update(&mut self, delta: Delta) {
        self.event(osier_agent::Event::MessageUpdate {
            id: ANSWER.to_owned(),
            delta,
        });
    }

    fn event(&mut self, event: osier_agent::Event) {
        self.app.on_event(&Event::Agent(event), self.now);
    }
}
