//! The list of providers for signing in and out.

use crate::drawing::{Choice, Picker};
use osier_llm::auth::Method;
use osier_protocol::{Account, AccountSource, LoginMethod, Op};
use osier_term::{Column, Columns, Item};

/// The layer of the list.
pub(super) fn id(sign_out: bool) -> &'static str {
    if sign_out { "logout" } else { "login_list" }
}

const COLUMNS: Columns = Columns {
    label: "provider",
    details: &[
        Column::words("method", 0).at_least(8),
        Column::words("billed", 1).at_least(12),
        Column::words("status", 2).at_least(12),
    ],
};

/// A provider, and a way to sign in to it.
pub(super) struct Entry {
    account: Account,
    method: Option<LoginMethod>,
}

/// One line for each provider and way to sign in, or for each provider to sign out of.
pub(super) fn picker(accounts: &[Account], sign_out: bool) -> Picker<Entry> {
    if sign_out {
        let stored = accounts.iter().filter(|account| is_stored(account));
        let entries = stored.map(|account| Entry {
            account: account.clone(),
            method: None,
        });
        return Picker::new("Sign out", "no stored credentials", entries, |entry| {
            let provider = entry.account.provider.clone();
            [Op::Logout { provider }]
        })
        .with_columns(COLUMNS)
        .taking("sign out");
    }
    let entries = accounts.iter().flat_map(|account| {
        let methods = account.methods.iter().map(|method| match method {
            Method::Browser => LoginMethod::Browser,
            Method::Device => LoginMethod::Device,
        });
        let all = methods.chain([LoginMethod::Key]);
        all.map(|method| Entry {
            account: account.clone(),
            method: Some(method),
        })
    });
    Picker::new("Sign in", "no provider matches", entries, |entry| {
        [Op::Login {
            provider: entry.account.provider.clone(),
            method: entry.method,
        }]
    })
    .with_columns(COLUMNS)
    .taking("sign in")
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

impl Choice for Entry {
    fn row(&self) -> Item {
        let account = &self.account;
        let way = match self.method {
            None => "",
            Some(LoginMethod::Browser) => "browser",
            Some(LoginMethod::Device) => "device code",
            Some(LoginMethod::Key) => "API key",
        };
        let billed = match self.method {
            None => "",
            Some(LoginMethod::Browser | LoginMethod::Device) if account.subscription => {
                "subscription"
            }
            Some(_) => "per token",
        };
        let has = match account.source {
            AccountSource::Nothing => String::new(),
            _ => account.described(),
        };
        Item {
            label: account.label.clone(),
            details: vec![way.into(), billed.into(), has.into()],
            keywords: account.provider.clone(),
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.account.provider == other.account.provider && self.method == other.method
    }
}
