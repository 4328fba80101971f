//! LaTeX math as Unicode text. A formula with an unsupported command stays unchanged, so that the result is
//! never partial.
//!
//! Start at [`lines`], which converts one formula, and [`with_dollars`], which converts the formulas of a text.
//!
//! The crate does not know Markdown or the screen.

mod signs;

use std::borrow::Cow;
use std::fmt::Write as _;

use self::signs::{ACCENTS, DOUBLE, FUNCTIONS, SCRIPT, SIGNS, SUBSCRIPT, SUPERSCRIPT};

/// Longest formula that is looked at, in bytes.
const LONGEST: usize = 4096;
/// Deepest nesting of groups.
const DEEPEST: usize = 24;

/// The lines of a formula; `None` where it holds what cannot be shown, and for what is no formula.
pub fn lines(latex: &str) -> Option<Vec<String>> {
    if latex.len() > LONGEST || !is_math(latex) {
        return None;
    }
    let mut reader = Reader {
        rest: latex,
        depth: 0,
    };
    let rows = reader.rows(Stop::End)?;
    let lines: Vec<String> = rows
        .into_iter()
        .flat_map(|cells| {
            joined(&cells)
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.trim_end().to_owned())
        .collect();
    (!lines.is_empty()).then_some(lines)
}

/// Whether text between dollars is meant as a formula: prices and names of variables are not.
fn is_math(latex: &str) -> bool {
    let latex = latex.trim();
    let single = latex.chars().count() == 1 && latex.chars().all(char::is_alphabetic);
    single || latex.contains(['\\', '^', '_', '=', '<', '>', '+', '*']) || {
        // `f(x)`, `x - 1`, `n!`, `a, b`
        latex.chars().any(char::is_alphabetic) && latex.contains(['(', '-', '!', '|', ','])
    }
}

/// `\(…\)` and `\[…\]` as `$$…$$`, which has the same length, outside of code.
pub fn with_dollars(source: &str) -> Cow<'_, str> {
    if !source.contains("\\(") && !source.contains("\\[") {
        return Cow::Borrowed(source);
    }
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(['\\', '`']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = if rest.starts_with('`') {
            code_span(rest)
        } else if let Some(length) = formula(rest) {
            out.push_str("$$");
            out.push_str(&rest[2..length - 2]);
            out.push_str("$$");
            rest = &rest[length..];
            continue;
        } else {
            // What is escaped is taken along.
            1 + rest[1..].chars().next().map_or(0, char::len_utf8)
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Bytes of the code that begins here, or of the backticks alone.
fn code_span(text: &str) -> usize {
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    let mut at = ticks;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        at = start + run;
        if run == ticks {
            return at;
        }
    }
    ticks
}

/// Bytes of the formula that begins here with `\(` or `\[`. It ends in its own paragraph.
fn formula(text: &str) -> Option<usize> {
    let end = match text.as_bytes().get(1)? {
        b'(' => "\\)",
        b'[' => "\\]",
        _ => return None,
    };
    let length = text[2..].find(end)? + 4;
    let inner = &text[2..length - 2];
    let is_whole = !inner.contains(['`', '$']) && !inner.contains("\n\n") && lines(inner).is_some();
    is_whole.then_some(length)
}

/// Where reading stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    End,
    Brace,
    Bracket,
    /// At `\end`, which is taken.
    Environment,
    /// At `\right`, which is not.
    Right,
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    /// Reads rows of cells, parted by `\\` and `&`.
    fn rows(&mut self, stop: Stop) -> Option<Vec<Vec<String>>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut rows = vec![vec![String::new()]];
        loop {
            let Some(next) = self.rest.chars().next() else {
                self.depth -= 1;
                return (stop == Stop::End).then_some(rows);
            };
            let done = match (next, stop) {
                ('}', Stop::Brace) | (']', Stop::Bracket) => {
                    self.rest = &self.rest[1..];
                    true
                }
                ('\\', Stop::Environment) if self.rest.starts_with("\\end{") => {
                    self.rest = self.rest[5..].split_once('}')?.1;
                    true
                }
                ('\\', Stop::Right) => self.rest.starts_with("\\right"),
                ('}', _) => return None,
                _ => false,
            };
            if done {
                self.depth -= 1;
                return Some(rows);
            }
            if self.rest.starts_with("\\\\") {
                self.rest = &self.rest[2..];
                rows.push(vec![String::new()]);
                continue;
            }
            if next == '&' {
                self.rest = &self.rest[1..];
                rows.last_mut()?.push(String::new());
                continue;
            }
            let piece = self.piece()?;
            let cell = rows.last_mut()?.last_mut()?;
            let is_word =
                piece.len() > 1 && piece.starts_with(|char: char| char.is_ascii_lowercase());
            if is_word && cell.ends_with(char::is_alphanumeric) {
                cell.push(' ');
            }
            // Blanks of two relations beside each other are one.
            if cell.ends_with(' ') {
                cell.push_str(piece.trim_start_matches(' '));
            } else {
                cell.push_str(&piece);
            }
        }
    }

    /// The next thing as text.
    fn piece(&mut self) -> Option<String> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(match next {
            '\\' => return self.command(),
            '{' => flat(&self.rows(Stop::Brace)?),
            '^' => scripted(&self.argument()?, SUPERSCRIPT, '^'),
            '_' => scripted(&self.argument()?, SUBSCRIPT, '_'),
            '~' => " ".to_owned(),
            '\'' => "′".to_owned(),
            '-' => "−".to_owned(),
            '*' => "∗".to_owned(),
            '=' | '<' | '>' => format!(" {next} "),
            '\n' | ' ' | '\t' => String::new(),
            '%' | '$' | '#' => return None,
            ',' => ", ".to_owned(),
            other => other.to_string(),
        })
    }

    /// What a command or a script applies to.
    fn argument(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        self.piece()
    }

    fn command(&mut self) -> Option<String> {
        let length = self
            .rest
            .bytes()
            .take_while(u8::is_ascii_alphabetic)
            .count();
        if length == 0 {
            let sign = self.rest.chars().next()?;
            self.rest = &self.rest[sign.len_utf8()..];
            return Some(match sign {
                ',' | ':' | ';' | ' ' => " ".to_owned(),
                '!' => String::new(),
                '|' => "‖".to_owned(),
                '{' | '}' | '%' | '$' | '#' | '&' | '_' => sign.to_string(),
                _ => return None,
            });
        }
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        if let Some((_, sign)) = SIGNS.iter().find(|(known, _)| *known == name) {
            return Some((*sign).to_owned());
        }
        if FUNCTIONS.contains(&name) {
            return Some(self.named(name));
        }
        if let Some((_, accent)) = ACCENTS.iter().find(|(known, _)| *known == name) {
            let base = self.argument()?;
            let marked = base.chars().flat_map(|base| [base, *accent]);
            return Some(marked.collect());
        }
        match name {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                Some(fraction(&self.argument()?, &self.argument()?))
            }
            "binom" => Some(format!("C({}, {})", self.argument()?, self.argument()?)),
            "sqrt" => self.root(),
            "text" | "textrm" | "textbf" | "textit" | "mathrm" | "operatorname" | "mbox"
            | "textsf" => self.literal(),
            "mathbf" | "mathit" | "mathsf" | "boldsymbol" | "bm" | "displaystyle" | "textstyle"
            | "limits" | "nolimits" | "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr"
            | "Bigl" | "Bigr" => Some(String::new()),
            "mathbb" => alphabet(&self.argument()?, DOUBLE),
            "mathcal" | "mathscr" => alphabet(&self.argument()?, SCRIPT),
            "left" => self.fenced(),
            "begin" => self.environment(),
            "pmod" => Some(format!(" (mod {})", self.argument()?)),
            "not" => Some(format!("{}\u{338}", self.argument()?.trim())),
            "quad" | "qquad" => Some("  ".to_owned()),
            "boxed" => Some(format!("[{}]", self.argument()?)),
            _ => None,
        }
    }

    /// The name of a function, set off from what it is applied to.
    fn named(&self, name: &str) -> String {
        let rest = self.rest.trim_start();
        let touches = rest.starts_with(['(', '^', '_', '{', '[']) || rest.is_empty();
        format!("{name}{}", if touches { "" } else { " " })
    }

    /// Text in braces, as it is.
    fn literal(&mut self) -> Option<String> {
        let inner = self.rest.trim_start().strip_prefix('{')?;
        let (text, rest) = inner.split_once('}')?;
        self.rest = rest;
        (!text.contains(['\\', '{', '$'])).then(|| text.to_owned())
    }

    fn root(&mut self) -> Option<String> {
        let degree = match self.rest.strip_prefix('[') {
            Some(rest) => {
                self.rest = rest;
                Some(flat(&self.rows(Stop::Bracket)?))
            }
            None => None,
        };
        let under = enclosed(&self.argument()?);
        Some(match degree.as_deref() {
            None | Some("2") => format!("√{under}"),
            Some("3") => format!("∛{under}"),
            Some("4") => format!("∜{under}"),
            Some(degree) => format!("{}√{under}", scripted(degree, SUPERSCRIPT, '^')),
        })
    }

    /// `\left( … \right)`.
    fn fenced(&mut self) -> Option<String> {
        let open = self.fence()?;
        let inner = flat(&self.rows(Stop::Right)?);
        self.rest = self.rest.strip_prefix("\\right")?;
        let close = self.fence()?;
        Some(format!("{open}{inner}{close}"))
    }

    fn fence(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            return Some(String::new());
        }
        self.piece().map(|fence| fence.trim().to_owned())
    }

    fn environment(&mut self) -> Option<String> {
        let (name, rest) = self.rest.strip_prefix('{')?.split_once('}')?;
        self.rest = rest;
        let name = name.trim_end_matches('*');
        if name == "array" {
            self.rest = self.rest.trim_start().strip_prefix('{')?.split_once('}')?.1;
        }
        let mut rows = self.rows(Stop::Environment)?;
        if rows
            .last()
            .is_some_and(|row| row.iter().all(|cell| cell.trim().is_empty()))
        {
            rows.pop();
        }
        let sides = match name {
            "matrix" | "array" | "smallmatrix" => ["", ""],
            "pmatrix" => ["⎛⎜⎝(", "⎞⎟⎠)"],
            "bmatrix" => ["⎡⎢⎣[", "⎤⎥⎦]"],
            "Bmatrix" => ["⎧⎨⎩{", "⎫⎬⎭}"],
            "vmatrix" => ["││││", "││││"],
            "Vmatrix" => ["‖‖‖‖", "‖‖‖‖"],
            "cases" => ["⎧⎨⎩{", ""],
            "aligned" | "align" | "gathered" | "gather" | "split" | "equation" => {
                let lines: Vec<String> = rows.iter().map(|row| joined(row)).collect();
                return Some(format!("{}\n", lines.join("\n")));
            }
            _ => return None,
        };
        Some(grid(&rows, sides))
    }
}

/// Cells of one line.
fn joined(cells: &[String]) -> String {
    cells.concat()
}

/// Everything on one line.
fn flat(rows: &[Vec<String>]) -> String {
    let lines: Vec<String> = rows.iter().map(|row| joined(row)).collect();
    lines.join("; ")
}

/// A matrix: its columns one below the other, between its sides.
fn grid(rows: &[Vec<String>], [open, close]: [&str; 2]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells
            .map(|cell| osier_base::text::width(cell.trim()))
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let side = |side: &str, row: usize| {
        let place = match (row, rows.len()) {
            (_, 1) => 3,
            (0, _) => 0,
            (row, count) if row + 1 == count => 2,
            _ => 1,
        };
        side.chars()
            .nth(place)
            .map(String::from)
            .unwrap_or_default()
    };
    let mut text = String::from("\n");
    for (place, row) in rows.iter().enumerate() {
        let cells = widths.iter().enumerate().map(|(column, width)| {
            let cell = row.get(column).map_or("", |cell| cell.trim());
            let gap = width - osier_base::text::width(cell).min(*width);
            format!("{cell}{}", " ".repeat(gap))
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let (open, close) = (side(open, place), side(close, place));
        let _ = writeln!(text, "{open} {line} {close}");
    }
    text
}

/// Text as a script: with the signs that exist for it, else in brackets behind its mark.
fn scripted(text: &str, table: &[(char, char)], mark: char) -> String {
    let text = text.trim();
    let sign = |char: char| {
        table
            .iter()
            .find(|(plain, _)| *plain == char)
            .map(|(_, sign)| *sign)
    };
    let tight: String = text.chars().filter(|char| *char != ' ').collect();
    if let Some(signs) = tight.chars().map(sign).collect::<Option<String>>() {
        return signs;
    }
    if text.chars().count() == 1 {
        return format!("{mark}{text}");
    }
    format!("{mark}({text})")
}

fn fraction(over: &str, under: &str) -> String {
    const KNOWN: &[(&str, &str, &str)] = &[
        ("1", "2", "½"),
        ("1", "3", "⅓"),
        ("2", "3", "⅔"),
        ("1", "4", "¼"),
        ("3", "4", "¾"),
        ("1", "5", "⅕"),
        ("1", "8", "⅛"),
    ];
    let known = KNOWN
        .iter()
        .find(|(up, down, _)| (*up, *down) == (over, under));
    if let Some((_, _, sign)) = known {
        return (*sign).to_owned();
    }
    format!("{}/{}", enclosed(over), enclosed(under))
}

/// In brackets, unless it is one thing.
fn enclosed(text: &str) -> String {
    let text = text.trim();
    let one = |char: char| {
        char.is_alphanumeric()
            || "′∞ₙ".contains(char)
            || !char.is_ascii() && char != '−' && char != '⋅' && char != '×' && char != '±'
    };
    if text.chars().all(one) && !text.contains(' ') {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// Letters of another alphabet; `None` where it lacks one.
fn alphabet(text: &str, table: &[(char, char)]) -> Option<String> {
    let sign = |char: char| {
        table
            .iter()
            .find(|(plain, _)| *plain == char)
            .map(|(_, sign)| *sign)
    };
    text.chars().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(latex: &str) -> String {
        lines(latex).map_or_else(|| "(source)".to_owned(), |lines| lines.join("\n"))
    }

    #[test]
    fn formulas_are_shown_by_their_signs() {
        for (latex, expected) in [
            ("x", "x"),
            ("x^2 + y_1", "x²+y₁"),
            ("a_{ij}^{n+1}", "aᵢⱼⁿ⁺¹"),
            ("E = mc^2", "E = mc²"),
            (r"\alpha \le \beta", "α ≤ β"),
            (r"\frac{1}{2}", "½"),
            (r"\frac{a+b}{c}", "(a+b)/c"),
            (r"\sqrt{2}", "√2"),
            (r"\sqrt[3]{x+1}", "∛(x+1)"),
            (r"\sum_{i=0}^{n} i", "∑ᵢ₌₀ⁿi"),
            (r"\int_a^b f(x)\,dx", "∫ₐᵇf(x) dx"),
            (
                r"\lim_{x \to 0} \frac{\sin x}{x} = 1",
                "lim_(x → 0)(sin x)/x = 1",
            ),
            (r"x \in \mathbb{R}", "x ∈ ℝ"),
            (r"\left( a \right)", "(a)"),
            (r"\text{if } x > 0", "if x > 0"),
            (r"\hat{x}", "x\u{302}"),
            (r"O(n \log n)", "O(n log n)"),
            (r"\unknown{x}", "(source)"),
            ("5 and 10", "(source)"),
            ("HOME/", "(source)"),
            ("{", "(source)"),
        ] {
            assert_eq!(shown(latex), expected, "{latex}");
        }
    }

    #[test]
    fn matrices_and_cases_have_rows() {
        assert_eq!(
            shown(r"A = \begin{pmatrix} a & b \\ cc & d \end{pmatrix}"),
            "A =\n⎛ a   b ⎞\n⎝ cc  d ⎠"
        );
        assert_eq!(
            shown(r"\begin{cases} 1 & x > 0 \\ 0 & \text{else} \end{cases}"),
            "⎧ 1  x > 0\n⎩ 0  else"
        );
        assert_eq!(
            shown(r"\begin{aligned} a &= b \\ c &= d \end{aligned}"),
            "a = b\nc = d"
        );
    }

    #[test]
    fn brackets_become_dollars_outside_of_code() {
        for (source, expected) in [
            (r"so \(x\) is", "so $$x$$ is"),
            ("\\[\nx\n\\]", "$$\nx\n$$"),
            (r"`\(x\)`", r"`\(x\)`"),
            (r"\\(x\)", r"\\(x\)"),
            (r"\(x", r"\(x"),
            ("\\(x\n\ny\\)", "\\(x\n\ny\\)"),
            (r"\[link\](x)", r"\[link\](x)"),
        ] {
            assert_eq!(with_dollars(source), expected);
            assert_eq!(expected.len(), source.len());
        }
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(latex in r"[a-c{}\\^_&$ \n\[\]()0-2]{0,40}") {
            let _ = lines(&latex);
            prop_assert_eq!(with_dollars(&latex).len(), latex.len());
        }
    }
}
