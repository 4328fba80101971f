//! Google Gemini: `POST {base}/models/{model}:streamGenerateContent?alt=sse`, on Gemini's own URL and on
//! Vertex, where the base URL contains project and location.

mod decode;
mod frame;
mod request;
mod signed;
#[cfg(test)]
mod tests;

use crate::frames::Framing;
use crate::model::{Api, KeyHeader};
use crate::wire::format::Wire;

pub(crate) const WIRE: Wire = Wire {
    api: Api::GoogleGenerativeAi,
    path: "/models/{model}:streamGenerateContent?alt=sse",
    framing: Framing::Events,
    key_header: KeyHeader::XGoogApiKey,
    own_headers: |_| Vec::new(),
    body: |request| request::body(request).into(),
    decoder: |model| Box::new(decode::GoogleDecoder::new(model)),
    #[cfg(test)]
    reasons: decode::REASONS,
    #[cfg(test)]
    parts: decode::PARTS,
};
