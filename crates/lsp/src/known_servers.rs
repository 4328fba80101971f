//! The servers that are known without configuration.

use std::sync::Arc;

use serde_json::Value;

use crate::server_config::{Override, ServerConfig};

/// A server: its name, languages, markers and program.
struct Row {
    name: &'static str,
    /// Suffixes of file names, and the protocol's name of their language.
    languages: &'static [(&'static str, &'static str)],
    markers: &'static [&'static str],
    needs_marker: bool,
    command: &'static [&'static str],
    install: &'static str,
}

const NODE_MARKERS: &[&str] = &["package.json", "tsconfig.json", "jsconfig.json"];

// recipe: a language server, 1: its row
// recipe: a language server, 2: `docs/code-intelligence.md`: its line
const ROWS: &[Row] = &[
    Row {
        name: "rust-analyzer",
        languages: &[("rs", "rust")],
        markers: &["Cargo.toml", "rust-project.json"],
        needs_marker: true,
        command: &["rust-analyzer"],
        install: "rustup component add rust-analyzer",
    },
    Row {
        name: "typescript-language-server",
        languages: &[
            ("ts", "typescript"),
            ("tsx", "typescriptreact"),
            ("mts", "typescript"),
            ("cts", "typescript"),
            ("js", "javascript"),
            ("jsx", "javascriptreact"),
            ("mjs", "javascript"),
            ("cjs", "javascript"),
        ],
        markers: NODE_MARKERS,
        needs_marker: true,
        command: &["typescript-language-server", "--stdio"],
        install: "npm install -g typescript-language-server typescript",
    },
    Row {
        name: "pyright",
        languages: &[("py", "python"), ("pyi", "python")],
        markers: &[
            "pyrightconfig.json",
            "pyproject.toml",
            "setup.py",
            "requirements.txt",
        ],
        needs_marker: false,
        command: &["pyright-langserver", "--stdio"],
        install: "npm install -g pyright",
    },
    Row {
        name: "gopls",
        languages: &[("go", "go"), ("go.mod", "go.mod")],
        markers: &["go.work", "go.mod"],
        needs_marker: true,
        command: &["gopls"],
        install: "go install golang.org/x/tools/gopls@latest",
    },
    Row {
        name: "clangd",
        languages: &[
            ("c", "c"),
            ("h", "c"),
            ("cc", "cpp"),
            ("cpp", "cpp"),
            ("cxx", "cpp"),
            ("hh", "cpp"),
            ("hpp", "cpp"),
        ],
        markers: &["compile_commands.json", "compile_flags.txt", ".clangd"],
        needs_marker: true,
        command: &["clangd"],
        install: "apt install clangd, or brew install llvm",
    },
    Row {
        name: "bash-language-server",
        languages: &[("sh", "shellscript"), ("bash", "shellscript")],
        markers: &[],
        needs_marker: false,
        command: &["bash-language-server", "start"],
        install: "npm install -g bash-language-server",
    },
    Row {
        name: "lua-language-server",
        languages: &[("lua", "lua")],
        markers: &[".luarc.json", ".luarc.jsonc"],
        needs_marker: true,
        command: &["lua-language-server"],
        install: "brew install lua-language-server",
    },
    Row {
        name: "zls",
        languages: &[("zig", "zig")],
        markers: &["build.zig"],
        needs_marker: true,
        command: &["zls"],
        install: "see https://zigtools.org/zls/install/",
    },
    Row {
        name: "ruby-lsp",
        languages: &[("rb", "ruby")],
        markers: &["Gemfile"],
        needs_marker: true,
        command: &["ruby-lsp"],
        install: "gem install ruby-lsp",
    },
    Row {
        name: "intelephense",
        languages: &[("php", "php")],
        markers: &["composer.json"],
        needs_marker: true,
        command: &["intelephense", "--stdio"],
        install: "npm install -g intelephense",
    },
    Row {
        name: "jdtls",
        languages: &[("java", "java")],
        markers: &["pom.xml", "build.gradle", "build.gradle.kts"],
        needs_marker: true,
        command: &["jdtls"],
        install: "brew install jdtls",
    },
    Row {
        name: "elixir-ls",
        languages: &[("ex", "elixir"), ("exs", "elixir")],
        markers: &["mix.exs"],
        needs_marker: true,
        command: &["elixir-ls"],
        install: "brew install elixir-ls",
    },
    Row {
        name: "haskell-language-server",
        languages: &[("hs", "haskell")],
        markers: &["stack.yaml", "cabal.project", "hie.yaml"],
        needs_marker: true,
        command: &["haskell-language-server-wrapper", "--lsp"],
        install: "ghcup install hls",
    },
    Row {
        name: "ocamllsp",
        languages: &[("ml", "ocaml"), ("mli", "ocaml.interface")],
        markers: &["dune-project"],
        needs_marker: true,
        command: &["ocamllsp"],
        install: "opam install ocaml-lsp-server",
    },
    Row {
        name: "dart",
        languages: &[("dart", "dart")],
        markers: &["pubspec.yaml"],
        needs_marker: true,
        command: &["dart", "language-server"],
        install: "it is part of the Dart SDK",
    },
    Row {
        name: "svelte",
        languages: &[("svelte", "svelte")],
        markers: NODE_MARKERS,
        needs_marker: true,
        command: &["svelteserver", "--stdio"],
        install: "npm install -g svelte-language-server",
    },
];

/// The servers that are known without configuration.
pub fn table() -> Vec<ServerConfig> {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    let rows = ROWS.iter().map(|row| ServerConfig {
        name: row.name.to_owned(),
        languages: row
            .languages
            .iter()
            .map(|(end, language)| ((*end).to_owned(), (*language).to_owned()))
            .collect(),
        markers: texts(row.markers),
        needs_marker: row.needs_marker,
        command: texts(row.command),
        install: row.install.to_owned(),
        options: Value::Null,
    });
    rows.collect()
}

/// The servers of the table with the changes of the user.
pub fn configured(overrides: &[Override]) -> Vec<Arc<ServerConfig>> {
    let mut servers = table();
    for change in overrides {
        let known = servers.iter().position(|server| server.name == change.name);
        if change.disabled {
            known.map(|index| servers.remove(index));
            continue;
        }
        let index = known.unwrap_or_else(|| {
            servers.push(ServerConfig {
                name: change.name.clone(),
                languages: Vec::new(),
                markers: Vec::new(),
                needs_marker: false,
                command: Vec::new(),
                install: String::new(),
                options: Value::Null,
            });
            servers.len() - 1
        });
        servers[index].change(change);
    }
    servers.retain(|server| !server.command.is_empty());
    servers.into_iter().map(Arc::new).collect()
}
