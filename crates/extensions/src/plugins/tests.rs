//! Plugins that check calls: whatever happens to their files, no call runs without their check.

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::channel::Requests;
use super::*;

const BLOCKS: &str = "osier.on('tool_call', function() return { block = 'by the gate' } end)";
const PASSES: &str = "osier.on('tool_call', function() end)";
/// Code that waits for an answer of the session while the plugin loads.
const WAITS: &str = "osier.session()";

struct Bench {
    folder: TempDir,
    plugins: Arc<Plugins>,
    requests: Requests,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let (link, requests) = Link::new();
        let (questions, _) = Questions::new();
        let cwd = folder.path().to_owned();
        Self {
            plugins: Plugins::new(link, questions, cwd, true),
            folder,
            requests,
        }
    }

    fn write(&self, name: &str, text: &[u8]) {
        osier_base::atomic_file::write(&self.folder.path().join(name), text).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.folder.path().join(name)).unwrap();
    }

    fn folders(&self) -> Vec<PluginFolder> {
        vec![PluginFolder::from(self.folder.path().to_owned())]
    }

    async fn load(&self) -> Loaded {
        self.plugins.load(self.folders()).await
    }

    /// The answer of the plugins about a call; the directory is left out of errors.
    async fn call(&self) -> Result<Value, String> {
        let call = json!({"id": "c", "name": "bash", "arguments": {"command": "true"}});
        let answer = self.plugins.ask(GATE, call).await;
        answer.map_err(|error| self.shown(&error))
    }

    fn shown(&self, text: &str) -> String {
        let folder = format!("{}/", self.folder.path().display());
        text.replace(&folder, "")
    }

    /// Starts to load and waits until a plugin waits for the session.
    async fn start_loading(&mut self) -> (tokio::task::JoinHandle<Loaded>, oneshot::Sender<Value>) {
        let (plugins, folders) = (Arc::clone(&self.plugins), self.folders());
        let loading = tokio::spawn(async move { plugins.load(folders).await });
        loop {
            if let Some(Request::Session { reply }) = self.requests.recv().await {
                return (loading, reply);
            }
        }
    }
}

fn blocked() -> Value {
    json!({"block": "by the gate"})
}

fn passed() -> Value {
    json!({})
}

#[tokio::test]
async fn what_runs_stays_in_force_until_all_are_loaded() {
    let mut bench = Bench::new();
    bench.write("gate.lua", BLOCKS.as_bytes());
    bench.load().await;
    assert_eq!(bench.call().await, Ok(blocked()));
    // Another plugin loads; then the gate itself in a new version.
    for (name, code, then) in [
        ("other.lua", WAITS.to_owned(), blocked()),
        ("gate.lua", format!("{WAITS} {PASSES}"), passed()),
    ] {
        bench.write(name, code.as_bytes());
        let (loading, reply) = bench.start_loading().await;
        assert!(bench.plugins.listens(GATE));
        assert_eq!(bench.call().await, Ok(blocked()), "{name}");
        reply.send(json!({})).unwrap();
        loading.await.unwrap();
        assert_eq!(bench.call().await, Ok(then), "{name}");
    }
}

#[tokio::test]
async fn directories_with_a_dot_in_their_names_are_different_plugins() {
    let bench = Bench::new();
    for name in ["acme.gate", "acme.todo"] {
        std::fs::create_dir(bench.folder.path().join(name)).unwrap();
        bench.write(&format!("{name}/init.lua"), PASSES.as_bytes());
    }
    assert_eq!(bench.load().await.started, ["acme.gate", "acme.todo"]);
}

/// The reports of the plugins since the last time; the directory is left out.
fn reported(bench: &mut Bench) -> Vec<String> {
    let mut reports = Vec::new();
    while let Some(request) = bench.requests.try_recv() {
        if let Request::Problem(problem) = request {
            reports.push(problem.to_string());
        }
    }
    reports.iter().map(|text| bench.shown(text)).collect()
}

#[tokio::test]
async fn a_gate_that_does_not_load_because_of_its_name_denies() {
    let other = "osier.command { name = 'x', run = function() end }";
    for (files, report) in [
        (
            &[("g/init.lua", other), ("g.lua", BLOCKS)][..],
            "g.lua: does not load: `g/init.lua` is a plugin with the same name",
        ),
        (
            &[("g/main.lua", BLOCKS)],
            "g/main.lua: does not load: a directory of a plugin has a file `init.lua`",
        ),
        (
            &[("g.LUA", BLOCKS)],
            "g.LUA: does not load: the name of a plugin ends in `.lua`",
        ),
    ] {
        let mut bench = Bench::new();
        for (name, code) in files {
            let path = bench.folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            bench.write(name, code.as_bytes());
        }
        bench.load().await;
        let denial =
            format!("the plugin `g` checks calls and does not load: {report}; fix or delete it");
        assert_eq!(bench.call().await, Err(denial.clone()));
        let refusal = bench.plugins.broken_gate().map(|text| bench.shown(&text));
        assert_eq!(refusal, Some(denial));
        assert_eq!(reported(&mut bench), [report]);
        // A plugin that is turned off is not loaded.
        for (name, _) in files {
            let path = bench.folder.path().join(name);
            let off = path.with_file_name(format!("{}.off.lua", name.len()));
            std::fs::rename(path, off).unwrap();
        }
        bench.load().await;
        assert_eq!(bench.call().await, Ok(passed()));
    }
}

#[tokio::test]
async fn a_twin_that_guards_nothing_is_named_and_denies_nothing() {
    let mut bench = Bench::new();
    for name in ["g", "h.off", "i.disabled", ".hidden"] {
        std::fs::create_dir(bench.folder.path().join(name)).unwrap();
        bench.write(&format!("{name}/init.lua"), b"");
    }
    bench.write("g.lua", b"-- other");
    assert_eq!(bench.load().await.started, ["g"]);
    assert_eq!(bench.call().await, Ok(passed()));
    let twin = "g.lua: does not load: `g/init.lua` is a plugin with the same name";
    assert_eq!(reported(&mut bench), [twin]);
}

#[tokio::test]
async fn a_name_that_two_plugins_register_is_reported_with_both_files() {
    let mut bench = Bench::new();
    let code = "osier.command { name = 'x', run = function() end }
        osier.tool { name = 't', description = 'd', run = function() end }
        osier.keymap('alt+k', 'd', function() end)";
    bench.write("a.lua", code.as_bytes());
    bench.write("b.lua", code.as_bytes());
    bench.load().await;
    let expected = ["tool `t`", "command `/x`", "key `alt+k`"].map(|what| {
        format!("b.lua: the {what} is already in `a.lua`, which is used; rename one of them")
    });
    assert_eq!(reported(&mut bench), expected);
}

#[tokio::test]
async fn each_mistake_is_one_line_with_file_and_line() {
    for (code, expected) in [
        (
            "osier.command { name = 'x', descripton = 'd', run = print }",
            "p.lua:1: unknown field `descripton` of a command: did you mean `description`?",
        ),
        (
            "\nosier.tool { name = 't', description = 'd', paramters = {}, run = print }",
            "p.lua:2: unknown field `paramters` of a tool: did you mean `parameters`?",
        ),
        (
            "osier.command { nam = 'x', run = print }",
            "p.lua:1: unknown field `nam` of a command: did you mean `name`?",
        ),
        (
            "osier.command { run = print }",
            "p.lua:1: a command needs `name`, a string",
        ),
        (
            "osier.command { name = 'x', values = 'abc', run = print }",
            "p.lua:1: `values` of a command must be a list of strings",
        ),
        (
            "osier.onn('input', print)",
            "p.lua:1: attempt to call a nil value (field 'onn'); did you mean `osier.on`?",
        ),
        (
            "local f = io.open('x')",
            "p.lua:1: attempt to index a nil value (global 'io'); plugins have no `io`: use `osier.exec` with a program, such as `cat`, and `print` for output",
        ),
        (
            "os.execute('x')",
            "p.lua:1: attempt to call a nil value (field 'execute'); plugins have no `os.execute`: use `osier.exec`",
        ),
        (
            "require 'cjson'",
            "p.lua:1: `cjson.lua` does not exist in the same directory; plugins have no other modules",
        ),
        (
            "osier.exec('true', {}, { timeout = 5 })",
            "p.lua:1: unknown field `timeout` of the options of `osier.exec`: did you mean `timeout_ms`?",
        ),
    ] {
        let mut bench = Bench::new();
        bench.write("p.lua", code.as_bytes());
        bench.load().await;
        assert_eq!(reported(&mut bench), [expected]);
    }
    let mut bench = Bench::new();
    let code = "-- a gate\nosier.on('tool_call', function() return { blocked = true } end)";
    bench.write("p.lua", code.as_bytes());
    bench.load().await;
    assert!(
        bench
            .call()
            .await
            .is_ok_and(|fields| fields.get("block").is_some())
    );
    let expected = "p.lua:2: the handler of `tool_call` returned `blocked`, which is not a field of the answer";
    assert_eq!(reported(&mut bench), [expected]);
}

/// The failing handler of an event is an error that blocks, or an empty answer.
#[tokio::test]
async fn a_failing_handler_blocks_the_events_that_guard() {
    for event in api::INTERCEPTED {
        for code in ["error('boom')", "return 'no'", "return { blok = 'x' }"] {
            let bench = Bench::new();
            let name = event.name;
            let code = format!("osier.on('{name}', function() {code} end)");
            bench.write("p.lua", code.as_bytes());
            bench.load().await;
            let answer = bench.plugins.ask(name, json!({})).await;
            let blocks = match &answer {
                Ok(fields) => fields.get("block").is_some(),
                Err(_) => true,
            };
            let guards = !event.failure.is_empty();
            assert!(blocks || !guards, "{code}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_plugin_that_does_not_load_blocks_what_it_names() {
    for event in api::guards() {
        let bench = Bench::new();
        bench.write(
            "p.lua",
            format!("osier.on('{event}', print)\nerror('boom')").as_bytes(),
        );
        bench.load().await;
        let refusal = bench.plugins.broken_gate();
        assert!(bench.plugins.listens(event) && refusal.is_some(), "{event}");
        let answer = bench.plugins.ask(event, json!({})).await;
        assert_eq!(answer.err(), refusal);
    }
}

#[tokio::test]
async fn cancelled_load_changes_nothing() {
    let mut bench = Bench::new();
    bench.write("gate.lua", BLOCKS.as_bytes());
    bench.load().await;
    bench.write("gate.lua", WAITS.as_bytes());
    let (loading, reply) = bench.start_loading().await;
    loading.abort();
    assert!(loading.await.is_err());
    drop(reply);
    assert_eq!(bench.call().await, Ok(blocked()));
}

#[tokio::test]
async fn gate_that_does_not_load_denies_until_it_is_fixed_or_removed() {
    let syntax = "osier.on('tool_call', function() return { block = 'x'\nend)";
    let denied = |reason: &str| {
        Err(format!(
            "the plugin `gate` checks calls and does not load: {reason}; fix or delete it"
        ))
    };
    for (code, reason) in [
        (
            syntax.as_bytes(),
            "gate.lua:2: '}' expected (to close '{' at line 1) near 'end'",
        ),
        (
            b"osier.on('tool_cal', print)",
            "gate.lua:1: unknown event `tool_cal`: did you mean `tool_call`?",
        ),
        (b"-- tool_call\nerror('boom')", "gate.lua:2: boom"),
        (
            b"-- tool_call\nrequire('missing')",
            "gate.lua:2: `missing.lua` does not exist in the same directory; plugins have no other modules",
        ),
        (b"\xff\xfe", "gate.lua: is not UTF-8 text"),
    ] {
        // The gate is broken from the start, or after it has worked.
        for worked in [false, true] {
            let bench = Bench::new();
            if worked {
                bench.write("gate.lua", PASSES.as_bytes());
                bench.load().await;
                assert_eq!(bench.call().await, Ok(passed()));
            }
            bench.write("gate.lua", code);
            bench.load().await;
            assert!(bench.plugins.listens(GATE));
            assert_eq!(bench.call().await, denied(reason));
            // Even if the code no longer contains the name of the event.
            bench.write("gate.lua", b"local = 1");
            bench.load().await;
            assert_eq!(
                bench.call().await,
                denied("gate.lua:1: <name> expected near '='")
            );
            bench.write("gate.lua", PASSES.as_bytes());
            bench.load().await;
            assert_eq!(bench.call().await, Ok(passed()));
            bench.write("gate.lua", code);
            bench.load().await;
            bench.remove("gate.lua");
            bench.load().await;
            assert_eq!(bench.call().await, Ok(passed()));
        }
    }
}

#[tokio::test]
async fn plugin_that_checks_no_calls_denies_nothing_and_stays_as_it_was() {
    let bench = Bench::new();
    bench.write(
        "other.lua",
        b"osier.command { name = 'one', run = function() end }",
    );
    bench.load().await;
    bench.write("other.lua", b"osier.command {");
    let loaded = bench.load().await;
    assert_eq!((loaded.started.len(), loaded.ended.len()), (0, 0));
    assert!(!bench.plugins.listens(GATE));
    assert_eq!(bench.call().await, Ok(passed()));
    assert_eq!(bench.plugins.commands()[0].name, "one");
}

#[tokio::test]
async fn stopped_gate_denies_and_is_started_again_by_a_reload() {
    let bench = Bench::new();
    bench.write(
        "gate.lua",
        b"osier.on('tool_call', function(call) while call.arguments.command == 'true' do end end)",
    );
    bench.load().await;
    let first = bench.call().await.unwrap_err();
    assert!(first.contains("without a pause and was stopped"), "{first}");
    let refusal = "the plugin `gate` was stopped: reload it".to_owned();
    assert_eq!(bench.call().await, Err(refusal));
    assert_eq!(bench.load().await.started, ["gate"]);
    let other = json!({"arguments": {"command": "false"}});
    assert_eq!(bench.plugins.ask(GATE, other).await, Ok(passed()));
}

#[tokio::test]
async fn answer_that_is_not_understood_denies_and_names_the_field() {
    for (answer, expected) in [
        ("nil", None),
        ("{}", None),
        ("{ block = false }", None),
        ("{ block = 'no' }", Some("no")),
        ("{ block = true }", Some("no reason given")),
        (
            "{ blocked = true }",
            Some(
                "the plugin `gate` failed: the handler of `tool_call` returned `blocked`, which is not a field of the answer",
            ),
        ),
        (
            "'deny'",
            Some(
                "the plugin `gate` failed: the handler of `tool_call` returned a string instead of a table",
            ),
        ),
        (
            "42",
            Some(
                "the plugin `gate` failed: the handler of `tool_call` returned a number instead of a table",
            ),
        ),
    ] {
        let bench = Bench::new();
        let code = format!("osier.on('tool_call', function() return {answer} end)");
        bench.write("gate.lua", code.as_bytes());
        bench.load().await;
        let expected = match expected {
            Some(reason) => json!({"block": reason}),
            None => json!({}),
        };
        assert_eq!(bench.call().await, Ok(expected), "{answer}");
    }
}

#[test]
fn plugins_continue_the_model_a_few_times_between_acts_of_the_user() {
    let (link, mut requests) = Link::new();
    let (questions, _) = Questions::new();
    let plugins = Plugins::new(link, questions, Path::new("/").to_owned(), true);
    for _ in 0..2 {
        let continued = (0..100).filter(|_| plugins.may_continue()).count();
        assert_eq!(continued, 8);
        let Some(Request::Notify { text, .. }) = requests.try_recv() else {
            panic!("no notice");
        };
        assert_eq!(text, "plugins continued the model 8 times: stopping now");
        assert!(requests.try_recv().is_none());
        plugins.user_acted();
    }
}
