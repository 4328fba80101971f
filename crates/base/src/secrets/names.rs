//! The names of variables and fields whose values are secret. A name is judged by its end, not by a list of programs:
//! `API_KEY` of a vendor that nobody knows is a key too.

/// The end of a secret name, with or without a word before it: `accessToken`, `OPENAIKEY`.
#[rustfmt::skip]
const ENDINGS: [&str; 12] = [
    "KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "CREDENTIAL",
    "CREDENTIALS",
];

/// The last word of a secret name. `PASS` must be a word: `SSH_ASKPASS` names a program, and `OLDPWD` a directory.
const WORDS: [&str; 7] = ["PASS", "PWD", "PAT", "AUTH", "CREDS", "JWT", "COOKIE"];

/// Words after the end that say which of several values it is, or how it is written. `FILE`, `PATH`, `DIR` and `URL` are not
/// among them: such a value says where the secret is.
#[rustfmt::skip]
const QUALIFIERS: [&str; 23] = [
    "BASE", "BASE64", "B64", "CURRENT", "DATA", "DEFAULT", "DEV", "HEX", "JSON", "LIVE", "NEW", "OLD", "PEM", "PREVIOUS",
    "PRIMARY", "PROD", "PRODUCTION", "RAW", "SECONDARY", "STAGING", "STRING", "TEST", "VALUE",
];

/// Numbers of tokens: `MAX_OUTPUT_TOKENS`, `TOKENS_LIMIT`.
const COUNTS: [&str; 5] = ["COUNT", "LIMIT", "MAX", "MIN", "NUM"];

/// Whether a variable or field with this name has a secret value.
///
/// ```
/// use osier_base::secrets::is_secret_name;
///
/// assert!(is_secret_name("ACME_API_KEY_2"));
/// assert!(!is_secret_name("ACME_API_KEY_FILE"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace(['-', '.', ' '], "_");
    // The name of a setting of git, such as `safe.directory`.
    if name.starts_with("GIT_CONFIG_KEY_") {
        return false;
    }
    let mut end = name.as_str();
    loop {
        let shorter = end.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '_');
        let (before, last) = shorter.rsplit_once('_').unwrap_or(("", shorter));
        // Half of a pair is of no use alone: `AWS_ACCESS_KEY_ID`.
        let is_half = last == "ID" && before.ends_with("KEY");
        if before.is_empty() || !(is_half || is_qualifier(last, end)) {
            let is_count = last == "TOKENS" && before.split('_').any(|word| COUNTS.contains(&word));
            let is_word = WORDS.contains(&last) && shorter != "PWD";
            return !is_count && (is_word || ENDINGS.iter().any(|word| shorter.ends_with(word)));
        }
        end = before;
    }
}

/// Whether the last word of a name is a qualifier, with its digits: `KEY_BASE64`.
fn is_qualifier(last: &str, end: &str) -> bool {
    let written = end.rsplit('_').next().unwrap_or_default();
    QUALIFIERS.contains(&last) || QUALIFIERS.contains(&written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of providers, clouds, databases, CI systems and web frameworks.
    #[rustfmt::skip]
    const SECRET: &[&str] = &[
        "OLLAMA_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "COHERE_API_KEY",
        "REPLICATE_API_TOKEN", "VOYAGE_API_KEY", "AZURE_API_KEY", "OPENAI_API_KEY", "OPENAI_API_KEY_2", "OPENAIKEY",
        "OPENAI_API_KEYS", "openai_api_key", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN",
        "AWS_SECURITY_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN",
        "GITLAB_PAT", "CI_JOB_TOKEN", "CI_REGISTRY_PASSWORD", "NPM_TOKEN", "NODE_AUTH_TOKEN", "npm_config__authToken",
        "CARGO_REGISTRY_TOKEN", "TWINE_PASSWORD", "UV_PUBLISH_TOKEN", "PGPASSWORD", "MYSQL_PWD", "REDISCLI_AUTH", "DB_PASS",
        "DATABASE_PASSWORD", "MONGO_INITDB_ROOT_PASSWORD", "SECRET_KEY_BASE", "RAILS_MASTER_KEY", "DJANGO_SECRET_KEY", "JWT_SECRET",
        "SESSION_SECRET", "SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "STRIPE_SECRET_KEY", "TWILIO_AUTH_TOKEN", "SENTRY_AUTH_TOKEN",
        "VAULT_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN", "CLOUDFLARE_API_TOKEN", "HEROKU_API_KEY", "DOCKER_PASSWORD", "TELEGRAM_BOT_TOKEN",
        "SSH_PRIVATE_KEY", "SIGNING_KEY_BASE64", "GPG_PASSPHRASE", "DEPLOY_KEY_PEM", "FIREBASE_PRIVATE_KEY_JSON", "AZURE_CLIENT_SECRET",
        "ARM_CLIENT_SECRET", "MY_PASSWD", "X_CREDENTIAL", "BASIC_AUTH_CREDS", "SUPABASE_JWT", "SESSION_COOKIE", "TOKEN", "KEY",
        "PASSWORD_OLD", "APP_SECRET_PROD", "ACCESS_TOKEN_1", "my-api-key", "accessToken",
    ];

    #[rustfmt::skip]
    const HARMLESS: &[&str] = &[
        "GIT_CONFIG_KEY_0",
        "PATH", "HOME", "USER", "SHELL", "PWD", "OLDPWD", "LANG", "LC_ALL", "TERM", "TMPDIR", "EDITOR", "SSH_AUTH_SOCK", "SSH_ASKPASS",
        "GIT_ASKPASS", "SSH_AGENT_PID", "GPG_TTY", "XAUTHORITY", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "KUBECONFIG", "AWS_PROFILE",
        "AWS_REGION", "AWS_SHARED_CREDENTIALS_FILE", "OPENAI_API_KEY_FILE", "OPENAI_BASE_URL", "DATABASE_URL", "PASSWORD_STORE_DIR",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "KEYBOARD_LAYOUT", "HTTP_PROXY", "PYTHONPATH",
        "CARGO_HOME", "COMPASS", "BYPASS", "CI", "GITHUB_ACTIONS", "KEYTIMEOUT", "AUTHOR", "PATTERN", "OPENAI_ORG_ID",
    ];

    #[test]
    fn names_are_judged_by_their_end() {
        for name in SECRET {
            assert!(is_secret_name(name), "{name}");
        }
        for name in HARMLESS {
            assert!(!is_secret_name(name), "{name}");
        }
        assert!(SECRET.len() > 60);
    }
}
