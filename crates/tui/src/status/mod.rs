//! The surroundings of the conversation: the status line, the footer and the side panel.

pub(crate) mod activity;
pub(crate) mod cache_countdown;
pub(crate) mod footer;
pub(crate) mod presence;
pub(crate) mod side_panel;
pub(crate) mod toast;
pub(crate) mod todo;

pub(crate) use activity::Activity;
pub(crate) use footer::Footer;
pub(crate) use presence::Presence;
pub(crate) use side_panel::SidePanel;
pub(crate) use todo::TodoView;
