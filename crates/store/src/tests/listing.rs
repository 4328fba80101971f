use super::*;
use crate::{Scope, SessionError, fork, load, rename};

async fn session(data: &TestData, cwd: &str, prompt: &str) -> SessionStore {
    let header = Header::new(Path::new(cwd));
    let path = data.sessions.path_for(&header);
    let store = SessionStore::create(path, header).unwrap();
    store.append(user(prompt)).await.unwrap();
    store
}

#[tokio::test]
async fn sessions_are_listed_by_project_last_used_first() {
    let data = TestData::new();
    let old = session(&data, "/work/a-b", "old one").await;
    let new = session(&data, "/work/a-b", "new one").await;
    let other = session(&data, "/work/a/b", "same directory").await;
    let ids = |scope| -> Vec<String> {
        let listed = data.sessions.list(scope).unwrap();
        listed.into_iter().map(|session| session.id).collect()
    };
    let project = Path::new("/work/a-b");
    assert_eq!(ids(Scope::Project(project)), [new.id(), old.id()]);
    assert_eq!(ids(Scope::All).len(), 3);
    assert_eq!(other.path().unwrap().parent(), old.path().unwrap().parent());
    assert_eq!(ids(Scope::Project(Path::new("/nowhere"))), [""; 0]);

    let latest = data.sessions.latest(project).unwrap().unwrap();
    assert_eq!(latest.id, new.id());
    assert_eq!(latest.cwd, "/work/a-b");
    assert_eq!(latest.first_prompt.as_deref(), Some("new one"));
    assert_eq!((latest.messages, latest.messages_exact), (1, true));
    assert_eq!(latest.name, None);
}

#[tokio::test]
async fn renaming_is_no_use_of_a_session() {
    let data = TestData::new();
    let old = session(&data, CWD, "old one").await;
    session(&data, CWD, "new one").await.close().await.unwrap();
    let path = path_of(&old).to_owned();
    old.close().await.unwrap();
    let list = || data.sessions.list(Scope::All).unwrap();
    let before = list();
    rename(&path, Some("Old")).await.unwrap();
    let mut expected = before;
    expected[1].name = Some("Old".into());
    expected[1].size = std::fs::metadata(&path).unwrap().len();
    assert_eq!(list(), expected);
    assert_eq!(data.sessions.newest(Scope::All, 2).unwrap(), expected);
    assert_eq!(
        data.sessions.latest(Path::new(CWD)).unwrap().as_ref(),
        expected.first()
    );
}

#[tokio::test]
async fn name_of_a_session_without_messages_is_stored() {
    let data = TestData::new();
    let header = Header::new(Path::new(CWD));
    let path = data.sessions.path_for(&header);
    let store = SessionStore::create(path.clone(), header).unwrap();
    let name = Some("parser".to_owned());
    let kind = EntryKind::SessionInfo { name: name.clone() };
    store.append(kind).await.unwrap();
    let found = data.sessions.list(Scope::All).unwrap();
    let found: Vec<_> = found
        .into_iter()
        .map(|found| (found.path, found.name))
        .collect();
    assert_eq!(found, [(path, name)]);
}

/// A killed first write leaves an unnamed file, which is not a session.
#[tokio::test]
async fn unnamed_file_is_not_listed() {
    let data = TestData::new();
    let header = Header::new(Path::new(CWD));
    let path = data.sessions.path_for(&header);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut unnamed = path.clone().into_os_string();
    unnamed.push(".new");
    std::fs::File::create(&unnamed).unwrap();
    assert_eq!(data.sessions.list(Scope::All).unwrap(), []);
    let store = SessionStore::create(path, header).unwrap();
    store.append(user("hello")).await.unwrap();
    assert_eq!(data.sessions.list(Scope::All).unwrap().len(), 1);
    assert!(!Path::new(&unnamed).exists());
}

#[tokio::test]
async fn long_session_is_summarised_from_its_ends() {
    let data = TestData::new();
    let long = format!("explain \"this\"\n{}", "x".repeat(50_000));
    let store = session(&data, CWD, &long).await;
    let named = EntryKind::SessionInfo {
        name: Some("middle".into()),
    };
    store.append(named).await.unwrap();
    for _ in 0..100 {
        store.append(assistant(&"y".repeat(900))).await.unwrap();
    }
    let leaf = load(path_of(&store)).unwrap().leaf;
    store.close().await.unwrap();
    assert_eq!(load(path_of(&store)).unwrap().leaf, leaf);

    let summary = data.sessions.latest(Path::new(CWD)).unwrap().unwrap();
    let prompt = summary.first_prompt.unwrap();
    assert!(prompt.starts_with("explain \"this\"\nxxx"), "{prompt}");
    assert_eq!(summary.name.as_deref(), Some("middle"));
    assert!(!summary.messages_exact);
    assert!(
        (20..=200).contains(&summary.messages),
        "{}",
        summary.messages
    );
}

#[tokio::test]
async fn session_is_found_by_path_id_or_name() {
    let data = TestData::new();
    let one = session(&data, CWD, "one").await;
    let two = session(&data, "/elsewhere", "two").await;
    let named = EntryKind::SessionInfo {
        name: Some("Fix the parser".into()),
    };
    two.append(named).await.unwrap();
    let find = |query: &str| data.sessions.find(query);
    assert_eq!(find(one.id()).unwrap(), path_of(&one));
    assert_eq!(
        find(&two.id()[..35]).is_ok(),
        one.id()[..35] != two.id()[..35]
    );
    assert_eq!(
        find(path_of(&two).to_str().unwrap()).unwrap(),
        path_of(&two)
    );
    assert_eq!(find("Fix the parser").unwrap(), path_of(&two));

    // Both ids start with the same digits: they were created at nearly the same time.
    let shared = &one.id()[..4];
    let Err(SessionError::Ambiguous { candidates, .. }) = find(shared) else {
        panic!("ids differ in the first four digits");
    };
    assert_eq!(candidates.len(), 2);
    assert_eq!(
        find("parser").unwrap_err().to_string(),
        "no session matches `parser`; similar: `Fix the parser`"
    );
    let typo = format!("{}x", &one.id()[..30]);
    let Err(SessionError::NotFound { near, .. }) = find(&typo) else {
        panic!("an id with an x");
    };
    assert!(near.contains(&one.id().to_owned()));
    // A copy of the file in another project.
    let copy = data.sessions.project(Path::new("/third"));
    std::fs::create_dir_all(&copy).unwrap();
    let copy = copy.join(path_of(&one).file_name().unwrap());
    std::fs::copy(path_of(&one), &copy).unwrap();
    let Err(SessionError::Ambiguous { candidates, .. }) = find(one.id()) else {
        panic!("two files have the id");
    };
    assert!(candidates.contains(&copy.to_string_lossy().into_owned()));
    let missing = find("/nowhere/x.jsonl").unwrap_err().to_string();
    assert_eq!(missing, "no session matches `/nowhere/x.jsonl`");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test's own file")]
async fn unreadable_directory_is_an_error() {
    let data = TestData::new();
    let project = Path::new(CWD);
    // Neither exists before the first session.
    assert_eq!(data.sessions.latest(project).unwrap(), None);
    let root = data.sessions.root();
    for at in [root.to_owned(), data.sessions.project(project)] {
        for is_link in [false, true] {
            let _ = std::fs::remove_dir_all(root);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            if is_link {
                std::os::unix::fs::symlink("/nothing", &at).unwrap();
            } else {
                std::fs::write(&at, "").unwrap();
            }
            let error = data.sessions.latest(project).unwrap_err();
            assert!(error.to_string().contains(at.to_str().unwrap()), "{error}");
            let is_root = at == root;
            assert_eq!(data.sessions.list(Scope::All).is_err(), is_root);
            assert_eq!(data.sessions.newest(Scope::All, 1).is_err(), is_root);
            let found = data.sessions.find("0199").unwrap_err();
            assert_eq!(!matches!(found, SessionError::NotFound { .. }), is_root);
            std::fs::remove_file(&at).unwrap();
        }
    }
}

#[tokio::test]
async fn a_moved_project_keeps_its_sessions() {
    let data = TestData::new();
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    let before = session(&data, old.to_str().unwrap(), "before").await;
    std::fs::rename(&old, &new).unwrap();
    // A new directory at the old path is another project.
    std::fs::create_dir(&old).unwrap();
    assert_eq!(data.sessions.former_paths(&new), [&*old]);
    assert_eq!(data.sessions.former_paths(&old), [""; 0].map(Path::new));
    let latest = || data.sessions.latest(&new).unwrap().unwrap().id;
    assert_eq!(latest(), before.id());
    // A fork there takes its place, even after the other session is opened again.
    let mut header = Header::new(&new);
    header.parent_session = Some(before.id().to_owned());
    let (tree, leaf) = (before.index().read(Clone::clone), before.index().leaf());
    let path = data.sessions.path_for(&header);
    fork(&tree, (leaf.as_deref(), None), path, &header).unwrap();
    before.append(user("later")).await.unwrap();
    assert_eq!(latest(), header.id);
}
