//! Requests of HTTP proxies: tunnels (`CONNECT`), and plain requests with a complete URL.

use super::destination::Destination;

/// A request to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProxyRequest {
    Tunnel(Destination),
    Plain {
        destination: Destination,
        /// The request for the server.
        head: String,
        /// Bytes of the body that follow.
        body: u64,
    },
}

/// Headers between a client and a proxy, which the server does not get.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

/// Parses a request from its first line up to the empty line. The error is the status of the answer.
///
/// The request line alone decides about the host: the server gets a `Host` header of the proxy. A body has a length, and
/// nothing of the client follows it, so that a connection carries one request.
pub(super) fn parse(head: &[u8]) -> Result<ProxyRequest, &'static str> {
    const BAD: &str = "400 Bad Request";
    let text = std::str::from_utf8(head).map_err(|_| BAD)?;
    let text = text.strip_suffix("\r\n\r\n").ok_or(BAD)?;
    let mut lines = text.split("\r\n");
    if text
        .chars()
        .any(|char| char.is_control() && !"\r\n\t".contains(char))
    {
        return Err(BAD);
    }
    // A server could end the line at a single control character.
    let first = lines.next().filter(|line| !line.contains(char::is_control));
    let first = first.ok_or(BAD)?;
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] = words[..] else {
        return Err(BAD);
    };
    if !is_token(method) || target.is_empty() {
        return Err(BAD);
    }
    let headers = lines.map(header).collect::<Option<Vec<_>>>().ok_or(BAD)?;
    if method == "CONNECT" {
        let destination = Destination::parse(target, None).ok_or(BAD)?;
        return Ok(ProxyRequest::Tunnel(destination));
    }
    let is_http = target
        .get(..7)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let rest = is_http.then(|| &target[7..]).ok_or(BAD)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let destination = Destination::parse(authority, Some(80)).ok_or(BAD)?;
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let host = if destination.port == 80 {
        let host = destination.to_string();
        host.trim_end_matches(":80").to_owned()
    } else {
        destination.to_string()
    };
    let body = body_length(&headers)?;
    let mut head = format!("{method} {slash}{path} {version}\r\nHost: {host}\r\n");
    for (name, value) in headers {
        let is_dropped = HOP_BY_HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop));
        if !is_dropped {
            head.extend([name, ": ", value, "\r\n"]);
        }
    }
    head.push_str("Connection: close\r\n\r\n");
    Ok(ProxyRequest::Plain {
        destination,
        head,
        body,
    })
}

/// The name and the value of a header. A line that continues another is refused.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_whole = !line.contains(['\r', '\n']);
    (is_token(name) && is_whole).then_some((name, value.trim()))
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// One length at most, and no other coding of the body.
fn body_length(headers: &[(&str, &str)]) -> Result<u64, &'static str> {
    let named = |name: &str| {
        let headers = headers.iter();
        let values = headers.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        values.map(|(_, value)| *value).collect::<Vec<_>>()
    };
    if !named("transfer-encoding").is_empty() {
        return Err("411 Length Required");
    }
    match named("content-length")[..] {
        [] => Ok(0),
        [length] if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map_err(|_| "400 Bad Request")
        }
        _ => Err("400 Bad Request"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_line_decides_about_the_host() {
        let head = "POST http://Example.org:81/a?b#c HTTP/1.1\r\nHost: evil.net\r\nhost: other.net\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nContent-Length: 3\r\nX: y\r\n\r\n";
        let expected = ProxyRequest::Plain {
            destination: Destination::parse("example.org:81", None).unwrap(),
            head: "POST /a?b HTTP/1.1\r\nHost: example.org:81\r\nContent-Length: 3\r\nX: y\r\nConnection: close\r\n\r\n".to_owned(),
            body: 3,
        };
        assert_eq!(parse(head.as_bytes()), Ok(expected));
        let expected = ProxyRequest::Tunnel(Destination::parse("example.org:443", None).unwrap());
        let head = "CONNECT example.org:443 HTTP/1.1\r\nHost: evil.net:443\r\n\r\n";
        assert_eq!(parse(head.as_bytes()), Ok(expected));
    }

    #[test]
    fn ambiguous_requests_are_refused() {
        let plain = "GET http://example.org/ HTTP/1.1\r\n";
        for (start, rest) in [
            ("GET / HTTP/1.1\r\n", "Host: example.org\r\n"),
            ("GET https://example.org/ HTTP/1.1\r\n", ""),
            ("GET http://user@example.org/ HTTP/1.1\r\n", ""),
            ("GET http://example.org@evil.net/ HTTP/1.1\r\n", ""),
            ("GET http://evil.net\\@example.org/ HTTP/1.1\r\n", ""),
            ("GET http://example.org/ x HTTP/1.1\r\n", ""),
            ("GET  http://example.org/ HTTP/1.1\r\n", ""),
            ("GET http://example.org/ HTTP/2\r\n", ""),
            ("GET http://example.org/x\nHost:evil.net HTTP/1.1\r\n", ""),
            ("GET http://example.org/x\rHost:evil.net HTTP/1.1\r\n", ""),
            ("GET http://example.org/\tHTTP/1.1\n HTTP/1.1\r\n", ""),
            ("GET http:///x HTTP/1.1\r\n", ""),
            ("CONNECT example.org HTTP/1.1\r\n", ""),
            ("CONNECT http://example.org:443 HTTP/1.1\r\n", ""),
            ("CONNECT example.org:443@evil.net:443 HTTP/1.1\r\n", ""),
            ("CONNECT example.org\0:443 HTTP/1.1\r\n", ""),
            (plain, "Content-Length: 1\r\nContent-Length: 2\r\n"),
            (plain, "Content-Length: 1, 1\r\n"),
            (plain, "Content-Length: +1\r\n"),
            (plain, "Content-Length: 0x1\r\n"),
            (plain, "Content-Length : 1\r\n"),
            (plain, "Transfer-Encoding: chunked\r\n"),
            (plain, "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
            (plain, "X: a\r\n continued\r\n"),
            (plain, "X: a\nHost: evil.net\r\n"),
            (plain, "X: a\rHost: evil.net\r\n"),
            (plain, "X: a\0\r\n"),
            (plain, "no header\r\n"),
        ] {
            let head = format!("{start}{rest}\r\n");
            assert!(parse(head.as_bytes()).is_err(), "{head:?}");
        }
    }
}
