//! OpenAI Responses: `POST {base}/responses`, also supported by xAI, Azure, llama.cpp, vLLM and others.
//!
//! No state is stored on the server; encrypted reasoning is sent back.

mod decode;
mod frame;
mod item;
mod request;
#[cfg(test)]
mod tests;

use crate::frames::Framing;
use crate::model::{Api, KeyHeader};
use crate::wire::format::Wire;

pub(crate) const WIRE: Wire = Wire {
    api: Api::OpenaiResponses,
    path: "/responses",
    framing: Framing::Events,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body: |request| request::body(request).into(),
    decoder: |model| Box::new(decode::ResponsesDecoder::new(model)),
    #[cfg(test)]
    reasons: decode::REASONS,
    #[cfg(test)]
    parts: decode::PARTS,
};
