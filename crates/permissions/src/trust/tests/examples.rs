//! A project with the usual tools, attacks on it, and the programs that people run every day.

use crate::trust::tests::place::Place;

/// A hook as people write it.
pub(in crate::trust) const FORMAT: &str = r#"#!/bin/bash
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
pub(in crate::trust) const LINT: &str = r#"#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
pub(in crate::trust) const { tool_input } = JSON.parse(readFileSync(0, "utf8"));
pub(in crate::trust) const match = /\.(js|ts)$/.exec(tool_input.file_path);
if (!match) process.exit(0);
pub(in crate::trust) const ran = spawnSync("npx", ["eslint", "--fix", tool_input.file_path], { encoding: "utf8" });
if (ran.status !== 0) { console.error(ran.stdout); process.exit(2); }
"#;
pub(in crate::trust) const GUARD: &str = r#"#!/usr/bin/env python3
import json, re, sys
from pathlib import Path
PROTECTED = [".env", "package-lock.json", "src/config.py"]
data = json.load(sys.stdin)
path = data.get("tool_input", {}).get("file_path", "")
if any(name in path for name in PROTECTED) or re.compile(r"\.pem$").search(path):
    print("no", file=sys.stderr)
    sys.exit(2)
"#;
pub(in crate::trust) const RUN: &str = r#"import json, subprocess, sys
data = json.load(sys.stdin)
path = data["tool_input"]["file_path"]
subprocess.run(["git", "status"], check=False)
if path.endswith(".py"):
    subprocess.run([sys.executable, "-m", "ruff", "format", path], stdout=subprocess.DEVNULL)
else:
    subprocess.run(["npx", "prettier", "--write", path], check=True)
"#;
pub(in crate::trust) const ESLINT: &str = r#"import js from "@eslint/js";
import globals from "globals";
export default [
  js.configs.recommended,
  { languageOptions: { sourceType: "module", globals: globals.browser }, rules: { "no-eval": 2, "constructor-super": 1 } },
];
"#;

/// A project with the usual tools, in the state that the user trusts.
pub(in crate::trust) fn installed() -> Place {
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
            app: main.o\n\t$(CC) $(CFLAGS) -o $@ main.o\ntest:\n\tpytest -q\nbuild: test\n\tcargo build --release\n.PHONY: check\ncheck: $(SRC)\n\truff check $(wildcard src/*.py)\n",
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
        (".git/config", "[core]\n\thooksPath = .husky/_\n"),
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
        ("rules.py", "import yaml\nyaml.safe_load(open('x'))\n"),
        (
            "mcp/server.py",
            "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('x')\nmcp.run()\n",
        ),
        ("db/seed.sql", "create table a(b);\n"),
        ("main.py", "1"),
        ("vendor/bin/phpstan", "#!/usr/bin/env php\n<?php\n"),
        ("phpstan.neon", "parameters:\n    level: 5\n"),
        (
            "vite.config.ts",
            "import { defineConfig } from 'vite'\nexport default defineConfig({ build: { rollupOptions: { input: 'src/main.js' } }, test: { setupFiles: './src/main.ts' } })\n",
        ),
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
            "lint: fmt\n    @npx eslint src\n    ./tools/c {{arg}}\nfmt:\n    ruff format src\nalias lint-js := js\n[private]\njs files=\"src\": fmt\n    npx eslint {{files}}\n",
        ),
        ("eslint.config.js", ESLINT),
        ("biome.json", "{}"),
        (
            "pyproject.toml",
            "[build-system]\nrequires = ['setuptools']\n[project]\nname = 'x'\nrequires-python = '>=3.9'\n[tool.black]\nline-length = 100\n",
        ),
        ("mypy.ini", "[mypy]\nplugins = plugins/check.py\n"),
        ("Cargo.toml", "[package]\nname = 'x'\n"),
        (".husky/pre-commit", "npx lint-staged\n"),
        (".husky/_/.gitignore", "*"),
        (
            ".husky/_/pre-commit",
            "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"",
        ),
        (
            ".husky/_/h",
            "#!/usr/bin/env sh\nn=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\n\
            export PATH=\"node_modules/.bin:$PATH\"\nsh -e \"$s\" \"$@\"\nc=$?\nexit $c\n",
        ),
        (
            "scripts/files.sh",
            "#!/bin/bash\nmapfile -t files < <(git diff --name-only -- \"*.py\")\n((${#files[@]})) || exit 0\nruff check -q \"${files[@]}\"\n",
        ),
        (
            "scripts/run.sh",
            "#!/bin/bash\nlog() { echo \"[hook] $*\" >&2; }\nrun() {\n  log \"$@\"\n  \"$@\" || exit 2\n}\nrun ruff check -q src\nrun git diff --stat\n",
        ),
        (
            "scripts/dict.py",
            "import json, subprocess, sys\nTOOLS = {'.py': ['ruff', 'format'], '.js': ['npx', 'prettier', '--write']}\npath = json.load(sys.stdin)['path']\n\
            for end, cmd in TOOLS.items():\n    if path.endswith(end):\n        subprocess.run(cmd + [path])\n",
        ),
        (
            "scripts/self.mjs",
            "import { execFileSync } from 'node:child_process'\nexecFileSync(process.execPath, ['scripts/lint.js'])\n",
        ),
        (
            "scripts/inline.py",
            "#!/usr/bin/env -S uv run --script\n# /// script\n# requires-python = '>=3.11'\n# ///\nimport json, sys\n",
        ),
        (
            "venv/bin/activate",
            "deactivate () {\n    unset VIRTUAL_ENV\n}\nVIRTUAL_ENV='/x/venv'\nexport VIRTUAL_ENV\nPATH=\"$VIRTUAL_ENV/bin:$PATH\"\nexport PATH\nhash -r 2> /dev/null\n",
        ),
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
        (
            "../home/list.py",
            "#!/usr/bin/env python3\nimport os, subprocess, sys\ncmd = [\"npx\", \"prettier\", \"--write\"]\n\
            def run(words):\n    return subprocess.run(words, cwd=os.getcwd(), check=False)\nrun(cmd + [sys.argv[1]])\nrun([\"ruff\", \"check\"])\n",
        ),
        (
            "../home/exit.py",
            "#!/usr/bin/env python3\nimport subprocess, sys\nresult = subprocess.run([\"ruff\", \"check\", \"src\"])\ncode = result.returncode\nsys.exit(code)\n",
        ),
        (
            "../home/root.sh",
            "#!/bin/bash\nset -e\nroot=$(git rev-parse --show-toplevel 2>/dev/null || pwd)\ncd \"$root\"\nnpx prettier --check \"$1\"\n",
        ),
        (
            "scripts/spaced.sh",
            "#!/usr/bin/env bash\nset -euo pipefail\nSCRIPT_DIR=$( cd -- \"$( dirname -- \"${BASH_SOURCE[0]}\" )\" &> /dev/null && pwd )\n. \"$SCRIPT_DIR/lib.sh\"\nsay hi\n",
        ),
        ("scripts/lib.sh", "say() { echo \"$1\" >&2; }\n"),
        (
            "scripts/sources.sh",
            "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\nruff check src\n",
        ),
        (
            "scripts/dir.sh",
            "#!/bin/bash\nset -euo pipefail\nDIR=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\nsource \"$DIR/lib.sh\"\n\"$DIR/plain.sh\"\n",
        ),
        (
            "scripts/cmd.py",
            "import subprocess, sys\ncmd = ['npx', 'eslint', '--fix']\nif len(sys.argv) > 2:\n    cmd.append('--quiet')\nsubprocess.run(cmd + [sys.argv[1]], check=True)\n",
        ),
        (
            ".pre-commit-config.yaml",
            "repos:\n- repo: https://github.com/astral-sh/ruff-pre-commit\n  rev: v0.6.9\n  hooks:\n  - id: ruff\n    args: [--fix]\n\
            - repo: https://github.com/pre-commit/pre-commit-hooks\n  rev: v4.5.0\n  hooks:\n  - id: trailing-whitespace\n  - id: check-yaml\n\
            - repo: local\n  hooks:\n  - id: lint\n    name: lint\n    entry: npx eslint\n    language: system\n    files: \\.(js|ts)$\n\
              - id: bash\n    entry: bash -c 'ruff check .'\n    language: system\n  - id: script\n    entry: ./scripts/plain.sh\n    language: script\n",
        ),
        (
            "Gemfile",
            "source \"https://rubygems.org\"\ngem \"rubocop\"\n",
        ),
        (
            ".rubocop.yml",
            "inherit_from: .rubocop_todo.yml\nAllCops:\n  NewCops: enable\n",
        ),
        (
            "turbo.json",
            "{\"tasks\": {\"lint\": {\"dependsOn\": [\"^lint\"]}}}",
        ),
        (
            "packages/web/package.json",
            "{\"name\": \"web\", \"scripts\": {\"lint\": \"eslint .\"}}",
        ),
        ("vendor/bin/php-cs-fixer", "#!/usr/bin/env php\n<?php\n"),
        (
            ".php-cs-fixer.dist.php",
            "<?php\nreturn (new PhpCsFixer\\Config())->setRules(['@PSR12' => true]);\n",
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
        (
            ".cargo/config.toml",
            "[target.x]\nlinker = 'clang'\nrustflags = ['-C', 'link-arg=/usr/lib/x']\n",
        ),
        ("../home/venv/pyvenv.cfg", ""),
        ("../home/venv/bin/black", "#!python\n"),
        (
            "../home/venv/lib/python3/site-packages/own.pth",
            "../../../../../project/lib\n",
        ),
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
pub(in crate::trust) const ATTACKS: &[(&str, &str)] = &[
    // Modules of Python.
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
    // Modules of Node.
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
    // Shell scripts.
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
    // Attacks through wrappers, inputs and variables.
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
    // Runners and tools, and the settings that they read.
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
    ("python3 -m black src", "black/__main__.py"),
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
/// Hooks, servers and formatters as people use them, and whether osier asks about them after [`EDITS`].
#[rustfmt::skip]
pub(in crate::trust) const EVERYDAY: &[(&str, bool)] = &[
    // Downloaded servers, and a container that shares nothing with the project.
    ("npx -y @modelcontextprotocol/server-filesystem .", false),
    ("uvx mcp-server-git --repository .", false),
    ("docker run -i --rm mcp/postgres postgresql://host/db", false),
    ("npx playwright test", false),
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
    // A package that osier does not know.
    ("python3 scripts/layout.py", true),
    // Hooks of the user outside of the project, and programs of the system.
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
    ("tmp=$(mktemp); trap 'rm -f \"$tmp\"' EXIT; npx tsc --noEmit > \"$tmp\" || cat \"$tmp\"", false),
    ("trap '' TERM; touch ran; sleep 1", false),
    ("trap - INT; trap true EXIT; jq . x.json", false),
    ("cp src/main.js \"backup-$(date +%s).js\"", false),
    ("touch ran; tee made; test -f src/main.js", false),
    ("python3 -c 'import json,sys; json.load(sys.stdin)'", false),
    ("grep -rn TODO src | head", false),
    // Scripts that find others by their own folder, and lists of words.
    ("scripts/sources.sh", false),
    ("bash scripts/dir.sh", false),
    ("python3 scripts/cmd.py \"$FILE\"", false),
    ("HOME/list.py \"$FILE\"", false),
    ("HOME/root.sh \"$FILE\"", false),
    ("cd \"$(git rev-parse --show-toplevel)\" && npx eslint --fix src", false),
    ("pre-commit run --files src/main.py", false),
    ("bundle exec rubocop -A src", false),
    ("turbo run lint", false),
    ("npx turbo run lint", false),
    ("terraform fmt -recursive", false),
    ("deno fmt src", false),
    ("vendor/bin/php-cs-fixer fix src", false),
    ("docker ps --quiet", false),
    ("sort -u list | uniq -c", false),
    ("sed -E 's/^export //; /^$/d' src/main.js", false),
    ("env NODE_ENV=test npx eslint src", false),
    ("pylint src", false),
    ("HOME/exit.py", false),
    ("make check", false),
    ("f=$(jq -r .tool_input.file_path); [[ \"$f\" =~ \\.(ts|js)$ ]] && npx prettier --check \"$f\" || true", false),
    ("if command -v prettier >/dev/null 2>&1; then prettier --write \"$FILE\"; fi", false),
    ("scripts/spaced.sh", false),
    ("perl -pi -e 's/[ \\t]+$//' src/main.js", false),
    ("python3 - <<'EOF'\nimport json\nprint(json.dumps(1))\nEOF", false),
    ("docker compose ps -q", false),
    ("uvx ruff@0.6.0 format src", false),
    ("git diff --name-only | grep '\\.py$' | xargs -r black -q", false),
    ("cd docs && npx prettier --check .", false),
    ("set -e\ncd docs || exit 1\nnpx prettier --check .", false),
    ("npx prettier --log-level warn --write src/main.js", false),
    ("npx eslint --max-warnings 0 src/main.js", false),
    ("HOME/venv/bin/black -q src/main.py", false),
    ("cargo metadata --no-deps", false),
    ("just lint-js", false),
    (". venv/bin/activate && ruff format src", false),
    (". venv/bin/activate && black -q src", false),
    ("bash <<'EOF'\nset -e\nruff check src || true\nEOF", false),
    ("bash -e <<EOF\nruff check src\nEOF", false),
    ("scripts/files.sh", false),
    ("scripts/run.sh", false),
    ("python3 scripts/dict.py", false),
    ("node scripts/self.mjs", false),
    ("uv run --script scripts/inline.py", false),
    ("scripts/inline.py", false),
    ("rsync -a src ~/backup", false),
    ("FILE=src/main.js npx prettier --write src/main.js", false),
    // Tests and builds, and formatters of build tools.
    ("node --test", false),
    ("bun test", false),
    ("cmake --build build", false),
    ("make app", false),
    ("python -m pytest -q || true", false),
    ("python manage.py test", false),
    ("php artisan test", false),
    ("zig build test", false),
    ("npx @biomejs/biome check --write src", false),
    ("mix format", false),
    ("dune fmt", false),
    ("deno fmt && deno lint", false),
    ("sbt -no-colors scalafmtAll", false),
    ("vendor/bin/phpstan analyse --no-progress", false),
    ("npx cspell src", false),
    ("npx stylelint styles/app.css", false),
    // Version managers.
    ("eval \"$(fnm env)\"; npx prettier --check README.md", false),
    ("eval \"$(pyenv init -)\"; ruff check -q src", false),
    ("[ -s ~/.nvm/nvm.sh ] && . ~/.nvm/nvm.sh; npx eslint src", false),
    ("mise exec -- ruff check src", false),
    ("PATH=\"$PWD/node_modules/.bin:$PATH\" eslint src", false),
    // Scripts that use packages.
    ("python3 rules.py", false),
    ("python3 mcp/server.py", false),
    ("sqlite3 dev.db < db/seed.sql", false),
];

/// Files that ordinary work changes.
pub(in crate::trust) const EDITS: [&str; 19] = [
    "src/main.js",
    "main.py",
    "app/A.php",
    "lib/a.ex",
    "bin/main.ml",
    "src/locales/en.json",
    "src/config.ts",
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

/// Tools that osier starts by itself: the program, its settings that name code, and the command of a server.
#[rustfmt::skip]
pub(in crate::trust) const STARTED: &[(&str, &[&str], &str)] = &[
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
