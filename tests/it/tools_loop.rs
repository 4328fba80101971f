//! Tools in the agent loop: order, concurrency, denials, interrupts, and the results for the model.

use async_trait::async_trait;
use std::sync::Arc;

use osier_agent::{
    CheckedCall, Concurrency, Event, Interceptor, Op, Output, RunOutcome, ToolDecision, ToolOutput,
    ToolStatus, ToolUpdate,
};
use osier_llm::{Script, StopReason};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::support::agent::{AgentSetup, Journal, TestTool};
use crate::support::event_lines::{outline, quiet};

/// Call `a` waits for `b`, and `b` for `c`: they end in reverse order.
fn chained(journal: &Journal) -> TestTool {
    let ended: Arc<[Semaphore; 4]> = Arc::new([0, 0, 0, 1].map(Semaphore::new));
    let journal = journal.clone();
    TestTool::new("chain", move |arguments, _| {
        let (ended, journal) = (Arc::clone(&ended), journal.clone());
        async move {
            let place = arguments["place"].as_u64().unwrap() as usize;
            journal.note(format!("begin {place}"));
            ended[place + 1].acquire().await.unwrap().forget();
            journal.note(format!("end {place}"));
            ended[place].add_permits(1);
            ToolOutput::success(format!("done {place}"), Value::Null)
        }
    })
}

fn three_calls(name: &str) -> Script {
    Script::new()
        .turn(|turn| {
            (0..3).fold(turn, |turn, place| {
                turn.tool(name, json!({"place": place}))
                    .with_id(&format!("c{place}"))
            })
        })
        .turn(|turn| turn.text("done"))
}

#[tokio::test(start_paused = true)]
async fn parallel_results_are_stored_in_call_order() {
    let journal = Journal::default();
    let scene = AgentSetup::new().script(three_calls("chain"));
    let ran = scene.tool(chained(&journal)).run().await;
    assert_eq!(
        journal.lines(),
        ["begin 0", "begin 1", "begin 2", "end 2", "end 1", "end 0"]
    );
    assert_eq!(
        ran.story()[8..],
        [
            r#"  start c0 chain {"place":0}"#,
            r#"  start c1 chain {"place":1}"#,
            r#"  start c2 chain {"place":2}"#,
            "  end c2 success",
            "  end c1 success",
            "  end c0 success",
            "  stored result c0 success: done 0",
            "  stored result c1 success: done 1",
            "  stored result c2 success: done 2",
            "turn 1 success",
            "turn 2",
            "  answer",
            "  text done",
            "  stored assistant: done",
            "turn 2 success",
            "agent end completed",
            "settled completed",
        ]
    );
    assert_eq!(
        ran.stage.last_request()[2..],
        [
            "result c0: done 0",
            "result c1: done 1",
            "result c2: done 2"
        ]
    );
}

/// Records the start and end of each call, and yields in between, so that others can run.
fn noted(journal: &Journal, rule: fn(&Value) -> Concurrency) -> TestTool {
    let journal = journal.clone();
    TestTool::new("noted", move |arguments, _| {
        let journal = journal.clone();
        async move {
            let place = &arguments["place"];
            journal.note(format!("begin {place}"));
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            journal.note(format!("end {place}"));
            ToolOutput::success("ok", Value::Null)
        }
    })
    .concurrency_rule(rule)
}

async fn order_under(rule: fn(&Value) -> Concurrency) -> Vec<String> {
    let journal = Journal::default();
    let scene = AgentSetup::new().script(three_calls("noted"));
    scene.tool(noted(&journal, rule)).run().await;
    journal.lines()
}

#[tokio::test(start_paused = true)]
async fn calls_in_one_lane_run_sequentially_and_exclusive_calls_alone() {
    let same_path = order_under(|arguments| match arguments["place"].as_u64() {
        Some(1) => Concurrency::Serial("other".into()),
        _ => Concurrency::Serial("same".into()),
    });
    assert_eq!(
        same_path.await,
        ["begin 0", "begin 1", "end 0", "begin 2", "end 1", "end 2"]
    );
    let alone = order_under(|arguments| match arguments["place"].as_u64() {
        Some(1) => Concurrency::Exclusive,
        _ => Concurrency::Parallel,
    });
    assert_eq!(
        alone.await,
        ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]
    );
    let parallel = order_under(|_| Concurrency::Parallel);
    assert_eq!(
        parallel.await,
        ["begin 0", "begin 1", "begin 2", "end 0", "end 1", "end 2"]
    );
}

/// Sends one call that must not run. Returns the result for the model.
async fn refusal(script: Script) -> (String, ToolStatus) {
    let journal = Journal::default();
    let script = script.turn(|turn| turn.text("I see"));
    let scene = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal));
    let ran = scene.run().await;
    assert_eq!(journal.lines(), [""; 0], "the call ran");
    assert_eq!(ran.outcome(), RunOutcome::Completed);
    let status = ran.events.iter().find_map(|event| match event {
        Event::ToolExecutionEnd { result, .. } => Some(result.status.clone()),
        _ => None,
    });
    let told = ran.stage.last_request().last().unwrap().clone();
    (told, status.unwrap())
}

#[tokio::test(start_paused = true)]
async fn unknown_tool_error_lists_known_tools() {
    let script = Script::new().turn(|turn| turn.tool("grep", json!({})).with_id("c"));
    assert_eq!(
        refusal(script).await,
        (
            "result c: Unknown tool `grep`. Available tools: echo.".into(),
            ToolStatus::ToolNotFound
        )
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_arguments_error_names_the_argument() {
    let script = Script::new().turn(|turn| turn.tool("echo", json!({"text": ["x"]})).with_id("c"));
    let (told, status) = refusal(script).await;
    assert_eq!(
        told,
        "result c: Invalid arguments for `echo`: `text`: want string, but got array. \
         The tool was not run; call it again with valid arguments."
    );
    let ToolStatus::InvalidParameters { path, .. } = status else {
        panic!("{status:?}");
    };
    assert_eq!(path, "/properties/text/type");
}

#[tokio::test(start_paused = true)]
async fn all_argument_errors_are_reported_together() {
    let script = Script::new().turn(|turn| turn.tool("echo", json!({"txt": "a"})).with_id("c"));
    let (told, _) = refusal(script).await;
    assert_eq!(
        told,
        "result c: Invalid arguments for `echo`: missing `text`; unknown `txt`. \
         The tool was not run; call it again with valid arguments."
    );
}

#[tokio::test(start_paused = true)]
async fn incomplete_arguments_do_not_run() {
    let script =
        Script::new().turn(|turn| turn.tool_raw("echo", r#"{"text":"rm -rf /tm"#).with_id("c"));
    assert_eq!(
        refusal(script).await,
        (
            "result c: The arguments were not a complete JSON object, so the call was not run. \
             They were: {\"text\":\"rm -rf /tm"
                .into(),
            ToolStatus::InvalidParameters {
                path: String::new(),
                message: "not a complete JSON object".into(),
            }
        )
    );
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_truncated_answer_do_not_run() {
    let script = Script::new().turn(|turn| {
        turn.tool("echo", json!({"text": "whole, it seems"}))
            .with_id("c")
            .stop(StopReason::Length)
    });
    assert_eq!(
        refusal(script).await,
        (
            "result c: Your answer reached the output limit, so this call was not run. \
             Call again in smaller steps."
                .into(),
            ToolStatus::InvalidParameters {
                path: String::new(),
                message: "the answer was cut off".into(),
            }
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_offered_is_unknown() {
    let journal = Journal::default();
    let script = Script::new()
        .turn(|turn| turn.tool("echo", json!({"text": "a"})).with_id("c"))
        .turn(|turn| turn.text("I see"));
    let scene = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal));
    let mut stage = scene.start();
    stage.apply(Op::SetTools { names: Vec::new() }).await;
    stage.agent.prompt("go", Vec::new());
    stage.settled().await;
    assert_eq!(journal.lines(), [""; 0]);
    assert_eq!(stage.provider.requests()[0].context.tools, []);
    assert_eq!(
        stage.last_request().last().unwrap(),
        "result c: Unknown tool `echo`. No tools are available."
    );
}

#[tokio::test(start_paused = true)]
async fn interrupt_stops_the_running_tool_and_answers_waiting_calls() {
    let journal = Journal::default();
    let notes = journal.clone();
    let slow = TestTool::new("slow", move |arguments, cx| {
        let notes = notes.clone();
        async move {
            let place = arguments["place"].clone();
            notes.note(format!("begin {place}"));
            let text = "so far".to_owned();
            cx.updates.send(ToolUpdate::Output(Output::plain(text)));
            cx.cancel.cancelled().await;
            notes.note(format!("cancelled {place}"));
            ToolOutput::failed(ToolStatus::Aborted, "so far")
        }
    })
    .concurrency_rule(|_| Concurrency::Exclusive);
    let mut stage = AgentSetup::new()
        .script(three_calls("slow"))
        .tool(slow)
        .start();
    stage.agent.prompt("go", Vec::new());
    stage
        .until(|event| matches!(event, Event::ToolExecutionUpdate { .. }))
        .await;
    assert_eq!(stage.agent.state().pending_tool_calls, ["c0", "c1", "c2"]);
    stage.agent.abort();
    let events = stage.settled().await;
    assert_eq!(
        outline(&quiet(&events)),
        [
            "  end c0 aborted",
            "  end c1 aborted",
            "  end c2 aborted",
            "  stored result c0 aborted: so far",
            "  stored result c1 aborted: interrupted before it ran",
            "  stored result c2 aborted: interrupted before it ran",
            "turn 1 success",
            "agent end interrupted",
            "settled interrupted",
        ]
    );
    assert_eq!(journal.lines(), ["begin 0", "cancelled 0"]);
    assert_eq!(stage.agent.state().pending_tool_calls, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn tool_that_ignores_the_interrupt_is_abandoned() {
    let deaf = TestTool::new("deaf", |_, cx| async move {
        let text = "on".to_owned();
        cx.updates.send(ToolUpdate::Output(Output::plain(text)));
        std::future::pending().await
    });
    let script = Script::new().turn(|turn| turn.tool("deaf", json!({})).with_id("c"));
    let mut stage = AgentSetup::new().script(script).tool(deaf).start();
    stage.agent.prompt("go", Vec::new());
    stage
        .until(|event| matches!(event, Event::ToolExecutionUpdate { .. }))
        .await;
    stage.agent.abort();
    stage.settled().await;
    assert_eq!(
        stage.conversation().last().unwrap(),
        "result c aborted: interrupted; the tool did not stop in time"
    );
}

#[tokio::test(start_paused = true)]
async fn call_streaming_during_an_interrupt_gets_a_result() {
    let journal = Journal::default();
    let never = osier_llm::scripted::Hold::new();
    let script = Script::new().turn(|turn| {
        turn.tool("echo", json!({"text": "a"}))
            .with_id("c")
            .text("and")
            .gate(&never)
    });
    let scene = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal));
    let mut stage = scene.start();
    stage.agent.prompt("go", Vec::new());
    stage.said("and").await;
    stage.agent.abort();
    let events = stage.settled().await;
    assert_eq!(journal.lines(), [""; 0]);
    assert_eq!(
        outline(&quiet(&events)),
        [
            r#"  stored assistant: and [echo {"text":"a"}]"#,
            r#"  start c echo {"text":"a"}"#,
            "  end c aborted",
            "  stored result c aborted: interrupted before it ran",
            "turn 1 aborted",
            "agent end interrupted",
            "settled interrupted",
        ]
    );
}

fn broken() -> ToolOutput {
    panic!("the state is impossible")
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_has_an_error_and_the_run_goes_on() {
    let script = Script::new()
        .turn(|turn| turn.tool("broken", json!({})).with_id("c"))
        .turn(|turn| turn.text("I see"));
    let ran = AgentSetup::new()
        .script(script)
        .tool(TestTool::new("broken", |_, _| async { broken() }))
        .run()
        .await;
    assert_eq!(
        ran.stage.last_request().last().unwrap(),
        "result c: internal error: the state is impossible"
    );
    assert_eq!(ran.outcome(), RunOutcome::Completed);
}

/// Decides on calls by their `text`.
#[derive(Debug)]
struct Guard {
    name: &'static str,
    journal: Journal,
    decide: fn(&str) -> ToolDecision,
}

#[async_trait]
impl Interceptor for Guard {
    async fn before_tool(&self, call: &CheckedCall, _cancel: &CancellationToken) -> ToolDecision {
        let text = call.call.arguments["text"].as_str().unwrap_or_default();
        self.journal.note(format!("{} asked {text}", self.name));
        (self.decide)(text)
    }

    async fn after_tool(&self, _call: &CheckedCall, output: &mut ToolOutput) {
        output
            .content
            .push(osier_llm::ContentBlock::text(self.name));
    }
}

async fn guarded(first: fn(&str) -> ToolDecision) -> (Vec<String>, String) {
    let journal = Journal::default();
    let guard = |name, decide| Guard {
        name,
        journal: journal.clone(),
        decide,
    };
    let script = Script::new()
        .turn(|turn| turn.tool("echo", json!({"text": "a"})).with_id("c"))
        .turn(|turn| turn.text("I see"));
    let ran = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal))
        .interceptor(guard("A", first))
        .interceptor(guard("B", |_| ToolDecision::Allow))
        .run()
        .await;
    let told = ran.stage.last_request().last().unwrap().clone();
    (journal.lines(), told)
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_allowed_denied_and_rewritten() {
    let lines = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        guarded(|_| ToolDecision::Allow).await,
        (
            lines(&["A asked a", "B asked a", "echo a"]),
            "result c: a|A|B".into()
        )
    );
    let denied = guarded(|_| ToolDecision::Deny {
        reason: "not on my watch".into(),
    });
    assert_eq!(
        denied.await,
        (
            lines(&["A asked a"]),
            "result c: This call was denied: not on my watch".into()
        )
    );
    let rewritten = guarded(|_| ToolDecision::Rewrite {
        arguments: json!({"text": "b"}),
    });
    assert_eq!(
        rewritten.await,
        (
            lines(&["A asked a", "B asked b", "echo b"]),
            "result c: b|A|B".into()
        )
    );
    let broken = guarded(|_| ToolDecision::Rewrite {
        arguments: json!({"text": 1}),
    });
    let (asked, told) = broken.await;
    assert_eq!(asked, ["A asked a"]);
    assert!(
        told.contains("`text`: want string, but got number"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_appended_while_tools_run_waits_for_their_results() {
    let slow = TestTool::new("slow", |_, cx| async move {
        let text = "on".to_owned();
        cx.updates.send(ToolUpdate::Output(Output::plain(text)));
        tokio::time::sleep(std::time::Duration::from_secs(9)).await;
        ToolOutput::success("slept", Value::Null)
    });
    let script = Script::new()
        .turn(|turn| turn.tool("slow", json!({})).with_id("c"))
        .turn(|turn| turn.text("done"));
    let mut stage = AgentSetup::new().script(script).tool(slow).start();
    stage.agent.prompt("go", Vec::new());
    stage
        .until(|event| matches!(event, Event::ToolExecutionUpdate { .. }))
        .await;
    let message = osier_agent::AgentMessage::User(osier_agent::UserMessage::new("beside", 0));
    stage
        .apply(Op::AppendMessage {
            message: Box::new(message),
            respond: false,
        })
        .await;
    stage.settled().await;
    assert_eq!(
        stage.conversation(),
        [
            "user: go",
            "assistant:  [slow {}]",
            "result c success: slept",
            "user: beside",
            "assistant: done",
        ]
    );
}
