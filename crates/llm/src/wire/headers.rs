//! The headers of a call that depend on the request: headers of the wire format and headers in `Compat`.

use std::borrow::Cow;

use super::format::Wire;
use crate::message::{ContentBlock, Message};
use crate::provider::Request;

type Header = (Cow<'static, str>, String);

impl Wire {
    /// All headers except for the key and those of the model.
    pub(crate) fn headers(&self, request: &Request) -> Vec<Header> {
        let compat = &request.model.compat;
        let own = (self.own_headers)(request).into_iter();
        let mut headers: Vec<Header> = own.map(|(name, value)| (name.into(), value)).collect();
        let session = request.options.cache_key.as_ref();
        if let (Some(name), Some(session)) = (&compat.session_header, session) {
            headers.push((name.clone().into(), session.clone()));
        }
        if compat.caller_headers {
            let caller = match request.context.messages.last() {
                Some(Message::User(_)) | None => "user",
                _ => "agent",
            };
            headers.push(("x-initiator".into(), caller.to_owned()));
            if request.context.messages.iter().any(has_image) {
                headers.push(("copilot-vision-request".into(), "true".to_owned()));
            }
        }
        headers
    }
}

fn has_image(message: &Message) -> bool {
    let content = match message {
        Message::User(user) => &user.content,
        Message::ToolResult(result) => &result.content,
        Message::Assistant(_) => return false,
    };
    let is_image = |block: &ContentBlock| matches!(block, ContentBlock::Image { .. });
    content.iter().any(is_image)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Api;
    use crate::wire::testing::{answer, call, model, request, result, user};
    use serde_json::json;

    #[test]
    fn session_and_initiator_headers_are_sent_if_configured() {
        let mut copilot = model(Api::OpenaiChatCompletions);
        copilot.compat.caller_headers = true;
        copilot.compat.session_header = Some("x-affinity".to_owned());
        let headers = |messages: Vec<Message>| {
            let mut request = request(copilot.clone(), messages);
            request.options.cache_key = Some("s1".to_owned());
            let headers = crate::wire::find(request.model.api)
                .unwrap()
                .headers(&request);
            let plain = headers
                .into_iter()
                .map(|(name, value)| format!("{name}: {value}"));
            plain.collect::<Vec<_>>()
        };
        assert_eq!(
            headers(vec![user("hi")]),
            ["x-affinity: s1", "x-initiator: user"]
        );
        let image = ContentBlock::Image {
            data: "AAAA".to_owned(),
            mime_type: "image/png".to_owned(),
        };
        let went_on = vec![
            user("hi"),
            answer(&copilot, vec![call("a", json!({}))]),
            result("a", vec![image]),
        ];
        assert_eq!(
            headers(went_on),
            [
                "x-affinity: s1",
                "x-initiator: agent",
                "copilot-vision-request: true"
            ]
        );
    }
}
