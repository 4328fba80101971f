//! How the value of a setting is read.

use toml::de::DeValue;

use osier_llm::auth::is_safe;
use osier_llm::{CacheRetention, ModelOptions, ToolForm, TuningChange, Verbosity};
use osier_permissions::{Rule, RuleLists};
use osier_protocol::NetworkAccess;
use osier_sandbox::network::HostRule;
use osier_tools::ServiceKind;

use crate::Settings;

impl Settings {
    /// The permission rules.
    pub fn rules(&self) -> RuleLists<'_> {
        RuleLists {
            allow: &self.allow,
            ask: &self.ask,
            deny: &self.deny,
        }
    }
}

pub(super) fn cache_retention(value: &DeValue<'_>) -> Option<CacheRetention> {
    match value.as_str()? {
        "short" => Some(CacheRetention::Short),
        "long" => Some(CacheRetention::Long),
        _ => None,
    }
}

/// Options by model.
pub(super) fn model_options(value: &DeValue<'_>) -> Option<Vec<ModelOptions>> {
    let models = value.as_table()?.iter();
    let options = models.map(|(models, options)| {
        let mut change = TuningChange::default();
        for (name, value) in options.get_ref().as_table()? {
            let value = value.get_ref();
            match name.get_ref().as_ref() {
                "tools" => change.tools = Some(ToolForm::from_name(value.as_str()?)?),
                "verbosity" => change.verbosity = Some(Verbosity::from_name(value.as_str()?)?),
                "service_tier" => change.service_tier = Some(text(value)?),
                "parallel_calls" => change.parallel_calls = Some(value.as_bool()?),
                _ => return None,
            }
        }
        let models = models.get_ref().to_string();
        Some(ModelOptions { models, change })
    });
    options.collect()
}

/// A change of a language server, or a further one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LanguageServer {
    pub name: String,
    /// The program and its arguments.
    pub command: Option<Vec<String>>,
    /// Ends of file names.
    pub extensions: Option<Vec<String>>,
    /// Files that mark the root of a project.
    pub markers: Option<Vec<String>>,
    /// Options for the server.
    pub options: Option<serde_json::Value>,
    pub disabled: bool,
}

pub(super) fn language_servers(value: &DeValue<'_>) -> Option<Vec<LanguageServer>> {
    let servers = value.as_table()?.iter();
    let servers = servers.map(|(server, fields)| {
        let mut change = LanguageServer {
            name: server.get_ref().to_string(),
            ..LanguageServer::default()
        };
        for (name, value) in fields.get_ref().as_table()? {
            let value = value.get_ref();
            match name.get_ref().as_ref() {
                "command" => change.command = Some(texts(value)?),
                "extensions" => change.extensions = Some(texts(value)?),
                "markers" => change.markers = Some(texts(value)?),
                "options" => {
                    change.options = Some(json(value).filter(serde_json::Value::is_object)?);
                }
                "disabled" => change.disabled = value.as_bool()?,
                _ => return None,
            }
        }
        Some(change)
    });
    servers.collect()
}

/// A value as JSON; `None` for a date or a number that JSON does not have.
fn json(value: &DeValue<'_>) -> Option<serde_json::Value> {
    Some(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()?
            .into(),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok()?.into(),
        DeValue::Datetime(_) => return None,
        DeValue::Array(list) => {
            let items = list.iter().map(|item| json(item.get_ref()));
            items.collect::<Option<Vec<_>>>()?.into()
        }
        DeValue::Table(table) => {
            let fields = table.iter();
            let fields = fields
                .map(|(name, value)| Some((name.get_ref().to_string(), json(value.get_ref())?)));
            let fields: Option<serde_json::Map<_, _>> = fields.collect();
            fields?.into()
        }
    })
}

pub(super) fn text(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A whole number from 0.
pub(super) fn number<T: TryFrom<u64>>(value: &DeValue<'_>) -> Option<T> {
    let number = value.as_integer()?;
    let number = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
    T::try_from(number).ok()
}

/// An amount from 0.
pub(super) fn dollars(value: &DeValue<'_>) -> Option<f64> {
    let amount = match value {
        DeValue::Float(amount) => amount.as_str().parse().ok()?,
        value => number::<u32>(value)?.into(),
    };
    (0.0..=1e9).contains(&amount).then_some(amount)
}

/// A URL to which secrets can be sent.
pub(super) fn address(value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str()?.trim().trim_end_matches('/');
    is_safe(text).then(|| text.to_owned())
}

pub(super) fn rules(value: &DeValue<'_>) -> Option<Vec<String>> {
    let rules = texts(value)?;
    let whole = rules.iter().all(|rule| Rule::parse(rule).is_some());
    whole.then_some(rules)
}

/// Adds rules that restrict: also those of a list that is invalid elsewhere.
pub(super) fn restrictions(value: &DeValue<'_>, known: &mut Vec<String>) -> Option<()> {
    let list = value.as_array()?;
    let texts = list.iter().filter_map(|rule| rule.get_ref().as_str());
    let valid = texts.filter(|rule| Rule::parse(rule).is_some());
    let before = known.len();
    known.extend(valid.map(str::to_owned));
    (known.len() - before == list.len()).then_some(())
}

pub(super) fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let list = value.as_array()?;
    list.iter().map(|value| text(value.get_ref())).collect()
}

/// How the tool `web_search` searches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WebSearch {
    /// With the provider of the model, or a service that has a key.
    #[default]
    Auto,
    Provider,
    Service(ServiceKind),
    /// The address of a SearXNG server.
    Searxng(String),
    Off,
}

pub(super) fn web_search(value: &DeValue<'_>) -> Option<WebSearch> {
    Some(match value.as_str()? {
        "auto" => WebSearch::Auto,
        "provider" => WebSearch::Provider,
        "off" => WebSearch::Off,
        "searxng" => return None,
        name => match ServiceKind::from_name(name) {
            Some(kind) => WebSearch::Service(kind),
            None => WebSearch::Searxng(address(value)?),
        },
    })
}

pub(super) fn hosts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let hosts = texts(value)?;
    let whole = hosts.iter().all(|host| HostRule::parse(host).is_ok());
    whole.then_some(hosts)
}

/// Everything, nothing, or a list of hosts.
pub(super) fn network(value: &DeValue<'_>) -> Option<NetworkAccess> {
    if let Some(all) = value.as_bool() {
        return Some(all.into());
    }
    hosts(value).map(NetworkAccess::Hosts)
}
