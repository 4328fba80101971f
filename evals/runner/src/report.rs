//! The scores of all runs, by model and task.

use serde::Serialize;

use super::attempt::{Outcome, RunResult, Tokens};
use osier_base::text::{counted, single_line};

/// The runs of one model with one task, or with all tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    pub model: String,
    /// `None` for all tasks.
    pub task: Option<String>,
    pub runs: u64,
    /// The runs that passed all checks.
    pub passed: u64,
    /// The mean share of the points, from 0 to 1.
    pub score: f64,
    /// Totals of all runs.
    pub calls: u64,
    pub tokens: Tokens,
    pub cost: f64,
    /// The mean of all runs.
    pub milliseconds: u64,
}

impl Summary {
    fn of<'a>(model: &str, task: Option<&str>, runs: impl Iterator<Item = &'a RunResult>) -> Self {
        let mut summary = Self {
            model: model.to_owned(),
            task: task.map(str::to_owned),
            runs: 0,
            passed: 0,
            score: 0.0,
            calls: 0,
            tokens: Tokens::default(),
            cost: 0.0,
            milliseconds: 0,
        };
        for run in runs {
            summary.runs += 1;
            summary.passed += u64::from(run.passed);
            summary.score += run.score;
            summary.calls += run.calls;
            summary.tokens.input += run.tokens.input;
            summary.tokens.output += run.tokens.output;
            summary.tokens.cache_read += run.tokens.cache_read;
            summary.tokens.cache_write += run.tokens.cache_write;
            summary.cost += run.cost;
            summary.milliseconds += run.milliseconds;
        }
        summary.score /= summary.runs.max(1) as f64;
        summary.milliseconds /= summary.runs.max(1);
        summary
    }

    fn row(&self) -> Vec<String> {
        let Tokens {
            input,
            output,
            cache_read,
            cache_write,
        } = self.tokens;
        vec![
            format!("{}/{}", self.passed, self.runs),
            format!("{:.0} %", self.score * 100.0),
            self.calls.to_string(),
            tokens(input + cache_read + cache_write),
            tokens(output),
            money(self.cost),
            seconds(self.milliseconds),
            match &self.task {
                Some(task) => single_line(task),
                None => format!("all tasks, {}", single_line(&self.model)),
            },
        ]
    }
}

/// For each of `models`, a summary of each task and one of all tasks.
pub(super) fn summaries<'a>(
    results: &[RunResult],
    models: impl Iterator<Item = &'a str>,
) -> Vec<Summary> {
    let mut tasks: Vec<&str> = results.iter().map(|run| &*run.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let mut summaries = Vec::new();
    for model in models {
        let of_model = || results.iter().filter(move |run| run.model == model);
        for task in &tasks {
            let runs = of_model().filter(|run| run.task == *task);
            summaries.push(Summary::of(model, Some(task), runs));
        }
        summaries.push(Summary::of(model, None, of_model()));
    }
    summaries.retain(|summary| summary.runs > 0);
    summaries
}

/// The lines of the table: numbers on the right of their columns.
pub(super) fn table(summaries: &[Summary]) -> Vec<String> {
    let headers = [
        "PASSED", "SCORE", "CALLS", "INPUT", "OUTPUT", "COST", "TIME", "TASK",
    ];
    let mut rows = vec![headers.map(str::to_owned).to_vec()];
    rows.extend(summaries.iter().map(Summary::row));
    let widths: Vec<usize> = (0..headers.len() - 1)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let line = |row: Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("{cell:>width$}  "));
        let cells: Vec<String> = cells.collect();
        format!("{}{}", cells.concat(), row[widths.len()])
    };
    rows.into_iter().map(line).collect()
}

fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

fn money(dollars: f64) -> String {
    match dollars {
        cost if cost <= 0.0 => String::new(),
        cost if cost < 0.01 => "<$0.01".to_owned(),
        cost => format!("${cost:.2}"),
    }
}

/// One line about a run that has ended.
pub(super) fn progress(run: &RunResult, done: usize, all: usize) -> String {
    let passed = run.checks.iter().filter(|check| check.passed).count();
    let checks = counted(run.checks.len(), "check", "checks");
    let verdict = match run.outcome {
        Outcome::NotStarted => "did not start".to_owned(),
        Outcome::Timeout => format!("timed out, passed {passed} of {checks}"),
        Outcome::Failed => format!("failed, passed {passed} of {checks}"),
        Outcome::Completed => format!("passed {passed} of {checks}"),
    };
    let error = match run.error.as_deref().and_then(|error| error.lines().last()) {
        Some(last) => format!(": {}", single_line(last)),
        None => String::new(),
    };
    format!(
        "[{done}/{all}] {}: {verdict}, {} ({}, run {}){error}",
        single_line(&run.task),
        seconds(run.milliseconds),
        single_line(&run.model),
        run.run
    )
}

fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        0..10_000 => format!("{:.1} s", milliseconds as f64 / 1000.0),
        10_000..600_000 => format!("{} s", milliseconds / 1000),
        _ => format!("{} min", milliseconds / 60_000),
    }
}
