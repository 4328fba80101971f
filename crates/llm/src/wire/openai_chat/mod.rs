//! OpenAI Chat Completions: `POST {base}/chat/completions`, the format of nearly every server, with small
//! differences. `Compat` describes the differences of requests; the decoder accepts all differences of
//! answers.

mod calls;
mod decode;
mod frame;
mod request;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vendor_tests;

use crate::frames::Framing;
use crate::model::{Api, KeyHeader};
use crate::wire::format::Wire;

pub(crate) const WIRE: Wire = Wire {
    api: Api::OpenaiChatCompletions,
    path: "/chat/completions",
    framing: Framing::Events,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body: |request| request::body(request).into(),
    decoder: |model| Box::new(decode::ChatDecoder::new(model)),
    #[cfg(test)]
    reasons: decode::REASONS,
    #[cfg(test)]
    parts: decode::PARTS,
};
