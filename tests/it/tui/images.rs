//! Images in the conversation.

use std::io::Cursor;
use std::sync::mpsc::{Receiver, channel};

use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};
use osier_llm::scripted::Script;
use osier_term::images::{Canvas, DEFAULT_CELL, ImageStore, Protocol, RenderedImage};
use osier_term::theme::ColourDepth;
use ratatui::style::Color;
use serde_json::json;

use super::support::Screen;

/// A PNG, red at the top and blue at the bottom.
pub(super) fn flag(width: u32, height: u32) -> Vec<u8> {
    let pixels = RgbaImage::from_fn(width, height, |_, y| {
        if y < height / 2 {
            Rgba([255, 0, 0, 255])
        } else {
            Rgba([0, 0, 255, 255])
        }
    });
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgba8(pixels)
        .write_to(&mut bytes, ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

fn canvas(protocol: Protocol) -> Canvas {
    Canvas {
        protocol,
        cell: DEFAULT_CELL,
        depth: ColourDepth::True,
        background: (0, 0, 0),
        passes_through: false,
    }
}

/// A screen that shows images after they are received from the channel.
async fn screen(file: &[u8], protocol: Protocol) -> (Screen, Receiver<RenderedImage>) {
    let script = Script::new()
        .turn(|turn| turn.tool("read", json!({"file_path": "a.png"})))
        .turn(|turn| turn.text("It is a flag."));
    let mut screen = Screen::new(60, 24).script(script).start().await;
    std::fs::write(screen.work().join("a.png"), file).unwrap();
    let (sender, ready) = channel();
    screen.app.pictures = ImageStore::new(move |drawn| sender.send(drawn).unwrap());
    screen.app.set_canvas(Some(canvas(protocol)));
    screen.send("look at it").settled().await;
    (screen, ready)
}

/// Backgrounds of the rows at the column after the indent.
fn grounds(screen: &mut Screen) -> Vec<Color> {
    let (buffer, _) = screen.draw();
    (0..buffer.area.height)
        .map(|y| buffer[(4, y)].bg)
        .filter(|bg| *bg != Color::Reset)
        .collect()
}

#[tokio::test]
async fn image_has_its_rows_before_it_is_decoded() {
    let (mut screen, ready) = screen(&flag(90, 72), Protocol::Blocks).await;
    let before = screen.screen();
    assert_eq!(grounds(&mut screen), []);
    screen.app.on_picture(ready.recv().unwrap());
    assert_eq!(screen.screen(), before);
    let (red, blue) = (Color::Rgb(255, 0, 0), Color::Rgb(0, 0, 255));
    assert_eq!(grounds(&mut screen), [red, red, blue, blue]);
    // The image scrolls and is cut like text.
    screen.resize(60, 10);
    let cut = grounds(&mut screen);
    assert!(!cut.is_empty() && cut.len() < 4, "{cut:?}");
    // After a change of theme or size, the image is drawn again at the same position.
    screen.resize(60, 24);
    screen.app.set_canvas(None);
    assert_eq!(grounds(&mut screen), []);
    let shown = screen.conversation();
    assert!(shown.contains("● read a.png\n\n  It is a flag."), "{shown}");
}

#[tokio::test]
async fn large_image_is_scaled_and_a_damaged_one_is_text() {
    let (mut screen, ready) = screen(&flag(3000, 3000), Protocol::Blocks).await;
    screen.draw();
    screen.app.on_picture(ready.recv().unwrap());
    assert_eq!(grounds(&mut screen).len(), 10);
    screen.press("ctrl+o");
    screen.draw();
    screen.app.on_picture(ready.recv().unwrap());
    assert!(grounds(&mut screen).len() > 10);
    let (mut damaged, ready) = self::screen(b"\x89PNG\r\n\x1a\nno", Protocol::Blocks).await;
    assert!(damaged.screen().contains("It is a flag."));
    assert!(ready.try_recv().is_err());
}

#[tokio::test]
async fn sixel_strips_are_at_the_rows_of_the_image() {
    let (mut screen, ready) = screen(&flag(90, 72), Protocol::Sixel).await;
    screen.draw();
    screen.app.on_picture(ready.recv().unwrap());
    screen.draw();
    let placed = screen.app.transcript.take_placed();
    let places: Vec<(u16, u16)> = placed
        .iter()
        .map(|strip| (strip.x, strip.columns))
        .collect();
    assert_eq!(places, [(2, 10); 4]);
    assert!(placed.windows(2).all(|pair| pair[0].y + 1 == pair[1].y));
    assert!(placed[0].bytes.starts_with(b"\x1bP0;1;0q"));
}
