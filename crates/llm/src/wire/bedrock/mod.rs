//! Amazon Bedrock Converse: `POST {base}/model/{model}/converse-stream`, with a Bedrock API key or a
//! signature.

mod decode;
mod request;
#[cfg(test)]
pub(super) mod tests;

use crate::frames::Framing;
use crate::model::{Api, KeyHeader};
use crate::wire::format::Wire;

pub(crate) const WIRE: Wire = Wire {
    api: Api::BedrockConverse,
    path: "/model/{model}/converse-stream",
    framing: Framing::AwsEvents,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body: request::body,
    decoder: |model| Box::new(decode::BedrockDecoder::new(model)),
    #[cfg(test)]
    reasons: decode::REASONS,
    #[cfg(test)]
    parts: decode::PARTS,
};
