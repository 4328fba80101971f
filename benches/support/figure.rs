//! The measured values of a run, their median over several runs, and their format.

use std::collections::BTreeMap;
use std::time::Duration;

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds, to the millisecond.
    Seconds,
    /// Milliseconds.
    Millis,
    Bytes,
    /// Bytes, shown as MB of a million.
    Megabytes,
    /// A factor.
    Ratio,
    /// 1 is yes.
    Truth,
}

/// The values of one run by key.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Figures {
    values: BTreeMap<&'static str, f64>,
}

impl Figures {
    pub(crate) fn put(&mut self, key: &'static str, value: f64) {
        self.values.insert(key, value);
    }

    pub(crate) fn time(&mut self, key: &'static str, time: Duration) {
        self.put(key, time.as_secs_f64());
    }

    pub(crate) fn get(&self, key: &str) -> Option<f64> {
        self.values.get(key).copied()
    }

    /// The median of every value.
    pub(crate) fn median(runs: &[Self]) -> Self {
        let mut all: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for (key, value) in runs.iter().flat_map(|run| &run.values) {
            all.entry(key).or_default().push(*value);
        }
        let middle = |mut values: Vec<f64>| median(&mut values);
        Self {
            values: all
                .into_iter()
                .map(|(key, values)| (key, middle(values)))
                .collect(),
        }
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pairs = self
            .values
            .iter()
            .map(|(key, value)| format!("{key}={value:.4}"));
        f.write_str(&pairs.collect::<Vec<_>>().join(" "))
    }
}

/// The middle value; of an even number of values the upper one of the two.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Unit {
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{value:.3} s"),
            Self::Millis => format!("{:.1} ms", value * 1000.0),
            Self::Bytes => thousands(value),
            Self::Megabytes => format!("{:.1} MB", value / 1e6),
            Self::Ratio => format!("{value:.2}"),
            Self::Truth => if value >= 1.0 { "yes" } else { "NO" }.to_owned(),
        }
    }
}

/// An integer with commas.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
