//! Finds the lines of a file that are most similar to a text that was not found, and names the differences, so that the
//! model can correct its edit. The work is bounded: lines are compared by their byte pairs, and only the most similar
//! candidates are aligned.

use osier_base::sort;
use std::fmt::Write as _;

use osier_base::text::head_bytes;

use super::difference::describe;

/// Limits of the result: matches, lines per match and bytes per line.
const MAX_PLACES: usize = 3;
const MAX_LINES: usize = 12;
const MAX_LINE: usize = 300;
/// Bytes of the file that are searched.
const MAX_SEARCHED: usize = 8 * 1024 * 1024;
/// Candidates that are compared line by line, and of these, candidates that are aligned.
const MAX_CANDIDATES: usize = 50;
const MAX_ALIGNED: usize = 6;
/// Lines of the searched text that are compared.
const MAX_COMPARED: usize = 100;
/// Lines at most that a match may have before and after those of the searched text.
const SLACK: usize = 6;
/// Minimum similarity of a match, and of two lines that are aligned.
const NEAR: f32 = 0.4;
/// How much better the best match must be to be the only one.
const CLEAR: f32 = 0.08;

/// Lines of the old text and of the file that belong together, in order. Both are indexes.
pub(crate) type Alignment = Vec<(usize, usize)>;

/// The closest matches for a model: best first, with line numbers as in `read`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Closest {
    pub(crate) excerpts: Vec<String>,
    /// How the only match differs from the old text.
    pub(crate) differences: Vec<String>,
}

/// The closest matches of `old`; none when nothing is similar.
pub(crate) fn closest(text: &str, old: &str) -> Closest {
    let lines: Vec<&str> = head_bytes(text, MAX_SEARCHED).lines().collect();
    let wanted_lines: Vec<&str> = old.lines().take(MAX_COMPARED).collect();
    let mut wanted: Vec<Pairs> = wanted_lines.iter().map(|line| Pairs::new(line)).collect();
    // The longest line identifies the position best.
    let longest = wanted
        .iter_mut()
        .enumerate()
        .max_by_key(|(_, pairs)| pairs.line.len());
    let Some((index, anchor)) = longest.filter(|(_, pairs)| !pairs.line.is_empty()) else {
        return Closest::default();
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
    candidates.truncate(MAX_ALIGNED);
    let mut aligned: Vec<(f32, Alignment)> = candidates
        .iter()
        .map(|(_, start)| align(&lines, *start, &mut wanted))
        .collect();
    sort::by(&mut aligned, |left, right| right.0.total_cmp(&left.0));
    let mut found: Vec<(f32, Alignment)> = Vec::new();
    for (score, alignment) in aligned {
        let overlaps = |other: &[(usize, usize)]| {
            span(other).is_some_and(|(first, last)| {
                span(&alignment).is_none_or(|(from, to)| from <= last && first <= to)
            })
        };
        let is_new = !found.iter().any(|(_, other)| overlaps(other));
        if score >= NEAR && is_new && found.len() < MAX_PLACES {
            found.push((score, alignment));
        }
    }
    if found.len() > 1 && found[0].0 - found[1].0 >= CLEAR {
        found.truncate(1);
    }
    let differences = match &found[..] {
        [(_, only)] => describe(&wanted_lines, &lines, only),
        _ => Vec::new(),
    };
    let excerpts = found
        .iter()
        .map(|(_, alignment)| excerpt(&wanted_lines, &lines, alignment));
    Closest {
        excerpts: excerpts.collect(),
        differences,
    }
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
        let weight = pairs.weight();
        all += weight;
        if let Some(line) = lines.get(index) {
            score += weight * pairs.dice(line);
        }
    }
    score / all
}

/// The best alignment of the wanted lines near `start`, with lines left out on both sides, and its similarity.
fn align(lines: &[&str], start: usize, wanted: &mut [Pairs]) -> (f32, Alignment) {
    // Between the lines of a match of one line, there is no other line.
    let slack = SLACK.min(wanted.len() / 2);
    let first = start.saturating_sub(slack);
    let window = &lines[first..lines.len().min(start + wanted.len() + slack)];
    let (rows, columns) = (wanted.len(), window.len());
    let mut similar = vec![0.0_f32; rows * columns];
    let mut best = vec![0.0_f32; (rows + 1) * (columns + 1)];
    let at = |row: usize, column: usize| row * (columns + 1) + column;
    for row in (0..rows).rev() {
        let weight = wanted[row].weight();
        for column in (0..columns).rev() {
            let dice = wanted[row].dice(window[column]);
            let pair = if dice >= NEAR { weight * dice } else { 0.0 };
            similar[row * columns + column] = pair;
            best[at(row, column)] = (pair + best[at(row + 1, column + 1)])
                .max(best[at(row + 1, column)])
                .max(best[at(row, column + 1)]);
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut alignment = Vec::new();
    while row < rows && column < columns {
        let (pair, here) = (similar[row * columns + column], best[at(row, column)]);
        if pair > 0.0 && pair + best[at(row + 1, column + 1)] >= here {
            alignment.push((row, first + column));
            (row, column) = (row + 1, column + 1);
        } else if best[at(row, column + 1)] >= here {
            column += 1;
        } else {
            row += 1;
        }
    }
    let all: f32 = wanted.iter().map(Pairs::weight).sum();
    (best[0] / all, alignment)
}

/// The first and last line of the file.
fn span(alignment: &[(usize, usize)]) -> Option<(usize, usize)> {
    let (first, last) = (alignment.first()?, alignment.last()?);
    Some((first.1, last.1))
}

/// The lines of a match; if there are too many, the lines around its first difference.
fn excerpt(wanted: &[&str], lines: &[&str], alignment: &[(usize, usize)]) -> String {
    let mut text = String::new();
    let Some((first, last)) = span(alignment) else {
        return text;
    };
    let mut start = first;
    if last - first >= MAX_LINES {
        let differs = |pair: &&(usize, usize)| wanted[pair.0] != lines[pair.1];
        let difference = alignment.iter().find(differs).map_or(first, |pair| pair.1);
        start = difference.saturating_sub(MAX_LINES / 2).max(first);
    }
    for (index, line) in lines
        .iter()
        .enumerate()
        .take(last + 1)
        .skip(start)
        .take(MAX_LINES)
    {
        let _ = writeln!(text, "{}\t{}", index + 1, head_bytes(line, MAX_LINE));
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

    fn weight(&self) -> f32 {
        self.line.len() as f32 + 1.0
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
        // The upper bound of the coefficient is too low.
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

    const TEXT: &str = "fn main() {\n    let total = sum(1, 2);\n\n    println!(\"{total}\");\n}\n\nfn other() {\n\tlet totals = sums(1, 3);\n}\n";

    fn found(old: &str) -> (Vec<String>, Vec<String>) {
        let found = closest(TEXT, old);
        (found.excerpts, found.differences)
    }

    #[test]
    fn the_only_good_match_is_aligned_and_its_differences_are_named() {
        let first = "2\t    let total = sum(1, 2);\n3\t\n4\t    println!(\"{total}\");\n";
        for (old, excerpt, differences) in [
            (
                "let total = sum(1, 3);\nprintln!(\"{total}\");",
                first,
                vec![
                    "line 2 has `2` where old_string has `3`",
                    "the indentation differs from line 2 on",
                    "old_string lacks the blank line 3",
                ],
            ),
            (
                "\tlet total = sum(1, 2);\n\n\tprintln!(\"{total}!\");",
                first,
                vec![
                    "the file indents with spaces, old_string with tabs",
                    "line 4 lacks `!` of old_string",
                ],
            ),
            (
                "fn other() {\n\n    let totals = sums(1, 3);\n    done();\n}",
                "7\tfn other() {\n8\t\tlet totals = sums(1, 3);\n9\t}\n",
                vec![
                    "old_string has a blank line after line 7 that the file does not have",
                    "the file indents with tabs, old_string with spaces",
                    "the file does not have `done();` after line 8",
                ],
            ),
        ] {
            let differences: Vec<String> =
                differences.iter().map(|&text| text.to_owned()).collect();
            assert_eq!(found(old), (vec![excerpt.to_owned()], differences), "{old}");
        }
    }

    #[test]
    fn several_similar_matches_are_shown_without_a_choice() {
        let text = "let a = one(1);\nlet b = one(2);\n";
        let two = ["1\tlet a = one(1);\n", "2\tlet b = one(2);\n"];
        let found = closest(text, "let c = one(3);");
        assert_eq!(
            (found.excerpts, found.differences),
            (two.map(str::to_owned).to_vec(), vec![])
        );
    }

    #[test]
    fn no_similar_text_gives_no_match() {
        for (text, old) in [(TEXT, "zzzzqqqq"), ("", "a"), (TEXT, "\n")] {
            assert_eq!(closest(text, old), Closest::default());
        }
    }
}
