//! Tokens of a command: words, operators, newlines and here-documents.

use super::{DEPTH_LIMIT, GLOB, HOLE, PIPE, Source, Word, grammar::Reader, is_name};

/// The operators, longest first, so that `<<-` is not read as `<<`.
const OPERATORS: &[&str] = &[
    "&>>", "<<<", "<<-", "&&", "||", ";;", "|&", "&>", "<<", "<&", "<>", ">>", ">&", ">|", ";",
    "&", "|", "(", ")", "<", ">",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// The number of a file descriptor, directly before a redirection.
    Descriptor,
    Operator(&'static str),
    Newline,
    End,
}

/// A here-document that starts at the next line.
#[derive(Debug)]
pub(super) struct Document {
    end: String,
    is_quoted: bool,
    strips_tabs: bool,
}

/// A word while it is read: its characters, and whether each is outside of quotes.
#[derive(Default)]
struct Draft {
    chars: Vec<(char, bool)>,
    word: Word,
    has_quotes: bool,
    /// Whether there is a `$` or a backtick outside of quotes.
    has_dollar: bool,
}

impl Draft {
    fn push(&mut self, char: char, bare: bool) {
        self.chars.push((char, bare));
    }

    /// Adds an unknown value.
    fn hole(&mut self, source: Source, quoted: bool) {
        if let Source::Variable(name) = &source {
            self.word.names.push(name.clone());
        }
        if self.chars.is_empty() || !quoted {
            self.word.sources.push(source);
        }
        self.word.splits |= !quoted;
        self.word.dynamic = true;
        self.push(HOLE, false);
    }
}

impl<'a> Reader<'a> {
    pub(super) fn peek_char(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn char_after(&self, distance: usize) -> Option<char> {
        self.text.get(self.at + distance).copied()
    }

    pub(super) fn next_char(&mut self) -> Option<char> {
        let char = self.peek_char()?;
        self.at += 1;
        Some(char)
    }

    /// Reads the next token.
    pub(super) fn token(&mut self) -> Option<Token> {
        self.skip_blanks()?;
        if self.peek_char() == Some('#') {
            // Versions of bash disagree about comments in substitutions.
            if self.is_nested {
                return None;
            }
            while self.peek_char().is_some_and(|char| char != '\n') {
                self.at += 1;
            }
        }
        let Some(char) = self.peek_char() else {
            return Some(Token::End);
        };
        if char == '\n' {
            self.at += 1;
            self.skip_documents()?;
            return Some(Token::Newline);
        }
        let is_substitution = matches!(char, '<' | '>') && self.char_after(1) == Some('(');
        let starts = |operator: &&&str| {
            let rest = &self.text[self.at..];
            operator.chars().count() <= rest.len()
                && operator.chars().zip(rest).all(|(a, b)| a == *b)
        };
        if !is_substitution && let Some(operator) = OPERATORS.iter().find(starts) {
            self.at += operator.len();
            return Some(Token::Operator(operator));
        }
        let start = self.at;
        let word = self.word()?;
        if matches!(self.peek_char(), Some('<' | '>')) {
            let raw = &self.text[start..self.at];
            if raw.iter().all(char::is_ascii_digit) {
                return (raw.len() < 4).then_some(Token::Descriptor);
            }
            // `{NAME}>file` assigns to a variable.
            if raw.first() == Some(&'{') && raw.last() == Some(&'}') {
                return None;
            }
        }
        Some(Token::Word(word))
    }

    /// Skips blanks, and a continued line where a blank precedes it. Fails where bash would join two lines inside
    /// of a token or before a here-document.
    pub(super) fn skip_blanks(&mut self) -> Option<()> {
        let mut separated = self.at == 0 || matches!(self.text[self.at - 1], ' ' | '\t' | '\n');
        loop {
            match self.peek_char() {
                Some(' ' | '\t') => {
                    self.at += 1;
                    separated = true;
                }
                Some('\\') if self.char_after(1) == Some('\n') => {
                    if !separated || !self.documents.is_empty() || self.is_nested {
                        return None;
                    }
                    self.at += 2;
                }
                _ => return Some(()),
            }
        }
    }

    /// Reads a word; it is empty when none starts here.
    pub(super) fn word(&mut self) -> Option<Word> {
        let start = self.at;
        let mut draft = Draft::default();
        while let Some(char) = self.peek_char() {
            match char {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' if self.char_after(1) != Some('(') => break,
                '<' | '>' => {
                    self.at += 2;
                    self.nested_list()?;
                    draft.hole(Source::Variable(PIPE.to_owned()), false);
                    draft.has_dollar = true;
                }
                '\'' => {
                    self.at += 1;
                    draft.has_quotes = true;
                    self.single_quotes(&mut draft)?;
                }
                '"' => {
                    self.at += 1;
                    draft.has_quotes = true;
                    self.double_quotes(&mut draft)?;
                }
                '\\' => {
                    self.at += 1;
                    draft.has_quotes = true;
                    match self.next_char()? {
                        '\n' => return None,
                        char => draft.push(char, false),
                    }
                }
                '$' => {
                    self.at += 1;
                    draft.has_dollar = true;
                    self.dollar(&mut draft, false)?;
                }
                '`' => {
                    self.at += 1;
                    draft.has_dollar = true;
                    self.backticks(&mut draft, false)?;
                }
                char => {
                    self.at += 1;
                    draft.push(char, true);
                }
            }
        }
        finish(draft, &self.text[start..self.at])
    }

    fn single_quotes(&mut self, draft: &mut Draft) -> Option<()> {
        loop {
            match self.next_char()? {
                '\'' => return Some(()),
                char => self.quoted_char(char, draft)?,
            }
        }
    }

    /// Reads a quoted character. Fails at a newline before a here-document that has not started.
    fn quoted_char(&self, char: char, draft: &mut Draft) -> Option<()> {
        draft.push(char, false);
        (char != '\n' || self.documents.is_empty()).then_some(())
    }

    fn double_quotes(&mut self, draft: &mut Draft) -> Option<()> {
        loop {
            match self.next_char()? {
                '"' => return Some(()),
                '$' => self.dollar(draft, true)?,
                '`' => self.backticks(draft, true)?,
                '\\' => match self.next_char()? {
                    '\n' => return None,
                    char @ ('$' | '`' | '"' | '\\') => draft.push(char, false),
                    char => {
                        draft.push('\\', false);
                        draft.push(char, false);
                    }
                },
                char => self.quoted_char(char, draft)?,
            }
        }
    }

    /// Reads an expansion after its `$`.
    fn dollar(&mut self, draft: &mut Draft, quoted: bool) -> Option<()> {
        let Some(next) = self.peek_char() else {
            draft.push('$', true);
            return (!quoted).then_some(());
        };
        match next {
            '(' => {
                self.at += 1;
                if self.peek_char() == Some('(') {
                    return self.arithmetic(draft, quoted);
                }
                self.nested_list()?;
                draft.hole(Source::Command, quoted);
            }
            '{' => {
                self.at += 1;
                let text = self.read_until('}')?;
                let text: String = text.iter().collect();
                let (name, source) = parameter(&text)?;
                self.found.expand([name]);
                draft.hole(source, quoted);
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let mut name = String::new();
                while let Some(char) = self.peek_char() {
                    if !char.is_ascii_alphanumeric() && char != '_' {
                        break;
                    }
                    name.push(char);
                    self.at += 1;
                }
                self.found.expand([name.clone()]);
                draft.hole(Source::Variable(name), quoted);
            }
            '0'..='9' | '?' | '#' | '$' | '!' | '-' => {
                self.at += 1;
                // bash looks for the end of `$(…)` in `"$$(…)"`, but does not run it.
                let begins = |char| "({['\"`$\\".contains(char);
                if next == '$' && self.peek_char().is_some_and(begins) {
                    return (quoted && self.peek_char() == Some('"'))
                        .then(|| draft.hole(Source::Variable(next.to_string()), quoted));
                }
                draft.hole(Source::Variable(next.to_string()), quoted);
            }
            // These become several words even in quotes.
            '@' | '*' => {
                self.at += 1;
                draft.hole(Source::Variable(next.to_string()), false);
            }
            '"' if quoted => draft.push('$', true),
            ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' | '/' | '.' | ',' | ':' | '%' | '=' | '+'
            | '~' | ']' | '}' | '^' => draft.push('$', true),
            // `$[…]`, `$'…'`, `$"…"`, and characters that could begin an expansion in a later bash.
            _ => return None,
        }
        Some(())
    }

    /// Reads `$((…))` with numbers, operators and names. A name is evaluated: see `Found::finish`.
    fn arithmetic(&mut self, draft: &mut Draft, quoted: bool) -> Option<()> {
        self.at += 1;
        let mut depth = 0_usize;
        let mut name = String::new();
        let mut last = ' ';
        loop {
            let char = self.next_char()?;
            // `++` and `--` assign.
            (char != last || !matches!(char, '+' | '-')).then_some(())?;
            last = char;
            if char.is_ascii_alphanumeric() || char == '_' {
                name.push(char);
                continue;
            }
            if name.starts_with(|first: char| !first.is_ascii_digit()) {
                self.found.expand([name.clone()]);
                self.found.evaluated.push(std::mem::take(&mut name));
            }
            name.clear();
            match char {
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                ')' => break,
                ' ' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '&' | '|' | '^' | '~' => {}
                _ => return None,
            }
        }
        (self.next_char()? == ')').then_some(())?;
        draft.hole(Source::Number, quoted);
        Some(())
    }

    /// Reads the list of a substitution, after its opening parenthesis.
    fn nested_list(&mut self) -> Option<()> {
        // If a line continues in a substitution, the start of its here-document is ambiguous.
        if !self.documents.is_empty() {
            return None;
        }
        let around = std::mem::replace(&mut self.is_nested, true);
        self.subshell()?;
        self.is_nested = around;
        self.documents.is_empty().then_some(())
    }

    fn backticks(&mut self, draft: &mut Draft, quoted: bool) -> Option<()> {
        let inner = self.read_until('`')?;
        // Escapes, and characters whose meaning differs if the backticks are in quotes.
        if inner.iter().any(|char| matches!(char, '\\' | '#'))
            || (quoted && inner.iter().any(|char| matches!(char, '"' | '\'')))
            || !self.documents.is_empty()
            || self.depth >= DEPTH_LIMIT
        {
            return None;
        }
        let mut reader = Reader::new(inner, self.depth + 1);
        reader.is_nested = true;
        reader.takes_documents = false;
        reader.found = std::mem::take(&mut self.found);
        reader.script()?;
        self.found = reader.found;
        draft.hole(Source::Command, quoted);
        Some(())
    }

    /// The text up to `end`, which is skipped.
    fn read_until(&mut self, end: char) -> Option<&'a [char]> {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|char| *char == end)?;
        self.at += length + 1;
        Some(&rest[..length])
    }

    /// Reads the delimiter of a here-document.
    pub(super) fn document(&mut self, strips_tabs: bool) -> Option<()> {
        if !self.takes_documents {
            return None;
        }
        self.skip_blanks()?;
        let quote = self
            .peek_char()
            .filter(|char| matches!(char, '\'' | '"' | '\\'));
        self.at += usize::from(quote.is_some());
        let start = self.at;
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        while self.peek_char().is_some_and(is_part) {
            self.at += 1;
        }
        let end: String = self.text[start..self.at].iter().collect();
        if let Some(quote @ ('\'' | '"')) = quote {
            (self.next_char()? == quote).then_some(())?;
        }
        let is_end = |char| " \t\n;&|()<>".contains(char);
        if end.is_empty() || !self.peek_char().is_none_or(is_end) {
            return None;
        }
        // bash 5.2 loses separators after a here-document in a substitution: nothing can follow it there.
        if self.is_nested {
            self.skip_blanks()?;
            (self.peek_char()? == '\n').then_some(())?;
        }
        self.documents.push(Document {
            end,
            is_quoted: quote.is_some(),
            strips_tabs,
        });
        Some(())
    }

    /// Skips the here-documents that begin on this line. Fails when the shell expands more in one than `$NAME`.
    fn skip_documents(&mut self) -> Option<()> {
        let documents = std::mem::take(&mut self.documents);
        let is_last = self.is_nested && !documents.is_empty();
        for document in documents {
            loop {
                let rest = self.text.get(self.at..)?;
                let length = rest.iter().position(|char| *char == '\n');
                let line: String = rest[..length.unwrap_or(rest.len())].iter().collect();
                self.at += length.map_or(rest.len(), |length| length + 1);
                let line = if document.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line.as_str()
                };
                if line == document.end {
                    break;
                }
                // In a substitution a line that only begins with the delimiter can end the document.
                if length.is_none()
                    || line.starts_with(&document.end)
                    || (!document.is_quoted && line.contains(['`', '\\']))
                {
                    return None;
                }
                if !document.is_quoted && line.contains('$') {
                    (!self.is_nested).then_some(())?;
                    self.found.expand(plain_variables(line)?);
                }
            }
        }
        if is_last {
            while matches!(self.peek_char(), Some(' ' | '\t' | '\n')) {
                self.at += 1;
            }
            (self.peek_char()? == ')').then_some(())?;
        }
        Some(())
    }
}

/// The variable in `${…}`, and the source of the value. With an operator that neither assigns nor evaluates, and a text in
/// which nothing expands, the value can be any text.
fn parameter(text: &str) -> Option<(String, Source)> {
    const OPERATORS: [&str; 14] = [
        ":-", ":+", "-", "+", "##", "#", "%%", "%", "//", "/", "^^", "^", ",,", ",",
    ];
    if let Some(name) = text.strip_prefix('#') {
        return is_name(name).then(|| (name.to_owned(), Source::Number));
    }
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let end = text.find(|char| !is_part(char)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    is_name(name).then_some(())?;
    if rest.is_empty() {
        return Some((name.to_owned(), Source::Variable(name.to_owned())));
    }
    let operator = OPERATORS.iter().find(|known| rest.starts_with(**known))?;
    let is_plain = |char: char| is_part(char) || "-./:*?@%+=, ".contains(char);
    let is_known = rest[operator.len()..].chars().all(is_plain);
    is_known.then(|| (name.to_owned(), Source::Command))
}

/// The variables of a text in which `$` only begins `$NAME` and `${NAME}`.
fn plain_variables(text: &str) -> Option<Vec<String>> {
    let names = text.split('$').skip(1).map(|part| {
        let name = if let Some(rest) = part.strip_prefix('{') {
            rest.split_once('}')?.0
        } else {
            let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
            let end = part.find(|char| !is_part(char)).unwrap_or(part.len());
            &part[..end]
        };
        is_name(name).then(|| name.to_owned())
    });
    names.collect()
}

/// Marks the parts of a word that are unknown because of globs, braces and tildes.
fn finish(draft: Draft, raw: &[char]) -> Option<Word> {
    let Draft {
        mut chars,
        mut word,
        has_quotes,
        has_dollar,
    } = draft;
    word.plain = !has_quotes && !has_dollar;
    word.assigns = assigned_name(raw).is_some();
    match braces(&chars)? {
        Braces::Literal => {}
        // Braces expand before anything else: together with other expansions they can create new expansions.
        Braces::Expand(_) if !word.plain || chars.contains(&('~', true)) => return None,
        Braces::Expand(start) => {
            word.text = without_globs(&chars[..start]);
            word.text.push(HOLE);
            word.dynamic = true;
            word.splits = true;
            word.may_be_option = true;
            return Some(word);
        }
    }
    // `~/x` is compared as written; `~user` and a quoted `~` are something else.
    if let Some(('~', bare)) = chars.first().copied() {
        let is_home = bare && chars.get(1).is_none_or(|next| *next == ('/', true));
        if !is_home {
            chars[0] = (HOLE, false);
            word.dynamic = true;
        }
    }
    word.text = without_globs(&chars);
    word.splits |= word.text.contains(GLOB);
    word.may_be_option |= word.text.starts_with(GLOB);
    Some(word)
}

/// The variable that a word assigns to, if it is an assignment.
pub(super) fn assigned_name(raw: &[char]) -> Option<String> {
    let end = raw.iter().position(|char| *char == '=')?;
    let name: String = raw[..end].iter().collect();
    let name = name.strip_suffix('+').unwrap_or(&name);
    is_name(name).then(|| name.to_owned())
}

enum Braces {
    Literal,
    /// The first brace that can expand.
    Expand(usize),
}

/// Whether braces in a word expand. Fails for a range of letters, which can create backticks.
fn braces(chars: &[(char, bool)]) -> Option<Braces> {
    const LENGTH: usize = 1000;
    let mut start = None;
    let mut depth = 0_usize;
    let mut expands = false;
    for (at, (char, bare)) in chars.iter().enumerate() {
        match char {
            '{' if *bare => {
                start = start.or(Some(at));
                depth += 1;
            }
            '}' if *bare => depth = depth.saturating_sub(1),
            ',' if *bare && depth > 0 => expands = true,
            '.' if depth > 0 && chars.get(at + 1).is_some_and(|(next, _)| *next == '.') => {
                expands = true;
                let is_end = |char: char| matches!(char, '{' | '}' | ',');
                let around = |char: &char| !is_end(*char);
                let before = chars[..at].iter().rev().map(|(char, _)| *char);
                let after = chars[at..].iter().map(|(char, _)| *char);
                let mut range = before.take_while(around).chain(after.take_while(around));
                if chars.len() > LENGTH
                    || !range.all(|char| char.is_ascii_digit() || matches!(char, '-' | '.'))
                {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(match start {
        Some(start) if expands => Braces::Expand(start),
        _ => Braces::Literal,
    })
}

/// The text, with `GLOB` for each glob.
fn without_globs(chars: &[(char, bool)]) -> String {
    let last = chars.iter().rposition(|(char, _)| *char == ']');
    let mut text = String::new();
    let mut at = 0;
    while let Some((char, bare)) = chars.get(at).copied() {
        match (char, last) {
            ('*' | '?', _) if bare => text.push(GLOB),
            ('[', Some(end)) if bare && end > at => {
                text.push(GLOB);
                at = end;
            }
            _ => text.push(char),
        }
        at += 1;
    }
    text
}
