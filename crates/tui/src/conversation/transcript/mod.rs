//! The conversation as a virtual list: only what is visible is laid out and drawn, so a frame costs the
//! same in a session of any length.
//!
//! The position is either the end, which is followed, or a row of a cell, which stays where it is
//! while the model streams. No total height is ever computed. Only the end of a long conversation
//! and the part that is read are in memory (`pages`).

mod answer;
mod browse;
pub(crate) mod call_text;
mod cell;
mod cell_rows;
mod cell_style;
mod events;
mod find;
mod group;
mod illustration;
mod jump;
mod live;
mod output;
mod pages;
mod pick;
mod proposals;
mod selection;
mod shell;
mod state;
mod strip;
mod subagents;
pub(crate) mod task;
mod tool;
mod turn;
mod unseen;
mod view;

pub use live::Printing;
pub(crate) use output::{Painted, tail_rows};
pub(crate) use state::{Transcript, Unit};
pub(crate) use tool::proposal;
