//! Images attached to the prompt: each has a chip in the editor and is removed with it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::Prompt;
use crate::actions::Outbox;
use osier_agent::{Attachment, AttachmentKind, UserMessage};
use osier_base::{percent, text};
use osier_llm::Modality;
use osier_protocol::ModelInfo;
use osier_term::images;
use osier_term::widgets::textarea::{Chip, DraftPart};

/// Files stored for chips that an undo may restore.
const KEPT: usize = 16;
/// Most files of one paste that are taken for pictures.
const DROPPED: usize = 16;
/// Longest paste that may be paths of files.
const LONGEST: usize = 8192;
/// Extensions of dropped files that are attached as images.
const EXTENSIONS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];

/// The files of the chips.
#[derive(Debug, Default)]
pub(crate) struct Attachments {
    files: VecDeque<(u64, Attachment)>,
    count: u64,
    /// Placeholders of images for which a warning was shown, because the model does not accept images.
    warned: Vec<u64>,
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
    fn pieces(&mut self, messages: &[UserMessage]) -> Vec<DraftPart> {
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

impl Prompt {
    /// Puts a file that was read into the prompt.
    pub(crate) fn attach(
        &mut self,
        file: Attachment,
        model: Option<&ModelInfo>,
        outbox: &mut Outbox,
    ) {
        let chip = self.attachments.add(file);
        self.editor.insert_chip(chip);
        if !accepts_images(model) {
            outbox.push(Toast::error(rejection(model)));
        }
    }

    /// Puts queued prompts back into the editor, with their images as chips.
    pub(super) fn take_back(&mut self, messages: &[UserMessage]) {
        let pieces = self.attachments.pieces(messages);
        if !pieces.is_empty() {
            self.editor.put_draft_before(pieces);
        }
    }

    /// The files of the chips in the editor, for the stored draft.
    pub(crate) fn attached(&self, numbers: &[u64]) -> Vec<Attachment> {
        let files = numbers
            .iter()
            .filter_map(|number| self.attachments.find(*number));
        files.cloned().collect()
    }

    /// Makes chips of the texts that stand for these files in a restored draft.
    pub(super) fn restore_attachments(&mut self, files: &[Attachment]) {
        if files.is_empty() {
            return;
        }
        let mut files = files.iter().peekable();
        let mut pieces = Vec::new();
        for piece in self.editor.pieces() {
            let DraftPart::Text(text) = &piece else {
                pieces.push(piece);
                continue;
            };
            let mut rest = text.as_str();
            while let Some(file) = files.peek()
                && let Some((before, after)) = cut_at_mark(rest, &file.file_name)
            {
                pieces.push(DraftPart::Text(before.to_owned()));
                pieces.push(DraftPart::Chip(self.attachments.add((*file).clone())));
                rest = after;
                files.next();
            }
            pieces.push(DraftPart::Text(rest.to_owned()));
        }
        self.editor.clear();
        self.editor.put_draft_before(pieces);
    }

    /// The files of the chips in the editor; `None` when the user has to confirm that the model ignores images.
    pub(super) fn attachments_to_send(
        &mut self,
        model: Option<&ModelInfo>,
        outbox: &mut Outbox,
    ) -> Option<Vec<Attachment>> {
        let numbers = self.editor.attachments();
        if !numbers.is_empty() && !accepts_images(model) && self.attachments.warned != numbers {
            let text = format!("{}; press enter again to send", rejection(model));
            outbox.push(Toast::error(text));
            self.attachments.warned = numbers;
            return None;
        }
        self.attachments.warned.clear();
        let files = numbers
            .iter()
            .filter_map(|number| self.attachments.find(*number));
        Some(files.cloned().collect())
    }
}

fn accepts_images(model: Option<&ModelInfo>) -> bool {
    model.is_none_or(|model| model.input.contains(&Modality::Image))
}

/// What happens to images that the model does not accept.
fn rejection(model: Option<&ModelInfo>) -> String {
    let name = model.map_or("the model", |model| &model.name);
    format!("{name} does not accept images; it gets a placeholder")
}

/// The text before and after the placeholder of an image with this name. The number in the placeholder may differ.
fn cut_at_mark<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
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

/// The pictures that a paste names and nothing but them: what a terminal types for files that are dropped on
/// it, quoted, escaped, as addresses, or plain.
pub(super) fn dropped_pictures(paste: &str) -> Option<Vec<PathBuf>> {
    let paste = paste.trim();
    if paste.is_empty() || paste.len() > LONGEST {
        return None;
    }
    let names = if is_picture(Path::new(paste)) {
        vec![paste.to_owned()]
    } else {
        words(paste)?
    };
    let paths: Vec<PathBuf> = names
        .iter()
        .map(|name| PathBuf::from(unescaped(name)))
        .collect();
    (paths.len() <= DROPPED && paths.iter().all(|path| is_picture(path))).then_some(paths)
}

fn is_picture(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let known = extension
        .is_some_and(|extension| EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()));
    known && path.is_absolute() && path.is_file()
}

/// The words of a line as a shell reads them; `None` for an open quote.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().push(characters.next()?),
            (character, Some(open)) if character == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (character, None) if character.is_whitespace() => words.extend(word.take()),
            (character, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

/// The path of a `file://` address, or the path as it is.
fn unescaped(name: &str) -> String {
    let Some(rest) = name.strip_prefix("file://") else {
        return name.to_owned();
    };
    // The path may follow a host name.
    let path = rest.find('/').map_or(rest, |slash| &rest[slash..]);
    percent::decoded(path)
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

    #[test]
    fn dropped_files_are_known_however_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b's.png");
        std::fs::File::create(&path).unwrap();
        let plain = path.to_str().unwrap();
        let escaped = plain.replace(' ', "\\ ").replace('\'', "\\'");
        let quoted = format!("\"{plain}\"");
        let shell = format!("'{}'", plain.replace('\'', "'\\''"));
        let address = format!("file://{}", plain.replace(' ', "%20"));
        for paste in [plain, &escaped, &quoted, &shell, &address] {
            let paste = if paste == address {
                paste.replace('\'', "%27")
            } else {
                paste.to_owned()
            };
            assert_eq!(
                dropped_pictures(&paste),
                Some(vec![path.clone()]),
                "{paste}"
            );
        }
        let two = format!("{escaped} {escaped}\n");
        assert_eq!(
            dropped_pictures(&two),
            Some(vec![path.clone(), path.clone()])
        );
        for text in ["", "a.png", "/etc/passwd", "look at 'this", "/no/such.png"] {
            assert_eq!(dropped_pictures(text), None, "{text}");
        }
        assert_eq!(dropped_pictures(&format!("see {escaped}")), None);
    }
}
