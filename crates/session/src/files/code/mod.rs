//! Code intelligence: the language servers of a session. Servers report errors after changes of the model, and answer
//! questions of the model about symbols. They run only in a project that the user trusts, and are shared with other
//! sessions.

mod feedback;
mod known;
mod launch;
mod servers;

pub(crate) use self::feedback::CodeFeedback;
pub(crate) use self::launch::Confined;
pub(crate) use self::servers::{AskTrust, CodeIntelligence};
