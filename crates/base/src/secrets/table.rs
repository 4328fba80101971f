//! The formats of keys: one row each.

/// The characters of a key after its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Characters {
    /// Letters and digits.
    Word,
    /// Capital letters and digits.
    Capital,
    Hexadecimal,
    /// Letters, digits, `-` and `_`.
    Url,
    /// Letters, digits, `-`, `_` and `.`.
    Dotted,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
}

/// A format that its prefix announces. A key has at least `least` characters after it.
#[derive(Debug)]
pub(super) struct Format {
    pub name: &'static str,
    pub prefix: &'static str,
    pub characters: Characters,
    pub least: usize,
}

const fn format(
    name: &'static str,
    prefix: &'static str,
    characters: Characters,
    least: usize,
) -> Format {
    Format {
        name,
        prefix,
        characters,
        least,
    }
}

use Characters::{Base64, Capital, Dotted, Hexadecimal, Url, Word};

// recipe: a format of keys: its row
#[rustfmt::skip]
pub(super) const FORMATS: &[Format] = &[
    // The more specific prefix of two that start alike comes first.
    format("Anthropic key", "sk-ant-", Url, 20),
    format("OpenAI key", "sk-proj-", Url, 20),
    format("OpenRouter key", "sk-or-", Url, 20),
    // OpenAI, DeepSeek, Moonshot and others with the same format.
    format("API key", "sk-", Url, 20),
    format("Stripe key", "sk_live_", Word, 16),
    format("Stripe key", "sk_test_", Word, 16),
    format("Stripe key", "rk_live_", Word, 16),
    format("Stripe key", "rk_test_", Word, 16),
    format("Stripe webhook secret", "whsec_", Base64, 24),
    format("AWS access key", "AKIA", Capital, 16),
    format("AWS access key", "ASIA", Capital, 16),
    format("AWS Bedrock key", "ABSK", Base64, 60),
    format("GitHub token", "ghp_", Word, 30),
    format("GitHub token", "gho_", Word, 30),
    format("GitHub token", "ghu_", Word, 30),
    format("GitHub token", "ghs_", Word, 30),
    format("GitHub token", "ghr_", Word, 30),
    format("GitHub token", "github_pat_", Url, 30),
    format("GitLab token", "glpat-", Url, 20),
    format("GitLab token", "gldt-", Url, 20),
    format("Google API key", "AIza", Url, 30),
    format("Google token", "ya29.", Url, 20),
    format("Google client secret", "GOCSPX-", Url, 20),
    format("Slack token", "xoxa-", Url, 10),
    format("Slack token", "xoxb-", Url, 10),
    format("Slack token", "xoxe-", Url, 10),
    format("Slack token", "xoxo-", Url, 10),
    format("Slack token", "xoxp-", Url, 10),
    format("Slack token", "xoxr-", Url, 10),
    format("Slack token", "xoxs-", Url, 10),
    format("Slack token", "xapp-", Url, 20),
    format("Slack webhook", "hooks.slack.com/services/", Base64, 30),
    format("Groq key", "gsk_", Word, 20),
    format("Hugging Face token", "hf_", Word, 20),
    format("Replicate token", "r8_", Word, 20),
    format("Fireworks key", "fw_", Word, 20),
    format("npm token", "npm_", Word, 20),
    format("PyPI token", "pypi-", Url, 20),
    format("xAI key", "xai-", Url, 20),
    format("Perplexity key", "pplx-", Url, 20),
    format("Cerebras key", "csk-", Url, 20),
    format("Tavily key", "tvly-", Url, 20),
    format("NVIDIA key", "nvapi-", Url, 20),
    format("Vault token", "hvs.", Url, 20),
    format("Vault token", "hvb.", Url, 20),
    format("DigitalOcean token", "dop_v1_", Hexadecimal, 40),
    format("DigitalOcean token", "doo_v1_", Hexadecimal, 40),
    format("DigitalOcean token", "dor_v1_", Hexadecimal, 40),
    format("SendGrid key", "SG.", Dotted, 50),
    format("Twilio key", "SK", Hexadecimal, 32),
    format("Databricks token", "dapi", Hexadecimal, 32),
    format("Shopify token", "shpat_", Hexadecimal, 32),
    format("Grafana token", "glsa_", Url, 32),
    format("Linear key", "lin_api_", Word, 32),
    format("Supabase token", "sbp_", Hexadecimal, 32),
    format("Mailgun key", "key-", Hexadecimal, 32),
    format("age key", "AGE-SECRET-KEY-1", Capital, 50),
    format("Azure key", "AccountKey=", Base64, 40),
    format("Azure key", "SharedAccessKey=", Base64, 40),
    format("GitLab token", "glrt-", Url, 20),
    format("GitLab token", "glptt-", Url, 20),
    format("GitLab token", "glft-", Url, 20),
    format("GitLab token", "glcbt-", Url, 20),
    format("GitLab secret", "gloas-", Url, 20),
    format("Slack token", "xoxc-", Url, 10),
    format("Slack token", "xoxd-", Url, 10),
    format("Sentry token", "sntrys_", Base64, 40),
    format("Sentry token", "sntryu_", Hexadecimal, 64),
    format("Atlassian token", "ATATT3", Url, 60),
    format("Atlassian token", "ATCTT3", Url, 60),
    format("Figma token", "figd_", Url, 30),
    format("Notion token", "ntn_", Word, 40),
    format("Docker token", "dckr_pat_", Url, 20),
    format("Heroku key", "HRKU-", Url, 30),
    format("Netlify token", "nfp_", Word, 30),
    format("PlanetScale token", "pscale_tkn_", Dotted, 30),
    format("PlanetScale password", "pscale_pw_", Dotted, 30),
    format("Postman key", "PMAK-", Url, 50),
    format("Pulumi token", "pul-", Hexadecimal, 40),
    format("RubyGems key", "rubygems_", Hexadecimal, 48),
    format("New Relic key", "NRAK-", Capital, 27),
    format("Grafana token", "glc_", Base64, 32),
    format("Brevo key", "xkeysib-", Url, 60),
    format("Buildkite token", "bkua_", Hexadecimal, 40),
    format("CircleCI token", "CCIPAT_", Url, 40),
    format("Contentful token", "CFPAT-", Url, 40),
    format("Dynatrace token", "dt0c01.", Dotted, 60),
    format("Alibaba access key", "LTAI", Word, 16),
    format("LangSmith key", "lsv2_pt_", Url, 32),
    format("Together key", "tgp_v1_", Url, 30),
    format("Doppler token", "dp.pt.", Word, 40),
    format("Shopify token", "shpca_", Hexadecimal, 32),
    format("Shopify token", "shppa_", Hexadecimal, 32),
    format("Shopify secret", "shpss_", Hexadecimal, 32),
    format("Square token", "sq0atp-", Url, 22),
    format("Square secret", "sq0csp-", Url, 40),
    format("osier token", "osier-", Hexadecimal, 64),
];

/// Words at the end of a name that announces a key, in small letters.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "api_key", "api-key", "apikey", "access_key", "accesskey", "private_key", "secret", "token", "password", "passwd",
    "passphrase", "_auth",
];

/// Endings that can follow one of these words in the same name.
pub(super) const ENDINGS: &[&str] = &["_key", "-key", "key", "_value", "_base64"];

/// The scheme of a header.
pub(super) const BEARER: &str = "bearer ";
pub(super) const BASIC: &str = "basic ";
/// Before the user and password of a URL.
pub(super) const AUTHORITY: &str = "://";
/// A private key in PEM.
pub(super) const PEM: &str = "-----BEGIN ";
/// A JSON web token.
pub(super) const WEB_TOKEN: &str = "eyJ";

/// Texts in values that only show where a key belongs.
#[rustfmt::skip]
pub(super) const PLACEHOLDERS: &[&str] = &[
    "example", "your", "placeholder", "changeme", "change-me", "change_me", "dummy", "redacted", "removed", "xxxx", "****",
    "....", "…", "0000", "insert", "abcdefgh", "sample", "fake",
];

/// Passwords in URLs that only show where one belongs.
#[rustfmt::skip]
pub(super) const USUAL: &[&str] = &[
    "pass", "password", "passwd", "pw", "pwd", "secret", "user", "username", "token", "key", "postgres", "root", "admin",
    "test", "guest", "mysql", "redis", "mongo", "rabbitmq",
];
