//! Sessions that do not fit into memory: reading from any position, searching, continuing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use osier_llm::scripted::{Hold, Script};
use osier_protocol::Event;
use osier_session::SessionChoice;
use tempfile::TempDir;

use super::support::Screen;
use crate::support::session_fixture::{FIRST_PROMPT, LAST_ANSWER, Shape, write};

/// A session to open.
struct Stored {
    _folder: TempDir,
    path: PathBuf,
}

fn stored(shape: &Shape) -> Stored {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.jsonl");
    // A session without a directory belongs to every directory.
    let cwd = String::new();
    write(
        &path,
        &Shape {
            cwd,
            ..shape.clone()
        },
    )
    .unwrap();
    Stored {
        _folder: folder,
        path,
    }
}

async fn screen(stored: &Stored, script: Script) -> Screen {
    let builder = Screen::new(80, 24).script(script);
    let choice = SessionChoice::File(stored.path.clone());
    let mut screen = builder.session(choice).start().await;
    screen.shows(LAST_ANSWER).await;
    screen
}

/// The rows of the transcript.
fn rows(screen: &mut Screen) -> Vec<String> {
    let shown = screen.screen();
    shown.lines().take(20).map(str::to_owned).collect()
}

/// Presses a key that scrolls by a page, waits for the page, and checks that two rows overlap. Returns the rows.
async fn turn(screen: &mut Screen, key: &str) -> Vec<String> {
    let before = rows(screen);
    loop {
        screen.press(key);
        let after = rows(screen);
        if after == before {
            // The page is still loading.
            screen
                .until(|event| matches!(event, Event::TranscriptPage { .. }))
                .await;
            continue;
        }
        // The first row may be the sticky prompt.
        let moved = [0, 1].iter().find(|covered| {
            (1..after.len() - 1).any(|by| match key {
                "pageup" => before[**covered..].starts_with(&after[by..]),
                _ => after[**covered..].starts_with(&before[by..]),
            })
        });
        assert!(moved.is_some(), "{before:#?}\n{after:#?}");
        return after;
    }
}

/// The numbers of the messages whose first row is among these rows.
fn numbers(rows: &[String]) -> impl Iterator<Item = usize> {
    rows.iter().filter_map(|row| {
        let (_, rest) = row.split_once("Message ")?;
        rest.split_once(':')?.0.parse().ok()
    })
}

#[tokio::test]
async fn paging_reaches_the_first_and_the_last_message() {
    let stored = stored(&Shape::messages(600));
    let mut screen = screen(&stored, Script::new()).await;
    let mut seen: BTreeSet<usize> = numbers(&rows(&mut screen)).collect();
    loop {
        let rows = turn(&mut screen, "pageup").await;
        seen.extend(numbers(&rows));
        if rows[0].contains(FIRST_PROMPT) {
            break;
        }
    }
    assert_eq!(seen, (1..599).collect());
    let mut seen: BTreeSet<usize> = numbers(&rows(&mut screen)).collect();
    while !screen.screen().contains(LAST_ANSWER) {
        seen.extend(numbers(&turn(&mut screen, "pagedown").await));
    }
    assert_eq!(seen, (1..599).collect());
    screen.press("pagedown");
    assert!(!screen.screen().contains("go to end"));
}

#[tokio::test]
async fn jump_to_the_start_and_page_to_the_end() {
    let stored = stored(&Shape::messages(400));
    let mut screen = screen(&stored, Script::new()).await;
    screen.press("ctrl+home").shows(FIRST_PROMPT).await;
    assert!(rows(&mut screen)[0].contains(FIRST_PROMPT));
    let mut seen: BTreeSet<usize> = numbers(&rows(&mut screen)).collect();
    while !screen.screen().contains(LAST_ANSWER) {
        seen.extend(numbers(&turn(&mut screen, "pagedown").await));
    }
    assert_eq!(seen, (1..399).collect());
    // Jumping to the end works from any position.
    screen.press("ctrl+home").shows(FIRST_PROMPT).await;
    screen.press("ctrl+end");
    assert!(screen.screen().contains(LAST_ANSWER));
}

#[tokio::test]
async fn jump_to_prompts_outside_the_loaded_page() {
    let stored = stored(&Shape::work(800));
    let mut screen = screen(&stored, Script::new()).await;
    for prompt in (60..100).rev() {
        let wanted = format!("▌ Prompt {prompt}: ");
        screen.press("ctrl+up").shows(&wanted).await;
        let rows = rows(&mut screen);
        assert!(
            rows[..2].iter().any(|row| row.starts_with(&wanted)),
            "{rows:#?}"
        );
    }
    for prompt in 61..100 {
        let wanted = format!("▌ Prompt {prompt}: ");
        screen.press("ctrl+down").shows(&wanted).await;
    }
}

#[tokio::test]
async fn new_messages_do_not_scroll_the_reader() {
    let stored = stored(&Shape::messages(300));
    let gate = Hold::new();
    let script = Script::new().turn(|turn| turn.text("Begun.").gate(&gate).text(" Done now."));
    let mut screen = screen(&stored, script).await;
    screen.send("go on").shows("Begun.").await;
    screen.press("ctrl+home").shows(FIRST_PROMPT).await;
    let before = rows(&mut screen);
    gate.open();
    screen.settled().await;
    assert_eq!(rows(&mut screen), before);
    assert!(screen.screen().contains("go to end"));
    screen.press("ctrl+end");
    let shown = screen.conversation();
    assert!(
        shown.ends_with("▌ go on\n\n  Begun.\n\n  Done now."),
        "{shown}"
    );
}

#[tokio::test]
async fn resize_keeps_the_position() {
    let stored = stored(&Shape::messages(300));
    let mut screen = screen(&stored, Script::new()).await;
    for _ in 0..6 {
        turn(&mut screen, "pageup").await;
    }
    let first = numbers(&rows(&mut screen)).next().unwrap();
    for columns in [60, 100, 80] {
        screen.resize(columns, 24);
        let rows = rows(&mut screen);
        let near = numbers(&rows).any(|number| number.abs_diff(first) <= 1);
        assert!(near, "{first} is not in {rows:#?}");
    }
}

#[tokio::test]
async fn prompt_during_loading_is_sent_with_what_the_window_needs() {
    let stored = stored(&Shape::work(3000));
    let builder = Screen::new(80, 24)
        .script(Script::always("I know."))
        .with_tokens()
        .settings(|settings| {
            settings.auto_compact = false;
            settings.drop_results = false;
        });
    let choice = SessionChoice::File(stored.path.clone());
    let mut screen = builder.session(choice).start().await;
    screen.send("and now?").settled().await;
    let conversation = screen.conversation();
    let end = "▌ and now?\n\n! the conversation is far longer than the context window: the model gets the\n  \
               last 434 messages\n\n  I know.";
    assert!(conversation.contains(end), "{conversation}");
    let request = screen.request();
    assert_eq!(request.context.messages.len(), 435);
    let first = serde_json::to_string(&request.context.messages[0]).unwrap();
    assert!(!first.contains(FIRST_PROMPT), "{first}");
    // Usage of the whole session, and of the answer.
    assert!(screen.footer().contains("↑"), "{}", screen.footer());
}

#[tokio::test]
async fn search_walks_all_hits_of_the_session() {
    let stored = stored(&Shape::messages(2000));
    let mut screen = screen(&stored, Script::new()).await;
    screen.press("ctrl+f").type_text("message 123");
    screen.shows("1/11").await.shows("Message 1239:").await;
    screen.press("enter").shows("Message 1238:").await;
    for _ in 0..9 {
        screen.press("up");
    }
    screen.shows("Message 123:").await.shows("11/11").await;
    insta::assert_snapshot!("search", screen.styled());
    screen
        .press("down")
        .shows("10/11")
        .await
        .shows("Message 1230:")
        .await;
    screen.type_text("x").shows("not found").await;
    screen.press("esc");
    assert!(!screen.screen().contains("find:"));
    assert!(screen.screen().contains("Message 1230:"));
    screen.press("ctrl+f").press("ctrl+u").type_text("quokka");
    screen.shows(FIRST_PROMPT).await;
}

#[tokio::test]
async fn search_expands_collapsed_output() {
    let stored = stored(&Shape::work(400));
    let mut screen = screen(&stored, Script::new()).await;
    screen.press("ctrl+f").type_text("parser::case_102::");
    screen.shows("1/62").await.shows("… 59 lines above").await;
    // The rows that were hidden contain the first matches.
    screen.press("up up up up up");
    screen.shows("6/62").await.hides("lines above").await;
    assert!(
        rows(&mut screen)[4..10]
            .iter()
            .any(|row| row.contains("parser::case_102::"))
    );
}
