//! Notices about exported and imported sessions.

use crate::conversation::Transcript;
use osier_agent::Severity;
use osier_base::path;
use osier_protocol::TransferEvent;

/// Shows the result of an export or an import.
pub(crate) fn on_event(event: &TransferEvent, transcript: &mut Transcript) {
    match event {
        TransferEvent::SessionExported { exported } => {
            let text = format!(
                "exported to {} ({} KB)",
                path::below_home(&exported.path),
                exported.bytes.div_ceil(1024)
            );
            transcript.notice(Severity::Info, &text);
            if exported.summary.unreadable > 0 {
                let text = format!(
                    "{} damaged entries were skipped",
                    exported.summary.unreadable
                );
                transcript.notice(Severity::Warning, &text);
            }
        }
        TransferEvent::SessionImported { imported } => {
            for line in imported.described() {
                transcript.notice(Severity::Info, &line);
            }
        }
    }
}
