//! The languages: how a file is recognised, what its comments and texts look like, and which words define something.

use crate::grammar::Grammar;
use crate::kind::Kind;

/// How comments start and which texts span lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Syntax {
    /// Comments with `//` and `/* */`.
    pub(crate) slashes: bool,
    /// Comments with `#` at the start of a word.
    pub(crate) hash: bool,
    /// Comments with `--`.
    pub(crate) dashes: bool,
    /// Texts in three quotes span lines.
    pub(crate) triple: bool,
    /// A backtick starts a text that spans lines.
    pub(crate) backtick: bool,
    /// Rust: lifetimes, raw texts, and texts that span lines.
    pub(crate) rust: bool,
}

const PLAIN: Syntax = Syntax {
    slashes: false,
    hash: false,
    dashes: false,
    triple: false,
    backtick: false,
    rust: false,
};
const SLASHES: Syntax = Syntax {
    slashes: true,
    ..PLAIN
};
const HASH: Syntax = Syntax {
    hash: true,
    ..PLAIN
};

/// How functions look that no keyword announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// The language has no such functions.
    Never,
    /// `int name(int x) {`, at the top or in a type or namespace.
    AfterType,
    /// `name(x) {` in a class.
    InClass,
    /// `name() {`.
    Empty,
}

/// A word that defines the name after it.
pub(crate) type Keyword = (&'static str, Kind);

#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    extensions: &'static [&'static str],
    pub(crate) syntax: Syntax,
    pub(crate) keywords: &'static [Keyword],
    pub(crate) calls: Calls,
    /// Keywords count only outside of braces.
    pub(crate) top_only: bool,
    /// `a.b` and `a::b` define the last name.
    pub(crate) dotted: bool,
    /// Only a type with a body is a definition: without one, the keyword is a use.
    pub(crate) with_body: bool,
    /// Keywords such as `const`: `const name =` at the top of a file defines the name.
    pub(crate) assigned: &'static [&'static str],
    pub(crate) grammar: Option<Grammar>,
}

const BASE: Language = Language {
    name: "",
    extensions: &[],
    syntax: SLASHES,
    keywords: &[],
    calls: Calls::Never,
    top_only: false,
    dotted: false,
    with_body: false,
    assigned: &[],
    grammar: None,
};

use Kind::{Class, Constant, Enum, Function, Interface, Macro, Module, Struct, Trait, Type};

// recipe: a language of the map, 1: its row; with a grammar also `grammar.rs`
// recipe: a language of the map, 2: `crates/map/src/languages_test.rs`: a case
/// The languages, of which the stored index has the numbers: add new ones at the end.
pub(crate) const LANGUAGES: &[Language] = &[
    Language {
        name: "Rust",
        extensions: &["rs"],
        syntax: Syntax {
            slashes: true,
            rust: true,
            ..PLAIN
        },
        keywords: &[
            ("fn", Function),
            ("struct", Struct),
            ("enum", Enum),
            ("union", Struct),
            ("trait", Trait),
            ("type", Type),
            ("mod", Module),
            ("const", Constant),
            ("static", Constant),
            ("macro_rules", Macro),
        ],
        grammar: Some(Grammar::Rust),
        ..BASE
    },
    Language {
        name: "Python",
        extensions: &["py", "pyi"],
        syntax: Syntax {
            hash: true,
            triple: true,
            ..PLAIN
        },
        keywords: &[("def", Function), ("class", Class)],
        grammar: Some(Grammar::Python),
        ..BASE
    },
    Language {
        name: "TypeScript",
        extensions: &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"],
        syntax: Syntax {
            slashes: true,
            backtick: true,
            ..PLAIN
        },
        keywords: &[
            ("function", Function),
            ("class", Class),
            ("interface", Interface),
            ("type", Type),
            ("enum", Enum),
            ("namespace", Module),
        ],
        calls: Calls::InClass,
        assigned: &["const", "let", "var"],
        grammar: Some(Grammar::TypeScript),
        ..BASE
    },
    Language {
        name: "Go",
        extensions: &["go"],
        syntax: Syntax {
            slashes: true,
            backtick: true,
            ..PLAIN
        },
        keywords: &[
            ("func", Function),
            ("type", Type),
            ("const", Constant),
            ("var", Constant),
        ],
        top_only: true,
        grammar: Some(Grammar::Go),
        ..BASE
    },
    Language {
        name: "C",
        extensions: &["c", "h"],
        keywords: C_TYPES,
        calls: Calls::AfterType,
        with_body: true,
        grammar: Some(Grammar::C),
        ..BASE
    },
    Language {
        name: "Java",
        extensions: &["java"],
        syntax: Syntax {
            slashes: true,
            triple: true,
            ..PLAIN
        },
        keywords: JAVA_TYPES,
        calls: Calls::AfterType,
        with_body: true,
        grammar: Some(Grammar::Java),
        ..BASE
    },
    Language {
        name: "C++",
        extensions: &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "cu", "cuh"],
        keywords: C_TYPES,
        calls: Calls::AfterType,
        with_body: true,
        ..BASE
    },
    Language {
        name: "C#",
        extensions: &["cs"],
        keywords: JAVA_TYPES,
        calls: Calls::AfterType,
        with_body: true,
        ..BASE
    },
    Language {
        name: "Ruby",
        extensions: &["rb", "rake"],
        syntax: HASH,
        keywords: &[("def", Function), ("class", Class), ("module", Module)],
        dotted: true,
        ..BASE
    },
    Language {
        name: "Shell",
        extensions: &["sh", "bash", "zsh"],
        syntax: HASH,
        keywords: &[("function", Function)],
        calls: Calls::Empty,
        ..BASE
    },
    Language {
        name: "PHP",
        extensions: &["php"],
        syntax: Syntax {
            slashes: true,
            hash: true,
            ..PLAIN
        },
        keywords: &[
            ("function", Function),
            ("class", Class),
            ("interface", Interface),
            ("trait", Trait),
            ("enum", Enum),
        ],
        ..BASE
    },
    Language {
        name: "Kotlin",
        extensions: &["kt", "kts"],
        syntax: Syntax {
            slashes: true,
            triple: true,
            ..PLAIN
        },
        keywords: &[
            ("fun", Function),
            ("class", Class),
            ("interface", Interface),
            ("object", Class),
            ("typealias", Type),
        ],
        dotted: true,
        ..BASE
    },
    Language {
        name: "Swift",
        extensions: &["swift"],
        syntax: Syntax {
            slashes: true,
            triple: true,
            ..PLAIN
        },
        keywords: &[
            ("func", Function),
            ("class", Class),
            ("struct", Struct),
            ("enum", Enum),
            ("protocol", Interface),
            ("actor", Class),
            ("typealias", Type),
        ],
        ..BASE
    },
    Language {
        name: "Scala",
        extensions: &["scala", "sc"],
        syntax: Syntax {
            slashes: true,
            triple: true,
            ..PLAIN
        },
        keywords: &[
            ("def", Function),
            ("class", Class),
            ("trait", Trait),
            ("object", Module),
            ("enum", Enum),
        ],
        ..BASE
    },
    Language {
        name: "Lua",
        extensions: &["lua"],
        syntax: Syntax {
            dashes: true,
            ..PLAIN
        },
        keywords: &[("function", Function)],
        dotted: true,
        ..BASE
    },
    Language {
        name: "Elixir",
        extensions: &["ex", "exs"],
        syntax: Syntax {
            hash: true,
            triple: true,
            ..PLAIN
        },
        keywords: &[
            ("def", Function),
            ("defp", Function),
            ("defmacro", Macro),
            ("defmodule", Module),
        ],
        dotted: true,
        ..BASE
    },
    Language {
        name: "Dart",
        extensions: &["dart"],
        syntax: Syntax {
            slashes: true,
            triple: true,
            ..PLAIN
        },
        keywords: &[("class", Class), ("mixin", Class), ("enum", Enum)],
        calls: Calls::AfterType,
        with_body: true,
        ..BASE
    },
    Language {
        name: "Zig",
        extensions: &["zig"],
        keywords: &[("fn", Function)],
        ..BASE
    },
];

const C_TYPES: &[Keyword] = &[
    ("struct", Struct),
    ("class", Class),
    ("union", Struct),
    ("enum", Enum),
    ("namespace", Module),
];

const JAVA_TYPES: &[Keyword] = &[
    ("class", Class),
    ("interface", Interface),
    ("enum", Enum),
    ("struct", Struct),
    ("record", Class),
];

/// The number of the language of a file with this path.
pub(crate) fn of_path(path: &str) -> Option<u8> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.')?;
    // A program makes `x.min.js`.
    let is_made = stem.rsplit_once('.').is_some_and(|(_, end)| end == "min");
    if stem.is_empty() || is_made {
        return None;
    }
    let has = |language: &Language| language.extensions.contains(&extension);
    let found = LANGUAGES.iter().position(has)?;
    u8::try_from(found).ok()
}

/// The language with this number.
pub(crate) fn numbered(number: u8) -> Option<&'static Language> {
    LANGUAGES.get(usize::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_their_extension() {
        let name = |path: &str| of_path(path).and_then(numbered).map(|found| found.name);
        for (path, expected) in [
            ("src/main.rs", Some("Rust")),
            ("a.b/x.tsx", Some("TypeScript")),
            ("x.h", Some("C")),
            ("x.hpp", Some("C++")),
            ("deploy.sh", Some("Shell")),
            ("jquery.min.js", None),
            (".rs", None),
            ("README.md", None),
            ("Makefile", None),
            ("a.rs/Makefile", None),
        ] {
            assert_eq!(name(path), expected, "{path}");
        }
    }

    #[test]
    fn no_extension_belongs_to_two_languages() {
        let mut all: Vec<&str> = LANGUAGES
            .iter()
            .flat_map(|language| language.extensions)
            .copied()
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
