//! Tests with files that are appended to, moved, deleted and damaged.

use super::*;

#[test]
fn only_appended_lines_are_read() {
    let place = TestData::new();
    let mut one = place.begin(1, "/work/a");
    one.says("first words").answers("tour", "messages");
    place.begin(2, "/work/a").says("untouched");
    assert_eq!(place.refresh(), Outcome::Done { read: 2 });
    assert_eq!(place.refresh(), Outcome::Done { read: 0 });
    let spans = |place: &TestData| -> Vec<(i64, i64)> {
        let connection = place.library().reader().unwrap().unwrap();
        let mut statement = connection
            .prepare(
                "SELECT start, finish FROM spans WHERE session = 1 OR session = 2 ORDER BY number",
            )
            .unwrap();
        let rows = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        rows.map(Result::unwrap).collect()
    };
    let before = spans(&place);
    let length = fs::metadata(&one.path).unwrap().len().cast_signed();
    one.says("second words").answers("tour", "again");
    assert_eq!(place.refresh(), Outcome::Done { read: 1 });
    let after = spans(&place);
    assert_eq!(after[..2], before);
    assert_eq!(after[2].0, length);
    assert_eq!(after.len(), 3);
    assert_eq!(place.found("second words"), ["first words"]);
    let row = place
        .all()
        .into_iter()
        .find(|row| row.title() == "first words")
        .unwrap();
    assert_eq!((row.prompts, row.answers, row.cost), (2, 2, 1.0));

    // An unfinished line counts once it is complete.
    let bytes = fs::read(&one.path).unwrap();
    let line = br#"{"id":"000000ff","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","type":"message","message":{"role":"user","text":"third words","timestamp":1}}"#;
    put(&one.path, &[&bytes[..], &line[..50]].concat());
    place.refresh();
    assert_eq!(place.found("third words"), [""; 0]);
    put(&one.path, &[&bytes[..], line, b"\n"].concat());
    place.refresh();
    assert_eq!(place.found("third words"), ["first words"]);
}

#[expect(clippy::disallowed_methods, reason = "a test's own file")]
fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

#[test]
fn deleted_renamed_copied_and_replaced_files_are_updated() {
    let place = TestData::new();
    let one = place.begin(1, "/work/a").says("the quokka").path.clone();
    let two = place.begin(2, "/work/a").says("the zebra").path.clone();
    place.refresh();

    // A renamed file is not read again.
    let moved = one.with_file_name("other.jsonl");
    fs::rename(&one, &moved).unwrap();
    assert_eq!(place.refresh(), Outcome::Done { read: 0 });
    assert_eq!(
        place.all().iter().filter(|row| row.path == moved).count(),
        1
    );
    assert_eq!(place.found("quokka"), ["the quokka"]);

    // The file is copied: two rows have one id.
    let copy = one.with_file_name("copy.jsonl");
    fs::copy(&moved, &copy).unwrap();
    place.refresh();
    assert_eq!(place.found("quokka"), ["the quokka", "the quokka"]);
    let ids: std::collections::HashSet<_> = place.all().into_iter().map(|row| row.id).collect();
    assert_eq!((ids.len(), place.all().len()), (2, 3));
    let mut findings = Vec::new();
    let files = check(
        &place.library(),
        &CancellationToken::new(),
        &mut |finding| findings.push(finding),
    );
    assert_eq!(files.unwrap(), 3);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].what.contains("same id as"), "{findings:?}");

    // Deleted.
    fs::remove_file(&copy).unwrap();
    fs::remove_file(&moved).unwrap();
    // A hit is verified in its file, so there is none even before the index is updated.
    assert_eq!(place.found("quokka"), [""; 0]);
    place.refresh();
    assert_eq!(titles(&place.all()), ["the zebra"]);

    // The file is replaced by a longer one.
    let mut other = place.begin(3, "/work/a");
    other
        .says("an aardvark")
        .answers("tour", &"long ".repeat(200));
    fs::rename(&other.path, &two).unwrap();
    place.refresh();
    assert_eq!(titles(&place.all()), ["an aardvark"]);
    assert_eq!(place.found("zebra"), [""; 0]);
    assert_eq!(place.found("aardvark"), ["an aardvark"]);
    // Truncated.
    let bytes = fs::read(&two).unwrap();
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    put(&two, &bytes[..header]);
    place.refresh();
    assert_eq!(place.found("aardvark"), [""; 0]);
    assert_eq!(titles(&place.all()), ["(empty)"]);
}

#[test]
fn unreadable_files_do_not_stop_the_update() {
    let place = TestData::new();
    let mut one = place.begin(1, "/work/a");
    one.says("before")
        .line("\u{0}\u{1}garbage")
        .line("")
        .says("behind");
    let folder = one.path.parent().unwrap().to_owned();
    put(&folder.join("noise.jsonl"), &[0xff; 5000]);
    put(&folder.join("empty.jsonl"), b"");
    put(&folder.join("notes.txt"), b"no session");
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    std::os::unix::fs::symlink("/nowhere", folder.join("dangling.jsonl")).unwrap();
    place.begin(2, "/work/b").says("elsewhere");
    place.refresh();
    assert_eq!(place.found("behind"), ["before"]);
    let mut names: Vec<_> = place
        .all()
        .iter()
        .map(|row| (row.title().to_owned(), row.damaged))
        .collect();
    names.sort();
    assert_eq!(
        names,
        [("before".to_owned(), 1), ("elsewhere".to_owned(), 0)]
    );
}

#[test]
fn missing_damaged_or_foreign_index_is_rebuilt() {
    let place = TestData::new();
    place.begin(1, "/work/a").says("the quokka");
    let index = place.library().index_file();
    assert!(
        !place
            .library()
            .list(&SessionFilter::default(), 0, 9)
            .unwrap()
            .ready
    );
    place.refresh();
    let whole = fs::read(&index).unwrap();
    let journal = index.with_extension("sqlite-journal");
    let spoil: [&dyn Fn(); 6] = [
        &|| drop(std::os::unix::net::UnixListener::bind(&journal).unwrap()),
        &|| fs::remove_file(&index).unwrap(),
        &|| put(&index, b"this is not a database, whatever its length"),
        &|| put(&index, &whole[..whole.len() / 2]),
        &|| {
            let mut bytes = whole.clone();
            bytes[4096..].fill(0xaa);
            put(&index, &bytes);
        },
        &|| {
            let connection = rusqlite::Connection::open(&index).unwrap();
            connection
                .execute_batch("PRAGMA user_version = 99; DROP TABLE sessions")
                .unwrap();
        },
    ];
    for (place_in_list, spoil) in spoil.iter().enumerate() {
        spoil();
        // Readers find nothing and get no error until the index is rebuilt.
        let _ = place.library().list(&SessionFilter::default(), 0, 9);
        place.refresh();
        assert_eq!(place.found("quokka"), ["the quokka"], "{place_in_list}");
    }
    let cancel = CancellationToken::new();
    place.library().rebuild(&cancel, &mut |_| {}).unwrap();
    assert_eq!(place.found("quokka"), ["the quokka"]);
}

#[test]
fn index_that_a_query_finds_damaged_is_rebuilt() {
    let place = TestData::new();
    place.begin(1, "/work/a").says("the quokka");
    place.refresh();
    let index = place.library().index_file();
    // The rows of the sessions are intact, so that an update finds nothing to do.
    let connection = rusqlite::Connection::open(&index).unwrap();
    connection
        .execute_batch(
            "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA writable_schema = ON;
             UPDATE words_data SET block = zeroblob(9); DROP TABLE spans;",
        )
        .unwrap();
    drop(connection);
    place.refresh();
    assert!(index.exists());
    let cancel = CancellationToken::new();
    let search = || {
        let filter = SessionFilter::default();
        place.library().search("quokka", &filter, 9, &cancel)
    };
    assert!(!search().unwrap().ready);
    place.refresh();
    assert_eq!(search().unwrap().hits.len(), 1);
}

#[test]
fn unreadable_directory_is_an_error_and_keeps_the_rows() {
    let place = TestData::new();
    place.begin(1, "/work/a").says("the quokka");
    place.refresh();
    let root = place.library().directory.root().to_owned();
    let aside = root.with_extension("aside");
    fs::rename(&root, &aside).unwrap();
    std::os::unix::fs::symlink("/nothing", &root).unwrap();
    let cancel = CancellationToken::new();
    let error = place
        .library()
        .refresh(Depth::Words, &cancel, &mut |_| {})
        .unwrap_err();
    assert!(
        error.to_string().contains(root.to_str().unwrap()),
        "{error}"
    );
    fs::remove_file(&root).unwrap();
    fs::rename(&aside, &root).unwrap();
    assert_eq!(place.found("quokka"), ["the quokka"]);
}

#[test]
fn cancelled_refresh_continues_where_it_stopped() {
    let place = TestData::new();
    for number in 0..200 {
        place
            .begin(number, "/work/a")
            .says(&format!("prompt number {number}"));
    }
    let cancel = CancellationToken::new();
    let library = place.library();
    let ended = library.refresh(Depth::Words, &cancel, &mut |progress| {
        if progress.done > 0 {
            cancel.cancel();
        }
    });
    assert!(matches!(ended, Err(IndexError::Cancelled)), "{ended:?}");
    let Outcome::Done { read } = place.refresh() else {
        panic!("somebody else is at it");
    };
    assert!((1..200).contains(&read), "{read}");
    assert_eq!(place.all().len(), 200);
    assert_eq!(place.found("number 137"), ["prompt number 137"]);
}

#[test]
fn one_process_indexes_while_others_read() {
    let place = TestData::new();
    for number in 0..300 {
        let mut one = place.begin(number, "/work/a");
        one.says(&format!("prompt {number}"))
            .answers("tour", &format!("word{number} ").repeat(50));
    }
    let library = place.library();
    let held = library.lock().unwrap();
    assert!(held.is_some());
    let cancel = CancellationToken::new();
    let busy = library.refresh(Depth::Words, &cancel, &mut |_| {});
    assert_eq!(busy.unwrap(), Outcome::Busy);
    drop(held);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3).map(|_| scope.spawn(|| place.refresh())).collect();
        for _ in 0..50 {
            let listed = library.list(&SessionFilter::default(), 0, 10).unwrap();
            assert!(listed.total <= 300);
            library
                .search("word7", &SessionFilter::default(), 10, &cancel)
                .unwrap();
        }
        for writer in writers {
            writer.join().unwrap();
        }
    });
    place.refresh();
    assert_eq!(place.all().len(), 300);
    assert_eq!(place.found("word299"), ["prompt 299"]);
}

#[test]
fn deleted_session_is_restored_with_all_its_files() {
    let place = TestData::new();
    let path = place.begin(1, "/work/a").says("the quokka").path.clone();
    let draft = PathBuf::from(format!("{}.draft", path.display()));
    put(&draft, b"partial");
    let bytes = fs::read(&path).unwrap();
    let trash = place.library().trash();
    let there = trash.delete(&path).unwrap();
    assert!(!path.exists() && !draft.exists());
    place.refresh();
    assert_eq!(place.all(), []);
    let listed = trash.list();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0].path, listed[0].summary.first_prompt.as_deref()),
        (&there, Some("the quokka"))
    );
    assert_eq!(trash.restore(&there).unwrap(), path);
    assert_eq!(
        (fs::read(&path).unwrap(), fs::read(&draft).unwrap()),
        (bytes, b"partial".to_vec())
    );
    // The original path is in use again.
    let there = trash.delete(&path).unwrap();
    put(&path, b"another");
    assert!(
        trash
            .restore(&there)
            .unwrap_err()
            .to_string()
            .contains("move to")
    );
    assert_eq!(fs::read(&path).unwrap(), b"another");
    let held = fs::File::open(&path).unwrap();
    held.lock().unwrap();
    assert!(trash.delete(&path).is_err());
}

#[test]
fn long_session_is_read_in_parts() {
    let place = TestData::new();
    let mut bytes = fs::read(&place.begin(1, "/work/a").says("begin").path).unwrap();
    for number in 0..3000 {
        let text = format!("answer {number} {}", "filler words ".repeat(80));
        let line = json!({"id": format!("{:08x}", number + 100), "parentId": null,
            "timestamp": "2026-01-01T00:00:00.000Z", "type": "message",
            "message": {"role": "user", "text": text, "timestamp": 1}});
        bytes.extend_from_slice(line.to_string().as_bytes());
        bytes.push(b'\n');
    }
    let path = place.begin(1, "/work/a").path;
    put(&path, &bytes);
    let cancel = CancellationToken::new();
    place.refresh();
    assert_eq!(place.found("\"answer 1234\""), ["begin"]);
    let spans: i64 = {
        let connection = place.library().reader().unwrap().unwrap();
        connection
            .query_row("SELECT count(*) FROM spans", [], |row| row.get(0))
            .unwrap()
    };
    assert!((90..=750).contains(&spans), "{spans}");
    let hits = place
        .library()
        .search("filler", &SessionFilter::default(), 5, &cancel)
        .unwrap();
    assert_eq!((hits.hits.len(), hits.cut), (1, false));
}

#[test]
fn long_session_is_searched_before_all_of_it_is_indexed() {
    let place = TestData::new();
    let mut one = place.begin(1, "/work/a");
    one.says("the quokka question");
    // Each answer is longer than its part that is indexed.
    let text = "word ".repeat(36_000);
    let answers = (2..102).map(|number| {
        format!(
            r#"{{"id":"{number:08x}","parentId":"{:08x}","timestamp":"2026-01-01T00:00:00.000Z","type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"answer {number}: {text}"}}],"provider":"demo","model":"tour","timestamp":2}}}}"#,
            number - 1
        )
    });
    one.line(&answers.collect::<Vec<_>>().join("\n"));
    let library = place.library();
    let refresh = || library.refresh(Depth::Soon, &CancellationToken::new(), &mut |_| {});
    refresh().unwrap();
    let known = library.open().unwrap().unwrap();
    let read: (i64, i64) = known
        .connection
        .query_row("SELECT seen, size FROM sessions", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert!(0 < read.0 && read.0 < read.1, "{read:?}");
    let title = "the quokka question";
    // The word is in the part that is indexed, in the other part, or in neither.
    for (query, expected) in [
        ("quokka question", vec![title]),
        ("\"answer 101\"", vec![title]),
        ("nowhere", vec![]),
    ] {
        assert_eq!(place.found(query), expected, "{query}");
    }
    // The next search indexes more.
    refresh().unwrap();
    let sql = "SELECT seen FROM sessions";
    let more: i64 = known
        .connection
        .query_row(sql, [], |row| row.get(0))
        .unwrap();
    assert!(more > read.0);
}
