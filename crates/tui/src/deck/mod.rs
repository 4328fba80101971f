//! The sessions that are open beside one another: one is shown, the others go on unseen.
//!
//! A [`Card`] is a session with its interface: what is typed, where one reads, what waits for an answer stay on
//! it while another is shown. The [`Deck`] owns them. What belongs to the terminal (colours, pictures, the
//! highlighter) is on the card in front alone and goes along when another comes there. Whoever is shown is told
//! how the others stand, as a [`Roster`].

mod app;
mod card;
mod list;
mod roster;
mod table;

pub use app::DeckRequest;
pub(super) use card::Card;
pub use roster::{Entry, Roster, State};
pub(super) use table::Deck;
