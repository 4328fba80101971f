//! Bedrock and Vertex with the credentials of their vendors' own tools, in the exact format of the vendors. The
//! test servers check signatures as the vendors do.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::web_server::{ReceivedRequest, WebServer, aws_stream, events, json as answer};

fn bedrock_says(text: &str) -> Vec<u8> {
    aws_stream(&[
        ("messageStart", json!({"role": "assistant"})),
        (
            "contentBlockDelta",
            json!({"contentBlockIndex": 0, "delta": {"text": text}}),
        ),
        ("contentBlockStop", json!({"contentBlockIndex": 0})),
        ("messageStop", json!({"stopReason": "end_turn"})),
        (
            "metadata",
            json!({"usage": {"inputTokens": 7, "outputTokens": 3}}),
        ),
    ])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The signature that the vendor computes for a received request.
fn expected_signature(asked: &ReceivedRequest, secret: &str, region: &str) -> String {
    let path = asked
        .line
        .strip_prefix("POST ")
        .unwrap()
        .replace('%', "%25");
    let signed = asked.header("authorization");
    let names = signed
        .split("SignedHeaders=")
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap();
    let headers: String = names
        .split(';')
        .map(|name| format!("{name}:{}\n", asked.header(name)))
        .collect();
    let body = hex(digest(&SHA256, asked.body.as_bytes()).as_ref());
    let canonical = format!("POST\n{path}\n\n{headers}\n{names}\n{body}");
    let stamp = asked.header("x-amz-date");
    let scope = format!("{}/{region}/bedrock/aws4_request", &stamp[..8]);
    let hash = hex(digest(&SHA256, canonical.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hash}");
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [&stamp[..8], region, "bedrock", "aws4_request", &text] {
        let with = hmac::Key::new(hmac::HMAC_SHA256, &key);
        key = hmac::sign(&with, part.as_bytes()).as_ref().to_vec();
    }
    hex(&key)
}

const MODEL: &str = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0";

fn ask(home: &Home, model: &str, variables: &[(&str, &str)]) -> ProgramOutput {
    let mut cli = home
        .cli()
        .args(["--model", model, "--max-retries", "0", "-p", "hello"]);
    for (name, value) in variables {
        cli = cli.environment(name, value);
    }
    cli.run()
}

fn put(home: &Home, name: &str, content: &str) {
    let path = home.home().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    home.config(name, content);
}

#[test]
fn bedrock_signs_with_environment_keys() {
    let server = WebServer::start(|_, _| bedrock_says("signed"));
    let home = Home::new();
    let url = server.url();
    let keys = [
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url.as_str()),
        ("AWS_ACCESS_KEY_ID", "AKIDENV"),
        ("AWS_SECRET_ACCESS_KEY", "env/secret+1"),
        ("AWS_SESSION_TOKEN", "session=="),
        ("AWS_DEFAULT_REGION", "eu-central-1"),
    ];
    assert_eq!(
        ask(&home, MODEL, &keys),
        ProgramOutput::new(0, "signed\n", "")
    );
    let asked = &server.asked()[0];
    assert_eq!(
        asked.line,
        "POST /model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"
    );
    assert_eq!(asked.header("x-amz-security-token"), "session==");
    let day = &asked.header("x-amz-date")[..8];
    let signature = expected_signature(asked, "env/secret+1", "eu-central-1");
    assert_eq!(
        asked.header("authorization"),
        format!(
            "AWS4-HMAC-SHA256 Credential=AKIDENV/{day}/eu-central-1/bedrock/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature={signature}"
        )
    );
    // A Bedrock key takes precedence.
    let mut bearer = keys.to_vec();
    bearer.push(("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key"));
    assert_eq!(
        ask(&home, MODEL, &bearer),
        ProgramOutput::new(0, "signed\n", "")
    );
    assert_eq!(
        server.asked()[1].header("authorization"),
        "Bearer bedrock-key"
    );
}

#[test]
fn credential_process_runs_again_after_a_rejected_call() {
    let server = WebServer::start(|asked, before| {
        let second = asked.header("authorization").contains("AKID2");
        let refusal = json!({"message": "The security token included in the request is expired"});
        match (before, second) {
            (0, false) => answer("403 Forbidden", &refusal),
            (1, true) => bedrock_says("renewed"),
            _ => answer("500 Oops", &json!({"message": "not as expected"})),
        }
    });
    let home = Home::new();
    put(
        &home,
        ".aws/config",
        &format!(
            "[profile tool]\nregion = us-west-2\ncredential_process = sh {}\n",
            home.work().join("keys.sh").display()
        ),
    );
    let script = "echo x >> runs; n=$(wc -l < runs)\n\
        echo \"{\\\"Version\\\": 1, \\\"AccessKeyId\\\": \\\"AKID$((n))\\\", \\\"SecretAccessKey\\\": \\\"s$((n))\\\"}\"\n";
    home.file("keys.sh", script);
    let url = server.url();
    let variables = [
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url.as_str()),
        ("AWS_PROFILE", "tool"),
    ];
    assert_eq!(
        ask(&home, MODEL, &variables),
        ProgramOutput::new(0, "renewed\n", "")
    );
    let asked = &server.asked()[1];
    let signature = expected_signature(asked, "s2", "us-west-2");
    assert!(asked.header("authorization").ends_with(&signature));
    let status = home
        .cli()
        .args(["auth", "status", "bedrock"])
        .environment("AWS_PROFILE", "tool")
        .run();
    assert_eq!(
        status,
        ProgramOutput::new(0, "bedrock  AWS profile `tool`\n", "")
    );
    // The error of an unusable profile has a suggestion.
    put(
        &home,
        ".aws/config",
        "[profile tool]\nregion = r\nsso_session = x\n",
    );
    let ended = ask(&home, MODEL, &variables);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .stderr
            .contains("`tool` has no keys: add `credential_process"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.lines().len(), 2);
}

/// A `models.json` with the URLs of the two providers of Vertex.
fn vertex(server: &WebServer) -> String {
    let place = |publisher: &str| {
        let rest =
            "/v1/projects/{GOOGLE_CLOUD_PROJECT}/locations/{GOOGLE_CLOUD_LOCATION}/publishers/";
        json!({"baseUrl": format!("{}{rest}{publisher}", server.url())})
    };
    json!({"providers": {"google-vertex": place("google"), "google-vertex-anthropic": place("anthropic")}})
        .to_string()
}

fn token(asked: &ReceivedRequest) -> Vec<u8> {
    assert_eq!(
        asked.header("content-type"),
        "application/x-www-form-urlencoded"
    );
    answer(
        "200 OK",
        &json!({"access_token": "ya29.minted", "expires_in": 3599, "token_type": "Bearer"}),
    )
}

#[test]
fn gemini_on_vertex_uses_a_service_account() {
    // A test key in PKCS #8.
    let pem = include_str!("../fixtures/llm/rsa_key.base64").trim();
    let der = STANDARD.decode(pem.replace('\n', "")).unwrap();
    let key = RsaKeyPair::from_pkcs8(&der).unwrap();
    let server = WebServer::start(|asked, _| match asked.line.as_str() {
        "POST /token" => token(asked),
        _ if asked.header("authorization") == "Bearer ya29.minted" => events(&[json!({
            "candidates": [{"content": {"role": "model", "parts": [{"text": "by account"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2}})]),
        _ => answer(
            "401 Unauthorized",
            &json!({"error": {"code": 401, "message": "no"}}),
        ),
    });
    let home = Home::new();
    home.config("models.json", vertex(&server));
    let audience = format!("{}/token", server.url());
    let file = json!({"type": "service_account", "project_id": "proj-1", "private_key_id": "kid-1",
        "private_key": format!("-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n"),
        "client_email": "osier@proj-1.iam.gserviceaccount.com", "token_uri": audience});
    let path = home.file("account.json", file.to_string());
    let variables = [("GOOGLE_APPLICATION_CREDENTIALS", path.to_str().unwrap())];
    let model = "google-vertex/gemini-3.8-flash";
    assert_eq!(
        ask(&home, model, &variables),
        ProgramOutput::new(0, "by account\n", "")
    );
    let called = "POST /v1/projects/proj-1/locations/global/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
    assert_eq!(server.lines(), ["POST /token", called]);

    let asked = &server.asked()[0];
    assert_eq!(
        asked.field("grant_type"),
        "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    );
    let statement = asked.field("assertion");
    let (text, signature) = statement.rsplit_once('.').unwrap();
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public().as_ref());
    public
        .verify(text.as_bytes(), &decoded(signature))
        .expect("a valid signature");
    let (head, claims) = text.split_once('.').unwrap();
    let head: Value = serde_json::from_slice(&decoded(head)).unwrap();
    assert_eq!(head, json!({"alg": "RS256", "typ": "JWT", "kid": "kid-1"}));
    let claims: Value = serde_json::from_slice(&decoded(claims)).unwrap();
    assert_eq!(
        (&claims["iss"], &claims["aud"]),
        (&file["client_email"], &json!(audience))
    );
    assert_eq!(
        claims["scope"],
        "https://www.googleapis.com/auth/cloud-platform"
    );
    assert_eq!(
        claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(),
        3600
    );
}

#[test]
fn claude_on_vertex_uses_default_credentials_and_its_own_format() {
    let server = WebServer::start(|asked, before| match (asked.line.as_str(), before) {
        ("POST /token", _) => token(asked),
        _ => events(&[
            json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "by default"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ]),
    });
    let home = Home::new();
    home.config("models.json", vertex(&server));
    let file = json!({"type": "authorized_user", "client_id": "c.apps", "client_secret": "cs",
        "refresh_token": "1//refresh", "quota_project_id": "bill-me", "token_uri": format!("{}/token", server.url())});
    put(
        &home,
        ".config/gcloud/application_default_credentials.json",
        &file.to_string(),
    );
    let variables = [
        ("GOOGLE_CLOUD_PROJECT", "proj-2"),
        ("GOOGLE_CLOUD_LOCATION", "europe-west1"),
    ];
    let model = "google-vertex-anthropic/claude-sonnet-5-5";
    assert_eq!(
        ask(&home, model, &variables),
        ProgramOutput::new(0, "by default\n", "")
    );
    let all = server.asked();
    assert_eq!(all[0].field("refresh_token"), "1%2F%2Frefresh");
    let asked = &all[1];
    // The environment overrides the project of the file.
    assert_eq!(
        asked.line,
        "POST /v1/projects/proj-2/locations/europe-west1/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict"
    );
    assert_eq!(asked.header("authorization"), "Bearer ya29.minted");
    assert_eq!(asked.header("x-goog-user-project"), "bill-me");
    assert_eq!(
        (asked.header("anthropic-version"), asked.header("x-api-key")),
        ("", "")
    );
    let body = asked.json();
    assert_eq!(
        (&body["anthropic_version"], &body["stream"]),
        (&json!("vertex-2023-10-16"), &json!(true))
    );
    assert!(body.get("model").is_none(), "{body}");

    put(
        &home,
        ".config/gcloud/application_default_credentials.json",
        r#"{"type": "external_account"}"#,
    );
    let ended = ask(&home, model, &variables);
    assert_eq!(ended.code, Some(1));
    let expected = "contains credentials of the unsupported type `external_account`: use a service account's key";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}
