//! The definitions of a file, by its tree-sitter grammar: the syntax tree is walked down to the bodies of functions.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

use crate::definition::Definition;
use crate::kind::Kind;

/// Larger files are not parsed.
pub(crate) const SIZE_LIMIT: usize = 256 * 1024;
/// A file that takes longer is not parsed to the end.
const TIME_LIMIT: Duration = Duration::from_millis(100);
/// Definitions deeper in the syntax tree are not found.
const DEPTH_LIMIT: usize = 64;

/// The grammars in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    Rust,
    Python,
    /// With JSX, so that it reads TypeScript and JavaScript.
    TypeScript,
    Go,
    C,
    Java,
}

/// How the visitor handles a node of the syntax tree.
enum Step {
    Define(Kind),
    /// The children of the node may be definitions.
    Enter,
    Skip,
}

/// The definitions of a file, and whether the grammar understood all of it; `None` when it cannot be parsed.
pub(crate) fn definitions(grammar: Grammar, text: &[u8]) -> Option<(Vec<Definition>, bool)> {
    if text.len() > SIZE_LIMIT {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&grammar.language()).ok()?;
    let end = Instant::now() + TIME_LIMIT;
    let mut progress = |_: &tree_sitter::ParseState| {
        if Instant::now() < end {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options))?;
    let root = tree.root_node();
    let mut found = Vec::new();
    collect(grammar, &mut root.walk(), text, &mut found);
    Some((found, !root.has_error()))
}

/// Walks without recursion, because the depth of the tree is the author's choice.
fn collect(
    grammar: Grammar,
    cursor: &mut TreeCursor<'_>,
    text: &[u8],
    found: &mut Vec<Definition>,
) {
    let mut depth = 0;
    if !cursor.goto_first_child() {
        return;
    }
    loop {
        let node = cursor.node();
        let step = grammar.step(node);
        if let Step::Define(kind) = step
            && let Some(name) = name_of(node)
            && let Some(definition) = Definition::of(text, name.byte_range(), kind)
        {
            found.push(Definition {
                line: node_line(node, name),
                ..definition
            });
        }
        let enters = match step {
            Step::Define(kind) => kind.contains() || kind == Kind::Type,
            Step::Enter => true,
            Step::Skip => false,
        };
        if enters && depth < DEPTH_LIMIT && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if depth == 0 || !cursor.goto_parent() {
                return;
            }
            depth -= 1;
        }
    }
}

/// The line of the name: attributes and decorators are above it.
fn node_line(_: Node<'_>, name: Node<'_>) -> u32 {
    u32::try_from(name.start_position().row).map_or(u32::MAX, |row| row.saturating_add(1))
}

/// The node with the name of a definition. For a C function, it is inside the declarators.
fn name_of(node: Node<'_>) -> Option<Node<'_>> {
    if let Some(name) = node.child_by_field_name("name") {
        return Some(name);
    }
    let mut inner = node
        .child_by_field_name("declarator")
        .or_else(|| node.child_by_field_name("left"))?;
    for _ in 0..8 {
        match inner.child_by_field_name("declarator") {
            Some(deeper) => inner = deeper,
            None if inner.kind() == "parenthesized_declarator" => inner = inner.named_child(0)?,
            None => break,
        }
    }
    let is_name = matches!(
        inner.kind(),
        "identifier" | "type_identifier" | "field_identifier"
    );
    is_name.then_some(inner)
}

impl Grammar {
    fn language(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }

    #[expect(
        clippy::match_same_arms,
        reason = "one row for each node of a language"
    )]
    fn step(self, node: Node<'_>) -> Step {
        use Kind::{
            Class, Constant, Enum, Function, Interface, Macro, Module, Struct, Trait, Type,
        };
        let kind = node.kind();
        if kind == "ERROR" {
            return Step::Enter;
        }
        let defined = match (self, kind) {
            (Self::Rust, "function_item" | "function_signature_item") => Function,
            (Self::Rust, "struct_item" | "union_item") => Struct,
            (Self::Rust, "enum_item") => Enum,
            (Self::Rust, "trait_item") => Trait,
            (Self::Rust, "type_item" | "associated_type") => Type,
            // `mod name;` only names a file.
            (Self::Rust, "mod_item") if node.child_by_field_name("body").is_some() => Module,
            (Self::Rust, "const_item" | "static_item") => Constant,
            (Self::Rust, "macro_definition") => Macro,
            (Self::Python, "function_definition") => Function,
            (Self::Python, "class_definition") => Class,
            (Self::Python, "assignment") if is_at_top(node) => Constant,
            (
                Self::TypeScript,
                "function_declaration"
                | "generator_function_declaration"
                | "function_signature"
                | "method_definition"
                | "method_signature"
                | "abstract_method_signature",
            ) => Function,
            (Self::TypeScript, "class_declaration" | "abstract_class_declaration") => Class,
            (Self::TypeScript, "interface_declaration") => Interface,
            (Self::TypeScript, "enum_declaration") => Enum,
            (Self::TypeScript, "type_alias_declaration") => Type,
            (Self::TypeScript, "internal_module" | "module") => Module,
            (Self::TypeScript, "variable_declarator") => {
                let value = node.child_by_field_name("value").map(|value| value.kind());
                match value {
                    Some("arrow_function" | "function_expression") => Function,
                    Some("class") => Class,
                    _ => Constant,
                }
            }
            (Self::Go, "function_declaration" | "method_declaration") => Function,
            (Self::Go, "type_spec" | "type_alias") => {
                match node.child_by_field_name("type").map(|of| of.kind()) {
                    Some("struct_type") => Struct,
                    Some("interface_type") => Interface,
                    _ => Type,
                }
            }
            (Self::Go, "const_spec" | "var_spec") => Constant,
            (Self::C, "function_definition") => Function,
            (Self::C, "struct_specifier" | "union_specifier") if has_body(node) => Struct,
            (Self::C, "enum_specifier") if has_body(node) => Enum,
            (Self::C, "type_definition") => Type,
            (Self::C, "preproc_def" | "preproc_function_def") => Macro,
            (Self::Java, "method_declaration" | "constructor_declaration") => Function,
            (Self::Java, "class_declaration" | "record_declaration") => Class,
            (Self::Java, "interface_declaration" | "annotation_type_declaration") => Interface,
            (Self::Java, "enum_declaration") => Enum,
            _ => return self.other(kind),
        };
        Step::Define(defined)
    }

    /// The step for nodes that only contain definitions.
    fn other(self, kind: &str) -> Step {
        let enters = match self {
            Self::Rust => matches!(
                kind,
                "impl_item" | "declaration_list" | "foreign_mod_item" | "extern_modifier"
            ),
            Self::Python => matches!(
                kind,
                "block"
                    | "decorated_definition"
                    | "expression_statement"
                    | "if_statement"
                    | "try_statement"
                    | "else_clause"
                    | "except_clause"
            ),
            Self::TypeScript => matches!(
                kind,
                "export_statement"
                    | "ambient_declaration"
                    | "class_body"
                    | "interface_body"
                    | "statement_block"
                    | "lexical_declaration"
                    | "variable_declaration"
                    | "expression_statement"
            ),
            Self::Go => matches!(
                kind,
                "type_declaration"
                    | "const_declaration"
                    | "var_declaration"
                    | "var_spec_list"
                    | "const_spec_list"
            ),
            Self::C => matches!(
                kind,
                "declaration"
                    | "linkage_specification"
                    | "declaration_list"
                    | "preproc_ifdef"
                    | "preproc_if"
                    | "preproc_else"
                    | "preproc_elif"
            ),
            Self::Java => matches!(
                kind,
                "class_body" | "interface_body" | "enum_body" | "enum_body_declarations"
            ),
        };
        if enters { Step::Enter } else { Step::Skip }
    }
}

fn has_body(node: Node<'_>) -> bool {
    node.child_by_field_name("body").is_some()
}

/// Whether an assignment is a statement of the file itself.
fn is_at_top(node: Node<'_>) -> bool {
    let statement = node.parent();
    let parent = statement.and_then(|statement| statement.parent());
    parent.is_some_and(|parent| parent.kind() == "module")
}
