//! Generates the lists of `docs/rpc.md`: the commands from their table, the events from the schema.

use std::fmt::Write as _;

use serde_json::Value;

use osier_base::request::{Group, Parameter};

use crate::check::phrase;
use crate::command::{Command, Data};
use crate::table::commands as all_commands;
use osier_protocol::slash::{self, SlashClient};

const GROUPS: &[(Group, &str)] = &[
    (Group::Connection, "Connection"),
    (Group::Prompts, "Prompts and queues"),
    (Group::State, "State"),
    (Group::Sessions, "Sessions"),
    (Group::Tree, "Conversation and tree"),
    (Group::Files, "Files and checkpoints"),
    (Group::Models, "Models and accounts"),
    (Group::Tools, "Tools and commands"),
    (Group::Permissions, "Permissions and questions"),
    (Group::Extensions, "MCP servers, hooks and plugins"),
    (Group::Drafts, "Drafts, stash and history"),
];

pub(super) fn commands() -> String {
    let mut page = String::new();
    for (group, title) in GROUPS {
        let _ = writeln!(page, "\n### {title}\n");
        for command in all_commands().filter(|command| command.group == *group) {
            page.push_str(&entry(command));
        }
    }
    page
}

fn entry(command: &Command) -> String {
    let mut text = format!("**`{}`**", command.name);
    if !command.aliases.is_empty() {
        let _ = write!(text, " (also {})", listed(&command.aliases));
    }
    let _ = write!(text, ": {}", command.doc);
    let _ = match command.data {
        Data::Nothing => Ok(()),
        Data::Event(event) => write!(text, " Returns the fields of `{event}`."),
        Data::Shape(name) => write!(text, " Returns `{name}`."),
    };
    text.push_str("\n\n");
    for field in &command.parameters {
        let _ = writeln!(text, "{}", parameter(field));
    }
    if !command.parameters.is_empty() {
        text.push('\n');
    }
    text
}

/// The page of slash commands.
pub(super) fn slash_commands() -> String {
    let mut page = "# Slash commands\n\nRun a command of osier from the prompt: `/compact`, `/model sonnet`. The list opens when you type \
`/`. Skills, prompt templates and plugins add more ([context.md](context.md), [plugins.md](plugins.md)); `*` marks commands \
that a skill or a template with their name replaces. A client that lacks a command says where it works. \
`//name` sends `/name` as text, and paths such as `/usr/bin/x` are text.\n\n\
| Command | Other names | Does | Terminal | Editors | Chat | `osier -p` |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for command in slash::COMMANDS {
        let usage = format!("/{} {}", command.name, command.argument);
        let usage = usage.trim_end().replace('|', "\\|");
        let mark = if command.yields { " *" } else { "" };
        let aliases: Vec<String> = command
            .aliases
            .iter()
            .map(|name| format!("`/{name}`"))
            .collect();
        let clients =
            SlashClient::ALL.map(|client| if command.works_in(client) { "yes" } else { "" });
        let _ = writeln!(
            page,
            "| `{usage}`{mark} | {} | {} | {} |",
            aliases.join(", "),
            command.description,
            clients.join(" | ")
        );
    }
    page
}

fn parameter(field: &Parameter) -> String {
    let Parameter {
        name,
        aliases,
        kind,
        required,
        doc,
    } = field;
    let mut text = format!("- `{name}`");
    if !aliases.is_empty() {
        let _ = write!(text, " (also {})", listed(aliases));
    }
    let need = if *required { ", required" } else { "" };
    let _ = write!(text, ", {}{need}: {doc}", phrase(*kind));
    text
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

pub(super) fn events(schema: &Value) -> String {
    let mut page = "\n| Event | Meaning | Fields |\n|---|---|---|\n".to_owned();
    for (name, event) in schema["events"].as_object().unwrap() {
        let description = event["description"].as_str().unwrap_or_default();
        let description = on_the_wire(&description.replace('\n', " ")).replace('|', "\\|");
        let fields = event["properties"].as_object().unwrap().keys();
        let fields: Vec<String> = fields
            // All events have them.
            .filter(|field| !["type", "timestamp"].contains(&field.as_str()))
            .map(|field| format!("`{field}`"))
            .collect();
        let _ = writeln!(page, "| `{name}` | {description} | {} |", fields.join(", "));
    }
    page
}

/// Replaces the Rust names of ops and events by their names on the wire.
fn on_the_wire(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let pieces: Vec<String> = pieces
        .map(|(number, piece)| {
            let name = piece.rsplit("::").next().unwrap_or(piece);
            let is_name = number % 2 == 1
                && name.starts_with(|letter: char| letter.is_ascii_uppercase())
                && name.chars().all(char::is_alphanumeric)
                && name.chars().any(|letter| letter.is_ascii_lowercase());
            if is_name {
                snake(name)
            } else {
                piece.to_owned()
            }
        })
        .collect();
    pieces.join("`")
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (place, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
