//! The Markdown route of a build without the feature `transfer`, which contains the renderer.

use super::error::{ApiError, ErrorCode};

pub(super) async fn render() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "this build cannot render Markdown; build osier with the feature `transfer`",
    )
}
