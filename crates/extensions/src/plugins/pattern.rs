//! The patterns of Lua's `string` library with a limit.
//!
//! Lua's own matcher backtracks without counting instructions, so a pattern such as `a*a*a*…b` would run for years. This
//! one counts its steps. It finds one match; `string.find`, `match`, `gmatch` and `gsub` are built on it in Lua.

/// Maximum number of captures of a pattern, as in Lua.
const CAPTURES: usize = 32;
/// Maximum depth of the recursion for the items of a pattern.
const DEPTH: usize = 200;

/// Why a match failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The match took too many steps.
    Limit,
    Malformed(&'static str),
}

/// A captured part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capture {
    Text {
        start: usize,
        end: usize,
    },
    /// `()`: the position.
    Position(usize),
    Open(usize),
}

/// A match: its range and its captures.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub start: usize,
    pub end: usize,
    pub captures: Vec<Capture>,
}

/// The first match of `pattern` in `text` at or after `start`. Uses at most `steps`, and subtracts
/// the used ones.
pub(super) fn find(
    text: &[u8],
    pattern: &[u8],
    start: usize,
    steps: &mut u64,
) -> Result<Option<Match>, Fault> {
    let (is_anchored, pattern) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let mut start = start;
    loop {
        let mut matcher = Matcher {
            text,
            pattern,
            captures: Vec::new(),
            steps,
            depth: DEPTH,
        };
        if let Some(end) = matcher.run(start, 0)? {
            let captures = matcher.captures;
            if captures
                .iter()
                .any(|capture| matches!(capture, Capture::Open(_)))
            {
                return Err(Fault::Malformed("unfinished capture"));
            }
            return Ok(Some(Match {
                start,
                end,
                captures,
            }));
        }
        start += 1;
        if is_anchored || start > text.len() {
            return Ok(None);
        }
    }
}

struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Capture>,
    steps: &'a mut u64,
    depth: usize,
}

impl Matcher<'_> {
    /// The end of a match at `at` of the rest of the pattern from `p` on.
    fn run(&mut self, at: usize, p: usize) -> Result<Option<usize>, Fault> {
        self.depth = self
            .depth
            .checked_sub(1)
            .ok_or(Fault::Malformed("pattern too complex"))?;
        let found = self.items(at, p);
        self.depth += 1;
        found
    }

    fn items(&mut self, mut at: usize, mut p: usize) -> Result<Option<usize>, Fault> {
        loop {
            *self.steps = self.steps.checked_sub(1).ok_or(Fault::Limit)?;
            match (self.pattern.get(p), self.pattern.get(p + 1)) {
                (None, _) => return Ok(Some(at)),
                (Some(b'('), Some(b')')) => return self.capture(Capture::Position(at), at, p + 2),
                (Some(b'('), _) => return self.capture(Capture::Open(at), at, p + 1),
                (Some(b')'), _) => return self.close(at, p + 1),
                (Some(b'$'), None) => return Ok((at == self.text.len()).then_some(at)),
                (Some(b'%'), Some(b'b')) => match self.balanced(at, p + 2)? {
                    Some(end) => (at, p) = (end, p + 4),
                    None => return Ok(None),
                },
                (Some(b'%'), Some(b'f')) => match self.frontier(at, p + 2)? {
                    Some(next) => p = next,
                    None => return Ok(None),
                },
                (Some(b'%'), Some(digit @ b'0'..=b'9')) => match self.repeated(at, *digit)? {
                    Some(end) => (at, p) = (end, p + 2),
                    None => return Ok(None),
                },
                _ => {
                    let end = self.item_end(p)?;
                    match self.pattern.get(end) {
                        Some(b'?') => {
                            if self.is_one(at, p, end)
                                && let Some(found) = self.run(at + 1, end + 1)?
                            {
                                return Ok(Some(found));
                            }
                            p = end + 1;
                        }
                        Some(b'*') => return self.longest(at, p, end, 0),
                        Some(b'+') => return self.longest(at, p, end, 1),
                        Some(b'-') => return self.shortest(at, p, end),
                        _ if self.is_one(at, p, end) => (at, p) = (at + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    fn longest(
        &mut self,
        at: usize,
        p: usize,
        end: usize,
        least: usize,
    ) -> Result<Option<usize>, Fault> {
        let mut count = 0;
        while self.is_one(at + count, p, end) {
            count += 1;
        }
        *self.steps = self.steps.checked_sub(count as u64).ok_or(Fault::Limit)?;
        while count >= least {
            if let Some(found) = self.run(at + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                break;
            }
            count -= 1;
        }
        Ok(None)
    }

    fn shortest(&mut self, mut at: usize, p: usize, end: usize) -> Result<Option<usize>, Fault> {
        loop {
            if let Some(found) = self.run(at, end + 1)? {
                return Ok(Some(found));
            }
            if !self.is_one(at, p, end) {
                return Ok(None);
            }
            at += 1;
        }
    }

    fn capture(&mut self, capture: Capture, at: usize, p: usize) -> Result<Option<usize>, Fault> {
        if self.captures.len() >= CAPTURES {
            return Err(Fault::Malformed("too many captures"));
        }
        self.captures.push(capture);
        let depth = self.captures.len() - 1;
        let found = self.run(at, p)?;
        if found.is_none() {
            self.captures.truncate(depth);
        }
        Ok(found)
    }

    fn close(&mut self, at: usize, p: usize) -> Result<Option<usize>, Fault> {
        let is_open = |capture: &Capture| matches!(capture, Capture::Open(_));
        let last = self.captures.iter().rposition(is_open);
        let last = last.ok_or(Fault::Malformed("invalid pattern capture"))?;
        let before = self.captures[last];
        if let Capture::Open(start) = before {
            self.captures[last] = Capture::Text { start, end: at };
        }
        let found = self.run(at, p)?;
        if found.is_none() {
            self.captures[last] = before;
        }
        Ok(found)
    }

    /// `%bxy`: the end of the balanced part at `at`.
    fn balanced(&mut self, at: usize, p: usize) -> Result<Option<usize>, Fault> {
        let &[open, close, ..] = &self.pattern[p.min(self.pattern.len())..] else {
            return Err(Fault::Malformed("missing arguments to `%b`"));
        };
        if self.text.get(at) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 0_usize;
        for (offset, byte) in self.text[at..].iter().enumerate() {
            *self.steps = self.steps.checked_sub(1).ok_or(Fault::Limit)?;
            if *byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + offset + 1));
                }
            } else if *byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: the position after the item, if the text enters the set at `at`.
    fn frontier(&self, at: usize, p: usize) -> Result<Option<usize>, Fault> {
        if self.pattern.get(p) != Some(&b'[') {
            return Err(Fault::Malformed("missing `[` after `%f` in pattern"));
        }
        let end = self.item_end(p)?;
        let before = at.checked_sub(1).map_or(0, |before| self.text[before]);
        let here = self.text.get(at).copied().unwrap_or(0);
        let changes = !self.contains(before, p, end) && self.contains(here, p, end);
        Ok(changes.then_some(end))
    }

    /// `%1`: the end of a repetition of a captured text.
    fn repeated(&mut self, at: usize, digit: u8) -> Result<Option<usize>, Fault> {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let Some(Capture::Text { start, end }) = self.captures.get(index).copied() else {
            return Err(Fault::Malformed("invalid capture index"));
        };
        let same = &self.text[start..end];
        *self.steps = self
            .steps
            .checked_sub(same.len() as u64)
            .ok_or(Fault::Limit)?;
        Ok(self.text[at..].starts_with(same).then_some(at + same.len()))
    }

    /// The end of the single item at `p`: a character, a class or a set.
    fn item_end(&self, p: usize) -> Result<usize, Fault> {
        match self.pattern[p] {
            b'%' if p + 1 >= self.pattern.len() => {
                Err(Fault::Malformed("malformed pattern (ends with `%`)"))
            }
            b'%' => Ok(p + 2),
            b'[' => {
                let mut at = p + 1 + usize::from(self.pattern.get(p + 1) == Some(&b'^'));
                let first = at;
                loop {
                    match self.pattern.get(at) {
                        None => return Err(Fault::Malformed("malformed pattern (missing `]`)")),
                        Some(b']') if at > first => return Ok(at + 1),
                        Some(b'%') => at += 2,
                        Some(_) => at += 1,
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    fn is_one(&self, at: usize, p: usize, end: usize) -> bool {
        self.text
            .get(at)
            .is_some_and(|byte| self.contains(*byte, p, end))
    }

    /// Whether the item `p..end` contains `byte`.
    fn contains(&self, byte: u8, p: usize, end: usize) -> bool {
        match self.pattern[p] {
            b'.' => true,
            b'%' => is_class(byte, self.pattern[p + 1]),
            b'[' => self.set_contains(byte, p + 1, end - 1),
            literal => literal == byte,
        }
    }

    fn set_contains(&self, byte: u8, mut p: usize, end: usize) -> bool {
        let is_negated = self.pattern[p] == b'^';
        p += usize::from(is_negated);
        while p < end {
            let found = match self.pattern[p] {
                b'%' if p + 1 < end => {
                    p += 2;
                    is_class(byte, self.pattern[p - 1])
                }
                low if p + 2 < end && self.pattern[p + 1] == b'-' => {
                    p += 3;
                    (low..=self.pattern[p - 1]).contains(&byte)
                }
                literal => {
                    p += 1;
                    literal == byte
                }
            };
            if found {
                return !is_negated;
            }
        }
        is_negated
    }
}

/// Whether `byte` belongs to a class such as `%a` or `%d`. A capital letter is the complement, any
/// other character stands for itself.
fn is_class(byte: u8, class: u8) -> bool {
    let found = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        _ => return class == byte,
    };
    found != class.is_ascii_uppercase()
}
