//! Renderers that a build can leave out: without the feature, the source is shown.

#[cfg(feature = "math")]
pub(super) use osier_math::{lines as math_lines, with_dollars};
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
pub(super) fn with_dollars(source: &str) -> std::borrow::Cow<'_, str> {
    source.into()
}
