//! OpenAI's Responses: `POST {base}/responses`, also spoken by xAI, Azure, llama.cpp, vLLM and others.
//!
//! Spoken without state on the server: nothing is stored there, and encrypted reasoning is sent back.

mod decode;
mod frame;
mod item;
mod request;
#[cfg(test)]
mod tests;

use super::Wire;
use crate::frames::Framing;
use crate::model::{Api, KeyHeader};

pub(crate) const WIRE: Wire = Wire {
    api: Api::OpenaiResponses,
    path: "/responses",
    framing: Framing::Events,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body: request::body,
    decoder: |model| Box::new(decode::ResponsesDecoder::new(model)),
};
