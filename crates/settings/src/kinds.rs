//! Kinds of settings: the values that they accept, and how these are read.

use std::path::PathBuf;

use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::Spanned;
use toml::de::DeValue;

use osier_base::words::Word;
use osier_llm::auth::is_safe;
use osier_llm::catalogue::refresh::SOURCE;
use osier_llm::{ModelOptions, TuningChange};
use osier_permissions::Rule;
use osier_protocol::NetworkAccess;
use osier_sandbox::network::HostRule;
use osier_tools::ServiceKind;

use super::form::Form;
use super::row::{Project, Row, Safety};
use super::values::{CredentialStore, FooterPart, LanguageServer, WebSearch};

/// On or off.
pub(super) const FLAG: Row<bool> = Row::new(Form::Flag, "", |own, value| put(own, value.as_bool()));

/// On, off or not set.
pub(super) const CHOICE: Row<Option<bool>> = Row::new(Form::Flag, "", |own, value| {
    put(own, value.as_bool().map(Some))
});

/// A name for a model.
pub(super) const MODEL: Row<Option<String>> = Row::new(
    Form::Text,
    "\"PROVIDER/ID\", \"PROVIDER/ID:LEVEL\" or part of a name",
    |own, value| put(own, text(value).map(Some)),
)
.project(Project::NoScript(|name| {
    name.as_deref().is_some_and(is_script)
}));

/// Names for models.
pub(super) const fn models(accepts: &'static str) -> Row<Vec<String>> {
    texts(accepts).project(Project::NoScript(|names| {
        names.iter().any(|name| is_script(name))
    }))
}

fn is_script(model: &str) -> bool {
    model.starts_with("script/")
}

/// One of the names of a type.
pub(super) const fn word<T: Word + PartialEq>() -> Row<T> {
    Row::new(Form::Word(T::NAMES), "", |own, value| {
        put(own, T::of_name(value.as_str()?))
    })
}

/// One of the names of a type, or not set.
pub(super) const fn optional_word<T: Word + PartialEq>() -> Row<Option<T>> {
    Row::new(Form::Word(T::NAMES), "", |own, value| {
        put(own, T::of_name(value.as_str()?).map(Some))
    })
}

/// Where keys are stored: not every build has a keyring.
pub(super) const CREDENTIAL_STORE: Row<CredentialStore> = if cfg!(feature = "keyring") {
    word()
} else {
    Row::new(
        Form::Word(&["file"]),
        "file (this build has no keyring)",
        |own, value| {
            put(
                own,
                (value.as_str()? == "file").then_some(CredentialStore::File),
            )
        },
    )
};

/// Any text.
pub(super) const fn any_text(accepts: &'static str) -> Row<String> {
    Row::new(Form::Text, accepts, |own, value| put(own, text(value)))
}

/// A path, relative to the file.
pub(super) const fn path(accepts: &'static str) -> Row<Option<PathBuf>> {
    Row::new(Form::Text, accepts, |own, value| {
        put(own, text(value).map(|path| Some(path.into())))
    })
}

/// A folder, relative to the project.
pub(super) const fn folder(accepts: &'static str) -> Row<Option<String>> {
    Row::new(Form::Text, accepts, |own, value| {
        put(own, text(value).filter(|path| !path.is_empty()).map(Some))
    })
}

/// A URL to which secrets can be sent.
pub(super) const fn url(accepts: &'static str) -> Row<Option<String>> {
    Row::new(Form::Text, accepts, |own, value| {
        put(own, address(value).map(Some))
    })
}

/// The URL that is checked for new models.
pub(super) const fn refresh(accepts: &'static str) -> Row<Option<String>> {
    Row::new(Form::FlagOrText, accepts, |own, value| {
        *own = match value.as_bool() {
            Some(is_on) => is_on.then(|| SOURCE.to_owned()),
            None => Some(address(value)?),
        };
        Some(())
    })
}

/// A whole number.
pub(super) const fn number<T, const LEAST: u64>(accepts: &'static str) -> Row<T>
where
    T: TryFrom<u64> + Clone + PartialEq,
{
    Row::new(Form::Number(LEAST), accepts, |own, value| {
        let number = whole(value).filter(|number| *number >= LEAST)?;
        put(own, T::try_from(number).ok())
    })
}

/// A whole number from 0 to 100.
pub(super) const fn percentage(accepts: &'static str) -> Row<u64> {
    Row::new(Form::Number(0), accepts, |own, value| {
        put(own, whole(value).filter(|percent| *percent <= 100))
    })
}

/// Kilobytes of an output.
pub(super) const fn kilobytes<const MOST: u64>(accepts: &'static str) -> Row<u64> {
    Row::new(Form::Number(1), accepts, |own, value| {
        put(own, whole(value).filter(|size| (1..=MOST).contains(size)))
    })
}

/// A limit of a budget; 0 for none.
pub(super) const fn limit(accepts: &'static str) -> Row<Option<u64>> {
    Row::new(Form::Number(0), accepts, |own, value| {
        put(own, whole(value).map(Some))?;
        *own = own.filter(|limit| *limit > 0);
        Some(())
    })
    .project(Project::Stricter)
    .safety(Safety::None, lower)
}

/// A limit of costs; 0 for none.
pub(super) const fn cost_limit(accepts: &'static str) -> Row<Option<f64>> {
    Row::new(Form::Amount, accepts, |own, value| {
        let amount = match value {
            DeValue::Float(amount) => amount.as_str().parse().ok()?,
            value => u32::try_from(whole(value)?).ok()?.into(),
        };
        *own = Some(amount).filter(|amount| *amount > 0.0);
        (0.0..=1e9).contains(&amount).then_some(())
    })
    .project(Project::Stricter)
    .safety(Safety::None, lower)
}

/// The lower of two limits.
#[expect(
    clippy::ref_option,
    reason = "the rows of all types have functions of this form"
)]
fn lower<T: PartialOrd + Copy>(own: &mut Option<T>, other: &Option<T>) {
    if other.is_some() && (own.is_none() || other < own) {
        *own = *other;
    }
}

/// A list of texts.
pub(super) const fn texts(accepts: &'static str) -> Row<Vec<String>> {
    Row::new(Form::Texts, accepts, |own, value| put(own, list(value)))
}

const RULES: &str = "a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]";

/// Rules that allow: those of several files are added.
pub(super) const ALLOWING_RULES: Row<Vec<String>> =
    Row::new(Form::Texts, RULES, |own: &mut Vec<String>, value| {
        let rules = list(value)?;
        // Commands reach the hosts of `sandbox_network`.
        let allows = |rule: Rule| !rule.is_network();
        let are_valid = rules
            .iter()
            .all(|rule| Rule::parse(rule).is_some_and(allows));
        own.extend(are_valid.then_some(rules)?);
        Some(())
    })
    .safety(Safety::Allows(Some(Vec::clear)), common);

/// Rules that restrict: the rules of several files are added, and an invalid list still adds its valid rules.
pub(super) const RESTRICTING_RULES: Row<Vec<String>> =
    Row::new(Form::Texts, RULES, |own: &mut Vec<String>, value| {
        let list = value.as_array()?;
        let texts = list.iter().filter_map(|rule| rule.get_ref().as_str());
        let valid = texts.filter(|rule| Rule::parse(rule).is_some());
        let before = own.len();
        own.extend(valid.map(str::to_owned));
        (own.len() - before == list.len()).then_some(())
    })
    .project(Project::Stricter)
    .safety(Safety::Restricts(None), |own, others| {
        let missing = others.iter().filter(|rule| !own.contains(rule));
        let missing: Vec<String> = missing.cloned().collect();
        own.extend(missing);
    });

/// Removes the entries that are not in both lists.
#[expect(
    clippy::ptr_arg,
    reason = "the rows of all types have functions of this form"
)]
fn common(own: &mut Vec<String>, others: &Vec<String>) {
    own.retain(|entry| others.contains(entry));
}

/// A list of things that the user allows.
pub(super) const fn allowed(accepts: &'static str) -> Row<Vec<String>> {
    texts(accepts)
        .project(Project::Nothing)
        .safety(Safety::Allows(Some(Vec::clear)), common)
}

/// A list of hosts that the user allows.
pub(super) const fn allowed_hosts(accepts: &'static str) -> Row<Vec<String>> {
    let mut row = allowed(accepts);
    row.read = |own, value| put(own, hosts(value));
    row
}

/// Everything, nothing, or a list of hosts.
pub(super) const fn network(accepts: &'static str) -> Row<NetworkAccess> {
    Row::new(Form::FlagOrTexts, accepts, |own, value| {
        let all = value.as_bool().map(NetworkAccess::from);
        put(own, all.or_else(|| hosts(value).map(NetworkAccess::Hosts)))
    })
    .project(Project::Stricter)
    .safety(
        Safety::Allows(Some(|own| *own = NetworkAccess::Off)),
        |own, other| *own = std::mem::take(own).and(other),
    )
}

/// How the tool `web_search` searches: only the user decides where questions are sent.
pub(super) const fn web_search(accepts: &'static str) -> Row<WebSearch> {
    Row::new(Form::Text, accepts, |own, value| {
        *own = match value.as_str()? {
            "auto" => WebSearch::Auto,
            "provider" => WebSearch::Provider,
            "off" => WebSearch::Off,
            "searxng" => return None,
            name => match ServiceKind::from_name(name) {
                Some(kind) => WebSearch::Service(kind),
                None => WebSearch::Searxng(address(value)?),
            },
        };
        Some(())
    })
    .project(Project::Nothing)
}

/// Parts of the footer; each is used once.
pub(super) const PARTS: Row<Vec<FooterPart>> = Row::new(Form::Parts, "", |own, value| {
    let names = list(value)?;
    let mut parts = Vec::with_capacity(names.len());
    for name in &names {
        let part = FooterPart::from_name(name)?;
        if parts.contains(&part) {
            return None;
        }
        parts.push(part);
    }
    put(own, Some(parts))
});

/// Options by model.
pub(super) const fn model_options(accepts: &'static str) -> Row<Vec<ModelOptions>> {
    Row::new(Form::ModelTables, accepts, |own, value| {
        let options = tables::<TuningChange>(value)?.into_iter();
        *own = options
            .map(|(models, change)| ModelOptions { models, change })
            .collect();
        Some(())
    })
}

/// Language servers by name.
pub(super) const fn language_servers(accepts: &'static str) -> Row<Vec<LanguageServer>> {
    Row::new(Form::ServerTables, accepts, |own, value| {
        let servers = tables::<LanguageServer>(value)?.into_iter();
        *own = servers
            .map(|(name, server)| LanguageServer { name, ..server })
            .collect();
        Some(())
    })
}

fn put<T>(own: &mut T, value: Option<T>) -> Option<()> {
    *own = value?;
    Some(())
}

fn text(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn list(value: &DeValue<'_>) -> Option<Vec<String>> {
    let list = value.as_array()?;
    list.iter().map(|value| text(value.get_ref())).collect()
}

/// A whole number from 0.
fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn address(value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str()?.trim().trim_end_matches('/');
    is_safe(text).then(|| text.to_owned())
}

fn hosts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let hosts = list(value)?;
    let are_valid = hosts.iter().all(|host| HostRule::parse(host).is_ok());
    are_valid.then_some(hosts)
}

/// A table of tables with their names.
fn tables<T: DeserializeOwned>(value: &DeValue<'_>) -> Option<Vec<(String, T)>> {
    let tables = value.as_table()?.iter().map(|(name, table)| {
        let table = Spanned::new(table.span(), table.get_ref().clone());
        let table = T::deserialize(table.into_deserializer()).ok()?;
        Some((name.get_ref().to_string(), table))
    });
    tables.collect()
}
