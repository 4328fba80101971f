//! A model call outside of the conversation: a summary or a review.

use futures_util::StreamExt as _;
use osier_agent::Transport;
use osier_llm::{MessageBuilder, Request, TurnStatus};

/// Reads the answer into `builder`, until it ends.
pub(crate) async fn follow(
    transport: &dyn Transport,
    request: Request,
    builder: &mut MessageBuilder,
) -> TurnStatus {
    let mut stream = match transport.stream(request).await {
        Ok(stream) => stream,
        Err(status) => return status,
    };
    while let Some(event) = stream.next().await {
        if let Some(status) = builder.apply(&event) {
            return status;
        }
    }
    TurnStatus::InvalidResponse {
        message: "the answer ended without an end marker".to_owned(),
    }
}
