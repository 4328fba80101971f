//! The Markdown route of a build without the feature `transfer`, which contains the renderer.

use axum::extract::Request;

use super::error::{ApiError, ErrorCode};

#[derive(Debug, Default)]
pub(super) struct Renderer {}

impl Renderer {
    #[expect(
        clippy::unused_async,
        reason = "the renderer of the feature `transfer` awaits"
    )]
    pub(super) async fn answer(&self, _request: Request) -> Result<(), ApiError> {
        let message = "this build cannot render Markdown; build osier with the feature `transfer`";
        Err(ApiError::new(ErrorCode::NotFound, message))
    }
}
