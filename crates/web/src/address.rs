//! Addresses of pages, in one normal form for permission rules and for requests.

use reqwest::Url;

use crate::error::FetchError;

/// Bytes of an address at most.
const LONGEST: usize = 4096;

/// The address of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    /// The URL as a request contains it.
    pub url: String,
    /// The host in lower case, without a final dot.
    pub host: String,
    pub port: u16,
}

impl WebAddress {
    /// Parses the address that a call names; `None` if no page is fetched from it.
    pub fn parse(text: &str) -> Option<Self> {
        let url = parse(text).ok()?;
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        Some(Self {
            host: host.to_owned(),
            port: url.port_or_known_default().unwrap_or_default(),
            url: url.into(),
        })
    }
}

pub(crate) fn parse(text: &str) -> Result<Url, FetchError> {
    let text = text.trim();
    let refuse = |reason| FetchError::Url {
        url: osier_base::text::truncate(text, 200).into_owned(),
        reason,
    };
    if text.len() > LONGEST {
        return Err(refuse("it is too long"));
    }
    checked(Url::parse(text).map_err(|_| refuse("it cannot be parsed"))?)
}

/// The address without its fragment, if it is one of a page.
pub(crate) fn checked(mut url: Url) -> Result<Url, FetchError> {
    let refuse = |reason| FetchError::Url {
        url: url.to_string(),
        reason,
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("only `http` and `https` are supported"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("it contains a user name or a password"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refuse("it has no host"));
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_pages_are_fetched() {
        for (url, reason) in [
            (
                "file:///etc/passwd",
                "only `http` and `https` are supported",
            ),
            ("ftp://example.org", "only `http` and `https` are supported"),
            (
                "https://user:secret@example.org/",
                "it contains a user name or a password",
            ),
            ("example.org", "it cannot be parsed"),
            ("https://", "it cannot be parsed"),
        ] {
            let error = parse(url).unwrap_err();
            let FetchError::Url { reason: found, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(found, reason, "{url}");
        }
        let url = parse(" https://Example.org/a#b ").unwrap();
        assert_eq!(url.as_str(), "https://example.org/a");
    }

    #[test]
    fn an_address_has_one_normal_form() {
        for (text, host) in [
            ("https://Example.ORG./x", "example.org"),
            ("http://0x7f000001/", "127.0.0.1"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("https://[::1]:8080/", "[::1]"),
            ("https:example.org", "example.org"),
            ("https://example.org\\@evil.net/", "example.org"),
        ] {
            assert_eq!(WebAddress::parse(text).unwrap().host, host, "{text}");
        }
        assert_eq!(WebAddress::parse("https://example.org@evil.net/"), None);
    }
}
