//! How the screen shows the permission mode `auto`.

use osier_llm::scripted::Script;
use serde_json::json;

use super::support::Screen;
use crate::support::model_server::{Answer, Server};

fn judges(decision: &str, reason: &str) -> Answer {
    let arguments = json!({"decision": decision, "reason": reason});
    Answer::stream().call("v", "verdict", &arguments)
}

#[tokio::test]
async fn judgements_are_shown_at_their_calls() {
    let server = Server::start([
        judges("allow", "it only prints a word, as you asked"),
        judges(
            "deny",
            "it removes a folder that the request does not mention, and cannot be undone",
        ),
        judges("ask", "it is unclear what the script does"),
    ]);
    let run = |command: &str| json!({"command": command});
    let script = Script::new()
        .turn(|turn| turn.tool("bash", run("touch a; echo built")))
        .turn(|turn| turn.tool("bash", run("rm -r old")))
        .turn(|turn| turn.tool("bash", run("sh deploy.sh")))
        .turn(|turn| turn.text("Done."));
    let mut screen = Screen::new(80, 24)
        .script(script)
        .home_file("models.json", &server.models_json())
        .settings(|settings| settings.review_model = Some("here/m".to_owned()))
        .start()
        .await;
    screen.send("/permissions auto").shows("auto review").await;
    screen.send("build it").shows("Run this command?").await;
    screen.press("esc");
    screen.shows("asked: it is unclear").await;
    insta::assert_snapshot!("auto_review", screen.styled());
    screen.press("alt+a");
    insta::assert_snapshot!("auto_review_question", screen.screen());
    screen.press("n").screen();
    screen.press("enter").settled().await;
    let shown = screen.conversation();
    assert!(
        shown.contains("  auto review (here/m): asked: it is unclear what the script does"),
        "{shown}"
    );
    let counts = "auto review: 3 calls: 1 allowed, 1 asked, 1 denied";
    screen.send("/session").shows(counts).await;
}

#[tokio::test]
async fn modes_cycle_from_yolo_to_plan() {
    let mut screen = Screen::new(80, 24).start().await;
    for shown in ["auto review", "  ask", "  plan"] {
        screen.press("alt+p").shows(shown).await;
    }
    screen.press("alt+p").hides("  plan").await;
    screen.send("/permissions").shows("○ auto").await;
    insta::assert_snapshot!("permission_modes", screen.screen());
}
