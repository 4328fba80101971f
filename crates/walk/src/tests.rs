//! The entries that walks list, and ignore files that try to hang a walk or fill the memory.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::rules::excludes_of_user;
use super::*;

/// A folder with these files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        put(&folder.path().join(path), text);
    }
    folder
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    osier_base::atomic_file::write(path, text.as_bytes()).unwrap();
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// The listed paths below `root`, and the errors.
fn walked(root: &Path, rules: Rules) -> (Vec<String>, Vec<String>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let below = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    for entry in walk(root, rules) {
        match entry {
            Ok(entry) => found.push(below(&entry.path)),
            Err(WalkError::Folder { path, .. } | WalkError::Rules { path, .. }) => {
                errors.push(below(&path));
            }
        }
    }
    (found, errors)
}

/// A project with every kind of rule.
fn project() -> TempDir {
    tree(&[
        (
            ".gitignore",
            "*.log\n!keep.log\n/out/\nnested/*.tmp\n\\#x\nbad[\n",
        ),
        (".ignore", "searched\n!.shown\n"),
        (".rgignore", "!searched\nrg\n"),
        (".git/info/exclude", "excluded\n"),
        (".git/config", ""),
        (".shown", ""),
        (".hidden/a", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("out/x", ""),
        ("sub/out/x", ""),
        ("searched", ""),
        ("rg", ""),
        ("excluded", ""),
        ("#x", ""),
        ("nested/a.tmp", ""),
        ("nested/deep/a.tmp", ""),
        ("sub/.gitignore", "!a.log\nown\n"),
        ("sub/a.log", ""),
        ("sub/own", ""),
        ("own", ""),
        ("sub/deep/own", ""),
        ("sub/.git/info/exclude", "inner\n"),
        ("sub/inner", ""),
        ("inner", ""),
        ("sp ace/é", ""),
    ])
}

/// The crate `ignore` is the reference.
#[test]
fn walks_list_what_ripgrep_lists() {
    let place = project();
    for root in [
        place.path().to_owned(),
        place.path().join("sub/deep"),
        place.path().join("nested"),
    ] {
        for (rules, hidden, for_search) in [
            (Rules::SEARCH, true, true),
            (Rules::SEARCH_HIDDEN, false, true),
            (Rules::RECORD, false, false),
        ] {
            let mut reference = WalkBuilder::new(&root);
            reference
                .hidden(hidden)
                .ignore(for_search)
                .require_git(false)
                .git_global(rules.of_user)
                .sort_by_file_name(Ord::cmp)
                .filter_entry(|entry| entry.file_name() != ".git");
            if for_search {
                reference.add_custom_ignore_filename(".rgignore");
            }
            let expected: Vec<PathBuf> = reference
                .build()
                .map(|entry| entry.unwrap().into_path())
                .filter(|path| *path != root)
                .collect();
            let found: Vec<PathBuf> = walk(&root, rules)
                .map(|entry| entry.unwrap().path)
                .collect();
            assert_eq!(found, expected, "{rules:?}");
            let mut parallel: Vec<PathBuf> = visit(&root, rules, 3, |found: &mut Vec<_>, entry| {
                found.push(entry.unwrap().path);
                ControlFlow::Continue(())
            })
            .concat();
            parallel.sort();
            let mut sorted = expected;
            sorted.sort();
            assert_eq!(parallel, sorted, "{rules:?}");
        }
    }
}

#[test]
fn a_copy_knows_only_its_own_rules() {
    let place = tree(&[
        (".gitignore", "*.log\n"),
        ("copy/a.log", ""),
        ("copy/.gitignore", "b\n"),
        ("copy/b", ""),
    ]);
    let root = place.path().join("copy");
    let listed = |names: &[&str]| {
        (
            names.iter().map(|name| (*name).to_owned()).collect(),
            vec![],
        )
    };
    assert_eq!(walked(&root, Rules::COPY), listed(&[".gitignore", "a.log"]));
    assert_eq!(walked(&root, Rules::RECORD), listed(&[".gitignore"]));
}

#[test]
fn a_worktree_has_the_excludes_of_its_repository() {
    let place = tree(&[
        ("main/.git/info/exclude", "excluded\n"),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("w/.git", "gitdir: ../main/.git/worktrees/w\n"),
        ("w/excluded", ""),
        ("w/seen", ""),
    ]);
    let found = walked(&place.path().join("w"), Rules::RECORD);
    assert_eq!(found, (vec!["seen".to_owned()], vec![]));
}

#[test]
fn a_root_behind_a_link_has_the_rules_above_its_real_place() {
    let place = tree(&[
        ("real/.gitignore", "in/a\nb\n"),
        ("real/in/a", ""),
        ("real/in/b", ""),
        ("real/in/c", ""),
    ]);
    symlink("real/in", place.path().join("link")).unwrap();
    let found = walked(&place.path().join("link"), Rules::SEARCH);
    assert_eq!(found, (vec!["c".to_owned()], vec![]));
}

#[test]
fn no_ignore_file_hangs_a_walk_or_fills_the_memory() {
    let place = tree(&[("a", ""), ("sub/b", ""), (".git/info/x", "")]);
    let root = place.path();
    symlink("/dev/zero", root.join(".gitignore")).unwrap();
    pipe(&root.join(".ignore"));
    pipe(&root.join(".git/info/exclude"));
    symlink("/dev/zero", root.join(".rgignore")).unwrap();
    put(&root.join("sub/.ignore"), &"x\n".repeat(1 << 19 | 1));
    // Git does not follow this symbolic link.
    put(&root.join("rules"), "b\n");
    symlink("../rules", root.join("sub/.gitignore")).unwrap();
    let (found, errors) = walked(root, Rules::SEARCH);
    assert_eq!(found, ["a", "rules", "sub", "sub/b"]);
    let refused = [
        ".rgignore",
        ".ignore",
        ".gitignore",
        ".git/info/exclude",
        "sub/.ignore",
        "sub/.gitignore",
    ];
    assert_eq!(errors, refused);
}

#[test]
fn excludes_of_the_user_are_those_of_git_without_waiting_for_a_configuration() {
    let place = tree(&[
        (
            ".gitconfig",
            "[user]\n\tname = x\n[core]\n\texcludesFile = \"~/mine\"\n",
        ),
        (".config/git/config", "excludesfile=/shared/rules\n"),
    ]);
    let home = place.path();
    let excludes = || excludes_of_user(|_| None, Some(home));
    assert_eq!(excludes(), Some(home.join("mine")));
    fs::remove_file(home.join(".gitconfig")).unwrap();
    pipe(&home.join(".gitconfig"));
    assert_eq!(excludes(), Some("/shared/rules".into()));
    let other = home.join("other");
    put(&other, "excludesfile = /own\n");
    let variable = |name: &str| (name == "GIT_CONFIG_GLOBAL").then(|| other.clone().into());
    let named = excludes_of_user(variable, Some(home));
    assert_eq!(named, Some("/own".into()));
    fs::remove_file(home.join(".config/git/config")).unwrap();
    symlink("/dev/zero", home.join(".config/git/config")).unwrap();
    let elsewhere = |name: &str| (name == "GIT_CONFIG_SYSTEM").then(|| "/nowhere".into());
    let default = excludes_of_user(elsewhere, Some(home));
    assert_eq!(default, Some(home.join(".config/git/ignore")));
}

#[test]
fn globs_decide_before_rules() {
    let place = project();
    let root = place.path();
    let mut globs = OverrideBuilder::new(root);
    globs.add("*.log").unwrap();
    let found = walk(root, Rules::SEARCH).with_globs(globs.build().ok());
    let names = found.map(|entry| entry.unwrap().path.strip_prefix(root).unwrap().to_owned());
    let files: Vec<PathBuf> = names.filter(|path| path.extension().is_some()).collect();
    assert_eq!(files, ["a.log", "keep.log", "sub/a.log"].map(PathBuf::from));
}
