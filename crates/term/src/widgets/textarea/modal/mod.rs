//! Modal editing and regions, for keymaps such as `vim` and `emacs`. One state machine: it receives
//! an action ([`Edit`]) or a character, changes the text area, and its mode selects the active
//! keymap contexts.
//!
//! It knows no keys. A command is an action with a count, a register, an operator and an argument;
//! `.` runs the last one again. After every input the cursor is on a grapheme cluster, and one
//! change is one undo step.
//!
//! Lowest layer first: `text`, `motion`, `object`, `search` and `register` are pure; `state` is the
//! state machine; `change`, `insert` and `region` change the text; `command` reads commands. `table`
//! names them all.

mod change;
mod command;
mod insert;
mod motion;
mod object;
mod region;
mod register;
mod search;
mod state;
mod table;
mod text;

pub use self::state::{Edit, EditorRequest, Modal, Mode, Outcome};
pub use self::table::{EDITS, EditInfo};

#[cfg(test)]
mod tests;
