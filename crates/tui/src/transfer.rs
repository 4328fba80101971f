//! Sessions that left and came, as the screen tells of them.

use crate::app::App;
use osier_agent::Severity;
use osier_base::path;
use osier_session::host::ExchangeEvent;

impl App {
    pub(crate) fn on_transfer(&mut self, event: &ExchangeEvent) {
        match event {
            ExchangeEvent::SessionExported { exported } => {
                let text = format!(
                    "exported to {} ({} KB)",
                    path::below_home(&exported.path),
                    exported.bytes.div_ceil(1024)
                );
                self.transcript.notice(Severity::Info, &text);
                if exported.summary.unreadable > 0 {
                    let text = format!(
                        "{} damaged entries are not in it",
                        exported.summary.unreadable
                    );
                    self.transcript.notice(Severity::Warning, &text);
                }
            }
            ExchangeEvent::SessionImported { imported } => {
                for line in imported.described() {
                    self.transcript.notice(Severity::Info, &line);
                }
            }
        }
    }
}
