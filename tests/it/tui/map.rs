//! The map of the project on the screen: `/map`, and symbols after `@`.

use super::support::Screen;

async fn project() -> Screen {
    Screen::new(80, 20)
        .file("src/cart.rs", "pub struct Cart;\npub fn cart_total() {}\n")
        .file("src/main.rs", "fn main() { cart_total() }\n")
        .start()
        .await
}

#[tokio::test]
async fn the_map_shows_files_and_symbols_and_inserts_references() {
    let mut screen = project().await;
    screen.send("/map").shows("pub fn cart_total() {}").await;
    insta::assert_snapshot!("map", screen.screen());
    screen.type_text("cart_total").press("enter");
    assert_eq!(screen.editor(), "@src/cart.rs:2");
}

#[tokio::test]
async fn symbols_follow_the_files_after_an_at_sign() {
    let mut screen = project().await;
    screen
        .type_text("fix @total")
        .shows("function src/cart.rs:2")
        .await;
    insta::assert_snapshot!("symbol_completion", screen.screen());
    screen.press("tab");
    assert_eq!(screen.editor(), "fix @src/cart.rs:2");
}
