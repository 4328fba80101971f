//! The table of commands: one row each, with category, keymap name, description, slash command and action.

// recipe: a command (key, palette entry), 1: its row
// recipe: an overlay, 2: the command that opens it
/// Gives the rows to a macro: `id` makes [`super::Command`] of them, `info` the table.
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
                StashList "stash_list" "List stashed prompts"
                    .feature().slash("stash");
                HistorySearch "history_search" "Search the prompt history"
                    .feature();
                ExternalEditor "external_editor" "Edit the prompt in $VISUAL or $EDITOR"
                    .feature()
                    .queries(&["e", "edit"]);
                AttachPicture "attach_picture" "Attach the image in the clipboard, or paste its text"
                    .actions(|| vec![Effect::ReadPicture.into()]);
                Complete "complete" "Complete the path, file or command"
                    .feature().key_only();
                Skills "skills" "List skills and prompt templates"
                    .feature().slash("skills");
                Init "init" "Have the model write AGENTS.md for this project"
                    .actions(|| vec![prompts::init("")])
                    .slash_with("init", "[NOTES]", |notes| Ok(vec![prompts::init(notes)]))
                    .by_word().yields();
                ReviewChanges "review" "Have the model review the changes, or what you name"
                    .actions(|| vec![prompts::review("")])
                    .slash_with("review", "[WHAT]", |what| Ok(vec![prompts::review(what)]))
                    .by_word().yields();
            }
            Run {
                Interrupt "interrupt" "Stop the model and its commands"
                    .feature()
                    .by_word();
                Answer "answer" "Answer the pending question"
                    .feature().slash("answer");
                RetryRun "retry" "Continue a failed run; with a model, retry as a branch"
                    .actions(|| vec![AgentOp::Continue.into()])
                    .slash_with("retry", "[MODEL]", arguments::retry)
                    .by_word();
                RetryModel "retry_model" "Retry the last prompt with another model"
                    .feature();
                FanOut "fan" "Run several models side by side"
                    .typed("fan", "MODEL MODEL … [-- PROMPT]", arguments::fan);
                Compact "compact" "Summarize the earlier conversation"
                    .actions(|| vec![TreeOp::Compact { instructions: None, review: true }.into()])
                    .slash_with("compact", "[INSTRUCTIONS]", arguments::compact)
                    .by_word();
                CyclePermissions "cycle_permissions" "Switch to the next permission mode"
                    .actions(|| vec![Op::CyclePermissions.into()])
                    .by_word();
                Permissions "permissions" "Change the permission mode and rules"
                    .feature()
                    .slash_with("permissions", "[MODE]", arguments::permissions)
                    .values(|| PermissionMode::ALL.map(PermissionMode::name).to_vec());
                PlanMode "plan_mode" "Switch to plan mode; with a prompt, send it"
                    .actions(|| vec![Op::SetPermissions { mode: PermissionMode::Plan }.into()])
                    .slash_with("plan", "[PROMPT]", arguments::plan)
                    .by_word();
                ToggleTodo "toggle_todo" "Toggle the to-do list"
                    .feature().slash("todo");
                Background "background" "Continue the running command in the background"
                    .actions(|| vec![Op::MoveToBackground.into()]).slash("background");
                Jobs "jobs" "List background jobs"
                    .feature().slash("jobs");
                Terminals "terminals" "List terminals and type in them"
                    .feature().slash_with("terminal", "[COMMAND]", arguments::terminal);
            }
            Model {
                ModelPicker "model_picker" "Choose a model"
                    .feature()
                    .slash_with("model", "[NAME]", arguments::model);
                CycleModel "cycle_model" "Switch to the next favourite model"
                    .actions(|| vec![Op::CycleModel { backward: false }.into()])
                    .by_word();
                CycleModelBackward "cycle_model_backward" "Switch to the previous favourite model"
                    .actions(|| vec![Op::CycleModel { backward: true }.into()])
                    .by_word();
                CycleThinking "cycle_thinking" "Switch to the next thinking level"
                    .actions(|| vec![Op::CycleThinkingLevel.into()])
                    .slash_with("thinking", "[LEVEL]", arguments::thinking)
                    .values(|| ThinkingLevel::ALL.map(ThinkingLevel::name).to_vec())
                    .by_word();
                CycleRole "cycle_role" "Switch to the model of the other role"
                    .actions(|| vec![Op::SwitchRole { role: None }.into()])
                    .slash_with("role", "[plan|edit [MODEL]]", arguments::role)
                    .values(|| vec!["plan", "edit"])
                    .by_word();
                RefreshModels "refresh_models" "Fetch newly published models and prices"
                    .actions(|| vec![Op::RefreshModels.into()]).slash("refresh");
            }
            Account {
                Login "login" "Sign in to a provider"
                    .feature()
                    .slash_with("login", "[PROVIDER]", arguments::login);
                Logout "logout" "Sign out of a provider"
                    .feature()
                    .slash_with("logout", "[PROVIDER]", arguments::logout);
            }
            Session {
                NewSession "new_session" "Start a new session; during a run, in a new tab"
                    .feature().slash("new").slash_aliases(&["clear"])
                    .by_word();
                SessionPicker "session_picker" "Resume a session"
                    .feature()
                    .slash_with("resume", "[ID]", |id| Ok(vec![arguments::open_session(id, false)]));
                Save "save" "Save the session; this happens automatically"
                    .actions(|| vec![Action::Toast(Toast::info("sessions are saved automatically".to_owned()))])
                    .queries(&["w", "w!", "wa", "write", "save"]);
                RenameSession "rename_session" "Rename the session; without a name, clear the name"
                    .typed("name", "[TEXT]", arguments::rename);
                ShowSession "session_info" "Show the session's file, counts and cost"
                    .feature().slash("session").slash_aliases(&["status"]);
                ShowUsage "usage" "Show tokens, cost and cache hits by model"
                    .actions(|| vec![Op::GetUsage.into()]).slash("usage").slash_aliases(&["cost"]);
                Budget "budget" "Show or change the budget of the session"
                    .feature()
                    .slash_with("budget", "[USD|N tokens|N turns|off]", arguments::budget);
                CodeServers "language_servers" "Show the language servers and what they report"
                    .feature().slash("lsp");
                Context "context" "Show what fills the context window"
                    .actions(|| vec![TreeOp::GetContext.into()]).slash("context");
                Pin "pin" "Pin the session in the list, or unpin it"
                    .actions(|| vec![Action::MarkSession { mark: Mark::Pinned, on: true }])
                    .slash_with("pin", "[off]", |argument| arguments::mark(argument, Mark::Pinned))
                    .values(|| vec!["off"])
                    .by_word();
                Archive "archive" "Archive the session, or unarchive it"
                    .actions(|| vec![Action::MarkSession { mark: Mark::Archived, on: true }])
                    .slash_with("archive", "[off]", |argument| arguments::mark(argument, Mark::Archived))
                    .values(|| vec!["off"])
                    .by_word();
                Fork "fork" "Fork a new session from before the last prompt"
                    .actions(|| vec![TreeOp::Fork { entry_id: None }.into()]).slash("fork")
                    .by_word();
                CloneSession "clone" "Copy the branch into a new session"
                    .actions(|| vec![TreeOp::Clone.into()]).slash("clone")
                    .by_word();
                Export "export" "Export the session as HTML, Markdown or JSON lines"
                    .actions(|| vec![arguments::export_to("")])
                    .slash_with("export", "[FILE]", |argument| Ok(vec![arguments::export_to(argument)]))
                    .by_word();
                Import "import" "Import a session from osier, pi, Claude Code or Codex"
                    .typed("import", "FILE", arguments::import);
                TakeOver "take_over" "Take control from another client"
                    .feature().slash("takeover")
                    .by_word();
            }
            Tabs {
                OpenSessions "open_sessions" "List tabs"
                    .feature()
                    .slash_with("sessions", "[NUMBER]", arguments::show_tab);
                NewTab "new_tab" "Start a new session in a new tab"
                    .actions(|| vec![TabRequest::Begin.into()]).alias("new_beside")
                    .slash_with("tab", "[ID]", |id| Ok(vec![arguments::open_session(id, true)]))
                    .slash_aliases(&["beside"]);
                NextSession "next_session" "Go to the next tab"
                    .feature();
                PreviousSession "previous_session" "Go to the previous tab"
                    .feature();
                NextWaiting "next_waiting" "Go to the next tab that needs attention"
                    .feature();
                PreviousWaiting "previous_waiting" "Go to the previous tab that needs attention"
                    .feature();
                CloseSession "close_session" "Close the tab; the session stays stored"
                    .feature().slash("close")
                    .by_word();
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
            Settings {
                Settings "settings" "Change settings"
                    .actions(|| vec![Effect::PickSetting.into()]).slash("settings");
                Themes "themes" "Change the theme"
                    .actions(|| vec![Effect::PickTheme.into()])
                    .slash_with("theme", "[NAME]", |name| Ok(vec![Effect::LoadTheme(name.to_owned()).into()]))
                    .values(ThemeStore::embedded);
                Memory "memory" "Edit AGENTS.md, the instructions for this project"
                    .actions(|| vec![Effect::EditFile { path: "AGENTS.md".to_owned(), line: 1 }.into()])
                    .slash("memory");
                Keymap "keymap" "Change keyboard shortcuts"
                    .feature().slash("keymap");
                Reload "reload" "Reload settings, keymaps, themes, hooks and skills"
                    .actions(|| vec![Effect::ReloadAppearance.into(), Op::Reload.into()])
                    .slash("reload");
            }
            Tools {
                Tools "tools" "List tools and their cost, and turn them on or off"
                    .feature().slash("tools");
                Servers "mcp" "List MCP servers; restart, enable or sign in to one"
                    .feature()
                    .slash_with("mcp", "[ACTION SERVER]", arguments::server);
                Map "map" "Show the map of the project: its most used files and symbols"
                    .feature().slash("map");
                Hooks "hooks" "List hooks and their last results"
                    .feature().slash("hooks");
            }
            Application {
                Palette "palette" "Show the command palette"
                    .feature().key_only();
                SidePanel "side_panel" "Toggle the side panel: changed files, jobs, to-dos"
                    .feature().slash("panel");
                Help "help" "Show keyboard shortcuts and commands"
                    .feature().slash("help").slash_aliases(&["keys"])
                    .queries(&["h", "help"]);
                Guide "guide" "Show the first steps: model, trust, theme"
                    .feature().slash("guide");
                About "about" "Show version, platform and folders"
                    .actions(|| vec![Op::GetAbout.into()]).slash("about");
                Redraw "redraw" "Redraw the screen"
                    .actions(|| vec![Effect::Repaint.into()]);
                Suspend "suspend" "Suspend osier; `fg` resumes it"
                    .actions(|| vec![Effect::Suspend.into()])
                    .by_word();
                ClearOrExit "clear_or_exit" "Clear the prompt; twice in a row, quit"
                    .feature().key_only();
                Exit "exit" "Quit when the prompt is empty"
                    .feature().key_only();
                Quit "quit" "Quit osier"
                    .feature().slash("quit").slash_aliases(&["exit"])
                    .by_word().queries(&["q", "q!", "qa", "qa!", "quit", "wq", "wq!", "wqa", "x", "xa", "exit"]);
            }
            Conversation {
                CopyAnswer "copy_answer" "Copy the last answer"
                    .feature().slash("copy");
                ToggleThinking "toggle_thinking" "Toggle thinking"
                    .feature();
                ToggleTools "toggle_tools" "Toggle tool output"
                    .feature();
                Browse "browse" "Browse the conversation with single keys"
                    .feature();
                Search "search" "Search the conversation"
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
                Changes "changes" "Review changed files"
                    .actions(|| vec![Action::ShowChanges(DiffRange::Session)])
                    .slash_with("diff", "[last|session|head|ENTRY|FROM TO]", arguments::diff)
                    .values(|| vec!["last", "session", "head"]);
                RestoreFiles "restore_files" "Restore files to this point; `undo` reverts it"
                    .actions(|| vec![arguments::preview(FilesAt::Here).into()])
                    .slash_with("restore", "[ENTRY|undo]", arguments::restore);
                UndoPrompt "undo_prompt" "Go back to before the last prompt, with files or not"
                    .actions(|| vec![Action::Move { op: TreeOp::UndoPrompt, files: false }])
                    .slash_with("undo", "[files|both]", |argument| {
                        let files = arguments::preview(FilesAt::LastPrompt);
                        arguments::step(argument, TreeOp::UndoPrompt, files)
                    })
                    .by_word();
                RedoPrompt "redo_prompt" "Redo what `/undo` reverted, with files or not"
                    .actions(|| vec![Action::Move { op: TreeOp::RedoPrompt, files: false }])
                    .slash_with("redo", "[files|both]", |argument| {
                        let files = Op::Checkpoint(CheckpointOp::UndoRestore);
                        arguments::step(argument, TreeOp::RedoPrompt, files)
                    })
                    .by_word();
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
                Tree "tree" "Show the session tree" .feature().slash("tree");
                Rewind "rewind" "Go back to an earlier prompt" .feature().slash("rewind").by_word();
                Fold "fold" "Collapse the branch, or go to its start";
                Unfold "unfold" "Expand the branch";
                PanLeft "pan_left" "Show outer levels of the tree";
                PanRight "pan_right" "Show inner levels of the tree";
                TreeFilter "tree_filter" "Change the filter of the tree";
                TreeSummarize "tree_summarize" "Continue here and summarize the other branch";
                TreeWithFiles "tree_with_files" "Continue here and restore the files";
                TreeFiles "tree_files" "Restore files only";
                TreeFork "tree_fork" "Continue in a new session with a copy";
                TreeCompare "tree_compare" "Mark a branch, then compare it with another";
                TreeLabel "tree_label" "Label the entry";
                TreeDelete "tree_delete" "Hide the branch";
                TreeRestore "tree_restore" "Restore a hidden branch";
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
        }
    };
}

pub(super) use commands;
