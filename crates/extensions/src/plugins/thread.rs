//! A plugin's thread with its own Lua state. Calls arrive over a channel and run concurrently as coroutines;
//! a blocked plugin delays only its own callers, for a limited time.

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mlua::{Function, Lua, MultiValue, Table, Value};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::allowance::Allowances;
use super::answer;
use super::api::{PluginEvent, find_event};
use super::bindings;
use super::channel::{Call, Link, Registration};
use super::convert::{from_lua, to_lua};
use super::cx::{PluginCx, Registry};
use super::discover::Source;
use super::fault;
use super::halt::Halt;
use super::sandbox::{self, Meter, Metered};
use osier_agent::{Output, ToolContext, ToolOutput, ToolStatus, ToolUpdate};
use osier_base::problem::Problem;
use osier_llm::ContentBlock;
use osier_protocol::questions::Questions;

/// How long an event handler, or loading a file, may take without asking the user or running a program.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long loading may take in total, because prompts wait for it.
const LOADING: Duration = Duration::from_secs(30);

/// Maximum bytes of the output that a tool shows while it runs.
const UPDATE_LIMIT: usize = 64 * 1024;

/// The inputs of a plugin's thread.
#[derive(Debug)]
pub(super) struct Start {
    pub source: Source,
    pub cwd: PathBuf,
    pub link: Link,
    pub questions: Questions,
    pub calls: mpsc::UnboundedReceiver<Call>,
    pub loaded: oneshot::Sender<Result<Registration, Problem>>,
    pub halt: Arc<Halt>,
    /// Ends all waits.
    pub closed: CancellationToken,
}

/// Starts the thread.
pub(super) fn start(start: Start) -> std::io::Result<()> {
    let name = format!("plugin {}", start.source.name);
    let name: String = name.chars().take(15).collect();
    std::thread::Builder::new().name(name).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(live(start)),
            Err(error) => {
                let message = format!("cannot start its runtime: {error}");
                let problem = Problem::of_file(&start.source.path, message, "");
                let _ = start.loaded.send(Err(problem));
            }
        }
    })?;
    Ok(())
}

/// A running plugin.
struct Plugin {
    lua: Lua,
    cx: Arc<PluginCx>,
    source: Source,
}

async fn live(start: Start) {
    let meter = Meter::new(start.halt);
    let cx = Arc::new(PluginCx {
        name: start.source.name.clone(),
        cwd: start.cwd,
        link: start.link,
        questions: start.questions,
        handlers: Registry::default(),
        allowances: Allowances::default(),
        meter: Arc::clone(&meter),
        registration: Mutex::default(),
        loading: AtomicBool::new(true),
        outside: AtomicUsize::new(0),
    });
    let (path, chunk) = (start.source.path.clone(), start.source.chunk());
    let lua = match sandbox::new(&meter).and_then(|lua| {
        bindings::install(&lua, &cx)?;
        start.source.install_modules(&lua)?;
        Ok(lua)
    }) {
        Ok(lua) => lua,
        Err(error) => {
            let _ = start
                .loaded
                .send(Err(fault::problem(&path, &chunk, &error)));
            return;
        }
    };
    let plugin = Arc::new(Plugin {
        lua,
        cx,
        source: start.source,
    });
    let closed = start.closed;
    let loading = plugin.load();
    let loaded = tokio::select! {
        loaded = loading => loaded,
        () = closed.cancelled() => return,
    };
    plugin.cx.loading.store(false, Ordering::Relaxed);
    let is_good = loaded.is_ok();
    let registration = plugin.cx.registration().clone();
    let _ = start.loaded.send(loaded.map(|()| registration));
    if is_good {
        tokio::select! {
            () = serve(&plugin, start.calls) => {}
            () = closed.cancelled() => {}
        }
    }
}

/// Runs calls concurrently until all senders are gone and the last call has ended.
async fn serve(plugin: &Arc<Plugin>, mut calls: mpsc::UnboundedReceiver<Call>) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            call = calls.recv() => match call {
                Some(call) => {
                    let plugin = Arc::clone(plugin);
                    running.spawn(async move { plugin.handle(call).await });
                }
                None => break,
            },
            Some(_) = running.join_next(), if !running.is_empty() => {}
        }
    }
    while running.join_next().await.is_some() {}
}

impl Plugin {
    async fn load(&self) -> Result<(), Problem> {
        let code = self.source.code.as_str();
        let chunk = self
            .lua
            .load(code)
            .set_name(format!("@{}", self.source.chunk()));
        let chunk = chunk.set_mode(mlua::ChunkMode::Text);
        let run = Metered::new(chunk.exec_async(), &self.cx.meter);
        let late = |limit: &str| {
            let message = format!("did not finish loading within {limit}");
            let hint = "wait in a function, not during loading";
            Err(Problem::of_file(&self.source.path, message, hint))
        };
        match tokio::time::timeout(LOADING, self.in_time(run)).await {
            Ok(Some(Ok(()))) => Ok(()),
            Ok(Some(Err(error))) => Err(self.problem(&error)),
            Ok(None) => late("10 s"),
            Err(_) => late("30 s, with its dialogs and programs"),
        }
    }

    async fn handle(&self, call: Call) {
        if self.cx.meter.halt.token.is_cancelled() {
            return self.cx.meter.halt.refuse(&call);
        }
        match call {
            Call::Ask {
                event,
                payload,
                mut reply,
            } => {
                let answer = tokio::select! {
                    answer = self.ask(event, payload) => answer,
                    // The caller is gone after an interrupt.
                    () = reply.closed() => return,
                };
                let _ = reply.send(answer);
            }
            Call::Tell { event, payload } => {
                for function in self.functions(event) {
                    let argument = to_lua(&self.lua, &payload);
                    let call = async { function.call_async::<()>(argument?).await };
                    let _ = self.guarded(call).await;
                }
            }
            Call::Tool {
                name,
                arguments,
                cx,
                reply,
            } => {
                let output = self.run_tool(&name, &arguments, cx).await;
                let _ = reply.send(output);
            }
            Call::Command { name, argument } => {
                let function = self.cx.handlers.get().commands.get(&name).cloned();
                if let Some(function) = function {
                    let _ = self.guarded(function.call_async::<()>(argument)).await;
                }
            }
            Call::Key { keys } => {
                let function = self.cx.handlers.get().keys.get(&keys).cloned();
                if let Some(function) = function {
                    let _ = self.guarded(function.call_async::<()>(())).await;
                }
            }
        }
    }

    fn functions(&self, event: &str) -> Vec<Function> {
        let handlers = self.cx.handlers.get();
        handlers.events.get(event).cloned().unwrap_or_default()
    }

    /// Calls every handler of the event; each receives the changes of the earlier ones. Returns the changed
    /// fields.
    async fn ask(
        &self,
        event: &str,
        mut payload: serde_json::Value,
    ) -> Result<serde_json::Value, String> {
        let row = find_event(event).ok_or_else(|| format!("no event `{event}`"))?;
        let mut changed = serde_json::Map::new();
        for function in self.functions(event) {
            let argument = to_lua(&self.lua, &payload).map_err(|error| error.to_string())?;
            let call = self.guarded(function.call_async::<MultiValue>(argument));
            let Some(answer) = self.in_time(call).await else {
                let effect = match row.failure {
                    "" => "osier continues without it",
                    failure => failure,
                };
                let message = format!("the handler of `{event}` took more than 10 s: {effect}");
                self.cx.link.report(self.at(&function, &message));
                return Err(format!("the plugin `{}` did not answer", self.cx.name));
            };
            if row.answers.is_empty() {
                answer?;
                continue;
            }
            let fields = match self.fields(row, answer?) {
                Ok(fields) => fields,
                Err(what) => {
                    let message = format!("the handler of `{event}` returned {what}");
                    self.cx.link.report(self.at(&function, &message));
                    let block = format!("the plugin `{}` failed: {message}", self.cx.name);
                    match (row.answers.contains(&"block"), row.failure) {
                        (true, _) => {}
                        (false, "") => continue,
                        (false, _) => return Err(block),
                    }
                    serde_json::Map::from_iter([("block".to_owned(), block.into())])
                }
            };
            let refuses = fields.contains_key("block");
            for (name, value) in fields {
                payload[&name] = value.clone();
                changed.insert(name, value);
            }
            if refuses {
                break;
            }
        }
        Ok(serde_json::Value::Object(changed))
    }

    /// The fields of an answer, or what is wrong with it.
    fn fields(
        &self,
        event: &PluginEvent,
        values: MultiValue,
    ) -> Result<serde_json::Map<String, serde_json::Value>, String> {
        let Some(table) = answer::table(values)? else {
            return Ok(serde_json::Map::new());
        };
        let value = from_lua(&self.lua, Value::Table(table));
        answer::fields(event, value.map_err(|error| error.to_string())?)
    }

    async fn run_tool(
        &self,
        name: &str,
        arguments: &serde_json::Value,
        cx: ToolContext,
    ) -> ToolOutput {
        let function = self.cx.handlers.get().tools.get(name).cloned();
        let Some(function) = function else {
            return ToolOutput::error(format!("the plugin has no tool `{name}`"));
        };
        let cancel = cx.cancel.clone();
        let call = async {
            let values = (to_lua(&self.lua, arguments)?, self.tool_context(cx)?);
            function.call_async::<Value>(values).await
        };
        let value = tokio::select! {
            value = self.guarded(call) => value,
            () = cancel.cancelled() => {
                return ToolOutput::failed(ToolStatus::Aborted, "interrupted");
            }
        };
        match value.and_then(|value| from_lua(&self.lua, value).map_err(|error| error.to_string()))
        {
            Ok(value) => output(value),
            Err(message) => ToolOutput::error(message),
        }
    }

    fn tool_context(&self, cx: ToolContext) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        table.set("call_id", cx.call_id)?;
        let updates = cx.updates;
        let update = self.lua.create_function(move |_, text: String| {
            let text = osier_base::text::head_bytes(&text, UPDATE_LIMIT);
            let text = osier_base::text::sanitize(text).into_owned();
            updates.send(ToolUpdate::Output(Output::plain(text)));
            Ok(())
        })?;
        table.set("update", update)?;
        Ok(table)
    }

    /// Runs a call under the instruction limit. A failure is reported, and returned as a message for the
    /// model.
    async fn guarded<T>(&self, call: impl Future<Output = mlua::Result<T>>) -> Result<T, String> {
        match Metered::new(call, &self.cx.meter).await {
            Ok(value) => Ok(value),
            Err(error) => {
                if fault::is_memory(&error) {
                    self.cx.meter.halt.tell(&error);
                    return Err(self.cx.meter.halt.message());
                }
                let problem = self.problem(&error);
                let text = fault::text(&problem, &self.source.chunk());
                self.cx.link.report(problem);
                Err(format!("the plugin `{}` failed: {text}", self.cx.name))
            }
        }
    }

    /// A problem at the line where the function begins.
    fn at(&self, function: &Function, message: &str) -> Problem {
        let info = function.info();
        let position = match (info.short_src, info.line_defined) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            _ => String::new(),
        };
        self.problem(&mlua::Error::RuntimeError(format!("{position}{message}")))
    }

    fn problem(&self, error: &mlua::Error) -> Problem {
        fault::problem(&self.source.path, &self.source.chunk(), error)
    }

    /// Waits for a call up to the time limit; time outside of the plugin does not count.
    async fn in_time<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(call);
        loop {
            match tokio::time::timeout(PATIENCE, &mut call).await {
                Ok(value) => return Some(value),
                Err(_) if self.cx.outside.load(Ordering::Relaxed) > 0 => {}
                Err(_) => return None,
            }
        }
    }
}

/// The output of a tool function: a string, or a table with one.
fn output(value: serde_json::Value) -> ToolOutput {
    match value {
        serde_json::Value::Null => ToolOutput::success("done", serde_json::Value::Null),
        serde_json::Value::String(text) => ToolOutput::success(text, serde_json::Value::Null),
        serde_json::Value::Object(mut fields) if fields.contains_key("text") => {
            let text = fields["text"].as_str().unwrap_or_default().to_owned();
            let details = fields.remove("details").unwrap_or_default();
            let failed = fields.get("is_error") == Some(&json!(true));
            let status = if failed {
                ToolStatus::ExecutionError {
                    message: text.clone(),
                }
            } else {
                ToolStatus::Success
            };
            ToolOutput {
                content: vec![ContentBlock::text(text)],
                details,
                status,
            }
        }
        other => ToolOutput::success(other.to_string(), other),
    }
}
