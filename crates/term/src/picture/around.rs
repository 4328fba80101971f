//! The terminal around tmux. It cannot be asked through tmux, which takes the answers for itself; but tmux knows it.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Protocol;
use osier_base::process::{Invocation, spawn};

/// How long tmux may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it may take to learn what its terminal is.
const WAITS: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1500),
];
/// Most bytes of its answer that are read.
const LIMIT: usize = 4096;
/// Whether it passes on what is meant for the terminal, and what the terminal calls itself.
const QUESTION: &str = "#{allow-passthrough} #{client_termtype}";

/// What tmux knows of the terminal around it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Around {
    /// How that terminal would show pictures.
    pub protocol: Option<Protocol>,
    /// Whether tmux passes on to it what is wrapped for it.
    pub passes_through: bool,
}

impl Around {
    /// Asks tmux; nothing is known when it is not there or does not answer. One that has just begun does not know
    /// its terminal yet, and is asked again.
    pub async fn ask() -> Self {
        let mut waits = WAITS.iter();
        loop {
            let answer = timeout(PATIENCE, answer()).await.ok().flatten();
            let answer = answer.unwrap_or_default();
            let is_named = answer.trim().contains(' ');
            match waits.next().filter(|_| !is_named && !answer.is_empty()) {
                Some(wait) => sleep(*wait).await,
                None => return Self::told(&answer),
            }
        }
    }

    /// What tmux said to the question.
    fn told(answer: &str) -> Self {
        let (passes, name) = answer.trim().split_once(' ').unwrap_or_default();
        Self {
            protocol: Protocol::named(name),
            passes_through: matches!(passes, "1" | "on" | "all"),
        }
    }

    /// The way that reaches the glass. Only placeholders are text to tmux. The others it keeps apart from the text
    /// and paints over what is written there later, and Sixel even where the terminal knows none.
    pub fn shows(self) -> Protocol {
        match self.protocol {
            Some(Protocol::Kitty) if self.passes_through => Protocol::Kitty,
            _ => Protocol::Blocks,
        }
    }
}

async fn answer() -> Option<String> {
    let pane = std::env::var_os("TMUX_PANE");
    let mut words = vec!["display-message".into(), "-p".into()];
    if let Some(pane) = pane {
        words.extend(["-t".into(), pane]);
    }
    words.push(QUESTION.into());
    let mut running = spawn(&Invocation::new("tmux", words)).ok()?;
    let (mut said, mut buffer) = (Vec::new(), [0; 512]);
    while said.len() < LIMIT {
        match running.read(&mut buffer).await {
            Ok(0) => break,
            Ok(length) => said.extend_from_slice(&buffer[..length]),
            Err(_) => return None,
        }
    }
    let ended = running.finish();
    ended
        .exit
        .is_success()
        .then(|| String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_tells_of_the_terminal_around_it() {
        for (answer, protocol, passes_through, shows) in [
            (
                "1 kitty(0.41.1)\n",
                Some(Protocol::Kitty),
                true,
                Protocol::Kitty,
            ),
            (
                "all kitty(0.28.0)",
                Some(Protocol::Kitty),
                true,
                Protocol::Kitty,
            ),
            (
                "on ghostty 1.2.0",
                Some(Protocol::Kitty),
                true,
                Protocol::Kitty,
            ),
            (
                "0 kitty(0.41.1)",
                Some(Protocol::Kitty),
                false,
                Protocol::Blocks,
            ),
            (
                "off kitty(0.41.1)",
                Some(Protocol::Kitty),
                false,
                Protocol::Blocks,
            ),
            ("on kitty(0.26.5)", None, true, Protocol::Blocks),
            (
                "on WezTerm 20240203",
                Some(Protocol::Iterm),
                true,
                Protocol::Blocks,
            ),
            ("on XTerm(379)", None, true, Protocol::Blocks),
            ("", None, false, Protocol::Blocks),
        ] {
            let told = Around::told(answer);
            let expected = Around {
                protocol,
                passes_through,
            };
            assert_eq!(told, expected, "{answer:?}");
            assert_eq!(told.shows(), shows, "{answer:?}");
        }
    }
}
