//! Images attached to the prompt: each has a chip in the editor and is removed with it.

use std::collections::VecDeque;

use osier_agent::{Attachment, AttachmentKind, UserMessage};
use osier_base::text;
use osier_term::images;
use osier_term::widgets::textarea::{Chip, DraftPart};

/// Files stored for chips that an undo may restore.
const KEPT: usize = 16;

/// The files of the chips.
#[derive(Debug, Default)]
pub(crate) struct Attachments {
    files: VecDeque<(u64, Attachment)>,
    count: u64,
    /// Placeholders of images for which a warning was shown, because the model does not accept images.
    pub(super) warned: Vec<u64>,
}

impl Attachments {
    pub(crate) fn find(&self, number: u64) -> Option<&Attachment> {
        let mut files = self.files.iter();
        files.find_map(|(known, file)| (*known == number).then_some(file))
    }

    /// Adds a file; the result is its chip.
    pub(crate) fn add(&mut self, file: Attachment) -> Chip {
        self.count += 1;
        let number = self.count;
        let chip = Chip {
            label: label(&file),
            text: format!("[picture {number}: {}]", text::single_line(&file.file_name)).into(),
            attachment: Some(number),
        };
        self.files.push_back((number, file));
        if self.files.len() > KEPT {
            self.files.pop_front();
        }
        chip
    }

    /// The prompts as pieces for the editor, their files as chips.
    pub(super) fn pieces(&mut self, messages: &[UserMessage]) -> Vec<DraftPart> {
        let mut pieces = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            if place > 0 {
                pieces.push(DraftPart::Text("\n\n".to_owned()));
            }
            let mut rest = message.text.as_str();
            for file in &message.attachments {
                let chip = self.add(file.clone());
                let (before, after) = cut_at_mark(rest, &file.file_name).unwrap_or((rest, ""));
                pieces.push(DraftPart::Text(before.to_owned()));
                pieces.push(DraftPart::Chip(chip));
                rest = after;
            }
            pieces.push(DraftPart::Text(rest.to_owned()));
        }
        pieces
    }
}

/// The text before and after the placeholder of an image with this name. The number in the placeholder may differ.
pub(super) fn cut_at_mark<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let end = format!(": {}]", text::single_line(name));
    let mut marks = text
        .match_indices("[picture ")
        .map(|(at, mark)| (at, at + mark.len()));
    marks.find_map(|(start, digits)| {
        let rest = &text[digits..];
        let behind = rest.trim_start_matches(|char: char| char.is_ascii_digit());
        let after = behind.strip_prefix(&*end);
        let after = after.filter(|_| behind.len() < rest.len())?;
        Some((&text[..start], after))
    })
}

/// `picture.png 640×480 12 KB`.
pub(super) fn label(file: &Attachment) -> String {
    let size = match file.size {
        bytes @ 0..1000 => format!("{bytes} B"),
        bytes @ 1000..1_000_000 => format!("{} KB", bytes / 1000),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    };
    let name = text::single_line(&file.file_name);
    let pixels = (file.kind == AttachmentKind::Image)
        .then(|| images::dimensions(&file.content))
        .flatten();
    match pixels {
        Some((width, height)) => format!("[{name} {width}×{height} {size}]"),
        None => format!("[{name} {size}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_a_picture_is_found_again() {
        assert_eq!(
            cut_at_mark("see [picture 12: a b.png] and [picture 3: c.png]", "c.png"),
            Some(("see [picture 12: a b.png] and ", ""))
        );
        assert_eq!(
            cut_at_mark("[picture : a] [picture 1: a]x", "a"),
            Some(("[picture : a] ", "x"))
        );
        assert_eq!(cut_at_mark("nothing", "a"), None);
    }
}
