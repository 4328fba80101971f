//! The Lua state of a plugin: no files, no processes, no code loading, and limits for memory and for the
//! instructions between two waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use std::time::{Duration, Instant};

use memchr::memmem;
use mlua::{
    HookTriggers, Lua, LuaOptions, MultiValue, StdLib, String as LuaString, Table, Value, VmState,
};

use super::halt::Halt;
use super::pattern::{self, Capture, Fault};

/// Maximum memory of a plugin.
pub(super) const MEMORY_LIMIT: usize = 64 * 1024 * 1024;
/// Maximum instructions between two waits: about a second. The tests reach it many times, without optimisation.
pub(super) const INSTRUCTION_LIMIT: u64 = if cfg!(test) { 2_000_000 } else { 50_000_000 };
/// Interval of the instruction count. It is short because one instruction can take 0.3 s: a comparison of two strings that
/// fill the memory. No hook can interrupt it.
const STEP: u32 = 8;
/// Maximum time between two waits: not all instructions take the same time, and coroutines have counts of their own.
const TIME_LIMIT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// Maximum levels of the stack that are searched for code of the plugin.
const LEVELS: usize = 16;

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

/// Lua code that replaces library functions with loops, which the count does not reach.
const PRELUDE: &str = include_str!("prelude.lua");

/// Counts the instructions of a plugin, and halts it.
#[derive(Debug)]
pub(super) struct Meter {
    used: AtomicU64,
    /// When the time limit ends, in milliseconds after `created`.
    deadline: AtomicU64,
    created: Instant,
    pub halt: Arc<Halt>,
}

impl Meter {
    pub(super) fn new(halt: Arc<Halt>) -> Arc<Self> {
        let meter = Self {
            used: AtomicU64::new(0),
            deadline: AtomicU64::new(0),
            created: Instant::now(),
            halt,
        };
        meter.restart();
        Arc::new(meter)
    }

    /// Applies the full limits again, because the plugin has waited.
    fn restart(&self) {
        self.used.store(0, Ordering::Relaxed);
        let deadline = self.created.elapsed() + TIME_LIMIT;
        self.deadline
            .store(deadline.as_millis() as u64, Ordering::Relaxed);
    }

    /// Counts work of `count` instructions. Does not return if a limit is exceeded.
    fn charge(&self, lua: &Lua, count: u64) {
        let used = self.used.fetch_add(count, Ordering::Relaxed);
        let now = self.created.elapsed().as_millis() as u64;
        if used.saturating_add(count) > INSTRUCTION_LIMIT
            || now > self.deadline.load(Ordering::Relaxed)
        {
            self.halt(lua);
        }
    }

    fn halt(&self, lua: &Lua) -> ! {
        let place = place(lua).unwrap_or_default();
        let error = mlua::Error::RuntimeError(format!("{place}{ENDLESS}"));
        self.halt.halt(&error)
    }

    /// `string.find` from the byte `init` on, without a limit of its own.
    fn search(
        &self,
        lua: &Lua,
        text: &[u8],
        pattern: &[u8],
        init: usize,
    ) -> mlua::Result<MultiValue> {
        let used = self.used.load(Ordering::Relaxed);
        let all = INSTRUCTION_LIMIT.saturating_sub(used);
        let mut steps = all;
        let found = pattern::find(text, pattern, init.saturating_sub(1), &mut steps);
        self.charge(lua, all - steps);
        let found = match found {
            Ok(found) => found,
            Err(Fault::Limit) => self.halt(lua),
            Err(Fault::Malformed(reason)) => {
                let reason = Value::String(lua.create_string(reason)?);
                return Ok(MultiValue::from_iter([Value::Boolean(false), reason]));
            }
        };
        let Some(found) = found else {
            return Ok(MultiValue::from_iter([Value::Nil]));
        };
        let mut values = vec![whole_number(found.start + 1), whole_number(found.end)];
        for capture in found.captures {
            values.push(match capture {
                Capture::Text { start, end } => {
                    Value::String(lua.create_string(&text[start..end])?)
                }
                Capture::Position(at) | Capture::Open(at) => whole_number(at + 1),
            });
        }
        Ok(MultiValue::from_iter(values))
    }
}

/// The position `FILE:LINE: ` of the running code of the plugin.
fn place(lua: &Lua) -> Option<String> {
    (0..LEVELS).find_map(|level| {
        let place = lua.inspect_stack(level, |place| {
            let line = place.current_line()?;
            let source = place.source().short_src?.into_owned();
            (source != "osier").then(|| format!("{source}:{line}: "))
        });
        place.flatten()
    })
}

fn whole_number(number: usize) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(super) const ENDLESS: &str =
    "ran for 50 million instructions or 10 s without a pause and was stopped";

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
    install_prelude(&lua, meter)?;
    let counted = Arc::clone(meter);
    let triggers = HookTriggers::new().every_nth_instruction(STEP);
    lua.set_global_hook(triggers, move |lua, _| {
        counted.charge(lua, u64::from(STEP));
        Ok(VmState::Continue)
    })?;
    Ok(lua)
}

/// Runs the prelude with the functions that it needs.
fn install_prelude(lua: &Lua, meter: &Arc<Meter>) -> mlua::Result<()> {
    let charged = Arc::clone(meter);
    // A negative count is no work.
    let charge = lua.create_function(move |lua, count: f64| {
        charged.charge(lua, count as u64);
        Ok(())
    })?;
    let searched = Arc::clone(meter);
    let search = lua.create_function(move |lua, given: (LuaString, LuaString, usize)| {
        let (text, pattern, init) = given;
        searched.search(lua, &text.as_bytes(), &pattern.as_bytes(), init)
    })?;
    let find_plain = lua.create_function(|_, given: (LuaString, LuaString, usize)| {
        let (text, part, init) = given;
        let start = init.saturating_sub(1);
        let text = text.as_bytes();
        let found = memmem::find(text.get(start..).unwrap_or_default(), &part.as_bytes());
        Ok(found
            .map(|at| (start + at + 1, start + at + part.as_bytes().len()))
            .map_or_else(
                || MultiValue::from_iter([Value::Nil]),
                |(first, last)| MultiValue::from_iter([whole_number(first), whole_number(last)]),
            ))
    })?;
    let has_length = lua.create_function(|_, table: Table| {
        let meta = table.metatable();
        Ok(meta.is_some_and(|meta| !matches!(meta.raw_get("__len"), Ok(Value::Nil))))
    })?;
    let prelude = lua.load(PRELUDE).set_name("=osier");
    prelude.call::<()>((charge, search, find_plain, has_length))
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

impl<F> Drop for Metered<F> {
    /// A call that ends while it waits runs its `__close` handlers.
    fn drop(&mut self) {
        self.meter.restart();
    }
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.meter.restart();
        self.inner.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::{Link, Request};
    use super::super::discover::Source;
    use super::*;

    /// Runs code on a separate thread, which does not end if the code is halted.
    fn run_in(
        code: &str,
        prepare: impl FnOnce(&Lua, &Arc<Meter>) + Send + 'static,
    ) -> Result<String, String> {
        let source = Source {
            name: "test".to_owned(),
            path: "/test".into(),
            code: String::new(),
            modules: Vec::new(),
        };
        let (link, mut problems) = Link::new();
        let (halt, code) = (Halt::new(&source, &link), code.to_owned());
        let halted = Arc::clone(&halt);
        drop(link);
        let (sender, result) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let meter = Meter::new(halted);
            let lua = new(&meter).unwrap();
            prepare(&lua, &meter);
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.build().unwrap();
            let value = lua.load(code).set_name("=test").eval_async::<Value>();
            let value = runtime.block_on(Metered::new(value, &meter));
            let value = value.and_then(|value| value.to_string());
            let _ = sender.send(value.map_err(|error| error.to_string()));
            meter.halt.token.cancel();
        });
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        runtime.block_on(halt.token.cancelled());
        match problems.try_recv() {
            Some(Request::Problem(problem)) => Err(problem.to_string()),
            _ => result.recv().unwrap(),
        }
    }

    fn run(code: &str) -> Result<String, String> {
        run_in(code, |_, _| {})
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

    /// Handlers of a function that is stopped must not run without a limit.
    #[test]
    fn close_handlers_obey_the_limits() {
        let endless =
            "local x <close> = setmetatable({}, {__close = function() while true do end end})";
        for code in [
            "ENDLESS while true do end",
            "coroutine.wrap(function() ENDLESS while true do end end)()",
            "while true do pcall(coroutine.wrap(function() ENDLESS while true do end end)) end",
            "local c = coroutine.create(function() ENDLESS while true do end end) pcall(coroutine.resume, c) pcall(coroutine.close, c)",
            "local c = coroutine.create(function() ENDLESS coroutine.yield() end) coroutine.resume(c) coroutine.close(c)",
            "coroutine.wrap(function() for _ in next, {1}, nil, setmetatable({}, {__close = function() while true do end end}) do while true do end end end)()",
            "local function f(n) ENDLESS if n > 0 then coroutine.wrap(f)(n - 1) end while true do end end f(5)",
            "coroutine.wrap(function() local x <close> = setmetatable({}, {__close = function() ENDLESS error('x') end}) while true do end end)()",
            "coroutine.wrap(function() pcall(coroutine.yield) ENDLESS while true do end end)() local c c = coroutine.wrap(function() ENDLESS pcall(coroutine.yield) while true do end end) c() c()",
        ] {
            let error = run(&code.replace("ENDLESS", endless)).unwrap_err();
            assert!(error.contains(ENDLESS), "{code}: {error}");
        }
    }

    /// One instruction can take a third of a second, so a thousand instructions are too many between two checks of the clock.
    #[test]
    fn the_clock_is_read_every_few_instructions() {
        let counted = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&counted);
        let code = format!("exhaust() {}", "count() ".repeat(10));
        let error = run_in(&code, move |lua, meter| {
            let count = move |_: &Lua, ()| Ok(count.fetch_add(1, Ordering::Relaxed));
            let meter = Arc::clone(meter);
            let exhaust = move |_: &Lua, ()| {
                meter.used.store(INSTRUCTION_LIMIT, Ordering::Relaxed);
                Ok(())
            };
            let globals = lua.globals();
            let count = lua.create_function(count).unwrap();
            globals.set("count", count).unwrap();
            let exhaust = lua.create_function(exhaust).unwrap();
            globals.set("exhaust", exhaust).unwrap();
        });
        assert!(error.unwrap_err().contains(ENDLESS));
        let count = counted.load(Ordering::Relaxed);
        assert!(count <= u64::from(STEP), "{count}");
    }

    /// Each of these calls ran for hours, or endlessly, before these limits.
    #[test]
    fn library_functions_obey_the_limits() {
        for code in [
            "return string.find(('a'):rep(40), ('a*'):rep(30) .. 'b')",
            "return ('a'):rep(40):match(('a-'):rep(30) .. 'b')",
            "for _ in ('a'):rep(40):gmatch(('a?'):rep(40) .. ('a*'):rep(20) .. 'b') do end",
            "return (('a'):rep(40):gsub(('.*'):rep(20) .. 'b', ''))",
            "return ('x'):rep(100000):find(('x-'):rep(9) .. 'y')",
            "return table.move({}, 1, 1 << 60, 2)",
            "return table.move(setmetatable({}, {__index = rawlen}), 1, 1 << 60, 2, setmetatable({}, {__newindex = rawlen}))",
            "return table.concat(setmetatable({}, {__index = getmetatable, __metatable = ''}), '', 1, 1 << 60)",
            "return table.concat(setmetatable({}, {__len = function() return 1 << 60 end, __index = getmetatable, __metatable = ''}))",
            "return table.concat(setmetatable({}, {__index = getmetatable, __metatable = ''}), '', '2', '1152921504606846976')",
            "return table.unpack({}, '2', '1152921504606846976')",
            "local a = ('\\0'):rep(500000) local b, t = a .. 'x', {} a = a .. 'y' for i = 1, 4000 do t[i] = i % 2 == 0 and a or b end table.sort(t)",
            "table.insert(setmetatable({}, {__len = function() return 1 << 60 end, __newindex = rawlen}), 1, 1)",
            "table.remove(setmetatable({}, {__len = function() return 1 << 60 end, __newindex = rawlen}), 1)",
            "while true do pcall(string.find, ('a'):rep(40), ('a*'):rep(30) .. 'b') end",
            "while true do coroutine.wrap(function() for i = 1, 900 do end end)() end",
            "local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) coroutine.yield() end) coroutine.resume(c) while true do coroutine.close(c) end",
        ] {
            let error = run(code).unwrap_err();
            assert!(error.contains(ENDLESS), "{code}: {error}");
        }
        for (code, value) in [
            ("return #string.rep('', 1 << 60)", "0"),
            (
                "return select(2, pcall(setmetatable, {}, {__gc = function() while true do end end}))",
                "`__gc` is not available",
            ),
            (
                "return select(2, pcall(string.format, '%99999d', 1))",
                "invalid conversion specification: '%99999d'",
            ),
            (
                "local s = ('a'):rep(4000000) return tostring(s:find(('a'):rep(2000000) .. 'b', 1, true))",
                "nil",
            ),
            (
                "return select(2, pcall(table.sort, setmetatable({}, {__len = function() return 1 << 30 end})))",
                "`table.sort` needs a table without `__len`",
            ),
        ] {
            let found = run(code).unwrap();
            assert!(found.ends_with(value), "{code}: {found}");
        }
    }

    #[test]
    fn string_functions_are_those_of_lua() {
        for (code, value) in [
            (
                "local a, b, c = ('key = value'):find('(%w+)%s*='); return a .. b .. c",
                "15key",
            ),
            (
                "return ('  trim me  '):match('^%s*(.-)%s*$') .. '|'",
                "trim me|",
            ),
            ("return ('hello world'):gsub('o', '0')", "hell0 w0rld"),
            ("return (('abc'):gsub('', '-'))", "-a-b-c-"),
            ("return (('abc'):gsub('%w', '%0%0'))", "aabbcc"),
            ("return (('abc'):gsub('b*', 'x'))", "xaxcx"),
            (
                "return (('hello world'):gsub('(%w+) (%w+)', '%2 %1'))",
                "world hello",
            ),
            ("return (('$a $b'):gsub('%$(%w)', {a = 'one'}))", "one $b"),
            (
                "return (('abc'):gsub('%w', function(c) if c == 'b' then return '[' .. c .. ']' end end))",
                "a[b]c",
            ),
            ("return select(2, ('aaa'):gsub('a', 'b', 2))", "2"),
            ("return (('aaa'):gsub('^a', 'b'))", "baa"),
            (
                "local t = {} for k, v in ('a=1, b=2'):gmatch('(%w)=(%w)') do t[#t + 1] = k .. v end return table.concat(t, ' ')",
                "a1 b2",
            ),
            (
                "local t = {} for w in ('one two'):gmatch('%a*') do t[#t + 1] = w end return table.concat(t, ',')",
                "one,two",
            ),
            ("return ('f(a(b)c)d'):match('%b()')", "(a(b)c)"),
            ("return ('THE (quick) fox'):find('%f[%a]%a+%f[%A]')", "1"),
            ("return ('x\"y\"z'):match('([\"\\'])(.-)%1')", "\""),
            ("return ('a-b]c'):match('[]%-]+')", "-"),
            ("return ('2024-11'):match('()%-()')", "5"),
            ("return tostring(('abc'):find('b', -1))", "nil"),
            ("return ('a.b'):find('.', 2, true)", "2"),
            (
                "return select(2, pcall(string.find, 'a', '[a'))",
                "malformed pattern (missing `]`)",
            ),
            (
                "local t = {1, 2, 3} table.insert(t, 2, 9) return table.concat(t, ',')",
                "1,9,2,3",
            ),
            (
                "local t = {1, 2, 3} return table.remove(t, 1) .. table.concat(t, ',')",
                "12,3",
            ),
            (
                "local t = {} return tostring(table.remove(t)) .. #t",
                "nil0",
            ),
            (
                "return table.concat(table.move({1, 2, 3}, 1, 3, 2), ',')",
                "1,1,2,3",
            ),
            (
                "local t = {3, 1, 2} table.sort(t) return table.concat(t)",
                "123",
            ),
            (
                "local t = {'b', 'c', 'a' .. ('x'):rep(2000)} table.sort(t) return t[1]:sub(1, 1) .. t[2] .. t[3]",
                "abc",
            ),
            ("return ('%d'):rep(2, '-')", "%d-%d"),
        ] {
            assert_eq!(run(code).unwrap(), value, "{code}");
        }
    }

    #[test]
    fn memory_is_limited() {
        let error = run(
            "local t = {} while true do t[#t + 1] = string.rep('x', 16 * 1024 * 1024) .. #t end",
        );
        let error = error.unwrap_err();
        assert!(error.contains("memory"), "{error}");
        assert!(run("return #string.rep('x', 1024 * 1024 * 1024)").is_err());
    }
}
