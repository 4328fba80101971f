//! Credentials that vendors' own tools store on a machine: AWS profiles, Google's application default
//! credentials. They have the lowest precedence, after every key that was configured for osier.
//!
//! Requests are signed here, with the primitives of the TLS library: the vendors' client libraries would add
//! hundreds of crates for two requests.

mod aws;
mod google;
mod variables;

use std::sync::Arc;

use osier_base::task::spawn_blocking;

use super::access::{Access, ExpiringAccess};
use super::environment::{CommandRunner, Environment};
use super::error::SignInError;
use crate::http::HttpOptions;
use variables::Variables;

/// A vendor whose tools store credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ambient {
    Aws,
    Google,
}

/// The context of a search for credentials.
pub(super) struct AmbientContext<'a> {
    pub environment: &'a Environment,
    pub runner: Option<&'a CommandRunner>,
    pub http: &'a HttpOptions,
}

impl Ambient {
    /// Whether there seem to be credentials. Reads only small files and runs no commands.
    pub fn is_available(self, environment: &Environment) -> bool {
        let variables = Variables::new(environment);
        match self {
            Self::Aws => aws::is_available(&variables),
            Self::Google => google::is_available(&variables),
        }
    }

    /// Describes the source of the credentials for the user.
    pub fn source(self, environment: &Environment) -> String {
        let variables = Variables::new(environment);
        match self {
            Self::Aws => aws::source(&variables),
            Self::Google => google::source(&variables),
        }
    }

    /// Finds the vendor's credentials and converts them to the credentials of a call.
    pub(super) async fn obtain(
        self,
        context: AmbientContext<'_>,
    ) -> Result<ExpiringAccess, SignInError> {
        let variables = Variables::new(context.environment);
        match self {
            Self::Aws => obtain_aws(variables, context.runner).await,
            Self::Google => google::obtain(variables, context.http).await,
        }
    }
}

async fn obtain_aws(
    variables: Variables,
    runner: Option<&CommandRunner>,
) -> Result<ExpiringAccess, SignInError> {
    let unusable = |reason: String| SignInError::Unusable { reason };
    let found = spawn_blocking(move || aws::find(&variables)).await;
    let found = found.map_err(|error| unusable(error.to_string()))?;
    let (signing, renewable, expires) = match found.map_err(unusable)? {
        aws::Found::Keys(signing) => (signing, false, None),
        aws::Found::Process { command, region } => {
            let runner = runner.ok_or_else(|| unusable("commands cannot run here".to_owned()))?;
            let text = runner(command).await.map_err(|reason| {
                unusable(format!(
                    "`credential_process` of the AWS profile failed: {reason}"
                ))
            })?;
            let (signing, expires) = aws::printed(&text, region).map_err(unusable)?;
            (signing, true, Some(expires.unwrap_or(i64::MAX)))
        }
    };
    let url_variables = vec![("AWS_REGION".to_owned(), signing.region.clone())];
    let access = Access {
        signing: Some(Arc::new(signing)),
        variables: url_variables,
        renewable,
        ..Access::default()
    };
    Ok(ExpiringAccess { access, expires })
}
