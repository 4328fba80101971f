//! Patches in a session: rules, commands that are patches, and results for the model.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use osier_agent::{Event as AgentEvent, ToolStatus};
use osier_llm::Script;
use osier_protocol::{Event, PermissionMode};
use osier_session::SessionChoice;
use serde_json::{Value, json};

use crate::support::session::TestProject;

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

/// Makes these calls in a session with these deny rules; the name, status and text of each result.
async fn results(
    place: &TestProject,
    mode: PermissionMode,
    deny: &[&str],
    calls: &[(&str, Value)],
) -> Vec<(String, ToolStatus, String)> {
    let script = calls
        .iter()
        .fold(Script::new(), |script, (name, arguments)| {
            script.turn(|turn| turn.tool(name, arguments.clone()))
        });
    let script = script.turn(|turn| turn.text("done").repeat());
    let deny: Vec<String> = deny.iter().map(|rule| (*rule).to_owned()).collect();
    let mut open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.permissions = Some(mode);
            setup.settings.deny = deny;
        })
        .await;
    let events = open.run("go").await;
    let ends = events.iter().filter_map(|event| match event {
        Event::Agent(AgentEvent::ToolExecutionEnd {
            tool_name, result, ..
        }) => {
            let content = result.result.content.iter();
            let text = content.filter_map(|block| block.as_text()).collect();
            Some((tool_name.clone(), result.status.clone(), text))
        }
        _ => None,
    });
    ends.collect()
}

/// The attack: a rule for the tools that change one file holds for every file of a patch, in every form of the call.
#[tokio::test]
async fn rules_for_edits_hold_for_patches() {
    for rule in [
        "edit(secret.txt)",
        "write(secret.txt)",
        "apply_patch(secret.txt)",
        "edit",
        "write",
        "read(secret.txt)",
    ] {
        let place = TestProject::new();
        let work = place.work();
        std::fs::write(work.join("secret.txt"), "hidden\n").unwrap();
        std::fs::write(work.join("open.txt"), "shown\n").unwrap();
        let change = patch(
            "*** Update File: open.txt\n-shown\n+x\n*** Update File: ./secret.txt\n-hidden\n+x\n",
        );
        let moved = patch("*** Update File: secret.txt\n*** Move to: other.txt\n-hidden\n+x\n");
        let mut attempts = vec![
            ("apply_patch", json!({ "input": change })),
            ("ApplyPatch", json!({ "patch": change })),
            (
                "bash",
                json!({"command": format!("apply_patch <<'EOF'\n{change}EOF")}),
            ),
            ("shell", json!({"command": ["apply_patch", change]})),
            ("apply_patch", json!({ "input": moved })),
        ];
        if !rule.starts_with("read") {
            let delete = patch("*** Delete File: secret.txt\n");
            attempts.push(("apply_patch", json!({ "input": delete })));
        }
        for (name, status, text) in results(&place, PermissionMode::Yolo, &[rule], &attempts).await
        {
            assert_eq!(name, "apply_patch", "{rule}");
            assert!(
                matches!(status, ToolStatus::Denied { .. }),
                "{rule} {status:?} {text}"
            );
        }
        let text = |name: &str| std::fs::read_to_string(work.join(name)).unwrap();
        assert_eq!(
            (text("secret.txt"), text("open.txt")),
            ("hidden\n".to_owned(), "shown\n".to_owned())
        );
    }
}

#[tokio::test]
async fn plan_mode_denies_patches() {
    let place = TestProject::new();
    let add = json!({"input": patch("*** Add File: new.txt\n+x\n")});
    let results = results(&place, PermissionMode::Plan, &[], &[("apply_patch", add)]).await;
    assert!(
        matches!(results[0].1, ToolStatus::Denied { .. }),
        "{results:?}"
    );
    assert!(!place.work().join("new.txt").exists());
}

#[tokio::test]
async fn a_command_that_is_a_patch_runs_as_the_tool() {
    let place = TestProject::new();
    std::fs::create_dir(place.work().join("sub")).unwrap();
    std::fs::write(place.work().join("sub/a.txt"), "one\n").unwrap();
    let change = patch("*** Update File: a.txt\n-one\n+two\n");
    let command = format!("cd sub && apply_patch <<'EOF'\n{change}EOF\n");
    let results = results(
        &place,
        PermissionMode::Yolo,
        &["bash"],
        &[("bash", json!({ "command": command }))],
    )
    .await;
    assert_eq!(
        results,
        [(
            "apply_patch".to_owned(),
            ToolStatus::Success,
            "Changed 1 file:\nM sub/a.txt (+1 -1 lines)\n".to_owned()
        )]
    );
    assert_eq!(
        std::fs::read_to_string(place.work().join("sub/a.txt")).unwrap(),
        "two\n"
    );
}

/// Wrong patches never reach a question.
#[tokio::test]
async fn an_invalid_patch_is_refused_before_permission() {
    let place = TestProject::new();
    let calls = [
        ("apply_patch", json!({"input": "text"})),
        (
            "apply_patch",
            json!({"input": patch("*** Add File: ../out.txt\n+x\n")}),
        ),
    ];
    let results = results(&place, PermissionMode::Ask, &[], &calls).await;
    let statuses: Vec<&ToolStatus> = results.iter().map(|(_, status, _)| status).collect();
    assert!(
        matches!(
            statuses[..],
            [
                ToolStatus::InvalidParameters { .. },
                ToolStatus::ExecutionError { .. }
            ]
        ),
        "{results:?}"
    );
}

#[tokio::test]
async fn instructions_of_a_directory_come_when_work_moves_there() {
    let place = TestProject::new();
    let work = place.work();
    std::fs::create_dir_all(work.join("web/app")).unwrap();
    std::fs::create_dir_all(work.join("other")).unwrap();
    std::fs::write(work.join("web/AGENTS.md"), "Use tabs here.\n").unwrap();
    std::fs::write(work.join("web/app/a.txt"), "one\n").unwrap();
    std::fs::write(work.join("other/AGENTS.md"), "Ask first.\n").unwrap();
    let results = results(
        &place,
        PermissionMode::Yolo,
        &[],
        &[
            ("read", json!({"file_path": "web/app/a.txt"})),
            ("read", json!({"file_path": "web/app/a.txt"})),
            ("bash", json!({"command": "cd other && pwd >/dev/null"})),
        ],
    )
    .await;
    let has = |index: usize, text: &str| results[index].2.contains(text);
    assert!(
        has(0, "AGENTS.md\">\nUse tabs here.\n</instructions>"),
        "{results:?}"
    );
    assert!(!has(1, "Use tabs"), "{results:?}");
    assert!(has(2, "Ask first."), "{results:?}");
}
