//! Bodies that a server or a proxy compressed. osier does not request compression, because events
//! would wait in the compressor.

use std::borrow::Cow;
use std::io::{self, Write as _};

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// Compressed bytes that are decoded at once: a small body can be a thousand times as long.
pub(super) const PIECE: usize = 4 * 1024;

/// The decoder of a body.
pub(super) enum Encoding {
    Plain,
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl Encoding {
    /// The decoder for the body of a response with `headers`.
    ///
    /// # Errors
    /// The name of an encoding that cannot be decoded.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, String> {
        let named = headers.get_all(CONTENT_ENCODING).iter();
        let named = named.map(|value| {
            String::from_utf8_lossy(value.as_bytes())
                .trim()
                .to_lowercase()
        });
        let named: Vec<String> = named
            .filter(|name| !name.is_empty() && name != "identity")
            .collect();
        match named.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Ok(Self::Plain),
            ["gzip" | "x-gzip"] => Ok(Self::Gzip(MultiGzDecoder::new(Vec::new()))),
            ["deflate"] => Ok(Self::Deflate(ZlibDecoder::new(Vec::new()))),
            _ => Err(named.join(", ")),
        }
    }

    /// The text of the next part of the body, at most [`PIECE`] bytes of a compressed one.
    pub(super) fn decode<'b>(&mut self, bytes: &'b [u8]) -> io::Result<Cow<'b, [u8]>> {
        Ok(Cow::Owned(match self {
            Self::Plain => return Ok(Cow::Borrowed(bytes)),
            Self::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
            Self::Deflate(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use reqwest::header::HeaderValue;

    fn encoding(name: &str) -> Result<Encoding, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_str(name).unwrap());
        Encoding::of(&headers)
    }

    fn decoded(mut encoding: Encoding, body: &[u8]) -> String {
        let parts = body.chunks(3);
        let parts = parts.map(|part| encoding.decode(part).unwrap().into_owned());
        String::from_utf8(parts.collect::<Vec<_>>().concat()).unwrap()
    }

    #[test]
    fn compressed_bodies_are_decoded_and_others_are_named() {
        let text = "data: {\"type\": \"ping\"}\n\n".repeat(10);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(text.as_bytes()).unwrap();
        let (gzip, zlib) = (gzip.finish().unwrap(), zlib.finish().unwrap());
        for (name, body) in [
            ("gzip", gzip.as_slice()),
            ("X-GZip", &gzip),
            ("deflate", &zlib),
            ("identity", text.as_bytes()),
        ] {
            assert_eq!(decoded(encoding(name).ok().unwrap(), body), text, "{name}");
        }
        assert_eq!(encoding("br").err().unwrap(), "br");
        assert!(
            encoding("gzip")
                .ok()
                .unwrap()
                .decode(text.as_bytes())
                .is_err()
        );
    }
}
