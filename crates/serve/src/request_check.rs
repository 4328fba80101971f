//! Checks of every request: the `Host` header, the `Origin` header and the token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::access::{Access, Caller, Client};
use super::browser_sign_in::{SECRET_HEADER, SECRET_SUBPROTOCOL, cookie_names};
use super::compression::{accepts_gzip, compress_answer};
use super::connections::{ConnectionInfo, ConnectionUse, Trust};
use super::error::{ApiError, ErrorCode};
use super::frames::check_protocol;
use super::headers::{header_text, host_of};
#[cfg(feature = "proxy")]
use super::proxy::PATHS;
use super::state::ServerState;
use osier_rpc::remote::proof::{NONCE_HEADER, PROOF_HEADER};

/// Passes a valid request on; answers an invalid one with an error.
pub(super) async fn check_request(
    State(server): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let proof = proof(&server, &request);
    let accepted = header_text(request.headers(), "accept-encoding").unwrap_or_default();
    // An answer that contains a secret is not compressed: its size would reveal something about the secret.
    let compresses = is_api && request.uri().path() != "/api/login" && accepts_gzip(accepted);
    let mut response = match check(&server, &request) {
        Ok(caller) => {
            if let Some(caller) = caller {
                set_caller(&server, &mut request, caller);
            }
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    if compresses {
        response = compress_answer(response).await;
    }
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    if let Some(proof) = proof {
        headers.insert(PROOF_HEADER, proof);
    }
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    if is_api {
        set(header::CACHE_CONTROL, "no-store");
    }
    response
}

/// The proof for a client that does not send the token before it knows the server.
fn proof(server: &ServerState, request: &Request) -> Option<HeaderValue> {
    let nonce = header_text(request.headers(), NONCE_HEADER)?;
    let connection = request.extensions().get::<ConnectionInfo>()?;
    let proof = server.access.prove(nonce, connection.local?)?;
    HeaderValue::from_str(&proof).ok()
}

/// Stores who sends the request, for its handler and its connection.
fn set_caller(server: &ServerState, request: &mut Request, caller: Caller) {
    if let Some(connection) = request.extensions().get::<ConnectionUse>() {
        connection.authenticated(match &caller {
            Caller::Owner => Trust::Owner,
            #[cfg(feature = "proxy")]
            Caller::User(_) => Trust::User,
        });
    }
    let permits = server.large_bodies.permits(&caller);
    request.extensions_mut().insert(permits);
    request.extensions_mut().insert(caller);
}

/// Returns who sends the request; `None` if its path needs no token.
fn check(server: &ServerState, request: &Request) -> Result<Option<Caller>, ApiError> {
    let mut caller = None;
    let headers = request.headers();
    let host = check_own_host(&server.access, request)?;
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
    if changes || path.starts_with("/api/") {
        check_origin(&server.access, headers, host)?;
    }
    if path.starts_with("/api/") && path != "/api/login" {
        let credentials = credentials_of(headers, host).ok_or_else(missing_token)?;
        let is_cookie = matches!(credentials, Credentials::Browser { .. });
        let sender = match credentials {
            Credentials::Token(token) => server.access.check(token, client_of(server, request))?,
            Credentials::Browser { id, secret } => server.access.check_browser(id, secret)?,
        };
        #[cfg(feature = "proxy")]
        if matches!(sender, Caller::User(_)) && !PATHS.contains(&path) {
            let message = "this token can only call models, not open sessions";
            return Err(ApiError::new(ErrorCode::Forbidden, message));
        }
        if is_cookie && origin.is_none() && (changes || path == "/api/ws") {
            let message = "a request with a cookie requires an `Origin` header; programs send the token as `Bearer`";
            return Err(ApiError::new(ErrorCode::ForbiddenOrigin, message));
        }
        caller = Some(sender);
    }
    if *request.method() == Method::POST {
        check_json(headers)?;
    }
    Ok(caller)
}

/// Returns the host of a request, which must be a name of this server.
pub(super) fn check_own_host<'a>(
    access: &Access,
    request: &'a Request,
) -> Result<&'a str, ApiError> {
    let headers = request.headers();
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(ApiError::malformed(
            "the request has several `Host` headers",
        ));
    }
    let host = host_of(headers, request.uri());
    if !access.is_own_host(host) {
        let message = format!("`{host}` is not a name of this server; add it with `--allow-host`");
        return Err(ApiError::new(ErrorCode::ForbiddenHost, message));
    }
    Ok(host)
}

/// Refuses pages of other sites. Also with a valid token: a page that has it is not one that the user opened here.
pub(super) fn check_origin(
    access: &Access,
    headers: &HeaderMap,
    host: &str,
) -> Result<(), ApiError> {
    if let Some(origin) = header_text(headers, "origin")
        && !is_same_origin(origin, host)
        && host_of_origin(origin).is_none_or(|host| !access.is_listed(host))
    {
        let message = format!("requests from pages of `{origin}` are not allowed");
        return Err(ApiError::new(ErrorCode::ForbiddenOrigin, message));
    }
    Ok(())
}

/// Checks a token without the sign-in of browsers.
pub(super) fn check_token(
    access: &Access,
    headers: &HeaderMap,
    sender: Client,
) -> Result<(), ApiError> {
    match credentials_of(headers, "") {
        Some(Credentials::Token(token)) => access.check(token, sender).map(drop),
        Some(Credentials::Browser { .. }) | None => Err(missing_token()),
    }
}

pub(super) fn check_json(headers: &HeaderMap) -> Result<(), ApiError> {
    if is_json(headers) {
        return Ok(());
    }
    let message = "the body must be JSON; send `content-type: application/json`";
    Err(ApiError::new(ErrorCode::UnsupportedMediaType, message))
}

fn missing_token() -> ApiError {
    let message = "the token is missing; send `Authorization: Bearer TOKEN`";
    ApiError::new(ErrorCode::Unauthorized, message)
}

/// Who sends the request.
pub(super) fn client_of(server: &ServerState, request: &Request) -> Client {
    let named = server.client_header.as_deref();
    // The last value is the one that the reverse proxy added.
    let named = named
        .and_then(|name| header_text(request.headers(), name))
        .and_then(|clients| clients.rsplit(',').next());
    if let Some(client) = named {
        return Client::Forwarded(client.trim().to_owned());
    }
    let connection = request.extensions().get::<ConnectionInfo>();
    Client::Connection(connection.map_or(0, |connection| connection.number))
}

/// Whether pages of `origin` come from this server.
fn is_same_origin(origin: &str, host: &str) -> bool {
    host_of_origin(origin).is_some_and(|name| name.eq_ignore_ascii_case(host))
}

/// The host of an origin, with its port.
fn host_of_origin(origin: &str) -> Option<&str> {
    let name = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    name.filter(|name| !name.is_empty())
}

/// The credentials of a request.
#[derive(Debug, PartialEq)]
enum Credentials<'a> {
    Token(&'a str),
    /// The cookie, which a browser sends automatically, and the secret, which the page adds.
    Browser {
        id: &'a str,
        secret: &'a str,
    },
}

fn credentials_of<'a>(headers: &'a HeaderMap, host: &str) -> Option<Credentials<'a>> {
    if let Some(given) = header_text(headers, "authorization") {
        let (kind, token) = given.split_once(' ')?;
        return kind
            .eq_ignore_ascii_case("bearer")
            .then_some(Credentials::Token(token.trim()));
    }
    let names = cookie_names(host);
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut cookies = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    let id = cookies.find_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        names.iter().any(|known| known == name).then_some(value)
    })?;
    let protocols = header_text(headers, "sec-websocket-protocol").unwrap_or_default();
    let in_protocols = || {
        let mut protocols = protocols.split(',');
        protocols.find_map(|protocol| protocol.trim().strip_prefix(SECRET_SUBPROTOCOL))
    };
    let secret = header_text(headers, SECRET_HEADER).or_else(in_protocols);
    Some(Credentials::Browser {
        id,
        secret: secret.unwrap_or_default(),
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
    fn credentials_are_a_token_or_a_cookie_with_its_secret() {
        let with = |lines: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            let found = credentials_of(&headers, "127.0.0.1:80");
            found.map(|found| match found {
                Credentials::Token(token) => token.to_owned(),
                Credentials::Browser { id, secret } => format!("{id} {secret}"),
            })
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(with(&[("authorization", "Bearer T")]), some("T"));
        assert_eq!(with(&[("authorization", "bearer  T")]), some("T"));
        assert_eq!(with(&[("authorization", "Basic T")]), None);
        let cookie = ("cookie", "osier-81=B; osier-80=A");
        assert_eq!(with(&[cookie]), some("A "));
        assert_eq!(with(&[cookie, ("osier-secret", "S")]), some("A S"));
        let protocols = ("sec-websocket-protocol", "osier, osier-secret.S");
        assert_eq!(with(&[cookie, protocols]), some("A S"));
        assert_eq!(with(&[("cookie", "osier=A")]), None);
    }
}
