//! The complete interface as one value: everything that is shown and typed. It knows neither the
//! terminal nor the session: input and events go in, ops and effects come out, `draw` paints it.
//!
//! The app owns the state of every feature and passes keys, commands, actions and events on to them. A feature gets
//! everything that it needs as arguments and never knows the app.

mod apply;
mod commands;
mod draw;
mod events;
mod focus;
pub(crate) mod inline;
mod keys;
mod linear;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use osier_agent::{Attachment, Severity};
use osier_base::clock;
use osier_base::problem::Problem;
use osier_protocol::{Op, SessionInfo};
use osier_settings::{ScreenSettings, SettingInfo};
use osier_term::images::{Canvas, ImageStore, RenderedImage};
use osier_term::input::{InputEvent, MouseInput};
use osier_term::{Highlighted, Highlighter, KeyPress, Keymap, Theme};

use self::focus::Focus;
use self::inline::Inline;
use crate::actions::{Action, Command, Effect, Outbox, Toast};
use crate::conversation::{Search, Transcript, jobs, subagents, terminals};
use crate::dialogs::{
    Models, PermissionsDialog, Questions, Servers, SettingsEditor, ThemeChoice, Tools, appearance,
};
use crate::drawing::{Overlays, late::Late};
use crate::history::{
    Changes, Rewind, Sessions, TabControl, TabSummaries, TabSummary, Tree, sessions, tabs, tree,
};
use crate::input::{
    MouseTarget, PluginView, Pointer, Prompt, Stash, keymap, keymap::hints::KeysShown, mouse,
};
use crate::status::{Activity, Footer, SidePanel, TodoView};

/// The interface.
#[derive(Debug)]
pub struct App {
    pub transcript: Transcript,
    pub prompt: Prompt,
    pub footer: Footer,
    pub theme: Box<Theme>,
    pub session: SessionInfo,
    pub pictures: ImageStore,
    pub(crate) activity: Activity,
    pub(crate) questions: Questions,
    pub(crate) tabs: TabControl,
    pub(crate) focus: Focus,
    overlays: Overlays,
    outbox: Outbox,
    /// Requests to the session and to the program that the loop has not fetched yet.
    ops: Vec<Op>,
    effects: Vec<Effect>,
    highlighter: Highlighter,
    pub(crate) keymap: Keymap<Command>,
    /// Keys of a sequence that has begun.
    pending_keys: Vec<KeyPress>,
    /// The page of keys of the view in front, until the next key.
    keys_shown: KeysShown,
    pointer: Pointer,
    changes: Changes,
    models: Models,
    permissions: PermissionsDialog,
    plugins: PluginView,
    search: Search,
    servers: Servers,
    pub(crate) sessions: Sessions,
    // recipe: a setting, 3: the features of the screen, such as `Transcript`, `Activity` and `Footer`, have `ScreenSettings` as `settings`, lists and overlays as `view.settings`: read it where it has its effect
    /// The settings of the screen, which the features share.
    settings: Arc<ScreenSettings>,
    settings_editor: SettingsEditor,
    side_panel: SidePanel,
    stash: Stash,
    todo: TodoView,
    tools: Tools,
    pub(crate) tree: Tree,
    rewind: Rewind,
    late: Late,
    pub(crate) inline: Inline,
}

/// The options of a new app.
#[derive(Debug)]
pub struct AppOptions {
    pub theme: Theme,
    pub keymap: Keymap<Command>,
    pub highlighter: Highlighter,
    pub settings: ScreenSettings,
    pub cwd: String,
    /// The model that the footer shows until the session reports one.
    pub model_hint: String,
}

/// When the screen changes next without an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextChange {
    /// Something moves or disappears.
    pub decoration: Option<Instant>,
    /// `App::tick` continues its work.
    pub work: Option<Instant>,
}

/// The key that the transcript names where it leaves rows out.
fn expand_key(keymap: &Keymap<Command>) -> Option<KeyPress> {
    keymap.key_for("global", Command::ToggleTools)
}

impl App {
    pub fn new(options: AppOptions) -> Self {
        let mut prompt = Prompt::default();
        prompt.editor.set_folder(&options.cwd);
        prompt.editor.set_modes(options.keymap.modes());
        let settings = Arc::new(options.settings);
        let footer = Footer {
            settings: Arc::clone(&settings),
            cwd: options.cwd,
            model_hint: options.model_hint,
            ..Footer::default()
        };
        let mut outbox = Outbox::default();
        outbox.redraw(true);
        let mut transcript = Transcript::new(&settings);
        transcript.set_expand_key(expand_key(&options.keymap));
        let mut theme = Box::new(options.theme);
        theme.mark_selected(settings.screen_reader);
        Self {
            transcript,
            prompt,
            footer,
            theme,
            session: SessionInfo::default(),
            pictures: ImageStore::new(drop),
            activity: Activity::new(Arc::clone(&settings)),
            questions: Questions::default(),
            tabs: TabControl::default(),
            focus: Focus::default(),
            overlays: Overlays::default(),
            outbox,
            ops: Vec::new(),
            effects: Vec::new(),
            highlighter: options.highlighter,
            keymap: options.keymap,
            pending_keys: Vec::new(),
            keys_shown: KeysShown::default(),
            pointer: Pointer::default(),
            changes: Changes::default(),
            models: Models::default(),
            permissions: PermissionsDialog::default(),
            plugins: PluginView::default(),
            search: Search::default(),
            servers: Servers::default(),
            sessions: Sessions::default(),
            settings_editor: SettingsEditor::default(),
            side_panel: SidePanel::new(settings.side_panel),
            settings,
            stash: Stash::default(),
            todo: TodoView::default(),
            tools: Tools::default(),
            tree: Tree::default(),
            rewind: Rewind::default(),
            late: Late::default(),
            inline: Inline::default(),
        }
    }

    /// Applies one event of the terminal.
    pub fn on_input(&mut self, event: InputEvent, now: Instant) {
        if let InputEvent::Key(_) | InputEvent::Paste(_) | InputEvent::Mouse(_) = event {
            self.focus.on_key(now);
        }
        let changed = match event {
            InputEvent::Key(key) => {
                self.on_key(key, now);
                true
            }
            InputEvent::Paste(text)
                if self.overlays.is_empty() || self.late.holds(self.overlays.top(), now) =>
            {
                self.transcript.leave_browsing();
                self.prompt.on_paste(&text, &mut self.outbox);
                true
            }
            InputEvent::Paste(text) => {
                let _ = self.overlays.on_paste(&text, &mut self.outbox.cx(now));
                true
            }
            InputEvent::Mouse(mouse) => self.on_mouse(mouse, now),
            InputEvent::FocusGained | InputEvent::FocusLost => {
                self.focus.report(event == InputEvent::FocusGained);
                true
            }
            InputEvent::Resize(..) => true,
            InputEvent::Reply(_) | InputEvent::Closed => false,
        };
        self.outbox.redraw(changed);
        self.prompt.serve_editor(&mut self.outbox);
        self.apply_actions(now);
    }

    /// Ops for the session since the last call.
    pub fn take_ops(&mut self) -> Vec<Op> {
        let mut ops = std::mem::take(&mut self.ops);
        ops.extend(self.transcript.take_ops());
        ops.extend(tree::take_ops(&mut self.overlays));
        ops.extend(sessions::take_ops(&mut self.overlays));
        ops.extend(terminals::take_ops(&mut self.overlays));
        ops.extend(self.side_panel.take_op());
        ops
    }

    /// Effects since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The texts of notifications since the last call; other effects wait.
    pub(crate) fn take_notifications(&mut self) -> Vec<String> {
        let is_note = |effect: &mut Effect| matches!(effect, Effect::Notify(_));
        let notes = self.effects.extract_if(.., is_note);
        let texts = notes.filter_map(|note| match note {
            Effect::Notify(text) => Some(text),
            _ => None,
        });
        texts.collect()
    }

    /// Whether something visible changed; asking clears it.
    pub fn take_dirty(&mut self) -> bool {
        self.outbox.take_dirty()
    }

    /// Sends a prompt as if it had been typed.
    pub fn submit_text(&mut self, text: &str, now: Instant) {
        self.prompt.editor.set_text(text);
        self.act(Action::Submit { follow_up: false }, now);
    }

    /// The external editor has ended.
    pub fn edited(&mut self, text: &str) {
        self.prompt.editor.set_text(text);
        self.outbox.redraw(true);
    }

    /// Puts a file that was read into the prompt.
    pub fn attach(&mut self, file: Attachment, now: Instant) {
        let model = self.footer.model.as_ref();
        self.prompt.attach(file, model, &mut self.outbox);
        self.outbox.redraw(true);
        self.apply_actions(now);
    }

    /// Puts a text of the clipboard into the prompt.
    pub fn insert_paste(&mut self, text: &str) {
        self.prompt.editor.paste(text);
        self.outbox.redraw(true);
    }

    /// Receives the clipboard's text for a register.
    pub fn pasted(&mut self, text: &str) {
        self.prompt.editor.clipboard(text);
        self.outbox.redraw(true);
    }

    /// Shows what is wrong with the user's files.
    pub fn report(&mut self, problems: &[Problem]) {
        for problem in problems {
            self.transcript
                .notice(Severity::Warning, &problem.to_string());
        }
        self.outbox.redraw(!problems.is_empty());
    }

    /// Shows a line for a moment.
    pub fn toast(&mut self, toast: Toast, now: Instant) {
        self.act(toast, now);
    }

    pub fn set_theme(&mut self, theme: Theme) {
        *self.theme = theme;
        self.theme.mark_selected(self.settings.screen_reader);
        self.outbox.redraw(true);
    }

    pub fn set_keymap(&mut self, keymap: Keymap<Command>) {
        self.keymap = keymap;
        self.prompt.editor.set_modes(self.keymap.modes());
        self.transcript.set_expand_key(expand_key(&self.keymap));
        self.plugins
            .bind_keys(&mut self.keymap, &mut self.transcript);
        let used = &self.settings.keymap;
        keymap::refresh(&self.keymap, self.plugins.keys(), used, &mut self.overlays);
        self.pending_keys.clear();
        self.outbox.redraw(true);
    }

    /// Lists the themes; `current` is the chosen one.
    pub fn pick_theme(&mut self, choices: &[ThemeChoice], current: &str) {
        appearance::list_themes(choices, current, &mut self.overlays);
        self.outbox.redraw(true);
    }

    /// Lists the settings, or updates the open list.
    pub fn show_settings(&mut self, settings: Vec<SettingInfo>) {
        self.settings_editor.show(settings, &mut self.overlays);
        self.outbox.redraw(true);
    }

    /// Applies changed settings of the screen.
    pub fn set_settings(&mut self, settings: &ScreenSettings) {
        let settings = Arc::new(settings.clone());
        self.transcript.set_settings(&settings);
        self.activity.settings = Arc::clone(&settings);
        self.footer.settings = Arc::clone(&settings);
        self.side_panel.set_on(settings.side_panel);
        self.theme.mark_selected(settings.screen_reader);
        self.settings = settings;
        self.outbox.redraw(true);
    }

    /// Colours for code came back from the highlighter.
    pub fn on_highlight(&mut self, highlighted: &Highlighted) {
        let changed =
            self.transcript.on_highlight(highlighted) || self.overlays.apply_highlight(highlighted);
        self.outbox.redraw(changed);
    }

    /// A picture is ready to be shown.
    pub fn on_picture(&mut self, drawn: RenderedImage) {
        let changed = self.pictures.apply(drawn);
        self.outbox.redraw(changed);
    }

    /// Draws pictures for this terminal, or none.
    pub fn set_canvas(&mut self, canvas: Option<Canvas>) {
        if self.pictures.set_canvas(canvas) {
            self.transcript.set_cell(self.pictures.cell());
            self.outbox.redraw(true);
        }
    }

    /// Shows the file of a picture that an answer names, or the reason why it cannot be shown.
    pub fn set_illustration(&mut self, path: &str, read: &Result<String, String>) {
        let changed = self.transcript.set_illustration(path, read);
        self.outbox.redraw(changed);
    }

    /// When the screen changes next without an event.
    pub fn next_change(&self, now: Instant) -> NextChange {
        let jobs = jobs::next_change(&self.overlays, self.footer.jobs, now);
        let agents = subagents::next_change(self.footer.subagents, now);
        let activity = self.activity.next_change(now);
        let finding = self.prompt.editor.is_finding().then_some(now);
        let edge = self.pointer.next_edge_step();
        let cache = self.footer.cache.next_change(now);
        let printed = inline::is_on(self).then(|| self.transcript.next_print());
        NextChange {
            decoration: [activity, jobs, agents, cache, printed.flatten()]
                .into_iter()
                .flatten()
                .min(),
            work: [edge, finding].into_iter().flatten().min(),
        }
    }

    /// Continues longer work: a search for files, scrolling while a drag is at an edge. Removes a toast that was shown
    /// long enough.
    pub fn tick(&mut self, now: Instant) {
        self.activity.toast.expire(now);
        let found = self.prompt.editor.find_on();
        let scrolled = self.pointer.tick(&mut self.transcript, now);
        let is_idle = self.activity.is_idle();
        let footer = &mut self.footer;
        let model = footer.model.as_ref().filter(|_| is_idle);
        let tokens = footer.context_tokens;
        let counted = footer.cache.update(model, tokens, clock::now_ms());
        let aged = self.transcript.count_subagents(now);
        self.outbox.redraw(found || scrolled || counted || aged);
    }

    /// Moves the state that belongs to the terminal here from the tab that was in front.
    pub(crate) fn move_terminal_from(&mut self, from: &mut Self) {
        std::mem::swap(&mut self.highlighter, &mut from.highlighter);
        std::mem::swap(&mut self.pictures, &mut from.pictures);
        self.theme.clone_from(&from.theme);
        self.focus = from.focus;
        self.transcript.set_cell(self.pictures.cell());
        for app in [&mut *self, from] {
            app.pending_keys.clear();
            app.keys_shown.close();
            app.tabs.disarm_exit();
            app.pointer = Pointer::default();
        }
        from.transcript.forget_layout();
        self.transcript.print_below(&from.transcript);
        from.side_panel.leave();
        self.outbox.redraw(true);
    }

    /// Shows the new summaries of the tabs.
    pub(crate) fn set_summaries(&mut self, summaries: TabSummaries) {
        if !self.tabs.set_summaries(summaries, &mut self.overlays) {
            return;
        }
        self.footer.sessions = self.tabs.marks();
        let (open, joins) = (self.tabs.open_files(), self.footer.is_remote());
        sessions::mark_open(open, joins, &mut self.overlays);
        self.outbox.redraw(true);
    }

    /// Shows a toast about an event in a background tab.
    pub(crate) fn alert(&mut self, entry: &TabSummary, now: Instant) {
        self.act(tabs::alert(entry, &self.keymap), now);
    }

    /// Passes the mouse on; whether something visible changed.
    fn on_mouse(&mut self, mouse: MouseInput, now: Instant) -> bool {
        if Questions::is_in_front(&self.overlays) {
            // Above the question, the mouse is for the conversation.
            let over = Questions::on_mouse(mouse, &mut self.overlays, &mut self.outbox, now);
            if let Some(changed) = over {
                return changed;
            }
        } else if !self.overlays.is_empty() {
            let (overlays, transcript) = (&mut self.overlays, &mut self.transcript);
            return mouse::scroll_overlay(mouse, overlays, transcript, &mut self.outbox, now);
        }
        if self.side_panel.on_mouse(mouse, &mut self.outbox) {
            return true;
        }
        let target = MouseTarget {
            transcript: &mut self.transcript,
            prompt: &mut self.prompt,
            keymap: &self.keymap,
            outbox: &mut self.outbox,
        };
        self.pointer.on_mouse(mouse, target, now)
    }
}
