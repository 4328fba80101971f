//! The action of a hook: what osier runs.

use super::callback::Callback;
use super::service::Service;

#[derive(Debug, Clone)]
pub(super) enum Action {
    Program,
    /// A function of the program that uses osier.
    Function(Callback),
    Service(Box<Service>),
}
