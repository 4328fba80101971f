//! The table of commands: one row each, with category, keymap name, description and action. A slash command has these in its
//! own row (`osier_protocol::slash`), so that it needs one here only if it does more in the terminal than send its requests.

// recipe: a command (key, palette entry), 1: its row
// recipe: a slash command, 3: its row below `/`, only if it has a view or an action in the terminal
// recipe: an overlay, 2: the command that opens it
/// Passes the rows to a macro: `id` makes [`super::Command`] of them, and `info` makes the table.
macro_rules! commands {
    ($make:ident) => {
        $make! {
            Prompt {
                Submit "submit" "Send the prompt; during a run, steer the model"
                    .actions(|| vec![Action::Submit { follow_up: false }]).key_only();
                FollowUp "follow_up" "Queue the prompt until the model is done"
                    .actions(|| vec![Action::Submit { follow_up: true }]).key_only();
                RecallQueue "recall_queue" "Edit queued messages"
                    .actions(|| vec![AgentOp::RecallQueue.into()]);
                Stash "stash" "Stash the prompt; in an empty prompt, restore one"
                    .feature();
                HistorySearch "history_search" "Search the prompt history"
                    .feature();
                ExternalEditor "external_editor" "Edit the prompt in $VISUAL or $EDITOR"
                    .feature()
                    .queries(&["e", "edit"]);
                AttachPicture "attach_picture" "Attach the image in the clipboard, or paste its text"
                    .actions(|| vec![Effect::ReadPicture.into()]);
                Complete "complete" "Complete the path, file or command"
                    .feature().key_only();
            }
            Run {
                Interrupt "interrupt" "Stop the model and its commands"
                    .feature()
                    .by_word();
                RetryModel "retry_model" "Retry the last prompt with another model"
                    .feature();
                CyclePermissions "cycle_permissions" "Switch to the next permission mode"
                    .actions(|| vec![Op::CyclePermissions.into()])
                    .by_word();
            }
            Model {
                CycleModel "cycle_model" "Switch to the next favourite model"
                    .actions(|| vec![Op::CycleModel { backward: false }.into()])
                    .by_word();
                CycleModelBackward "cycle_model_backward" "Switch to the previous favourite model"
                    .actions(|| vec![Op::CycleModel { backward: true }.into()])
                    .by_word();
            }
            Session {
                Save "save" "Save the session; this happens automatically"
                    .actions(|| vec![Action::Toast(Toast::info("sessions are saved automatically".to_owned()))])
                    .queries(&["w", "w!", "wa", "write", "save"]);
            }
            Tabs {
                NextSession "next_session" "Go to the next tab"
                    .feature();
                PreviousSession "previous_session" "Go to the previous tab"
                    .feature();
                NextWaiting "next_waiting" "Go to the next tab that needs attention"
                    .feature();
                PreviousWaiting "previous_waiting" "Go to the previous tab that needs attention"
                    .feature();
                Session1 "session_1" "Go to tab 1"
                    .feature().key_only();
                Session2 "session_2" "Go to tab 2"
                    .feature().key_only();
                Session3 "session_3" "Go to tab 3"
                    .feature().key_only();
                Session4 "session_4" "Go to tab 4"
                    .feature().key_only();
                Session5 "session_5" "Go to tab 5"
                    .feature().key_only();
                Session6 "session_6" "Go to tab 6"
                    .feature().key_only();
                Session7 "session_7" "Go to tab 7"
                    .feature().key_only();
                Session8 "session_8" "Go to tab 8"
                    .feature().key_only();
                Session9 "session_9" "Go to tab 9"
                    .feature().key_only();
            }
            Application {
                Palette "palette" "Show the command palette"
                    .feature().key_only();
                Redraw "redraw" "Redraw the screen"
                    .actions(|| vec![Effect::Repaint.into()]);
                Suspend "suspend" "Suspend osier; `fg` resumes it"
                    .actions(|| vec![Effect::Suspend.into()])
                    .by_word();
                ClearOrExit "clear_or_exit" "Clear the prompt; twice in a row, quit"
                    .feature().key_only();
                Exit "exit" "Quit when the prompt is empty"
                    .feature().key_only();
            }
            Conversation {
                ToggleThinking "toggle_thinking" "Toggle thinking"
                    .feature();
                ToggleTools "toggle_tools" "Show more or less tool output"
                    .feature();
                Browse "browse" "Browse the conversation with single keys"
                    .feature();
                PageUp "page_up" "Scroll up a page"
                    .feature().key_only();
                PageDown "page_down" "Scroll down a page"
                    .feature().key_only();
                LineUp "line_up" "Scroll up a line"
                    .feature().key_only();
                LineDown "line_down" "Scroll down a line"
                    .feature().key_only();
                Top "top" "Go to the start of the conversation"
                    .feature();
                Bottom "bottom" "Go to the end of the conversation"
                    .feature();
                PreviousPrompt "previous_prompt" "Go to the previous prompt"
                    .feature();
                NextPrompt "next_prompt" "Go to the next prompt"
                    .feature();
                PreviousCall "previous_call" "Go to the previous tool call"
                    .feature();
                NextCall "next_call" "Go to the next tool call"
                    .feature();
                PreviousError "previous_error" "Go to the previous error"
                    .feature();
                NextError "next_error" "Go to the next error"
                    .feature();
                PreviousEdit "previous_edit" "Go to the previous edit"
                    .feature();
                NextEdit "next_edit" "Go to the next edit"
                    .feature();
                PreviousBlock "previous_block" "Select the previous block"
                    .feature();
                NextBlock "next_block" "Select the next block or code block"
                    .feature();
                SelectLines "select_lines" "Select lines of the conversation"
                    .feature();
                CopyBlock "copy_block" "Copy the selected lines or block"
                    .feature().key_only();
                CopyCall "copy_command" "Copy the command or path of the selected call"
                    .feature().key_only();
                ToggleBlock "toggle_block" "Expand or collapse the selected block"
                    .feature().key_only();
                OpenBlock "open_block" "Open the selected block in $VISUAL or $EDITOR"
                    .feature();
                PageBlock "page_block" "Open the selected block in $PAGER"
                    .feature();
            }
            Files {
                PreviousFile "previous_file" "Go to the previous file";
                NextFile "next_file" "Go to the next file";
                PreviousHunk "previous_hunk" "Go to the previous change";
                NextHunk "next_hunk" "Go to the next change";
                NextProblem "next_problem" "Go to the next error or warning of a language server";
                OtherRange "other_range" "Switch between session, git HEAD and last prompt";
                DiffLayout "diff_layout" "Switch between unified and side by side";
                AcceptHunk "accept_hunk" "Accept the change";
                RejectHunk "reject_hunk" "Reject the change; sending the review reverts it";
                CommentHunk "comment_hunk" "Comment on the change";
                RevertHunk "revert_hunk" "Revert the change now";
                EditHunk "edit_hunk" "Open the file at the change in $VISUAL or $EDITOR";
                SendReview "send_review" "Revert rejected changes and send the review";
            }
            Tree {
                GoBack "go_back" "Go back to the last position"
                    .actions(|| vec![Action::Move { op: TreeOp::GoBack, files: FilesAfter::Return }]).by_word();
                GoForward "go_forward" "Go forward to the next position"
                    .actions(|| vec![Action::Move { op: TreeOp::GoForward, files: FilesAfter::Return }]).by_word();
                Fold "fold" "Collapse the branch, or go to its start";
                Unfold "unfold" "Expand the branch";
                PanLeft "pan_left" "Show outer levels";
                PanRight "pan_right" "Show inner levels";
                TreeFilter "tree_filter" "Change the filter";
                TreeSummarize "tree_summarize" "Continue here, summarize the rest";
                TreeWithFiles "tree_with_files" "Continue here, restore files";
                TreeFiles "tree_files" "Restore files only";
                TreeFork "tree_fork" "Fork into a new tab";
                TreeForkWorktree "tree_fork_worktree" "Fork into a new git worktree"
                    .actions(|| vec![TreeOp::ForkWorktree { entry_id: None }.into()]).queries(&["branch", "worktree"]);
                TreeCompare "tree_compare" "Mark and compare branches";
                TreeLabel "tree_label" "Label the entry";
                TreeDelete "tree_delete" "Hide the branch";
                TreeRestore "tree_restore" "Show the last hidden branch";
                TreeSummarizeBefore "tree_summarize_before" "Summarize everything before it";
                TreeErase "tree_erase" "Delete the branch permanently";
                TreeMenu "tree_menu" "Show the menu of the entry" .feature().key_only();
                TreeParent "tree_parent" "Select the entry before it";
                TreeChild "tree_child" "Select the entry after it";
                TreeEnd "tree_end" "Select the end of the branch";
                PreviousSibling "previous_sibling" "Select the previous branch";
                NextSibling "next_sibling" "Select the next branch";
            }
            List {
                SessionWords "session_words" "Search session names or their text";
                SessionScope "session_scope" "Show sessions of this directory or of all";
                SessionSort "session_sort" "Change the order of sessions";
                SessionNamed "session_named" "Show only named sessions";
                SessionName "session_name" "Rename the selected session";
                SessionDelete "session_delete" "Delete the selected session; press twice";
                SessionRestore "session_restore" "Restore the deleted session";
                SessionInTab "session_in_tab" "Open the session in a new tab" .alias("session_beside");
                SessionPin "session_pin" "Pin or unpin the session";
                SessionArchive "session_archive" "Archive or unarchive the session";
                SessionArchived "session_archived" "Show archived sessions or the others";
                First "first" "Select the first item";
                Last "last" "Select the last item";
                Accept "accept" "Select the item";
                Dismiss "dismiss" "Dismiss the question without an answer";
                Remove "remove" "Remove the binding or your own setting";
                Favourite "favourite" "Add the model to favourites, or remove it";
                ListOrder "list_order" "Change the order of the list";
                SaveDefault "save_default" "Use the model, and make it the default";
                ShowAll "show_all" "Show all items, or only those that can be used";
                Cancel "cancel" "Close";
            }
            Editor {
                Newline "newline" "Insert a new line";
                Left "left" "Move left";
                Right "right" "Move right";
                Up "up" "Move up; on the first line, previous prompt";
                Down "down" "Move down; on the last line, next prompt";
                WordLeft "word_left" "Move left by a word";
                WordRight "word_right" "Move right by a word";
                LineStart "line_start" "Move to the start of the line";
                LineEnd "line_end" "Move to the end of the line";
                BufferStart "buffer_start" "Move to the start of the text";
                BufferEnd "buffer_end" "Move to the end of the text";
                DeleteBackward "delete_backward" "Delete the character before the cursor";
                DeleteForward "delete_forward" "Delete the character at the cursor";
                DeleteWordBackward "delete_word_backward" "Delete the word before the cursor";
                DeleteWordForward "delete_word_forward" "Delete the word after the cursor";
                KillToLineStart "kill_to_line_start" "Cut to the start of the line";
                KillToLineEnd "kill_to_line_end" "Cut to the end of the line";
                Yank "yank" "Paste what was cut last";
                YankPop "yank_pop" "Replace the pasted text with an earlier cut";
                Undo "undo" "Undo";
                Redo "redo" "Redo";
            }
            / {
                StashList "stash" .feature();
                Skills "skills" .feature();
                Answer "answer" .feature();
                Permissions "permissions" .feature();
                Trust "trust";
                ToggleTodo "todo" .feature();
                Jobs "jobs" .feature();
                Subagents "agents" .feature();
                Background "background";
                Terminals "terminal" .feature().queries(&["shell", "new terminal", "pty"]).parse(arguments::terminal);
                ModelPicker "model" .feature().queries(&["favourite", "favorite", "favourites"]);
                CycleThinking "thinking";
                Login "login" .feature();
                Logout "logout" .feature();
                NewSession "new" .feature();
                SessionPicker "resume" .feature().parse(|id| Ok(vec![arguments::open_session(id, false)]));
                ShowSession "session" .feature();
                Budget "budget" .feature();
                CodeServers "lsp" .feature();
                Context "context";
                Pin "pin" .actions(|| vec![Action::MarkSession { mark: Mark::Pinned, on: true }])
                    .parse(|argument| arguments::mark(argument, Mark::Pinned));
                Archive "archive" .actions(|| vec![Action::MarkSession { mark: Mark::Archived, on: true }])
                    .parse(|argument| arguments::mark(argument, Mark::Archived));
                TakeOver "takeover" .feature();
                OpenSessions "sessions" .feature().parse(arguments::show_tab);
                NewTab "tab" .actions(|| vec![TabRequest::Begin.into()]).alias("new_beside")
                    .parse(|id| Ok(vec![arguments::open_session(id, true)]));
                CloseSession "close" .feature();
                Settings "settings" .actions(|| vec![Effect::PickSetting.into()]);
                Themes "theme" .actions(|| vec![Effect::PickTheme.into()])
                    .parse(|name| Ok(vec![Effect::LoadTheme(name.to_owned()).into()]));
                Memory "memory" .actions(|| vec![Effect::EditFile { path: "AGENTS.md".to_owned(), line: 1 }.into()]);
                Keymap "keymap" .feature().parse(|name| Ok(vec![Effect::LoadKeymap(name.to_owned()).into()]));
                VimKeys "vim" .actions(|| vec![Effect::ToggleVim.into()]);
                Reload "reload" .actions(|| vec![Effect::ReloadAppearance.into(), Op::Reload.into()]);
                Tools "tools" .feature();
                Servers "mcp" .feature().parse(arguments::server);
                Map "map" .feature();
                Hooks "hooks" .feature();
                SidePanel "panel" .feature();
                Help "help" .feature().queries(&["h", "help"]);
                Guide "guide" .feature();
                Doctor "doctor" .actions(|| vec![Effect::Doctor.into()]);
                Quit "quit" .feature().queries(&["q", "q!", "qa", "qa!", "quit", "wq", "wq!", "wqa", "x", "xa", "exit"]);
                CopyAnswer "copy" .feature();
                CopyCode "copy-code" .feature();
                CopyOutput "copy-output" .feature();
                Search "search" .feature();
                Changes "diff" .actions(|| vec![Action::ShowChanges(DiffRange::Session)]).parse(arguments::diff);
                RestoreFiles "restore" .actions(|| vec![arguments::preview(FilesAt::Here).into()])
                    .parse(arguments::restore).queries(&["checkpoint", "checkpoints"]);
                UndoPrompt "undo" .actions(|| vec![arguments::ask_undo().into()])
                    .queries(&["revert", "rollback", "back", "files", "conversation"])
                    .parse(|argument| {
                        let files = arguments::preview(FilesAt::LastPrompt);
                        arguments::step(argument, TreeOp::UndoPrompt { with_files: true }, files)
                    });
                RedoPrompt "redo" .actions(|| vec![Action::Move { op: TreeOp::RedoPrompt { with_files: false }, files: FilesAfter::Return }])
                    .parse(|argument| {
                        let files = Op::Checkpoint(CheckpointOp::UndoRestore);
                        arguments::step(argument, TreeOp::RedoPrompt { with_files: true }, files)
                    });
                Tree "tree" .feature()
                    .queries(&["branch", "branches", "compare", "label", "bookmark", "hide", "history", "checkpoint"]);
                Rewind "rewind" .feature().queries(&["history", "checkpoint", "checkpoints", "back"]);
                FanOut "fan" .feature().parse(|models| arguments::sent("fan", models))
                    .queries(&["parallel", "compare", "worktree"]);
                Fork "fork" .actions(|| vec![TreeOp::Fork { entry_id: None }.into()])
                    .queries(&["branch"]);
                CloneSession "clone" .actions(|| vec![TreeOp::Clone.into()]);
            }
        }
    };
}

pub(super) use commands;
