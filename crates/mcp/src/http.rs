//! The HTTP client of a server. It checks the size of every message before the message is parsed. rmcp's own client
//! only limits the bytes.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use sse_stream::Sse;

use super::body::{self, Body, Events, Form};
use super::messages;
use super::probe::{ProbeReport, probe_answer, probe_id, unknown_method};
use super::size::{self, Refusal};
use osier_base::text;

/// The suffix of the error for a request that the server accepted but did not answer.
pub(super) const NO_ANSWER: &str = ": the server did not answer the request";
/// Maximum bytes of the body of an error.
const ERROR_LIMIT: usize = 64 * 1024;
/// Maximum bytes of an invalid body that an error quotes.
const EXCERPT: usize = 256;
/// Minimum milliseconds after which an ended connection is made again.
const MIN_RETRY: u64 = 250;
/// Time for the challenge of a server.
pub(super) const CHALLENGE_TIME: Duration = Duration::from_secs(10);
const JSON: &str = "application/json";
pub(super) const EVENT_STREAM: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
/// Headers that a configuration cannot set.
const RESERVED: [&str; 3] = ["accept", SESSION, "last-event-id"];

pub(super) type HttpError = StreamableHttpError<reqwest::Error>;

#[derive(Debug, Clone)]
pub(super) struct HttpClient {
    pub http: reqwest::Client,
    pub probe: ProbeReport,
    /// The time of the probe; not set if the server is known to be a 2026 server.
    pub probe_time: Option<Duration>,
}

impl HttpClient {
    /// Sends the probe `id`. A server that does not answer the probe in time, or answers something
    /// else, is older than 2026.
    async fn probe(
        &self,
        id: RequestId,
        posting: impl Future<Output = Result<StreamableHttpPostResponse, HttpError>>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let answer = async {
            Ok(match posting.await? {
                StreamableHttpPostResponse::Json(message, session) => {
                    let answer = probe_answer(&id, message);
                    let answer = answer.unwrap_or_else(|_| unknown_method(id.clone()));
                    StreamableHttpPostResponse::Json(answer, session)
                }
                StreamableHttpPostResponse::Sse(mut events, session) => {
                    let mut answer = None;
                    while let Some(Ok(event)) = events.next().await {
                        let data = event.data.unwrap_or_default();
                        let Ok(message) = serde_json::from_str(&data) else {
                            continue;
                        };
                        if let Ok(message) = probe_answer(&id, message) {
                            answer = Some(message);
                            break;
                        }
                    }
                    let answer = answer.unwrap_or_else(|| unknown_method(id.clone()));
                    StreamableHttpPostResponse::Json(answer, session)
                }
                _ => StreamableHttpPostResponse::Json(unknown_method(id.clone()), None),
            })
        };
        let Some(limit) = self.probe_time else {
            return answer.await;
        };
        if let Ok(answer) = tokio::time::timeout(limit, answer).await {
            return answer;
        }
        self.probe.is_older.set();
        self.probe.was_slow.set();
        Ok(StreamableHttpPostResponse::Json(unknown_method(id), None))
    }

    async fn post(
        &self,
        uri: &str,
        message: ClientJsonRpcMessage,
        session: Option<&str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        if let Some(name) = headers
            .keys()
            .find(|name| RESERVED.contains(&name.as_str()))
        {
            let name = name.to_string();
            return Err(StreamableHttpError::ReservedHeaderConflict(name));
        }
        let mut request = self.http.post(uri);
        request = request.header(ACCEPT, format!("{EVENT_STREAM}, {JSON}"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request = request.headers(headers.into_iter().collect());
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        let response = request.json(&message).send().await?;
        let status = response.status();
        if let Some(error) = challenge(&response)? {
            return Err(error);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            // Without a session there is no other stream that could have the answer.
            if matches!(message, ClientJsonRpcMessage::Request(_)) && session.is_none() {
                let text = format!("HTTP {status}{NO_ANSWER}");
                return Err(StreamableHttpError::UnexpectedServerResponse(text.into()));
            }
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            let is_handshake = matches!(&message, ClientJsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::InitializeRequest(_)));
            let is_refusal = matches!(
                status,
                StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
            );
            if is_handshake && is_refusal {
                self.probe.refuses_posts.set();
            }
            return failure(response, &message, session.is_some()).await;
        }
        answer(response, &message).await
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let session = session_id.as_deref();
        let probe = probe_id(&message);
        let posting = self.post(&uri, message, session, auth_header, custom_headers);
        match probe {
            Some(id) => self.probe(id, posting).await,
            None => posting.await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let deleting = self
            .http
            .delete_session(uri, session_id, auth_header, custom_headers);
        deleting.await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        let getting =
            self.http
                .get_stream(uri, session_id, last_event_id, auth_header, custom_headers);
        Ok(checked(getting.await?))
    }
}

/// The events of a response. An event that is too large to be parsed becomes an error for the
/// caller, and a server cannot request to reconnect at once.
pub(super) fn checked(events: Events) -> Events {
    let check = |event: Result<Sse, SseError>| {
        let mut event = event?;
        event.retry = event.retry.map(|retry| retry.max(MIN_RETRY));
        let data = event.data.as_deref().unwrap_or_default().as_bytes();
        if let Some(excess) = size::excess(data) {
            event.data = match size::refusal(data, excess) {
                Some(Refusal::Answer(id, error)) => {
                    let error = ServerJsonRpcMessage::error(error, Some(id));
                    serde_json::to_string(&error).ok()
                }
                _ => None,
            };
        } else if let Some(message) = event
            .data
            .as_deref()
            .and_then(|data| messages::repaired(data).ok())
        {
            event.data = Some(message.to_string());
        }
        Ok(event)
    };
    events.map(check).boxed()
}

/// The events of the answer to the request `id`. A stream that ends before the answer, and that
/// cannot be resumed, ends with an error in place of the answer, because no other stream has it.
fn answering(events: Events, id: RequestId) -> Events {
    let state = (events, Some(id), false);
    stream::unfold(
        state,
        |(mut events, mut waiting, mut is_resumable)| async move {
            match (events.next().await, waiting.take()) {
                (None | Some(Err(_)), Some(id)) if !is_resumable => {
                    let error = "the connection ended before the answer";
                    let error = ErrorData::internal_error(error, None);
                    let error = ServerJsonRpcMessage::error(error, Some(id));
                    let event = Sse {
                        data: serde_json::to_string(&error).ok(),
                        ..Sse::default()
                    };
                    Some((Ok(event), (events, None, is_resumable)))
                }
                (event, id) => {
                    let event = event?;
                    waiting = id;
                    if let Ok(event) = &event {
                        is_resumable |= event.id.as_ref().is_some_and(|id| !id.is_empty());
                        waiting = waiting.filter(|_| !is_answer(event));
                    }
                    Some((event, (events, waiting, is_resumable)))
                }
            }
        },
    )
    .boxed()
}

fn is_answer(event: &Sse) -> bool {
    #[derive(Deserialize)]
    struct Answer {
        result: Option<IgnoredAny>,
        error: Option<IgnoredAny>,
    }
    let answer = event.data.as_deref().map(serde_json::from_str::<Answer>);
    matches!(answer, Some(Ok(answer)) if answer.result.is_some() || answer.error.is_some())
}

async fn answer(
    response: Response,
    message: &ClientJsonRpcMessage,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let request = match message {
        ClientJsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    };
    let is_request = request.is_some();
    if !is_request && response.content_length() == Some(0) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    let session = response.headers().get(SESSION);
    let session = session.and_then(|session| session.to_str().ok().map(str::to_owned));
    let kind = content_type(response.headers());
    if let Some(id) = request
        && kind.starts_with(EVENT_STREAM)
    {
        let events = answering(checked(body::events(response)), id.clone());
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    let unreadable =
        |error: io::Error| StreamableHttpError::UnexpectedServerResponse(error.to_string().into());
    let body = Body::begin(response).await.map_err(unreadable)?;
    match (body.form, request) {
        (_, None) => return Ok(StreamableHttpPostResponse::Accepted),
        (Form::Events, Some(id)) => {
            let events = answering(checked(body.events()), id.clone());
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        (Form::Json, _) => {}
        (Form::Empty, _) => return Err(unreadable(io::Error::other("the answer is empty"))),
        (Form::Other, _) => {
            let kind = (!kind.is_empty()).then_some(kind);
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
    }
    let body = body.bytes().await.map_err(unreadable)?;
    if let Some(excess) = size::excess(&body) {
        return Ok(match message {
            ClientJsonRpcMessage::Request(request) => {
                let error = ErrorData::internal_error(excess, None);
                let error = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                StreamableHttpPostResponse::Json(error, session)
            }
            _ => StreamableHttpPostResponse::Accepted,
        });
    }
    match messages::parse_answer(&String::from_utf8_lossy(&body), request) {
        Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
        Err(error) => {
            let body = String::from_utf8_lossy(&body);
            let excerpt = text::head_bytes(&body, EXCERPT);
            let message = format!("the answer is not a message: {error}: {excerpt}");
            Err(StreamableHttpError::UnexpectedServerResponse(
                message.into(),
            ))
        }
    }
}

/// The result for a status other than success. The body can contain an error of the server.
async fn failure(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    let is_refusal = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let is_json = content_type(response.headers()).contains("json");
    let is_overload = status == StatusCode::TOO_MANY_REQUESTS;
    let passing = (is_overload || status.is_server_error()).then(|| {
        let delay = response.headers().get(RETRY_AFTER);
        let delay = delay.and_then(|delay| delay.to_str().ok().map(str::to_owned));
        HttpStatusError::new(status.as_u16(), delay)
    });
    let body = match passing {
        Some(error) if !is_json || is_overload => return Err(error.into()),
        _ => limited_body(response, ERROR_LIMIT).await,
    };
    let body = match (body, &passing) {
        (Err(_), Some(_)) => Vec::new(),
        (body, _) => body?,
    };
    let text = String::from_utf8_lossy(&body);
    if has_session && status == StatusCode::BAD_REQUEST && text.to_lowercase().contains("session") {
        // A server that was restarted does not know the session.
        return Err(StreamableHttpError::SessionExpired);
    }
    let parsed = match messages::parse(&text) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let description = format!("HTTP {status}: {text}");
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !has_session
        && !is_refusal
    {
        // The server supports only versions before 2026.
        let error = match parsed {
            Some(parsed) => parsed.error,
            None => ErrorData::invalid_request(description, None),
        };
        let error = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(error, None));
    }
    match (parsed, passing) {
        (Some(error), _) if !is_refusal => {
            let error = ServerJsonRpcMessage::Error(error);
            Ok(StreamableHttpPostResponse::Json(error, None))
        }
        (_, Some(error)) => Err(error.into()),
        _ => Err(StreamableHttpError::UnexpectedServerResponse(
            description.into(),
        )),
    }
}

/// The error of a response that requires a sign-in, or one with more scopes.
pub(super) fn challenge(response: &Response) -> Result<Option<HttpError>, HttpError> {
    let Some(header) = response.headers().get(WWW_AUTHENTICATE) else {
        return Ok(None);
    };
    let header = || {
        let invalid = || StreamableHttpError::UnexpectedServerResponse("invalid challenge".into());
        header.to_str().map(str::to_owned).map_err(|_| invalid())
    };
    Ok(match response.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(
            AuthRequiredError::new(header()?),
        )),
        StatusCode::FORBIDDEN => {
            let header = header()?;
            let scope = WWWAuthenticateParams::parse(&header, response.url()).scope;
            let error = InsufficientScopeError::new(header, scope);
            Some(StreamableHttpError::InsufficientScope(error))
        }
        _ => None,
    })
}

pub(super) fn content_type(headers: &HeaderMap) -> String {
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    kind.unwrap_or_default().to_ascii_lowercase()
}

async fn limited_body(mut response: Response, limit: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        if bytes.len() > limit - body.len() {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: limit });
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// The JSON of a small response.
pub(super) async fn json_body(response: Response) -> Option<serde_json::Value> {
    let body = limited_body(response, ERROR_LIMIT).await.ok()?;
    serde_json::from_slice(&body).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// The answer to a request, from a server that sends `response` and closes the connection.
    async fn answered(response: &str, session: Option<&str>) -> Result<String, String> {
        osier_llm::http::choose_cryptography();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let response = response.to_owned();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 16_384];
            let _read = socket.read(&mut buffer).await.unwrap();
            socket.write_all(response.as_bytes()).await.unwrap();
            socket.shutdown().await.ok();
        });
        let client = HttpClient {
            http: reqwest::Client::new(),
            probe: ProbeReport::default(),
            probe_time: None,
        };
        let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
        let ping: ClientJsonRpcMessage = serde_json::from_value(ping).unwrap();
        let session = session.map(Arc::from);
        let answer = client.post_message(url.into(), ping, session, None, HashMap::new());
        match answer.await {
            Ok(StreamableHttpPostResponse::Json(message, _)) => {
                Ok(serde_json::to_string(&message).unwrap())
            }
            Ok(StreamableHttpPostResponse::Sse(mut events, _)) => match events.next().await {
                Some(Ok(event)) => Ok(event.data.unwrap_or_default()),
                end => Err(format!("{end:?}")),
            },
            Ok(_) => Ok("accepted".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[tokio::test]
    async fn answers_are_understood_by_their_content() {
        const ANSWER: &str = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":1}}";
        let event = format!("event: message\ndata: {ANSWER}\n\n");
        let list = format!("[{{\"jsonrpc\":\"2.0\",\"method\":\"x\"}},{ANSWER}]");
        for kind in [
            "",
            "content-type: Application/JSON\r\n",
            "content-type: text/plain; charset=utf-8\r\n",
            "content-type: text/event-stream\r\n",
            "content-type: application/json\r\n",
        ] {
            for body in [ANSWER, &event, &list] {
                // A list of messages that is sent with the type of events is not an event.
                if body == list && kind.contains("event-stream") {
                    continue;
                }
                let response = format!("HTTP/1.1 200 OK\r\n{kind}connection: close\r\n\r\n{body}");
                let answer = answered(&response, None).await;
                let answer: serde_json::Value = serde_json::from_str(&answer.unwrap()).unwrap();
                assert_eq!(answer["result"], json!({"a": 1}), "{response}");
            }
        }
    }

    #[tokio::test]
    async fn answers_that_do_not_come_fail_at_once() {
        let no_session = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"Bad Request: No valid session ID provided\"},\"id\":null}";
        for (response, session) in [
            (String::new(), None),
            ("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"jso".to_owned(), None),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_owned(), None),
            ("HTTP/1.1 202 Accepted\r\nconnection: close\r\n\r\n".to_owned(), None),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<html>".to_owned(), None),
            (format!("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{no_session}"), Some("s")),
            ("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n".to_owned(), Some("s")),
        ] {
            let answer = answered(&response, session).await;
            let error = answer.expect_err(&response);
            if session.is_some() {
                let expired = StreamableHttpError::<reqwest::Error>::SessionExpired;
                assert_eq!(error, expired.to_string());
            }
        }
    }

    #[tokio::test]
    async fn a_stream_that_ends_before_the_answer_ends_with_an_error() {
        let event = |data: &str, id: Option<&str>| Sse {
            data: Some(data.to_owned()),
            id: id.map(str::to_owned),
            ..Sse::default()
        };
        let progress = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}";
        let result = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}";
        let lost = "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"the connection ended before the answer\"}}";
        for (sent, expected) in [
            (vec![], vec![lost]),
            (vec![event(progress, None)], vec![progress, lost]),
            (vec![event("{\"half", None)], vec!["{\"half", lost]),
            (vec![event(result, None)], vec![result]),
            // The stream can be resumed from the last event.
            (vec![event(progress, Some("1"))], vec![progress]),
        ] {
            let events = stream::iter(sent.into_iter().map(Ok)).boxed();
            let events = answering(events, RequestId::Number(7));
            let events: Vec<String> = events
                .map(|event| event.unwrap().data.unwrap())
                .collect()
                .await;
            assert_eq!(events, expected);
        }
    }

    #[tokio::test]
    async fn a_server_cannot_order_to_connect_again_at_once() {
        let sent = [None, Some(0), Some(250), Some(5_000)].map(|retry| {
            Ok(Sse {
                retry,
                ..Sse::default()
            })
        });
        let events = checked(futures_util::stream::iter(sent).boxed());
        let retries: Vec<Option<u64>> = events.map(|event| event.unwrap().retry).collect().await;
        assert_eq!(retries, [None, Some(250), Some(250), Some(5_000)]);
    }
}
