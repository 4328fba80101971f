//! Ollama's native format: `POST {base}/api/chat`, a stream of JSON lines.
//!
//! Its compatible endpoints cannot set the context window and truncate the prompt silently. The native one
//! can set it, and reports an error instead.

mod decode;
mod request;
#[cfg(test)]
mod tests;

use crate::frames::Framing;
use crate::model::{Api, KeyHeader};
use crate::wire::format::Wire;

pub(crate) const WIRE: Wire = Wire {
    api: Api::Ollama,
    path: "/api/chat",
    framing: Framing::Lines,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body: |request| request::body(request).into(),
    decoder: |model| Box::new(decode::OllamaDecoder::new(model)),
    #[cfg(test)]
    reasons: decode::REASONS,
    #[cfg(test)]
    parts: decode::PARTS,
};
