//! Presence: the clients of the session, and the one that has control.

use crate::actions::{Command, Outbox, Toast};
use osier_base::text;
use osier_protocol::{Client, Op};
use osier_term::Keymap;

/// Columns of a name on the footer.
const NAME: usize = 24;

/// The clients of the session as last reported; empty with a single client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Presence {
    clients: Vec<Client>,
    writer: Option<u64>,
    you: Option<u64>,
}

impl Presence {
    /// The presence of these clients.
    pub(crate) fn of(clients: &[Client], writer: Option<u64>, you: Option<u64>) -> Self {
        if clients.len() < 2 {
            return Self::default();
        }
        Self {
            clients: clients.to_vec(),
            writer,
            you,
        }
    }

    /// The active writer, when it is another client.
    pub(crate) fn writer(&self) -> Option<&Client> {
        let writer = self.writer.filter(|writer| Some(*writer) != self.you)?;
        self.clients.iter().find(|client| client.id == writer)
    }

    /// How many clients are connected and which has control; empty with a single client.
    pub(crate) fn summary(&self) -> String {
        if self.clients.is_empty() {
            return String::new();
        }
        let here = self.clients.iter().filter(|client| !client.away).count();
        let control = match self.writer() {
            Some(other) => {
                let name = text::truncate(&other.name, NAME);
                let does = if other.away { "is away" } else { "has control" };
                format!(" · {name} {does}")
            }
            None if self.writer.is_some() => " · you have control".to_owned(),
            None => String::new(),
        };
        format!("{here} connected{control}")
    }
}

impl Presence {
    /// Shows a toast when another client has control; what was typed stays.
    pub(crate) fn is_controlled_elsewhere(
        &self,
        keymap: &Keymap<Command>,
        outbox: &mut Outbox,
    ) -> bool {
        let Some(writer) = self.writer() else {
            return false;
        };
        let keys = keymap.keys_for("global", Command::TakeOver);
        let key = keys.first().map_or("/takeover", String::as_str);
        let away = if writer.away { " and is away" } else { "" };
        let text = format!("{} has control{away}: {key} to take control", writer.name);
        outbox.push(Toast::error(text));
        true
    }

    /// Requests the write lock of the session.
    pub(crate) fn take_over(&self, outbox: &mut Outbox) {
        if self.writer().is_none() {
            return outbox.push(Toast::info("no other client has control"));
        }
        outbox.push(Toast::info("you have control"));
        outbox.push(Op::TakeOver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presence_names_the_active_writer() {
        let client = |id, name: &str, away| Client {
            id,
            name: name.to_owned(),
            away,
        };
        let (me, anna) = (client(1, "me@here", false), client(2, "anna@there", false));
        let summary = |clients: &[Client], writer| Presence::of(clients, writer, Some(1)).summary();
        assert_eq!(summary(std::slice::from_ref(&me), Some(1)), "");
        let both = [me.clone(), anna];
        assert_eq!(summary(&both, None), "2 connected");
        assert_eq!(summary(&both, Some(1)), "2 connected · you have control");
        assert_eq!(
            summary(&both, Some(2)),
            "2 connected · anna@there has control"
        );
        let cut = [me, client(2, "anna@there", true)];
        assert_eq!(summary(&cut, Some(2)), "1 connected · anna@there is away");
    }
}
