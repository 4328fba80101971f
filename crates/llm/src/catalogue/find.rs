//! Finds models by what the user types: `PROVIDER/ID[:LEVEL]`, a part of a name, or a glob.
//!
//! An exact name has precedence, so that ids can contain colons and slashes. A part of a name selects a model
//! that can be called, and among those the first of the table, which is the newest. An unknown id of a known
//! provider is accepted, unless it looks like a typing error.

use osier_base::sort;
use std::cmp::Reverse;
use std::sync::Arc;

use thiserror::Error;

use super::Catalogue;
use super::models_file::unlisted;
use crate::model::{Api, Model, ThinkingLevel};

/// Minimum similarity of a name that is suggested instead, in percent.
const SUGGESTED_SIMILARITY: usize = 35;
/// Minimum similarity of a name that counts as a typing error, in percent.
const TYPING_ERROR_SIMILARITY: usize = 80;
const NEAR_COUNT: usize = 3;

/// The model for a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub model: Arc<Model>,
    /// The level in the name; not clamped.
    pub level: Option<ThinkingLevel>,
    /// False when only the id of the model is known.
    pub listed: bool,
}

/// No model has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FindError {
    #[error("unknown model `{wanted}`{}", near_text(near))]
    Unknown { wanted: String, near: Vec<String> },
    #[error("`{level}` is not a thinking level (off, minimal, low, medium, high, xhigh, max)")]
    Level { level: String },
    #[error("the model name is empty")]
    Empty,
}

fn near_text(near: &[String]) -> String {
    match near.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean `{only}`?"),
        Some((last, others)) => format!("; did you mean `{}` or `{last}`?", others.join("`, `")),
    }
}

impl Catalogue {
    /// Finds the model with the name `wanted`. `preferred` returns whether a model can be called.
    pub fn find(
        &self,
        wanted: &str,
        preferred: &dyn Fn(&Model) -> bool,
    ) -> Result<Found, FindError> {
        let wanted = wanted.trim();
        if wanted.is_empty() {
            return Err(FindError::Empty);
        }
        // An exact name is found without parsing the complete table.
        let (name, level) = split_level(wanted);
        if let Some(model) = self.get(wanted) {
            return Ok(found(model, None));
        }
        if let Some(model) = self.get(name) {
            return Ok(found(model, level));
        }
        // A script name has precedence over similar names.
        if let Some(model) = self.script(name) {
            return Ok(Found {
                model: Arc::new(model),
                level,
                listed: false,
            });
        }
        if let Some(model) = self.exact(wanted, preferred) {
            return Ok(found(model, None));
        }
        if level.is_some()
            && let Some(model) = self.exact(name, preferred)
        {
            return Ok(found(model, level));
        }
        if let Some((base, tail)) = wanted.rsplit_once(':')
            && level.is_none()
            && self.exact(base, preferred).is_some()
        {
            return Err(FindError::Level {
                level: tail.to_owned(),
            });
        }
        if let Some(model) = self.ranked(name, preferred).into_iter().next() {
            return Ok(found(model, level));
        }
        let near = self.near(name);
        if let Some(model) = self.unlisted(name, &near) {
            let model = Arc::new(model);
            return Ok(Found {
                model,
                level,
                listed: false,
            });
        }
        Err(FindError::Unknown {
            wanted: wanted.to_owned(),
            near: near.into_iter().map(|(_, reference)| reference).collect(),
        })
    }

    /// The models of a list such as `a,b,glob*`, without duplicates, in the order of the list.
    pub fn select(
        &self,
        patterns: &str,
        preferred: &dyn Fn(&Model) -> bool,
    ) -> Result<Vec<Found>, FindError> {
        let mut selected: Vec<Found> = Vec::new();
        for pattern in patterns
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let matched = if pattern.contains(['*', '?']) {
                self.matching(pattern)?
            } else {
                vec![self.find(pattern, preferred)?]
            };
            for new in matched {
                if !selected.iter().any(|have| have.model == new.model) {
                    selected.push(new);
                }
            }
        }
        if selected.is_empty() {
            return Err(FindError::Empty);
        }
        Ok(selected)
    }

    /// The models whose name contains every word of `search`, best match first; all models for an empty
    /// search.
    pub fn search(&self, search: &str, preferred: &dyn Fn(&Model) -> bool) -> Vec<Arc<Model>> {
        match search.trim() {
            "" => self.list().to_vec(),
            search => self
                .ranked(search, preferred)
                .into_iter()
                .cloned()
                .collect(),
        }
    }

    fn matching(&self, pattern: &str) -> Result<Vec<Found>, FindError> {
        let (glob, level) = split_level(pattern);
        let glob = glob.to_lowercase();
        let fits = |model: &&Arc<Model>| {
            is_match(&glob, &model.reference().to_lowercase())
                || is_match(&glob, &model.id.to_lowercase())
        };
        let matched: Vec<Found> = self
            .list()
            .iter()
            .filter(fits)
            .map(|model| found(model, level))
            .collect();
        if matched.is_empty() {
            return Err(FindError::Unknown {
                wanted: pattern.to_owned(),
                near: Vec::new(),
            });
        }
        Ok(matched)
    }

    /// Finds `PROVIDER/ID` or an id. Of several models, the first that can be called is used.
    fn exact(&self, name: &str, preferred: &dyn Fn(&Model) -> bool) -> Option<&Arc<Model>> {
        if let Some(model) = self.get(name) {
            return Some(model);
        }
        let named = || self.list().iter().filter(|model| model.id == name);
        named()
            .find(|model| preferred(model))
            .or_else(|| named().next())
    }

    fn ranked(&self, name: &str, preferred: &dyn Fn(&Model) -> bool) -> Vec<&Arc<Model>> {
        let name = name.to_lowercase();
        let words: Vec<&str> = words(&name).collect();
        if words.is_empty() {
            return Vec::new();
        }
        let texts = self.list().iter().zip(self.texts());
        let mut ranked: Vec<&Arc<Model>> = texts
            .filter(|(_, text)| words.iter().all(|word| text.contains(word)))
            .map(|(model, _)| model)
            .collect();
        // The sort is stable: equal models keep the order of the table.
        sort::by_key(&mut ranked, |model| {
            let contains_name = model.reference().to_lowercase().contains(&name);
            let of_named = name
                .split_once('/')
                .is_some_and(|(of, _)| of == model.provider);
            Reverse((of_named, preferred(model), contains_name))
        });
        ranked
    }

    /// The model for an unknown id of a known provider.
    fn unlisted(&self, name: &str, near: &[(usize, String)]) -> Option<Model> {
        let (provider, id) = name.split_once('/')?;
        let entry = self.provider(provider).filter(|_| !id.is_empty())?;
        let own = |reference: &str| {
            reference
                .split_once('/')
                .is_some_and(|(of, _)| of == provider)
        };
        let error = near.iter().any(|(similarity, reference)| {
            *similarity >= TYPING_ERROR_SIMILARITY && own(reference)
        });
        (!error && entry.api != Api::Scripted).then(|| self.with_options_of(unlisted(entry, id)))
    }

    /// `script/FILE`.
    fn script(&self, name: &str) -> Option<Model> {
        let (provider, file) = name.split_once('/')?;
        let entry = self.provider(provider).filter(|_| !file.is_empty())?;
        (entry.api == Api::Scripted && provider == "script")
            .then(|| self.with_options_of(unlisted(entry, file)))
    }

    fn with_options_of(&self, model: Model) -> Model {
        let mut model = Arc::new(model);
        self.change_options(&mut model);
        Arc::unwrap_or_clone(model)
    }

    /// The names most similar to `name`, with their similarity.
    fn near(&self, name: &str) -> Vec<(usize, String)> {
        let name = name.to_lowercase();
        let mut near: Vec<(usize, String)> = self
            .list()
            .iter()
            .map(|model| {
                let reference = model.reference();
                let alike = similarity(&name, &reference.to_lowercase());
                (
                    alike.max(similarity(&name, &model.id.to_lowercase())),
                    reference,
                )
            })
            .filter(|(alike, _)| *alike >= SUGGESTED_SIMILARITY)
            .collect();
        // Models of the provider in the name have precedence.
        let of_named = |reference: &str| {
            let (of, _) = reference.split_once('/').unwrap_or_default();
            name.split_once('/').is_some_and(|(named, _)| named == of)
        };
        sort::by_key(&mut near, |(alike, reference)| {
            Reverse((of_named(reference), *alike))
        });
        near.truncate(NEAR_COUNT);
        near
    }
}

fn found(model: &Arc<Model>, level: Option<ThinkingLevel>) -> Found {
    Found {
        model: Arc::clone(model),
        level,
        listed: true,
    }
}

/// Splits `name:LEVEL` if the part after the last colon is a level.
fn split_level(name: &str) -> (&str, Option<ThinkingLevel>) {
    match name.rsplit_once(':') {
        Some((base, tail)) => match ThinkingLevel::from_name(tail) {
            Some(level) => (base, Some(level)),
            None => (name, None),
        },
        None => (name, None),
    }
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|char: char| char.is_whitespace() || "/-_.:".contains(char))
        .filter(|word| !word.is_empty())
}

/// Dice's coefficient of character pairs, in percent.
fn similarity(one: &str, other: &str) -> usize {
    let pairs =
        |text: &str| -> Vec<(char, char)> { text.chars().zip(text.chars().skip(1)).collect() };
    let (one, mut other) = (pairs(one), pairs(other));
    let total = one.len() + other.len();
    if total == 0 {
        return 0;
    }
    let shared = one
        .iter()
        .filter(|pair| match other.iter().position(|have| have == *pair) {
            Some(at) => {
                other.swap_remove(at);
                true
            }
            None => false,
        })
        .count();
    shared * 200 / total
}

/// Whether `glob` matches `text` completely. `*` matches any text and `?` any character.
pub(super) fn is_match(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut at_glob, mut at_text) = (0, 0);
    // Where to continue when the text after the last star does not match.
    let mut retry: Option<(usize, usize)> = None;
    while at_text < text.len() {
        match glob.get(at_glob) {
            Some('*') => {
                retry = Some((at_glob, at_text));
                at_glob += 1;
            }
            Some(char) if *char == '?' || *char == text[at_text] => {
                at_glob += 1;
                at_text += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    at_glob = star + 1;
                    at_text = from + 1;
                }
                None => return false,
            },
        }
    }
    glob[at_glob..].iter().all(|char| *char == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(wanted: &str, with_key: &[&str]) -> Result<(String, Option<ThinkingLevel>), String> {
        let preferred = |model: &Model| with_key.contains(&model.provider.as_str());
        Catalogue::default()
            .find(wanted, &preferred)
            .map(|found| (found.model.reference(), found.level))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn models_are_found_by_exact_and_partial_names() {
        let high = Some(ThinkingLevel::High);
        for (wanted, with_key, reference, level) in [
            (
                "anthropic/claude-opus-5",
                &[][..],
                "anthropic/claude-opus-5",
                None,
            ),
            (
                "claude-haiku-4-5:high",
                &[],
                "anthropic/claude-haiku-4-5",
                high,
            ),
            (
                "sonnet:high",
                &["anthropic"],
                "anthropic/claude-sonnet-5-5",
                high,
            ),
            (
                "Sonnet",
                &["openrouter"],
                "openrouter/anthropic/claude-sonnet-5.5",
                None,
            ),
            (
                "opus 4.8",
                &["anthropic"],
                "anthropic/claude-opus-4-8",
                None,
            ),
            (
                "anthropic/sonnet",
                &["openrouter"],
                "anthropic/claude-sonnet-5-5",
                None,
            ),
            ("gpt-oss-120b", &["together"], "cerebras/gpt-oss-120b", None),
            (
                "openai/gpt-oss-120b",
                &["together"],
                "together/openai/gpt-oss-120b",
                None,
            ),
            (
                "groq/openai/gpt-oss-120b",
                &["together"],
                "groq/openai/gpt-oss-120b",
                None,
            ),
            ("demo/tour", &["anthropic"], "demo/tour", None),
            // An unknown id of a known provider.
            (
                "anthropic/my-private-tune",
                &[],
                "anthropic/my-private-tune",
                None,
            ),
            ("ollama/qwen3:8b", &[], "ollama/qwen3:8b", None),
            ("ollama/qwen3:8b:high", &[], "ollama/qwen3:8b", high),
            ("script/tests/a b.json", &[], "script/tests/a b.json", None),
        ] {
            assert_eq!(
                find(wanted, with_key),
                Ok((reference.to_owned(), level)),
                "{wanted}"
            );
        }
    }

    #[test]
    fn not_found_error_suggests_similar_names() {
        for (wanted, expected) in [
            ("", "the model name is empty"),
            ("zzz", "unknown model `zzz`"),
            (
                "anthropic/claude-sonet-5-5",
                "unknown model `anthropic/claude-sonet-5-5`; did you mean `anthropic/claude-sonnet-5-5`, `anthropic/claude-sonnet-5` or `anthropic/claude-sonnet-4-5`?",
            ),
            (
                "claude-opus-5-5:hihg",
                "`hihg` is not a thinking level (off, minimal, low, medium, high, xhigh, max)",
            ),
        ] {
            assert_eq!(find(wanted, &[]), Err(expected.to_owned()), "{wanted}");
        }
    }

    #[test]
    fn lists_and_globs_select_each_model_once() {
        let catalogue = Catalogue::default();
        let select = |patterns: &str| -> Result<Vec<String>, FindError> {
            let found = catalogue.select(patterns, &|model| model.provider == "anthropic")?;
            let name = |found: &Found| match found.level {
                Some(level) => format!("{}:{}", found.model.reference(), level.name()),
                None => found.model.reference(),
            };
            Ok(found.iter().map(name).collect())
        };
        assert_eq!(
            select("groq/*gpt*:low, haiku-5-5 ,anthropic/claude-haiku-?-5").unwrap(),
            [
                "groq/openai/gpt-oss-120b:low",
                "groq/openai/gpt-oss-20b:low",
                "groq/openai/gpt-oss-safeguard-20b:low",
                "anthropic/claude-haiku-5-5",
                "anthropic/claude-haiku-4-5",
            ]
        );
        assert!(select("nothing*").is_err());
        assert_eq!(select(" , "), Err(FindError::Empty));
    }

    #[test]
    fn globs_match_the_complete_text() {
        for (glob, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*b*c", "axbxbyc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*", "ba", false),
            ("*sonnet*", "x/sonnet-5", true),
        ] {
            assert_eq!(is_match(glob, text), expected, "{glob} {text}");
        }
    }
}
