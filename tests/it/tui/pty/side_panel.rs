//! The side panel in the real program: its key, its command, a resize, and the next start.

use super::program::Program;

const EDITS: &str = r#"{"turns": [
  {"steps": [{"tool": "write", "arguments": {"file_path": "src/new.rs", "content": "one\ntwo\n"}}]},
  {"repeat": true, "steps": [{"text": "The file is written."}]}
]}"#;

#[test]
fn key_shows_the_panel_and_the_next_start_remembers_it() {
    let mut program = Program::new()
        .file("s.json", EDITS)
        .model("s.json")
        .size(150, 30)
        .start();
    program.shows("Ask, or type / for commands");
    assert!(!program.screen().contains("Changed files"));
    program.write("go\r");
    program.shows("The file is written.");
    program.write("\x1bU");
    program.shows("│ Changed files");
    program.until("the file below its folder", |screen| {
        let rows: Vec<&str> = screen.lines().collect();
        rows.windows(2).any(|rows| {
            rows[0].ends_with("│ src/") && rows[1].contains("│   new.rs") && rows[1].ends_with("+2")
        })
    });
    program.resize(120, 30);
    program.hides("Changed files");
    program.resize(150, 30);
    program.shows("│ Changed files");
    // A new tab shows it, too.
    program.write("\x1bN");
    program.until("an empty panel", |screen| {
        screen.contains("│ none") && screen.contains("│ Changed files")
    });
    program.write("\x04");
    assert!(program.exit().success());
    let mut again = program.again(&[]);
    again.shows("│ Changed files");
    again.write("/panel\r");
    again.hides("Changed files");
}
