//! The cache of rendered images. Evicts the least recently shown ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use super::kitty::{self, KittyId};
use super::worker::{self, RenderRequest};
use super::{Canvas, ImageId, ImageRow, Protocol, RenderedImage};
use crate::text::row::Span;

/// Maximum bytes of rendered images in this process and in the terminal.
const MAX_BYTES: usize = 24 * 1024 * 1024;

type Deliver = Box<dyn Fn(RenderedImage) + Send>;

/// A strip on the screen that the terminal paints over cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedStrip {
    pub x: u16,
    pub y: u16,
    pub columns: u16,
    pub part: ImageRow,
    pub bytes: Arc<[u8]>,
}

/// The state of one row of an image.
#[derive(Debug)]
pub enum RowState<'a> {
    /// The image was not requested yet.
    Missing,
    /// The image is loading or damaged.
    Blank,
    /// The cells of the row, and the bytes to paint over them.
    Ready(&'a [Span], Option<Arc<[u8]>>),
}

/// The images of a screen.
pub struct ImageStore {
    canvas: Option<Canvas>,
    entries: HashMap<ImageId, Entry>,
    /// The number of the current frame, to find the least recently shown image.
    frame: u64,
    weight: usize,
    /// Number of images with an id.
    ids: u32,
    /// Bytes to send to the terminal.
    send: Vec<u8>,
    /// Receives the rendered images. Moved to the thread when it starts.
    deliver: Option<Deliver>,
    requests: Option<Sender<RenderRequest>>,
}

struct Entry {
    shown: u64,
    /// `None` while it is loading.
    rendered: Option<RenderedImage>,
}

osier_base::opaque_debug!(ImageStore);

impl ImageStore {
    /// Creates an empty store, which shows nothing until it has a canvas. Starts no thread yet. The
    /// thread calls `deliver` with every rendered image.
    pub fn new(deliver: impl Fn(RenderedImage) + Send + 'static) -> Self {
        Self {
            canvas: None,
            entries: HashMap::new(),
            frame: 0,
            weight: 0,
            ids: 0,
            send: Vec::new(),
            deliver: Some(Box::new(deliver)),
            requests: None,
        }
    }

    /// Pixels of a cell; `None` while images are not shown.
    pub fn cell(&self) -> Option<(u16, u16)> {
        self.canvas.map(|canvas| canvas.cell)
    }

    /// Sets the terminal, theme and protocol to render for; returns whether they changed.
    pub fn set_canvas(&mut self, canvas: Option<Canvas>) -> bool {
        if self.canvas == canvas {
            return false;
        }
        self.forget_all();
        self.canvas = canvas;
        true
    }

    /// Drops all images, after the terminal may have lost them.
    pub fn forget_all(&mut self) {
        for (_, entry) in std::mem::take(&mut self.entries) {
            self.release(entry);
        }
        self.weight = 0;
    }

    /// Starts a frame.
    pub fn next_frame(&mut self) {
        self.frame += 1;
    }

    /// The cells of an image row, if they are ready.
    pub fn row(&mut self, part: ImageRow) -> RowState<'_> {
        let Some(entry) = self.entries.get_mut(&part.image) else {
            return RowState::Missing;
        };
        entry.shown = self.frame;
        let row = usize::from(part.row);
        let entries = entry.rendered.as_ref();
        match entries.and_then(|rendered| Some((rendered, rendered.rows.get(row)?))) {
            Some((rendered, spans)) => RowState::Ready(spans, rendered.strips.get(row).cloned()),
            None => RowState::Blank,
        }
    }

    /// Starts rendering an image.
    pub fn request(&mut self, image: ImageId, base64: &str) {
        let Some(canvas) = self.canvas else { return };
        self.ids = self.ids.wrapping_add(1);
        let request = RenderRequest {
            image,
            canvas,
            id: KittyId::new(self.ids, std::process::id()),
            base64: base64.to_owned(),
        };
        if let Some(deliver) = self.deliver.take() {
            let (sender, receiver) = mpsc::channel();
            let started = thread::Builder::new()
                .name("images".into())
                .spawn(move || worker::run(&receiver, &deliver));
            // If the thread does not start, no images are shown.
            self.requests = started.is_ok().then_some(sender);
        }
        if let Some(requests) = &self.requests {
            let _ = requests.send(request);
        }
        let shown = self.frame;
        self.entries.insert(
            image,
            Entry {
                shown,
                rendered: None,
            },
        );
    }

    /// Stores a rendered image; returns whether it is still needed.
    pub fn apply(&mut self, mut rendered: RenderedImage) -> bool {
        let wanted = self.canvas == Some(rendered.canvas);
        let Some(entry) = self.entries.get_mut(&rendered.image).filter(|_| wanted) else {
            return false;
        };
        self.send.append(&mut rendered.send);
        self.weight += rendered.weight;
        entry.rendered = Some(rendered);
        self.evict();
        true
    }

    /// Returns the bytes for the terminal since the last call.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.send)
    }

    /// Evicts the least recently shown images until the rest fits the limit. Visible images stay.
    fn evict(&mut self) {
        while self.weight > MAX_BYTES {
            let oldest = self
                .entries
                .iter()
                .filter(|(_, entry)| entry.rendered.is_some() && entry.shown + 1 < self.frame)
                .min_by_key(|(_, entry)| entry.shown)
                .map(|(image, _)| *image);
            let Some(entry) = oldest.and_then(|image| self.entries.remove(&image)) else {
                return;
            };
            self.weight -= entry
                .rendered
                .as_ref()
                .map_or(0, |rendered| rendered.weight);
            self.release(entry);
        }
    }

    fn release(&mut self, entry: Entry) {
        if let Some(rendered) = entry.rendered
            && rendered.canvas.protocol == Protocol::Kitty
        {
            let bytes = kitty::delete(rendered.id, rendered.canvas.passes_through);
            self.send.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::flag;
    use super::super::{DEFAULT_CELL, rows};
    use super::*;
    use crate::text::face::Face;
    use crate::theme::ColourDepth;
    use osier_base::ansi::Hue;

    const CANVAS: Canvas = Canvas {
        protocol: Protocol::Blocks,
        cell: DEFAULT_CELL,
        depth: ColourDepth::True,
        background: (0, 0, 0),
        passes_through: false,
    };

    /// Renders a flag on this canvas.
    fn shown(canvas: Canvas) -> (ImageStore, ImageRow) {
        let (sender, results) = mpsc::channel();
        let mut images = ImageStore::new(move |rendered| sender.send(rendered).unwrap());
        let base64 = flag(18, 36);
        let part = rows(&base64, DEFAULT_CELL, (80, 20)).unwrap()[0]
            .image
            .clone()
            .unwrap();
        assert!(matches!(images.row(*part), RowState::Missing));
        assert!(images.set_canvas(Some(canvas)));
        images.request(part.image, &base64);
        assert!(matches!(images.row(*part), RowState::Blank));
        assert!(images.apply(results.recv().unwrap()));
        (images, *part)
    }

    /// The cells of a rendered row.
    fn cells(images: &mut ImageStore, part: ImageRow) -> (Vec<Span>, Option<Arc<[u8]>>) {
        match images.row(part) {
            RowState::Ready(spans, strip) => (spans.to_vec(), strip),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn image_is_rendered_for_the_protocol() {
        let (mut images, part) = shown(CANVAS);
        let (red, blue) = (Hue::Rgb(255, 0, 0), Hue::Rgb(0, 0, 255));
        let (spans, strip) = cells(&mut images, part);
        assert_eq!(spans, [Span::new("  ", Face::exact(None, Some(red)))]);
        assert_eq!(strip, None);
        let below = ImageRow { row: 1, ..part };
        let (spans, _) = cells(&mut images, below);
        assert_eq!(spans, [Span::new("  ", Face::exact(None, Some(blue)))]);
        assert_eq!(images.take_bytes(), b"");
        for (protocol, begin) in [
            (Protocol::Sixel, "\x1bP0;1;0q\"1;1;18;18#0;2;100;0;0#0!18~"),
            (Protocol::Iterm, "\x1b]1337;File=inline=1;"),
        ] {
            let (mut images, part) = shown(Canvas { protocol, ..CANVAS });
            let (spans, strip) = cells(&mut images, part);
            assert_eq!(spans, [Span::new("  ", Face::default())]);
            assert!(strip.unwrap().starts_with(begin.as_bytes()), "{protocol:?}");
        }
    }

    #[test]
    fn dropped_images_are_deleted_from_the_terminal() {
        let protocol = Protocol::Kitty;
        let (mut images, part) = shown(Canvas { protocol, ..CANVAS });
        let sent = String::from_utf8(images.take_bytes()).unwrap();
        let id = sent.split("i=").nth(1).unwrap().split(',').next().unwrap();
        assert!(sent.contains(",c=2,r=2,"), "{sent}");
        assert!(images.set_canvas(None));
        let taken = String::from_utf8(images.take_bytes()).unwrap();
        assert_eq!(taken, format!("\x1b_Ga=d,d=I,q=2,i={id}\x1b\\"));
        assert!(matches!(images.row(part), RowState::Missing));
    }
}
