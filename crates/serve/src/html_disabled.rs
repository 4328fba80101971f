//! The Markdown route of a build without the feature `transfer`, which contains the renderer.

use super::fault::{Code, Fault};

pub(super) async fn render() -> Fault {
    Fault::new(
        Code::NotFound,
        "this build cannot render Markdown; build osier with the feature `transfer`",
    )
}
