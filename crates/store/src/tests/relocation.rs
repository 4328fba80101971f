//! Sessions that continue in another directory.

use std::fs;
use std::path::Path;

use super::*;

/// The header's directory and the entries of the file at `path`.
async fn contents(path: &Path) -> (String, Vec<Entry>) {
    let (store, loaded) = open(path).await;
    store.close().await.unwrap();
    (loaded.header.cwd, loaded.entries)
}

#[tokio::test]
async fn relocated_session_is_the_newest_of_its_new_directory_and_keeps_every_entry() {
    let data = TestData::new();
    let store = data.create();
    store.append(user("one")).await.unwrap();
    let first = store.append(user("two")).await.unwrap();
    store
        .set_leaf(first.parent_id.as_deref(), None)
        .await
        .unwrap();
    store.append(user("three")).await.unwrap();
    store.close().await.unwrap();
    let before = store.path().unwrap().to_owned();
    let (_, entries) = contents(&before).await;

    let here = Path::new("/here/project");
    let orphan = data.sessions.orphan(here).unwrap();
    assert_eq!(orphan.map(|session| session.path), Some(before.clone()));
    assert_eq!(
        data.sessions.orphan(Path::new("/here/other")).unwrap(),
        None
    );

    let after = data.sessions.relocate(&before, here).await.unwrap();
    assert_eq!(
        after,
        data.sessions
            .project(here)
            .join(before.file_name().unwrap())
    );
    assert!(!before.exists());
    assert_eq!(
        contents(&after).await,
        ("/here/project".to_owned(), entries)
    );
    let latest = |cwd: &str| data.sessions.latest(Path::new(cwd)).unwrap();
    assert_eq!(
        latest("/here/project").map(|session| session.path),
        Some(after)
    );
    assert_eq!(latest(CWD), None);
    assert_eq!(data.sessions.orphan(here).unwrap(), None);
}

#[tokio::test]
async fn file_that_the_user_chose_stays_where_it_is() {
    let data = TestData::new();
    let path = data.directory.path().join("mine.jsonl");
    let store = SessionStore::create(path.clone(), Header::new(Path::new(CWD))).unwrap();
    store.append(user("one")).await.unwrap();
    let refused = data.sessions.relocate(&path, Path::new("/here")).await;
    assert!(refused.is_err(), "it is open");
    store.close().await.unwrap();
    let (_, entries) = contents(&path).await;
    let after = data
        .sessions
        .relocate(&path, Path::new("/here"))
        .await
        .unwrap();
    assert_eq!(after, path);
    assert_eq!(contents(&path).await, ("/here".to_owned(), entries));
}

#[tokio::test]
async fn file_without_a_header_gets_one_and_loses_no_line() {
    let data = TestData::new();
    let store = data.create();
    store.append(user("one")).await.unwrap();
    store.append(user("two")).await.unwrap();
    store.close().await.unwrap();
    let path = store.path().unwrap().to_owned();
    let text = fs::read_to_string(&path).unwrap();
    let text = text.split_once('\n').unwrap().1;
    osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
    let (_, entries) = contents(&path).await;
    let here = Path::new("/here/project");
    let after = data.sessions.relocate(&path, here).await.unwrap();
    assert_eq!(
        contents(&after).await,
        ("/here/project".to_owned(), entries)
    );
}
