//! Images that an answer references, shown below its text. The text of a model is not trusted: images in the answer
//! itself or in the working directory are shown, URLs are never requested.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::cell_style::{CellStyle, picture_rows};
use osier_base::text;
use osier_markdown::plain;
use osier_markdown::plain::Image;
use osier_term::images;
use osier_term::{Row, Token};
use osier_tools::image::FILE_LIMIT;

/// The maximum number of images of one text.
const MOST: usize = 8;
/// The maximum number of rows of an image.
const ROWS: u16 = 16;

/// An image and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Illustration {
    image: Image,
    file: File,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum File {
    /// The image was not read yet.
    Unread,
    /// The image is being read.
    Requested,
    /// In base64.
    Read(String),
    /// Why the image cannot be shown.
    Failed(String),
}

impl Illustration {
    /// The pictures of a text that can be shown: those in the text, and files.
    pub(super) fn of(source: &str) -> Vec<Self> {
        let images = plain::images(source, MOST);
        images.into_iter().filter_map(Self::new).collect()
    }

    fn new(image: Image) -> Option<Self> {
        let destination = image.destination.trim();
        let file = match destination.split_once(':') {
            Some(("data", data)) => embedded(data)?,
            // A single letter before the colon is a drive, not a scheme.
            Some(("file", _)) => File::Unread,
            Some((scheme, _)) if scheme.len() > 1 && !scheme.contains(['/', '.']) => return None,
            _ if destination.is_empty() || destination.starts_with('#') => return None,
            _ => File::Unread,
        };
        Some(Self { image, file })
    }

    /// The path of the file to read for the image; later calls return `None`.
    pub(super) fn ask(&mut self) -> Option<String> {
        if self.file != File::Unread {
            return None;
        }
        self.file = File::Requested;
        Some(self.image.destination.clone())
    }

    /// Sets the file if it belongs to this image. Returns whether it does.
    pub(super) fn store(&mut self, path: &str, read: &Result<String, String>) -> bool {
        let is_own = self.file == File::Requested && self.image.destination == path;
        if is_own {
            self.file = match read {
                Ok(base64) => File::Read(base64.clone()),
                Err(reason) => File::Failed(reason.clone()),
            };
        }
        is_own
    }

    pub(super) fn base64(&self) -> Option<&str> {
        match &self.file {
            File::Read(base64) => Some(base64),
            _ => None,
        }
    }

    /// The rows of the image; with `named`, a row names the image first.
    pub(super) fn rows(&self, width: u16, style: CellStyle, named: bool) -> Vec<Row> {
        let label = |reason: &str| {
            let name = match self.image.alt.trim() {
                "" => self.image.destination.as_str(),
                alt => alt,
            };
            let line = text::single_line(&text::sanitize(&format!("▣ {name}{reason}")));
            let line = text::truncate(&line, usize::from(width)).into_owned();
            Row::plain(line, Token::Muted)
        };
        match (&self.file, style.cell) {
            (File::Failed(reason), _) => vec![label(&format!(": {reason}"))],
            (File::Read(base64), Some(cell)) => {
                let mut rows: Vec<Row> = named.then(|| label("")).into_iter().collect();
                rows.extend(picture_rows(base64, cell, width, ROWS, &[]));
                rows
            }
            _ => Vec::new(),
        }
    }
}

/// The picture of a `data:` address; `None` when it is something else.
fn embedded(data: &str) -> Option<File> {
    let (kind, content) = data.split_once(',')?;
    if !kind.starts_with("image/") {
        return None;
    }
    let content: String = content
        .chars()
        .filter(|char| !char.is_whitespace())
        .collect();
    let is_base64 = kind.ends_with(";base64");
    let fits = (content.len() / 4 * 3) as u64 <= FILE_LIMIT;
    let shown = is_base64 && fits && images::dimensions(&content).is_some();
    Some(if shown {
        // Encoded again, so that the padding has one form.
        let bytes = BASE64_STANDARD.decode(&content);
        bytes.map_or(File::Failed(DAMAGED.to_owned()), |bytes| {
            File::Read(BASE64_STANDARD.encode(bytes))
        })
    } else if fits {
        File::Failed(DAMAGED.to_owned())
    } else {
        File::Failed("image too large".to_owned())
    })
}

const DAMAGED: &str = "unsupported or damaged image";

#[cfg(test)]
mod tests {
    use super::*;
    use osier_settings::Density;

    const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGOoBwAAgQCA01RTSgAAAABJRU5ErkJggg==";

    #[test]
    fn files_and_data_urls_are_shown_and_addresses_are_not_fetched() {
        let source = format!(
            "![a](docs/a.png) ![b](https://e.org/b.png) ![c](data:image/png;base64,{PIXEL}) \
             ![d](ftp://e.org/d.png) ![e](data:text/html,x) ![f](file:///w/f.png) ![g](#g) \
             ![h](data:image/png;base64,AAAA) ![](javascript:alert)"
        );
        let mut found = Illustration::of(&source);
        let names: Vec<&str> = found.iter().map(|one| one.image.alt.as_str()).collect();
        assert_eq!(names, ["a", "c", "f", "h"]);
        let asked: Vec<Option<String>> = found.iter_mut().map(Illustration::ask).collect();
        let path = |path: &str| Some(path.to_owned());
        assert_eq!(
            asked,
            [path("docs/a.png"), None, path("file:///w/f.png"), None]
        );
        assert_eq!(found[0].ask(), None);
        assert_eq!(found[1].base64(), Some(PIXEL));
        let failed = File::Failed(DAMAGED.to_owned());
        assert_eq!(found[3].file, failed);
    }

    #[test]
    fn an_image_that_cannot_be_shown_has_a_reason() {
        let style = CellStyle {
            show_thinking: true,
            turn_summaries: true,
            density: Density::Normal,
            cell: Some((9, 18)),
            expand_key: None,
            linear: false,
        };
        let mut found = Illustration::of("![the plan](plan.png)");
        assert_eq!(found[0].rows(40, style, false), []);
        assert!(!found[0].store("plan.png", &Err("not asked for".to_owned())));
        found[0].ask();
        assert!(!found[0].store("other.png", &Ok(PIXEL.to_owned())));
        let mut other = found.clone();
        assert!(found[0].store("plan.png", &Err("there is no such file".to_owned())));
        let shown: Vec<String> = found[0]
            .rows(40, style, false)
            .iter()
            .map(Row::text)
            .collect();
        assert_eq!(shown, ["▣ the plan: there is no such file"]);
        assert!(other[0].store("plan.png", &Ok(PIXEL.to_owned())));
        let rows = other[0].rows(40, style, true);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].text(), "▣ the plan");
        assert!(rows[1].image.is_some());
    }
}
