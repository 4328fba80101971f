//! The table of all settings, from which parsing, checks and the documentation are derived.

use super::Take::{Plain, Safety};
use super::hold::at_least_ask;
use super::rows::{MODEL, flag, list, model};
use super::schema::Form::{
    Amount, Flag, FlagOrText, FlagOrTexts, ModelTables, Number, Parts, ServerTables, Text, Texts,
    Word,
};
use super::screen::{ExitOutput, Images};
use super::value::{
    address, cache_retention, dollars, hosts, language_servers, model_options, network, number,
    restrictions, rules, text, texts, web_search,
};
use super::{Setting, hold, screen};
use osier_llm::ThinkingLevel;
use osier_llm::catalogue::refresh::SOURCE;
use osier_protocol::{NetworkAccess, PermissionMode, SandboxMode};

const RULES: &str = "a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]";

/// All settings, in the order of the documentation.
pub const SETTINGS: &[Setting] = &[
    model("model", "The model to start with.", |settings, value| {
        text(value).map(|value| settings.model = Some(value))
    }),
    list(
        "models",
        "a list of names and patterns, e.g. [\"anthropic/*\", \"gpt-5\"]",
        "Models for switching with a key.",
        |settings, value| texts(value).map(|value| settings.models = value),
    ),
    list(
        "fallback",
        "a list of names",
        "Fallback models for failed calls, in order.",
        |settings, value| texts(value).map(|value| settings.fallback = value),
    ),
    list(
        "favourites",
        "a list of \"PROVIDER/ID\"",
        "Models that lists show first; switching uses them when `models` is empty.",
        |settings, value| texts(value).map(|value| settings.favourites = value),
    ),
    Setting {
        name: "model_options",
        default: "{}",
        accepts: "a table of tables by model, e.g. {\"openai/gpt-5*\" = {tools = \"edit\", verbosity = \"low\"}}, with `tools` (\"edit\", \"patch\" or \"gemini\"), `verbosity` (\"low\", \"medium\" or \"high\"), `service_tier` (a text) and `parallel_calls` (true or false)",
        form: ModelTables,
        description: "The tools and request options of models, by \"PROVIDER/ID\", id or pattern.",
        take: Plain(|settings, value| {
            model_options(value).map(|value| settings.model_options = value)
        }),
    },
    model(
        "plan_model",
        "The model of the role `plan`.",
        |settings, value| text(value).map(|value| settings.plan_model = Some(value)),
    ),
    model(
        "edit_model",
        "The model of the role `edit`.",
        |settings, value| text(value).map(|value| settings.edit_model = Some(value)),
    ),
    model(
        "small_model",
        "The model for titles, searches and checks of summaries, and, if it is set, for summaries; without it, a cheap model of the same provider. \"off\": no titles, and the model of the session for the rest.",
        |settings, value| text(value).map(|value| settings.small_model = Some(value)),
    ),
    Setting {
        name: "review_model",
        default: "",
        accepts: MODEL,
        form: Text,
        description: "The model of the permission mode `auto`; without it, a cheap model of the same provider, or the model of the session.",
        take: Safety(
            |settings, value| text(value).map(|value| settings.review_model = Some(value)),
            at_least_ask,
        ),
    },
    Setting {
        name: "thinking",
        default: "",
        accepts: "off, minimal, low, medium, high, xhigh or max",
        form: Word(&["off", "minimal", "low", "medium", "high", "xhigh", "max"]),
        description: "The thinking level to start with; without it, `medium` for models that can think.",
        take: Plain(|settings, value| {
            let level = ThinkingLevel::from_name(value.as_str()?)?;
            settings.thinking = Some(level);
            Some(())
        }),
    },
    Setting {
        name: "theme",
        default: "\"system\"",
        accepts: "the name of a theme",
        form: Text,
        description: "Colour theme: a built-in theme, a file in `themes/`, or `DARK/LIGHT` to follow the terminal.",
        take: Plain(|settings, value| text(value).map(|value| settings.theme = value)),
    },
    Setting {
        name: "keymap",
        default: "\"default\"",
        accepts: "the name of a keymap",
        form: Text,
        description: "Keymap: `default`, `vim`, `emacs`, or a file in `keymaps/` that extends the default.",
        take: Plain(|settings, value| text(value).map(|value| settings.keymap = value)),
    },
    flag(
        "mouse",
        "true",
        "Enable the mouse: the wheel scrolls, a click expands or collapses.",
        |settings, value| value.as_bool().map(|value| settings.mouse = value),
    ),
    Setting {
        name: "exit_output",
        default: "\"answer\"",
        accepts: "nothing, answer or transcript",
        form: Word(&["nothing", "answer", "transcript"]),
        description: "What stays in the terminal after exit.",
        take: Plain(|settings, value| {
            ExitOutput::from_name(value.as_str()?).map(|output| settings.exit_output = output)
        }),
    },
    flag(
        "show_thinking",
        "true",
        "Whether thinking is expanded at first.",
        |settings, value| value.as_bool().map(|value| settings.show_thinking = value),
    ),
    flag(
        "turn_summary",
        "true",
        "Show the model, the duration, the tools and the cost below each turn.",
        |settings, value| value.as_bool().map(|value| settings.turn_summary = value),
    ),
    flag(
        "reduced_motion",
        "false",
        "No spinner: the status line changes only on events.",
        |settings, value| value.as_bool().map(|value| settings.reduced_motion = value),
    ),
    flag(
        "screen_reader",
        "false",
        "Screen reader mode: one column, words instead of symbols and lines, the cursor on the selection. Also `--screen-reader` and `OSIER_SCREEN_READER=1`.",
        |settings, value| value.as_bool().map(|value| settings.screen_reader = value),
    ),
    flag(
        "side_panel",
        "false",
        "Show the side panel on screens with 140 columns or more: changed files, jobs, terminals and the to-do list.",
        |settings, value| value.as_bool().map(|value| settings.side_panel = value),
    ),
    Setting {
        name: "images",
        default: "\"auto\"",
        accepts: "auto, kitty, iterm, sixel, blocks or off",
        form: Word(&["auto", "kitty", "iterm", "sixel", "blocks", "off"]),
        description: "How images are shown: detected from the terminal, with a fixed protocol, as coloured half-blocks, or not at all.",
        take: Plain(|settings, value| {
            Images::from_name(value.as_str()?).map(|images| settings.images = images)
        }),
    },
    flag(
        "notifications",
        "true",
        "Send a terminal notification when a turn ends while the terminal is not focused.",
        |settings, value| value.as_bool().map(|value| settings.notifications = value),
    ),
    flag(
        "title",
        "true",
        "Show the session and its state in the terminal title.",
        |settings, value| value.as_bool().map(|value| settings.title = value),
    ),
    Setting {
        name: "footer_left",
        default: screen::LEFT,
        accepts: screen::PARTS,
        form: Parts,
        description: "Parts of the footer on the left, in this order.",
        take: Plain(|settings, value| {
            screen::parts(value).map(|parts| settings.footer_left = parts)
        }),
    },
    Setting {
        name: "footer_right",
        default: screen::RIGHT,
        accepts: screen::PARTS,
        form: Parts,
        description: "Parts of the footer on the right, in this order.",
        take: Plain(|settings, value| {
            screen::parts(value).map(|parts| settings.footer_right = parts)
        }),
    },
    Setting {
        name: "max_retries",
        default: "5",
        accepts: "a whole number from 0",
        form: Number(0),
        description: "How often a failed model call is tried again.",
        take: Plain(|settings, value| {
            settings.max_retries = number(value)?;
            Some(())
        }),
    },
    Setting {
        name: "idle_timeout",
        default: "300",
        accepts: "a number of seconds from 1",
        form: Number(1),
        description: "How long a model may send no content before the call is tried again. Signs of life without content do not count.",
        take: Plain(|settings, value| {
            settings.idle_timeout = number(value).filter(|seconds| *seconds > 0)?;
            Some(())
        }),
    },
    Setting {
        name: "answer_timeout",
        default: "3600",
        accepts: "a number of seconds from 1",
        form: Number(1),
        description: "How long one answer may take in non-interactive modes.",
        take: Plain(|settings, value| {
            settings.answer_timeout = number(value).filter(|seconds| *seconds > 0)?;
            Some(())
        }),
    },
    Setting {
        name: "background_after",
        default: "600",
        accepts: "a number of seconds; 0 for never",
        form: Number(0),
        description: "How long a command of the model may run before it becomes a background job. A timeout that the model sets takes precedence.",
        take: Plain(|settings, value| {
            settings.background_after = number(value)?;
            Some(())
        }),
    },
    Setting {
        name: "max_cost",
        default: "",
        accepts: "a number of US dollars",
        form: Amount,
        description: "Stop a session before the next model call when its calls have cost this much; `/budget` raises it.",
        take: Plain(|settings, value| {
            dollars(value).map(|cost| settings.budget.cost = Some(cost).filter(|cost| *cost > 0.0))
        }),
    },
    Setting {
        name: "max_tokens",
        default: "",
        accepts: "a whole number",
        form: Number(0),
        description: "Stop a session when its model calls have used this many input and output tokens.",
        take: Plain(|settings, value| {
            number(value)
                .map(|tokens| settings.budget.tokens = Some(tokens).filter(|tokens| *tokens > 0))
        }),
    },
    Setting {
        name: "max_session_turns",
        default: "",
        accepts: "a whole number",
        form: Number(0),
        description: "Stop a session after this many model calls, those of subagents and summaries included.",
        take: Plain(|settings, value| {
            number(value)
                .map(|turns| settings.budget.turns = Some(turns).filter(|turns| *turns > 0))
        }),
    },
    flag(
        "describe_environment",
        "true",
        "Whether the first request of a session describes date, system, shell, git, files and the limits of the sandbox.",
        |settings, value| {
            value
                .as_bool()
                .map(|value| settings.describe_environment = value)
        },
    ),
    flag(
        "loop_guard",
        "true",
        "Whether osier stops a model that repeats the same tool calls with the same results.",
        |settings, value| value.as_bool().map(|value| settings.loop_guard = value),
    ),
    flag(
        "lsp",
        "true",
        "Whether language servers of trusted projects report errors after changes and give the model tools such as `definition`.",
        |settings, value| value.as_bool().map(|value| settings.lsp = value),
    ),
    Setting {
        name: "lsp_servers",
        default: "{}",
        accepts: "a table of tables by server, e.g. {gopls = {disabled = true}, nixd = {command = [\"nixd\"], extensions = [\"nix\"], markers = [\"flake.nix\"], options = {}}}",
        form: ServerTables,
        description: "Changes of the known language servers, and further ones.",
        take: Plain(|settings, value| {
            language_servers(value).map(|value| settings.lsp_servers = value)
        }),
    },
    Setting {
        name: "lsp_wait",
        default: "1500",
        accepts: "a number of milliseconds",
        form: Number(0),
        description: "How long the result of a change waits for language servers. Errors that come later follow in a reminder.",
        take: Plain(|settings, value| number(value).map(|value| settings.lsp_wait = value)),
    },
    flag(
        "format",
        "true",
        "Whether formatters of trusted projects format files after the model changed them.",
        |settings, value| value.as_bool().map(|value| settings.format = value),
    ),
    Setting {
        name: "mcp_tools_share",
        default: "10",
        accepts: "a percentage from 0 to 100",
        form: Number(0),
        description: "The share of the context window that the definitions of MCP tools may fill. Beyond it the model loads them on demand; 100 turns that off.",
        take: Plain(|settings, value| {
            settings.mcp_tools_share = number(value).filter(|percent| *percent <= 100)?;
            Some(())
        }),
    },
    flag(
        "auto_compact",
        "true",
        "Whether the conversation is compacted when the context window is nearly full.",
        |settings, value| value.as_bool().map(|value| settings.auto_compact = value),
    ),
    flag(
        "drop_results",
        "true",
        "Whether results of tools that the model no longer needs are left out of requests where that saves money.",
        |settings, value| value.as_bool().map(|value| settings.drop_results = value),
    ),
    flag(
        "titles",
        "true",
        "Whether a small model writes the titles of sessions without a name.",
        |settings, value| value.as_bool().map(|value| settings.titles = value),
    ),
    flag(
        "discover_local_models",
        "true",
        "Whether osier detects Ollama, LM Studio, llama.cpp and vLLM on this machine.",
        |settings, value| {
            value
                .as_bool()
                .map(|value| settings.discover_local_models = value)
        },
    ),
    flag(
        "checkpoints",
        "true",
        "Whether checkpoints record files before they change, so that they can be restored.",
        |settings, value| value.as_bool().map(|value| settings.checkpoints = value),
    ),
    flag(
        "subagents",
        "false",
        "Whether the model can start subagents (the tool `task`).",
        |settings, value| value.as_bool().map(|value| settings.subagents = value),
    ),
    Setting {
        name: "checkpoints_limit",
        default: "5000",
        accepts: "a number of MB",
        form: Number(0),
        description: "Size limit of checkpoints: those of the least recently used sessions are removed first.",
        take: Plain(|settings, value| {
            number(value).map(|limit| settings.checkpoints_limit = limit)
        }),
    },
    Setting {
        name: "checkpoints_days",
        default: "90",
        accepts: "a number of days",
        form: Number(0),
        description: "How long the checkpoints of a session are kept after its last use.",
        take: Plain(|settings, value| number(value).map(|days| settings.checkpoints_days = days)),
    },
    Setting {
        name: "cache_retention",
        default: "\"short\"",
        accepts: "short or long",
        form: Word(&["short", "long"]),
        description: "How long providers keep the prompt cache: some minutes, or an hour at Anthropic (writing costs more) and a day at OpenAI.",
        take: Plain(|settings, value| {
            cache_retention(value).map(|value| settings.cache_retention = value)
        }),
    },
    Setting {
        name: "credential_store",
        default: "\"file\"",
        accepts: if cfg!(feature = "keyring") {
            "file or keyring"
        } else {
            "file (this build has no keyring)"
        },
        form: if cfg!(feature = "keyring") {
            Word(&["file", "keyring"])
        } else {
            Word(&["file"])
        },
        description: "Where API keys and sign-ins are stored.",
        take: Plain(|settings, value| {
            settings.keyring = match value.as_str()? {
                "file" => false,
                "keyring" if cfg!(feature = "keyring") => true,
                _ => return None,
            };
            Some(())
        }),
    },
    Setting {
        name: "proxy",
        default: "",
        accepts: "an https URL, or a URL on this machine",
        form: Text,
        description: "The osier server that proxies model calls.",
        take: Plain(|settings, value| address(value).map(|value| settings.proxy = Some(value))),
    },
    Setting {
        name: "ca_file",
        default: "",
        accepts: "the path of a PEM file",
        form: Text,
        description: "Additional certificate authorities to trust.",
        take: Plain(|settings, value| {
            text(value).map(|value| settings.ca_file = Some(value.into()))
        }),
    },
    Setting {
        name: "refresh_models",
        default: "false",
        accepts: "true, false, or the https URL of a copy of models.dev/api.json",
        form: FlagOrText,
        description: "Whether osier checks for new models and prices once a day.",
        take: Plain(|settings, value| {
            settings.refresh_models = match value.as_bool() {
                Some(wanted) => wanted.then(|| SOURCE.to_owned()),
                None => Some(address(value)?),
            };
            Some(())
        }),
    },
    Setting {
        name: "permissions",
        default: "\"yolo\"",
        accepts: "yolo, auto, ask or plan",
        form: Word(&["yolo", "auto", "ask", "plan"]),
        description: "Permission mode.",
        take: Safety(
            |settings, value| {
                settings.permissions = PermissionMode::from_name(value.as_str()?)?;
                Some(())
            },
            |settings| settings.permissions = settings.permissions.max(PermissionMode::Ask),
        ),
    },
    Setting {
        name: "allow",
        default: "[]",
        accepts: RULES,
        form: Texts,
        description: "Rules for calls that run without a question.",
        take: Safety(
            |settings, value| rules(value).map(|rules| settings.allow.extend(rules)),
            |settings| settings.allow.clear(),
        ),
    },
    Setting {
        name: "ask",
        default: "[]",
        accepts: RULES,
        form: Texts,
        description: "Rules for calls that require a question in every mode.",
        take: Safety(
            |settings, value| restrictions(value, &mut settings.ask),
            at_least_ask,
        ),
    },
    Setting {
        name: "deny",
        default: "[]",
        accepts: RULES,
        form: Texts,
        description: "Rules for calls that are always denied.",
        take: Safety(
            |settings, value| restrictions(value, &mut settings.deny),
            at_least_ask,
        ),
    },
    Setting {
        name: "claude_hooks",
        default: "",
        accepts: "true or false",
        form: Flag,
        description: "Whether the hooks in `~/.claude/settings.json` run in osier too; without it, osier asks.",
        take: Safety(
            |settings, value| {
                value
                    .as_bool()
                    .map(|value| settings.claude_hooks = Some(value))
            },
            at_least_ask,
        ),
    },
    Setting {
        name: "sandbox",
        default: "\"off\"",
        accepts: "off, workspace or read-only",
        form: Word(&["off", "workspace", "read-only"]),
        description: "Where commands can write; without network unless `sandbox_network` is set.",
        take: Safety(
            |settings, value| {
                settings.sandbox = SandboxMode::from_name(value.as_str()?)?;
                Some(())
            },
            |settings| settings.sandbox = hold::confined(settings.sandbox),
        ),
    },
    Setting {
        name: "sandbox_network",
        default: "false",
        accepts: "true, false, or a list of hosts, e.g. [\"example.org\", \"*.example.com:443\", \"10.0.0.0/8\"]",
        form: FlagOrTexts,
        description: "Whether sandboxed commands have a network, or the hosts that they can reach.",
        take: Safety(
            |settings, value| network(value).map(|value| settings.sandbox_network = value),
            |settings| settings.sandbox_network = NetworkAccess::Off,
        ),
    },
    Setting {
        name: "sandbox_write",
        default: "[]",
        accepts: "a list of folders, e.g. [\"~/.cargo\"]",
        form: Texts,
        description: "Additional folders that sandboxed commands can write to.",
        take: Safety(
            |settings, value| texts(value).map(|value| settings.sandbox_write = value),
            |settings| settings.sandbox_write.clear(),
        ),
    },
    Setting {
        name: "web_search",
        default: "\"auto\"",
        accepts: "auto, provider, brave, tavily, exa, off, or the URL of a SearXNG server",
        form: Text,
        description: "How the model searches the web: `auto` uses the provider of the model, otherwise a service with a key.",
        take: Plain(|settings, value| web_search(value).map(|value| settings.web_search = value)),
    },
    Setting {
        name: "web_private_hosts",
        default: "[]",
        accepts: "a list of hosts, e.g. [\"localhost:3000\", \"10.0.0.0/8\"]",
        form: Texts,
        description: "Hosts of private networks that `web_fetch` can reach: `localhost`, addresses and networks.",
        take: Safety(
            |settings, value| hosts(value).map(|value| settings.web_private_hosts = value),
            |settings| settings.web_private_hosts.clear(),
        ),
    },
    Setting {
        name: "pass_environment",
        default: "[]",
        accepts: "a list of environment variables, e.g. [\"OPENAI_API_KEY\"]",
        form: Texts,
        description: "API keys of model providers that commands, hooks, plugins and MCP servers inherit.",
        take: Safety(
            |settings, value| texts(value).map(|value| settings.pass_environment = value),
            |settings| settings.pass_environment.clear(),
        ),
    },
    Setting {
        name: "secret_warnings",
        default: "true",
        accepts: "true or false",
        form: Flag,
        description: "Whether osier warns about keys and passwords in texts that the model gets.",
        take: Safety(
            |settings, value| {
                value
                    .as_bool()
                    .map(|value| settings.secret_warnings = value)
            },
            |settings| settings.secret_warnings = true,
        ),
    },
];
