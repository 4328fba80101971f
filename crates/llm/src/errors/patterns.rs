//! The error patterns of vendors: one row for each pattern of a message or code. The vendor is documentation
//! and used by the fixtures; patterns apply to every provider, because gateways forward errors of the vendors
//! behind them.

/// The category of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The paid quota, the credit or a plan is used up: waiting for seconds does not help.
    Quota,
    /// The conversation exceeds the context window.
    Overflow,
    /// The key is invalid, or lacks a permission.
    Auth,
    /// Too many requests: waiting helps.
    Rate,
    /// An internal error of the server.
    Transient,
}

/// A pattern in lower case; `*` matches anything.
#[derive(Debug)]
pub(super) struct Shape {
    pub kind: Kind,
    /// The vendor of the pattern; `any` for several.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "it is for the reader, and for the fixtures that prove the row"
        )
    )]
    pub vendor: &'static str,
    pub text: &'static str,
}

const fn row(kind: Kind, vendor: &'static str, text: &'static str) -> Shape {
    Shape { kind, vendor, text }
}

use Kind::{Auth, Overflow, Quota, Rate, Transient};

/// All patterns. The first match decides, so the order of the groups matters: messages about quotas mention
/// rates, and messages about throttling mention tokens as overflows do.
pub(super) const SHAPES: &[Shape] = &[
    // Per-minute quotas.
    row(Rate, "cerebras", "request_quota_exceeded"),
    row(Rate, "cerebras", "token_quota_exceeded"),
    row(Quota, "anthropic", "credit balance is too low"),
    row(Quota, "anthropic", "billing_error"),
    row(Quota, "openai", "insufficient_quota"),
    row(Quota, "openai", "exceeded your current quota"),
    row(Quota, "openai", "billing_hard_limit_reached"),
    row(Quota, "openai", "billing_not_active"),
    row(Quota, "chatgpt", "usage_limit_reached"),
    row(Quota, "chatgpt", "subscription_sharing_*usage_limit"),
    row(Quota, "google", "perday"),
    row(Quota, "openrouter", "insufficient credits"),
    row(Quota, "openrouter", "requires more credits"),
    row(Quota, "openrouter", "key limit exceeded"),
    row(Quota, "deepseek", "insufficient balance"),
    row(Quota, "moonshot", "exceeded_current_quota_error"),
    row(Quota, "zai", "1308"),
    row(Quota, "minimax", "insufficient_balance"),
    row(Quota, "xai", "used all available credits"),
    row(Quota, "copilot", "quota_exceeded"),
    row(
        Quota,
        "huggingface",
        "exceeded your monthly included credits",
    ),
    row(Quota, "together", "credit limit"),
    row(Quota, "fireworks", "account is suspended"),
    row(Quota, "vercel", "insufficient funds"),
    row(Quota, "opencode", "usagelimiterror"),
    row(Quota, "opencode", "usage limit reached"),
    row(Quota, "opencode", "available balance"),
    row(Quota, "any", "quota exceeded"),
    row(Quota, "any", "out of budget"),
    row(Quota, "any", "billing"),
    row(Quota, "any", "payment required"),
    row(Rate, "anthropic", "rate_limit_error"),
    row(Rate, "openai", "rate_limit_exceeded"),
    row(Rate, "google", "resource_exhausted"),
    row(Rate, "bedrock", "throttling"),
    row(Rate, "bedrock", "too many tokens, please wait"),
    row(Rate, "groq", "tokens per minute"),
    row(Rate, "nvidia", "resourceexhausted"),
    row(Rate, "any", "rate limit"),
    row(Rate, "any", "ratelimit"),
    row(Rate, "any", "rate_limit"),
    row(Rate, "any", "too many requests"),
    row(Overflow, "anthropic", "prompt is too long"),
    row(Overflow, "anthropic", "request_too_large"),
    row(Overflow, "anthropic", "exceed context limit"),
    row(Overflow, "openai", "context_length_exceeded"),
    row(Overflow, "openai", "exceeds the context window"),
    row(Overflow, "openai", "maximum context length is"),
    row(Overflow, "google", "input token count*exceeds the maximum"),
    row(
        Overflow,
        "mistral",
        "too large for model with*maximum context length",
    ),
    row(Overflow, "xai", "maximum prompt length is"),
    row(Overflow, "groq", "reduce the length of the messages"),
    row(Overflow, "openrouter", "maximum allowed input length"),
    row(
        Overflow,
        "together",
        "longer than the model's context length",
    ),
    row(Overflow, "ollama", "longer than the context length"),
    row(Overflow, "any", "exceeds the context length"),
    row(Overflow, "copilot", "token count*exceeds the limit of"),
    row(Overflow, "copilot", "model_max_prompt_tokens_exceeded"),
    row(Overflow, "moonshot", "exceeded model token limit"),
    row(Overflow, "zai", "prompt exceeds max length"),
    row(Overflow, "zai", "prompt too long"),
    row(Overflow, "minimax", "context window exceed"),
    row(Overflow, "bedrock", "input is too long"),
    row(Overflow, "dashscope", "range of input length should be"),
    row(Overflow, "litellm", "contextwindowexceeded"),
    row(Overflow, "litellm", "exceeds*maximum context length"),
    row(Overflow, "llamacpp", "exceed_context_size"),
    row(Overflow, "llamacpp", "exceeds the available context size"),
    row(Overflow, "lmstudio", "greater than the context length"),
    row(Overflow, "ollama", "exceeded*context length"),
    row(Overflow, "vllm", "configured context size is"),
    row(Overflow, "any", "context_window_exceeded"),
    row(Overflow, "any", "context length exceeded"),
    row(Overflow, "any", "too many tokens"),
    row(Overflow, "any", "token limit exceeded"),
    row(Auth, "anthropic", "authentication_error"),
    row(Auth, "anthropic", "permission_error"),
    row(Auth, "openai", "invalid_api_key"),
    row(Auth, "openai", "incorrect api key"),
    row(Auth, "google", "permission_denied"),
    row(Auth, "google", "unauthenticated"),
    row(Auth, "google", "api_key_invalid"),
    row(Auth, "google", "api key not valid"),
    row(Auth, "openrouter", "no auth credentials"),
    row(Auth, "bedrock", "unrecognizedclientexception"),
    row(Auth, "any", "invalid api key"),
    row(Auth, "any", "unauthorized"),
    row(Transient, "anthropic", "overloaded"),
    row(Transient, "anthropic", "api_error"),
    row(Transient, "anthropic", "timeout_error"),
    row(Transient, "openai", "server_error"),
    row(Transient, "openai", "server had an error"),
    row(Transient, "openai", "you can retry"),
    row(Transient, "openai", "try your request again"),
    row(Transient, "google", "unavailable"),
    row(Transient, "google", "experiencing high demand"),
    row(Transient, "openrouter", "provider returned error"),
    row(Transient, "vercel", "provider returned an error"),
    row(Transient, "deepseek", "server_busy"),
    row(Transient, "xai", "at capacity"),
    row(Transient, "zai", "network error"),
    row(Transient, "zai", "network_error"),
    row(Transient, "bedrock", "internal error"),
    // Errors inside a stream that started with status 200.
    row(Transient, "ollama", "runner process has terminated"),
    row(
        Transient,
        "ollama",
        "error was encountered while running the model",
    ),
    row(Transient, "ollama", "unexpected eof"),
    row(Transient, "ollama", "llm server loading model"),
    row(Transient, "any", "server error"),
    row(Transient, "any", "servers are currently busy"),
    row(Transient, "any", "timed out"),
    row(Transient, "any", "upstream"),
    row(Transient, "any", "connection error"),
    row(Transient, "any", "stream was interrupted"),
    row(Transient, "any", "please retry"),
];

/// The first pattern that matches `text`, which is in lower case.
pub(super) fn find(text: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.is_in(text))
}

impl Shape {
    /// Whether the pattern matches `text`, which is in lower case.
    pub(super) fn is_in(&self, text: &str) -> bool {
        has_shape(text, self.text)
    }
}

/// Whether the parts of `shape` between stars occur in `text`, in order. A numeric pattern is a code: it does
/// not match a part of a longer number.
fn has_shape(text: &str, shape: &str) -> bool {
    if shape.bytes().all(|byte| byte.is_ascii_digit()) {
        return text
            .split(|sign: char| !sign.is_ascii_alphanumeric())
            .next()
            .is_some_and(|first| first == shape);
    }
    let mut rest = text;
    shape.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}
