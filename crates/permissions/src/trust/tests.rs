//! Tests of decisions, and with programs of a project that has changed.

mod attacks;
mod examples;
mod place;
mod programs;
mod quiet;

use std::fs;

use osier_base::atomic_file;
use tempfile::TempDir;

use super::*;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    atomic_file::write(path, text.as_bytes()).unwrap();
}

fn place() -> (TempDir, Trust, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let trust = Trust::new(&Folders::under(&place.path().join("home")));
    let project = place.path().join("project");
    fs::create_dir_all(project.join("src")).unwrap();
    (place, trust, project.canonicalize().unwrap())
}

fn state(trust: &Trust, project: &Path) -> TrustState {
    trust.state(&ProjectFiles::read(project))
}

fn decide(trust: &Trust, project: &Path, trusted: bool) {
    trust.decide(&ProjectFiles::read(project), trusted).unwrap();
}

/// Nothing is kept back.
fn allows(trust: &Trust, project: &Path) -> bool {
    let files = trust.trusted_files(project);
    files == ProjectFiles::read(project).with_decision(files.runs_servers())
}

#[test]
fn a_folder_without_code_files_needs_no_trust() {
    let (_place, trust, project) = place();
    write(&project.join("AGENTS.md"), "be kind");
    assert_eq!(state(&trust, &project), TrustState::Nothing);
    assert!(allows(&trust, &project));
}

/// A server that starts in a project runs what the project brings as `node_modules`, for example.
#[test]
fn servers_start_only_in_a_project_that_was_trusted_explicitly() {
    let (_place, trust, project) = place();
    let runs_servers = || trust.trusted_files(&project).runs_servers();
    assert_eq!(state(&trust, &project), TrustState::Nothing);
    assert!(!runs_servers());
    decide(&trust, &project, false);
    assert!(!runs_servers());
    decide(&trust, &project, true);
    assert!(runs_servers());
    write(&project.join(".mcp.json"), "{}");
    assert!(!runs_servers());
    decide(&trust, &project, true);
    assert!(runs_servers());
}

#[test]
fn every_file_kind_requires_a_decision_and_again_after_a_change() {
    for name in FILES {
        let (_place, trust, project) = place();
        let path = match name {
            ".osier/plugins" | ".osier/agents" | ".claude/agents" => {
                project.join(name).join("deep/gate.lua")
            }
            name => project.join(name),
        };
        write(&path, "one");
        assert_eq!(
            state(&trust, &project),
            TrustState::Undecided(vec![path.clone()])
        );
        assert!(!allows(&trust, &project), "{name}");
        decide(&trust, &project, true);
        assert_eq!(state(&trust, &project), TrustState::Trusted);
        write(&path, "two");
        assert_eq!(state(&trust, &project), TrustState::Changed(vec![path]));
        assert!(!allows(&trust, &project), "{name}");
    }
}

#[test]
fn an_added_or_removed_file_is_a_change() {
    let (_place, trust, project) = place();
    let (hooks, servers) = (project.join(".osier/hooks.json"), project.join(".mcp.json"));
    write(&hooks, "{}");
    decide(&trust, &project, true);
    write(&servers, "{}");
    assert!(!allows(&trust, &project));
    fs::remove_file(&servers).unwrap();
    assert!(allows(&trust, &project));
    fs::rename(&hooks, &servers).unwrap();
    assert!(!allows(&trust, &project));
}

#[test]
fn a_refusal_is_stored_for_the_repository() {
    let (_place, trust, project) = place();
    fs::create_dir(project.join(".git")).unwrap();
    write(&project.join(".osier/hooks.json"), "{}");
    decide(&trust, &project.join("src"), false);
    assert_eq!(state(&trust, &project), TrustState::Refused);
    assert!(!allows(&trust, &project.join("src")));
    decide(&trust, &project, true);
    assert!(allows(&trust, &project.join("src")));
}

#[test]
fn a_damaged_list_trusts_nothing() {
    let (_place, trust, project) = place();
    write(&project.join(".mcp.json"), "{}");
    decide(&trust, &project, true);
    write(&trust.path, "{\"folders\": tru");
    assert!(!allows(&trust, &project));
}
