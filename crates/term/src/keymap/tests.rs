use super::*;
use crate::input::{KeyCode, KeyModifiers};

const CONTEXTS: &[&str] = &[
    "diff",
    "global",
    "editor",
    "list",
    "search",
    "question",
    "sessions",
    "summary",
    "transcript",
    "tree",
];

const ACTIONS: &[&str] = &[
    "show_all",
    "interrupt",
    "background",
    "clear_or_exit",
    "exit",
    "suspend",
    "submit",
    "newline",
    "follow_up",
    "recall_queue",
    "browse",
    "previous_call",
    "next_call",
    "previous_error",
    "next_error",
    "previous_edit",
    "next_edit",
    "previous_block",
    "next_block",
    "select_lines",
    "copy_block",
    "copy_command",
    "toggle_block",
    "open_block",
    "page_block",
    "search",
    "model_picker",
    "cycle_model",
    "cycle_model_backward",
    "go_back",
    "go_forward",
    "list_order",
    "save_default",
    "cycle_thinking",
    "toggle_thinking",
    "toggle_todo",
    "toggle_tools",
    "palette",
    "help",
    "session_picker",
    "new_session",
    "cycle_role",
    "new_tab",
    "open_sessions",
    "session_1",
    "session_2",
    "session_3",
    "session_4",
    "session_5",
    "session_6",
    "session_7",
    "session_8",
    "session_9",
    "side_panel",
    "stash",
    "stash_list",
    "take_over",
    "next_waiting",
    "previous_waiting",
    "next_session",
    "previous_session",
    "favourite",
    "session_in_tab",
    "session_pin",
    "session_archive",
    "session_archived",
    "jobs",
    "tools",
    "copy_answer",
    "external_editor",
    "history_search",
    "page_up",
    "page_down",
    "line_up",
    "line_down",
    "top",
    "bottom",
    "previous_prompt",
    "next_prompt",
    "left",
    "right",
    "up",
    "down",
    "word_left",
    "word_right",
    "line_start",
    "line_end",
    "buffer_start",
    "buffer_end",
    "delete_backward",
    "delete_forward",
    "delete_word_backward",
    "delete_word_forward",
    "kill_to_line_start",
    "kill_to_line_end",
    "yank",
    "yank_pop",
    "undo",
    "redo",
    "answer",
    "cycle_permissions",
    "permissions",
    "dismiss",
    "complete",
    "attach_picture",
    "first",
    "last",
    "accept",
    "cancel",
    "remove",
    "tree",
    "retry_model",
    "context",
    "fold",
    "unfold",
    "pan_left",
    "pan_right",
    "tree_filter",
    "tree_summarize",
    "tree_fork",
    "tree_fork_worktree",
    "tree_with_files",
    "tree_files",
    "tree_compare",
    "tree_label",
    "tree_menu",
    "tree_parent",
    "tree_child",
    "tree_end",
    "previous_sibling",
    "next_sibling",
    "tree_delete",
    "tree_restore",
    "tree_erase",
    "tree_summarize_before",
    "session_words",
    "session_scope",
    "session_sort",
    "session_named",
    "session_name",
    "session_delete",
    "session_restore",
    "previous_file",
    "next_file",
    "previous_hunk",
    "next_hunk",
    "next_problem",
    "other_range",
    "diff_layout",
    "accept_hunk",
    "reject_hunk",
    "comment_hunk",
    "revert_hunk",
    "edit_hunk",
    "send_review",
];

fn load(texts: &[&str]) -> (Keymap<&'static str>, Vec<String>) {
    let sources: Vec<KeymapSource> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| KeymapSource::new(format!("{index}.toml"), *text))
        .collect();
    let actions: Vec<_> = ACTIONS.iter().map(|name| (*name, *name)).collect();
    let (keymap, problems) = Keymap::load(&sources, CONTEXTS, &actions);
    let problems = problems.iter().map(ToString::to_string).collect();
    (keymap, problems)
}

/// Whether every terminal sends a distinct code for the key.
fn works_everywhere(key: KeyPress) -> bool {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Char(char) if ctrl => {
            !shift && (char.is_ascii_lowercase() && !"im".contains(char) || " \\]^_".contains(char))
        }
        KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace | KeyCode::Esc => {
            (key.modifiers - KeyModifiers::ALT).is_empty()
        }
        _ => true,
    }
}

#[test]
fn default_keymap_is_valid_and_works_in_every_terminal() {
    let (keymap, problems) = load(&[DEFAULT]);
    assert_eq!(problems, [""; 0]);
    for action in ACTIONS {
        let reachable = keymap.bindings.iter().any(|binding| {
            binding.action == *action && binding.keys.iter().copied().all(works_everywhere)
        });
        assert!(reachable, "{action}");
    }
}

#[test]
fn lookup_searches_contexts_from_the_innermost() {
    let (keymap, _) = load(&[DEFAULT]);
    let ctrl_d = KeyPress::ctrl('d');
    let contexts = ["editor", "global"];
    assert_eq!(
        keymap.lookup(&contexts, &[], ctrl_d),
        Lookup::Actions(vec!["delete_forward", "exit"])
    );
    assert_eq!(
        keymap.lookup(&["global"], &[], ctrl_d),
        Lookup::Actions(vec!["exit"])
    );
    assert_eq!(
        keymap.lookup(&contexts, &[], KeyPress::char('q')),
        Lookup::None
    );
    assert_eq!(
        keymap.keys_for("editor", "newline"),
        ["ctrl+j", "shift+enter"]
    );
}

#[test]
fn prefix_lists_its_continuations() {
    let (keymap, problems) = load(&[
        "leader = \"ctrl+x\"\n[editor]\n\"leader s\" = \"submit\"\n\"leader t t\" = \"toggle_tools\"\n\
         [global]\n\"ctrl+x ctrl+c\" = \"exit\"\n",
    ]);
    assert_eq!(problems, [""; 0]);
    let leader = KeyPress::ctrl('x');
    let hint = |keys: &str, action| KeyHint {
        keys: keys.to_owned(),
        action,
    };
    let contexts = ["editor", "global"];
    assert_eq!(keymap.lookup(&contexts, &[], leader), Lookup::Prefix);
    assert_eq!(
        keymap.hints_after(&contexts, &[leader]),
        [
            hint("s", "submit"),
            hint("t t", "toggle_tools"),
            hint("ctrl+c", "exit")
        ]
    );
    assert_eq!(
        keymap.lookup(&contexts, &[leader], KeyPress::ctrl('c')),
        Lookup::Actions(vec!["exit"])
    );
    assert_eq!(
        keymap.lookup(&contexts, &[leader], KeyPress::char('z')),
        Lookup::None
    );
}

#[test]
fn later_files_override_and_unbind() {
    let (keymap, problems) = load(&[
        "[editor]\n\"ctrl+w\" = \"delete_word_backward\"\n\"ctrl+u\" = \"undo\"\n\"ctrl+k\" = \"redo\"\n",
        "[editor]\n\"ctrl+w\" = \"submit\"\n\"ctrl+u\" = \"\"\n\"ctrl+k ctrl+k\" = \"kill_to_line_end\"\n",
    ]);
    assert_eq!(problems, [""; 0]);
    let all: Vec<(&str, String, &str)> = keymap.all().collect();
    assert_eq!(
        all,
        [
            ("editor", "ctrl+w".to_owned(), "submit"),
            ("editor", "ctrl+k ctrl+k".to_owned(), "kill_to_line_end"),
        ]
    );
}

/// A binding that the file removes further down leaves the inherited ones in place.
#[test]
fn binding_taken_back_in_the_same_file_removes_nothing() {
    let base = "[editor]\n\"ctrl+x ctrl+s\" = \"submit\"\n";
    let file = "[editor]\n\"ctrl+x\" = \"undo\"\n\"CTRL+X\" = \"\"\n";
    let (keymap, problems) = load(&[base, file]);
    assert_eq!(problems, [""; 0]);
    let all: Vec<_> = keymap
        .all()
        .map(|(_, keys, action)| (keys, action))
        .collect();
    assert_eq!(all, [("ctrl+x ctrl+s".to_owned(), "submit")]);
}

#[test]
fn unbound_keys_stay_free_of_later_additions() {
    let default = "[global]\n\"ctrl+x\" = \"help\"\n";
    let own = "[global]\n\"ctrl+x\" = \"\"\n\"ctrl+y\" = \"\"\n\"ctrl+z\" = \"\"\n";
    let later = "[global]\n\"ctrl+z\" = \"suspend\"\n";
    let (mut keymap, problems) = load(&[default, own, later]);
    assert_eq!(problems, Vec::<String>::new());
    let mut add = |context, keys| {
        let outcome = keymap.bind_if_free(context, keys, "exit");
        (outcome, keymap.keys_for(context, "exit"))
    };
    // Unbinding the keys of an action frees them; unbinding keys without an action keeps them unused.
    assert_eq!(add("global", "ctrl+y"), (Ok(()), vec![]));
    assert_eq!(add("global", "ctrl+x"), (Ok(()), vec!["ctrl+x".to_owned()]));
    assert_eq!(add("editor", "ctrl+y"), (Ok(()), vec!["ctrl+y".to_owned()]));
    let (taken, _) = add("global", "ctrl+z");
    assert_eq!(taken, Err("`ctrl+z` is bound to `suspend`".to_owned()));
}

#[test]
fn problems_have_a_line_and_a_suggestion() {
    let (keymap, problems) = load(&["\
[editor]
\"ctrl+s\" = \"sumbit\"
\"cmd+s\" = \"submit\"
\"ctrl+a\" = \"line_start\"
\"Ctrl+A\" = \"up\"
\"ctrl+b\" = \"left\"
\"ctrl+b x\" = \"right\"
\"ctrl+e\" = \"line_end\"
\"ctrl+e\" = \"down\"
\"leader q\" = \"exit\"
\"ctrl+y\" = 3

[edtor]
\"ctrl+q\" = \"exit\"
"]);
    assert_eq!(
        problems,
        [
            "0.toml:2:12: unknown action `sumbit`; did you mean `submit`?",
            "0.toml:3:1: invalid key `cmd+s`; write keys as `ctrl+x`, `alt+left`, `shift+f5`, \
             `pageup` or a character, and put a space between the keys of a sequence",
            "0.toml:5:1: `ctrl+a` is already bound to `line_start` on line 4; in [editor] \
             remove one of the two",
            "0.toml:7:1: `ctrl+b x` is unreachable: line 6 binds `ctrl+b` to `left`; in [editor] \
             remove one of the two",
            "0.toml:9:1: \"ctrl+e\" is already bound on line 8; remove one of the two",
            "0.toml:10:1: invalid key `leader`; set one at the top of the file: leader = \
             \"ctrl+x\"",
            "0.toml:11:12: expected the name of an action, found integer; use an empty string to \
             remove the binding",
            "0.toml:13:2: unknown context `edtor`; did you mean `editor`?",
        ]
    );
    let loaded: Vec<String> = keymap.all().map(|(_, keys, _)| keys).collect();
    assert_eq!(loaded, ["ctrl+a", "ctrl+b", "ctrl+e"]);
}

#[test]
fn removed_action_gives_one_warning_and_other_bindings_load() {
    let (keymap, problems) = load(&["[editor]\n\"q\" = \"record\"\n\"ctrl+s\" = \"submit\"\n"]);
    assert_eq!(
        problems,
        ["0.toml:2:7: action `record` was removed from osier; delete this binding"]
    );
    let all: Vec<(&str, String, &str)> = keymap.all().collect();
    assert_eq!(all, [("editor", "ctrl+s".to_owned(), "submit")]);
}
