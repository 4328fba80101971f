//! The rows of the table by program and subcommand.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::options::Options;
use super::table::{Effect, FORMS, Form, Operands};

/// The rows of a program.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The options before a subcommand.
    pub before: Option<&'static Form>,
    /// The rows of each subcommand, which has up to two words.
    pub by_words: HashMap<(&'static str, &'static str), Vec<&'static Form>>,
    /// Whether the rows contain only some of the forms of the program.
    pub is_part: bool,
}

/// The rows of a program. The table is read once.
pub(super) fn rows(program: &str) -> Option<&'static Rows> {
    static BY_NAME: LazyLock<HashMap<&str, Rows>> = LazyLock::new(|| {
        let mut found: HashMap<&str, Rows> = HashMap::new();
        for form in FORMS {
            for name in form.0.split('|') {
                let mut words = name.split(' ');
                let program = words.next().unwrap_or(name);
                let subcommand = (
                    words.next().unwrap_or_default(),
                    words.next().unwrap_or_default(),
                );
                let rows = found.entry(program).or_default();
                rows.is_part |=
                    matches!(form.3, Operands::Alone(_)) || Options::of(form.2).has("@part");
                if form.1 == Effect::Before {
                    rows.before.get_or_insert(form);
                    continue;
                }
                let list = rows.by_words.entry(subcommand).or_default();
                if !list.iter().any(|row| std::ptr::eq(*row, form)) {
                    list.push(form);
                }
            }
        }
        found
    });
    BY_NAME.get(program)
}
