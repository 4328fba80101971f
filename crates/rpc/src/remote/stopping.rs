//! Ends a server from elsewhere.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::dial::{DialError, dial};
use super::{Joining, Target};

/// Has the server there stop what runs, store everything and end; returns when it has.
///
/// # Errors
/// There is none, or it does not let this client in.
pub async fn stop(target: &Target, joining: &Joining) -> Result<(), DialError> {
    let mut dialled = dial(target, joining).await?;
    let frame = json!({"id": "stop", "type": "stop"});
    let failed = |reason: String| DialError::Unreachable {
        place: target.to_string(),
        reason,
    };
    let sent = dialled.socket.send(Message::text(frame.to_string())).await;
    sent.map_err(|error| failed(error.to_string()))?;
    while let Some(Ok(message)) = dialled.socket.next().await {
        // An older server does not know how.
        if let Message::Text(text) = message
            && text.starts_with(r#"{"type":"error""#)
        {
            return Err(failed("it cannot be stopped from here".to_owned()));
        }
    }
    Ok(())
}
