//! Limits of numbers in a query: `price<1 window>=200k`.

/// A limit that a number must keep.
#[derive(Debug, Clone, PartialEq)]
struct Limit {
    name: String,
    /// `<` or `>`, and whether the value itself is allowed.
    is_below: bool,
    is_inclusive: bool,
    value: f64,
}

/// The limits of a query, and its other words.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NumberLimits {
    limits: Vec<Limit>,
    pub(super) words: String,
}

impl NumberLimits {
    /// Reads a query. A word is a limit if `is_known` has the name of its number.
    pub(super) fn of(query: &str, is_known: impl Fn(&str) -> bool) -> Self {
        let (mut limits, mut words) = (Vec::new(), Vec::new());
        for word in query.split_whitespace() {
            match limit(word).filter(|limit| is_known(&limit.name)) {
                Some(limit) => limits.push(limit),
                None => words.push(word),
            }
        }
        // A query without limits stays as it was typed.
        let words = if limits.is_empty() {
            query.to_owned()
        } else {
            words.join(" ")
        };
        Self { limits, words }
    }

    /// Whether these numbers keep all limits. A number that is missing keeps none.
    pub(super) fn allow(&self, numbers: &[(&'static str, f64)]) -> bool {
        self.limits.iter().all(|limit| {
            let own = numbers.iter().find(|(name, _)| *name == limit.name);
            own.is_some_and(|(_, number)| {
                let is_at = (number - limit.value).abs() < f64::EPSILON;
                if is_at {
                    limit.is_inclusive
                } else {
                    (*number < limit.value) == limit.is_below
                }
            })
        })
    }
}

fn limit(word: &str) -> Option<Limit> {
    let at = word.find(['<', '>'])?;
    let (name, rest) = word.split_at(at);
    let value = rest[1..].strip_prefix('=');
    let is_inclusive = value.is_some();
    let value = value.unwrap_or(&rest[1..]).trim_start_matches('$');
    let (digits, factor) = match value.char_indices().next_back()? {
        (end, 'k' | 'K') => (&value[..end], 1e3),
        (end, 'm' | 'M') => (&value[..end], 1e6),
        _ => (value, 1.0),
    };
    Some(Limit {
        name: name.to_lowercase(),
        is_below: rest.starts_with('<'),
        is_inclusive,
        value: digits.parse::<f64>().ok()? * factor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_words_are_separated() {
        let numbers = [("price", 0.5), ("window", 200_000.0)];
        let is_known = |name: &str| name != "size";
        for (query, words, allowed) in [
            ("gpt  mini", "gpt  mini", true),
            ("price<1", "", true),
            ("gpt Price<$1 window>=200k mini", "gpt mini", true),
            ("window>200k", "", false),
            ("price<0.5", "", false),
            ("price<=0.5 window<1m", "", true),
            ("output<1", "", false),
            ("size<1", "size<1", true),
            ("price<cheap", "price<cheap", true),
            ("price<", "price<", true),
        ] {
            let limits = NumberLimits::of(query, is_known);
            assert_eq!(limits.words, words, "{query}");
            assert_eq!(limits.allow(&numbers), allowed, "{query}");
        }
    }
}
