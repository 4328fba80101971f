//! Stops a server.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::connect::{ConnectError, connect};
use super::{AttachOptions, Target};

/// Stops a server. It stops what runs and stores all sessions; returns when it has exited.
///
/// # Errors
/// The server cannot be reached, or rejects the connection.
pub async fn stop(target: &Target, options: &AttachOptions) -> Result<(), ConnectError> {
    let mut server = connect(target, options).await?;
    let frame = json!({"id": "stop", "type": "stop"});
    let failed = |reason: String| ConnectError::Unreachable {
        target: target.to_string(),
        reason,
    };
    let sent = server.socket.send(Message::text(frame.to_string())).await;
    sent.map_err(|error| failed(error.to_string()))?;
    while let Some(Ok(message)) = server.socket.next().await {
        // Older servers do not support `stop`.
        if let Message::Text(text) = message
            && text.starts_with(r#"{"type":"error""#)
        {
            return Err(failed("this server cannot be stopped remotely".to_owned()));
        }
    }
    Ok(())
}
