//! Many sessions in one process: who owns their hosts, opens them, says how they stand, unloads those that
//! nobody needs, and closes all of them in order.
//!
//! A [`Room`] is one host with everybody who listens to it. Its events are numbered, so that whoever lost
//! the thread can be told the rest, and what holds at the moment is remembered as the events that say so:
//! who comes later is told those first. A [`Place`] is what a client has in a room: it says who else is there,
//! and which of them writes. [`Hosts`] finds a room by the id of its session, and opens the
//! session again when it was unloaded meanwhile.

mod error;
mod owner;
mod place;
mod presence;
mod ring;
mod room;
mod snapshot;
mod standing;

pub use error::OpenError;
pub use owner::{Hosts, Wanted};
pub use place::Place;
pub use presence::{Introduction, Occupied};
pub use ring::Told;
pub use room::{Activity, Room, RoomInfo, Watch};
pub use snapshot::Snapshot;
