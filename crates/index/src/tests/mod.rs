//! Tests of the session index on real files.

mod files;

use osier_protocol::{SessionRow, Sort, TextSource};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;

/// A data directory.
struct TestData(TempDir);

/// A session file that a test writes line by line.
struct Conversation {
    path: PathBuf,
    entries: usize,
}

impl SessionIndex {
    fn search(
        &self,
        query: &str,
        filter: &SessionFilter,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Hits, IndexError> {
        self.query(|index| index.search(query, filter, limit, cancel))
    }

    fn list(
        &self,
        filter: &SessionFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Listing, IndexError> {
        self.query(|index| index.list(filter, offset, limit))
    }
}

impl TestData {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn library(&self) -> SessionIndex {
        SessionIndex::new(self.0.path())
    }

    fn begin(&self, number: usize, cwd: &str) -> Conversation {
        let id = format!("0199b3c4-0000-7000-8000-{number:012x}");
        let folder = self.library().directory.project(Path::new(cwd));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"));
        let header = json!({"type": "session", "version": 1, "id": id,
            "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd});
        let mut conversation = Conversation { path, entries: 0 };
        conversation.line(&header.to_string());
        conversation
    }

    fn refresh(&self) -> Outcome {
        let cancel = CancellationToken::new();
        self.library()
            .refresh(Depth::Words, &cancel, &mut |_| {})
            .unwrap()
    }

    fn list(&self, filter: &SessionFilter) -> Vec<SessionRow> {
        self.library().list(filter, 0, 1000).unwrap().rows
    }

    fn all(&self) -> Vec<SessionRow> {
        self.list(&SessionFilter::default())
    }

    fn find(&self, query: &str) -> Vec<(String, TextSource, String)> {
        let cancel = CancellationToken::new();
        let filter = SessionFilter::default();
        let hits = self.library().search(query, &filter, 50, &cancel).unwrap();
        assert!(hits.ready && !hits.cut);
        hits.hits
            .into_iter()
            .map(|hit| {
                let mut text = hit.text.text;
                for (start, end) in hit.text.marks.into_iter().rev() {
                    text.insert(end, ']');
                    text.insert(start, '[');
                }
                (hit.session.title().to_owned(), hit.source, text)
            })
            .collect()
    }

    fn found(&self, query: &str) -> Vec<String> {
        let mut titles: Vec<String> = self.find(query).into_iter().map(|hit| hit.0).collect();
        titles.sort();
        titles
    }
}

impl Conversation {
    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    fn line(&mut self, line: &str) -> &mut Self {
        let mut bytes = fs::read(&self.path).unwrap_or_default();
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        fs::write(&self.path, bytes).unwrap();
        self
    }

    fn entry(&mut self, mut fields: Value) -> &mut Self {
        let parent = (self.entries > 0).then(|| format!("{:08x}", self.entries));
        self.entries += 1;
        let number = self.entries;
        let time = format!("2026-01-01T{:02}:{:02}:00.000Z", number / 60, number % 60);
        let mut entry =
            json!({"id": format!("{number:08x}"), "parentId": parent, "timestamp": time});
        entry
            .as_object_mut()
            .unwrap()
            .append(fields.as_object_mut().unwrap());
        self.line(&entry.to_string())
    }

    fn says(&mut self, text: &str) -> &mut Self {
        self.entry(
            json!({"type": "message", "message": {"role": "user", "text": text, "timestamp": 1}}),
        )
    }

    fn answers(&mut self, model: &str, text: &str) -> &mut Self {
        self.entry(json!({"type": "message", "message": {"role": "assistant",
            "content": [{"type": "text", "text": text}], "provider": "demo", "model": model,
            "usage": {"input": 100, "output": 20, "cost": {"total": 0.5}}, "timestamp": 2}}))
    }

    fn calls(&mut self, name: &str, arguments: &Value, output: &str) -> &mut Self {
        self.entry(json!({"type": "message", "message": {"role": "assistant",
            "content": [{"type": "toolCall", "id": "c", "name": name, "arguments": arguments}],
            "provider": "demo", "model": "tour", "timestamp": 2}}));
        self.entry(
            json!({"type": "message", "message": {"role": "toolResult", "toolCallId": "c",
            "toolName": name, "content": [{"type": "text", "text": output}], "isError": false,
            "timestamp": 3}}),
        )
    }

    fn named(&mut self, name: &str) -> &mut Self {
        self.entry(json!({"type": "session_info", "name": name}))
    }

    /// Makes this session a fork of the session with this id.
    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    fn child_of(&mut self, id: &str) -> &mut Self {
        let text = fs::read_to_string(&self.path).unwrap();
        let header = text.replacen('{', &format!("{{\"parentSession\":\"{id}\","), 1);
        fs::write(&self.path, header).unwrap();
        self
    }
}

fn titles(rows: &[SessionRow]) -> Vec<&str> {
    rows.iter().map(SessionRow::title).collect()
}

#[test]
fn fork_has_the_title_of_its_source_and_its_own_last_prompt() {
    let place = TestData::new();
    let id = "0199b3c4-0000-7000-8000-000000000001";
    place.begin(1, "/work/a").says("fix it").named("Parser");
    let mut fork = place.begin(2, "/work/a");
    fork.child_of(id)
        .says("fix it")
        .says("with a table")
        .named("Parser");
    place.refresh();
    let titles = |rows: Vec<SessionRow>| -> Vec<String> {
        rows.iter().map(SessionRow::list_title).collect()
    };
    let listed = ["fork of Parser: with a table", "Parser"].map(str::to_owned);
    assert_eq!(titles(place.all()), listed);
    let letters = SessionFilter {
        letters: Some("fork table".to_owned()),
        ..SessionFilter::default()
    };
    assert_eq!(
        titles(place.list(&letters)),
        ["fork of Parser: with a table"]
    );
    fork.named("Table");
    place.refresh();
    assert_eq!(titles(place.all())[0], "Table");
}

#[test]
fn row_describes_its_session() {
    let place = TestData::new();
    let mut one = place.begin(1, "/work/a");
    one.says("fix the parser")
        .answers("tour", "done")
        .calls("bash", &json!({"command": "make"}), "ok")
        .answers("other", "really")
        .named("Parser");
    one.entry(json!({"type": "label", "targetId": "00000002", "label": "good"}));
    one.line("{\"broken");
    assert_eq!(place.refresh(), Outcome::Done { read: 1 });
    let expected = SessionRow {
        id: "0199b3c4-0000-7000-8000-000000000001".into(),
        path: one.path.clone(),
        cwd: "/work/a".into(),
        name: Some("Parser".into()),
        first_prompt: Some("fix the parser".into()),
        last_prompt: Some("fix the parser".into()),
        created: 1_767_225_600_000,
        // The name and the label came later.
        active: 1_767_225_600_000 + 5 * 60_000,
        size: fs::metadata(&one.path).unwrap().len(),
        prompts: 1,
        answers: 3,
        tool_calls: 1,
        damaged: 1,
        tokens: 240,
        cost: 1.0,
        models: vec!["demo/tour".into(), "demo/other".into()],
        labels: vec!["good".into()],
        parent: None,
        fork_of: None,
        whole: true,
    };
    assert_eq!(place.all(), [expected]);
    let costs = place
        .library()
        .open()
        .unwrap()
        .unwrap()
        .costs(&SessionFilter::default())
        .unwrap();
    let shown: Vec<_> = costs
        .iter()
        .map(|cost| (cost.model.as_str(), cost.calls, cost.cost))
        .collect();
    assert_eq!(shown, [("demo/tour", 2, 0.5), ("demo/other", 1, 0.5)]);
}

#[test]
fn words_are_found_in_all_visible_text() {
    let place = TestData::new();
    place
        .begin(1, "/work/a")
        .says("fix the Parser")
        .answers("tour", "let mut lexer = Lexer::new(&source);")
        .calls(
            "read",
            &json!({"file_path": "src/base/atomic_file.rs"}),
            "fn rename_over(",
        );
    place
        .begin(2, "/work/b")
        .says("修复数据库连接")
        .answers("tour", "数据库已修复。");
    place
        .begin(3, "/work/c")
        .says("hello")
        .named("The parser of dates");
    place.refresh();

    assert_eq!(
        place.find("parser"),
        [
            (
                "The parser of dates".into(),
                TextSource::Name,
                "The [parser] of dates".into()
            ),
            (
                "fix the Parser".into(),
                TextSource::Prompt,
                "fix the [Parser]".into()
            ),
        ]
    );
    assert_eq!(place.found("Parser"), ["fix the Parser"]);
    let lexer = "let mut lexer = [Lexer::new(&source)];";
    assert_eq!(
        place.find("Lexer::new(&source)"),
        [("fix the Parser".into(), TextSource::Answer, lexer.into())]
    );
    let path = "src/base/[atomic_file.rs]";
    assert_eq!(
        place.find("atomic_file.rs"),
        [("fix the Parser".into(), TextSource::Call, path.into())]
    );
    assert_eq!(place.find("rename_over")[0].1, TextSource::Output);
    // Words of one turn match in any order and any message; words of different sessions do not.
    assert_eq!(place.found("lexer parser"), ["fix the Parser"]);
    assert_eq!(place.found("lexer hello"), [""; 0]);
    assert_eq!(
        place.found("\"the parser\""),
        ["The parser of dates", "fix the Parser"]
    );
    // Single ideographs and longer words.
    for query in ["数据库连接", "数据库", "连接", "库"] {
        assert_eq!(place.found(query), ["修复数据库连接"], "{query}");
    }
    assert_eq!(place.found("据修"), [""; 0]);
    // Too short for the trigram index.
    assert_eq!(place.found("fn"), ["fix the Parser"]);
    assert_eq!(place.found("100% \"' OR NEAR("), [""; 0]);
    assert_eq!(place.found("   "), [""; 0]);
}

/// An accent can be a part of its letter or a character of its own, in the file and in the query.
#[test]
fn accents_are_found_in_every_form() {
    let place = TestData::new();
    place
        .begin(1, "/work/a")
        .says("cre\u{301}e la spe\u{301}cialite\u{301}");
    place
        .begin(2, "/work/a")
        .says("garde la sp\u{e9}cialit\u{e9}");
    place
        .begin(3, "/work/a")
        .says("other")
        .named("re\u{301}sume\u{301}");
    place.refresh();
    for query in [
        "sp\u{e9}cialit\u{e9}",
        "spe\u{301}cialite\u{301}",
        "sp\u{e9}",
        "spe\u{301}",
    ] {
        let found = place.found(query);
        assert_eq!(found.len(), 2, "{query}: {found:?}");
    }
    for query in ["r\u{e9}sum\u{e9}", "re\u{301}sume\u{301}"] {
        assert_eq!(place.find(query)[0].1, TextSource::Name, "{query}");
    }
}

/// A change of the filter and the resulting rows, in order.
type Case = (fn(&mut SessionFilter), &'static [&'static str]);

const FILTERS: &[Case] = &[
    (|_| {}, &["elsewhere", "Docs", "fix the parser"]),
    (
        |filter| filter.cwd = Some("/work/a".into()),
        &["Docs", "fix the parser"],
    ),
    (|filter| filter.named = true, &["Docs"]),
    (|filter| filter.name = Some("dOC".into()), &["Docs"]),
    (
        |filter| filter.model = Some("TOUR".into()),
        &["fix the parser"],
    ),
    (
        |filter| filter.since = Some(1_767_225_780_000),
        &["elsewhere", "Docs"],
    ),
    (
        |filter| filter.letters = Some("fxprs".into()),
        &["fix the parser"],
    ),
    (
        |filter| filter.sort = Sort::Cost,
        &["Docs", "fix the parser", "elsewhere"],
    ),
    (
        |filter| filter.sort = Sort::Name,
        &["Docs", "elsewhere", "fix the parser"],
    ),
];

#[test]
fn list_is_filtered_sorted_and_matched() {
    let place = TestData::new();
    place
        .begin(1, "/work/a")
        .says("fix the parser")
        .answers("tour", "ok");
    let mut docs = place.begin(2, "/work/a");
    docs.says("write docs")
        .answers("big", "ok")
        .answers("big", "ok")
        .named("Docs");
    place
        .begin(3, "/work/b")
        .says("elsewhere")
        .says("a")
        .says("b")
        .says("c")
        .says("d");
    place.refresh();
    for (number, (change, expected)) in FILTERS.iter().enumerate() {
        let mut filter = SessionFilter::default();
        change(&mut filter);
        assert_eq!(titles(&place.list(&filter)), *expected, "{number}");
    }
    let page = place
        .library()
        .list(&SessionFilter::default(), 1, 1)
        .unwrap();
    assert_eq!((titles(&page.rows), page.total), (vec!["Docs"], 3));
}

#[test]
fn time_from_a_wrong_clock_does_not_pin_a_session_first() {
    let place = TestData::new();
    let mut one = place.begin(1, "/work/a");
    one.says("from the future");
    one.line(r#"{"id":"000000ff","parentId":null,"timestamp":"2999-01-01T00:00:00.000Z","type":"message","message":{"role":"user","text":"later","timestamp":1}}"#);
    // The clock jumps back.
    one.says("and back");
    place
        .begin(2, "/work/a")
        .says("a")
        .says("b")
        .says("c")
        .says("d");
    place.refresh();
    assert_eq!(titles(&place.all()), ["a", "from the future"]);
    assert_eq!(place.found("later"), ["from the future"]);
}
