//! `settings.toml`: what the user prefers. One table describes every setting; reading, checking and
//! the documentation come from it. A wrong line is reported and skipped, the rest still counts.

mod edit;
mod list;
mod screen;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::{Spanned, Value};

use osier_base::folders::Folders;
use osier_base::problem::{Problem, nearest};
use osier_llm::auth::is_safe;
use osier_llm::catalogue::refresh::SOURCE;
use osier_llm::{HttpOptions, ThinkingLevel};
use osier_permissions::trust::{Trust, project_root};
use osier_permissions::{Mode, Rule, RuleLists};
use osier_sandbox::SandboxMode;

pub use edit::{quoted, set, write};
pub use list::{SettingInfo, Source, list, literal};
pub use screen::{ExitOutput, FooterPart, Images, READING, wants_reading};

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `PROVIDER/ID[:LEVEL]`, or any part of a name that finds one.
    pub model: Option<String>,
    /// The models that cycling walks; patterns with `*` allowed. Empty: every model with a key.
    pub models: Vec<String>,
    /// Models to fall back to when a call fails, in order.
    pub fallback: Vec<String>,
    /// Models that lists show first, and that cycling walks where `models` is empty.
    pub favourites: Vec<String>,
    /// The models of the roles.
    pub plan_model: Option<String>,
    pub edit_model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    pub theme: String,
    pub keymap: String,
    pub mouse: bool,
    /// What stays in the scrollback on exit.
    pub exit_output: ExitOutput,
    pub show_thinking: bool,
    pub reduced_motion: bool,
    /// Whether the screen is laid out to be read aloud.
    pub screen_reader: bool,
    /// How pictures are shown.
    pub images: Images,
    pub notifications: bool,
    /// Whether the title of the terminal says what is shown and how it stands.
    pub title: bool,
    /// The last line, from its ends.
    pub footer_left: Vec<FooterPart>,
    pub footer_right: Vec<FooterPart>,
    pub max_retries: u32,
    /// Whether a window that is nearly full is compacted without being asked.
    pub auto_compact: bool,
    pub discover_local_models: bool,
    /// Whether the files of a project are recorded, so that they can be brought back.
    pub checkpoints: bool,
    /// Whether the model can give tasks to sub-agents.
    pub subagents: bool,
    /// MB that recorded files may have after `osier checkpoints prune`; any number when not set.
    pub checkpoints_limit: Option<u64>,
    /// Whether credentials go into the system's keyring.
    pub keyring: bool,
    /// The osier server that calls go through.
    pub proxy: Option<String>,
    /// Certificates of authorities to trust besides the system's; relative to the file.
    pub ca_file: Option<PathBuf>,
    /// Where newly published models are asked for once a day; not at all when not set.
    pub refresh_models: Option<String>,
    /// How much is asked before tools run.
    pub permissions: Mode,
    /// Rules: what runs without being asked for, what is always asked, what never runs.
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    /// Whether the user's hooks of Claude Code run here too.
    pub claude_hooks: bool,
    /// What commands may do.
    pub sandbox: SandboxMode,
    pub sandbox_network: bool,
    /// Folders that confined commands may write beside the working directory.
    pub sandbox_write: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            models: Vec::new(),
            fallback: Vec::new(),
            favourites: Vec::new(),
            plan_model: None,
            edit_model: None,
            thinking: None,
            theme: "system".to_owned(),
            keymap: "default".to_owned(),
            mouse: true,
            exit_output: ExitOutput::Answer,
            show_thinking: true,
            reduced_motion: false,
            screen_reader: false,
            images: Images::Auto,
            notifications: true,
            title: true,
            footer_left: FooterPart::LEFT.to_vec(),
            footer_right: FooterPart::RIGHT.to_vec(),
            max_retries: 5,
            auto_compact: true,
            discover_local_models: true,
            checkpoints: true,
            subagents: false,
            checkpoints_limit: None,
            keyring: false,
            proxy: None,
            ca_file: None,
            refresh_models: None,
            permissions: Mode::default(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            claude_hooks: false,
            sandbox: SandboxMode::default(),
            sandbox_network: false,
            sandbox_write: Vec::new(),
        }
    }
}

/// One setting: its key, what it accepts, what it does, and how it is taken.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub name: &'static str,
    /// As it would be written; empty when there is none.
    pub default: &'static str,
    pub accepts: &'static str,
    pub description: &'static str,
    take: fn(&mut Settings, &Value) -> Option<()>,
}

/// Every setting in the order of the documentation.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "model",
        default: "",
        accepts: "\"PROVIDER/ID\", \"PROVIDER/ID:LEVEL\" or part of a name",
        description: "The model to start with.",
        take: |settings, value| text(value).map(|value| settings.model = Some(value)),
    },
    Setting {
        name: "models",
        default: "[]",
        accepts: "a list of names and patterns, e.g. [\"anthropic/*\", \"gpt-5\"]",
        description: "The models that cycling walks.",
        take: |settings, value| texts(value).map(|value| settings.models = value),
    },
    Setting {
        name: "fallback",
        default: "[]",
        accepts: "a list of names",
        description: "Models that take over, in order, when a call fails.",
        take: |settings, value| texts(value).map(|value| settings.fallback = value),
    },
    Setting {
        name: "favourites",
        default: "[]",
        accepts: "a list of \"PROVIDER/ID\"",
        description: "Models that are listed first; cycling walks them where `models` is empty.",
        take: |settings, value| texts(value).map(|value| settings.favourites = value),
    },
    Setting {
        name: "plan_model",
        default: "",
        accepts: "\"PROVIDER/ID\", \"PROVIDER/ID:LEVEL\" or part of a name",
        description: "The model of the role `plan`.",
        take: |settings, value| text(value).map(|value| settings.plan_model = Some(value)),
    },
    Setting {
        name: "edit_model",
        default: "",
        accepts: "\"PROVIDER/ID\", \"PROVIDER/ID:LEVEL\" or part of a name",
        description: "The model of the role `edit`.",
        take: |settings, value| text(value).map(|value| settings.edit_model = Some(value)),
    },
    Setting {
        name: "thinking",
        default: "",
        accepts: "off, minimal, low, medium, high, xhigh or max",
        description: "The thinking level to start with.",
        take: |settings, value| {
            let level = ThinkingLevel::from_name(value.as_str()?)?;
            settings.thinking = Some(level);
            Some(())
        },
    },
    Setting {
        name: "theme",
        default: "\"system\"",
        accepts: "the name of a theme",
        description: "The colours: a theme of osier, a file of `themes/`, or `DARK/LIGHT` to follow the terminal.",
        take: |settings, value| text(value).map(|value| settings.theme = value),
    },
    Setting {
        name: "keymap",
        default: "\"default\"",
        accepts: "the name of a keymap",
        description: "The keys: `default`, `vim`, `emacs`, or a file of `keymaps/` laid over the default.",
        take: |settings, value| text(value).map(|value| settings.keymap = value),
    },
    Setting {
        name: "mouse",
        default: "true",
        accepts: "true or false",
        description: "Whether the wheel scrolls and a click folds.",
        take: |settings, value| value.as_bool().map(|value| settings.mouse = value),
    },
    Setting {
        name: "exit_output",
        default: "\"answer\"",
        accepts: "nothing, answer or transcript",
        description: "What stays in the terminal after osier has ended.",
        take: |settings, value| {
            settings.exit_output = match value.as_str()? {
                "nothing" => ExitOutput::Nothing,
                "answer" => ExitOutput::Answer,
                "transcript" => ExitOutput::Transcript,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "show_thinking",
        default: "true",
        accepts: "true or false",
        description: "Whether thinking starts unfolded.",
        take: |settings, value| value.as_bool().map(|value| settings.show_thinking = value),
    },
    Setting {
        name: "reduced_motion",
        default: "false",
        accepts: "true or false",
        description: "No spinner: the working line changes only with what happens.",
        take: |settings, value| value.as_bool().map(|value| settings.reduced_motion = value),
    },
    Setting {
        name: "screen_reader",
        default: "false",
        accepts: "true or false",
        description: "For screen readers: one column, words instead of signs and lines, the cursor on what is selected. Also `--screen-reader` and `OSIER_SCREEN_READER=1`.",
        take: |settings, value| value.as_bool().map(|value| settings.screen_reader = value),
    },
    Setting {
        name: "images",
        default: "\"auto\"",
        accepts: "auto, kitty, iterm, sixel, blocks or off",
        description: "How pictures are shown: as well as the terminal says it can, in a way of its own, in coloured half-blocks, or not at all.",
        take: |settings, value| {
            settings.images = match value.as_str()? {
                "auto" => Images::Auto,
                "kitty" => Images::Kitty,
                "iterm" => Images::Iterm,
                "sixel" => Images::Sixel,
                "blocks" => Images::Blocks,
                "off" => Images::Off,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "notifications",
        default: "true",
        accepts: "true or false",
        description: "Tell the terminal when a turn ends while it is not focused.",
        take: |settings, value| value.as_bool().map(|value| settings.notifications = value),
    },
    Setting {
        name: "title",
        default: "true",
        accepts: "true or false",
        description: "Let the terminal's title name the session that is shown, and what waits.",
        take: |settings, value| value.as_bool().map(|value| settings.title = value),
    },
    Setting {
        name: "footer_left",
        default: screen::LEFT,
        accepts: screen::PARTS,
        description: "What the last line shows from the left, in this order.",
        take: |settings, value| screen::parts(value).map(|parts| settings.footer_left = parts),
    },
    Setting {
        name: "footer_right",
        default: screen::RIGHT,
        accepts: screen::PARTS,
        description: "What the last line shows to the right edge, in this order.",
        take: |settings, value| screen::parts(value).map(|parts| settings.footer_right = parts),
    },
    Setting {
        name: "max_retries",
        default: "5",
        accepts: "a whole number from 0",
        description: "How often a failed model call is tried again.",
        take: |settings, value| {
            settings.max_retries = u32::try_from(value.as_integer()?).ok()?;
            Some(())
        },
    },
    Setting {
        name: "auto_compact",
        default: "true",
        accepts: "true or false",
        description: "Whether the earlier part of a conversation is summarised when the window is nearly full.",
        take: |settings, value| value.as_bool().map(|value| settings.auto_compact = value),
    },
    Setting {
        name: "discover_local_models",
        default: "true",
        accepts: "true or false",
        description: "Whether Ollama, LM Studio, llama.cpp and vLLM are looked for on this machine.",
        take: |settings, value| {
            value
                .as_bool()
                .map(|value| settings.discover_local_models = value)
        },
    },
    Setting {
        name: "checkpoints",
        default: "true",
        accepts: "true or false",
        description: "Whether files are recorded before they change, so that they can be brought back.",
        take: |settings, value| value.as_bool().map(|value| settings.checkpoints = value),
    },
    Setting {
        name: "subagents",
        default: "false",
        accepts: "true or false",
        description: "Whether the model can give tasks to sub-agents (the tool `task`).",
        take: |settings, value| value.as_bool().map(|value| settings.subagents = value),
    },
    Setting {
        name: "checkpoints_limit",
        default: "",
        accepts: "a number of MB",
        description: "What recorded files may have after `osier checkpoints prune`.",
        take: |settings, value| {
            let megabytes = u64::try_from(value.as_integer()?).ok()?;
            settings.checkpoints_limit = Some(megabytes);
            Some(())
        },
    },
    Setting {
        name: "credential_store",
        default: "\"file\"",
        accepts: if cfg!(feature = "keyring") {
            "file or keyring"
        } else {
            "file (this build has no keyring)"
        },
        description: "Where keys and sign-ins are kept.",
        take: |settings, value| {
            settings.keyring = match value.as_str()? {
                "file" => false,
                "keyring" if cfg!(feature = "keyring") => true,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "proxy",
        default: "",
        accepts: "an https address, or one on this machine",
        description: "The osier server that model calls go through.",
        take: |settings, value| address(value).map(|value| settings.proxy = Some(value)),
    },
    Setting {
        name: "ca_file",
        default: "",
        accepts: "the path of a PEM file",
        description: "Certificates of authorities to trust besides the system's.",
        take: |settings, value| text(value).map(|value| settings.ca_file = Some(value.into())),
    },
    Setting {
        name: "refresh_models",
        default: "false",
        accepts: "true, false, or the https address of a copy of models.dev/api.json",
        description: "Whether newly published models and prices are asked for once a day.",
        take: |settings, value| {
            settings.refresh_models = match value.as_bool() {
                Some(wanted) => wanted.then(|| SOURCE.to_owned()),
                None => Some(address(value)?),
            };
            Some(())
        },
    },
    Setting {
        name: "permissions",
        default: "\"yolo\"",
        accepts: "yolo, ask or plan",
        description: "How much is asked before tools run.",
        take: |settings, value| {
            settings.permissions = Mode::from_name(value.as_str()?)?;
            Some(())
        },
    },
    Setting {
        name: "allow",
        default: "[]",
        accepts: RULES,
        description: "What runs without being asked for.",
        take: |settings, value| rules(value).map(|rules| settings.allow.extend(rules)),
    },
    Setting {
        name: "ask",
        default: "[]",
        accepts: RULES,
        description: "What is asked in every mode.",
        take: |settings, value| rules(value).map(|rules| settings.ask.extend(rules)),
    },
    Setting {
        name: "deny",
        default: "[]",
        accepts: RULES,
        description: "What never runs.",
        take: |settings, value| rules(value).map(|rules| settings.deny.extend(rules)),
    },
    Setting {
        name: "claude_hooks",
        default: "false",
        accepts: "true or false",
        description: "Whether the hooks of `~/.claude/settings.json` run here too.",
        take: |settings, value| value.as_bool().map(|value| settings.claude_hooks = value),
    },
    Setting {
        name: "sandbox",
        default: "\"off\"",
        accepts: "off, workspace or read-only",
        description: "What commands may write; without the network unless `sandbox_network`.",
        take: |settings, value| {
            settings.sandbox = SandboxMode::from_name(value.as_str()?)?;
            Some(())
        },
    },
    Setting {
        name: "sandbox_network",
        default: "false",
        accepts: "true or false",
        description: "Whether confined commands reach the network.",
        take: |settings, value| {
            value
                .as_bool()
                .map(|value| settings.sandbox_network = value)
        },
    },
    Setting {
        name: "sandbox_write",
        default: "[]",
        accepts: "a list of folders, e.g. [\"~/.cargo\"]",
        description: "What confined commands may write beside the working directory.",
        take: |settings, value| texts(value).map(|value| settings.sandbox_write = value),
    },
];

const RULES: &str = "a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]";

impl Settings {
    /// The permission rules.
    pub fn rules(&self) -> RuleLists<'_> {
        RuleLists {
            allow: &self.allow,
            ask: &self.ask,
            deny: &self.deny,
        }
    }

    /// How requests go out.
    pub fn http(&self) -> HttpOptions {
        HttpOptions {
            ca_file: self.ca_file.as_deref().map(Into::into),
            ..HttpOptions::default()
        }
    }

    /// The user's settings with those of the project around `cwd` over them, where it is trusted. A
    /// project may add rules and tighten what the user chose, never loosen it.
    pub fn load_for(folders: &Folders, cwd: &Path) -> (Self, Vec<Problem>) {
        let (user, mut problems) = Self::load(&folders.settings());
        let path = project_root(cwd).join(".osier/settings.toml");
        if !path.is_file() || !Trust::new(folders).allows(cwd) {
            return (user, problems);
        }
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("cannot be read: {error}");
                problems.push(Problem::of_file(path, message, "it is left out"));
                return (user, problems);
            }
        };
        let (mut settings, found) = Self::parse_over(user.clone(), &path, &text);
        problems.extend(found);
        settings.permissions = settings.permissions.max(user.permissions);
        settings.sandbox = settings.sandbox.max(user.sandbox);
        settings.sandbox_network &= user.sandbox_network;
        settings.sandbox_write = user.sandbox_write;
        settings.claude_hooks = user.claude_hooks;
        // Where secrets go is for the user alone to say.
        settings.proxy = user.proxy;
        settings.ca_file = user.ca_file;
        (settings, problems)
    }

    /// Reads the file at `path`. A missing file is no problem.
    pub fn load(path: &Path) -> (Self, Vec<Problem>) {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                (Self::default(), Vec::new())
            }
            Err(error) => {
                let message = format!("cannot be read: {error}");
                let problem = Problem::of_file(path, message, "the defaults are used");
                (Self::default(), vec![problem])
            }
        }
    }

    /// Reads `text`, which stands at `path`.
    pub fn parse(path: &Path, text: &str) -> (Self, Vec<Problem>) {
        Self::parse_over(Self::default(), path, text)
    }

    fn parse_over(mut settings: Self, path: &Path, text: &str) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let table = match toml::from_str::<BTreeMap<Spanned<String>, Spanned<Value>>>(text) {
            Ok(table) => table,
            Err(error) => {
                let hint = "the defaults are used until it is mended";
                let problem = Problem::of_file(path, error.message(), hint);
                let offset = error.span().map_or(0, |span| span.start);
                return (settings, vec![problem.at(text, offset)]);
            }
        };
        for (key, value) in table {
            let name = key.get_ref().as_str();
            let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
                problems.push(unknown_key(path, name).at(text, key.span().start));
                continue;
            };
            if (setting.take)(&mut settings, value.get_ref()).is_none() {
                let message = format!("`{name}` cannot be `{}`", value.get_ref());
                let hint = format!("it accepts {}", setting.accepts);
                let problem = Problem::of_file(path, message, hint);
                problems.push(problem.at(text, value.span().start));
            }
        }
        if let (Some(file), Some(folder)) = (&settings.ca_file, path.parent()) {
            settings.ca_file = Some(folder.join(file));
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        (settings, problems)
    }
}

fn unknown_key(path: &Path, name: &str) -> Problem {
    let hint = match nearest(name, SETTINGS.iter().map(|setting| setting.name)) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "`osier config schema` lists the settings".to_owned(),
    };
    Problem::of_file(path, format!("unknown setting `{name}`"), hint)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// An address to which secrets may go.
fn address(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim().trim_end_matches('/');
    is_safe(text).then(|| text.to_owned())
}

fn rules(value: &Value) -> Option<Vec<String>> {
    let rules = texts(value)?;
    let whole = rules.iter().all(|rule| Rule::parse(rule).is_some());
    whole.then_some(rules)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

#[cfg(test)]
mod tests;
