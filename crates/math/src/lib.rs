//! LaTeX math as Unicode text.
//!
//! ```
//! let lines = osier_math::lines(r"\frac{1}{2} \alpha^2 \le x").unwrap();
//! assert_eq!(lines, ["½α² ≤ x"]);
//! ```
//!
//! [`lines`] converts one formula. It returns `None` for a formula with an unsupported command, so
//! that the result is never partial. [`is_formula`] distinguishes a formula from other text between
//! dollars. The crate does not know Markdown or the screen.

mod formula;
mod symbols;

use std::fmt::Write as _;

pub use self::formula::is_formula;
use self::symbols::{ACCENTS, DOUBLE_STRUCK, FUNCTIONS, SCRIPT, SUBSCRIPT, SUPERSCRIPT, SYMBOLS};

/// Bytes of the longest formula that is converted.
const MAX_BYTES: usize = 4096;
/// Depth of the deepest group that is converted.
const MAX_DEPTH: usize = 24;

/// Converts a formula to lines of text; `None` if it has an unsupported command or is no formula.
///
/// ```
/// assert_eq!(osier_math::lines("E = mc^2").unwrap(), ["E = mc²"]);
/// assert_eq!(osier_math::lines(r"\unknown{x}"), None);
/// assert_eq!(osier_math::lines("5 and 10"), None);
/// ```
pub fn lines(latex: &str) -> Option<Vec<String>> {
    if latex.len() > MAX_BYTES || !is_formula(latex) {
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

/// The position at which reading stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    End,
    Brace,
    Bracket,
    /// After `\end{…}`.
    Environment,
    /// Before `\right`.
    Right,
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    /// Reads rows, which `\\` separates, of cells, which `&` separates.
    fn rows(&mut self, stop: Stop) -> Option<Vec<Vec<String>>> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
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
            let token = self.token()?;
            let cell = rows.last_mut()?.last_mut()?;
            let is_word =
                token.len() > 1 && token.starts_with(|char: char| char.is_ascii_lowercase());
            if is_word && cell.ends_with(char::is_alphanumeric) {
                cell.push(' ');
            }
            // Two adjacent relations have one space between them.
            if cell.ends_with(' ') {
                cell.push_str(token.trim_start_matches(' '));
            } else {
                cell.push_str(&token);
            }
        }
    }

    /// Reads the next character, group or command and returns its text.
    fn token(&mut self) -> Option<String> {
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

    /// Reads the argument of a command or script.
    fn argument(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        self.token()
    }

    fn command(&mut self) -> Option<String> {
        let length = self
            .rest
            .bytes()
            .take_while(u8::is_ascii_alphabetic)
            .count();
        if length == 0 {
            let symbol = self.rest.chars().next()?;
            self.rest = &self.rest[symbol.len_utf8()..];
            return Some(match symbol {
                ',' | ':' | ';' | ' ' => " ".to_owned(),
                '!' => String::new(),
                '|' => "‖".to_owned(),
                '{' | '}' | '%' | '$' | '#' | '&' | '_' => symbol.to_string(),
                _ => return None,
            });
        }
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        if let Some((_, symbol)) = SYMBOLS.iter().find(|(known, _)| *known == name) {
            return Some((*symbol).to_owned());
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
            "mathbb" => alphabet(&self.argument()?, DOUBLE_STRUCK),
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

    /// The name of a function, with a space before its argument where one is needed.
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

    /// Reads `\left( … \right)`.
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
        self.token().map(|fence| fence.trim().to_owned())
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

/// The cells of a row on one line.
fn joined(cells: &[String]) -> String {
    cells.concat()
}

/// All rows on one line.
fn flat(rows: &[Vec<String>]) -> String {
    let lines: Vec<String> = rows.iter().map(|row| joined(row)).collect();
    lines.join("; ")
}

/// A matrix with aligned columns between its brackets.
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

/// The text as a superscript: its Unicode characters, or `^(…)` when Unicode lacks one.
///
/// ```
/// assert_eq!(osier_math::raised("12"), "¹²");
/// assert_eq!(osier_math::lowered("2"), "₂");
/// ```
pub fn raised(text: &str) -> String {
    scripted(text, SUPERSCRIPT, '^')
}

/// The text as a subscript: its Unicode characters, or `_(…)` when Unicode lacks one.
pub fn lowered(text: &str) -> String {
    scripted(text, SUBSCRIPT, '_')
}

/// A subscript or superscript: its Unicode characters, or `mark` and the text when Unicode lacks
/// one.
fn scripted(text: &str, table: &[(char, char)], mark: char) -> String {
    let text = text.trim();
    let symbol = |char: char| {
        table
            .iter()
            .find(|(plain, _)| *plain == char)
            .map(|(_, symbol)| *symbol)
    };
    let tight: String = text.chars().filter(|char| *char != ' ').collect();
    if let Some(symbols) = tight.chars().map(symbol).collect::<Option<String>>() {
        return symbols;
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
    if let Some((_, _, symbol)) = known {
        return (*symbol).to_owned();
    }
    format!("{}/{}", enclosed(over), enclosed(under))
}

/// The text in brackets, unless it is a single operand.
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

/// The text in letters of another alphabet; `None` if the alphabet lacks one.
fn alphabet(text: &str, table: &[(char, char)]) -> Option<String> {
    let symbol = |char: char| {
        table
            .iter()
            .find(|(plain, _)| *plain == char)
            .map(|(_, symbol)| *symbol)
    };
    text.chars().map(symbol).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(latex: &str) -> String {
        lines(latex).map_or_else(|| "(source)".to_owned(), |lines| lines.join("\n"))
    }

    #[test]
    fn formulas_become_unicode_text() {
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

    proptest! {
        #[test]
        fn conversion_never_panics(latex in r"[a-c{}\\^_&$ \n\[\]()0-2]{0,40}") {
            let _ = lines(&latex);
        }
    }
}
