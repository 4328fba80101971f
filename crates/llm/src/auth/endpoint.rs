//! The HTTP requests of a sign-in. Request bodies are forms or JSON, responses are JSON. Responses are
//! limited in size and never logged.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::error::SignInError;
use super::sign_in::TokenFormat;
use crate::errors::{clean, excerpt};
use crate::http::{HttpOptions, Way, client, fault};
use crate::secret::Secret;

/// Timeout of a request, including its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes read of a response.
const BODY_LIMIT: usize = 1024 * 1024;

/// The response of a server.
#[derive(Debug)]
pub(super) struct Answer {
    pub host: String,
    pub status: u16,
    /// The time on the server's clock, in milliseconds since the Unix epoch.
    pub date: Option<i64>,
    body: Vec<u8>,
}

/// Sends the requests of one sign-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoint<'a> {
    pub format: TokenFormat,
    pub headers: &'a BTreeMap<String, String>,
    pub http: &'a HttpOptions,
}

impl Endpoint<'_> {
    /// Sends `fields` with `POST`, in order.
    pub(super) async fn post(
        &self,
        url: &str,
        fields: &[(&str, &str)],
    ) -> Result<Answer, SignInError> {
        let (kind, body) = match self.format {
            TokenFormat::Form => ("application/x-www-form-urlencoded", form(fields)),
            TokenFormat::Json => {
                let pairs = fields.iter();
                let map: Map<String, Value> = pairs
                    .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
                    .collect();
                ("application/json", Value::Object(map).to_string())
            }
        };
        let kind = HeaderValue::from_static(kind);
        self.send(Method::POST, url, |request| {
            request.header(CONTENT_TYPE, kind).body(body)
        })
        .await
    }

    /// Sends a `GET` request with `token` as bearer.
    pub(super) async fn get(&self, url: &str, token: &Secret) -> Result<Answer, SignInError> {
        self.send(Method::GET, url, |request| {
            request.bearer_auth(token.expose())
        })
        .await
    }

    async fn send(
        &self,
        method: Method,
        address: &str,
        finish: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Answer, SignInError> {
        let unreachable = |reason: String| SignInError::Unreachable { reason };
        let url = Url::parse(address)
            .map_err(|error| unreachable(format!("invalid URL `{address}`: {error}")))?;
        let (host, local) = (fault::host(&url), fault::is_loopback(&url));
        let client = client(self.http.clone(), Way::to(&url))
            .await
            .map_err(unreachable)?;
        let request = client.request(method, url).headers(self.all_headers()?);
        let exchange = async {
            let response = finish(request).send().await;
            let response = response.map_err(|error| fault::transport(&error, &host, local))?;
            Answer::read(response, host.clone()).await
        };
        match timeout(REQUEST_TIMEOUT, exchange).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(status)) => Err(unreachable(status.message().to_owned())),
            Err(_) => Err(unreachable(
                fault::silence(&host, REQUEST_TIMEOUT).message().to_owned(),
            )),
        }
    }

    fn all_headers(&self) -> Result<HeaderMap, SignInError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        for (name, value) in self.headers {
            let bad = || SignInError::Unreachable {
                reason: format!("the header `{name}` of the sign-in is not valid"),
            };
            let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            headers.insert(parsed, HeaderValue::from_str(value).map_err(|_| bad())?);
        }
        Ok(headers)
    }
}

impl Answer {
    async fn read(mut response: Response, host: String) -> Result<Self, crate::status::TurnStatus> {
        let date = response.headers().get(DATE).and_then(|date| {
            let parsed = rfc2822::parse(date.to_str().ok()?).ok()?;
            Some(parsed.timestamp().as_millisecond())
        });
        let status = response.status().as_u16();
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) if body.len() + bytes.len() <= BODY_LIMIT => {
                    body.extend_from_slice(&bytes);
                }
                Ok(_) => break,
                Err(error) => return Err(fault::cut(&error, &host)),
            }
        }
        Ok(Self {
            host,
            status,
            date,
            body,
        })
    }

    /// The fields of a successful response.
    pub(super) fn fields(&self) -> Result<Map<String, Value>, SignInError> {
        let object = match serde_json::from_slice(&self.body) {
            Ok(Value::Object(object)) => Some(object),
            _ => None,
        };
        // GitHub returns errors with status 200.
        match object {
            Some(fields) if self.is_success() && !fields.contains_key("error") => Ok(fields),
            Some(fields) => Err(self.refused(&fields)),
            None if self.is_success() => Err(SignInError::Garbage {
                host: self.host.clone(),
                came: self.shown(),
            }),
            None => Err(self.refused(&Map::new())),
        }
    }

    /// The error for a response without `field`. The response can contain tokens and is not quoted.
    pub(super) fn lacks(&self, field: &str) -> SignInError {
        SignInError::Garbage {
            host: self.host.clone(),
            came: format!("the response has no `{field}`"),
        }
    }

    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Reads an error in the form of RFC 6749 5.2, or in another form.
    fn refused(&self, fields: &Map<String, Value>) -> SignInError {
        let error = fields.get("error");
        let code = text(error);
        let nested = error.and_then(|error| error.get("message"));
        let described = [
            fields.get("error_description"),
            nested,
            fields.get("message"),
        ];
        let described = described
            .into_iter()
            .map(text)
            .find(|description| !description.is_empty());
        let reason = match (code, described) {
            ("", None) if fields.is_empty() => self.shown(),
            ("", None) => String::new(),
            (code, None) => code.to_owned(),
            ("", Some(description)) => description.to_owned(),
            (code, Some(description)) => format!("{description} ({code})"),
        };
        SignInError::Refused {
            host: self.host.clone(),
            status: self.status,
            code: code.to_owned(),
            reason: clean(&reason, None),
        }
    }

    fn shown(&self) -> String {
        if self.body.iter().all(u8::is_ascii_whitespace) {
            return "nothing".to_owned();
        }
        excerpt(&self.body, None)
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// `fields` as `application/x-www-form-urlencoded`.
fn form(fields: &[(&str, &str)]) -> String {
    with_query("http://form/", fields)
        .and_then(|url| url.query().map(str::to_owned))
        .unwrap_or_default()
}

/// `address` with `fields` added to its query.
pub(super) fn with_query(address: &str, fields: &[(&str, &str)]) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    url.query_pairs_mut().extend_pairs(fields);
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            host: "h".to_owned(),
            status,
            date: None,
            body: body.into(),
        }
    }

    #[test]
    fn errors_are_read_in_every_form() {
        for (status, body, code, expected) in [
            (
                400,
                r#"{"error": "invalid_grant", "error_description": "used up"}"#,
                "invalid_grant",
                "`h` answered 400: used up (invalid_grant)",
            ),
            (
                200,
                r#"{"error": "slow_down"}"#,
                "slow_down",
                "`h` answered 200: slow_down",
            ),
            (
                403,
                r#"{"error": {"message": "no"}}"#,
                "",
                "`h` answered 403: no",
            ),
            (
                500,
                "<html>oops</html>",
                "",
                "`h` answered 500: <html>oops</html>",
            ),
            (502, "", "", "`h` answered 502: nothing"),
        ] {
            let error = answer(status, body).fields().unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(matches!(error, SignInError::Refused { code: have, .. } if have == code));
        }
        let garbage = answer(200, "hello").fields().unwrap_err();
        assert!(
            matches!(garbage, SignInError::Garbage { .. }),
            "{garbage:?}"
        );
        assert_eq!(answer(200, r#"{"a": 1}"#).fields().unwrap()["a"], 1);
    }

    #[test]
    fn form_fields_are_encoded() {
        assert_eq!(form(&[("a", "x y"), ("b", "é&=")]), "a=x+y&b=%C3%A9%26%3D");
    }
}
