//! The authorization-code flow with PKCE (RFC 6749 4.1, 7636, 8252): the browser is redirected to a listener
//! on this machine, or the user pastes the final address.

use reqwest::Url;

use super::credential::Tokens;
use super::endpoint::with_query;
use super::error::SignInError;
use super::interaction::{Interaction, Progress};
use super::loopback::{Loopback, Page};
use super::pkce::{Pkce, random, same};
use super::sign_in::SignIn;
use crate::errors::clean;
use crate::secret::Secret;

/// The result of an authorization.
#[derive(Debug)]
struct Authorization {
    code: Secret,
    client_id: Option<String>,
}

/// One authorization request.
struct Attempt<'a> {
    sign_in: &'a SignIn,
    pkce: Pkce,
    state: String,
    redirect: String,
}

/// Signs in through a browser.
pub(super) async fn run(
    sign_in: &SignIn,
    interaction: &mut Interaction<'_>,
) -> Result<Tokens, SignInError> {
    let loopback = Loopback::bind(sign_in.redirect.port).await?;
    let state = random();
    let mut path = sign_in.redirect.path.clone();
    if sign_in.state_in_path {
        path = format!("{}/{state}", path.trim_end_matches('/'));
    }
    let attempt = Attempt {
        sign_in,
        pkce: Pkce::new(),
        redirect: format!("http://{}:{}{path}", sign_in.redirect.host, loopback.port()),
        state,
    };
    let url = attempt.address(&interaction.installation)?;
    (interaction.report)(Progress::Started {
        url,
        user_code: None,
        accepts_paste: true,
    });
    let returned = loopback.wait(&path, |query| attempt.judge(query));
    let authorization = tokio::select! {
        returned = returned => returned?,
        pasted = attempt.pasted(interaction) => pasted?,
    };
    drop(loopback);
    attempt.redeem(authorization).await
}

impl Attempt<'_> {
    /// The address to open in the browser.
    fn address(&self, installation: &str) -> Result<String, SignInError> {
        let sign_in = self.sign_in;
        let scope = sign_in.scope();
        let mut fields = Vec::new();
        if !sign_in.no_client_id {
            fields.push(("response_type", "code"));
            fields.push(("client_id", sign_in.client_id.as_str()));
        }
        fields.push((sign_in.redirect.parameter.as_str(), self.redirect.as_str()));
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        if !sign_in.state_in_path {
            fields.push(("state", &self.state));
        }
        fields.push(("code_challenge", &self.pkce.challenge));
        fields.push(("code_challenge_method", "S256"));
        let extra: Vec<(&str, String)> = sign_in
            .authorize_parameters
            .iter()
            .map(|(name, value)| {
                let value = value.replace("{installation}", installation);
                (name.as_str(), value.replace("{random}", &random()))
            })
            .collect();
        fields.extend(extra.iter().map(|(name, value)| (*name, value.as_str())));
        with_query(&sign_in.authorize_url, &fields)
            .map(String::from)
            .ok_or_else(|| SignInError::Unreachable {
                reason: format!("invalid URL `{}`", sign_in.authorize_url),
            })
    }

    /// Evaluates a request to the listener: only one with the correct state ends the wait.
    fn judge(&self, query: &str) -> (Page, Option<Result<Authorization, SignInError>>) {
        match self.read(&pairs(query), self.sign_in.state_in_path) {
            Ok(granted) => (Page::done(), Some(Ok(granted))),
            Err(error @ SignInError::Denied { .. }) => {
                (Page::refused(sentence(&error)), Some(Err(error)))
            }
            Err(error) => (Page::refused(sentence(&error)), None),
        }
    }

    /// Reads pasted lines until one contains a code. If none does, the future never completes.
    async fn pasted(
        &self,
        interaction: &mut Interaction<'_>,
    ) -> Result<Authorization, SignInError> {
        let mut last = None;
        while let Some(line) = interaction.input.recv().await {
            if line.trim().is_empty() {
                continue;
            }
            match self.read_pasted(line.trim()) {
                Err(error @ SignInError::Denied { .. }) => return Err(error),
                Err(error) => {
                    let message = error.message_with_hint();
                    (interaction.report)(Progress::Refused { message });
                    last = Some(error);
                }
                Ok(granted) => return Ok(granted),
            }
        }
        // No more input can come. The browser can still be redirected if nothing was pasted.
        match last {
            Some(error) => Err(error),
            None => std::future::pending().await,
        }
    }

    fn read_pasted(&self, text: &str) -> Result<Authorization, SignInError> {
        if let Ok(url) = Url::parse(text)
            && matches!(url.scheme(), "http" | "https")
        {
            let known = self.sign_in.state_in_path && url.path().ends_with(&self.state);
            return self.read(&pairs(url.query().unwrap_or_default()), known);
        }
        if text.contains(char::is_whitespace) {
            return Err(SignInError::NoCode);
        }
        if text.contains("code=") {
            return self.read(&pairs(text.trim_start_matches('?')), false);
        }
        // Some providers display `CODE#STATE`. A code without a state was copied by the user, and is useless
        // without the verifier of this request.
        let (code, state) = match text.split_once('#') {
            Some((code, state)) => (code, state),
            None => (text, self.state.as_str()),
        };
        let fields = [("code", code), ("state", state)];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.read(&fields, false)
    }

    /// Reads the fields of a callback. With `state_known`, the path has already proved the state.
    fn read(
        &self,
        fields: &[(String, String)],
        state_known: bool,
    ) -> Result<Authorization, SignInError> {
        let get = |name: &str| {
            let found = fields.iter().find(|(have, _)| have == name);
            found
                .map(|(_, value)| value.as_str())
                .filter(|value| !value.is_empty())
        };
        let state = get("state").is_some_and(|state| same(state, &self.state));
        if !state && !state_known {
            return Err(SignInError::WrongState);
        }
        if let Some(issuer) = get("iss")
            && !self.sign_in.issuer.is_empty()
            && issuer != self.sign_in.issuer
        {
            let issuer = clean(issuer, None);
            return Err(SignInError::WrongIssuer { issuer });
        }
        if let Some(error) = get("error") {
            let reason = get("error_description").unwrap_or(match error {
                "access_denied" => "",
                other => other,
            });
            let reason = clean(reason, None);
            return Err(SignInError::Denied { reason });
        }
        let client_id = get("client_id").filter(|_| self.sign_in.client_id_in_callback);
        match get("code") {
            Some(code) if client_id.is_some() || !self.sign_in.client_id_in_callback => {
                Ok(Authorization {
                    code: Secret::new(code),
                    client_id: client_id.map(str::to_owned),
                })
            }
            _ => Err(SignInError::NoCode),
        }
    }

    /// Exchanges the code for tokens.
    async fn redeem(&self, authorization: Authorization) -> Result<Tokens, SignInError> {
        let sign_in = self.sign_in;
        let client_id = authorization
            .client_id
            .as_deref()
            .unwrap_or(&sign_in.client_id);
        let mut fields = vec![
            ("code", authorization.code.expose()),
            ("code_verifier", self.pkce.verifier.expose()),
        ];
        if !sign_in.no_client_id {
            fields.push(("grant_type", "authorization_code"));
            fields.push(("client_id", client_id));
            fields.push(("redirect_uri", &self.redirect));
        }
        if sign_in.state_in_token_request {
            fields.push(("state", &self.state));
        }
        let answer = sign_in.token(&fields).await?;
        sign_in
            .granted(&answer, authorization.client_id, None)
            .await
    }
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let mut url = String::from("http://query/?");
    url.push_str(query);
    let parsed = Url::parse(&url).ok();
    let pairs = parsed.iter().flat_map(Url::query_pairs);
    pairs
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// The text of an error for the browser.
fn sentence(error: &SignInError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first
        .into_iter()
        .flatten()
        .chain(letters)
        .chain(['.'])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::sign_in::SignIns;

    fn attempt(sign_in: &SignIn) -> Attempt<'_> {
        Attempt {
            sign_in,
            pkce: Pkce::new(),
            state: "S1".to_owned(),
            redirect: "http://127.0.0.1:7/callback".to_owned(),
        }
    }

    fn read(sign_in: &SignIn, text: &str) -> String {
        match attempt(sign_in).read_pasted(text) {
            Ok(authorization) => authorization.code.expose().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn pasted_codes_are_found_in_every_form() {
        let sign_in = SignIn::default();
        let wrong = SignInError::WrongState.to_string();
        for (text, expected) in [
            ("http://127.0.0.1:7/callback?code=C%2F1&state=S1", "C/1"),
            ("code=C&state=S1", "C"),
            ("?state=S1&code=C", "C"),
            ("C#S1", "C"),
            ("C", "C"),
            (
                "http://127.0.0.1:7/callback?code=C&state=S2",
                wrong.as_str(),
            ),
            ("http://127.0.0.1:7/callback?code=C", wrong.as_str()),
            ("C#S2", wrong.as_str()),
            ("a b", "the text contains no code"),
            (
                "http://127.0.0.1:7/callback?state=S1",
                "the text contains no code",
            ),
            (
                "http://h/?error=access_denied&state=S1",
                "the sign-in was denied",
            ),
            (
                "http://h/?error=access_denied&error_description=not+today&state=S1",
                "the sign-in was denied: not today",
            ),
            ("http://h/?error=access_denied&state=S2", wrong.as_str()),
        ] {
            assert_eq!(read(&sign_in, text), expected, "{text}");
        }
        let path = SignIn {
            state_in_path: true,
            ..SignIn::default()
        };
        assert_eq!(read(&path, "http://localhost:7/callback/S1?code=C"), "C");
        assert_eq!(read(&path, "http://localhost:7/callback/S2?code=C"), wrong);
        let issued = SignIn {
            client_id_in_callback: true,
            issuer: "https://a".to_owned(),
            ..SignIn::default()
        };
        assert_eq!(read(&issued, "C"), "the text contains no code");
        assert_eq!(
            read(&issued, "code=C&state=S1&client_id=i&iss=https://a"),
            "C"
        );
        assert_eq!(
            read(&issued, "code=C&state=S1&client_id=i&iss=https://b"),
            "the answer came from `https://b`, not from the expected provider"
        );
    }

    #[test]
    fn authorization_urls_match_vendor_documentation() {
        let (known, _) = SignIns::read("");
        let router = known.get("openrouter").unwrap();
        let address = attempt(router).address("I").unwrap();
        assert!(
            address.starts_with("https://openrouter.ai/auth?callback_url=http%3A%2F%2F127.0.0.1%3A7%2Fcallback&code_challenge="),
            "{address}"
        );
        assert!(
            address.ends_with("&code_challenge_method=S256"),
            "{address}"
        );
        let chatgpt = known.get("openai").unwrap();
        let address = attempt(chatgpt).address("I").unwrap();
        for part in [
            "response_type=code&client_id=dynamic_agent_client&redirect_uri=",
            "&state=S1&",
            "&ext_agent_host_id=urn%3Auuid%3AI&",
            "&scope=openid+profile+email+offline_access+",
        ] {
            assert!(address.contains(part), "{part} {address}");
        }
    }
}
