//! Prompts that were put aside: kept in the data directory until they are taken back, whatever session or
//! process that happens in.

use std::path::Path;

use serde::{Deserialize, Serialize};

use osier_agent::Attachment;
use osier_base::locked_json;
use osier_base::locked_json::KeptError;
use osier_base::text::head_bytes;
use osier_base::{clock, ids};

/// Bytes of a prompt that are kept.
const LONGEST: usize = 1 << 20;
/// Prompts that are kept: the oldest ones give way.
const MOST: usize = 200;
/// Bytes of files that are kept along with them: those of the oldest give way.
const FILES: usize = 24 << 20;

/// A part of a prompt, as the editor has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptPart {
    Text {
        text: String,
    },
    /// A long paste, shown by its label.
    Paste {
        label: String,
        text: String,
    },
    /// A file that goes along with the prompt.
    File {
        file: Attachment,
    },
}

/// A prompt that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stashed {
    pub id: String,
    pub text: String,
    /// What it is made of, where that is more than its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PromptPart>,
    /// Where it was written.
    pub cwd: String,
    /// When, in milliseconds since the Unix epoch.
    pub created: i64,
}

/// The prompts that are put aside, the newest first. Blocks.
pub fn list(file: &Path) -> Vec<Stashed> {
    locked_json::read(file)
}

/// Puts a prompt aside; what there is now. Blocks.
///
/// # Errors
/// It was not kept.
pub fn add(
    file: &Path,
    (text, parts): (&str, &[PromptPart]),
    cwd: &str,
) -> Result<Vec<Stashed>, KeptError> {
    locked_json::change(file, |prompts: &mut Vec<Stashed>| {
        let stashed = Stashed {
            id: ids::session_id(),
            text: head_bytes(text, LONGEST).to_owned(),
            // What is cut is no longer what it was made of.
            parts: if text.len() > LONGEST {
                Vec::new()
            } else {
                parts.to_vec()
            },
            cwd: cwd.to_owned(),
            created: clock::now_ms(),
        };
        prompts.retain(|other| other.text != stashed.text || other.parts != stashed.parts);
        prompts.insert(0, stashed);
        prompts.truncate(MOST);
        let mut left = FILES;
        for prompt in prompts {
            let size = files(prompt);
            match left.checked_sub(size) {
                Some(rest) => left = rest,
                None => prompt.parts.clear(),
            }
        }
    })
}

/// Bytes of the files of a prompt.
fn files(prompt: &Stashed) -> usize {
    let sizes = prompt.parts.iter().map(|part| match part {
        PromptPart::File { file } => file.content.len(),
        _ => 0,
    });
    sizes.sum()
}

/// Forgets one; what there is now. Blocks.
///
/// # Errors
/// It is still kept.
pub fn forget(file: &Path, id: &str) -> Result<Vec<Stashed>, KeptError> {
    locked_json::change(file, |prompts: &mut Vec<Stashed>| {
        prompts.retain(|other| other.id != id);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_first_and_nothing_is_there_twice() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("stash.json");
        add(&file, ("one", &[]), "/a").unwrap();
        add(&file, ("two", &[]), "/b").unwrap();
        add(&file, ("one", &[]), "/c").unwrap();
        let texts = |prompts: &[Stashed]| -> Vec<String> {
            prompts.iter().map(|prompt| prompt.text.clone()).collect()
        };
        let prompts = list(&file);
        assert_eq!(texts(&prompts), ["one", "two"]);
        assert_eq!(prompts[0].cwd, "/c");
        let left = forget(&file, &prompts[0].id).unwrap();
        assert_eq!(texts(&left), ["two"]);
        assert_eq!(list(&file), left);
    }

    #[test]
    fn the_files_of_the_oldest_give_way() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("stash.json");
        let picture = |bytes: usize| PromptPart::File {
            file: Attachment {
                id: "1".into(),
                kind: osier_agent::AttachmentKind::Image,
                file_name: "a.png".into(),
                mime_type: "image/png".into(),
                size: 1,
                content: "x".repeat(bytes),
                extracted_text: None,
                preview: None,
            },
        };
        add(&file, ("old", &[picture(FILES / 2)]), "/a").unwrap();
        let paste = PromptPart::Paste {
            label: "[paste #1 +20 lines]".into(),
            text: "long".into(),
        };
        add(&file, ("paste", &[paste]), "/a").unwrap();
        let prompts = add(&file, ("new", &[picture(FILES / 2 + 1)]), "/a").unwrap();
        let parts: Vec<usize> = prompts.iter().map(|prompt| prompt.parts.len()).collect();
        assert_eq!(parts, [1, 1, 0]);
        assert_eq!(list(&file), prompts);
    }
}
