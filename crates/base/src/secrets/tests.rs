//! Secrets that must be found, and texts that look like some. All are made up at run time, so that no scanner takes them
//! for real keys.

use super::*;

const BODY: &str = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fL";
const HEX: &str = "9f3a7c21e8b04d56f1a2c3b4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708";
const CAPITAL: &str = "Q7W2E9R4T6Y1U8I3O5P0A7S2D9F4G6H1J8K3L5Z0X7C2V9B4N6";

fn names(text: &str) -> Vec<&'static str> {
    scan(text).into_iter().map(|found| found.name).collect()
}

#[test]
fn every_format_is_found() {
    for format in FORMATS {
        let body = match format.characters {
            Characters::Hexadecimal => HEX[..format.least].to_owned(),
            Characters::Capital => CAPITAL[..format.least].to_owned(),
            _ => BODY.repeat(5)[..format.least.max(24)].to_owned(),
        };
        let key = format!("{}{body}", format.prefix);
        let text = format!("before \"{key}\" after");
        let found = scan(&text);
        assert_eq!(found.len(), 1, "{key}");
        assert_eq!(found[0].name, format.name, "{key}");
        assert!(key.ends_with(&text[found[0].range.clone()]), "{key}");
    }
}

#[test]
fn every_announced_value_is_found() {
    let secret = "wJa1rXUtnFEM1K7MDENGbPxRf1CYzz9Q";
    for (text, value) in [
        (format!("OPENAI_API_KEY={secret}"), secret),
        (format!("export DB_PASSWORD='{secret}'"), secret),
        (format!("{{\"apiKey\": \"{secret}\"}}"), secret),
        (format!("{{\\\"apiKey\\\": \\\"{secret}\\\"}}"), secret),
        (format!("aws_secret_access_key = {secret}\n"), secret),
        (
            format!("aws_secret_access_key = {secret} for the tests"),
            secret,
        ),
        (
            format!("//registry.npmjs.org/:_authToken={secret}\n"),
            secret,
        ),
        (format!("//registry.npmjs.org/:_auth={secret}\n"), secret),
        (format!("password: {secret}\nuser: me"), secret),
        (format!("client_secret = \"{secret}\""), secret),
        (format!("secretKey: '{secret}',"), secret),
        (format!("Authorization: Bearer {secret}"), secret),
        (
            "Authorization: Basic dXNlcjpzM2NyZXQx".to_owned(),
            "dXNlcjpzM2NyZXQx",
        ),
        (
            "postgres://app:s3cr%21t@db.internal:5432/x".to_owned(),
            "s3cr%21t",
        ),
        ("https://me:hunter2@example.com/".to_owned(), "hunter2"),
        (
            format!("AccountName=x;AccountKey={secret}{secret}==;E"),
            &format!("{secret}{secret}=="),
        ),
    ] {
        let found = scan(&text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(&text[found[0].range.clone()], value, "{text}");
    }
    let token = format!("eyJ{BODY}.eyJ{BODY}.{BODY}");
    assert_eq!(names(&format!("x={token};")), ["JSON web token"]);
}

#[test]
fn private_keys_are_found_whole_or_cut() {
    let body = format!("{BODY}{BODY}\n").repeat(4);
    for text in [
        format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{body}-----END OPENSSH PRIVATE KEY-----"),
        format!(
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{body}"
        ),
        format!(
            "-----BEGIN PRIVATE KEY-----\\n{}",
            body.replace('\n', "\\n")
        ),
    ] {
        let found = scan(&text);
        assert_eq!(
            found,
            [Found {
                name: "private key",
                range: 0..text.len()
            }],
            "{text}"
        );
    }
    assert_eq!(
        names("the line `-----BEGIN RSA PRIVATE KEY-----` starts one"),
        [""; 0]
    );
    assert_eq!(
        names("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"),
        [""; 0]
    );
}

#[test]
fn placeholders_and_code_are_not_secrets() {
    for text in [
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx1",
        "OPENAI_API_KEY=<your-key-123456789>",
        "api_key: \"your-api-key-goes-here-1\"",
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "ghp_0000000000000000000000000000000000000a",
        "postgres://user:password@localhost/x postgres://postgres:postgres@db",
        "https://user:$PASSWORD@example.com",
        "http://localhost:8080/path@x",
        "let token = self.tokens.next2();",
        "token: String, password: Option<Secret1>,",
        "fn password(text: &str, start: usize)",
        "const tokenizer = \"cl100k_base_of_tokens\"",
        "max_tokens: 4096000000000000000",
        "Basic understanding of 2 things; basic requirements",
        "SKILLS SKbuild skip-me-0123456789abcdef0123",
        "key-value pairs with key-0 and key-1",
        "password = os.environ[\"DB_PASSWORD_2\"]",
        "eyJ is how a token starts",
        "integrity sha512-aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fL==",
    ] {
        assert_eq!(names(text), [""; 0], "{text}");
    }
}

#[test]
fn hostile_texts_are_scanned_in_one_pass() {
    for part in [
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "token=",
        "://a:",
        "eyJ",
        "bearer ",
        "AKIA",
        "ghp_é",
    ] {
        let text = part.repeat(200_000);
        assert_eq!(names(&text), [""; 0], "{part}");
    }
}
