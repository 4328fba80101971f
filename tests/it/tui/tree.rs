//! The tree on the screen, the comparison of two branches, and the context panel.

use osier_llm::scripted::Script;
use osier_protocol::{Event, TreeEvent};
use serde_json::json;

use super::support::Screen;

fn script() -> Script {
    let write = json!({"file_path": "notes.txt", "content": "one\ntwo\n"});
    Script::new()
        .turn(|turn| {
            turn.when_user("Use exactly these")
                .text("## Goal\nShort.")
                .repeat()
        })
        .turn(|turn| {
            turn.when_user("first")
                .text("Looked at the **parser**.")
                .repeat()
        })
        .turn(|turn| turn.when_user("write").tool("write", write))
        .turn(|turn| turn.when_result("notes").text("The notes are written."))
        .turn(|turn| turn.text("Another way: no notes at all.").repeat())
}

fn moved(event: &Event) -> bool {
    matches!(event, Event::Tree(TreeEvent::Moved { .. }))
}

/// Two branches below the first answer.
async fn branched(columns: u16, rows: u16) -> Screen {
    let mut screen = Screen::new(columns, rows).script(script()).start().await;
    screen.send("first prompt").settled().await;
    screen.send("write the notes").settled().await;
    screen.send("/undo").shows("Conversation only").await;
    screen.press("down enter").until(moved).await;
    assert_eq!(screen.editor(), "write the notes");
    screen.shows("1 file differs from this point").await;
    screen.press("ctrl+u");
    screen.send("try something else").settled().await;
    screen
}

async fn opened(columns: u16, rows: u16) -> Screen {
    let mut screen = Box::pin(branched(columns, rows)).await;
    screen.press("alt+t").shows("◂ current").await;
    screen.shows("Another way").await;
    screen
}

/// Times and ids differ from run to run.
fn timeless(screen: &str) -> String {
    let mut out = String::new();
    for line in screen.lines() {
        let line = match line.find(" 20") {
            Some(at) if line.get(at + 11..at + 12) == Some(" ") && line.contains(':') => {
                format!("{} TIME{}", &line[..at], &line[at + 17..])
            }
            _ => line.to_owned(),
        };
        out.push_str(&line);
        out.push('\n');
    }
    let id = regex::Regex::new(r"TIME [0-9a-f]{8}").unwrap();
    let took = regex::Regex::new(r"mock · [0-9.]+m?s *").unwrap();
    let out = id.replace_all(&out, "TIME ID");
    took.replace_all(&out, "mock · TOOK").into_owned()
}

#[tokio::test]
async fn tree_at_three_widths() {
    for (columns, rows) in [(40, 20), (80, 24), (120, 24)] {
        let mut screen = Box::pin(opened(columns, rows)).await;
        let shown = timeless(&screen.screen());
        insta::assert_snapshot!(format!("tree_{columns}"), shown);
    }
}

#[tokio::test]
async fn moving_shows_the_other_branch() {
    let mut screen = Box::pin(opened(80, 24)).await;
    screen.press("]").press("enter").until(moved).await;
    let conversation = screen.conversation();
    assert!(conversation.contains("first prompt"), "{conversation}");
    assert!(!conversation.contains("something else"), "{conversation}");
    assert_eq!(screen.editor(), "write the notes");
    screen.press("enter").settled().await;
    assert_eq!(screen.last_prompt(), "write the notes");
}

#[tokio::test]
async fn collapsing_filters_and_search_narrow_the_tree() {
    let mut screen = Box::pin(opened(80, 24)).await;
    screen.press("tab tab");
    let prompts = screen.screen();
    assert!(prompts.contains("· prompts ─"), "{prompts}");
    assert!(!prompts.contains("Looked at"), "{prompts}");
    screen.press("tab tab tab").shows("Looked at").await;
    // Collapses and expands everything below the first answer; the state is remembered.
    screen.press("g down left");
    assert!(screen.screen().contains("⊞"), "{}", screen.screen());
    screen.press("esc").press("alt+t").shows("⊞").await;
    screen
        .press("g down right")
        .shows("try something else")
        .await;
    screen.press("/").type_text("notes").shows("“notes”").await;
    screen.hides("Looked at").await;
    screen.press("enter esc").shows("Looked at").await;
}

#[tokio::test]
async fn entries_are_labelled_and_branches_hidden_and_shown() {
    let mut screen = Box::pin(opened(80, 24)).await;
    screen.press("] L").type_text("idea").press("enter");
    screen.shows("[idea]").await;
    screen.press("x").hides("write the notes").await;
    screen.press("u").shows("write the notes").await;
    // The current branch cannot be hidden.
    screen
        .press("g x")
        .shows("the current branch cannot be hidden")
        .await;
    assert!(screen.screen().contains("try something else"));
}

#[tokio::test]
async fn two_branches_side_by_side() {
    let took = regex::Regex::new(r"\d+m?s *").unwrap();
    let tokens = regex::Regex::new(r"↑[\d.]+k?").unwrap();
    for (columns, rows) in [(40, 30), (80, 24), (120, 24)] {
        let mut screen = Box::pin(opened(columns, rows)).await;
        screen.press("d ] d").shows("Compare branches").await;
        let work = screen.work().to_string_lossy().into_owned();
        let shown = screen.screen().replace(&work, "WORK");
        // Durations differ between runs, and tokens with every change of a tool.
        let shown = took.replace_all(&shown, "TIME ");
        let shown = tokens.replace_all(&shown, "↑TOKENS").into_owned();
        insta::assert_snapshot!(format!("compare_{columns}"), shown);
        screen.press("esc");
        assert!(screen.screen().contains("◂ current"));
    }
}

#[tokio::test]
async fn an_entry_is_compared_with_its_ancestor() {
    let mut screen = Box::pin(opened(80, 24)).await;
    // The last answer is compared with the first one above it. While an entry is marked, the keys
    // say so, and enter compares.
    screen.press("d").shows("compare with this").await;
    screen.press("g down enter").shows("Compare branches").await;
    let shown = screen.screen();
    let count = |text: &str| shown.matches(text).count();
    assert_eq!(count("0 messages · 0 tool calls"), 1, "{shown}");
    assert_eq!(count("2 messages · 0 tool calls"), 1, "{shown}");
    assert_eq!(count("try something else"), 1, "{shown}");
    assert_eq!(count("Another way: no notes at all."), 1, "{shown}");
}

#[tokio::test]
async fn open_tree_grows_and_keeps_the_selection() {
    let mut screen = Box::pin(opened(80, 24)).await;
    screen.press("g");
    let selected = |screen: &str| {
        let line = screen.lines().find(|line| line.starts_with('›'));
        line.unwrap_or_default().to_owned()
    };
    let before = selected(&screen.screen());
    assert!(before.contains("first prompt"), "{before}");
    screen.app.submit_text("and more", screen.now);
    screen.settled().await;
    screen.shows("and more").await;
    assert_eq!(selected(&screen.screen()), before);
}

#[tokio::test]
async fn summary_is_reviewed_before_it_is_stored() {
    let mut screen = branched(80, 24).await;
    screen
        .send("/compact keep it short")
        .shows("enter save")
        .await;
    // The first and last columns belong to the screen behind, which still changes.
    let shown = screen.screen();
    let lines = shown.lines().map(|line| {
        let inside = line.chars().skip(1).take(78);
        inside.chain(['\n']).collect::<String>()
    });
    // A change of a tool changes the tokens.
    let tokens = regex::Regex::new(r"context [\d.]+k? tokens").unwrap();
    let lines = lines.collect::<String>();
    insta::assert_snapshot!("summary", tokens.replace(&lines, "context TOKENS tokens"));
    // The dialog opened by itself, so the typed text is meant for the editor.
    screen.type_text("typed for the editor");
    screen
        .press("down")
        .press("ctrl+end")
        .type_text("\u{20}And mine.");
    screen.press("enter").shows("compacted about").await;
    screen.shows("typed for the editor").await;
    screen.press("enter").settled().await;
    let request = serde_json::to_string(&screen.request().context).unwrap();
    assert!(request.contains("And mine."), "{request}");
    assert!(request.contains("typed for the editor\""), "{request}");
}

#[tokio::test]
async fn context_panel_shows_the_window() {
    for (columns, rows) in [(40, 24), (80, 24), (120, 30)] {
        let mut screen = branched(columns, rows).await;
        screen.send("/context").shows("free").await;
        let shown = screen.screen();
        assert!(shown.contains("tool"), "{shown}");
        assert!(shown.contains("prompts"), "{shown}");
        if columns == 80 {
            assert!(
                shown.contains("Compacts automatically above 183k"),
                "{shown}"
            );
        }
    }
}

#[tokio::test]
async fn context_panel_shows_cache_use() {
    let answer = |input: u64, read: u64, write: u64| {
        let usage = json!({"input": input, "output": 20, "cacheRead": read, "cacheWrite": write});
        json!({"steps": [{"text": "answered"}, {"usage": usage}]})
    };
    let turns = [
        answer(50, 0, 40_000),
        answer(50, 40_050, 400),
        // This answer comes much later: the cache has expired and is written again.
        answer(50, 0, 41_000),
        answer(100, 41_900, 0),
    ];
    let mut screen = Screen::new(80, 40)
        .file("cached.json", &json!({"turns": turns}).to_string())
        .start()
        .await;
    screen
        .send("/model script/cached.json")
        .shows("cached.json")
        .await;
    for prompt in ["one", "two", "three", "four"] {
        screen.send(prompt).settled().await;
    }
    screen.send("/context").shows("Cache").await;
    let shown = screen.screen();
    let rows: Vec<&str> = shown
        .lines()
        .skip_while(|line| !line.contains(" Cache"))
        .skip(1)
        .take(3)
        .map(|line| line.trim().trim_matches('\u{2502}').trim())
        .collect();
    assert_eq!(
        rows.iter()
            .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>(),
        [
            "last call 42k 100% from cache",
            "session 163k 50% from cache",
            "re-sent without cache 40k",
        ],
        "{shown}"
    );
}

#[tokio::test]
async fn last_prompt_is_sent_to_another_model() {
    let mut screen = branched(80, 24).await;
    screen.press("alt+r").shows("Send the last prompt to").await;
    screen.type_text("mock/mock").press("enter").settled().await;
    assert_eq!(screen.last_prompt(), "try something else");
    let users = screen
        .request()
        .context
        .messages
        .iter()
        .filter(|message| matches!(message, osier_llm::Message::User(_)))
        .count();
    assert_eq!(users, 2);
    screen.send("/redo").shows("there is nothing to redo").await;
    screen.send("/session").shows("file: ").await;
    // Both copies are stored next to this session, which does not change.
    let copied = |event: &Event, text: Option<&str>| {
        matches!(event, Event::Tree(TreeEvent::Forked { prompt, .. })
            if prompt.as_ref().map(|prompt| &*prompt.text) == text)
    };
    screen
        .send("/clone")
        .until(|event| copied(event, None))
        .await;
    let before = Some("try something else");
    screen
        .send("/fork")
        .until(|event| copied(event, before))
        .await;
    assert!(screen.conversation().contains("try something else"));
}

#[tokio::test]
async fn fan_shows_lanes_and_applies_one() {
    for (columns, rows) in [(40, 24), (80, 24), (120, 24)] {
        let write = json!({"file_path": "notes.txt", "content": "one\n"});
        // Each lane writes once, in any order.
        let script = Script::new()
            .turn(|turn| turn.when_result("").text("It is done.").repeat())
            .turn(|turn| turn.when_user("do it").tool("write", write).repeat());
        let mut screen = Screen::new(columns, rows).script(script).start().await;
        screen.send("/fan mock/mock mock/mock -- do it");
        screen.shows("enter apply").await;
        let shown = screen.screen();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].contains("› mock/mock"), "{shown}");
        assert!(lines[2].contains("done"), "{shown}");
        assert!(shown.contains("notes.txt +1 -0"), "{shown}");
        assert!(!screen.work().join("notes.txt").exists());
        screen.press("right enter").until(moved).await;
        screen.shows("applied: 1 file written").await;
        assert!(screen.work().join("notes.txt").exists());
        assert!(screen.conversation().contains("It is done."));
    }
}

#[tokio::test]
async fn views_show_their_keys() {
    let mut screen = Box::pin(opened(80, 24)).await;
    screen.press("?");
    let shown = screen.screen();
    for text in ["─ Keys ─", "[/] Previous/next prompt", "Label the entry"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    // Esc closes only the page, and the tree stays.
    screen.press("esc").shows("◂ current").await;
    screen.press("q alt+v ?");
    insta::assert_snapshot!("keys_while_browsing", screen.screen());
    screen.press("esc esc alt+s").shows("Sessions").await;
    screen.press("f1");
    let shown = screen.screen();
    assert!(shown.contains("Rename the selected session"), "{shown}");
}

#[tokio::test]
async fn a_branch_is_deleted_after_a_question() {
    let mut screen = Box::pin(opened(80, 24)).await;
    screen.press("D");
    screen.shows("the current branch cannot be deleted").await;
    screen.press("} space").type_text("perm");
    screen.shows("Delete the branch permanently").await;
    screen.press("enter").shows("messages permanently, ").await;
    // The first answer keeps the branch.
    screen.press("enter").shows("write the notes").await;
    screen.press("D").shows("messages permanently, ").await;
    screen
        .press("down enter")
        .shows("deleted permanently")
        .await;
    screen.hides("write the notes").await;
}

#[tokio::test]
async fn everything_before_an_entry_is_summarized() {
    let mut screen = Box::pin(opened(80, 24)).await;
    screen.press("(").press("S");
    screen.shows("summarize everything before this entry").await;
    screen.type_text("keep it short").press("enter");
    screen.shows("2 messages summarized").await;
    screen.press("enter").shows("Goal").await;
}
