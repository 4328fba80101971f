//! Compressed WebSocket messages between osier and osier: each direction of a connection is one deflate stream, so that a
//! message is compressed with all that was sent before.
//!
//! RFC 7692 describes the same with an extension that the WebSocket library does not have. A client that asks for it with
//! a header and gets the header back may send binary messages, and reads them: each is the text of one message. A peer
//! without it sends and reads text messages.

use std::io;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The header of the request and of the response, with the value [`METHOD`].
pub const HEADER: &str = "osier-compression";
/// The only known method.
pub const METHOD: &str = "deflate";

/// The end of each flushed part, which is left out.
const FLUSHED: [u8; 4] = [0, 0, 0xff, 0xff];
/// Bytes by which a buffer grows.
const STEP: usize = 4096;

/// The sending half of a direction.
#[derive(Debug)]
pub struct Compressor(Compress);

/// The receiving half of a direction.
#[derive(Debug)]
pub struct Decompressor(Decompress);

impl Default for Compressor {
    fn default() -> Self {
        Self(Compress::new(Compression::default(), false))
    }
}

impl Default for Decompressor {
    fn default() -> Self {
        Self(Decompress::new(false))
    }
}

impl Compressor {
    /// The binary message for a text.
    ///
    /// # Errors
    /// The library has failed: later messages cannot be read either.
    pub fn compress(&mut self, text: &str) -> io::Result<Vec<u8>> {
        let (mut input, mut message) = (text.as_bytes(), Vec::with_capacity(text.len() / 8 + 64));
        loop {
            let before = self.0.total_in();
            let flush = FlushCompress::Sync;
            let done = self.0.compress_vec(input, &mut message, flush);
            done.map_err(io::Error::other)?;
            input = &input[length(self.0.total_in() - before)..];
            if input.is_empty() && message.len() < message.capacity() {
                break;
            }
            message.reserve(STEP);
        }
        if message.ends_with(&FLUSHED) {
            message.truncate(message.len() - FLUSHED.len());
        }
        Ok(message)
    }
}

impl Decompressor {
    /// The text of a binary message of at most `limit` bytes.
    ///
    /// # Errors
    /// The message is damaged, too long or no UTF-8: later messages cannot be read either.
    pub fn decompress(&mut self, message: &[u8], limit: usize) -> io::Result<String> {
        let mut text = Vec::with_capacity((message.len() * 4).min(limit) + 64);
        for mut input in [message, &FLUSHED] {
            loop {
                let before = self.0.total_in();
                let flush = FlushDecompress::Sync;
                let done = self.0.decompress_vec(input, &mut text, flush);
                let status = done.map_err(io::Error::other)?;
                input = &input[length(self.0.total_in() - before)..];
                if text.len() > limit || status == Status::StreamEnd {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                if input.is_empty() && text.len() < text.capacity() {
                    break;
                }
                text.reserve(STEP.max(text.len() / 2));
            }
        }
        String::from_utf8(text).map_err(io::Error::other)
    }
}

/// A number of bytes of one message, which is in memory.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1024 * 1024;

    #[test]
    fn messages_of_every_size_arrive_in_order() {
        let (mut sender, mut receiver) = (Compressor::default(), Decompressor::default());
        let mut texts = vec![String::new(), "ä".to_owned()];
        for bytes in [63, 64, 65, 4095, 4096, 4097, 100_000, LIMIT] {
            texts.push("x".repeat(bytes));
            // Nothing in it repeats.
            let numbers = (0..).map(|number: u64| {
                let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
                char::from(b' ' + u8::try_from(mixed % 90).unwrap())
            });
            texts.push(numbers.take(bytes).collect());
        }
        for text in texts {
            let message = sender.compress(&text).unwrap();
            assert_eq!(receiver.decompress(&message, LIMIT).unwrap(), text);
        }
    }

    #[test]
    fn small_messages_that_are_alike_become_a_few_bytes() {
        let mut sender = Compressor::default();
        let sizes: Vec<usize> = (0..20)
            .map(|number| {
                let text = format!(
                    r#"{{"type":"event","sessionId":"01a2296e-3361-754d","number":{number},"payload":{{"type":"text_delta","text":"w{number}"}}}}"#
                );
                sender.compress(&text).unwrap().len()
            })
            .collect();
        assert!(sizes[19] < 30, "{sizes:?}");
    }

    #[test]
    fn a_bomb_or_damaged_bytes_are_errors() {
        let bomb = Compressor::default().compress(&"x".repeat(LIMIT)).unwrap();
        assert!(bomb.len() < 2048, "{}", bomb.len());
        let mut receiver = Decompressor::default();
        assert!(receiver.decompress(&bomb, LIMIT - 1).is_err());
        for damaged in [
            &[0xff, 0xff, 0xff][..],
            b"text",
            &[0x01, 0x00, 0x00, 0xff, 0xff],
        ] {
            assert!(
                Decompressor::default().decompress(damaged, LIMIT).is_err(),
                "{damaged:?}"
            );
        }
        let bytes = [0xc3, 0x28];
        let mut message = Vec::with_capacity(64);
        let mut raw = Compress::new(Compression::default(), false);
        raw.compress_vec(&bytes, &mut message, FlushCompress::Sync)
            .unwrap();
        message.truncate(message.len() - FLUSHED.len());
        assert!(Decompressor::default().decompress(&message, LIMIT).is_err());
    }
}
