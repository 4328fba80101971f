//! Tools that are added and removed while an agent runs: offered from the next request on, in a stable order.

use osier_agent::{Event, Op, ToolOutput, ToolStatus};
use osier_llm::Script;
use serde_json::{Value, json};

use crate::support::agent::{AgentSetup, Journal, RunningAgent, TestSource, TestTool};
use crate::support::event_lines::records;

fn plain(name: &str) -> TestTool {
    TestTool::new(name, |_, _| async {
        ToolOutput::success("ok", Value::Null)
    })
}

/// The tools of each request.
fn offered(stage: &RunningAgent) -> Vec<Vec<String>> {
    let requests = stage.provider.requests();
    let names = requests.iter().map(|request| {
        let tools = request.context.tools.iter();
        tools.map(|tool| tool.name.clone()).collect()
    });
    names.collect()
}

/// The tool lists of events: a name, or a name in brackets if the tool is not offered.
fn told(events: &[Event]) -> Vec<Vec<String>> {
    let lists = events.iter().filter_map(|event| match event {
        Event::Tools { tools } => Some(tools),
        _ => None,
    });
    let name = |tool: &osier_agent::ToolInfo| {
        if tool.offered {
            tool.name.clone()
        } else {
            format!("({})", tool.name)
        }
    };
    lists
        .map(|tools| tools.iter().map(name).collect())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn tool_added_during_a_turn_is_offered_in_the_next_request() {
    let source = TestSource::default();
    let joining = source.clone();
    let opener = TestTool::new("open", move |_, _| {
        joining.put(vec![plain("late")]);
        async { ToolOutput::success("open", Value::Null) }
    });
    let script = Script::new()
        .turn(|turn| turn.tool("open", json!({})).tool("late", json!({})))
        .turn(|turn| turn.tool("late", json!({})).with_id("c"))
        .turn(|turn| turn.text("done"));
    let ran = AgentSetup::new()
        .script(script)
        .tool(opener)
        .source(&source)
        .run()
        .await;
    assert_eq!(
        offered(&ran.stage),
        [vec!["open"], vec!["open", "late"], vec!["open", "late"]]
    );
    assert_eq!(told(&ran.events), [["open", "late"]]);
    let statuses: Vec<ToolStatus> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ToolExecutionEnd { result, .. } => Some(result.status.clone()),
            _ => None,
        })
        .collect();
    // The call of the first turn is older than the tool, so it ends at once.
    let expected = [
        ToolStatus::ToolNotFound,
        ToolStatus::Success,
        ToolStatus::Success,
    ];
    assert_eq!(statuses, expected);
}

#[tokio::test(start_paused = true)]
async fn tool_removed_during_a_turn_still_answers_its_request() {
    let source = TestSource::default();
    let going = source.clone();
    let journal = Journal::default();
    source.put(vec![TestTool::echo(&journal)]);
    let closer = TestTool::new("close", move |_, _| {
        going.put(Vec::new());
        async { ToolOutput::success("closed", Value::Null) }
    });
    let script = Script::new()
        .turn(|turn| {
            turn.tool("close", json!({}))
                .tool("echo", json!({"text": "a"}))
        })
        .turn(|turn| turn.text("done"));
    let ran = AgentSetup::new()
        .script(script)
        .tool(closer)
        .source(&source)
        .run()
        .await;
    assert_eq!(journal.lines(), ["echo a"]);
    assert_eq!(offered(&ran.stage), [vec!["close", "echo"], vec!["close"]]);
}

#[tokio::test(start_paused = true)]
async fn tool_list_is_current_without_a_run_and_keeps_disabled_tools() {
    let source = TestSource::default();
    let scene = AgentSetup::new().tool(plain("read")).tool(plain("bash"));
    let mut stage = scene.source(&source).start();
    let names = vec!["read".to_owned()];
    let events = stage.apply(Op::SetTools { names }).await;
    assert_eq!(told(&events), [["read", "(bash)"]]);
    source.put(vec![plain("later"), plain("read")]);
    let events = stage.apply(Op::ListTools).await;
    // The first of two tools with one name is used; a new tool is offered.
    let expected = ["read", "(bash)", "later"];
    assert_eq!(told(&events).last().unwrap(), &expected);
    assert_eq!(stage.agent.state().tools, ["read", "later"]);
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_server_are_logged_under_its_name() {
    let source = TestSource::default();
    source.put(vec![plain("time__now").of_server("time", "now")]);
    let script = Script::new()
        .turn(|turn| turn.tool("time__now", json!({"zone": "UTC"})))
        .turn(|turn| turn.text("done"));
    let ran = AgentSetup::new().script(script).source(&source).run().await;
    let records = records(&ran.events);
    let calls: Vec<&String> = records
        .iter()
        .filter(|line| line.contains(" mcp "))
        .collect();
    assert_eq!(
        calls,
        [
            "[VRB] → [1.1] mcp time:now: time__now(zone:UTC)",
            "[VRB] ← [1.1] mcp time:now: ?ms, 2 chars",
        ]
    );
}
