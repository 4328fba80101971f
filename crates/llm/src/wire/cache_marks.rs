//! Decides where marks of the prompt cache can have an effect, and how long the cache is kept.
//!
//! A provider caches a prefix only from a minimum length on
//! (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>). A mark on a shorter
//! prefix has no effect, and a request can have four marks.

use serde_json::{Value, json};

use crate::provider::{Context, Request};
use crate::tuning::CacheRetention;

/// Maximum number of marks of a request.
const MARKS: usize = 4;
/// Number of marked messages if the system prompt is marked, too: the last message of the user, and
/// the previous one for the turn that just ended.
const WITH_SYSTEM: usize = 2;
/// Parts of model ids, and the minimum length of a cached prefix in tokens. The first matching row
/// is used.
const MINIMUMS: [(&str, u64); 8] = [
    ("3-haiku", 2048),
    ("3-5-haiku", 2048),
    ("sonnet-4-6", 2048),
    ("3-7-sonnet", 1024),
    ("sonnet-4", 1024),
    ("opus-4-1", 1024),
    ("opus-4-2", 1024),
    ("opus-4-0", 1024),
];
/// The minimum of newer models, and of unknown ones.
const MINIMUM: u64 = 4096;
/// Estimated bytes of a token of English and JSON. The estimate is too high, so that a prefix is
/// rather considered too short.
const TOKEN: u64 = 4;

/// The marks of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    /// Whether the system prompt is marked. The mark covers the tools, too.
    pub system: bool,
    /// Whether the tools are marked, because nothing after them is.
    pub tools: bool,
    /// The number of marked messages of the user, from the end.
    pub messages: usize,
}

impl Marks {
    pub(super) const NONE: Self = Self {
        system: false,
        tools: false,
        messages: 0,
    };

    pub(super) fn new(request: &Request) -> Self {
        let context = &request.context;
        let is_long = prefix_tokens(context) >= minimum(&request.model.id);
        let has_system = !context.system_prompt.trim().is_empty();
        let system = is_long && has_system;
        let tools = is_long && !has_system;
        let messages = if system || tools {
            WITH_SYSTEM
        } else {
            WITH_SYSTEM + 1
        };
        debug_assert!(messages < MARKS);
        Self {
            system,
            tools,
            messages,
        }
    }
}

fn minimum(id: &str) -> u64 {
    let id = id.to_ascii_lowercase().replace('.', "-");
    let known = MINIMUMS.iter().find(|(part, _)| id.contains(part));
    known.map_or(MINIMUM, |(_, minimum)| *minimum)
}

/// The length of the tools and the system prompt.
fn prefix_tokens(context: &Context) -> u64 {
    let tools = context
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    (tools.sum::<usize>() + context.system_prompt.len()) as u64 / TOKEN
}

/// The value of `cache_control`.
pub(super) fn cache_control(retention: CacheRetention) -> Value {
    match retention {
        CacheRetention::Short => json!({"type": "ephemeral"}),
        CacheRetention::Long => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Api;
    use crate::wire::testing::{model, request, user};

    #[test]
    fn long_retention_is_requested_where_the_vendor_has_it() {
        let body = |api, retention| {
            let mut model = model(api);
            model.compat.prompt_cache_key = true;
            let mut request = request(model, vec![user("hi")]);
            request.options.cache_key = Some("session".to_owned());
            request.options.cache_retention = retention;
            (crate::wire::find(api).unwrap().body)(&request).json
        };
        let hour = body(Api::AnthropicMessages, CacheRetention::Long);
        let control = "/messages/0/content/0/cache_control";
        let expected = json!({"type": "ephemeral", "ttl": "1h"});
        assert_eq!(hour.pointer(control), Some(&expected));
        let day = body(Api::OpenaiResponses, CacheRetention::Long);
        assert_eq!(day["prompt_cache_retention"], "24h");
        let short = body(Api::OpenaiResponses, CacheRetention::Short);
        assert_eq!(short.get("prompt_cache_retention"), None);
    }

    #[test]
    fn short_prefixes_are_not_marked() {
        let marks = |id: &str, bytes: usize| {
            let mut model = model(Api::AnthropicMessages);
            model.id = id.to_owned();
            let mut request = request(model, vec![user("hi")]);
            request.context.tools.clear();
            request.context.system_prompt = "x".repeat(bytes);
            Marks::new(&request)
        };
        let (short, long) = (
            Marks {
                system: false,
                tools: false,
                messages: 3,
            },
            Marks {
                system: true,
                tools: false,
                messages: 2,
            },
        );
        for (id, minimum) in [
            ("claude-opus-4-5", 4096),
            ("claude-haiku-4-5", 4096),
            ("anthropic/claude-sonnet-4.6", 2048),
            ("claude-sonnet-4-5", 1024),
            ("claude-opus-4-1-20250805", 1024),
            ("claude-3-haiku-20240307", 2048),
            ("unknown", 4096),
        ] {
            assert_eq!(marks(id, minimum * 4 - 1), short, "{id}");
            assert_eq!(marks(id, minimum * 4), long, "{id}");
        }
    }
}
