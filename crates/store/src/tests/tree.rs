use serde_json::json;

use super::*;
use crate::{SessionTree, State, fork};
use osier_llm::ThinkingLevel;

fn model(id: &str) -> EntryKind {
    EntryKind::ModelChange {
        provider: "demo".into(),
        model_id: id.into(),
    }
}

fn state(model: &str, level: Option<ThinkingLevel>, name: Option<&str>) -> State {
    State {
        model: Some(("demo".into(), model.into())),
        thinking_level: level,
        name: name.map(str::to_owned),
    }
}

/// A store in memory and its tree.
struct Growing {
    store: SessionStore,
    tree: SessionTree,
}

impl Growing {
    fn new() -> Self {
        Self {
            store: SessionStore::in_memory(Header::new(Path::new(CWD)), &[]).unwrap(),
            tree: SessionTree::default(),
        }
    }

    async fn add(&mut self, kind: EntryKind) -> String {
        let entry = self.store.append(kind).await.unwrap();
        self.tree.insert(entry.clone());
        entry.id
    }

    async fn go(&mut self, id: Option<&str>) {
        let entry = self.store.set_leaf(id, None).await.unwrap();
        self.tree.insert(entry);
        assert_eq!(self.tree.leaf().as_deref(), id);
    }

    fn texts(&self) -> Vec<String> {
        texts(&self.tree.context(self.tree.leaf().as_deref()))
    }
}

#[tokio::test]
async fn branch_has_its_own_messages_and_state() {
    let mut session = Growing::new();
    session.add(model("small")).await;
    let root = session.add(user("start")).await;
    let first = session.add(assistant("one")).await;
    session.add(model("large")).await;
    let level = ThinkingLevel::High;
    let left = session
        .add(EntryKind::ThinkingLevelChange {
            thinking_level: level,
        })
        .await;
    session.go(Some(&first)).await;
    let summary = session
        .add(EntryKind::BranchSummary {
            from_id: left.clone(),
            summary: "tried a large one".into(),
        })
        .await;
    let name = EntryKind::SessionInfo {
        name: Some("fox".into()),
    };
    session.add(name).await;
    let right = session.add(user("again")).await;

    let tree = &session.tree;
    assert_eq!(
        session.texts(),
        ["start", "one", "tried a large one", "again"]
    );
    assert_eq!(texts(&tree.context(Some(&left))), ["start", "one"]);
    assert_eq!(
        tree.state_at(Some(&right)),
        state("small", None, Some("fox"))
    );
    assert_eq!(
        tree.state_at(Some(&left)),
        state("large", Some(level), Some("fox"))
    );
    let children = tree.children(Some(&first));
    assert_eq!(children.len(), 2);
    assert_eq!(children[1], summary);
    let shared = tree.common_ancestor(Some(&left), Some(&right));
    assert_eq!(shared, Some(first.clone()));
    assert_eq!(tree.newest_leaf(&root), Some(right));
    assert_eq!(tree.usage().total_tokens(), 12);

    session.go(None).await;
    session.add(user("another root")).await;
    assert_eq!(session.texts(), ["another root"]);
    assert_eq!(session.tree.children(None).len(), 2);
}

#[tokio::test]
async fn model_defaults_to_the_last_one_that_answered() {
    let mut session = Growing::new();
    session.add(user("hi")).await;
    let leaf = session.add(assistant("hello")).await;
    assert_eq!(
        session.tree.state_at(Some(&leaf)),
        state("tour", None, None)
    );
}

#[tokio::test]
async fn compaction_replaces_earlier_messages_until_the_leaf_moves_back() {
    let mut session = Growing::new();
    session.add(user("old")).await;
    let before = session.add(assistant("older")).await;
    let kept = session.add(user("kept")).await;
    session.add(assistant("kept answer")).await;
    let compaction = |summary: &str, kept: &str| EntryKind::Compaction {
        summary: summary.into(),
        first_kept_entry_id: kept.into(),
        tokens_before: 100,
        window: 0,
        details: json!({"files": ["a"]}),
    };
    session.add(compaction("so far", &kept)).await;
    let newer = session.add(user("new")).await;
    assert_eq!(session.texts(), ["so far", "kept", "kept answer", "new"]);
    let first = &session.tree.context(session.tree.leaf().as_deref())[0];
    assert!(matches!(first, AgentMessage::CompactionSummary(summary) if summary.timestamp > 0));

    session.add(compaction("all of it", &newer)).await;
    assert_eq!(session.texts(), ["all of it", "new"]);
    session.add(compaction("lost boundary", "gone")).await;
    assert_eq!(session.texts(), ["lost boundary"]);
    session.go(Some(&before)).await;
    assert_eq!(session.texts(), ["old", "older"]);
}

#[tokio::test]
async fn deep_session_is_walked_without_recursion() {
    let entries = (0..100_000).map(|number: u32| Entry {
        id: format!("{number:08x}"),
        parent_id: number.checked_sub(1).map(|parent| format!("{parent:08x}")),
        timestamp: String::new(),
        kind: user("x"),
    });
    let leaf = format!("{:08x}", 99_999);
    let tree = SessionTree::new(entries, Some(&leaf));
    assert_eq!(tree.context(Some(&leaf)).len(), 100_000);
    assert_eq!(tree.clone().len(), 100_000);
}

#[tokio::test]
async fn fork_has_the_branch_with_labels_boundary_and_name() {
    let data = TestData::new();
    let mut session = Growing::new();
    let label = |target: &str, label: Option<&str>| EntryKind::Label {
        target_id: target.into(),
        label: label.map(str::to_owned),
    };
    let first = session.add(user("one")).await;
    let marked = session.add(label(&first, Some("begin"))).await;
    let second = session.add(assistant("two")).await;
    session.add(label(&second, Some("gone"))).await;
    session.add(label(&second, None)).await;
    let compaction = EntryKind::Compaction {
        summary: "short".into(),
        first_kept_entry_id: marked.clone(),
        tokens_before: 1,
        window: 0,
        details: serde_json::Value::Null,
    };
    let compacted = session.add(compaction).await;
    let leaf = session.add(user("three")).await;
    session.go(Some(&first)).await;
    let named = EntryKind::SessionInfo {
        name: Some("elsewhere".into()),
    };
    let renamed = session.add(named).await;

    let (path, mut header) = data.plan();
    header.parent_session = Some(session.store.id().to_owned());
    let places = (Some(leaf.as_str()), Some(leaf.as_str()));
    fork(&session.tree, places, path.clone(), &header).unwrap();
    let (store, loaded) = open(&path).await;
    let tree = store.index().read(Clone::clone);
    let ids: Vec<&str> = loaded.entries.iter().map(|entry| &*entry.id).collect();
    assert_eq!(ids, [&first, &second, &compacted, &leaf, &marked, &renamed]);
    let EntryKind::Compaction {
        first_kept_entry_id,
        ..
    } = &loaded.entries[2].kind
    else {
        panic!("{:?}", loaded.entries[2]);
    };
    assert_eq!(*first_kept_entry_id, second);
    assert_eq!((loaded.header, loaded.reattached), (header, 0));
    assert_eq!(
        texts(&tree.context(tree.leaf().as_deref())),
        ["short", "two", "three"]
    );
    assert_eq!(
        (tree.label(&first), tree.label(&second)),
        (Some("begin"), None)
    );
    assert_eq!(tree.name(), Some("elsewhere"));
    assert_eq!(tree.len(), 6);

    let added = store.append(user("four")).await.unwrap();
    assert_eq!(added.parent_id, tree.leaf());
}

fn checkpoint(state: &str) -> EntryKind {
    EntryKind::Checkpoint {
        data: serde_json::json!({ "state": state }),
    }
}

/// The state of the files at an entry.
fn files_at(index: &crate::EntryIndex, entry: Option<&str>) -> Option<String> {
    match index.checkpoint_at(entry)?.kind {
        EntryKind::Checkpoint { data } => Some(data["state"].as_str().unwrap().to_owned()),
        other => panic!("{other:?}"),
    }
}

/// A conversation whose files are: `base` after the first turn, `mine` by hand, `agent` after the second turn. Then a
/// branch from the first turn with the files as they are, and a turn that changes nothing. Returns the ids of the first
/// answer, of the second prompt and of the branch's prompt and answer.
async fn with_files(store: &SessionStore) -> [String; 4] {
    let add = async |kind| store.append(kind).await.unwrap().id;
    add(user("write base")).await;
    add(assistant("a call")).await;
    add(checkpoint("nothing")).await;
    add(user("its result")).await;
    add(checkpoint("base")).await;
    let first = add(assistant("done")).await;
    let second = add(user("write agent")).await;
    add(assistant("a call")).await;
    add(checkpoint("mine")).await;
    add(user("its result")).await;
    add(checkpoint("agent")).await;
    add(assistant("done again")).await;
    store.set_leaf(Some(&first), None).await.unwrap();
    let third = add(user("only talk")).await;
    let answer = add(assistant("talk")).await;
    [first, second, third, answer]
}

#[tokio::test]
async fn files_of_a_point_are_those_before_its_prompt_on_any_branch() {
    let data = TestData::new();
    let store = data.create();
    let [first, second, third, answer] = with_files(&store).await;
    let index = store.index();
    let expected = [
        (&first, "base"),
        (&second, "mine"),
        // The branch began with the files that the other one left.
        (&third, "agent"),
        (&answer, "agent"),
    ];
    for (entry, state) in expected {
        assert_eq!(files_at(index, Some(entry)).as_deref(), Some(state));
    }
    assert_eq!(index.position(), Some(answer));
    store.set_leaf(Some(&first), Some(&second)).await.unwrap();
    assert_eq!(index.position().as_ref(), Some(&second));
    // A checkpoint of the directory, and a choice of a model, do not move the conversation.
    store
        .append_on_branch(None, checkpoint("restored"))
        .await
        .unwrap();
    store.append(model("other")).await.unwrap();
    assert_eq!(index.position().as_ref(), Some(&second));
    let (path, position) = (path_of(&store).to_owned(), index.position());
    store.close().await.unwrap();
    let (store, _) = open(&path).await;
    assert_eq!(store.index().position(), position);
    // The next message is a new point.
    let next = store.append(user("write other")).await.unwrap().id;
    assert_eq!(store.index().position(), Some(next));
}

#[tokio::test]
async fn fork_has_the_files_of_its_entries_and_the_last_state() {
    let data = TestData::new();
    let store = data.create();
    let [first, second, ..] = with_files(&store).await;
    let source = store.index().read(Clone::clone);
    let (path, header) = data.plan();
    let places = (Some(first.as_str()), Some(second.as_str()));
    fork(&source, places, path.clone(), &header).unwrap();
    let (copy, loaded) = open(&path).await;
    assert_eq!((loaded.leaf.as_ref(), loaded.damaged), (Some(&first), 0));
    let index = copy.index();
    assert_eq!(files_at(index, None).as_deref(), Some("nothing"));
    let here = index.position();
    assert_eq!(files_at(index, here.as_deref()).as_deref(), Some("mine"));
    let EntryKind::Checkpoint { data } = index.last_checkpoint().unwrap().kind else {
        panic!("no checkpoint");
    };
    assert_eq!(data["state"], "agent");
    assert_eq!(texts(&index.context(here.as_deref())).len(), 4);
}

/// The fork has checkpoints of other branches before, between and after its own entries, and it has
/// labels.
#[tokio::test]
async fn fork_has_no_earlier_positions() {
    let data = TestData::new();
    let store = data.create();
    let restored = checkpoint("restored");
    store.append_on_branch(None, restored).await.unwrap();
    let [first, _, third, answer] = with_files(&store).await;
    for entry in [&first, &third] {
        let label = EntryKind::Label {
            target_id: entry.clone(),
            label: Some("marked".to_owned()),
        };
        store.append(label).await.unwrap();
    }
    let source = store.index().read(Clone::clone);
    let (path, header) = data.plan();
    let places = (Some(answer.as_str()), Some(answer.as_str()));
    fork(&source, places, path.clone(), &header).unwrap();
    let (copy, _) = open(&path).await;
    let fresh = copy.index().read(|tree| tree.positions().clone());
    assert_eq!(fresh, crate::Positions::default());
    let labels = copy.index().read(|tree| tree.labels().len());
    assert_eq!(labels, 2);
}
