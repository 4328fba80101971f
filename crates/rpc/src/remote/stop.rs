//! Stops a server.

use futures_util::StreamExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::connect::{Attempt, connect};
use super::failure::{ConnectError, FailureKind};
use super::{AttachOptions, Target};

/// Stops a server. It stops what runs and stores all sessions; returns when it has exited.
///
/// # Errors
/// The server cannot be reached, or rejects the connection.
pub async fn stop(target: &Target, options: &AttachOptions) -> Result<(), ConnectError> {
    let frame = json!({"id": "stop", "type": "stop"});
    let mut server = connect(target, options, Attempt::default(), &[frame]).await?;
    while let Some(Ok(message)) = server.socket.next().await {
        // Older servers do not support `stop`.
        if let Message::Text(text) = message
            && text.starts_with(r#"{"type":"error""#)
        {
            let cause = "this server cannot be stopped remotely";
            return Err(ConnectError::new(FailureKind::OtherVersion, target, cause));
        }
    }
    Ok(())
}
