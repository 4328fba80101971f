//! Signs requests to AWS with Signature Version 4:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>
//!
//! The secret is never sent: the signature is valid for one request and for some minutes.

use std::fmt::Write as _;

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::hmac;

use crate::secret::Secret;
use osier_base::hex::hex;
use osier_base::percent;

/// The only signature algorithm.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The credentials that sign requests to one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signing {
    pub access_key: String,
    pub secret: Secret,
    /// The token of temporary credentials.
    pub session_token: Option<Secret>,
    pub region: String,
    pub service: &'static str,
}

/// The signed parts of a request.
#[derive(Debug)]
pub(crate) struct SignableRequest<'a> {
    pub method: &'a str,
    /// The path as sent.
    pub path: &'a str,
    /// The query as sent, without the question mark.
    pub query: &'a str,
    /// The headers, including `host`, with names in lower case.
    pub headers: Vec<(&'a str, String)>,
    pub body: &'a [u8],
}

impl Signing {
    /// The headers with the signature of `request`, made at `now` in milliseconds since the Unix epoch.
    pub(crate) fn headers(
        &self,
        mut request: SignableRequest<'_>,
        now: i64,
    ) -> Vec<(&'static str, String)> {
        let now = Timestamp::from_millisecond(now).unwrap_or_default();
        let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut added = vec![("x-amz-date", stamp.clone())];
        if let Some(token) = &self.session_token {
            added.push(("x-amz-security-token", token.expose().to_owned()));
        }
        request.headers.extend(added.clone());
        request.headers.sort();
        added.push(("authorization", self.authorization(&request, &stamp)));
        added
    }

    fn authorization(&self, request: &SignableRequest<'_>, stamp: &str) -> String {
        let CanonicalRequest {
            signed_headers,
            text: canonical,
        } = CanonicalRequest::new(request);
        let day = &stamp[..8];
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let text = format!(
            "{ALGORITHM}\n{stamp}\n{scope}\n{}",
            hex(digest(&SHA256, canonical.as_bytes()).as_ref())
        );
        let mut key = format!("AWS4{}", self.secret.expose()).into_bytes();
        for part in [day, &self.region, self.service, "aws4_request", &text] {
            let with = hmac::Key::new(hmac::HMAC_SHA256, &key);
            key = hmac::sign(&with, part.as_bytes()).as_ref().to_vec();
        }
        format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={signed_headers}, Signature={}",
            self.access_key,
            hex(&key)
        )
    }
}

/// The canonical form of a request.
struct CanonicalRequest {
    /// The names of the signed headers, separated by semicolons.
    signed_headers: String,
    text: String,
}

impl CanonicalRequest {
    fn new(request: &SignableRequest<'_>) -> Self {
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
        let signed_headers = names.join(";");
        let mut headers = String::new();
        for (name, value) in &request.headers {
            let words: Vec<&str> = value.split_whitespace().collect();
            // Writing to a string cannot fail.
            let _ = writeln!(headers, "{name}:{}", words.join(" "));
        }
        let mut query: Vec<&str> = request.query.split('&').collect();
        query.sort_unstable();
        let text = format!(
            "{}\n{}\n{}\n{headers}\n{signed_headers}\n{}",
            request.method,
            // The canonical path is encoded twice.
            percent::path(request.path.as_bytes()),
            query.join("&"),
            hex(digest(&SHA256, request.body).as_ref()),
        );
        Self {
            signed_headers,
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: (&str, &str) = ("host", "example.amazonaws.com");
    const TOKEN: &str = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";

    fn signature(request: SignableRequest<'_>, token: Option<&str>) -> (String, String) {
        let signing = Signing {
            access_key: "AKIDEXAMPLE".to_owned(),
            secret: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: token.map(Secret::new),
            region: "us-east-1".to_owned(),
            service: "service",
        };
        let now: Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        let mut headers = signing.headers(request, now.as_millisecond());
        let (name, value) = headers.pop().unwrap();
        assert_eq!(name, "authorization");
        let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=";
        let rest = value.strip_prefix(start).unwrap();
        let (names, signature) = rest.split_once(", Signature=").unwrap();
        (names.to_owned(), signature.to_owned())
    }

    fn plain(
        method: &'static str,
        path: &'static str,
        query: &'static str,
    ) -> SignableRequest<'static> {
        SignableRequest {
            method,
            path,
            query,
            headers: vec![(HOST.0, HOST.1.to_owned())],
            body: b"",
        }
    }

    fn with(
        mut request: SignableRequest<'static>,
        more: &[(&'static str, &str)],
    ) -> SignableRequest<'static> {
        let more = more
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        request.headers.extend(more);
        request
    }

    fn form() -> SignableRequest<'static> {
        let hash = "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e";
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-length", "13"),
            ("x-amz-content-sha256", hash),
        ];
        SignableRequest {
            body: b"Param1=value1",
            ..with(plain("POST", "/", ""), &headers)
        }
    }

    type Vector = (
        &'static str,
        fn() -> SignableRequest<'static>,
        Option<&'static str>,
        &'static str,
        &'static str,
    );

    /// The vendor's test suite (awslabs/aws-c-auth, tests/aws-signing-test-suite/v4) by test name: the token,
    /// and the expected names and signature.
    #[rustfmt::skip]
    const VECTORS: &[Vector] = &[
        ("get-vanilla", || plain("GET", "/", ""), None, "host;x-amz-date",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("post-vanilla", || plain("POST", "/", ""), None, "host;x-amz-date",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ("get-vanilla-query-order-key-case", || plain("GET", "/", "Param2=value2&Param1=value1"), None, "host;x-amz-date",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        ("get-vanilla-with-session-token", || plain("GET", "/", ""), Some(TOKEN), "host;x-amz-date;x-amz-security-token",
            "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
        ("post-x-www-form-urlencoded", form, None, "content-length;content-type;host;x-amz-content-sha256;x-amz-date",
            "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"),
        ("get-unreserved", || plain("GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", ""), None,
            "host;x-amz-date", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        ("get-utf8", || plain("GET", "/ሴ", ""), None, "host;x-amz-date",
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        ("get-space-unnormalized", || plain("GET", "/example space/", ""), None, "host;x-amz-date",
            "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
        ("get-header-value-trim",
            || with(plain("GET", "/", ""), &[("my-header1", " value1"), ("my-header2", " \"a   b   c\"")]), None,
            "host;my-header1;my-header2;x-amz-date", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
    ];

    #[test]
    fn signatures_match_the_vendors_test_suite() {
        for (name, request, token, names, expected) in VECTORS {
            let have = signature(request(), *token);
            assert_eq!(
                have,
                ((*names).to_owned(), (*expected).to_owned()),
                "{name}"
            );
        }
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let signing = Signing {
            access_key: "AKIDEXAMPLE".to_owned(),
            secret: Secret::new("wJalrXUtnFEMI"),
            session_token: Some(Secret::new("sess-token")),
            region: "r".to_owned(),
            service: "bedrock",
        };
        let shown = format!("{signing:?}");
        assert!(
            !shown.contains("wJalr") && !shown.contains("sess-token"),
            "{shown}"
        );
    }
}
