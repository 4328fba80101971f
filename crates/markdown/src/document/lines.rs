//! The lines of the last unit, when it is a code block or table.

use crate::dialect::Fence;

/// The state of the last unit, a code block or table, after its scanned lines.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    pub(super) from: usize,
    /// Source text that opens the containers of the block.
    pub(super) containers: String,
    /// The lines that begin the block.
    pub(super) first: String,
    /// The fence of a block of Markdown, in which fences form pairs.
    pub(super) pairs: Option<Fence>,
    /// The open fence inside of that block, and its line.
    pub(super) inner: Option<(Fence, String)>,
    /// Whether the block is complete.
    pub(super) is_closed: bool,
}

impl Lines {
    /// The lines that open the block, and the inner block, for the parser.
    pub(super) fn opener(&self) -> String {
        let inner = self.inner.as_ref().map_or("", |(_, line)| line);
        [&self.containers, &self.first, inner].concat()
    }

    /// Updates the state for a line of code, with the marks before it.
    pub(super) fn pass(&mut self, line: &str) {
        let Some(outer) = self.pairs else { return };
        let open = self.inner.as_ref().map(|(fence, _)| *fence);
        let after = outer.inner_after(open, line);
        if after != open {
            self.inner = after.map(|fence| (fence, line.to_owned()));
        }
    }
}
