//! Signing in and out in the interface.

use osier_llm::auth::{Credential, CredentialFile, KeySource};
use osier_protocol::Event;
use osier_tui::Effect;
use serde_json::json;

use super::support::Screen;
use crate::support::oauth::{Behaviour, OAuth};

fn credentials(screen: &Screen) -> CredentialFile {
    CredentialFile::new(screen.work().with_file_name("home").join("auth.json"))
}

/// Waits for the dialog. Returns the URL that it shows.
async fn address(screen: &mut Screen) -> String {
    let mut address = None;
    screen
        .until(|event| match event {
            Event::LoginStarted { url, .. } => {
                address.clone_from(url);
                true
            }
            _ => false,
        })
        .await;
    address.expect("an address")
}

#[tokio::test]
async fn pasted_url_signs_in() {
    let server = OAuth::start(Behaviour::default());
    let mut screen = Screen::new(90, 24)
        .home_file("models.json", &server.models_json(&json!({})))
        .start()
        .await;
    screen.send("/login lab");
    let url = address(&mut screen).await;
    let shown = screen.screen();
    assert!(shown.contains("Sign in to Lab"), "{shown}");
    assert!(shown.contains(&url[..60]), "{shown}");
    screen.press("enter");
    assert_eq!(
        screen.effects.last(),
        Some(&Effect::Copy(url.clone(), "address"))
    );
    screen.paste("not a code at all").press("enter");
    screen.shows("the text contains no code").await;
    let callback = server.redirect(&url).await;
    screen
        .paste(&callback)
        .press("enter")
        .shows("signed in to lab")
        .await;
    assert!(!screen.screen().contains("Sign in to"));
    assert!(matches!(
        credentials(&screen).read().unwrap().get("lab"),
        Some(Credential::Tokens(_))
    ));

    screen.send("/logout").shows("Sign out").await;
    screen.shows("signed in …cret").await;
    screen.press("enter").shows("signed out of lab").await;
    assert_eq!(credentials(&screen).read().unwrap().get("lab"), None);
}

#[tokio::test]
async fn device_code_is_shown_until_entered() {
    let behaviour = Behaviour {
        interval: Some(0.0),
        token_errors: ["authorization_pending"].into(),
        ..Behaviour::default()
    };
    let server = OAuth::start(behaviour);
    let device_only = json!({"authorizeUrl": ""});
    let mut screen = Screen::new(90, 24)
        .home_file("models.json", &server.models_json(&device_only))
        .start()
        .await;
    screen.send("/login lab");
    assert_eq!(address(&mut screen).await, "https://lab.example/device");
    let shown = screen.screen();
    assert!(shown.contains("Enter this code: WDJB-MJHT"), "{shown}");
    screen.shows("signed in to lab").await;
}

#[tokio::test]
async fn escape_cancels_the_sign_in() {
    let server = OAuth::start(Behaviour::default());
    let mut screen = Screen::new(90, 24)
        .home_file("models.json", &server.models_json(&json!({})))
        .start()
        .await;
    screen.send("/login lab").shows("Sign in to Lab").await;
    screen.press("esc");
    assert!(!screen.screen().contains("Sign in to Lab"));
    screen
        .until(|event| matches!(event, Event::LoginEnded { error: Some(_), .. }))
        .await;
    assert_eq!(server.log(), Vec::<String>::new());
    screen
        .send("/login nobody")
        .shows("unknown provider nobody")
        .await;
}

#[tokio::test]
async fn key_input_is_hidden() {
    let mut screen = Screen::new(90, 24).start().await;
    screen.send("/login").shows("browser").await;
    screen
        .type_text("anthropic")
        .press("enter")
        .shows("Sign in to Anthropic")
        .await;
    screen.type_text("sk-ant-0123456789-abcd");
    let shown = screen.screen();
    assert!(
        shown.contains("❯ ••••••••••••••••••••••") && !shown.contains("sk-ant"),
        "{shown}"
    );
    insta::assert_snapshot!("login_key", screen.styled());
    screen.press("enter").shows("signed in to anthropic").await;
    let stored = credentials(&screen).read().unwrap().get("anthropic");
    assert_eq!(
        stored,
        Some(Credential::Key(KeySource::parse("sk-ant-0123456789-abcd")))
    );
    screen
        .press("ctrl+l")
        .type_text("anthropic/claude-opus-5-5");
    // Other providers with "no key" are below it.
    screen
        .shows("› anthropic/claude-opus-5-5 ·             ✓")
        .await;
}
