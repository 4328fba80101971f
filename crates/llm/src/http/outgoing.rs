//! A prepared request: its address, headers, body and signature.

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::adapt::Adaptations;
use super::fault;
use crate::provider::Request;
use crate::sigv4::SignableRequest;
use crate::status::TurnStatus;
use crate::wire::{self, Body, Wire};
use osier_base::clock;

/// A prepared request.
pub(super) struct Outgoing {
    pub wire: &'static Wire,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: String,
    pub prefix_hash: Option<String>,
}

impl Outgoing {
    pub(super) fn new(
        request: &Request,
        wire: Option<&'static Wire>,
        adaptations: &Adaptations,
    ) -> Result<Self, TurnStatus> {
        let adapted = adaptations.request(request);
        let request = adapted.as_ref().unwrap_or(request);
        let model = &request.model;
        let refuse = |message: String| TurnStatus::ModelError {
            message,
            retryable: false,
        };
        let wire = wire.or_else(|| wire::find(model.api)).ok_or_else(|| {
            refuse(format!(
                "`{}` uses `{}`, which is not an HTTP protocol",
                model.reference(),
                model.api.name(),
            ))
        })?;
        let address = wire.url(model);
        let url = Url::parse(&address)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                refuse(format!(
                    "the base URL `{}` of `{}` is not an http or https address{}",
                    model.base_url,
                    model.provider,
                    unset(&model.base_url)
                ))
            })?;
        let mut headers = headers(request, wire).map_err(refuse)?;
        let Body {
            mut json,
            prefix_hash,
        } = (wire.body)(request);
        adaptations.change_body(&mut json);
        let body = json.to_string();
        sign(request, &url, &mut headers, &body).map_err(refuse)?;
        Ok(Self {
            wire,
            url,
            headers,
            body,
            prefix_hash,
        })
    }
}

/// Signs the request if the vendor uses signatures instead of keys.
fn sign(request: &Request, url: &Url, headers: &mut HeaderMap, body: &str) -> Result<(), String> {
    let Some(signing) = &request.signing else {
        return Ok(());
    };
    let to_sign = SignableRequest {
        method: "POST",
        path: url.path(),
        query: url.query().unwrap_or_default(),
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("host", fault::host(url)),
        ],
        body: body.as_bytes(),
    };
    for (name, value) in signing.headers(to_sign, clock::now_ms()) {
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            format!(
                "the credentials of `{}` contain characters that are invalid in a header",
                request.model.provider
            )
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(())
}

/// The suggestion for a base URL with variables that are not set.
fn unset(base_url: &str) -> &'static str {
    if base_url.contains('{') {
        ": set the variables it names, or `baseUrl` in models.json"
    } else {
        ""
    }
}

/// The headers of a call. The model's own headers have precedence over those of the wire format.
fn headers(request: &Request, wire: &Wire) -> Result<HeaderMap, String> {
    let model = &request.model;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        ACCEPT,
        HeaderValue::from_static(wire.framing.content_type()),
    );
    let own = wire.headers(request);
    let own = own
        .iter()
        .map(|(name, value)| (name.as_ref(), value.as_str()));
    let named = model
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    if let Some(key) = &request.api_key {
        let header = wire.key_header(model);
        let mut value = HeaderValue::from_str(&header.value(key.expose())).map_err(|_| {
            format!(
                "the key of `{}` contains characters that are invalid in a header",
                model.provider
            )
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(header.name()), value);
    }
    for (name, value) in own.chain(named) {
        let bad = || format!("the header `{name}` of `{}` is not valid", model.provider);
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        // Beta features are a list: a sign-in extends the format's own.
        let value = match headers.get(&parsed).and_then(|have| have.to_str().ok()) {
            Some(have) if parsed == "anthropic-beta" => format!("{have},{value}"),
            _ => value.to_owned(),
        };
        let value = HeaderValue::from_str(&value).map_err(|_| bad())?;
        headers.insert(parsed, value);
    }
    Ok(headers)
}
