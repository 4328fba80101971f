//! Signing in and out, and what an editor can know of it.

use agent_client_protocol_schema::v1 as acp;

use crate::jsonrpc::internal_error;
use osier_protocol::{Account, AccountSource, KeyState};
use osier_session::SessionSetup;
use osier_session::accounts::Accounts;
use osier_session::models::{self, Models};

/// The accounts that sessions of this setup use.
pub(super) fn accounts(setup: &SessionSetup) -> Accounts {
    Accounts::load(&setup.folders, &setup.settings, &setup.environment)
}

/// The answer to `auth/status`: whether the model of a new session has what it needs, and the accounts with credentials.
pub(super) fn status(setup: &SessionSetup) -> acp::Result<acp::AgentResponse> {
    let listed = accounts(setup).list();
    let listed = listed.map_err(|cause| internal_error(cause.to_string()))?;
    let model = Models::load(setup)
        .ok()
        .map(|(models, _)| (models.chosen(), models));
    let state = match &model {
        None => acp::AuthState::Unknown,
        // The demo plays a script while there is no model.
        Some((model, _)) if model.reference() == models::TOUR => acp::AuthState::Unauthenticated,
        Some((model, models)) => match models.key_state(model) {
            KeyState::Present => acp::AuthState::Authenticated,
            KeyState::Absent => acp::AuthState::Unauthenticated,
            KeyState::NotNeeded => acp::AuthState::NotRequired,
        },
    };
    let provider = model.map(|(model, _)| model.provider.clone());
    let listed = listed
        .into_iter()
        .filter(|account| account.source != AccountSource::Nothing);
    let accounts = listed.map(|account| described(&account, provider.as_deref()));
    let response = acp::AuthStatusResponse::new(state).accounts(accounts.collect());
    Ok(acp::AgentResponse::AuthStatusResponse(response))
}

fn described(account: &Account, chosen: Option<&str>) -> acp::AuthAccount {
    let label = format!("{}: {}", account.label, account.described());
    acp::AuthAccount::new(label).active(chosen == Some(account.provider.as_str()))
}
