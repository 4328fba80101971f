//! Signing in and token renewal, against a test OAuth server.

mod fallback;
mod processes;

use std::collections::VecDeque;
use std::time::Duration;

use osier_llm::auth::{
    Credential, CredentialFile, Interaction, Method, Progress, SignIn, SignInError, SignIns, Tokens,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::oauth::{Behaviour, OAuth, Page};

/// The sign-in of `server` for a session.
fn sign_in(server: &OAuth, oauth: &Value) -> SignIn {
    let (known, warnings) = SignIns::read(&server.models_json(oauth));
    assert_eq!(warnings, Vec::<String>::new());
    known.get("lab").expect("the sign-in").clone()
}

/// A running sign-in with its channels.
struct Signing {
    told: mpsc::UnboundedReceiver<Progress>,
    typed: Option<mpsc::UnboundedSender<String>>,
    outcome: tokio::task::JoinHandle<Result<Tokens, SignInError>>,
}

impl Signing {
    fn start(sign_in: SignIn, method: Method) -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        let (typed, mut lines) = mpsc::unbounded_channel();
        let outcome = tokio::spawn(async move {
            let mut tell = move |progress| drop(tell.send(progress));
            let mut interaction = Interaction {
                report: &mut tell,
                input: &mut lines,
                installation: "2f4e2b1c-0000-4000-8000-000000000000".to_owned(),
                second: Duration::from_millis(1),
            };
            sign_in.run("lab", Some(method), &mut interaction).await
        });
        Self {
            told,
            typed: Some(typed),
            outcome,
        }
    }

    async fn address(&mut self) -> String {
        match self.told.recv().await.expect("a start") {
            Progress::Started { url, .. } => url,
            Progress::Refused { message } => panic!("not a start: {message}"),
        }
    }

    fn paste(&self, text: &str) {
        self.typed
            .as_ref()
            .expect("an open end")
            .send(text.to_owned())
            .expect("a reader");
    }

    async fn end(self) -> Result<Tokens, SignInError> {
        self.outcome.await.expect("an end")
    }

    async fn fails(self) -> String {
        self.end().await.expect_err("a failure").to_string()
    }
}

#[tokio::test]
async fn browser_sign_in_ignores_empty_and_invalid_callbacks() {
    let server = OAuth::start(Behaviour::default());
    let mut signing = Signing::start(sign_in(&server, &json!({})), Method::Browser);
    let url = signing.address().await;
    let callback = server.redirect(&url).await;
    let wrong = callback.replace("state=", "state=x");
    let page = crate::support::oauth::get(&wrong).await;
    assert!(
        page.starts_with("HTTP/1.1 400") && page.contains("another sign-in"),
        "{page}"
    );
    let page = crate::support::oauth::get(&callback).await;
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("You are signed in"),
        "{page}"
    );
    let tokens = signing.end().await.unwrap();
    assert!(tokens.access.expose().starts_with("access-"));
    assert!(tokens.refresh.is_some());
    assert_eq!(tokens.expires.unwrap() - tokens.obtained, 3_600_000);
    assert_eq!(server.log(), ["authorize", "token authorization_code"]);
}

#[tokio::test]
async fn pasted_url_signs_in_after_an_invalid_one() {
    let server = OAuth::start(Behaviour::default());
    let mut signing = Signing::start(sign_in(&server, &json!({})), Method::Browser);
    let url = signing.address().await;
    let callback = server.redirect(&url).await;
    signing.paste(&callback.replace("state=", "state=x"));
    let Some(Progress::Refused { message }) = signing.told.recv().await else {
        panic!("not refused");
    };
    assert!(
        message.starts_with("the answer belongs to another sign-in"),
        "{message}"
    );
    signing.paste(&format!("  {callback}\n"));
    assert!(signing.end().await.is_ok());
    // An invalid paste and then the end of the input end the sign-in.
    let mut signing = Signing::start(sign_in(&server, &json!({})), Method::Browser);
    signing.address().await;
    signing.paste("what is this");
    signing.typed = None;
    assert_eq!(signing.fails().await, "the text contains no code");
}

#[tokio::test]
async fn denied_sign_in_is_reported() {
    for (page, expected) in [
        (Page::Deny, Some("the sign-in was denied: no thanks")),
        (Page::WrongState, None),
    ] {
        let behaviour = Behaviour {
            page,
            ..Behaviour::default()
        };
        let server = OAuth::start(behaviour);
        let mut signing = Signing::start(sign_in(&server, &json!({})), Method::Browser);
        let url = signing.address().await;
        let shown = server.browse(&url).await;
        assert!(shown.starts_with("HTTP/1.1 400"), "{shown}");
        match expected {
            Some(told) => assert_eq!(signing.fails().await, told),
            // A wrong `state` does not end the sign-in.
            None => assert!(!signing.outcome.is_finished()),
        }
    }
}

#[tokio::test]
async fn token_endpoint_errors_do_not_contain_the_code() {
    for (status, body, expected) in [
        (
            "400 Bad Request",
            r#"{"error": "invalid_grant"}"#,
            "`HOST` answered 400: invalid_grant",
        ),
        ("200 OK", "hello", "`HOST` is not a sign-in server: hello"),
        (
            "200 OK",
            "{}",
            "`HOST` is not a sign-in server: the response has no `access_token`",
        ),
        ("200 OK", "[1]", "`HOST` is not a sign-in server: [1]"),
        (
            "500 Oops",
            "<html>oops</html>",
            "`HOST` answered 500: <html>oops</html>",
        ),
    ] {
        let mut behaviour = Behaviour::default();
        behaviour.token_answers.push_back((status, body));
        let server = OAuth::start(behaviour);
        let mut signing = Signing::start(sign_in(&server, &json!({})), Method::Browser);
        let url = signing.address().await;
        server.browse(&url).await;
        let told = signing.fails().await;
        let host = server.url("").replace("http://", "");
        assert_eq!(told, expected.replace("HOST", &host));
    }
    let server = OAuth::start(Behaviour::default());
    let gone = json!({"tokenUrl": "http://127.0.0.1:9/token"});
    let mut signing = Signing::start(sign_in(&server, &gone), Method::Browser);
    let url = signing.address().await;
    server.browse(&url).await;
    let told = signing.fails().await;
    assert!(told.starts_with("cannot reach `127.0.0.1:9`"), "{told}");
}

#[tokio::test]
async fn device_code_is_polled_until_entered() {
    let behaviour = Behaviour {
        interval: Some(1.0),
        token_errors: VecDeque::from([
            "authorization_pending",
            "slow_down",
            "server_error",
            "authorization_pending",
        ]),
        ..Behaviour::default()
    };
    let server = OAuth::start(behaviour);
    let mut signing = Signing::start(sign_in(&server, &json!({})), Method::Device);
    assert_eq!(
        signing.told.recv().await,
        Some(Progress::Started {
            url: "https://lab.example/device".to_owned(),
            user_code: Some("WDJB-MJHT".to_owned()),
            accepts_paste: false,
        })
    );
    assert!(signing.end().await.is_ok());
    assert_eq!(server.log().len(), 6);
}

#[tokio::test]
async fn failed_device_code_reports_the_reason() {
    for (error, expected) in [
        (
            "access_denied",
            "the sign-in was denied: because of access_denied (access_denied)",
        ),
        ("expired_token", "the code expired before it was used"),
        (
            "invalid_client",
            "`HOST` answered 401: because of invalid_client (invalid_client)",
        ),
    ] {
        let behaviour = Behaviour {
            interval: Some(0.0),
            token_errors: VecDeque::from([error]),
            ..Behaviour::default()
        };
        let server = OAuth::start(behaviour);
        let mut signing = Signing::start(sign_in(&server, &json!({})), Method::Device);
        signing.address().await;
        let host = server.url("").replace("http://", "");
        assert_eq!(signing.fails().await, expected.replace("HOST", &host));
    }
    // The lifetime of the code: 600 "seconds" of a millisecond, polled every 300.
    let behaviour = Behaviour {
        interval: Some(300.0),
        code_lives: Some(600),
        token_errors: VecDeque::from(["authorization_pending"; 9]),
        ..Behaviour::default()
    };
    let server = OAuth::start(behaviour);
    let signing = Signing::start(sign_in(&server, &json!({})), Method::Device);
    assert_eq!(signing.fails().await, "the code expired before it was used");
    assert!(server.log().len() <= 3, "{:?}", server.log());
}

#[tokio::test]
async fn long_lived_token_is_exchanged_with_a_skewed_server_clock() {
    // The token is valid for 1,000 seconds by the server's clock, which is decades behind.
    let behaviour = Behaviour {
        interval: Some(0.0),
        date: Some("Mon, 01 Jan 1990 00:00:00 GMT"),
        exchange_until: Some(631_152_000 + 1_000),
        ..Behaviour::default()
    };
    let server = OAuth::start(behaviour);
    let exchange = json!({"exchange": {"url": server.url("/exchange")}});
    let mut signing = Signing::start(sign_in(&server, &exchange), Method::Device);
    signing.address().await;
    let tokens = signing.end().await.unwrap();
    assert_eq!(tokens.expires.unwrap() - tokens.obtained, 1_000_000);
    assert!(!tokens.is_stale(tokens.obtained) && tokens.is_stale(tokens.obtained + 700_000));
    assert!(tokens.refresh.unwrap().expose().starts_with("access-"));
    assert_eq!(server.log(), ["device", "token device_code", "exchange"]);
}

/// Stores tokens of `server` that expire `left_ms` from now.
pub(super) async fn store(server: &OAuth, file: &CredentialFile, left_ms: i64) {
    let (access, refresh) = server.grant();
    let now = osier_base::clock::now_ms();
    let entry = json!({"type": "oauth", "access": access, "refresh": refresh,
                       "obtained": now - 3_600_000, "expires": now + left_ms});
    let credential = Credential::read(&entry).unwrap();
    file.change(|store| store.put("lab", &credential))
        .await
        .unwrap();
}

/// The stored refresh token.
pub(super) fn stored_refresh(file: &CredentialFile) -> String {
    match file.read().unwrap().get("lab") {
        Some(Credential::Tokens(tokens)) => tokens.refresh.unwrap().expose().to_owned(),
        other => panic!("no tokens: {other:?}"),
    }
}
