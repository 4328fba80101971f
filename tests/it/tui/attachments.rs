//! Images attached to a prompt.

use osier_agent::UserMessage;
use osier_llm::scripted::Script;
use osier_llm::{ContentBlock, Message, Modality};
use osier_protocol::Event;
use osier_tools::attachment;
use osier_tui::Effect;

use super::images::flag;
use super::support::Screen;

/// A screen on which the image `name` of the working directory was dropped.
async fn with_dropped(name: &str) -> Screen {
    let script = Script::new().turn(|turn| turn.text("A flag."));
    let mut screen = Screen::new(70, 24).script(script).start().await;
    let path = screen.work().join(name);
    std::fs::write(&path, flag(90, 72)).unwrap();
    let escaped = path.to_str().unwrap().replace(' ', "\\ ");
    screen.type_text("what is ").paste(&escaped);
    assert_eq!(screen.effects, [Effect::ReadPictures(vec![path.clone()])]);
    let file = attachment::load(&path).unwrap();
    let now = screen.now;
    screen.app.attach(file, now);
    screen
}

/// The images in the last request.
fn sent(screen: &Screen) -> usize {
    let request = screen.request();
    let users = request
        .context
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::User(user) => Some(&user.content),
            _ => None,
        });
    let blocks = users.flatten();
    blocks
        .filter(|block| matches!(block, ContentBlock::Image { .. }))
        .count()
}

#[tokio::test]
async fn dropped_image_is_a_chip_and_is_sent() {
    let mut screen = with_dropped("a flag.png").await;
    let shown = screen.editor();
    assert!(shown.starts_with("what is [a flag.png 90×72 "), "{shown}");
    screen.type_text("?").press("enter").settled().await;
    assert_eq!(sent(&screen), 1);
    let prompt = screen.last_prompt();
    assert!(
        prompt.starts_with("what is [picture 1: a flag.png] ?"),
        "{prompt}"
    );
    let conversation = screen.conversation();
    assert!(
        conversation.contains("[image 1: a flag.png, 90x72]"),
        "{conversation}"
    );
    assert_eq!(screen.editor(), "Ask, or type / for commands");
}

#[tokio::test]
async fn image_is_removed_with_its_chip() {
    let mut screen = with_dropped("a.png").await;
    screen.press("backspace").press("backspace");
    assert_eq!(screen.editor(), "what is");
    screen.type_text("this").press("enter").settled().await;
    assert_eq!(sent(&screen), 0);
}

#[tokio::test]
async fn model_without_image_input_is_reported_before_sending() {
    let mut screen = with_dropped("a.png").await;
    screen.app.footer.model.as_mut().unwrap().input = vec![Modality::Text];
    screen.press("enter");
    assert!(
        screen.screen().contains("Mock does not accept images"),
        "{}",
        screen.screen()
    );
    assert!(screen.editor().contains("a.png"));
    screen.press("enter").settled().await;
    assert!(screen.conversation().contains("A flag."));
}

#[tokio::test]
async fn image_is_pasted_from_the_clipboard() {
    let mut screen = Screen::new(70, 24).start().await;
    screen.press("ctrl+v");
    assert_eq!(screen.effects, [Effect::ReadPicture]);
    screen.app.insert_paste("text instead");
    assert_eq!(screen.editor(), "text instead");
}

#[tokio::test]
async fn recalled_prompt_has_its_images() {
    let mut screen = with_dropped("a flag.png").await;
    let file = attachment::load(&screen.work().join("a flag.png")).unwrap();
    let message = UserMessage {
        text: "look [picture 7: a flag.png] and say".to_owned(),
        attachments: vec![file],
        ..UserMessage::default()
    };
    let recalled = osier_agent::Event::QueueRecalled {
        messages: vec![message],
    };
    let now = screen.now;
    screen.app.on_event(&Event::Agent(recalled), now);
    let shown = screen.editor();
    assert!(shown.starts_with("look [a flag.png 90×72 "), "{shown}");
    assert!(
        shown.contains("] and say\n\nwhat is [a flag.png "),
        "{shown}"
    );
    screen.press("enter").settled().await;
    assert_eq!(sent(&screen), 2);
    let prompt = screen.last_prompt();
    assert!(
        prompt
            .starts_with("look [picture 2: a flag.png] and say\n\nwhat is [picture 1: a flag.png]"),
        "{prompt}"
    );
}
