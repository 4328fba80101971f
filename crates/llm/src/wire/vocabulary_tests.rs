//! The tables of reasons and parts, compared with the types of the vendors' packages for Node.js,
//! which `.ci/run` installs in the directory `OSIER_TEST_VENDORS`; and the effect of each reason.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::testing::{events, model};
use super::vocabulary::{End, Use, find};
use super::{WIRES, find as find_wire};
use crate::event::StreamEvent;
use crate::model::Api;
use serde_json::{Value, json};

/// The effects of reasons, for the documentation.
const ENDS: [(End, &str); 10] = [
    (End::Done, "the answer is complete"),
    (End::Calls, "the tool calls run"),
    (End::Cut, "the answer reached the output limit"),
    (
        End::Partial,
        "the answer is incomplete: an error that names the reason",
    ),
    (End::Refused, "the model or a filter refused"),
    (
        End::Full,
        "the context window is full: osier compacts the conversation",
    ),
    (End::Paused, "the next request continues the answer"),
    (End::Unusable, "osier tries again"),
    (End::Lost, "a network error: osier tries again"),
    (
        End::Disabled,
        "the account is limited or disabled: an error, and the provider is not used again",
    ),
];

/// The effects of parts, for the documentation.
const USES: [(Use, &str); 8] = [
    (Use::Text, "text"),
    (Use::Thinking, "thinking"),
    (Use::Call, "a tool call of osier"),
    (
        Use::Hosted,
        "a step of the provider, which osier does not run",
    ),
    (Use::Source, "a page that the provider found"),
    (Use::Fallback, "another model answers: a warning names both"),
    (Use::Detail, "about another part"),
    (Use::LeftOut, "left out: a warning names it"),
];

/// The declarations of a package.
struct Types(String);

impl Types {
    /// The file of a package; `None`, reported as a skip, if it is not installed.
    fn read(file: &str) -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("OSIER_TEST_VENDORS").unwrap_or_default());
        let text = std::fs::read_to_string(folder.join("node_modules").join(file));
        if text.is_err() {
            osier_testing::skip::missing(file, ".ci/run");
        }
        text.ok().map(Self)
    }

    /// The text from the declaration that begins with `start` to the next line that begins with `end`.
    fn declaration(&self, start: &str, end: &str) -> &str {
        let at = self.0.find(start).unwrap_or_else(|| panic!("no {start}"));
        let rest = &self.0[at..];
        let length = rest.find(&format!("\n{end}")).unwrap_or(rest.len());
        &rest[..length]
    }

    /// The texts in quotes of a declaration.
    fn quoted(&self, start: &str, end: &str) -> BTreeSet<String> {
        let text = self.declaration(start, end).replace('"', "'");
        let mut parts = text.split('\'').map(str::to_owned);
        let mut found = BTreeSet::new();
        while let (Some(_), Some(word)) = (parts.next(), parts.next()) {
            found.insert(word);
        }
        found
    }

    /// The names of a union of types.
    fn union(&self, name: &str) -> Vec<String> {
        let text = self.declaration(&format!("export type {name} ="), "");
        let (_, names) = text.split_once('=').unwrap();
        let names = names.split(';').next().unwrap().split('|');
        names.map(|name| name.trim().to_owned()).collect()
    }

    /// The field `type` of each member of a union of interfaces.
    fn tags(&self, union: &str) -> BTreeSet<String> {
        let names = self.union(union).into_iter();
        names
            .map(|name| self.tag(name.rsplit('.').next().unwrap()))
            .collect()
    }

    /// The field `type` of an interface, or of the one that it extends.
    fn tag(&self, name: &str) -> String {
        let start = format!("interface {name} ");
        let at = self.0.find(&start).unwrap_or_else(|| panic!("no {name}"));
        let line = self.0[..at].rsplit('\n').next().unwrap();
        let indent = " ".repeat(line.len() - line.trim_start().len());
        let text = self.declaration(&start, &format!("{indent}}}"));
        let field = format!("\n{indent}    type: '");
        match (text.split_once(&field), text.split_once(" extends ")) {
            (Some((_, rest)), _) => rest.split('\'').next().unwrap().to_owned(),
            (None, Some((_, base))) => self.tag(base.split(' ').next().unwrap()),
            (None, None) => panic!("{name} has no type"),
        }
    }

    /// The names of the fields of an interface.
    fn fields(&self, start: &str) -> BTreeSet<String> {
        let text = self.declaration(start, "}");
        let lines = text.lines().filter(|line| {
            let first = line
                .strip_prefix("    ")
                .and_then(|line| line.chars().next());
            first.is_some_and(char::is_alphabetic)
        });
        let name = |line: &str| line.trim().split(['?', ':']).next().unwrap().to_owned();
        lines.map(name).collect()
    }
}

/// The rows that the table of a format lacks.
fn missing<T: Copy>(names: BTreeSet<String>, table: &[(&str, T)]) -> Vec<String> {
    let missing = names.into_iter().filter(|name| find(table, name).is_none());
    missing.collect()
}

/// Checks that the tables of `api` have all of these reasons and parts.
fn check(api: Api, reasons: BTreeSet<String>, parts: BTreeSet<String>) {
    let wire = find_wire(api).unwrap();
    assert!(!reasons.is_empty() && !parts.is_empty(), "{api:?}");
    let missing = (missing(reasons, wire.reasons), missing(parts, wire.parts));
    assert_eq!(missing, (Vec::new(), Vec::new()), "{api:?}");
}

#[test]
fn every_reason_and_block_of_anthropic_has_a_row() {
    let file = "@anthropic-ai/sdk/resources/beta/messages/messages.d.ts";
    let Some(types) = Types::read(file) else {
        return;
    };
    let reasons = types.quoted("export type BetaStopReason =", "");
    check(
        Api::AnthropicMessages,
        reasons,
        types.tags("BetaContentBlock"),
    );
}

#[test]
fn every_reason_and_item_of_openai_has_a_row() {
    let Some(types) = Types::read("openai/resources/responses/responses.d.ts") else {
        return;
    };
    let incomplete = types.declaration("interface IncompleteDetails {", "    }");
    let field = incomplete.rsplit_once("reason?:").unwrap().1.to_owned();
    let reasons = Types(field).quoted("", "\n");
    check(
        Api::OpenaiResponses,
        reasons,
        types.tags("ResponseOutputItem"),
    );
    let Some(chat) = Types::read("openai/resources/chat/completions/completions.d.ts") else {
        return;
    };
    let delta = chat.declaration("        interface Delta {", "        }");
    let delta = delta.replace("\n            ", "\n    ");
    let parts = Types(format!("{delta}\n}}")).fields("        interface Delta {");
    let reasons = chat.quoted("        finish_reason: 'stop'", "");
    check(Api::OpenaiChatCompletions, reasons, parts);
}

#[test]
fn every_reason_and_part_of_mistral_has_a_row() {
    let folder = "@mistralai/mistralai/esm/models/components";
    let file = |name: &str| Types::read(&format!("{folder}/{name}.d.ts"));
    let (Some(choice), Some(chunk)) = (file("chatcompletionchoice"), file("contentchunk")) else {
        return;
    };
    let start = "export declare const ChatCompletionChoiceFinishReason:";
    let parts = chunk.quoted("export type ContentChunk =", "/**");
    let parts = parts.into_iter().filter(|name| name != "type").collect();
    check(Api::OpenaiChatCompletions, choice.quoted(start, "}"), parts);
}

#[test]
fn every_reason_and_part_of_google_has_a_row() {
    let Some(types) = Types::read("@google/genai/dist/genai.d.ts") else {
        return;
    };
    let reasons = types.quoted("export declare enum FinishReason {", "}");
    let reasons = reasons
        .into_iter()
        .filter(|name| !name.contains(' '))
        .collect();
    let parts = types.fields("export declare interface Part {");
    check(Api::GoogleGenerativeAi, reasons, parts);
}

#[test]
fn every_reason_and_block_of_bedrock_has_a_row() {
    let folder = "@aws-sdk/client-bedrock-runtime/dist-types/models";
    let file = |name: &str| Types::read(&format!("{folder}/{name}.d.ts"));
    let (Some(enums), Some(models)) = (file("enums"), file("models_0")) else {
        return;
    };
    let reasons = enums.quoted("export declare const StopReason:", "}");
    let members = ["ContentBlockDelta", "ContentBlockStart"];
    let members = members.iter().flat_map(|name| models.union(name));
    let parts = members.filter_map(|member| {
        let name = member.split_once('.')?.1.strip_suffix("Member")?.to_owned();
        let first = name.chars().next().filter(|first| first.is_alphabetic())?;
        Some(name.replacen(first, &first.to_ascii_lowercase().to_string(), 1))
    });
    check(Api::BedrockConverse, reasons, parts.collect());
}

#[test]
fn every_field_of_ollama_has_a_row() {
    let Some(types) = Types::read("ollama/dist/browser.d.ts") else {
        return;
    };
    // The reasons are not in the types.
    let reasons = ["stop", "length", "load", "unload"].map(str::to_owned);
    check(
        Api::Ollama,
        reasons.into(),
        types.fields("interface Message {"),
    );
}

/// An answer with the text "a", if it has one, that ends for `reason`.
fn answer(api: Api, reason: &str, text: bool) -> Option<Vec<Value>> {
    let content = if text { "a" } else { "" };
    Some(match api {
        Api::AnthropicMessages => vec![
            json!({"type": "message_start", "message": {"id": "m"}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": content}}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ],
        Api::OpenaiResponses if reason == "completed" || reason == "refusal" => return None,
        Api::OpenaiResponses => vec![
            json!({"type": "response.output_text.delta", "delta": content}),
            json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": reason}}}),
        ],
        Api::OpenaiChatCompletions => {
            vec![json!({"choices": [{"delta": {"content": content}, "finish_reason": reason}]})]
        }
        Api::GoogleGenerativeAi => vec![
            json!({"candidates": [{"content": {"parts": [{"text": content}]}, "finishReason": reason}]}),
        ],
        Api::Ollama => {
            vec![json!({"message": {"content": content}, "done": true, "done_reason": reason})]
        }
        Api::BedrockConverse => vec![
            json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": content}}}),
            json!({"messageStop": {"stopReason": reason}}),
        ],
        Api::Scripted => return None,
    })
}

/// How the answer ended: the stop reason, or the kind of the error, and whether a warning names the reason.
fn ended(api: Api, reason: &str, text: bool) -> Option<(String, bool)> {
    let data = answer(api, reason, text)?;
    let body = match api {
        Api::BedrockConverse => super::odd_tests::frames(&data),
        Api::Ollama => data[0].to_string().into_bytes(),
        _ => {
            let lines = data.iter().map(|data| format!("data: {data}\n\n"));
            lines.collect::<String>().into_bytes()
        }
    };
    let mut events = events(&model(api), &body, 7).unwrap();
    let end = match events.pop().unwrap() {
        StreamEvent::Done { stop_reason, .. } => format!("{stop_reason:?}"),
        StreamEvent::Failed { status, .. } => {
            let name = format!("{status:?}");
            name.split(' ').next().unwrap().to_owned()
        }
        other => panic!("{other:?}"),
    };
    let warned = |event: &StreamEvent| matches!(event, StreamEvent::Warning { text } if text.contains(reason));
    Some((end, events.iter().any(warned)))
}

/// Each reason of each format has the effect of its row, and a warning names an unknown reason.
#[test]
fn reasons_have_their_effect() {
    for wire in WIRES {
        for (reason, end) in wire
            .reasons
            .iter()
            .copied()
            .chain([("brand_new", End::Done)])
        {
            let Some(found) = ended(wire.api, reason, true) else {
                continue;
            };
            let unknown = reason == "brand_new";
            let expected = match end {
                _ if unknown && wire.api == Api::OpenaiResponses => ("ModelError", false),
                End::Done => ("Stop", unknown),
                // The answer has no call.
                End::Calls => ("Stop", false),
                // Text follows the compaction.
                End::Paused if reason == "compaction" => ("Stop", false),
                End::Paused => ("Paused", false),
                End::Cut => ("Length", false),
                End::Refused => ("Refusal", false),
                End::Full => ("ContextOverflow", false),
                End::Partial | End::Unusable => ("ModelError", false),
                End::Lost => ("NetworkError", false),
                End::Disabled => ("AuthError", false),
            };
            let expected = (expected.0.to_owned(), expected.1);
            assert_eq!(found, expected, "{:?} {reason}", wire.api);
            if matches!(end, End::Refused) || unknown {
                let (silent, _) = ended(wire.api, reason, false).unwrap();
                assert_eq!(silent, "ModelError", "{:?} {reason}", wire.api);
            }
        }
    }
}

/// `UPDATE_DOCS=1 cargo test -p osier-llm documentation` writes the page.
#[test]
fn documentation_lists_every_reason_and_part() {
    let mut table =
        String::from("| format | end of an answer | words of the format |\n|---|---|---|\n");
    for wire in WIRES {
        for (end, effect) in ENDS {
            let words = wire.reasons.iter().filter(|(_, own)| *own == end);
            let words: Vec<String> = words.map(|(word, _)| format!("`{word}`")).collect();
            if !words.is_empty() {
                let words = words.join(", ").replace("`no reason given`", "none");
                let _ = writeln!(table, "| `{}` | {effect} | {words} |", wire.api.name());
            }
        }
    }
    table.push_str("\n| format | part of an answer | words of the format |\n|---|---|---|\n");
    for wire in WIRES {
        for (part, effect) in USES {
            let words = wire.parts.iter().filter(|(_, own)| *own == part);
            let words: Vec<String> = words.map(|(word, _)| format!("`{word}`")).collect();
            if !words.is_empty() {
                let _ = writeln!(
                    table,
                    "| `{}` | {effect} | {} |",
                    wire.api.name(),
                    words.join(", ")
                );
            }
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    osier_testing::pages::check_part(&page, "endings", &table);
}
