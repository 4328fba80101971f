//! Folders with prepared repositories, as an archive or a shared folder can contain them: lines for
//! which git would use such a repository need permission.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a project of the test's own"
)]

use std::fs;
use std::os::unix::fs::symlink;

use osier_protocol::PermissionMode::Ask;

use super::decision;
use super::known::{CONFIG, HOSTILE_CONFIG, Project};

/// Bytes of the hashes of a repository.
const HASH: usize = 20;
const LONG_HASH: usize = 32;

/// An index with a repository at each of the paths.
fn index(paths: &[&str], hash: usize) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02\0\0\0".to_vec();
    bytes.push(u8::try_from(paths.len()).unwrap());
    for path in paths {
        let start = bytes.len();
        bytes.extend([0; 24]);
        bytes.extend(0o160_000_u32.to_be_bytes());
        bytes.extend(vec![0; 12 + hash]);
        bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        bytes.extend(path.as_bytes());
        let length = bytes.len() - start;
        bytes.extend(vec![0; (length + 8) / 8 * 8 - length]);
    }
    bytes.extend(vec![0; hash]);
    bytes
}

/// A change of a project that has the harmless repository `.` and the hostile `nested`; and a line that needs permission then,
/// because git obeys the configuration of `nested` or reads the files of others.
type Row = (&'static str, fn(&Project), &'static str);

#[rustfmt::skip]
const PLANTED: &[Row] = &[
    ("a pointer", |p| p.put("sub/.git", "gitdir: ../nested/.git\n"), "git -C sub status"),
    ("a blank at the end", |p| {
        p.put("sub/.git", "gitdir: ../.git \n");
        symlink("nested/.git", p.root.join(".git ")).unwrap();
    }, "git -C sub status"),
    ("a long pointer", |p| p.put("sub/.git", &format!("gitdir: ../nested/.git{}", "\n".repeat(100_000))), "git -C sub status"),
    ("a name that is no text", |p| {
        p.put("sub/x", "");
        fs::write(p.root.join("sub/.git"), b"gitdir: ../nested/.git/../\xff\n").unwrap();
    }, "git -C sub status"),
    ("a link", |p| {
        p.put("sub/x", "");
        symlink("../nested/.git", p.root.join("sub/.git")).unwrap();
    }, "git -C sub status"),
    ("a link to a pointer", |p| {
        p.put("sub/x", "gitdir: ../nested/.git\n");
        symlink("x", p.root.join("sub/.git")).unwrap();
    }, "git -C sub status"),
    ("no `HEAD`: git searches above", |p| {
        p.repository("..", HOSTILE_CONFIG);
        fs::remove_file(p.root.join(".git/HEAD")).unwrap();
    }, "git status"),
    ("another `HEAD`", |p| {
        p.repository("..", HOSTILE_CONFIG);
        p.put(".git/HEAD", "x\n");
    }, "git status"),
    ("no `refs`", |p| {
        p.repository("..", HOSTILE_CONFIG);
        fs::remove_dir(p.root.join(".git/refs")).unwrap();
    }, "git -C src log"),
    ("a link to nothing", |p| {
        p.repository("..", HOSTILE_CONFIG);
        fs::remove_dir_all(p.root.join(".git")).unwrap();
        symlink("nothing", p.root.join(".git")).unwrap();
    }, "git status"),
    ("no `.git`, and a file that looks like a repository", |p| {
        p.repository("..", HOSTILE_CONFIG);
        fs::remove_dir_all(p.root.join(".git")).unwrap();
        for name in ["HEAD", "objects", "refs"] {
            p.put(name, "x\n");
        }
    }, "git status"),
    ("the configuration elsewhere", |p| p.put(".git/commondir", "../nested/.git\n"), "git status"),
    ("the configuration nowhere", |p| p.put(".git/commondir", &" ".repeat(100_000)), "git status"),
    ("the configuration of a working tree", |p| {
        p.put(".git/config", "[extensions]\n\tworktreeConfig = true\n");
        p.put(".git/config.worktree", HOSTILE_CONFIG);
    }, "git status"),
    ("a submodule", |p| {
        fs::write(p.root.join(".git/index"), index(&["nested"], HASH)).unwrap();
    }, "git status"),
    ("a submodule whose name is no text", |p| {
        let bytes = index(&["nestXd"], HASH);
        let bytes = bytes.into_iter().map(|byte| if byte == b'X' { 0xff } else { byte });
        fs::write(p.root.join(".git/index"), bytes.collect::<Vec<_>>()).unwrap();
    }, "git status"),
    ("a submodule of a submodule", |p| {
        p.repository("a", CONFIG);
        p.repository("a/b", HOSTILE_CONFIG);
        fs::write(p.root.join(".git/index"), index(&["a"], HASH)).unwrap();
        fs::write(p.root.join("a/.git/index"), index(&["b"], HASH)).unwrap();
    }, "git diff"),
    ("a submodule that contains itself", |p| {
        fs::write(p.root.join(".git/index"), index(&["."], HASH)).unwrap();
    }, "git status"),
    ("long hashes", |p| {
        p.put(".git/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n");
        fs::write(p.root.join(".git/index"), index(&["nested"], LONG_HASH)).unwrap();
    }, "git status"),
    ("hashes of another length", |p| {
        p.put(".git/config", "[extensions]\n\tobjectFormat = md5\n");
    }, "git status"),
    ("an index without an end", |p| {
        fs::write(p.root.join(".git/index"), &index(&["x"], HASH)[..60]).unwrap();
    }, "git status"),
];

fn project() -> Project {
    let project = Project::new();
    project.repository("nested", HOSTILE_CONFIG);
    project
}

#[test]
fn prepared_repositories_are_asked_about() {
    let mut passed = Vec::new();
    for (name, plant, line) in PLANTED {
        let project = project();
        let found = decision(&project.permissions(Ask, &[], &[]), line);
        assert_eq!(found, "allow", "{name}");
        plant(&project);
        // A rule does not cover another repository, either.
        let rules: &[&str] = if line.contains("sub") {
            &["bash(git *)"]
        } else {
            &[]
        };
        if decision(&project.permissions(Ask, rules, &[]), line) != "ask" {
            passed.push(name);
        }
    }
    assert_eq!(passed, Vec::<&&str>::new());
}

/// Complete repositories, of which git uses no other one.
#[test]
fn complete_repositories_are_not_asked_about() {
    for head in [
        "ref: refs/heads/main\n",
        "0123456789abcdef0123456789abcdef01234567\n",
    ] {
        let project = project();
        project.put(".git/HEAD", head);
        project.repository("module", "[core]\n\tworktree = ..\n");
        fs::write(project.root.join(".git/index"), index(&["module"], HASH)).unwrap();
        let permissions = project.permissions(Ask, &[], &[]);
        assert_eq!(decision(&permissions, "git status"), "allow", "{head}");
    }
    let project = project();
    let config = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n";
    project.put(".git/config", config);
    fs::write(project.root.join(".git/index"), index(&["src"], LONG_HASH)).unwrap();
    let permissions = project.permissions(Ask, &[], &[]);
    assert_eq!(decision(&permissions, "git status"), "allow");
    // A working tree and a submodule of the repository.
    for (name, common) in [("worktrees/a", "../..\n"), ("modules/a", ".\n")] {
        let folder = format!(".git/{name}");
        project.put(&format!("{folder}/HEAD"), "ref: refs/heads/main\n");
        project.put(&format!("{folder}/commondir"), common);
        project.put(&format!("{folder}/objects/x"), "");
        project.put(&format!("{folder}/refs/x"), "");
        project.put("a/.git", &format!("gitdir: ../{folder}\r\n"));
        assert_eq!(decision(&permissions, "cd a && git log"), "allow", "{name}");
    }
}

/// Lines that run git in the folder `{D}`.
#[rustfmt::skip]
const WAYS: &[&str] = &[
    "cd {D} && git status", "cd {D}; git status", "cd {D}\ngit status", "cd {D} || true; git status", "cd -- {D} && git status",
    "cd -P {D} && git status", "cd -L {D}; git status", "cd -e {D}; git status", "cd -@ {D}; git status", "cd ./{D}/. && git status",
    "cd .//{D}// && git status", "cd src/../{D} && git status", "cd src && cd ../{D} && git status", "cd \"$PWD/{D}\" && git status",
    "cd ~+/{D} && git status", "cd ~-; git status", "cd \"{D}\" && git status", "cd '{D}' && git status", "cd {D}/../{D} && git log",
    "cd {D} > /dev/null && git status", "cd {D} 2>&1; git status", "cd {D} < README.md; git status", "! cd {D}; git status",
    "if cd {D}; then git status; fi", "while cd {D}; do git status; break; done", "until ! cd {D}; do git diff; break; done",
    "(cd {D} && git status)", "{ cd {D}; git status; }", "cd {D} && (git status)", "(cd {D}; pwd) && cd {D} && git status",
    "x=$(cd {D} && git status)", "echo $(cd {D}; git log)", "echo `cd {D}; git log`", "cat <(cd {D}; git log)",
    "for d in {D}; do cd $d; git status; done", "for d in src {D}; do cd \"$d\"; git status; cd ..; done",
    "for d in {D}; do (cd $d && git status); done", "for d in {D}; do git -C $d status; done", "for d in */; do git -C $d status; done",
    "D={D}; cd $D && git status", "D={D}; git -C $D status", "cd ${D:-{D}} && git status", "cd $(echo {D}) && git status",
    "cd {src,{D}} && git status", "cd {D}* && git status", "cd [{D}]* && git status", "OLDPWD={D}; cd - && git status",
    "OLDPWD={D} cd - && git status", "HOME={D}; cd; git status", "HOME={D} cd; git status", "HOME=$PWD/{D} cd && git status",
    "PWD={D}; git status", "CDPATH={D} cd src; git status", "CDPATH=.:{D}; cd src; git status", "pushd {D} && git status",
    "pushd {D}; popd; git status", "pushd -n {D}; popd; git status", "dirs -c; pushd {D}; git diff", "command cd {D} && git status",
    "builtin cd {D} && git status", "eval cd {D}; git status", "time cd {D} && git status", "cd {D} & git status", "cd {D} | git status",
    "true && cd {D} && true && git status", "false || cd {D}; ls | git status", "cd src; cd -; cd {D}; cd .; git status",
    "git -C {D} status", "git -C ./{D} --no-pager diff", "git -C . -C {D} status", "git -C src -C ../{D} log", "git -C {D}/ log",
    "git --git-dir={D}/.git status", "git --git-dir {D}/.git status", "git --work-tree={D} status", "git --namespace={D} -C {D} status",
    "env -C {D} git status", "env --chdir={D} git status", "GIT_DIR={D}/.git git status", "env GIT_DIR={D} git status",
    "timeout 5 git -C {D} status", "nice git -C {D} log", "time git -C {D} diff", "stdbuf -oL git -C {D} log", "env CI=1 git -C {D} log",
    "echo {D} | xargs -I{} git -C {} status", "ls | xargs -n1 git -C", "find {D} -execdir git status \\;", "find . -name {D} -exec git -C {} log \\;",
    "git submodule foreach git status", "git -C {D} ls-files | head", "git -C {D} ls-files | xargs ls", "cd {D} && ls | head && git stash list",
    "git --no-pager -C {D} blame x", "git -C {D} grep x", "git -C \"$PWD/{D}\" status", "git -C ~+/{D} status", "cd {D} && git remote -v",
    "cd {D} && while read -r x; do git show; done < README.md", "set -e; cd {D}; git status", "cd {D} && { git status; }",
    "test -d {D} && cd {D} && git status", "[ -d {D} ] && cd {D} && git status", "[[ -d {D} ]] && cd {D} && git status",
];

#[test]
fn each_way_into_another_repository_is_asked_about() {
    let project = project();
    project.put("pointed/.git", "gitdir: ../nested/.git\n");
    project.put("bare/x", "");
    for name in ["HEAD", "config", "objects/x", "refs/x"] {
        let text = if name == "config" {
            HOSTILE_CONFIG
        } else {
            "ref: refs/heads/main\n"
        };
        project.put(&format!("bare/{name}"), text);
    }
    symlink("nested", project.root.join("linked")).unwrap();
    project.put("nested/deep/src/x", "");
    let rules = [
        "git", "cd", "timeout", "nice", "xargs", "find", "echo", "for",
    ];
    let rules = rules.map(|name| format!("bash({name} *)"));
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let mut passed = Vec::new();
    for folder in [
        "nested",
        "pointed",
        "bare",
        "linked",
        "nested/deep",
        "linked/deep",
    ] {
        for way in WAYS {
            let line = way.replace("{D}", folder);
            for rules in [&[][..], &rules] {
                if decision(&project.permissions(Ask, rules, &[]), &line) != "ask" {
                    passed.push((line.clone(), rules.len()));
                }
            }
        }
    }
    assert_eq!(passed, Vec::new());
}
