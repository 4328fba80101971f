//! Sign-ins of servers over HTTP: OAuth with PKCE, found by what the server says of itself, its tokens in
//! the credential store beside the keys. They are renewed under the store's lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt as _};
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationRequest,
    AuthorizationSession, CredentialRefreshGuard, CredentialStore, StoredCredentials,
    WWWAuthenticateParams,
};
use serde_json::json;

use super::config::{Launch, ServerConfig};
use osier_llm::auth::{CredentialFile, FileError, LockedFile, Loopback, Page, Store};

/// Where the browser comes back to.
const CALLBACK: &str = "/callback";

/// What a server said when it refused.
#[derive(Debug, Clone, Default)]
struct Challenge {
    /// Its newest `WWW-Authenticate`.
    header: String,
    /// What it has asked for until now.
    scopes: Vec<String>,
}

/// The sign-ins of all servers.
#[derive(Debug, Clone)]
pub struct Logins {
    file: CredentialFile,
    /// What servers said when they refused, by address: where a sign-in begins, and what it has to allow.
    challenges: Arc<Mutex<HashMap<String, Challenge>>>,
}

impl Logins {
    pub fn new(file: CredentialFile) -> Self {
        Self {
            file,
            challenges: Arc::default(),
        }
    }

    /// The server at `url` wants a sign-in, or one that allows more; `header` is its `WWW-Authenticate`.
    pub(super) fn challenged(&self, url: &str, header: &str) {
        let Ok(base) = url.parse() else { return };
        let scope = WWWAuthenticateParams::parse(header, &base).scope;
        let mut challenges = self.challenges();
        let challenge = challenges.entry(url.to_owned()).or_default();
        header.clone_into(&mut challenge.header);
        add(
            &mut challenge.scopes,
            scope.iter().flat_map(|scope| scope.split_whitespace()),
        );
    }

    fn challenges(&self) -> MutexGuard<'_, HashMap<String, Challenge>> {
        self.challenges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn vault(&self, url: &str) -> TokenFile {
        TokenFile {
            file: self.file.clone(),
            entry: format!("mcp:{url}"),
            held: Arc::default(),
        }
    }

    /// A client that signs its requests with the tokens of the server, when there are any.
    pub(super) async fn client(
        &self,
        config: &ServerConfig,
    ) -> Result<AuthClient<reqwest::Client>, String> {
        let Launch::Url { url, .. } = &config.launch else {
            return Err("it has no address".to_owned());
        };
        let mut manager = self.manager(url).await?;
        // Without a sign-in nothing is asked of the network here.
        let known = manager.initialize_from_store().await;
        known.map_err(|error| format!("its sign-in cannot be used: {error}"))?;
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(std::time::Duration::from_secs(10))
            .build();
        let client = client.map_err(|error| error.to_string())?;
        Ok(AuthClient::new(client, manager))
    }

    async fn manager(&self, url: &str) -> Result<AuthorizationManager, String> {
        osier_llm::http::choose_cryptography();
        let manager = AuthorizationManager::new(url).await;
        let mut manager = manager.map_err(|error| error.to_string())?;
        manager.set_credential_store(self.vault(url));
        Ok(manager)
    }

    /// Begins a sign-in to the server of `config`.
    ///
    /// # Errors
    /// One sentence that says why there can be none.
    pub async fn begin(&self, config: &ServerConfig) -> Result<Login, String> {
        let Launch::Url {
            url,
            client_id,
            client_secret,
            scopes,
            ..
        } = &config.launch
        else {
            return Err(format!(
                "`{}` is started here and needs no sign-in",
                config.name
            ));
        };
        let mut manager = self.manager(url).await?;
        let challenge = self.challenges().get(url).cloned();
        let metadata = manager
            .resolve_metadata_from_challenge(challenge.as_ref().map(|it| it.header.as_str()))
            .await;
        let metadata = metadata.map_err(|error| format!("`{url}` offers no sign-in: {error}"))?;
        manager.set_metadata(metadata.metadata);
        let loopback = Loopback::bind(0).await.map_err(|error| error.whole())?;
        let redirect = format!("http://127.0.0.1:{}{CALLBACK}", loopback.port());
        let mut request = AuthorizationRequest::new(redirect)
            .with_initial_scope_selection()
            .with_client_name("osier");
        let mut scopes = scopes.clone();
        if let Some(challenge) = challenge {
            if scopes.is_empty() {
                scopes = self.wider(url, &challenge);
            }
            request = request.with_challenge(challenge.header);
        }
        if !scopes.is_empty() {
            request = request.with_scopes(scopes);
        }
        if let Some(id) = client_id {
            request = request.with_preregistered_client(id.clone());
            if let Some(secret) = client_secret {
                request = request.with_client_secret(secret.clone());
            }
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| error.to_string())?;
        Ok(Login { session, loopback })
    }

    /// What a sign-in has to allow by what the server said: as much as the one before, and what was
    /// missing. Empty when it named nothing.
    fn wider(&self, url: &str, challenge: &Challenge) -> Vec<String> {
        if challenge.scopes.is_empty() {
            return Vec::new();
        }
        let held = self.vault(url).read().ok().flatten();
        let mut scopes = held.map(|held| held.granted_scopes).unwrap_or_default();
        add(&mut scopes, challenge.scopes.iter().map(String::as_str));
        scopes
    }

    /// Forgets the sign-in; false when there was none.
    pub async fn forget(&self, config: &ServerConfig) -> Result<bool, String> {
        let Launch::Url { url, .. } = &config.launch else {
            return Ok(false);
        };
        let entry = self.vault(url).entry;
        let removed = self.file.change(|store| store.remove(&entry)).await;
        removed.map_err(|error| error.to_string())
    }
}

/// Adds what is not there yet.
fn add<'a>(scopes: &mut Vec<String>, more: impl Iterator<Item = &'a str>) {
    for scope in more {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
}

/// A sign-in that waits for its person.
pub struct Login {
    session: AuthorizationSession,
    loopback: Loopback,
}

impl Login {
    /// Where the person has to go.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits until the browser comes back, and keeps the tokens.
    pub async fn finish(self) -> Result<(), String> {
        let base = format!("http://127.0.0.1:{}{CALLBACK}", self.loopback.port());
        let judge = |query: &str| {
            let refused = |text: &str| (Page::refused(text), None);
            match AuthorizationCallback::from_redirect_url(&format!("{base}?{query}")) {
                Ok(_) => (Page::done(), Some(Ok(format!("{base}?{query}")))),
                Err(_) if query.contains("error=") => {
                    let text = "The sign-in was refused. Close this page.";
                    (
                        Page::refused(text),
                        Some(Err("the sign-in was refused".to_owned())),
                    )
                }
                Err(_) => refused("This is not the answer that is awaited."),
            }
        };
        let address = self.loopback.wait(CALLBACK, judge).await?;
        self.redeem(&address).await
    }

    /// Takes the address that the browser ended at.
    pub async fn redeem(&self, address: &str) -> Result<(), String> {
        let tokens = self.session.handle_callback_url(address.trim()).await;
        tokens.map(drop).map_err(|error| error.to_string())
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Login").finish_non_exhaustive()
    }
}

/// The tokens of one server in the credential store.
#[derive(Debug, Clone)]
struct TokenFile {
    file: CredentialFile,
    entry: String,
    /// The lock, while tokens are renewed under it.
    held: Arc<Mutex<Option<LockedFile>>>,
}

impl TokenFile {
    fn read(&self) -> Result<Option<StoredCredentials>, FileError> {
        let store = self.file.read()?;
        let entry = store.other(&self.entry);
        let credentials = entry.and_then(|entry| entry.get("credentials")).cloned();
        // One that cannot be read is as good as none: the person signs in again.
        Ok(credentials.and_then(|credentials| serde_json::from_value(credentials).ok()))
    }

    async fn change(&self, change: impl FnOnce(&mut Store)) -> Result<(), FileError> {
        {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(locked) = &*held {
                let mut store = locked.read()?;
                change(&mut store);
                return locked.write(&store);
            }
        }
        self.file.change(change).await
    }
}

/// Gives the lock up.
struct Release(Arc<Mutex<Option<LockedFile>>>);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn fault(error: &FileError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

// The trait is written with `async_trait`; these are its signatures without that macro.
impl CredentialStore for TokenFile {
    fn load<'life, 'future>(
        &'life self,
    ) -> BoxFuture<'future, Result<Option<StoredCredentials>, AuthError>>
    where
        'life: 'future,
        Self: 'future,
    {
        async move { self.read().map_err(|error| fault(&error)) }.boxed()
    }

    fn save<'life, 'future>(
        &'life self,
        credentials: StoredCredentials,
    ) -> BoxFuture<'future, Result<(), AuthError>>
    where
        'life: 'future,
        Self: 'future,
    {
        async move {
            let entry = json!({"type": "mcp", "credentials": credentials});
            let saved = self
                .change(|store| store.put_other(&self.entry, entry))
                .await;
            saved.map_err(|error| fault(&error))
        }
        .boxed()
    }

    fn clear<'life, 'future>(&'life self) -> BoxFuture<'future, Result<(), AuthError>>
    where
        'life: 'future,
        Self: 'future,
    {
        async move {
            let remove = |store: &mut Store| {
                store.remove(&self.entry);
            };
            let cleared = self.change(remove).await;
            cleared.map_err(|error| fault(&error))
        }
        .boxed()
    }

    fn acquire_refresh_guard<'life, 'future>(
        &'life self,
    ) -> BoxFuture<'future, Result<Option<CredentialRefreshGuard>, AuthError>>
    where
        'life: 'future,
        Self: 'future,
    {
        async move {
            let locked = self.file.lock().await.map_err(|error| fault(&error))?;
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(locked);
            Ok(Some(CredentialRefreshGuard::new(Release(Arc::clone(
                &self.held,
            )))))
        }
        .boxed()
    }
}
