//! Renderers that a build can leave out: without the feature, the source is shown.

#[cfg(feature = "math")]
pub(super) use osier_math::{is_formula, lines as math_lines, lowered, raised};
#[cfg(feature = "mermaid")]
pub(super) use osier_mermaid::diagram;

#[cfg(not(feature = "mermaid"))]
pub(super) fn diagram(_code: &str, _width: usize) -> Option<Vec<String>> {
    None
}

#[cfg(not(feature = "math"))]
pub(super) fn math_lines(_latex: &str) -> Option<Vec<String>> {
    None
}

#[cfg(not(feature = "math"))]
pub(super) fn raised(text: &str) -> String {
    format!("^({text})")
}

#[cfg(not(feature = "math"))]
pub(super) fn lowered(text: &str) -> String {
    format!("_({text})")
}

#[cfg(not(feature = "math"))]
pub(super) fn is_formula(_latex: &str) -> bool {
    false
}
