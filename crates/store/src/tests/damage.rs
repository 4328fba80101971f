use super::*;
use crate::{Loaded, SessionError, load};

/// A session file, its acknowledged entries and the end offset of each line.
struct Sample {
    data: TestData,
    path: PathBuf,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    ends: Vec<usize>,
}

async fn sample() -> Sample {
    let data = TestData::new();
    let store = data.create();
    let entries = conversation(&store).await;
    store.close().await.unwrap();
    let path = path_of(&store).to_owned();
    let bytes = std::fs::read(&path).unwrap();
    let ends = (1..=bytes.len())
        .filter(|&end| bytes[end - 1] == b'\n')
        .collect();
    Sample {
        data,
        path,
        bytes,
        entries,
        ends,
    }
}

impl Sample {
    fn with(&self, bytes: &[u8]) -> Result<Loaded, SessionError> {
        put(&self.path, bytes);
        load(&self.path)
    }

    /// The entries whose complete record is in the first `length` bytes.
    fn whole(&self, length: usize) -> &[Entry] {
        let lines = self.ends.iter().filter(|&&end| end - 1 <= length).count();
        &self.entries[..lines - 1]
    }

    fn torn_files(&self) -> Vec<Vec<u8>> {
        let directory = self.path.parent().unwrap();
        let mut torn_files: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.to_string_lossy().contains(".torn-"))
            .collect();
        torn_files.sort();
        torn_files
            .iter()
            .map(|path| std::fs::read(path).unwrap())
            .collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own file")]
pub(super) fn put(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn truncated_file_retains_all_complete_records() {
    let sample = sample().await;
    let header = sample.ends[0] - 1;
    for length in 0..=sample.bytes.len() {
        let loaded = sample.with(&sample.bytes[..length]);
        if length < header {
            assert!(matches!(loaded, Err(SessionError::NotASession { .. })));
            continue;
        }
        let loaded = loaded.unwrap();
        assert_eq!(loaded.entries, sample.whole(length), "cut at {length}");
        assert_eq!(
            (loaded.damaged, loaded.reattached),
            (0, 0),
            "cut at {length}"
        );
    }
}

#[tokio::test]
async fn torn_end_is_moved_to_a_separate_file() {
    let sample = sample().await;
    let from = sample.ends[sample.ends.len() - 3];
    for length in (from..=sample.bytes.len()).step_by(11) {
        put(&sample.path, &sample.bytes[..length]);
        let before = sample.torn_files().len();
        let (store, loaded) = open(&sample.path).await;
        assert_eq!(
            std::fs::read(&sample.path).unwrap(),
            &sample.bytes[..length]
        );
        let added = store.append(user("after the crash")).await.unwrap();
        store.close().await.unwrap();

        let reopened = load(&sample.path).unwrap();
        let mut expected = sample.whole(length).to_vec();
        expected.push(added);
        assert_eq!(reopened.entries, expected, "cut at {length}");
        assert_eq!((reopened.damaged, reopened.torn_bytes), (0, 0));
        let torn_files = sample.torn_files();
        let torn = &sample.bytes[length - loaded.torn_bytes as usize..length];
        match torn {
            [] => assert_eq!(torn_files.len(), before),
            torn => assert!(torn_files.iter().any(|torn_file| torn_file == torn)),
        }
    }
}

#[tokio::test]
async fn damaged_line_costs_only_itself() {
    let sample = sample().await;
    for line in 0..sample.entries.len() {
        let mut bytes = sample.bytes.clone();
        bytes[sample.ends[line]] ^= 1;
        let loaded = sample.with(&bytes).unwrap();
        let mut expected: Vec<_> = sample.entries.clone();
        let lost = expected.remove(line);
        let ids = |entries: &[Entry]| {
            entries
                .iter()
                .map(|entry| entry.id.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(&loaded.entries), ids(&expected), "line {line}");
        assert_eq!(loaded.damaged, 1, "line {line}");
        let orphans = expected
            .iter()
            .filter(|entry| entry.parent_id.as_ref() == Some(&lost.id))
            .filter(|entry| !matches!(entry.kind, EntryKind::Leaf { .. }))
            .count();
        let moves = usize::from(line == 1);
        assert_eq!(loaded.reattached, orphans + moves, "line {line}");
        let orphan = loaded.entries.iter().find(|entry| {
            expected
                .iter()
                .any(|other| other.id == entry.id && other.parent_id.as_ref() == Some(&lost.id))
        });
        if let (Some(orphan), 1..) = (orphan, line) {
            assert!(orphan.parent_id.is_some(), "line {line}");
        }
    }
}

#[tokio::test]
async fn flipped_bit_costs_at_most_one_entry() {
    let sample = sample().await;
    for at in 0..sample.bytes.len() {
        let mut bytes = sample.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let loaded = sample.with(&bytes).unwrap();
        let least = sample.entries.len() - usize::from(at >= sample.ends[0]);
        assert!(loaded.entries.len() >= least, "bit at {at}");
        assert!(loaded.damaged <= 2, "bit at {at}");
    }
}

#[tokio::test]
async fn session_with_damaged_header_is_listed_by_its_file_name() {
    let sample = sample().await;
    let mut bytes = sample.bytes.clone();
    bytes[0] = b'#';
    let loaded = sample.with(&bytes).unwrap();
    assert_eq!((loaded.entries.len(), loaded.damaged), (7, 1));
    assert_eq!(loaded.header.cwd, "");
    let latest = sample
        .data
        .sessions
        .latest(Path::new(CWD))
        .unwrap()
        .unwrap();
    assert_eq!((latest.id, latest.path), (loaded.header.id, sample.path));
}

#[tokio::test]
async fn other_files_are_rejected_with_a_reason() {
    let sample = sample().await;
    let reason = |bytes: &[u8]| match sample.with(bytes) {
        Err(SessionError::NotASession { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(b""), "it is empty");
    assert_eq!(
        reason(b"{\"a\":1}\n{\"b\":2}\n"),
        "its first line is not a session header"
    );
    assert_eq!(
        reason(&vec![0; 3 << 20]),
        "its first line is not a session header"
    );
    let missing = load(Path::new("/nowhere/at/all.jsonl")).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "cannot open `/nowhere/at/all.jsonl`: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn lone_surrogate_and_byte_order_mark_cost_nothing() {
    let sample = sample().await;
    let text = String::from_utf8(sample.bytes.clone()).unwrap();
    let text = text.replacen("second\"", "sec\\ud83dond\"", 1);
    let loaded = sample.with(format!("\u{feff}{text}").as_bytes()).unwrap();
    assert_eq!((loaded.damaged, loaded.entries.len()), (0, 7));
    let message = loaded.entries[2].kind.as_message().unwrap();
    assert_eq!(message.text(), "sec\u{fffd}ond");
}

#[tokio::test]
async fn two_entries_with_one_id_are_both_loaded() {
    let sample = sample().await;
    let text = String::from_utf8(sample.bytes.clone()).unwrap();
    let (first, second) = (&sample.entries[2].id, &sample.entries[4].id);
    // The name is the child of the second answer; the prompt after it has the same id, and a child.
    let id = |id: &str, parent: &str, text: &str| {
        format!(
            "{{\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"t\",\"type\":\"message\",\
             \"message\":{{\"role\":\"user\",\"text\":\"{text}\",\"timestamp\":1}}}}\n"
        )
    };
    let more = id(first, second, "again") + &id("0000beef", first, "child");
    let bytes = text + &more;
    let loaded = sample.with(bytes.as_bytes()).unwrap();
    let ids: std::collections::HashSet<&str> =
        loaded.entries.iter().map(|entry| &*entry.id).collect();
    assert_eq!((loaded.entries.len(), ids.len()), (9, 9));
    assert_eq!((loaded.damaged, &loaded.damaged_lines[..]), (1, &[9][..]));
    let [again, child] = &loaded.entries[7..] else {
        panic!("{:?}", loaded.entries);
    };
    assert_eq!(again.parent_id.as_deref(), Some(second.as_str()));
    assert_eq!(child.parent_id.as_ref(), Some(&again.id));
    assert_eq!(loaded.leaf.as_deref(), Some("0000beef"));
    // The same line twice is one entry, and another reading gives the same ids.
    let copied = bytes.clone() + &id("0000beef", first, "child");
    let loaded_again = sample.with(copied.as_bytes()).unwrap();
    assert_eq!(loaded_again.entries, loaded.entries);
}

#[tokio::test]
async fn a_file_with_another_name_and_a_damaged_header_is_rescued() {
    let sample = sample().await;
    let mut bytes = sample.bytes.clone();
    bytes[0] = b'#';
    let path = sample.path.with_file_name("copy of it.jsonl");
    put(&path, &bytes);
    let loaded = load(&path).unwrap();
    assert_eq!(
        (loaded.entries.len(), &loaded.damaged_lines[..]),
        (7, &[1][..])
    );
    assert_eq!(loaded.header, load(&path).unwrap().header);
    assert_eq!(loaded.header.timestamp, loaded.entries[0].timestamp);
}

#[tokio::test]
async fn line_that_is_too_long_costs_itself() {
    let sample = sample().await;
    let long = vec![0; 24 << 20];
    let start = sample.ends[2];
    let with_line = [&sample.bytes[..start], &long, b"\n", &sample.bytes[start..]].concat();
    let loaded = sample.with(&with_line).unwrap();
    assert_eq!(loaded.entries, sample.entries);
    assert_eq!((loaded.damaged, loaded.damaged_lines), (1, vec![4]));
    let at_end = [&sample.bytes[..], &long].concat();
    let loaded = sample.with(&at_end).unwrap();
    assert_eq!(loaded.entries, sample.entries);
    assert_eq!((loaded.damaged, loaded.torn_bytes), (0, long.len() as u64));
    let (store, _) = open(&sample.path).await;
    let added = store.append(user("after the zeros")).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(load(&sample.path).unwrap().entries.last(), Some(&added));
    assert_eq!(sample.torn_files(), [long]);
}

/// Nobody writes to it.
#[tokio::test]
async fn pipe_in_place_of_a_session_is_no_session() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let sample = sample().await;
    std::fs::remove_file(&sample.path).unwrap();
    mknodat(CWD, &sample.path, FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert!(load(&sample.path).is_err());
    assert!(crate::summarize(&sample.path).is_err());
    assert!(SessionStore::open(&sample.path).is_err());
    assert_eq!(sample.data.sessions.list(crate::Scope::All).unwrap(), []);
}
