//! Recordings and documents that some models accept as they are.

use osier_base::text::counted;
use osier_llm::ContentBlock;

use super::pdf;

/// Bytes of a recording, and of a document, at most: providers limit a request to 20 MB and more.
pub const LIMIT: u64 = 14 * 1024 * 1024;

pub const PDF: &str = "application/pdf";

/// The MIME type of a recording or a PDF, from the start of the file.
pub fn media_type(start: &[u8]) -> Option<&'static str> {
    if pdf::is_pdf(start) {
        return Some(PDF);
    }
    let form = start.get(8..12).unwrap_or_default();
    match start {
        [b'R', b'I', b'F', b'F', ..] if form == b"WAVE" => Some("audio/wav"),
        [b'F', b'O', b'R', b'M', ..] if matches!(form, b"AIFF" | b"AIFC") => Some("audio/aiff"),
        [b'f', b'L', b'a', b'C', ..] => Some("audio/flac"),
        [b'O', b'g', b'g', b'S', ..] => Some("audio/ogg"),
        [b'I', b'D', b'3', ..] | [0xff, 0xf2 | 0xf3 | 0xfa | 0xfb, ..] => Some("audio/mpeg"),
        [0xff, 0xf1 | 0xf9, ..] => Some("audio/aac"),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] if form == b"M4A " => Some("audio/mp4"),
        _ => None,
    }
}

/// A recording for a model: one line about it, and the file, which is replaced for models that take no audio.
pub(crate) fn recording(
    name: &str,
    mime_type: &str,
    size: usize,
    data: String,
) -> [ContentBlock; 2] {
    let size = counted(size, "byte", "bytes");
    let about = ContentBlock::text(format!("[{name}: {mime_type}, {size}]"));
    let file = ContentBlock::File {
        data,
        mime_type: mime_type.to_owned(),
        name: name.to_owned(),
        text: "[this model does not accept audio; a program can convert or transcribe the file]"
            .to_owned(),
    };
    [about, file]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_is_found_by_the_start_of_the_file() {
        let cases: [(&[u8], Option<&str>); 14] = [
            (b"RIFF\x24\0\0\0WAVEfmt ", Some("audio/wav")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", None),
            (b"RIFF", None),
            (b"FORM\0\0\0\x24AIFF", Some("audio/aiff")),
            (b"FORM\0\0\0\x24ILBM", None),
            (b"fLaC\0", Some("audio/flac")),
            (b"OggS\0", Some("audio/ogg")),
            (b"ID3\x04", Some("audio/mpeg")),
            (b"\xff\xfb\x90", Some("audio/mpeg")),
            (b"\xff\xf1P", Some("audio/aac")),
            (b"\xff\xfeh\0i\0", None),
            (b"\0\0\0\x20ftypM4A ", Some("audio/mp4")),
            (b"\0\0\0\x20ftypisom", None),
            (b"%PDF-1.7", Some("application/pdf")),
        ];
        for (start, expected) in cases {
            assert_eq!(media_type(start), expected, "{start:?}");
        }
    }
}
