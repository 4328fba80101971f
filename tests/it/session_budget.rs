//! The budget of a session: warning, reminder, stop, and what counts.

use osier_agent::{RunOutcome, Severity};
use osier_llm::{Price, Script, Usage};
use osier_protocol::{Budget, BudgetState, BudgetUse, Event, Op};
use osier_session::SessionChoice;
use serde_json::{Value, json};

use crate::support::cli::Home;
use crate::support::model_server::{Answer, Server};
use crate::support::session::{OpenSession, TestProject};

fn usage(tokens: u64) -> Usage {
    Usage {
        input: tokens,
        ..Usage::default()
    }
}

/// Runs commands with different results; each call uses 100 tokens.
fn working() -> Script {
    Script::new().turn(|turn| {
        let command = json!({"command": "echo x >> log; cat log"});
        turn.tool("bash", command).usage(usage(100)).repeat()
    })
}

fn tokens(limit: u64) -> Budget {
    Budget {
        tokens: Some(limit),
        ..Budget::default()
    }
}

async fn open(
    project: &TestProject,
    choice: SessionChoice,
    script: Script,
    budget: Budget,
) -> OpenSession {
    project
        .open_with(choice, script, |setup| {
            setup.answers_questions = true;
            setup.budget = budget;
            if let Some((model, _)) = &mut setup.embedded {
                model.price = Price {
                    input: 10_000.0,
                    ..Price::default()
                };
            }
        })
        .await
}

fn outcome(seen: &[Event]) -> RunOutcome {
    let found = seen.iter().find_map(|event| match event {
        Event::Agent(osier_agent::Event::AgentSettled { outcome }) => Some(outcome.clone()),
        _ => None,
    });
    found.expect("the run has ended")
}

fn warnings(seen: &[Event]) -> Vec<String> {
    let found = seen.iter().filter_map(|event| match event {
        Event::Notice {
            severity: Severity::Warning,
            text,
            ..
        } => Some(text.clone()),
        _ => None,
    });
    found.collect()
}

fn last_budget(seen: &[Event]) -> BudgetState {
    let found = seen.iter().rev().find_map(|event| match event {
        Event::Budget { budget } => Some(*budget),
        _ => None,
    });
    found.expect("a budget was published")
}

#[tokio::test]
async fn run_stops_before_the_call_beyond_the_budget_and_continues_after_a_raise() {
    let project = TestProject::new();
    let mut open = open(&project, SessionChoice::New, working(), tokens(500)).await;
    let seen = open.run("go").await;
    let message = "the budget of this session is used up (500 of 500 tokens); raise it with `/budget 1000 tokens`";
    let message = message.to_owned();
    assert_eq!(outcome(&seen), RunOutcome::Stopped { message });
    assert_eq!(open.provider.requests().len(), 5);
    let warning = "80% of the budget of this session is used: 400 of 500 tokens";
    assert_eq!(warnings(&seen), [warning]);
    let used = BudgetUse {
        cost: 5.0,
        tokens: 500,
        turns: 5,
    };
    let limits = tokens(500);
    assert_eq!(last_budget(&seen), BudgetState { limits, used });
    // The model got one warning, in the result of the call.
    let request = open.last_request().join("\n");
    let reminder = format!("[{warning}. Finish the most important part, and say what is left.]");
    assert_eq!(request.matches(&reminder).count(), 1, "{request}");

    open.host.send(Op::SetBudget {
        budget: tokens(700),
    });
    let limits = tokens(700);
    let raised = BudgetState { limits, used };
    let is_raised = |event: &Event| matches!(event, Event::Budget { budget } if *budget == raised);
    open.until(is_raised).await;
    let seen = open.run("continue").await;
    assert!(matches!(outcome(&seen), RunOutcome::Stopped { .. }));
    assert_eq!(open.provider.requests().len(), 7);
    open.close().await;

    // A resumed session counts what it used before.
    let mut open = self::open(&project, SessionChoice::Continue, working(), tokens(800)).await;
    let seen = open.run("more").await;
    assert!(matches!(outcome(&seen), RunOutcome::Stopped { .. }));
    assert_eq!(last_budget(&seen).used.tokens, 800);
    assert_eq!(open.provider.requests().len(), 1);
}

#[tokio::test]
async fn cost_and_calls_are_limits_too() {
    for (budget, calls, words) in [
        (
            Budget {
                cost: Some(2.5),
                ..Budget::default()
            },
            3,
            "$3.00 of $2.50); raise it with `/budget 5`",
        ),
        (
            Budget {
                turns: Some(2),
                ..Budget::default()
            },
            2,
            "2 of 2 model calls); raise it with `/budget 4 turns`",
        ),
    ] {
        let project = TestProject::new();
        let mut open = open(&project, SessionChoice::Unstored, working(), budget).await;
        let seen = open.run("go").await;
        let RunOutcome::Stopped { message } = outcome(&seen) else {
            panic!("{seen:#?}");
        };
        assert!(message.contains(words), "{message}");
        assert_eq!(open.provider.requests().len(), calls);
    }
}

#[tokio::test]
async fn subagents_and_summaries_count() {
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("go")
                .tool("task", json!({"prompt": "look"}))
                .usage(usage(100))
        })
        .turn(|turn| turn.when_user("look").text("seen").usage(usage(30)))
        .turn(|turn| turn.text("done").usage(usage(7)).repeat());
    let project = TestProject::new();
    let mut open = project
        .open_with(SessionChoice::New, script, |setup| {
            setup.settings.subagents = true;
            setup.budget = tokens(10_000);
        })
        .await;
    let seen = open.run("go").await;
    assert_eq!(last_budget(&seen).used.tokens, 137);
    open.host.send(Op::Tree(osier_protocol::TreeOp::Compact {
        instructions: None,
        review: false,
        up_to: None,
    }));
    let seen = open
        .until(|event| {
            matches!(
                event,
                Event::Agent(osier_agent::Event::CompactionEnd { .. })
            )
        })
        .await;
    open.host.send(Op::GetBudget);
    let answered = open
        .until(|event| matches!(event, Event::Budget { .. }))
        .await;
    let used = last_budget(&answered).used;
    let calls = open.provider.requests().len() as u64;
    assert_eq!(
        (used.turns, used.tokens > 137),
        (calls, calls > 3),
        "{seen:#?}"
    );
}

/// The result has the type that programs for Claude Code know.
#[test]
fn used_up_dollars_are_the_result_of_a_script() {
    let home = Home::new();
    let usage = r#"data: {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}}"#;
    let call = Answer::stream()
        .raw(&format!("{usage}\n\n"))
        .call("a", "ls", &json!({}));
    let server = Server::start([call]);
    let mut models: Value = serde_json::from_str(&server.models_json()).expect("JSON");
    models["providers"]["here"]["models"][0]["cost"] = json!({"input": 1000, "output": 1000});
    home.config("models.json", models.to_string());
    let cli = home
        .cli()
        .args(["-m", "here/m", "-p", "--max-budget-usd", "0.01"]);
    let ended = cli.args(["--output-format", "json", "go"]).run();
    let result: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        (ended.code, &result["subtype"], &result["is_error"],),
        (Some(1), &json!("error_max_budget_usd"), &json!(true),)
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn flag_stops_a_run_that_nobody_watches() {
    let home = Home::new();
    let step = json!([
        {"tool": "bash", "arguments": {"command": "echo x >> log; cat log"}},
        {"usage": {"input": 100}},
    ]);
    let turns = json!([{"repeat": true, "steps": step}]);
    let ended = home
        .scripted(&turns)
        .args(["-p", "--max-tokens", "300", "go"])
        .run();
    assert_eq!(ended.code, Some(1));
    let message = "the budget of this session is used up (300 of 300 tokens); raise it with `--max-tokens 600`";
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
    let ended = home
        .scripted(&turns)
        .args(["-p", "--max-cost", "0", "go"])
        .run();
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("US dollars"), "{}", ended.stderr);
}
