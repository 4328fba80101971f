//! The token usage and cost of the session, as lines.

use crate::conversation::Transcript;
use crate::status::footer::tokens;
use osier_agent::Severity;
use osier_base::text::counted;
use osier_llm::Usage;
use osier_protocol::{ModelSpending, Spending};

/// Shows the usage in the conversation.
pub(crate) fn show(spending: &Spending, transcript: &mut Transcript) {
    for line in lines(spending) {
        transcript.notice(Severity::Info, &line);
    }
}

/// One line for the session and one for each model.
fn lines(spending: &Spending) -> Vec<String> {
    if spending.models.is_empty() {
        return vec!["no model calls in this session yet".to_owned()];
    }
    let calls: u64 = spending.models.iter().map(|model| model.calls).sum();
    let mut lines = vec![format!(
        "session: {}, {}; {}",
        counted(calls, "model call", "model calls"),
        counted(spending.tool_calls, "tool call", "tool calls"),
        used(&spending.total)
    )];
    let reviews = &spending.reviews;
    if reviews.count() > 0 {
        lines.push(format!(
            "auto review: {}: {} allowed, {} asked, {} denied; {}",
            counted(reviews.count(), "call", "calls"),
            reviews.allowed,
            reviews.asked,
            reviews.denied,
            used(&reviews.usage)
        ));
    }
    lines.extend(spending.models.iter().map(line));
    lines
}

fn line(model: &ModelSpending) -> String {
    let mut line = format!("{}: {}", model.model, counted(model.calls, "call", "calls"));
    if model.failures > 0 {
        line = format!("{line} ({} failed)", model.failures);
    }
    line = format!("{line}; {}", used(&model.usage));
    if model.missed > 0 {
        line = format!("{line}, {} re-sent without cache", tokens(model.missed));
        if model.missed_cost > 0.0 {
            line = format!("{line} (${:.3})", model.missed_cost);
        }
    }
    line
}

fn used(usage: &Usage) -> String {
    let mut used = format!(
        "↑{} ↓{}",
        tokens(usage.input + usage.cache_write),
        tokens(usage.output)
    );
    if let Some(rate) = usage.hit_rate().filter(|rate| *rate > 0.0) {
        let percent = (rate * 100.0).round();
        used = format!(
            "{used} ↺{} ({percent}% of the input)",
            tokens(usage.cache_read)
        );
    }
    match (usage.subscription, usage.cost.total) {
        (true, 0.0) => format!("{used}, paid by a subscription"),
        (true, cost) => format!("{used}, ${cost:.3} and a subscription"),
        (false, cost) => format!("{used}, ${cost:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_llm::Cost;
    use osier_protocol::ReviewSpending;

    #[test]
    fn the_session_and_each_model_have_a_line() {
        let usage = Usage {
            input: 500,
            output: 1_200,
            cache_read: 1_500,
            cost: Cost {
                total: 0.0125,
                ..Cost::default()
            },
            ..Usage::default()
        };
        let mut subscribed = usage;
        subscribed.cost = Cost::default();
        subscribed.subscription = true;
        let mut total = usage;
        total += subscribed;
        let model = |name: &str, usage, calls, failures| ModelSpending {
            model: name.to_owned(),
            calls,
            failures,
            usage,
            missed: 2_000 * failures,
            missed_cost: 0.0054 * failures as f64,
            ..ModelSpending::default()
        };
        let spending = Spending {
            total,
            models: vec![model("a/x", usage, 2, 1), model("b/y", subscribed, 1, 0)],
            tool_calls: 1,
            tool_failures: 0,
            reviews: ReviewSpending {
                allowed: 1,
                asked: 0,
                denied: 2,
                usage: subscribed,
            },
            ..Spending::default()
        };
        assert_eq!(
            lines(&spending),
            [
                "session: 3 model calls, 1 tool call; ↑1.0k ↓2.4k ↺3.0k (75% of the input), $0.013 and a subscription",
                "auto review: 3 calls: 1 allowed, 0 asked, 2 denied; ↑500 ↓1.2k ↺1.5k (75% of the input), paid by a subscription",
                "a/x: 2 calls (1 failed); ↑500 ↓1.2k ↺1.5k (75% of the input), $0.013, 2.0k re-sent without cache ($0.005)",
                "b/y: 1 call; ↑500 ↓1.2k ↺1.5k (75% of the input), paid by a subscription",
            ]
        );
        assert_eq!(
            lines(&Spending::default()),
            ["no model calls in this session yet"]
        );
    }
}
