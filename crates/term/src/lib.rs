//! A toolkit for full-screen terminal interfaces.
//!
//! The crate controls the terminal, decodes its input and writes frames in as few bytes as
//! possible. It has themes, keymaps, text layout, inline images, syntax highlighting and widgets.
//! It uses the cell buffers of ratatui and knows nothing about agents or sessions.
//!
//! A frame is laid out as [`Row`]s, painted into a buffer with the styles of a
//! [`Theme`], and written as the difference to the previous frame:
//!
//! ```
//! use osier_term::face::Token;
//! use osier_term::frame::{Features, FrameWriter};
//! use osier_term::row::Row;
//! use osier_term::theme::Theme;
//! use osier_term::widgets::paint::paint_rows;
//! use ratatui::layout::Size;
//!
//! let theme = Theme::default();
//! let rows = [Row::plain("Hello", Token::Title)];
//! let mut writer = FrameWriter::new(Size::new(20, 2), Features::default());
//! let mut draw = || {
//!     let (buffer, links) = writer.canvas();
//!     paint_rows(&rows, buffer.area, buffer, links, |face| theme.style(face));
//!     let mut bytes = Vec::new();
//!     writer.finish(None, &mut bytes);
//!     bytes
//! };
//! assert!(draw().ends_with(b"Hello\x1b[?25l"));
//! assert_eq!(draw(), b"", "an unchanged frame writes nothing");
//! ```
//!
//! # Rooms
//!
//! Types that every screen needs are at the root: `use osier_term::{Component, Row, Span, Token}`.
//!
//! Lowest layer first; each imports only those before it (`tests/it/layers.rs` checks it):
//!
//! - [`text`]: what is shown, before it has colours: [`Token`] and
//!   [`Face`], [`Row`]s, [`Wrap`], and the
//!   [`Highlighter`].
//! - [`input`]: [`InputEvent`](input::InputEvent) is a key, a paste, a mouse event or a reply of the
//!   terminal.
//! - [`frame`]: [`FrameWriter`](frame::FrameWriter) writes frames,
//!   [`FrameClock`](frame::FrameClock) schedules them.
//! - [`theme`]: [`ThemeStore`](theme::ThemeStore) loads the themes that map faces to styles.
//! - [`images`]: [`ImageStore`](images::ImageStore) renders inline images.
//! - [`keymap`]: [`Keymap`] maps key sequences to the actions of the application.
//! - [`terminal`]: [`Terminal`](terminal::Terminal) controls the terminal and its
//!   [`clipboard`].
//! - [`widgets`]: the prompt editor, lists, diffs and text inputs.
//! - [`screen`]: [`Component`] is a part of the screen,
//!   [`Layers`] the stack of overlays.
//!
//! # Invariants
//!
//! - An unchanged frame writes nothing. The encoder's model always equals what the terminal shows.
//! - The terminal is restored on every exit: return, panic, signal, suspend.
//! - Input decodes to the same events however its bytes are split, and a reply is never typed.
//! - The cursor is always on a grapheme boundary, and undo restores the text exactly.
//!
//! # Design
//!
//! - A frame is one write: the terminal scrolls rows that moved, changed cells are encoded with the fewest bytes, and
//!   nothing is written when nothing changed.
//! - A thread owns the write side of the terminal. While it is busy, frames are dropped, never queued. Every few
//!   hundred bytes a frame ends with a question (`FrameClock`), and later frames wait for a late answer.
//! - Only `theme` knows colours; layout speaks in `Face`s.
//! - `terminal/death.rs` restores the terminal in a signal handler. It is one of the two files of osier with unsafe
//!   code.

mod document;
pub mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod images;
pub mod input;
pub mod keymap;
pub mod screen;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod widgets;

pub use frame::{Links, linear};
pub use input::KeyPress;
pub use keymap::Keymap;
pub use screen::component::{Commands, Component, Cx, Handled, View};
pub use screen::layers::Layers;
pub use screen::{component, layers};
pub use terminal::clipboard;
pub use text::face::{Emphasis, Face, Token};
pub use text::highlight::{Highlighted, Highlighter};
pub use text::row::{Row, Span, sentence};
pub use text::wrap::Wrap;
pub use text::{face, highlight, row, wrap};
pub use theme::Theme;
pub use widgets::columns::{Cell, Column, Columns};
pub use widgets::line_input::LineInput;
pub use widgets::paint::paint_rows;
pub use widgets::select::{Item, Select};
