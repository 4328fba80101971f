//! Which calls, or which kinds of an event, a hook is for.

use regex::Regex;

/// What stands in `matcher`. Words are compared as they are; anything with other signs in it is a regular
/// expression that is looked for anywhere, as Claude Code has it.
#[derive(Debug, Clone, Default)]
pub(super) enum Matcher {
    #[default]
    All,
    Words(Vec<String>),
    Pattern(Box<Regex>),
}

impl Matcher {
    /// Reads `text`.
    ///
    /// # Errors
    /// It is no regular expression; why not, in one line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if matches!(text, "" | "*" | ".*") {
            return Ok(Self::All);
        }
        let plain = |char: char| char.is_alphanumeric() || "_-|, ".contains(char);
        if text.chars().all(plain) {
            let words = text.split(['|', ',']).map(str::trim);
            let words = words.filter(|word| !word.is_empty());
            return Ok(Self::Words(words.map(str::to_owned).collect()));
        }
        match Regex::new(text) {
            Ok(pattern) => Ok(Self::Pattern(Box::new(pattern))),
            Err(error) => {
                // The last line of several says what is wrong.
                let message = error.to_string();
                let reason = message.lines().last().unwrap_or_default();
                Err(reason.trim_start_matches("error: ").to_owned())
            }
        }
    }

    /// Whether it is for something that goes by any of these names.
    pub(super) fn fits(&self, names: &[&str]) -> bool {
        match self {
            Self::All => true,
            Self::Words(words) => words.iter().any(|word| names.contains(&word.as_str())),
            Self::Pattern(pattern) => names.iter().any(|name| pattern.is_match(name)),
        }
    }

    /// As it is shown.
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
    fn words_are_whole_and_patterns_are_looked_for() {
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
