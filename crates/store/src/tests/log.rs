use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::{SessionError, load};

#[tokio::test]
async fn acknowledged_entries_and_leaf_are_read_back() {
    let data = TestData::new();
    let store = data.create();
    let entries = conversation(&store).await;
    store.sync().await.unwrap();
    store.close().await.unwrap();

    let loaded = load(path_of(&store)).unwrap();
    assert_eq!(loaded.header, *store.header());
    assert_eq!(loaded.leaf.as_ref(), Some(&entries[6].id));
    assert_eq!(loaded.entries, entries);
    assert_eq!(entries[6].parent_id.as_ref(), Some(&entries[1].id));
    assert_eq!(
        (loaded.damaged, loaded.reattached, loaded.torn_bytes),
        (0, 0, 0)
    );

    let (again, loaded) = open(path_of(&store)).await;
    let moved = again.set_leaf(Some(&entries[3].id), None).await.unwrap();
    again.close().await.unwrap();
    let reopened = load(path_of(&store)).unwrap();
    assert_eq!(reopened.leaf.as_ref(), Some(&entries[3].id));
    assert_eq!(reopened.entries, [loaded.entries, vec![moved]].concat());
}

#[tokio::test]
async fn nothing_is_written_before_a_conversation_begins() {
    let data = TestData::new();
    let store = data.create();
    let model = EntryKind::ModelChange {
        provider: "demo".into(),
        model_id: "tour".into(),
    };
    let first = store.append(model).await.unwrap();
    store.sync().await.unwrap();
    assert!(!data.sessions.root().exists());

    let second = store.append(user("go")).await.unwrap();
    assert_eq!(second.parent_id.as_ref(), Some(&first.id));
    let loaded = load(path_of(&store)).unwrap();
    assert_eq!(loaded.entries, [first, second]);

    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path_of(&store)), 0o600);
    assert_eq!(mode(path_of(&store).parent().unwrap()), 0o700);
    assert_eq!(mode(data.sessions.root()), 0o700);
}

#[tokio::test]
async fn flush_writes_pending_entries() {
    let data = TestData::new();
    let store = data.create();
    store.flush().await.unwrap();
    let loaded = load(path_of(&store)).unwrap();
    assert_eq!((loaded.entries, loaded.leaf), (Vec::new(), None));
}

#[tokio::test]
async fn every_line_is_one_json_object_with_lf() {
    let data = TestData::new();
    let store = data.create();
    conversation(&store).await;
    let text = std::fs::read_to_string(path_of(&store)).unwrap();
    let lines: Vec<_> = text.strip_suffix('\n').unwrap().split('\n').collect();
    assert_eq!(lines.len(), 8);
    for line in lines {
        assert!(
            serde_json::from_str::<serde_json::Value>(line)
                .unwrap()
                .is_object()
        );
    }
}

#[tokio::test]
async fn session_in_memory_behaves_like_a_file() {
    let store = SessionStore::in_memory(Header::new(Path::new(CWD)), &[]).unwrap();
    let entries = conversation(&store).await;
    assert_eq!(entries[6].parent_id.as_ref(), Some(&entries[1].id));
    store.begin_draft(AssistantMessage::default());
    store.sync().await.unwrap();
    assert_eq!(store.path(), None);
}

#[tokio::test]
async fn unknown_parents_are_rejected() {
    let data = TestData::new();
    let store = data.create();
    let entries = conversation(&store).await;
    let root = store.append_to(None, user("new root")).await.unwrap();
    assert_eq!(root.parent_id, None);
    let mover = &entries[5].id;
    for missing in ["nowhere", mover] {
        for result in [
            store.append_to(Some(missing), user("lost")).await,
            store.set_leaf(Some(missing), None).await,
        ] {
            assert!(matches!(result, Err(SessionError::UnknownEntry { id }) if id == missing));
        }
    }
    assert_eq!(load(path_of(&store)).unwrap().leaf, Some(root.id));
}

#[tokio::test]
async fn closed_store_and_deleted_file_return_errors() {
    let data = TestData::new();
    let store = data.create();
    store.append(user("hi")).await.unwrap();
    std::fs::remove_file(path_of(&store)).unwrap();
    let removed = store.append(user("more")).await;
    assert!(matches!(removed, Err(SessionError::Removed { .. })));
    store.close().await.unwrap();
    let closed = store.append(user("more")).await;
    assert!(matches!(closed, Err(SessionError::Closed)));
}

#[tokio::test]
async fn unknown_entry_type_stays_in_the_tree() {
    let data = TestData::new();
    let store = data.create();
    let first = store.append(user("hi")).await.unwrap();
    store.close().await.unwrap();
    let mut text = std::fs::read_to_string(path_of(&store)).unwrap();
    let newer = r#"{"id":"0000000x","parentId":"PARENT","timestamp":"t","type":"hologram","z":1}"#;
    text.push_str(&newer.replace("PARENT", &first.id));
    text.push('\n');
    rewrite(path_of(&store), &text);
    let (store, loaded) = open(path_of(&store)).await;
    assert_eq!(
        (loaded.damaged, loaded.leaf.as_deref()),
        (0, Some("0000000x"))
    );
    let next = store.append(user("on")).await.unwrap();
    assert_eq!(next.parent_id.as_deref(), Some("0000000x"));
    let now = std::fs::read_to_string(path_of(&store)).unwrap();
    assert!(now.starts_with(&text));
}

#[expect(clippy::disallowed_methods, reason = "a test's own file")]
fn rewrite(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test's own file")]
async fn change_of_the_open_file_by_another_program_is_an_error() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("was shortened", |path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_len(100).unwrap();
        }),
        ("was shortened", |path| {
            std::fs::File::create(path).unwrap();
        }),
        ("was replaced", |path| {
            let copy = path.with_extension("copy");
            std::fs::copy(path, &copy).unwrap();
            std::fs::rename(copy, path).unwrap();
        }),
        ("was appended to", |path| {
            let text = std::fs::read_to_string(path).unwrap();
            std::fs::write(path, format!("{text}{{}}\n")).unwrap();
        }),
        ("was overwritten", |path| {
            let length = std::fs::metadata(path).unwrap().len() as usize;
            std::fs::write(path, "x".repeat(length)).unwrap();
        }),
    ];
    for (expected, change) in changes {
        let data = TestData::new();
        let store = data.create();
        conversation(&store).await;
        let path = path_of(&store);
        change(path);
        let content = std::fs::read(path).unwrap();
        let error = store.append(user("lost?")).await.unwrap_err();
        assert!(
            matches!(&error, SessionError::Changed { change, .. } if *change == expected),
            "{expected}: {error}"
        );
        assert!(error.hint().is_some());
        assert_eq!(std::fs::read(path).unwrap(), content, "{expected}");
    }
}

#[tokio::test]
async fn moved_file_is_still_the_session() {
    let data = TestData::new();
    let store = data.create();
    conversation(&store).await;
    let elsewhere = path_of(&store).with_extension("moved.jsonl");
    std::fs::rename(path_of(&store), &elsewhere).unwrap();
    let entry = store.append(user("still here")).await.unwrap();
    assert_eq!(load(&elsewhere).unwrap().entries.last(), Some(&entry));
}
