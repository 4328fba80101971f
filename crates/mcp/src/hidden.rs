//! Values of variables in a server's entry. They may be keys, so messages show the name of the variable instead.

use std::fmt;
use std::sync::Arc;

use osier_base::secrets::hide_known;

/// A shorter value is no secret.
const MIN_LENGTH: usize = 4;

/// Values that no message contains. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(Arc<Vec<(String, String)>>);

impl Hidden {
    /// Hides `value`, which the variable `name` has.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        let values = Arc::make_mut(&mut self.0);
        if value.len() < MIN_LENGTH || values.iter().any(|(other, _)| other == value) {
            return;
        }
        values.push((value.to_owned(), format!("${{{name}}}")));
        // A value may contain another one.
        osier_base::sort::by_key(values, |(value, _)| std::cmp::Reverse(value.len()));
    }

    /// `text` with the names of variables in place of their values.
    ///
    /// Other keys of osier are removed: a server can quote its headers.
    pub(super) fn hide(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for (value, name) in self.0.iter() {
            if shown.contains(value) {
                shown = shown.replace(value, name);
            }
        }
        hide_known(&shown).into_owned()
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(_, name)| name);
        formatter.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_replaced_by_their_variables() {
        let mut hidden = Hidden::default();
        for (name, value) in [
            ("A", "key-1"),
            ("B", "key-1234"),
            ("N", "1"),
            ("C", "key-1"),
        ] {
            hidden.add(name, value);
        }
        assert_eq!(
            hidden.hide("https://h/key-1/key-1234?n=1"),
            "https://h/${A}/${B}?n=1"
        );
        assert_eq!(format!("{hidden:?}"), r#"["${B}", "${A}"]"#);
    }
}
