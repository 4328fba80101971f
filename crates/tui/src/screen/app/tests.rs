//! The parts of the app together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{App, AppOptions};
use crate::actions::{Command, Effect, Toast, command::Run, command::commands};
use crate::dialogs::Appearance;
use osier_agent::{
    AccountingEntry, AgentMessage, Event as AgentEvent, RunOutcome, Severity, UserMessage,
};
use osier_base::folders::Folders;
use osier_llm::{TurnStatus, Usage};
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Subject};
use osier_protocol::{
    ChangeKind, CheckpointEvent, DiffRange, Event, FileChange, FileDiff, Op, PermissionMode,
    StoredMessage, TreeEvent,
};
use osier_settings::ScreenSettings;
use osier_term::Highlighter;
use osier_term::frame::Links;
use osier_term::input::{InputEvent, KeyModifiers, MouseButton, MouseEventKind, MouseInput};
use osier_term::keymap::parse_key;
use osier_term::terminal::TerminalKind;

fn app() -> App {
    let kind = TerminalKind::detect(|_| None);
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::under(folder.path());
    let appearance = Appearance::new(&folders, &kind);
    App::new(AppOptions {
        theme: appearance.theme("dark").0,
        keymap: appearance.keymap("default").0,
        highlighter: Highlighter::new(drop),
        settings: ScreenSettings::default(),
        cwd: String::new(),
        model_hint: String::new(),
    })
}

#[test]
fn every_command_of_the_app_is_run_by_a_feature() {
    let now = Instant::now();
    let mut count = 0;
    for info in commands().filter(|info| matches!(info.run, Run::Feature)) {
        let applies = app().feature_command(info.command, info.category, now);
        assert!(applies.is_some(), "{}", info.name);
        count += 1;
    }
    assert!(count > 50, "{count}");
    let (command, now) = (Command::Newline, Instant::now());
    assert!(!app().app_command(command, now));
}

fn rows(app: &mut App, (width, height): (u16, u16), now: Instant) -> Vec<String> {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    app.draw(&mut buffer, &Links::default(), now);
    let row = |y| {
        (0..width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    };
    (0..height).map(|y| row(y).trim_end().to_owned()).collect()
}

fn mouse(app: &mut App, kind: MouseEventKind, (column, row): (u16, u16), now: Instant) {
    let mouse = MouseInput {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    };
    app.on_input(InputEvent::Mouse(mouse), now);
}

/// A conversation of many rows whose last call waits for a permission, and a time at which its question takes keys.
fn asked(now: Instant) -> (App, Instant) {
    let mut app = app();
    app.transcript.notice(Severity::Info, "first");
    for number in 0..30 {
        let text = format!("row {number}");
        app.transcript.notice(Severity::Info, &text);
    }
    let arguments =
        serde_json::json!({"file_path": "src/a.rs", "old_string": "old", "new_string": "new"});
    let start = AgentEvent::ToolExecutionStart {
        call_id: "c".to_owned(),
        tool_name: "edit".to_owned(),
        arguments: arguments.clone(),
    };
    let question = Question {
        id: "q".to_owned(),
        origin: "the tool `edit`".to_owned(),
        subagent: None,
        title: "Make this change?".to_owned(),
        subject: Some(Subject::Diff {
            path: "src/a.rs".to_owned(),
            diff: "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-old\n+new\n".to_owned(),
        }),
        kind: QuestionKind::Permission {
            call_id: "c".to_owned(),
            tool: "edit".to_owned(),
            arguments,
            patterns: ["edit(src/a.rs)", "edit(./**)", "edit"]
                .map(str::to_owned)
                .to_vec(),
        },
    };
    let question = Box::new(question);
    // The question comes before its call.
    app.on_event(&Event::QuestionAsked { question }, now);
    app.on_event(&Event::Agent(start), now);
    rows(&mut app, (80, 24), now);
    (app, now + Duration::from_secs(1))
}

#[test]
fn a_question_ends_the_conversation_under_its_call() {
    let (mut app, now) = asked(Instant::now());
    let shown = rows(&mut app, (80, 24), now);
    let call = ["◐ edit src/a.rs · +1 -1", "    1 - old", "    1 + new"];
    assert_eq!(shown[14..19], [&["· row 29", ""], &call[..]].concat());
    assert!(
        shown[19].starts_with("─ Make this change? ──"),
        "{}",
        shown[19]
    );
    assert_eq!(
        shown[20..22],
        [
            "❯ y once   s session   p project   a all edits   e edit   n no, because…",
            "  s, p: edit(src/a.rs) · a: edit(./**), write(./**) · ←→ wider, 1 of 3",
        ]
    );
    assert!(
        shown[22].contains("enter select · esc later"),
        "{}",
        shown[22]
    );
    // The newest rows are on small screens as well.
    for (size, place) in [((60, 20), 11), ((40, 10), 0)] {
        let shown = rows(&mut app, size, now);
        assert_eq!(shown[place..place + 3], call, "{shown:#?}");
        assert!(
            shown[place + 3].starts_with("─ Make this change?"),
            "{shown:#?}"
        );
    }
    // Keys and the wheel above the question scroll the conversation.
    let newest = |app: &mut App| rows(app, (80, 24), now)[14..19].to_vec();
    assert_eq!(newest(&mut app)[2..], call);
    app.on_input(InputEvent::Key(parse_key("pageup").unwrap()), now);
    assert!(!newest(&mut app).contains(&"    1 + new".to_owned()));
    let keys = rows(&mut app, (80, 24), now)[22].clone();
    // All rows down to the end of the call, of which the call has three.
    let (_, below) = keys.split_once("↓ ").unwrap();
    let below = below.strip_suffix(" more rows ─").unwrap();
    assert!(below.parse::<usize>().unwrap() > 3, "{below}");
    for _ in 0..8 {
        mouse(&mut app, MouseEventKind::ScrollDown, (5, 5), now);
    }
    assert_eq!(newest(&mut app)[2..], call);
}

#[test]
fn the_mouse_selects_an_answer_by_a_click_and_never_by_the_wheel() {
    let (mut app, now) = asked(Instant::now());
    let answers = |app: &mut App| rows(app, (80, 24), now)[20].clone();
    let first = answers(&mut app);
    for row in [5, 20, 22] {
        for kind in [MouseEventKind::ScrollDown, MouseEventKind::ScrollUp] {
            mouse(&mut app, kind, (5, row), now);
            assert_eq!(answers(&mut app), first, "{row}");
        }
    }
    // Neither do the arrows reach the last answer from the first one.
    app.on_input(InputEvent::Key(parse_key("up").unwrap()), now);
    assert_eq!(answers(&mut app), first);
    let click = |app: &mut App| {
        let column = answers(app).chars().position(|char| char == 'a').unwrap();
        let at = (column as u16 + 2, 20);
        mouse(app, MouseEventKind::Down(MouseButton::Left), at, now);
        mouse(app, MouseEventKind::Up(MouseButton::Left), at, now);
    };
    let _ = app.take_ops();
    click(&mut app);
    assert!(answers(&mut app).contains("❯ a all edits"));
    assert_eq!(app.take_ops(), []);
    click(&mut app);
    let answer = Answer::Allow {
        grant: Grant::Edits,
        arguments: None,
    };
    let id = "q".to_owned();
    assert_eq!(app.take_ops(), [Op::AnswerQuestion { id, answer }]);
}

#[test]
fn a_call_is_edited_as_text() {
    let (mut app, now) = asked(Instant::now());
    let press = |app: &mut App, key: &str| {
        app.on_input(InputEvent::Key(parse_key(key).unwrap()), now);
        rows(app, (80, 24), now)
    };
    let shown = press(&mut app, "e");
    let from = shown.iter().position(|row| row == "❯ ─── file_path");
    let from = from.unwrap_or_else(|| panic!("{shown:#?}"));
    let text = [
        "  src/a.rs",
        "  ─── old_string",
        "  old",
        "  ─── new_string",
        "  new",
    ];
    assert_eq!(shown[from + 1..from + 6], text);
    press(&mut app, "\"");
    let _ = app.take_ops();
    press(&mut app, "enter");
    let arguments =
        serde_json::json!({"file_path": "src/a.rs", "old_string": "old", "new_string": "new\""});
    let answer = Answer::Allow {
        grant: Grant::Once,
        arguments: Some(arguments),
    };
    let id = "q".to_owned();
    assert_eq!(app.take_ops(), [Op::AnswerQuestion { id, answer }]);
}

#[test]
fn lists_leave_the_newest_rows_in_sight() {
    let now = Instant::now();
    for (size, least) in [((60, 20), 10), ((80, 24), 14), ((100, 30), 19)] {
        let mut app = app();
        for number in 0..30 {
            let text = format!("row {number}");
            app.transcript.notice(Severity::Info, &text);
        }
        app.on_input(InputEvent::Key(parse_key("/").unwrap()), now);
        let shown = rows(&mut app, size, now);
        let newest = shown.iter().position(|row| row == "· row 29");
        assert!(newest.is_some_and(|row| row + 1 >= least), "{shown:#?}");
        assert!(shown[newest.unwrap() + 1].ends_with("──"), "{shown:#?}");
        app.on_input(InputEvent::Key(parse_key("ctrl+u").unwrap()), now);
        app.act(Command::Permissions, now);
        let shown = rows(&mut app, size, now);
        let newest = shown.iter().position(|row| row == "· row 29");
        assert!(newest.is_some_and(|row| row >= 3), "{shown:#?}");
        assert!(
            shown[newest.unwrap() + 1].starts_with("╭─ Permissions"),
            "{shown:#?}"
        );
    }
}

#[test]
fn before_the_first_prompt_the_screen_says_what_is_ahead() {
    let (mut app, now) = (app(), Instant::now());
    let moved = |messages: Vec<StoredMessage>| {
        Event::Tree(TreeEvent::Moved {
            from: Some("1".to_owned()),
            leaf: None,
            messages,
            at_start: true,
            count: 1,
            prompt: None,
        })
    };
    let prompt = StoredMessage {
        entry_id: "1".to_owned(),
        message: Arc::new(AgentMessage::User(UserMessage::new("go", 0))),
    };
    app.on_event(&moved(vec![prompt]), now);
    app.on_event(&moved(Vec::new()), now);
    let shown = rows(&mut app, (80, 24), now);
    let expected = [
        "· before the first prompt of this session; the branch that you left has 1",
        "  prompt: /redo to return, /tree to see it",
        "",
    ];
    assert_eq!(shown[..3], expected);
    assert!(
        !shown.iter().any(|row| row.contains("osier ")),
        "{shown:#?}"
    );
}

#[test]
fn problems_of_one_file_are_shown_once_in_three_rows() {
    let (mut app, now) = (app(), Instant::now());
    for _ in 0..2 {
        for line in 1..6 {
            let text = format!("/home/ann/settings.toml:{line}:1: unknown setting `a{line}`");
            app.transcript.notice(Severity::Warning, &text);
        }
    }
    let shown = rows(&mut app, (80, 40), now);
    let first = shown.iter().position(|row| row.starts_with('!')).unwrap();
    let expected = [
        "! … 3 more: fix these, then /reload",
        "  settings.toml:4:1: unknown setting a4",
        "  settings.toml:5:1: unknown setting a5",
    ];
    assert_eq!(shown[first..first + 3], expected);
    let rest = &shown[first + 3..];
    assert!(
        !rest.iter().any(|row| row.contains("settings.toml")),
        "{rest:#?}"
    );
}

#[test]
fn ctrl_d_with_text_says_what_quits() {
    let (mut app, now) = (app(), Instant::now());
    for key in ["a", "b", "left", "ctrl+d", "ctrl+d"] {
        app.on_input(InputEvent::Key(parse_key(key).unwrap()), now);
    }
    let shown = rows(&mut app, (80, 24), now);
    assert_eq!(shown[22], "❯ a");
    let told = "  ctrl+d quits when the prompt is empty; ctrl+c clears it";
    assert_eq!(shown[20], told);
    assert_eq!(app.take_effects(), []);
}

#[test]
fn a_backslash_at_the_end_continues_the_prompt_on_another_line() {
    let (mut app, now) = (app(), Instant::now());
    press(&mut app, &["a", "\\", "enter", "b"], now);
    assert_eq!(app.prompt.editor.text(), "a\nb");
    press(&mut app, &["ctrl+c", "!", "a", "\\", "enter", "b"], now);
    assert_eq!(app.prompt.editor.text(), "!a\\\nb");
}

#[test]
fn one_key_walks_the_densities_and_saves_each() {
    let (mut app, now) = (app(), Instant::now());
    let mut seen = Vec::new();
    for _ in 0..3 {
        app.on_input(InputEvent::Key(parse_key("ctrl+o").unwrap()), now);
        seen.push(app.take_effects());
    }
    let saved = |value: &str| {
        let name = "density";
        let value = format!("\"{value}\"");
        vec![Effect::Remember { name, value }]
    };
    assert_eq!(seen, [saved("everything"), saved("quiet"), saved("normal")]);
    let shown = rows(&mut app, (80, 24), now);
    assert_eq!(shown[20], "  normal: the start or the end of each output");
}

#[test]
fn a_narrow_screen_has_the_conversation_the_editor_and_questions() {
    for width in [27, 32, 39] {
        let (mut app, now) = asked(Instant::now());
        let shown = rows(&mut app, (width, 24), now);
        let at = |text: &str| shown.iter().position(|row| row.starts_with(text));
        let call = at("◐ edit src/a.rs").unwrap_or_else(|| panic!("{shown:#?}"));
        let question = shown
            .iter()
            .position(|row| row.contains("Make this change?"));
        let question = question.unwrap_or_else(|| panic!("{shown:#?}"));
        assert!(call < question, "{shown:#?}");
        assert!(at("❯ y once").is_some(), "{shown:#?}");
        let _ = app.take_ops();
        app.on_input(InputEvent::Key(parse_key("y").unwrap()), now);
        assert_eq!(app.take_ops().len(), 1);
        app.on_event(&Event::QuestionClosed { id: "q".to_owned() }, now);
        for character in "a long prompt that has to wrap".chars() {
            app.on_input(InputEvent::Key(osier_term::KeyPress::char(character)), now);
        }
        let shown = rows(&mut app, (width, 24), now);
        assert!(shown.contains(&"· row 29".to_owned()), "{shown:#?}");
        assert!(shown.iter().any(|row| row.ends_with("wrap")), "{shown:#?}");
    }
}

#[test]
fn every_list_is_drawn_on_the_narrowest_screen() {
    let now = Instant::now();
    for info in commands().filter(|info| matches!(info.run, Run::Feature)) {
        let mut app = app();
        app.feature_command(info.command, info.category, now);
        for size in [(27, 10), (30, 24), (39, 12)] {
            let shown = rows(&mut app, size, now);
            assert_eq!(shown.len(), usize::from(size.1), "{}", info.name);
        }
    }
}

fn press(app: &mut App, keys: &[&str], now: Instant) {
    for key in keys {
        app.on_input(InputEvent::Key(parse_key(key).unwrap()), now);
    }
}

#[test]
fn the_keys_of_a_question_are_above_its_answers() {
    for (size, keys) in [((80, 24), 5), ((60, 20), 5), ((40, 16), 3)] {
        let (mut app, now) = asked(Instant::now());
        let before = rows(&mut app, size, now);
        let title = |row: &String| row.starts_with("─ Make this change?");
        let question = before.iter().position(title).unwrap();
        press(&mut app, &["f1"], now);
        let shown = rows(&mut app, size, now);
        assert_eq!(shown[question..], before[question..]);
        let page = shown.iter().position(|row| row.starts_with("─ Keys ──"));
        let page = page.unwrap_or_else(|| panic!("{shown:#?}"));
        assert!(page + keys <= question, "{shown:#?}");
        let call = page.min(3);
        assert_eq!(shown[page - call..page], before[question - call..question]);
    }
}

#[test]
fn a_notice_covers_no_keys_and_no_input() {
    let long = "a notice that is longer than one row of this screen, which has eighty columns only";
    for (notice, count) in [("copied", 1), (long, 2)] {
        let (mut app, now) = asked(Instant::now());
        let before = rows(&mut app, (80, 24), now);
        app.activity.toast.show(&Toast::info(notice), now);
        let shown = rows(&mut app, (80, 24), now);
        assert_eq!(shown[19..], before[19..]);
        assert_eq!(shown[16 - count..19 - count], before[16..19]);
        assert!(shown[19 - count].starts_with(&format!("  {}", &notice[..6])));

        let mut app = self::app();
        app.transcript.notice(Severity::Info, "first");
        press(&mut app, &["ctrl+f", "f", "i"], now);
        let before = rows(&mut app, (80, 24), now);
        assert!(before[23].starts_with("find: fi"), "{before:#?}");
        app.activity.toast.show(&Toast::info(notice), now);
        let shown = rows(&mut app, (80, 24), now);
        assert_eq!(shown[21..], before[21..]);
        let seen = shown.iter().filter(|row| row.contains(&notice[..6]));
        assert_eq!(seen.count(), 1, "{shown:#?}");
    }
}

#[test]
fn the_tree_opens_over_a_question() {
    let (mut app, now) = asked(Instant::now());
    let before = rows(&mut app, (80, 24), now);
    press(&mut app, &["alt+t"], now);
    let shown = rows(&mut app, (80, 24), now);
    assert!(shown[0].starts_with(" Tree "), "{shown:#?}");
    press(&mut app, &["esc"], now);
    assert_eq!(rows(&mut app, (80, 24), now), before);
}

#[test]
fn the_keys_of_the_tree_leave_its_lines_of_keys() {
    let (mut app, now) = (app(), Instant::now());
    press(&mut app, &["alt+t"], now);
    let before = rows(&mut app, (80, 24), now);
    assert!(before[22].starts_with(" enter go here"), "{before:#?}");
    press(&mut app, &["?"], now);
    let shown = rows(&mut app, (80, 24), now);
    assert_eq!(shown[22..], before[22..]);
    assert!(shown.iter().any(|row| row.starts_with("─ Keys ──")));
}

#[test]
fn an_unknown_command_is_named_while_it_is_typed() {
    let (mut app, now) = (app(), Instant::now());
    for (typed, told) in [
        ("/modle", "  unknown command /modle; did you mean /model?"),
        (
            "/zzz",
            "  unknown command /zzz; type / to list the commands",
        ),
        (
            "/zzz and more",
            "  unknown command /zzz; type / to list the commands",
        ),
        ("/etc/hosts", ""),
        ("/model zzz", ""),
    ] {
        for character in typed.chars() {
            app.on_input(InputEvent::Key(osier_term::KeyPress::char(character)), now);
        }
        let shown = rows(&mut app, (80, 24), now);
        assert_eq!(shown[20], told);
        press(&mut app, &["ctrl+u"], now);
        assert_eq!(rows(&mut app, (80, 24), now)[20], "");
    }
}

#[test]
fn a_plan_has_the_rows_that_the_conversation_does_not_need() {
    let now = Instant::now();
    let steps: Vec<String> = (1..=9)
        .map(|step| format!("{step}. step {step}\n"))
        .collect();
    let plan = steps.concat();
    for ((width, height), left) in [((60, 20), 3), ((80, 24), 7), ((100, 30), 13)] {
        let mut app = app();
        for number in 0..30 {
            let text = format!("row {number}");
            app.transcript.notice(Severity::Info, &text);
        }
        let question = Question {
            id: "q".to_owned(),
            origin: String::new(),
            subagent: None,
            title: "Approve this plan?".to_owned(),
            subject: Some(Subject::Markdown { text: plan.clone() }),
            kind: QuestionKind::Plan {
                call_id: "c".to_owned(),
                path: None,
                modes: vec![PermissionMode::Ask],
                before: None,
            },
        };
        let question = Box::new(question);
        app.on_event(&Event::QuestionAsked { question }, now);
        let shown = rows(&mut app, (width, height), now);
        let step = |number| {
            shown
                .iter()
                .any(|row| row.ends_with(&format!("step {number}")))
        };
        assert!((1..=9).all(step), "{shown:#?}");
        let newest = shown.iter().position(|row| row == "· row 29");
        assert!(newest.is_some_and(|row| row + 1 >= left), "{shown:#?}");
    }
}

#[test]
fn a_failure_names_the_command_that_helps() {
    let message = || "no".to_owned();
    for (status, hint) in [
        (TurnStatus::AuthError { message: message() }, "/login"),
        (TurnStatus::QuotaExceeded { message: message() }, "/model"),
        (
            TurnStatus::ContextOverflow { message: message() },
            "/compact",
        ),
        (TurnStatus::Timeout { message: message() }, "/retry"),
    ] {
        let (mut app, now) = (app(), Instant::now());
        app.transcript.notice(Severity::Info, "first");
        let outcome = RunOutcome::Failed { status };
        app.on_event(&Event::Agent(AgentEvent::AgentSettled { outcome }), now);
        let shown = rows(&mut app, (80, 24), now);
        assert!(
            shown[20].starts_with(&format!("  {hint} ")),
            "{}",
            shown[20]
        );
    }
}

#[test]
fn a_commented_change_keeps_the_keys_in_sight() {
    let (mut app, now) = (app(), Instant::now());
    app.act(Command::Changes, now);
    let file = FileDiff {
        change: FileChange {
            path: "a".to_owned(),
            kind: ChangeKind::Modify,
            by_hand: false,
            obstacle: None,
        },
        diff: "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-old\n+new\n".to_owned(),
        from: None,
    };
    let event = CheckpointEvent::FileDiffs {
        request: 1,
        range: DiffRange::Session,
        known: true,
        files: vec![file],
    };
    app.on_event(&Event::Checkpoint(event), now);
    let before = rows(&mut app, (80, 24), now);
    assert!(before[23].starts_with(" ] change"), "{before:#?}");
    press(&mut app, &["c", "w", "h", "y", "enter"], now);
    let shown = rows(&mut app, (80, 24), now);
    assert_eq!(shown[23], before[23]);
    assert_eq!(shown[22], " ✎ why");
}

#[test]
fn the_mode_changes_while_a_question_waits() {
    let (mut app, now) = asked(Instant::now());
    let key = parse_key("alt+p").unwrap();
    app.on_input(InputEvent::Key(key), now);
    let requests = app.take_ops();
    assert!(requests.contains(&Op::CyclePermissions), "{requests:?}");
}

#[test]
fn an_open_terminal_is_named_before_osier_quits() {
    let (mut app, now) = (app(), Instant::now());
    app.footer.terminals = 1;
    app.quit();
    let shown = rows(&mut app, (80, 24), now).join("\n");
    assert!(shown.contains("A terminal is still open"), "{shown}");
    assert!(shown.contains("Quit and stop it"), "{shown}");
}

/// The footer also counts calls outside of the conversation, such as for a compaction.
#[test]
fn the_footer_counts_every_call_of_a_model() {
    let (mut app, now) = (app(), Instant::now());
    for output in [170, 235] {
        let usage = Usage {
            input: 1_000,
            output,
            ..Usage::default()
        };
        let entry = AccountingEntry::Llm {
            timestamp: 0,
            provider: "m".to_owned(),
            model: "x".to_owned(),
            usage,
            latency_ms: 1,
            status: "success".to_owned(),
        };
        app.on_event(&Event::Agent(AgentEvent::Accounting { entry }), now);
    }
    let shown = rows(&mut app, (80, 24), now);
    assert!(shown[23].contains("↑2.0k ↓405"), "{}", shown[23]);
}
