//! Which programs load what: the tables of the programs that osier knows.

use crate::programs::is_shell;
use crate::shell::Word;

/// Programs that treat files as data, next to those that only read. Filters have programs in their arguments, or with `-f` in a file.
#[rustfmt::skip]
pub(super) const DATA: &str = ". : [ [[ afplay awk base64 basename bat biome black break cat cd chmod clang-format column command continue cp curl cut \
    cygpath date declare diff dirname dprint echo egrep env exit export expr false fgrep fmt gawk gofmt gofumpt goimports \
    google-java-format gopls grep gsed hash head hostname id install isort jobs jq kill killall ktlint let ln local logger ls mapfile \
    mawk md5sum mkdir mkfifo mktemp mv nohup notify-send oxlint paplay pbcopy pgrep popd printf ps pushd pwd read readarray readlink \
    readonly realpath return rev rg rm rmdir ruff rustfmt say sed seq set sha1sum sha256sum shasum shellcheck shfmt shift shopt sleep sort \
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
pub(super) const PURPOSE: [&str; 17] = [
    "pytest", "py.test", "unittest", "cargo test build check clippy fmt nextest doc bench", "go test build vet fmt", "jest", "vitest",
    "mocha", "ava", "rspec", "phpunit", "ctest", "mvn test compile verify", "gradle test build check", "gradlew test build check",
    "dotnet test build format", "mix test compile format",
];
/// Programs that run commands, tasks or settings of the project, or their input, whatever their arguments are.
#[rustfmt::skip]
pub(super) const RUNNERS: &str = "bmake task mise rake tox nox composer pre-commit lefthook turbo nx lerna hatch pipenv rye deno \
    cargo go gradle gradlew mvn mvnw dotnet mix sbt bazel bazelisk buck2 pants scons ninja cmake meson tsx ts-node rubocop bundle bundler \
    standardrb grunt gulp webpack rollup vite esbuild babel php-cs-fixer phpstan psalm phpcs run-parts direnv ansible \
    ansible-playbook vagrant terraform nix nix-shell devenv docker docker-compose podman entr watchexec parallel iex erl ghci runghc \
    runhaskell swift scala kotlin clojure clj nodemon pm2 ed ex vi vim nvim emacs gdb lldb";
/// Interpreters of other languages.
pub(super) const INTERPRETERS: &str = "ruby perl php lua luajit Rscript julia elixir groovy java bb guile racket tclsh expect pwsh fish";
pub(super) const NPM: &str = "npm pnpm yarn bun";
pub(super) const NPX: &str = "npx pnpx bunx";
pub(super) const MAKE: &str = "make gmake just";
/// Programs that run the rest of their words in the environment of the project.
pub(super) const UV: &str = "uv poetry pdm uvx pipx";
pub(super) const SEQUENCES: &str = "run-s run-p npm-run-all npm-run-all2";
/// Tools whose files are data, and the beginnings of the names of their settings that can name code. `-` is a virtual environment.
#[rustfmt::skip]
pub(super) const TOOLS: &[(&str, &[&str])] = &[
    ("prettier prettierd", &["prettier"]),
    ("eslint eslint_d vscode-eslint-language-server", &["eslint"]),
    ("stylelint", &["stylelint"]),
    ("markdownlint markdownlint-cli2", &["markdownlint"]),
    ("commitlint", &["commitlint"]),
    ("typescript-language-server", &["tsconfig", "jsconfig"]),
    ("svelteserver svelte-check", &["svelte", "vite", "prettier", "tsconfig", "jsconfig"]),
    ("biome oxlint oxfmt dprint tsc tsgo vue-tsc rimraf vscode-json-language-server vscode-css-language-server \
      vscode-html-language-server yaml-language-server bash-language-server", &[]),
    ("pyright pyright-langserver basedpyright basedpyright-langserver ty jedi-language-server", &["-"]),
    ("mypy dmypy", &["mypy", "pyproject", "setup", "-"]),
    ("pylint", &["pylintrc", "pyproject", "setup", "-"]),
    ("flake8", &["flake8", "setup", "tox", "-"]),
    ("rust-analyzer", &["rust-analyzer", "cargo"]),
    ("haskell-language-server-wrapper", &["hie"]),
    ("lua-language-server", &["luarc"]),
    ("ruby-lsp", &["rubocop"]),
    ("clangd gopls zls marksman taplo texlab intelephense jdtls elixir-ls ocamllsp dart", &[]),
];
/// Whether the program runs commands in a file of the project, which is read.
pub(super) fn is_task_runner(name: &str) -> bool {
    [NPM, NPX, MAKE, UV, SEQUENCES, "lint-staged"]
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

pub(super) fn is_runner(name: &str) -> bool {
    is_tool(name) || is_in(RUNNERS, name) || is_interpreter(name) || is_task_runner(name)
}

pub(super) fn is_purpose(name: &str, arguments: &[Word]) -> bool {
    let command = arguments
        .iter()
        .find(|word| !word.text.starts_with(['-', '+']));
    PURPOSE.iter().any(|row| {
        let mut row = row.split(' ');
        let is_program = row.next() == Some(name);
        let rest: Vec<&str> = row.collect();
        is_program
            && (rest.is_empty()
                || command.is_some_and(|command| rest.contains(&command.text.as_str())))
    })
}

/// Whether it is known what the program loads.
pub(super) fn is_known(name: &str, arguments: &[Word]) -> bool {
    is_in(DATA, name)
        || is_purpose(name, arguments)
        || is_tool(name)
        || is_shell(name)
        || is_interpreter(name)
        || is_task_runner(name)
}
