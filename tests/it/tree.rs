//! Navigation in the session tree, in a complete session.
#![expect(clippy::disallowed_methods, reason = "a project of the test's own")]

use std::sync::Arc;

use osier_llm::scripted::Hold;
use osier_llm::{Script, ThinkingLevel};
use osier_protocol::{
    BranchFacts, EntryKind, Event, LaneState, LaneStatus, Op, Opening, Outline, Tag, TreeEvent,
    TreeOp,
};
use osier_session::{SessionChoice, SessionSetup};
use serde_json::json;

use crate::support::agent::model;
use crate::support::session::{OpenSession, TestProject};

impl OpenSession {
    fn tree(&self, op: TreeOp) {
        self.host.send(Op::Tree(op));
    }

    async fn tree_event(&mut self, wanted: impl Fn(&TreeEvent) -> bool) -> TreeEvent {
        let seen = self
            .until(|event| matches!(event, Event::Tree(event) if wanted(event)))
            .await;
        match seen.into_iter().next_back() {
            Some(Event::Tree(event)) => event,
            other => panic!("{other:?}"),
        }
    }

    /// Stores a copy, checks that this session stays open, and opens the copy. Returns the prompt before which it ends.
    async fn open_copy(&mut self, op: TreeOp) -> Option<String> {
        self.tree(op);
        let event = self
            .tree_event(|event| matches!(event, TreeEvent::Forked { .. }))
            .await;
        let TreeEvent::Forked {
            parent_session,
            session,
            path,
            prompt,
            cwd: None,
            files: None,
        } = event
        else {
            panic!("{event:?}");
        };
        assert_eq!(parent_session, self.session.id);
        let (target, opening) = (session.clone(), Opening::Itself);
        self.host.send(Op::ResumeSession { target, opening });
        self.opened().await;
        assert_eq!(self.session.id, session);
        assert_eq!(self.path(), path);
        prompt.map(|prompt| prompt.text)
    }

    async fn outline(&mut self) -> Arc<Outline> {
        let op = TreeOp::ReadTree {
            request: 1,
            since: 0,
        };
        self.tree(op);
        let event = self
            .tree_event(|event| matches!(event, TreeEvent::Tree { .. }))
            .await;
        match event {
            TreeEvent::Tree { outline, .. } => outline,
            other => panic!("{other:?}"),
        }
    }

    /// Ids of the entries of a kind, oldest first.
    async fn ids(&mut self, tag: Tag) -> Vec<String> {
        let outline = self.outline().await;
        (0..outline.end())
            .filter_map(|number| outline.get(number))
            .filter(|entry| entry.tag == tag)
            .map(|entry| entry.id.to_owned())
            .collect()
    }

    /// Waits for a move. Returns the conversation and the prompt for editing.
    async fn moved(&mut self) -> (Vec<String>, Option<String>) {
        let event = self
            .tree_event(|event| matches!(event, TreeEvent::Moved { .. }))
            .await;
        match event {
            TreeEvent::Moved {
                messages, prompt, ..
            } => {
                let texts = messages.iter().map(|stored| stored.message.text());
                (texts.collect(), prompt.map(|prompt| prompt.text))
            }
            other => panic!("{other:?}"),
        }
    }

    async fn noticed(&mut self) -> String {
        let seen = self
            .until(|event| matches!(event, Event::Notice { .. }))
            .await;
        match seen.last() {
            Some(Event::Notice { text, .. }) => text.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn to(entry: &str) -> TreeOp {
    TreeOp::MoveTo {
        last_prompt: false,
        entry_id: Some(entry.to_owned()),
        summarize: false,
        instructions: None,
        with_files: false,
    }
}

fn answers() -> Script {
    Script::new()
        .turn(|turn| turn.when_user("one").text("first").repeat())
        .turn(|turn| turn.when_user("two").text("second").repeat())
        .turn(|turn| turn.text("other").repeat())
}

#[tokio::test]
async fn moving_before_a_prompt_sends_the_next_as_a_sibling() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, answers()).await;
    open.run("one").await;
    open.run("two").await;
    let prompts = open.ids(Tag::User).await;
    open.tree(to(&prompts[1]));
    let (shown, prompt) = open.moved().await;
    assert_eq!(shown, ["one", "first"]);
    assert_eq!(prompt.as_deref(), Some("two"));
    open.run("three").await;
    assert_eq!(
        open.last_request(),
        ["user: one", "assistant: first", "user: three"]
    );
    let outline = open.outline().await;
    let parent = |id: &str| {
        let entries = (0..outline.end()).filter_map(|number| outline.get(number));
        let entry = entries.into_iter().find(|entry| entry.id == id).unwrap();
        entry
            .parent
            .map(|number| outline.get(number).unwrap().id.to_owned())
    };
    let prompts = open.ids(Tag::User).await;
    assert_eq!(parent(&prompts[1]), parent(&prompts[2]));
    // Before the first prompt the conversation is empty.
    open.tree(to(&prompts[0]));
    assert_eq!(open.moved().await, (vec![], Some("one".to_owned())));
    // A move to an answer includes the answer; a reopened session continues at the same entry.
    let given = open.ids(Tag::Assistant).await;
    open.tree(to(&given[1]));
    let (shown, prompt) = open.moved().await;
    assert_eq!((shown.len(), prompt), (4, None));
    let path = open.path();
    open.close().await;
    let mut again = place.open(SessionChoice::File(path), answers()).await;
    again.run("four").await;
    assert_eq!(
        again.last_request(),
        [
            "user: one",
            "assistant: first",
            "user: two",
            "assistant: second",
            "user: four"
        ]
    );
}

#[tokio::test]
async fn model_and_level_belong_to_the_branch() {
    let place = TestProject::new();
    let script = Script::new().turn(|turn| turn.text("yes").repeat());
    let mut open = place
        .open_with(SessionChoice::New, script, with_levels)
        .await;
    open.run("one").await;
    let level = ThinkingLevel::High;
    open.host
        .send(osier_agent::Op::SetThinkingLevel { level }.into());
    open.run("two").await;
    let selected = |event: &Event| match event {
        Event::ModelSelected { level, .. } => Some(*level),
        _ => None,
    };
    for (place, expected) in [(0, ThinkingLevel::Off), (1, ThinkingLevel::High)] {
        let given = open.ids(Tag::Assistant).await;
        open.tree(to(&given[place]));
        let seen = open.until(|event| selected(event).is_some()).await;
        assert_eq!(seen.last().and_then(selected), Some(expected));
        open.run("go on").await;
        let request = open.provider.last_request().unwrap();
        assert_eq!(request.options.thinking, expected);
    }
}

fn with_levels(setup: &mut SessionSetup) {
    let mut model = model("test/one");
    model.thinking_levels = ThinkingLevel::ALL.to_vec();
    let provider = setup.embedded.take().unwrap().1;
    setup.embedded = Some((model, provider));
}

async fn selected(open: &mut OpenSession) -> ThinkingLevel {
    let level = |event: &Event| match event {
        Event::ModelSelected { level, .. } => Some(*level),
        _ => None,
    };
    let seen = open.until(|event| level(event).is_some()).await;
    seen.last().and_then(level).unwrap()
}

/// The level of the next request.
async fn next_level(open: &mut OpenSession) -> ThinkingLevel {
    open.run("go on").await;
    open.provider.last_request().unwrap().options.thinking
}

#[tokio::test]
async fn level_that_is_given_with_a_model_or_a_flag_is_stored_with_the_branch() {
    let place = TestProject::new();
    let script = || Script::new().turn(|turn| turn.text("yes").repeat());
    let select = |reference: &str| {
        let reference = reference.to_owned();
        Op::SelectModel { reference }
    };
    let mut open = place
        .open_with(SessionChoice::New, script(), with_levels)
        .await;
    open.run("one").await;
    open.host.send(select("test/one:high"));
    assert_eq!(selected(&mut open).await, ThinkingLevel::High);
    open.run("two").await;
    open.host.send(select("test/one:low"));
    assert_eq!(selected(&mut open).await, ThinkingLevel::Low);
    let answers = open.ids(Tag::Assistant).await;
    for (answer, expected) in [(0, ThinkingLevel::Off), (1, ThinkingLevel::High)] {
        open.tree(to(&answers[answer]));
        assert_eq!(selected(&mut open).await, expected);
    }
    // A copy of the branch has its level; so has the next start.
    open.open_copy(TreeOp::Clone).await;
    assert_eq!(next_level(&mut open).await, ThinkingLevel::High);
    open.close().await;
    let mut open = place
        .open_with(SessionChoice::Continue, script(), with_levels)
        .await;
    assert_eq!(next_level(&mut open).await, ThinkingLevel::High);
    open.close().await;
    // The level of the command line belongs to the branch that it started.
    let flagged = |setup: &mut SessionSetup| {
        with_levels(setup);
        setup.thinking = Some(ThinkingLevel::Max);
    };
    let mut open = place.open_with(SessionChoice::New, script(), flagged).await;
    assert_eq!(next_level(&mut open).await, ThinkingLevel::Max);
    open.close().await;
    let mut open = place
        .open_with(SessionChoice::Continue, script(), with_levels)
        .await;
    assert_eq!(next_level(&mut open).await, ThinkingLevel::Max);
    open.close().await;
}

#[tokio::test]
async fn new_session_keeps_the_choices_of_the_program_and_announces_them() {
    use osier_agent::{Event as E, Op as O, QueueMode};
    let place = TestProject::new();
    let script = Script::new().turn(|turn| turn.text("yes").repeat());
    let mut open = place
        .open_with(SessionChoice::New, script, with_levels)
        .await;
    let level = ThinkingLevel::High;
    let (steering, follow_up) = (Some(QueueMode::All), None);
    let prompt = "Answer in verse.".to_owned();
    for op in [
        O::SetThinkingLevel { level },
        O::SetAutoRetry { enabled: false },
        O::SetQueueMode {
            steering,
            follow_up,
        },
        O::SetSystemPrompt {
            prompt: prompt.clone(),
        },
        O::SetTools {
            names: vec!["read".to_owned()],
        },
    ] {
        open.host.send(op.into());
    }
    open.tree(TreeOp::SetAutoCompact { enabled: false });
    open.run("one").await;
    open.host.send(Op::Reload);
    open.run("two").await;
    let request = open.provider.last_request().unwrap();
    assert_eq!(request.context.system_prompt, prompt);
    open.host.send(Op::NewSession);
    let mut missing = vec!["retry", "queues", "compaction", "tools"];
    while !missing.is_empty() {
        let seen = open.until(|_| true).await;
        let name = match seen.first() {
            Some(Event::Agent(E::AutoRetryChanged { enabled: false })) => "retry",
            Some(Event::Agent(E::QueueModeChanged { steering, .. }))
                if *steering == QueueMode::All =>
            {
                "queues"
            }
            Some(Event::Tree(TreeEvent::AutoCompactChanged { enabled: false })) => "compaction",
            Some(Event::Agent(E::Tools { .. })) => "tools",
            _ => continue,
        };
        missing.retain(|known| *known != name);
    }
    open.run("three").await;
    let request = open.provider.last_request().unwrap();
    assert_eq!(request.options.thinking, level);
    assert_eq!(request.context.system_prompt, prompt);
}

#[tokio::test]
async fn moves_are_refused_during_a_run() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.text("slow ").gate(&gate).text("answer"));
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("one").await;
    let prompts = open.ids(Tag::User).await;
    open.prompt("two");
    open.said("slow").await;
    open.tree(to(&prompts[0]));
    assert!(open.noticed().await.contains("esc"));
    gate.open();
    open.settled().await;
    assert_eq!(open.ids(Tag::Assistant).await.len(), 2);
    let outline = open.outline().await;
    let leaf = outline.get(outline.leaf.unwrap()).unwrap();
    assert_eq!(leaf.tag, Tag::Assistant);
}

#[tokio::test]
async fn undone_prompts_are_returned_and_redone() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, answers()).await;
    open.run("one").await;
    open.run("two").await;
    open.tree(TreeOp::UndoPrompt { with_files: false });
    assert_eq!(open.moved().await.1.as_deref(), Some("two"));
    open.tree(TreeOp::UndoPrompt { with_files: false });
    assert_eq!(open.moved().await.1.as_deref(), Some("one"));
    open.tree(TreeOp::UndoPrompt { with_files: false });
    assert_eq!(open.noticed().await, "no earlier prompt on this branch");
    open.tree(TreeOp::RedoPrompt { with_files: false });
    assert_eq!(open.moved().await.0, ["one", "first"]);
    open.tree(TreeOp::RedoPrompt { with_files: false });
    assert_eq!(open.moved().await.0.len(), 4);
    open.tree(TreeOp::RedoPrompt { with_files: false });
    assert_eq!(open.noticed().await, "there is nothing to redo");
    // After a new prompt there is nothing to redo.
    open.tree(TreeOp::UndoPrompt { with_files: false });
    open.moved().await;
    open.run("three").await;
    open.tree(TreeOp::RedoPrompt { with_files: false });
    assert_eq!(open.noticed().await, "there is nothing to redo");
}

#[tokio::test]
async fn positions_are_revisited_after_labels_and_restarts() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, answers()).await;
    open.run("one").await;
    open.run("two").await;
    open.tree(TreeOp::UndoPrompt { with_files: false });
    open.moved().await;
    let entry_id = open.ids(Tag::User).await[0].clone();
    open.tree(TreeOp::LabelEntry {
        entry_id,
        label: "start".to_owned(),
    });
    open.tree_event(|event| matches!(event, TreeEvent::EntryLabelled { .. }))
        .await;
    open.tree(TreeOp::RedoPrompt { with_files: false });
    assert_eq!(open.moved().await.0.len(), 4);
    open.tree(TreeOp::GoForward);
    let (messages, prompt) = open.moved().await;
    assert_eq!((messages.len(), prompt.as_deref()), (2, Some("two")));
    open.close().await;
    let mut open = place.open(SessionChoice::Continue, answers()).await;
    open.tree(TreeOp::GoBack);
    assert_eq!(open.moved().await.0.len(), 4);
    open.tree(TreeOp::GoBack);
    let nothing = "there is no earlier position to go back to";
    assert_eq!(open.noticed().await, nothing);
}

#[tokio::test]
async fn a_move_after_the_current_entry_ends_the_undo_of_the_next_prompt() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, answers()).await;
    open.run("one").await;
    open.run("two").await;
    open.tree(TreeOp::UndoPrompt { with_files: false });
    assert_eq!(open.moved().await.1.as_deref(), Some("two"));
    let first = open.ids(Tag::Assistant).await[0].clone();
    for _ in 0..2 {
        // The second move changes nothing.
        open.tree(to(&first));
        let (messages, prompt) = open.moved().await;
        assert_eq!((messages.len(), prompt), (2, None));
    }
    let path = open.path();
    open.close().await;
    let entries = osier_store::load(&path).unwrap().entries.into_iter();
    let moves: Vec<(Option<String>, bool)> = entries
        .filter_map(|entry| match entry.kind {
            EntryKind::Leaf {
                target_id,
                before_id,
                ..
            } => Some((target_id, before_id.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(moves, [(Some(first.clone()), true), (Some(first), false)]);
    let mut open = place.open(SessionChoice::Continue, answers()).await;
    for (step, editor) in [(TreeOp::GoBack, Some("two")), (TreeOp::GoForward, None)] {
        open.tree(step);
        let (messages, prompt) = open.moved().await;
        assert_eq!((messages.len(), prompt.as_deref()), (2, editor));
    }
}

#[tokio::test]
async fn fork_during_a_run_leaves_the_run_and_names_the_copy() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.text("begun").gate(&gate).text(" and done"));
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("one").await;
    let source = open.session.id.clone();
    open.prompt("two");
    open.until(|event| {
        matches!(
            event,
            Event::Agent(osier_agent::Event::MessageUpdate { .. })
        )
    })
    .await;
    open.tree(TreeOp::Fork { entry_id: None });
    let event = open
        .tree_event(|event| matches!(event, TreeEvent::Forked { .. }))
        .await;
    let TreeEvent::Forked {
        session: copy,
        parent_session,
        prompt: Some(prompt),
        cwd: None,
        files: None,
        ..
    } = event
    else {
        panic!("{event:?}");
    };
    assert_eq!((parent_session, &*prompt.text), (source.clone(), "two"));
    gate.open();
    open.settled().await;
    assert_eq!(open.session.id, source);
    assert_eq!(open.ids(Tag::Assistant).await.len(), 2);
    // The copy ends before the prompt, which is its draft.
    let mut beside = place.open(SessionChoice::Resume(copy), answers()).await;
    assert_eq!(beside.ids(Tag::User).await.len(), 1);
    beside.host.send(Op::FindDraft);
    let found = beside
        .until(|event| matches!(event, Event::DraftFound { .. }))
        .await;
    let Some(Event::DraftFound { text, .. }) = found.last() else {
        panic!("{found:?}");
    };
    assert_eq!(text.to_string(), "two");
}

#[tokio::test]
async fn last_prompt_is_retried_as_a_sibling() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.text("bad"))
        .turn(|turn| turn.text("good"));
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("one").await;
    let model = Some("test/one".to_owned());
    open.tree(TreeOp::RetryPrompt { model });
    open.settled().await;
    assert_eq!(open.last_request(), ["user: one"]);
    assert_eq!(open.ids(Tag::User).await.len(), 2);
    let model = Some("nobody/knows".to_owned());
    open.tree(TreeOp::RetryPrompt { model });
    assert!(open.noticed().await.contains("nobody/knows"));
    // The conversation has not moved.
    let outline = open.outline().await;
    let leaf = outline.get(outline.leaf.unwrap()).unwrap();
    assert_eq!(leaf.tag, Tag::Assistant);
}

#[tokio::test]
async fn failed_branch_summary_cancels_the_move() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.text("second"))
        .turn(|turn| {
            turn.when_user("leaves this branch")
                .gate(&gate)
                .text("never")
        })
        .turn(|turn| {
            turn.when_user("leaves this branch")
                .text("it came to nothing")
        })
        .turn(|turn| turn.text("third"));
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("one").await;
    open.run("two").await;
    let given = open.ids(Tag::Assistant).await;
    let leave = TreeOp::MoveTo {
        last_prompt: false,
        entry_id: Some(given[0].clone()),
        summarize: true,
        instructions: Some("mind the tests".to_owned()),
        with_files: false,
    };
    open.tree(leave.clone());
    open.tree_event(|event| *event == TreeEvent::BranchSummaryStart)
        .await;
    open.host.send(osier_agent::Op::Abort.into());
    open.tree_event(|event| matches!(event, TreeEvent::BranchSummaryFailed { .. }))
        .await;
    let outline = open.outline().await;
    assert_eq!(outline.get(outline.leaf.unwrap()).unwrap().id, given[1]);
    open.tree(leave);
    let (shown, _) = open.moved().await;
    assert_eq!(shown, ["one", "first", "it came to nothing"]);
    let told = open.last_request().join("\n");
    assert!(
        told.contains("[User]: two") && !told.contains("[User]: one"),
        "{told}"
    );
    assert!(told.contains("mind the tests"), "{told}");
    open.run("three").await;
    assert_eq!(
        open.last_request()[2],
        "user: Summary of an abandoned branch:\n<summary>\nit came to nothing\n</summary>"
    );
}

#[tokio::test]
async fn a_truncated_branch_summary_is_not_stored() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.text("second"))
        .turn(|turn| turn.text("half of").stop(osier_llm::StopReason::Length));
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("one").await;
    open.run("two").await;
    let given = open.ids(Tag::Assistant).await;
    open.tree(TreeOp::MoveTo {
        last_prompt: false,
        entry_id: Some(given[0].clone()),
        summarize: true,
        instructions: None,
        with_files: false,
    });
    let failed = open
        .tree_event(|event| matches!(event, TreeEvent::BranchSummaryFailed { .. }))
        .await;
    let TreeEvent::BranchSummaryFailed { message } = failed else {
        panic!();
    };
    assert!(message.contains("output limit"), "{message}");
    assert!(open.ids(Tag::BranchSummary).await.is_empty());
}

#[tokio::test]
async fn forks_and_clones_are_separate_sessions() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, answers()).await;
    open.run("one").await;
    open.run("two").await;
    let source = open.session.id.clone();
    let prompt = open.open_copy(TreeOp::Fork { entry_id: None }).await;
    assert_eq!(prompt.as_deref(), Some("two"));
    assert_ne!(open.session.id, source);
    open.run("three").await;
    assert_eq!(
        open.last_request(),
        ["user: one", "assistant: first", "user: three"]
    );
    assert_eq!(open.open_copy(TreeOp::Clone).await, None);
    open.run("four").await;
    assert_eq!(open.last_request().len(), 5);
    let header = std::fs::read_to_string(open.path()).unwrap();
    let header: serde_json::Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    assert!(header["parentSession"].is_string(), "{header}");
}

#[tokio::test]
async fn branches_are_labelled_hidden_and_shown() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, answers()).await;
    open.run("one").await;
    open.run("two").await;
    let prompts = open.ids(Tag::User).await;
    let entry_id = prompts[1].clone();
    let hide = |hidden| TreeOp::HideBranch {
        entry_id: entry_id.clone(),
        hidden,
    };
    open.tree(hide(true));
    assert!(open.noticed().await.contains("the current branch"));
    open.tree(to(&prompts[1]));
    open.moved().await;
    open.tree(TreeOp::LabelEntry {
        entry_id: entry_id.clone(),
        label: " try ".to_owned(),
    });
    open.tree_event(|event| matches!(event, TreeEvent::EntryLabelled { .. }))
        .await;
    open.tree(hide(true));
    open.tree_event(|event| matches!(event, TreeEvent::BranchHidden { .. }))
        .await;
    let outline = open.outline().await;
    let named = |numbers: &[u32]| -> Vec<String> {
        let ids = numbers
            .iter()
            .map(|number| outline.get(*number).unwrap().id);
        ids.map(str::to_owned).collect()
    };
    assert_eq!(named(&outline.hidden), std::slice::from_ref(&entry_id));
    let labels: Vec<u32> = outline.labels.iter().map(|(number, _)| *number).collect();
    assert_eq!(named(&labels), std::slice::from_ref(&entry_id));
    assert_eq!(outline.labels[0].1, "try");
    // A reopened session has the same labels and hidden entries.
    let path = open.path();
    open.close().await;
    let mut open = place.open(SessionChoice::File(path), answers()).await;
    let again = open.outline().await;
    assert_eq!(
        (&again.hidden, &again.labels),
        (&outline.hidden, &outline.labels)
    );
    open.tree(hide(false));
    open.tree_event(|event| matches!(event, TreeEvent::BranchHidden { .. }))
        .await;
    assert!(open.outline().await.hidden.is_empty());
    open.tree(TreeOp::LabelEntry {
        entry_id: "nowhere1".to_owned(),
        label: "x".to_owned(),
    });
    assert!(open.noticed().await.contains("nowhere1"));
}

#[tokio::test]
async fn branches_are_compared_by_answers_and_files() {
    let place = TestProject::new();
    let write = |content: &str| json!({"file_path": "a.txt", "content": content});
    let script = Script::new()
        .turn(|turn| turn.text("ready"))
        .turn(|turn| turn.tool("write", write("left\n")))
        .turn(|turn| turn.text("wrote left"))
        .turn(|turn| turn.tool("bash", json!({"command": "echo right > b.txt; rm a.txt"})))
        .turn(|turn| turn.text("only words"));
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("begin").await;
    open.run("do it").await;
    let left = open.ids(Tag::Assistant).await.pop().unwrap();
    let prompts = open.ids(Tag::User).await;
    open.tree(to(&prompts[1]));
    open.moved().await;
    open.run("talk").await;
    open.tree(TreeOp::CompareBranches {
        request: 7,
        left: Some(left),
        right: None,
    });
    let event = open
        .tree_event(|event| matches!(event, TreeEvent::BranchesCompared { .. }))
        .await;
    let TreeEvent::BranchesCompared {
        request,
        comparison,
    } = event
    else {
        panic!();
    };
    assert_eq!(request, 7);
    let (left, right) = (&comparison.left, &comparison.right);
    assert_eq!(
        (left.prompt.as_str(), left.answer.as_str()),
        ("do it", "wrote left")
    );
    assert_eq!(
        (right.prompt.as_str(), right.answer.as_str()),
        ("talk", "only words")
    );
    assert_eq!((left.tool_calls, right.tool_calls), (1, 1));
    // Changes by commands are included, although no tool reports a diff.
    let files = |facts: &BranchFacts| -> Vec<(String, u64, u64)> {
        let files = facts.files.iter();
        let files = files.map(|(path, file)| (path.clone(), file.added, file.removed));
        files.collect()
    };
    assert_eq!(files(left), [("a.txt".to_owned(), 1, 0)]);
    assert!(left.files["a.txt"].diff.contains("+left"));
    let expected = [("a.txt".to_owned(), 0, 1), ("b.txt".to_owned(), 1, 0)];
    assert_eq!(files(right), expected);
    assert!(comparison.ancestor.is_some());
}

#[tokio::test]
async fn entries_are_previewed_and_found_on_every_branch() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, answers()).await;
    open.run("one needle").await;
    let prompts = open.ids(Tag::User).await;
    open.tree(to(&prompts[0]));
    open.moved().await;
    open.run("two").await;
    let op = TreeOp::ReadEntries {
        request: 1,
        entry_ids: vec![prompts[0].clone(), "nowhere1".to_owned()],
        bytes: 3,
    };
    open.tree(op);
    let event = open
        .tree_event(|event| matches!(event, TreeEvent::Entries { .. }))
        .await;
    let TreeEvent::Entries { entries, .. } = event else {
        panic!();
    };
    let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
    assert_eq!(texts, ["one"]);
    open.tree(TreeOp::SearchTree {
        request: 2,
        query: "needle".to_owned(),
    });
    let event = open
        .tree_event(|event| matches!(event, TreeEvent::TreeHits { .. }))
        .await;
    let TreeEvent::TreeHits { entries, .. } = event else {
        panic!();
    };
    let outline = open.outline().await;
    let found: Vec<&str> = entries
        .iter()
        .map(|number| outline.get(*number).unwrap().id)
        .collect();
    assert_eq!(found, [prompts[0].as_str()]);
}

#[tokio::test]
async fn ops_and_events_are_plain_json() {
    let op: Op = serde_json::from_value(json!({"type": "move_to", "entryId": "0000000a"})).unwrap();
    assert_eq!(op, Op::Tree(to("0000000a")));
    let op: Op = serde_json::from_value(json!({"type": "abort"})).unwrap();
    assert_eq!(op, Op::Agent(osier_agent::Op::Abort));
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::Unstored, answers()).await;
    open.run("one").await;
    let outline = open.outline().await;
    let wire = serde_json::to_value(&*outline).unwrap();
    assert_eq!(wire["entries"][0][2], "user");
    let back: Outline = serde_json::from_value(wire).unwrap();
    assert_eq!(back, *outline);
    let part = open.outline_since(1).await;
    assert_eq!((part.first(), part.end()), (1, outline.end()));
}

impl OpenSession {
    async fn outline_since(&mut self, since: u32) -> Arc<Outline> {
        self.tree(TreeOp::ReadTree { request: 2, since });
        let event = self
            .tree_event(|event| matches!(event, TreeEvent::Tree { request: 2, .. }))
            .await;
        match event {
            TreeEvent::Tree { outline, .. } => outline,
            other => panic!("{other:?}"),
        }
    }
}

/// Waits until every lane has ended.
async fn fan_ended(open: &mut OpenSession) -> Vec<LaneState> {
    let event = open
        .tree_event(|event| matches!(event, TreeEvent::FanEnded { .. }))
        .await;
    match event {
        TreeEvent::FanEnded { lanes } => lanes,
        other => panic!("{other:?}"),
    }
}

async fn fan(place: &TestProject) -> (OpenSession, Vec<LaneState>) {
    std::fs::write(place.work().join("a.txt"), "old\n").unwrap();
    let write = |content: &str| json!({"file_path": "a.txt", "content": content});
    let read = json!({"file_path": "a.txt"});
    let script = Script::new()
        .turn(|turn| turn.when_user("hello").text("hi"))
        // The lanes run in any order: sort requests with a result before requests with only the prompt.
        .turn(|turn| turn.when_result("old").tool("write", write("left\n")))
        .turn(|turn| turn.when_result("old").tool("write", write("right\n")))
        .turn(|turn| turn.when_result("a.txt").text("finished").repeat())
        .turn(|turn| turn.when_user("do it").tool("read", read).repeat())
        .turn(|turn| turn.text("finished").repeat());
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("hello").await;
    open.tree(TreeOp::FanOut {
        models: vec!["test/one".to_owned(), "test/one".to_owned()],
        prompt: Some("do it".to_owned()),
    });
    let lanes = fan_ended(&mut open).await;
    (open, lanes)
}

#[tokio::test]
async fn fan_lanes_have_separate_files_and_branches() {
    let place = TestProject::new();
    let (mut open, lanes) = fan(&place).await;
    let statuses: Vec<LaneStatus> = lanes.iter().map(|lane| lane.status).collect();
    assert_eq!(statuses, [LaneStatus::Done, LaneStatus::Done], "{lanes:#?}");
    let mut diffs: Vec<String> = lanes
        .iter()
        .map(|lane| lane.files[0].1.diff.lines().last().unwrap().to_owned())
        .collect();
    diffs.sort();
    assert_eq!(diffs, ["+left", "+right"]);
    // Neither the files nor the conversation have moved.
    let file = place.work().join("a.txt");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old\n");
    let outline = open.outline().await;
    let leaf = outline.get(outline.leaf.unwrap()).unwrap();
    assert_eq!(leaf.tag, Tag::Assistant);
    let fans = outline_children(&outline, leaf.id);
    assert_eq!(fans, 2);
    // The comparison has paths of the working directory, not of the copies.
    open.tree(TreeOp::CompareBranches {
        request: 3,
        left: lanes[0].leaf.clone(),
        right: lanes[1].leaf.clone(),
    });
    let compared = open
        .tree_event(|event| matches!(event, TreeEvent::BranchesCompared { .. }))
        .await;
    let TreeEvent::BranchesCompared { comparison, .. } = compared else {
        panic!();
    };
    for facts in [&comparison.left, &comparison.right] {
        let names: Vec<&String> = facts.files.keys().collect();
        assert_eq!(names, ["a.txt"]);
    }
    // Apply the second lane: its file is copied, and the conversation continues on its branch.
    open.tree(TreeOp::TakeLane {
        lane: 1,
        force: false,
    });
    let (shown, _) = open.moved().await;
    assert_eq!(shown.last().map(String::as_str), Some("finished"));
    let taken = std::fs::read_to_string(&file).unwrap();
    assert!(
        lanes[1].files[0].1.diff.ends_with(&format!("+{taken}")),
        "{taken}"
    );
    open.run("go on").await;
    assert_eq!(open.last_request()[0], "user: hello");
    let path = open.path();
    open.close().await;
    assert!(!lanes.iter().any(|lane| lane.directory.exists()));
    // The file contains both branches and the current entry.
    let mut again = place
        .open(SessionChoice::File(path), Script::always("x"))
        .await;
    assert_eq!(again.ids(Tag::User).await.len(), 4);
}

#[tokio::test]
async fn fan_restores_files_before_a_repeated_prompt() {
    let place = TestProject::new();
    let work = place.work();
    let put = |name: &str, text: &str| std::fs::write(work.join(name), text).unwrap();
    let read = |name: &str| std::fs::read_to_string(work.join(name)).ok();
    put("a.txt", "old\n");
    put("notes.txt", "mine\n");
    let bash = |command: &str| json!({"command": command});
    let first = "echo first >> a.txt; echo made > made.txt; echo first >> notes.txt";
    let script = Script::new()
        .turn(|turn| turn.tool("bash", bash(first)))
        .turn(|turn| turn.text("First done."))
        .turn(|turn| turn.when_result("lane").text("Lane done.").repeat())
        .turn(|turn| turn.tool("bash", bash("echo lane | tee -a a.txt")).repeat());
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("change it").await;
    put("notes.txt", "mine, by hand and longer\n");
    open.tree(TreeOp::FanOut {
        models: vec!["test/one".to_owned(), "test/one".to_owned()],
        prompt: None,
    });
    let lanes = fan_ended(&mut open).await;
    let there = |name: &str| std::fs::read_to_string(lanes[0].directory.join(name)).ok();
    assert_eq!(there("a.txt").as_deref(), Some("old\nlane\n"));
    assert_eq!(there("made.txt"), None);
    let by_hand = "mine, by hand and longer\n";
    assert_eq!(there("notes.txt").as_deref(), Some(by_hand));
    // The working directory has not changed yet; applying the lane changes it.
    assert_eq!(read("a.txt").as_deref(), Some("old\nfirst\n"));
    open.tree(TreeOp::TakeLane {
        lane: 0,
        force: false,
    });
    open.moved().await;
    assert_eq!(read("a.txt").as_deref(), Some("old\nlane\n"));
    assert_eq!(read("made.txt"), None);
    assert_eq!(read("notes.txt").as_deref(), Some(by_hand));
}

/// The number of children of the entry.
fn outline_children(outline: &Outline, id: &str) -> usize {
    let all = (0..outline.end()).filter_map(|number| outline.get(number));
    let parent = |number: Option<u32>| outline.get(number?).map(|entry| entry.id);
    all.filter(|entry| parent(entry.parent) == Some(id)).count()
}

#[tokio::test]
async fn files_changed_by_hand_are_not_overwritten_by_a_lane() {
    let place = TestProject::new();
    let (mut open, lanes) = fan(&place).await;
    let file = place.work().join("a.txt");
    std::fs::write(&file, "by hand, and longer\n").unwrap();
    let take = |force| TreeOp::TakeLane { lane: 0, force };
    open.tree(take(false));
    let event = open
        .tree_event(|event| matches!(event, TreeEvent::LaneConflicts { .. }))
        .await;
    let TreeEvent::LaneConflicts { files, .. } = event else {
        panic!();
    };
    assert_eq!(files, [std::path::PathBuf::from("a.txt")]);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "by hand, and longer\n"
    );
    open.tree(take(true));
    let event = open
        .tree_event(|event| matches!(event, TreeEvent::LaneTaken { .. }))
        .await;
    let TreeEvent::LaneTaken { kept, .. } = event else {
        panic!();
    };
    let kept = std::fs::read_to_string(kept.unwrap().join("a.txt")).unwrap();
    assert_eq!(kept, "by hand, and longer\n");
    assert!(lanes.iter().all(|lane| lane.leaf.is_some()));
}

#[tokio::test]
async fn fan_needs_models_and_can_be_interrupted() {
    let place = TestProject::new();
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("first"))
        .turn(|turn| turn.text("slow").gate(&gate).text("er").repeat());
    let mut open = place.open(SessionChoice::New, script).await;
    let fan = |models: &[&str]| TreeOp::FanOut {
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        prompt: None,
    };
    open.tree(fan(&["test/one"]));
    assert!(open.noticed().await.contains("two"));
    open.tree(fan(&["test/one", "nobody/knows"]));
    assert!(open.noticed().await.contains("nobody/knows"));
    open.run("one").await;
    open.tree(fan(&["test/one", "test/one"]));
    open.tree_event(|event| {
        matches!(event, TreeEvent::LaneUpdate { state } if state.lane == 1 && state.turns == 1)
    })
    .await;
    open.tree(TreeOp::UndoPrompt { with_files: false });
    assert!(open.noticed().await.contains("esc"));
    open.host.send(osier_agent::Op::Abort.into());
    let lanes = fan_ended(&mut open).await;
    let stopped = |lane: &LaneState| lane.status == LaneStatus::Interrupted;
    assert!(lanes.iter().all(stopped), "{lanes:#?}");
    open.close().await;
}
