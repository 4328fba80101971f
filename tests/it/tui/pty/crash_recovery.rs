//! Kills the program repeatedly at random moments while it answers, runs tools, moves in its tree and receives
//! input: every file opens, and nothing acknowledged is missing.
//!
//! A command of the model appends a line to a file outside of the program and syncs it. By then its prompt, the
//! answer that called it and the result of the call before it are stored: they count as acknowledged.
//! `OSIER_TORTURE=1000` sets the number of kills, `OSIER_TORTURE_SEED` selects other moments.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use osier_agent::AgentMessage;
use osier_protocol::Entry;
use osier_store::prompt_draft::PromptDraft;
use osier_store::{Loaded, load};

use super::program::Program;

const ROUNDS: usize = 30;

/// Maximum time from the last key or marker to the kill, in milliseconds.
const LONGEST: u64 = 700;

const SCRIPT: &str = r#"{"turns": [
  {"when": {"toolResult": "second marked"}, "repeat": true, "steps": [
    {"text": "The round is over, and these are its last words. ", "chunk": 3, "delayMs": 3}]},
  {"when": {"toolResult": "first marked"}, "repeat": true, "steps": [
    {"text": "Now the second of the two commands. ", "chunk": 3, "delayMs": 3},
    {"tool": "bash", "arguments": {"command": "sh mark.sh second"}}]},
  {"repeat": true, "steps": [
    {"thinking": "I think about it for a while. ", "chunk": 3, "delayMs": 3},
    {"text": "Some words before the first of the two commands. ", "chunk": 3, "delayMs": 3},
    {"tool": "bash", "arguments": {"command": "sh mark.sh first"}}]}
]}"#;

const MARK: &str =
    r#"read n < current; echo "$1 $n" >> markers; sync markers; echo "$1 marked $n""#;

/// The totals of all rounds.
#[derive(Debug, Default)]
struct Tally {
    markers: usize,
    /// The markers that were awaited; the number of the others depends on the speed of the machine.
    awaited: usize,
    partial_answers: usize,
    unsent_texts: usize,
    torn_ends: usize,
    undone: usize,
    sessions: usize,
    entries: usize,
}

#[test]
fn repeated_kills_lose_nothing_acknowledged() {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let rounds = number("OSIER_TORTURE").unwrap_or(ROUNDS);
    let mut random = Random(number("OSIER_TORTURE_SEED").unwrap_or(1) as u64);
    let mut program = Program::new()
        .file("s.json", SCRIPT)
        .file("mark.sh", MARK)
        .file("current", "none\n")
        .model("s.json")
        .patience(Duration::from_mins(2))
        .start();
    let mut tally = Tally::default();
    let mut left: Option<String> = None;
    for round in 0..rounds {
        program.until("the editor", |screen| {
            screen.contains('❯') && !screen.contains("opening")
        });
        come_back(&mut program, left.take(), &mut tally);
        play(&mut program, round, &mut random, &mut tally);
        program.signal("KILL");
        program.exit();
        let home = program.work().parent().unwrap().join("home");
        let stored = sessions(&home);
        let last = check(&program.work(), &stored, round, &mut tally);
        // A sent prompt is not restored as a draft; an undone prompt is.
        left = unsent(&home).filter(|text| last.as_deref() != Some(text.trim()));
        program = if stored.is_empty() {
            program.again(&["--model", "script/s.json"])
        } else {
            program.again(&["--model", "script/s.json", "-c"])
        };
    }
    program.until("the editor", |screen| screen.contains('❯'));
    come_back(&mut program, left, &mut tally);
    program.write("the last prompt\r");
    program.shows("and these are its last words.");
    eprintln!("{rounds} kills: {tally:?}");
    assert!(rounds < ROUNDS || tally.awaited > 0, "{tally:?}");
    assert!(tally.markers >= tally.awaited, "{tally:?}");
    assert_eq!(tally.sessions, 1, "{tally:?}");
}

/// Asserts that the draft is restored in the editor, and clears it.
fn come_back(program: &mut Program, left: Option<String>, tally: &mut Tally) {
    if let Some(text) = left {
        // The restored text may also be that of an earlier prompt.
        program.shows("restored the draft");
        program.shows(&text);
        tally.unsent_texts += 1;
    }
    // A prompt that was not stored before the kill is restored as well.
    program.write("\x15\x0b");
}

/// Runs a random action, sometimes types a draft, and waits a little.
fn play(program: &mut Program, round: usize, random: &mut Random, tally: &mut Tally) {
    put(&program.work().join("current"), &format!("{round}\n"));
    if random.below(6) == 0 {
        // The previous prompt returns to the editor: another one would be appended to it.
        program.write("/undo\r");
        tally.undone += 1;
    } else {
        program.write(&format!("prompt {round}.\r"));
        // Half of the kills wait for a marker; on a slow machine the others come before the first
        // one.
        let awaited = random.below(4);
        if let Some(which) = ["first", "second"].get(usize::try_from(awaited).unwrap()) {
            program.shows(&format!("{which} marked {round}"));
            tally.awaited += 1;
        }
    }
    let end = Instant::now() + Duration::from_millis(random.below(LONGEST));
    if random.below(2) == 0 {
        watch(
            program,
            Instant::now() + Duration::from_millis(random.below(LONGEST / 4)),
        );
        program.write(&format!("unsent {round} words"));
    }
    watch(program, end);
}

/// Reads what the program writes until `end`.
fn watch(program: &mut Program, end: Instant) {
    while Instant::now() < end && program.reads_until(end) {}
}

/// Asserts that every file opens and contains what was acknowledged. Returns the last prompt of the current branch.
fn check(work: &Path, stored: &[PathBuf], round: usize, tally: &mut Tally) -> Option<String> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut last = None;
    for path in stored {
        let Loaded {
            entries: found,
            leaf,
            damaged,
            reattached,
            torn_bytes,
            recovered_draft,
            ..
        } = load(path).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(
            (damaged, reattached),
            (0, 0),
            "round {round}: {}",
            path.display()
        );
        tally.torn_ends += usize::from(torn_bytes > 0);
        let partial = drafted(path);
        if let Some(id) = recovered_draft {
            let answer = found.iter().find(|entry| entry.id == id);
            let said = answer
                .and_then(|entry| entry.kind.as_message())
                .map(AgentMessage::text);
            let said = said.unwrap_or_default();
            // The last line of the draft may be incomplete.
            assert!(
                partial.contains(&said),
                "round {round}: {said:?} of {partial:?}"
            );
            tally.partial_answers += 1;
        }
        last = last_prompt(&found, leaf);
        entries.extend(found);
    }
    let texts: Vec<String> = entries
        .iter()
        .filter_map(|entry| entry.kind.as_message())
        .map(|message| match message {
            AgentMessage::User(_) => format!("prompt: {}", message.text()),
            message => message.text(),
        })
        .collect();
    let markers = std::fs::read_to_string(work.join("markers")).unwrap_or_default();
    // A prompt may begin with the draft of an earlier round.
    let has = |start: &str, text: &str| {
        let mut texts = texts.iter().filter(|other| other.starts_with(start));
        texts.any(|other| other.contains(text))
    };
    for marker in markers.lines() {
        let (which, number) = marker.split_once(' ').unwrap();
        assert!(
            has("prompt: ", &format!("prompt {number}.")),
            "round {round} lost the prompt of {marker}: {:?}",
            &texts[texts.len().saturating_sub(20)..]
        );
        assert!(has("", "Some words before the first of the two commands."));
        if which == "second" {
            let result = format!("first marked {number}");
            assert!(
                has("", &result),
                "round {round} lost the result before {marker}"
            );
        }
    }
    tally.markers = markers.lines().count();
    tally.sessions = stored.len();
    tally.entries = entries.len();
    last
}

/// The last prompt before the current entry of a session.
fn last_prompt(entries: &[Entry], leaf: Option<String>) -> Option<String> {
    let mut place = leaf;
    while let Some(id) = place.take() {
        let entry = entries.iter().find(|entry| entry.id == id)?;
        if let Some(message @ AgentMessage::User(_)) = entry.kind.as_message() {
            return Some(message.text().trim().to_owned());
        }
        place.clone_from(&entry.parent_id);
    }
    None
}

/// The text of the draft of the session at `path`.
fn drafted(path: &Path) -> String {
    let draft = std::fs::read_to_string(format!("{}.draft", path.display())).unwrap_or_default();
    let mut text = String::new();
    for line in draft.lines() {
        let Ok(piece) = serde_json::from_str::<serde_json::Value>(line) else {
            break;
        };
        text.push_str(piece["delta"].as_str().unwrap_or_default());
    }
    text
}

/// The stored draft of the editor.
fn unsent(home: &Path) -> Option<String> {
    let files = std::fs::read_dir(home.join("drafts"))
        .into_iter()
        .flatten()
        .flatten();
    let texts = files.filter_map(|file| {
        let bytes = std::fs::read(file.path()).ok()?;
        let mut values = serde_json::Deserializer::from_slice(&bytes).into_iter::<PromptDraft>();
        Some(values.next()?.ok()?.text.to_string())
    });
    texts.last()
}

pub(super) fn sessions(home: &Path) -> Vec<PathBuf> {
    let children = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let projects = children(&home.join("sessions"));
    let files = projects.iter().flat_map(|project| children(project));
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "a test's own file")]
fn put(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// A deterministic random number generator (xorshift64*).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit.max(1)
    }
}
