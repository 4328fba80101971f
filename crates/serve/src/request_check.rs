//! Checks of every request: the `Host` header, the `Origin` header and the token. Reads JSON bodies.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;

use super::ServerState;
use super::access::Caller;
use super::error::{ApiError, ErrorCode};
#[cfg(feature = "proxy")]
use super::proxy::PATHS;
use super::websocket::check_protocol;

/// The largest accepted body or frame, in bytes.
pub(super) const BODY_LIMIT: usize = 32 * 1024 * 1024;
/// The name of the browser's cookie.
pub(super) const COOKIE: &str = "osier";

/// The address of the client; none over a Unix socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerAddress(pub(super) Option<IpAddr>);

impl From<SocketAddr> for PeerAddress {
    fn from(address: SocketAddr) -> Self {
        Self(Some(address.ip()))
    }
}

/// Of a Unix socket.
impl From<()> for PeerAddress {
    fn from((): ()) -> Self {
        Self(None)
    }
}

/// What the checks need.
#[derive(Debug, Clone)]
pub(super) struct CheckState {
    pub server: Arc<ServerState>,
}

/// Passes a valid request on; answers an invalid one with an error.
pub(super) async fn check_request(
    State(state): State<CheckState>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = match check(&state.server, &request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    if is_api {
        set(header::CACHE_CONTROL, "no-store");
    }
    response
}

fn check(server: &ServerState, request: &Request) -> Result<Caller, ApiError> {
    let mut caller = Caller::Owner;
    let headers = request.headers();
    let host = host_of(headers, request.uri());
    if !server.access.is_own_host(host) {
        let message = format!("`{host}` is not a name of this server; add it with `--allow-host`");
        return Err(ApiError::new(ErrorCode::ForbiddenHost, message));
    }
    let version = header_text(headers, "osier-protocol");
    if let Some(version) = version {
        check_protocol(Some(version.parse().unwrap_or(u64::MAX)))?;
    }
    let path = request.uri().path();
    let changes = !matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    let origin = header_text(headers, "origin");
    if (changes || path == "/api/ws")
        && let Some(origin) = origin
        && !is_same_origin(origin, host)
    {
        let message = format!("requests from pages of `{origin}` are not allowed");
        return Err(ApiError::new(ErrorCode::ForbiddenOrigin, message));
    }
    if path.starts_with("/api/") && path != "/api/login" {
        let (token, is_cookie) = token_of(headers).ok_or_else(|| {
            let message = "the token is missing; send `Authorization: Bearer TOKEN`";
            ApiError::new(ErrorCode::Unauthorized, message)
        })?;
        caller = server.access.check(token, address_of(request))?;
        #[cfg(feature = "proxy")]
        if matches!(caller, Caller::User(_)) && !PATHS.contains(&path) {
            let message = "this token can only call models, not open sessions";
            return Err(ApiError::new(ErrorCode::Forbidden, message));
        }
        if is_cookie && origin.is_none() && (changes || path == "/api/ws") {
            let message = "a request with a cookie requires an `Origin` header; programs send the token as `Bearer`";
            return Err(ApiError::new(ErrorCode::ForbiddenOrigin, message));
        }
    }
    if *request.method() == Method::POST && !is_json(headers) {
        let message = "the body must be JSON; send `content-type: application/json`";
        return Err(ApiError::new(ErrorCode::UnsupportedMediaType, message));
    }
    Ok(caller)
}

/// The address of the client.
pub(super) fn address_of(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<PeerAddress>()?.0
}

/// Parses the body of a request.
pub(super) async fn json_body<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    let too_large = || {
        let message = format!("the body is larger than {BODY_LIMIT} bytes");
        ApiError::new(ErrorCode::TooLarge, message)
    };
    let length = header_text(request.headers(), "content-length")
        .and_then(|header_text| header_text.parse().ok());
    if length.is_some_and(|length: usize| length > BODY_LIMIT) {
        return Err(too_large());
    }
    let read = axum::body::to_bytes(request.into_body(), BODY_LIMIT).await;
    let bytes = read.map_err(|_| too_large())?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::malformed(format!("invalid body: {error}")))
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> &'a str {
    let named = uri.authority().map(axum::http::uri::Authority::as_str);
    named
        .or_else(|| header_text(headers, "host"))
        .unwrap_or_default()
}

/// Whether pages of `origin` come from this server.
fn is_same_origin(origin: &str, host: &str) -> bool {
    let name = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    name.is_some_and(|name| !name.is_empty() && name.eq_ignore_ascii_case(host))
}

/// The token, and whether it is in the cookie, which a browser sends automatically.
fn token_of(headers: &HeaderMap) -> Option<(&str, bool)> {
    if let Some(given) = header_text(headers, "authorization") {
        let (kind, token) = given.split_once(' ')?;
        return kind
            .eq_ignore_ascii_case("bearer")
            .then_some((token.trim(), false));
    }
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut cookies = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    cookies.find_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == COOKIE).then_some((value, true))
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = header_text(headers, "content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_server_have_the_same_origin() {
        assert!(is_same_origin("http://127.0.0.1:8080", "127.0.0.1:8080"));
        assert!(is_same_origin("https://Box.example", "box.example"));
        for other in [
            "http://127.0.0.1:8081",
            "http://evil.example",
            "null",
            "",
            "file://",
        ] {
            assert!(!is_same_origin(other, "127.0.0.1:8080"), "{other}");
        }
        assert!(!is_same_origin("http://", ""));
    }

    #[test]
    fn a_token_is_read_from_the_header_or_the_cookie() {
        let with = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            token_of(&headers).map(|(token, is_cookie)| (token.to_owned(), is_cookie))
        };
        let token = |is_cookie| Some(("T".to_owned(), is_cookie));
        assert_eq!(with("authorization", "Bearer T"), token(false));
        assert_eq!(with("authorization", "bearer  T"), token(false));
        assert_eq!(with("authorization", "Basic T"), None);
        assert_eq!(with("cookie", "a=b; osier=T"), token(true));
        assert_eq!(with("cookie", "xosier=T"), None);
    }
}
