//! The agent for Harbor in `integrations/harbor`, run by Harbor's own classes in an environment made by bubblewrap.

use std::path::Path;

use osier_testing::skip;

use crate::support::cli::Home;

#[test]
fn agent_installs_runs_resumes_and_counts_tokens() {
    let fix = "python3.12 -m venv ~/harbor && ~/harbor/bin/pip install harbor==0.26.0; export OSIER_TEST_HARBOR=~/harbor";
    let Some(python) = python() else {
        skip::unsupported("harbor", &format!("it needs Python 3.12 or later: {fix}"));
        return;
    };
    if !skip::has(&["bwrap"], "apt install bubblewrap") {
        return;
    }
    let home = Home::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/harbor");
    #[expect(
        clippy::disallowed_methods,
        reason = "the test starts Harbor as a user would"
    )]
    let ended = std::process::Command::new(python)
        .arg(folder.join("test_osier_agent.py"))
        .arg(env!("CARGO_BIN_EXE_osier"))
        .current_dir(home.work())
        .env("HOME", home.home())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&ended.stdout);
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(
        (stdout.trim(), ended.status.code()),
        ("the agent works", Some(0)),
        "{stderr}"
    );
}

/// The Python of the environment that `OSIER_TEST_HARBOR` names.
fn python() -> Option<std::path::PathBuf> {
    let folder = std::env::var_os("OSIER_TEST_HARBOR")?;
    let python = Path::new(&folder).join("bin/python");
    python.is_file().then_some(python)
}
