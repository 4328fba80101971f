//! Values that MCP servers offer for the word at the cursor. Only one question runs at a time, so that typing never waits.

/// The known values, and the question that runs.
#[derive(Debug, Default)]
pub(super) struct ServerWords {
    /// The text of the last question.
    text: String,
    request: u64,
    is_running: bool,
    /// The text to which the values in `found` belong.
    found_for: String,
    found: Vec<String>,
}

impl ServerWords {
    /// The question about `text`, the prompt up to the cursor. `None` if the same question was asked before, another one runs, or the text
    /// names no server.
    pub(super) fn want(&mut self, text: &str, resources: &[String]) -> Option<(u64, String)> {
        let of_prompt = text.starts_with("/mcp__") && text.contains(char::is_whitespace);
        let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        let server = word.strip_prefix('@').and_then(|word| word.split_once(':'));
        let has_template = |(server, _): (&str, &str)| {
            let start = format!("{server}:");
            let mut known = resources.iter();
            known.any(|known| known.starts_with(&start) && known.contains('{'))
        };
        let is_wanted = of_prompt || server.is_some_and(has_template);
        if !is_wanted || self.is_running || self.text == text {
            return None;
        }
        self.request += 1;
        self.is_running = true;
        text.clone_into(&mut self.text);
        Some((self.request, text.to_owned()))
    }

    /// Stores an answer. Returns whether it answers the question that runs.
    pub(super) fn store(&mut self, request: u64, found: Vec<String>) -> bool {
        if request != self.request || !self.is_running {
            return false;
        }
        self.is_running = false;
        self.found_for.clone_from(&self.text);
        self.found = found;
        true
    }

    /// The known values for the last word of `text`.
    pub(super) fn of(&self, text: &str) -> &[String] {
        let rest = text.strip_prefix(&*self.found_for);
        match rest {
            Some(rest) if !self.found_for.is_empty() && !rest.contains(char::is_whitespace) => {
                &self.found
            }
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_with_templates_and_prompts_are_asked_once_at_a_time() {
        let resources = ["shop:memo://{name}", "plain:memo://one"].map(str::to_owned);
        let mut words = ServerWords::default();
        for text in [
            "@shop",
            "@plain:memo",
            "shop:memo",
            "/mcp__shop__greet",
            "/model x",
        ] {
            assert_eq!(words.want(text, &resources), None, "{text}");
        }
        let text = "see @shop:memo://o";
        assert_eq!(words.want(text, &resources), Some((1, text.to_owned())));
        assert_eq!(words.want("/mcp__shop__greet a", &resources), None);
        assert!(!words.store(2, Vec::new()));
        assert!(words.store(1, vec!["shop:memo://one".to_owned()]));
        assert_eq!(words.of("see @shop:memo://on"), ["shop:memo://one"]);
        assert_eq!(words.of("see @shop:memo://o and"), [""; 0]);
        assert_eq!(words.of("see @shop:memo://"), [""; 0]);
        assert_eq!(words.want(text, &resources), None);
        let text = "/mcp__shop__greet a";
        assert_eq!(words.want(text, &resources), Some((2, text.to_owned())));
    }
}
