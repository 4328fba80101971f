//! Long sessions: the end is shown before the rest is read, and pages, search and context are the same as after a
//! complete read.

use super::damage::put;
use super::*;
use crate::entry_reader::READ;
use crate::walk::ContextLimit;
use crate::{Needle, Page, fork, load};
use osier_agent::ToolResultMessage;
use osier_llm::{ToolCall, ToolResult};
use osier_protocol::{Landmark, PageAt, SearchHit};

/// Opens a session and reads only its end.
fn open_end(path: &Path) -> (SessionStore, crate::Ending) {
    SessionStore::open_within(path, 0).unwrap()
}

fn call(id: &str) -> EntryKind {
    EntryKind::message(AgentMessage::Assistant(AssistantMessage {
        content: vec![AssistantBlock::ToolCall(ToolCall {
            id: id.into(),
            name: "bash".into(),
            ..ToolCall::default()
        })],
        ..answer("")
    }))
}

fn result(id: &str, text: &str) -> EntryKind {
    EntryKind::message(AgentMessage::ToolResult(ToolResultMessage {
        result: ToolResult {
            tool_call_id: id.into(),
            content: vec![osier_llm::ContentBlock::text(text)],
            ..ToolResult::default()
        },
        ..ToolResultMessage::default()
    }))
}

/// Two hundred turns, with an abandoned branch that has a name.
async fn long(store: &SessionStore) -> Vec<Entry> {
    let mut entries = Vec::new();
    for turn in 0..200 {
        let id = format!("c{turn}");
        for kind in [
            user(&format!("prompt {turn}")),
            call(&id),
            result(&id, &format!("output {turn}")),
            assistant(&format!("answer {turn}")),
        ] {
            entries.push(store.append(kind).await.unwrap());
        }
        if turn == 150 {
            let at = entries.last().unwrap().id.clone();
            entries.push(store.append(user("a side way")).await.unwrap());
            let name = EntryKind::SessionInfo {
                name: Some("long".into()),
            };
            entries.push(store.append(name).await.unwrap());
            entries.push(store.set_leaf(Some(&at), None).await.unwrap());
        }
    }
    entries
}

fn texts_of(page: &Page) -> Vec<String> {
    let messages = page.messages.iter();
    messages.map(|stored| stored.message.text()).collect()
}

#[tokio::test]
async fn end_of_file_agrees_with_the_complete_file() {
    let data = TestData::new();
    let store = data.create();
    let entries = long(&store).await;
    store.close().await.unwrap();
    let path = path_of(&store);

    let (store, ending) = open_end(path);
    assert!(!ending.complete && !ending.at_start);
    assert_eq!(ending.leaf.as_ref(), entries.last().map(|entry| &entry.id));
    let findings = store.findings().await.unwrap();
    assert_eq!(findings.damaged, 0);
    let index = store.index();
    assert_eq!(index.leaf(), ending.leaf);
    let page = index.page(&PageAt::End).unwrap();
    assert_eq!(page.messages, ending.messages);
    assert!(page.at_end && !page.at_start);
    let state = index.state();
    assert_eq!(
        (state.model, state.name.as_deref()),
        (ending.state.model, Some("long"))
    );
    assert_eq!(index.shown(), 800);
    assert_eq!(index.usage().total_tokens(), 400 * 12);
    let loaded = store.read_all().await.unwrap();
    assert_eq!(
        loaded.entries,
        [entries, repeated(&loaded.entries)].concat()
    );
    store.close().await.unwrap();
}

/// The entries that closing adds: the name and the leaf.
fn repeated(entries: &[Entry]) -> Vec<Entry> {
    entries[803..].to_vec()
}

#[tokio::test]
async fn end_is_found_for_every_leaf() {
    let data = TestData::new();
    let store = data.create();
    let entries = conversation(&store).await;
    for entry in &entries[..4] {
        store.set_leaf(Some(&entry.id), None).await.unwrap();
        let (_directory, path) = killed(&store);
        let (store, ending) = open_end(&path);
        store.findings().await.unwrap();
        let page = store.index().page(&PageAt::End).unwrap();
        assert_eq!(
            (ending.leaf, ending.complete),
            (Some(entry.id.clone()), false)
        );
        assert_eq!((ending.messages, ending.at_start), (page.messages, true));
        assert_eq!(ending.state, store.index().state());
    }
    store.set_leaf(None, None).await.unwrap();
    let (_directory, path) = killed(&store);
    let (store, ending) = open_end(&path);
    assert_eq!((ending.leaf, ending.messages.len()), (None, 0));
    // An append works at once: it waits for the index.
    let added = store.append(user("another root")).await.unwrap();
    assert_eq!(added.parent_id, None);
}

#[tokio::test]
async fn unreliable_end_needs_the_complete_file() {
    let data = TestData::new();
    let store = data.create();
    conversation(&store).await;
    store.close().await.unwrap();
    let path = path_of(&store);
    let bytes = std::fs::read(path).unwrap();
    let lines: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    let torn = bytes[..bytes.len() - 20].to_vec();
    let mut damaged = bytes.clone();
    damaged[lines[lines.len() - 2] + 1] = b'#';
    let mut headless = bytes.clone();
    headless[0] = b'#';
    // The parent of the last entry is missing.
    let orphaned = [&bytes[..=lines[1]], &bytes[lines[2] + 1..]].concat();
    for bytes in [torn, damaged, headless, orphaned] {
        put(path, &bytes);
        let expected = load(path).unwrap();
        let (store, ending) = open_end(path);
        assert!(ending.complete);
        assert_eq!(ending.leaf, expected.leaf);
        assert_eq!(store.read_all().await.unwrap().entries, expected.entries);
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn pages_cover_the_branch_without_splitting_calls_from_results() {
    let data = TestData::new();
    let store = data.create();
    let entries = long(&store).await;
    let index = store.index();
    let all: Vec<String> = texts(&index.context(index.leaf().as_deref()));
    assert_eq!(all.len(), 800);

    let mut page = index.page(&PageAt::End).unwrap();
    let mut seen = texts_of(&page);
    while !page.at_start {
        assert!(!matches!(
            *page.messages[0].message,
            AgentMessage::ToolResult(_)
        ));
        let entry_id = page.messages[0].entry_id.clone();
        page = index.page(&PageAt::Before { entry_id }).unwrap();
        seen = [texts_of(&page), seen].concat();
    }
    assert_eq!(seen, all);

    let mut page = index.page(&PageAt::Start).unwrap();
    let mut seen = texts_of(&page);
    while !page.at_end {
        let entry_id = page.messages.last().unwrap().entry_id.clone();
        page = index.page(&PageAt::After { entry_id }).unwrap();
        seen.extend(texts_of(&page));
    }
    assert_eq!(seen, all);

    let entry_id = entries[400].id.clone();
    let around = index
        .page(&PageAt::Around {
            entry_id: entry_id.clone(),
        })
        .unwrap();
    assert!(
        around
            .messages
            .iter()
            .any(|stored| stored.entry_id == entry_id)
    );
    let landmark = Landmark::Prompt;
    let before = PageAt::LandmarkBefore {
        entry_id: entry_id.clone(),
        landmark,
    };
    assert_eq!(texts_of(&index.page(&before).unwrap())[0], "prompt 99");
    let after = PageAt::LandmarkAfter { entry_id, landmark };
    assert_eq!(texts_of(&index.page(&after).unwrap())[0], "prompt 101");
    // An entry on an abandoned branch, and an unknown one.
    for entry_id in [entries[604].id.clone(), "ffffffff".into()] {
        assert_eq!(index.page(&PageAt::Before { entry_id }), None);
    }
}

#[tokio::test]
async fn pages_of_prompts_read_nothing_else() {
    let data = TestData::new();
    let store = data.create();
    for turn in 0..1500 {
        store.append(user(&format!("prompt {turn}"))).await.unwrap();
        let long = "word ".repeat(if turn == 7 { 100_000 } else { 1 });
        store.append(assistant(&long)).await.unwrap();
    }
    let index = store.index();
    let before = READ.get();
    let first = index.page(&PageAt::Prompts { after: None }).unwrap();
    let after = first.messages.last().map(|last| last.entry_id.clone());
    let second = index.page(&PageAt::Prompts { after }).unwrap();
    assert!(READ.get() - before < 300_000);
    let prompts: Vec<String> = (0..1500).map(|turn| format!("prompt {turn}")).collect();
    assert_eq!([texts_of(&first), texts_of(&second)].concat(), prompts);
    assert_eq!((first.at_start, first.at_end), (true, false));
    assert_eq!((second.at_start, second.at_end), (false, true));
    let after = Some("ffffffff".into());
    assert_eq!(index.page(&PageAt::Prompts { after }), None);
}

#[tokio::test]
async fn damaged_message_is_replaced_by_a_notice() {
    let data = TestData::new();
    let store = data.create();
    conversation(&store).await;
    store.close().await.unwrap();
    let path = path_of(&store);
    let text = std::fs::read_to_string(path).unwrap();
    put(
        path,
        text.replacen("other way", "other\u{1}way", 1).as_bytes(),
    );
    let (store, _) = SessionStore::open(path).unwrap();
    assert_eq!(store.findings().await.unwrap().damaged, 0);
    let page = store.index().page(&PageAt::End).unwrap();
    let last = texts_of(&page).pop().unwrap();
    assert!(last.contains("is damaged"), "{last}");
    assert_eq!(
        store.index().context(store.index().leaf().as_deref()).len(),
        2
    );
    assert_eq!(store.read_all().await.unwrap().damaged, 1);
}

fn found(store: &SessionStore, query: &str) -> Vec<SearchHit> {
    let mut hits = Vec::new();
    let needle = Needle::new(query).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    store
        .index()
        .search(&needle, &stop, &mut |more| hits.extend(more));
    hits
}

#[tokio::test]
async fn search_finds_visible_text_newest_first() {
    let data = TestData::new();
    let store = data.create();
    let entries = long(&store).await;
    let quoted = store
        .append(user("He said \"Größe\" and\nleft"))
        .await
        .unwrap();
    let excerpts = |query: &str| -> Vec<String> {
        let hits = found(&store, query).into_iter();
        hits.map(|hit| hit.excerpt).collect()
    };
    assert_eq!(
        excerpts("output 19"),
        [
            "output 199",
            "output 198",
            "output 197",
            "output 196",
            "output 195",
            "output 194",
            "output 193",
            "output 192",
            "output 191",
            "output 190",
            "output 19"
        ]
    );
    let hits = found(&store, "said \"grö");
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].entry_id, quoted.id);
    assert_eq!(excerpts("said \"Grö").len(), 1);
    assert_eq!(excerpts("SAID"), [""; 0]);
    // Field names and abandoned branches are not searched.
    assert_eq!(excerpts("toolCallId"), [""; 0]);
    assert_eq!(excerpts("side way"), [""; 0]);
    assert_eq!(
        found(&store, "prompt 0").last().unwrap().entry_id,
        entries[0].id
    );
    // Entries in memory are searched too.
    let memory = SessionStore::in_memory(Header::new(Path::new(CWD)), &entries[..4]).unwrap();
    assert_eq!(found(&memory, "answer 0").len(), 1);
}

#[tokio::test]
async fn copy_reads_no_entry_that_stays_as_it_is() {
    let data = TestData::new();
    let store = data.create();
    long(&store).await;
    let source = store.index().read(Clone::clone);
    let leaf = source.leaf();
    let (path, header) = data.plan();
    READ.set(0);
    fork(&source, (leaf.as_deref(), None), path.clone(), &header).unwrap();
    // The name is on another branch.
    assert!(READ.get() < 200, "{}", READ.get());
    let copied = load(&path).unwrap();
    assert_eq!((copied.damaged, copied.reattached), (0, 0));
    let (name, branch) = copied.entries.split_last().unwrap();
    assert_eq!(branch, source.path(leaf.as_deref()));
    assert!(matches!(name.kind, EntryKind::SessionInfo { .. }));
}

#[tokio::test]
async fn a_compaction_is_for_windows_that_the_conversation_does_not_fit() {
    let data = TestData::new();
    let store = data.create();
    let read = |window| {
        let limit = ContextLimit {
            window,
            read: 1_000_000,
            keep: 100,
            far: u64::MAX,
            tokens: bytes,
        };
        let leaf = store.index().leaf();
        let context = store.index().context_within(leaf.as_deref(), limit);
        let messages = context.entries.into_iter().map(|entry| entry.message);
        texts(&messages.collect::<Vec<_>>())
    };
    let compaction = |summary: &str, kept: &str, window| EntryKind::Compaction {
        summary: summary.into(),
        first_kept_entry_id: kept.into(),
        tokens_before: 1,
        window,
        details: serde_json::Value::Null,
    };
    let (first, second) = ("a".repeat(50), "b".repeat(50));
    store.append(user(&first)).await.unwrap();
    let kept = store.append(user(&second)).await.unwrap();
    store
        .append(compaction("of 60", &kept.id, 60))
        .await
        .unwrap();
    let third = "c".repeat(20);
    store.append(user(&third)).await.unwrap();
    let all = [first.as_str(), &second, &third];
    let short = ["of 60", &second, &third];
    // The conversation has 120 tokens, which are at most three quarters of 160.
    assert_eq!(read(160), all);
    assert_eq!(read(159), short);
    assert_eq!(
        (read(60), read(0)),
        (short.map(str::to_owned).to_vec(), read(60))
    );

    let last = store.append(user("d")).await.unwrap();
    store
        .append(compaction("of 160", &last.id, 160))
        .await
        .unwrap();
    assert_eq!(
        read(170),
        all.iter()
            .chain(&["d"])
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    );
    assert_eq!(read(160), ["of 160", "d"]);
    assert_eq!(read(60), ["of 160", "d"]);

    // The user's own compaction is for every window.
    store.append(compaction("all", "", 0)).await.unwrap();
    assert_eq!(read(1_000), ["all"]);
}

/// Tokens of the tests: one for each byte.
fn bytes(message: &AgentMessage) -> u64 {
    message.text().len() as u64
}

#[tokio::test]
async fn end_of_a_conversation_of_many_windows_is_read_alone() {
    let data = TestData::new();
    let store = data.create();
    long(&store).await;
    let (index, leaf) = (store.index(), store.index().leaf());
    let all = texts(&index.context(leaf.as_deref()));
    let limit = |read, keep| ContextLimit {
        window: 0,
        read,
        keep,
        far: u64::MAX,
        tokens: bytes,
    };
    let context = index.context_within(leaf.as_deref(), limit(1_000_000, 100));
    let messages = context.entries.into_iter().map(|entry| entry.message);
    assert_eq!(texts(&messages.collect::<Vec<_>>()), all);
    assert!(!context.is_cut);

    READ.set(0);
    let cut = index.context_within(leaf.as_deref(), limit(300, 100));
    assert!(cut.is_cut);
    let (read, entries) = (READ.replace(0), cut.entries.len());
    // The bytes say as much before the tokens are counted.
    let far = ContextLimit {
        far: 10_000,
        ..limit(1_000_000, 100)
    };
    let context = index.context_within(leaf.as_deref(), far);
    assert!(context.is_cut);
    assert_eq!(context.entries.len(), entries);
    assert!(READ.get() <= read, "{} of {read}", READ.get());
    let messages: Vec<AgentMessage> = context
        .entries
        .into_iter()
        .map(|entry| entry.message)
        .collect();
    let read = texts(&messages);
    assert!(read[0].contains("were left out"), "{}", read[0]);
    assert_eq!(read[1..], all[all.len() + 1 - read.len()..]);
    assert!(!matches!(messages[1], AgentMessage::ToolResult(_)));
    let kept: u64 = messages[1..].iter().map(bytes).sum();
    assert!((50..=100).contains(&kept), "{kept}");
    let size = std::fs::metadata(path_of(&store)).unwrap().len();
    assert!(READ.get() < size / 8, "{} of {size}", READ.get());
}
