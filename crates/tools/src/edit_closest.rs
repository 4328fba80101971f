//! The places of a file that are most like a text that was not found in it, for the model to see what
//! it should have written. Work is bounded: lines are compared by their pairs of bytes, only the likeliest
//! places are compared as a whole.

use std::fmt::Write as _;

use osier_base::text::head_bytes;

/// Places shown, and lines and bytes of each.
const MAX_PLACES: usize = 3;
const MAX_LINES: usize = 12;
const MAX_LINE: usize = 300;
/// Bytes of the file that are looked at.
const MAX_SEARCHED: usize = 8 * 1024 * 1024;
/// Candidates compared as a whole.
const MAX_CANDIDATES: usize = 50;
/// Lines of the sought text that are compared.
const MAX_COMPARED: usize = 100;
/// Likeness below which a place says nothing.
const NEAR: f32 = 0.4;

/// The closest places, best first, numbered as `read` numbers lines; empty when nothing is like `old`.
pub(super) fn closest(text: &str, old: &str) -> Vec<String> {
    let lines: Vec<&str> = head_bytes(text, MAX_SEARCHED).lines().collect();
    let mut wanted: Vec<Pairs> = old.lines().take(MAX_COMPARED).map(Pairs::new).collect();
    // The longest line says most about where the text belongs.
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
        .map(|(line, text)| (anchor.likeness(text), line.saturating_sub(index)))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    best_first(&mut candidates);
    candidates.truncate(MAX_CANDIDATES);
    for (likeness, start) in &mut candidates {
        *likeness = whole(&lines[*start..], &mut wanted);
    }
    best_first(&mut candidates);
    let mut shown: Vec<usize> = Vec::new();
    for (likeness, start) in candidates {
        let apart = shown
            .iter()
            .all(|other| other.abs_diff(start) >= wanted.len());
        if likeness >= NEAR && apart && shown.len() < MAX_PLACES {
            shown.push(start);
        }
    }
    let excerpts = shown
        .iter()
        .map(|start| excerpt(&lines, *start, wanted.len()));
    excerpts.collect()
}

fn best_first(candidates: &mut [(f32, usize)]) {
    candidates.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
}

/// The mean likeness of the wanted lines to those at the start of `lines`, long lines counting more.
fn whole(lines: &[&str], wanted: &mut [Pairs]) -> f32 {
    let (mut score, mut all) = (0.0, 0.0);
    for (index, pairs) in wanted.iter_mut().enumerate() {
        let weight = pairs.line.len() as f32 + 1.0;
        all += weight;
        if let Some(line) = lines.get(index) {
            score += weight * pairs.likeness(line);
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

/// A line by its pairs of neighbouring bytes.
struct Pairs {
    /// Without the white space around it.
    line: String,
    length: usize,
    /// How often each pair occurs.
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

    /// Twice the shared pairs over all pairs (Dice): 1 for the same line but for the white space around
    /// it, 0 for nothing in common. Leaves the counts as they were.
    fn likeness(&mut self, line: &str) -> f32 {
        let line = line.trim();
        if line == self.line {
            return 1.0;
        }
        let length = line.len().min(MAX_LINE).saturating_sub(1);
        let (fewer, more) = (self.length.min(length), self.length.max(length));
        // The most it could be.
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
    fn the_best_place_comes_first_with_its_line_numbers() {
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
    fn nothing_alike_gives_nothing() {
        assert_eq!(closest(TEXT, "zzzzqqqq"), [""; 0]);
        assert_eq!(closest("", "a"), [""; 0]);
        assert_eq!(closest(TEXT, "\n"), [""; 0]);
    }
}
