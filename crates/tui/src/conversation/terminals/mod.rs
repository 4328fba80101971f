//! Terminal sessions: their panel with the live screen, in which the user can type.

mod keys;
mod panel;

use crate::actions::Outbox;
use crate::drawing::Overlays;
use osier_protocol::{Event, Op};
pub(crate) use panel::running;
use panel::{ID, Terminals};

/// Opens the panel.
pub(crate) fn open(overlays: &mut Overlays, outbox: &mut Outbox) {
    overlays.push(ID, Terminals::default());
    outbox.push(Op::ListTerminals);
}

/// Opens the panel for a terminal that starts while so many run: keys go to its program at once.
pub(crate) fn open_new(running: usize, overlays: &mut Overlays, outbox: &mut Outbox) {
    overlays.push(ID, Terminals::awaiting(running));
    outbox.push(Op::ListTerminals);
}

/// The request that gives the entered terminal the size of the panel, if it has another.
pub(crate) fn take_ops(overlays: &mut Overlays) -> Option<Op> {
    overlays.find::<Terminals>(ID)?.fit_entered()
}

/// Requests the screens of these terminals.
pub(crate) fn show(terminals: Vec<String>, outbox: &mut Outbox) {
    for terminal in terminals {
        outbox.push(Op::ShowTerminal { terminal });
    }
}

/// Shows news in the open panel.
pub(crate) fn on_event(event: &Event, overlays: &mut Overlays, outbox: &mut Outbox) {
    let Some(panel) = overlays.find::<Terminals>(ID) else {
        return;
    };
    match event {
        Event::Terminals { terminals } => {
            for op in panel.set(terminals) {
                outbox.push(op);
            }
        }
        Event::TerminalScreen { id, screen } => panel.show(id, screen),
        _ => {}
    }
}
