//! Finds models by what the user types: `PROVIDER/ID[:LEVEL]`, an id, a part of a name, or a glob.
//!
//! - `PROVIDER/ID` with a known provider is exact: it never becomes another model. An id that the catalogue does not
//!   have is sent as it is.
//! - An id alone is the model with this id; if several providers have it, the first that can be
//!   called. Ids that differ only in case and punctuation count as the same.
//! - A part of a name is the only model that can be called and whose name contains it. If several
//!   match, the error lists them.

use osier_base::sort;
use std::cmp::Reverse;
use std::sync::Arc;

use thiserror::Error;

use super::Catalogue;
use super::models_file::unlisted;
use crate::model::{Api, Model, ThinkingLevel};

/// Minimum similarity of a name that is suggested instead, in percent.
const SUGGESTED_SIMILARITY: usize = 35;
/// Minimum similarity of a text with the name of a level that counts as a typing error, in percent.
const LEVEL_SIMILARITY: usize = 60;
/// Like [`LEVEL_SIMILARITY`], if the catalogue does not have the id before the text. Servers have
/// ids such as `phi3:mini`.
const UNLISTED_SIMILARITY: usize = 80;
const NEAR_COUNT: usize = 3;
/// Maximum number of models that an error lists.
const SHOWN_FITS: usize = 12;

/// The model that was found for a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub model: Arc<Model>,
    /// The level in the name; possibly one that the model does not support.
    pub level: Option<ThinkingLevel>,
    /// False when only the id of the model is known.
    pub listed: bool,
}

/// No model has this name, or several have it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FindError {
    #[error("unknown model `{wanted}`{}", near_text(near))]
    Unknown { wanted: String, near: Vec<String> },
    #[error("`{wanted}` fits {} models: {}", fits.len(), fits_text(fits))]
    Several {
        wanted: String,
        /// The `PROVIDER/ID`s, preferred and newest first.
        fits: Vec<String>,
        /// The level in the name.
        level: Option<ThinkingLevel>,
    },
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

fn fits_text(fits: &[String]) -> String {
    let shown = &fits[..fits.len().min(SHOWN_FITS)];
    let more = match fits.len() - shown.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("`{}`{more}; use one of these names", shown.join("`, `"))
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
        if let Some(model) = self.of_provider(name)? {
            return Ok(Found {
                listed: self.get(&model.reference()).is_some(),
                model,
                level,
            });
        }
        for (name, level) in [(wanted, None), (name, level)] {
            if let Some(model) = self.with_id(name, preferred) {
                return Ok(found(model, level));
            }
        }
        if let Some((base, tail)) = wanted.rsplit_once(':')
            && is_like_level(tail, LEVEL_SIMILARITY)
            && self.with_id(base, preferred).is_some()
        {
            return Err(FindError::Level {
                level: tail.to_owned(),
            });
        }
        let fits = self.fits(name, preferred);
        match fits.as_slice() {
            [] => Err(FindError::Unknown {
                wanted: wanted.to_owned(),
                near: self.near(name),
            }),
            [only] => Ok(found(only, level)),
            several => Err(FindError::Several {
                wanted: wanted.to_owned(),
                fits: several.iter().map(|model| model.reference()).collect(),
                level,
            }),
        }
    }

    /// A line with the assumptions about a model that the catalogue does not have.
    pub fn assumptions(&self, model: &Model) -> Option<String> {
        let reference = model.reference();
        if model.api == Api::Scripted || self.get(&reference).is_some() {
            return None;
        }
        let thinking = if model.can_think() {
            "thinking"
        } else {
            "no thinking"
        };
        let images = if model.accepts(crate::Modality::Image) {
            "images"
        } else {
            "no images"
        };
        let near = match self.near(&reference) {
            near if near.is_empty() => String::new(),
            near => format!("; known models with similar names: `{}`", near.join("`, `")),
        };
        Some(format!(
            "`{reference}` is not in the catalogue: the id is sent as it is. Assumed: a context window of {} tokens, answers of \
             at most {} tokens, {thinking}, {images}, no known price{near}. `/refresh` looks for new models, `models.json` \
             describes one",
            model.context_window, model.max_tokens,
        ))
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
                match self.find(pattern, preferred) {
                    // A list contains all matching models.
                    Err(FindError::Several { fits, level, .. }) => {
                        let fits = fits.iter().filter_map(|fit| self.get(fit));
                        fits.map(|model| found(model, level)).collect()
                    }
                    one => vec![one?],
                }
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

    /// The model of a name `PROVIDER/ID` with a known provider: the listed one, or one of which
    /// only the id is known.
    fn of_provider(&self, name: &str) -> Result<Option<Arc<Model>>, FindError> {
        let Some((provider, id)) = name.split_once('/') else {
            return Ok(None);
        };
        let mut entries = self.providers().iter();
        let Some(entry) = entries.find(|entry| entry.name.eq_ignore_ascii_case(provider)) else {
            return Ok(None);
        };
        let models = self.models_of(&entry.name);
        if let Some(model) = models.iter().find(|model| model.id == id).or_else(|| {
            let mut same = models
                .iter()
                .filter(|model| model.id.eq_ignore_ascii_case(id));
            same.next().filter(|_| same.next().is_none())
        }) {
            return Ok(Some(Arc::clone(model)));
        }
        if id.is_empty() || (entry.api == Api::Scripted && entry.name != "script") {
            return Err(FindError::Unknown {
                wanted: name.to_owned(),
                near: self.near(name),
            });
        }
        if let Some((base, tail)) = id.rsplit_once(':')
            && (is_like_level(tail, UNLISTED_SIMILARITY)
                || (models.iter().any(|model| model.id == base)
                    && is_like_level(tail, LEVEL_SIMILARITY)))
        {
            return Err(FindError::Level {
                level: tail.to_owned(),
            });
        }
        let mut model = Arc::new(unlisted(entry, id, models));
        self.change_options(&mut model);
        Ok(Some(model))
    }

    /// The model with this id, or with the same id in other punctuation, if that model can be
    /// called. If several providers have it, the first that can be called.
    fn with_id(&self, name: &str, preferred: &dyn Fn(&Model) -> bool) -> Option<&Arc<Model>> {
        let exact = |model: &&Arc<Model>| model.id == name;
        let wanted = tokens(name);
        // `openai gpt-5` names the provider, not the id `openai/gpt-5` of a router.
        let first = name.split([' ', ':']).next().unwrap_or_default();
        let mut entries = self.providers().iter();
        let provider = entries.find(|entry| entry.name.eq_ignore_ascii_case(first));
        let same = |model: &&Arc<Model>| {
            !wanted.is_empty()
                && tokens(&model.id) == wanted
                && provider.is_none_or(|entry| entry.name == model.provider)
        };
        let callable = |model: &&Arc<Model>| preferred(model);
        let list = || self.list().iter();
        list()
            .filter(exact)
            .find(callable)
            .or_else(|| list().filter(callable).find(same))
            .or_else(|| list().find(exact))
            .or_else(|| list().find(same))
    }

    /// The models whose name contains each word of `name`; only those that can be called, if there are any.
    fn fits(&self, name: &str, preferred: &dyn Fn(&Model) -> bool) -> Vec<&Arc<Model>> {
        let words: Vec<Vec<String>> = name.split_whitespace().map(tokens).collect();
        let words: Vec<Vec<String>> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Vec::new();
        }
        let fits = |model: &&Arc<Model>| {
            let (reference, name) = (tokens(&model.reference()), tokens(&model.name));
            words
                .iter()
                .all(|word| has_run(&reference, word) || has_run(&name, word))
        };
        let fits: Vec<&Arc<Model>> = self.list().iter().filter(fits).collect();
        let callable: Vec<&Arc<Model>> = fits
            .iter()
            .copied()
            .filter(|model| preferred(model))
            .collect();
        if callable.is_empty() { fits } else { callable }
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

    /// The names most similar to `name`.
    fn near(&self, name: &str) -> Vec<String> {
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
        near.into_iter().map(|(_, reference)| reference).collect()
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

/// The words and numbers of a name, in lower case: `gpt`, `4`, `o` for `GPT-4o`.
fn tokens(name: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut before = None;
    for char in name.chars() {
        let kind = char.is_alphanumeric().then(|| char.is_numeric());
        if let Some(last) = tokens
            .last_mut()
            .filter(|_| kind.is_some() && kind == before)
        {
            last.extend(char.to_lowercase());
        } else if kind.is_some() {
            tokens.push(char.to_lowercase().collect());
        }
        before = kind;
    }
    tokens
}

/// Whether `wanted` is a part of `tokens`. A word of `wanted` can be the beginning of a token. A
/// number must be a complete token, and not a later number of a version: `6` is not in `4-6`.
fn has_run(tokens: &[String], wanted: &[String]) -> bool {
    let is_number = |token: &String| token.starts_with(char::is_numeric);
    let fits = |(token, wanted): (&String, &String)| {
        token == wanted || (!is_number(wanted) && token.starts_with(wanted.as_str()))
    };
    let begins_in_version =
        |at: usize| wanted.first().is_some_and(is_number) && at > 0 && is_number(&tokens[at - 1]);
    let mut runs = tokens.windows(wanted.len()).enumerate();
    runs.any(|(at, run)| !begins_in_version(at) && run.iter().zip(wanted).all(fits))
}

/// Whether `text` is a level with a typing error: at least `similarity` percent. Routers have ids such as `ID:free`.
fn is_like_level(text: &str, similarity: usize) -> bool {
    let text = text.to_lowercase();
    ThinkingLevel::ALL.iter().any(|level| {
        let mut rest: Vec<char> = level.name().chars().collect();
        let total = rest.len() + text.chars().count();
        let shared = text.chars().filter(|char| {
            let at = rest.iter().position(|have| have == char);
            at.map(|at| rest.swap_remove(at)).is_some()
        });
        shared.count() * 200 >= similarity * total
    })
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
    // The positions from which to continue when the text after the last star does not match.
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
                "Anthropic/Claude-Opus-5",
                &[],
                "anthropic/claude-opus-5",
                None,
            ),
            (
                "claude-haiku-4-5:high",
                &[],
                "anthropic/claude-haiku-4-5",
                high,
            ),
            // The same id with other punctuation.
            (
                "claude-sonnet-4.5:high",
                &["anthropic"],
                "anthropic/claude-sonnet-4-5",
                high,
            ),
            (
                "opus 4.8",
                &["anthropic"],
                "anthropic/claude-opus-4-8",
                None,
            ),
            ("gpt-oss-120b", &["together"], "cerebras/gpt-oss-120b", None),
            (
                "groq/openai/gpt-oss-120b",
                &["together"],
                "groq/openai/gpt-oss-120b",
                None,
            ),
            ("demo/tour", &["anthropic"], "demo/tour", None),
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
    fn provider_and_id_are_never_another_model() {
        let every_key = |_: &Model| true;
        let catalogue = Catalogue::default();
        for (wanted, provider, id) in [
            ("anthropic/claude-opus-6", "anthropic", "claude-opus-6"),
            (
                "anthropic/claude-sonet-5-5",
                "anthropic",
                "claude-sonet-5-5",
            ),
            ("anthropic/sonnet", "anthropic", "sonnet"),
            ("xai/grok-5", "xai", "grok-5"),
            ("openai/gpt-7", "openai", "gpt-7"),
            ("OpenAI/gpt-7:high", "openai", "gpt-7"),
            ("openai/gpt-oss-120b", "openai", "gpt-oss-120b"),
            ("google/gemini-9-pro", "google", "gemini-9-pro"),
            ("anthropic/my-private-tune", "anthropic", "my-private-tune"),
            (
                "openrouter/openai/gpt-5:nitro",
                "openrouter",
                "openai/gpt-5:nitro",
            ),
            ("ollama/llama-7", "ollama", "llama-7"),
        ] {
            let found = catalogue.find(wanted, &every_key).unwrap();
            let named = (found.model.provider.as_str(), found.model.id.as_str());
            assert_eq!((named, found.listed), ((provider, id), false), "{wanted}");
            let said = catalogue.assumptions(&found.model).unwrap();
            let start =
                format!("`{provider}/{id}` is not in the catalogue: the id is sent as it is.");
            assert!(said.starts_with(&start), "{said}");
        }
        let listed = catalogue
            .find("anthropic/claude-opus-5", &every_key)
            .unwrap();
        assert_eq!(catalogue.assumptions(&listed.model), None);
    }

    #[test]
    fn unlisted_model_is_assumed_to_be_like_its_relatives() {
        let catalogue = Catalogue::default();
        let find = |name: &str| catalogue.find(name, &|_| true).unwrap().model;
        let (new, known) = (
            find("anthropic/claude-opus-6"),
            find("anthropic/claude-opus-5-5"),
        );
        let expected = Model {
            id: "claude-opus-6".to_owned(),
            name: "claude-opus-6".to_owned(),
            price: crate::usage::Price::default(),
            ..Model::clone(&known)
        };
        assert_eq!(*new, expected);
        let strange = find("anthropic/my-private-tune");
        assert_eq!(
            (strange.context_window, strange.can_think()),
            (128_000, false)
        );
    }

    #[test]
    fn name_that_fits_several_models_is_refused_with_the_list() {
        let fits = |wanted: &str, keys: &[&str]| {
            let preferred = |model: &Model| keys.contains(&model.provider.as_str());
            match Catalogue::default().find(wanted, &preferred) {
                Err(FindError::Several { fits, level, .. }) => (fits, level),
                other => panic!("{wanted}: {other:?}"),
            }
        };
        let (sonnets, level) = fits("sonnet:high", &["anthropic"]);
        assert_eq!(level, Some(ThinkingLevel::High));
        assert_eq!(sonnets[0], "anthropic/claude-sonnet-5-5");
        assert!(
            sonnets.len() > 2
                && sonnets
                    .iter()
                    .all(|name| name.starts_with("anthropic/claude-")),
            "{sonnets:?}"
        );
        assert!(fits("Sonnet", &[]).0.len() > sonnets.len());
        let error = find("sonnet", &["anthropic"]).unwrap_err();
        let start = format!(
            "`sonnet` fits {} models: `anthropic/claude-sonnet-5-5`, `",
            sonnets.len()
        );
        assert!(
            error.starts_with(&start) && error.ends_with("; use one of these names"),
            "{error}"
        );
    }

    #[test]
    fn new_version_without_provider_is_no_older_one() {
        for wanted in [
            "claude-opus-6",
            "grok-5",
            "gpt-7",
            "stranger/gpt-7",
            "opus 6",
            "claude 6 opus",
            "grok 5",
            "grok .5",
        ] {
            let error = find(
                wanted,
                &["anthropic", "openai", "openrouter", "vercel", "xai"],
            );
            let error = error.unwrap_err();
            assert!(
                error.starts_with(&format!("unknown model `{wanted}`")),
                "{error}"
            );
        }
    }

    #[test]
    fn not_found_error_suggests_similar_names() {
        for (wanted, expected) in [
            ("", "the model name is empty"),
            ("zzz", "unknown model `zzz`"),
            (
                "claude-sonet-5-5",
                "unknown model `claude-sonet-5-5`; did you mean `anthropic/claude-sonnet-5-5`, `opencode/claude-sonnet-5-5` or `google-vertex-anthropic/claude-sonnet-5-5`?",
            ),
            (
                "claude-opus-5-5:hihg",
                "`hihg` is not a thinking level (off, minimal, low, medium, high, xhigh, max)",
            ),
            (
                "openai/gpt-77:hihg",
                "`hihg` is not a thinking level (off, minimal, low, medium, high, xhigh, max)",
            ),
            (
                "anthropic/claude-opus-5-5:hihg",
                "`hihg` is not a thinking level (off, minimal, low, medium, high, xhigh, max)",
            ),
            (
                "demo/tuor",
                "unknown model `demo/tuor`; did you mean `demo/tour`?",
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
