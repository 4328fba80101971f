//! The conversation of `tool_tour.rs` on a terminal.

use super::program::Program;
use crate::tool_tour;

#[test]
fn tools_work_on_a_terminal() {
    let server = tool_tour::server();
    let setup = Program::new().size(100, 44);
    tool_tour::write_files(&setup.folder(), &server);
    let mut program = setup
        .file(
            "s.json",
            &serde_json::json!({"turns": tool_tour::turns(&server)}).to_string(),
        )
        .model("s.json")
        .argument("--permissions")
        .argument("yolo")
        .start();
    program.shows("Ask, or type / for commands");
    program.write("go\r");
    program.shows("enter select");
    // Keys do not answer a question right after it has opened by itself, except after this key.
    program.write("\x1ba2");
    program.shows("All tools work.");
    program.hides("esc to interrupt");
    let screen = program.screen().replace(&server.url(), "SERVER");
    // The footer contains a temporary directory, so it is left out.
    let (conversation, _) = screen.trim_end().rsplit_once('\n').unwrap();
    // The duration of the turn, and on a slow machine that of a call.
    let took = regex::Regex::new(r"(?m) · (\d+ms|\d+\.\ds)( · 11 tools)?$").unwrap();
    // The MCP server can be ready before the prompt, or during the turn.
    let ready = regex::Regex::new(r"(?m)^· 6 tools of MCP servers .*\n\n").unwrap();
    let conversation = took.replace_all(conversation, "");
    let conversation = ready.replace(&conversation, "");
    let start = conversation.find("● apply_patch").unwrap();
    insta::assert_snapshot!(&conversation[start..]);
}
