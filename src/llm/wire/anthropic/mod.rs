//! Anthropic's Messages: `POST {base}/v1/messages`, also spoken by llama.cpp, LM Studio and gateways.

mod decode;
mod request;
#[cfg(test)]
mod tests;

use super::{KeyHeader, Wire};
use crate::llm::model::{Api, Model};

pub(crate) const WIRE: Wire = Wire {
    api: Api::AnthropicMessages,
    path: "/v1/messages",
    key_header,
    headers: request::headers,
    body: request::body,
    decoder: |model| Box::new(decode::AnthropicDecoder::new(model)),
};

fn key_header(model: &Model) -> KeyHeader {
    if model.compat.bearer_auth {
        KeyHeader::Bearer
    } else {
        KeyHeader::Named("x-api-key")
    }
}
