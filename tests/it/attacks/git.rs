//! A repository cannot run programs when osier starts git in it: `/diff head`, and `/fan`, which makes worktrees.

#![expect(clippy::disallowed_methods, reason = "a repository of the test's own")]

use std::path::Path;
use std::process::Command;

use osier_llm::Script;
use osier_protocol::{CheckpointEvent, CheckpointOp, DiffRange, Event, Op, TreeEvent, TreeOp};
use osier_session::SessionChoice;
use osier_testing::skip;

use crate::support::session::{OpenSession, TestProject};

/// A repository with a changed file, attributes that name the drivers of `evil`, and a program `$M` that leaves a mark.
const REPOSITORY: &str = r#"
git init -q .
printf '* filter=evil diff=evil merge=evil\n' > .gitattributes
echo one > a.txt; mkdir sub; echo one > sub/b.txt; cp "$M" evil.sh
git add .; git -c user.name=a -c user.email=a@b commit -qm first
echo two > a.txt; echo two > sub/b.txt
"#;

/// The promised objects of a partial clone are missing.
const PARTIAL: &str = r"
git config core.repositoryformatversion 1; git config extensions.partialClone origin
git config remote.origin.promisor true; git config remote.origin.url ssh://evil/x
for object in $(git rev-parse HEAD:a.txt HEAD:sub/b.txt); do
    rm -f .git/objects/$(echo $object | cut -c1-2)/$(echo $object | cut -c3-); done
";

/// Changes of the repository by the attacker.
const ATTACKS: &[(&str, &str)] = &[
    ("filter.clean", "git config filter.evil.clean $M"),
    ("filter.smudge", "git config filter.evil.smudge $M"),
    (
        "filter.process",
        "git config filter.evil.process $M; git config filter.evil.required true",
    ),
    (
        "filter with dots and spaces",
        "printf '* filter=e.v-il\\n' > .gitattributes; git config 'filter.e.v-il.clean' $M",
    ),
    (
        "filter of info/attributes",
        "mkdir -p .git/info; printf '* filter=two' > .git/info/attributes; git config filter.two.clean $M; git config filter.two.smudge $M",
    ),
    (
        "filter with an equals sign",
        "printf '* filter=e=v\\n' > .gitattributes; git config --file .git/config 'filter.e=v.clean' $M",
    ),
    (
        "included filter",
        "git config --file evil.config filter.evil.clean $M; git config include.path ../evil.config",
    ),
    (
        "filter of worktrees only",
        "git config --file evil.config filter.evil.clean $M; git config --file evil.config filter.evil.smudge $M; git config 'includeIf.gitdir:**/worktrees/**.path' ../../../evil.config; git config 'includeIf.gitdir:**/worktrees/**.path' $PWD/evil.config",
    ),
    (
        "filter of a branch",
        "git config --file evil.config filter.evil.clean $M; git config 'includeIf.onbranch:**.path' ../evil.config",
    ),
    (
        "filter in config.worktree",
        "git config extensions.worktreeConfig true; git config --worktree filter.evil.clean $M",
    ),
    ("fsmonitor", "git config core.fsmonitor $M"),
    (
        "hooks",
        "for hook in post-checkout post-index-change reference-transaction pre-auto-gc; do cp $M .git/hooks/$hook; done",
    ),
    (
        "hooks path",
        "mkdir hooks; for hook in post-checkout post-index-change reference-transaction; do cp $M hooks/$hook; done; git config core.hooksPath $PWD/hooks",
    ),
    (
        "hooks of the configuration",
        "git config hook.evil.command $M; git config hook.evil.event post-checkout; git config --add hook.evil.event post-index-change",
    ),
    ("external diff", "git config diff.external $M"),
    (
        "text conversion and diff driver",
        "git config diff.evil.textconv $M; git config diff.evil.command $M",
    ),
    (
        "pager, editor, askpass, alias",
        "for key in core.pager core.editor core.askPass sequence.editor; do git config $key $M; done; git config alias.diff \"!$M\"; git config alias.status \"!$M\"",
    ),
    (
        "signature program",
        "git config gpg.program $M; git config log.showSignature true",
    ),
    (
        "partial clone over ssh",
        "PARTIAL; git config core.sshCommand $M",
    ),
    (
        "partial clone with a helper",
        "PARTIAL; git config remote.origin.url \"ext::$M\"; git config protocol.ext.allow always; git config protocol.allow always",
    ),
    (
        "partial clone with upload-pack",
        "PARTIAL; git clone -q --bare . ../other; git config remote.origin.url $PWD/../other; git config remote.origin.uploadpack $M",
    ),
    (
        "partial clone through a proxy",
        "PARTIAL; git config remote.origin.url git://localhost/x; git config core.gitProxy $M",
    ),
    (
        "partial clone with credentials",
        "PARTIAL; git config remote.origin.url https://localhost:1/x; git config credential.helper \"!$M\"; git config http.proxyAuthMethod basic",
    ),
    (
        "partial clone with another URL",
        "PARTIAL; git config url.ext::$M.insteadOf ssh://evil/x; git config protocol.ext.allow always",
    ),
    (
        "git file that points elsewhere",
        "mv .git innocent; echo 'gitdir: innocent' > .git; git config --file innocent/config filter.evil.clean $M; git config --file innocent/config filter.evil.smudge $M; git config --file innocent/config core.fsmonitor $M",
    ),
    (
        "alternate references",
        "git config core.alternateRefsCommand $M; git clone -q --bare . ../alternate; echo $PWD/../alternate/objects > .git/objects/info/alternates",
    ),
    (
        "submodule",
        "git init -q module; git -C module -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git add module 2>/dev/null; git -C module config core.fsmonitor $M; git -C module config filter.evil.clean $M; echo x > module/.gitattributes",
    ),
    (
        "bare repository in a folder",
        "rm -rf sub; git init -q --bare sub; git -C sub config core.bare false; git -C sub config core.worktree ..; git -C sub config core.fsmonitor $M; git -C sub config filter.evil.clean $M",
    ),
];

fn shell(script: &str, folder: &Path, marking: &Path) {
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .env("M", marking)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        errors.is_empty() || output.status.success(),
        "{script}: {errors}"
    );
}

/// The program leaves a mark and then behaves like `cat`.
fn marking(place: &TestProject) -> (std::path::PathBuf, std::path::PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = place.work().parent().unwrap().to_owned();
    let (program, mark) = (folder.join("program"), folder.join("mark"));
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", mark.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (program, mark)
}

async fn diff_head(open: &mut OpenSession) {
    let range = DiffRange::Head;
    open.host.send(Op::Checkpoint(CheckpointOp::ReadFileDiffs {
        request: 1,
        range,
    }));
    open.until(|event| {
        matches!(
            event,
            Event::Notice { .. } | Event::Checkpoint(CheckpointEvent::FileDiffs { .. })
        )
    })
    .await;
}

async fn fan(open: &mut OpenSession) {
    open.run("hello").await;
    open.host.send(Op::Tree(TreeOp::FanOut {
        models: vec!["test/one".to_owned(), "test/one".to_owned()],
        prompt: Some("do it".to_owned()),
    }));
    open.until(|event| {
        matches!(
            event,
            Event::Notice { .. } | Event::Tree(TreeEvent::FanEnded { .. })
        )
    })
    .await;
}

#[tokio::test]
async fn no_setting_of_a_repository_runs_a_program() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let mut marked = Vec::new();
    for (name, attack) in ATTACKS {
        for place_of_attack in ["diff", "fan"] {
            let place = TestProject::new();
            let (program, mark) = marking(&place);
            shell(&format!("set -e{REPOSITORY}"), &place.work(), &program);
            let attack = attack.replace("PARTIAL", PARTIAL.trim());
            shell(&attack, &place.work(), &program);
            let _ = std::fs::remove_file(&mark);
            let script = Script::always("ok");
            let mut open = place
                .open_with(SessionChoice::New, script, |setup| {
                    if *name == "bare repository in a folder" {
                        setup.cwd = setup.cwd.join("sub");
                    }
                })
                .await;
            match place_of_attack {
                "diff" => diff_head(&mut open).await,
                _ => fan(&mut open).await,
            }
            open.close().await;
            if let Ok(text) = std::fs::read_to_string(&mark) {
                marked.push(format!("{name}, {place_of_attack}: {}", text.trim()));
            }
        }
    }
    assert_eq!(marked, [""; 0], "{} of {}", marked.len(), ATTACKS.len() * 2);
}

#[tokio::test]
async fn another_working_tree_is_not_read() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let place = TestProject::new();
    let (program, _) = marking(&place);
    let script = "mkdir ../secrets; echo key > ../secrets/key; git init -q .; git config core.worktree $PWD/../secrets; echo x > own";
    shell(script, &place.work(), &program);
    let mut open = place
        .open(SessionChoice::Unstored, Script::always("ok"))
        .await;
    let range = DiffRange::Head;
    open.host.send(Op::Checkpoint(CheckpointOp::ReadFileDiffs {
        request: 1,
        range,
    }));
    let events = open
        .until(|event| matches!(event, Event::Checkpoint(CheckpointEvent::FileDiffs { .. })))
        .await;
    let Some(Event::Checkpoint(CheckpointEvent::FileDiffs { files, .. })) = events.last() else {
        panic!("{events:?}");
    };
    let paths: Vec<&str> = files.iter().map(|file| file.change.path.as_str()).collect();
    assert_eq!(paths, ["own"]);
}
