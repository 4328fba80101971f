//! Set-ups that people use every day, with files of their own: after a change of an ordinary file, osier asks nothing.

use crate::trust::tests::attacks::{Case, NODE_HOOK, PYTHON_HOOK};
use crate::trust::tests::examples::installed;
use crate::trust::tests::place::Place;

/// Set-ups that people use every day, with a file whose change asks nothing.
#[rustfmt::skip]
const SET_UPS: &[Case] = &[
    ("npx eslint src", &[(".eslintrc.cjs", "module.exports = { parser: require.resolve('@typescript-eslint/parser') }")], "README.md"),
    ("npx eslint src", &[("playwright.config.ts", "export default { globalSetup: require.resolve('./setup'), webServer: { command: 'npm run start' } }"), ("setup.ts", "1")], "src/main.ts"),
    ("npx eslint src", &[("drizzle.config.ts", "export default { schema: './src/db/schema.ts' }"), ("src/db/schema.ts", "1")], "src/db/schema.ts"),
    ("npx eslint src", &[("package.json", "{\"prisma\": {\"seed\": \"tsx prisma/seed.ts\"}, \"imports\": {\"#app\": \"./src/app.js\"}}"), ("prisma/seed.ts", "1")], "prisma/seed.ts"),
    ("npx eslint src", &[("package.json", "{\"imports\": {\"#app\": \"./src/app.js\"}}"), ("messages/en.json", "{}")], "messages/en.json"),
    ("npx eslint src", &[(".gitlab-ci.yml", "deploy:\n  script:\n    - node lib/deploy.mjs\n"), ("lib/deploy.mjs", "1")], "lib/deploy.mjs"),
    ("npx prettier --check .", &[("docs/.vitepress/theme/Layout.vue", "1")], "docs/.vitepress/theme/Layout.vue"),
    ("npx eslint src", &[(".eslintrc.json", "{\"plugins\": [\"local\"]}"), ("ui/index.js", "1"), ("node_modules/@repo/ui", "-> ../../ui")], "ui/index.js"),
    ("mypy src", &[(".gitlab-ci.yml", "test:\n  script:\n    - python manage.py test\n"), ("manage.py", "import django\n"), ("shop/views.py", "1")], "shop/views.py"),
    ("flake8 src", &[("setup.cfg", "[flake8:local-plugins]\nextension =\n  X10 = house_checks:Checker\n"), ("house_checks.py", "1")], "src/main.py"),
    ("npx eslint src", &[(".eslintrc.json", "{\"plugins\": [\"react\"]}"), ("src/react/index.js", "1")], "src/react/index.js"),
    ("./mvnw -q test", &[("mvnw", "#!/bin/sh\nexec \"$MAVEN_HOME/bin/mvn\" \"$@\"\n")], "src/main/java/A.java"),
    ("./gradlew spotlessApply", &[("gradlew", "#!/bin/sh\nexec \"$JAVACMD\" \"$@\"\n"), ("build.gradle", "plugins { id 'x' }\n")], "src/main/java/A.java"),
    ("R -q -e \"styler::style_dir()\"", &[(".Rprofile", "source('renv/activate.R')\n"), ("renv/activate.R", "1"), ("R/a.R", "1")], "R/a.R"),
    ("./vendor/bin/pest --compact", &[("vendor/bin/pest", "#!/usr/bin/env php\n<?php\n")], "tests/Feature/A.php"),
    ("npm run page", &[("package.json", "{\"scripts\": {\"page\": \"next build\"}}"), ("node_modules/.bin/next", "#!/bin/sh\n")], "src/main.js"),
    ("npm run page", &[("package.json", "{\"scripts\": {\"page\": \"next lint\"}}"), ("node_modules/.bin/next", "#!/bin/sh\n")], "src/main.js"),
    ("f=$(jq -r .tool_input.file_path); case \"$f\" in *.php) php -l \"$f\" ;; esac; true", &[], "app/A.php"),
    ("f=$(jq -r .tool_input.file_path); node --check \"$f\"", &[], "src/main.js"),
    ("f=$(jq -r .tool_input.file_path); [[ \"$f\" == *.py ]] && python -m py_compile \"$f\"; true", &[], "src/main.py"),
    ("bash -euo pipefail scripts/l.sh", &[("scripts/l.sh", "ruff check -q src\n")], "README.md"),
    ("node --env-file=.env scripts/h.mjs", &[(".env", "A=1"), (NODE_HOOK, "import fs from 'node:fs'\n")], "README.md"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import 'dotenv/config'\nawait fetch(process.env.HOOK)\n")], "README.md"),
    ("python manage.py check", &[("manage.py", "from django.core.management import execute_from_command_line\n")], "README.md"),
    ("uv --directory server run server.py", &[("server/server.py", "from fastmcp import FastMCP\n"), ("server/pyproject.toml", "[project]\nname = 'm'\n")], "src/main.js"),
    ("uv run --with 'mcp[cli]' mcp run server/server.py", &[("server/server.py", "from fastmcp import FastMCP\n")], "src/main.js"),
    ("coverage run scripts/guard.py", &[], "src/main.py"),
    ("npm ci --silent", &[], "src/main.js"),
    ("pip install -q -r requirements.txt", &[("requirements.txt", "requests\n-e ./libs/foo\n"), ("libs/foo/pyproject.toml", "[project]\nname = 'foo'\n")], "libs/foo/foo.py"),
    ("go vet ./... && go mod tidy", &[], "src/main.go"),
    ("flutter analyze", &[("pubspec.yaml", "name: x\n")], "lib/a.dart"),
    ("bundle exec rubocop -A", &[("Gemfile", "source 'x'\ngemspec\n"), ("foo.gemspec", "require_relative \"lib/foo/version\"\nIO.popen(%w[git ls-files -z])\n"), ("lib/foo/version.rb", "1")], "lib/foo.rb"),
    ("'ruby-lsp'", &[("Gemfile", "source 'x'\ngemspec\n"), ("foo.gemspec", "require_relative \"lib/foo/version\"\n"), ("lib/foo/version.rb", "1")], "lib/foo.rb"),
    ("npx tsc --noEmit && node lib/l.js", &[("lib/l.js", "1")], "src/main.ts"),
    ("npx tsc && node scripts/lint.js", &[], "src/main.ts"),
    ("cp README.md made.md && sh made.sh", &[("made.sh", "ruff check\n")], "README.md"),
    ("jq -r .tool_input.file_path | xargs npx prettier --write", &[], "docs/01 - My notes.md"),
    ("jq -r .tool_input.file_path | xargs -d '\\n' npx prettier --write", &[], "docs/a -p.md"),
    ("node scripts/h.mjs", &[(NODE_HOOK, "import { execSync } from 'child_process'\nexecSync(`npx prettier --write \"${file}\"`)")], "src/(group)/[id]/$slug.js"),
    ("docker run --rm -it node:20 node --version", &[], "src/main.js"),
    ("'rust-analyzer'", &[("Cargo.toml", "[package]\nname = 'a'\n"), ("build.rs", "Command::new(\"git\").arg(\"rev-parse\")")], "src/main.rs"),
    ("npm run all-lints", &[("package.json", "{\"scripts\": {\"all-lints\": \"run-s lint:*\", \"lint:a\": \"eslint src\", \"lint:b\": \"prettier --check .\"}}")], "src/main.js"),
    ("mix format", &[(".formatter.exs", "[\n  import_deps: [:ecto, :phoenix],\n  plugins: [Phoenix.LiveView.HTMLFormatter],\n  inputs: [\"lib/*.ex\"]\n]\n")], "lib/a.ex"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import os\nfrom dotenv import load_dotenv\nload_dotenv()\nprint(os.environ['HOOK'])\n")], "README.md"),
    ("uv sync -q", &[("pyproject.toml", "[project]\nname = 'x'\n")], "src/main.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).resolve().parent.parent))\nfrom own.deep import x\n"), ("own/deep.py", "x = 1\n")], "src/main.py"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), '..'))\n")], "README.md"),
    ("npx eslint --rulesdir lint/rules src", &[("lint/rules/no-x.js", "const u = require('eslint-utils')")], "src/main.js"),
    ("bash scripts/x.sh", &[("scripts/x.sh", "ROOT=$(cd \"$(dirname \"$0\")/..\" && pwd)\nfor f in \"$ROOT\"/lib/sh/*.sh; do\n  source \"$f\"\ndone\n"), ("lib/sh/a.sh", "log() { echo \"$1\"; }\n")], "README.md"),
    ("python3 scripts/h.py", &[(PYTHON_HOOK, "import logging.config\nlogging.config.dictConfig({'version': 1, 'handlers': {'h': {'class': 'logging.StreamHandler', 'stream': 'ext://sys.stderr'}}})\n")], "README.md"),
    ("php bin/phpunit", &[("bin/phpunit", "#!/usr/bin/env php\n<?php\nrequire dirname(__DIR__).'/vendor/phpunit/phpunit/phpunit';\n")], "src/A.php"),
    ("./bin/golangci-lint run", &[("bin/golangci-lint", "\u{7f}ELF")], "src/main.go"),
    ("rails test", &[], "app/models/a.rb"),
    ("ng lint", &[], "src/main.ts"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: https://github.com/x/y\n  hooks:\n  - id: yamllint\n  - id: bandit\n")], "src/main.py"),
    ("npm run page", &[("package.json", "{\"scripts\": {\"page\": \"tsup && webpack && nest build\"}}")], "src/main.js"),
    ("npx svelte-kit sync && npx svelte-check", &[("svelte.config.js", "export default {}")], "src/main.js"),
    ("php vendor/bin/php-cs-fixer fix src", &[("vendor/bin/php-cs-fixer", "#!/usr/bin/env php\n<?php\n")], "src/A.php"),
    ("deno fmt && deno lint && deno check .", &[], "src/main.ts"),
    ("terraform fmt && terraform validate", &[], "main.tf"),
    ("bin/rubocop -A", &[("bin/rubocop", "#!/usr/bin/env ruby\nrequire \"bundler/setup\"\nload Gem.bin_path(\"rubocop\", \"rubocop\")\n")], "app/models/a.rb"),
    ("script/test", &[("script/test", "#!/bin/sh\npytest -q\n")], "src/main.py"),
    ("npx -y own-server ./src", &[], "src/main.js"),
    ("pre-commit run", &[(".pre-commit-config.yaml", "repos:\n- repo: https://github.com/pre-commit/pre-commit-hooks\n  hooks:\n  - id: check-yaml\n  - id: check-added-large-files\n")], "src/main.py"),
];

#[test]
fn everyday_set_ups_run_unasked() {
    let place = installed();
    let mut asked = Vec::new();
    for (command, files, changed) in SET_UPS {
        let names = files.iter().map(|(name, _)| *name);
        let saved = place.remember(names.chain([*changed]));
        place.set_up(files);
        place.decide(true);
        let run = place.own_hook(command);
        let before = place.refused(&run);
        place.put(changed, "new");
        let after = place.refused(&run);
        if before.is_some() || after.is_some() {
            asked.push(format!(
                "{command}: {files:?}: {changed}: {before:?} {after:?}"
            ));
        }
        Place::restore(saved);
    }
    assert_eq!(asked, Vec::<String>::new());
}
