//! The pictures that were shown, the least recent of which are let go.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use super::kitty::{self, Number};
use super::worker::{self, Request};
use super::{Canvas, Drawn, Part, PictureId, Protocol};
use crate::row::Span;

/// Bytes of ready pictures that are kept, here and in the terminal.
const KEPT: usize = 24 * 1024 * 1024;

type Deliver = Box<dyn Fn(Drawn) + Send>;

/// A strip on the screen, which the terminal paints over cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub x: u16,
    pub y: u16,
    pub columns: u16,
    pub part: Part,
    pub bytes: Arc<[u8]>,
}

/// What there is of a row of a picture.
#[derive(Debug)]
pub enum Shown<'a> {
    /// Nobody has asked for the picture yet.
    Missing,
    /// It is on its way, or damaged.
    Blank,
    /// Its cells, and what is painted over them.
    Ready(&'a [Span], Option<Arc<[u8]>>),
}

/// The pictures of a screen.
pub struct Pictures {
    canvas: Option<Canvas>,
    ready: HashMap<PictureId, Entry>,
    /// Numbers the frames, for what was shown last.
    frame: u64,
    weight: usize,
    /// Pictures that got a number of the terminal.
    numbered: u32,
    /// What the terminal has to be sent.
    send: Vec<u8>,
    /// Where ready pictures go, until the worker takes it.
    deliver: Option<Deliver>,
    requests: Option<Sender<Request>>,
}

struct Entry {
    shown: u64,
    /// Not set while it is made ready.
    drawn: Option<Drawn>,
}

impl fmt::Debug for Pictures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pictures")
            .field("canvas", &self.canvas)
            .field("ready", &self.ready.len())
            .finish_non_exhaustive()
    }
}

impl Pictures {
    /// Shows nothing before it has a canvas. `deliver` is called on the worker's thread; starts nothing.
    pub fn new(deliver: impl Fn(Drawn) + Send + 'static) -> Self {
        Self {
            canvas: None,
            ready: HashMap::new(),
            frame: 0,
            weight: 0,
            numbered: 0,
            send: Vec::new(),
            deliver: Some(Box::new(deliver)),
            requests: None,
        }
    }

    /// Pixels of a cell; `None` while no pictures are shown.
    pub fn cell(&self) -> Option<(u16, u16)> {
        self.canvas.map(|canvas| canvas.cell)
    }

    /// Draws for another terminal, theme or setting from now on; whether it is another.
    pub fn set_canvas(&mut self, canvas: Option<Canvas>) -> bool {
        if self.canvas == canvas {
            return false;
        }
        self.forget_all();
        self.canvas = canvas;
        true
    }

    /// The terminal has forgotten what it was sent, or may have.
    pub fn forget_all(&mut self) {
        for (_, entry) in std::mem::take(&mut self.ready) {
            self.let_go(entry);
        }
        self.weight = 0;
    }

    /// A frame begins.
    pub fn next_frame(&mut self) {
        self.frame += 1;
    }

    /// The cells of a row of a picture, as far as they are ready.
    pub fn row(&mut self, part: Part) -> Shown<'_> {
        let Some(entry) = self.ready.get_mut(&part.picture) else {
            return Shown::Missing;
        };
        entry.shown = self.frame;
        let row = usize::from(part.row);
        let ready = entry.drawn.as_ref();
        match ready.and_then(|drawn| Some((drawn, drawn.rows.get(row)?))) {
            Some((drawn, spans)) => Shown::Ready(spans, drawn.strips.get(row).cloned()),
            None => Shown::Blank,
        }
    }

    /// Has a picture made ready.
    pub fn request(&mut self, picture: PictureId, base64: &str) {
        let Some(canvas) = self.canvas else { return };
        self.numbered = self.numbered.wrapping_add(1);
        let request = Request {
            picture,
            canvas,
            number: Number::new(self.numbered, std::process::id()),
            base64: base64.to_owned(),
        };
        if let Some(deliver) = self.deliver.take() {
            let (sender, receiver) = mpsc::channel();
            let started = thread::Builder::new()
                .name("pictures".into())
                .spawn(move || worker::work(&receiver, &deliver));
            // Without a thread there are no pictures.
            self.requests = started.is_ok().then_some(sender);
        }
        if let Some(requests) = &self.requests {
            let _ = requests.send(request);
        }
        let shown = self.frame;
        self.ready.insert(picture, Entry { shown, drawn: None });
    }

    /// Takes a picture that is ready; whether it is still wanted.
    pub fn apply(&mut self, mut drawn: Drawn) -> bool {
        let wanted = self.canvas == Some(drawn.canvas);
        let Some(entry) = self.ready.get_mut(&drawn.picture).filter(|_| wanted) else {
            return false;
        };
        self.send.append(&mut drawn.send);
        self.weight += drawn.weight;
        entry.drawn = Some(drawn);
        self.evict();
        true
    }

    /// Bytes for the terminal since the last call.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.send)
    }

    /// Lets go what was not shown for the longest time, until the rest is light enough. What is on the screen
    /// stays.
    fn evict(&mut self) {
        while self.weight > KEPT {
            let oldest = self
                .ready
                .iter()
                .filter(|(_, entry)| entry.drawn.is_some() && entry.shown + 1 < self.frame)
                .min_by_key(|(_, entry)| entry.shown)
                .map(|(picture, _)| *picture);
            let Some(entry) = oldest.and_then(|picture| self.ready.remove(&picture)) else {
                return;
            };
            self.weight -= entry.drawn.as_ref().map_or(0, |drawn| drawn.weight);
            self.let_go(entry);
        }
    }

    fn let_go(&mut self, entry: Entry) {
        if let Some(drawn) = entry.drawn
            && drawn.canvas.protocol == Protocol::Kitty
        {
            let bytes = kitty::forget(drawn.number, drawn.canvas.passes_through);
            self.send.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::flag;
    use super::super::{USUAL_CELL, rows};
    use super::*;
    use crate::face::Face;
    use crate::theme::ColourDepth;
    use osier_base::ansi::Hue;

    const CANVAS: Canvas = Canvas {
        protocol: Protocol::Blocks,
        cell: USUAL_CELL,
        depth: ColourDepth::True,
        ground: (0, 0, 0),
        passes_through: false,
    };

    /// Shows a flag on this canvas.
    fn shown(canvas: Canvas) -> (Pictures, Part) {
        let (sender, ready) = mpsc::channel();
        let mut pictures = Pictures::new(move |drawn| sender.send(drawn).unwrap());
        let base64 = flag(18, 36);
        let part = rows(&base64, USUAL_CELL, (80, 20)).unwrap()[0]
            .picture
            .clone()
            .unwrap();
        assert!(matches!(pictures.row(*part), Shown::Missing));
        assert!(pictures.set_canvas(Some(canvas)));
        pictures.request(part.picture, &base64);
        assert!(matches!(pictures.row(*part), Shown::Blank));
        assert!(pictures.apply(ready.recv().unwrap()));
        (pictures, *part)
    }

    /// The cells of a row that is ready.
    fn cells(pictures: &mut Pictures, part: Part) -> (Vec<Span>, Option<Arc<[u8]>>) {
        match pictures.row(part) {
            Shown::Ready(spans, strip) => (spans.to_vec(), strip),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_picture_comes_in_the_form_of_the_terminal() {
        let (mut pictures, part) = shown(CANVAS);
        let (red, blue) = (Hue::Rgb(255, 0, 0), Hue::Rgb(0, 0, 255));
        let (spans, strip) = cells(&mut pictures, part);
        assert_eq!(spans, [Span::new("  ", Face::exact(None, Some(red)))]);
        assert_eq!(strip, None);
        let below = Part { row: 1, ..part };
        let (spans, _) = cells(&mut pictures, below);
        assert_eq!(spans, [Span::new("  ", Face::exact(None, Some(blue)))]);
        assert_eq!(pictures.take_bytes(), b"");
        for (protocol, begin) in [
            (Protocol::Sixel, "\x1bP0;1;0q\"1;1;18;18#0;2;100;0;0#0!18~"),
            (Protocol::Iterm, "\x1b]1337;File=inline=1;"),
        ] {
            let (mut pictures, part) = shown(Canvas { protocol, ..CANVAS });
            let (spans, strip) = cells(&mut pictures, part);
            assert_eq!(spans, [Span::new("  ", Face::default())]);
            assert!(strip.unwrap().starts_with(begin.as_bytes()), "{protocol:?}");
        }
    }

    #[test]
    fn what_the_terminal_keeps_is_taken_back() {
        let protocol = Protocol::Kitty;
        let (mut pictures, part) = shown(Canvas { protocol, ..CANVAS });
        let sent = String::from_utf8(pictures.take_bytes()).unwrap();
        let number = sent.split("i=").nth(1).unwrap().split(',').next().unwrap();
        assert!(sent.contains(",c=2,r=2,"), "{sent}");
        assert!(pictures.set_canvas(None));
        let taken = String::from_utf8(pictures.take_bytes()).unwrap();
        assert_eq!(taken, format!("\x1b_Ga=d,d=I,q=2,i={number}\x1b\\"));
        assert!(matches!(pictures.row(part), Shown::Missing));
    }
}
