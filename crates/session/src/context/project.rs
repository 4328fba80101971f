//! The project context: instructions, skills and prompt templates. It is read in the background when the first session
//! opens and with `Reload`; prompts wait for it.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::JoinHandle;

use osier_agent::{Op, Severity};
use osier_base::slash_text::SlashText;
use osier_context::{ContextSources, PathInstructions, ProjectContext};
use osier_extensions::plugins::discover::PluginFolder;
use osier_extensions::plugins::{Loaded, Plugins};
use osier_peers::PeerFolders;
use osier_peers::commands::{Expansion, Placeholders};
use osier_protocol::{AddedCommand, Event};
use osier_tools::READ;

use crate::context::nearby::Nearby;
use crate::emitter::{Callback, Emitter};
use crate::setup::SessionSetup;

/// The part of the context that is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    /// Files of plugins have changed; the prompt stays as it is.
    Plugins,
}

/// The result of reading; no context for `Scope::Plugins`.
type Read = (Option<(ProjectContext, PathInstructions)>, Loaded);

/// The result of expanding a prompt.
#[derive(Debug)]
pub(crate) enum Expanded {
    /// The prompt is ready.
    Text,
    /// There is nothing left to send: a plugin runs the command, or expanding it failed.
    Nothing,
    /// The prompt needs more than text.
    Command(Box<Expansion>),
}

/// The context of the working directory.
#[derive(Debug, Default)]
pub(crate) struct ContextState {
    current: ProjectContext,
    reading: Option<JoinHandle<Read>>,
    /// The commands that were published last.
    commands: Vec<AddedCommand>,
    /// Requested while a read was running.
    next: Option<Scope>,
    nearby: Nearby,
}

impl ContextState {
    /// The instructions for directories that work moves to.
    pub(crate) fn nearby(&self) -> &Nearby {
        &self.nearby
    }

    /// The files of the instructions, the nearest last.
    pub(crate) fn instruction_files(&self) -> Vec<PathBuf> {
        let files = self.current.files.iter();
        files.map(|file| file.path.clone()).collect()
    }

    /// Whether prompts have to wait.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Starts to read. If a read is running, the next one follows it.
    pub(crate) fn read(
        &mut self,
        scope: Scope,
        setup: &SessionSetup,
        plugins: (&Arc<Plugins>, Vec<PluginFolder>),
        done: Callback<()>,
    ) {
        if self.is_reading() {
            let everything = self.next == Some(Scope::Everything);
            self.next = Some(if everything { Scope::Everything } else { scope });
            return;
        }
        let sources = ContextSources {
            config: setup.folders.config.clone(),
            peers: PeerFolders::of(&setup.folders.environment),
            cwd: setup.cwd.clone(),
            extra: setup.context.clone(),
        };
        let (plugins, folders) = (Arc::clone(plugins.0), plugins.1);
        // In the background: a plugin can send requests while it loads.
        self.reading = Some(osier_base::task::spawn(async move {
            let context = async {
                let load = move || {
                    let context = ProjectContext::load(&sources);
                    let nearby = PathInstructions::new(&sources, &context);
                    (context, nearby)
                };
                match scope {
                    Scope::Everything => osier_base::task::spawn_blocking(load).await.ok(),
                    Scope::Plugins => None,
                }
            };
            let read = tokio::join!(context, plugins.load(folders));
            done.call(());
            read
        }));
    }

    /// Stores the context that was read. Returns the loaded plugins, and whether the context is new.
    pub(crate) async fn finish(&mut self, emitter: &Emitter) -> Option<(Loaded, bool)> {
        let (context, loaded) = self.reading.take()?.await.unwrap_or_default();
        let is_new = context.is_some();
        if let Some((context, nearby)) = context {
            self.nearby.set(nearby);
            emitter.problems(&context.problems);
            self.current = context;
        }
        Some((loaded, is_new))
    }

    /// The read that was requested meanwhile.
    pub(crate) fn take_next(&mut self) -> Option<Scope> {
        self.next.take()
    }

    /// Cancels the read. Whether one was running.
    pub(crate) fn cancel(&mut self) -> bool {
        let reading = self.reading.take();
        if let Some(reading) = &reading {
            reading.abort();
        }
        reading.is_some()
    }

    /// The part of the system prompt for an agent with these tools.
    pub(crate) fn prompt(&self, tools: &[String]) -> String {
        let can_read = tools.iter().any(|tool| tool == READ);
        self.current.prompt(can_read)
    }

    /// Publishes the slash commands of plugins, skills and templates if they have changed.
    pub(crate) fn publish_commands(&mut self, plugins: &Plugins, emitter: &Emitter) {
        let mut commands = plugins.commands();
        for command in self.current.commands() {
            if commands.iter().all(|known| known.name != command.name) {
                commands.push(command);
            }
        }
        if commands != self.commands {
            self.commands.clone_from(&commands);
            emitter.publish(Event::Commands { commands });
        }
    }

    /// Publishes the parts of the context.
    pub(crate) fn publish(&self, emitter: &Emitter) {
        emitter.publish(Event::ContextParts {
            parts: self.current.parts(),
        });
    }

    /// Replaces `/name arguments` by its template, and `//text` by `/text`.
    pub(crate) fn expand(
        &self,
        op: &mut Op,
        plugins: &Plugins,
        values: &Placeholders,
        emitter: &Emitter,
    ) -> Expanded {
        let (Op::Prompt { text, typed, .. }
        | Op::Steer { text, typed, .. }
        | Op::FollowUp { text, typed, .. }) = op
        else {
            return Expanded::Text;
        };
        let (name, arguments) = match SlashText::read(text) {
            SlashText::Command { name, arguments } => (name, arguments),
            SlashText::Literal(literal) => {
                let literal = literal.to_owned();
                let sent = std::mem::replace(text, literal);
                typed.get_or_insert(sent);
                return Expanded::Text;
            }
            SlashText::Text => return Expanded::Text,
        };
        if plugins.run_command(name, arguments.trim()) {
            return Expanded::Nothing;
        }
        match self.current.expand(name, arguments, values) {
            None => Expanded::Text,
            Some(Ok(expanded)) => {
                let sent = std::mem::replace(text, expanded.text.clone());
                typed.get_or_insert(sent);
                let is_text = expanded.commands.is_empty()
                    && expanded.mentions.is_empty()
                    && expanded.model.is_none()
                    && expanded.allowed_tools.is_empty();
                if is_text {
                    Expanded::Text
                } else {
                    Expanded::Command(Box::new(expanded))
                }
            }
            Some(Err(problem)) => {
                emitter.notice(Severity::Error, problem.to_string());
                Expanded::Nothing
            }
        }
    }
}
