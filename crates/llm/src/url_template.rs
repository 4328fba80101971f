//! Base URLs that contain variables, such as `{AWS_REGION}`.

use std::fmt::Write as _;

/// Replaces the variables in `url`. `{A|B}` is the first of the two that is set; variables that are not set
/// remain.
pub(crate) fn expand(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut parts = url.split('{');
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        match name.split('|').find_map(variable) {
            Some(value) => expanded.push_str(value.trim()),
            None => {
                // Writing to a string cannot fail.
                let _ = write!(expanded, "{{{name}}}");
            }
        }
        expanded.push_str(rest);
    }
    // Google's hosts start with the location, except for the global one.
    expanded.replace("://global-aiplatform.", "://aiplatform.")
}
