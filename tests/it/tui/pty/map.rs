//! The map of the project in the real program: its list, and symbols after `@`.

use super::program::Program;

#[test]
fn the_map_and_symbols_come_from_the_project() {
    let mut program = Program::new()
        .file("s.json", super::ANSWER)
        .model("s.json")
        .file("cart.rs", "pub fn cart_total() {}\n")
        .file("main.rs", "fn main() { cart_total() }\n")
        .start();
    program.shows("Ask, or type / for commands");
    program.write("/map\r");
    program.shows("pub fn cart_total() {}");
    program.write("cart_to\r");
    program.shows("❯ @cart.rs:1");
    program.write("and @total");
    program.shows("function cart.rs:1");
}
