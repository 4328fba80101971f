//! Requests for import and export.

use futures_util::future::FutureExt as _;

use super::run::{Actor, cx};
use crate::sessions::transfer;
use osier_agent::Severity;
use osier_protocol::{Event, Imported, Opening, TransferEvent, TransferOp};

impl Actor {
    pub(super) fn apply_transfer(&self, op: TransferOp) {
        let done =
            self.async_callback(|actor, (imported, open)| actor.imported(imported, open).boxed());
        let cx = cx(&self.setup, &self.emitter, self.session.as_ref());
        transfer::handle(op, cx, done);
    }

    /// A session was imported; `open` opens it.
    async fn imported(&mut self, imported: Imported, open: bool) {
        if open && self.is_streaming() {
            let text = format!(
                "the agent is working: `/resume {}` opens the imported session later",
                imported.id
            );
            self.notice(Severity::Warning, text);
        } else if open {
            let path = imported.path.to_string_lossy().into_owned();
            self.resume(path, Opening::Itself).await;
        }
        let imported = Box::new(imported);
        self.publish(Event::Transfer(TransferEvent::SessionImported { imported }));
    }
}
