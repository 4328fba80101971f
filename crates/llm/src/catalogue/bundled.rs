//! The bundled table of models. `scripts/bundle-models.mjs` generates it from published data; its first lines
//! name the source and the date, `NOTICE.md` the licence.
//!
//! The section of a provider is parsed on first use, because most runs need one model of one provider. Each
//! line is one of: `#` a comment; `@` a set of `Compat` fields, numbered from 0; `[NAME]` a provider; `=API
//! [URL]` a wire format and base URL of some of its models, numbered from 0; a model. The columns of a model
//! are id, name (default: the id), base URL (default: the provider's), context window, output limit, thinking
//! levels (indices of `ThinkingLevel::ALL`), `i` for images, prices (`INPUT OUTPUT CACHE_READ CACHE_WRITE`,
//! then `|ABOVE` and four prices per tier), compat.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::{Map, Value};

use super::models_file;
use super::providers::{PROVIDERS, ProviderEntry, ProviderRow};
use crate::model::{Api, Compat, Modality, Model, ThinkingLevel};
use crate::tuning::Tuning;
use crate::usage::{Price, PriceTier, Tiers};

const TABLE: &str = include_str!("bundled.txt");

type Unchanged = (ProviderEntry, Vec<Arc<Model>>);

/// The entries and models of providers without configuration, by index in `PROVIDERS`. They are parsed on
/// first use and shared by all catalogues of the process.
static UNCHANGED: LazyLock<Vec<OnceLock<Unchanged>>> =
    LazyLock::new(|| PROVIDERS.iter().map(|_| OnceLock::new()).collect());

/// The bundled models of `entry`, preferred first. They are shared if `entry` is not configured differently.
pub(super) fn models(entry: &ProviderEntry) -> Vec<Arc<Model>> {
    let mut rows = PROVIDERS.iter().zip(UNCHANGED.iter());
    let Some((row, unchanged)) = rows.find(|(row, _)| row.name == entry.name) else {
        return Vec::new();
    };
    let (plain, models) = unchanged.get_or_init(|| {
        let plain = ProviderEntry::from(row);
        let models = read(row, &plain);
        (plain, models)
    });
    if entry.has_same_connection(plain) {
        models.clone()
    } else {
        read(row, entry)
    }
}

fn read(row: &ProviderRow, entry: &ProviderEntry) -> Vec<Arc<Model>> {
    let mut section = Section::new(entry);
    // Invalid lines and models are skipped; tests check that there are none.
    let listed = lines(&entry.name).filter_map(|line| section.parse_line(line));
    let own = row.models.iter();
    let own = own.filter_map(|model| models_file::model(model, entry).0);
    listed.chain(own).map(Arc::new).collect()
}

/// The lines of a provider's section.
fn lines(provider: &str) -> impl Iterator<Item = &'static str> {
    let start = TABLE.find(&format!("\n[{provider}]\n"));
    let part = start.map_or("", |at| &TABLE[at + 1..]);
    part.lines()
        .skip(1)
        .take_while(|line| !line.starts_with('['))
}

/// The state while a section is parsed.
struct Section<'a> {
    entry: &'a ProviderEntry,
    endpoints: Vec<(Api, &'static str)>,
    /// `Compat` sets of the section by their number in the table, merged with the provider's own.
    compats: HashMap<&'static str, Compat>,
}

impl<'a> Section<'a> {
    fn new(entry: &'a ProviderEntry) -> Self {
        Self {
            entry,
            endpoints: Vec::new(),
            compats: HashMap::new(),
        }
    }

    fn parse_line(&mut self, line: &'static str) -> Option<Model> {
        if let Some(endpoint) = line.strip_prefix('=') {
            let (api, url) = endpoint.split_once(' ').unwrap_or((endpoint, ""));
            self.endpoints.push((Api::from_name(api)?, url));
            return None;
        }
        let mut columns = line.split('\t');
        let id = columns.next()?;
        let name = columns.next().filter(|name| !name.is_empty());
        let (api, base_url) = self.endpoint(columns.next()?)?;
        let context_window = columns.next()?.parse().ok()?;
        let max_tokens = columns.next()?.parse().ok()?;
        let thinking_levels = levels(columns.next()?)?;
        let mut input = match columns.next()? {
            "i" => vec![Modality::Text, Modality::Image],
            _ => vec![Modality::Text],
        };
        input.extend_from_slice(files(api, id, input.len() > 1));
        let price = price(columns.next()?)?;
        let compat = self.compat(columns.next()?)?;
        Some(Model {
            provider: self.entry.name.clone(),
            id: id.to_owned(),
            name: name.unwrap_or(id).to_owned(),
            api,
            base_url,
            context_window,
            max_tokens,
            thinking_levels,
            input,
            price,
            headers: self.entry.headers.clone(),
            compat,
            tuning: Tuning::of(id),
        })
    }

    fn endpoint(&self, index: &str) -> Option<(Api, String)> {
        let own = &self.entry.base_url;
        if index.is_empty() {
            return Some((self.entry.api, own.clone()));
        }
        let (api, url) = *self.endpoints.get(index.parse::<usize>().ok()?)?;
        let url = if url.is_empty() { own.as_str() } else { url };
        Some((api, url.to_owned()))
    }

    fn compat(&mut self, index: &'static str) -> Option<Compat> {
        if index.is_empty() {
            return Some(self.entry.compat.clone());
        }
        if let Some(merged) = self.compats.get(index) {
            return Some(merged.clone());
        }
        let mut changes = TABLE.lines().filter_map(|line| line.strip_prefix('@'));
        let change = changes.nth(index.parse().ok()?)?;
        let mut merged = self.entry.compat.clone();
        for (key, value) in serde_json::from_str::<Map<String, Value>>(change).ok()? {
            merged.set(&key, value).ok()?;
        }
        self.compats.insert(index, merged.clone());
        Some(merged)
    }
}

fn levels(digits: &str) -> Option<Vec<ThinkingLevel>> {
    let level = |digit: char| {
        let index = usize::try_from(digit.to_digit(10)?).ok()?;
        ThinkingLevel::ALL.get(index).copied()
    };
    digits.chars().map(level).collect()
}

fn price(column: &str) -> Option<Price> {
    let mut parts = column.split('|');
    let [input, output, cache_read, cache_write] = numbers(parts.next()?)?;
    let tiers: Option<Vec<PriceTier>> = parts.map(tier).collect();
    Some(Price {
        input,
        output,
        cache_read,
        cache_write,
        tiers: Tiers::try_from(tiers?).ok()?,
    })
}

fn tier(column: &str) -> Option<PriceTier> {
    let (above, prices) = column.split_once(' ')?;
    let [input, output, cache_read, cache_write] = numbers(prices)?;
    Some(PriceTier {
        input_tokens_above: above.parse().ok()?,
        input,
        output,
        cache_read,
        cache_write,
    })
}

fn numbers(column: &str) -> Option<[f64; 4]> {
    let numbers: Vec<f64> = column
        .split(' ')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// The recordings and documents that a model accepts. The table lacks them: by the documentation of
/// Anthropic, Google and OpenAI, all models of these families that accept images also accept them.
fn files(api: Api, id: &str, sees: bool) -> &'static [Modality] {
    use Modality::{Audio, Pdf};
    let family = |name: &str| sees && id.contains(name);
    match api {
        Api::GoogleGenerativeAi if family("gemini") => &[Audio, Pdf],
        Api::AnthropicMessages | Api::BedrockConverse if family("claude") => &[Pdf],
        Api::OpenaiResponses if family("gpt-") => &[Pdf],
        Api::OpenaiChatCompletions if id.contains("gpt-audio") || id.contains("gpt-4o-audio") => {
            &[Audio]
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENROUTER: &[&str] = &[
        "unbiased/pareto-26.10-preview",
        "thinkingmachines/inkling-2-small",
        "tencent/hy4-flash",
        "qwen/qwen4-max",
        "particle-ai/particle-1:free",
        "openai/gpt-6.2-sol:batch",
        "openai/gpt-6.2-sol-pro:batch",
        "openai/gpt-6.2-sol-pro",
        "openai/gpt-6.2-sol",
        "openai/gpt-6.2-astra:batch",
        "openai/gpt-6.2-astra-pro:batch",
        "openai/gpt-6.2-astra-pro",
        "openai/gpt-6.2-astra",
        "motif-technologies/motif-3",
        "moonshotai/kimi-k3.1-pro:batch",
        "meta-llama/llama-3.1-70b-instruct",
        "kt/midm-k-3.0-pro",
        "inclusionai/ling-3.2-flash:free",
        "google/gemini-4-neon:batch",
        "google/gemini-4-neon",
        "google/gemini-4-hydrogen:batch",
        "google/gemini-4-hydrogen",
        "google/gemini-4-carbon:batch",
        "google/gemini-4-carbon",
        "baidu/ernie-light-dt-1.0-intl",
        "baidu/ernie-5.5-flash-preview:free",
    ];
    const VERCEL: &[&str] = &[
        "thinkingmachines/inkling-2-small",
        "tencent/hy4-flash",
        "recursive/flint-v1.0",
        "paperinstruments/ultramarine-1-flash",
        "openai/gpt-6.2-sol-fast",
        "openai/gpt-6.2-sol",
        "openai/gpt-6.2-astra-fast",
        "openai/gpt-6.2-astra",
        "google/gemini-4-neon",
        "google/gemini-4-hydrogen",
        "google/gemini-4-carbon",
        "alibaba/qwen4-max",
        "alibaba/qwen3.6-35b-a3b",
    ];
    const HUGGING_FACE: &[&str] = &[
        "zai-org/GLM-4.6V",
        "zai-org/GLM-4.5",
        "thinkingmachines/Inkling-2-Small",
        "tencent/Hy4-flash",
        "Qwen/Qwen3-30B-A3B-Instruct-2507",
        "moonshotai/Kimi-K3.1-Pro",
        "meta-llama/Llama-3.2-3B-Instruct",
        "meta-llama/Llama-3.2-1B-Instruct",
        "meta-llama/Llama-3.1-70B-Instruct",
    ];
    const XIAOMI: &[&str] = &["mimo-v2.6-pro", "mimo-v2.6-flash"];

    fn all() -> Vec<Arc<Model>> {
        let entries = PROVIDERS.iter().map(ProviderEntry::from);
        entries.flat_map(|entry| models(&entry)).collect()
    }

    #[test]
    fn every_line_is_valid() {
        let entries: Vec<ProviderEntry> = PROVIDERS.iter().map(ProviderEntry::from).collect();
        let named = TABLE.lines().filter_map(|line| line.strip_prefix('['));
        for name in named {
            let name = name.trim_end_matches(']');
            assert!(entries.iter().any(|entry| entry.name == name), "{name}");
        }
        for entry in &entries {
            let mut section = Section::new(entry);
            for line in lines(&entry.name) {
                let model = section.parse_line(line);
                assert_eq!(model.is_some(), !line.starts_with('='), "{line}");
            }
        }
        let header = TABLE.lines().next().unwrap();
        let own = PROVIDERS.iter().flat_map(|row| &row.models).count();
        assert_eq!(
            header.split(' ').nth(1).unwrap(),
            (all().len() - own).to_string(),
            "{header}"
        );
    }

    #[test]
    fn models_in_the_rows_of_providers_are_valid_and_not_in_the_table() {
        for row in PROVIDERS.iter() {
            let entry = ProviderEntry::from(row);
            for value in &row.models {
                let (model, warnings) = models_file::model(value, &entry);
                assert_eq!((model.is_some(), warnings), (true, vec![]), "{value}");
            }
        }
    }

    /// Models that were published shortly before the table was generated; each is listed by its own
    /// provider and by no other.
    #[test]
    fn recent_models_and_plans_have_their_own_rows() {
        let expected: &[(&str, &[&str])] = &[
            ("openai", &["gpt-6.2-sol", "gpt-6.2-astra", "gpt-6-cyber"]),
            ("azure", &["gpt-6.2-sol", "gpt-6.2-astra", "gpt-6-cyber"]),
            (
                "bedrock",
                &[
                    "us.openai.gpt-6.2-sol",
                    "us.openai.gpt-6.2-astra",
                    "openai.gpt-6.2-sol",
                    "openai.gpt-6.2-astra",
                    "global.openai.gpt-6.2-sol",
                    "global.openai.gpt-6.2-astra",
                ],
            ),
            (
                "google",
                &[
                    "gemini-4-argon",
                    "gemini-4-neon",
                    "gemini-4-hydrogen",
                    "gemini-4-carbon",
                ],
            ),
            (
                "google-vertex",
                &[
                    "gemini-robotics-er-2-preview",
                    "gemini-4-neon",
                    "gemini-4-hydrogen",
                    "gemini-4-carbon",
                ],
            ),
            (
                "github-copilot",
                &[
                    "mai-code-2-flash",
                    "mai-code-2",
                    "gpt-6.2-sol",
                    "gpt-6.2-astra",
                    "gemini-4-neon",
                    "gemini-4-hydrogen",
                    "gemini-4-carbon",
                    "claude-fable-5.2",
                ],
            ),
            ("openrouter", OPENROUTER),
            ("vercel", VERCEL),
            ("huggingface", HUGGING_FACE),
            ("opencode-go", &["qwen4-max"]),
            (
                "cloudflare-ai-gateway",
                &[
                    "claude-opus-5-5",
                    "gpt-6.2-sol",
                    "workers-ai/@cf/zai-org/glm-5.3",
                ],
            ),
            ("qwen", &["qwen4-max-preview"]),
            ("qwen-token-plan-cn", &["qwen4-max-preview"]),
            ("qwen-token-plan-individual", &["qwen4-max-preview"]),
            ("qwen-token-plan-individual-cn", &["qwen4-max-preview"]),
            ("xiaomi-token-plan-cn", XIAOMI),
            ("xiaomi-token-plan-sgp", XIAOMI),
            ("xiaomi-token-plan-ams", XIAOMI),
        ];
        let catalogue = crate::Catalogue::default();
        for (provider, ids) in expected {
            for id in *ids {
                let name = format!("{provider}/{id}");
                let found = catalogue.find(&name, &|_| true).unwrap();
                let model = (found.model.reference(), found.listed);
                assert_eq!(model, (name, true));
            }
        }
    }

    #[test]
    fn table_is_complete() {
        let models = all();
        assert!(models.len() > 1000, "{}", models.len());
        let mut references: Vec<String> = models.iter().map(|model| model.reference()).collect();
        references.sort();
        let count = references.len();
        references.dedup();
        assert_eq!(references.len(), count);
        for model in &models {
            assert!(model.max_tokens * 2 <= model.context_window, "{}", model.id);
            assert!(!model.thinking_levels.is_empty() && model.thinking_levels.is_sorted());
            assert!(model.input.contains(&Modality::Text));
        }
        // The first lines contain the source and the date.
        let source: String = TABLE
            .lines()
            .take_while(|line| line.starts_with('#'))
            .collect();
        assert!(source.contains(" models. Facts from npm "), "{source}");
        let (_, taken) = source.split_once("; taken ").unwrap();
        let date: jiff::civil::Date = taken[..10].parse().unwrap();
        assert!(date.year() >= 2026 && source.contains("MIT"), "{source}");
        let count = |fits: fn(&Model) -> bool| models.iter().filter(|model| fits(model)).count();
        assert!(count(|model| model.price.cache_read > 0.0) > 500);
        assert!(count(|model| !model.price.tiers.is_empty()) > 100);
        assert!(count(Model::can_think) > 700);
        assert!(count(|model| model.accepts(crate::Modality::Image)) > 700);
    }

    #[test]
    fn models_of_unconfigured_providers_are_shared() {
        let row = &PROVIDERS[0];
        let (plain, mut elsewhere) = (ProviderEntry::from(row), ProviderEntry::from(row));
        let (one, other) = (models(&plain), models(&plain));
        assert!(
            one.iter()
                .zip(&other)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
        elsewhere.base_url = "http://127.0.0.1:1".to_owned();
        assert_eq!(models(&elsewhere)[0].base_url, elsewhere.base_url);
        assert_eq!(models(&plain)[0].base_url, plain.base_url);
    }

    #[test]
    fn prices_and_limits_are_plausible() {
        for model in all() {
            let (name, price) = (model.reference(), &model.price);
            assert!(
                model.context_window >= 1024 && model.context_window <= 100_000_000,
                "{name}"
            );
            assert!(model.max_tokens > 0, "{name}");
            let base = price.of_prompt(0);
            let mut before = 0;
            for rates in std::iter::once(&base).chain(price.tiers.iter()) {
                let all = [
                    rates.input,
                    rates.output,
                    rates.cache_read,
                    rates.cache_write,
                ];
                let sound = all.iter().all(|rate| (0.0..1000.0).contains(rate));
                assert!(sound, "{name}: {rates:?}");
                // If another model violates this, add it to the exceptions.
                let is_odd = name == "openrouter/~deepseek/deepseek-pro-latest";
                assert!(
                    rates.cache_read <= rates.input || is_odd,
                    "{name}: {rates:?}"
                );
                assert!(rates.input_tokens_above >= before, "{name}: {rates:?}");
                before = rates.input_tokens_above + 1;
            }
        }
    }

    #[test]
    fn model_has_every_column_of_its_line() {
        let entry = PROVIDERS
            .iter()
            .find(|row| row.name == "anthropic")
            .unwrap();
        let models = models(&ProviderEntry::from(entry));
        let haiku = models
            .iter()
            .find(|model| model.id == "claude-haiku-5-5")
            .unwrap();
        let tier = PriceTier {
            input_tokens_above: 100_000,
            input: 0.5,
            output: 2.5,
            cache_read: 0.05,
            cache_write: 0.625,
        };
        let mut levels = ThinkingLevel::ALL.to_vec();
        levels.remove(1);
        let expected = Model {
            provider: "anthropic".to_owned(),
            id: "claude-haiku-5-5".to_owned(),
            name: "Claude Haiku 5.5".to_owned(),
            api: Api::AnthropicMessages,
            base_url: "https://api.anthropic.com".to_owned(),
            context_window: 1_000_000,
            max_tokens: 128_000,
            thinking_levels: levels,
            input: vec![Modality::Text, Modality::Image, Modality::Pdf],
            price: Price {
                input: 0.1,
                output: 0.5,
                cache_read: 0.01,
                cache_write: 0.125,
                tiers: Tiers::try_from(vec![tier]).unwrap(),
            },
            headers: std::collections::BTreeMap::new(),
            compat: Compat {
                anthropic_version: Some("2026-10-21".to_owned()),
                adaptive_thinking: true,
                bound_thinking: true,
                hosted_search: true,
                ..Compat::default()
            },
            tuning: Tuning::default(),
        };
        assert_eq!(**haiku, expected);
    }
}
