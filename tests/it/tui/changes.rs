//! The view of changed files.

use osier_llm::Script;
use osier_protocol::{CheckpointEvent, Event};
use osier_testing::skip;
use serde_json::json;

use super::support::Screen;

/// Two prompts: the first creates three files, the second changes one of them.
fn script() -> Script {
    let write = |path: &str, content: &str| json!({"file_path": path, "content": content});
    let long: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    let command = json!({"command": "sed -i 's/line 3$/LINE 3/; s/line 50$/line fifty/' long.txt; printf 'a\\0b' > data.bin"});
    Script::new()
        .turn(|turn| {
            turn.tool("write", write("long.txt", &long))
                .tool("write", write("src/a.rs", "fn a() {}\n"))
        })
        .turn(|turn| turn.text("Made."))
        .turn(|turn| turn.tool("bash", command))
        .turn(|turn| turn.text("Changed."))
}

#[tokio::test]
async fn changes_are_navigated_by_file_and_hunk() {
    let mut screen = Screen::new(100, 20).script(script()).start().await;
    screen
        .send("/diff")
        .shows("no file changes were recorded")
        .await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen
        .send("/diff last")
        .shows("2 files changed since the last prompt")
        .await;
    insta::assert_snapshot!("changes_last_prompt", screen.styled());
    screen.press("tab").shows("LINE 3").await;
    insta::assert_snapshot!("changes_second_file", screen.styled());
    screen.press("]").shows("line fifty").await;
    screen
        .press("s")
        .shows("3 files changed since the session start")
        .await;
    screen
        .press("esc")
        .send("/diff nothing")
        .shows("no file changes were recorded in that turn")
        .await;
    screen.send("/diff a b c").shows("expected last").await;
}

#[tokio::test]
async fn a_narrow_screen_shows_one_file_at_a_time() {
    let mut screen = Screen::new(48, 14).script(script()).start().await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen.send("/diff").shows("3 files changed").await;
    screen.press("tab").shows("LINE 3").await;
    insta::assert_snapshot!("changes_narrow", screen.styled());
    // With fewer rows than files, the selected one has its number.
    screen.resize(48, 11).shows("2/3").await;
}

#[tokio::test]
async fn review_of_hunks_is_sent_to_the_model() {
    let reviewed = script().turn(|turn| turn.text("Understood."));
    let mut screen = Screen::new(100, 20).script(reviewed).start().await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen.send("/diff last").shows("2 files changed").await;
    screen.press("S").shows("nothing to send").await;
    // In the text file, reject the first change and comment the second.
    screen.press("tab").shows("LINE 3").await;
    screen.press("x c").type_text("why fifty?").press("enter a");
    insta::assert_snapshot!("review", screen.styled());
    screen.press("S").shows("Understood.").await;
    screen.settled().await;
    let text = std::fs::read_to_string(screen.work().join("long.txt")).unwrap();
    let expected: String = (1..=60)
        .map(|line| match line {
            50 => "line fifty\n".to_owned(),
            line => format!("line {line}\n"),
        })
        .collect();
    assert_eq!(text, expected);
    let request = screen.provider.last_request().unwrap();
    // No reminder follows: the review itself says what changed in the file.
    let told = format!("{:?}", request.context.messages.last().unwrap());
    assert!(
        told.contains("I rejected these changes and reverted them in the files:\\n\\nlong.txt\\n"),
        "{told}"
    );
    assert!(
        told.contains(
            "which are still in the files:\\n\\nlong.txt: why fifty?\\n```diff\\n@@ -47,7 +47,7 @@"
        ),
        "{told}"
    );
    // The review can be undone like any restore.
    screen.send("/restore undo").shows("1 file restored").await;
    let text = std::fs::read_to_string(screen.work().join("long.txt")).unwrap();
    assert!(text.contains("LINE 3\n") && text.contains("line fifty\n"));
}

#[tokio::test]
async fn review_that_is_not_sent_stays_with_its_range() {
    let reviewed = script().turn(|turn| turn.text("Understood."));
    let mut screen = Screen::new(110, 20).script(reviewed).start().await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen.send("/diff last").shows("2 files changed").await;
    screen.press("tab").shows("LINE 3").await;
    screen.press("x c").type_text("why fifty?").press("enter");
    let review = "1 rejected · 1 comment";
    screen.shows(review).await;
    // Another range has its own review.
    screen
        .press("s")
        .shows("3 files changed since the session start")
        .await;
    assert!(!screen.screen().contains(review), "{}", screen.screen());
    screen.press("esc").send("/diff last").shows(review).await;
    screen.press("esc");
    let kept = format!("review not sent yet: {review}");
    assert!(screen.screen().contains(&kept), "{}", screen.screen());
    screen
        .send("/diff last")
        .shows("since the last prompt")
        .await;
    assert!(screen.screen().contains(review), "{}", screen.screen());
    screen.press("S").shows("Understood.").await;
    screen.settled().await;
    // Comments that were sent are not shown again.
    screen.advance(std::time::Duration::from_secs(5));
    screen.send("/diff").shows("since the session start").await;
    assert!(!screen.screen().contains("1 comment"));
}

#[tokio::test]
async fn review_of_lines_that_changed_is_outdated_until_it_is_sent() {
    let reviewed = script().turn(|turn| turn.text("Understood."));
    let mut screen = Screen::new(100, 30).script(reviewed).start().await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen.send("/diff last").shows("2 files changed").await;
    screen.press("tab").shows("LINE 3").await;
    screen.press("x c").type_text("why fifty?").press("enter");
    screen.shows("1 rejected · 1 comment").await;
    screen.press("esc");
    let path = screen.work().join("long.txt");
    let before = std::fs::read_to_string(&path).unwrap();
    let after = before
        .replace("LINE 3", "third")
        .replace("line fifty", "50");
    std::fs::write(&path, after).unwrap();
    let outdated = "1 rejected · 1 comment · 2 outdated";
    screen.send("/diff last").shows(outdated).await;
    screen.press("tab").shows("third").await;
    screen.press("] ]").shows("outdated rejection").await;
    insta::assert_snapshot!("review_outdated", screen.styled());
    screen.press("]").shows("comment: why fifty?").await;
    // With the earlier content of the file, the decisions are not outdated.
    screen.press("esc");
    std::fs::write(&path, before).unwrap();
    screen.send("/diff last").shows("2 files changed").await;
    assert!(!screen.row(0).contains("outdated"), "{}", screen.screen());
    screen.press("esc");
    // The decisions are also outdated when the file has its original content.
    let original = std::fs::read_to_string(&path).unwrap();
    let original = original.replace("LINE 3", "line 3");
    let original = original.replace("line fifty", "line 50");
    std::fs::write(&path, original).unwrap();
    screen.send("/diff last").shows(outdated).await;
    screen.press("tab").shows("outdated rejection").await;
    screen.press("a").hides("outdated rejection").await;
    screen.press("S").shows("Understood.").await;
    screen.settled().await;
    let request = screen.provider.last_request().unwrap();
    let sent = format!("{:?}", request.context.messages);
    let expected = "I have comments on these changes; the lines have changed since then:\\n\\nlong.txt: why fifty?";
    assert!(sent.contains(expected), "{sent}");
}

#[tokio::test]
async fn the_open_file_is_named_in_full_on_wide_screens() {
    let path = |name: &str| format!("crates/tui/src/{name}/dialog/with/a/long/path/choose.rs");
    let write = |name: &str| json!({"file_path": path(name), "content": "fn a() {}\n"});
    let script = Script::new()
        .turn(|turn| {
            turn.tool("write", write("questions"))
                .tool("write", write("sessions"))
        })
        .turn(|turn| turn.text("Made."));
    let mut screen = Screen::new(100, 20).script(script).start().await;
    screen.send("make").settled().await;
    screen.send("/diff").shows("2 files changed").await;
    screen.shows(&path("questions")).await;
    assert!(!screen.screen().contains(&path("sessions")));
    screen.press("tab").shows(&path("sessions")).await;
    assert!(!screen.screen().contains(&path("questions")));
    // A wide list has room for both paths.
    screen.resize(220, 20).shows(&path("questions")).await;
    assert!(screen.screen().contains(&path("sessions")));
}

#[tokio::test]
async fn reverting_a_change_keeps_other_comments() {
    let mut screen = Screen::new(100, 20).script(script()).start().await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen.send("/diff last").shows("2 files changed").await;
    screen.press("tab").shows("LINE 3").await;
    screen.press("] a").shows("1 accepted").await;
    screen.press("[").shows("LINE 3").await;
    screen.press("X").shows("+1 -1").await;
    let text = std::fs::read_to_string(screen.work().join("long.txt")).unwrap();
    assert!(text.contains("line 3\n") && text.contains("line fifty\n"));
    assert!(screen.screen().contains("1 accepted"));
    // A file that another program has changed is not overwritten.
    let path = screen.work().join("long.txt");
    std::fs::write(&path, text.replace("line fifty", "line FIFTY")).unwrap();
    screen.press("X").shows("it has changed since then").await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("line FIFTY\n"));
}

#[tokio::test]
async fn wide_screen_shows_side_by_side_diffs() {
    let mut screen = Screen::new(170, 20).script(script()).start().await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen.send("/diff last").shows("2 files changed").await;
    screen.press("tab").shows("LINE 3").await;
    insta::assert_snapshot!("changes_beside", screen.styled());
    screen.press("v");
    assert!(!screen.screen().contains("│    3 + LINE 3"));
}

/// Runs git in the project with an author.
fn git(work: &std::path::Path, arguments: &str) {
    let name = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let ran = std::process::Command::new("git")
        .current_dir(work)
        .args(name)
        .args(arguments.split(' '))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{arguments}: {ran:?}");
}

#[tokio::test]
async fn working_tree_is_compared_with_head() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let mut screen = Screen::new(100, 20).start().await;
    screen
        .send("/diff head")
        .shows("not a git repository")
        .await;
    let work = screen.work().clone();
    let write = |path: &str, text: &str| std::fs::write(work.join(path), text).unwrap();
    let lines = |third: &str| -> String {
        let lines = (1..=40).map(|line| match line {
            3 => format!("{third}\n"),
            line => format!("line {line}\n"),
        });
        lines.collect()
    };
    write("kept.txt", "the same\n");
    write("long.txt", &lines("line 3"));
    write("moved.txt", &lines("moved"));
    write("gone.txt", "one\ntwo\n");
    write("data.bin", "a\0b");
    write(".gitignore", "hidden*\n");
    write("hidden.txt", "tracked all the same\n");
    write("run.sh", "true\n");
    git(&work, "init -q");
    git(&work, "add -A");
    git(&work, "add -f hidden.txt");
    screen
        .send("/diff HEAD")
        .shows("8 files changed against HEAD")
        .await;
    screen.press("esc");
    git(&work, "commit -qm first");
    screen
        .send("/diff head")
        .shows("no files changed against HEAD")
        .await;
    write("long.txt", &lines("LINE 3"));
    git(&work, "add long.txt");
    git(&work, "mv moved.txt new.txt");
    std::fs::remove_file(work.join("gone.txt")).unwrap();
    write("data.bin", "a\0c");
    write("hidden.txt", "changed\n");
    write("hidden-2.txt", "ignored\n");
    write("fresh.txt", "new\n");
    std::fs::set_permissions(
        work.join("run.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    screen
        .send("/diff head")
        .shows("7 files changed against HEAD")
        .await;
    insta::assert_snapshot!("changes_head", screen.styled());
    // A new file is deleted, and a removed file is restored.
    screen.press("tab").shows("+ new").await;
    screen.press("X").shows("6 files changed").await;
    assert!(!work.join("fresh.txt").exists());
    screen.press("X").shows("5 files changed").await;
    let read = |path: &str| std::fs::read_to_string(work.join(path)).unwrap();
    assert_eq!(read("gone.txt"), "one\ntwo\n");
    // Ignored files are not recorded, so reverting could not be undone.
    screen.press("X").shows("could not be undone").await;
    assert_eq!(read("hidden.txt"), "changed\n");
    screen.press("tab").shows("LINE 3").await;
    screen.press("X").shows("4 files changed").await;
    assert_eq!(read("long.txt"), lines("line 3"));
    screen.press("s").shows("since the last prompt").await;
    screen.press("s").shows("since the session start").await;
    screen.press("s").shows("4 files changed").await;
    screen.press("esc").send("/restore undo");
    screen
        .until(|event| {
            let restored =
                |event: &CheckpointEvent| matches!(event, CheckpointEvent::FilesRestored { .. });
            matches!(event, Event::Checkpoint(event) if restored(event))
        })
        .await;
    assert_eq!(read("long.txt"), lines("LINE 3"));
}

#[tokio::test]
async fn a_notice_names_files_that_were_changed_outside_of_osier() {
    let read = json!({"file_path": "a.txt"});
    let script = Script::new()
        .turn(|turn| turn.tool("read", read))
        .turn(|turn| turn.text("Read."))
        .turn(|turn| turn.text("Noted."));
    let builder = Screen::new(80, 20).file("a.txt", "one\n").script(script);
    let mut screen = builder.start().await;
    screen.send("read it").settled().await;
    assert!(!screen.screen().contains("changed outside"));
    std::fs::write(screen.work().join("a.txt"), "two\n").unwrap();
    screen.send("go on").settled().await;
    insta::assert_snapshot!("changed_outside", screen.conversation());
}
