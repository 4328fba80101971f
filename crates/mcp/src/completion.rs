//! Values that servers offer while the user types a prompt: for the arguments of their prompts, and for the variables of their resource
//! templates.

use std::collections::HashMap;
use std::time::Duration;

use osier_base::text;
use rmcp::model::{ArgumentInfo, CompleteRequestParams, CompletionContext, Reference};

use super::entry::Known;
use super::manager::Mcp;
use super::mentions::{PROMPT_PREFIX, prompt_of, words};

/// The time limit for the answer of a server: the user continues to type meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest number of values in one answer, which the protocol sets.
const MOST: usize = 100;
/// The largest size of a value, in bytes.
const LONGEST: usize = 200;

/// The question to a server for values of one argument.
#[derive(Debug, PartialEq)]
struct Question {
    reference: Reference,
    argument: String,
    value: String,
    /// The arguments that the user has already typed.
    others: HashMap<String, String>,
    /// The part of the typed word that stays before the value.
    prefix: String,
}

impl Mcp {
    /// Returns values for the last word of `typed`, the prompt up to the cursor. Each value replaces the word, except for its `@`.
    pub async fn complete(&self, typed: &str) -> Vec<String> {
        let known: Vec<Known> = self.shared().known.lock().values().cloned().collect();
        let Some((server, question)) = question(&known, typed) else {
            return Vec::new();
        };
        let Ok(connection) = server.link.get() else {
            return Vec::new();
        };
        let info = connection.info();
        if info.is_none_or(|info| info.capabilities.completions.is_none()) {
            return Vec::new();
        }
        let argument = ArgumentInfo::new(question.argument, question.value);
        let mut params = CompleteRequestParams::new(question.reference, argument);
        if !question.others.is_empty() {
            params = params.with_context(CompletionContext::with_arguments(question.others));
        }
        let answer = tokio::time::timeout(PATIENCE, connection.peer().complete(params)).await;
        let Ok(Ok(answer)) = answer else {
            return Vec::new();
        };
        let values = answer.completion.values.into_iter().take(MOST);
        let values = values.map(|value| text::single_line(&value));
        let fit = values.filter(|value| !value.is_empty() && value.len() <= LONGEST);
        fit.map(|value| format!("{}{value}", question.prefix))
            .collect()
    }
}

/// The server that can know values for the last word of `typed`, and the question to it.
fn question<'a>(known: &'a [Known], typed: &str) -> Option<(&'a Known, Question)> {
    match typed.split_once(char::is_whitespace) {
        Some((command, rest)) if command.starts_with(PROMPT_PREFIX) => {
            of_prompt(known, command, rest)
        }
        _ => of_resource(known, typed),
    }
}

fn of_prompt<'a>(known: &'a [Known], command: &str, rest: &str) -> Option<(&'a Known, Question)> {
    let (server, prompt) = prompt_of(known, command)?;
    let mut typed = words(rest);
    let last = if rest.ends_with(char::is_whitespace) || rest.is_empty() {
        String::new()
    } else {
        typed.pop()?
    };
    let is_known = |name: &str| prompt.arguments.iter().any(|it| it.name == name);
    let named = |word: &str| {
        let (name, value) = word.split_once('=')?;
        is_known(name).then(|| (name.to_owned(), value.to_owned()))
    };
    let mut others = HashMap::new();
    let mut values = Vec::new();
    for word in typed {
        match named(&word) {
            Some((name, value)) => drop(others.insert(name, value)),
            None => values.push(word),
        }
    }
    let names = prompt.arguments.iter().map(|it| it.name.clone());
    let mut free = names
        .filter(|name| !others.contains_key(name))
        .collect::<Vec<_>>();
    let (argument, value, prefix) = if let Some((name, value)) = named(&last) {
        (name.clone(), value, format!("{name}="))
    } else {
        let name = free.get(values.len())?.clone();
        (name, last, String::new())
    };
    others.extend(free.drain(..).zip(values));
    let question = Question {
        reference: Reference::for_prompt(&*prompt.name),
        argument,
        value,
        others,
        prefix,
    };
    Some((server, question))
}

fn of_resource<'a>(known: &'a [Known], typed: &str) -> Option<(&'a Known, Question)> {
    let word = typed.rsplit(char::is_whitespace).next()?;
    let (name, uri) = word.strip_prefix('@')?.split_once(':')?;
    let server = known.iter().find(|known| known.info.name == name)?;
    let templates = server.info.resources.iter().map(|resource| &resource.uri);
    let fitting = templates.filter_map(|template| {
        let (start, rest) = template.split_once('{')?;
        let (variable, _) = rest.split_once('}')?;
        let value = uri.strip_prefix(start)?;
        Some((template, start, variable, value))
    });
    // The most specific template has the longest fixed start.
    let (template, start, variable, value) = fitting.max_by_key(|(_, start, ..)| start.len())?;
    let value = value.split('{').next().unwrap_or_default();
    let question = Question {
        reference: Reference::for_resource(&**template),
        argument: variable
            .trim_start_matches(['+', '#', '/', '?', '&'])
            .to_owned(),
        value: value.to_owned(),
        others: HashMap::new(),
        prefix: format!("{name}:{start}"),
    };
    Some((server, question))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use osier_protocol::{PromptArgumentInfo, PromptInfo, ResourceInfo, ServerInfo, ServerState};

    use super::super::attached::Attached;
    use super::super::tools::Link;
    use super::*;

    fn known() -> Known {
        let argument = |name: &str| PromptArgumentInfo {
            name: name.to_owned(),
            description: String::new(),
            required: false,
        };
        let resource = |uri: &str| ResourceInfo {
            uri: uri.to_owned(),
            name: String::new(),
            description: String::new(),
        };
        Known {
            link: Arc::new(Link::down("it is a test", Duration::ZERO)),
            attached: Attached::default(),
            timeout: Duration::ZERO,
            info: ServerInfo {
                name: "shop".to_owned(),
                state: ServerState::Ready,
                shown: String::new(),
                file: String::new(),
                remote: false,
                error: None,
                log: String::new(),
                version: None,
                protocol: None,
                instructions: None,
                tools: Vec::new(),
                hidden_tools: 0,
                resources: vec![resource("memo://{name}"), resource("memo://old/{+year}/x")],
                prompts: vec![PromptInfo {
                    name: "greet".to_owned(),
                    description: String::new(),
                    arguments: vec![argument("who"), argument("how")],
                }],
            },
        }
    }

    /// The argument, its value, the other arguments and the prefix.
    type Asked = (String, String, Vec<(String, String)>, String);

    fn asked(typed: &str) -> Option<Asked> {
        let known = [known()];
        let (_, question) = question(&known, typed)?;
        let others = question.others.into_iter().collect();
        Some((question.argument, question.value, others, question.prefix))
    }

    #[expect(clippy::unnecessary_wraps, reason = "the expected value of `asked`")]
    fn question_of(
        argument: &str,
        value: &str,
        others: &[(&str, &str)],
        prefix: &str,
    ) -> Option<Asked> {
        let others = others
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Some((
            argument.to_owned(),
            value.to_owned(),
            others.collect(),
            prefix.to_owned(),
        ))
    }

    #[test]
    fn the_word_at_the_end_is_an_argument_of_a_prompt() {
        for (typed, expected) in [
            ("/mcp__shop__greet ", question_of("who", "", &[], "")),
            ("/mcp__shop__greet an", question_of("who", "an", &[], "")),
            (
                "/mcp__shop__greet anna wa",
                question_of("how", "wa", &[("who", "anna")], ""),
            ),
            (
                "/mcp__shop__greet how=wa",
                question_of("how", "wa", &[], "how="),
            ),
            (
                "/mcp__shop__greet how=warm a",
                question_of("who", "a", &[("how", "warm")], ""),
            ),
            ("/mcp__shop__greet a b c", None),
            ("/mcp__shop__greet", None),
            ("/mcp__shop__none a", None),
        ] {
            assert_eq!(asked(typed), expected, "{typed}");
        }
    }

    #[test]
    fn the_word_at_the_end_fills_a_template() {
        for (typed, expected) in [
            (
                "look at @shop:memo://o",
                question_of("name", "o", &[], "shop:memo://"),
            ),
            (
                "@shop:memo://{name}",
                question_of("name", "", &[], "shop:memo://"),
            ),
            (
                "@shop:memo://old/2",
                question_of("year", "2", &[], "shop:memo://old/"),
            ),
            ("@shop:file://x", None),
            ("@other:memo://x", None),
            ("memo://x", None),
        ] {
            assert_eq!(asked(typed), expected, "{typed}");
        }
    }
}
