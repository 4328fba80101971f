//! The rows of the settings that only the screen uses.

// recipe: a setting, 2: instead, its row here in `ScreenSettings`, if the screen alone uses it
/// Gives the rows to a macro: `settings` makes [`super::ScreenSettings`] of them.
macro_rules! screen_rows {
    ($declare:ident) => {
        $declare! {
            /// The settings that only the screen uses.
            pub struct ScreenSettings [screen] {
                Screen {
                    /// Colour theme: a built-in theme, a file in `themes/`, or `DARK/LIGHT` to follow the terminal.
                    theme: String = "system", any_text("the name of a theme");
                    /// Keymap: `default`, `vim`, `emacs`, or a file in `keymaps/` that extends the default.
                    keymap: String = "default", any_text("the name of a keymap");
                    /// Where osier draws: on the full screen, or inline. Inline, the conversation is text of the terminal, and only the
                    /// prompt and what runs are drawn below it. Also `--inline`.
                    screen: ScreenMode = "full", word();
                    /// Enable the mouse: the wheel scrolls, a click expands or collapses.
                    mouse: bool = true, FLAG;
                    /// Whether osier puts right-to-left text in visual order: `auto` does unless the terminal is known to do it itself.
                    bidi: Bidi = "auto", word();
                    /// The text that stays in the terminal after exit.
                    exit_output: ExitOutput = "answer", word();
                    /// How much of calls the conversation shows: only their rows, the start or the end of each output, or
                    /// everything. `ctrl+o` changes it.
                    density: Density = "normal", word();
                    /// Whether thinking is expanded at first.
                    show_thinking: bool = true, FLAG;
                    /// Show the model, the duration, the tools and the cost below each turn.
                    turn_summary: bool = true, FLAG;
                    /// No spinner: the status line changes only on events.
                    reduced_motion: bool = false, FLAG;
                    /// Screen reader mode: one column, words instead of symbols and lines, the cursor on the selection. Also
                    /// `--screen-reader` and `OSIER_SCREEN_READER=1`.
                    screen_reader: bool = false, FLAG;
                    /// Show the side panel on screens with 140 columns or more: changed files, jobs, terminals and the to-do list.
                    side_panel: bool = false, FLAG;
                    /// Parts of the footer on the left, in this order.
                    footer_left: Vec<FooterPart> = ["sessions", "cwd", "branch", "session"], PARTS;
                    /// Parts of the footer on the right, in this order.
                    footer_right: Vec<FooterPart> = ["connection", "plugins", "jobs", "diagnostics", "permissions", "sandbox", "tokens", "cost", "context", "cache", "model", "thinking"], PARTS;
                    /// How images are shown: detected from the terminal, with a fixed protocol, as coloured half-blocks, or not at all.
                    images: Images = "auto", word();
                    /// Send a terminal notification when a turn ends while the terminal is not focused.
                    notifications: bool = true, FLAG;
                    /// Show the session and its state in the terminal title.
                    title: bool = true, FLAG;
                }
            }
        }
    };
}

pub(super) use screen_rows;
