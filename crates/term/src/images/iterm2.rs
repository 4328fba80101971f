//! The inline images of iTerm2, which other terminals support too: an image file scaled to a number
//! of cells.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The bytes that paint a PNG over one row of cells.
pub(super) fn strip(png: &[u8], columns: u16) -> Vec<u8> {
    let text = BASE64_STANDARD.encode(png);
    let size = png.len();
    format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height=1;preserveAspectRatio=0;doNotMoveCursor=1:{text}\x07"
    )
    .into_bytes()
}
