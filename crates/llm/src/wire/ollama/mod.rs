//! Ollama's own: `POST {base}/api/chat`, a stream of JSON lines.
//!
//! Its compatible endpoints cannot say how large the window is to be, and what does not fit is left out
//! without a word. This one can, and is asked to refuse instead.

mod decode;
mod request;
#[cfg(test)]
mod tests;

use super::Wire;
use crate::frames::Framing;
use crate::model::{Api, KeyHeader};

pub(crate) const WIRE: Wire = Wire {
    api: Api::Ollama,
    path: "/api/chat",
    framing: Framing::Lines,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body: request::body,
    decoder: |model| Box::new(decode::OllamaDecoder::new(model)),
};
