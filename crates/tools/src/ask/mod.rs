//! Tools that talk with the user: questions, plans and the list of what is to do.

pub(crate) mod ask_user;
pub(crate) mod plan;
pub(crate) mod todo;
