//! The language servers of the session, as lines of the conversation.

use crate::conversation::Transcript;
use osier_agent::Severity;
use osier_base::text;
use osier_protocol::CodeServerInfo;

/// Shows the language servers, or why there is none.
pub(crate) fn show(servers: &[CodeServerInfo], transcript: &mut Transcript) {
    if servers.is_empty() {
        let line = "no language server has started: one starts in a trusted project when the model uses a file of its \
                    kind, if it is installed";
        return transcript.notice(Severity::Info, line);
    }
    for server in servers {
        let severity = match server.error {
            Some(_) => Severity::Warning,
            None => Severity::Info,
        };
        transcript.notice(severity, &line(server));
    }
}

fn line(server: &CodeServerInfo) -> String {
    let CodeServerInfo {
        name,
        root,
        state,
        error,
        diagnostics,
        ..
    } = server;
    let end = match error {
        Some(error) => error.clone(),
        None => format!(
            "{}, {}",
            text::counted(diagnostics.errors, "error", "errors"),
            text::counted(diagnostics.warnings, "warning", "warnings")
        ),
    };
    format!("{name} in {root}: {}, {end}", state.name())
}

#[cfg(test)]
mod tests {
    use osier_protocol::{CodeServerState, DiagnosticCounts};

    use super::*;

    #[test]
    fn a_line_has_the_counts_or_the_error() {
        let mut server = CodeServerInfo {
            name: "gopls".to_owned(),
            root: "/w".to_owned(),
            state: CodeServerState::Ready,
            error: None,
            diagnostics: DiagnosticCounts {
                errors: 1,
                warnings: 2,
            },
            problems: Vec::new(),
            files: Vec::new(),
        };
        assert_eq!(line(&server), "gopls in /w: ready, 1 error, 2 warnings");
        server.state = CodeServerState::Failed;
        server.error = Some("it ended 3 times".to_owned());
        assert_eq!(line(&server), "gopls in /w: failed, it ended 3 times");
    }
}
