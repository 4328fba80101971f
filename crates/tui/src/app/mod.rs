//! The complete interface as one value: what is shown and what is typed. It knows neither the
//! terminal nor the host: input and events go in, ops and effects come out, `draw` paints it.

mod apply;
mod draw;
mod events;
pub(crate) mod key_hints;
mod keys;
pub(crate) mod layout;
mod linear;

use std::path::PathBuf;
use std::time::Instant;

use ratatui::layout::Rect;

use osier_agent::Severity;
use osier_base::problem::Problem;
use osier_llm::Usage;
use osier_protocol::{ModelInfo, Op, RuleInfo, SessionInfo};
use osier_term::component::Cx;
use osier_term::highlight::{Highlighted, Highlighter};
use osier_term::images::{Canvas, ImageStore, PlacedStrip, RenderedImage};
use osier_term::input::{InputEvent, KeyPress};
use osier_term::keymap::Keymap;
use osier_term::theme::Theme;

use crate::action::Action;
use crate::activity::Activity;
use crate::appearance::NewBinding;
use crate::command::Command;
use crate::footer::Footer;
use crate::mcp::Servers;
use crate::mouse::Pointer;
use crate::overlays::Overlays;
use crate::plugins::PluginView;
use crate::prompt::Editor;
use crate::prompt::attachments::{Attachments, dropped_pictures};
use crate::prompt::pending::PendingPrompts;
use crate::questions::Questions;
use crate::review::Changes;
use crate::search::Search;
use crate::settings::SettingsEditor;
use crate::stash::Stash;
use crate::tabs::{TabRequest, TabSummaries};
use crate::todo::TodoView;
use crate::tools::Tools;
use crate::transcript::Transcript;
use crate::tree::TreeMemory;
use crate::{jobs, sessions, tree};

/// What the app wants from the world outside its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Copy(String),
    /// Read the picture in the clipboard; it comes back through `App::attach`, its text as a paste.
    ReadPicture,
    /// Attach these files; they come back through `App::attach`.
    ReadPictures(Vec<PathBuf>),
    /// Read the clipboard; its text comes back through `App::pasted`.
    ReadClipboard,
    /// Show this address in the browser.
    Open(String),
    Suspend,
    /// Edit this text in an external editor; the answer comes back through `App::edited`.
    ExternalEditor(String),
    /// Edit a file of the working directory, at a line.
    EditFile {
        path: String,
        line: usize,
    },
    /// Show this text in an external program.
    View {
        text: String,
        with: Viewer,
    },
    Repaint,
    /// A run ended or an answer is needed.
    Notify(String),
    /// Show this theme without choosing it; without a name, the chosen one again.
    PreviewTheme(Option<String>),
    /// Load this theme and keep it in the settings.
    LoadTheme(String),
    /// List the settings; the answer comes back through `App::show_settings`.
    PickSetting,
    /// Write a setting of the user and take it over; without a value it is taken out of the file.
    WriteSetting {
        name: String,
        value: Option<String>,
    },
    /// Write a binding into the user's keymap and take it over.
    Bind(NewBinding),
    /// List the themes; the answer comes back through `App::pick_theme`.
    PickTheme,
    /// Read settings, themes and keymaps again.
    ReloadAppearance,
    /// Something about the sessions that are open.
    Tabs(TabRequest),
    Quit,
}

/// A program that shows a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// `$VISUAL` or `$EDITOR`.
    Editor,
    /// `$PAGER`.
    Pager,
}

/// What waits in the queues, as it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueView {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

/// The interface.
#[derive(Debug)]
pub struct App {
    pub transcript: Transcript,
    pub editor: Editor,
    pub layers: Overlays,
    pub footer: Footer,
    pub activity: Activity,
    pub queue: QueueView,
    pub(crate) pending: PendingPrompts,
    pub theme: Box<Theme>,
    pub keymap: Keymap<Command>,
    pub session: SessionInfo,
    pub models: Vec<ModelInfo>,
    /// The permission rules that hold.
    pub(crate) rules: Vec<RuleInfo>,
    pub(crate) tools: Tools,
    pub(crate) servers: Servers,
    pub highlighter: Highlighter,
    pub pictures: ImageStore,
    pub(crate) attachments: Attachments,
    /// Strips of pictures that the terminal paints over the last frame.
    pub(crate) placed: Vec<PlacedStrip>,
    pub(crate) questions: Questions,
    pub(crate) plugins: PluginView,
    pub(crate) todo: TodoView,
    pub(crate) search: Search,
    pub(crate) settings: SettingsEditor,
    pub(crate) stash: Stash,
    /// The last reported summaries of the tabs.
    pub(crate) summaries: TabSummaries,
    /// The state of the tree view when it was last open.
    pub(crate) tree: TreeMemory,
    /// A move in the tree is on its way; whether its files were asked for.
    pub(crate) move_files: Option<bool>,
    /// Keys of a sequence that has begun.
    pub(crate) pending_keys: Vec<KeyPress>,
    pub(crate) actions: Vec<Action>,
    /// Ops for the host, in order.
    pub(crate) ops: Vec<Op>,
    pub(crate) effects: Vec<Effect>,
    /// Usage of the session, summed from its messages.
    pub(crate) usage: Usage,
    /// Why the session that was asked for is not open.
    pub(crate) failure: Option<String>,
    /// The session another osier has, that could not be opened.
    pub(crate) in_use: Option<String>,
    /// When Ctrl+C was pressed on an empty editor: a second one exits.
    pub(crate) exit_armed: Option<Instant>,
    pub(crate) focused: bool,
    /// Keys belong to the transcript, not to the editor.
    pub(crate) browsing: bool,
    pub(crate) pointer: Pointer,
    pub(crate) changes: Changes,
    /// Where the text of the editor was drawn.
    pub(crate) editor_area: Rect,
    /// The screen is laid out to be read aloud.
    pub(crate) linear: bool,
    /// Something visible changed since the last draw.
    pub(crate) dirty: bool,
}

/// What the app starts with.
#[derive(Debug)]
pub struct AppOptions {
    pub theme: Theme,
    pub keymap: Keymap<Command>,
    pub highlighter: Highlighter,
    pub show_thinking: bool,
    pub reduced_motion: bool,
    pub cwd: String,
    /// What the footer shows until the session reports the model.
    pub model_hint: String,
}

impl App {
    pub fn new(options: AppOptions) -> Self {
        let mut editor = Editor::new();
        editor.set_folder(&options.cwd);
        editor.set_modes(options.keymap.modes());
        let footer = Footer {
            cwd: options.cwd,
            model_hint: options.model_hint,
            ..Footer::default()
        };
        Self {
            transcript: Transcript::new(options.show_thinking),
            editor,
            layers: Overlays::default(),
            footer,
            activity: Activity::new(options.reduced_motion),
            queue: QueueView::default(),
            pending: PendingPrompts::default(),
            theme: Box::new(options.theme),
            keymap: options.keymap,
            session: SessionInfo::default(),
            models: Vec::new(),
            rules: Vec::new(),
            tools: Tools::default(),
            servers: Servers::default(),
            highlighter: options.highlighter,
            pictures: ImageStore::new(drop),
            attachments: Attachments::default(),
            placed: Vec::new(),
            questions: Questions::default(),
            plugins: PluginView::default(),
            todo: TodoView::default(),
            search: Search::default(),
            settings: SettingsEditor::default(),
            stash: Stash::default(),
            summaries: TabSummaries::default(),
            tree: TreeMemory::default(),
            move_files: None,
            pending_keys: Vec::new(),
            actions: Vec::new(),
            ops: Vec::new(),
            effects: Vec::new(),
            usage: Usage::default(),
            failure: None,
            in_use: None,
            exit_armed: None,
            focused: true,
            browsing: false,
            pointer: Pointer::default(),
            changes: Changes::default(),
            editor_area: Rect::default(),
            linear: false,
            dirty: true,
        }
    }

    /// Applies one event of the terminal.
    pub fn on_input(&mut self, event: InputEvent, now: Instant) {
        self.dirty |= !matches!(event, InputEvent::Reply(_));
        match event {
            InputEvent::Key(key) => self.on_key(key, now),
            InputEvent::Paste(text) => self.on_paste(&text, now),
            InputEvent::Mouse(mouse) => self.on_mouse(mouse, now),
            InputEvent::FocusGained => self.focused = true,
            InputEvent::FocusLost => self.focused = false,
            InputEvent::Resize(..) | InputEvent::Reply(_) => {}
        }
        self.serve_editor();
        self.apply_actions(now);
    }

    /// Ops for the host since the last call.
    pub fn take_ops(&mut self) -> Vec<Op> {
        self.ops.extend(self.transcript.take_ops());
        self.ops.extend(tree::take_ops(&mut self.layers));
        self.ops.extend(sessions::take_ops(&mut self.layers));
        std::mem::take(&mut self.ops)
    }

    /// Effects since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether something visible changed; asking clears it.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Sends a prompt as if it had been typed.
    pub fn submit_text(&mut self, text: &str, now: Instant) {
        self.editor.set_text(text);
        self.actions.push(Action::Submit { follow_up: false });
        self.apply_actions(now);
    }

    /// The external editor has ended.
    pub fn edited(&mut self, text: &str) {
        self.editor.set_text(text);
        self.dirty = true;
    }

    /// Shows what is wrong with the user's files.
    pub fn report(&mut self, problems: &[Problem]) {
        for problem in problems {
            self.transcript
                .notice(Severity::Warning, &problem.to_string());
        }
        self.dirty |= !problems.is_empty();
    }

    pub fn set_theme(&mut self, theme: Theme) {
        *self.theme = theme;
        self.theme.mark_selected(self.linear);
        self.dirty = true;
    }

    pub fn set_keymap(&mut self, keymap: Keymap<Command>) {
        self.keymap = keymap;
        self.editor.set_modes(self.keymap.modes());
        self.bind_plugin_keys();
        self.refresh_keymap();
        self.pending_keys.clear();
        self.dirty = true;
    }

    /// Shows a line for a moment.
    pub fn toast(&mut self, text: &str, error: bool, now: Instant) {
        self.activity.toast(text, error, now);
        self.dirty = true;
    }

    /// Runs a command as if its key had been pressed.
    pub fn run_command(&mut self, command: Command, now: Instant) {
        self.actions.push(Action::Run(command));
        self.apply_actions(now);
    }

    /// Colours for code came back from the highlighter.
    pub fn on_highlight(&mut self, highlighted: &Highlighted) {
        self.dirty |=
            self.transcript.on_highlight(highlighted) || self.layers.apply_highlight(highlighted);
    }

    /// A picture is ready to be shown.
    pub fn on_picture(&mut self, drawn: RenderedImage) {
        self.dirty |= self.pictures.apply(drawn);
    }

    /// Draws pictures for this terminal, or none.
    pub fn set_canvas(&mut self, canvas: Option<Canvas>) {
        if self.pictures.set_canvas(canvas) {
            self.transcript.set_cell(self.pictures.cell());
            self.dirty = true;
        }
    }

    /// Takes the file of a picture that an answer names, or why it is not shown.
    pub fn set_illustration(&mut self, path: &str, read: &Result<String, String>) {
        self.dirty |= self.transcript.set_illustration(path, read);
    }

    /// The strips that the terminal has to paint over the last frame.
    pub fn take_placed(&mut self) -> Vec<PlacedStrip> {
        std::mem::take(&mut self.placed)
    }

    /// When the screen changes next without an event.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        let jobs = jobs::next_change(&self.layers, self.footer.jobs, now);
        let finding = self.editor.is_finding().then_some(now);
        let activity = self.activity.next_change(now);
        [activity, jobs, self.next_edge_step(), finding]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_paste(&mut self, text: &str, now: Instant) {
        if self.layers.is_empty() {
            self.leave_browsing();
            // What a terminal makes of files that are dropped on it.
            match dropped_pictures(text) {
                Some(paths) => self.effects.push(Effect::ReadPictures(paths)),
                None => self.editor.paste(text),
            }
        } else {
            let _ = self.layers.on_paste(
                text,
                &mut Cx {
                    actions: &mut self.actions,
                    now,
                },
            );
        }
    }
}
