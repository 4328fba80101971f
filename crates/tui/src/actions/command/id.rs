//! Everything that a key can be bound to.

use super::registry::commands;
use osier_settings::ScreenSettings;
use osier_term::Commands;
use osier_term::widgets::textarea::modal::Edit;

macro_rules! ids {
    ($($category:ident { $($id:ident $name:literal $description:literal $(.$part:ident($($value:expr),*))*;)* })*
     / { $($slash_id:ident $slash:literal $(.$slash_part:ident($($slash_value:expr),*))*;)* }) => {
        /// Everything a key can be bound to.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Command {
            $($($id,)*)*
            $($slash_id,)*
            /// A slash command without a row in the registry, by its place in the table of slash commands.
            Slash(u16),
            /// A step of modal editing.
            Edit(Edit),
            /// A key of a plugin, by its place in the list of such keys.
            Plugin(u16),
        }

        impl Command {
            /// The number of the row of the command in the registry, if there is one.
            pub(super) fn row(self) -> Option<usize> {
                enum Row { $($($id,)*)* $($slash_id,)* }
                let row = match self {
                    $($(Self::$id => Row::$id,)*)*
                    $(Self::$slash_id => Row::$slash_id,)*
                    Self::Slash(_) | Self::Edit(_) | Self::Plugin(_) => return None,
                };
                Some(row as usize)
            }
        }
    };
}

commands!(ids);

impl Commands for Command {
    type Settings = ScreenSettings;
}
