//! The loop guard: a model that repeats the same tool calls with the same results gets a warning, then the user is asked
//! whether the run may continue. Where no user can answer, the run ends.
//!
//! The calls of a turn are compared together, so the order in which parallel calls end does not matter.

use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use osier_agent::{AgentMessage, Interceptor, StopRun, ToolOutput, ToolResultMessage};
use osier_llm::{ContentBlock, ToolCall};
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions};
use tokio_util::sync::CancellationToken;

/// The longest cycle that is recognised, in turns.
const LONGEST_CYCLE: usize = 4;
/// Repetitions after which the model gets a warning.
const TELL: usize = 3;
/// Repetitions after which the user is asked.
const ASK: usize = 5;

/// The loop guard of one agent.
#[derive(Debug)]
pub(crate) struct LoopGuard {
    /// Not set where nobody can answer.
    questions: Option<Questions>,
    watch: Mutex<Watch>,
}

/// The guard's record of the run.
#[derive(Debug, Default)]
struct Watch {
    /// A hash of the calls and results of each turn since the last message of the user, oldest first.
    turns: Vec<u64>,
    /// Calls of the current turn that have no result yet.
    open_calls: usize,
    /// Hashes of the calls of the current turn that have a result.
    results: Vec<u64>,
    /// The repetition that the user decides about at the end of the turn.
    repetition: Option<Repetition>,
    /// How often the user allowed a loop to continue.
    allowed: u32,
}

/// Turns that repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Repetition {
    /// Number of turns of one cycle.
    cycle: usize,
    count: usize,
}

impl LoopGuard {
    pub(crate) fn new(questions: Option<Questions>) -> Self {
        Self {
            questions,
            watch: Mutex::default(),
        }
    }

    /// Asks whether the run may continue.
    async fn ask(
        &self,
        repetition: &Repetition,
        cancel: &CancellationToken,
    ) -> Result<(), StopRun> {
        let what = repetition.for_user();
        let Some(questions) = &self.questions else {
            let message = format!("{what}: use another model or make the prompt more specific");
            return Err(StopRun { message });
        };
        let question = Question {
            id: String::new(),
            origin: "osier".to_owned(),
            subagent: None,
            title: format!("{}. Continue?", capitalised(&what)),
            subject: None,
            kind: QuestionKind::Confirm,
        };
        let answer = questions.ask(question, cancel).await;
        if answer == Answer::Yes || cancel.is_cancelled() {
            self.watch.lock().allow();
            return Ok(());
        }
        let message = format!("stopped: {what}");
        Err(StopRun { message })
    }
}

#[async_trait]
impl Interceptor for LoopGuard {
    async fn commit(&self, message: &AgentMessage) -> Result<(), StopRun> {
        match message {
            AgentMessage::User(_) => *self.watch.lock() = Watch::default(),
            AgentMessage::Assistant(answer) => {
                self.watch.lock().start_turn(answer.tool_calls().count());
            }
            _ => {}
        }
        Ok(())
    }

    fn on_result(&self, call: &ToolCall, output: &mut ToolOutput) {
        if let Some(repetition) = self.watch.lock().add(call, output) {
            let note = repetition.for_model();
            output.content.push(ContentBlock::text(note));
        }
    }

    async fn on_turn_end(
        &self,
        _results: &[ToolResultMessage],
        cancel: &CancellationToken,
    ) -> Result<(), StopRun> {
        let repetition = self.watch.lock().repetition.take();
        match repetition {
            Some(repetition) if !cancel.is_cancelled() => self.ask(&repetition, cancel).await,
            _ => Ok(()),
        }
    }
}

impl Watch {
    fn start_turn(&mut self, calls: usize) {
        self.open_calls = calls;
        self.results.clear();
        self.repetition = None;
        if calls == 0 {
            self.turns.clear();
        }
    }

    /// Adds the result of a call. Returns the repetition for a warning of the model.
    fn add(&mut self, call: &ToolCall, output: &ToolOutput) -> Option<Repetition> {
        self.results.push(hash(call, output));
        self.open_calls = self.open_calls.saturating_sub(1);
        if self.open_calls > 0 {
            return None;
        }
        self.results.sort_unstable();
        let mut hasher = DefaultHasher::new();
        std::mem::take(&mut self.results).hash(&mut hasher);
        self.turns.push(hasher.finish());
        let repetition = self.repetition()?;
        // Each permission doubles the allowed number.
        if repetition.count >= ASK << self.allowed.min(16) {
            self.repetition = Some(repetition.clone());
        }
        Some(repetition)
    }

    /// The shortest cycle that the newest turns repeat.
    fn repetition(&self) -> Option<Repetition> {
        (1..=LONGEST_CYCLE).find_map(|cycle| {
            let earlier = self.turns.iter().rev().skip(cycle);
            let pairs = self.turns.iter().rev().zip(earlier);
            let same = pairs.take_while(|(turn, earlier)| turn == earlier).count();
            let count = same / cycle + 1;
            (count >= TELL && same % cycle == 0).then_some(Repetition { cycle, count })
        })
    }

    fn allow(&mut self) {
        self.allowed += 1;
    }
}

impl Repetition {
    fn for_user(&self) -> String {
        let Self { cycle, count } = self;
        match cycle {
            1 => format!(
                "the model made the same tool call {count} times in a row with the same result"
            ),
            _ => format!(
                "the model repeated the same {cycle} tool calls {count} times with the same results"
            ),
        }
    }

    fn for_model(&self) -> String {
        let Self { cycle, count } = self;
        let what = match cycle {
            1 => format!("The same call has now had the same result {count} times in a row."),
            _ => {
                format!(
                    "The last {cycle} calls have now been repeated {count} times with the same results."
                )
            }
        };
        format!("[{what} Do something else, or answer with what you know and say what is missing.]")
    }
}

/// A hash of a call and its result.
fn hash(call: &ToolCall, output: &ToolOutput) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    call.arguments.hash(&mut hasher);
    call.arguments_error.hash(&mut hasher);
    output.status.name().hash(&mut hasher);
    for block in &output.content {
        match block {
            ContentBlock::Text { text } => hash_text(text, &mut hasher),
            ContentBlock::Image { data, .. } | ContentBlock::File { data, .. } => {
                data.hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// Hashes a text without the times in it: `0.3s`, `12 ms`.
fn hash_text(text: &str, hasher: &mut DefaultHasher) {
    const UNITS: [&str; 10] = [
        "ms", "s", "sec", "secs", "seconds", "m", "min", "us", "µs", "ns",
    ];
    let mut rest = text;
    while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        before.hash(hasher);
        let end = number.find(|char: char| !char.is_ascii_digit() && char != '.');
        let (number, after) = number.split_at(end.unwrap_or(number.len()));
        let unit = after.strip_prefix(' ').unwrap_or(after);
        let unit_end = unit.find(|char: char| !char.is_alphabetic());
        let (unit, behind) = unit.split_at(unit_end.unwrap_or(unit.len()));
        if UNITS.contains(&unit) {
            rest = behind;
        } else {
            number.hash(hasher);
            rest = after;
        }
    }
    rest.hash(hasher);
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|char| char.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_make_no_difference() {
        let hash = |text: &str| {
            let mut hasher = DefaultHasher::new();
            hash_text(text, &mut hasher);
            hasher.finish()
        };
        let one = hash("3 failed [exit code 1, after 0.3s] finished in 12 ms");
        assert_eq!(
            one,
            hash("3 failed [exit code 1, after 2m] finished in 9 ms")
        );
        assert_ne!(
            one,
            hash("2 failed [exit code 1, after 0.3s] finished in 12 ms")
        );
        assert_ne!(
            one,
            hash("3 failed [exit code 2, after 0.3s] finished in 12 ms")
        );
        assert_ne!(hash("12 months"), hash("13 months"));
    }

    #[test]
    fn shortest_cycle_counts() {
        let watch = |turns: &[u64]| Watch {
            turns: turns.to_vec(),
            ..Watch::default()
        };
        for (turns, expected) in [
            (&[1, 1][..], None),
            (&[1, 1, 1], Some((1, 3))),
            (&[9, 1, 1, 1, 1], Some((1, 4))),
            (&[1, 2, 1, 2, 1, 2], Some((2, 3))),
            (&[1, 2, 1, 2, 1, 2, 1], None),
            (&[1, 2, 1, 2, 1], None),
            (&[1, 1, 2, 1, 1, 2, 1, 1, 2], Some((3, 3))),
            (&[1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4], Some((4, 3))),
            (&[1, 2, 3, 1, 2, 4, 1, 2, 3], None),
        ] {
            let found = watch(turns).repetition();
            let found = found.map(|found| (found.cycle, found.count));
            assert_eq!(found, expected, "{turns:?}");
        }
    }
}
