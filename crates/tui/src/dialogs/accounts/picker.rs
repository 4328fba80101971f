//! The list of providers for signing in and out.

use crate::actions::Action;
use crate::drawing::Picker;
use osier_llm::auth::Method;
use osier_protocol::{Account, AccountSource, LoginMethod, Op};
use osier_term::widgets::columns::{Column, Columns};
use osier_term::widgets::select::Item;

/// The layer of the list.
pub(super) fn id(sign_out: bool) -> &'static str {
    if sign_out { "logout" } else { "login_list" }
}

const COLUMNS: Columns = Columns {
    label: "provider",
    details: &[
        Column::words("method", 0).at_least(8),
        Column::words("status", 1).at_least(12),
    ],
};

/// One line a provider and way to sign in, or one a provider to sign out of.
pub(super) fn picker(accounts: &[Account], sign_out: bool) -> Picker {
    if sign_out {
        let stored = accounts.iter().filter(|account| is_stored(account));
        let items = stored.map(|account| item(account, account.provider.clone(), ""));
        let take = |provider: &str| {
            vec![Action::Tell(Op::Logout {
                provider: provider.to_owned(),
            })]
        };
        return Picker::new(
            "Sign out",
            "no stored credentials",
            items.collect(),
            Box::new(take),
        )
        .with_columns(COLUMNS)
        .taking("sign out");
    }
    let items = accounts.iter().flat_map(|account| {
        let methods = account.methods.iter().map(|method| match method {
            Method::Browser => ("browser", "browser"),
            Method::Device => ("device", "device code"),
        });
        let all = methods.chain([("key", "API key")]);
        all.map(|(word, way)| item(account, format!("{} {word}", account.provider), way))
    });
    Picker::new(
        "Sign in",
        "no provider matches",
        items.collect(),
        Box::new(take),
    )
    .with_columns(COLUMNS)
    .taking("sign in")
}

fn take(key: &str) -> Vec<Action> {
    let (provider, method) = key.rsplit_once(' ').unwrap_or((key, ""));
    let method = match method {
        "browser" => Some(LoginMethod::Browser),
        "device" => Some(LoginMethod::Device),
        "key" => Some(LoginMethod::Key),
        _ => None,
    };
    vec![Action::Tell(Op::Login {
        provider: provider.to_owned(),
        method,
    })]
}

fn is_stored(account: &Account) -> bool {
    matches!(
        account.source,
        AccountSource::Key
            | AccountSource::SignIn
            | AccountSource::Keyring
            | AccountSource::Command
    )
}

fn item(account: &Account, key: String, way: &str) -> Item {
    let has = match account.source {
        AccountSource::Nothing => String::new(),
        _ => account.described(),
    };
    Item {
        key,
        label: account.label.clone(),
        details: vec![way.into(), has.into()],
        keywords: account.provider.clone(),
        dimmed: false,
    }
}
