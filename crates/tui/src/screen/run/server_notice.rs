//! The notice about a session on a server when the user leaves.

use osier_base::text::{sanitize, single_line};
use osier_protocol::ConnectionState;

/// The last known state of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerState {
    /// The last state of the connection, and its reason or address.
    pub(crate) connection: Option<(ConnectionState, String)>,
    /// The session was joined at least once.
    pub(crate) has_joined: bool,
    /// A run, a command, a background job or a terminal is active.
    pub(crate) is_running: bool,
}

impl ServerState {
    /// The last line of the program. `command` connects again.
    pub(crate) fn text(&self, command: &str) -> String {
        let (state, detail) = match &self.connection {
            Some((state, detail)) => (*state, single_line(&sanitize(detail))),
            None => (ConnectionState::Connecting, String::new()),
        };
        let start = match state {
            ConnectionState::Connected if self.is_running => {
                "The session continues on the server. Reconnect with".to_owned()
            }
            ConnectionState::Connected => {
                "The session stays open on the server; nothing is running. Reconnect with".to_owned()
            }
            ConnectionState::Stopped => {
                "The server was stopped; the session is stored. Start the server, then reconnect with"
                    .to_owned()
            }
            ConnectionState::Closed => {
                "The session was closed on the server; it is stored there. Start another one with"
                    .to_owned()
            }
            ConnectionState::Connecting if !self.has_joined => {
                "No session was joined: there is no connection yet. Try again with".to_owned()
            }
            _ if !self.has_joined => format!("No session was joined: {detail}. Try again with"),
            ConnectionState::Connecting | ConnectionState::Lost | ConnectionState::Failed => {
                format!(
                    "There is no connection: {detail}. If the server runs, the session continues there. Reconnect with"
                )
            }
        };
        format!("{start}: {command}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_tells_what_is_true() {
        let text = |connection: ConnectionState, has_joined, is_running| {
            let state = ServerState {
                connection: Some((connection, "no answer".into())),
                has_joined,
                is_running,
            };
            state.text("osier attach")
        };
        for (found, expected) in [
            (
                text(ConnectionState::Connected, true, true),
                "The session continues on the server. Reconnect with: osier attach",
            ),
            (
                text(ConnectionState::Connected, true, false),
                "The session stays open on the server; nothing is running. Reconnect with: osier attach",
            ),
            (
                text(ConnectionState::Stopped, true, false),
                "The server was stopped; the session is stored. Start the server, then reconnect with: osier attach",
            ),
            (
                text(ConnectionState::Lost, true, true),
                "There is no connection: no answer. If the server runs, the session continues there. \
                 Reconnect with: osier attach",
            ),
            (
                text(ConnectionState::Failed, false, false),
                "No session was joined: no answer. Try again with: osier attach",
            ),
            (
                text(ConnectionState::Closed, true, false),
                "The session was closed on the server; it is stored there. Start another one with: osier attach",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
