//! The prompt: the editor with its completion and history, attached files, and what was sent and is not in the
//! conversation yet.

mod attach;
pub(crate) mod attachments;
pub(crate) mod candidates;
mod completing;
mod completion;
mod draw;
mod dropped;
pub(crate) mod editing;
mod editor;
mod file_search;
mod history;
mod history_picker;
mod modes;
mod pending;
mod queue;
mod server_words;
mod submit;
mod symbols;

use ratatui::layout::Rect;

use crate::actions::{Command, Effect, Outbox, Toast};
use crate::conversation::Transcript;
use crate::drawing::Overlays;
use attachments::Attachments;
use completion::Missing;
pub(crate) use draw::PANEL;
use dropped::dropped_pictures;
pub(crate) use editor::Editor;
use osier_agent::{Attachment, RunOutcome, Severity, UserMessage};
use osier_base::parts::Parts;
use osier_protocol::{AddedCommand, Op, ProjectSymbol, TreeOp, UnconfirmedPrompt, slash};
use osier_term::widgets::textarea::DraftPart;
use osier_term::widgets::textarea::modal::EditorRequest;
use pending::PendingPrompts;
use queue::Queue;
use std::sync::Arc;
pub(crate) use submit::Submission;

/// The number of the requests for the prompts of the session, to complete their ids.
pub(crate) const POINTS: u64 = 1 << 33;

/// A prompt that returned to the editor.
#[derive(Debug)]
struct Returned {
    /// The count of edits of the editor.
    edits: u64,
    text: String,
    /// The text that the user had typed before.
    draft: Vec<DraftPart>,
}

/// The prompt of a session.
#[derive(Debug, Default)]
pub struct Prompt {
    pub editor: Editor,
    pub(crate) attachments: Attachments,
    pending: PendingPrompts,
    queue: Queue,
    /// The prompt that returned to the editor, and the draft that was there.
    returned: Option<Returned>,
    /// Where the text of the editor was drawn.
    area: Rect,
}

impl Prompt {
    /// A session was opened in this directory; what is typed stays.
    pub(crate) fn set_session(&mut self, cwd: &str) {
        self.editor.set_folder(cwd);
        self.queue = Queue::default();
        self.pending.clear();
    }

    /// Shows the messages that wait in the queues of the agent.
    pub(crate) fn set_queue(&mut self, steering: &[UserMessage], follow_up: &[UserMessage]) {
        self.queue.set(steering, follow_up);
    }

    /// Shows the prompts of a lost connection.
    pub(crate) fn set_unconfirmed(&mut self, prompts: &[UnconfirmedPrompt]) {
        self.queue.set_unconfirmed(prompts);
    }

    pub(crate) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The queue was recalled: its messages return to the editor.
    pub(crate) fn on_recalled(&mut self, messages: &[UserMessage]) {
        self.pending.clear();
        self.put_back(messages);
    }

    /// A prompt is in the conversation.
    pub(crate) fn on_stored(&mut self, prompt: &UserMessage) {
        self.pending.stored(prompt);
    }

    /// Nothing runs any more: prompts that were not stored return to the editor.
    pub(crate) fn on_settled(&mut self, outcome: &RunOutcome) {
        let lost = self.pending.take_lost(&self.queue);
        if matches!(outcome, RunOutcome::Stopped { .. }) {
            self.put_back(&lost);
        }
    }

    /// Restores the draft of an earlier run; without a notice if `is_quiet`, because a new tab has
    /// its own notice. Text that is typed already stays.
    pub(crate) fn restore_draft(
        &mut self,
        text: &Parts,
        files: &[Attachment],
        is_quiet: bool,
        outbox: &mut Outbox,
    ) {
        if self.editor.is_empty() {
            self.editor.set_parts(text);
            self.restore_attachments(files);
            if !is_quiet {
                outbox.push(Toast::info("restored the draft"));
            }
            return;
        }
        self.editor.remember(&text.to_string());
        outbox.push(Toast::info("the earlier draft is in the prompt history"));
    }

    /// Puts a prompt back into the editor, with its files. Without a prompt, the one that returned last leaves the editor,
    /// unless it was edited. A draft that was typed before is kept, and returns when the prompt leaves.
    pub(crate) fn return_prompt(&mut self, prompt: Option<&UserMessage>, outbox: &mut Outbox) {
        let is_as_returned = self.is_as_returned();
        let Some(prompt) = prompt else {
            if is_as_returned && let Some(returned) = self.returned.take() {
                self.editor.clear();
                if !returned.draft.is_empty() {
                    self.editor.put_draft_before(returned.draft);
                    outbox.push(Toast::info("the draft is in the prompt again"));
                }
            }
            return;
        };
        let draft = match self.returned.take().filter(|_| is_as_returned) {
            Some(returned) => returned.draft,
            None => self.keep_draft(outbox),
        };
        self.editor.set_text(&prompt.text);
        if !prompt.attachments.is_empty() {
            self.editor.clear();
            self.put_back(std::slice::from_ref(prompt));
        }
        self.returned = Some(Returned {
            edits: self.editor.edits(),
            text: self.editor.text(),
            draft,
        });
    }

    /// Replaces the text of the editor; the draft that was there is kept.
    pub(crate) fn replace_text(&mut self, text: &str, outbox: &mut Outbox) {
        if self.editor.text() != text {
            self.keep_draft(outbox);
        }
        self.editor.set_text(text);
    }

    /// Keeps what was typed, which another text replaces: as a stashed prompt, which outlasts osier, and for `up`.
    fn keep_draft(&mut self, outbox: &mut Outbox) -> Vec<DraftPart> {
        let text = self.editor.text();
        if text.trim().is_empty() {
            return Vec::new();
        }
        if self.editor.attachments().is_empty() {
            self.editor.remember(&text);
        }
        outbox.push(self.stash());
        outbox.push(Toast::info("the draft is stashed: `/stash` restores it"));
        self.editor.pieces()
    }

    /// Puts prompts that were not sent back into the editor, with their files.
    pub(crate) fn return_unsent(&mut self, prompts: &[UserMessage]) {
        self.editor.clear();
        self.put_back(prompts);
    }

    /// Whether the editor has a prompt as it returned.
    fn is_as_returned(&self) -> bool {
        self.returned.as_ref().is_some_and(|returned| {
            returned.edits == self.editor.edits() || returned.text == self.editor.text()
        })
    }

    /// Stores the commands of skills, templates and plugins. Built-in names have priority.
    pub(crate) fn set_commands(&mut self, commands: &[AddedCommand], transcript: &mut Transcript) {
        let (taken, free): (Vec<_>, Vec<_>) = commands
            .iter()
            .cloned()
            .partition(|command| slash::find(&command.name).is_some_and(|slash| !slash.yields));
        for command in taken {
            let (name, origin) = (&command.name, &command.origin);
            let text = match origin.as_str() {
                "skill" => format!(
                    "skill `{name}` has the name of a built-in command; call it with `/skill:{name}`"
                ),
                _ => {
                    format!("`/{name}` of `{origin}` has the name of a built-in command; rename it")
                }
            };
            transcript.notice(Severity::Warning, &text);
        }
        self.editor.set_commands(free);
    }

    /// Runs an editing command; false when it is not the editor's.
    pub(crate) fn on_command(&mut self, command: Command, outbox: &mut Outbox) -> bool {
        // Without typed words, the editor leaves the keys to the commands that move in the tree.
        let is_word = matches!(command, Command::WordLeft | Command::WordRight);
        if is_word && (self.editor.is_empty() || self.is_as_returned()) {
            return false;
        }
        let used = self.editor.on_command(command);
        // Moving in the list or the history, and closing the list, must not open it again.
        if used && !matches!(command, Command::Interrupt | Command::Up | Command::Down) {
            self.offer_completion(outbox);
        }
        used
    }

    /// Inserts a typed character: text, or an argument outside of insert mode.
    pub(crate) fn on_char(&mut self, character: char, outbox: &mut Outbox) {
        if self.editor.modal().inserts() {
            self.editor.insert_char(character);
            self.offer_completion(outbox);
        } else {
            self.editor.argument(character);
        }
    }

    /// Inserts a paste: text, or pictures whose files were dropped on the terminal.
    pub(crate) fn on_paste(&mut self, text: &str, outbox: &mut Outbox) {
        match dropped_pictures(text) {
            Some(paths) => outbox.push(Effect::ReadPictures(paths)),
            None => self.editor.paste(text),
        }
    }

    /// Passes on the clipboard requests of the editor.
    pub(crate) fn serve_editor(&mut self, outbox: &mut Outbox) {
        for request in self.editor.take_requests() {
            outbox.push(match request {
                EditorRequest::Copy(text) => Effect::Copy(text, "text"),
                EditorRequest::Paste => Effect::ReadClipboard,
            });
        }
    }

    /// Offers completions for the word at the cursor; requests a list when it is first needed.
    fn offer_completion(&mut self, outbox: &mut Outbox) {
        request(self.editor.offer_completion(), outbox);
        self.find_symbols(outbox);
    }

    /// Requests the symbols that match the word at the cursor, and values from MCP servers. At most one request of each kind runs at a
    /// time.
    fn find_symbols(&mut self, outbox: &mut Outbox) {
        if let Some((request, query)) = self.editor.wanted_symbols() {
            outbox.push(Op::FindSymbols { request, query });
        }
        if let Some((request, text)) = self.editor.wanted_server_words() {
            outbox.push(Op::CompleteMcp { request, text });
        }
    }

    /// Offers the values of an MCP server.
    pub(crate) fn on_server_words(&mut self, request: u64, values: &[String], outbox: &mut Outbox) {
        self.editor.set_server_words(request, values.to_vec());
        self.find_symbols(outbox);
    }

    /// Offers the symbols of a search.
    pub(crate) fn on_found(
        &mut self,
        request: u64,
        symbols: &Arc<Vec<ProjectSymbol>>,
        outbox: &mut Outbox,
    ) {
        self.editor.set_symbols(request, Arc::clone(symbols));
        self.find_symbols(outbox);
    }

    /// Completes the word at the cursor.
    pub(crate) fn complete(&mut self, outbox: &mut Outbox) {
        request(self.editor.complete_path(), outbox);
    }

    /// Edits the prompt in an external editor.
    pub(crate) fn edit_externally(&self, outbox: &mut Outbox) {
        outbox.push(Effect::ExternalEditor(self.editor.text()));
    }

    /// Lists the prompt history.
    pub(crate) fn open_history(&self, overlays: &mut Overlays) {
        let picker = history_picker::picker(self.editor.history());
        overlays.push(history_picker::ID, picker);
    }
}

/// Requests a list that completion needs.
fn request(missing: Option<Missing>, outbox: &mut Outbox) {
    match missing {
        Some(Missing::Files) => outbox.push(Op::ListFiles),
        Some(Missing::Models) => outbox.push(Op::ListModels),
        Some(Missing::Points) => outbox.push(TreeOp::ReadTree {
            request: POINTS,
            since: 0,
        }),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::RunOutcome;

    fn message(text: &str) -> UserMessage {
        UserMessage {
            text: text.to_owned(),
            ..UserMessage::default()
        }
    }

    #[test]
    fn an_earlier_draft_does_not_replace_what_is_typed() {
        let (mut prompt, mut outbox) = (Prompt::default(), Outbox::default());
        prompt.restore_draft(&"earlier".into(), &[], false, &mut outbox);
        assert_eq!(prompt.editor.text(), "earlier");
        prompt.restore_draft(&"other".into(), &[], false, &mut outbox);
        assert_eq!(prompt.editor.text(), "earlier");
        let history: Vec<&str> = prompt.editor.history().newest().collect();
        assert_eq!(history, ["other"]);
    }

    #[test]
    fn prompt_that_returns_has_its_files() {
        let file = |name: &str| Attachment {
            id: name.to_owned(),
            kind: osier_agent::AttachmentKind::Image,
            file_name: name.to_owned(),
            mime_type: "image/png".to_owned(),
            size: 4,
            content: "AAAA".to_owned(),
            extracted_text: None,
        };
        let sent = UserMessage {
            attachments: vec![file("red.png"), file("no mark.png")],
            ..message("see [picture 1: red.png], and say what it is")
        };
        let (mut prompt, mut outbox) = (Prompt::default(), Outbox::default());
        prompt.return_prompt(Some(&sent), &mut outbox);
        let numbers = prompt.editor.attachments();
        assert_eq!(prompt.attached(&numbers), sent.attachments);
        assert!(
            prompt
                .editor
                .text()
                .starts_with("see [picture 1: red.png], and say")
        );
        // The prompt of another place replaces it.
        prompt.return_prompt(Some(&message("only text")), &mut outbox);
        assert_eq!(prompt.editor.text(), "only text");
        assert_eq!(prompt.editor.attachments(), Vec::<u64>::new());
        // Back at the position after it, it leaves the editor unless it was edited.
        assert!(!prompt.on_command(Command::WordLeft, &mut outbox));
        prompt.return_prompt(None, &mut outbox);
        assert_eq!(prompt.editor.text(), "");
        prompt.return_prompt(Some(&message("edit me")), &mut outbox);
        prompt.on_char('!', &mut outbox);
        assert!(prompt.on_command(Command::WordLeft, &mut outbox));
        prompt.return_prompt(None, &mut outbox);
        assert_eq!(prompt.editor.text(), "edit me!");
        // The command line gave these prompts, and they were not sent.
        prompt.return_unsent(&[sent.clone(), message("then this")]);
        let numbers = prompt.editor.attachments();
        assert_eq!(prompt.attached(&numbers), sent.attachments);
        assert!(prompt.editor.text().ends_with("\n\nthen this"));
    }

    #[test]
    fn a_draft_is_kept_when_a_prompt_returns_and_comes_back_with_the_next_step() {
        let (mut prompt, mut outbox) = (Prompt::default(), Outbox::default());
        prompt.editor.set_text("my draft");
        for sent in ["second", "first"] {
            prompt.return_prompt(Some(&message(sent)), &mut outbox);
            assert_eq!(prompt.editor.text(), sent);
        }
        let stashed = Op::StashPrompt {
            text: "my draft".to_owned(),
            parts: Vec::new(),
        };
        let told = Toast::info("the draft is stashed: `/stash` restores it");
        assert_eq!(outbox.take(), [stashed.into(), told.into()]);
        let history: Vec<&str> = prompt.editor.history().newest().collect();
        assert_eq!(history, ["my draft"]);
        // A look at the history changes nothing.
        prompt.on_command(Command::Up, &mut outbox);
        assert_eq!(prompt.editor.text(), "my draft");
        prompt.on_command(Command::Down, &mut outbox);
        prompt.return_prompt(None, &mut outbox);
        assert_eq!(prompt.editor.text(), "my draft");
        // Edited, the prompt stays, and is a draft itself.
        prompt.return_prompt(Some(&message("first")), &mut outbox);
        prompt.on_char('!', &mut outbox);
        prompt.return_prompt(None, &mut outbox);
        assert_eq!(prompt.editor.text(), "first!");
        prompt.return_prompt(Some(&message("second")), &mut outbox);
        prompt.return_prompt(None, &mut outbox);
        assert_eq!(prompt.editor.text(), "first!");
        prompt.replace_text("/fan ", &mut outbox);
        assert_eq!(prompt.editor.history().newest().next(), Some("first!"));
    }

    #[test]
    fn a_draft_with_a_picture_is_stashed_when_a_prompt_returns() {
        let (mut prompt, mut outbox) = (Prompt::default(), Outbox::default());
        let file = Attachment {
            id: "1".to_owned(),
            kind: osier_agent::AttachmentKind::Image,
            file_name: "red.png".to_owned(),
            mime_type: "image/png".to_owned(),
            size: 4,
            content: "AAAA".to_owned(),
            extracted_text: None,
        };
        let chip = prompt.attachments.add(file.clone());
        prompt.editor.insert_chip(chip);
        prompt.return_prompt(Some(&message("sent")), &mut outbox);
        // A space follows a chip.
        let text = "[picture 1: red.png] ".to_owned();
        let parts = vec![
            osier_protocol::PromptPart::File { file: file.clone() },
            osier_protocol::PromptPart::Text {
                text: " ".to_owned(),
            },
        ];
        let told = Toast::info("the draft is stashed: `/stash` restores it");
        let stashed = Op::StashPrompt { text, parts };
        assert_eq!(outbox.take(), [stashed.into(), told.into()]);
        prompt.return_prompt(None, &mut outbox);
        assert_eq!(prompt.attached(&prompt.editor.attachments()), [file]);
    }

    #[test]
    fn only_prompts_of_a_stopped_run_that_are_nowhere_else_return_to_the_editor() {
        let mut prompt = Prompt::default();
        for text in ["stored", "queued", "lost"] {
            prompt.pending.add(message(text));
        }
        prompt.on_stored(&message("stored"));
        prompt.set_queue(&[message("queued")], &[]);
        assert!(prompt.has_queued());
        prompt.on_settled(&RunOutcome::Interrupted);
        assert_eq!(prompt.editor.text(), "");
    }

    #[test]
    fn the_first_file_to_complete_requests_their_list_once() {
        let (mut prompt, mut outbox) = (Prompt::default(), Outbox::default());
        for character in "@sr".chars() {
            prompt.on_char(character, &mut outbox);
        }
        let symbols = Op::FindSymbols {
            request: 1,
            query: "sr".to_owned(),
        };
        assert_eq!(outbox.take(), [Op::ListFiles.into(), symbols.into()]);
    }
}
