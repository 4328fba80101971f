//! Matchers: which calls, or which kinds of an event, a hook applies to.

use regex::Regex;

/// The value of `matcher`. As in Claude Code, plain words are compared for equality; any other character
/// makes it a regular expression that can match anywhere.
#[derive(Debug, Clone, Default)]
pub(super) enum Matcher {
    #[default]
    All,
    Words(Vec<String>),
    Pattern(Box<Regex>),
}

impl Matcher {
    /// Parses `text`.
    ///
    /// # Errors
    /// The regular expression is invalid; contains the reason in one line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if matches!(text, "" | "*" | ".*") {
            return Ok(Self::All);
        }
        let plain = |char: char| char.is_alphanumeric() || "_-|, ".contains(char);
        if text.chars().all(plain) {
            let words = text.split(['|', ',']).map(str::trim);
            let words: Vec<String> = words
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
            if words.is_empty() {
                return Err("it has no word".to_owned());
            }
            return Ok(Self::Words(words));
        }
        match Regex::new(text) {
            Ok(pattern) => Ok(Self::Pattern(Box::new(pattern))),
            Err(error) => {
                // The last line of the message contains the reason.
                let message = error.to_string();
                let reason = message.lines().last().unwrap_or_default();
                Err(reason.trim_start_matches("error: ").to_owned())
            }
        }
    }

    /// Whether the matcher matches any of these names.
    pub(super) fn fits(&self, names: &[&str]) -> bool {
        match self {
            Self::All => true,
            Self::Words(words) => words.iter().any(|word| names.contains(&word.as_str())),
            Self::Pattern(pattern) => names.iter().any(|name| pattern.is_match(name)),
        }
    }

    /// The words, which are compared for equality.
    pub(super) fn words(&self) -> &[String] {
        match self {
            Self::Words(words) => words,
            Self::All | Self::Pattern(_) => &[],
        }
    }

    /// The source text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::All => String::new(),
            Self::Words(words) => words.join("|"),
            Self::Pattern(pattern) => pattern.as_str().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_exactly_and_patterns_anywhere() {
        let fits = |matcher: &str, names: &[&str]| Matcher::parse(matcher).unwrap().fits(names);
        for (matcher, names, expected) in [
            ("", &["Bash", "bash"][..], true),
            ("*", &["anything"], true),
            ("Bash", &["Bash", "bash"], true),
            ("bash", &["Bash", "bash"], true),
            ("Bas", &["Bash", "bash"], false),
            ("Edit|Write", &["Write", "write"], true),
            ("Edit, Write", &["Write", "write"], true),
            ("Edit|Write", &["Bash", "bash"], false),
            ("mcp__git__.*", &["mcp__git__log", "git__log"], true),
            ("mcp__.*__write.*", &["mcp__git__log", "git__log"], false),
            ("^Notebook", &["NotebookEdit"], true),
            ("Edit.*", &["MultiEdit"], true),
        ] {
            assert_eq!(fits(matcher, names), expected, "{matcher} {names:?}");
        }
        let error = Matcher::parse("Edit(").unwrap_err();
        assert_eq!(error, "unclosed group");
    }
}
