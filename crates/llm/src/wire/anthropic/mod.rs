//! Anthropic Messages: `POST {base}/v1/messages`, also supported by llama.cpp, LM Studio and gateways.

mod decode;
mod frame;
mod request;
#[cfg(test)]
mod tests;

use crate::frames::Framing;
use crate::model::{Api, KeyHeader};
use crate::wire::format::Wire;

pub(crate) const WIRE: Wire = Wire {
    api: Api::AnthropicMessages,
    path: "/v1/messages",
    framing: Framing::Events,
    key_header: KeyHeader::XApiKey,
    own_headers: request::headers,
    body: request::body,
    decoder: |model| Box::new(decode::AnthropicDecoder::new(model)),
    #[cfg(test)]
    reasons: decode::REASONS,
    #[cfg(test)]
    parts: decode::PARTS,
};
