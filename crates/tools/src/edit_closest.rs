//! Finds the lines of a file that are most similar to a text that was not found, so that the model can
//! correct its edit. The work is bounded: lines are compared by their byte pairs, and only the most similar
//! candidates are compared completely.

use osier_base::sort;
use std::fmt::Write as _;

use osier_base::text::head_bytes;

/// Limits of the result: matches, lines per match and bytes per line.
const MAX_PLACES: usize = 3;
const MAX_LINES: usize = 12;
const MAX_LINE: usize = 300;
/// Bytes of the file that are searched.
const MAX_SEARCHED: usize = 8 * 1024 * 1024;
/// Candidates that are compared completely.
const MAX_CANDIDATES: usize = 50;
/// Lines of the searched text that are compared.
const MAX_COMPARED: usize = 100;
/// Minimum similarity of a match.
const NEAR: f32 = 0.4;

/// The closest matches, best first, with line numbers as in `read`; empty when nothing is similar to `old`.
pub(super) fn closest(text: &str, old: &str) -> Vec<String> {
    let lines: Vec<&str> = head_bytes(text, MAX_SEARCHED).lines().collect();
    let mut wanted: Vec<Pairs> = old.lines().take(MAX_COMPARED).map(Pairs::new).collect();
    // The longest line identifies the position best.
    let longest = wanted
        .iter_mut()
        .enumerate()
        .max_by_key(|(_, pairs)| pairs.line.len());
    let Some((index, anchor)) = longest.filter(|(_, pairs)| !pairs.line.is_empty()) else {
        return Vec::new();
    };
    let mut candidates: Vec<(f32, usize)> = lines
        .iter()
        .enumerate()
        .map(|(line, text)| (anchor.dice(text), line.saturating_sub(index)))
        .filter(|(dice, _)| *dice >= NEAR)
        .collect();
    best_first(&mut candidates);
    candidates.truncate(MAX_CANDIDATES);
    for (dice, start) in &mut candidates {
        *dice = similarity(&lines[*start..], &mut wanted);
    }
    best_first(&mut candidates);
    let mut shown: Vec<usize> = Vec::new();
    for (dice, start) in candidates {
        let apart = shown
            .iter()
            .all(|other| other.abs_diff(start) >= wanted.len());
        if dice >= NEAR && apart && shown.len() < MAX_PLACES {
            shown.push(start);
        }
    }
    let excerpts = shown
        .iter()
        .map(|start| excerpt(&lines, *start, wanted.len()));
    excerpts.collect()
}

fn best_first(candidates: &mut [(f32, usize)]) {
    sort::by(candidates, |left, right| {
        right.0.total_cmp(&left.0).then(left.1.cmp(&right.1))
    });
}

/// The mean similarity of the wanted lines to the start of `lines`, weighted by length.
fn similarity(lines: &[&str], wanted: &mut [Pairs]) -> f32 {
    let (mut score, mut all) = (0.0, 0.0);
    for (index, pairs) in wanted.iter_mut().enumerate() {
        let weight = pairs.line.len() as f32 + 1.0;
        all += weight;
        if let Some(line) = lines.get(index) {
            score += weight * pairs.dice(line);
        }
    }
    score / all
}

fn excerpt(lines: &[&str], start: usize, length: usize) -> String {
    let mut text = String::new();
    for (index, line) in lines
        .iter()
        .enumerate()
        .skip(start)
        .take(length.min(MAX_LINES))
    {
        let _ = writeln!(text, "{:>6}\t{}", index + 1, head_bytes(line, MAX_LINE));
    }
    text
}

/// A line as its pairs of adjacent bytes.
struct Pairs {
    /// Without surrounding whitespace.
    line: String,
    length: usize,
    /// The number of occurrences of each pair.
    counts: Vec<u8>,
}

impl Pairs {
    fn new(line: &str) -> Self {
        let line = line.trim();
        let mut counts = vec![0_u8; 1 << 16];
        for pair in pairs(line) {
            counts[pair] = counts[pair].saturating_add(1);
        }
        Self {
            line: line.to_owned(),
            length: pairs(line).count(),
            counts,
        }
    }

    /// The Dice coefficient: twice the shared pairs divided by all pairs. 1 for equal lines (except
    /// surrounding whitespace), 0 for nothing in common. Restores the counts.
    fn dice(&mut self, line: &str) -> f32 {
        let line = line.trim();
        if line == self.line {
            return 1.0;
        }
        let length = line.len().min(MAX_LINE).saturating_sub(1);
        let (fewer, more) = (self.length.min(length), self.length.max(length));
        // The upper bound.
        if fewer == 0 || 2.0 * (fewer as f32) < NEAR * (fewer + more) as f32 {
            return 0.0;
        }
        let shared: Vec<usize> = pairs(line)
            .filter(|pair| {
                let left = self.counts[*pair].checked_sub(1);
                self.counts[*pair] = left.unwrap_or(0);
                left.is_some()
            })
            .collect();
        for pair in &shared {
            self.counts[*pair] += 1;
        }
        2.0 * shared.len() as f32 / (self.length + length) as f32
    }
}

fn pairs(line: &str) -> impl Iterator<Item = usize> {
    let line = head_bytes(line, MAX_LINE).as_bytes();
    line.windows(2)
        .map(|pair| usize::from(pair[0]) << 8 | usize::from(pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn main() {\n    let total = sum(1, 2);\n    println!(\"{total}\");\n}\n\nfn other() {\n    let totals = sums(1, 3);\n}\n";

    #[test]
    fn the_best_match_comes_first_with_line_numbers() {
        let old = "let total = sum(1, 3);\n  println!(\"{total}\");";
        assert_eq!(
            closest(TEXT, old),
            [
                "     2\t    let total = sum(1, 2);\n     3\t    println!(\"{total}\");\n",
                "     7\t    let totals = sums(1, 3);\n     8\t}\n",
            ]
        );
    }

    #[test]
    fn no_similar_text_gives_no_match() {
        assert_eq!(closest(TEXT, "zzzzqqqq"), [""; 0]);
        assert_eq!(closest("", "a"), [""; 0]);
        assert_eq!(closest(TEXT, "\n"), [""; 0]);
    }
}
