//! The rows of an image. Its pixels are elsewhere.

/// The size of an image in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub columns: u16,
    pub rows: u16,
}

/// One row of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageRow {
    pub image: ImageId,
    pub row: u16,
}

/// An image at one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageId {
    /// Identifies the content.
    pub(crate) content: u64,
    pub shape: Shape,
}
