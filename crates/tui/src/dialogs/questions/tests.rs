//! The list of questions: events, keys and answers.

use super::*;
use crate::actions::Action;
use crate::conversation::transcript::proposal::subject_rows;
use osier_protocol::PermissionMode;
use osier_settings::ScreenSettings;
use osier_term::widgets::diff::Syntax;

fn subject_text(question: &Question, inner: usize) -> String {
    let rows = subject_rows(question, inner, &Syntax::default());
    rows.iter().map(Row::text).collect::<Vec<_>>().join("\n")
}

fn question(id: &str) -> Question {
    Question {
        id: id.to_owned(),
        origin: "the tool `x`".to_owned(),
        subagent: None,
        title: "Continue?".to_owned(),
        subject: None,
        kind: QuestionKind::Confirm,
    }
}

fn asked(id: &str) -> Event {
    Event::QuestionAsked {
        question: Box::new(question(id)),
    }
}

/// Commands that once hid a part, and how the dialog and the line above the editor show them.
const HIDDEN: &[(&str, &str)] = &[
    ("rm -rf ~ #\rls -la", "rm -rf ~ #␍ls -la"),
    ("rm x\x08\x08\x08\x08ls x", "rm x^H^H^H^Hls x"),
    ("\x1b]0;rm x;\x07ls", "^[]0;rm x;^Gls"),
    ("rm x\x1b[2K\x1b[1Gls", "rm x^[[2K^[[1Gls"),
    ("\u{9d}rm x\u{9c}ls", "\\x9drm x\\x9cls"),
    ("\u{9b}8mrm x\u{9b}0mls", "\\x9b8mrm x\\x9b0mls"),
    ("ls #\u{202e}x mr", "ls #\\u{202e}x mr"),
    ("ls\u{2028}rm x", "ls\\u{2028}rm x"),
    ("ls\u{85}rm x", "ls\\x85rm x"),
    ("ls\u{e0072}\u{e006d}", "ls\\u{e0072}\\u{e006d}"),
    (
        "r\u{200b}m\u{2060}\u{feff}",
        "r\\u{200b}m\\u{2060}\\u{feff}",
    ),
    ("ls\u{a0}-la\u{3164}", "ls\\u{a0}-la\\u{3164}"),
    ("a\0b\x7f", "a^@b^?"),
];

#[test]
fn commands_are_shown_in_logical_order() {
    let question = command("rm א ; cp ב ג");
    let rows = subject_rows(&question, 40, &Syntax::default());
    assert!(!rows.is_empty() && rows.iter().all(|row| row.is_logical));
}

fn command(command: &str) -> Question {
    Question {
        title: "Run this command?".to_owned(),
        subject: Some(Subject::Command {
            command: command.to_owned(),
            cwd: "/w".to_owned(),
        }),
        kind: QuestionKind::Permission {
            call_id: "c".to_owned(),
            tool: "bash".to_owned(),
            arguments: serde_json::json!({ "command": command }),
            patterns: Vec::new(),
        },
        ..question("a")
    }
}

#[test]
fn questions_show_what_runs() {
    for (hidden, shown) in HIDDEN {
        let question = command(hidden);
        assert_eq!(subject_text(&question, 90), format!("$ {shown}\n  in /w"));
        assert_eq!(
            describe(&question, 90),
            format!("Run this command? $ {shown}")
        );
    }
}

#[test]
fn a_long_directory_is_complete() {
    let question = Question {
        subject: Some(Subject::Command {
            command: "ls".to_owned(),
            cwd: "~/projects/platform-services/payments-api".to_owned(),
        }),
        ..command("ls")
    };
    assert_eq!(
        subject_text(&question, 30),
        "$ ls\n  in ~/projects/platform-\n     services/payments-api"
    );
}

#[test]
fn long_commands_are_counted() {
    let blanks = command(&format!("ls{}; rm x", " ".repeat(4000)));
    assert_eq!(
        subject_text(&blanks, 90),
        "$ ls⟨4,000 blanks⟩; rm x\n  in /w"
    );
    let newlines = command(&format!("ls{}rm x", "\n".repeat(301)));
    assert_eq!(
        subject_text(&newlines, 90),
        "$ ls\n  ⟨300 empty lines⟩\n  rm x\n  in /w"
    );
    let lines = command(&format!("ls\n{}rm x", "x\n".repeat(211)));
    let line = describe(&lines, 60);
    assert!(line.ends_with("… +199 lines"), "{line}");
    let long = command(&"y".repeat(4100));
    let line = describe(&long, 60);
    assert!(line.ends_with("… +4,080 characters"), "{line}");
    // The dialog scrolls, and counts what even that cannot reach.
    let text = subject_text(&command(&"x\n".repeat(6000)), 90);
    assert!(text.ends_with("… +1,002 lines"), "{}", text.len());
}

#[test]
fn a_line_that_is_too_long_keeps_the_sentence_that_asks() {
    let trust = Question {
        origin: "this project".to_owned(),
        subagent: None,
        title: "Servers start in it only with trust. Trust this folder?".to_owned(),
        subject: Some(Subject::Text {
            text: "no settings".to_owned(),
        }),
        kind: QuestionKind::Confirm,
        ..question("a")
    };
    let title = "this project: Servers start in it only with trust. Trust this folder?";
    assert_eq!(describe(&trust, 90), format!("{title} no settings"));
    assert_eq!(describe(&trust, 75), title);
    assert_eq!(describe(&trust, 34), "this project: Trust this folder?");
}

#[test]
fn a_question_is_a_notification_only_without_the_focus() {
    let (mut questions, mut overlays) = (Questions::default(), Overlays::default());
    let mut outbox = Outbox::default();
    for (id, focused, count) in [("a", true, 0), ("b", false, 1), ("b", false, 0)] {
        questions.on_event(&asked(id), focused, None, &mut overlays, &mut outbox);
        assert_eq!(outbox.take().len(), count);
    }
    assert_eq!(questions.height(), 2);
}

#[test]
fn an_edited_plan_is_shown_again_and_kept_as_the_draft() {
    let (mut questions, mut overlays) = (Questions::default(), Overlays::default());
    let mut outbox = Outbox::default();
    let plan = Question {
        subject: Some(Subject::Markdown {
            text: "# One".to_owned(),
        }),
        kind: QuestionKind::Plan {
            call_id: "c".to_owned(),
            path: None,
            modes: vec![PermissionMode::Ask],
            before: None,
        },
        ..question("a")
    };
    let asked = Event::QuestionAsked {
        question: Box::new(plan),
    };
    questions.on_event(&asked, true, None, &mut overlays, &mut outbox);
    assert_eq!(questions.first().as_deref(), Some("Continue? One"));
    assert!(questions.enter(&mut overlays));
    questions.edited("a", "# Two\n", &mut overlays, &mut outbox);
    assert_eq!(questions.waiting[0].draft, ["# Two"]);
    assert_eq!(questions.open.as_deref(), Some("a"));
    // An empty file changes nothing.
    questions.edited("a", " \n", &mut overlays, &mut outbox);
    assert_eq!(questions.waiting[0].draft, ["# Two"]);
    assert!(matches!(outbox.take()[..], [Action::Toast(_)]));
}

#[test]
fn a_new_question_opens_above_an_empty_editor_and_the_next_one_follows() {
    let (mut questions, mut overlays) = (Questions::default(), Overlays::default());
    let mut outbox = Outbox::default();
    let no = || Answer::Refuse { reason: None };
    questions.on_event(&asked("a"), true, None, &mut overlays, &mut outbox);
    assert!(overlays.is_empty() && questions.is_waiting());
    questions.on_event(
        &asked("b"),
        true,
        Some(&mut Editor::new()),
        &mut overlays,
        &mut outbox,
    );
    assert_eq!(questions.open.as_deref(), Some("a"));
    questions.answer(
        "a".to_owned(),
        no(),
        &Editor::new(),
        &mut overlays,
        &mut outbox,
    );
    assert_eq!(questions.open.as_deref(), Some("b"));
    // A question that was left does not open again by itself.
    questions.leave("b", Vec::new(), &mut overlays);
    let all = Event::Questions {
        questions: vec![question("b")],
    };
    questions.on_event(
        &all,
        true,
        Some(&mut Editor::new()),
        &mut overlays,
        &mut outbox,
    );
    assert!(overlays.is_empty());
    for (prompt, is_answer) in [("y", true), ("", true), ("Yes.", true), ("yes, but", false)] {
        assert_eq!(questions.is_answer(prompt), is_answer, "{prompt}");
    }
}

#[test]
fn keys_do_not_answer_a_dialog_that_has_just_opened_by_itself() {
    let keymap = Keymap::default();
    let theme = osier_term::theme::Theme::default();
    let links = osier_term::frame::Links::default();
    let now = std::time::Instant::now();
    let area = Rect::new(0, 0, 60, 20);
    let mut buffer = ratatui::buffer::Buffer::empty(area);
    let (mut questions, mut overlays) = (Questions::default(), Overlays::default());
    let mut outbox = Outbox::default();
    questions.on_event(
        &asked("a"),
        true,
        Some(&mut Editor::new()),
        &mut overlays,
        &mut outbox,
    );
    let view = osier_term::component::View {
        theme: &theme,
        keymap: &keymap,
        settings: &ScreenSettings::default(),
        links: &links,
        now,
        focused: true,
    };
    overlays.render(area, &mut buffer, &view);
    let y = osier_term::input::KeyPress::char('y');
    let _ = overlays.on_key(y, &mut outbox.cx(now + UNASKED / 2));
    // The character is the start of a prompt.
    let (id, draft) = ("a".to_owned(), Vec::new());
    let text = "y".to_owned();
    assert_eq!(
        outbox.take(),
        [
            Action::LeaveQuestion { id, draft },
            Action::SetEditor { text }
        ]
    );
    let _ = overlays.on_command(Command::Accept, &mut outbox.cx(now + UNASKED / 2));
    assert_eq!(outbox.take(), []);
    // A key that is pressed again and again answers nothing.
    let _ = overlays.on_command(Command::Accept, &mut outbox.cx(now + UNASKED));
    assert_eq!(outbox.take(), []);
    let _ = overlays.on_key(y, &mut outbox.cx(now + UNASKED * 2));
    assert!(matches!(outbox.take()[..], [Action::Answer { .. }]));
}

#[test]
fn an_answer_to_a_withdrawn_question_is_not_sent() {
    let (mut questions, mut overlays) = (Questions::default(), Overlays::default());
    let mut outbox = Outbox::default();
    for id in ["a", "b"] {
        questions.on_event(&asked(id), true, None, &mut overlays, &mut outbox);
    }
    assert!(questions.enter(&mut overlays));
    let closed = Event::QuestionClosed { id: "a".to_owned() };
    questions.on_event(&closed, true, None, &mut overlays, &mut outbox);
    assert!(overlays.is_empty());
    assert!(matches!(outbox.take()[..], [Action::Toast(_)]));
    let refuse = || Answer::Refuse { reason: None };
    questions.answer(
        "a".to_owned(),
        refuse(),
        &Editor::new(),
        &mut overlays,
        &mut outbox,
    );
    assert_eq!(outbox.take(), []);
    questions.answer(
        "b".to_owned(),
        refuse(),
        &Editor::new(),
        &mut overlays,
        &mut outbox,
    );
    assert_eq!(outbox.take().len(), 1);
}
