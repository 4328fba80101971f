//! Which programs load what: the tables of the programs that osier knows.

use crate::programs::is_shell;
use crate::shell::Word;

/// Programs that treat files as data, next to those that only read. Filters have programs in their arguments, or with `-f` in a file.
#[rustfmt::skip]
pub(super) const DATA: &str = ". : [ [[ afplay awk base64 basename bat biome black break cat cd chmod clang-format column command continue cp curl cut \
    cygpath date declare diff dirname echo egrep env exit export expr false fgrep fmt gawk gofmt gofumpt goimports \
    google-java-format gopls grep gsed hash head hostname id install isort jobs jq kill killall ktlint let ln local logger ls mapfile \
    mawk md5sum mkdir mkfifo mktemp mv nohup notify-send paplay pbcopy pgrep popd printf ps pushd pwd read readarray readlink \
    readonly realpath return rev rg rm rmdir rsync ruff rustfmt say sed seq set sha1sum sha256sum shasum shellcheck shfmt shift shopt sleep sort \
    stat stylua taplo tail tee terminal-notifier test time timeout touch tput tr true type typeset typos uname uniq unset uuidgen wait \
    wc wget which whoami xargs xxd yamlfmt yes yq";
pub(super) const FILTERS: [&str; 7] = ["awk", "gawk", "gsed", "jq", "mawk", "sed", "yq"];
/// Programs that run the rest of their words, after options and numbers.
pub(super) const SIMPLE: [&str; 8] = [
    "chronic", "ionice", "nice", "nohup", "setsid", "stdbuf", "time", "timeout",
];
/// Programs that build and test the project: its code is what they run. The words after the first one are the subcommands; without
/// any, every use is one.
#[rustfmt::skip]
pub(super) const PURPOSE: [&str; 25] = [
    "pytest", "py.test", "unittest", "cargo test build check clippy fmt nextest doc bench", "go test build vet fmt", "jest", "vitest",
    "mocha", "ava", "rspec", "phpunit", "ctest", "mvn test compile verify", "gradle test build check", "gradlew test build check",
    "dotnet test build format", "mix test compile", "playwright test", "deno test bench", "bun test", "swift test build", "flutter test", "vite build", "tox", "nox",
];
/// Programs that run commands, tasks or settings of the project, or their input, whatever their arguments are.
#[rustfmt::skip]
const RUNNERS: &str = "bmake mise rake tox nox composer pre-commit lefthook turbo nx lerna hatch pipenv rye deno alembic \
    cargo go gradle gradlew mvn mvnw dotnet mix sbt bazel bazelisk buck2 pants scons ninja cmake meson tsx ts-node bundle bundler \
    grunt gulp webpack rollup vite esbuild babel phpstan psalm phpcs run-parts direnv ansible latexmk invoke \
    ansible-playbook vagrant terraform nix nix-shell devenv docker docker-compose podman watchexec iex erl ghci runghc \
    runhaskell scala kotlin clojure clj nodemon pm2 vi vim nvim emacs gdb lldb zig rye pixi asdf conda mamba micromamba devbox treefmt \
    phpcbf ecs poe rushx";
/// The same, with names that are also words of other texts.
#[rustfmt::skip]
const MORE_RUNNERS: &str = "act air ansible-lint ant astro behave boot bru cabal cdk celery cheetah commitizen cookiecutter copier crystal \
    cucumber cypress cz dagger dbt django-admin doit dub dune dvc earthly ed elm entr ex expo fab fabric fastlane flask flutter gatsby gleam \
    gunicorn helmfile inv ipython jekyll jupyter karma knex lein locust luarocks luigi mage meltano mill mkdocs molecule moon nest next nim \
    nimble nuxi nuxt opam overcommit packer parallel parcel playwright plop prisma pulumi rebar3 rector release-it remix robot rush sam \
    scalafix semantic-release serverless shards sls snakemake sphinx-build stack storybook swift sx task terragrunt tilt tofu tsup tuist \
    uvicorn vue-cli-service waf wireit wrangler xcodebuild xmake checkov cargo-make makers fnm hk lage lint-imports nr nlx proto \
    rufo simple-git-hooks volta";
/// Subcommands of runners that load nothing of the project, in rows like those of [`PURPOSE`].
#[rustfmt::skip]
const QUIET: [&str; 11] = [
    "docker ps images inspect logs info version stats top port events start stop kill restart rm rmi pull push tag login",
    "podman ps images inspect logs info version stats top port events start stop kill restart rm rmi pull push tag login",
    "docker-compose ps logs", "terraform fmt version", "tofu fmt version", "packer fmt", "deno fmt", "zig fmt version", "go env version",
    "cargo metadata tree", "dart format",
];
/// Packages of Node that load nothing of the project and run no command by a computed name.
#[rustfmt::skip]
const PACKAGES: &str = "@anthropic-ai/sdk @modelcontextprotocol/sdk ajv ansi-colors ansi-styles axios boxen chalk change-case cli-table3 colorette commander csv-parse date-fns dayjs \
    debug deepmerge diff dotenv-parse entities escape-string-regexp fast-glob fast-xml-parser fs-extra fuse.js glob globby ignore \
    ini is-glob json5 jsonc-parser kleur lodash lodash-es log-symbols lru-cache luxon marked micromatch minimatch minimist mri ms \
    nanoid node-fetch node-notifier openai ora p-limit parse-diff picocolors picomatch remark-parse semver shell-quote slash smol-toml \
    source-map string-width strip-ansi strip-json-comments tiny-glob toml tslib typescript undici unified uuid vfile wrap-ansi yaml \
    yargs-parser zod";
/// Packages of Python that run commands, or load code by a name.
#[rustfmt::skip]
const PYTHON_RUNNERS: &str = "cProfile cheetah delegator distutils doctest dotenv environs envoy fabric fire genshi hydra invoke \
    jinja2 joblib mako nox pdb pexpect pip pkg_resources ploy pluggy plumbum profile py_compile pytest setuptools sh stevedore torch \
    tox trace trio twisted venusian";
/// Interpreters of other languages.
pub(super) const INTERPRETERS: &str = "ruby perl php lua luajit Rscript julia elixir groovy java bb guile racket tclsh expect pwsh fish";
pub(super) const NPM: &str = "npm pnpm yarn bun";
pub(super) const NPX: &str = "npx pnpx bunx";
pub(super) const MAKE: &str = "make gmake just";
/// Programs that run the rest of their words in the environment of the project.
pub(super) const UV: &str = "uv poetry pdm uvx pipx";
pub(super) const SEQUENCES: &str = "run-s run-p npm-run-all npm-run-all2";
/// Programs that run what they name in the packages of their project.
pub(super) const BUNDLES: &str = "bundle bundler turbo pre-commit";
/// Tools whose files are data, and the beginnings of the names of their settings that can name code. `-` is a virtual environment,
/// `=` a name that counts anywhere in the project (with `*`, the end of one), `/` a folder above, and `*` all code.
#[rustfmt::skip]
pub(super) const TOOLS: &[(&str, &[&str])] = &[
    ("prettier prettierd", &["prettier"]),
    ("eslint eslint_d vscode-eslint-language-server", &["eslint"]),
    ("stylelint", &["stylelint"]),
    ("markdownlint markdownlint-cli2", &["markdownlint"]),
    ("commitlint", &["commitlint"]),
    ("oxlint oxfmt", &["oxlint", "oxfmt"]),
    ("dprint", &["dprint"]),
    ("cspell", &["cspell"]),
    ("textlint", &["textlint"]),
    ("remark", &["remark"]),
    ("xo", &["xo", "eslint"]),
    ("tslint", &["tslint"]),
    ("htmlhint", &["htmlhint"]),
    ("ember-template-lint", &["template-lint"]),
    ("svgo", &["svgo"]),
    ("tailwindcss tailwindcss-language-server", &["tailwind", "postcss"]),
    ("postcss", &["postcss"]),
    ("golangci-lint", &["golangci"]),
    ("erblint erb_lint", &["erb-lint", "erb-linters", "rubocop"]),
    ("haml-lint slim-lint", &["haml-lint", "slim-lint", "rubocop"]),
    ("typescript-language-server vue-tsc vue-language-server", &["tsconfig", "jsconfig", "vue"]),
    ("svelteserver svelte-check", &["svelte", "vite", "prettier", "tsconfig", "jsconfig"]),
    ("biome tsc tsgo rimraf vscode-json-language-server vscode-css-language-server \
      vscode-html-language-server yaml-language-server bash-language-server", &[]),
    ("pyright pyright-langserver basedpyright basedpyright-langserver ty jedi-language-server", &["-"]),
    ("mypy dmypy", &["mypy", "pyproject", "setup", "-"]),
    ("pylint", &["pylintrc", "pyproject", "setup", "tox", "-"]),
    ("flake8", &["flake8", "setup", "tox", "-"]),
    ("sqlfluff", &["sqlfluff", "pyproject", "setup", "tox", "pep8", "-"]),
    ("rust-analyzer", &["rust-analyzer", "cargo", "=build.rs", "=Cargo.toml", "=rust-project.json", "=.rust-project.json", "=build-script-build"]),
    ("haskell-language-server-wrapper haskell-language-server elixir-ls", &["*"]),
    ("lua-language-server", &["luarc"]),
    ("rubocop standardrb", &["rubocop", "standard", "/vendor"]),
    ("ruby-lsp solargraph", &["rubocop", "solargraph", "=Gemfile", "=gems", "=*.gemspec", "=.bundle", "=addon.rb"]),
    ("php-cs-fixer pint", &["php-cs-fixer", "/vendor"]),
    ("zls", &["=build.zig"]),
    ("jdtls kotlin-language-server", &["=*.gradle", "=*.kts", "=gradle", "=gradlew", "=buildSrc", "=build-logic", "=.mvn", "=pom.xml", "=kls-classpath",
      "=.factorypath", "=.classpath", "=.project", "=.settings"]),
    ("ocamllsp", &["=dune", "=dune-project", "=dune-workspace", "=*.opam"]),
    ("dart", &["=analysis_options.yaml", "=pubspec", "=analyzer_plugin"]),
    ("clangd gopls marksman taplo texlab intelephense", &[]),
];
/// Whether the program runs commands in a file of the project, which is read.
pub(super) fn is_task_runner(name: &str) -> bool {
    [NPM, NPX, MAKE, UV, SEQUENCES, BUNDLES, "lint-staged"]
        .iter()
        .any(|list| is_in(list, name))
}

/// The settings of a tool that can name code.
pub(super) fn settings_of(tool: &str) -> Option<&'static [&'static str]> {
    let row = TOOLS.iter().find(|(names, _)| is_in(names, tool));
    row.map(|(_, settings)| *settings)
}

fn is_tool(name: &str) -> bool {
    settings_of(name).is_some()
}

/// Whether the list contains the name.
pub(super) fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

pub(super) fn is_interpreter(name: &str) -> bool {
    name == "node" || name.starts_with("python") || name == "pypy" || name == "pypy3"
}

/// Whether the program could load any code of the project.
pub(super) fn loads_all(name: &str) -> bool {
    is_in(RUNNERS, name) || is_in(MORE_RUNNERS, name)
}

/// Whether a word of a text is probably a program that loads code of the project.
pub(super) fn is_runner(name: &str) -> bool {
    is_tool(name) || is_in(RUNNERS, name) || is_interpreter(name) || is_task_runner(name)
}

pub(super) fn is_purpose(name: &str, arguments: &[Word]) -> bool {
    has_row(&PURPOSE, name, arguments)
}

/// Whether the command of a runner loads nothing of the project.
pub(super) fn is_quiet(name: &str, arguments: &[Word]) -> bool {
    if let ("docker", Some((first, rest))) = (name, arguments.split_first())
        && first.text == "compose"
    {
        return has_row(&QUIET, "docker-compose", rest);
    }
    // A container that gets nothing of the project.
    if let ("docker" | "podman", Some(("run", rest))) = (name, first_and_rest(arguments)) {
        let shares = [
            "-v",
            "--volume",
            "--mount",
            "--env-file",
            "--security-opt",
            "--label-file",
        ];
        return !rest.iter().any(|word| {
            !word.is_fixed() || shares.iter().any(|start| word.text.starts_with(start))
        });
    }
    has_row(&QUIET, name, arguments)
}

fn first_and_rest(arguments: &[Word]) -> Option<(&str, &[Word])> {
    let (first, rest) = arguments.split_first()?;
    Some((first.text.as_str(), rest))
}

/// Whether a row has the program and its subcommand.
fn has_row(rows: &[&str], name: &str, arguments: &[Word]) -> bool {
    let command = arguments
        .iter()
        .find(|word| !word.text.starts_with(['-', '+']));
    rows.iter().any(|row| {
        let mut row = row.split_whitespace();
        let is_program = row.next() == Some(name);
        let rest: Vec<&str> = row.collect();
        is_program
            && (rest.is_empty()
                || command.is_some_and(|command| rest.contains(&command.text.as_str())))
    })
}

/// Whether a script can load more than its own text by this package of Node.
pub(super) fn is_quiet_package(name: &str) -> bool {
    is_in(PACKAGES, name) || name.starts_with("@types/")
}

/// Whether a package of Python runs commands or loads code by a name.
pub(super) fn is_python_runner(name: &str) -> bool {
    is_in(PYTHON_RUNNERS, name)
}

/// Whether it is known what the program loads.
pub(super) fn is_known(name: &str, arguments: &[Word]) -> bool {
    is_in(DATA, name)
        || is_purpose(name, arguments)
        || is_quiet(name, arguments)
        || is_tool(name)
        || is_shell(name)
        || is_interpreter(name)
        || is_task_runner(name)
}
