//! OpenAI's Chat Completions: `POST {base}/chat/completions`, the format that nearly every server speaks,
//! each a little differently. `Compat` names the differences in what is asked; the decoder accepts all
//! differences in what is answered.

mod calls;
mod decode;
mod frame;
#[cfg(test)]
mod quirks;
mod request;
#[cfg(test)]
mod tests;

use super::Wire;
use crate::frames::Framing;
use crate::model::{Api, KeyHeader};

pub(crate) const WIRE: Wire = Wire {
    api: Api::OpenaiChatCompletions,
    path: "/chat/completions",
    framing: Framing::Events,
    key_header: KeyHeader::Bearer,
    own_headers: |_| Vec::new(),
    body: request::body,
    decoder: |model| Box::new(decode::ChatDecoder::new(model)),
};
