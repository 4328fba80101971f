//! The formats of keys: one row each.

/// The characters of a key after its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Characters {
    Digit,
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
    /// Letters, digits and what separates the parts of a path.
    Path,
    /// Letters, digits and `%`.
    Query,
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

use Characters::{Base64, Capital, Digit, Dotted, Hexadecimal, Path, Query, Url, Word};

// recipe: a format of keys, 1: its row in `FORMATS`, if it begins with its mark
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
    format("GitLab token", "glpat-", Dotted, 20),
    format("GitLab token", "gldt-", Dotted, 20),
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
    format("GitLab token", "glrt-", Dotted, 20),
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
    format("AWS access key", "ABIA", Capital, 16),
    format("AWS access key", "ACCA", Capital, 16),
    format("AWS session token", "IQoJb3JpZ2lu", Base64, 100),
    format("AWS session token", "FwoGZXIvYXdz", Base64, 100),
    format("AWS Bedrock key", "bedrock-api-key-", Base64, 60),
    format("Google refresh token", "1//0", Url, 40),
    format("GitLab token", "glimt-", Url, 20),
    format("GitLab token", "glagent-", Url, 40),
    format("GitLab token", "glsoat-", Url, 20),
    format("GitLab token", "glffct-", Url, 20),
    format("GitLab token", "GR1348941", Url, 20),
    format("Bitbucket token", "ATBB", Word, 30),
    format("Trello token", "ATTA", Word, 60),
    format("Slack token", "xoxe.xox", Url, 20),
    format("Slack token", "xwfp-", Url, 20),
    format("Discord webhook", "discord.com/api/webhooks/", Path, 60),
    format("Discord webhook", "discordapp.com/api/webhooks/", Path, 60),
    format("Teams webhook", "webhook.office.com/webhookb2/", Path, 60),
    format("Vercel token", "vcp_", Word, 24),
    format("Vercel token", "vci_", Word, 24),
    format("Vercel token", "vca_", Word, 24),
    format("Vercel token", "vcr_", Word, 24),
    format("Vercel key", "vck_", Word, 24),
    format("Cloudflare token", "cfut_", Word, 40),
    format("Cloudflare token", "cfat_", Word, 40),
    format("Cloudflare key", "cfk_", Word, 40),
    format("Cloudflare key", "v1.0-", Url, 100),
    format("Doppler token", "dp.ct.", Word, 40),
    format("Doppler token", "dp.sa.", Word, 40),
    format("Doppler token", "dp.st.", Dotted, 40),
    format("Doppler token", "dp.scim.", Word, 40),
    format("Doppler token", "dp.audit.", Word, 40),
    format("Vault token", "hvr.", Url, 20),
    format("Linear token", "lin_oauth_", Word, 32),
    format("Notion token", "secret_", Word, 43),
    format("Figma token", "figo_", Url, 30),
    format("Figma token", "figu_", Url, 30),
    format("Figma token", "figr_", Url, 30),
    format("Supabase key", "sb_secret_", Url, 24),
    format("Brevo key", "xsmtpsib-", Url, 60),
    format("Mailgun key", "pubkey-", Hexadecimal, 32),
    format("Netlify token", "nfc_", Word, 30),
    format("Netlify token", "nfo_", Word, 30),
    format("PlanetScale token", "pscale_oauth_", Dotted, 30),
    format("New Relic key", "NRJS-", Word, 19),
    format("New Relic key", "NRII-", Url, 32),
    format("Sentry token", "sntrya_", Hexadecimal, 64),
    format("Sentry token", "sntryi_", Hexadecimal, 64),
    format("Tailscale key", "tskey-", Url, 20),
    format("Fly.io token", "fo1_", Url, 40),
    format("Fly.io token", "fm1_", Base64, 60),
    format("Fly.io token", "fm2_", Base64, 60),
    format("Airtable token", "pat", Dotted, 79),
    format("HubSpot token", "pat-na1-", Url, 36),
    format("HubSpot token", "pat-na2-", Url, 36),
    format("HubSpot token", "pat-eu1-", Url, 36),
    format("Harness token", "pat.", Dotted, 60),
    format("Harness token", "sat.", Dotted, 60),
    format("Artifactory key", "AKCp", Word, 60),
    format("Artifactory token", "cmVmdGtu", Word, 50),
    format("NuGet key", "oy2", Word, 43),
    format("Clojars token", "CLOJARS_", Word, 50),
    format("Docker token", "dckr_oat_", Url, 20),
    format("Typeform token", "tfp_", Dotted, 40),
    format("Dropbox token", "sl.", Dotted, 100),
    // Tokens of Square have the same prefix.
    format("Facebook token", "EAA", Url, 60),
    format("Twitter token", "AAAAAAAAAAAAAAAAAAAAA", Query, 60),
    format("Shippo token", "shippo_live_", Hexadecimal, 40),
    format("Shippo token", "shippo_test_", Hexadecimal, 40),
    format("EasyPost key", "EZAK", Word, 54),
    format("EasyPost key", "EZTK", Word, 54),
    format("Duffel token", "duffel_live_", Url, 40),
    format("Duffel token", "duffel_test_", Url, 40),
    format("GoCardless token", "live_", Url, 40),
    format("Plaid token", "access-sandbox-", Url, 36),
    format("Plaid token", "access-development-", Url, 36),
    format("Plaid token", "access-production-", Url, 36),
    format("Flutterwave key", "FLWSECK-", Url, 20),
    format("Flutterwave key", "FLWSECK_TEST-", Url, 12),
    format("Frame.io token", "fio-u-", Url, 60),
    format("Readme key", "rdme_", Word, 60),
    format("Infracost key", "ico-", Word, 32),
    format("Prefect key", "pnu_", Word, 36),
    format("Prefect key", "pnb_", Word, 36),
    format("Sourcegraph token", "sgp_", Url, 40),
    format("SonarQube token", "squ_", Hexadecimal, 40),
    format("SonarQube token", "sqp_", Hexadecimal, 40),
    format("SonarQube token", "sqa_", Hexadecimal, 40),
    format("OpenShift token", "sha256~", Url, 40),
    format("1Password token", "ops_eyJ", Base64, 100),
    format("MongoDB key", "mdb_sa_sk_", Url, 30),
    format("Neon key", "napi_", Word, 40),
    format("Mapbox token", "sk.eyJ", Dotted, 60),
    format("Mapbox token", "pk.eyJ", Dotted, 60),
    format("Yandex key", "AQVN", Url, 35),
    format("Yandex token", "y0_", Url, 50),
    format("PostHog key", "phx_", Word, 40),
    format("Resend key", "re_", Url, 30),
    format("Adobe secret", "p8e-", Word, 32),
    format("Scalingo token", "tk-us-", Url, 40),
    format("Hugging Face token", "api_org_", Word, 30),
    format("LangSmith key", "lsv2_sk_", Url, 32),
    format("Pinecone key", "pcsk_", Url, 50),
    format("Jina key", "jina_", Url, 50),
    format("Voyage key", "pa-", Url, 40),
    format("LlamaCloud key", "llx-", Word, 40),
    format("E2B key", "e2b_", Hexadecimal, 40),
    format("RunPod key", "rpa_", Word, 40),
    format("Firecrawl key", "fc-", Hexadecimal, 32),
    format("ElevenLabs key", "sk_", Hexadecimal, 40),
    format("Modal token", "as-", Word, 22),
    format("Weights & Biases key", "wandb_v1_", Url, 40),
];

/// A format without a prefix: characters around a mark.
#[derive(Debug)]
pub(super) struct Infix {
    pub name: &'static str,
    pub mark: &'static str,
    /// The characters before the mark, and their least and greatest number.
    pub before: (Characters, usize, usize),
    /// The characters after the mark, and their least number.
    pub after: (Characters, usize),
}

const fn infix(
    name: &'static str,
    mark: &'static str,
    before: (Characters, usize, usize),
    after: (Characters, usize),
) -> Infix {
    Infix {
        name,
        mark,
        before,
        after,
    }
}

// recipe: a format of keys, 2: instead, its row in `INFIXES`, if its mark is inside
#[rustfmt::skip]
pub(super) const INFIXES: &[Infix] = &[
    infix("Telegram token", ":AA", (Digit, 7, 12), (Url, 32)),
    infix("Azure client secret", "Q~", (Dotted, 4, 4), (Dotted, 30)),
    infix("Azure DevOps token", "AZDO", (Word, 76, 76), (Word, 4)),
    infix("Terraform token", ".atlasv1.", (Word, 14, 14), (Url, 60)),
    infix("Mailchimp key", "-us", (Hexadecimal, 32, 32), (Digit, 1)),
    infix("MaxMind key", "_mmk", (Url, 30, 40), (Word, 0)),
];

/// Words at the end of a name that announces a key, in small letters.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "private_key", "privatekey", "signing_key",
    "encryption_key", "master_key", "auth_key", "authkey", "account_key", "accountkey", "shared_key", "client_key", "session_key",
    "deploy_key", "license_key", "secret", "token", "credential", "credentials", "_auth", "cookie", "authorization",
    "password", "passwd", "passphrase", "_password", "_passwd", "_passphrase", "_pass", "_pwd", ";pwd", " pwd",
    "_authorization",
];

/// Names of the list that announce what people type, which can be short.
pub(super) const TYPED: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "_password",
    "_passwd",
    "_passphrase",
    "_pass",
    "_pwd",
    ";pwd",
    " pwd",
];

/// Words before `token` that make it the position in a list.
pub(super) const POSITIONS: &[&str] = &["next", "page", "continuation", "sync", "cancellation"];

/// Endings that can follow one of these words in the same name.
pub(super) const ENDINGS: &[&str] = &[
    "_key", "-key", "key", "_value", "_base64", "_base", "_pem", "_json",
];

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
    "....", "…", "00000000", "insert", "abcdefgh", "sample", "fake",
];

/// Passwords in URLs that only show where a password belongs.
#[rustfmt::skip]
pub(super) const USUAL: &[&str] = &[
    "pass", "password", "passwd", "pw", "pwd", "secret", "user", "username", "token", "key", "postgres", "root", "admin",
    "test", "guest", "mysql", "redis", "mongo", "rabbitmq",
];
