//! The Lua state of a plugin: no files, no processes, no code loading, and limits for memory and for the
//! instructions between two waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use mlua::{Debug, HookTriggers, Lua, LuaOptions, StdLib, Value, VmState};

/// Maximum memory of a plugin.
pub(super) const MEMORY_LIMIT: usize = 64 * 1024 * 1024;
/// Maximum instructions between two waits: about half a second.
pub(super) const INSTRUCTION_LIMIT: u64 = 50_000_000;
/// Interval of the instruction count.
const STEP: u32 = 10_000;

/// Removed functions: they read files, load code or bypass the limits.
const REMOVED: &[&str] = &[
    "dofile",
    "loadfile",
    "load",
    "require",
    "collectgarbage",
    "warn",
];
/// The remaining functions of `os`.
const CLOCK: &[&str] = &["time", "date", "clock", "difftime"];

/// Catching an error must not keep a stopped plugin alive. A handler of `xpcall` runs at the point of the
/// error, inside the hook, where its instructions would not be counted.
const PRELUDE: &str = r"
local check = ...
local pcall_, resume_ = pcall, coroutine.resume
local function pass(...) check() return ... end
function pcall(...) return pass(pcall_(...)) end
local function handled(handler, ok, ...)
  check()
  if ok then return true, ... end
  return false, handler(...)
end
function xpcall(f, handler, ...) return handled(handler, pcall_(f, ...)) end
function coroutine.resume(...) return pass(resume_(...)) end
";

/// Counts the instructions of a plugin. Shared by its state and its callers.
#[derive(Debug, Default)]
pub(super) struct Meter {
    used: AtomicU64,
    stopped: AtomicBool,
}

impl Meter {
    /// Whether the plugin exceeded a limit: it is not called again.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn step(&self, place: &Debug<'_>) -> mlua::Result<VmState> {
        let used = self.used.fetch_add(u64::from(STEP), Ordering::Relaxed);
        if used >= INSTRUCTION_LIMIT {
            self.stop();
        }
        if !self.is_stopped() {
            return Ok(VmState::Continue);
        }
        let line = place.current_line().unwrap_or_default();
        let source = place.source().short_src.map(std::borrow::Cow::into_owned);
        let source = source.unwrap_or_default();
        Err(mlua::Error::RuntimeError(format!(
            "{source}:{line}: {ENDLESS}"
        )))
    }
}

pub(super) const ENDLESS: &str = "ran for 50 million instructions without a pause and was stopped";

/// Creates a Lua state without the table `osier`.
pub(super) fn new(meter: &Arc<Meter>) -> mlua::Result<Lua> {
    let libraries = StdLib::COROUTINE
        | StdLib::TABLE
        | StdLib::STRING
        | StdLib::UTF8
        | StdLib::MATH
        | StdLib::OS;
    let lua = Lua::new_with(libraries, LuaOptions::new())?;
    lua.set_memory_limit(MEMORY_LIMIT)?;
    let globals = lua.globals();
    for name in REMOVED {
        globals.set(*name, Value::Nil)?;
    }
    let clock = lua.create_table()?;
    let os: mlua::Table = globals.get("os")?;
    for name in CLOCK {
        clock.set(*name, os.get::<Value>(*name)?)?;
    }
    globals.set("os", clock)?;
    let string: mlua::Table = globals.get("string")?;
    string.set("dump", Value::Nil)?;
    let watched = Arc::clone(meter);
    let check = lua.create_function(move |_, ()| {
        if watched.is_stopped() {
            return Err(mlua::Error::RuntimeError(ENDLESS.to_owned()));
        }
        Ok(())
    })?;
    lua.load(PRELUDE).set_name("=osier").call::<()>(check)?;
    let counted = Arc::clone(meter);
    let triggers = HookTriggers::new().every_nth_instruction(STEP);
    lua.set_global_hook(triggers, move |_, place| counted.step(place))?;
    Ok(lua)
}

/// A call of a plugin: after every wait, the full instruction limit applies again.
pub(super) struct Metered<F> {
    inner: Pin<Box<F>>,
    meter: Arc<Meter>,
}

impl<F: Future> Metered<F> {
    pub(super) fn new(inner: F, meter: &Arc<Meter>) -> Self {
        Self {
            inner: Box::pin(inner),
            meter: Arc::clone(meter),
        }
    }
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.meter.used.store(0, Ordering::Relaxed);
        self.inner.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(code: &str) -> Result<String, String> {
        let meter = Arc::new(Meter::default());
        let lua = new(&meter).unwrap();
        let value = lua.load(code).set_name("=test").eval::<Value>();
        value
            .and_then(|value| value.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn files_processes_and_code_loading_are_unavailable() {
        for name in [
            "io",
            "package",
            "debug",
            "require",
            "dofile",
            "loadfile",
            "load",
            "os.execute",
            "os.remove",
            "os.getenv",
            "os.exit",
            "os.rename",
            "os.tmpname",
            "string.dump",
            "collectgarbage",
        ] {
            assert_eq!(run(&format!("return {name}")).unwrap(), "nil", "{name}");
        }
        assert_eq!(run("return type(os.time())").unwrap(), "number");
        assert_eq!(run("return select(2, pcall(error, 'x'))").unwrap(), "x");
    }

    #[test]
    fn an_endless_loop_ends_even_with_pcall() {
        for code in [
            "while true do end",
            "while true do pcall(function() while true do end end) end",
            "while true do xpcall(function() while true do end end, function() while true do end end) end",
            "local c = function() while true do end end while true do coroutine.resume(coroutine.create(c)) end",
        ] {
            let error = run(code).unwrap_err();
            assert!(error.contains(ENDLESS), "{code}: {error}");
        }
    }

    #[test]
    fn memory_is_limited() {
        let error =
            run("local t = {} while true do t[#t + 1] = string.rep('x', 1024 * 1024) .. #t end");
        assert!(error.unwrap_err().contains("memory"));
        assert!(run("return #string.rep('x', 1024 * 1024 * 1024)").is_err());
    }
}
