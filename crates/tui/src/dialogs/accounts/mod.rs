//! Accounts: the lists to sign in and to sign out, and the dialog of a sign-in.

pub(crate) mod login;
mod picker;

use crate::actions::Outbox;
use crate::drawing::{Overlays, overlays};
use login::Login;
use osier_protocol::{Account, Event, Op};

/// Lists the providers to sign in to, or those to sign out of.
pub(crate) fn open(sign_out: bool, overlays: &mut Overlays, outbox: &mut Outbox) {
    overlays.push(picker::id(sign_out), picker::picker(&[], sign_out));
    outbox.push(Op::ListAccounts);
}

/// Updates the open lists.
pub(crate) fn refresh(accounts: &[Account], overlays: &mut Overlays) {
    for sign_out in [false, true] {
        let picker = picker::picker(accounts, sign_out);
        overlays::refresh(overlays, picker::id(sign_out), picker);
    }
}

/// Opens the dialog of a sign-in that has started.
pub(crate) fn open_login(event: &Event, overlays: &mut Overlays) {
    if let Some(login) = Login::new(event) {
        overlays.push_modal(login::ID, login);
    }
}

/// Closes the dialog of a sign-in; false when it was closed before.
pub(crate) fn close_login(overlays: &mut Overlays) -> bool {
    overlays.remove(login::ID)
}
