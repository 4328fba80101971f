//! The agent loop as an embedder uses it: scripted models, test tools, paused time.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::{
    Agent, AgentConfig, AgentMessage, Event, LogSeverity, Op, PreparedCall, Preparing,
    ProviderTransport, RunOutcome, Subscription, Tool, ToolContext, ToolOutput, ToolStatus,
};
use osier_llm::scripted::{Hold, Script, ScriptedProvider};
use osier_llm::{
    Api, Message, Modality, Model, Price, StopReason, ThinkingLevel, ToolChoice, ToolSpec,
    TurnStatus,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

fn model(provider: &str) -> Model {
    Model {
        provider: provider.into(),
        id: "m".into(),
        name: "m".into(),
        api: Api::Scripted,
        base_url: String::new(),
        context_window: 100_000,
        max_tokens: 1_000,
        thinking_levels: vec![ThinkingLevel::Off],
        input: vec![Modality::Text],
        price: Price::default(),
        headers: std::collections::BTreeMap::new(),
        compat: osier_llm::Compat::default(),
        tuning: osier_llm::Tuning::default(),
    }
}

/// Returns its `text` argument once its gate is open.
#[derive(Debug)]
struct Say {
    spec: ToolSpec,
    gate: Option<Arc<Semaphore>>,
}

fn say(name: &str, gate: Option<Arc<Semaphore>>) -> Arc<dyn Tool> {
    let parameters = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": false,
    });
    Arc::new(Say {
        spec: ToolSpec {
            freeform: None,
            name: name.into(),
            description: "says".into(),
            parameters,
        },
        gate,
    })
}

impl Tool for Say {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(self: Arc<Self>, arguments: Value) -> Preparing {
        let run = async move |cx: ToolContext| {
            if let Some(gate) = &self.gate {
                tokio::select! {
                    permit = gate.acquire() => permit.unwrap().forget(),
                    () = cx.cancel.cancelled() => {
                        return ToolOutput::failed(ToolStatus::Aborted, "stopped");
                    }
                }
            }
            ToolOutput::success(arguments["text"].as_str().unwrap_or_default(), Value::Null)
        };
        PreparedCall::new(run).ready()
    }
}

fn config(provider: &ScriptedProvider, tools: Vec<Arc<dyn Tool>>) -> AgentConfig {
    let transport = Arc::new(ProviderTransport::new(Arc::new(provider.clone()), None));
    AgentConfig {
        tools,
        ..AgentConfig::new(transport, model("first"))
    }
}

fn tool_results(messages: &[Arc<AgentMessage>]) -> Vec<(String, String, bool)> {
    let results = messages.iter().filter_map(|message| match &**message {
        AgentMessage::ToolResult(result) => {
            let text = AgentMessage::ToolResult(result.clone()).text();
            Some((
                result.result.tool_call_id.clone(),
                text,
                result.result.is_error,
            ))
        }
        _ => None,
    });
    results.collect()
}

/// Waits for the first event that `wanted` accepts.
async fn until(events: &mut Subscription<Event>, wanted: impl Fn(&Event) -> bool) -> Event {
    loop {
        let event = events.recv().await.expect("the agent lives");
        if wanted(&event) {
            return event;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn results_are_in_call_order() {
    let gate = Arc::new(Semaphore::new(0));
    let provider = ScriptedProvider::new(
        Script::new()
            .turn(|turn| {
                turn.tool("slow", json!({"text": "one"}))
                    .with_id("a")
                    .tool("quick", json!({"text": "two"}))
                    .with_id("b")
            })
            .turn(|turn| turn.text("done")),
    );
    let tools = vec![say("slow", Some(Arc::clone(&gate))), say("quick", None)];
    let agent = Agent::spawn(config(&provider, tools));
    let mut events = agent.subscribe();
    let run = tokio::spawn({
        let agent = agent.clone();
        async move { agent.run("go", Vec::new()).await }
    });
    let first = until(&mut events, |event| {
        matches!(event, Event::ToolExecutionEnd { .. })
    })
    .await;
    assert!(matches!(first, Event::ToolExecutionEnd { call_id, .. } if call_id == "b"));
    gate.add_permits(1);
    let result = run.await.unwrap();
    assert_eq!(result.outcome, RunOutcome::Completed);
    assert_eq!(result.answer().as_deref(), Some("done"));
    assert_eq!(
        tool_results(&result.messages),
        [
            ("a".into(), "one".into(), false),
            ("b".into(), "two".into(), false)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_calls_return_errors_to_the_model() {
    let provider = ScriptedProvider::new(
        Script::new()
            .turn(|turn| {
                turn.tool("say", json!({"txt": 1}))
                    .with_id("a")
                    .tool("sing", json!({}))
                    .with_id("b")
                    .tool_raw("say", "{\"text\": \"ha")
                    .with_id("c")
            })
            .turn(|turn| turn.text("sorry")),
    );
    let result = Agent::spawn(config(&provider, vec![say("say", None)]))
        .run("go", Vec::new())
        .await;
    let results = tool_results(&result.messages);
    assert!(
        results.iter().all(|(_, _, is_error)| *is_error),
        "{results:?}"
    );
    assert!(results[0].1.contains("missing `"), "{}", results[0].1);
    assert_eq!(results[1].1, "Unknown tool `sing`. Available tools: say.");
    assert!(
        results[2].1.contains("not a complete JSON object"),
        "{}",
        results[2].1
    );
    assert_eq!(result.answer().as_deref(), Some("sorry"));
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_truncated_answer_do_not_run() {
    let provider = ScriptedProvider::new(
        Script::new()
            .turn(|turn| {
                turn.tool("say", json!({"text": "rm -rf"}))
                    .stop(StopReason::Length)
            })
            .turn(|turn| turn.text("in smaller steps")),
    );
    let result = Agent::spawn(config(&provider, vec![say("say", None)]))
        .run("go", Vec::new())
        .await;
    let results = tool_results(&result.messages);
    assert_eq!(results.len(), 1);
    assert!(
        results[0].2 && results[0].1.contains("output limit"),
        "{}",
        results[0].1
    );
}

/// The provider pauses a long answer: the next request, with the first part, continues it.
#[tokio::test(start_paused = true)]
async fn paused_answer_continues_with_the_next_request() {
    let provider = ScriptedProvider::new(
        Script::new()
            .turn(|turn| turn.text("first part").stop(StopReason::Paused))
            .turn(|turn| turn.text("second part")),
    );
    let result = Agent::spawn(config(&provider, vec![say("say", None)]))
        .run("go", Vec::new())
        .await;
    assert_eq!(result.answer().as_deref(), Some("second part"));
    let request = provider.last_request().unwrap();
    let last = request.context.messages.last();
    let Some(Message::Assistant(sent)) = last else {
        panic!("{last:?}");
    };
    assert_eq!(
        (sent.text().as_str(), sent.stop_reason),
        ("first part", StopReason::Paused)
    );
}

/// A provider that always pauses does not run forever.
#[tokio::test(start_paused = true)]
async fn pauses_end() {
    let provider = ScriptedProvider::new(
        Script::new().turn(|turn| turn.text("part").stop(StopReason::Paused).repeat()),
    );
    Agent::spawn(config(&provider, vec![say("say", None)]))
        .run("go", Vec::new())
        .await;
    assert_eq!(provider.requests().len(), 11);
}

#[tokio::test(start_paused = true)]
async fn steering_precedes_the_next_request_and_follow_ups_are_last() {
    let gate = Arc::new(Semaphore::new(0));
    let provider = ScriptedProvider::new(
        Script::new()
            .turn(|turn| turn.tool("say", json!({"text": "x"})))
            .turn(|turn| turn.text("steered"))
            .turn(|turn| turn.text("followed")),
    );
    let agent = Agent::spawn(config(&provider, vec![say("say", Some(Arc::clone(&gate)))]));
    let mut events = agent.subscribe();
    agent.prompt("go", Vec::new());
    until(&mut events, |event| {
        matches!(event, Event::ToolExecutionStart { .. })
    })
    .await;
    agent.follow_up("then", Vec::new());
    agent.steer("now", Vec::new());
    until(
        &mut events,
        |event| matches!(event, Event::QueueUpdate { steering, .. } if steering.len() == 1),
    )
    .await;
    gate.add_permits(1);
    let settled = until(&mut events, |event| {
        matches!(event, Event::AgentSettled { .. })
    })
    .await;
    assert_eq!(
        settled,
        Event::AgentSettled {
            outcome: RunOutcome::Completed
        }
    );
    let said: Vec<String> = agent
        .state()
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(said, ["go", "", "x", "now", "steered", "then", "followed"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_keeps_the_partial_answer_and_stops_the_tool() {
    let gate = Hold::new();
    let provider = ScriptedProvider::new(
        Script::new().turn(|turn| turn.text("half an").gate(&gate).text("swer")),
    );
    let agent = Agent::spawn(config(&provider, Vec::new()));
    let mut events = agent.subscribe();
    agent.prompt("go", Vec::new());
    until(&mut events, |event| {
        matches!(event, Event::MessageUpdate { .. })
    })
    .await;
    agent.abort();
    let settled = until(&mut events, |event| {
        matches!(event, Event::AgentSettled { .. })
    })
    .await;
    assert_eq!(
        settled,
        Event::AgentSettled {
            outcome: RunOutcome::Interrupted
        }
    );
    let messages = agent.state().messages;
    let AgentMessage::Assistant(answer) = &*messages[1] else {
        panic!("no answer was kept")
    };
    assert_eq!(
        (answer.text().as_str(), answer.stop_reason),
        ("half an", StopReason::Aborted)
    );

    let held = Arc::new(Semaphore::new(0));
    let provider = ScriptedProvider::new(
        Script::new().turn(|turn| turn.tool("say", json!({"text": "x"})).with_id("a")),
    );
    let agent = Agent::spawn(config(&provider, vec![say("say", Some(held))]));
    let mut events = agent.subscribe();
    agent.prompt("go", Vec::new());
    until(&mut events, |event| {
        matches!(event, Event::ToolExecutionStart { .. })
    })
    .await;
    agent.abort();
    until(&mut events, |event| {
        matches!(event, Event::AgentSettled { .. })
    })
    .await;
    assert_eq!(
        tool_results(&agent.state().messages),
        [("a".into(), "stopped".into(), true)]
    );
}

#[tokio::test(start_paused = true)]
async fn the_last_turn_forbids_calls_and_must_answer() {
    let script = || Script::new().turn(|turn| turn.tool("say", json!({"text": "x"})));
    let provider = ScriptedProvider::new(script().turn(|turn| turn.text("the answer")));
    let limited = |provider: &ScriptedProvider| AgentConfig {
        max_turns: Some(2),
        ..config(provider, vec![say("say", None)])
    };
    let result = Agent::spawn(limited(&provider)).run("go", Vec::new()).await;
    assert_eq!(result.outcome, RunOutcome::Completed);
    let last = provider.last_request().unwrap();
    assert_eq!(last.options.tool_choice, ToolChoice::None);
    let last = last.context;
    assert_eq!(last.tools.len(), 1);
    assert_eq!(
        last.messages.last(),
        Some(&Message::User(osier_llm::UserMessage::text(
            osier_agent::FINAL_TURN_MESSAGE
        )))
    );
    assert_eq!(provider.requests()[0].context.tools.len(), 1);

    let provider = ScriptedProvider::new(script().turn(|turn| turn.thinking("hm")));
    let result = Agent::spawn(limited(&provider)).run("go", Vec::new()).await;
    assert_eq!(result.outcome, RunOutcome::MaxTurns { max_turns: 2 });
}

#[tokio::test(start_paused = true)]
async fn rate_limit_waits_and_discards_the_partial_answer() {
    let limit = TurnStatus::RateLimit {
        message: "slow down".into(),
        retry_after_ms: Some(7_000),
    };
    let provider = ScriptedProvider::new(
        Script::new()
            .turn(|turn| turn.text("half").fail(limit.clone()))
            .turn(|turn| turn.text("whole")),
    );
    let agent = Agent::spawn(config(&provider, Vec::new()));
    let mut events = agent.subscribe();
    let started = tokio::time::Instant::now();
    let result = agent.run("go", Vec::new()).await;
    assert_eq!(started.elapsed(), Duration::from_secs(7));
    assert_eq!(result.messages.len(), 2);
    assert_eq!(result.answer().as_deref(), Some("whole"));
    let scheduled = until(&mut events, |event| {
        matches!(event, Event::RetryScheduled { .. })
    })
    .await;
    until(&mut events, |event| {
        matches!(event, Event::MessageRetracted { .. })
    })
    .await;
    assert_eq!(
        scheduled,
        Event::RetryScheduled {
            attempt: 1,
            max_attempts: 5,
            delay_ms: 7_000,
            status: limit
        }
    );
    let warnings: Vec<&str> = result
        .logs
        .iter()
        .filter(|entry| entry.severity == LogSeverity::Warning)
        .map(|entry| entry.message.as_str())
        .collect();
    assert_eq!(warnings, ["rate_limit: slow down"]);
}

#[tokio::test(start_paused = true)]
async fn provider_without_a_key_is_skipped_until_it_has_one() {
    let provider = ScriptedProvider::default().recording();
    let refused = TurnStatus::AuthError {
        message: "bad key".into(),
    };
    let script = Script::new().turn(|turn| turn.fail(refused));
    let script = script.turn(|turn| turn.text("back"));
    provider.insert("first/m", script);
    provider.insert(
        "second/m",
        Script::new().turn(|turn| turn.text("here").repeat()),
    );
    let mut config = config(&provider, Vec::new());
    config.models.push(Arc::new(model("second")));
    let agent = Agent::spawn(config);
    for _ in 0..2 {
        let result = agent.run("go", Vec::new()).await;
        assert_eq!(result.answer().as_deref(), Some("here"));
    }
    // The user signs in again.
    let provider_name = "first".to_owned();
    agent.send(Op::EnableProvider {
        provider: provider_name,
    });
    let result = agent.run("go", Vec::new()).await;
    assert_eq!(result.answer().as_deref(), Some("back"));
    let asked: Vec<String> = provider
        .requests()
        .iter()
        .map(|request| request.model.reference())
        .collect();
    assert_eq!(asked, ["first/m", "second/m", "second/m", "first/m"]);
}

#[tokio::test(start_paused = true)]
async fn slow_subscriber_blocks_nothing_and_loses_no_events() {
    let text = "word ".repeat(2_000);
    let provider = ScriptedProvider::new(Script::new().turn(|turn| turn.text(text.clone())));
    let agent = Agent::spawn(config(&provider, Vec::new()));
    let mut late = agent.subscribe();
    agent.run("go", Vec::new()).await;
    let mut updates = 0;
    let mut heard = String::new();
    while let Some(event) = late.try_recv() {
        if let Event::MessageUpdate { delta, .. } = event {
            updates += 1;
            if let osier_llm::Delta::TextDelta { delta, .. } = delta {
                heard.push_str(&delta);
            }
        }
    }
    assert_eq!(heard, text);
    assert_eq!(updates, 3, "start, one merged delta, end");
}

#[tokio::test(start_paused = true)]
async fn two_hundred_concurrent_agents_are_independent() {
    let runs = (0..200).map(|number| async move {
        let provider =
            ScriptedProvider::new(Script::new().turn(|turn| turn.text(format!("answer {number}"))));
        let agent = Agent::spawn(config(&provider, Vec::new()));
        agent
            .run(format!("prompt {number}"), Vec::new())
            .await
            .answer()
    });
    let answers = futures_util::future::join_all(runs).await;
    let expected: Vec<Option<String>> = (0..200)
        .map(|number| Some(format!("answer {number}")))
        .collect();
    assert_eq!(answers, expected);
}

#[tokio::test(start_paused = true)]
async fn result_can_be_continued_without_changing_it() {
    let provider = ScriptedProvider::default().recording();
    let refused = TurnStatus::ModelError {
        message: "no".into(),
        retryable: false,
    };
    provider.insert(
        "first/m",
        Script::new().turn(|turn| turn.fail(refused.clone())),
    );
    provider.insert("second/m", Script::new().turn(|turn| turn.text("yes")));
    let mut config = config(&provider, Vec::new());
    config.models.push(Arc::new(model("second")));
    let result = Agent::spawn(config).run("go", Vec::new()).await;
    assert_eq!(result.outcome, RunOutcome::Failed { status: refused });
    let again = result.retry();
    let mut events = again.subscribe();
    again.send(Op::Continue);
    until(&mut events, |event| {
        matches!(event, Event::AgentSettled { .. })
    })
    .await;
    let said: Vec<String> = again
        .state()
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(said, ["go", "yes"]);
    assert_eq!(result.messages.len(), 1);
}
