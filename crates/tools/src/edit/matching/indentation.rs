//! Maps the indentation that a model wrote to that of the file, learned from the lines that both have.

/// Maps each indentation that the model wrote to an indentation of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Indentation<'a> {
    /// Indentations that the model wrote, each with the indentation in the file.
    known: Vec<(&'a str, &'a str)>,
    rule: Rule<'a>,
}

/// How an indentation is mapped that no line of the file shows.
#[derive(Debug, PartialEq, Eq)]
enum Rule<'a> {
    /// Not at all: tabs and spaces are mixed without a system.
    None,
    Add(&'a str),
    Remove(&'a str),
    Scale(Scale),
}

/// The indentation `from + n * model` of the model is `to + n * file` in the file.
#[derive(Debug, PartialEq, Eq)]
struct Scale {
    model_char: char,
    file_char: char,
    from: usize,
    to: usize,
    model: usize,
    file: usize,
}

/// The whitespace at the start of a line.
pub(super) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

impl<'a> Indentation<'a> {
    /// `pairs` are the indentations of equal lines, as the model wrote them and as the file has them. `written` are
    /// all lines of the model. `None` when the two do not have the same structure.
    pub(super) fn learn(
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
        written: &[&'a str],
        file: &str,
    ) -> Option<Self> {
        let mut known: Vec<(&str, &str)> = Vec::new();
        for pair in pairs {
            if known.contains(&pair) {
                continue;
            }
            if known
                .iter()
                .any(|other| other.0 == pair.0 || other.1 == pair.1)
            {
                return None;
            }
            known.push(pair);
        }
        let rule = Rule::learn(&known, written, file);
        Some(Self { known, rule })
    }

    /// `line` of the model with the indentation of the file; `None` when that is unknown.
    pub(super) fn map(&self, line: &str) -> Option<String> {
        let written = indentation(line);
        let content = &line[written.len()..];
        if content.trim().is_empty() {
            return Some(String::new());
        }
        let known = self.known.iter().find(|pair| pair.0 == written);
        let mapped = match known {
            Some((_, file)) => (*file).to_owned(),
            None => self.rule.map(written)?,
        };
        Some(mapped + content)
    }
}

impl<'a> Rule<'a> {
    fn learn(known: &[(&'a str, &'a str)], written: &[&'a str], file: &str) -> Self {
        if known.iter().all(|(model, file)| model == file) {
            return Self::Add("");
        }
        if let Some(scale) = Scale::learn(known, written, file) {
            return Self::Scale(scale);
        }
        let added = |pair: &(&str, &'a str)| pair.1.strip_suffix(pair.0);
        let removed = |pair: &(&'a str, &str)| pair.0.strip_suffix(pair.1);
        let same = |found: &dyn Fn(&(&'a str, &'a str)) -> Option<&'a str>| {
            let first = known.first().and_then(found)?;
            known
                .iter()
                .all(|pair| found(pair) == Some(first))
                .then_some(first)
        };
        same(&added)
            .map(Self::Add)
            .or_else(|| same(&removed).map(Self::Remove))
            .unwrap_or(Self::None)
    }

    fn map(&self, written: &str) -> Option<String> {
        match self {
            Self::None => None,
            Self::Add(prefix) => Some(format!("{prefix}{written}")),
            Self::Remove(prefix) => written.strip_prefix(prefix).map(str::to_owned),
            Self::Scale(scale) => scale.map(written),
        }
    }
}

impl Scale {
    fn learn(known: &[(&str, &str)], written: &[&str], file: &str) -> Option<Self> {
        let indentations = || written.iter().map(|line| indentation(line));
        let model_char = character(known.iter().map(|pair| pair.0).chain(indentations()))?;
        let file_char = character(known.iter().map(|pair| pair.1))
            .or_else(|| {
                character(
                    file.lines()
                        .map(indentation)
                        .filter(|text| !text.is_empty())
                        .take(1),
                )
            })
            .unwrap_or(model_char);
        let plain = |text: &str, char| text.chars().all(|other| other == char);
        if !known
            .iter()
            .all(|pair| plain(pair.0, model_char) && plain(pair.1, file_char))
        {
            return None;
        }
        let lengths = || known.iter().map(|pair| (pair.0.len(), pair.1.len()));
        let (from, to) = lengths().min()?;
        let (last_from, last_to) = lengths().max()?;
        let (model, file) = if last_from > from {
            (last_from - from, last_to.checked_sub(to)?)
        } else if model_char == file_char {
            (1, 1)
        } else {
            let steps = indentations().map(|text| text.len().abs_diff(from));
            units(file_char, (from, to), steps, file)?
        };
        let scale = Self {
            model_char,
            file_char,
            from,
            to,
            model,
            file,
        };
        let fits = known
            .iter()
            .all(|pair| scale.map(pair.0).as_deref() == Some(pair.1));
        (file > 0 && fits).then_some(scale)
    }

    fn map(&self, written: &str) -> Option<String> {
        if !written.chars().all(|char| char == self.model_char) {
            return None;
        }
        let length = written.len();
        let distance = length.abs_diff(self.from) * self.file;
        if !distance.is_multiple_of(self.model) {
            return None;
        }
        let distance = distance / self.model;
        let count = if length < self.from {
            self.to.checked_sub(distance)?
        } else {
            self.to + distance
        };
        Some(self.file_char.to_string().repeat(count))
    }
}

/// The only kind of whitespace in `indentations`; `None` when there is none or both.
fn character<'a>(indentations: impl Iterator<Item = &'a str>) -> Option<char> {
    let mut chars = indentations.flat_map(str::chars);
    let first = chars.next()?;
    chars.all(|char| char == first).then_some(first)
}

/// One step of indentation in characters, for the model and for the file, when one of them uses tabs and the other
/// spaces. `shown` is the one indentation that both have.
fn units(
    file_char: char,
    shown: (usize, usize),
    steps: impl Iterator<Item = usize>,
    file: &str,
) -> Option<(usize, usize)> {
    let (model, in_file) = shown;
    let (spaces, tabs) = if file_char == '\t' {
        (model, in_file)
    } else {
        (in_file, model)
    };
    let ratio = (tabs > 0 && spaces > 0 && spaces.is_multiple_of(tabs)).then(|| spaces / tabs);
    let step = steps.filter(|step| *step > 0).fold(0, gcd);
    if file_char == '\t' {
        // A step that the model uses, unless it is finer than what the file shows.
        let spaces = ratio.or((step > 0).then_some(step))?;
        return Some((spaces, 1));
    }
    let widths = file
        .lines()
        .map(indentation)
        .filter(|text| text.bytes().all(|byte| byte == b' '));
    let smallest = widths.map(str::len).filter(|width| *width > 1).min();
    Some((1, ratio.or(smallest)?))
}

fn gcd(left: usize, right: usize) -> usize {
    if right == 0 {
        left
    } else {
        gcd(right, left % right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(pairs: &[(&str, &str)], file: &str, lines: &[&str]) -> Vec<Option<String>> {
        let found = Indentation::learn(pairs.iter().copied(), lines, file).unwrap();
        lines.iter().map(|line| found.map(line)).collect()
    }

    #[test]
    fn the_indentation_of_the_file_is_used() {
        for (pairs, file, line, expected) in [
            // Four columns were left out.
            (&[("", "    ")][..], "", "    a", Some("        a")),
            // Too many columns.
            (&[("        ", "    ")], "", "    a", Some("a")),
            (&[("        ", "    ")], "", "  a", None),
            // Spaces for tabs, and tabs for spaces.
            (
                &[("    ", "\t"), ("        ", "\t\t")],
                "",
                "            a",
                Some("\t\t\ta"),
            ),
            (&[("    ", "\t")], "", "        a", Some("\t\ta")),
            (&[("", "\t")], "\ta", "  a", Some("\t\ta")),
            (&[("\t", "  ")], "", "\t\ta", Some("    a")),
            (&[("", "")], "", "\ta", Some("\ta")),
            // Two columns for four.
            (
                &[("  ", "    "), ("    ", "        ")],
                "",
                "      a",
                Some("            a"),
            ),
            (
                &[("  ", "    "), ("    ", "        ")],
                "",
                "     a",
                Some("          a"),
            ),
            // A blank line has no indentation.
            (&[("", "    ")], "", "   ", Some("")),
            // Tabs and spaces mixed: only a common prefix is mapped.
            (&[("", "\t  ")], "", " a", Some("\t   a")),
            (&[("\t  ", "\t")], "", "\t  a", Some("\ta")),
            (&[(" \t", "\t ")], "", "a", None),
        ] {
            assert_eq!(
                mapped(pairs, file, &[line]),
                [expected.map(str::to_owned)],
                "{pairs:?} {line:?}"
            );
        }
    }

    #[test]
    fn another_structure_is_refused() {
        for pairs in [[("", ""), ("", "    ")], [("", "    "), ("  ", "    ")]] {
            assert_eq!(Indentation::learn(pairs.into_iter(), &[], ""), None);
        }
    }
}
