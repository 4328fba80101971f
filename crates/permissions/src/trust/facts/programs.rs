//! Tables of the programs that osier knows, and what each kind of program loads.

use crate::programs::is_shell;
use crate::shell::Word;

/// Programs that treat files as data, but do more than read them. A filter such as awk gets its program as an argument, or from a file with
/// `-f`.
#[rustfmt::skip]
pub(in crate::trust) const DATA: &str = ". : [ [[ afplay awk base64 basename bat biome black break cat cd chmod clang-format column command continue cp curl cut \
    cygpath date declare diff dirname echo egrep env exit export expr false fgrep fmt gawk gofmt gofumpt goimports \
    google-java-format gopls grep gsed hash head hostname id install isort jobs jq kill killall ktlint let ln local logger ls mapfile \
    mawk md5sum mkdir mkfifo mktemp mv nohup notify-send paplay pbcopy pgrep popd printf ps pushd pwd read readarray readlink \
    readonly realpath return rev rg rm rmdir rsync ruff rustfmt say sed seq set sha1sum sha256sum shasum shellcheck shfmt shift shopt sleep sort \
    stat stylua taplo tail tee terminal-notifier test time timeout touch tput tr true type typeset typos uname uniq unset uuidgen wait \
    wc wget which whoami xargs xxd yamlfmt yamllint yes yq";
pub(in crate::trust) const FILTERS: [&str; 7] = ["awk", "gawk", "gsed", "jq", "mawk", "sed", "yq"];
/// Programs that run the command in their remaining words, after options and numbers.
pub(in crate::trust) const SIMPLE: [&str; 8] = [
    "chronic", "ionice", "nice", "nohup", "setsid", "stdbuf", "time", "timeout",
];
/// Programs that build and test the project: running its code is their purpose. A row is a program and its subcommands; without
/// subcommands, it covers each use of the program.
#[rustfmt::skip]
pub(in crate::trust) const PURPOSE: &[&str] = &[
    "pytest", "py.test", "unittest", "cargo test build check clippy fmt nextest doc bench", "go test build vet fmt", "jest", "vitest",
    "mocha", "ava", "rspec", "phpunit", "ctest", "mvn test compile verify package", "mvnw test compile verify package", "gradle test build check", "gradlew test build check",
    "dotnet test build", "mix test compile", "playwright test", "deno test bench", "bun test", "swift test build", "flutter test", "vite build", "tox", "nox", "cmake --build",
    "zig build test", "artisan test", "manage.py test", "rails test", "pest", "paratest", "next build", "nuxt build", "astro build", "ng build test",
    "webpack", "tsup", "rollup", "nest build", "react-scripts build test", "cc", "c++", "gcc", "g++", "clang", "clang++", "ld", "ar", "as",
];
/// Programs that run commands, tasks or settings of the project, or commands from their input, whatever their arguments are.
#[rustfmt::skip]
const RUNNERS: &str = "bmake mise rake tox nox composer pre-commit lefthook turbo nx lerna hatch pipenv rye deno alembic cargo go gradle gradlew mvn mvnw \
    dotnet mix sbt bazel bazelisk buck2 pants scons ninja cmake meson tsx ts-node bundle bundler grunt gulp webpack rollup vite esbuild \
    babel psalm phpcs run-parts direnv ansible latexmk invoke ansible-playbook vagrant terraform nix nix-shell devenv docker docker- \
    compose podman watchexec iex erl ghci runghc runhaskell scala kotlin clojure clj nodemon pm2 vi vim nvim emacs gdb lldb zig pixi \
    asdf conda mamba micromamba devbox treefmt phpcbf ecs poe rushx act air ansible-lint ant astro behave boot bru cabal cdk celery \
    cheetah commitizen cookiecutter copier crystal cucumber cypress cz dagger dbt django-admin doit dub dune dvc earthly ed elm entr ex \
    expo fab fabric fastlane flask flutter gatsby gleam gunicorn helmfile inv ipython jekyll jupyter karma knex lein locust luarocks \
    luigi mage meltano mill mkdocs molecule moon nest next nim nimble nuxi nuxt opam overcommit packer parallel parcel playwright plop \
    prisma pulumi rebar3 rector release-it remix robot rush sam scalafix semantic-release serverless shards sls snakemake sphinx-build \
    stack storybook swift sx task terragrunt tilt tofu tsup tuist uvicorn vue-cli-service waf wireit wrangler xcodebuild xmake checkov \
    cargo-make makers fnm hk lage lint-imports nr nlx proto rufo simple-git-hooks volta rails symfony pip-compile circleci gitlab-ci-local gitlab-runner drone woodpecker-cli";
/// Runners and their subcommands that load nothing of the project, as rows like those of [`PURPOSE`].
#[rustfmt::skip]
const QUIET: [&str; 11] = [
    "docker ps images inspect logs info version stats top port events start stop kill restart rm rmi pull push tag login",
    "podman ps images inspect logs info version stats top port events start stop kill restart rm rmi pull push tag login",
    "docker-compose ps logs", "terraform fmt version", "tofu fmt version", "packer fmt", "deno fmt", "zig fmt version", "go env version mod",
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
/// Packages of Python that run no command and load no module or file by a computed name.
#[rustfmt::skip]
const PYTHON_PACKAGES: &str = "aiofiles aiohttp anthropic anyio attr attrs babel bs4 boto3 botocore certifi chardet charset_normalizer click colorama \
    cryptography cv2 dateparser dateutil diff_match_patch docx duckdb emoji fastmcp feedparser filelock frontmatter google_auth_oauthlib \
    html5lib httpx humanize idna inflection isodate itsdangerous jose json5 jsonpatch jsonpath_ng jsonschema jwt langdetect lxml markdown markdown_it \
    markupsafe mcp mistune more_itertools msgpack multidict nacl networkx numpy openai openpyxl orjson packaging pandas passlib \
    pathspec pendulum PIL platformdirs polars psutil psycopg psycopg2 pyarrow pycparser pydantic pydantic_core pygments pymysql \
    pyparsing PyPDF2 pypdf pyperclip pytz rapidfuzz redis regex reportlab requests rich ruamel seaborn semver sentry_sdk \
    simplejson six slack_sdk slugify sortedcontainers sqlglot sqlparse starlette structlog tabulate tenacity termcolor textual tiktoken toml \
    tomli tomli_w tomlkit tqdm typer typing_extensions tzdata tzlocal ujson unidecode urllib3 validators watchdog wcwidth websockets xlrd \
    xmltodict yaml yarl";
/// Crates that run no program of the project while a build script uses them.
#[rustfmt::skip]
pub(in crate::trust) const CRATES: &str = "anyhow autocfg bindgen build-time built cargo_metadata cbindgen cc cfg_aliases chrono clap clap_complete clap_mangen \
    cynic-codegen dotenvy embed-manifest embed-resource flate2 glob heck hex indexmap itertools lalrpop lazy_static napi-build nom \
    once_cell phf_codegen pkg-config prettyplease proc-macro2 prost prost-build protobuf-codegen pyo3-build-config quote regex ring rustc_version \
    rustversion schemars semver serde serde_json serde_yaml sha2 shadow-rs slint-build static_vcruntime substrait syn tauri-build tempfile \
    thiserror time toml tonic-build vergen vergen-gitcl vergen-git2 vergen-gix version_check walkdir winres winresource zip";
/// Interpreters of languages other than shell, Python and JavaScript.
pub(in crate::trust) const INTERPRETERS: &str = "ruby perl php lua luajit Rscript julia elixir groovy java bb guile racket tclsh expect pwsh fish";
pub(in crate::trust) const NPM: &str = "npm pnpm yarn bun";
pub(in crate::trust) const NPX: &str = "npx pnpx bunx";
pub(in crate::trust) const MAKE: &str = "make gmake just";
/// Programs that run the command in their remaining words in the environment of the project.
pub(in crate::trust) const UV: &str = "uv poetry pdm uvx pipx";
pub(in crate::trust) const PIP: &str = "pip pip3";
pub(in crate::trust) const SEQUENCES: &str = "run-s run-p npm-run-all npm-run-all2";
/// Programs that run a program of the project's packages by its name.
pub(in crate::trust) const BUNDLES: &str = "bundle bundler turbo pre-commit";
/// Tools that treat files as data, but load the code that their settings name.
#[rustfmt::skip]
const TOOLS: &str = "prettier prettierd eslint eslint_d vscode-eslint-language-server stylelint markdownlint markdownlint-cli2 commitlint oxlint oxfmt \
    dprint cspell textlint remark xo tslint htmlhint ember-template-lint svgo tailwindcss tailwindcss-language-server postcss golangci-lint \
    erblint erb_lint haml-lint slim-lint typescript-language-server vue-tsc vue-language-server svelteserver svelte-check biome tsc tsgo \
    rimraf vscode-json-language-server vscode-css-language-server vscode-html-language-server yaml-language-server bash-language-server \
    lua-language-server clangd gopls marksman taplo texlab intelephense";
/// The marks of programs that read the files of Gradle and Maven, and of the analyzer of Dart.
#[rustfmt::skip]
const GRADLE: &[&str] = &[
    "=*.gradle", "=*.kts", "=gradle", "=gradlew", "=buildSrc", "=build-logic", "=.mvn", "=pom.xml", "=kls-classpath", "=.factorypath",
    "=.classpath", "=.project", "=.settings",
];
const DART: &[&str] = &["=analysis_options.yaml", "=pubspec", "=analyzer_plugin"];
/// Such tools that also load other code. Each entry starts with a mark: `-` is a virtual environment, `=` a name that counts anywhere in
/// the project (with `*`, the end of a name), `/` a folder above, and `*` all code.
#[rustfmt::skip]
const LOADED: &[(&str, &[&str])] = &[
    ("pyright pyright-langserver basedpyright basedpyright-langserver ty jedi-language-server mypy dmypy pylint flake8 sqlfluff bandit pydocstyle autoflake autopep8 yapf vulture", &["-"]),
    ("rust-analyzer", &["=build.rs", "=Cargo.toml", "=rust-project.json", "=.rust-project.json", "=build-script-build"]),
    ("haskell-language-server-wrapper haskell-language-server elixir-ls", &["*"]),
    ("rubocop standardrb php-cs-fixer pint phpstan", &["/vendor"]),
    ("ruby-lsp solargraph", &["=Gemfile", "=gems", "=*.gemspec", "=.bundle", "=addon.rb"]),
    ("zls", &["=build.zig"]),
    ("jdtls kotlin-language-server", GRADLE),
    ("ocamllsp", &["=dune", "=dune-project", "=dune-workspace", "=*.opam"]),
    ("dart", DART), ("R", &["=.Rprofile", "=.Renviron", "=activate.R"]),
];
/// Subcommands of build tools that only format or lint, as rows like those of [`PURPOSE`], with the marks of [`LOADED`].
#[rustfmt::skip]
const FORMATTING: &[(&str, &[&str])] = &[
    ("dotnet format", &[]), ("mix format", &["/deps"]), ("dune fmt", &["=dune"]), ("deno lint check", &[]), ("next lint", &[]),
    ("svelte-kit sync", &[]), ("ng lint", &[]), ("terraform validate", &["/.terraform"]), ("tofu validate", &["/.terraform"]),
    ("gradle spotlessApply spotlessCheck ktlintFormat ktlintCheck", GRADLE), ("gradlew spotlessApply spotlessCheck ktlintFormat ktlintCheck", GRADLE),
    ("mvn spotless:apply spotless:check", &["=.mvn", "=pom.xml"]), ("mvnw spotless:apply spotless:check", &["=.mvn", "=pom.xml"]),
    ("flutter analyze", DART),
    ("sbt scalafmt scalafmtAll scalafmtCheck scalafmtCheckAll scalafmtSbt", &["=project"]),
];
/// Such build tools whose words are all tasks, each of which can run other code.
const TASKS: &str = "gradle gradlew mvn mvnw sbt";
/// Version managers and their subcommands that run the command in the remaining words.
#[rustfmt::skip]
const MANAGERS: [&str; 9] = [
    "mise exec x", "asdf exec", "fnm exec", "volta run", "pyenv exec", "rbenv exec", "nodenv exec", "goenv exec", "opam exec",
];
/// Scripts that lie in a project and run the program of their name, and words in such scripts of Ruby and PHP.
pub(in crate::trust) const WRAPPERS: &str = "artisan gradlew manage.py mvnw rails sbt";
pub(in crate::trust) const BINSTUBS: [&str; 3] =
    ["Gem.bin_path(", "phpunit/phpunit/phpunit", "simple-phpunit"];
/// Programs and their subcommands that run a script of Python in the remaining words.
const PYTHON_SCRIPTS: [&str; 3] = ["coverage run", "mcp run dev", "fastmcp run dev"];
/// Programs and their first options that only check the file in the next word; `sh` is any shell.
const CHECKING: [&str; 3] = ["php -l", "node --check -c", "sh -n"];
/// Modules of Python that only read the files in their arguments, if `-m` runs them.
const PYTHON_CHECKS: &str = "json.tool py_compile compileall tabnanny tokenize ast";
/// Packages of Python that load the modules of the project by names in its settings, and no other files.
const FRAMEWORKS: &str = "django celery";
/// Packages of Node that read variables from `.env`.
const VARIABLES: &str = "dotenv dotenv-flow dotenv-expand";
/// Commands that compile or bundle the project into files that can run.
const BUILDERS: [&str; 12] = [
    "tsc",
    "tsgo",
    "vue-tsc",
    "vite build",
    "next build",
    "nuxt build",
    "astro build",
    "nest build",
    "react-scripts build",
    "rollup",
    "tsup",
    "webpack",
];
/// Packages with which a tool starts the application, each with the tool.
pub(in crate::trust) const BOOTING: [(&str, &str); 2] = [
    ("phpstan", "vendor/larastan/larastan"),
    ("phpstan", "vendor/nunomaduro/larastan"),
];
/// Words in the settings of a tool that name a plugin which starts the application, each with the tools.
const BOOTED: [(&str, &str); 4] = [
    ("mypy dmypy pylsp", "mypy_django_plugin"),
    ("mypy dmypy pylsp", "mypy_drf_plugin"),
    ("pylint pylsp", "pylint_django"),
    ("pylint pylsp", "pylint_odoo"),
];
/// Tools whose parsers and plugins load the settings of another tool.
const LOADED_SETTINGS: [(&str, &str); 1] =
    [("eslint eslint_d vscode-eslint-language-server", "babel")];
/// Scripts of version managers that a shell sources.
pub(in crate::trust) const MANAGER_SCRIPTS: &str =
    "nvm.sh asdf.sh sdkman-init.sh chruby.sh conda.sh mamba.sh";
/// Whether the program runs commands from a file of the project that osier can read.
pub(in crate::trust) fn is_task_runner(name: &str) -> bool {
    [NPM, NPX, MAKE, UV, PIP, SEQUENCES, BUNDLES, "lint-staged"]
        .iter()
        .any(|list| is_in(list, name))
}

/// The code that the tool loads next to its settings; `None` if the program is not such a tool.
pub(in crate::trust) fn settings_of(tool: &str) -> Option<&'static [&'static str]> {
    let row = LOADED.iter().find(|(names, _)| is_in(names, tool));
    let row = row.map(|(_, loaded)| *loaded);
    row.or(is_in(TOOLS, tool).then_some(&[]))
}

/// Like [`settings_of`], for a command with its arguments.
pub(in crate::trust) fn settings_of_command(
    name: &str,
    arguments: &[Word],
) -> Option<&'static [&'static str]> {
    let row = FORMATTING.iter().find(|(row, _)| {
        let tasks = arguments.iter().filter(|word| !word.text.starts_with('-'));
        let is_covered = |word: &Word| has_row(&[row], name, std::slice::from_ref(word));
        has_row(&[row], name, arguments) && (!is_in(TASKS, name) || tasks.clone().all(is_covered))
    });
    row.map(|(_, loaded)| *loaded).or_else(|| settings_of(name))
}

/// The command that a version manager runs.
pub(in crate::trust) fn managed<'w>(name: &str, arguments: &'w [Word]) -> Option<&'w [Word]> {
    let (_, rest) = arguments
        .split_first()
        .filter(|_| has_row(&MANAGERS, name, arguments))?;
    let end = rest.iter().position(|word| word.text == "--");
    let is_own = |word: &&Word| word.text.starts_with('-') || word.text.contains('@');
    let start = end.map_or_else(|| rest.iter().take_while(is_own).count(), |end| end + 1);
    rest.get(start..)
}

fn is_tool(name: &str) -> bool {
    settings_of(name).is_some()
}

/// Whether the list contains the name.
pub(in crate::trust) fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

pub(in crate::trust) fn is_interpreter(name: &str) -> bool {
    let version = name
        .strip_prefix("python")
        .or_else(|| name.strip_prefix("pypy"));
    let is_version = |char: char| char.is_ascii_digit() || char == '.';
    name == "node" || version.is_some_and(|version| version.chars().all(is_version))
}

/// Whether the program could load any code of the project.
pub(in crate::trust) fn loads_all(name: &str) -> bool {
    is_in(RUNNERS, name)
}

/// Whether a word is probably a program that loads code of the project.
pub(in crate::trust) fn is_runner(name: &str) -> bool {
    is_tool(name) || loads_all(name) || is_interpreter(name) || is_task_runner(name)
}

pub(in crate::trust) fn is_purpose(name: &str, arguments: &[Word]) -> bool {
    has_row(PURPOSE, name, arguments)
}

/// Whether this command of a runner loads nothing of the project.
pub(in crate::trust) fn is_quiet(name: &str, arguments: &[Word]) -> bool {
    if let ("docker", Some((first, rest))) = (name, arguments.split_first())
        && first.text == "compose"
    {
        return has_row(&QUIET, "docker-compose", rest);
    }
    // A container that shares nothing with the project.
    if let ("docker" | "podman", Some(("run", rest))) = (name, first_and_rest(arguments)) {
        let shares = [
            "--volume",
            "--mount",
            "--env-file",
            "--security-opt",
            "--label-file",
        ];
        // One word can have several options of one letter: `-itv`.
        let is_joined = |text: &str| {
            let letters = text.strip_prefix('-').unwrap_or_default();
            letters
                .trim_start_matches(['d', 'i', 't', 'P', 'q'])
                .starts_with('v')
        };
        return !rest.iter().any(|word| {
            let text = word.text.as_str();
            let is_share = shares.iter().any(|start| text.starts_with(start));
            !word.is_fixed() || is_share || is_joined(text)
        });
    }
    has_row(&QUIET, name, arguments)
}

/// Whether the program runs a script of Python.
pub(in crate::trust) fn runs_python(name: &str, arguments: &[Word]) -> bool {
    has_row(&PYTHON_SCRIPTS, name, arguments)
}

/// Whether the program only checks the file in its arguments.
pub(in crate::trust) fn only_checks(name: &str, arguments: &[Word]) -> bool {
    match arguments {
        [option, file, ..] if !file.text.starts_with(['-', '+']) => {
            let name = if is_shell(name) { "sh" } else { name };
            CHECKING.iter().any(|row| {
                let (program, options) = row.split_once(' ').unwrap_or_default();
                program == name && is_in(options, &option.text)
            })
        }
        _ => false,
    }
}

pub(in crate::trust) fn is_python_check(module: &str) -> bool {
    is_in(PYTHON_CHECKS, module)
}

pub(in crate::trust) fn is_framework(package: &str) -> bool {
    is_in(FRAMEWORKS, package)
}

pub(in crate::trust) fn reads_variables(package: &str) -> bool {
    is_in(VARIABLES, package)
}

/// Whether the command compiles or bundles the project into files that can run.
pub(in crate::trust) fn is_builder(name: &str, arguments: &[Word]) -> bool {
    has_row(&BUILDERS, name, arguments)
}

fn first_and_rest(arguments: &[Word]) -> Option<(&str, &[Word])> {
    let (first, rest) = arguments.split_first()?;
    Some((first.text.as_str(), rest))
}

/// Whether a row contains the program with its subcommand.
pub(in crate::trust) fn has_row(rows: &[&str], name: &str, arguments: &[Word]) -> bool {
    let command = arguments
        .iter()
        .find(|word| !word.text.starts_with(['-', '+']));
    let first = arguments.first().filter(|word| word.text.starts_with("--"));
    rows.iter().any(|row| {
        let mut row = row.split_whitespace();
        let is_program = row.next() == Some(name);
        let rest: Vec<&str> = row.collect();
        is_program
            && (rest.is_empty()
                || command
                    .into_iter()
                    .chain(first)
                    .any(|command| rest.contains(&command.text.as_str())))
    })
}

/// Whether a script that uses this package of Node loads no more than its own text.
pub(in crate::trust) fn is_quiet_package(name: &str) -> bool {
    is_in(PACKAGES, name) || name.starts_with("@types/")
}

/// Whether this package of Python runs no command and loads nothing by a computed name.
pub(in crate::trust) fn is_quiet_module(name: &str) -> bool {
    is_in(PYTHON_PACKAGES, name)
}

/// The words with which settings and options start the application, if the tool obeys them.
pub(in crate::trust) fn booted_by(tool: &str) -> impl Iterator<Item = &'static str> {
    let rows = BOOTED.iter().filter(move |(tools, _)| is_in(tools, tool));
    rows.map(|(_, word)| *word)
}

/// The other tools whose settings the tool loads with their code.
pub(in crate::trust) fn loaded_settings(tool: &str) -> Vec<&'static str> {
    let rows = LOADED_SETTINGS.iter();
    let rows = rows.filter(|(tools, _)| is_in(tools, tool));
    rows.map(|(_, other)| *other).collect()
}

/// Whether osier knows what the program loads.
pub(in crate::trust) fn is_known(name: &str, arguments: &[Word]) -> bool {
    is_in(DATA, name)
        || is_purpose(name, arguments)
        || is_quiet(name, arguments)
        || settings_of_command(name, arguments).is_some()
        || is_shell(name)
        || is_interpreter(name)
        || is_task_runner(name)
        || runs_python(name, arguments)
}
