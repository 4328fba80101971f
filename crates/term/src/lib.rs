//! A toolkit for full-screen terminal interfaces.
//!
//! The crate controls the terminal, decodes its input and writes frames in as few bytes as
//! possible. It has themes, keymaps, text layout, inline images, syntax highlighting and widgets.
//! It uses the cell buffers of ratatui and knows nothing about agents or sessions.
//!
//! A frame is laid out as [`Row`](row::Row)s, painted into a buffer with the styles of a
//! [`Theme`](theme::Theme), and written as the difference to the previous frame:
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
//! # Main types
//!
//! What every screen needs is at the root: `use osier_term::{Component, Row, Span, Token}`.
//!
//! - [`Terminal`](terminal::Terminal) controls the terminal and restores it on exit.
//! - [`FrameWriter`](frame::FrameWriter) writes frames; [`FrameClock`](frame::FrameClock) schedules
//!   them.
//! - [`InputEvent`](input::InputEvent) is a key, a paste, a mouse event or a reply of the terminal.
//! - [`Keymap`](keymap::Keymap) maps key sequences to the actions of the application.
//! - [`Component`](component::Component) is a part of the screen; [`Layers`](layers::Layers) is the
//!   stack of overlays.
//! - [`Token`](face::Token) and [`Face`](face::Face) say what text is;
//!   [`ThemeStore`](theme::ThemeStore) loads the themes that map them to styles.
//! - [`Wrap`](wrap::Wrap) breaks lines into rows.
//! - [`ImageStore`](images::ImageStore) renders inline images;
//!   [`Highlighter`](highlight::Highlighter) highlights code on a background thread.
//! - [`widgets`] has the prompt editor, lists, diffs and text inputs.

pub mod clipboard;
pub mod component;
mod document;
pub mod face;
pub mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod highlight;
pub mod images;
pub mod input;
pub mod keymap;
pub mod layers;
pub mod linear;

pub mod row;
mod scroll;
pub mod terminal;
pub mod theme;
pub mod widgets;
pub mod wrap;

pub use component::{Component, Cx, Handled, View};
pub use face::{Emphasis, Face, Token};
pub use frame::Links;
pub use highlight::{Highlighted, Highlighter};
pub use input::KeyPress;
pub use keymap::Keymap;
pub use layers::Layers;
pub use row::{Row, Span, sentence};
pub use theme::Theme;
pub use widgets::columns::{Cell, Column, Columns};
pub use widgets::line_input::LineInput;
pub use widgets::paint::paint_rows;
pub use widgets::select::{Item, Select};
pub use wrap::Wrap;
