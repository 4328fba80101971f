//! How the value of a setting is read.

use toml::Value;

use osier_llm::auth::is_safe;
use osier_permissions::Rule;
use osier_protocol::NetworkAccess;
use osier_sandbox::network::HostRule;

pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A URL to which secrets can be sent.
pub(super) fn number(value: &Value) -> Option<u64> {
    u64::try_from(value.as_integer()?).ok()
}

pub(super) fn address(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim().trim_end_matches('/');
    is_safe(text).then(|| text.to_owned())
}

pub(super) fn rules(value: &Value) -> Option<Vec<String>> {
    let rules = texts(value)?;
    let whole = rules.iter().all(|rule| Rule::parse(rule).is_some());
    whole.then_some(rules)
}

pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

/// Everything, nothing, or a list of hosts.
pub(super) fn network(value: &Value) -> Option<NetworkAccess> {
    if let Some(all) = value.as_bool() {
        return Some(all.into());
    }
    let hosts = texts(value)?;
    let whole = hosts.iter().all(|host| HostRule::parse(host).is_ok());
    whole.then_some(NetworkAccess::Hosts(hosts))
}
