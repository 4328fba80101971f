//! The agent loop without tools: answers, queues, interrupts, retries, interceptors, subscribers.

use async_trait::async_trait;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use osier_agent::{
    AgentAccess, AgentMessage, Change, ChangeOutcome, Event, FINAL_TURN_MESSAGE, Interceptor, Op,
    QueueMode, RunOutcome, StopRun, UserMessage,
};
use osier_llm::scripted::Hold;
use osier_llm::{Context, Script, StopReason, ToolChoice, TurnStatus, Usage};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::agent::{AgentSetup, Journal, TestTool, model, speak};
use crate::support::event_lines::{outline, quiet, records, texts};

fn rate_limit(retry_after_ms: Option<u64>) -> TurnStatus {
    TurnStatus::RateLimit {
        message: "slow down".into(),
        retry_after_ms,
    }
}

fn auth_error() -> TurnStatus {
    TurnStatus::AuthError {
        message: "bad key".into(),
    }
}

fn overloaded() -> TurnStatus {
    TurnStatus::ModelError {
        message: "overloaded".into(),
        retryable: true,
    }
}

fn user(text: &str) -> Op {
    Op::Prompt {
        text: text.into(),
        attachments: Vec::new(),
        typed: None,
        once: None,
    }
}

fn steer(text: &str) -> Op {
    Op::Steer {
        text: text.into(),
        attachments: Vec::new(),
        typed: None,
        once: None,
    }
}

fn follow_up(text: &str) -> Op {
    Op::FollowUp {
        text: text.into(),
        attachments: Vec::new(),
        typed: None,
        once: None,
    }
}

#[tokio::test(start_paused = true)]
async fn answer_emits_start_update_and_end_events_and_is_stored() {
    let script = Script::new().turn(|turn| turn.text("Good morning, world."));
    let ran = AgentSetup::new().script(script).prompt("hi").run().await;
    assert_eq!(
        ran.story(),
        [
            "agent start",
            "  stored user: hi",
            "turn 1",
            "  answer",
            "  text Good morning, world.",
            "  stored assistant: Good morning, world.",
            "turn 1 success",
            "agent end completed",
            "settled completed",
        ]
    );
    let state = ran.stage.agent.state();
    assert!(!state.is_streaming);
    assert_eq!((state.partial, state.error), (None, None));
}

#[tokio::test(start_paused = true)]
async fn log_and_accounting_record_every_call_once() {
    let journal = Journal::default();
    let usage = |input, output| Usage {
        input,
        output,
        ..Usage::default()
    };
    let script = Script::new()
        .turn(|turn| {
            turn.tool("echo", json!({"text": "four"}))
                .tool("nothing", json!({}))
                .usage(usage(100, 20))
        })
        .turn(|turn| turn.text("done").usage(usage(150, 5)));
    let scene = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal));
    let ran = scene.run().await;
    let bytes: Vec<usize> = ran
        .stage
        .provider
        .requests()
        .iter()
        .map(|request| serde_json::to_string(&request.context).unwrap().len())
        .collect();
    assert_eq!(
        records(&ran.events),
        [
            format!("[VRB] → [1.0] llm test:one: messages 1, {} bytes", bytes[0]),
            "[VRB] ← [1.0] llm test:one: input 100, output 20 tokens, ?ms, 28 bytes".into(),
            "account test/one 100+20 success".into(),
            "[VRB] → [1.1] tool echo: echo(text:four)".into(),
            "[VRB] → [1.2] tool nothing: nothing()".into(),
            // A call that cannot run ends at once.
            "[VRB] ← [1.2] tool nothing: ?ms, 46 chars".into(),
            r#"[WRN] ← [1.2] tool nothing: {"type":"tool_not_found"}"#.into(),
            "account nothing tool_not_found 46".into(),
            "[VRB] ← [1.1] tool echo: ?ms, 4 chars".into(),
            "account echo success 4".into(),
            format!("[VRB] → [2.0] llm test:one: messages 4, {} bytes", bytes[1]),
            "[VRB] ← [2.0] llm test:one: input 150, output 5 tokens, ?ms, 4 bytes".into(),
            "account test/one 150+5 success".into(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn steering_is_delivered_between_tool_results_and_the_next_request() {
    let journal = Journal::default();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            turn.text("first ")
                .gate(&gate)
                .tool("echo", json!({"text": "x"}))
        })
        .turn(|turn| turn.text("second"));
    let scene = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal));
    let mut stage = scene.start();
    stage.agent.send(user("go"));
    stage.said("first").await;
    let told = stage.apply(steer("rather this")).await;
    assert_eq!(outline(&told), [r#"queue ["rather this"] []"#]);
    gate.open();
    stage.settled().await;
    assert_eq!(
        stage.last_request(),
        [
            "user: go",
            r#"assistant: first  [echo {"text":"x"}]"#,
            "result call_1_0: x",
            "user: rather this",
        ]
    );
    assert_eq!(stage.requests().len(), 2);
}

/// A client whose server was killed sends a prompt again, and so does the queue that was restored.
#[tokio::test(start_paused = true)]
async fn a_message_with_a_known_key_is_ignored() {
    let once = Some("key".to_owned());
    let message = |text: &str| Op::Steer {
        text: text.into(),
        attachments: Vec::new(),
        typed: None,
        once: once.clone(),
    };
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("first ").gate(&gate))
        .turn(|turn| turn.text("second"));
    let mut stage = AgentSetup::new().script(script).start();
    stage.agent.send(user("go"));
    stage.said("first").await;
    let told = stage.apply(message("queued")).await;
    assert_eq!(outline(&told), [r#"queue ["queued"] []"#]);
    assert_eq!(outline(&stage.apply(message("queued")).await), [""; 0]);
    gate.open();
    stage.settled().await;
    assert_eq!(outline(&stage.apply(message("queued")).await), [""; 0]);
    assert_eq!(
        stage.conversation(),
        [
            "user: go",
            "assistant: first ",
            "user: queued",
            "assistant: second"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_waits_until_the_agent_would_stop() {
    let journal = Journal::default();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            turn.text("one ")
                .gate(&gate)
                .tool("echo", json!({"text": "x"}))
        })
        .turn(|turn| turn.text("two"))
        .turn(|turn| turn.text("three"));
    let scene = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal));
    let mut stage = scene.start();
    stage.agent.send(user("go"));
    stage.said("one").await;
    stage.apply(follow_up("and then")).await;
    gate.open();
    stage.settled().await;
    assert_eq!(stage.requests()[1].last().unwrap(), "result call_1_0: x");
    assert_eq!(
        stage.conversation()[3..],
        ["assistant: two", "user: and then", "assistant: three"]
    );
}

/// The last texts of each request after the first.
async fn deliveries(mode: Option<QueueMode>) -> Vec<Vec<String>> {
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("begun").gate(&gate))
        .turn(|turn| turn.text("on").repeat());
    let mut stage = AgentSetup::new().script(script).start();
    if let Some(mode) = mode {
        let set = Op::SetQueueMode {
            steering: Some(mode),
            follow_up: Some(mode),
        };
        stage.apply(set).await;
    }
    stage.agent.send(user("go"));
    stage.said("begun").await;
    for op in [steer("a"), steer("b"), follow_up("c"), follow_up("d")] {
        stage.apply(op).await;
    }
    gate.open();
    stage.settled().await;
    let requests = stage.requests();
    let tail = |request: &Vec<String>| {
        let said = request
            .iter()
            .rev()
            .map_while(|line| line.strip_prefix("user: "));
        let mut said: Vec<String> = said.map(str::to_owned).collect();
        said.reverse();
        said
    };
    requests[1..].iter().map(tail).collect()
}

#[tokio::test(start_paused = true)]
async fn queue_mode_delivers_one_or_all_messages() {
    assert_eq!(
        deliveries(None).await,
        [vec!["a"], vec!["b"], vec!["c"], vec!["d"]]
    );
    assert_eq!(
        deliveries(Some(QueueMode::All)).await,
        [vec!["a", "b"], vec!["c", "d"]]
    );
}

#[tokio::test(start_paused = true)]
async fn recalled_messages_are_returned_in_order_and_not_delivered() {
    let gate = Hold::new();
    let script = Script::new().turn(|turn| turn.text("begun").gate(&gate));
    let mut stage = AgentSetup::new().script(script).start();
    stage.agent.send(user("go"));
    stage.said("begun").await;
    stage.apply(follow_up("later")).await;
    stage.apply(steer("now")).await;
    let told = stage.apply(Op::RecallQueue).await;
    assert_eq!(
        outline(&told),
        [r#"recalled ["now", "later"]"#, "queue [] []"]
    );
    gate.open();
    stage.settled().await;
    assert_eq!(stage.conversation(), ["user: go", "assistant: begun"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_keeps_the_partial_answer_and_the_queue() {
    let never = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("half an answer").gate(&never))
        .turn(|turn| turn.text("whole"));
    let mut stage = AgentSetup::new().script(script).start();
    stage.agent.send(user("go"));
    stage.said("wer").await;
    stage.apply(steer("wait")).await;
    stage.agent.abort();
    let events = stage.settled().await;
    assert_eq!(
        outline(&quiet(&events)),
        [
            "  stored assistant: half an answer",
            "turn 1 aborted",
            "agent end interrupted",
            "settled interrupted",
        ]
    );
    let left = stage.agent.state();
    assert_eq!(texts(&left.steering), ["wait"]);
    let AgentMessage::Assistant(partial) = &*left.messages[1] else {
        panic!("no answer was kept");
    };
    assert_eq!(partial.stop_reason, StopReason::Aborted);

    stage.agent.send(user("again"));
    stage.settled().await;
    assert_eq!(
        stage.conversation()[2..],
        ["user: again", "user: wait", "assistant: whole"]
    );
}

#[tokio::test(start_paused = true)]
async fn interrupt_before_the_first_delta_leaves_no_message() {
    let never = Hold::new();
    let script = Script::new().turn(|turn| turn.gate(&never).text("never"));
    let mut stage = AgentSetup::new().script(script).start();
    stage.agent.send(user("go"));
    stage
        .until(|event| matches!(event, Event::MessageStart { message, .. } if matches!(**message, AgentMessage::Assistant(_))))
        .await;
    stage.agent.abort();
    let events = stage.settled().await;
    assert_eq!(
        outline(&quiet(&events)),
        [
            "  retracted",
            "turn 1 aborted",
            "agent end interrupted",
            "settled interrupted",
        ]
    );
    assert_eq!(stage.conversation(), ["user: go"]);
}

#[tokio::test(start_paused = true)]
async fn last_turn_forbids_calls_and_tells_the_model() {
    let journal = Journal::default();
    let script = Script::new()
        .turn(|turn| turn.tool("echo", json!({"text": "a"})))
        .turn(|turn| turn.text("that is all I know"));
    let scene = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal));
    let ran = scene.max_turns(2).run().await;
    assert_eq!(ran.outcome(), RunOutcome::Completed);
    let requests = ran.stage.provider.requests();
    let offered: Vec<(usize, ToolChoice)> = requests
        .iter()
        .map(|request| (request.context.tools.len(), request.options.tool_choice))
        .collect();
    assert_eq!(offered, [(1, ToolChoice::Auto), (1, ToolChoice::None)]);
    assert_eq!(
        ran.stage.last_request(),
        [
            "user: hello".to_owned(),
            r#"assistant:  [echo {"text":"a"}]"#.into(),
            "result call_1_0: a".into(),
            format!("user: {FINAL_TURN_MESSAGE}"),
        ]
    );
    assert_eq!(
        ran.stage.conversation().last().unwrap(),
        "assistant: that is all I know"
    );
    let conversation = ran.stage.conversation();
    assert!(
        !conversation
            .iter()
            .any(|line| line.contains(FINAL_TURN_MESSAGE))
    );
}

#[tokio::test(start_paused = true)]
async fn a_last_turn_without_an_answer_is_an_error_and_its_calls_do_not_run() {
    let journal = Journal::default();
    let script = Script::new()
        .turn(|turn| turn.tool("echo", json!({"text": "a"})))
        .turn(|turn| turn.text("Once more: ").tool("echo", json!({"text": "b"})));
    let scene = AgentSetup::new()
        .script(script)
        .tool(TestTool::echo(&journal));
    let ran = scene.max_turns(2).run().await;
    assert_eq!(ran.outcome(), RunOutcome::MaxTurns { max_turns: 2 });
    assert_eq!(journal.lines(), ["echo a"]);
    assert_eq!(
        ran.stage.agent.state().error.as_deref(),
        Some("the model gave no answer within 2 turns: raise `--max-turns` or narrow the task")
    );
    let log = records(&ran.events);
    assert_eq!(
        log.last().unwrap(),
        "[ERR] ← [2.0] llm agent: the model gave no answer within 2 turns: raise `--max-turns` or narrow the task"
    );
}

#[tokio::test(start_paused = true)]
async fn rate_limit_waits_for_retry_after() {
    let script = Script::new()
        .turn(|turn| turn.text("lost words").fail(rate_limit(Some(20_000))))
        .turn(|turn| turn.fail(rate_limit(Some(3000))))
        .turn(|turn| turn.text("here"));
    let began = Instant::now();
    let ran = AgentSetup::new().script(script).run().await;
    assert_eq!(began.elapsed(), Duration::from_secs(23));
    assert_eq!(
        ran.story(),
        [
            "agent start",
            "  stored user: hello",
            "turn 1",
            "  answer",
            "  text lost words",
            "  retry 1/5 in 20000 ms after rate_limit",
            "  retry 2/5 in 3000 ms after rate_limit",
            "  retracted",
            "  answer",
            "  text here",
            "  stored assistant: here",
            "turn 1 success",
            "agent end completed",
            "settled completed",
        ]
    );
    assert_eq!(ran.stage.conversation(), ["user: hello", "assistant: here"]);
    assert_eq!(
        records(&ran.events)
            .into_iter()
            .filter(|line| line.starts_with("[WRN]"))
            .collect::<Vec<_>>(),
        ["[WRN] ← [1.0] llm test:one: rate_limit: slow down"; 2]
    );
}

#[tokio::test(start_paused = true)]
async fn backoff_without_retry_after_doubles_from_half_a_second() {
    let script = Script::new().turn(|turn| turn.fail(overloaded()).repeat());
    let ran = AgentSetup::new().script(script).max_retries(3).run().await;
    let delays: Vec<u64> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::RetryScheduled { delay_ms, .. } => Some(*delay_ms),
            _ => None,
        })
        .collect();
    assert_eq!(delays.len(), 3);
    for (delay, longest) in delays.iter().zip([500, 1000, 2000]) {
        assert!((longest * 3 / 4..=longest).contains(delay), "{delays:?}");
    }
    assert_eq!(
        ran.outcome(),
        RunOutcome::Failed {
            status: overloaded()
        }
    );
}

#[tokio::test(start_paused = true)]
async fn retry_wait_can_be_interrupted() {
    let script = Script::new().turn(|turn| turn.fail(rate_limit(Some(60_000))));
    let mut stage = AgentSetup::new().script(script).start();
    stage.agent.send(user("go"));
    stage
        .until(|event| matches!(event, Event::RetryScheduled { .. }))
        .await;
    let began = Instant::now();
    stage.agent.abort();
    let events = stage.settled().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(
        outline(&quiet(&events)),
        [
            "turn 1 aborted",
            "agent end interrupted",
            "settled interrupted"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn interrupt_of_a_retry_wait_stores_the_partial_answer() {
    let script = Script::new().turn(|turn| turn.text("half").fail(rate_limit(Some(60_000))));
    let mut stage = AgentSetup::new().script(script).start();
    stage.agent.send(user("go"));
    stage
        .until(|event| matches!(event, Event::RetryScheduled { .. }))
        .await;
    let waiting = stage.agent.state();
    assert_eq!(
        waiting.partial.map(|partial| partial.text()),
        Some("half".into())
    );
    stage.agent.abort();
    let events = stage.settled().await;
    assert_eq!(
        outline(&quiet(&events)),
        [
            "  stored assistant: half",
            "turn 1 aborted",
            "agent end interrupted",
            "settled interrupted"
        ]
    );
    let left = stage.agent.state();
    let AgentMessage::Assistant(partial) = &*left.messages[1] else {
        panic!("no answer was kept");
    };
    assert_eq!(partial.stop_reason, StopReason::Aborted);
}

#[tokio::test(start_paused = true)]
async fn partial_answer_is_stored_when_the_retries_end_without_another() {
    let script = Script::new()
        .turn(|turn| turn.text("half").fail(overloaded()))
        .turn(|turn| turn.fail(rate_limit(None)).repeat());
    let ran = AgentSetup::new().script(script).max_retries(2).run().await;
    assert_eq!(ran.stage.conversation(), ["user: hello", "assistant: half"]);
    let story = ran.story();
    assert!(!story.contains(&"  retracted".to_owned()), "{story:?}");
    let left = ran.stage.agent.state();
    let AgentMessage::Assistant(partial) = &*left.messages[1] else {
        panic!("no answer was kept");
    };
    assert_eq!(partial.stop_reason, StopReason::Error);
    assert_eq!(partial.error_message.as_deref(), Some("slow down"));
    assert_eq!(
        ran.outcome(),
        RunOutcome::Failed {
            status: rate_limit(None)
        }
    );
}

#[tokio::test(start_paused = true)]
async fn fallback_model_is_tried_before_waiting() {
    let first = Script::new().turn(|turn| turn.text("half").fail(overloaded()).repeat());
    let second = Script::new().turn(|turn| turn.text("from the second"));
    let began = Instant::now();
    let scene = AgentSetup::new()
        .script(first)
        .fallback("other/two", second);
    let ran = scene.run().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(
        ran.story()[3..],
        [
            "  answer",
            "  text half",
            "  switch test/one to other/two after model_error",
            "  retracted",
            "  answer",
            "  text from the second",
            "  stored assistant: from the second",
            "turn 1 success",
            "agent end completed",
            "settled completed",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn provider_with_an_invalid_key_is_skipped_until_selected() {
    let first = Script::new()
        .turn(|turn| turn.fail(auth_error()))
        .turn(|turn| turn.text("fixed"));
    let second = Script::always("the other answers");
    let scene = AgentSetup::new()
        .script(first)
        .fallback("other/two", second);
    let mut ran = scene.run().await;
    let asked = |ran: &crate::support::agent::FinishedRun| {
        let requests = ran.stage.provider.requests();
        requests
            .iter()
            .map(|request| request.model.reference())
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(&ran), ["test/one", "other/two"]);
    ran.stage.agent.send(user("again"));
    ran.stage.settled().await;
    assert_eq!(asked(&ran)[2..], ["other/two"]);

    let models = vec![model("test/one")];
    ran.stage.apply(Op::SetModels { models }).await;
    ran.stage.agent.send(user("and now"));
    ran.stage.settled().await;
    assert_eq!(asked(&ran)[3..], ["test/one"]);
    assert_eq!(ran.stage.conversation().last().unwrap(), "assistant: fixed");
}

#[tokio::test(start_paused = true)]
async fn partial_answer_is_kept_after_the_last_attempt() {
    let script = Script::new()
        .turn(|turn| turn.text("one").fail(overloaded()))
        .turn(|turn| turn.text("two").fail(overloaded()));
    let ran = AgentSetup::new().script(script).max_retries(1).run().await;
    assert_eq!(
        ran.outcome(),
        RunOutcome::Failed {
            status: overloaded()
        }
    );
    assert_eq!(ran.stage.conversation(), ["user: hello", "assistant: two"]);
    let state = ran.stage.agent.state();
    assert_eq!(state.error.as_deref(), Some("overloaded"));
    let AgentMessage::Assistant(partial) = &*state.messages[1] else {
        panic!("no answer was kept");
    };
    assert_eq!(partial.stop_reason, StopReason::Error);
    assert_eq!(partial.error_message.as_deref(), Some("overloaded"));
    assert_eq!(
        records(&ran.events)
            .into_iter()
            .filter(|line| !line.starts_with("[VRB]"))
            .collect::<Vec<_>>(),
        [
            "account test/one 46+1 model_error",
            "[WRN] ← [1.0] llm test:one: model_error: overloaded",
            "account test/one 46+1 model_error",
            "[ERR] ← [1.0] llm test:one: model_error: overloaded",
        ]
        .map(|line| {
            let input = ran.stage.provider.requests()[0].context.clone();
            let tokens = serde_json::to_string(&input).unwrap().len() / 4;
            line.replace("46+", &format!("{tokens}+"))
        })
    );
}

/// Records its name and the calls; blocks configured calls.
#[derive(Debug)]
struct Watcher {
    name: &'static str,
    journal: Journal,
    refuse: Option<&'static str>,
}

#[async_trait]
impl Interceptor for Watcher {
    async fn on_input(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        self.journal
            .note(format!("{} input {}", self.name, message.text));
        message.text.push_str(self.name);
        Ok(())
    }

    async fn commit(&self, message: &AgentMessage) -> Result<(), StopRun> {
        let line = speak(message);
        self.journal.note(format!("{} commit {line}", self.name));
        let refused = self.refuse.is_some_and(|part| line.contains(part));
        async move {
            if refused {
                let message = "the disk is full".into();
                return Err(StopRun { message });
            }
            Ok(())
        }
        .await
    }

    async fn before_request(&self, context: &mut Context) -> Result<(), StopRun> {
        context.system_prompt.push_str(self.name);
        self.journal.note(format!("{} request", self.name));
        Ok(())
    }

    fn on_retract(&self) {
        self.journal.note(format!("{} retract", self.name));
    }

    async fn on_settled(&self, outcome: &RunOutcome) {
        self.journal
            .note(format!("{} settled {outcome:?}", self.name));
    }
}

fn watched(journal: &Journal, refuse: Option<&'static str>) -> AgentSetup {
    let watcher = |name, refuse| Watcher {
        name,
        journal: journal.clone(),
        refuse,
    };
    AgentSetup::new()
        .interceptor(watcher("A", None))
        .interceptor(watcher("B", refuse))
        .interceptor(watcher("C", None))
}

#[tokio::test(start_paused = true)]
async fn interceptors_run_in_order_and_see_earlier_changes() {
    let journal = Journal::default();
    let script = Script::always("yes");
    let ran = watched(&journal, None).script(script).run().await;
    assert_eq!(
        journal.lines(),
        [
            "A input hello",
            "B input helloA",
            "C input helloAB",
            "A commit user: helloABC",
            "B commit user: helloABC",
            "C commit user: helloABC",
            "A request",
            "B request",
            "C request",
            "A commit assistant: yes",
            "B commit assistant: yes",
            "C commit assistant: yes",
            "A settled Completed",
            "B settled Completed",
            "C settled Completed",
        ]
    );
    let request = ran.stage.provider.last_request().unwrap();
    assert_eq!(request.context.system_prompt, "ABC");
}

#[tokio::test(start_paused = true)]
async fn message_that_cannot_be_stored_stops_the_run_and_is_not_in_memory() {
    let journal = Journal::default();
    let script = Script::always("an answer");
    let ran = watched(&journal, Some("assistant"))
        .script(script)
        .run()
        .await;
    assert_eq!(
        ran.outcome(),
        RunOutcome::Stopped {
            message: "the disk is full".into()
        }
    );
    assert_eq!(
        ran.story()[3..],
        [
            "  answer",
            "  text an answer",
            "  retracted",
            "agent end stopped",
            "settled stopped",
        ]
    );
    assert_eq!(ran.stage.conversation(), ["user: helloABC"]);
    assert_eq!(
        records(&ran.events).last().unwrap(),
        "[ERR] ← [1.0] llm agent: the disk is full"
    );

    let journal = Journal::default();
    let script = Script::always("an answer");
    let ran = watched(&journal, Some("user")).script(script).run().await;
    assert_eq!(ran.stage.conversation(), [""; 0]);
    assert_eq!(ran.stage.requests(), Vec::<Vec<String>>::new());
}

/// Panics before the first request.
#[derive(Debug, Default)]
struct Panics(AtomicBool);

#[async_trait]
impl Interceptor for Panics {
    async fn before_request(&self, _context: &mut Context) -> Result<(), StopRun> {
        let is_later = self.0.swap(true, Ordering::SeqCst);
        assert!(is_later, "the state is impossible");
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_panics_fails_and_the_next_prompt_is_answered() {
    let scene = AgentSetup::new().interceptor(Panics::default());
    let mut ran = scene.script(Script::always("an answer")).run().await;
    assert_eq!(
        ran.outcome(),
        RunOutcome::Stopped {
            message: "internal error: the state is impossible".into()
        }
    );
    ran.stage.agent.prompt("again", Vec::new());
    ran.stage.settled().await;
    assert_eq!(
        ran.stage.conversation(),
        ["user: hello", "user: again", "assistant: an answer"]
    );
}

#[tokio::test(start_paused = true)]
async fn failed_run_is_retried_on_the_next_model() {
    let refused = TurnStatus::ModelError {
        message: "refused".into(),
        retryable: false,
    };
    let first = Script::new().turn(|turn| turn.fail(refused.clone()));
    let scene = AgentSetup::new()
        .script(first)
        .fallback("other/two", Script::always("the second knows"));
    let stage = scene.start();
    let result = stage.agent.run("what?", Vec::new()).await;
    assert_eq!(result.outcome, RunOutcome::Failed { status: refused });
    assert_eq!(result.answer(), None);

    let again = result.retry();
    let mut events = again.subscribe();
    again.send(Op::Continue);
    while !matches!(events.recv().await, Some(Event::AgentSettled { .. }) | None) {}
    let told: Vec<String> = again.state().messages.iter().map(|m| speak(m)).collect();
    assert_eq!(told, ["user: what?", "assistant: the second knows"]);
    assert_eq!(again.state().models, ["other/two", "test/one"]);
    // The result is a value and does not change.
    assert_eq!(result.messages.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_change_takes_effect_with_the_next_request_of_the_same_run() {
    let journal = Journal::default();
    let gate = Hold::new();
    let first = Script::new().turn(|turn| {
        turn.text("x")
            .gate(&gate)
            .tool("echo", json!({"text": "a"}))
    });
    let scene = AgentSetup::new()
        .script(first)
        .fallback("other/two", Script::always("two"))
        .tool(TestTool::echo(&journal));
    let mut stage = scene.start();
    stage.agent.send(user("go"));
    stage.said("x").await;
    let models = vec![model("other/two")];
    stage.apply(Op::SetModels { models }).await;
    gate.open();
    stage.settled().await;
    let asked: Vec<String> = stage
        .provider
        .requests()
        .iter()
        .map(|request| request.model.reference())
        .collect();
    assert_eq!(asked, ["test/one", "other/two"]);
}

#[tokio::test(start_paused = true)]
async fn two_hundred_concurrent_agents_are_independent() {
    let scenes = (0..200).map(|number| async move {
        let script = Script::new()
            .turn(|turn| turn.tool("echo", json!({"text": format!("t{number}")})))
            .turn(|turn| {
                turn.text(format!("answer {number}"))
                    .paced(2, Duration::from_millis(5))
            });
        let journal = Journal::default();
        let scene = AgentSetup::new()
            .script(script)
            .tool(TestTool::echo(&journal));
        let ran = scene.prompt(&format!("p{number}")).run().await;
        (ran.stage.conversation(), journal.lines())
    });
    for (number, (conversation, ran)) in join_all(scenes).await.into_iter().enumerate() {
        assert_eq!(
            conversation,
            [
                format!("user: p{number}"),
                format!(r#"assistant:  [echo {{"text":"t{number}"}}]"#),
                format!("result call_1_0 success: t{number}"),
                format!("assistant: answer {number}"),
            ]
        );
        assert_eq!(ran, [format!("echo t{number}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn slow_subscriber_loses_no_events_and_blocks_nothing() {
    let script = Script::new().turn(|turn| {
        turn.thinking("hm ")
            .times(50)
            .text("word ")
            .paced(1, Duration::ZERO)
            .times(1000)
    });
    let mut stage = AgentSetup::new().script(script).start();
    let mut idle = stage.agent.subscribe();
    stage.agent.send(user("go"));
    let mut pieces = 0;
    let mut read = String::new();
    for event in stage.settled().await {
        if let Event::MessageUpdate {
            delta: osier_llm::Delta::TextDelta { delta, .. },
            ..
        } = event
        {
            pieces += 1;
            read.push_str(&delta);
        }
    }
    assert_eq!(read, "word ".repeat(1000));
    assert!(pieces > 1);
    let mut kept = Vec::new();
    while let Some(event) = idle.try_recv() {
        kept.push(event);
    }
    let updates: Vec<&Event> = kept
        .iter()
        .filter(|event| matches!(event, Event::MessageUpdate { .. }))
        .collect();
    // Start, one merged delta and end of each of the two blocks.
    assert_eq!(updates.len(), 6);
    assert_eq!(
        outline(&quiet(&kept)),
        [
            "agent start".to_owned(),
            "  stored user: go".into(),
            "turn 1".into(),
            "  answer".into(),
            format!("  thinking {}", "hm ".repeat(50)),
            format!("  text {}", "word ".repeat(1000)),
            format!("  stored assistant: {}", "word ".repeat(1000)),
            "turn 1 success".into(),
            "agent end completed".into(),
            "settled completed".into(),
        ]
    );
}

/// A change that notes what becomes of it, and ends when `hold` does.
struct NotedChange {
    name: &'static str,
    is_brief: bool,
    hold: Option<oneshot::Receiver<()>>,
    journal: Journal,
}

#[async_trait]
impl Change for NotedChange {
    async fn perform(
        mut self: Box<Self>,
        _agent: &dyn AgentAccess,
        _cancel: &CancellationToken,
    ) -> ChangeOutcome {
        self.journal.note(format!("{} begins", self.name));
        if let Some(hold) = self.hold.take() {
            hold.await.unwrap();
        }
        self.journal.note(format!("{} ends", self.name));
        ChangeOutcome::default()
    }

    fn is_brief(&self) -> bool {
        self.is_brief
    }

    fn refused(self: Box<Self>) {
        self.journal.note(format!("{} is refused", self.name));
    }
}

#[tokio::test(start_paused = true)]
async fn change_waits_for_a_brief_one_unless_a_prompt_is_before_it() {
    let journal = Journal::default();
    let script = Script::new().turn(|turn| turn.text("done"));
    let mut stage = AgentSetup::new().script(script).start();
    let change = |name, is_brief, hold| {
        let journal = journal.clone();
        Box::new(NotedChange {
            name,
            is_brief,
            hold,
            journal,
        })
    };
    let (release, hold) = oneshot::channel();
    stage.agent.change(change("long", false, Some(hold)));
    stage.agent.change(change("other", true, None));
    stage.agent.caught_up().await;
    release.send(()).unwrap();
    while journal
        .lines()
        .last()
        .is_none_or(|line| line != "long ends")
    {
        tokio::task::yield_now().await;
    }
    let (release, hold) = oneshot::channel();
    stage.agent.change(change("first", true, Some(hold)));
    stage.agent.change(change("second", true, None));
    stage.agent.send(user("go"));
    stage.agent.change(change("third", true, None));
    stage.agent.caught_up().await;
    release.send(()).unwrap();
    stage.settled().await;
    assert_eq!(stage.conversation(), ["user: go", "assistant: done"]);
    let mut lines = journal.lines();
    let refused = |line: &String| line.ends_with("refused");
    let rejected: Vec<String> = lines.iter().filter(|line| refused(line)).cloned().collect();
    assert_eq!(rejected, ["other is refused", "third is refused"]);
    lines.retain(|line| !refused(line));
    assert_eq!(
        lines,
        [
            "long begins",
            "long ends",
            "first begins",
            "first ends",
            "second begins",
            "second ends",
        ]
    );
}
