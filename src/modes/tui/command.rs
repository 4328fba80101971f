//! Everything a key can be bound to. One table: the keymap checks its files against it, the palette
//! and the help list it.

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
    CyclePermissions,
    Permissions,
    SessionPicker,
    NewSession,
    Jobs,
    Tools,
    CopyAnswer,
    ToggleThinking,
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
    // Stored sessions.
    SessionWords,
    SessionScope,
    SessionSort,
    SessionNamed,
    SessionName,
    SessionDelete,
    SessionRestore,
    // Sending.
    Submit,
    FollowUp,
    RecallQueue,
    ExternalEditor,
    HistorySearch,
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
    // Lists.
    First,
    Last,
    Accept,
    Dismiss,
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

const fn info(
    command: Command,
    name: &'static str,
    description: &'static str,
    in_palette: bool,
) -> CommandInfo {
    CommandInfo {
        command,
        name,
        description,
        in_palette,
    }
}

/// Every command, grouped as help shows them.
pub const COMMANDS: &[CommandInfo] = &[
    info(
        Command::Submit,
        "submit",
        "send the prompt; while the model works, steer it",
        false,
    ),
    info(
        Command::FollowUp,
        "follow_up",
        "queue the prompt for when the model is done",
        false,
    ),
    info(Command::Newline, "newline", "start a new line", false),
    info(
        Command::Interrupt,
        "interrupt",
        "stop the model and its commands",
        true,
    ),
    info(
        Command::RecallQueue,
        "recall_queue",
        "take queued messages back into the editor",
        true,
    ),
    info(Command::ModelPicker, "model_picker", "choose a model", true),
    info(
        Command::CycleModel,
        "cycle_model",
        "next model of the cycling set",
        true,
    ),
    info(
        Command::CycleModelBackward,
        "cycle_model_backward",
        "previous model of the cycling set",
        true,
    ),
    info(
        Command::CycleThinking,
        "cycle_thinking",
        "next thinking level",
        true,
    ),
    info(
        Command::CyclePermissions,
        "cycle_permissions",
        "next permission mode: yolo, ask, plan",
        true,
    ),
    info(
        Command::Permissions,
        "permissions",
        "permission mode and rules",
        true,
    ),
    info(
        Command::SessionPicker,
        "session_picker",
        "resume a session",
        true,
    ),
    info(
        Command::NewSession,
        "new_session",
        "start a new session",
        true,
    ),
    info(
        Command::Jobs,
        "jobs",
        "the background jobs, their output, and killing one",
        true,
    ),
    info(
        Command::Tools,
        "tools",
        "the model's tools, their cost, and turning one off",
        true,
    ),
    info(Command::Palette, "palette", "every action by name", false),
    info(Command::Help, "help", "the keys", true),
    info(
        Command::CopyAnswer,
        "copy_answer",
        "copy the last answer",
        true,
    ),
    info(
        Command::ToggleThinking,
        "toggle_thinking",
        "fold or unfold thinking",
        true,
    ),
    info(
        Command::ToggleTools,
        "toggle_tools",
        "fold or unfold tool output",
        true,
    ),
    info(
        Command::ExternalEditor,
        "external_editor",
        "write the prompt in $VISUAL or $EDITOR",
        true,
    ),
    info(
        Command::HistorySearch,
        "history_search",
        "search earlier prompts",
        true,
    ),
    info(Command::Tree, "tree", "the session as a tree", true),
    info(
        Command::Changes,
        "changes",
        "what the session changed in the files",
        true,
    ),
    info(
        Command::PreviousFile,
        "previous_file",
        "the file before",
        false,
    ),
    info(Command::NextFile, "next_file", "the next file", false),
    info(
        Command::PreviousHunk,
        "previous_hunk",
        "the change before",
        false,
    ),
    info(Command::NextHunk, "next_hunk", "the next change", false),
    info(
        Command::OtherRange,
        "other_range",
        "changes since the last prompt, or of the whole session",
        false,
    ),
    info(
        Command::RetryModel,
        "retry_model",
        "send the last prompt to another model, as a branch",
        true,
    ),
    info(
        Command::Context,
        "context",
        "what fills the context window",
        true,
    ),
    info(
        Command::Fold,
        "fold",
        "fold the branch; on a folded one, up to where it began",
        false,
    ),
    info(Command::Unfold, "unfold", "unfold the branch", false),
    info(
        Command::PanLeft,
        "pan_left",
        "show outer levels of the tree",
        false,
    ),
    info(
        Command::PanRight,
        "pan_right",
        "show inner levels of the tree",
        false,
    ),
    info(
        Command::TreeFilter,
        "tree_filter",
        "show other entries of the tree",
        false,
    ),
    info(
        Command::TreeSummarize,
        "tree_summarize",
        "go on here, and summarise the branch that is left",
        false,
    ),
    info(
        Command::TreeWithFiles,
        "tree_with_files",
        "go on here, and bring the files back too",
        false,
    ),
    info(
        Command::TreeFiles,
        "tree_files",
        "bring the files alone back to here",
        false,
    ),
    info(
        Command::TreeFork,
        "tree_fork",
        "go on in a new session with a copy",
        false,
    ),
    info(
        Command::TreeCompare,
        "tree_compare",
        "mark a branch, then compare it with another",
        false,
    ),
    info(Command::TreeLabel, "tree_label", "name the entry", false),
    info(
        Command::TreeDelete,
        "tree_delete",
        "delete the branch from sight",
        false,
    ),
    info(
        Command::TreeRestore,
        "tree_restore",
        "bring a deleted branch back",
        false,
    ),
    info(
        Command::Answer,
        "answer",
        "answer the question that waits",
        true,
    ),
    info(
        Command::SessionWords,
        "session_words",
        "find sessions by name, or by what was said in them",
        false,
    ),
    info(
        Command::SessionScope,
        "session_scope",
        "the sessions of this directory, or of every one",
        false,
    ),
    info(
        Command::SessionSort,
        "session_sort",
        "another order of sessions",
        false,
    ),
    info(
        Command::SessionNamed,
        "session_named",
        "only sessions with a name",
        false,
    ),
    info(
        Command::SessionName,
        "session_name",
        "name the selected session",
        false,
    ),
    info(
        Command::SessionDelete,
        "session_delete",
        "delete the selected session; twice in a row",
        false,
    ),
    info(
        Command::SessionRestore,
        "session_restore",
        "bring the last deleted session back",
        false,
    ),
    info(Command::Redraw, "redraw", "paint the screen again", true),
    info(
        Command::Suspend,
        "suspend",
        "suspend osier; `fg` comes back",
        true,
    ),
    info(
        Command::ClearOrExit,
        "clear_or_exit",
        "clear the editor; twice in a row, exit",
        false,
    ),
    info(Command::Exit, "exit", "exit when the editor is empty", true),
    info(Command::PageUp, "page_up", "a page up", false),
    info(Command::PageDown, "page_down", "a page down", false),
    info(Command::LineUp, "line_up", "a line up", false),
    info(Command::LineDown, "line_down", "a line down", false),
    info(Command::Top, "top", "the start of the conversation", true),
    info(
        Command::Bottom,
        "bottom",
        "the end of the conversation",
        true,
    ),
    info(
        Command::PreviousPrompt,
        "previous_prompt",
        "the prompt before",
        true,
    ),
    info(Command::NextPrompt, "next_prompt", "the prompt after", true),
    info(
        Command::Browse,
        "browse",
        "read the conversation with single keys",
        true,
    ),
    info(
        Command::Search,
        "search",
        "find text in the conversation",
        true,
    ),
    info(Command::Left, "left", "left", false),
    info(Command::Right, "right", "right", false),
    info(
        Command::Up,
        "up",
        "up; on the first line, an earlier prompt",
        false,
    ),
    info(
        Command::Down,
        "down",
        "down; on the last line, a later prompt",
        false,
    ),
    info(Command::WordLeft, "word_left", "a word left", false),
    info(Command::WordRight, "word_right", "a word right", false),
    info(Command::LineStart, "line_start", "start of the line", false),
    info(Command::LineEnd, "line_end", "end of the line", false),
    info(
        Command::BufferStart,
        "buffer_start",
        "start of the text",
        false,
    ),
    info(Command::BufferEnd, "buffer_end", "end of the text", false),
    info(
        Command::DeleteBackward,
        "delete_backward",
        "delete what is left of the cursor",
        false,
    ),
    info(
        Command::DeleteForward,
        "delete_forward",
        "delete what is under the cursor",
        false,
    ),
    info(
        Command::DeleteWordBackward,
        "delete_word_backward",
        "delete a word to the left",
        false,
    ),
    info(
        Command::DeleteWordForward,
        "delete_word_forward",
        "delete a word to the right",
        false,
    ),
    info(
        Command::KillToLineStart,
        "kill_to_line_start",
        "cut to the start of the line",
        false,
    ),
    info(
        Command::KillToLineEnd,
        "kill_to_line_end",
        "cut to the end of the line",
        false,
    ),
    info(Command::Yank, "yank", "insert what was cut last", false),
    info(
        Command::YankPop,
        "yank_pop",
        "replace it by what was cut before",
        false,
    ),
    info(Command::Undo, "undo", "undo", false),
    info(Command::Redo, "redo", "redo", false),
    info(
        Command::Complete,
        "complete",
        "complete the path, file or command",
        false,
    ),
    info(Command::First, "first", "the first of a list", false),
    info(Command::Last, "last", "the last of a list", false),
    info(Command::Accept, "accept", "take the selected one", false),
    info(
        Command::Dismiss,
        "dismiss",
        "give a question no answer",
        false,
    ),
    info(Command::Cancel, "cancel", "close", false),
];

impl Command {
    /// The command called `name` in keymaps.
    pub fn from_name(name: &str) -> Option<Self> {
        COMMANDS
            .iter()
            .find(|info| info.name == name)
            .map(|info| info.command)
    }

    pub fn info(self) -> &'static CommandInfo {
        // The test below holds the table complete.
        COMMANDS
            .iter()
            .find(|info| info.command == self)
            .unwrap_or(&COMMANDS[0])
    }

    /// Every name, for checking keymaps.
    pub fn names() -> Vec<&'static str> {
        COMMANDS.iter().map(|info| info.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_one_name_and_is_found_by_it() {
        let mut names = Command::names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
        assert_eq!(COMMANDS.len(), Command::Cancel as usize + 1);
        for info in COMMANDS {
            assert_eq!(Command::from_name(info.name), Some(info.command));
        }
    }
}
