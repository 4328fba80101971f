//! Credentials that stand on a machine for a vendor's own tools: Amazon's profiles, Google's application
//! default credentials. They come last, behind every key that was meant for osier.
//!
//! Small signers of our own over the TLS library's cryptography, in place of the vendors' client libraries:
//! those bring hundreds of crates for the two requests that are needed here.

mod aws;
mod google;
mod sigv4;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::access::{Access, SignedIn};
use super::error::SignInError;
use super::keys::{CommandRunner, Environment};
use crate::http::HttpOptions;

pub use sigv4::Signing;
pub(crate) use sigv4::ToSign;

/// Whose credentials a provider can be called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ambient {
    Aws,
    Google,
}

/// A way in, and how long it holds.
#[derive(Debug, Clone)]
pub(super) struct Minted {
    pub access: Access,
    /// Milliseconds since the epoch. Not set: it is read anew for every call.
    pub until: Option<i64>,
}

/// What finding credentials takes.
pub(super) struct Means<'a> {
    pub environment: &'a Environment,
    pub runner: Option<&'a CommandRunner>,
    pub http: &'a HttpOptions,
}

impl Ambient {
    /// Whether there seem to be some. Looks for files, opens small ones, runs nothing.
    pub fn is_there(self, environment: &Environment) -> bool {
        let variables = Variables(Arc::clone(environment));
        match self {
            Self::Aws => aws::is_there(&variables),
            Self::Google => google::is_there(&variables),
        }
    }

    /// Where they come from, for people.
    pub fn described(self, environment: &Environment) -> String {
        let variables = Variables(Arc::clone(environment));
        match self {
            Self::Aws => aws::described(&variables),
            Self::Google => google::described(&variables),
        }
    }

    /// Finds them, and makes of them what a call needs.
    pub(super) async fn mint(self, means: Means<'_>) -> Result<Minted, SignInError> {
        let variables = Variables(Arc::clone(means.environment));
        match self {
            Self::Aws => mint_aws(variables, means.runner).await,
            Self::Google => google::mint(variables, means.http).await,
        }
    }
}

async fn mint_aws(
    variables: Variables,
    runner: Option<&CommandRunner>,
) -> Result<Minted, SignInError> {
    let unusable = |reason: String| SignInError::Unusable { reason };
    let found = spawn_blocking(move || aws::find(&variables)).await;
    let found = found.map_err(|error| unusable(error.to_string()))?;
    let (signing, renewable, until) = match found.map_err(unusable)? {
        aws::Found::Keys(signing) => (signing, false, None),
        aws::Found::Process { command, region } => {
            let runner = runner.ok_or_else(|| unusable("commands cannot run here".to_owned()))?;
            let text = runner(command).await.map_err(|reason| {
                unusable(format!(
                    "`credential_process` of the AWS profile failed: {reason}"
                ))
            })?;
            let (signing, until) = aws::printed(&text, region).map_err(unusable)?;
            (signing, true, Some(until.unwrap_or(i64::MAX)))
        }
    };
    let places = vec![("AWS_REGION".to_owned(), signing.region.clone())];
    let access = Access {
        signing: Some(Arc::new(signing)),
        places,
        renewable,
        ..Access::default()
    };
    Ok(Minted { access, until })
}

/// The environment, by name; empty values are not set.
#[derive(Clone)]
pub(super) struct Variables(Environment);

impl Variables {
    fn get(&self, name: &str) -> Option<String> {
        let value = (self.0)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    fn home(&self) -> PathBuf {
        // Without a home there is no file below the one that is looked for.
        self.get("HOME")
            .map_or_else(|| "/nonexistent".into(), PathBuf::from)
    }

    #[cfg(test)]
    fn of(set: Vec<(String, String)>) -> Self {
        Self(Arc::new(move |name| {
            let found = set.iter().find(|(have, _)| have == name);
            found.map(|(_, value)| value.clone())
        }))
    }
}

/// A bearer token with the headers that go with it.
fn bearer(token: crate::provider::Secret, headers: SignedIn) -> Access {
    Access {
        key: Some(token),
        signed_in: Some(Box::new(headers)),
        renewable: true,
        ..Access::default()
    }
}
