//! Tools that talk with the user: questions, plans and the to-do list.

pub(crate) mod ask_user;
pub(crate) mod plan;
pub(crate) mod todo;
