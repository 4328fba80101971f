//! Finds the place of a symbol that a model names: models know names and lines, not columns.

use osier_lsp::Lines;

/// A line, from 0, and a byte in it.
pub(super) type Spot = (usize, usize);

/// The place of `symbol` in the text: in the line `near` (from 1), or in the next line that has it; without `near`, its
/// first place. Of a path such as `a::b` or `a.b`, the last name counts.
pub(super) fn locate(text: &str, symbol: &str, near: Option<u64>) -> Option<Spot> {
    let name = last_name(symbol);
    if name.is_empty() {
        return None;
    }
    let lines = Lines::new(text);
    let count = lines.count();
    let in_line = |line: usize| Some((line, find_word(lines.line(line)?, name)?));
    let Some(near) = near else {
        return (0..count).find_map(in_line);
    };
    let near = usize::try_from(near)
        .unwrap_or(usize::MAX)
        .saturating_sub(1);
    let mut order: Vec<usize> = (0..count).collect();
    osier_base::sort::by_key(&mut order, |line| line.abs_diff(near));
    order.into_iter().find_map(in_line)
}

fn last_name(symbol: &str) -> &str {
    let symbol = symbol.trim().trim_end_matches("()").trim_end_matches('!');
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$' | '-' | '?');
    let cut = symbol.rfind(|char: char| !is_part(char));
    cut.map_or(symbol, |cut| {
        let char = symbol[cut..].chars().next().map_or(1, char::len_utf8);
        &symbol[cut + char..]
    })
}

/// The byte where `name` is a complete word.
fn find_word(line: &str, name: &str) -> Option<usize> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
    let is_word = |at: &usize| {
        let (before, after) = (&line[..*at], &line[*at + name.len()..]);
        !before.chars().next_back().is_some_and(is_part)
            && !after.chars().next().is_some_and(is_part)
    };
    line.match_indices(name).map(|(at, _)| at).find(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_by_name_near_a_line() {
        let text = "let xs = 1;\nfn x() {}\r\nuse é::x;\n";
        for (symbol, near, expected) in [
            ("x", None, Some((1, 3))),
            ("x", Some(3), Some((2, 8))),
            ("a::b.x()", Some(1), Some((1, 3))),
            ("xs", Some(99), Some((0, 4))),
            ("xs", Some(0), Some((0, 4))),
            ("y", None, None),
            ("", None, None),
            ("é", Some(3), Some((2, 4))),
        ] {
            assert_eq!(locate(text, symbol, near), expected, "{symbol} {near:?}");
        }
    }
}
