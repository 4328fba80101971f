//! The map of the project in the real program: offered in large projects, allowed in plan mode, and without the files
//! that rules deny.

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput, SETTINGS};

/// A project with more source files than one without a map.
fn project() -> Home {
    let home = Home::new();
    for number in 0..30 {
        let text = format!("fn part_{number}() {{ cart_total({number}); }}\n");
        home.file(&format!("part_{number}.rs"), text);
    }
    home.file(
        "cart.rs",
        "/// A sum.\npub fn cart_total(count: u32) -> u32 {\n    count\n}\n",
    );
    home.file("secret.rs", "pub fn cart_secret() {}\n");
    home
}

/// The model asks for the part of the map about carts, and then answers.
fn asks() -> Value {
    json!([
        {"steps": [{"tool": "map", "arguments": {"query": "cart"}}]},
        {"repeat": true, "steps": [{"text": "seen"}]},
    ])
}

/// The text of the only tool result.
fn result(home: &Home) -> String {
    let lines = home.session();
    let is_result = |line: &&Value| line["message"]["role"] == "toolResult";
    let result = lines.iter().find(is_result).unwrap();
    let text = result["message"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}

const CART: &str = "cart.rs\n  2 pub fn cart_total(count: u32) -> u32\n";

#[test]
fn the_model_gets_the_map_of_a_large_project() {
    let home = project();
    let secret = "secret.rs\n  1 pub fn cart_secret() {}\n";
    let maps = home.home().join("maps");
    // The index is stored for the next time, unless a run ends before that.
    for _ in 0..20 {
        let ended = home
            .scripted(&asks())
            .args(["--no-session", "-p", "go"])
            .run();
        assert_eq!(ended, ProgramOutput::new(0, "seen\n", ""));
        if std::fs::read_dir(&maps).is_ok_and(|maps| maps.count() == 1) {
            break;
        }
    }
    assert_eq!(std::fs::read_dir(&maps).unwrap().count(), 1);
    let ended = home.scripted(&asks()).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "seen\n", ""));
    assert_eq!(result(&home), format!("{CART}{secret}"));
}

#[test]
fn plan_mode_allows_the_map_and_rules_hide_files() {
    let home = project();
    let settings = format!("{SETTINGS}deny = [\"read(secret.rs)\"]\n");
    home.config("settings.toml", settings);
    let plan = ["--permissions", "plan", "-p", "go"];
    let ended = home.scripted(&asks()).args(plan).run();
    assert_eq!(ended, ProgramOutput::new(0, "seen\n", ""));
    assert_eq!(result(&home), CART);
}

#[test]
fn a_small_project_has_no_map_tool() {
    let home = Home::new();
    home.file("cart.rs", "pub fn cart_total() {}\n");
    let ended = home.scripted(&asks()).args(["-p", "go"]).run();
    assert_eq!(ended.code, Some(0));
    assert!(result(&home).contains("map"), "{}", result(&home));
    assert!(!result(&home).contains("cart_total"), "{}", result(&home));
}
