//! Recalls earlier prompts with the arrows. The draft is preserved while an earlier prompt is
//! shown.

/// Earlier prompts and the place among them.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Oldest first.
    prompts: Vec<String>,
    /// Place of the prompt that is shown; `None` when the draft is.
    place: Option<usize>,
    draft: String,
}

impl History {
    /// Adds the prompts of earlier sessions, before the prompts of this session.
    pub fn load(&mut self, earlier: Vec<String>) {
        let own = std::mem::replace(&mut self.prompts, earlier);
        self.prompts.extend(own);
        self.place = None;
    }

    /// Remembers a prompt that was sent.
    pub fn push(&mut self, prompt: &str) {
        if self.prompts.last().map(String::as_str) != Some(prompt) {
            self.prompts.push(prompt.to_owned());
        }
        self.place = None;
    }

    /// Newest first.
    pub fn newest(&self) -> impl Iterator<Item = &str> {
        self.prompts.iter().rev().map(String::as_str)
    }

    /// The prompt before the one shown; `current` is what the editor holds now.
    pub fn previous(&mut self, current: &str) -> Option<&str> {
        let place = match self.place {
            None => {
                current.clone_into(&mut self.draft);
                self.prompts.len().checked_sub(1)?
            }
            Some(place) => place.checked_sub(1)?,
        };
        self.place = Some(place);
        self.prompts.get(place).map(String::as_str)
    }

    /// The prompt after the one shown; after the newest, the draft.
    pub fn next(&mut self) -> Option<&str> {
        let place = self.place? + 1;
        if place < self.prompts.len() {
            self.place = Some(place);
            return self.prompts.get(place).map(String::as_str);
        }
        self.place = None;
        Some(&self.draft)
    }

    /// The text was changed by hand: the next recall begins at the newest again.
    pub fn leave(&mut self) {
        self.place = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draft_comes_back_after_the_newest() {
        let mut history = History::default();
        history.push("one");
        history.push("two");
        history.load(vec!["zero".into()]);
        assert_eq!(history.previous("draft"), Some("two"));
        assert_eq!(history.previous("two"), Some("one"));
        assert_eq!(history.previous("one"), Some("zero"));
        assert_eq!(history.previous("zero"), None);
        assert_eq!(history.next(), Some("one"));
        assert_eq!(history.next(), Some("two"));
        assert_eq!(history.next(), Some("draft"));
        assert_eq!(history.next(), None);
        assert_eq!(history.newest().collect::<Vec<_>>(), ["two", "one", "zero"]);
    }
}
