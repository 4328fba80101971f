//! Colours in the output of commands: on the screen only.

use osier_llm::scripted::{Hold, Script};
use osier_protocol::Event;
use osier_term::face::Token;
use osier_tui::Effect;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use serde_json::json;

use super::support::Screen;

/// The colour and the modifiers of the first character of `text` on the screen.
fn style_of(screen: &mut Screen, text: &str) -> (Color, Modifier) {
    let (buffer, _) = screen.draw();
    let width = usize::from(buffer.area.width);
    for row in buffer.content.chunks(width) {
        let line: String = row.iter().map(Cell::symbol).collect();
        if let Some(at) = line.find(text) {
            let column = line[..at].chars().count();
            return (row[column].fg, row[column].modifier);
        }
    }
    panic!("no `{text}`:\n{}", screen.screen());
}

fn builder(script: Script) -> super::support::Builder {
    Screen::new(60, 24)
        .script(script)
        .settings(|settings| "dark".clone_into(&mut settings.screen.theme))
}

const COLOURED: &str = r"printf 'plain \033[31mred\033[0m \033[1;38;5;208morange\033[m\n\033[32mgreen goes'; until test -e go; do :; done; printf ' on\033[0m\nend\n'";

#[tokio::test]
async fn command_output_keeps_its_colours() {
    let script = Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": "sh c.sh"})))
        .turn(|turn| turn.text("Seen."));
    let mut screen = builder(script).file("c.sh", COLOURED).start().await;
    let theme = |screen: &Screen, token: Token| screen.app.theme.style(token).fg.unwrap();
    let (red, green) = (theme(&screen, Token::Error), theme(&screen, Token::Success));
    screen.send("go").shows("green goes").await;
    assert_eq!(style_of(&mut screen, "red orange").0, red);
    assert_eq!(style_of(&mut screen, "green goes").0, green);
    std::fs::write(screen.work().join("go"), "").unwrap();
    screen.settled().await;
    assert_eq!(style_of(&mut screen, "red orange").0, red);
    let (orange, modifier) = style_of(&mut screen, "orange");
    assert_eq!(orange, Color::Indexed(208));
    assert!(modifier.contains(Modifier::BOLD));
    assert_eq!(style_of(&mut screen, "green goes on").0, green);
    let plain = theme(&screen, Token::ToolOutput);
    assert_eq!(style_of(&mut screen, "end").0, plain);
    // The model receives only text.
    let request = format!("{:?}", screen.request());
    assert!(request.contains("plain red orange\\ngreen goes on\\nend\\n"));
    assert!(!request.contains("\\u{1b}"), "{request}");
}

#[tokio::test]
async fn stored_and_copied_output_is_plain() {
    let command = r"printf '\033[31mred\033[m\n'";
    let mut screen = builder(Script::new()).file("c.sh", command).start().await;
    screen.send("!sh c.sh");
    screen
        .until(|event| matches!(event, Event::ShellEnd { .. }))
        .await;
    let red = screen.app.theme.style(Token::Error).fg.unwrap();
    assert_eq!(style_of(&mut screen, "red").0, red);
    screen.press("alt+v").press("shift+tab").press("y");
    let [Effect::Copy(copied, _)] = screen.effects.as_slice() else {
        panic!("{:?}", screen.effects);
    };
    assert!(copied.trim_end().ends_with("red"), "{copied:?}");
    assert!(!copied.contains('\u{1b}'), "{copied:?}");
}

#[tokio::test]
async fn progress_bar_stays_on_one_line() {
    let gate = Hold::new();
    let command = r"for i in 10 20 30; do printf '\r%s%%' $i; until test -e $i; do :; done; done; echo ' done'";
    let script = Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": command})))
        .turn(|turn| turn.gate(&gate).text("Seen."));
    gate.open();
    let mut screen = builder(script).start().await;
    screen.send("go");
    for percent in ["10%", "20%", "30%"] {
        screen.shows(&format!("\n  {percent}")).await;
        let shown = screen.conversation();
        assert_eq!(
            shown.matches('%').count() - command.matches('%').count(),
            1,
            "{shown}"
        );
        let go = percent.trim_end_matches('%');
        std::fs::write(screen.work().join(go), "").unwrap();
    }
    screen.settled().await;
    assert!(screen.conversation().contains("\n  30% done"));
}
