//! The asynchronous functions of a plugin: they wait for the user, the session, a program or a timer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Lua, Result, Table, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::channel::Request;
use super::convert::{fail, from_lua, only, to_lua};
use super::cx::PluginCx;
use osier_base::process::{Invocation, run_captured};
use osier_protocol::questions::{Answer, Choice, Question, QuestionKind, Subject};

/// Default timeout of a program.
const EXEC_TIME: u64 = 30_000;

/// The function `osier.NAME`.
pub(super) fn make(lua: &Lua, cx: &Arc<PluginCx>, name: &str) -> Result<Function> {
    let cx = Arc::clone(cx);
    match name {
        "ui.select" => lua.create_async_function(
            move |lua, (title, choices, text): (String, Value, Option<String>)| {
                let cx = Arc::clone(&cx);
                async move {
                    let choices = choices_of(from_lua(&lua, choices)?)?;
                    let kind = QuestionKind::Select {
                        choices,
                        other: false,
                    };
                    Ok(text_answer(ask(&cx, title, text, kind).await))
                }
            },
        ),
        "ui.confirm" => {
            lua.create_async_function(move |_, (title, text): (String, Option<String>)| {
                let cx = Arc::clone(&cx);
                async move { Ok(ask(&cx, title, text, QuestionKind::Confirm).await == Answer::Yes) }
            })
        }
        "ui.input" => {
            lua.create_async_function(move |_, (title, options): (String, Option<Table>)| {
                let cx = Arc::clone(&cx);
                async move {
                    let kind = input(options.as_ref())?;
                    Ok(text_answer(ask(&cx, title, None, kind).await))
                }
            })
        }
        "entries" => lua.create_async_function(move |lua, kind: String| {
            let cx = Arc::clone(&cx);
            async move {
                let entries = request(&cx, |reply| Request::Entries { kind, reply }).await?;
                to_lua(&lua, &serde_json::Value::Array(entries))
            }
        }),
        "exec" => {
            lua.create_async_function(
                move |lua,
                      (program, arguments, options): (
                    String,
                    Option<Vec<String>>,
                    Option<Table>,
                )| {
                    let cx = Arc::clone(&cx);
                    async move {
                        let arguments = arguments.unwrap_or_default();
                        exec(&lua, &cx, program, arguments, options.as_ref()).await
                    }
                },
            )
        }
        "model.get" => lua.create_async_function(move |_, ()| {
            let cx = Arc::clone(&cx);
            async move { request(&cx, |reply| Request::Model { reply }).await }
        }),
        "model.set" => lua.create_async_function(move |_, reference: String| {
            let cx = Arc::clone(&cx);
            async move {
                let set = request(&cx, |reply| Request::SetModel { reference, reply });
                set.await?.or_else(fail)
            }
        }),
        "session" => lua.create_async_function(move |lua, ()| {
            let cx = Arc::clone(&cx);
            async move {
                to_lua(
                    &lua,
                    &request(&cx, |reply| Request::Session { reply }).await?,
                )
            }
        }),
        "sleep" => lua.create_async_function(|_, milliseconds: u64| async move {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            Ok(())
        }),
        name => fail(format!("`osier.{name}` is documented but not implemented")),
    }
}

/// Sends a request to the session and waits for the answer.
async fn request<T>(cx: &PluginCx, make: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T> {
    let (reply, answer) = oneshot::channel();
    cx.send(0, make(reply))?;
    answer.await.or_else(|_| fail("osier is closing"))
}

async fn ask(cx: &PluginCx, title: String, text: Option<String>, kind: QuestionKind) -> Answer {
    let question = Question {
        id: String::new(),
        origin: format!("the plugin `{}`", cx.name),
        subagent: None,
        title,
        subject: text.map(|text| Subject::Text { text }),
        kind,
    };
    let _outside = cx.outside();
    // An interrupt drops this future, which withdraws the question.
    cx.questions.ask(question, &CancellationToken::new()).await
}

fn text_answer(answer: Answer) -> Option<String> {
    match answer {
        Answer::Text { text } => Some(text),
        _ => None,
    }
}

fn choices_of(given: serde_json::Value) -> Result<Vec<Choice>> {
    let serde_json::Value::Array(items) = given else {
        return fail("the choices must be a list");
    };
    let choices = items.into_iter().map(|item| {
        if let serde_json::Value::String(text) = item {
            return Ok(Choice {
                value: text.clone(),
                label: text,
                description: String::new(),
            });
        }
        let text = |name: &str| item.get(name).and_then(serde_json::Value::as_str);
        let Some(value) = text("value").or_else(|| text("label")) else {
            return fail("a choice must be a string or `{value=, label=}`");
        };
        Ok(Choice {
            value: value.to_owned(),
            label: text("label").unwrap_or(value).to_owned(),
            description: text("description").unwrap_or_default().to_owned(),
        })
    });
    choices.collect()
}

fn input(options: Option<&Table>) -> Result<QuestionKind> {
    if let Some(options) = options {
        let known = ["placeholder", "prefill", "multiline", "secret"];
        only(options, &known, "the options of `osier.ui.input`")?;
    }
    let text = |name: &str| match options {
        Some(options) => options
            .get::<Option<String>>(name)
            .map(Option::unwrap_or_default),
        None => Ok(String::new()),
    };
    let is = |name: &str| match options {
        Some(options) => options
            .get::<Option<bool>>(name)
            .map(Option::unwrap_or_default),
        None => Ok(false),
    };
    Ok(QuestionKind::Input {
        placeholder: text("placeholder")?,
        prefill: text("prefill")?,
        multiline: is("multiline")?,
        secret: is("secret")?,
    })
}

async fn exec(
    lua: &Lua,
    cx: &PluginCx,
    program: String,
    arguments: Vec<String>,
    options: Option<&Table>,
) -> Result<Table> {
    if let Some(options) = options {
        let known = ["cwd", "stdin", "timeout_ms"];
        only(options, &known, "the options of `osier.exec`")?;
    }
    let option = |name: &str| match options {
        Some(options) => options.get::<Option<String>>(name),
        None => Ok(None),
    };
    let time = match options {
        Some(options) => options.get::<Option<u64>>("timeout_ms")?,
        None => None,
    };
    let folder = option("cwd")?.map_or_else(|| cx.cwd.clone(), |folder| cx.cwd.join(folder));
    let _outside = cx.outside();
    let plugin = cx.name.clone();
    let command = std::iter::once(&program).chain(&arguments);
    let command = command
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ");
    let may = request(cx, |reply| Request::MayRun {
        plugin,
        command,
        reply,
    });
    let confinement = may.await?.or_else(fail)?;
    let mut invocation = Invocation {
        cwd: Some(PathBuf::from(&folder)),
        ..Invocation::new(&program, &arguments)
    };
    if let Some(confinement) = confinement {
        let dressed = confinement.wrap(invocation);
        invocation = dressed.or_else(|error| fail(error.to_string()))?;
    }
    let stdin = option("stdin")?;
    let time = Duration::from_millis(time.unwrap_or(EXEC_TIME));
    let output = run_captured(&invocation, stdin.as_deref().map(str::as_bytes), time).await;
    let output = match output {
        Ok(output) => output,
        Err(error) => return fail(error.to_string()),
    };
    let result = lua.create_table()?;
    result.set("code", output.exit.shell_code())?;
    result.set("stdout", lua.create_string(&output.stdout)?)?;
    result.set("stderr", lua.create_string(&output.stderr)?)?;
    if output.is_cut {
        result.set("truncated", true)?;
    }
    Ok(result)
}

/// A word, quoted as for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "-_./=:,@%+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
