//! Screens of everyday tasks name their keys, on terminals of three sizes.

use osier_base::text;
use osier_llm::Script;
use serde_json::json;

use super::support::Screen;

const SIZES: [(u16, u16); 3] = [(60, 20), (80, 24), (100, 30)];

/// A screen with two files that differ from the start of the session.
async fn changed((columns, rows): (u16, u16)) -> Screen {
    let write = |path: &str| json!({"file_path": path, "content": "one\ntwo\n"});
    let script = Script::new()
        .turn(|turn| {
            turn.tool("write", write("a.txt"))
                .tool("write", write("b.txt"))
        })
        .turn(|turn| turn.text("Done."));
    let mut screen = Screen::new(columns, rows).script(script).start().await;
    screen.send("go").settled().await;
    screen
}

/// A view: its name, the keys and the text that open it, a text that it shows, and the hints that it must show.
type View = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const VIEWS: &[View] = &[
    (
        "thinking by another name",
        "",
        "/effort",
        "alias of",
        &["/effort [LEVEL] alias of /thinking"],
    ),
    ("vim", "", "/vim", "1/1", &["/vim Use the keys of Vim"]),
    (
        "undo by what it does",
        "",
        "/revert",
        "/undo",
        &["/undo [files|both] Undo conversation and files"],
    ),
    (
        "undo",
        "",
        "/undo\r",
        "Undo the last prompt",
        &[
            "Conversation and files 2 files",
            "Conversation only files stay",
            "Files only",
        ],
    ),
    (
        "prompts to go back to",
        "esc esc",
        "",
        "stay here",
        &["enter conversation only · r conversation and files"],
    ),
    (
        "keys of the tree",
        "alt+t ?",
        "",
        "─ Keys",
        &["r Go here with files", "Delete permanently", "all keys"],
    ),
    (
        "a word of a description",
        "",
        "/worktree",
        "fork",
        &["/fork [worktree]"],
    ),
    (
        "first commands",
        "",
        "/",
        "/model",
        &["/thinking", "/search"],
    ),
    (
        "no command",
        "",
        "/zzq",
        "unknown command",
        &["unknown command /zzq; type / to list"],
    ),
    (
        "sessions",
        "alt+s",
        "",
        "enter open",
        &[
            "tab search text",
            "alt+d all directories",
            "esc back",
            "keys",
        ],
    ),
    (
        "a session that is not found",
        "alt+s",
        "zzzz",
        "no session matches",
        &["no session matches · tab search text · alt+d all"],
    ),
    (
        "diff",
        "",
        "/diff\r",
        "2 files changed",
        &[
            "a accept",
            "x reject",
            "X undo",
            "c comment",
            "S send",
            "q back",
            "? keys",
        ],
    ),
    (
        "browsing",
        "alt+v",
        "",
        "q back",
        &["browsing", "❯ Keys move in the conversation; q goes back"],
    ),
    (
        "terminals",
        "",
        "/terminal\r",
        "no terminals yet",
        &["enter starts a shell", "enter start a shell · esc close"],
    ),
    (
        "keymaps",
        "",
        "/keymap\r",
        "Keyboard shortcuts",
        &["Use the keymap vim", "in use"],
    ),
    (
        "keys",
        "f1",
        "",
        "all keys",
        &["shift+tab thinking", "ctrl+f search"],
    ),
];

/// Keys that open a view, and the key that shows its keys.
const WITH_KEYS: &[(&str, &str)] = &[
    ("", "f1"),
    ("alt+t", "?"),
    ("alt+s", "f1"),
    ("alt+v", "?"),
    ("ctrl+l", "f1"),
    ("alt+x", "f1"),
    ("alt+j", "f1"),
];

#[tokio::test]
async fn no_text_on_a_page_of_keys_is_cut() {
    for size in SIZES {
        for (view, keys) in WITH_KEYS {
            let mut screen = changed(size).await;
            if !view.is_empty() {
                screen.press(view);
            }
            let shown = screen.press(keys).shows("─ Keys").await.screen();
            let (_, page) = shown.split_once("─ Keys").unwrap();
            // The footer may cut the directory.
            let (rows, _) = page.rsplit_once('\n').unwrap();
            let mut rows = rows.lines().take_while(|row| !row.starts_with('╭'));
            assert!(
                rows.all(|row| !row.contains('…')),
                "{view} {size:?}\n{shown}"
            );
            // Nothing waits for an answer.
            assert!(!page.contains("answer the question"), "{shown}");
        }
    }
}

#[tokio::test]
async fn keys_are_where_one_looks() {
    let mut missing = Vec::new();
    for size in SIZES {
        for (name, keys, typed, shows, hints) in VIEWS {
            let mut screen = changed(size).await;
            if !keys.is_empty() {
                screen.press(keys);
            }
            screen.type_text(typed.trim_end_matches('\r'));
            if typed.ends_with('\r') {
                screen.press("enter");
            }
            let shown = screen.shows(shows).await.screen();
            // The widths of columns depend on the screen, so blanks are joined.
            let words: Vec<&str> = shown.split(' ').filter(|word| !word.is_empty()).collect();
            let words = words.join(" ");
            let lost: Vec<_> = hints
                .iter()
                .filter(|hint| !words.contains(**hint))
                .collect();
            if !lost.is_empty() {
                missing.push(format!("{name} at {size:?}: {lost:?}\n{shown}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The start page names the keys that the keymap binds to its first commands.
#[tokio::test]
async fn the_start_page_names_the_first_keys() {
    for ((columns, rows), keys) in SIZES.into_iter().zip([
        "  ctrl+l model · shift+tab thinking level · ctrl+f search",
        "  ctrl+l model · shift+tab thinking level · ctrl+f search · alt+p permissions",
        "  ctrl+l model · shift+tab thinking level · ctrl+f search · alt+p permissions",
    ]) {
        let mut screen = Screen::new(columns, rows).start().await;
        let shown = screen.screen();
        assert!(shown.lines().any(|row| row == keys), "{shown}");
        screen.keymap("emacs");
        let shown = screen.screen();
        assert!(!shown.contains("ctrl+f search"), "{shown}");
        assert!(
            shown
                .lines()
                .all(|row| text::width(row) <= usize::from(columns))
        );
    }
}
