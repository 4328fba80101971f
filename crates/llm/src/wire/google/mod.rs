//! Google's Gemini: `POST {base}/models/{model}:streamGenerateContent?alt=sse`, on Gemini's own address and
//! on Vertex, where the base URL names project and place.

mod decode;
mod frame;
mod marks;
mod request;
mod schema;
#[cfg(test)]
mod tests;

use super::Wire;
use crate::frames::Framing;
use crate::model::{Api, KeyHeader};

/// How ids begin that were made up because the server gave none. It would not know them again.
const MADE_UP: &str = "nameless";

pub(crate) const WIRE: Wire = Wire {
    api: Api::GoogleGenerativeAi,
    path: "/models/{model}:streamGenerateContent?alt=sse",
    framing: Framing::Events,
    key_header: KeyHeader::XGoogApiKey,
    own_headers: |_| Vec::new(),
    body: request::body,
    decoder: |model| Box::new(decode::GoogleDecoder::new(model)),
};
