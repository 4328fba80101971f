//! The usage report: tokens and cost by model, by day and by tool, of one session or of all stored ones.

use osier_llm::{Price, Usage};
use serde::{Deserialize, Serialize};

use crate::tree::is_zero;
use crate::{ModelSpending, Spending};

osier_base::words! {
    /// The sessions of a usage report.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum UsageScope {
        /// The open session.
        #[default]
        Session = "session",
        /// All stored sessions.
        All = "all",
    }
}

osier_base::words! {
    /// The days of a usage report, in the time zone of the user.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum UsagePeriod {
        Today = "today",
        /// The last 7 days.
        Week = "week",
        /// The last 30 days.
        Month = "month",
        /// All days.
        #[default]
        Always = "always",
    }
}

impl UsageScope {
    /// For titles.
    pub fn title(self) -> &'static str {
        match self {
            Self::Session => "this session",
            Self::All => "all sessions",
        }
    }
}

impl UsagePeriod {
    /// For titles.
    pub fn title(self) -> &'static str {
        match self {
            Self::Today => "today",
            Self::Week => "last 7 days",
            Self::Month => "last 30 days",
            Self::Always => "all time",
        }
    }

    /// How many days before today it begins; `None` without a limit.
    pub fn days_back(self) -> Option<i64> {
        match self {
            Self::Today => Some(0),
            Self::Week => Some(6),
            Self::Month => Some(29),
            Self::Always => None,
        }
    }
}

/// The usage of one or many sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    pub scope: UsageScope,
    pub period: UsagePeriod,
    /// Number of sessions with usage.
    pub sessions: u64,
    pub total: UsageSum,
    /// Highest cost first.
    pub models: Vec<ModelUsage>,
    /// Newest first.
    pub days: Vec<DayUsage>,
    /// Most calls first, those of subagents included.
    pub tools: Vec<ToolUsage>,
    /// False while some sessions are not indexed yet: a later report can have more.
    pub complete: bool,
}

/// The usage of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// `PROVIDER/ID`.
    pub model: String,
    #[serde(flatten)]
    pub usage: UsageSum,
}

/// The usage of a day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DayUsage {
    /// In the time zone of the user: `2026-11-21`.
    pub day: String,
    #[serde(flatten)]
    pub usage: UsageSum,
}

/// The calls of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolUsage {
    pub tool: String,
    pub calls: u64,
    /// Calls that failed or were refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u64,
}

/// A sum of model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct UsageSum {
    pub calls: u64,
    /// Calls that failed or were aborted.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u64,
    /// Input tokens neither read from nor written to the cache.
    pub input: u64,
    /// Output tokens, including thinking.
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// US dollars.
    pub cost: f64,
    /// The saving of the cache in US dollars, at present prices: the difference to input without a cache, less what
    /// writing the cache cost. Only calls with a known price that no subscription paid.
    pub saved: f64,
    /// Calls that a subscription paid.
    #[serde(skip_serializing_if = "is_zero")]
    pub subscription: u64,
    /// Calls with tokens and without a known price.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

impl UsageSum {
    fn of(model: &ModelSpending) -> Self {
        let usage = &model.usage;
        let has_tokens = usage.total_tokens() > 0;
        let is_free = usage.cost.total <= 0.0;
        let calls_if = |is: bool| if is { model.calls } else { 0 };
        Self {
            calls: model.calls,
            failures: model.failures,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost: usage.cost.total,
            saved: 0.0,
            subscription: calls_if(usage.subscription),
            unpriced: calls_if(has_tokens && is_free && !usage.subscription),
        }
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.failures += other.failures;
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost += other.cost;
        self.saved += other.saved;
        self.subscription += other.subscription;
        self.unpriced += other.unpriced;
    }

    pub fn tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// The share of the input that came from a cache; `None` without input.
    pub fn hit_rate(&self) -> Option<f64> {
        let usage = Usage {
            input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            ..Usage::default()
        };
        usage.hit_rate()
    }

    /// The cost in words: `$1.234`, and what has no price.
    pub fn cost_words(&self) -> String {
        if self.calls == 0 {
            return "nothing".to_owned();
        }
        let mut words = Vec::new();
        if self.cost > 0.0 {
            words.push(format!("${:.3}", self.cost));
        }
        if self.subscription > 0 {
            words.push("a subscription".to_owned());
        }
        let unpriced = match self.unpriced {
            0 => None,
            _ if words.is_empty() => Some("not known: the models have no price".to_owned()),
            1 => Some("1 call without a known price".to_owned()),
            calls => Some(format!("{calls} calls without a known price")),
        };
        words.extend(unpriced);
        match words.len() {
            0 => "$0".to_owned(),
            _ => words.join(" and "),
        }
    }

    /// The cost for a column: `$1.234`, `plan` if a subscription paid, `?` without a known price.
    pub fn cost_cell(&self) -> String {
        match self {
            _ if self.cost > 0.0 => format!("${:.3}", self.cost),
            _ if self.subscription > 0 => "plan".to_owned(),
            _ if self.unpriced > 0 => "?".to_owned(),
            _ => "$0".to_owned(),
        }
    }
}

/// The usage of one session on one day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageDay {
    /// In the time zone of the user; empty if the time is unknown.
    pub day: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUsage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUsage>,
}

impl UsageDay {
    /// Adds the model calls of `spending`.
    pub fn spend(&mut self, spending: &Spending) {
        for spent in &spending.models {
            model(&mut self.models, &spent.model)
                .usage
                .add(&UsageSum::of(spent));
        }
    }

    /// Adds a call of a tool.
    pub fn call(&mut self, name: &str, success: bool) {
        let failures = u64::from(!success);
        tool(&mut self.tools, name).add(1, failures);
    }
}

impl ToolUsage {
    fn add(&mut self, calls: u64, failures: u64) {
        self.calls += calls;
        self.failures += failures;
    }
}

fn model<'a>(models: &'a mut Vec<ModelUsage>, name: &str) -> &'a mut ModelUsage {
    let known = models.iter().position(|known| known.model == name);
    let place = known.unwrap_or_else(|| {
        models.push(ModelUsage {
            model: name.to_owned(),
            ..ModelUsage::default()
        });
        models.len() - 1
    });
    &mut models[place]
}

fn tool<'a>(tools: &'a mut Vec<ToolUsage>, name: &str) -> &'a mut ToolUsage {
    let known = tools.iter().position(|known| known.tool == name);
    let place = known.unwrap_or_else(|| {
        tools.push(ToolUsage {
            tool: name.to_owned(),
            ..ToolUsage::default()
        });
        tools.len() - 1
    });
    &mut tools[place]
}

impl UsageReport {
    /// The report of sessions, each with its days. `first` is the first day that counts; `price` knows prices.
    pub fn of(
        (scope, period): (UsageScope, UsagePeriod),
        sessions: &[Vec<UsageDay>],
        first: Option<&str>,
        price: impl Fn(&str) -> Option<Price>,
    ) -> Self {
        let mut report = Self {
            scope,
            period,
            complete: true,
            ..Self::default()
        };
        for days in sessions {
            let is_counted = |day: &&UsageDay| first.is_none_or(|first| day.day.as_str() >= first);
            let mut is_used = false;
            for day in days.iter().filter(is_counted) {
                is_used = true;
                report.add(day, &price);
            }
            report.sessions += u64::from(is_used);
        }
        let cost = |usage: &UsageSum| (usage.cost, usage.tokens());
        let dearest = |one: &UsageSum, other: &UsageSum| {
            let ((one, its), (other, their)) = (cost(one), cost(other));
            other.total_cmp(&one).then(their.cmp(&its))
        };
        osier_base::sort::by(&mut report.models, |one, other| {
            dearest(&one.usage, &other.usage)
        });
        osier_base::sort::by(&mut report.days, |one, other| other.day.cmp(&one.day));
        osier_base::sort::by(&mut report.tools, |one, other| {
            let most = other.calls.cmp(&one.calls);
            most.then_with(|| one.tool.cmp(&other.tool))
        });
        report
    }

    fn add(&mut self, day: &UsageDay, price: &impl Fn(&str) -> Option<Price>) {
        let mut sum = UsageSum::default();
        for used in &day.models {
            let mut usage = used.usage;
            usage.saved = saved(&usage, price(&used.model));
            sum.add(&usage);
            model(&mut self.models, &used.model).usage.add(&usage);
        }
        for used in &day.tools {
            tool(&mut self.tools, &used.tool).add(used.calls, used.failures);
        }
        self.total.add(&sum);
        if sum.calls == 0 {
            return;
        }
        match self.days.iter_mut().find(|known| known.day == day.day) {
            Some(known) => known.usage.add(&sum),
            None => self.days.push(DayUsage {
                day: day.day.clone(),
                usage: sum,
            }),
        }
    }

    /// The report as Markdown.
    pub fn text(&self) -> String {
        let total = &self.total;
        let title = format!("Usage: {}, {}.", self.scope.title(), self.period.title());
        if total.calls == 0 && self.tools.is_empty() {
            return format!("{title} No model calls yet.");
        }
        let mut lines = vec![
            title,
            format!("- cost: {}", total.cost_words()),
            format!(
                "- tokens: {} input, {} output, {} cached",
                total.input + total.cache_write,
                total.output,
                total.cache_read
            ),
        ];
        if total.saved > 0.0 {
            lines.push(format!("- the cache saved ${:.3}", total.saved));
        }
        let row = |name: &str, usage: &UsageSum| {
            format!("- `{name}`: {} calls, {}", usage.calls, usage.cost_words())
        };
        lines.extend(self.models.iter().map(|used| row(&used.model, &used.usage)));
        lines.extend(self.days.iter().map(|used| row(&used.day, &used.usage)));
        lines.extend(self.tools.iter().map(|used| {
            let (calls, failures) = (used.calls, used.failures);
            format!("- `{}`: {calls} calls, {failures} failed", used.tool)
        }));
        lines.join("\n")
    }
}

/// The saving of the cache, in US dollars.
fn saved(usage: &UsageSum, price: Option<Price>) -> f64 {
    let Some(price) = price.filter(|_| usage.subscription == 0) else {
        return 0.0;
    };
    let read = usage.cache_read as f64 * (price.input - price.cache_read);
    let written = usage.cache_write as f64 * (price.cache_write - price.input).max(0.0);
    ((read - written) / 1e6).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_llm::Cost;

    fn spent(model: &str, read: u64, cost: f64) -> Spending {
        let mut spending = Spending::default();
        spending.outside(
            model,
            Usage {
                input: 100,
                output: 10,
                cache_read: read,
                cost: Cost {
                    total: cost,
                    ..Cost::default()
                },
                ..Usage::default()
            },
        );
        spending
    }

    fn day(day: &str, spending: &[Spending], tools: &[(&str, bool)]) -> UsageDay {
        let mut made = UsageDay {
            day: day.to_owned(),
            ..UsageDay::default()
        };
        for spending in spending {
            made.spend(spending);
        }
        for (name, success) in tools {
            made.call(name, *success);
        }
        made
    }

    fn price(model: &str) -> Option<Price> {
        (model == "p/dear").then_some(Price {
            input: 3.0,
            cache_read: 0.5,
            ..Price::default()
        })
    }

    fn sessions() -> [Vec<UsageDay>; 2] {
        let dear = |read| spent("p/dear", read, 0.5);
        [
            vec![
                day("2026-11-01", &[dear(1_000_000)], &[("bash", true)]),
                day("2026-11-02", &[spent("p/free", 0, 0.0)], &[("read", false)]),
            ],
            vec![day(
                "2026-11-02",
                &[dear(0), dear(0)],
                &[("bash", false), ("bash", true)],
            )],
        ]
    }

    #[test]
    fn models_days_and_tools_are_summed_and_sorted() {
        let all = (UsageScope::All, UsagePeriod::Always);
        let report = UsageReport::of(all, &sessions(), None, price);
        let models = report.models.iter().map(|used| {
            (
                used.model.as_str(),
                used.usage.calls,
                used.usage.cost,
                used.usage.saved,
            )
        });
        assert_eq!(
            models.collect::<Vec<_>>(),
            [("p/dear", 3, 1.5, 2.5), ("p/free", 1, 0.0, 0.0)]
        );
        let days = report
            .days
            .iter()
            .map(|used| (used.day.as_str(), used.usage.calls, used.usage.cost));
        assert_eq!(
            days.collect::<Vec<_>>(),
            [("2026-11-02", 3, 1.0), ("2026-11-01", 1, 0.5)]
        );
        let tools = report
            .tools
            .iter()
            .map(|used| (used.tool.as_str(), used.calls, used.failures));
        assert_eq!(tools.collect::<Vec<_>>(), [("bash", 3, 1), ("read", 1, 1)]);
        assert_eq!((report.sessions, report.total.calls), (2, 4));
        assert_eq!(
            report.total.cost_words(),
            "$1.500 and 1 call without a known price"
        );
    }

    #[test]
    fn a_period_leaves_out_earlier_days() {
        let today = (UsageScope::All, UsagePeriod::Today);
        let report = UsageReport::of(today, &sessions()[..1], Some("2026-11-02"), price);
        assert_eq!((report.sessions, report.total.calls), (1, 1));
        assert_eq!(
            report.total.cost_words(),
            "not known: the models have no price"
        );
        let nothing = UsageReport::of(today, &sessions(), Some("2026-11-03"), price);
        assert_eq!((nothing.sessions, nothing.total.calls), (0, 0));
        assert_eq!(
            nothing.text(),
            "Usage: all sessions, today. No model calls yet."
        );
    }
}
