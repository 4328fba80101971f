//! Commands that need no permission because all their effects are known, and commands that only
//! look similar.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a project of the test's own"
)]

use std::fs;
use std::path::{Path, PathBuf};

use osier_permissions::{Permissions, RuleLists, Verdict};
use osier_protocol::PermissionMode::{self, Ask, Auto, Yolo};
use serde_json::json;

use super::everyday::{ASKED, READING};
use super::hostile::{HARMLESS, HOSTILE};

/// A repository with the files that the lines name.
pub(crate) struct Project {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
}

/// The configuration that `git init` writes.
pub(crate) const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";
/// A configuration with a program that git runs.
pub(crate) const HOSTILE_CONFIG: &str = "[core]\n\tbare = false\n\tfsmonitor = \"touch pwned\"\n";

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        let project = Self {
            _folder: folder,
            root,
        };
        for (name, text) in [
            ("README.md", "# Project: x\n"),
            ("Cargo.toml", "[package]\nname = \"x\"\n"),
            ("package.json", "{\"name\": \"x\"}\n"),
            ("src/main.rs", "fn main() {}\n// a\n// b\n"),
            ("src/lib.rs", "pub fn a() {}\n"),
            (".env", "API_KEY=1\n"),
            ("keys/server.pem", "x\n"),
            ("hidden/.env", "API_KEY=1\n"),
        ] {
            project.put(name, text);
        }
        project.repository(".", CONFIG);
        project
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn repository(&self, name: &str, config: &str) {
        self.put(&format!("{name}/.git/config"), config);
        self.put(&format!("{name}/.git/HEAD"), "ref: refs/heads/main\n");
        fs::create_dir_all(self.root.join(name).join(".git/objects")).unwrap();
        fs::create_dir_all(self.root.join(name).join(".git/refs")).unwrap();
    }

    fn bare(&self, name: &str, config: &str) {
        self.put(&format!("{name}/config"), config);
        self.put(&format!("{name}/HEAD"), "ref: refs/heads/main\n");
        fs::create_dir_all(self.root.join(name).join("objects")).unwrap();
        fs::create_dir_all(self.root.join(name).join("refs")).unwrap();
    }

    pub(crate) fn permissions(
        &self,
        mode: PermissionMode,
        allow: &[&str],
        deny: &[&str],
    ) -> Permissions {
        let owned = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
        let (allow, deny): (Vec<String>, Vec<String>) = (owned(allow), owned(deny));
        let rules = RuleLists {
            allow: &allow,
            deny: &deny,
            ..RuleLists::default()
        };
        let store = "/nonexistent/permissions.json".into();
        Permissions::new(&self.root, store, mode, rules)
    }
}

fn decision(permissions: &Permissions, command: &str) -> &'static str {
    super::decision(permissions, command)
}

/// The lines of docs/safety.md.
fn everyday() -> Vec<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/safety.md");
    let text = fs::read_to_string(docs).unwrap();
    let (_, rest) = text.split_once("```bash\nls -la\n").unwrap();
    let (lines, _) = rest.split_once("```").unwrap();
    let lines = lines.lines().map(str::to_owned);
    std::iter::once("ls -la".to_owned()).chain(lines).collect()
}

/// More lines of everyday work, of which the last ones need permission: they run code of the
/// project, connect, or show files that a hostile name could choose.
const MORE: [&str; 40] = [
    "git log --graph --oneline --all -15",
    "git show HEAD~2 --stat",
    "git diff --cached",
    "git branch -vv",
    "git log -S foo --oneline",
    "git rev-list --count HEAD",
    "git shortlog -sn HEAD | head",
    "git tag --sort=-creatordate | head -5",
    "git reflog | head",
    "git stash show -p",
    "git log -1 --format=%H",
    "git diff --name-only --diff-filter=U",
    "git status --porcelain | awk '{print $2}'",
    "git ls-files '*.rs' | wc -l",
    "sed -n '/fn main/,/^}/p' src/main.rs",
    "awk -F: '{print $1}' README.md | sort | uniq -c | sort -rn | head",
    "awk 'NR>=10 && NR<=20' src/main.rs",
    "grep -rnE 'unwrap\\(|expect\\(' src | head -20",
    "grep -rl TODO src | sort",
    "rg -n --type rust 'impl .* for' src | head",
    "rg -tpy 'import (os|sys)' -l",
    "find . -type f -name '*.ts' ! -path '*/node_modules/*' | head -50",
    "find . -maxdepth 2 -type d | sort",
    "ls -lat src | head",
    "cat package.json | jq '.scripts'",
    "jq -r '.dependencies | keys[]' package.json",
    "python3 --version; node --version; go version",
    "stat README.md && file README.md",
    "test -f Cargo.lock && echo locked || echo none",
    "cut -d, -f2 README.md | sort -n | uniq -c",
    "date +%s; uptime; nproc; free -h",
    "echo $PATH | tr ':' '\\n'",
    "nl -ba src/main.rs | sed -n '1,20p'",
    "tree -a -I 'node_modules|target' -L 2",
    "find . -name '*.py' | xargs grep -n import",
    "cargo test --lib parser",
    "docker ps",
    "kubectl get pods -A",
    "gh pr view 12",
    "curl -s localhost:8080/health",
];

#[test]
fn few_everyday_lines_are_asked_about() {
    let project = Project::new();
    fs::remove_file(project.root.join("keys/server.pem")).unwrap();
    fs::remove_dir_all(project.root.join("hidden")).unwrap();
    fs::remove_file(project.root.join(".env")).unwrap();
    let lines = everyday();
    assert_eq!(lines.len(), 60);
    for mode in [Ask, Auto] {
        let permissions = project.permissions(mode, &[], &[]);
        let asked: Vec<&String> = lines
            .iter()
            .filter(|line| decision(&permissions, line) != "allow")
            .collect();
        assert!(asked.len() <= 6, "{asked:#?}");
        let asked: Vec<&str> = MORE
            .into_iter()
            .filter(|line| decision(&permissions, line) != "allow")
            .collect();
        assert_eq!(asked, MORE[35..]);
    }
}

/// Less than a tenth of everyday lines need permission, each for a reason.
#[test]
fn further_everyday_lines_run_without_a_question() {
    let project = Project::new();
    fs::remove_file(project.root.join("keys/server.pem")).unwrap();
    fs::remove_dir_all(project.root.join("hidden")).unwrap();
    fs::remove_file(project.root.join(".env")).unwrap();
    let permissions = project.permissions(Ask, &[], &[]);
    let is_asked = |line: &str| decision(&permissions, line) != "allow";
    let asked = READING.iter().copied().filter(|line| is_asked(line));
    assert_eq!(asked.collect::<Vec<_>>(), Vec::<&str>::new());
    let free = ASKED.iter().filter(|(line, _)| !is_asked(line));
    assert_eq!(free.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
    assert!(ASKED.len() * 10 < READING.len());
}

#[test]
fn wrappers_texts_and_settings_that_show_nothing_run() {
    let project = Project::new();
    let permissions = project.permissions(Ask, &[], &[]);
    let asked: Vec<&&str> = HARMLESS
        .iter()
        .filter(|line| decision(&permissions, line) != "allow")
        .collect();
    assert_eq!(asked, Vec::<&&str>::new());
}

/// Addresses with a password are shown to nobody.
#[test]
fn addresses_with_passwords_are_asked_about() {
    for (address, expected) in [
        ("https://example.org/x.git", "allow"),
        ("git@example.org:x.git", "allow"),
        ("ssh://git@example.org/x.git", "allow"),
        ("https://user:password@example.org/x.git", "ask"),
        ("https://token@example.org/x.git", "ask"),
        ("ssh://git:password@example.org/x.git", "ask"),
    ] {
        let project = Project::new();
        let config = format!("[remote \"origin\"]\n\turl = {address}\n");
        project.put(".git/config", &config);
        let permissions = project.permissions(Ask, &[], &[]);
        for line in [
            "git remote -v",
            "git remote get-url origin",
            "git config remote.origin.url",
            "git -C src remote -v",
            "cat .git/config",
            "grep -r url .git",
            "grep -rn https --include=config .",
            "head .git/*",
        ] {
            assert_eq!(decision(&permissions, line), expected, "{address} {line}");
        }
        assert_eq!(decision(&permissions, "git status"), "allow");
    }
}

fn hostile_project() -> Project {
    let project = Project::new();
    project.repository("nested", HOSTILE_CONFIG);
    project.bare("bare", HOSTILE_CONFIG);
    project.bare("docs", HOSTILE_CONFIG);
    project.repository("../other", HOSTILE_CONFIG);
    fs::create_dir_all(project.root.join("nested/sub")).unwrap();
    std::os::unix::fs::symlink("nested/sub", project.root.join("linked")).unwrap();
    std::os::unix::fs::symlink("../../other/.git", project.root.join("nested/link")).unwrap();
    project.put("rust-toolchain.toml", "[toolchain]\npath = \"evil\"\n");
    project
}

#[test]
fn lines_that_only_look_harmless_are_asked_about() {
    let project = hostile_project();
    assert!(HOSTILE.len() > 200);
    let permissions = project.permissions(Ask, &[], &[]);
    let passed: Vec<&&str> = HOSTILE
        .iter()
        .filter(|line| decision(&permissions, line) != "ask")
        .collect();
    assert_eq!(passed, Vec::<&&str>::new());
}

/// A rule for a program covers its known forms, and nothing else.
#[test]
fn rules_cover_known_forms() {
    let project = hostile_project();
    let rules = [
        "bash(git *)",
        "bash(cargo *)",
        "bash(cp *)",
        "bash(tee *)",
        "bash(sort *)",
        "bash(find *)",
        "bash(find * -delete)",
        "bash(mkdir *)",
        "bash(cd *)",
        "bash(rm *)",
    ];
    let permissions = project.permissions(Ask, &rules, &[]);
    for (line, expected) in [
        ("git push origin main", "allow"),
        ("git commit -qm 'a b'", "allow"),
        ("git push --receive-pack=./evil x", "ask"),
        ("git push --unheard-of", "ask"),
        ("git config user.name x", "ask"),
        ("git config --list", "allow"),
        ("git config edit", "ask"),
        ("timeout 5 git push", "ask"),
        ("git -C src commit -m x", "allow"),
        ("git -C nested commit -m x", "ask"),
        ("git -C bare push", "ask"),
        ("cd docs && git diff", "ask"),
        ("cd src && git commit -m x", "allow"),
        ("cargo test -- --nocapture", "allow"),
        ("CI=1 RUST_BACKTRACE=1 cargo test", "allow"),
        ("RUSTC_WRAPPER=./evil cargo test", "ask"),
        ("cargo unheard-of", "ask"),
        ("cargo test --unheard-of", "ask"),
        ("cp README.md src/x", "allow"),
        ("cp README.md ../x", "ask"),
        ("cp README.md /tmp/x", "ask"),
        ("cp -t /tmp README.md", "ask"),
        ("cp README.md .git/hooks/x", "ask"),
        ("cp README.md .envrc", "ask"),
        ("cp .env x", "ask"),
        ("echo x | tee src/y", "allow"),
        ("echo x | tee ~/.bashrc", "ask"),
        ("cd src && echo x | tee ../../y", "ask"),
        ("mkdir -p out/a", "allow"),
        ("mkdir -p /outside", "ask"),
        ("rm -rf out", "allow"),
        ("rm -rf ~/x", "ask"),
        ("rm -rf ..", "ask"),
        ("sort -o out README.md", "ask"),
        ("find . -name x -delete", "allow"),
        ("find . -exec ls ;", "ask"),
        ("find . -exec cat {} \\;", "ask"),
        ("find . -exec cat {} +", "ask"),
        ("git status && cargo test && ls | head", "allow"),
    ] {
        assert_eq!(decision(&permissions, line), expected, "{line}");
    }
}

#[test]
fn read_rules_hold_for_known_commands() {
    let project = Project::new();
    let deny = ["read(src/lib.rs)"];
    for mode in [Ask, Yolo] {
        let permissions = project.permissions(mode, &["bash(cat *)"], &deny);
        for (line, expected) in [
            ("cat src/lib.rs", "deny"),
            ("cd src && cat lib.rs", "deny"),
            ("cat src/*", "deny"),
            ("cat src/main.rs", "allow"),
        ] {
            assert_eq!(decision(&permissions, line), expected, "{mode:?} {line}");
        }
    }
    let permissions = project.permissions(Ask, &[], &deny);
    for (line, expected) in [
        ("grep -r a src", "ask"),
        ("rg a src", "ask"),
        ("grep a src/main.rs", "allow"),
    ] {
        assert_eq!(decision(&permissions, line), expected, "{line}");
    }
    let permissions = project.permissions(Ask, &["read(.env)"], &[]);
    assert_eq!(decision(&permissions, "cat .env"), "allow");
}

/// Each configuration of the repository of the working directory, and whether `git status` needs permission.
#[test]
fn configured_programs_of_a_repository_are_asked_about() {
    for (config, expected) in [
        (CONFIG, "allow"),
        (HOSTILE_CONFIG, "ask"),
        ("[core]\n\tfsmonitor = true\n", "allow"),
        ("[core] fsmonitor = ./evil\n", "ask"),
        ("[core]fsmonitor = ./evil ;]\n", "ask"),
        ("[core] # ]\n\tfsmonitor = ./evil\n", "ask"),
        ("[core \"x\\\"]\"]fsmonitor = ./evil ;\"]\n", "ask"),
        ("[core]\n\tbare = \"false\" # fsmonitor\n", "allow"),
        ("[core]\n\tworktree = ..\n", "allow"),
        ("[core]\n\tworktree = /etc\n", "ask"),
        ("[log]\n\tdate = iso\n", "allow"),
        ("[log]\n\tshowSignature = true\n", "ask"),
        ("[format]\n\tpretty = %h %G?\n", "ask"),
        ("[lfs]\n\trepositoryformatversion = 0\n", "allow"),
        (
            "[lfs \"https://example.org/x\"]\n\taccess = basic\n",
            "allow",
        ),
        ("[lfs \"extension.x\"]\n\tclean = ./evil\n", "ask"),
        ("[lfs \"customtransfer.x\"]\n\tpath = ./evil\n", "ask"),
        ("[core]\n\tfsmonitor = \\\n./evil\n", "ask"),
        ("[CORE]\n\tFsMonitor=./evil\n", "ask"),
        ("[diff]\n\texternal = ./evil\n", "ask"),
        ("[diff \"x\"]\n\ttextconv = ./evil\n", "ask"),
        ("[diff \"x\"]\n\tcommand = ./evil\n", "ask"),
        ("[filter \"x\"]\n\tclean = ./evil\n", "ask"),
        (
            "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n",
            "allow",
        ),
        ("[filter \"lfs\"]\n\tclean = ./evil\n", "ask"),
        ("[include]\n\tpath = evil\n", "ask"),
        ("[includeIf \"gitdir:/\"]\n\tpath = evil\n", "ask"),
        ("[gpg]\n\tprogram = ./evil\n", "ask"),
        (
            "[remote \"origin\"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "allow",
        ),
        ("[remote \"origin\"]\n\turl = ext::./evil\n", "ask"),
        ("[remote \"origin\"]\n\tpromisor = true\n", "ask"),
        (
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "allow",
        ),
        ("[user]\n\tname = x\n[commit]\n\tgpgsign = false\n", "allow"),
        ("[alias]\n\tst = !./evil\n", "allow"),
        ("[submodule \"x\"]\n\tupdate = !./evil\n", "ask"),
        ("[core]\n\thooksPath = .husky/_\n", "allow"),
        ("[credential]\n\thelper = ./evil\n", "ask"),
    ] {
        let project = Project::new();
        project.put(".git/config", config);
        let permissions = project.permissions(Ask, &[], &[]);
        assert_eq!(decision(&permissions, "git status"), expected, "{config}");
    }
    let project = Project::new();
    project.put(".git/hooks/post-index-change", "");
    let permissions = project.permissions(Ask, &[], &[]);
    assert_eq!(decision(&permissions, "git status"), "ask");
}

/// A program that osier does not know may run its arguments.
#[test]
fn unknown_wrappers_are_asked_about_if_a_rule_denies_their_arguments() {
    let project = Project::new();
    for (mode, allow, deny) in [
        (Yolo, &[][..], "bash(rm *)"),
        (Yolo, &[], "run(rm)"),
        (Ask, &["bash(wrapper *)"], "bash(rm *)"),
        (Auto, &["bash(wrapper *)"], "run(r*m)"),
    ] {
        let permissions = project.permissions(mode, allow, &[deny, "connect(example.org)"]);
        for (line, expected) in [
            ("wrapper rm x", "ask"),
            ("wrapper --flag rm x", "ask"),
            ("wrapper -- /bin/rm x", "ask"),
            ("wrapper 'rm x'", "ask"),
            ("wrapper --run='true; rm x'", "ask"),
            ("wrapper --exec=rm x", "ask"),
            ("wrapper build", "allow"),
            ("wrapper --rm x", "allow"),
        ] {
            assert_eq!(decision(&permissions, line), expected, "{mode:?} {line}");
        }
    }
    // Code of another language that contains the command.
    for deny in ["bash(rm *)", "run(rm)"] {
        let permissions = project.permissions(Yolo, &[], &[deny]);
        for (line, expected) in [
            ("python3 -c 'import os; os.system(\"rm x\")'", "ask"),
            ("perl -e 'system \"rm x\"'", "ask"),
            ("ruby -e 'system(\"rm x\")'", "ask"),
            (
                "node -e 'require(\"child_process\").execSync(`rm x`)'",
                "ask",
            ),
            ("lua5.4 -e 'os.execute(\"rm x\")'", "ask"),
            ("php -r 'system(\"rm x\");'", "ask"),
            ("expect -c 'exec rm x'", "ask"),
            ("psql -c '\\! rm x'", "ask"),
            ("gnuplot -e 'system(\"rm x\")'", "ask"),
            ("python3 -c 'print(1 + 2)'", "allow"),
            (
                "python3 -c 'import json; print(json.dumps({\"a\": 1}))'",
                "allow",
            ),
        ] {
            assert_eq!(decision(&permissions, line), expected, "{line}");
        }
    }
}

/// A question names the reason if the line does not show it.
#[test]
fn another_repository_is_the_reason_of_the_question() {
    let project = hostile_project();
    let permissions = project.permissions(Ask, &["bash(git *)", "bash(cd *)"], &[]);
    let arguments = json!({"command": "cd nested && git status"});
    let Verdict::Ask { why, .. } = permissions.decide("bash", &arguments, None, false) else {
        panic!("not asked");
    };
    let expected = "`nested` is another repository: git runs the programs in its configuration";
    assert_eq!(why, expected);
}

/// A rule about a host applies to the pages of `web_fetch`; the sandbox enforces it for commands.
#[test]
fn connections_are_denied() {
    let project = Project::new();
    let fetch = |deny: &str, url: &str| {
        let permissions = project.permissions(Yolo, &["connect(example.org)"], &[deny]);
        let verdict = permissions.decide("web_fetch", &json!({"url": url}), None, false);
        matches!(verdict, Verdict::Deny(_))
    };
    for (deny, url, expected) in [
        ("connect(example.org)", "https://example.org/x", true),
        ("connect(example.org)", "https://a.EXAMPLE.org./x", true),
        ("connect(example.org)", "https://example.com", false),
        ("connect", "https://example.com", true),
        ("connect(10.0.0.0/8)", "http://0xa010203/", true),
    ] {
        assert_eq!(fetch(deny, url), expected, "{deny} {url}");
    }
    let permissions = project.permissions(Yolo, &[], &["connect"]);
    let search = permissions.decide("web_search", &json!({"query": "x"}), None, false);
    assert!(matches!(search, Verdict::Deny(_)), "{search:?}");
    // An allow rule for a host allows nothing.
    let permissions = project.permissions(Ask, &["connect(example.org)"], &[]);
    let asked = permissions.decide(
        "web_fetch",
        &json!({"url": "https://example.org"}),
        None,
        false,
    );
    assert!(matches!(asked, Verdict::Ask { .. }), "{asked:?}");
}
