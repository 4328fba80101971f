//! Attacks on projects with files of their own: a command of a hook, the files that it needs, and the file that the model changes. The
//! command `@prettier` is the formatter that osier starts, and `@NAME` a language server.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use crate::trust::program_use::ProgramUse;
use crate::trust::tests::examples::installed;
use crate::trust::tests::place::Place;

/// The command, the files of the project (`-> ` is a link), and the changed file.
pub(in crate::trust) type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

pub(in crate::trust) const PYTHON_HOOK: &str = "scripts/h.py";
pub(in crate::trust) const NODE_HOOK: &str = "scripts/h.mjs";

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Names of plugins in quoted texts of settings.
    ("@prettier", &[("prettier.config.cjs", "module.exports = { plugins: ['./sort.mjs'] }"), ("sort.mjs", "1")], "sort.mjs"),
    ("npx prettier -w x", &[("prettier.config.mjs", "export default { plugins: ['./sort.mjs'] }"), ("sort.mjs", "1")], "sort.mjs"),
    ("npx prettier -w x", &[("prettier.config.mjs", "export default { plugins: ['lib/sort'] }"), ("lib/sort.mjs", "1")], "lib/sort.mjs"),
    ("npx prettier -w x", &[("prettier.config.mjs", "import base from './base.mjs'; export default base"), ("base.mjs", "export default { plugins: [`./sort.mjs`] }"), ("sort.mjs", "1")], "sort.mjs"),
    ("npx prettier -w x", &[("prettier.config.mjs", "const p = './' + 'sort'; export default { plugins: [p] }"), ("sort.mjs", "1")], "sort.mjs"),
    ("npx prettier -w x", &[("prettier.config.mjs", "export default { plugins: [`./${name}.mjs`] }"), ("sort.mjs", "1")], "sort.mjs"),
    ("npx prettier -w x", &[("prettier.config.mjs", "import fs from 'fs'; export default { plugins: JSON.parse(fs.readFileSync('list')) }"), ("sort.mjs", "1")], "sort.mjs"),
    ("npx prettier -w x", &[("prettier.config.cjs", "module.exports = { plugins: [path.join(__dirname, 'lib', 'sort.mjs')] }"), ("lib/sort.mjs", "1")], "lib/sort.mjs"),
    ("npx eslint src", &[(".eslintrc.js", "module.exports = { extends: ['./lint/base'] }"), ("lint/base.js", "1")], "lint/base.js"),
    ("npx eslint src", &[(".eslintrc.cjs", "module.exports = { parser: 'lint/parser.js' }"), ("lint/parser.js", "1")], "lint/parser.js"),
    ("npx stylelint src", &[("stylelint.config.js", "export default { plugins: ['./style/rule.js'] }"), ("style/rule.js", "1")], "style/rule.js"),
    ("npx lint-staged", &[("lint-staged.config.js", "export default { '*.js': 'node scripts/staged.js' }"), ("scripts/staged.js", "1")], "scripts/staged.js"),
    ("npx lint-staged", &[(".lintstagedrc.mjs", "export default { '*.js': (all) => [`node scripts/staged.js ${all}`] }"), ("scripts/staged.js", "1")], "scripts/staged.js"),
    ("npx lint-staged", &[(".lintstagedrc.yml", "'*.js': node scripts/staged.js\n"), ("scripts/staged.js", "1")], "scripts/staged.js"),
    ("npx prettier -w target/x.js", &[], "target/.prettierrc"),
    ("npx prettier -w packages/a/x.js", &[("packages/a/.prettierrc", "plugins: [p]"), ("packages/a/node_modules/p/index.js", "1")], "packages/a/node_modules/p/index.js"),
    ("npx eslint src", &[("src/.babelrc", "{\"plugins\": [\"./p.js\"]}"), ("src/p.js", "1")], "src/p.js"),
    ("npx eslint src", &[], "src/.babelrc"),
    ("npx eslint src", &[], "src/.graphqlrc.js"),
    ("npx oxlint src", &[(".oxlintrc.json", "{\"jsPlugins\": [\"./lint/p.js\"]}"), ("lint/p.js", "1")], "lint/p.js"),
    ("oxlint src", &[], "src/.oxlintrc.json"),
    ("dprint fmt", &[("dprint.json", "{\"plugins\": [\"./p.wasm\"]}"), ("p.wasm", "1")], "p.wasm"),
    ("npx vue-tsc", &[("tsconfig.json", "{\"vueCompilerOptions\": {\"plugins\": [\"./vue/p.js\"]}}"), ("vue/p.js", "1")], "vue/p.js"),
    ("'typescript-language-server'", &[("tsconfig.json", "{\"extends\": \"./conf/base\"}"), ("conf/base.json", "{}")], "conf/base.json"),
    ("npx markdownlint-cli2 x", &[(".markdownlint-cli2.mjs", "import rules from './md/rules.mjs'; export default { config: rules }"), ("md/rules.mjs", "1")], "md/rules.mjs"),
    ("pylint src", &[("pyproject.toml", "[tool.pylint.main]\nload-plugins = ['lint.plugin']\n")], "lint/plugin.py"),
    // Scripts that call tools as packages.
    ("node scripts/h.mjs", &[(NODE_HOOK, "import prettier from 'prettier'\nawait prettier.resolveConfig('x')")], "prettier.config.mjs"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { ESLint } from 'eslint'\nnew ESLint()")], "src/eslint.config.js"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { $ } from 'zx'\nawait $`./tools/c`")], "tools/c"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { execa } from 'execa'\nawait execa('./tools/c')")], "tools/c"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { spawnSync } from 'child_process'\nspawnSync('npx', words)")], "tools/c"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { spawnSync } from 'child_process'\nspawnSync('make', [], { cwd: 'sub' })")], "sub/check.sh"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { spawnSync } from 'child_process'\nspawnSync('jq', ['.'], { env: { ...process.env, PATH: 'tools' } })")], "tools/jq"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { spawnSync as run } from 'child_process'\nrun(name)")], "tools/c"),
    // Hooks of the user outside of the project.
    ("HOME/h.py", &[("../home/h.py", "#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(words)")], "tools/c"),
    ("HOME/h.sh", &[("../home/h.sh", "#!/bin/sh\nroot=$(git rev-parse --show-toplevel)\n\"$root/tools/c\"\n")], "tools/c"),
    ("HOME/h.sh", &[("../home/h.sh", "#!/bin/sh\n\"${CLAUDE_PROJECT_DIR:-.}/tools/c\"\n")], "tools/c"),
    ("HOME/h.sh", &[("../home/h.sh", "#!/bin/sh\nfor name in c d; do tools/$name; done\n")], "tools/c"),
    ("HOME/h.sh", &[("../home/h.sh", "#!/bin/sh\nfor f in docs/*.md; do . $f; done\n")], "docs/steps.md"),
    ("HOME/h.sh", &[("../home/h.sh", "#!/bin/bash\nif [[ $1 =~ js$ ]]; then\n  words=(npx eslint)\n  \"${words[@]}\" \"$1\"\nfi\n")], "eslint.config.js"),
    ("HOME/h.mjs", &[("../home/h.mjs", "#!/usr/bin/env node\nimport { execSync } from 'child_process'\nexecSync(command)")], "tools/c"),
    ("HOME/h.pl", &[("../home/h.pl", "#!/usr/bin/perl\nsystem(\"$dir/tools/c\");")], "tools/c"),
    // Scripts in `package.json`.
    ("npm run page", &[("package.json", "{\"scripts\": {\"page\": \"next lint\"}}"), ("node_modules/.bin/next", "#!/bin/sh\n")], "next.config.js"),
    ("npm run page", &[("package.json", "{\"scripts\": {\"page\": \"astro check\"}}"), ("node_modules/.bin/astro", "#!/bin/sh\n")], "astro.config.mjs"),
    ("npm run page", &[("package.json", "{\"scripts\": {\"page\": \"knip\"}}"), ("node_modules/.bin/knip", "#!/bin/sh\n")], "knip.ts"),
    ("yarn page", &[("package.json", "{\"scripts\": {\"page\": \"jq . x\"}}"), (".yarnrc.yml", "yarnPath: tools/yarn.cjs"), ("tools/yarn.cjs", "1")], "tools/yarn.cjs"),
    ("cd app && pnpm run page", &[("app/package.json", "{\"scripts\": {\"page\": \"jq . x\"}}"), ("pnpm-workspace.yaml", "nodeOptions: --require ./tools/o.cjs"), ("tools/o.cjs", "1")], "tools/o.cjs"),
    ("cd app && npm run page", &[("app/package.json", "{\"scripts\": {\"page\": \"jq . x\"}}"), (".npmrc", "node-options=--require ./tools/o.cjs"), ("tools/o.cjs", "1")], "tools/o.cjs"),
    ("cd app && npm run page", &[("app/package.json", "{\"scripts\": {\"page\": \"jq . x\"}}")], ".npmrc"),
    ("bun run page", &[("package.json", "{\"scripts\": {\"page\": \"jq . x\"}}"), ("bunfig.toml", "preload = [\"./tools/o.ts\"]"), ("tools/o.ts", "1")], "tools/o.ts"),
    ("turbo run lint", &[("turbo.json", "{}"), ("packages/a/package.json", "{\"scripts\": {\"lint\": \"node l.js\"}}"), ("packages/a/l.js", "1")], "packages/a/l.js"),
    ("turbo run lint", &[("turbo.json", "{\"tasks\": {\"lint\": {\"dependsOn\": [\"^gen\"]}}}"), ("packages/a/package.json", "{\"scripts\": {\"gen\": \"node g.js\"}}"), ("packages/a/g.js", "1")], "packages/a/g.js"),
    // Settings and hooks of git.
    ("git commit -m x", &[(".git/HEAD", ""), (".git/config", "[core]\n\thooksPath = tools/hooks\n"), ("tools/hooks/pre-commit", "#!/bin/sh\n")], "tools/hooks/pre-commit"),
    ("git wip", &[(".git/HEAD", ""), (".git/config", "[alias]\n\twip = !tools/c\n")], "tools/c"),
    ("git wip", &[(".git/HEAD", ""), (".git/config", "[alias]\n\twip = commit -m x\n")], ".husky/pre-commit"),
    ("git status", &[(".git/HEAD", ""), (".git/config", "[core]\n\tfsmonitor = tools/c\n")], "tools/c"),
    ("git add -A", &[(".git/HEAD", ""), (".git/config", "[filter \"x\"]\n\tclean = tools/c\n")], "tools/c"),
    ("git diff", &[(".git/HEAD", ""), (".git/config", "[include]\n\tpath = ../.gitsettings\n"), (".gitsettings", "")], ".gitsettings"),
    ("git -c core.fsmonitor=tools/c status", &[], "tools/c"),
    ("git commit -m x", &[(".git/hooks/pre-push", "#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(['./tools/c'])\n")], "tools/c"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - id: c\n    entry: tools/c\n    language: system\n")], "tools/c"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: https://x.org/eslint\n  rev: v1\n  hooks:\n  - id: eslint\n")], "src/eslint.config.js"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos: []\n")], ".pre-commit-config.yaml"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - id: c\n    entry:\n      tools/c\n    language: system\n")], "tools/c"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - id: c\n    entry: npx prettier\n    language: system\n    args:\n    - --plugin=./lib/p.mjs\n"), ("lib/p.mjs", "1")], "lib/p.mjs"),
    ("pre-commit run -c ci/pc.yaml", &[("ci/pc.yaml", "repos: []\n")], "ci/pc.yaml"),
    // Imports and paths of Python.
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import site\nsite.addsitedir('vendor')\n")], "vendor/deep.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import a.b.c\n"), ("scripts/a/__init__.py", ""), ("scripts/a/b/__init__.py", ""), ("scripts/a/b/c.py", "import subprocess\nsubprocess.run(['./tools/c'])\n")], "tools/c"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess\nsubprocess.run(['make'], cwd='sub')\n")], "sub/check.sh"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess\nsubprocess.run(['./check.sh'], cwd=folder)\n")], "sub/check.sh"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess, os\nsubprocess.run(['black'], env={**os.environ, 'PYTHONPATH': 'src'})\n")], "src/black.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess, os\nos.environ['PATH'] = 'tools'\nsubprocess.run(['jq'])\n")], "tools/jq"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess, os\nos.chdir('sub')\nsubprocess.run(['./check.sh'])\n")], "sub/check.sh"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import logging.config\nlogging.config.fileConfig('log.ini')\n")], "src/handlers.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import pickle\npickle.load(open('data.out', 'rb'))\n")], "data.out"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import os\nos.spawnlp(os.P_WAIT, './tools/c', 'c')\n")], "tools/c"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import sh\nsh.Command('./tools/c')()\n")], "tools/c"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess\nsubprocess.run(['npx'] + words)\n")], "src/eslint.config.js"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import glob\nfor f in glob.glob('docs/*.md'): exec(open(f).read())\n")], "docs/new.md"),
    ("env -C sub make", &[], "sub/check.sh"),
    ("env -C sub ./check.sh", &[], "sub/check.sh"),
    ("(cd sub; make) && ./check.sh", &[("check.sh", "1")], "check.sh"),
    // Variables and rules of make and just.
    ("make fmt", &[("Makefile", "export PYTHONPATH = src\nfmt:\n\tpython3 -c 'import json'\n")], "src/json.py"),
    ("make fmt", &[("Makefile", "PATH := tools:$(PATH)\nfmt:\n\tjq .\n")], "tools/jq"),
    ("make fmt", &[("Makefile", "fmt: export NODE_OPTIONS = --require ./src/main.js\nfmt:\n\tnode -e 1\n")], "src/main.js"),
    ("make fmt", &[("Makefile", "V != tools/c\nfmt:\n\ttrue\n")], "tools/c"),
    ("make fmt", &[("Makefile", "V := ${shell tools/c}\nfmt:\n\ttrue\n")], "tools/c"),
    ("make fmt", &[("Makefile", "V := $(shell tools/c)\nfmt:\n\ttrue\n")], "tools/c"),
    ("make fmt", &[("Makefile", "include gen.mk\nfmt:\n\ttrue\ngen.mk:\n\ttools/c\n")], "tools/c"),
    ("make fmt", &[("Makefile", "include mk/all.mk\n"), ("mk/all.mk", "fmt:\n\ttools/c\n")], "tools/c"),
    ("make fmt", &[("Makefile", ".RECIPEPREFIX = >\nfmt:\n>tools/c\n")], "tools/c"),
    ("make fmt", &[("Makefile", "SHELL = ./tools/sh\nfmt:\n\ttrue\n"), ("tools/sh", "1")], "tools/sh"),
    ("make fmt", &[("Makefile", "define run\ntools/c\nendef\nfmt:\n\t$(run)\n")], "tools/c"),
    ("just fmt", &[("justfile", "import? 'more.just'\nfmt: all\n"), ("more.just", "all:\n    ./tools/c\n")], "tools/c"),
    ("just fmt", &[("justfile", "set dotenv-load\nfmt:\n    jq .\n")], ".env"),
    ("just fmt", &[("justfile", "export PATH := 'tools'\nfmt:\n    jq .\n")], "tools/jq"),
    ("just fmt", &[("justfile", "v := `tools/c`\nfmt:\n    jq .\n")], "tools/c"),
    // Rules, names and values of make and just that osier does not understand.
    ("make fmt", &[("Makefile", "FMT = ./tools/c\nFMT += -q\nfmt:\n\t$(FMT)\n")], "tools/c"),
    ("make fmt", &[("Makefile", "FMT = npx prettier\nfmt:\n\t$(FMT) $(MORE)\nMORE = --plugin=./lib/p.mjs\n"), ("lib/p.mjs", "1")], "lib/p.mjs"),
    ("make fmt", &[("Makefile", "FMT = npx prettier\nFMT += --plugin=./lib/p.mjs\nfmt:\n\t$(FMT) x\n"), ("lib/p.mjs", "1")], "lib/p.mjs"),
    ("make fmt", &[("Makefile", "LINT = sh tools/c\nifdef CI\nLINT = echo\nendif\nfmt:\n\t$(LINT)\n")], "tools/c"),
    ("make fmt", &[("Makefile", "ifeq ($(A),b)\nFMT = ./tools/c\nelse\nFMT = echo\nendif\nfmt:\n\t$(FMT)\n")], "tools/c"),
    ("make fmt", &[("Makefile", "CMD = echo\nfmt: CMD = ./tools/c\nfmt:\n\t$(CMD)\n")], "tools/c"),
    ("make fmt", &[("Makefile", "CMD = echo\nfmt:: CMD = ./tools/c\nfmt::\n\t$(CMD)\n")], "tools/c"),
    ("make fmt", &[("Makefile", "CMD = echo\noverride CMD = ./tools/c\nfmt:\n\t$(CMD)\n")], "tools/c"),
    ("make fmt", &[("Makefile", "fmt: $(addprefix fmt-,a b)\nfmt-a:\n\ttools/c\n")], "tools/c"),
    ("make fmt", &[("Makefile", "PARTS = a b\nfmt: $(PARTS:%=fmt-%)\nfmt-a:\n\ttools/c\n")], "tools/c"),
    ("make fmt", &[("Makefile", "fmt: $(PARTS)\nfmt-a:\n\ttools/c\nPARTS = fmt-a\n")], "tools/c"),
    ("make fmt", &[("Makefile", "PARTS := fmt-a\nPARTS += fmt-b\nfmt: $(PARTS)\nfmt-a:\n\ttools/c\n")], "tools/c"),
    ("make fmt", &[("Makefile", "fmt:\n\tnpx prettier $(addprefix --plugin=,./lib/p.mjs) x\n"), ("lib/p.mjs", "1")], "lib/p.mjs"),
    ("make fmt CMD=./tools/c", &[("Makefile", "CMD = echo\nfmt:\n\t$(CMD)\n")], "tools/c"),
    ("make fmt", &[("Makefile", "fmt:\n\ttrue\n")], "Makefile.sh"),
    ("make fmt", &[("Makefile", "fmt:\n\t$(MAKE) $(NEXT)\nall:\n\ttools/c\n")], "tools/c"),
    ("just f", &[("justfile", "alias f := fmt\nfmt:\n    tools/c\n")], "tools/c"),
    ("just fmt", &[("justfile", "fmt: (run \"a b\" \"c\") && last\nrun name more:\n    true\nlast:\n    tools/c\n")], "tools/c"),
    ("just fmt", &[("justfile", "fmt: (run \"a\")\nrun name:\n    tools/c\n")], "tools/c"),
    ("just sub/fmt", &[("justfile", "fmt:\n    true\n"), ("sub/justfile", "fmt:\n    ../tools/c\n")], "tools/c"),
    ("just fmt", &[("justfile", "fmt name=\"x:y\": run\nrun:\n    tools/c\n")], "tools/c"),
    ("just", &[("justfile", "[private]\n[group: 'x']\nfmt:\n    tools/c\n")], "tools/c"),
    ("just fmt", &[("justfile", "dir := \"lib\"\nplug := \"--plugin=./\" + dir + \"/p.mjs\"\nfmt:\n    npx prettier {{plug}} x\n"), ("lib/p.mjs", "1")], "lib/p.mjs"),
    // Language servers that run code of the project.
    ("'rust-analyzer'", &[], "crates/a/build.rs"),
    ("'rust-analyzer'", &[("crates/m/Cargo.toml", "[lib]\nproc-macro = true\n"), ("crates/m/src/lib.rs", "1")], "crates/m/src/lib.rs"),
    ("'rust-analyzer'", &[], "crates/a/Cargo.toml"),
    ("'zls'", &[("build.zig", "@import(\"more.zig\")"), ("more.zig", "1")], "more.zig"),
    ("'zls'", &[], "build.zig"),
    ("'elixir-ls'", &[], "mix.exs"),
    ("'jdtls'", &[], "app/build.gradle"),
    ("'jdtls'", &[], "gradle/wrapper/gradle-wrapper.properties"),
    ("'solargraph' 'stdio'", &[], "Gemfile"),
    ("'ruby-lsp'", &[], "lib/ruby_lsp/addon.rb"),
    ("'dart' 'language-server'", &[], "analysis_options.yaml"),
    ("'ocamllsp'", &[], "src/dune"),
    // Other runners.
    ("inv fmt", &[], "tasks.py"),
    ("latexmk x.tex", &[], ".latexmkrc"),
    ("alembic check", &[], "alembic/env.py"),
    ("sqlfluff lint", &[(".sqlfluff", "[sqlfluff]\nlibrary_path = sql/lib\n")], "sql/lib/x.py"),
    ("bundle exec rubocop", &[("Gemfile", "gem 'rubocop'"), (".rubocop.yml", "require: ./lib/cop.rb"), ("lib/cop.rb", "1")], "lib/cop.rb"),
    ("bundle exec rubocop", &[("Gemfile", "gem 'rubocop'")], "Gemfile"),
    ("bundle exec rake", &[("Gemfile", "gem 'rake'")], "Rakefile"),
    ("vendor/bin/php-cs-fixer fix", &[("vendor/bin/php-cs-fixer", "#!/usr/bin/env php\n"), (".php-cs-fixer.php", "<?php")], ".php-cs-fixer.php"),
    ("vendor/bin/php-cs-fixer fix", &[("vendor/bin/php-cs-fixer", "#!/usr/bin/env php\n")], "vendor/composer/autoload_files.php"),
    // Files that are named like data, but run.
    ("for f in docs/*.md; do . $f; done", &[], "docs/steps.md"),
    ("cat docs/*.md | sh", &[], "docs/new.md"),
    ("sh notes.txt", &[("notes.txt", "echo")], "notes.txt"),
    ("sh notes.txt || true", &[], "notes.txt"),
    ("for f in logs/*.out; do sh $f; done", &[], "logs/new.out"),
    ("find . -name '*.sh' | xargs -n1 sh", &[], "scripts/__pycache__/x.sh"),
    ("find . -name '*.sh' | xargs -n1 sh", &[], ".vite/x.sh"),
    ("find . -name '*.sh' | xargs -n1 sh", &[], "scripts/.DS_Store/x.sh"),
    ("for f in hooks.d/.*; do . $f; done", &[], "hooks.d/.osier-1.tmp"),
    ("for f in target/*.sh; do . $f; done", &[("target/x.sh", "1")], "target/CACHEDIR.TAG"),
    // Copies of scripts that run elsewhere.
    ("cp scripts/plain.sh /tmp/osier-none.sh && sh /tmp/osier-none.sh", &[], "scripts/plain.sh"),
    ("cp tools/c ~/osier-none/ && ~/osier-none/c", &[], "tools/c"),
    // Options that run a program.
    ("rg --pre tools/c x", &[], "tools/c"),
    ("rg --pre=./tools/c x", &[], "tools/c"),
    ("sort --compress-program=./tools/c x", &[], "tools/c"),
    ("sed -n '1e tools/c' x", &[], "tools/c"),
    ("sed 's/x/y/e' x", &[], "tools/c"),
    ("sed -f lint/x.sed x", &[("lint/x.sed", "1e tools/c\n")], "tools/c"),
    ("awk -f lint/x.awk x", &[("lint/x.awk", "{ system(\"tools/c\") }")], "tools/c"),
    ("awk '{ system($1) }' x", &[], "tools/c"),
    ("gawk -i tools/lib.awk 1 x", &[("tools/lib.awk", "1")], "tools/lib.awk"),
    ("tar -xf x.tar --to-command='sh scripts/plain.sh'", &[], "scripts/plain.sh"),
    ("tar -cf x.tar --checkpoint-action=exec=tools/c src", &[], "tools/c"),
    ("rsync -e tools/c src host:", &[], "tools/c"),
    // Caches of tools that contain code.
    ("for f in $(find . -name '*.sh'); do sh $f; done", &[("target/CACHEDIR.TAG", "1"), ("target/debug/x", "1")], "target/debug/x.sh"),
    ("npx prettier -w target/x.js", &[("target/CACHEDIR.TAG", "1")], "target/debug/.prettierrc"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import jinja2\nprint(jinja2.Template(open('docs/steps.md').read()).render())\n")], "docs/steps.md"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import matter from 'gray-matter'\nmatter.read('docs/steps.md')")], "docs/steps.md"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { spawnSync } from 'child_process'\nconst options = { cwd: 'sub' }\nspawnSync('make', [], options)")], "sub/check.sh"),
    // Links: the target counts, and the files next to it.
    ("make fmt", &[("build/Makefile", "fmt:\n\ttrue\n"), ("Makefile", "-> build/Makefile")], "build/Makefile"),
    ("make fmt", &[("Makefile", "include own.mk\n"), ("build/own.mk", "fmt:\n\ttrue\n"), ("own.mk", "-> build/own.mk")], "build/own.mk"),
    ("just fmt", &[("build/justfile", "fmt:\n    true\n"), ("justfile", "-> build/justfile")], "build/justfile"),
    ("npm run fmt", &[("conf/package.json", "{\"scripts\": {\"fmt\": \"true\"}}"), ("package.json", "-> conf/package.json")], "conf/package.json"),
    ("npx lint-staged", &[("conf/staged.json", "{\"*.md\": \"prettier\"}"), (".lintstagedrc.json", "-> conf/staged.json")], "conf/staged.json"),
    ("pre-commit run", &[("ci/pc.yaml", "repos:\n- repo: local\n"), (".pre-commit-config.yaml", "-> ci/pc.yaml")], "ci/pc.yaml"),
    ("git commit -m x", &[("scripts/pc.py", "#!/usr/bin/env python3\nimport json\n"), (".git/hooks/pre-commit", "-> ../../scripts/pc.py")], "scripts/json.py"),
    ("git commit -m x", &[("scripts/pc.py", "#!/usr/bin/env python3\nimport help\n"), ("scripts/help.py", "import deep\n"), ("scripts/deep.py", "1"), (".git/hooks/pre-commit", "-> ../../scripts/pc.py")], "scripts/deep.py"),
    ("npx eslint src", &[("conf/lint.mjs", "export default []"), ("eslint.config.mjs", "-> conf/lint.mjs")], "conf/lint.mjs"),
    // Npm.
    ("npm run lint -ws", &[("packages/a/package.json", "{\"scripts\": {\"lint\": \"node l.js\"}}"), ("packages/a/l.js", "1")], "packages/a/l.js"),
    ("npm run lint --ws", &[("packages/a/l.js", "1")], "packages/a/l.js"),
    ("npm run lint --if-present --workspaces", &[("packages/a/l.js", "1")], "packages/a/l.js"),
    ("make fmt", &[("Makefile", "fmt:\n\tnpm run lint -ws\n"), ("packages/a/l.js", "1")], "packages/a/l.js"),
    ("npx --yes prettier -w x", &[("package.json", "{\"bin\": {\"prettier\": \"./e.js\"}}"), ("e.js", "1")], "e.js"),
    ("npm version patch", &[], "package.json"),
    ("npx lint-staged", &[], "src/.lintstagedrc.json"),
    ("npx stylelint x", &[], ".config/config.js"),
    ("npx commitlint", &[("commitlint.config.js", "module.exports = {}")], ".config/config.cjs"),
    // Build files that end like texts.
    ("mvn -q spotless:apply", &[("pom.xml", "1")], "pom.xml"),
    ("ant fmt", &[("build.xml", "1")], "build.xml"),
    ("sphinx-build docs out", &[("docs/index.rst", "1")], "docs/index.rst"),
    ("npm run page", &[("package.json", "{\"scripts\": {\"page\": \"docusaurus build\"}}"), ("node_modules/.bin/docusaurus", "#!/bin/sh\n"), ("docs/a.mdx", "1")], "docs/a.mdx"),
    ("'jdtls'", &[("pom.xml", "1")], "pom.xml"),
    // Virtual environments that link to folders of the project, and modules that Python finds by their names.
    ("venv/bin/black -q src", &[("venv/lib/python3/site-packages/own.pth", "../../../../src\n")], "src/sitecustomize.py"),
    ("venv/bin/python scripts/guard.py", &[("venv/lib/python3/site-packages/own.pth", "../../../../src\n")], "src/sitecustomize.py"),
    ("uv run black src", &[("venv/lib/python3/site-packages/own.pth", "../../../../src\n")], "src/usercustomize/__init__.py"),
    ("HOME/venv/bin/black src", &[("../home/venv/pyvenv.cfg", ""), ("../home/venv/bin/black", "#!x\n"), ("../home/venv/lib/python3/site-packages/own.pth", "../../../../../project/src\n")], "src/sitecustomize.py"),
    ("'venv/bin/python' 'mcp/server.py'", &[("mcp/server.py", "import json\n"), ("venv/lib/python3/site-packages/own.pth", "../../../../src\n")], "src/sitecustomize.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import mya\n"), ("packages/a/src/mya/__init__.py", "import myb\n"), ("packages/b/src/myb/__init__.py", "1")], "packages/b/src/myb/__init__.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import mya\n"), ("packages/a/src/mya/__init__.py", "import subprocess\nsubprocess.run(['sh', 'tools/c'])\n")], "tools/c"),
    // Settings of cargo, and the compilers that they choose.
    ("cargo fmt", &[], ".cargo/config.toml"),
    ("cargo metadata", &[], ".cargo/config.toml"),
    ("cargo clippy", &[(".cargo/config.toml", "[build]\nrustc-wrapper = 'tools/c'\n")], "tools/c"),
    ("rustfmt --check x.rs", &[], "rust-toolchain.toml"),
    ("rustfmt --check x.rs", &[("rust-toolchain.toml", "[toolchain]\npath = 'tc'\n"), ("tc/bin/rustfmt", "1")], "tc/bin/rustfmt"),
    // Options that osier does not know.
    ("npx eslint --format ./lib/f.cjs src", &[("lib/f.cjs", "1")], "lib/f.cjs"),
    ("npx eslint --format=./lib/f.cjs src", &[("lib/f.cjs", "1")], "lib/f.cjs"),
    ("npx eslint -f./lib/f.cjs src", &[("lib/f.cjs", "1")], "lib/f.cjs"),
    ("npx eslint --other ./lib/f.cjs src", &[("lib/f.cjs", "1")], "lib/f.cjs"),
    ("npx commitlint --extends ./lib/c.cjs", &[("lib/c.cjs", "1")], "lib/c.cjs"),
    ("npx commitlint -g ./lib/c.cjs", &[("lib/c.cjs", "1")], "lib/c.cjs"),
    ("pylint --rcfile=ci/lint.ini src", &[("ci/lint.ini", "[MAIN]\n")], "ci/lint.ini"),
    ("sqlfluff lint --library-path macros q.sql", &[("macros/m.py", "1")], "macros/m.py"),
    ("git ls-files | xargs npx prettier --check", &[], "--plugin=./lib/e.mjs"),
    ("npx prettier --check *", &[], "--plugin=./lib/e.mjs"),
    ("npx prettier $(cat .options) --check src", &[(".options", "--single-quote\n")], ".options"),
    ("xargs npx prettier --check < files", &[("files", "x\n")], "files"),
    ("bats tests/*.bats", &[("tests/a.bats", "true")], "tests/a.bats"),
    ("bats $(git ls-files '*.bats')", &[("tests/a.bats", "true")], "tests/a.bats"),
    ("git ls-files '*.bats' | xargs bats", &[("tests/a.bats", "true")], "tests/a.bats"),
    // A `cd` that applies only to a part of the line, or that may not run.
    ("(\n  cd app\n  npx prettier --check .\n)\nnpx prettier --check src", &[("app/x.js", "1")], "src/.prettierrc"),
    ("[ -d app ] &&\n  cd app\nnpx prettier --check src", &[("app/x.js", "1")], "src/.prettierrc"),
    ("sh scripts/x.sh", &[("app/x.js", "1"), ("scripts/x.sh", "case \"$1\" in\n  app) cd app ;;\nesac\nnpx prettier --check src\n")], "src/.prettierrc"),
    ("sh scripts/x.sh", &[("app/x.js", "1"), ("scripts/x.sh", "in_app() {\n  cd app\n}\nnpx prettier --check src\n")], "src/.prettierrc"),
    ("cd docs & npx prettier --check src", &[], "src/.prettierrc"),
    ("ls | { cd docs; cat; }; npx prettier --check src", &[], "src/.prettierrc"),
    ("n=$(cd docs; ls | wc -l); npx prettier --check src", &[], "src/.prettierrc"),
    // Scripts in the line itself that look harmless.
    ("python3 - <<'EOF'\nimport subprocess\nsubprocess.run(['./tools/c'])\nEOF", &[], "tools/c"),
    ("python3 - <<'EOF'\nimport json\nEOF", &[], "json.py"),
    ("perl -pi -e 's/x/`tools\\/c`/e' x", &[], "tools/c"),
    ("perl -ne 'system(\"tools/c\")' x", &[], "tools/c"),
    ("perl -pi -e 's/x/y/' *", &[], "tools/c"),
    ("docker compose up", &[], "compose.yaml"),
    // Builds of Python, also of other members of a workspace.
    ("uv run ruff format src", &[("packages/b/pyproject.toml", "[project]\nname = 'b'\n")], "packages/b/pyproject.toml"),
    ("uv run ruff format src", &[], "packages/new/pyproject.toml"),
    ("uv run ruff format src", &[], "packages/new/setup.cfg"),
    ("uv run ruff format src", &[], "hatch_build.py"),
    ("uv run ruff format src", &[("pyproject.toml", "[tool.setuptools.dynamic]\nversion = {attr = 'src.v'}\n")], "src/v.py"),
    ("uv run ruff format src", &[("packages/b/setup.py", "import v")], "packages/b/v.py"),
    ("uv run ruff format src", &[("pyproject.toml", "[tool.uv]\ncache-keys = [{file = 'src/*.c'}]\n"), (".venv/pyvenv.cfg", "")], "src/x.c"),
    ("uv run --with ./lib ruff format src", &[], "lib/setup.py"),
    ("uv run --script scripts/h.py", &[(PYTHON_HOOK, "# /// script\n# [tool.uv.sources]\n# x = {path = '../lib'}\n# ///\nimport json\n")], "lib/x.py"),
    ("uv run --script scripts/h.py", &[(PYTHON_HOOK, "import help\n"), ("scripts/help.py", "1")], "scripts/help.py"),
    ("scripts/h.py", &[(PYTHON_HOOK, "#!/usr/bin/env -S uv run --script\nimport help\n"), ("scripts/help.py", "1")], "scripts/help.py"),
    ("poetry run ruff format src", &[], "poetry.toml"),
    ("pdm run ruff format src", &[], ".pdm-python"),
    ("pdm run ruff format src", &[], ".pdm-plugins/lib/x.py"),
    ("rye run fmt", &[], "pyproject.toml"),
    ("'rust-analyzer'", &[("Cargo.toml", "[workspace]\nmembers = ['crates/*']\n[workspace.dependencies]\nh = { path = 'crates/help', package = 'help' }\n"), ("crates/a/Cargo.toml", "[package]\nname = 'a'\n[build-dependencies]\nh = { workspace = true }\n"), ("crates/a/build.rs", "fn main() {}"), ("crates/help/Cargo.toml", "[package]\nname = 'help'\n"), ("crates/help/src/lib.rs", "")], "crates/help/src/lib.rs"),
    ("'rust-analyzer'", &[("Cargo.toml", "[package]\nname = 'a'\n[build-dependencies]\nhelp = { path = 'crates/help' }\n"), ("build.rs", ""), ("crates/help/Cargo.toml", "[package]\nname = 'help'\n"), ("crates/help/src/lib.rs", "")], "crates/help/src/lib.rs"),
    ("'rust-analyzer'", &[("m/Cargo.toml", "[package]\nname = 'm'\n[lib]\nproc-macro = true\n[dependencies]\nhelp = { path = '../help' }\n"), ("help/Cargo.toml", "[package]\nname = 'help'\n[target.'cfg(unix)'.dependencies]\ndeep = '1'\n"), ("deep/Cargo.toml", "[package]\nname = 'deep'\n"), ("deep/src/lib.rs", "")], "deep/src/lib.rs"),
    ("'rust-analyzer'", &[("Cargo.toml", "[package]\nname = 'a'\n[build-dependencies]\nserde = '1'\n[patch.crates-io]\nserde = { path = 'own' }\n"), ("build.rs", ""), ("own/src/lib.rs", "")], "own/src/lib.rs"),
    ("'rust-analyzer'", &[("m/Cargo.toml", "[lib]\ncrate-type = ['proc-macro']\n"), ("m/src/lib.rs", "")], "m/src/lib.rs"),
    ("'rust-analyzer'", &[("build.rs", "#[path = \"src/cli.rs\"]\nmod cli;"), ("src/cli.rs", "")], "src/cli.rs"),
    ("'rust-analyzer'", &[("build.rs", "include!(\"src/cli.rs\");"), ("src/cli.rs", "mod deep;"), ("src/cli/deep.rs", "")], "src/cli/deep.rs"),
    ("'rust-analyzer'", &[("build.rs", "std::process::Command::new(\"tools/c\").status()")], "tools/c"),
    ("'rust-analyzer'", &[("build.rs", "std::process::Command::new(\"python3\").arg(name)")], "src/gen.py"),
    ("'rust-analyzer'", &[], "rust-project.json"),
    ("'rust-analyzer'", &[("target/CACHEDIR.TAG", "1"), ("target/debug/build/a/build-script-build", "#!/bin/sh\n")], "target/debug/build/a/build-script-build"),
    ("'jdtls'", &[], "app/.factorypath"),
    ("'kotlin-language-server'", &[], "kls-classpath"),
    ("'clangd' '--query-driver=**'", &[("compile_commands.json", "[]")], "compile_commands.json"),
    // Unknown programs with a command or a script in their arguments.
    ("op run -- sh scripts/x.sh", &[("scripts/x.sh", "sh tools/c\n")], "tools/c"),
    ("op run -- scripts/x.sh", &[("scripts/x.sh", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    ("op run --no-masking -- bash -c 'sh tools/c'", &[], "tools/c"),
    ("op run --env-file=.env -- python3 lib/h.py", &[("lib/h.py", "import sub.help\n"), ("lib/sub/help.py", "1")], "lib/sub/help.py"),
    ("with-secrets dev scripts/x.sh", &[("scripts/x.sh", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    ("with-secrets dev make", &[], "sub/check.sh"),
    // Copies of programs that run by their names.
    ("cp tools/c ~/osier-none/run && run src", &[], "tools/c"),
    ("cp tools/c ~/osier-none/ && c src", &[], "tools/c"),
    ("cat tools/c > ~/osier-none/d; d", &[], "tools/c"),
    ("install -m 755 tools/c ~/.local/bin/", &[], "tools/c"),
    ("ln -sf \"$PWD/tools/c\" ~/bin/c", &[], "tools/c"),
    ("rsync -a tools/ ~/bin", &[], "tools/c"),
    // Settings and packages above the project.
    ("npx prettier -w x", &[], "../prettier.config.mjs"),
    ("@prettier", &[], "../.prettierrc"),
    ("npx prettier -w x", &[("../prettier.config.mjs", "export default { plugins: ['./own.mjs'] }"), ("../own.mjs", "1")], "../own.mjs"),
    ("npx eslint src", &[], "../.eslintrc.json"),
    ("npx eslint src", &[], "../node_modules/x/index.js"),
    ("npx tsc", &[], "../node_modules/typescript/lib/tsc.js"),
    ("pylint src", &[], "../pylintrc"),
    ("cargo fmt", &[], "../.cargo/config.toml"),
    ("npm run lint", &[], "../.npmrc"),
    ("rustfmt --check x.rs", &[], "../rust-toolchain.toml"),
    ("'rust-analyzer'", &[], "../Cargo.toml"),
    ("uv run ruff format src", &[], "../uv.toml"),
    // Variables and files that select programs.
    ("LINTER=./tools/c my-runner src", &[], "tools/c"),
    ("export CC=tools/c; my-runner src", &[], "tools/c"),
    ("MAKEFILES=lib/x.mk make fmt", &[("Makefile", "fmt:\n\ttrue\n"), ("lib/x.mk", "")], "lib/x.mk"),
    ("GOFLAGS=-toolexec=tools/c go vet ./...", &[], "tools/c"),
    ("npx eslint src", &[("mise.toml", "[env]\n_.source = 'tools/c'\n")], "tools/c"),
    ("npx eslint src", &[(".tool-versions", "node path:./own\n"), ("own/bin/node", "1")], "own/bin/node"),
    ("npx eslint src", &[], ".config/mise/config.toml"),
    // Code in the settings of other tools.
    ("mypy src", &[("mypy.ini", "[mypy]\npython_executable = tools/c\n")], "tools/c"),
    ("cspell src", &[], "cspell.config.js"),
    ("golangci-lint run", &[(".golangci.yml", "linters-settings:\n  custom:\n    x:\n      path: lib/x.so\n"), ("lib/x.so", "1")], "lib/x.so"),
    ("tailwindcss -o x.css", &[("tailwind.config.js", "module.exports = { plugins: [require('./lib/p')] }"), ("lib/p.js", "1")], "lib/p.js"),
    ("treefmt", &[("treefmt.toml", "[formatter.x]\ncommand = 'tools/c'\n")], "tools/c"),
    ("dprint fmt", &[("dprint.json", "{\"exec\": {\"commands\": [{\"command\": \"tools/c\"}]}}")], "tools/c"),
    ("git commit -m x", &[(".git/config", "[gpg]\n\tprogram = tools/c\n")], "tools/c"),
    ("git log", &[(".git/config", "[pager]\n\tlog = tools/c\n")], "tools/c"),
    // Texts that osier reads to find the commands in them.
    ("git commit -m x", &[(".husky/pre-commit", "sh tools/c\n")], "tools/c"),
    ("git commit -m x", &[], ".husky/_/h"),
    ("git commit -m x", &[], ".husky/post-commit"),
    (". venv/bin/activate && black -q src", &[], "venv/lib/python3/site-packages/evil.pth"),
    (". venv/bin/activate && own src", &[("venv/bin/own", "#!venv/bin/python\n")], "src/main.py"),
    (". venv/bin/activate && black -q src", &[("venv/bin/activate", "VIRTUAL_ENV=x\n. tools/c\n")], "tools/c"),
    ("bash <<'EOF'\nsh tools/c\nEOF", &[], "tools/c"),
    ("bash -s <<EOF\n./tools/c\nEOF", &[], "tools/c"),
    ("bash <<EOF\n$(cat docs/steps.md)\nEOF", &[], "docs/steps.md"),
    ("node -e \"require('child_process').execSync('sh tools/c')\"", &[], "tools/c"),
    ("node -e \"const { execSync } = require('child_process'); execSync('sh tools/c')\"", &[], "tools/c"),
    ("node - <<'EOF'\nrequire('child_process').execSync('sh tools/c')\nEOF", &[], "tools/c"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "mapfile -t files < <(tools/c)\nruff check \"${files[@]}\"\n")], "tools/c"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "((${#files[@]})) || sh tools/c\n")], "tools/c"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "run() { \"$@\"; }\nrun sh tools/c\n")], "tools/c"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "run() {\n  local name=$1\n  shift\n  \"$@\" || exit 2\n}\nrun 'a b' sh tools/c\n")], "tools/c"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "run() { \"$@\"; }\nrun $NAME\n")], "docs/steps.md"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "run() { \"$@\"; }\ntrap 'run sh tools/c' EXIT\n")], "tools/c"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "run() { sh tools/c; \"$@\"; }\nif run true; then true; fi\n")], "tools/c"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - id: c\n    entry: bash -c 'sh tools/c'\n    language: system\n")], "tools/c"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - id: c\n    entry: ./sub/x.sh\n    language: script\n"), ("sub/x.sh", "#!/bin/sh\ntools/c\n")], "tools/c"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - id: c\n    entry: x\n    language: python\n    additional_dependencies:\n    - ./lib\n")], "lib/setup.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess\nALL = {'.py': ['ruff'], '.js': ['sh', 'tools/c']}\nfor end, cmd in ALL.items():\n    subprocess.run(cmd + [end])\n")], "tools/c"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess\nALL = {'.py': ['sh', 'tools/c']}\ncmd = ALL.get(end)\nsubprocess.run(cmd)\n")], "tools/c"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess\nALL = {'.py': ['ruff']}\nALL[end] = words()\nfor cmd in ALL.values():\n    subprocess.run(cmd)\n")], "tools/c"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess\nfor cmd in read():\n    subprocess.run(cmd)\n")], "tools/c"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { execFileSync } from 'node:child_process'\nexecFileSync(process.execPath, ['lib/c.mjs'])"), ("lib/c.mjs", "import './sub/d.mjs'"), ("lib/sub/d.mjs", "1")], "lib/sub/d.mjs"),
    // Modules that are missing and could be added.
    ("node scripts/h.mjs", &[(NODE_HOOK, "import './later.mjs'")], "scripts/later.mjs"),
    // Settings of other tools, which a plugin can read; osier knows them by the shape of their names.
    ("npx eslint src", &[(".prettierrc", "{}")], ".prettierrc"),
    ("npx eslint src", &[(".prettierrc.yaml", "semi: true\n")], ".prettierrc.yaml"),
    ("npx eslint src", &[], ".prettierrc.mjs"),
    ("npx eslint src", &[], "package.json"),
    ("npx eslint src", &[(".prettierrc", "{\"plugins\": [\"./lib/p.mjs\"]}"), ("lib/p.mjs", "1")], "lib/p.mjs"),
    ("npx eslint src", &[("package.json", "{\"babel\": {\"plugins\": [\"./lib/p.cjs\"]}}"), ("lib/p.cjs", "1")], "lib/p.cjs"),
    ("npx eslint src", &[("prettier.config.mjs", "export default { plugins: ['./lib/p.mjs'] }"), ("lib/p.mjs", "1")], "lib/p.mjs"),
    ("npx eslint src", &[("eslint-local-rules/index.js", "1")], "eslint-local-rules/index.js"),
    ("npx eslint src", &[(".eslint-plugin-local/index.js", "1")], ".eslint-plugin-local/index.js"),
    ("npx eslint src", &[("tools/eslint-rules/index.js", "1")], "tools/eslint-rules/index.js"),
    ("npx cspell x", &[], "package.json"),
    ("npx cspell x", &[("cSpell.json", "{}")], "cSpell.json"),
    ("npx cspell x", &[("cSpell.json", "{\"import\": [\"./lib/c.cjs\"]}"), ("lib/c.cjs", "1")], "lib/c.cjs"),
    ("npx postcss x", &[("package.json", "{\"postcss\": {\"plugins\": {\"./lib/p.cjs\": {}}}}"), ("lib/p.cjs", "1")], "lib/p.cjs"),
    ("npx remark x", &[("package.json", "{\"remarkConfig\": {\"plugins\": [\"./lib/r.mjs\"]}}"), ("lib/r.mjs", "1")], "lib/r.mjs"),
    ("npx xo src", &[("package.json", "{\"xo\": {\"extends\": [\"./lib/x.cjs\"]}}"), ("lib/x.cjs", "1")], "lib/x.cjs"),
    ("npx markdownlint-cli2 x", &[(".markdownlint-cli2.jsonc", "{ \"markdownItPlugins\": [ [\"./lib/m.cjs\"] ] }"), ("lib/m.cjs", "1")], "lib/m.cjs"),
    ("npx markdownlint-cli2 x", &[(".markdownlint-cli2.jsonc", "{ \"outputFormatters\": [ [\"./lib/m.cjs\"] ] }"), ("lib/m.cjs", "1")], "lib/m.cjs"),
    ("npx tailwindcss -i src/app.css", &[("src/app.css", "@tailwind base;")], "tailwind.config.js"),
    ("npx tailwindcss -i src/app.css", &[("src/app.css", "@config '../lib/t.js';"), ("lib/t.js", "1")], "lib/t.js"),
    ("npx tsc", &[("tsconfig.json", "{\"compilerOptions\": {\"plugins\": [{\"transform\": \"./lib/t.js\"}]}}"), ("lib/t.js", "1")], "lib/t.js"),
    ("rubocop -A", &[(".config/rubocop/config.yml", "AllCops:\n  NewCops: enable\n")], ".config/rubocop/config.yml"),
    ("rubocop -A", &[(".config/rubocop/config.yml", "require: ./lib/cop.rb\n"), ("lib/cop.rb", "1")], "lib/cop.rb"),
    ("dotnet format", &[("Directory.Build.targets", "<Project/>")], "Directory.Build.targets"),
    ("cmake-format x", &[(".cmake-format.py", "1")], ".cmake-format.py"),
    ("gitlint", &[(".gitlint", "[general]\nextra-path=tools/gl\n"), ("tools/gl/r.py", "1")], "tools/gl/r.py"),
    ("luacheck src", &[], ".luacheckrc"),
    ("goreleaser check", &[], ".goreleaser.yaml"),
    ("buf generate", &[("buf.gen.yaml", "plugins:\n  - local: [sh, tools/gen.sh]\n"), ("tools/gen.sh", "1")], "tools/gen.sh"),
    ("jupytext --sync nb.md", &[], ".jupytext.py"),
    ("@pylsp", &[("mypy.ini", "[mypy]\nplugins = tools/plug.py\n"), ("tools/plug.py", "1")], "tools/plug.py"),
    ("@sourcekit-lsp", &[], "Package.swift"),
    ("@omnisharp", &[], "app/a.csproj"),
    ("@lexical", &[], "mix.exs"),
    // Builds that run while a server reads the project.
    ("'rust-analyzer'", &[(".cargo/config.toml", "[target.x]\nlinker = './tools/ld.sh'\n"), ("tools/ld.sh", "1")], "tools/ld.sh"),
    ("'rust-analyzer'", &[(".cargo/config.toml", "[build]\nrustc = './tools/rustc.sh'\n"), ("tools/rustc.sh", "#!/bin/sh\nsh part\n")], "part"),
    ("'rust-analyzer'", &[("Cargo.toml", "[package]\nname = 'a'\n[build-dependencies]\ncmake = '1'\n"), ("build.rs", "cmake::build(\"native\")"), ("native/CMakeLists.txt", "1")], "native/CMakeLists.txt"),
    ("'rust-analyzer'", &[("Cargo.toml", "[package]\nname = 'a'\n[build-dependencies]\nxshell = '1'\n"), ("build.rs", "cmd!(sh, \"sh tools/c\")")], "tools/c"),
    ("'zls'", &[("build.zig", "1"), ("libs/my/build.zig", "@import(\"helper.zig\")"), ("libs/my/helper.zig", "1")], "libs/my/helper.zig"),
    ("'ruby-lsp'", &[("Gemfile", "gem \"rails\"\n"), ("config/application.rb", "1")], "config/application.rb"),
    // Variables that scripts set by hand.
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import os, subprocess\nfor line in open('.env'):\n    k, v = line.split('=', 1)\n    os.environ.setdefault(k, v)\nsubprocess.run(['npx', 'prettier'])\n"), (".env", "A=1")], ".env"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import os, subprocess\nfor line in open('.env'):\n    k, v = line.split('=', 1)\n    os.environ[k] = v\nsubprocess.run(['jq', '.'])\n"), (".env", "A=1")], ".env"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { execFileSync } from 'node:child_process'\nfor (const [key, value] of all) process.env[key] = value\nexecFileSync('jq', ['.'])"), (".env", "A=1")], ".env"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { execFileSync } from 'node:child_process'\nprocess.loadEnvFile('.env')\nexecFileSync('jq', ['.'])"), (".env", "A=1")], ".env"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { execFileSync } from 'node:child_process'\nObject.assign(process.env, all)\nexecFileSync('jq', ['.'])"), (".env", "A=1")], ".env"),
    // Packages of Python that run or load code by a name.
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "from yaml import load, Loader\nload(open('rules.yaml'), Loader=Loader)\n"), ("rules.yaml", "1")], "rules.yaml"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import yaml\nyaml.load(open('rules.yaml'), Loader=yaml.Loader)\n"), ("rules.yaml", "1")], "rules.yaml"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "from git import Repo\nRepo('.').git.commit('-m', 'x')\n")], "tools/c"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import uvicorn\nuvicorn.run('app.main:app', app_dir='backend')\n"), ("backend/app/main.py", "1")], "backend/app/main.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "from dynaconf import Dynaconf\nDynaconf(settings_files=['config/settings.py'])\n"), ("config/settings.py", "1")], "config/settings.py"),
    // Settings of git that run a command with arguments, and commands of git that run hooks.
    ("git push", &[(".git/HEAD", ""), (".git/config", "[credential]\n\thelper = \"!sh tools/c\"\n")], "tools/c"),
    ("git commit --trailer x", &[(".git/HEAD", ""), (".git/config", "[trailer \"x\"]\n\tcmd = sh tools/c\n")], "tools/c"),
    ("git commit -S", &[(".git/HEAD", ""), (".git/config", "[gpg \"ssh\"]\n\tdefaultKeyCommand = sh tools/c\n")], "tools/c"),
    ("git difftool -y -t x", &[(".git/HEAD", ""), (".git/config", "[difftool \"x\"]\n\tcmd = sh tools/c\n")], "tools/c"),
    ("git add -A", &[(".git/HEAD", ""), (".git/config", "[core]\n\thooksPath = .githooks\n"), (".githooks/post-index-change", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    ("git status", &[(".git/HEAD", ""), (".git/config", "[core]\n\thooksPath = .githooks\n"), (".githooks/post-index-change", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    ("git stash", &[(".git/HEAD", ""), (".git/config", "[core]\n\thooksPath = .githooks\n"), (".githooks/reference-transaction", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    ("git fetch", &[(".git/HEAD", ""), (".git/config", "[core]\n\thooksPath = .githooks\n"), (".githooks/reference-transaction", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    // Variables that make and just set for all programs.
    ("make fmt", &[("Makefile", ".EXPORT_ALL_VARIABLES:\nPYTHONPATH := src\nfmt:\n\tblack x\n")], "src/sitecustomize.py"),
    ("make fmt", &[("Makefile", "export\nPYTHONPATH := src\nfmt:\n\tblack x\n")], "src/sitecustomize.py"),
    ("make fmt", &[("Makefile", "CC = tools/c\nfmt:\n\t$(CC) x\n")], "tools/c"),
    ("make fmt", &[("Makefile", "app: x.o\n\t$(CC) -o app x.o\nfmt: app\n\t./app\n"), ("app", "#!/bin/sh\n")], "app"),
    ("just fmt", &[("justfile", "set export\nPYTHONPATH := 'src'\nfmt:\n    black x\n")], "src/sitecustomize.py"),
    ("just fmt", &[("justfile", "set dotenv-required\nfmt:\n    jq .\n")], ".env"),
    // Runners that another program starts, and files that are named inside of an argument.
    ("op run --env-file=x.env -- task lint", &[], "Taskfile.yml"),
    ("aws-vault exec dev -- cdk synth", &[("infra/app.js", "1")], "infra/app.js"),
    ("turbo run lint", &[("turbo.jsonc", "{\n  // x\n  \"tasks\": {}\n}"), ("packages/a/gen/run.js", "1")], "packages/a/gen/run.js"),
    ("sqlite3 dev.db '.read db/seed.sql'", &[("db/seed.sql", "1")], "db/seed.sql"),
    ("sqlite3 dev.db < db/seed.sql", &[("db/seed.sql", "1")], "db/seed.sql"),
    ("sqlite3 dev.db < db/seed.sql", &[("db/seed.sql", ".shell sh tools/c\n")], "tools/c"),
    ("mise exec -- sh tools/c", &[], "tools/c"),
    ("gcc -fplugin=./tools/c x.c", &[], "tools/c"),
    ("cmake -S . -B build", &[("CMakeLists.txt", "1")], "CMakeLists.txt"),
    // Names of files that become options of a tool when they are split into words.
    ("jq -r .tool_input.file_path | xargs npx prettier --write", &[], "x --plugin=./evil.mjs"),
    ("git ls-files -mo --exclude-standard | xargs -r npx prettier --check", &[], "x --plugin=evil.md"),
    ("npx eslint --fix $(jq -r .tool_input.file_path)", &[], "src/x.js -c ./evil.mjs"),
    ("f=$(jq -r .tool_input.file_path); npx prettier --write $f", &[], "docs/x '--plugin=evil.md'"),
    ("for f in $(git diff --name-only); do npx stylelint --fix \"$f\"; done", &[], "x --config=evil.txt"),
    ("jq -r .tool_input.file_path | xargs -0 npx prettier --write", &[], "-p.md"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { execSync } from 'child_process'\nexecSync(`npx prettier --write \"${file}\"`)")], "x$(sh evil).md"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { spawnSync } from 'child_process'\nspawnSync('ruff', ['format', file], { shell: true })")], "x;sh evil;.md"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import subprocess\nsubprocess.run(f'npx prettier --write {path}', shell=True)\n")], "x --plugin=evil.md"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import os\nos.system(f'ruff format \"{path}\"')\n")], "x\"; sh evil; \".md"),
    // Packages of the project that settings name without the first part of the name.
    ("npx eslint --fix src", &[(".eslintrc.json", "{\"plugins\": [\"local\"]}"), ("lint/index.js", "1"), ("node_modules/eslint-plugin-local", "-> ../lint")], "lint/index.js"),
    ("npx eslint --fix src", &[(".eslintrc.cjs", "module.exports = { extends: ['plugin:local/recommended'] }"), ("lint/index.js", "1"), ("node_modules/eslint-plugin-local", "-> ../lint")], "lint/index.js"),
    ("npx eslint --fix src", &[(".eslintrc.json", "{\"extends\": [\"@acme\"]}"), ("lint/index.js", "1"), ("node_modules/@acme/eslint-config", "-> ../../lint")], "lint/index.js"),
    ("npx commitlint", &[("package.json", "{\"commitlint\": {\"extends\": [\"acme\"]}}"), ("lint/index.js", "1"), ("node_modules/commitlint-config-acme", "-> ../lint"), ("node_modules/.bin/commitlint", "#!/bin/sh\n")], "lint/index.js"),
    ("'typescript-language-server'", &[("tsconfig.json", "{\"compilerOptions\": {\"plugins\": [{\"name\": \"ts-x\"}]}}"), ("lint/index.js", "1"), ("node_modules/ts-x", "-> ../lint")], "lint/index.js"),
    // Tools that start the application, and lists of gems that load files.
    ("vendor/bin/phpstan analyse", &[("vendor/larastan/larastan/extension.neon", "x")], "app/Providers/A.php"),
    ("'ruby-lsp'", &[("Gemfile", "source 'x'\ngemspec\n"), ("foo.gemspec", "require_relative \"lib/foo/version\"\n"), ("lib/foo/version.rb", "1")], "lib/foo/version.rb"),
    ("'solargraph' 'stdio'", &[("Gemfile", "source 'x'\ngemspec\n"), ("foo.gemspec", "$:.unshift 'lib'\nrequire 'foo/version'\n"), ("lib/foo/version.rb", "1")], "lib/foo/version.rb"),
    ("bundle exec rubocop -A", &[("Gemfile", "gem 'x', path: 'gems/x'\n"), ("gems/x/x.gemspec", "v = File.read(File.join(__dir__, 'version.rb'))\n"), ("gems/x/version.rb", "1")], "gems/x/version.rb"),
    ("bundle exec rubocop -A", &[("Gemfile", "eval_gemfile 'gemfiles/more.rb'\n"), ("gemfiles/more.rb", "require_relative 'deep'\n"), ("gemfiles/deep.rb", "1")], "gemfiles/deep.rb"),
    ("bundle exec rubocop -A", &[("Gemfile", "eval_gemfile ENV['MORE']\n")], "src/main.rb"),
    ("bundle exec rubocop -A", &[("Gemfile", "require File.join(__dir__, 'gemfiles', 'more')\n"), ("gemfiles/more.rb", "1")], "gemfiles/more.rb"),
    ("gradlew spotlessApply", &[("settings.gradle", "pluginManagement { includeBuild 'conventions' }\n"), ("conventions/src/P.java", "1")], "conventions/src/P.java"),
    ("'jdtls'", &[("settings.gradle.kts", "includeBuild(\"conventions\")\n"), ("conventions/src/P.java", "1")], "conventions/src/P.java"),
    // Files that one part of a line writes and a later part runs.
    ("npx tsc && node dist/check.js", &[("dist/check.js", "1")], "src/new.ts"),
    ("npm run -s page && node lib/check.js", &[("package.json", "{\"scripts\": {\"page\": \"tsc -b\"}}"), ("lib/check.js", "1"), ("src/check.ts", "1")], "src/check.ts"),
    ("sh -c 'npm run -s page && exec node app/check.js'", &[("package.json", "{\"scripts\": {\"page\": \"tsc\"}}"), ("app/check.js", "1"), ("src/check.ts", "1")], "src/check.ts"),
    ("npx vite build && node dist/server.js", &[("dist/server.js", "1")], "src/server.ts"),
    ("mkdir -p made && cp docs/check.txt made/check.js && node made/check.js", &[("docs/check.txt", "1"), ("made/check.js", "1")], "docs/check.txt"),
    ("cat docs/a.txt docs/b.txt > made/all.sh && sh made/all.sh", &[("docs/a.txt", "1"), ("docs/b.txt", "1"), ("made/all.sh", "1")], "docs/b.txt"),
    ("sed s/a/b/ docs/a.txt | tee made/all.sh; sh made/all.sh", &[("docs/a.txt", "1"), ("made/all.sh", "1")], "docs/a.txt"),
    ("cp docs/a.txt made/all.sh && sh made/all.sh", &[("docs/a.txt", "sh tools/c\n"), ("made/all.sh", "1")], "tools/c"),
    // Plugins of Python that settings name as modules, and folders of plugins.
    ("flake8 src", &[(".flake8", "[flake8:local-plugins]\nextension =\n  X10 = checks:Checker\npaths =\n  ./tools2\n"), ("tools2/checks.py", "import more\n"), ("tools2/more.py", "1")], "tools2/more.py"),
    ("flake8 src", &[("setup.cfg", "[flake8:local-plugins]\nextension =\n  X10 = house_checks:Checker\n"), ("house_checks.py", "1")], "house_checks.py"),
    ("python3 -m mypy src", &[("mypy.ini", "[mypy]\nplugins = house\n"), ("house/__init__.py", "from .plug import plugin\n"), ("house/plug.py", "1")], "house/plug.py"),
    ("sqlfluff lint q.sql", &[(".sqlfluff", "[sqlfluff:templater:jinja]\nlibrary_path = macros_py\n"), ("macros_py/h.py", "1")], "macros_py/h.py"),
    ("npx cspell README.md", &[("cspell.json", "{\"reporters\": [\"default\", \"./lib/rep.cjs\"]}"), ("lib/rep.cjs", "1")], "lib/rep.cjs"),
    // Clients that start servers, and programs that run a script or settings in their arguments.
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "from mcp import StdioServerParameters\nStdioServerParameters(command='python', args=['lib/s.py'])\n"), ("lib/s.py", "1")], "lib/s.py"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'\nnew StdioClientTransport({ command: 'node', args: ['lib/s.js'] })"), ("lib/s.js", "1")], "lib/s.js"),
    ("coverage run --branch scripts/h.py", &[(PYTHON_HOOK, "import helper\n"), ("scripts/helper.py", "1")], "scripts/helper.py"),
    ("uv run --with 'mcp[cli]' mcp run scripts/h.py", &[(PYTHON_HOOK, "import helper\n"), ("scripts/helper.py", "1")], "scripts/helper.py"),
    ("uv --directory sub2 run h.py", &[("sub2/h.py", "import helper\n"), ("sub2/helper.py", "1")], "sub2/helper.py"),
    ("'efm-langserver' '-c' 'dev/efm.yaml'", &[("dev/efm.yaml", "languages:\n  python:\n    - lint-command: \"python3 scripts/h.py\"\n"), (PYTHON_HOOK, "import helper\n"), ("scripts/helper.py", "1")], "scripts/helper.py"),
    // Installations.
    ("pip install -q -r requirements.txt", &[("requirements.txt", "-e ./libs/foo\n"), ("libs/foo/setup.py", "import more\n"), ("libs/foo/more.py", "1")], "libs/foo/more.py"),
    ("pip install -r requirements.txt", &[("requirements.txt", "requests\n")], "requirements.txt"),
    ("python3 -m pip install -e .", &[("setup.py", "1")], "src/main.py"),
    ("yarn install --frozen-lockfile", &[("yarn.lock", "1")], "yarn.lock"),
    ("npm ci", &[("package.json", "{\"scripts\": {\"postinstall\": \"node lib/post.js\"}}"), ("lib/post.js", "1")], "lib/post.js"),
    ("npm ci", &[("packages/a/package.json", "{\"scripts\": {\"prepare\": \"node p.js\"}}"), ("packages/a/p.js", "1")], "packages/a/p.js"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: https://github.com/mgedmin/check-manifest\n  hooks:\n  - id: check-manifest\n"), ("setup.py", "1")], "setup.py"),
    // Programs in variables, shared folders and files with variables.
    ("'rust-analyzer'", &[("Cargo.toml", "[package]\nname = 'a'\n"), ("build.rs", "let cargo = std::env::var(\"CARGO\").unwrap();\nCommand::new(cargo).args([\"run\", \"-p\", \"gen\"])"), ("gen/src/main.rs", "1")], "gen/src/main.rs"),
    ("docker run --rm -iv ./:/app node:20 node /app/lib/l.js", &[("lib/l.js", "1")], "lib/l.js"),
    ("dotenv run -- python3 scripts/guard.py", &[(".env", "A=1")], ".env"),
    ("dotenv run -- python3 scripts/h.py", &[(PYTHON_HOOK, "import helper\n"), ("scripts/helper.py", "1")], "scripts/helper.py"),
    ("node --env-file=x.env scripts/lint.js", &[("x.env", "A=1")], "x.env"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import 'dotenv/config'\n"), (".env", "A=1")], ".env"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "const p = require.resolve(name)\n")], "src/main.js"),
    ("bash -euo pipefail scripts/l.sh", &[("scripts/l.sh", "sh tools/c\n")], "tools/c"),
    // Scripts of the project that have the name of a known program.
    ("script/test", &[("script/test", "#!/bin/sh\npython3 tools/check.py\n"), ("tools/check.py", "1")], "tools/check.py"),
    ("bin/eslint src", &[("bin/eslint", "#!/bin/sh\nexec node tools/eslint.js \"$@\"\n"), ("tools/eslint.js", "1")], "tools/eslint.js"),
    ("scripts/shellcheck", &[("scripts/shellcheck", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    ("scripts/timeout", &[("scripts/timeout", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    ("./scripts/python-lint.sh src", &[("scripts/python-lint.sh", "#!/bin/sh\nsh tools/c\n")], "tools/c"),
    ("php scripts/phpunit", &[("scripts/phpunit", "<?php require '../lib/a.php';\n"), ("lib/a.php", "1")], "lib/a.php"),
    ("bash scripts/pytest", &[("scripts/pytest", "sh tools/c\n")], "tools/c"),
    // Programs that are downloaded and run others.
    ("npx -y tsx mcp/server.ts", &[("mcp/server.ts", "1"), ("src/db.ts", "1")], "src/db.ts"),
    ("npx -y mcp-proxy node lib/server.mjs", &[("lib/server.mjs", "import '../src/db.mjs'"), ("src/db.mjs", "1")], "src/db.mjs"),
    ("uvx mcp-proxy python3 lib/h.py", &[("lib/h.py", "import sub.help\n"), ("lib/sub/help.py", "1")], "lib/sub/help.py"),
    ("npx -y own-proxy lib/server.mjs", &[("lib/server.mjs", "import '../src/db.mjs'"), ("src/db.mjs", "1")], "src/db.mjs"),
    ("npx -y concurrently \"node lib/l.js\" \"ruff check\"", &[("lib/l.js", "import '../src/m.js'"), ("src/m.js", "1")], "src/m.js"),
    ("npx --yes gulp lint", &[("gulpfile.js", "1")], "gulpfile.js"),
    ("uvx invoke lint", &[("tasks.py", "1")], "tasks.py"),
    // Plugins of checkers that start the application.
    ("mypy shop", &[("mypy.ini", "[mypy]\nplugins = mypy_django_plugin.main\n"), ("shop/models.py", "1")], "shop/models.py"),
    ("pylint shop", &[(".pylintrc", "[MAIN]\nload-plugins=pylint_django\n"), ("shop/models.py", "1")], "shop/models.py"),
    ("pylint --load-plugins pylint_django shop", &[("shop/models.py", "1")], "shop/models.py"),
    // Tasks of one package, and of its own settings.
    ("turbo run lint", &[("turbo.json", "{}"), ("packages/a/turbo.json", "{\"extends\": [\"//\"], \"tasks\": {\"lint\": {\"dependsOn\": [\"gen\"]}}}"), ("packages/a/package.json", "{\"scripts\": {\"gen\": \"node g.js\"}}"), ("packages/a/g.js", "1")], "packages/a/g.js"),
    ("turbo run lint", &[("turbo.json", "{\"tasks\": {\"a#lint\": {\"dependsOn\": [\"a#gen\"]}}}"), ("packages/a/package.json", "{\"scripts\": {\"gen\": \"node g.js\"}}"), ("packages/a/g.js", "1")], "packages/a/g.js"),
    // Names of files that become text of a recipe.
    ("just fmt \"$(jq -r .tool_input.file_path)\"", &[("justfile", "fmt file:\n    npx prettier --write {{file}}\n")], "src/a.md;touch x"),
    ("FILE=\"$(jq -r .tool_input.file_path)\" make -s fmt", &[("Makefile", "FILE ?= .\nfmt:\n\tnpx prettier --write $(FILE)\n")], "src/a.md;touch x"),
    // Settings of version managers in folders.
    ("mise exec -- ruff check", &[(".config/mise.toml", "[env]\n_.source = 'part'\n")], "part"),
    ("npx eslint src", &[("mise.toml", "[env._]\nsource = 'part'\n")], "part"),
    ("node scripts/h.mjs --test", &[(NODE_HOOK, "import './later.mjs'"), ("scripts/later.mjs", "1")], "scripts/later.mjs"),
    ("./gradlew spotlessApply generate", &[("gradlew", "#!/bin/sh\nexec \"$JAVACMD\" \"$@\"\n"), ("rules/src/R.kt", "1")], "rules/src/R.kt"),
    ("./gradlew -q spotlessApply detekt", &[("gradlew", "#!/bin/sh\nexec \"$JAVACMD\" \"$@\"\n"), ("build.gradle.kts", "dependencies { detektPlugins(project(\":rules\")) }\n"), ("rules/src/R.kt", "1")], "rules/src/R.kt"),
    ("R -q -e \"styler::style_dir()\"", &[(".Rprofile", "source('renv/activate.R')\n"), ("renv/activate.R", "1")], "renv/activate.R"),
    ("Rscript -e \"styler::style_dir()\"", &[(".Rprofile", "source('renv/activate.R')\n"), ("renv/activate.R", "1")], ".Rprofile"),
    // Folders of rules, plugins by plain names, and settings that put names together.
    ("eslint --rulesdir lint/rules src", &[("lint/rules/no-x.js", "require('../../ast/util')"), ("ast/util.js", "1")], "ast/util.js"),
    ("npx eslint src", &[("eslint-local-rules/index.js", "require('../ast/util')"), ("ast/util.js", "1")], "ast/util.js"),
    ("mypy src", &[("mypy.ini", "[mypy]\nplugins = house\n"), ("house.py", "from support.plug import plugin\n"), ("support/plug.py", "1")], "support/plug.py"),
    ("npx eslint src", &[("babel.config.js", "module.exports = { plugins: [path.join(__dirname, 'lint', 'plugin.js')] }"), ("lint/plugin.js", "1")], "lint/plugin.js"),
    ("protoc --plugin=protoc-gen-doc=./lib/gen.py a.proto", &[("lib/gen.py", "#!/usr/bin/env python3\nimport sub.help\n"), ("lib/sub/help.py", "1")], "lib/sub/help.py"),
    ("xargs -a format-files.txt npx prettier --check", &[("format-files.txt", "README.md\n")], "format-files.txt"),
    ("mix format", &[(".formatter.exs", "[plugins: [Own.Formatter], inputs: [\"lib/*.ex\"]]\n"), ("lib/own/formatter.ex", "1")], "lib/own/formatter.ex"),
    ("uv sync -q", &[("pyproject.toml", "[project]\nname = 'x'\n")], "pyproject.toml"),
    ("uv sync -q", &[("setup.py", "1")], "src/main.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "from dotenv import load_dotenv\nload_dotenv()\n"), (".env", "A=1")], ".env"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).resolve().parent.parent))\nfrom own.deep import x\n"), ("own/deep.py", "1")], "own/deep.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import sys, os, json\nROOT = os.path.dirname(os.path.dirname(__file__))\nsys.path.insert(0, ROOT)\n")], "json.py"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "ROOT=$(cd \"$(dirname \"$0\")/..\" && pwd)\nfor f in \"$ROOT\"/lib/sh/*.sh; do\n  source \"$f\"\ndone\n"), ("lib/sh/a.sh", "sh tools/c\n")], "tools/c"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "for f in lib/sh/*.sh; do . \"$f\"; done\n"), ("lib/sh/a.sh", "true\n")], "lib/sh/b.sh"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import logging.config\nlogging.config.dictConfig({'handlers': {'h': {'class': 'own.Handler'}}})\n")], "src/own.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import logging.config, json\nlogging.config.dictConfig(json.load(open('log.json')))\n")], "src/own.py"),
    ("python3 manage.py check", &[("manage.py", "from django.core.management import execute_from_command_line\n")], "mysite/settings.py"),
];

impl Place {
    /// Writes the files and links of a case.
    pub(in crate::trust) fn set_up(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            match text.strip_prefix("-> ") {
                Some(target) => self.link_again(target, name),
                None => self.write(name, text),
            };
        }
    }
}

#[test]
fn a_program_that_could_load_changed_code_of_its_project_does_not_run() {
    let mut through = Vec::new();
    let place = installed();
    for (command, files, attacked) in CASES {
        let names = files.iter().map(|(name, _)| *name);
        let saved = place.remember(names.chain([*attacked]));
        place.set_up(files);
        place.decide(true);
        let run = match *command {
            "@prettier" => place.started(("node_modules/.bin/prettier", &["prettier"], "")),
            server if server.starts_with('@') => place.server(&server[1..]),
            command => place.own_hook(command),
        };
        let before = place.refused(&run);
        place.put(attacked, "evil");
        let reason = place.refused(&run).unwrap_or_default();
        if before.is_some() || !reason.contains("since you trusted the folder") {
            through.push(format!(
                "{command}: {files:?}: {attacked}: {before:?} {reason}"
            ));
        }
        Place::restore(saved);
    }
    assert_eq!(through, Vec::<String>::new());
}

/// The settings that osier gives to a server can name programs, too.
#[test]
fn settings_of_servers_name_programs() {
    let place = installed();
    let text = |settings: &str| settings.replace("ROOT", place.project.to_str().unwrap());
    let mut through = Vec::new();
    for (command, settings, attacked) in [
        (
            "'rust-analyzer'",
            r#"{"check": {"overrideCommand": ["python3", "tools/check.py"]}}"#,
            "tools/check.py",
        ),
        (
            "'rust-analyzer'",
            r#"{"check": {"overrideCommand": ["make", "chk"]}}"#,
            "tools/c",
        ),
        (
            "'pyright-langserver'",
            r#"{"python": {"pythonPath": "ROOT/tools/env/bin/python"}}"#,
            "tools/env/bin/python",
        ),
        (
            "'gopls'",
            r#"{"env": {"GOPACKAGESDRIVER": "ROOT/tools/driver.sh"}}"#,
            "tools/driver.sh",
        ),
        (
            "'typescript-language-server'",
            r#"{"plugins": [{"name": "local", "location": "ROOT/tools/plugin"}]}"#,
            "tools/plugin/index.js",
        ),
    ] {
        for name in ["tools/check.py", "tools/driver.sh", "tools/plugin/index.js"] {
            place.write(name, "1");
        }
        place.decide(true);
        let run = ProgramUse {
            settings: text(settings),
            ..place.hook(command)
        };
        let before = place.refused(&run);
        let files = place.remember([attacked]);
        place.put(attacked, "evil");
        let reason = place.refused(&run);
        if before.is_some() || reason.is_none() {
            through.push(format!("{command} {settings}: {before:?} {reason:?}"));
        }
        Place::restore(files);
    }
    assert_eq!(through, Vec::<String>::new());
}

/// Changes of the project that write no file.
#[test]
fn renamed_linked_and_deleted_files_are_changes() {
    let run = "node scripts/lint.js";
    // Another file is renamed to the name of a module.
    let place = installed();
    place.write("docs/other.js", "evil");
    fs::hard_link(
        place.project.join("docs/other.js"),
        place.project.join("docs/linked.js"),
    )
    .unwrap();
    place.decide(true);
    assert_eq!(place.refused(&place.hook(run)), None);
    later(&place, || {
        fs::rename(
            place.project.join("docs/linked.js"),
            place.project.join("scripts/rules.js"),
        )
    });
    assert!(place.refused(&place.hook(run)).is_some());
    // A new link gives another file the name of a module.
    let place = installed();
    place.write("docs/other.js", "evil");
    place.decide(true);
    let linked = place.project.join("scripts/rules.json");
    later(&place, || {
        fs::hard_link(place.project.join("docs/other.js"), linked)
    });
    assert!(place.refused(&place.hook(run)).is_some());
    // A package manager links the file into another project, which changes nothing here.
    let place = installed();
    place.decide(true);
    let elsewhere = place.folder.path().join("elsewhere.js");
    later(&place, || {
        fs::hard_link(place.project.join("scripts/rules.js"), elsewhere)
    });
    assert_eq!(place.refused(&place.hook(run)), None);
    // A guard without its module fails, and a failure can let a call pass.
    for (script, module) in [
        ("scripts/lint.js", "scripts/rules.js"),
        ("scripts/lazy.py", "scripts/rules.py"),
    ] {
        let place = installed();
        place.decide(true);
        let program = if script.ends_with("py") {
            "python3"
        } else {
            "node"
        };
        let run = place.hook(&format!("{program} {script}"));
        assert_eq!(place.refused(&run), None);
        later(&place, || fs::remove_file(place.project.join(module)));
        assert!(place.refused(&run).is_some(), "{script}");
    }
    // A folder is renamed with everything in it.
    let place = installed();
    place.write("docs/all/one.sh", "evil");
    place.decide(true);
    let run = place.hook("run-parts hooks.d");
    assert_eq!(place.refused(&run), None);
    later(&place, || {
        fs::rename(
            place.project.join("docs/all"),
            place.project.join("hooks.d/all"),
        )
    });
    assert!(place.refused(&run).is_some());
}

/// Names that are not text, and lines that the grammar refuses because of their length.
#[test]
fn odd_names_and_long_lines_are_read() {
    let place = installed();
    place.decide(true);
    let run = place.hook("run-parts hooks.d");
    assert_eq!(place.refused(&run), None);
    let name = OsStr::from_bytes(b"x\xff.sh");
    later(&place, || {
        fs::File::create(place.project.join("hooks.d").join(name)).map(drop)
    });
    assert!(place.refused(&run).is_some());
    let place = installed();
    place.decide(true);
    let run = place.hook(&format!("echo {}; tools/c", "x".repeat(100_000)));
    assert_eq!(place.refused(&run), None);
    place.put("tools/c", "evil");
    assert!(place.refused(&run).is_some());
}

/// A temporary file of osier only counts if it is not renamed soon.
#[test]
fn a_pending_file_of_osier_counts_if_it_stays() {
    let place = installed();
    place.decide(true);
    let run = place.hook("run-parts hooks.d");
    let pending = place.put("hooks.d/.osier-x.tmp", "evil");
    assert!(place.refused(&run).is_some());
    fs::remove_file(pending).unwrap();
    assert_eq!(place.refused(&run), None);
}

/// Makes a change after the coarse clock of the file system has moved on.
fn later(place: &Place, change: impl FnOnce() -> io::Result<()>) {
    place.tick();
    change().unwrap();
}
