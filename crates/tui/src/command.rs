//! Everything a key can be bound to. One table: the keymap checks its files against it, the palette
//! and the help list it.

mod table;

pub use table::commands;

/// A bindable action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    // The whole program.
    Interrupt,
    ClearOrExit,
    Exit,
    Suspend,
    Palette,
    Help,
    ModelPicker,
    CycleModel,
    CycleModelBackward,
    CycleThinking,
    CycleRole,
    CyclePermissions,
    Permissions,
    SessionPicker,
    NewSession,
    // The open sessions.
    OpenSessions,
    NewBeside,
    NextSession,
    PreviousSession,
    NextWaiting,
    PreviousWaiting,
    CloseSession,
    TakeOver,
    Session1,
    Session2,
    Session3,
    Session4,
    Session5,
    Session6,
    Session7,
    Session8,
    Session9,
    Jobs,
    Tools,
    Themes,
    Settings,
    Keymap,
    CopyAnswer,
    ToggleThinking,
    ToggleTodo,
    ToggleTools,
    Redraw,
    Tree,
    RetryModel,
    Context,
    // The tree.
    Fold,
    Unfold,
    PanLeft,
    PanRight,
    TreeFilter,
    TreeSummarize,
    TreeWithFiles,
    TreeFiles,
    TreeFork,
    TreeCompare,
    TreeLabel,
    TreeDelete,
    TreeRestore,
    Answer,
    // Changes of files.
    Changes,
    PreviousFile,
    NextFile,
    PreviousHunk,
    NextHunk,
    OtherRange,
    DiffLayout,
    AcceptHunk,
    RejectHunk,
    CommentHunk,
    RevertHunk,
    EditHunk,
    SendReview,
    // Stored sessions.
    SessionWords,
    SessionScope,
    SessionSort,
    SessionNamed,
    SessionName,
    SessionDelete,
    SessionRestore,
    SessionBeside,
    SessionPin,
    SessionArchive,
    SessionArchived,
    // Sending.
    Submit,
    FollowUp,
    RecallQueue,
    ExternalEditor,
    HistorySearch,
    Stash,
    StashList,
    // The transcript.
    PageUp,
    PageDown,
    LineUp,
    LineDown,
    Top,
    Bottom,
    PreviousPrompt,
    NextPrompt,
    Browse,
    Search,
    PreviousCall,
    NextCall,
    PreviousError,
    NextError,
    PreviousEdit,
    NextEdit,
    PreviousBlock,
    NextBlock,
    SelectLines,
    CopyBlock,
    CopyCommand,
    ToggleBlock,
    OpenBlock,
    PageBlock,
    // Writing.
    Newline,
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    BufferStart,
    BufferEnd,
    DeleteBackward,
    DeleteForward,
    DeleteWordBackward,
    DeleteWordForward,
    KillToLineStart,
    KillToLineEnd,
    Yank,
    YankPop,
    Undo,
    Redo,
    Complete,
    AttachPicture,
    // Lists.
    First,
    Last,
    Accept,
    Dismiss,
    Remove,
    Favourite,
    Cancel,
}

/// A command with its name in keymaps and its sentence in help.
#[derive(Debug, Clone, Copy)]
pub struct CommandInfo {
    pub command: Command,
    pub name: &'static str,
    pub description: &'static str,
    /// Whether the palette offers it: it makes sense without a key.
    pub in_palette: bool,
}

impl Command {
    /// The command called `name` in keymaps.
    pub fn from_name(name: &str) -> Option<Self> {
        commands()
            .find(|info| info.name == name)
            .map(|info| info.command)
    }

    pub fn info(self) -> &'static CommandInfo {
        const NONE: CommandInfo = CommandInfo {
            command: Command::Cancel,
            name: "",
            description: "",
            in_palette: false,
        };
        // The test below holds the table complete.
        commands()
            .find(|info| info.command == self)
            .unwrap_or(&NONE)
    }

    /// Every name, for checking keymaps.
    pub fn names() -> Vec<&'static str> {
        commands().map(|info| info.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_term::widgets::textarea::modal::Edit;

    #[test]
    fn every_command_has_one_name_and_is_found_by_it() {
        let mut names = Command::names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), commands().count());
        assert_eq!(commands().count(), Command::Cancel as usize + 1);
        for info in commands() {
            assert_eq!(Edit::from_name(info.name), None, "{}", info.name);
            assert_eq!(Command::from_name(info.name), Some(info.command));
        }
    }
}
