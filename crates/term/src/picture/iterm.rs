//! The inline images of iTerm2, which others know too: a file for so many cells.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// What paints a PNG over one row of cells.
pub(super) fn strip(png: &[u8], columns: u16) -> Vec<u8> {
    let text = BASE64_STANDARD.encode(png);
    let size = png.len();
    format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height=1;preserveAspectRatio=0;doNotMoveCursor=1:{text}\x07"
    )
    .into_bytes()
}
