//! Decides whether text between dollars is a formula. Shell text, prices and prose are not; if it
//! is unclear, the text is not a formula.

/// Characters that commands have and formulas do not.
const SHELL: &[&str] = &[
    "`", "\"", "$", "#", "@", "?", "&&", "->", "::", "://", "~/", "./", "../", ">>", "<<", "--",
    "++", "==", "!=", "+=", "-=",
];
/// The character that replaces an operand: a command, a script or a text.
const OPERAND: char = 'λ';
/// Operators between operands, after commands were replaced.
const OPERATORS: &str = "=<>+-*/^_|·×÷±≤≥≠≈∈→";

/// Whether `latex` is surely a formula: one with a LaTeX command, an operator between operands of which one has a letter, or
/// nothing but variables of one letter.
///
/// ```
/// for formula in [r"\frac{1}{2}", "E = mc^2", "x", "f(x)"] {
///     assert!(osier_math::is_formula(formula), "{formula}");
/// }
/// for text in ["5 and 10", "HOME/bin:", "EDITOR=vim;", "(pwd)/", r"^\d+", "a,"] {
///     assert!(!osier_math::is_formula(text), "{text}");
/// }
/// ```
pub fn is_formula(latex: &str) -> bool {
    let text = latex.trim();
    let Some(skeleton) = Skeleton::of(text) else {
        return false;
    };
    let plain = skeleton.text.trim();
    if plain.is_empty() || !is_balanced(text) || has_words(plain) || text.starts_with('{') {
        return false;
    }
    if skeleton.has_command {
        return true;
    }
    let ends = |char: char| char.is_alphanumeric() || ")]}|'!".contains(char);
    let begins = |char: char| char.is_alphanumeric() || "([|+-".contains(char);
    plain.starts_with(begins)
        && plain.ends_with(ends)
        && plain.contains(char::is_alphabetic)
        && (has_operator(plain) || is_variables(plain))
}

/// A formula with one character for each command, script and text.
struct Skeleton {
    text: String,
    has_command: bool,
}

impl Skeleton {
    /// Reads a formula; `None` if the text has characters that only shell commands or patterns
    /// have.
    fn of(latex: &str) -> Option<Self> {
        if SHELL.iter().any(|sign| latex.contains(sign)) {
            return None;
        }
        let mut skeleton = Self {
            text: String::new(),
            has_command: false,
        };
        let mut rest = latex;
        while let Some(char) = rest.chars().next() {
            rest = &rest[char.len_utf8()..];
            match char {
                '\\' => rest = skeleton.command(rest)?,
                // The index of `x_{max}` is no word.
                '^' | '_' if rest.starts_with('{') => {
                    skeleton.text.push(char);
                    skeleton.text.push(OPERAND);
                    let end = group(rest)?;
                    skeleton.has_command |= Self::of(&rest[1..end - 1])?.has_command;
                    rest = &rest[end..];
                }
                '%' | ';' => return None,
                '&' if !skeleton.has_command => return None,
                '{' | '}' => skeleton.text.push(' '),
                other => skeleton.text.push(other),
            }
        }
        Some(skeleton)
    }

    /// Reads the command after a backslash.
    fn command<'r>(&mut self, rest: &'r str) -> Option<&'r str> {
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let name = &rest[..letters];
        match letters {
            0 => {
                // A space, a break, or an escaped character.
                let sign = rest.chars().next()?;
                let is_known = ",:;!|{}%$#&_\\ \n".contains(sign);
                self.text.push(' ');
                return is_known.then(|| &rest[sign.len_utf8()..]);
            }
            // `\d`, `\w` and `\n` belong to patterns.
            1 => return None,
            _ => {}
        }
        self.has_command = true;
        self.text.push(OPERAND);
        let rest = &rest[letters..];
        let has_text = name.starts_with("text")
            || matches!(name, "mathrm" | "operatorname" | "mbox" | "begin" | "end");
        if has_text && rest.starts_with('{') {
            return Some(&rest[group(rest)?..]);
        }
        Some(rest)
    }
}

/// The length of the group in braces at the start of the text.
fn group(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Whether as many brackets are opened as closed. Their kinds may differ, as in the interval `[0,
/// 1)`.
fn is_balanced(text: &str) -> bool {
    let count = |chars: &[char]| text.chars().filter(|char| chars.contains(char)).count();
    count(&['(', '[']) == count(&[')', ']']) && count(&['{']) == count(&['}'])
}

/// Whether a text has a word, a name such as `CC` or `MY_ID`, or two words of two letters in a row.
fn has_words(text: &str) -> bool {
    let letters = |text: &str| {
        text.chars()
            .all(|char| char.is_alphabetic() && char != OPERAND)
    };
    let is_word = |run: &str| {
        let count = run.chars().count();
        let is_one_case =
            run.chars().all(char::is_lowercase) || run.chars().all(char::is_uppercase);
        count > 3 || count == 3 && is_one_case
    };
    let mut runs = text.split(|char: char| !char.is_alphabetic() || char == OPERAND);
    let is_name = |name: &str| {
        name.contains('_') && name.chars().filter(|char| char.is_uppercase()).count() > 2
    };
    let mut words = text.split(|char: char| !(char.is_alphanumeric() || char == '_'));
    let spaced: Vec<&str> = text.split_whitespace().collect();
    let is_short = |word: &str| word.len() > 1 && letters(word);
    runs.any(is_word)
        || words.any(is_name)
        || spaced
            .windows(2)
            .any(|pair| is_short(pair[0]) && is_short(pair[1].trim_end_matches([',', '.', ')'])))
        || spaced.iter().any(|word| SMALL_WORDS.contains(word))
}

/// Words of prose that could be products of two variables.
const SMALL_WORDS: &[&str] = &[
    "or", "to", "is", "of", "in", "an", "at", "as", "by", "if", "it", "on", "we", "no", "so", "be",
];

/// Whether an operator is between two operands of which one begins or ends with a letter.
fn has_operator(text: &str) -> bool {
    let is_operand = |char: char| char.is_alphanumeric() || ")]}'!([{".contains(char);
    text.match_indices(|char| OPERATORS.contains(char))
        .any(|(at, operator)| {
            let before = text[..at].trim_end().chars().next_back();
            let after = text[at + operator.len()..].trim_start().chars().next();
            let sides = [before, after];
            sides.iter().all(|side| side.is_some_and(is_operand))
                && sides.iter().flatten().any(|side| !side.is_numeric())
        })
}

/// Whether a text has only variables of one letter, as in `x`, `f(x)` or `a, b`.
fn is_variables(text: &str) -> bool {
    let is_sign = |char: char| char.is_numeric() || " ,()|!'".contains(char);
    let is_one = |run: &str| run.chars().count() <= 1;
    text.chars()
        .all(|char| char.is_alphabetic() || is_sign(char))
        && text.split(is_sign).all(is_one)
        && !text.starts_with(char::is_numeric)
}
