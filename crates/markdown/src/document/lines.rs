//! The lines of the last unit, when it is a code block or table.

/// Where the lines continue that are not scanned, when the last unit is a code block or table.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    pub(super) from: usize,
    /// Source text that opens the containers of the block.
    pub(super) containers: String,
    /// The lines that begin the block.
    pub(super) first: String,
    /// The block is complete.
    pub(super) is_closed: bool,
}
