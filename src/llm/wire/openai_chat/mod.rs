//! OpenAI's Chat Completions: `POST {base}/chat/completions`, the format that nearly every server speaks,
//! each a little differently. `Compat` names the differences in what is asked; the decoder accepts all
//! differences in what is answered.

mod calls;
mod decode;
mod frame;
mod request;
#[cfg(test)]
mod tests;

use super::{KeyHeader, Wire};
use crate::llm::model::Api;

pub(crate) const WIRE: Wire = Wire {
    api: Api::OpenaiChatCompletions,
    path: "/chat/completions",
    key_header: |_| KeyHeader::Bearer,
    headers: |_| Vec::new(),
    body: request::body,
    decoder: |model| Box::new(decode::ChatDecoder::new(model)),
};
