//! `osier sessions stats`: prints the tokens and the cost by model.

use super::context::{CommandResult, SessionsContext};
use super::filter::FilterArgs;
use crate::cli::commands::table::{money, plain, render, tokens};
use crate::cli::exit::Exit;
use osier_base::text::counted;
use osier_index::Depth;
use osier_protocol::ModelCost;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let filter = options.filter.filter(context, false);
    let (costs, total) = context.query(Depth::Words, |index| {
        Ok((index.costs(&filter)?, index.list(&filter, 0, 0)?.total))
    })?;
    if options.json {
        for cost in &costs {
            context.print_json(cost)?;
        }
        return Ok(Exit::Success);
    }
    let sum = |of: fn(&ModelCost) -> u64| costs.iter().map(of).sum::<u64>();
    let mut rows: Vec<Vec<String>> = costs
        .iter()
        .map(|cost| row(&plain(&cost.model), cost))
        .collect();
    let all = ModelCost {
        calls: sum(|cost| cost.calls),
        input: sum(|cost| cost.input),
        output: sum(|cost| cost.output),
        cache_read: sum(|cost| cost.cache_read),
        cache_write: sum(|cost| cost.cache_write),
        cost: costs.iter().map(|cost| cost.cost).sum(),
        ..ModelCost::default()
    };
    rows.push(row(&counted(total, "session", "sessions"), &all));
    let headers = ["CALLS", "INPUT", "OUTPUT", "CACHED", "COST", "MODEL"];
    for line in render(
        &headers,
        &[0, 1, 2, 3, 4],
        &rows,
        context.width.unwrap_or(200),
    ) {
        context.print(&line)?;
    }
    Ok(Exit::Success)
}

fn row(name: &str, cost: &ModelCost) -> Vec<String> {
    vec![
        cost.calls.to_string(),
        tokens(cost.input + cost.cache_write),
        tokens(cost.output),
        tokens(cost.cache_read),
        money(cost.cost),
        name.to_owned(),
    ]
}
