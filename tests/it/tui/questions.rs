//! Questions that wait above the editor, and their dialogs.

use osier_llm::Script;
use osier_protocol::questions::{Answer, Choice, Grant, Question, QuestionKind, Subject};
use osier_protocol::{Event, PermissionMode};
use osier_term::input::InputEvent;
use osier_tui::Effect;
use serde_json::{Value, json};

use super::support::Screen;

fn question(kind: QuestionKind) -> Question {
    Question {
        id: String::new(),
        origin: "the tool `bash`".into(),
        subagent: None,
        title: "Run this command?".into(),
        subject: None,
        kind,
    }
}

fn permission() -> Question {
    let kind = QuestionKind::Permission {
        call_id: "c1".into(),
        tool: "bash".into(),
        arguments: json!({"command": "rm -r target", "timeout": 5}),
        patterns: vec!["bash(rm -r target)".into(), "bash(rm *)".into()],
    };
    let subject = Some(Subject::Command {
        command: "rm -r target".into(),
        cwd: "~/work".into(),
    });
    Question {
        subject,
        ..question(kind)
    }
}

async fn start() -> Screen {
    Screen::new(80, 24).start().await
}

/// Asks a question and waits until its line is shown.
async fn asked(screen: &mut Screen, question: Question) -> tokio::task::JoinHandle<Answer> {
    let answer = screen.ask(question);
    screen
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    answer
}

async fn closed(screen: &mut Screen) {
    screen
        .until(|event| matches!(event, Event::QuestionClosed { .. }))
        .await;
}

/// Asks a question, opens and draws the dialog, presses `keys` and returns the answer.
async fn answered(question: Question, keys: &str) -> Answer {
    let mut screen = Box::pin(start()).await;
    let answer = asked(&mut screen, question).await;
    screen.press("alt+a").screen();
    for key in keys.split(' ') {
        screen.press(key).screen();
    }
    closed(&mut screen).await;
    answer.await.unwrap()
}

#[tokio::test]
async fn question_is_above_the_editor_and_keeps_the_draft() {
    let mut screen = start().await;
    screen.type_text("half a though");
    let first = asked(&mut screen, permission()).await;
    let second = asked(&mut screen, question(QuestionKind::Confirm)).await;
    screen.type_text("t, y");
    assert_eq!(screen.editor(), "half a thought, y");
    insta::assert_snapshot!("question_waits", screen.styled());
    screen.press("alt+a");
    insta::assert_snapshot!("question_permission", screen.styled());
    screen.press("y");
    closed(&mut screen).await;
    let grant = Grant::Once;
    let expected = Answer::Allow {
        grant,
        arguments: None,
    };
    assert_eq!(first.await.unwrap(), expected);
    // The next question covers the editor, which still has the text.
    assert_eq!(screen.app.prompt.editor.text(), "half a thought, y");
    screen.press("alt+a").screen();
    screen.press("n");
    closed(&mut screen).await;
    assert_eq!(second.await.unwrap(), Answer::Refuse { reason: None });
    assert!(!screen.screen().contains("to answer"));
}

#[tokio::test]
async fn long_pattern_and_choice_count_what_is_cut() {
    let mut screen = Screen::new(60, 24).start().await;
    let mut long = permission();
    if let QuestionKind::Permission { patterns, .. } = &mut long.kind {
        *patterns = vec![format!("bash(rm {} /etc)", "a".repeat(100))];
    }
    let row = |screen: &str, part: &str| {
        let row = screen.lines().find(|row| row.contains(part)).unwrap();
        row.trim_matches([' ', '│']).to_owned()
    };
    let first = asked(&mut screen, long).await;
    let shown = screen.press("alt+a").screen();
    assert_eq!(
        row(&shown, "s, p:"),
        "s, p: bash(rm aaaaaaa…+68…aaaaaaaaaaaaaaaaaaaaaaaaa /etc)"
    );
    screen.press("y");
    closed(&mut screen).await;
    first.await.unwrap();

    let choices = vec![Choice {
        value: "a".into(),
        label: "Keep".into(),
        description: "b".repeat(90),
    }];
    let select = question(QuestionKind::Select {
        choices,
        other: false,
    });
    let second = asked(&mut screen, select).await;
    let shown = screen.press("alt+a").screen();
    assert_eq!(
        row(&shown, "Keep"),
        "❯ 1 Keep  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… +57 characters"
    );
    screen.press("1");
    closed(&mut screen).await;
    second.await.unwrap();
}

#[tokio::test]
async fn keys_before_the_dialog_is_drawn_do_not_answer() {
    let mut screen = start().await;
    let answer = asked(&mut screen, permission()).await;
    // Neither keys before the dialog opens nor keys in the same burst as the key that opens it
    // answer the question.
    screen
        .type_text("yy")
        .press("alt+a")
        .type_text("ysp")
        .press("enter ctrl+x");
    assert!(screen.screen().contains("y once"));
    assert!(!answer.is_finished());
    screen.press("y");
    closed(&mut screen).await;
    assert!(matches!(answer.await.unwrap(), Answer::Allow { .. }));
    assert_eq!(screen.editor(), "yy");
    // The next question has its own dialog, so a repeated key does not reach it.
    let next = asked(&mut screen, permission()).await;
    screen.type_text("y");
    assert!(!next.is_finished());
    assert_eq!(screen.editor(), "yyy");
}

#[tokio::test]
async fn question_opens_above_an_empty_editor_and_the_next_one_follows() {
    let mut screen = start().await;
    let first = asked(&mut screen, permission()).await;
    let second = asked(&mut screen, permission()).await;
    assert!(screen.screen().contains("y once"));
    // A key that was on its way to the editor is no answer.
    screen.type_text("y");
    assert!(!first.is_finished());
    assert_eq!(screen.editor(), "y");
    // As a prompt, the key is no answer either.
    screen.press("enter");
    assert!(screen.screen().contains("not sent to the model"));
    screen.press("y");
    closed(&mut screen).await;
    assert!(screen.screen().contains("y once"));
    screen.press("y");
    screen.advance(std::time::Duration::from_secs(1));
    screen.press("y");
    closed(&mut screen).await;
    for answer in [first, second] {
        assert!(matches!(answer.await.unwrap(), Answer::Allow { .. }));
    }
    assert!(screen.provider.last_request().is_none());
    // The question opens by the name of the command and by an F-key.
    let third = asked(&mut screen, permission()).await;
    screen.press("esc").send("/answer");
    assert!(screen.screen().contains("y once"));
    screen.press("esc f4").screen();
    screen.press("n").screen();
    // The reason stays in the dialog when the user leaves it.
    screen.type_text("too risky").press("esc esc f4").screen();
    screen.press("n").screen();
    screen.press("enter");
    closed(&mut screen).await;
    let reason = Some("too risky".to_owned());
    assert_eq!(third.await.unwrap(), Answer::Refuse { reason });
}

#[tokio::test]
async fn keys_after_an_answer_do_not_become_a_prompt() {
    let mut screen = start().await;
    let pressed = |screen: &mut Screen| {
        screen.screen();
        screen.advance(std::time::Duration::from_secs(1));
        screen.press("y");
    };
    let mut answers = vec![asked(&mut screen, permission()).await];
    pressed(&mut screen);
    closed(&mut screen).await;
    // The keys come before the next question of the run: they are no draft, so the question opens.
    screen.type_text("yn");
    answers.push(asked(&mut screen, permission()).await);
    assert!(screen.screen().contains("y once"));
    assert_eq!(screen.app.prompt.editor.text(), "");
    // Right after the dialog has opened, the key is neither an answer nor a draft.
    screen.type_text("y");
    assert!(screen.screen().contains("y once"));
    assert!(!answers[1].is_finished());
    screen.advance(std::time::Duration::from_millis(400));
    screen.press("y");
    closed(&mut screen).await;
    // Other text is a draft, so the question waits.
    answers.push(asked(&mut screen, permission()).await);
    screen.screen();
    screen.advance(std::time::Duration::from_millis(400));
    screen.type_text("p");
    assert_eq!(screen.editor(), "p");
    assert!(!answers[2].is_finished());
    screen.press("backspace f4").screen();
    screen.press("y");
    closed(&mut screen).await;
    // When it is sent before the next question, the key does not go to the model.
    screen.send("y");
    assert!(screen.screen().contains("no question waits for an answer"));
    assert_eq!(screen.editor(), "Ask, or type / for commands");
    // Another text is a draft, so the question waits.
    screen.type_text("ny, but");
    answers.push(asked(&mut screen, permission()).await);
    assert_eq!(screen.editor(), "ny, but");
    screen.press("ctrl+u").type_text("yn yes").press("enter");
    assert!(screen.screen().contains("y once"));
    screen.press("y");
    closed(&mut screen).await;
    for answer in answers {
        assert!(matches!(answer.await.unwrap(), Answer::Allow { .. }));
    }
    assert!(screen.provider.last_request().is_none());
}

#[tokio::test]
async fn question_takes_no_answer_while_the_screen_is_too_small_to_show_it() {
    let mut screen = start().await;
    let answer = asked(&mut screen, permission()).await;
    screen.press("alt+a").screen();
    screen.resize(20, 5);
    assert!(screen.screen().contains("osier needs 27x10"));
    screen.type_text("ysp").press("enter");
    screen.resize(80, 24);
    assert!(screen.screen().contains("y once"));
    assert!(!answer.is_finished());
    screen.press("y");
    closed(&mut screen).await;
    assert!(matches!(answer.await.unwrap(), Answer::Allow { .. }));
}

#[tokio::test]
async fn permission_is_granted_once_for_session_or_project() {
    let allow = |grant| Answer::Allow {
        grant,
        arguments: None,
    };
    assert_eq!(answered(permission(), "enter").await, allow(Grant::Once));
    let pattern = "bash(rm -r target)".to_owned();
    assert_eq!(
        answered(permission(), "s").await,
        allow(Grant::Session { pattern })
    );
    let pattern = "bash(rm *)".to_owned();
    assert_eq!(
        answered(permission(), "right p").await,
        allow(Grant::Project { pattern })
    );
    assert_eq!(answered(permission(), "ctrl+x").await, Answer::Dismissed);
}

#[tokio::test]
async fn denial_has_a_reason_and_a_command_can_be_edited() {
    let mut screen = start().await;
    let answer = asked(&mut screen, permission()).await;
    screen.press("alt+a").screen();
    screen.press("n").screen();
    // One step back, then again.
    screen.press("esc").screen();
    screen.press("n").screen();
    screen.type_text("not the target").press("enter");
    closed(&mut screen).await;
    let reason = Some("not the target".to_owned());
    assert_eq!(answer.await.unwrap(), Answer::Refuse { reason });

    let answer = asked(&mut screen, permission()).await;
    screen.press("alt+a").screen();
    screen.press("e").screen();
    screen.press("ctrl+w").type_text("build").press("enter");
    closed(&mut screen).await;
    let expected = Answer::Allow {
        grant: Grant::Once,
        arguments: Some(json!({"command": "rm -r build", "timeout": 5})),
    };
    assert_eq!(answer.await.unwrap(), expected);
}

#[tokio::test]
async fn other_arguments_are_edited_as_text() {
    let kind = QuestionKind::Permission {
        call_id: "c1".into(),
        tool: "write".into(),
        arguments: json!({"content": "say \"hi\"\n", "count": 3}),
        patterns: Vec::new(),
    };
    let mut screen = start().await;
    let diff = "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-old\n+new\n".to_owned();
    let subject = Some(Subject::Diff {
        path: "a".into(),
        diff,
    });
    let answer = asked(
        &mut screen,
        Question {
            subject,
            ..question(kind)
        },
    )
    .await;
    assert!(screen.screen().contains("a +1 -1"));
    screen.press("alt+a");
    insta::assert_snapshot!("question_diff", screen.screen());
    screen.press("e").screen();
    screen
        .type_text("x")
        .press("enter")
        .shows("invalid value of")
        .await;
    screen.press("backspace up up up end").type_text("!");
    // The notice is over.
    screen.advance(std::time::Duration::from_mins(1));
    insta::assert_snapshot!("question_edit", screen.screen());
    screen.press("enter");
    closed(&mut screen).await;
    let expected = Answer::Allow {
        grant: Grant::Once,
        arguments: Some(json!({"content": "say \"hi\"!\n", "count": 3})),
    };
    assert_eq!(answer.await.unwrap(), expected);
}

#[tokio::test]
async fn slash_command_over_a_question_goes_to_the_editor_and_answers_nothing() {
    let mut screen = start().await;
    let answer = asked(&mut screen, permission()).await;
    screen.press("alt+a").screen();
    screen.type_text("/sny");
    assert_eq!(screen.editor(), "/sny");
    screen.press("ctrl+u alt+a").screen();
    screen.press("ctrl+x");
    closed(&mut screen).await;
    assert_eq!(answer.await.unwrap(), Answer::Dismissed);
}

#[tokio::test]
async fn closing_the_dialog_keeps_the_question_and_the_input() {
    let mut screen = start().await;
    let kind = QuestionKind::Input {
        placeholder: "a name".into(),
        prefill: "main".into(),
        multiline: false,
        secret: false,
    };
    let answer = asked(&mut screen, question(kind)).await;
    screen.press("alt+a").screen();
    screen.type_text("-2").press("esc");
    assert!(screen.screen().contains("alt+a or f4 to answer"));
    screen.type_text("draft");
    assert_eq!(screen.editor(), "draft");
    screen.press("alt+a");
    assert!(screen.screen().contains("main-2"));
    screen.press("enter");
    closed(&mut screen).await;
    let text = "main-2".to_owned();
    assert_eq!(answer.await.unwrap(), Answer::Text { text });
}

#[tokio::test]
async fn a_secret_is_never_drawn() {
    let mut screen = start().await;
    let kind = QuestionKind::Input {
        placeholder: String::new(),
        prefill: String::new(),
        multiline: false,
        secret: true,
    };
    let answer = asked(&mut screen, question(kind)).await;
    screen.press("alt+a").screen();
    screen.paste("hunter2\n");
    let shown = screen.screen();
    assert!(
        shown.contains("•••••••") && !shown.contains("hunter"),
        "{shown}"
    );
    screen.press("enter");
    closed(&mut screen).await;
    let text = "hunter2".to_owned();
    assert_eq!(answer.await.unwrap(), Answer::Text { text });
}

#[tokio::test]
async fn choice_is_selected_by_number_or_arrows() {
    let choices = ["red", "green", "blue"].map(|name| Choice {
        value: name.into(),
        label: name.to_uppercase(),
        description: String::new(),
    });
    let select = |other| {
        question(QuestionKind::Select {
            choices: choices.to_vec(),
            other,
        })
    };
    let text = |text: &str| Answer::Text { text: text.into() };
    assert_eq!(answered(select(false), "2").await, text("green"));
    assert_eq!(
        answered(select(false), "down down down enter").await,
        text("blue")
    );
    // The answer is typed: an empty one is not sent, and `esc` returns to the choices. The text
    // stays.
    let keys = "down down down enter enter x esc o backspace r e d enter";
    assert_eq!(answered(select(true), keys).await, text("red"));
    assert_eq!(
        answered(question(QuestionKind::Confirm), "y").await,
        Answer::Yes
    );
}

#[tokio::test]
async fn form_has_one_line_per_field_and_shows_errors() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "As on the door"},
            "age": {"type": "integer", "title": "Age", "minimum": 1},
            "news": {"type": "boolean", "title": "News"},
            "size": {"type": "string", "title": "Size", "enum": ["s", "m"], "default": "s"},
            "play": {"type": "array", "title": "Plays", "items": {"enum": ["guitar", "piano"]}},
        },
        "required": ["name"],
    });
    let mut screen = start().await;
    let answer = asked(&mut screen, question(QuestionKind::Form { schema })).await;
    screen.press("alt+a").screen();
    // The name is missing: submitting selects its field.
    screen
        .press("tab")
        .type_text("x")
        .press("tab space tab right tab space right");
    insta::assert_snapshot!("question_form_marks", screen.screen());
    screen.press("space left space tab enter");
    insta::assert_snapshot!("question_form", screen.screen());
    screen
        .type_text("Ada")
        .press("enter backspace")
        .type_text("36");
    screen.press("enter enter enter enter enter");
    closed(&mut screen).await;
    let values = json!({"name": "Ada", "age": 36, "news": true, "size": "m", "play": ["piano"]});
    let values = values.as_object().unwrap().clone();
    assert_eq!(answer.await.unwrap(), Answer::Values { values });
}

#[tokio::test]
async fn url_is_opened_or_copied_and_confirmed() {
    let mut screen = start().await;
    let url = "https://example.org/consent".to_owned();
    let kind = QuestionKind::Visit { url: url.clone() };
    let answer = asked(&mut screen, question(kind)).await;
    screen.press("alt+a");
    assert!(screen.screen().contains(&url));
    screen.press("c o");
    let wanted = [Effect::Copy(url.clone(), "address"), Effect::Open(url)];
    assert_eq!(screen.effects, wanted);
    screen.press("y");
    closed(&mut screen).await;
    assert_eq!(answer.await.unwrap(), Answer::Yes);
}

#[tokio::test]
async fn withdrawn_question_closes_its_dialog() {
    let mut screen = start().await;
    let answer = asked(&mut screen, permission()).await;
    screen.press("alt+a").screen();
    answer.abort();
    closed(&mut screen).await;
    let shown = screen.screen();
    assert!(
        shown.contains("withdrawn") && !shown.contains("y once"),
        "{shown}"
    );
}

#[tokio::test]
async fn unfocused_terminal_gets_a_notification() {
    let mut screen = start().await;
    screen.event(InputEvent::FocusLost);
    let _answer = asked(&mut screen, permission()).await;
    let text = "waiting for you: Run this command? $ rm -r target".to_owned();
    assert_eq!(screen.effects, [Effect::Notify(text)]);
}

#[tokio::test]
async fn smallest_screen_shows_question_and_choices() {
    let mut screen = Screen::new(40, 10).start().await;
    let _answer = asked(&mut screen, permission()).await;
    screen.press("alt+a");
    insta::assert_snapshot!("question_smallest", screen.screen());
}

#[tokio::test]
async fn control_sequences_in_questions_are_shown_as_text() {
    let mut screen = start().await;
    let asked_so = Question {
        title: "Go\u{1b}[2J on?".into(),
        origin: "the server `\u{1b}]0;x\u{7}evil`".into(),
        kind: QuestionKind::Confirm,
        ..permission()
    };
    let _answer = asked(&mut screen, asked_so).await;
    screen.press("esc");
    let line = "the server ^[]0;x^Gevil: Go^[[2J on?";
    assert!(screen.screen().contains(line), "{}", screen.screen());
    screen.press("alt+a");
    let shown = screen.screen();
    assert!(shown.contains("─ Go^[[2J on? ─"), "{shown}");
    assert!(shown.contains(" the server ^[]0;x^Gevil ─"), "{shown}");
}

const PLAN: &str = "# Add retries\n\n1. **Read** `client.rs`.\n2. Test:\n\n```sh\ncargo test\n```";

fn plan() -> Question {
    let kind = QuestionKind::Plan {
        call_id: "c1".into(),
        path: Some("/plans/add-retries.md".into()),
        modes: vec![
            PermissionMode::Auto,
            PermissionMode::Ask,
            PermissionMode::Yolo,
        ],
        before: Some(PermissionMode::Auto),
    };
    let text = PLAN.to_owned();
    Question {
        title: "Approve this plan?".into(),
        subject: Some(Subject::Markdown { text }),
        ..question(kind)
    }
}

#[tokio::test]
async fn plan_is_shown_formatted_and_approved_with_a_mode() {
    let mut screen = start().await;
    let answer = asked(&mut screen, plan()).await;
    screen.press("esc");
    insta::assert_snapshot!("plan_waits", screen.screen());
    screen.press("alt+a");
    insta::assert_snapshot!("plan_dialog", screen.styled());
    screen.press("e");
    let edit = screen.effects.last().cloned();
    let Some(Effect::EditAnswer { text, .. }) = edit else {
        panic!("{edit:?}");
    };
    assert_eq!(text, PLAN);
    screen.press("2");
    closed(&mut screen).await;
    let mode = Some(PermissionMode::Ask);
    assert_eq!(answer.await.unwrap(), Answer::Approve { mode, plan: None });
    let reason = Some("ok".to_owned());
    assert_eq!(
        answered(plan(), "n o k enter").await,
        Answer::Refuse { reason }
    );
}

/// A session whose model asks `questions` and reads `result`.
async fn asked_by_model(questions: Value, result: &str) -> Screen {
    let script = Script::new()
        .turn(|turn| turn.tool("ask_user", json!({ "questions": questions })))
        .turn(|turn| turn.when_result(result).text("Thanks."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    screen.send("go");
    screen
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await
        .press("esc")
        .shows("◐ ask_user")
        .await;
    screen
}

fn database() -> Value {
    json!({"question": "Which database should the service use?", "header": "Database", "options": [
        {"label": "PostgreSQL", "description": "The team runs it already"},
        {"label": "SQLite", "description": "One file, no server"},
    ]})
}

#[tokio::test]
async fn model_asks_one_question_and_reads_the_answer() {
    let result = "Which database should the service use? SQLite in memory";
    let mut screen = asked_by_model(json!([database()]), result).await;
    insta::assert_snapshot!("ask_user_waits", screen.screen());
    screen.press("alt+a");
    insta::assert_snapshot!("ask_user_choice", screen.screen());
    screen.press("o").screen();
    screen.type_text("SQLite in memory").screen();
    insta::assert_snapshot!("ask_user_other", screen.screen());
    screen.press("enter").settled().await;
    let conversation = "\
▌ go

● ask_user Which database should the service use?
  Which database should the service use? SQLite in memory

  Thanks.";
    assert_eq!(screen.conversation(), conversation);
}

#[tokio::test]
async fn model_asks_several_questions_in_one_form() {
    let checks = json!({"question": "Which checks should CI run?", "header": "Checks",
        "multi_select": true, "options": [{"label": "lints"}, {"label": "tests"}]});
    let name = json!({"question": "Name the crate", "header": "Name"});
    let result = "\
Which database should the service use? PostgreSQL
Which checks should CI run? tests, benches
Name the crate: (no answer)";
    let mut screen = asked_by_model(json!([database(), checks, name]), result).await;
    screen.press("alt+a").screen();
    screen.press("right tab tab right space tab");
    screen.type_text("benches").press("up");
    insta::assert_snapshot!("ask_user_form", screen.screen());
    screen.press("tab tab tab enter").settled().await;
    let conversation = "\
▌ go

● ask_user Which database should the service use? (+2 questions)
  Which database should the service use? PostgreSQL
  Which checks should CI run? tests, benches
  Name the crate: (no answer)

  Thanks.";
    assert_eq!(screen.conversation(), conversation);
}
