//! Diffs of pi: every line has a sign and a line number, and `...` stands for omitted lines.

use std::fmt::Write as _;

/// The diff in unified form; `None` if it is not such a diff.
pub(super) fn unified(numbered: &str) -> Option<String> {
    let mut diff = String::new();
    let mut shift = 0;
    let mut hunk = Hunk::default();
    for line in numbered.lines() {
        let sign = line
            .chars()
            .next()
            .filter(|sign| matches!(sign, ' ' | '+' | '-'))?;
        let rest = line[1..].trim_start();
        if sign == ' ' && rest == "..." {
            std::mem::take(&mut hunk).write(&mut diff, &mut shift);
            continue;
        }
        let (number, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let number: i64 = number.parse().ok()?;
        // Added lines have their number in the new file.
        let old = if sign == '+' { number - shift } else { number };
        hunk.start.get_or_insert(old);
        hunk.lines.push(format!("{sign}{text}\n"));
    }
    hunk.write(&mut diff, &mut shift);
    (!diff.is_empty()).then_some(diff)
}

#[derive(Default)]
struct Hunk {
    /// The first line in the old file.
    start: Option<i64>,
    lines: Vec<String>,
}

impl Hunk {
    /// Adds the hunk to `diff`. `shift` is the difference between the line numbers of the new file
    /// and the old file.
    fn write(self, diff: &mut String, shift: &mut i64) {
        let Some(start) = self.start else { return };
        let count = |other: char| {
            let lines = self.lines.iter().filter(|line| !line.starts_with(other));
            i64::try_from(lines.count()).unwrap_or(0)
        };
        let (before, after) = (count('+'), count('-'));
        // An empty range starts at the line before it.
        let first = |start: i64, count: i64| start - i64::from(count == 0);
        // Writing to a string cannot fail.
        let _ = writeln!(
            diff,
            "@@ -{},{before} +{},{after} @@",
            first(start, before),
            first(start + *shift, after)
        );
        diff.push_str(&self.lines.concat());
        *shift += after - before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_diff_becomes_a_unified_one() {
        let numbered =
            "    ...\n  8 a\n- 9 old\n+ 9 new\n+10 more\n 10 b\n    ...\n 20 c\n-21 gone";
        let expected = "@@ -8,3 +8,4 @@\n a\n-old\n+new\n+more\n b\n@@ -20,2 +21,1 @@\n c\n-gone\n";
        assert_eq!(unified(numbered).as_deref(), Some(expected));
        assert_eq!(
            unified("+1 first\n+2 ").as_deref(),
            Some("@@ -0,0 +1,2 @@\n+first\n+\n")
        );
        for other in ["", "text", "+x 1", "@@ -1 +1 @@"] {
            assert_eq!(unified(other), None, "{other}");
        }
    }
}
