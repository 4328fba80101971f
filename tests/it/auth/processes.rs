//! Sign-ins of the real program: renewals in several processes, interrupts and crashes; `osier auth`.

use std::sync::Arc;

use osier_llm::auth::CredentialFile;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{store, stored_refresh};
use crate::support::cli::{Home, ProgramOutput, Running, signal};
use crate::support::oauth::{Behaviour, OAuth, get};

/// A home with a sign-in whose token expires in `left_ms`.
async fn home(server: &OAuth, left_ms: i64) -> (Home, CredentialFile) {
    let home = Home::new();
    home.config(
        "models.json",
        server.models_json(&json!({"subscription": true})),
    );
    let file = CredentialFile::new(home.home().join("auth.json"));
    store(server, &file, left_ms).await;
    (home, file)
}

fn gated() -> (OAuth, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let server = OAuth::start(Behaviour {
        refresh_gate: Some(Arc::clone(&gate)),
        ..Behaviour::default()
    });
    (server, gate)
}

fn is_asking(event: &Value) -> bool {
    event["type"] == "message_start" && event["message"]["role"] == "assistant"
}

fn json_run(home: &Home) -> Running {
    home.cli()
        .args(["--json", "--model", "lab/m", "hello"])
        .start()
}

#[tokio::test(flavor = "multi_thread")]
async fn token_is_renewed_before_it_expires_and_not_while_valid() {
    let server = OAuth::start(Behaviour::default());
    let (home, file) = home(&server, 10 * 60 * 1000).await;
    let before = stored_refresh(&file);
    let ask = || home.cli().args(["-p", "--model", "lab/m", "hello"]).run();
    assert_eq!(ask(), ProgramOutput::new(0, "signed in\n", ""));
    assert_eq!(
        (stored_refresh(&file), server.log()),
        (before.clone(), vec!["model 200".to_owned()])
    );
    store(&server, &file, 4 * 60 * 1000).await;
    assert_eq!(ask(), ProgramOutput::new(0, "signed in\n", ""));
    assert_eq!(
        server.log()[1..],
        ["refresh asked", "token refresh_token", "model 200"]
    );
    assert!(server.living().contains(&stored_refresh(&file)));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_renewals_lose_no_token() {
    let (server, gate) = gated();
    let (home, file) = home(&server, -1000).await;
    let mut running: Vec<Running> = (0..4).map(|_| json_run(&home)).collect();
    for process in &mut running {
        // All wait for the lock, and one has it.
        process.until(is_asking);
    }
    server.saw("refresh asked").await;
    gate.add_permits(10);
    for process in &mut running {
        process.close_input();
    }
    for process in running {
        let (lines, code, errors) = process.end();
        assert_eq!(code, Some(0), "{errors}\n{lines:?}");
        assert!(lines.iter().any(|line| line.contains("signed in")));
    }
    let log = server.log();
    let count = |what: &str| log.iter().filter(|line| *line == what).count();
    assert_eq!(
        (
            count("token refresh_token"),
            count("model 200"),
            count("reuse")
        ),
        (1, 4, 0)
    );
    assert_eq!(server.living(), [stored_refresh(&file)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupt_and_exit_wait_for_a_renewal() {
    let (server, gate) = gated();
    let (home, file) = home(&server, -1000).await;
    let mut process = json_run(&home);
    server.saw("refresh asked").await;
    process.say(r#"{"type": "interrupt"}"#);
    process.until(|event| event["type"] == "interrupted");
    process.close_input();
    let before = stored_refresh(&file);
    gate.add_permits(1);
    let (_, code, _) = process.end();
    assert_eq!(code, Some(130));
    assert_ne!(stored_refresh(&file), before);
    assert_eq!(server.living(), [stored_refresh(&file)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_is_released_when_its_process_dies() {
    let (server, gate) = gated();
    let (home, file) = home(&server, -1000).await;
    let killed = json_run(&home);
    server.saw("refresh asked").await;
    signal(killed.id(), rustix::process::Signal::KILL);
    drop(killed);
    // The request of the killed process was never answered, so its refresh token is still valid.
    store(&server, &file, -1000).await;
    gate.add_permits(10);
    let ended = home.cli().args(["-p", "--model", "lab/m", "hello"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "signed in\n", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_token_is_renewed_once_and_the_call_repeated() {
    let server = OAuth::start(Behaviour::default());
    let (home, _) = home(&server, 3_600_000).await;
    server.forget_access();
    let file = home.work().join("spent.jsonl");
    let ended = home
        .cli()
        .args([
            "-p",
            "--model",
            "lab/m",
            "--accounting",
            "spent.jsonl",
            "hello",
        ])
        .run();
    assert_eq!(ended, ProgramOutput::new(0, "signed in\n", ""));
    assert_eq!(
        server.log(),
        [
            "model 401",
            "refresh asked",
            "token refresh_token",
            "model 200"
        ]
    );
    // A subscription pays: the cost is 0, and `subscription` is set.
    let line: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(line["usage"]["cost"]["total"], 0.0);
    assert_eq!(line["usage"]["subscription"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_sign_in_is_reported_and_a_server_outage_is_retried() {
    let server = OAuth::start(Behaviour::default());
    let (home, file) = home(&server, -1000).await;
    let gone = json!({"type": "oauth", "access": "a-token", "refresh": "unknown", "obtained": 0, "expires": 1});
    let gone = osier_llm::auth::Credential::read(&gone).unwrap();
    file.change(|store| store.put("lab", &gone)).await.unwrap();
    let ended = home.cli().args(["-p", "--model", "lab/m", "hello"]).run();
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("the sign-in of `lab` has expired")
            && ended.stderr.contains("run `osier auth login lab`"),
        "{}",
        ended.stderr
    );
    let down = json!({"tokenUrl": "http://127.0.0.1:9/token"});
    home.config("models.json", server.models_json(&down));
    let ask = ["-p", "--model", "lab/m", "--max-retries", "0", "hello"];
    let ended = home.cli().args(ask).run();
    assert!(
        ended.stderr.contains(
            "network_error: cannot refresh the sign-in of `lab`: cannot reach `127.0.0.1:9`"
        ),
        "{}",
        ended.stderr
    );
    assert_eq!(stored_refresh(&file), "unknown");
    // A failed early renewal keeps the valid token.
    store(&server, &file, 60_000).await;
    assert_eq!(
        home.cli().args(ask).run(),
        ProgramOutput::new(0, "signed in\n", "")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn auth_login_works_with_a_browser_and_with_a_pasted_url() {
    // Longer than an hour, so that the time of the test does not matter.
    let server = OAuth::start(Behaviour {
        expires_in: Some(3_630),
        ..Behaviour::default()
    });
    let home = Home::new();
    home.config("models.json", server.models_json(&json!({})));
    for paste in [false, true] {
        let mut process = home.cli().args(["auth", "login", "lab"]).start();
        assert_eq!(
            process.line().as_deref(),
            Some("Open this URL in a browser:")
        );
        let url = process.line().unwrap().trim().to_owned();
        let callback = server.redirect(&url).await;
        process.line();
        if paste {
            process.say("nonsense with spaces");
            let refused = process.line().unwrap();
            assert!(
                refused.starts_with("! the text contains no code; paste"),
                "{refused}"
            );
            process.say(&callback);
        } else {
            get(&callback).await;
        }
        let (lines, code, errors) = process.end();
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        assert!(
            lines[0].starts_with("lab: signed in …cret, renewed in 1h 00m"),
            "{lines:?}"
        );
    }
    let ended = home.cli().args(["-p", "--model", "lab/m", "hello"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "signed in\n", ""));
    let status = home.cli().args(["auth", "status", "lab"]).run();
    assert_eq!(status.code, Some(0));
    let ended = home.cli().args(["auth", "logout", "lab"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "signed out of `lab`\n", ""));
    let ended = home.cli().args(["auth", "logout", "lab"]).run();
    assert_eq!(
        ended,
        ProgramOutput::new(1, "no stored credentials for `lab` (nothing)\n", "")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn auth_login_with_a_device_code_reports_a_refusal() {
    let behaviour = Behaviour {
        interval: Some(0.0),
        token_errors: ["access_denied", "authorization_pending"].into(),
        ..Behaviour::default()
    };
    let server = OAuth::start(behaviour);
    let home = Home::new();
    home.config("models.json", server.models_json(&json!({})));
    let ask = || home.cli().args(["auth", "login", "lab", "--device"]).run();
    let shown = "Open this URL on any device:\n  https://lab.example/device\nand enter this code: WDJB-MJHT\n";
    let refused =
        "osier: the sign-in was denied: because of access_denied (access_denied); try again\n";
    assert_eq!(ask(), ProgramOutput::new(1, shown, refused));
    let ended = ask();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.starts_with(shown));
}

#[test]
fn auth_stores_keys_and_shows_only_their_last_characters() {
    let home = Home::new();
    let key = "sk-ant-0123456789-abcd";
    let login = home
        .cli()
        .args(["auth", "login", "anthropic"])
        .stdin(format!("{key}\n"));
    assert_eq!(
        login.run(),
        ProgramOutput::new(0, "anthropic: key …abcd\n", "")
    );
    let login = home
        .cli()
        .args(["auth", "login", "openrouter", "--key"])
        .stdin("$ROUTER\n");
    assert_eq!(
        login.environment("ROUTER", "short").run(),
        ProgramOutput::new(0, "openrouter: key of $ROUTER\n", "")
    );
    let status = home
        .cli()
        .args(["auth", "status"])
        .environment("GROQ_API_KEY", "gsk-0123456789-wxyz")
        .run();
    assert_eq!(
        status,
        ProgramOutput::new(
            0,
            "anthropic  key …abcd\ngroq       key of $GROQ_API_KEY …wxyz\n",
            ""
        )
    );
    let listed = home.cli().args(["models", "claude-opus-5-5"]).run();
    assert!(listed.stdout.contains("key present"), "{}", listed.stdout);
    for (arguments, code, error) in [
        (
            vec!["auth", "login"],
            2,
            "osier: missing argument PROVIDER; for example `osier auth login openrouter`\n",
        ),
        (
            vec!["auth", "login", "antropic"],
            2,
            "osier: unknown provider `antropic`; did you mean `anthropic`?\n",
        ),
        (
            vec!["auth", "login", "groq"],
            2,
            "osier: no key; type it or pipe it in, as in `pass show groq | osier auth login groq`\n",
        ),
        (
            vec!["auth", "login", "groq", "--device"],
            1,
            "osier: `groq` has no sign-in; set an API key, or configure the sign-in in `providers.groq.oauth` of models.json\n",
        ),
    ] {
        let mut cli = home.cli();
        for argument in arguments {
            cli = cli.arg(argument);
        }
        assert_eq!(cli.run(), ProgramOutput::new(code, "", error));
    }
    let missing = home.cli().args(["auth", "status", "groq"]).run();
    assert_eq!(missing, ProgramOutput::new(1, "groq  nothing\n", ""));
}
