//! Programs of projects that were changed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use osier_base::atomic_file;
use osier_base::folders::Folders;

use super::programs::ProjectPrograms;
use super::{ProgramUse, ProjectFiles, Trust};

struct Place {
    folder: tempfile::TempDir,
    trust: Trust,
    project: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trust = Trust::new(&Folders::under(&folder.path().join("home")));
        let project = folder.path().join("project");
        fs::create_dir_all(&project).unwrap();
        let project = project.canonicalize().unwrap();
        Self {
            folder,
            trust,
            project,
        }
    }

    /// A file before a decision.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        path
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // The system's clock for files is coarse: the change is later than what happened before.
        loop {
            let before = std::time::SystemTime::now();
            let mut file = fs::File::create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            if path.metadata().unwrap().modified().unwrap() >= before {
                return path;
            }
        }
    }

    fn link(&self, target: &str, name: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, &path).unwrap();
        path
    }

    fn decide(&self, trusted: bool) {
        let files = ProjectFiles::read(&self.project);
        self.trust.decide(&files, trusted).unwrap();
    }

    fn program(&self, program: &Path) -> ProgramUse {
        ProgramUse {
            name: program.display().to_string(),
            cwd: self.project.clone(),
            files: vec![program.to_owned()],
            ..ProgramUse::default()
        }
    }

    fn hook(&self, command: &str) -> ProgramUse {
        ProgramUse {
            name: command.to_owned(),
            cwd: self.project.clone(),
            command: command.to_owned(),
            ..ProgramUse::default()
        }
    }

    fn programs(&self) -> ProjectPrograms {
        ProjectPrograms::new(self.trust.clone(), &self.project)
    }

    /// The reason why the use does not run.
    fn refused(&self, run: &ProgramUse) -> Option<String> {
        self.programs()
            .check(run)
            .err()
            .map(|changed| changed.reason)
    }

    fn check(&self, program: &Path) -> Result<(), String> {
        let programs = ProjectPrograms::new(self.trust.clone(), &self.project);
        let checked = programs.check(&self.program(program));
        checked.map_err(|changed| changed.reason)
    }
}
/// Hooks as they are in use.
const FORMAT: &str = r#"#!/bin/bash
set -euo pipefail
input=$(cat)
file=$(echo "$input" | jq -r '.tool_input.file_path // empty')
[ -z "$file" ] && exit 0
log() {
  echo "$1" >&2
}
case "$file" in
  *.ts|*.tsx|*.js)
    npx prettier --write "$file" || log "failed: ${file##*/}"
    ;;
  *.py) ruff format "$file" ;;
  *) exit 0 ;;
esac
"#;
const LINT: &str = r#"#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
const { tool_input } = JSON.parse(readFileSync(0, "utf8"));
const match = /\.(js|ts)$/.exec(tool_input.file_path);
if (!match) process.exit(0);
const ran = spawnSync("npx", ["eslint", "--fix", tool_input.file_path], { encoding: "utf8" });
if (ran.status !== 0) { console.error(ran.stdout); process.exit(2); }
"#;
const GUARD: &str = r#"#!/usr/bin/env python3
import json, re, sys
from pathlib import Path
PROTECTED = [".env", "package-lock.json", "src/config.py"]
data = json.load(sys.stdin)
path = data.get("tool_input", {}).get("file_path", "")
if any(name in path for name in PROTECTED) or re.compile(r"\.pem$").search(path):
    print("no", file=sys.stderr)
    sys.exit(2)
"#;
const RUN: &str = r#"import json, subprocess, sys
data = json.load(sys.stdin)
path = data["tool_input"]["file_path"]
subprocess.run(["git", "status"], check=False)
if path.endswith(".py"):
    subprocess.run([sys.executable, "-m", "ruff", "format", path], stdout=subprocess.DEVNULL)
else:
    subprocess.run(["npx", "prettier", "--write", path], check=True)
"#;
const ESLINT: &str = r#"import js from "@eslint/js";
import globals from "globals";
export default [
  js.configs.recommended,
  { languageOptions: { sourceType: "module", globals: globals.browser }, rules: { "no-eval": 2, "constructor-super": 1 } },
];
"#;

/// A project with the usual tools. Its files are as the user trusts them.
fn installed() -> Place {
    let place = Place::new();
    for (name, text) in [
        (
            "package.json",
            r#"{"version": "1", "scripts": {"lint": "node scripts/lint.js", "style": "prettier --check .", "all": "npm run lint", "test": "vitest",
                "fix": "eslint . --fix && prettier -w .", "seq": "run-s lint style", "pretest": "tsc --noEmit"},
                "lint-staged": {"*.js": ["eslint --fix", "node scripts/lint.js"]}}"#,
        ),
        (
            "Makefile",
            "-include mk/more.mk\nPYTHON ?= python3\nSRC := $(shell git ls-files '*.py')\nchk:\n\t@./tools/c\n\t@npm run lint\n\t@$(MAKE) -C sub\n\
            lint: ## Check\n\t@npx eslint src\n\truff check $(SRC)\nfmt: lint\n\t$(PYTHON) -m black src tests\n\tnpx prettier -w . > /dev/null\n\
            test:\n\tpytest -q\nbuild: test\n\tcargo build --release\n",
        ),
        ("tools/c", "#!/bin/sh\n"),
        ("sub/Makefile", "all:\n\t./check.sh\n"),
        ("sub/check.sh", "1"),
        ("tsconfig.json", "{}"),
        ("README.md", "1"),
        ("docs/steps.md", "echo"),
        ("package-lock.json", "{}"),
        ("src/main.js", "1"),
        ("src/main.py", "1"),
        ("src/config.py", "1"),
        ("src/lib/rules.py", "1"),
        ("lib/Rules.pm", "1"),
        ("lib/rules.rb", "1"),
        ("part", "echo"),
        ("hooks.d/one.sh", "echo"),
        ("tests/unit/test_a.py", "1"),
        (".git/config", ""),
        // Hooks.
        (
            "scripts/guard.py",
            "import json, sys\nPROTECTED = ['src/config.py', 'package-lock.json']\nfor line in sys.stdin:\n    if any(name in line for name in PROTECTED): sys.exit(2)\n",
        ),
        (
            "scripts/lazy.py",
            "import sys\ndef check():\n    from rules import (\n        one,\n        two)\n    import datetime\n",
        ),
        ("scripts/rules.py", "one = two = 1\n"),
        (
            "scripts/dynamic.py",
            "import importlib\nimportlib.import_module('rules')\n",
        ),
        ("scripts/built.py", "__import__('r' + 'ules')\n"),
        ("scripts/layout.py", "import mypackage\n"),
        (
            "scripts/runs.py",
            "import subprocess\nsubprocess.run(['make', 'chk'])\n",
        ),
        ("scripts/opens.py", "exec(open('docs/steps.md').read())\n"),
        (
            "scripts/lint.js",
            "const fs = require('fs');\nconst rules = require('./rules.js');\nif (fs.existsSync('tsconfig.json')) process.exit(0);\n",
        ),
        ("scripts/rules.js", "module.exports = 1;\n"),
        ("scripts/typed.mjs", "import x from './deep/x.js';\n"),
        ("scripts/deep/x.ts", "1"),
        ("scripts/away.js", "require('../src/main.js')\n"),
        (
            "scripts/all.js",
            "for (const name of fs.readdirSync('rules')) require(name)\n",
        ),
        (
            "scripts/plain.sh",
            "#!/bin/sh\ninput=$(cat)\nif echo \"$input\" | grep -q 'rm -rf'; then echo no >&2; exit 2; fi\n. scripts/part.sh\n",
        ),
        ("scripts/part.sh", "echo part\n"),
        ("scripts/text.sh", "#!/bin/sh\n. docs/steps.md\n"),
        ("scripts/bare.sh", "#!/bin/sh\nsh part\n"),
        (
            "scripts/find.sh",
            "#!/bin/sh\nfind hooks.d -name '*.sh' -exec sh {} \\;\n",
        ),
        ("scripts/cat.sh", "#!/bin/sh\ncat hooks.d/*.sh | sh\n"),
        (
            "scripts/while.sh",
            "#!/bin/sh\nls hooks.d | while read -r name; do sh \"hooks.d/$name\"; done\n",
        ),
        (
            "scripts/braces.sh",
            "#!/bin/sh\nfor file in hooks.d/{one,two}.sh; do . $file; done\n",
        ),
        ("scripts/name.sh", "#!/bin/sh\nname=hooks.d/one.sh\n$name\n"),
        ("scripts/make.sh", "#!/bin/sh\nmake chk\n"),
        (
            "scripts/perl.pl",
            "#!/usr/bin/perl\nuse lib 'lib'; use Rules;\n",
        ),
        ("scripts/ruby.rb", "require_relative '../lib/rules'\n"),
        ("hooks/__main__.py", "import checks\n"),
        ("hooks/checks.py", "1"),
        ("hooks/index.js", "require('./checks.js')\n"),
        ("hooks/checks.js", "1"),
        ("check.py", "import json\n"),
        ("a b/check.sh", "#!/bin/sh\n. './a b/part'\n"),
        ("a b/part", "echo"),
        (".claude/hooks/check.sh", "#!/bin/sh\necho ok\n"),
        (
            "justfile",
            "lint: fmt\n    @npx eslint src\n    ./tools/c {{arg}}\nfmt:\n    ruff format src\n",
        ),
        ("eslint.config.js", ESLINT),
        ("biome.json", "{}"),
        (
            "pyproject.toml",
            "[project]\nname = 'x'\n[tool.black]\nline-length = 100\n",
        ),
        ("mypy.ini", "[mypy]\nplugins = plugins/check.py\n"),
        ("Cargo.toml", "[package]\nname = 'x'\n"),
        (".husky/pre-commit", "npx lint-staged\n"),
        (".claude/hooks/format.sh", FORMAT),
        (".claude/hooks/lint.mjs", LINT),
        (".claude/hooks/guard.py", GUARD),
        (".claude/hooks/run.py", RUN),
        ("../home/format.sh", FORMAT),
        ("../home/guard.py", GUARD),
        (
            "../home/log.sh",
            "#!/bin/sh\nprintf '%s %s\\n' \"$(date)\" \"$1\" >> \"$LOG\"\n. ~/.env\n",
        ),
        (
            "../home/own.py",
            "#!/usr/bin/env python3\nimport importlib, requests\nimportlib.import_module('x')\n",
        ),
        (
            "../home/tools.py",
            "#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(['./tools/c'])\n",
        ),
        // Installed packages.
        ("node_modules/eslint/bin/eslint.js", "#!/usr/bin/env node\n"),
        ("node_modules/eslint/lib/api.js", "1"),
        ("node_modules/.bin/biome", "#!/bin/sh\n"),
        ("node_modules/.bin/unknown-tool", "#!/bin/sh\n"),
        (
            "node_modules/.bin/typescript-language-server",
            "#!/bin/sh\n",
        ),
        ("node_modules/.bin/pyright-langserver", "#!/bin/sh\n"),
        ("node_modules/typescript/lib/tsserver.js", "1"),
        (
            "node_modules/prettier/bin/prettier.cjs",
            "#!/usr/bin/env node\n",
        ),
        ("node_modules/prettier/index.cjs", "1"),
        ("node_modules/.bin/server", "#!/bin/sh\n"),
        ("venv/pyvenv.cfg", ""),
        ("venv/bin/black", "#!venv/bin/python\nimport black\n"),
        ("venv/bin/python", "1"),
        ("venv/lib/python3/site-packages/black/__init__.py", "1"),
    ] {
        place.write(name, text);
    }
    place.link("../eslint/bin/eslint.js", "node_modules/.bin/eslint");
    place.link("../prettier/bin/prettier.cjs", "node_modules/.bin/prettier");
    place.link("../src/lib", "scripts/linked");
    place
}

#[rustfmt::skip]
const ATTACKS: &[(&str, &str)] = &[
    // Python.
    ("python3 scripts/guard.py", "scripts/_json.py"),
    ("python3 scripts/guard.py", "scripts/guard.py"),
    ("python3 scripts/lazy.py", "scripts/_strptime.py"),
    ("python3 scripts/lazy.py", "scripts/rules.py"),
    ("python3 scripts/lazy.py", "scripts/rules/__init__.py"),
    ("python3 scripts/dynamic.py", "src/lib/rules.py"),
    ("python3 scripts/built.py", "src/main.py"),
    ("python3 scripts/layout.py", "src/mypackage/__init__.py"),
    ("python3 scripts/runs.py", "tools/c"),
    ("python3 scripts/opens.py", "docs/steps.md"),
    ("python3 -c 'import json'", "_json.py"),
    ("python3 -c 'import json'", "json/__init__.py"),
    ("python3 -m tools.chk", "tools/chk.py"),
    ("python3 hooks", "hooks/checks.py"),
    ("python3 check.py", "json.py"),
    ("PYTHONPATH=src python3 scripts/guard.py", "src/json.py"),
    ("'python3' 'scripts/guard.py' 'PYTHONPATH=src'", "src/json.py"),
    ("venv/bin/black -q src", "venv/lib/python3/site-packages/evil.pth"),
    ("venv/bin/python scripts/guard.py", "venv/lib/python3/site-packages/sitecustomize.py"),
    // Node.
    ("node scripts/lint.js", "scripts/rules.js"),
    ("node scripts/lint.js", "scripts/rules.ts"),
    ("node scripts/typed.mjs", "scripts/deep/x.ts"),
    ("node scripts/away.js", "src/main.js"),
    ("node scripts/all.js", "rules/new.js"),
    ("node hooks", "hooks/checks.js"),
    ("node --require ./scripts/rules.js -e 1", "scripts/rules.js"),
    ("NODE_OPTIONS=--require=./src/main.js node scripts/lint.js", "src/main.js"),
    ("tsx scripts/typed.mjs", "src/paths.ts"),
    ("npx prettier -w x", "node_modules/prettier/index.cjs"),
    ("npx prettier -w x", "prettier.config.mjs"),
    ("npx prettier -w x", "src/.prettierrc"),
    ("npm run lint", "scripts/rules.js"),
    ("npm run all", "scripts/lint.js"),
    ("npm run style", "node_modules/prettier/index.cjs"),
    ("npm -w app run lint", "packages/app/tool.js"),
    ("eslint src", "eslint.config.js"),
    // Shells.
    ("sh scripts/plain.sh", "scripts/part.sh"),
    ("sh scripts/text.sh", "docs/steps.md"),
    ("sh scripts/bare.sh", "part"),
    ("sh docs/steps.md", "docs/steps.md"),
    ("scripts/find.sh", "hooks.d/one.sh"),
    ("sh scripts/cat.sh", "hooks.d/two.sh"),
    ("sh scripts/while.sh", "hooks.d/two.sh"),
    ("bash scripts/braces.sh", "hooks.d/one.sh"),
    ("sh scripts/name.sh", "hooks.d/one.sh"),
    ("find hooks.d -exec sh {} \\;", "hooks.d/two.sh"),
    ("cat hooks.d/*.sh | sh", "hooks.d/one.sh"),
    ("ls hooks.d | while read f; do . hooks.d/$f; done", "hooks.d/two.sh"),
    ("sh -c \"A=1 ./scripts/plain.sh;true\"", "scripts/part.sh"),
    ("cd scripts && ./plain.sh", "scripts/plain.sh"),
    ("'a b/check.sh' x", "a b/part"),
    ("$CHECK now", "scripts/plain.sh"),
    ("\"$CLAUDE_PROJECT_DIR\"/scripts/plain.sh", "scripts/plain.sh"),
    ("eval \"$(cat docs/steps.md)\"", "docs/steps.md"),
    (".claude/hooks/check.sh", ".claude/hooks/check.sh"),
    // Runners and other languages.
    ("make -s chk", "Makefile"),
    ("make -s chk", "tools/c"),
    ("make -s chk", "sub/check.sh"),
    ("sh scripts/make.sh", "tools/c"),
    ("perl scripts/perl.pl", "lib/Rules.pm"),
    ("ruby scripts/ruby.rb", "lib/rules.rb"),
    ("go run ./tools/gen", "tools/gen/main.go"),
    ("run-parts hooks.d", "hooks.d/new.sh"),
    ("my-checker --rules scripts/rules.js", "scripts/rules.js"),
    // Attacks of another kind.
    ("python3 scripts/guard.py", "src/lib/rules.py"),
    ("timeout 5 nice sh scripts/text.sh", "docs/steps.md"),
    ("bash -c 'exec node hooks'", "hooks/checks.js"),
    ("env -S 'node scripts/lint.js'", "scripts/rules.js"),
    ("xargs -n1 sh < list", "part"),
    ("echo scripts/plain.sh | xargs sh", "scripts/plain.sh"),
    ("awk -f scripts/rules.awk", "scripts/rules.awk"),
    ("bash --rcfile docs/steps.md -i", "docs/steps.md"),
    ("BASH_ENV=docs/steps.md bash scripts/plain.sh", "docs/steps.md"),
    ("python3 - < docs/steps.md", "docs/steps.md"),
    ("node < docs/steps.md", "docs/steps.md"),
    ("PATH=tools:$PATH check", "tools/check"),
    ("npm test --prefix sub", "sub/package.json"),
    ("(cd sub; make)", "sub/check.sh"),
    ("trap 'sh part' EXIT", "part"),
    ("sudo -E ./tools/c", "tools/c"),
    ("python3 -c \"exec(open('part').read())\"", "part"),
    ("node -e \"require('./src/main.js')\"", "src/main.js"),
    ("npx eslint --fix", "eslint.config.js"),
    ("npm run lint", ".npmrc"),
    // Runners, tools and the files that they obey.
    ("npx eslint --fix", "node_modules/eslint/lib/api.js"),
    ("npx eslint --fix", "src/eslint.config.mjs"),
    ("npx eslint -c lint/rules.mjs src", "lint/rules.mjs"),
    ("npx eslint --rulesdir lint src", "lint/rule.js"),
    ("npx unknown-tool src", "src/main.js"),
    ("pnpm exec eslint src", "eslint.config.js"),
    ("npm run lint", "package.json"),
    ("npm run seq", "scripts/rules.js"),
    ("make lint", "Makefile"),
    ("make lint", "eslint.config.js"),
    ("make lint", "node_modules/eslint/lib/api.js"),
    ("make lint", "mk/more.mk"),
    ("make", "tools/c"),
    ("just lint", "justfile"),
    ("just lint", "tools/c"),
    ("npx lint-staged", "scripts/rules.js"),
    ("git commit -m wip", ".husky/pre-commit"),
    ("git commit -m wip", ".git/hooks/pre-commit"),
    ("git commit -m wip", "scripts/rules.js"),
    ("mypy src", "plugins/check.py"),
    ("uv run ruff format x", "pyproject.toml"),
    ("uv run ruff format x", ".venv/bin/ruff"),
    ("python3 -m black src", "black.py"),
    ("cd sub && ./check.sh", "sub/check.sh"),
    ("cd \"$CLAUDE_PROJECT_DIR\" && npx prettier -w x", "prettier.config.mjs"),
    ("$(git rev-parse --show-toplevel)/scripts/plain.sh", "scripts/part.sh"),
    (".claude/hooks/format.sh", "prettier.config.mjs"),
    (".claude/hooks/format.sh", "node_modules/prettier/index.cjs"),
    (".claude/hooks/lint.mjs", "eslint.config.js"),
    ("python3 .claude/hooks/run.py", "node_modules/prettier/index.cjs"),
    ("HOME/format.sh", "node_modules/prettier/index.cjs"),
    ("HOME/format.sh", "prettier.config.mjs"),
    ("HOME/tools.py", "tools/c"),
    ("node scripts/lint.js", "scripts/rules/index.js"),
    ("git -C sub commit -m wip", ".git/hooks/pre-commit"),
    ("awk 'BEGIN {system(\"./tools/c\")}'", "tools/c"),
    ("jq -rf lint/x.jq x.json", "lint/x.jq"),
    ("timeout 9 npx eslint \"$FILE\"", "eslint.config.js"),
    ("export PATH=\"$PWD/node_modules/.bin:$PATH\"; prettier -w x", "node_modules/.bin/prettier"),
    ("my-checker hooks.d", "hooks.d/new.sh"),
    ("flock /tmp/x ./tools/c", "tools/c"),
    ("awk -f lint/x.awk README.md", "lint/x.awk"),
    ("jq -f lint/x.jq x.json", "lint/x.jq"),
    ("PATH=node_modules/.bin:$PATH prettier -w x", "node_modules/.bin/prettier"),
];
#[test]
fn a_program_that_could_load_changed_code_does_not_run() {
    let mut through = Vec::new();
    for (command, attacked) in ATTACKS {
        let place = installed();
        place.decide(true);
        let run = place.own_hook(command);
        let before = place.refused(&run);
        let path = place.project.join(attacked);
        place.put(attacked, "evil");
        if *attacked == ".git/hooks/pre-commit" {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let reason = place.refused(&run).unwrap_or_default();
        if before.is_some() || !reason.contains("since you trusted the folder") {
            through.push(format!("{command}: {attacked}: {before:?} {reason}"));
        }
    }
    assert_eq!(through, Vec::<String>::new());
}

/// Hooks, servers and formatters as they are in use. Each is asked about if any of [`EDITS`] is a reason; `true`: osier asks.
#[rustfmt::skip]
const EVERYDAY: &[(&str, bool)] = &[
    // Formatters and linters that a hook runs.
    ("npx prettier --write src/main.js", false),
    ("npx prettier -w \"$FILE\"", false),
    ("npx --no-install prettier --check .", false),
    ("pnpm exec prettier -w src", false),
    ("yarn prettier -w src", false),
    ("jq -r .tool_input.file_path | xargs npx prettier --write", false),
    ("jq -r '.tool_input.file_path' | { read -r f; case \"$f\" in *.ts) npx prettier --write \"$f\";; esac; }", false),
    ("file=$(jq -r .tool_input.file_path) && [[ $file == *.js ]] && npx eslint --fix \"$file\"", false),
    ("npx eslint --fix src", false),
    ("npx eslint . --max-warnings 0 || exit 2", false),
    ("npx biome check --write .", false),
    ("npx tsc --noEmit", false),
    ("black -q src", false),
    ("python3 -m black src/main.py", false),
    ("ruff format src/main.py && ruff check --fix src", false),
    ("uv run ruff format src", false),
    ("gofmt -w src/main.go", false),
    ("go vet ./...", false),
    ("rustfmt src/main.rs", false),
    ("cargo fmt && cargo clippy --quiet", false),
    ("clang-format -i src/main.c", false),
    ("shfmt -w scripts", false),
    ("flake8 src", false),
    // Tests and runners.
    ("npm test", false),
    ("npm test --silent", false),
    ("npm run lint", false),
    ("npm run fix", false),
    ("npm run style -- --log-level warn", false),
    ("make lint", false),
    ("make -s fmt", false),
    ("make test", false),
    ("make build", false),
    ("just fmt", false),
    ("npx lint-staged", false),
    ("pytest tests/unit -q", false),
    ("cargo test --quiet 2>&1 | tail -5", false),
    ("go test ./...", false),
    ("make unknown || true", false),
    // Scripts of the project.
    ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/format.sh", false),
    ("$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh", false),
    (".claude/hooks/format.sh", false),
    ("node .claude/hooks/lint.mjs", false),
    ("python3 .claude/hooks/guard.py", false),
    ("python3 \"$CLAUDE_PROJECT_DIR/.claude/hooks/run.py\"", false),
    ("bash scripts/plain.sh", false),
    ("python3 scripts/guard.py", false),
    ("node scripts/lint.js", false),
    ("cd \"$CLAUDE_PROJECT_DIR\" && npx prettier -w src", false),
    ("python3 scripts/layout.py", false),
    // Hooks of the user that lie elsewhere, or run programs of the system.
    ("HOME/format.sh", false),
    ("HOME/guard.py", false),
    ("HOME/log.sh done", false),
    ("HOME/own.py", false),
    ("bash HOME/format.sh \"$FILE\"", false),
    ("sed -i s/a/b/ src/main.js", false),
    ("sed -i \"s/$A/$B/\" \"$F\"", false),
    ("mkfifo p", false),
    ("jq -r .tool_name >> log.txt", false),
    ("jq -r '.tool_input.command' | tee -a ~/.cache/commands.log", false),
    ("osascript -e 'display notification \"done\"'", false),
    ("notify-send osier \"$(basename \"$PWD\") is done\"", false),
    ("afplay /System/Library/Sounds/Glass.aiff", false),
    ("my-notifier --title osier \"$MESSAGE\"", false),
    ("curl -s -d \"$TEXT\" https://ntfy.sh/x", false),
    ("git status --short", false),
    ("git add -A && git commit -qm wip", false),
    ("git diff --quiet || git stash", false),
    ("cat CONTEXT.md 2>/dev/null; date", false),
    ("input=$(cat); echo \"$input\" | grep -q 'rm -rf' && exit 2; exit 0", false),
    ("if [ -f package.json ]; then cat package.json; fi", false),
    ("awk '{print $1}' src/main.py", false),
    ("timeout 60 npx eslint --fix \"$FILE\"", false),
    ("export PATH=\"/usr/local/bin:$PATH\"; npx prettier -w \"$FILE\"", false),
    ("tmp=$(mktemp); trap 'rm -f \"$tmp\"' EXIT; npx tsc --noEmit > \"$tmp\" || cat \"$tmp\"", true),
    ("cp src/main.js \"backup-$(date +%s).js\"", false),
    ("touch ran; tee made; test -f src/main.js", false),
    ("python3 -c 'import json,sys; json.load(sys.stdin)'", false),
    ("grep -rn TODO src | head", false),
];

/// Ordinary work.
const EDITS: [&str; 13] = [
    "src/main.js",
    "src/main.ts",
    "src/main.py",
    "src/main.rs",
    "src/main.go",
    "src/main.c",
    "src/new.js",
    "src/deep/new.tsx",
    "README.md",
    "docs/new.md",
    "tests/unit/test_a.py",
    "styles/app.css",
    "log.txt",
];

/// Tools that osier starts by itself: the program, the settings that name code, and the command of a server.
#[rustfmt::skip]
const STARTED: &[(&str, &[&str], &str)] = &[
    ("node_modules/.bin/prettier", &["prettier"], ""),
    ("node_modules/.bin/biome", &[], ""),
    ("/usr/bin/prettier", &["prettier"], ""),
    ("venv/bin/black", &[], ""),
    ("/usr/bin/ruff", &[], ""),
    ("/usr/bin/gofmt", &[], ""),
    ("/usr/bin/rustfmt", &[], ""),
    ("/usr/bin/clang-format", &[], ""),
    ("node_modules/.bin/typescript-language-server", &["tsconfig", "jsconfig"], "'typescript-language-server' '--stdio'"),
    ("node_modules/.bin/pyright-langserver", &[], "'pyright-langserver' '--stdio'"),
    ("/usr/bin/rust-analyzer", &["rust-analyzer"], "'rust-analyzer'"),
    ("/usr/bin/gopls", &[], "'gopls'"),
    ("/usr/bin/clangd", &[], "'clangd'"),
];

impl Place {
    /// The hooks of the user lie next to the project.
    fn own_hook(&self, command: &str) -> ProgramUse {
        let home = self.folder.path().canonicalize().unwrap().join("home");
        self.hook(&command.replace("HOME", home.to_str().unwrap()))
    }

    fn started(
        &self,
        (program, tools, command): (&str, &'static [&'static str], &str),
    ) -> ProgramUse {
        let cwd = match command {
            "" => self.project.join("src"),
            _ => self.project.clone(),
        };
        ProgramUse {
            cwd,
            tools,
            command: command.to_owned(),
            ..self.program(&self.project.join(program))
        }
    }
}

/// At most one in twenty is asked about after ordinary work, and none before.
#[test]
fn everyday_tools_and_hooks_run_unasked() {
    let place = installed();
    place.decide(true);
    let hooks = EVERYDAY
        .iter()
        .map(|(command, asks)| (place.own_hook(command), *asks));
    let started = STARTED.iter().map(|row| (place.started(*row), false));
    let all: Vec<_> = hooks.chain(started).collect();
    for (run, _) in &all {
        assert_eq!(place.refused(run), None, "{}", run.name);
    }
    for name in EDITS {
        place.put(name, "new");
    }
    let mut wrong = Vec::new();
    for (run, asks) in &all {
        let refused = place.refused(run);
        if refused.is_some() != *asks {
            wrong.push(format!("{}: {refused:?}", run.name));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let asked = all.iter().filter(|(_, asks)| *asks).count();
    assert!(asked * 20 <= all.len(), "{asked} of {}", all.len());
}

/// In a folder that the user did not trust, hooks of the user that run nothing of it run unasked.
#[test]
fn hooks_of_the_user_run_in_every_folder() {
    let place = installed();
    for command in [
        "sed -i s/a/b/ src/main.js",
        "sed -i \"s/$A/$B/\" \"$F\"",
        "mkfifo p",
        "jq . | tee log",
        "my-notifier \"$MESSAGE\"",
        "HOME/guard.py",
        "HOME/log.sh",
        "HOME/own.py",
        "git status --short",
        "ruff format src",
        "notify-send \"$(basename \"$PWD\")\"",
    ] {
        assert_eq!(place.refused(&place.own_hook(command)), None, "{command}");
    }
    for command in [
        "HOME/format.sh",
        "npx prettier -w x",
        "make lint",
        "python3 scripts/guard.py",
    ] {
        assert!(
            place.refused(&place.own_hook(command)).is_some(),
            "{command}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of attacks")]
fn a_tool_of_the_project_runs_only_as_it_was_trusted() {
    let package = "node_modules/prettier/index.cjs";
    let compiler: &[&str] = &["tsconfig", "jsconfig"];
    for (program, tools, command, attacked, text) in [
        (
            "node_modules/.bin/prettier",
            &["prettier"][..],
            "",
            package,
            "2",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "node_modules/other/index.js",
            "2",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "node_modules/prettier.js",
            "2",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "src/.prettierrc",
            "plugins: [x]",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "prettier.config.mts",
            "{}",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "package.yaml",
            "prettier: x",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "package.json",
            r#"{"prettier": {"plugins": ["./x.mjs"]}}"#,
        ),
        (
            "/usr/bin/prettier",
            &["prettier"],
            "",
            ".prettierrc",
            r#"{"parser": "./x"}"#,
        ),
        (
            "node_modules/.bin/pyright-langserver",
            &[],
            "'pyright-langserver' '--stdio'",
            "node_modules/.bin/pyright-langserver",
            "2",
        ),
        (
            "venv/bin/black",
            &[],
            "",
            "venv/lib/python3/site-packages/click.py",
            "2",
        ),
        (
            "/usr/bin/server",
            compiler,
            "'server'",
            "tsconfig.json",
            r#"{"plugins": []}"#,
        ),
        (
            "/usr/bin/server",
            compiler,
            "'server'",
            "src/tsconfig.app.json",
            r#"{"extends": "x"}"#,
        ),
        (
            "/usr/bin/server",
            &["svelte"],
            "'server'",
            "svelte.config.js",
            "2",
        ),
        ("/usr/bin/server", &["hie"], "'server'", "hie.yaml", "2"),
    ] {
        let place = installed();
        place.decide(true);
        let run = ProgramUse {
            cwd: place.project.join("src"),
            tools,
            command: command.to_owned(),
            ..place.program(&place.project.join(program))
        };
        let run = ProgramUse {
            cwd: if command.is_empty() {
                run.cwd
            } else {
                place.project.clone()
            },
            ..run
        };
        // Ordinary work, and plain settings.
        place.put("src/main.js", "2");
        place.put("src/index.ts", "2");
        assert_eq!(place.refused(&run), None, "{program}");
        place.put(".prettierrc", "{\"semi\": false}");
        place.put("src/.prettierrc", "semi: false\ntabWidth: 2\n");
        place.put("package.json", r#"{"version": "2", "prettier": {"overrides": [{"files": "*.md", "options": {"proseWrap": "always"}}]}}"#);
        place.put(
            "src/tsconfig.json",
            r#"{"compilerOptions": {"strict": true}}"#,
        );
        assert_eq!(place.refused(&run), None, "{program}");
        place.put(attacked, text);
        let reason = place.refused(&run).unwrap_or_default();
        assert!(
            reason.contains("since you trusted the folder"),
            "{program}: {attacked}: {reason}"
        );
    }
}

/// Settings that could mean any code.
const OPEN: [&str; 5] = [
    "an import map",
    "a map elsewhere",
    "its own name",
    "a name that is computed",
    "a template",
];

/// A formatter with plugins that lie in the project, and the files with which the model can change what it runs.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of attacks")]
fn a_formatter_loads_no_code_that_was_changed() {
    let pretty = r#"{"prettier": {"plugins": ["./lib/p.mjs"]}}"#;
    let overrides =
        r#"{"prettier": {"overrides": [{"files": "*", "options": {"plugins": ["pp"]}}]}}"#;
    let large = format!(
        "{{\"x\": \"{}\", \"prettier\": {{\"plugins\": [\"pp\"]}}}}",
        "x".repeat(300_000)
    );
    let linked = "packages/pp/deep.js";
    let nearer = r#"{"prettier": {"plugins": ["./evil.mjs"]}}"#;
    // The files of the project, and the file that the model changes or adds.
    for (case, files, attacked) in [
        (
            "a plugin in `package.json`",
            &[("package.json", pretty)][..],
            "lib/p.mjs",
        ),
        (
            "what it imports",
            &[("package.json", pretty)],
            "lib/inner.mjs",
        ),
        ("a new `package.json`", &[], "src/package.json"),
        (
            "a new `package.yaml`",
            &[(".prettierrc", "{}")],
            "src/package.yaml",
        ),
        (
            "a new `.prettierrc.mts`",
            &[(".prettierrc", "{}")],
            "src/.prettierrc.mts",
        ),
        ("overrides", &[("package.json", overrides)], linked),
        ("a large manifest", &[("package.json", &large)], linked),
        (
            "a part of a linked package",
            &[(".prettierrc", "plugins: [pp/deep.js]")],
            linked,
        ),
        (
            "a shared configuration",
            &[("package.json", r#"{"prettier": "pp"}"#)],
            linked,
        ),
        (
            "a part of one",
            &[("package.json", r#"{"prettier": "pp/deep"}"#)],
            linked,
        ),
        (
            "what one loads",
            &[("package.json", r#"{"prettier": "pp"}"#)],
            "packages/other/x.js",
        ),
        (
            "an import map",
            &[(
                "package.json",
                r##"{"imports": {"#p": "./lib/p.mjs"}, "prettier": {"plugins": ["#p"]}}"##,
            )],
            "lib/p.mjs",
        ),
        (
            "a map elsewhere",
            &[
                ("package.json", r##"{"imports": {"#p": "./lib/p.mjs"}}"##),
                (".prettierrc", "{\"plugins\": [\"#p\"]}"),
            ],
            "lib/p.mjs",
        ),
        (
            "its own name",
            &[
                (
                    "package.json",
                    r#"{"name": "me", "exports": {"./p": "./lib/p.mjs"}}"#,
                ),
                (".prettierrc", "{\"plugins\": [\"me/p\"]}"),
            ],
            "lib/p.mjs",
        ),
        (
            "`require(\".\")`",
            &[
                ("lib/p.mjs", "require('.')"),
                ("package.json", pretty),
                ("lib/index.cjs", "1"),
            ],
            "lib/index.cjs",
        ),
        (
            "`require(\"..\")`",
            &[
                ("lib/p.mjs", "require('..')"),
                ("package.json", pretty),
                ("index.js", "1"),
            ],
            "index.js",
        ),
        (
            "a directory",
            &[
                ("lib/p.mjs", "import './deep'"),
                ("package.json", pretty),
                ("lib/deep/package.json", r#"{"main": "x"}"#),
                ("lib/deep/x.js", "1"),
            ],
            "lib/deep/x.js",
        ),
        (
            "a name that is computed",
            &[(
                "prettier.config.cjs",
                "module.exports = require(path.join(__dirname, 'lib', 'p'))",
            )],
            "lib/p.mjs",
        ),
        (
            "a template",
            &[(
                "prettier.config.cjs",
                "x = 'lib';\nrequire(`${__dirname}/p.mjs`)",
            )],
            "lib/p.mjs",
        ),
        (
            "what a plugin loads",
            &[
                (".prettierrc", "plugins: [prettier-plugin-toolcss]"),
                ("node_modules/prettier-plugin-toolcss/index.js", "1"),
            ],
            "tool.config.js",
        ),
        (
            "what a style sheet loads",
            &[
                (".prettierrc", "tailwindStylesheet: ./app.css"),
                ("app.css", "@plugin './lib/p.mjs'"),
            ],
            "lib/p.mjs",
        ),
        (
            "a plugin of prettier 2",
            &[(".prettierrc", "{}")],
            "node_modules/prettier-plugin-x/index.js",
        ),
        (
            "a file instead of a package",
            &[(".prettierrc", "plugins: [pp]")],
            "node_modules/pp.js",
        ),
        (
            "a nearer package",
            &[(".prettierrc", "plugins: [pp]")],
            "src/.prettierrc",
        ),
        (
            "a character that is not UTF-8",
            &[("prettier.config.cjs", "\u{feff}require('./lib/p.mjs')")],
            "lib/p.mjs",
        ),
    ] {
        let place = installed();
        place.put("lib/p.mjs", "import './inner.mjs'");
        place.put("lib/inner.mjs", "1");
        place.put("packages/pp/package.json", "{}");
        place.put("packages/pp/index.js", "require('../other/x')");
        place.put(linked, "1");
        place.put("packages/other/x.js", "1");
        place.link("../packages/pp", "node_modules/pp");
        place.put("src/main.js", "1");
        for (name, text) in files {
            place.write(name, text);
        }
        place.decide(true);
        let run = ProgramUse {
            cwd: place.project.join("src"),
            tools: &["prettier"],
            ..place.program(&place.project.join("node_modules/.bin/prettier"))
        };
        let check = || ProjectPrograms::new(place.trust.clone(), &place.project).check(&run);
        assert_eq!(check(), Ok(()), "{case}");
        place.put("src/sub/package.json", nearer);
        // Ordinary work asks nothing, unless all code could be meant.
        place.put("README.md", "2");
        place.put("src/main.js", "2");
        let asks = check().is_err();
        let text = if attacked.ends_with("json") {
            nearer
        } else {
            "2"
        };
        place.put(attacked, text);
        let changed = check().expect_err(case);
        let is_named = changed.files.iter().any(|file| file == attacked);
        assert!(is_named, "{case}: {:?}", changed.files);
        assert!(!asks || OPEN.contains(&case), "{case}");
    }
}

/// A lane of `/fan` works in a copy: its hooks run the files of the copy.
#[test]
fn a_copy_runs_only_what_the_project_runs() {
    let place = installed();
    place.decide(true);
    let copy = place.folder.path().join("copy");
    let put = |name: &str, text: &str| {
        let path = copy.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        atomic_file::write(&path, text.as_bytes()).unwrap();
    };
    for name in [
        "scripts/guard.py",
        "scripts/rules.py",
        "scripts/lint.js",
        "scripts/rules.js",
    ] {
        put(name, &fs::read_to_string(place.project.join(name)).unwrap());
    }
    let copy = copy.canonicalize().unwrap();
    let run = ProgramUse {
        copy: Some((copy.clone(), copy.clone())),
        ..place.hook("python3 scripts/guard.py")
    };
    assert_eq!(place.refused(&run), None);
    put("src/main.py", "new");
    assert_eq!(place.refused(&run), None);
    put("scripts/rules.py", "evil");
    let reason = place.refused(&run).unwrap();
    assert_eq!(
        reason,
        "could load code that has changed in this copy of the folder (`scripts/rules.py`)"
    );
    // The user can allow it.
    let all = place.programs();
    all.allow(&all.check(&run).unwrap_err()).unwrap();
    assert_eq!(place.refused(&run), None);
    put("scripts/_json.py", "evil");
    assert!(place.refused(&run).is_some());
}

#[test]
fn a_link_to_another_program_is_a_change() {
    let place = installed();
    let linked = place.project.join("node_modules/.bin/prettier");
    place.put("tools/other.cjs", "1");
    place.decide(true);
    assert_eq!(place.check(&linked), Ok(()));
    fs::remove_file(&linked).unwrap();
    // Without its script, a guard would fail, and some failures pass.
    assert!(place.check(&linked).is_err());
    place.link("../../tools/other.cjs", "node_modules/.bin/prettier");
    assert!(place.check(&linked).is_err());
    // Also a link that leads out of the project.
    fs::remove_file(&linked).unwrap();
    let outside = place.folder.path().join("outside");
    atomic_file::write(&outside, b"1").unwrap();
    place.link(outside.to_str().unwrap(), "node_modules/.bin/prettier");
    assert!(place.check(&linked).is_err());
    assert_eq!(place.check(&outside), Ok(()));
}

#[test]
fn a_change_can_be_allowed_and_the_same_content_is_no_other_change() {
    let place = installed();
    place.decide(true);
    let run = place.hook("python3 scripts/lazy.py");
    let all = place.programs();
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "2");
    let changed = all.check(&run).unwrap_err();
    assert_eq!(changed.files, ["scripts/rules.py"]);
    assert_eq!(
        changed.reason,
        "could load code that has changed since you trusted the folder (`scripts/rules.py`)"
    );
    all.allow(&changed).unwrap();
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "2");
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "3");
    assert!(all.check(&run).is_err());
    // A new decision is about the folder as it is.
    place.decide(true);
    assert_eq!(all.check(&run), Ok(()));
}

#[test]
fn nothing_is_known_without_a_decision() {
    let place = installed();
    let linked = place.project.join("node_modules/.bin/prettier");
    let unknown = "runs code of this folder, which is not known as you trusted it";
    for decided in [None, Some(false)] {
        if let Some(trusted) = decided {
            place.decide(trusted);
        }
        assert_eq!(place.check(&linked), Err(unknown.to_owned()));
        assert_eq!(place.check(Path::new("/bin/sh")), Ok(()));
        assert_eq!(place.refused(&place.hook("jq . | tee log")), None);
    }
}
