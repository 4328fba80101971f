//! Subagents in a complete session: context, progress and usage.

use osier_agent::ToolUpdate;
use osier_llm::scripted::Hold;
use osier_llm::{Script, Usage};
use osier_protocol::{Event, Op};
use osier_session::SessionChoice;
use osier_tools::{BUILT_IN, PATCH, ToolEffect};
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

/// The result of the call of `task`: its text, its details, its status.
fn result(events: &[Event]) -> (String, Value, String) {
    let found = events.iter().find_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd {
            tool_name, result, ..
        }) if tool_name == "task" => {
            let text = osier_agent::AgentMessage::ToolResult((**result).clone()).text();
            let status = result.status.name().to_owned();
            Some((text, result.details.clone(), status))
        }
        _ => None,
    });
    found.expect("a task that ended")
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
async fn task_runs_separately_reports_progress_and_counts_usage() {
    let place = TestProject::new();
    let used = |input: u64| Usage {
        input,
        ..Usage::default()
    };
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("go")
                .tool("task", task("count the files"))
                .usage(used(100))
        })
        .turn(|turn| {
            turn.when_user("count the files")
                .tool("bash", json!({"command": "echo 7"}))
                .usage(used(20))
        })
        .turn(|turn| {
            turn.when_result("7")
                .text("There are seven.")
                .usage(used(3))
        })
        .turn(|turn| {
            turn.when_result("seven")
                .text("Seven files.")
                .usage(used(1000))
        });
    let mut open = open(&place, script).await;
    let events = open.run("go").await;
    let (text, details, status) = result(&events);
    assert_eq!(
        (text.as_str(), status.as_str()),
        ("There are seven.", "success")
    );
    assert_eq!(details["turns"], 2);
    assert_eq!(details["steps"][0]["tool"], "bash");
    assert_eq!(details["steps"][0]["status"], "success");
    // The subagent sees only its task, and has neither `task` nor `ask_user`.
    let requests = open.provider.requests();
    let inner = &requests[1];
    assert_eq!(
        crate::support::agent::sent(inner),
        ["user: count the files"]
    );
    let tools = |place: usize| {
        let tools = requests[place].context.tools.iter();
        tools.map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    let names = |asks: bool| {
        let tools = BUILT_IN.iter().filter(|tool| tool.name != PATCH);
        let tools = tools.filter(|tool| asks || tool.effect != ToolEffect::Asks);
        tools.map(|tool| tool.name).collect::<Vec<_>>()
    };
    assert_eq!(tools(0), [names(true), vec!["task"]].concat());
    assert_eq!(tools(1), names(false));
    let nested: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::Agent(osier_agent::Event::ToolExecutionUpdate {
                update: ToolUpdate::Agent { event },
                ..
            }) => match &**event {
                osier_agent::Event::ToolExecutionStart { tool_name, .. } => {
                    Some(tool_name.as_str())
                }
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(nested, ["bash"]);
    // The conversation contains only the result.
    let sent = open.last_request();
    assert_eq!(sent.len(), 3, "{sent:?}");
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
    assert_eq!(total(&mut open).await, 1123);
    let path = open.path();
    open.close().await;
    let choice = SessionChoice::Resume(path.to_string_lossy().into_owned());
    let mut again = place.open(choice, Script::always("ok")).await;
    assert_eq!(total(&mut again).await, 1123);
    again.close().await;
}

/// A subagent has no tool that `--tools` leaves out.
#[tokio::test]
async fn subagents_have_only_the_tools_of_a_limited_session() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.when_user("go").tool("task", task("look")))
        .turn(|turn| turn.when_user("look").text("Seen."))
        .turn(|turn| turn.when_result("Seen").text("Done."));
    let tools = |open: &OpenSession, place: usize| {
        let requests = open.provider.requests();
        let tools = requests[place].context.tools.iter();
        tools.map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    let limited = async |names: &[&str], script: Script| {
        let names = names.iter().map(ToString::to_string).collect();
        place
            .open_with(SessionChoice::New, script, |setup| {
                setup.settings.subagents = true;
                setup.tools = Some(names);
            })
            .await
    };
    let mut open = limited(&["read", "task"], script).await;
    open.run("go").await;
    assert_eq!(tools(&open, 0), ["read", "task"]);
    assert_eq!(tools(&open, 1), ["read"]);
    open.close().await;
    let mut open = limited(&["read"], Script::always("ok")).await;
    open.run("go").await;
    assert_eq!(tools(&open, 0), ["read"]);
    open.close().await;
}

#[tokio::test]
async fn interrupt_ends_the_task_and_keeps_its_progress() {
    let place = TestProject::new();
    let gate = Hold::new();
    let held = gate.clone();
    let script = Script::new()
        .turn(|turn| turn.when_user("go").tool("task", task("wait")))
        .turn(|turn| turn.when_user("wait").text("So far").gate(&held));
    let mut open = open(&place, script).await;
    open.prompt("go");
    open.until(|event| {
        matches!(
            event,
            Event::Agent(osier_agent::Event::ToolExecutionUpdate {
                update: ToolUpdate::Agent { .. },
                ..
            })
        )
    })
    .await;
    open.host.send(osier_agent::Op::Abort.into());
    let events = open.settled().await;
    let (text, _, status) = result(&events);
    assert_eq!(status, "aborted");
    assert!(text.starts_with("interrupted"), "{text}");
    open.close().await;
}

#[tokio::test]
async fn defined_agents_have_their_prompt_tools_and_permissions() {
    let place = TestProject::new();
    let folder = place.data().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    let reader = "---\ndescription: reads\ntools: read\n---\nOnly look.\n";
    osier_base::atomic_file::write(&folder.join("reader.md"), reader.as_bytes()).unwrap();
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("go")
                .tool("task", json!({"prompt": "look", "agent": "reader"}))
        })
        .turn(|turn| turn.when_user("look").text("Seen."))
        .turn(|turn| turn.text("done").repeat());
    let mut open = open(&place, script).await;
    open.run("go").await;
    let requests = open.provider.requests();
    let tools: Vec<&str> = requests[1]
        .context
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(tools, ["read"]);
    assert!(
        requests[1]
            .context
            .system_prompt
            .contains("\n\nOnly look.\n")
    );
    let offered = requests[0]
        .context
        .tools
        .iter()
        .find(|tool| tool.name == "task")
        .unwrap();
    assert_eq!(
        offered.parameters["properties"]["agent"]["enum"],
        json!(["reader"])
    );
    open.close().await;
}

#[tokio::test]
async fn task_tool_is_offered_unless_the_setting_is_off() {
    for is_on in [true, false] {
        let place = TestProject::new();
        let mut open = place
            .open_with(SessionChoice::New, Script::always("ok"), |setup| {
                if !is_on {
                    setup.settings.subagents = false;
                }
            })
            .await;
        open.run("go").await;
        let request = open.provider.last_request().unwrap();
        let mut tools = request.context.tools.iter();
        assert_eq!(tools.any(|tool| tool.name == "task"), is_on);
        open.close().await;
    }
}

/// A run without a person ends the program: the answer of a subagent in the background would be lost.
#[tokio::test]
async fn print_mode_waits_for_a_subagent_in_the_background() {
    let place = TestProject::new();
    let task = json!({"prompt": "inner", "run_in_background": true});
    let script = Script::new()
        .turn(|turn| turn.when_user("go").tool("task", task))
        .turn(|turn| turn.when_user("inner").text("report"))
        .turn(|turn| turn.when_result("report").text("done"));
    let mut open = place
        .open_with(SessionChoice::New, script, |setup| {
            setup.waits_for_servers = true;
        })
        .await;
    let (text, _, status) = result(&open.run("go").await);
    assert_eq!((text.as_str(), status.as_str()), ("report", "success"));
    open.close().await;
}

/// The forms of Claude Code: other names, arguments that `task` does not have or takes, and kinds of agents that nobody defined.
#[tokio::test]
async fn calls_in_the_form_of_claude_code_start_a_subagent() {
    let calls = [
        (
            "Task",
            json!({"description": "look", "prompt": "inner", "subagent_type": "general-purpose"}),
            "report",
        ),
        (
            "Agent",
            json!({"description": "x", "prompt": "inner", "subagent_type": "Explore"}),
            "report[no agent `Explore` is defined, so a general one did the task]",
        ),
        (
            "task",
            json!({"prompt": "inner", "run_in_background": false}),
            "report",
        ),
    ];
    for (name, arguments, expected) in calls {
        let place = TestProject::new();
        let script = Script::new()
            .turn(|turn| turn.when_user("go").tool(name, arguments))
            .turn(|turn| turn.when_user("inner").text("report"))
            .turn(|turn| turn.when_result("report").text("done"));
        let mut open = open(&place, script).await;
        let (text, _, status) = result(&open.run("go").await);
        assert_eq!(
            (text.replace('\n', "").as_str(), status.as_str()),
            (expected, "success")
        );
    }
}

/// `--disallowed-tools NotebookEdit` makes a rule of the session, which holds for its subagents. A definition can have one, too.
#[tokio::test]
async fn a_subagent_does_not_write_a_notebook_that_is_denied() {
    let definition =
        "---\nname: careful\ndescription: takes care\ndisallowedTools: NotebookEdit\n---\nWork.";
    for (agent, deny) in [(None, &["NotebookEdit"][..]), (Some("careful"), &[])] {
        let place = TestProject::new();
        let write = |name: &str| json!({"file_path": name, "content": "{}"});
        let call = json!({"prompt": "note it", "agent": agent});
        let script = Script::new()
            .turn(|turn| turn.when_user("go").tool("task", call))
            .turn(|turn| {
                let turn = turn.when_user("note it").tool("write", write("a.ipynb"));
                turn.tool("write", write("a.md"))
            })
            .turn(|turn| turn.text("It is denied."))
            .turn(|turn| turn.text("No notebook."));
        let mut open = place
            .open_with(SessionChoice::New, script, |setup| {
                setup.settings.subagents = true;
                setup.settings.deny = deny.iter().map(ToString::to_string).collect();
                setup.agents = vec![definition.to_owned()];
            })
            .await;
        let events = open.run("go").await;
        let (text, details, _) = result(&events);
        assert_eq!(text, "It is denied.");
        let steps = details["steps"].as_array().unwrap().iter();
        let mut ends: Vec<bool> = steps.map(|step| step["status"] == "success").collect();
        ends.sort_unstable();
        assert_eq!(ends, [false, true], "{details:#}");
        assert!(!place.work().join("a.ipynb").exists(), "{agent:?}");
        assert!(place.work().join("a.md").exists(), "{agent:?}");
    }
}
