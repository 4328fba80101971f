//! Others who are in the same session: who they are, and which of them writes.

use std::time::Instant;

use crate::app::App;
use crate::command::Command;
use osier_base::text;
use osier_session::host::{Client, Op};

/// Columns of a name on the footer.
const NAME: usize = 24;

/// Everybody who is in the session, as it was told last; nobody while one is alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Presence {
    clients: Vec<Client>,
    writer: Option<u64>,
    you: Option<u64>,
}

impl Presence {
    /// Those who are there.
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

    /// The one who writes, when that is somebody else.
    pub(crate) fn writer(&self) -> Option<&Client> {
        let writer = self.writer.filter(|writer| Some(*writer) != self.you)?;
        self.clients.iter().find(|client| client.id == writer)
    }

    /// How many are here and who writes, in a few words; nothing for one that is alone.
    pub(crate) fn words(&self) -> String {
        if self.clients.is_empty() {
            return String::new();
        }
        let here = self.clients.iter().filter(|client| !client.away).count();
        let writes = match self.writer() {
            Some(other) => {
                let name = text::truncate(&other.name, NAME);
                let does = if other.away { "is away" } else { "writes" };
                format!(" · {name} {does}")
            }
            None if self.writer.is_some() => " · you write".to_owned(),
            None => String::new(),
        };
        format!("{here} here{writes}")
    }
}

impl App {
    /// Says who writes when that is somebody else: what was typed stays.
    pub(crate) fn is_held(&mut self, now: Instant) -> bool {
        let Some(writer) = self.footer.presence.writer() else {
            return false;
        };
        let keys = self.keymap.keys_for("global", Command::TakeOver);
        let key = keys.first().map_or("/takeover", String::as_str);
        let does = if writer.away {
            "is away and has the pen"
        } else {
            "writes"
        };
        let text = format!("{} {does}: {key} takes over", writer.name);
        self.toast(&text, true, now);
        true
    }

    /// Writes from now on.
    pub(crate) fn take_over(&mut self, now: Instant) {
        if self.footer.presence.writer().is_none() {
            return self.toast("nobody else writes here", false, now);
        }
        self.toast("you take over", false, now);
        self.ops.push(Op::TakeOver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_are_said_in_a_few_words() {
        let client = |id, name: &str, away| Client {
            id,
            name: name.to_owned(),
            away,
        };
        let (me, anna) = (client(1, "me@here", false), client(2, "anna@there", false));
        let words = |clients: &[Client], writer| Presence::of(clients, writer, Some(1)).words();
        assert_eq!(words(std::slice::from_ref(&me), Some(1)), "");
        let both = [me.clone(), anna];
        assert_eq!(words(&both, None), "2 here");
        assert_eq!(words(&both, Some(1)), "2 here · you write");
        assert_eq!(words(&both, Some(2)), "2 here · anna@there writes");
        let cut = [me, client(2, "anna@there", true)];
        assert_eq!(words(&cut, Some(2)), "1 here · anna@there is away");
    }
}
