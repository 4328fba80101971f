//! The text that a scripted model streams: Markdown of every common kind, in deltas of five characters.

/// Characters of one delta.
pub(crate) const DELTA: usize = 5;
const PARAGRAPH: &str = "The parser keeps a **stack of frames** and walks each `Token` once, so the \
    cost stays linear in the input; see the _notes_ below for the 漢字 and emoji 🚀 cases. ";

/// The blocks between two paragraphs of a section, in turn.
const BETWEEN: [&str; 3] = [
    "\n\n```rust\nfn fold(items: &[u32], seed: u32) -> u32 {\n    // running checksum over the slice\n    \
     items.iter().fold(seed, |acc, x| acc.rotate_left(5) ^ x.wrapping_mul(31))\n}\n```\n\n",
    "\n- first point about caching\n- second point, with [a link](https://example.org/x)\n  - nested \
     detail `a.b.c`\n1. ordered one\n2. ordered two\n\n",
    "\n| name | size | note |\n|---|---:|---|\n| alpha | 10 | fast |\n| beta | 2000 | slower path |\n\n",
];

/// The first `count` deltas of an endless answer.
pub(crate) fn deltas(count: usize) -> impl Iterator<Item = String> {
    (1..).flat_map(section).take(count)
}

/// The complete answer of `count` deltas, without its end marker.
pub(crate) fn text(count: usize) -> String {
    deltas(count).collect()
}

fn section(number: usize) -> Vec<String> {
    let between = BETWEEN[number % BETWEEN.len()];
    let text = format!("\n\n## Section {number}\n\n{PARAGRAPH}{PARAGRAPH}{between}{PARAGRAPH}");
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(DELTA);
    pieces.map(|piece| piece.iter().collect()).collect()
}
