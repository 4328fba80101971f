//! Drawing for all screens: the areas of the screen, the surface, overlays with their frame, the picker and the preview
//! pane.

pub(crate) mod fit;
pub(crate) mod frame;
pub(crate) mod late;
pub(crate) mod layout;
pub(crate) mod overlays;
pub(crate) mod picker;
pub(crate) mod preview_pane;
pub(crate) mod scroll;
pub(crate) mod styled_lines;
pub(crate) mod surface;
pub(crate) mod value_box;

pub(crate) use overlays::Overlays;
pub(crate) use picker::{Choice, MenuItem, Picker};
pub(crate) use surface::Surface;
pub(crate) use value_box::ValueBox;
