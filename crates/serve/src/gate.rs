//! What stands before every request: is it meant for this server, does it come from its own pages, and may
//! its sender come in. Then its body.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::serve::IncomingStream;
use serde::de::DeserializeOwned;
use tokio::net::{TcpListener, UnixListener};

use super::Server;
use super::access::Caller;
use super::fault::{Code, Fault};
#[cfg(feature = "proxy")]
use super::relay::PATHS;
use super::socket::speaks;

/// Longest body and longest frame, in bytes.
pub(super) const BODY_LIMIT: usize = 32 * 1024 * 1024;
/// The cookie of a browser.
pub(super) const COOKIE: &str = "osier";

/// Who is at the other end; no address over a unix socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remote(pub(super) Option<IpAddr>);

impl Connected<IncomingStream<'_, TcpListener>> for Remote {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        let address: &SocketAddr = stream.remote_addr();
        Self(Some(address.ip()))
    }
}

impl Connected<IncomingStream<'_, UnixListener>> for Remote {
    fn connect_info(_: IncomingStream<'_, UnixListener>) -> Self {
        Self(None)
    }
}

/// Lets a request through, or answers it.
pub(super) async fn guard(
    State((server, is_trusted)): State<(Arc<Server>, bool)>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_data = request.uri().path().starts_with("/api/");
    let mut response = match check(&server, is_trusted, &request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(fault) => fault.into_response(),
    };
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    if is_data {
        set(header::CACHE_CONTROL, "no-store");
    }
    response
}

fn check(server: &Server, is_trusted: bool, request: &Request) -> Result<Caller, Fault> {
    let mut caller = Caller::Owner;
    let headers = request.headers();
    let host = host_of(headers, request.uri());
    if !is_trusted && !server.access.is_own(host) {
        let message = format!("`{host}` is no name of this server: `--allow-host` adds one");
        return Err(Fault::new(Code::ForbiddenHost, message));
    }
    let version = text(headers, "osier-protocol");
    if let Some(version) = version {
        speaks(Some(version.parse().unwrap_or(u64::MAX)))?;
    }
    let path = request.uri().path();
    let changes = !matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    let from_page = text(headers, "origin");
    if (changes || path == "/api/ws")
        && let Some(origin) = from_page
        && !is_same_site(origin, host)
    {
        let message = format!("a page of `{origin}` may not do this");
        return Err(Fault::new(Code::ForbiddenOrigin, message));
    }
    if path.starts_with("/api/") && path != "/api/login" && !is_trusted {
        let (token, in_cookie) = token_of(headers).ok_or_else(|| {
            let message = "a token is needed: `Authorization: Bearer TOKEN`";
            Fault::new(Code::Unauthorized, message)
        })?;
        caller = server.access.check(token, address_of(request))?;
        #[cfg(feature = "proxy")]
        if matches!(caller, Caller::User(_)) && !PATHS.contains(&path) {
            let message = "this token calls models; it opens no sessions";
            return Err(Fault::new(Code::Forbidden, message));
        }
        if in_cookie && from_page.is_none() && (changes || path == "/api/ws") {
            let message =
                "with a cookie an `Origin` is needed; programs send the token as `Bearer`";
            return Err(Fault::new(Code::ForbiddenOrigin, message));
        }
    }
    if *request.method() == Method::POST && !is_json(headers) {
        let message = "the body has to be JSON: `content-type: application/json`";
        return Err(Fault::new(Code::UnsupportedMediaType, message));
    }
    Ok(caller)
}

/// Where the request comes from.
pub(super) fn address_of(request: &Request) -> Option<IpAddr> {
    let remote = request.extensions().get::<ConnectInfo<Remote>>();
    remote.and_then(|ConnectInfo(remote)| remote.0)
}

/// The body of a request.
pub(super) async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Fault> {
    let too_large = || {
        let message = format!("the body has more than {BODY_LIMIT} bytes");
        Fault::new(Code::TooLarge, message)
    };
    let length = text(request.headers(), "content-length").and_then(|text| text.parse().ok());
    if length.is_some_and(|length: usize| length > BODY_LIMIT) {
        return Err(too_large());
    }
    let read = axum::body::to_bytes(request.into_body(), BODY_LIMIT).await;
    let bytes = read.map_err(|_| too_large())?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Fault::malformed(format!("the body was not understood: {error}")))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> &'a str {
    let named = uri.authority().map(axum::http::uri::Authority::as_str);
    named.or_else(|| text(headers, "host")).unwrap_or_default()
}

/// Whether a page of `origin` was loaded from this server.
fn is_same_site(origin: &str, host: &str) -> bool {
    let name = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    name.is_some_and(|name| !name.is_empty() && name.eq_ignore_ascii_case(host))
}

/// The token, and whether a browser sent it by itself.
fn token_of(headers: &HeaderMap) -> Option<(&str, bool)> {
    if let Some(given) = text(headers, "authorization") {
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
    let kind = text(headers, "content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_pages_are_of_a_server() {
        assert!(is_same_site("http://127.0.0.1:8080", "127.0.0.1:8080"));
        assert!(is_same_site("https://Box.example", "box.example"));
        for other in [
            "http://127.0.0.1:8081",
            "http://evil.example",
            "null",
            "",
            "file://",
        ] {
            assert!(!is_same_site(other, "127.0.0.1:8080"), "{other}");
        }
        assert!(!is_same_site("http://", ""));
    }

    #[test]
    fn a_token_comes_as_bearer_or_in_the_cookie() {
        let with = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            token_of(&headers).map(|(token, in_cookie)| (token.to_owned(), in_cookie))
        };
        let token = |in_cookie| Some(("T".to_owned(), in_cookie));
        assert_eq!(with("authorization", "Bearer T"), token(false));
        assert_eq!(with("authorization", "bearer  T"), token(false));
        assert_eq!(with("authorization", "Basic T"), None);
        assert_eq!(with("cookie", "a=b; osier=T"), token(true));
        assert_eq!(with("cookie", "xosier=T"), None);
    }
}
