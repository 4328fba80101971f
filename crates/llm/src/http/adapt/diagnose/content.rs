//! Images and files that a vendor refuses.

use super::{Diagnosis, Refusal};
use crate::http::adapt::{Change, hash};
use crate::message::{ContentBlock, Message};
use crate::model::{Api, Modality};

/// Kinds of content, their names, and words in errors about them.
const KINDS: [(Modality, &str, &[&str]); 3] = [
    (
        Modality::Image,
        "images",
        &["image", "vision", "multimodal", "multi-modal"],
    ),
    (Modality::Audio, "recordings", &["audio"]),
    (
        Modality::Pdf,
        "documents",
        &["pdf", "document", "input_file", "'file'", "\"file\""],
    ),
];

/// Words about the data of content.
const DATA_WORDS: [&str; 5] = [
    "media type",
    "media_type",
    "base64",
    "inline_data",
    "inlinedata",
];

/// Words that say that a model does not accept a kind of content.
const UNSUPPORTED_CONTENT: [&str; 9] = [
    "not support",
    "unsupported",
    "n't support",
    "only support",
    "no endpoints",
    "does not accept",
    "text-only",
    "unknown variant",
    "not a multimodal",
];

/// Words that say that content must be a text.
const TEXT_ONLY: [&str; 7] = [
    "must be a string",
    "should be a string",
    "be a valid string",
    "expected a string",
    "expected string",
    "not a string",
    "got array",
];

/// Words that say that one image or file is wrong, not its kind.
const VALUE_WORDS: [&str; 22] = [
    "media type",
    "media_type",
    "mime",
    "format",
    "could not process",
    "unable to process",
    "corrupt",
    "decode",
    "dimension",
    "exceed",
    "too large",
    "too big",
    "invalid base64",
    "not a valid",
    "not valid",
    "too many",
    "at most",
    "maximum",
    "empty",
    "password",
    "match",
    "pixel",
];

impl Refusal<'_> {
    /// Diagnoses errors about images and files.
    pub(super) fn content(&self) -> Option<Diagnosis> {
        let blocks = self.blocks();
        if self.request.model.api == Api::OpenaiChatCompletions
            && self.says(&["content"])
            && self.says(&TEXT_ONLY)
        {
            let then = "messages are sent as texts, with notes for images and files";
            return Some(self.diagnosis(Change::Parts, "content with parts", then));
        }
        let kinds = KINDS.iter();
        let of_kind = kinds.filter(|(_, _, words)| self.says(words));
        if let Some(found) = of_kind.clone().find_map(|kind| self.kind(kind, &blocks)) {
            return Some(found);
        }
        if of_kind.count() == 0 && !self.says(&DATA_WORDS) {
            return None;
        }
        let mut refused = self.blocks_in_path(&blocks);
        let is_named = !refused.is_empty();
        if !is_named {
            refused = self.newest_blocks();
        }
        let what: Vec<String> = refused
            .iter()
            .map(|block| block.description().into_owned())
            .collect();
        let data: Vec<u64> = refused
            .iter()
            .filter_map(|block| block.data())
            .map(hash)
            .collect();
        (!data.is_empty()).then(|| {
            let then = "requests contain a note instead; the session keeps it";
            let change = if is_named {
                Change::Data(data)
            } else {
                Change::Guess(data)
            };
            self.diagnosis(change, &what.join(", "), then)
        })
    }

    /// A kind of content that the model does not accept, or of which there is too much.
    fn kind(
        &self,
        (kind, name, _): &(Modality, &str, &[&str]),
        blocks: &[&ContentBlock],
    ) -> Option<Diagnosis> {
        let blocks: Vec<&&ContentBlock> = blocks
            .iter()
            .filter(|block| block.modality() == *kind)
            .collect();
        if blocks.is_empty() {
            return None;
        }
        if self.says(&UNSUPPORTED_CONTENT) && !self.says(&VALUE_WORDS) {
            let then = "the model gets notes instead";
            return Some(self.diagnosis(Change::Modality(*kind), name, then));
        }
        let limit = self.too_many(blocks.len())?;
        let count = blocks.len() - limit;
        let oldest = blocks[..count].iter().filter_map(|block| block.data());
        let then = format!("the {count} oldest are left out of requests; the session keeps them");
        let change = Change::Data(oldest.map(hash).collect());
        Some(self.diagnosis(change, &format!("so many {name}"), &then))
    }

    /// The images and files of the request, in order.
    fn blocks(&self) -> Vec<&ContentBlock> {
        let messages = self.request.context.messages.iter();
        messages.flat_map(data_blocks).collect()
    }

    /// The images and files of the newest message that has any: earlier ones were part of
    /// successful requests.
    fn newest_blocks(&self) -> Vec<&ContentBlock> {
        let messages = self.request.context.messages.iter().rev();
        let mut messages = messages.map(|message| data_blocks(message).collect::<Vec<_>>());
        messages
            .find(|blocks| !blocks.is_empty())
            .unwrap_or_default()
    }

    /// The images and files at the place in the body that the error names.
    fn blocks_in_path<'b>(&self, blocks: &[&'b ContentBlock]) -> Vec<&'b ContentBlock> {
        for root in ["messages", "contents", "input"] {
            let Some(node) = self.node(root) else {
                continue;
            };
            let text = node.to_string();
            let sent = blocks.iter().filter(|block| {
                block
                    .data()
                    .is_some_and(|data| !data.is_empty() && text.contains(data))
            });
            let sent: Vec<&ContentBlock> = sent.copied().collect();
            if !sent.is_empty() {
                return sent;
            }
        }
        Vec::new()
    }

    /// The limit of an error about the number of images or files, if there are more.
    fn too_many(&self, count: usize) -> Option<usize> {
        if !self.says(&[
            "too many",
            "at most",
            "up to",
            "maximum of",
            "maximum number",
            "limit of",
            "more than",
        ]) || self.says(&["pixel", "dimension", "bytes", " mb", "token"])
        {
            return None;
        }
        let numbers = self.text.split(|char: char| !char.is_ascii_digit());
        let fitting = numbers.filter_map(|number| number.parse().ok());
        let limit = fitting
            .filter(|limit: &usize| (1..count).contains(limit))
            .max();
        limit.or_else(|| self.says(&["too many"]).then_some(count / 2))
    }
}

fn data_blocks(message: &Message) -> impl Iterator<Item = &ContentBlock> {
    let content = match message {
        Message::User(user) => user.content.as_slice(),
        Message::ToolResult(result) => result.content.as_slice(),
        Message::Assistant(_) => &[],
    };
    content.iter().filter(|block| block.data().is_some())
}
