//! The terminal that tmux runs in. osier cannot query it through tmux, which intercepts the
//! replies, but tmux knows it.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Protocol;
use osier_base::process::{Invocation, spawn};

/// Timeout of one tmux call.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Delays between queries while tmux detects its terminal.
const RETRY_DELAYS: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1500),
];
/// Maximum number of bytes read from tmux.
const LIMIT: usize = 4096;
/// Whether tmux forwards passthrough sequences, whether it reports the focus, and the reported name of its terminal.
const FORMAT: &str = "#{allow-passthrough} #{focus-events} #{client_termtype}";

/// The outer terminal, as tmux reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OuterTerminal {
    /// The image protocol of that terminal.
    pub protocol: Option<Protocol>,
    /// Whether tmux forwards passthrough sequences.
    pub passes_through: bool,
    /// Whether tmux reports the focus; `None` if it does not say.
    pub reports_focus: Option<bool>,
}

impl OuterTerminal {
    /// Asks tmux. All fields are empty if tmux is missing or does not answer. A new tmux server
    /// does not know its terminal yet, so the query is repeated.
    pub async fn query() -> Self {
        let mut delays = RETRY_DELAYS.iter();
        loop {
            let answer = timeout(TIMEOUT, answer()).await.ok().flatten();
            let answer = answer.unwrap_or_default();
            let is_named = answer.trim().split(' ').count() > 2;
            match delays.next().filter(|_| !is_named && !answer.is_empty()) {
                Some(delay) => sleep(*delay).await,
                None => return Self::parse(&answer),
            }
        }
    }

    /// Parses the answer of tmux.
    fn parse(answer: &str) -> Self {
        let mut words = answer.trim().splitn(3, ' ');
        let mut next = || words.next().unwrap_or_default();
        let (passes, focus, name) = (next(), next(), next());
        Self {
            protocol: Protocol::from_name(name),
            passes_through: matches!(passes, "1" | "on" | "all"),
            reports_focus: match focus {
                "1" | "on" => Some(true),
                "0" | "off" => Some(false),
                _ => None,
            },
        }
    }

    /// The image protocol that works inside this tmux. Only Kitty placeholders are text to tmux.
    /// tmux stores other images apart from the text and paints them over later output, and accepts
    /// Sixel even if its terminal does not.
    pub fn protocol_in_tmux(self) -> Protocol {
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
    words.push(FORMAT.into());
    let mut running = spawn(&Invocation::new("tmux", words)).ok()?;
    let (mut output, mut buffer) = (Vec::new(), [0; 512]);
    while output.len() < LIMIT {
        match running.read(&mut buffer).await {
            Ok(0) => break,
            Ok(length) => output.extend_from_slice(&buffer[..length]),
            Err(_) => return None,
        }
    }
    let ended = running.finish();
    ended
        .exit
        .is_success()
        .then(|| String::from_utf8_lossy(&output).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_answer_gives_the_outer_terminal() {
        for (answer, protocol, passes_through, in_tmux) in [
            (
                "1 0 kitty(0.41.1)\n",
                Some(Protocol::Kitty),
                true,
                Protocol::Kitty,
            ),
            (
                "all 0 kitty(0.28.0)",
                Some(Protocol::Kitty),
                true,
                Protocol::Kitty,
            ),
            (
                "on 1 ghostty 1.2.0",
                Some(Protocol::Kitty),
                true,
                Protocol::Kitty,
            ),
            (
                "0 0 kitty(0.41.1)",
                Some(Protocol::Kitty),
                false,
                Protocol::Blocks,
            ),
            (
                "off 0 kitty(0.41.1)",
                Some(Protocol::Kitty),
                false,
                Protocol::Blocks,
            ),
            ("on 0 kitty(0.26.5)", None, true, Protocol::Blocks),
            (
                "on 0 WezTerm 20240203",
                Some(Protocol::Iterm),
                true,
                Protocol::Blocks,
            ),
            ("on 0 XTerm(379)", None, true, Protocol::Blocks),
            ("", None, false, Protocol::Blocks),
        ] {
            let terminal = OuterTerminal::parse(answer);
            let expected = OuterTerminal {
                protocol,
                passes_through,
                reports_focus: answer.split(' ').nth(1).map(|focus| focus == "1"),
            };
            assert_eq!(terminal, expected, "{answer:?}");
            assert_eq!(terminal.protocol_in_tmux(), in_tmux, "{answer:?}");
        }
    }
}
