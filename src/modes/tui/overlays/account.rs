//! Choosing whom to sign in to, or whom to sign out of.

use super::picker::Picker;
use crate::coding::accounts::{Account, AccountSource};
use crate::coding::host::{LoginMethod, Op};
use crate::llm::auth::Method;
use crate::modes::tui::action::Action;
use crate::term::widgets::select::Item;

/// The layer of the list.
pub fn id(sign_out: bool) -> &'static str {
    if sign_out { "logout" } else { "login_list" }
}

/// One line a provider and way to sign in, or one a provider to sign out of.
pub fn picker(accounts: &[Account], sign_out: bool) -> Picker {
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
            "nothing is stored",
            items.collect(),
            Box::new(take),
        );
    }
    let items = accounts.iter().flat_map(|account| {
        let methods = account.methods.iter().map(|method| match method {
            Method::Browser => ("browser", "sign in with a browser"),
            Method::Device => ("device", "sign in with a code"),
        });
        let all = methods.chain([("key", "a key")]);
        all.map(|(word, way)| item(account, format!("{} {word}", account.provider), way))
    });
    Picker::new(
        "Sign in",
        "no provider matches",
        items.collect(),
        Box::new(take),
    )
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
    let parts = [way, has.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Item {
        key,
        label: account.label.clone(),
        detail: parts.join("  "),
        keywords: account.provider.clone(),
        dimmed: false,
    }
}
