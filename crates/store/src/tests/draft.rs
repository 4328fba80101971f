use super::*;
use crate::load;
use osier_llm::Delta;

fn text_delta(text: &str) -> Delta {
    Delta::TextDelta {
        index: 0,
        delta: text.into(),
    }
}

fn begin(store: &SessionStore) {
    store.begin_draft(AssistantMessage {
        content: Vec::new(),
        stop_reason: StopReason::Pending,
        timestamp: 77,
        ..answer("")
    });
    store.draft(&Delta::TextStart { index: 0 });
}

fn draft_path(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.draft", path.display()))
}

#[tokio::test]
async fn interrupted_answer_is_recovered_under_the_leaf() {
    let data = TestData::new();
    let store = data.create();
    let prompt = store.append(user("tell me")).await.unwrap();
    begin(&store);
    store.draft(&text_delta("once upon "));
    store.flush_draft().await.unwrap();
    store.draft(&text_delta("a "));
    store.draft(&text_delta("time"));
    let call = Delta::ToolcallStart {
        index: 1,
        id: "c".into(),
        name: "read".into(),
    };
    store.draft(&call);
    let arguments = Delta::ToolcallDelta {
        index: 1,
        delta: "{\"pa".into(),
    };
    store.draft(&arguments);
    store.flush_draft().await.unwrap();

    let (_directory, path) = killed(&store);
    let (store, loaded) = open(&path).await;
    let recovered = loaded.entries.last().unwrap();
    assert_eq!(loaded.recovered_draft.as_ref(), Some(&recovered.id));
    assert_eq!(loaded.leaf.as_ref(), Some(&recovered.id));
    assert_eq!(recovered.parent_id.as_ref(), Some(&prompt.id));
    let Some(AgentMessage::Assistant(message)) = recovered.kind.as_message() else {
        panic!("{recovered:?}");
    };
    assert_eq!(message.text(), "once upon a time");
    assert_eq!(message.stop_reason, StopReason::Aborted);
    let call = message.tool_calls().next().unwrap();
    assert_eq!(call.arguments_error.as_deref(), Some("{\"pa"));

    // Opening stores nothing; the next write stores both and removes the draft.
    assert!(draft_path(&path).exists());
    let next = store.append(user("go on")).await.unwrap();
    assert_eq!(next.parent_id.as_ref(), Some(&recovered.id));
    assert!(!draft_path(&path).exists());
    assert_eq!(
        load(&path).unwrap().entries,
        [prompt, recovered.clone(), next]
    );
}

#[tokio::test]
async fn storing_an_answer_removes_its_draft() {
    let data = TestData::new();
    let store = data.create();
    store.append(user("hi")).await.unwrap();
    begin(&store);
    store.draft(&text_delta("hello"));
    store.flush_draft().await.unwrap();
    let draft = std::fs::read(draft_path(path_of(&store))).unwrap();
    let done = AssistantMessage {
        timestamp: 77,
        ..answer("hello")
    };
    let message = EntryKind::message(AgentMessage::Assistant(done));
    let stored = store.append(message).await.unwrap();
    assert!(!draft_path(path_of(&store)).exists());

    // A kill between the two steps: the draft has the same answer.
    let (_directory, path) = killed(&store);
    super::damage::put(&draft_path(&path), &draft);
    let loaded = load(&path).unwrap();
    assert_eq!(loaded.recovered_draft, None);
    assert_eq!(loaded.leaf, Some(stored.id));
}

#[tokio::test]
async fn cleared_draft_leaves_no_file() {
    let data = TestData::new();
    let store = data.create();
    store.append(user("hi")).await.unwrap();
    store.draft(&text_delta("of nothing"));
    store.flush_draft().await.unwrap();
    assert!(!draft_path(path_of(&store)).exists());
    begin(&store);
    store.flush_draft().await.unwrap();
    let (_directory, path) = killed(&store);
    assert_eq!(load(&path).unwrap().recovered_draft, None);
    store.clear_draft().await.unwrap();
    assert!(!draft_path(path_of(&store)).exists());
}

#[tokio::test]
async fn draft_is_written_after_its_session_and_the_recovered_draft() {
    let data = TestData::new();
    let store = data.create();
    begin(&store);
    store.flush_draft().await.unwrap();
    assert!(!data.sessions.root().exists());
    store.append(user("hi")).await.unwrap();
    store.draft(&text_delta("early"));
    store.flush_draft().await.unwrap();

    let (_directory, path) = killed(&store);
    let (store, _) = open(&path).await;
    store.begin_draft(answer("late"));
    store.flush_draft().await.unwrap();
    let waiting = load(&path).unwrap().recovered_draft;
    assert_eq!(waiting, None, "another store still writes it");
    store.close().await.unwrap();
    let text = |path: &Path| {
        let loaded = load(path).unwrap();
        let message = loaded.entries.last().unwrap().kind.as_message();
        (loaded.entries.len(), message.map(AgentMessage::text))
    };
    assert_eq!(text(&path), (2, Some("early".into())));

    let (store, _) = open(&path).await;
    store.begin_draft(answer("late"));
    store.append(user("again")).await.unwrap();
    store.flush_draft().await.unwrap();
    let (_directory, path) = killed(&store);
    assert_eq!(text(&path), (4, Some("late".into())));
}

#[tokio::test]
async fn torn_draft_is_recovered_up_to_the_damage() {
    let data = TestData::new();
    let store = data.create();
    store.append(user("hi")).await.unwrap();
    begin(&store);
    store.draft(&text_delta("one"));
    store.flush_draft().await.unwrap();
    store.draft(&text_delta("two"));
    store.flush_draft().await.unwrap();
    let (_directory, path) = killed(&store);
    let bytes = std::fs::read(draft_path(&path)).unwrap();
    for length in 0..=bytes.len() {
        super::damage::put(&draft_path(&path), &bytes[..length]);
        let loaded = load(&path).unwrap();
        let text = loaded
            .recovered_draft
            .and_then(|id| loaded.entries.into_iter().find(|entry| entry.id == id))
            .and_then(|entry| Some(entry.kind.as_message()?.text()));
        let whole = bytes[..length].split(|&byte| byte == b'\n').count() - 1;
        let whole = whole + usize::from(bytes.get(length) == Some(&b'\n'));
        let expected = [None, None, None, Some("one"), Some("onetwo")][whole];
        assert_eq!(text.as_deref(), expected, "cut at {length}");
    }
}

#[tokio::test]
async fn forty_thousand_deltas_take_few_writes() {
    let data = TestData::new();
    let store = data.create();
    store.append(user("hi")).await.unwrap();
    begin(&store);
    let piece = text_delta("12345");
    for _ in 0..40_000 {
        store.draft(&piece);
    }
    store.flush_draft().await.unwrap();
    let draft = std::fs::read_to_string(draft_path(path_of(&store))).unwrap();
    assert!(draft.lines().count() < 400, "{}", draft.lines().count());
    let (_directory, path) = killed(&store);
    let loaded = load(&path).unwrap();
    let message = loaded.entries.last().unwrap().kind.as_message().unwrap();
    assert_eq!(message.text(), "12345".repeat(40_000));
}
