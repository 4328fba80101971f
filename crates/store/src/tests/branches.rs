use super::*;
use crate::{EntryIndex, Position, SessionError, SessionTree, load};
use osier_protocol::{BranchText, Jump, Outline, Tag};

/// A chain of entries with numbered ids.
fn chain(count: u32) -> Vec<Entry> {
    let entry = |number: u32| Entry {
        id: format!("{number:08x}"),
        parent_id: number.checked_sub(1).map(|before| format!("{before:08x}")),
        timestamp: String::new(),
        kind: user("x"),
    };
    (0..count).map(entry).collect()
}

fn index_of(entries: Vec<Entry>, leaf: &str) -> EntryIndex {
    let index = EntryIndex::default();
    let tree = SessionTree::new(entries, Some(leaf));
    index.change(|data| *data = tree);
    index
}

fn id(number: u32) -> String {
    format!("{number:08x}")
}

#[test]
fn path_of_100000_entries_is_outlined_compared_and_left() {
    const COUNT: u32 = 100_000;
    let mut entries = chain(COUNT);
    // A second branch from the entry before the last.
    entries.push(Entry {
        id: "side0000".into(),
        parent_id: Some(id(COUNT - 2)),
        timestamp: String::new(),
        kind: user("side"),
    });
    let index = index_of(entries, &id(COUNT - 1));
    let outline = index.outline(0);
    assert_eq!(outline.end(), COUNT + 1);
    assert_eq!(outline.leaf, Some(COUNT - 1));
    let deep = outline.get(COUNT - 1).unwrap();
    assert_eq!(
        (deep.id, deep.parent, deep.tag),
        (id(COUNT - 1).as_str(), Some(COUNT - 2), Tag::User)
    );
    // Known entries are not sent again.
    let mut known = index.outline(0);
    assert_eq!(index.outline(COUNT).first(), COUNT);
    assert!(known.extend(index.outline(COUNT + 1)));
    assert!(!known.clone().extend(index.outline(0)));
    let comparison = index.compare(Some(&id(COUNT - 1)), Some("side0000"));
    assert_eq!(comparison.ancestor, Some(id(COUNT - 2)));
    assert_eq!(
        (comparison.left.messages, comparison.right.messages),
        (1, 1)
    );
    assert_eq!(texts(&index.left_behind(Some("side0000"))), ["x"]);
    assert_eq!(index.left_behind(None).len(), COUNT as usize);
}

#[test]
fn comparison_has_all_texts_of_a_branch_and_leaves_out_the_middle_of_a_long_one() {
    let answers = |length: usize| {
        let mut kinds = vec![user("one"), assistant("first")];
        kinds.extend([user("two"), assistant(&"x".repeat(length))]);
        kinds.extend([user("three"), assistant("last")]);
        let mut entries: Vec<Entry> = Vec::new();
        for kind in kinds {
            entries.push(Entry {
                id: id(entries.len() as u32),
                parent_id: entries.last().map(|entry| entry.id.clone()),
                timestamp: String::new(),
                kind,
            });
        }
        let index = index_of(entries, &id(5));
        index.compare(Some(&id(5)), None).left.conversation
    };
    let prompt = |text: &str| BranchText::Prompt { text: text.into() };
    let answer = |text: &str| BranchText::Answer { text: text.into() };
    let (one, two) = ([prompt("one"), answer("first")], prompt("two"));
    let end = [prompt("three"), answer("last")];
    let mut all = one.to_vec();
    all.extend([two.clone(), answer("xx")]);
    all.extend(end.clone());
    assert_eq!(answers(2), all);
    let mut short = one.to_vec();
    short.extend([two, BranchText::LeftOut { messages: 1 }]);
    short.extend(end);
    assert_eq!(answers(70_000), short);
}

#[test]
fn ten_thousand_siblings_take_one_pass() {
    let mut entries = chain(1);
    for number in 1..=10_000 {
        entries.push(Entry {
            id: id(number),
            parent_id: Some(id(0)),
            timestamp: String::new(),
            kind: user("x"),
        });
    }
    let index = index_of(entries, &id(5_000));
    let outline = index.outline(0);
    let children = (0..outline.end()).filter_map(|number| outline.get(number));
    assert_eq!(
        children.filter(|entry| entry.parent == Some(0)).count(),
        10_000
    );
    assert_eq!(texts(&index.left_behind(Some(&id(9_999)))), ["x"]);
    index.read(|tree| assert_eq!(tree.children(Some(&id(0))).len(), 10_000));
}

#[tokio::test]
async fn branch_writer_does_not_move_the_leaf() {
    let data = TestData::new();
    let store = data.create();
    let root = store.append(user("root")).await.unwrap();
    let leaf = store.append(assistant("leaf")).await.unwrap();
    let mut tips = Vec::new();
    for name in ["one", "two"] {
        let first = store
            .append_on_branch(Some(&leaf.id), user(name))
            .await
            .unwrap();
        let tip = store
            .append_on_branch(Some(&first.id), assistant("aside"))
            .await
            .unwrap();
        assert_eq!(store.index().leaf(), Some(leaf.id.clone()));
        assert_eq!(store.index().shown(), 2);
        tips.push(tip.id);
    }
    assert!(
        store
            .append_on_branch(Some("nowhere1"), user("x"))
            .await
            .is_err()
    );
    // A crash at any point restores the leaf.
    let (_directory, path) = killed(&store);
    let loaded = load(&path).unwrap();
    assert_eq!(loaded.leaf, Some(leaf.id.clone()));
    assert_eq!((loaded.damaged, loaded.reattached), (0, 0));
    let (again, ending) = SessionStore::open(&path).unwrap();
    assert_eq!(ending.leaf, Some(leaf.id.clone()));
    again.findings().await.unwrap();
    again
        .index()
        .read(|tree| assert_eq!(tree.positions().back(tree.position()), None));
    for tip in &tips {
        let context = again.index().context(Some(tip));
        assert_eq!(context.len(), 4);
    }
    // Appends at the leaf are not affected.
    let next = store.append(user("next")).await.unwrap();
    assert_eq!(next.parent_id, Some(leaf.id));
    assert_eq!(store.index().shown(), 3);
    assert_eq!(store.index().outline(0).get(0).unwrap().id, root.id);
}

#[tokio::test]
async fn positions_are_the_same_after_a_crash() {
    let data = TestData::new();
    let store = data.create();
    let first = store.append(user("first")).await.unwrap();
    let answer = store.append(assistant("answer")).await.unwrap();
    let second = store.append(user("second")).await.unwrap();
    let undone = store.jump_to(Some(&answer.id), Some(&second.id), Jump::Undo);
    undone.await.unwrap();
    store
        .append_on_branch(Some(&first.id), assistant("aside"))
        .await
        .unwrap();
    store.set_leaf(Some(&first.id), None).await.unwrap();
    let back = store.jump_to(Some(&answer.id), Some(&second.id), Jump::Back);
    back.await.unwrap();
    let (_directory, path) = killed(&store);
    let (again, _) = SessionStore::open(&path).unwrap();
    again.findings().await.unwrap();
    for store in [&store, &again] {
        store.index().read(|tree| {
            let positions = tree.positions();
            let id = |position: Option<Position>| Some(tree.id(position?.leaf?));
            assert_eq!(
                id(positions.back(tree.position())).as_ref(),
                Some(&second.id)
            );
            assert_eq!(
                id(positions.forward(tree.position())).as_ref(),
                Some(&first.id)
            );
            assert_eq!(tree.before(), tree.number(&second.id));
        });
        assert_eq!(store.index().outline(0).recent, [2]);
    }
}

#[tokio::test]
async fn a_restored_state_leaves_the_steps_forward_after_a_crash() {
    let data = TestData::new();
    let store = data.create();
    let answer = store.append(assistant("answer")).await.unwrap();
    let second = store.append(user("second")).await.unwrap();
    let undone = store.jump_to(Some(&answer.id), Some(&second.id), Jump::Undo);
    undone.await.unwrap();
    let back = store.jump_to(Some(&second.id), None, Jump::Back);
    back.await.unwrap();
    store.append_on_branch(None, user("aside")).await.unwrap();
    let (_directory, path) = killed(&store);
    let (again, _) = SessionStore::open(&path).unwrap();
    again.findings().await.unwrap();
    let positions = |store: &SessionStore| store.index().read(|tree| tree.positions().clone());
    assert_eq!(positions(&again), positions(&store));
    let at = again.index().read(SessionTree::position);
    let forward = positions(&again).forward(at);
    assert_eq!(forward.and_then(|position| position.before), Some(1));
}

#[tokio::test]
async fn a_summary_elsewhere_ends_the_undo_of_a_prompt() {
    let data = TestData::new();
    let store = data.create();
    let first = store.append(assistant("first")).await.unwrap();
    let answer = store.append(assistant("answer")).await.unwrap();
    let second = store.append(user("second")).await.unwrap();
    let undone = store.set_leaf(Some(&answer.id), Some(&second.id));
    undone.await.unwrap();
    let kind = EntryKind::BranchSummary {
        from_id: answer.id,
        summary: "an answer".to_owned(),
    };
    let summary = store.append_to(Some(&first.id), kind).await.unwrap();
    let (_directory, path) = killed(&store);
    let (again, _) = SessionStore::open(&path).unwrap();
    again.findings().await.unwrap();
    for store in [&store, &again] {
        assert_eq!(store.index().before(), None);
        assert_eq!(store.index().position().as_ref(), Some(&summary.id));
    }
}

#[tokio::test]
async fn branch_append_creates_the_file_and_works_in_memory() {
    let data = TestData::new();
    let store = data.create();
    store.append_on_branch(None, user("first")).await.unwrap();
    let (_, loaded) = {
        let path = path_of(&store).to_owned();
        store.close().await.unwrap();
        open(&path).await
    };
    assert_eq!((loaded.leaf, loaded.entries.len()), (None, 2));
    let memory = SessionStore::in_memory(Header::new(Path::new(CWD)), &[]).unwrap();
    memory.append_on_branch(None, user("first")).await.unwrap();
    assert_eq!(memory.index().leaf(), None);
    assert_eq!(memory.index().outline(0).end(), 2);
}

#[test]
fn outline_round_trips_through_json() {
    let index = index_of(chain(3), &id(1));
    let outline = index.outline(1);
    let text = serde_json::to_string(&outline).unwrap();
    assert_eq!(
        text,
        r#"{"first":1,"entries":[["00000001",0,"user"],["00000002",1,"user"]],"labels":[],"hidden":[],"leaf":1}"#
    );
    assert_eq!(serde_json::from_str::<Outline>(&text).unwrap(), outline);
    assert_eq!(outline.get(0), None);
}

#[tokio::test]
async fn a_deleted_branch_leaves_no_text_and_the_rest_as_it_was() {
    let data = TestData::new();
    let store = data.create();
    let entries = conversation(&store).await;
    let (first, second) = (&entries[0].id, &entries[2].id);
    let label = EntryKind::Label {
        target_id: second.clone(),
        label: Some("secret".into()),
    };
    store.append(label).await.unwrap();
    let state = |store: &SessionStore| {
        let leaf = store.index().leaf();
        let texts = texts(&store.index().context(leaf.as_deref()));
        (leaf, texts, store.index().read(SessionTree::usage))
    };
    let before = state(&store);
    let length = |store: &SessionStore| std::fs::metadata(path_of(store)).unwrap().len();
    let long = length(&store);

    let preview = store.delete_branch(second, true).await.unwrap();
    assert_eq!((preview.messages, length(&store)), (2, long));
    assert_eq!(store.delete_branch(second, false).await.unwrap(), preview);
    assert_eq!(long - length(&store), preview.bytes);
    let file = std::fs::read_to_string(path_of(&store)).unwrap();
    assert!(
        !file.contains("second") && !file.contains("secret"),
        "{file}"
    );
    assert_eq!(state(&store), before);
    let newest = store.index().read(|tree| tree.positions().newest(5));
    assert_eq!(newest, Vec::<u32>::new());

    let refused = |id: &str| {
        let (store, id) = (store.clone(), id.to_owned());
        async move {
            let error = store.delete_branch(&id, false).await.unwrap_err();
            error.to_string()
        }
    };
    let unknown = format!("no entry `{second}` in this session");
    assert_eq!(refused(second).await, unknown);
    let current = "the current branch cannot be deleted: go to another branch first";
    assert_eq!(refused(first).await, current);

    // The new file is the session: locked, and continued.
    assert!(matches!(
        SessionStore::open(path_of(&store)),
        Err(SessionError::Locked { .. })
    ));
    store.append(user("later")).await.unwrap();
    let after = state(&store);
    store.close().await.unwrap();
    let (again, loaded) = open(path_of(&store)).await;
    assert_eq!((loaded.damaged, loaded.reattached), (0, 0));
    assert_eq!(state(&again), after);
    assert_eq!(
        again.index().read(SessionTree::name_entry),
        Some(entries[4].clone())
    );
}

#[tokio::test]
async fn collapsed_branches_stay_collapsed() {
    let data = TestData::new();
    let store = data.create();
    let entries = conversation(&store).await;
    let fold = |entry: &Entry, folded| EntryKind::Fold {
        target_id: entry.id.clone(),
        folded,
    };
    for kind in [
        fold(&entries[0], true),
        fold(&entries[2], true),
        fold(&entries[0], false),
    ] {
        store.append(kind).await.unwrap();
    }
    let folded = |store: &SessionStore| store.index().outline(0).folded;
    assert_eq!(folded(&store), [2]);
    store.close().await.unwrap();
    let (again, _) = open(path_of(&store)).await;
    assert_eq!(folded(&again), [2]);
}
