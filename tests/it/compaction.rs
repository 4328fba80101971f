//! Compaction in a complete session.

use osier_agent::{CompactionOutcome, CompactionReason};
use osier_llm::scripted::Hold;
use osier_llm::{Script, StopReason, TurnStatus, Usage};
use osier_protocol::{Event, Op, TreeEvent, TreeOp};
use osier_session::SessionChoice;
use serde_json::json;

use crate::support::agent::{model, sent};
use crate::support::session::{OpenSession, TestProject};

const SUMMARISE: &str = "Use exactly these headings";

/// A session whose model has a context window of `window` tokens.
async fn open(place: &TestProject, window: u64, script: Script) -> OpenSession {
    open_as(SessionChoice::New, place, window, script).await
}

async fn open_as(
    choice: SessionChoice,
    place: &TestProject,
    window: u64,
    script: Script,
) -> OpenSession {
    place
        .open_with(choice, script, |setup| {
            let (_, provider) = setup.embedded.take().unwrap();
            // Each window is that of a model of its own.
            let mut model = model(&format!("test/of-{window}"));
            model.context_window = window;
            model.max_tokens = 1_000;
            setup.embedded = Some((model, provider));
            setup.system_prompt = Some("Be brief.".to_owned());
            setup.tools = Some(vec!["bash".to_owned()]);
        })
        .await
}

fn ended(events: &[Event]) -> Vec<(CompactionReason, CompactionOutcome)> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Agent(osier_agent::Event::CompactionEnd { reason, outcome }) => {
            Some((*reason, outcome.clone()))
        }
        _ => None,
    });
    ends.collect()
}

async fn until_ended(open: &mut OpenSession) -> CompactionOutcome {
    let seen = open
        .until(|event| {
            matches!(
                event,
                Event::Agent(osier_agent::Event::CompactionEnd { .. })
            )
        })
        .await;
    ended(&seen).pop().unwrap().1
}

fn overflow() -> TurnStatus {
    TurnStatus::ContextOverflow {
        message: "too long".to_owned(),
    }
}

fn long(word: &str) -> String {
    format!("{word} ").repeat(600)
}

#[tokio::test]
async fn summaries_keep_a_conversation_within_4000_tokens() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| {
            turn.when_user(SUMMARISE)
                .text("## Goal\nkeep going")
                .repeat()
        })
        .turn(|turn| turn.text(long("answer")).repeat());
    let mut open = open(&place, 4_000, script).await;
    let mut all = Vec::new();
    for number in 0..8 {
        all.extend(
            open.run(&format!("prompt {number}: {}", long("word")))
                .await,
        );
    }
    let ends = ended(&all);
    assert!(ends.len() >= 3, "{ends:?}");
    for (reason, outcome) in &ends {
        assert_eq!(*reason, CompactionReason::Threshold);
        let CompactionOutcome::Done {
            tokens_before,
            tokens_after,
            ..
        } = outcome
        else {
            panic!("{outcome:?}");
        };
        assert!(tokens_after < tokens_before, "{outcome:?}");
    }
    for request in open.provider.requests() {
        let bytes: usize = serde_json::to_string(&request.context).unwrap().len();
        assert!(bytes < 4_000 * 4, "{bytes}");
    }
    // The summaries are nested, and every entry still exists.
    let wrapped = "user: Summary of the conversation so far:
<summary>
## Goal
keep going";
    let requests = open.provider.requests();
    let told = requests
        .iter()
        .filter(|request| sent(request)[0].starts_with(wrapped));
    assert!(told.count() >= 3);
    let stored = std::fs::read_to_string(open.path()).unwrap();
    for number in 0..8 {
        assert!(stored.contains(&format!("prompt {number}:")));
    }
}

#[tokio::test]
async fn each_window_gets_as_much_of_the_conversation_as_it_holds() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.when_user(SUMMARISE).text("## Goal\nso far").repeat())
        .turn(|turn| turn.text(long("answer")).repeat());
    let mut open = open(&place, 4_000, script).await;
    // The whole conversation is larger than all windows but one.
    let (mut number, mut compactions) = (0, 0);
    while compactions < 3 {
        let prompt = format!("prompt {number}: {}", long("word"));
        compactions += ended(&open.run(&prompt).await).len();
        number += 1;
    }
    let path = open.path().to_string_lossy().into_owned();
    open.close().await;
    for (window, begins) in [
        (100_000, "user: prompt 0: word"),
        (6_000, "user: Summary of the conversation so far"),
        (100_000, "user: prompt 0: word"),
    ] {
        let choice = SessionChoice::Resume(path.clone());
        let mut again = open_as(choice, &place, window, Script::always("ok")).await;
        let events = again.run("and now?").await;
        assert!(ended(&events).is_empty(), "{window}: {:?}", ended(&events));
        let requests = again.provider.requests();
        let texts = sent(requests.last().unwrap());
        assert!(texts[0].starts_with(begins), "{window}: {}", texts[0]);
        again.close().await;
    }
}

#[tokio::test]
async fn call_and_result_are_not_separated() {
    let place = TestProject::new();
    let command = json!({"command": "for i in $(seq 900); do echo line; done"});
    let script = Script::new()
        .turn(|turn| turn.when_user(SUMMARISE).text("summary").repeat())
        .turn(|turn| turn.when_user("run").tool("bash", command.clone()))
        .turn(|turn| turn.when_result("line").tool("bash", command.clone()))
        .turn(|turn| turn.when_result("line").tool("bash", command))
        .turn(|turn| turn.text("done").repeat());
    let mut open = open(&place, 6_000, script).await;
    let events = open.run("run it").await;
    assert!(!ended(&events).is_empty());
    open.run("and now?").await;
    for request in open.provider.requests() {
        let mut open_calls = Vec::new();
        for message in &request.context.messages {
            match message {
                osier_llm::Message::Assistant(answer) => {
                    open_calls = answer.tool_calls().map(|call| call.id.clone()).collect();
                }
                osier_llm::Message::ToolResult(result) => {
                    let place = open_calls.iter().position(|id| *id == result.tool_call_id);
                    open_calls.remove(place.expect("a result follows its call"));
                }
                osier_llm::Message::User(_) => assert_eq!(open_calls, [""; 0]),
            }
        }
        assert_eq!(open_calls, [""; 0]);
    }
    // The prompt of the split turn is in the summary.
    let requests = open.provider.requests();
    let kept = requests.iter().any(|request| {
        sent(request)[0].contains(
            "## Request in progress
run it",
        )
    });
    assert!(kept);
}

#[tokio::test]
async fn request_that_exceeds_the_window_is_compacted_and_retried() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.when_user("two").fail(overflow()))
        .turn(|turn| turn.when_user(SUMMARISE).text("summary"))
        .turn(|turn| turn.text("second"))
        .turn(|turn| turn.fail(overflow()))
        .turn(|turn| turn.when_user(SUMMARISE).text("summary again"))
        .turn(|turn| turn.fail(overflow()))
        .turn(|turn| turn.text("never"));
    let mut open = open(&place, 4_000, script).await;
    open.run(&long("one")).await;
    let events = open.run("two").await;
    let reasons: Vec<CompactionReason> = ended(&events).iter().map(|end| end.0).collect();
    assert_eq!(reasons, [CompactionReason::Overflow]);
    assert!(matches!(
        events.last(),
        Some(Event::Agent(osier_agent::Event::AgentSettled {
            outcome: osier_agent::RunOutcome::Completed
        }))
    ));
    let events = open.run(&long("three")).await;
    assert_eq!(ended(&events).len(), 1);
    let Some(Event::Agent(osier_agent::Event::AgentSettled { outcome })) = events.last() else {
        panic!();
    };
    assert_eq!(
        *outcome,
        osier_agent::RunOutcome::Failed { status: overflow() }
    );
}

#[tokio::test]
async fn truncated_summary_is_not_stored() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| {
            turn.when_user(SUMMARISE)
                .text("half")
                .stop(StopReason::Length)
        })
        .turn(|turn| turn.when_user(SUMMARISE).text("   "))
        .turn(|turn| {
            turn.when_user(SUMMARISE)
                .tool("bash", json!({"command": "true"}))
        })
        .turn(|turn| turn.text("second"));
    let mut open = open(&place, 100_000, script).await;
    open.run(&long("one")).await;
    for fault in ["output limit", "is empty", "is a tool call"] {
        open.host.send(Op::Tree(TreeOp::Compact {
            instructions: None,
            review: false,
            up_to: None,
        }));
        let outcome = until_ended(&mut open).await;
        let CompactionOutcome::Failed { message } = outcome else {
            panic!("{outcome:?}");
        };
        assert!(message.contains(fault), "{message}");
    }
    open.run("two").await;
    assert_eq!(open.last_request().len(), 3);
    let stored = std::fs::read_to_string(open.path()).unwrap();
    assert!(!stored.contains("\"type\":\"compaction\""));
}

#[tokio::test]
async fn requested_compaction_waits_for_the_edited_summary() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.when_user(SUMMARISE).text("the model's words"))
        .turn(|turn| turn.text("second"));
    let mut open = open(&place, 100_000, script).await;
    open.run("one").await;
    open.host.send(Op::Tree(TreeOp::Compact {
        instructions: Some("mind the names".to_owned()),
        review: true,
        up_to: None,
    }));
    // The order of the two events is not defined.
    let (mut is_drafted, mut is_ended) = (false, false);
    while !(is_drafted && is_ended) {
        let seen = open.until(|event| {
            matches!(
                event,
                Event::Tree(TreeEvent::SummaryDrafted { .. })
                    | Event::Agent(osier_agent::Event::CompactionEnd { .. })
            )
        });
        match seen.await.last() {
            Some(Event::Tree(TreeEvent::SummaryDrafted { summary, goes, .. })) => {
                assert!(summary.starts_with("the model's words"), "{summary}");
                assert_eq!(*goes, 1);
                is_drafted = true;
            }
            Some(Event::Agent(osier_agent::Event::CompactionEnd { outcome, .. })) => {
                assert_eq!(*outcome, CompactionOutcome::Drafted);
                is_ended = true;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(open.last_request().join("").contains("mind the names"));
    open.host.send(Op::Tree(TreeOp::StoreSummary {
        summary: "my words".to_owned(),
    }));
    let outcome = until_ended(&mut open).await;
    assert!(
        matches!(&outcome, CompactionOutcome::Done { summary, .. } if summary == "my words"),
        "{outcome:?}"
    );
    open.run("two").await;
    assert_eq!(
        open.last_request(),
        [
            "user: Summary of the conversation so far:\n<summary>\nmy words\n</summary>",
            "assistant: first",
            "user: two"
        ]
    );
}

#[tokio::test]
async fn compaction_can_be_interrupted_and_prompts_wait_for_it() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.when_user(SUMMARISE).gate(&gate).text("late"))
        .turn(|turn| turn.when_user(SUMMARISE).gate(&gate).text("late"))
        .turn(|turn| turn.text("second"));
    let mut open = open(&place, 100_000, script).await;
    open.run("one").await;
    let compact = Op::Tree(TreeOp::Compact {
        instructions: None,
        review: false,
        up_to: None,
    });
    let started = |event: &Event| {
        matches!(
            event,
            Event::Agent(osier_agent::Event::CompactionStart { .. })
        )
    };
    open.host.send(compact.clone());
    open.until(started).await;
    open.host.send(osier_agent::Op::Abort.into());
    assert_eq!(until_ended(&mut open).await, CompactionOutcome::Interrupted);
    // There is one compaction at a time, and prompts wait for it.
    open.host.send(compact.clone());
    open.until(started).await;
    open.host.send(compact);
    open.until(|event| matches!(event, Event::Notice { .. }))
        .await;
    open.prompt("two");
    gate.open();
    gate.open();
    open.settled().await;
    assert_eq!(
        open.last_request(),
        [
            "user: Summary of the conversation so far:\n<summary>\nlate\n\n## Request in progress\none\n</summary>",
            "assistant: first",
            "user: two"
        ]
    );
    let stored = std::fs::read_to_string(open.path()).unwrap();
    assert_eq!(stored.matches("\"type\":\"compaction\"").count(), 1);
}

#[tokio::test]
async fn moving_before_a_compaction_restores_the_messages() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.when_user(SUMMARISE).text("summary"))
        .turn(|turn| turn.text("second"));
    let mut open = open(&place, 100_000, script).await;
    open.run("one").await;
    open.host.send(Op::Tree(TreeOp::ReadTree {
        request: 1,
        since: 0,
    }));
    let seen = open
        .until(|event| matches!(event, Event::Tree(TreeEvent::Tree { .. })))
        .await;
    let Some(Event::Tree(TreeEvent::Tree { outline, .. })) = seen.last() else {
        panic!();
    };
    let before = outline.get(outline.leaf.unwrap()).unwrap().id.to_owned();
    open.host.send(Op::Tree(TreeOp::Compact {
        instructions: None,
        review: false,
        up_to: None,
    }));
    until_ended(&mut open).await;
    open.host.send(Op::Tree(TreeOp::Branch {
        entry_id: Some(before),
    }));
    open.until(|event| matches!(event, Event::Tree(TreeEvent::Moved { .. })))
        .await;
    open.run("two").await;
    assert_eq!(
        open.last_request(),
        ["user: one", "assistant: first", "user: two"]
    );
}

#[tokio::test]
async fn user_is_warned_early_and_sees_the_context_report() {
    let place = TestProject::new();
    let full = Usage {
        input: 80_000,
        output: 1_000,
        ..Usage::default()
    };
    let script = Script::new().turn(|turn| turn.text("first").usage(full).repeat());
    let mut open = open(&place, 100_000, script).await;
    let events = open.run("one").await;
    let warned = events.iter().any(|event| {
        matches!(event, Event::Agent(osier_agent::Event::Notice { text, .. })
            if text.contains("81 % full") && text.contains("/compact"))
    });
    assert!(warned, "{events:#?}");
    open.host.send(Op::Tree(TreeOp::GetContext));
    let seen = open
        .until(|event| matches!(event, Event::Tree(TreeEvent::ContextReport { .. })))
        .await;
    let Some(Event::Tree(TreeEvent::ContextReport { report, .. })) = seen.last() else {
        panic!();
    };
    assert_eq!((report.window, report.used), (100_000, 81_000));
    let kinds: Vec<&str> = report.parts.iter().map(|part| part.kind.name()).collect();
    assert_eq!(kinds, ["system prompt", "tools", "prompts", "answers"]);
    assert_eq!((report.goes.0, report.stays.0), (1, 1));
    assert!(report.automatic);
    open.host
        .send(Op::Tree(TreeOp::SetAutoCompact { enabled: false }));
    open.until(|event| *event == Event::Tree(TreeEvent::AutoCompactChanged { enabled: false }))
        .await;
}

#[tokio::test]
async fn a_session_closes_while_a_compaction_begins() {
    let place = TestProject::new();
    let mut open = open(&place, 128_000, Script::always("done")).await;
    open.run("hello").await;
    open.host.send(Op::Tree(TreeOp::Compact {
        instructions: None,
        review: false,
        up_to: None,
    }));
    // Without waiting for it: the summary asks the session, which closes, for its small model.
    open.close().await;
}
