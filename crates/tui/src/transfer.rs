//! Notices about exported and imported sessions.

use crate::app::App;
use osier_agent::Severity;
use osier_base::path;
use osier_protocol::TransferEvent;

impl App {
    pub(crate) fn on_transfer(&mut self, event: &TransferEvent) {
        match event {
            TransferEvent::SessionExported { exported } => {
                let text = format!(
                    "exported to {} ({} KB)",
                    path::below_home(&exported.path),
                    exported.bytes.div_ceil(1024)
                );
                self.transcript.notice(Severity::Info, &text);
                if exported.summary.unreadable > 0 {
                    let text = format!(
                        "{} damaged entries were skipped",
                        exported.summary.unreadable
                    );
                    self.transcript.notice(Severity::Warning, &text);
                }
            }
            TransferEvent::SessionImported { imported } => {
                for line in imported.described() {
                    self.transcript.notice(Severity::Info, &line);
                }
            }
        }
    }
}
