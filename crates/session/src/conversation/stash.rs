//! Stashed prompts. They are stored in the data directory until they are restored or deleted, and every session
//! and process sees them.

use std::path::{Path, PathBuf};

use osier_agent::{Attachment, Severity};
use osier_base::folders::Folders;
use osier_base::locked_json::LockedJsonError;
use osier_base::parts::Parts;
use osier_base::text::head_bytes;
use osier_base::{clock, ids, locked_json};
use osier_protocol::{Event, PromptPart, Stashed};

use crate::emitter::Emitter;

/// Bytes of a prompt that are stored.
const PROMPT_LIMIT: usize = 1 << 20;
/// Prompts that are stored; the oldest are deleted.
const COUNT_LIMIT: usize = 200;
/// Bytes of attached files in all prompts; the oldest prompts lose theirs.
const FILES_LIMIT: usize = 24 << 20;

/// The stash of a user, for prompts of one directory.
#[derive(Debug)]
pub(crate) struct Stash {
    file: PathBuf,
    cwd: String,
}

impl Stash {
    pub(crate) fn new(folders: &Folders, cwd: &Path) -> Self {
        Self {
            file: folders.stash(),
            cwd: cwd.to_string_lossy().into_owned(),
        }
    }

    /// Publishes the stashed prompts.
    pub(crate) async fn list(&self, emitter: &Emitter) {
        let file = self.file.clone();
        self.publish(emitter, move || locked_json::try_read(&file))
            .await;
    }

    /// Stashes a prompt and publishes the list. Returns whether the prompt was stored.
    pub(crate) async fn add(
        &self,
        text: String,
        parts: Vec<PromptPart>,
        emitter: &Emitter,
    ) -> bool {
        let (file, cwd) = (self.file.clone(), self.cwd.clone());
        self.publish(emitter, move || add(&file, &text, &parts, &cwd))
            .await
    }

    /// Deletes a prompt and publishes the list.
    pub(crate) async fn delete(&self, id: String, emitter: &Emitter) {
        let file = self.file.clone();
        self.publish(emitter, move || delete(&file, &id)).await;
    }

    /// Publishes the outcome of `work`. Waits for it, so that one change does not overtake another.
    async fn publish(
        &self,
        emitter: &Emitter,
        work: impl FnOnce() -> Result<Vec<Stashed>, LockedJsonError> + Send + 'static,
    ) -> bool {
        match osier_base::task::spawn_blocking(work).await {
            Ok(Ok(prompts)) => {
                emitter.post(Event::Stash { prompts });
                true
            }
            Ok(Err(error)) => {
                emitter.notice(Severity::Error, format!("cannot use the stash: {error}"));
                false
            }
            Err(_) => false,
        }
    }
}

/// A prompt that could not be stashed, for the editor.
pub(crate) fn as_draft(text: &str, parts: &[PromptPart]) -> (Parts, Vec<Attachment>) {
    let (mut draft, mut files, mut rest) = (Parts::default(), Vec::new(), text);
    for part in parts {
        let (length, is_paste) = match part {
            PromptPart::Text { text } => (text.len(), false),
            PromptPart::Paste { text, .. } => (text.len(), true),
            PromptPart::File { file } => {
                files.push(file.clone());
                // The file is a placeholder in the text.
                (rest.find(']').map_or(0, |end| end + 1), false)
            }
        };
        let (part, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        draft.push(part.into(), is_paste);
        rest = after;
    }
    draft.push(rest.into(), false);
    (draft, files)
}

/// Stores a prompt; returns all. Blocks.
fn add(
    file: &Path,
    text: &str,
    parts: &[PromptPart],
    cwd: &str,
) -> Result<Vec<Stashed>, LockedJsonError> {
    locked_json::change(file, |prompts: &mut Vec<Stashed>| {
        let stashed = Stashed {
            id: ids::session_id(),
            text: head_bytes(text, PROMPT_LIMIT).to_owned(),
            // The parts describe the complete text.
            parts: if text.len() > PROMPT_LIMIT {
                Vec::new()
            } else {
                parts.to_vec()
            },
            cwd: cwd.to_owned(),
            created: clock::now_ms(),
        };
        prompts.retain(|other| other.text != stashed.text || other.parts != stashed.parts);
        prompts.insert(0, stashed);
        prompts.truncate(COUNT_LIMIT);
        let mut left = FILES_LIMIT;
        for prompt in prompts {
            match left.checked_sub(file_bytes(prompt)) {
                Some(rest) => left = rest,
                None => prompt.parts.clear(),
            }
        }
    })
}

/// Bytes of the files that are attached to a prompt.
fn file_bytes(prompt: &Stashed) -> usize {
    let sizes = prompt.parts.iter().map(|part| match part {
        PromptPart::File { file } => file.content.len(),
        _ => 0,
    });
    sizes.sum()
}

/// Deletes a prompt; returns the others. Blocks.
fn delete(file: &Path, id: &str) -> Result<Vec<Stashed>, LockedJsonError> {
    locked_json::change(file, |prompts: &mut Vec<Stashed>| {
        prompts.retain(|other| other.id != id);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_that_cannot_be_stashed_returns_with_its_parts() {
        let file = Attachment {
            id: "1".to_owned(),
            kind: osier_agent::AttachmentKind::Image,
            file_name: "a.png".to_owned(),
            mime_type: "image/png".to_owned(),
            size: 3,
            content: "AAAA".to_owned(),
            extracted_text: None,
        };
        let text = |text: &str| PromptPart::Text {
            text: text.to_owned(),
        };
        let parts = [
            text("see "),
            PromptPart::File { file: file.clone() },
            text(" and "),
            PromptPart::Paste {
                label: "[paste]".to_owned(),
                text: "pasted".to_owned(),
            },
            text("."),
        ];
        let mut expected = Parts::from("see ");
        for (text, is_paste) in [
            ("[picture 4: a.png]", false),
            (" and ", false),
            ("pasted", true),
            (".", false),
        ] {
            expected.push(text.into(), is_paste);
        }
        let found = as_draft("see [picture 4: a.png] and pasted.", &parts);
        assert_eq!(found, (expected, vec![file]));
        assert_eq!(as_draft("plain", &[]), ("plain".into(), Vec::new()));
    }

    #[test]
    fn list_is_newest_first_without_duplicates() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stash.json");
        add(&file, "one", &[], "/a").unwrap();
        add(&file, "two", &[], "/b").unwrap();
        add(&file, "one", &[], "/c").unwrap();
        let texts = |prompts: &[Stashed]| -> Vec<String> {
            prompts.iter().map(|prompt| prompt.text.clone()).collect()
        };
        let prompts: Vec<Stashed> = locked_json::read(&file);
        assert_eq!(texts(&prompts), ["one", "two"]);
        assert_eq!(prompts[0].cwd, "/c");
        let left = delete(&file, &prompts[0].id).unwrap();
        assert_eq!(texts(&left), ["two"]);
        assert_eq!(locked_json::read::<Vec<Stashed>>(&file), left);
    }

    #[test]
    fn oldest_prompts_lose_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stash.json");
        let picture = |bytes: usize| PromptPart::File {
            file: Attachment {
                id: "1".into(),
                kind: osier_agent::AttachmentKind::Image,
                file_name: "a.png".into(),
                mime_type: "image/png".into(),
                size: 1,
                content: "x".repeat(bytes),
                extracted_text: None,
            },
        };
        add(&file, "old", &[picture(FILES_LIMIT / 2)], "/a").unwrap();
        let paste = PromptPart::Paste {
            label: "[paste #1 +20 lines]".into(),
            text: "long".into(),
        };
        add(&file, "paste", &[paste], "/a").unwrap();
        let prompts = add(&file, "new", &[picture(FILES_LIMIT / 2 + 1)], "/a").unwrap();
        let parts: Vec<usize> = prompts.iter().map(|prompt| prompt.parts.len()).collect();
        assert_eq!(parts, [1, 1, 0]);
        assert_eq!(locked_json::read::<Vec<Stashed>>(&file), prompts);
    }
}
