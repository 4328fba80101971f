//! The places of a file that are most like a text that was not found in it, for the model to see what
//! it should have written. Work is bounded: lines are compared by their pairs of bytes, only the likeliest
//! places are compared as a whole.

use std::fmt::Write as _;

use crate::base::text::head_bytes;

/// Places shown, and lines and bytes of each.
const MAX_PLACES: usize = 3;
const MAX_LINES: usize = 12;
const MAX_LINE: usize = 300;
/// Bytes of the file that are looked at.
const MAX_SEARCHED: usize = 16 * 1024 * 1024;
/// Candidates compared as a whole.
const MAX_CANDIDATES: usize = 50;
/// Lines of the sought text that are compared.
const MAX_COMPARED: usize = 100;
/// Likeness below which a place says nothing.
const NEAR: f32 = 0.4;

/// The closest places, best first, numbered as `read` numbers lines; empty when nothing is like `old`.
pub(super) fn closest(text: &str, old: &str) -> Vec<String> {
    let lines: Vec<&str> = head_bytes(text, MAX_SEARCHED).lines().collect();
    let wanted: Vec<&str> = old.lines().map(str::trim).take(MAX_COMPARED).collect();
    // The longest line says most about where the text belongs.
    let Some((anchor, line)) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len()) else {
        return Vec::new();
    };
    if line.is_empty() {
        return Vec::new();
    }
    let pairs = Pairs::new(line);
    let mut candidates: Vec<(f32, usize)> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| (pairs.likeness(line.trim()), index.saturating_sub(anchor)))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    best_first(&mut candidates);
    candidates.truncate(MAX_CANDIDATES);
    for (likeness, start) in &mut candidates {
        *likeness = whole(&lines[*start..], &wanted);
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
    shown
        .iter()
        .map(|start| excerpt(&lines, *start, wanted.len()))
        .collect()
}

fn best_first(candidates: &mut [(f32, usize)]) {
    candidates.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
}

/// The mean likeness of the wanted lines to those at the start of `lines`, long lines counting more.
fn whole(lines: &[&str], wanted: &[&str]) -> f32 {
    let mut score = 0.0;
    let mut all = 0.0;
    for (index, wanted) in wanted.iter().enumerate() {
        let weight = wanted.len() as f32 + 1.0;
        all += weight;
        if let Some(line) = lines.get(index) {
            score += weight * Pairs::new(wanted).likeness(line.trim());
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

/// The pairs of neighbouring bytes of a line, sorted.
struct Pairs {
    sorted: Vec<[u8; 2]>,
    line: String,
}

impl Pairs {
    fn new(line: &str) -> Self {
        let mut sorted = pairs(line);
        sorted.sort_unstable();
        Self {
            sorted,
            line: line.to_owned(),
        }
    }

    /// Twice the shared pairs over all pairs (Dice): 1 for the same line, 0 for nothing in common.
    fn likeness(&self, line: &str) -> f32 {
        if line == self.line {
            return 1.0;
        }
        let count = line.len().saturating_sub(1);
        let (fewer, more) = (self.sorted.len().min(count), self.sorted.len().max(count));
        // The most it could be; most lines of a file end here.
        if 2.0 * (fewer as f32) < NEAR * (fewer + more) as f32 || fewer == 0 {
            return 0.0;
        }
        let mut other = pairs(line);
        other.sort_unstable();
        2.0 * shared(&self.sorted, &other) as f32 / (self.sorted.len() + other.len()) as f32
    }
}

fn pairs(line: &str) -> Vec<[u8; 2]> {
    let line = head_bytes(line, MAX_LINE).as_bytes();
    line.windows(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// Elements in both of two sorted lists, repeated ones as often as in both.
fn shared(left: &[[u8; 2]], right: &[[u8; 2]]) -> usize {
    let (mut here, mut there, mut count) = (0, 0, 0);
    while let (Some(a), Some(b)) = (left.get(here), right.get(there)) {
        count += usize::from(a == b);
        here += usize::from(a <= b);
        there += usize::from(b <= a);
    }
    count
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
