//! The web chat in a real browser, at the sizes of a phone and a desktop. Each test is a script that starts the server
//! with a scripted model and uses the page as a user would.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use osier_testing::skip;
use tempfile::TempDir;

use crate::tool_tour;

/// The names of the browser on Debian and on other systems.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// Installs the packages and sets `OSIER_TEST_PLAYWRIGHT`.
const INSTALL: &str = ".ci/run";

/// Runs a script, or skips the test if a program is missing.
fn run_script(name: &str) {
    run_script_in(&tempfile::tempdir().unwrap(), name);
}

/// Runs a script in a directory that may have files for it.
fn run_script_in(folder: &TempDir, name: &str) {
    let Some(packages) = std::env::var_os("OSIER_TEST_PLAYWRIGHT").map(PathBuf::from) else {
        skip::missing("playwright-core", INSTALL);
        return;
    };
    if !packages.join("node_modules/playwright-core").is_dir() {
        skip::missing("playwright-core", INSTALL);
        return;
    }
    let Some(browser) = skip::program(BROWSERS, "apt install chromium") else {
        return;
    };
    if !skip::has(&["node"], "apt install nodejs") {
        return;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/web/{name}.mjs"));
    #[expect(clippy::disallowed_methods, reason = "the script is run")]
    let mut command = Command::new("node");
    let output = command
        .arg(script)
        .env("OSIER_BIN", env!("CARGO_BIN_EXE_osier"))
        .env("OSIER_WEB_FOLDER", folder.path())
        .env("OSIER_TEST_CHROMIUM", browser)
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "played\n");
}

#[test]
fn conversation_with_tools_and_the_side_panel() {
    run_script("conversation");
}

#[test]
fn branches_are_created_and_navigated() {
    run_script("branches");
}

#[test]
fn answers_are_compared_side_by_side() {
    run_script("compare");
}

#[test]
fn formulas_are_shown_as_math() {
    run_script("math");
}

#[test]
fn files_are_restored() {
    run_script("files");
}

#[test]
fn long_session_loads_while_scrolling() {
    run_script("long_session");
}

#[test]
fn what_was_not_sent_comes_back() {
    run_script("unsent");
}

#[test]
fn mcp_servers_ask_and_are_disabled() {
    run_script("servers");
}

#[test]
fn terminals_are_live_also_after_a_reload() {
    run_script("terminals");
}

#[test]
fn plan_is_edited_and_approved() {
    run_script("plan");
}

#[test]
fn two_clients_write_one_at_a_time() {
    run_script("presence");
}

#[test]
fn composer_handles_images_voice_queue_and_themes() {
    run_script("composer");
}

#[test]
fn lost_connection_is_restored_and_the_page_opens_offline() {
    run_script("connection");
}

#[test]
fn pages_are_accessible() {
    run_script("accessibility");
}

#[test]
fn untrusted_output_runs_no_code() {
    run_script("untrusted_content");
}

#[test]
fn tools_work_in_the_page() {
    let server = tool_tour::server();
    let folder = tempfile::tempdir().unwrap();
    tool_tour::write_files(folder.path(), &server);
    let turns = tool_tour::turns(&server).to_string();
    osier_base::atomic_file::write(&folder.path().join("turns.json"), turns.as_bytes()).unwrap();
    run_script_in(&folder, "tool_tour");
}

#[test]
fn failed_runs_are_shown_with_what_helps() {
    run_script("failure");
}

#[test]
fn permission_is_asked_with_all_that_it_allows() {
    run_script("permission");
}

#[test]
fn waiting_question_outlives_its_connection_but_not_its_process() {
    run_script("waiting_question");
}

#[test]
fn drafts_stay_with_their_session_and_a_dead_connection_is_noticed() {
    run_script("drafts");
}

#[test]
fn sessions_are_searched_marked_and_exported() {
    run_script("sidebar");
}

#[test]
fn slash_commands_work_or_say_why_not() {
    run_script("slash");
}

#[test]
fn diffs_have_the_colours_of_their_language_and_footnotes_their_own_ids() {
    run_script("diff");
}

#[test]
fn many_tool_calls_are_grouped() {
    run_script("groups");
}

#[test]
fn long_answer_is_shown_in_pieces() {
    run_script("long_answer");
}

#[test]
fn page_and_long_sessions_are_small_on_a_slow_line() {
    run_script("slow_line");
}

#[test]
fn usage_is_a_dialog() {
    run_script("usage");
}

#[test]
fn subagent_is_opened_steered_and_stopped() {
    run_script("subagents");
}
