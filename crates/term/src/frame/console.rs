//! Signs for the console of the Linux kernel, whose fonts have 256 or 512 of them. Its default font has those of code page
//! 437; what that lacks becomes a sign that is like it.

/// Signs that the font lacks, and what is drawn in their place.
#[rustfmt::skip]
const DRAWN: [(&str, &str); 38] = [
    ("‐–—−", "-"), ("‘’‚", "'"), ("“”„", "\""), ("…", "~"), ("‹❮", "<"), ("›❯", ">"), ("↺", "»"), ("⊞", "+"), ("⋮", ":"),
    ("⋯◦", "·"), ("━", "─"), ("┃", "│"), ("┏╭", "┌"), ("┓╮", "┐"), ("┗╰", "└"), ("┛╯", "┘"), ("┣", "├"), ("╱", "/"),
    ("╲", "\\"), ("▣▪", "■"), ("▶▸", "►"), ("‖", "║"), ("◀◂", "◄"), ("◆", "♦"), ("●", "•"), ("☐", "○"),
    ("◐", "o"), ("★⚙", "*"), ("☑✓", "√"), ("✗✕✖", "x"), ("✎", "»"), ("▁▂▃", "▄"), ("▅▆▇▉▊▋", "█"), ("▎▍▏", "▌"),
    // The spinner turns.
    ("⠋⠼⠇", "|"), ("⠙⠴⠏", "/"), ("⠹⠦", "-"), ("⠸⠧", "\\"),
];

/// `symbol`, or a sign of the font that is like it.
pub(super) fn drawn(symbol: &str) -> &str {
    if symbol.len() < 3 {
        return symbol;
    }
    let row = DRAWN.iter().find(|(signs, _)| signs.contains(symbol));
    row.map_or(symbol, |(_, drawn)| *drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_become_others_of_one_column() {
        for (symbol, expected) in [
            ("❯", ">"),
            ("╭", "┌"),
            ("─", "─"),
            ("✓", "√"),
            ("é", "é"),
            ("⠧", "\\"),
        ] {
            assert_eq!(drawn(symbol), expected);
        }
        for (_, drawn) in &DRAWN {
            assert_eq!(osier_base::text::grapheme_width(drawn), 1, "{drawn}");
        }
    }
}
