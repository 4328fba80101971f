//! The language servers of the session, as lines of the conversation.

use crate::conversation::Transcript;
use osier_agent::Severity;
use osier_protocol::CodeServerInfo;

/// Shows the language servers, or why there is none.
pub(crate) fn show(servers: &[CodeServerInfo], transcript: &mut Transcript) {
    if servers.is_empty() {
        return transcript.notice(Severity::Info, CodeServerInfo::NONE);
    }
    for server in servers {
        let severity = match server.error {
            Some(_) => Severity::Warning,
            None => Severity::Info,
        };
        transcript.notice(severity, &server.line());
    }
}
