//! Subagents that clients look into: their list, their conversations, messages to them, stops, and the background.

use osier_agent::{AgentMessage, Event as AgentEvent};
use osier_llm::scripted::Hold;
use osier_llm::{Script, Usage};
use osier_protocol::questions::{Answer, Grant};
use osier_protocol::{Event, JobInfo, Op, PermissionMode, SubagentInfo, SubagentStatus};
use osier_session::SessionChoice;
use serde_json::{Value, json};

use crate::support::session::{OpenSession, TestProject};

async fn open(place: &TestProject, script: Script) -> OpenSession {
    place
        .open_with(SessionChoice::New, script, |setup| {
            setup.settings.subagents = true;
        })
        .await
}

fn task(prompt: &str) -> Value {
    json!({"prompt": prompt})
}

fn used(input: u64) -> Usage {
    Usage {
        input,
        ..Usage::default()
    }
}

/// The list once `is_it` holds for it.
async fn listed(
    open: &mut OpenSession,
    is_it: impl Fn(&[SubagentInfo]) -> bool,
) -> Vec<SubagentInfo> {
    let seen = open
        .until(|event| matches!(event, Event::Subagents { subagents } if is_it(subagents)))
        .await;
    match seen.last() {
        Some(Event::Subagents { subagents }) => subagents.clone(),
        _ => panic!("no list"),
    }
}

/// The list once the only subagent has this status and does this.
async fn until_doing(open: &mut OpenSession, status: SubagentStatus, activity: &str) {
    listed(
        open,
        |all| matches!(all, [info] if info.status == status && info.activity == activity),
    )
    .await;
}

/// Follows a subagent: the events of its conversation so far.
async fn transcript(open: &mut OpenSession, id: &str) -> Vec<AgentEvent> {
    open.host.send(Op::FollowSubagent {
        subagent: id.to_owned(),
    });
    let seen = open
        .until(|event| matches!(event, Event::SubagentTranscript { .. }))
        .await;
    match seen.last() {
        Some(Event::SubagentTranscript {
            subagent,
            skipped: 0,
            events,
        }) if subagent == id => events.clone(),
        other => panic!("no transcript: {other:?}"),
    }
}

/// The complete messages among events, as `ROLE: TEXT`.
fn messages<'a>(events: impl IntoIterator<Item = &'a AgentEvent>) -> Vec<String> {
    let ends = events.into_iter().filter_map(|event| match event {
        AgentEvent::MessageEnd { message, .. } => Some(message),
        _ => None,
    });
    let shown = ends.map(|message| {
        let role = match &**message {
            AgentMessage::User(_) => "user",
            AgentMessage::Assistant(_) => "model",
            AgentMessage::ToolResult(_) => "tool",
            _ => "other",
        };
        format!("{role}: {}", message.text().trim())
    });
    shown.collect()
}

/// The live events of a subagent among those of the session.
fn live<'a>(events: &'a [Event], id: &str) -> Vec<&'a AgentEvent> {
    let events = events.iter().filter_map(|event| match event {
        Event::SubagentEvent { subagent, event } if subagent == id => Some(&**event),
        _ => None,
    });
    events.collect()
}

/// The results of the calls of `task`, in the order of their ends.
fn results(events: &[Event]) -> Vec<(String, &'static str)> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Agent(AgentEvent::ToolExecutionEnd {
            tool_name, result, ..
        }) if tool_name == "task" => {
            let text = AgentMessage::ToolResult((**result).clone()).text();
            Some((text, result.status.name()))
        }
        _ => None,
    });
    ends.collect()
}

/// Waits for a notice, which has this text.
async fn refuses(open: &mut OpenSession, expected: &str) {
    let seen = open
        .until(|event| matches!(event, Event::Notice { .. }))
        .await;
    let Some(Event::Notice { text, .. }) = seen.last() else {
        panic!("no notice");
    };
    assert_eq!(text, expected);
}

#[tokio::test]
async fn one_of_two_subagents_is_steered_and_the_other_is_stopped() {
    let place = TestProject::new();
    let (first, second) = (Hold::new(), Hold::new());
    let script = Script::new()
        .turn(|turn| {
            let turn = turn.when_user("go").tool("task", task("the first"));
            turn.tool("task", task("the second"))
        })
        .turn(|turn| {
            let turn = turn.when_user("the first").text("Looking.").gate(&first);
            turn.tool("bash", json!({"command": "echo one"}))
        })
        .turn(|turn| turn.when_user("the second").text("Busy").gate(&second))
        .turn(|turn| turn.when_user("count to two").text("Both are done."))
        .turn(|turn| turn.text("Done."));
    let mut open = open(&place, script).await;
    open.prompt("go");
    let both = listed(&mut open, |all| {
        all.len() == 2 && all.iter().all(|info| info.activity == "answering")
    })
    .await;
    let shown: Vec<_> = both
        .iter()
        .map(|info| (&*info.id, &*info.task, info.status))
        .collect();
    let running = SubagentStatus::Running;
    assert_eq!(
        shown,
        [
            ("agent1", "the first", running),
            ("agent2", "the second", running)
        ]
    );
    let before = transcript(&mut open, "agent1").await;
    assert_eq!(messages(&before), ["user: the first"]);
    let steer = |text: &str| Op::SteerSubagent {
        subagent: "agent1".to_owned(),
        text: text.to_owned(),
    };
    open.host.send(steer("count to two"));
    open.until(|event| {
        matches!(event, Event::SubagentEvent { event, .. }
            if matches!(&**event, AgentEvent::QueueUpdate { steering, .. } if steering.len() == 1))
    })
    .await;
    open.host.send(Op::StopSubagent {
        subagent: "agent2".to_owned(),
    });
    first.open();
    let events = open.settled().await;
    let mut ends = results(&events);
    ends.sort();
    assert_eq!(ends[0], ("Both are done.".to_owned(), "success"));
    assert_eq!(ends[1].1, "aborted");
    assert!(
        ends[1].0.starts_with("the user stopped it"),
        "{}",
        ends[1].0
    );
    // The events so far and those that followed make the whole conversation, also for a client that comes later.
    let whole = [
        "user: the first",
        "model: Looking.",
        "tool: one",
        "user: count to two",
        "model: Both are done.",
    ];
    let followed = before.iter().chain(live(&events, "agent1"));
    assert_eq!(messages(followed), whole);
    assert_eq!(messages(&transcript(&mut open, "agent1").await), whole);
    open.host.send(Op::ListSubagents);
    let ended = listed(&mut open, |_| true).await;
    let states: Vec<_> = ended.iter().map(|info| info.status.name()).collect();
    assert_eq!(states, ["done", "stopped"]);
    open.host.send(steer("more"));
    refuses(&mut open, "agent1 has ended: it gets no more messages").await;
    open.host.send(Op::StopSubagent {
        subagent: "agent9".to_owned(),
    });
    refuses(&mut open, "no subagent with the id `agent9`").await;
    open.close().await;
}

#[tokio::test]
async fn question_names_the_subagent_that_waits() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.when_user("go").tool("task", task("look")))
        .turn(|turn| {
            let command = json!({"command": "touch asked"});
            turn.when_user("look").tool("bash", command)
        })
        .turn(|turn| turn.when_result("").text("Touched."))
        .turn(|turn| turn.text("Done."));
    let mut open = place
        .open_with(SessionChoice::New, script, |setup| {
            setup.settings.subagents = true;
            setup.settings.allow = vec!["task".to_owned()];
            setup.permissions = Some(PermissionMode::Ask);
            setup.answers_questions = true;
        })
        .await;
    open.prompt("go");
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = seen.last() else {
        panic!("no question");
    };
    let id = question.id.clone();
    assert_eq!(question.subagent.as_deref(), Some("agent1"));
    open.host.send(Op::ListSubagents);
    until_doing(&mut open, SubagentStatus::Asks, "running touch asked").await;
    let answer = Answer::Allow {
        grant: Grant::Once,
        arguments: None,
    };
    open.host.send(Op::AnswerQuestion { id, answer });
    let events = open.settled().await;
    assert_eq!(results(&events), [("Touched.".to_owned(), "success")]);
    assert!(place.work().join("asked").exists());
    open.close().await;
}

#[tokio::test]
async fn background_subagent_outlives_its_call_and_reports_its_answer() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("go")
                .tool("task", task("count"))
                .usage(used(100))
        })
        .turn(|turn| {
            let turn = turn.when_user("count").gate(&gate).usage(used(20));
            turn.tool("bash", json!({"command": "echo 7"}))
        })
        .turn(|turn| {
            turn.when_result("7")
                .text("There are seven.")
                .usage(used(3))
        })
        .turn(|turn| {
            turn.when_result("background")
                .text("Meanwhile.")
                .usage(used(5))
        })
        .turn(|turn| turn.when_user("agent1 ended").text("Noted.").usage(used(7)));
    let mut open = open(&place, script).await;
    open.prompt("go");
    until_doing(&mut open, SubagentStatus::Running, "thinking").await;
    open.host.send(Op::MoveSubagentToBackground {
        subagent: "agent1".to_owned(),
    });
    let events = open.settled().await;
    let [(text, "success")] = &results(&events)[..] else {
        panic!("{:?}", results(&events));
    };
    assert!(text.contains("moved agent1 to the background"), "{text}");
    let jobs = |events: &[Event]| {
        let mut lists = events.iter().rev().filter_map(|event| match event {
            Event::Jobs { jobs } => Some(jobs.clone()),
            _ => None,
        });
        lists.next().unwrap_or_default()
    };
    let [
        JobInfo {
            id,
            running: true,
            command,
            ..
        },
    ] = &jobs(&events)[..]
    else {
        panic!("{:?}", jobs(&events));
    };
    assert_eq!((id.as_str(), command.as_str()), ("agent1", "count"));
    gate.open();
    let events = open.settled().await;
    let sent = open.last_request();
    assert_eq!(
        sent.last().map(String::as_str),
        Some("user: [agent1 ended. Its answer: There are seven.]")
    );
    let ended = jobs(&events);
    assert!(ended.iter().all(|job| !job.running), "{ended:?}");
    let total = async |open: &mut OpenSession| {
        open.host.send(Op::GetUsage);
        let seen = open
            .until(|event| matches!(event, Event::Usage { .. }))
            .await;
        match seen.last() {
            Some(Event::Usage { spending }) => spending.total.input,
            _ => panic!("no usage"),
        }
    };
    assert_eq!(total(&mut open).await, 135);
    let path = open.path();
    open.close().await;
    let choice = SessionChoice::Resume(path.to_string_lossy().into_owned());
    let mut again = place.open(choice, Script::always("ok")).await;
    assert_eq!(total(&mut again).await, 135);
    again.close().await;
}

#[tokio::test]
async fn stopped_background_subagent_starts_no_run_and_a_close_ends_the_others() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            let turn = turn.when_user("go").tool("task", task("wait one"));
            turn.tool("task", task("wait two"))
        })
        .turn(|turn| turn.when_user("wait").gate(&gate).text("never").repeat())
        .turn(|turn| turn.when_result("background").text("Meanwhile."))
        .turn(|turn| turn.when_user("next").text("Noted."));
    let mut open = open(&place, script).await;
    open.prompt("go");
    listed(&mut open, |all| {
        all.len() == 2 && all.iter().all(|info| info.activity == "thinking")
    })
    .await;
    for id in ["agent1", "agent2"] {
        open.host.send(Op::MoveSubagentToBackground {
            subagent: id.to_owned(),
        });
    }
    open.settled().await;
    // An interrupt is for the run.
    open.host.send(osier_agent::Op::Abort.into());
    open.host.send(Op::ListSubagents);
    let states = listed(&mut open, |_| true).await;
    assert!(states.iter().all(SubagentInfo::is_active), "{states:?}");
    open.host.send(Op::KillJob {
        id: "agent1".to_owned(),
    });
    listed(&mut open, |all| all[0].status == SubagentStatus::Stopped).await;
    open.run("next").await;
    let sent = open.last_request();
    let note = "agent1: the user stopped it before the first answer";
    assert!(
        sent.iter().any(|message| message.contains(note)),
        "{sent:?}"
    );
    open.close().await;
}

#[tokio::test]
async fn model_starts_a_subagent_in_the_background() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            let task = json!({"prompt": "count", "run_in_background": true});
            turn.when_user("go").tool("task", task)
        })
        .turn(|turn| turn.when_user("count").gate(&gate).text("There are seven."))
        .turn(|turn| turn.when_result("background").text("Meanwhile."))
        .turn(|turn| turn.when_user("agent1 ended").text("Noted."));
    let mut open = open(&place, script).await;
    open.prompt("go");
    let events = open.settled().await;
    let started =
        "agent1 runs in the background, and its answer follows as a message. Do not wait for it.";
    assert_eq!(results(&events), [(started.to_owned(), "success")]);
    gate.open();
    let events = open.settled().await;
    // The answer is a message of osier, not of the user.
    let messages = events.iter().filter_map(|event| match event {
        Event::Agent(AgentEvent::MessageEnd { message, .. }) => Some(&**message),
        _ => None,
    });
    let messages: Vec<_> = messages.collect();
    let [AgentMessage::Custom(answer), AgentMessage::Assistant(noted)] = &messages[..] else {
        panic!("{messages:?}");
    };
    assert_eq!(
        (answer.kind.as_str(), answer.display, answer.text.as_str()),
        ("task", true, "[agent1 ended. Its answer: There are seven.]")
    );
    assert_eq!(noted.text(), "Noted.");
    open.close().await;
}

#[tokio::test]
async fn work_in_the_background_is_lost_with_the_session_and_the_model_is_told_once() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            let task = json!({"prompt": "wait for it", "run_in_background": true});
            let job = json!({"command": "sleep 600", "background": true});
            turn.when_user("go").tool("task", task).tool("bash", job)
        })
        .turn(|turn| turn.when_user("wait for it").gate(&gate).text("never"))
        .turn(|turn| turn.text("Meanwhile."));
    let mut first = open(&place, script).await;
    first.run("go").await;
    let path = first.path();
    first.close().await;
    let choice = SessionChoice::Resume(path.to_string_lossy().into_owned());
    let script = Script::new().turn(|turn| turn.text("ok").repeat());
    let mut again = place.open(choice, script).await;
    again.host.send(Op::ListSubagents);
    let lost = listed(&mut again, |all| !all.is_empty()).await;
    let shown: Vec<_> = lost
        .iter()
        .map(|info| (&*info.id, &*info.task, info.status, info.background))
        .collect();
    assert_eq!(
        shown,
        [("agent1", "wait for it", SubagentStatus::Lost, true)]
    );
    again.host.send(Op::ListJobs);
    let seen = again
        .until(|event| matches!(event, Event::Jobs { jobs } if !jobs.is_empty()))
        .await;
    let Some(Event::Jobs { jobs }) = seen.last() else {
        panic!("no jobs");
    };
    let jobs: Vec<_> = jobs
        .iter()
        .map(|job| (&*job.id, &*job.command, job.running, job.lost))
        .collect();
    assert_eq!(
        jobs,
        [
            ("job1", "sleep 600", false, true),
            ("agent1", "wait for it", false, true)
        ]
    );
    let told = |sent: &[String]| {
        let lost = sent.iter().filter(|message| {
            message.contains("- agent1: wait for it") && message.contains("- job1: sleep 600")
        });
        lost.count()
    };
    again.run("next").await;
    assert_eq!(told(&again.last_request()), 1, "{:?}", again.last_request());
    again.run("and now").await;
    assert_eq!(told(&again.last_request()), 1);
    again.host.send(Op::StopSubagent {
        subagent: "agent1".to_owned(),
    });
    refuses(&mut again, "agent1 was lost when osier ended").await;
    again.close().await;
}
