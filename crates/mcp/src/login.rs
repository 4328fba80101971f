//! Sign-ins to servers over HTTP: OAuth with PKCE and metadata discovery. The credential store contains the
//! tokens next to the keys; they are refreshed under the store's lock.

use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, WWW_AUTHENTICATE};
use reqwest::redirect::{Action, Attempt, Policy};
use rmcp::model::ProtocolVersion;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationRequest,
    AuthorizationSession, CredentialRefreshGuard, CredentialStore, StoredCredentials,
    WWWAuthenticateParams,
};
use serde_json::json;
use tokio::sync::mpsc;

use super::config::{HttpProtocol, Launch, ServerConfig};
use super::http::{CHALLENGE_TIME, HttpClient};
use super::probe::ProbeReport;
use super::root_metadata;
use super::sign_in_server;
use osier_llm::auth::{CredentialFile, FileError, LockedFile, Loopback, Page, Store};
use osier_sandbox::network::Reach;

/// Maximum redirects of one request.
const REDIRECTS: usize = 5;

/// The path that the browser is redirected to.
const CALLBACK: &str = "/callback";

/// The challenge of a server that denied a request.
#[derive(Debug, Clone, Default)]
struct Challenge {
    /// The latest `WWW-Authenticate` header of the server.
    header: String,
    /// The scopes that the server has requested so far.
    scopes: Vec<String>,
}

/// The sign-ins of all servers.
#[derive(Debug, Clone)]
pub struct Logins {
    file: CredentialFile,
    /// The challenges of servers, by URL: they determine where a sign-in starts and its scopes.
    challenges: Arc<Mutex<HashMap<String, Challenge>>>,
}

impl Logins {
    pub fn new(file: CredentialFile) -> Self {
        Self {
            file,
            challenges: Arc::default(),
        }
    }

    /// Records that the server at `url` requires a sign-in, or more scopes; `header` is its
    /// `WWW-Authenticate`.
    pub(super) fn challenged(&self, url: &str, header: &str) {
        let Ok(base) = url.parse() else { return };
        let scope = WWWAuthenticateParams::parse(header, &base).scope;
        let mut challenges = self.challenges.lock();
        let challenge = challenges.entry(url.to_owned()).or_default();
        header.clone_into(&mut challenge.header);
        add(
            &mut challenge.scopes,
            scope.iter().flat_map(|scope| scope.split_whitespace()),
        );
    }

    fn vault(&self, url: &str) -> TokenFile {
        TokenFile {
            file: self.file.clone(),
            entry: format!("mcp:{url}"),
            held: Arc::default(),
        }
    }

    /// A client for the server. It uses the stored tokens of the server, if there are any, unless
    /// the configuration has an authorization (`has_authorization`).
    pub(super) async fn client(
        &self,
        url: &str,
        has_authorization: bool,
        probe: ProbeReport,
        probe_time: Option<Duration>,
    ) -> Result<AuthClient<HttpClient>, String> {
        let manager = if has_authorization {
            new_manager(url).await?
        } else {
            let mut manager = self.manager(url).await?;
            // Without a sign-in, this makes no network request.
            let mut known = manager.initialize_from_store().await;
            if matches!(known, Err(AuthError::AuthorizationServerMismatch { .. }))
                && let Some(metadata) = root_metadata::read(url, &http_client()?).await
            {
                manager.set_metadata(metadata);
                known = manager.initialize_from_store().await;
            }
            known.map_err(|error| format!("cannot use its sign-in: {error}"))?;
            manager
        };
        let client = HttpClient {
            http: http_client()?,
            probe,
            probe_time,
        };
        Ok(AuthClient::new(client, manager))
    }

    async fn manager(&self, url: &str) -> Result<AuthorizationManager, String> {
        let mut manager = new_manager(url).await?;
        manager.set_credential_store(self.vault(url));
        Ok(manager)
    }

    /// Starts a sign-in to the server of `config`.
    ///
    /// # Errors
    /// A message that says why a sign-in is not possible.
    pub async fn begin(&self, config: &ServerConfig) -> Result<Login, String> {
        let Launch::Url {
            url,
            headers,
            protocol,
            oauth,
        } = &config.launch
        else {
            return Err(format!(
                "`{}` is a local server and needs no sign-in",
                config.name
            ));
        };
        let mut manager = self.manager(url).await?;
        if !self.challenges.lock().contains_key(url)
            && let Some(header) = read_challenge(url, headers, *protocol).await
        {
            self.challenged(url, &header);
        }
        let challenge = self.challenges.lock().get(url).cloned();
        let metadata = manager
            .resolve_metadata_from_challenge(challenge.as_ref().map(|it| it.header.as_str()))
            .await;
        let metadata = match metadata {
            Ok(found) if found.source.is_discovered() => found.metadata,
            // Version 2025-03-26 guesses the addresses of a server without metadata; the newest one forbids that.
            Ok(_) => return Err(sign_in_server::no_metadata(url)),
            Err(error) => {
                let older = root_metadata::read(url, &http_client()?).await;
                older.ok_or_else(|| format!("`{url}` offers no sign-in: {error}"))?
            }
        };
        sign_in_server::require_pkce(&metadata)?;
        sign_in_server::check_addresses(url, &metadata, &Reach::default()).await?;
        manager.set_metadata(metadata);
        let loopback = Loopback::bind(0)
            .await
            .map_err(|error| error.message_with_hint())?;
        let redirect = format!("http://127.0.0.1:{}{CALLBACK}", loopback.port());
        let mut request = AuthorizationRequest::new(redirect)
            .with_initial_scope_selection()
            .with_client_name("osier");
        let mut scopes = oauth.scopes.clone();
        if let Some(challenge) = challenge {
            if scopes.is_empty() {
                scopes = self.wider(url, &challenge);
            }
            request = request.with_challenge(challenge.header);
        }
        if !scopes.is_empty() {
            request = request.with_scopes(scopes);
        }
        if let Some(address) = &oauth.client_metadata_url {
            request = request.with_client_metadata_url(address.clone());
        }
        if let Some(id) = &oauth.client_id {
            request = request.with_preregistered_client(id.clone());
            if let Some(secret) = &oauth.client_secret {
                request = request.with_client_secret(secret.clone());
            }
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| error.to_string())?;
        Ok(Login { session, loopback })
    }

    /// The scopes for a sign-in: the earlier scopes and the scopes of the challenge. Empty when the server named none.
    fn wider(&self, url: &str, challenge: &Challenge) -> Vec<String> {
        if challenge.scopes.is_empty() {
            return Vec::new();
        }
        let held = self.vault(url).read().ok().flatten();
        let mut scopes = held.map(|held| held.granted_scopes).unwrap_or_default();
        add(&mut scopes, challenge.scopes.iter().map(String::as_str));
        scopes
    }

    /// Deletes the sign-in; false when there was none.
    pub async fn forget(&self, config: &ServerConfig) -> Result<bool, String> {
        let Launch::Url { url, .. } = &config.launch else {
            return Ok(false);
        };
        let entry = self.vault(url).entry;
        let removed = self.file.change(|store| store.remove(&entry)).await;
        removed.map_err(|error| error.to_string())
    }
}

/// Adds missing scopes.
fn add<'a>(scopes: &mut Vec<String>, more: impl Iterator<Item = &'a str>) {
    for scope in more {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
}

/// A sign-in that waits for the user.
pub struct Login {
    session: AuthorizationSession,
    loopback: Loopback,
}

impl Login {
    /// The URL to open.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits for the browser's redirect, and stores the tokens.
    pub async fn finish(self) -> Result<(), String> {
        let (_sender, mut pasted) = mpsc::unbounded_channel();
        self.finish_or_paste(&mut pasted, |_| {}).await
    }

    /// Waits for the browser's redirect, or for its address in `pasted` if the browser is on another machine, and stores
    /// the tokens. `refuse` gets the reason why a line is not used.
    ///
    /// # Errors
    /// The sign-in was denied, or a pasted address belongs to another one.
    pub async fn finish_or_paste(
        self,
        pasted: &mut mpsc::UnboundedReceiver<String>,
        mut refuse: impl FnMut(&str),
    ) -> Result<(), String> {
        let base = format!("http://127.0.0.1:{}{CALLBACK}", self.loopback.port());
        let state = parameter(self.url(), "state");
        let judge = |query: &str| judge(&format!("{base}?{query}"), state.as_deref());
        let mut waiting = std::pin::pin!(self.loopback.wait(CALLBACK, judge));
        let address = loop {
            tokio::select! {
                address = &mut waiting => break address?,
                Some(line) = pasted.recv() => match judge_pasted(&line, &base, state.as_deref()) {
                    Ok(outcome) => break outcome?,
                    Err(reason) => refuse(reason),
                },
            }
        };
        self.redeem(&address).await
    }

    /// Completes the sign-in with the URL that the browser was redirected to.
    async fn redeem(&self, address: &str) -> Result<(), String> {
        let tokens = self.session.handle_callback_url(address).await;
        tokens.map(drop).map_err(|error| error.to_string())
    }
}

/// Evaluates a pasted address. `Err` is why the sign-in still waits.
fn judge_pasted(
    line: &str,
    base: &str,
    state: Option<&str>,
) -> Result<Result<String, String>, &'static str> {
    let line = line.trim();
    if line.is_empty() {
        return Err("paste the complete address that the browser shows after the sign-in");
    }
    // Some terminals copy only a part of the address.
    let query = line.split_once('?').map_or(line, |(_, query)| query);
    let address = format!("{base}?{query}");
    let is_answer = ["code", "error"]
        .iter()
        .any(|name| parameter(&address, name).is_some());
    if !is_answer {
        return Err("this is not the address after a sign-in: it has no `code`");
    }
    if state.is_none() || parameter(&address, "state").as_deref() != state {
        let text =
            "the pasted address belongs to another sign-in: its `state` is wrong; start again";
        return Ok(Err(text.to_owned()));
    }
    match judge(&address, state).1 {
        Some(outcome) => Ok(outcome),
        None => Err("this is not the address after a sign-in"),
    }
}

/// The challenge with which the server at `url` answers a request without a sign-in. `None` if it
/// requires no sign-in.
async fn read_challenge(
    url: &str,
    headers: &BTreeMap<String, String>,
    protocol: HttpProtocol,
) -> Option<String> {
    osier_llm::http::choose_cryptography();
    let client = http_client().ok()?;
    let mut request = match protocol {
        HttpProtocol::Sse => client.get(url).header(ACCEPT, "text/event-stream"),
        HttpProtocol::Streamable => {
            let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": ProtocolVersion::V_2025_11_25.as_str(),
                "capabilities": {},
                "clientInfo": {"name": "osier", "version": env!("CARGO_PKG_VERSION")},
            }});
            let accepted = "application/json, text/event-stream";
            client.post(url).header(ACCEPT, accepted).json(&message)
        }
    };
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.timeout(CHALLENGE_TIME).send().await.ok()?;
    let requires = matches!(
        response.status(),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
    );
    let header = response
        .headers()
        .get(WWW_AUTHENTICATE)
        .filter(|_| requires);
    header.and_then(|header| header.to_str().ok().map(str::to_owned))
}

/// Evaluates a request to the listener: only one with the state of this sign-in completes or ends it. Any page in the
/// browser can send others.
fn judge(address: &str, state: Option<&str>) -> (Page, Option<Result<String, String>>) {
    let refused = |text: &str| Page::refused(text);
    let is_own = state.is_some() && parameter(address, "state").as_deref() == state;
    if !is_own {
        let text = "This answer belongs to another sign-in. osier still waits for the right one.";
        return (refused(text), None);
    }
    if parameter(address, "error").is_some() {
        let page = refused("The sign-in was denied. Close this page.");
        return (page, Some(Err("the sign-in was denied".to_owned())));
    }
    match AuthorizationCallback::from_redirect_url(address) {
        Ok(_) => (Page::done(), Some(Ok(address.to_owned()))),
        Err(_) => (refused("This is not the expected answer."), None),
    }
}

/// The value of a query parameter; the last one of several, as when the code is redeemed.
fn parameter(address: &str, name: &str) -> Option<String> {
    let url = reqwest::Url::parse(address).ok()?;
    let pairs = url.query_pairs();
    let value = pairs.filter(|(have, _)| have == name).last()?.1;
    (!value.is_empty()).then(|| value.into_owned())
}

osier_base::opaque_debug!(Login);

/// The tokens of one server in the credential store.
#[derive(Debug, Clone)]
struct TokenFile {
    file: CredentialFile,
    entry: String,
    /// The lock during a token refresh.
    held: Arc<Mutex<Option<LockedFile>>>,
}

impl TokenFile {
    fn read(&self) -> Result<Option<StoredCredentials>, FileError> {
        let store = self.file.read()?;
        let entry = store.other(&self.entry);
        let credentials = entry.and_then(|entry| entry.get("credentials")).cloned();
        // Unreadable tokens count as none: the user signs in again.
        Ok(credentials.and_then(|credentials| serde_json::from_value(credentials).ok()))
    }

    async fn change(&self, change: impl FnOnce(&mut Store)) -> Result<(), FileError> {
        {
            let held = self.held.lock();
            if let Some(locked) = &*held {
                let mut store = locked.read()?;
                change(&mut store);
                return locked.write(&store);
            }
        }
        self.file.change(change).await
    }
}

async fn new_manager(url: &str) -> Result<AuthorizationManager, String> {
    osier_llm::http::choose_cryptography();
    let manager = AuthorizationManager::new(url).await;
    manager.map_err(|error| error.to_string())
}

fn http_client() -> Result<reqwest::Client, String> {
    let client = reqwest::Client::builder()
        .redirect(Policy::custom(follow_within_origin))
        .connect_timeout(Duration::from_secs(10))
        .build();
    client.map_err(|error| error.to_string())
}

/// Follows redirects that keep the request and its origin, such as from `/mcp` to `/mcp/`. Others would give the
/// token to another server.
fn follow_within_origin(attempt: Attempt<'_>) -> Action {
    let keeps_request = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let first = attempt.previous().first();
    let keeps_origin = first.is_some_and(|first| first.origin() == attempt.url().origin());
    if keeps_request && keeps_origin && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Releases the lock.
struct Release(Arc<Mutex<Option<LockedFile>>>);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.lock().take();
    }
}

fn fault(error: &FileError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait]
impl CredentialStore for TokenFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.read().map_err(|error| fault(&error))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let entry = json!({"type": "mcp", "credentials": credentials});
        let saved = self
            .change(|store| store.put_other(&self.entry, entry))
            .await;
        saved.map_err(|error| fault(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let remove = |store: &mut Store| {
            store.remove(&self.entry);
        };
        let cleared = self.change(remove).await;
        cleared.map_err(|error| fault(&error))
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let locked = self.file.lock().await.map_err(|error| fault(&error))?;
        *self.held.lock() = Some(locked);
        Ok(Some(CredentialRefreshGuard::new(Release(Arc::clone(
            &self.held,
        )))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_state_of_the_sign_in_completes_or_ends_it() {
        const BASE: &str = "http://127.0.0.1:7/callback?";
        for (query, outcome) in [
            ("code=C&state=S1", Some(true)),
            ("error=access_denied&state=S1", Some(false)),
            ("code=C&state=S2", None),
            ("code=C&state=", None),
            ("code=C", None),
            ("error=access_denied", None),
            ("error=access_denied&state=S2", None),
            ("state=S1", None),
            ("code=C&x=state%3DS1", None),
            ("code=C&state=S1&state=S2", None),
        ] {
            let (page, ended) = judge(&format!("{BASE}{query}"), Some("S1"));
            assert_eq!(ended.map(|ended| ended.is_ok()), outcome, "{query}");
            assert_eq!(page == Page::done(), outcome == Some(true), "{query}");
        }
        assert_eq!(judge(&format!("{BASE}code=C&state="), None).1, None);
    }

    #[test]
    fn a_pasted_address_needs_the_state_of_the_sign_in() {
        const BASE: &str = "http://127.0.0.1:7/callback";
        let complete = format!("{BASE}?code=C&state=S1");
        for (line, expected) in [
            (complete.as_str(), Ok(true)),
            ("  http://localhost:9/other?code=C&state=S1\r\n", Ok(true)),
            ("code=C&state=S1", Ok(true)),
            ("http://127.0.0.1:7/callback?code=C&state=S2", Ok(false)),
            ("http://127.0.0.1:7/callback?code=C", Ok(false)),
            (
                "http://127.0.0.1:7/callback?error=access_denied&state=S1",
                Ok(false),
            ),
            ("http://127.0.0.1:7/callback", Err(())),
            ("", Err(())),
            ("yes", Err(())),
        ] {
            let judged = judge_pasted(line, BASE, Some("S1"));
            let judged = judged.map(|outcome| outcome.is_ok()).map_err(drop);
            assert_eq!(judged, expected, "{line}");
        }
        let judged = judge_pasted("code=C&state=S1", BASE, Some("S1")).unwrap();
        assert_eq!(judged, Ok(complete));
        assert!(judge_pasted("code=C&state=", BASE, None).unwrap().is_err());
    }

    /// A stolen code would be enough to sign in at a server whose addresses are guessed.
    #[tokio::test]
    async fn a_server_without_metadata_is_refused() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 8192];
                let length = stream.read(&mut request).await.unwrap_or_default();
                let status = if request[..length].starts_with(b"POST") {
                    "401 Unauthorized"
                } else {
                    "404 Not Found"
                };
                let head =
                    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
            }
        });
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("mcp.json");
        let servers = json!({"mcpServers": {"old": {"url": url}}}).to_string();
        osier_base::atomic_file::write(&file, servers.as_bytes()).unwrap();
        let loaded = crate::load(&[file.into()], &BTreeMap::new());
        let logins = Logins::new(CredentialFile::new(place.path().join("auth.json")));
        let refused = logins.begin(&loaded.servers["old"]).await.err();
        assert_eq!(refused, Some(sign_in_server::no_metadata(&url)));
    }
}
