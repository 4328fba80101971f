//! Operations over RPC, and their checks.

mod places;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::reference::{FILE, Jump, Kind, Position, Session, Step, Turn};
use super::server::{MODELS, Server};
use crate::support::home::Home;
use crate::support::random::Random;
use crate::support::rpc::Rpc;

const PATIENCE: Duration = Duration::from_mins(1);
/// A transparent pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";

type Outcome = Result<(), String>;
type Operation = (&'static str, u64, fn(&mut Driver) -> Outcome);

/// The operations and how often they are chosen.
const OPERATIONS: &[Operation] = &[
    ("prompt", 12, Driver::prompt),
    ("undo", 5, Driver::undo),
    ("redo", 4, Driver::redo),
    ("back", 4, |driver| driver.step_in_history(Jump::Back)),
    ("forward", 4, |driver| driver.step_in_history(Jump::Forward)),
    ("move", 6, Driver::go_to),
    ("model", 4, Driver::select_model),
    ("retry", 3, Driver::retry),
    ("unknown", 1, Driver::retry_with_an_unknown_model),
    ("label", 3, Driver::label),
    ("delete", 2, Driver::delete_branch),
    ("undo both", 3, Driver::undo_with_files),
    ("worktree", 1, Driver::fork_in_worktree),
    ("elsewhere", 1, Driver::visit_another_directory),
    ("name", 1, Driver::name),
    ("edit", 2, Driver::edit_by_hand),
    ("restore", 3, Driver::restore),
    ("compact", 2, Driver::compact),
    ("fork", 2, Driver::fork),
    ("clone", 1, Driver::clone_branch),
    ("fork in a run", 1, Driver::fork_in_a_run),
    ("switch", 2, Driver::switch),
    ("kill", 2, Driver::restart),
    ("kill in a prompt", 1, Driver::kill_in_a_prompt),
];

pub(super) struct Driver {
    home: Home,
    program: PathBuf,
    server: Server,
    random: Random,
    rpc: Rpc,
    id: u64,
    turns: Vec<Turn>,
    sessions: Vec<Session>,
    /// The index of the open session.
    open: usize,
    counts: BTreeMap<&'static str, usize>,
}

impl Driver {
    pub(super) fn start(path: &Path, program: &Path, random: Random) -> std::io::Result<Self> {
        let server = Server::start()?;
        let home = super::home(path, &server)?;
        places::prepare(&home)?;
        let rpc = Rpc::start(&home, program, &["rpc"])?;
        Ok(Self {
            home,
            program: program.to_owned(),
            server,
            random,
            rpc,
            id: 0,
            turns: Vec::new(),
            sessions: Vec::new(),
            open: 0,
            counts: BTreeMap::new(),
        })
    }

    /// The operations so far.
    pub(super) fn summary(&self) -> String {
        let counts = self
            .counts
            .iter()
            .map(|(name, count)| format!("{name} {count}"));
        counts.collect::<Vec<_>>().join(", ")
    }

    /// One random operation, and a check of everything.
    pub(super) fn step(&mut self) -> Outcome {
        if self.sessions.is_empty() {
            self.begin()?;
        }
        let total: u64 = OPERATIONS.iter().map(|(_, weight, _)| weight).sum();
        let mut left = self.random.below(total);
        let chosen = OPERATIONS.iter().find(|(_, weight, _)| {
            let is_chosen = left < *weight;
            left = left.saturating_sub(*weight);
            is_chosen
        });
        let Some((name, _, act)) = chosen else {
            return Err("no operation".to_owned());
        };
        *self.counts.entry(name).or_default() += 1;
        act(self).and_then(|()| self.check()).map_err(|problem| {
            let now = self.sessions.get(self.open).map(|session| &session.now);
            let home = self.home.home();
            format!("{name}: {problem}\nat {now:?}\nin {}", home.display())
        })
    }

    /// Sends the first prompt of the first session.
    fn begin(&mut self) -> Outcome {
        let state = self.ask("get_state", json!({}))?;
        self.add_session(
            &state,
            Vec::new(),
            Position {
                path: Vec::new(),
                editor: None,
                // A new session has the model of the one before.
                model: state["model"]["id"].as_str().unwrap_or_default().to_owned(),
                leaf: None,
            },
        );
        self.prompt()
    }

    fn session(&mut self) -> &mut Session {
        &mut self.sessions[self.open]
    }

    fn now(&self) -> &Position {
        &self.sessions[self.open].now
    }

    fn add_session(&mut self, state: &Value, turns: Vec<usize>, now: Position) {
        let id = state["sessionId"].as_str().unwrap_or_default().to_owned();
        self.sessions.push(Session::new(id, turns, now));
        self.open = self.sessions.len() - 1;
    }

    /// The result of a command, or its error.
    fn ask(&mut self, command: &str, parameters: Value) -> Result<Value, String> {
        self.id += 1;
        let mut line = parameters;
        line["id"] = json!(self.id);
        line["type"] = json!(command);
        let answer = self.rpc.ask(&line, PATIENCE);
        let mut answer = answer.ok_or_else(|| format!("no answer to {line}"))?;
        if answer["success"] == true {
            return Ok(answer["data"].take());
        }
        Err(format!("{line}: {}", answer["error"]))
    }

    /// The entries that were stored since the last call. Learns which one is the current one.
    fn new_entries(&mut self) -> Result<Vec<Value>, String> {
        let mut new = Vec::new();
        loop {
            let since = self.session().last_entry.clone();
            let parameters = since.map_or_else(|| json!({}), |since| json!({"since": since}));
            let mut stored = self.ask("get_entries", parameters)?;
            if stored["found"] != true {
                return Err("an entry is gone".to_owned());
            }
            let Value::Array(entries) = stored["entries"].take() else {
                return Err("no entries".to_owned());
            };
            let last = entries.last().and_then(|entry| entry["id"].as_str());
            let leaf = stored["leaf"].as_str().map(str::to_owned);
            let session = &mut self.sessions[self.open];
            if let Some(last) = last {
                session.last_entry = Some(last.to_owned());
            }
            session.now.leaf = leaf;
            new.extend(entries);
            if stored["more"] != true {
                return Ok(new);
            }
        }
    }

    /// Checks that the conversation and the model are the expected ones.
    fn check(&mut self) -> Outcome {
        let messages = self.ask("get_messages", json!({}))?;
        let messages = messages["messages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let shown: Vec<String> = messages.iter().filter_map(line).collect();
        same(
            "the conversation",
            &shown,
            &self.now().transcript(&self.turns),
        )?;
        let state = self.ask("get_state", json!({}))?;
        let model = state["model"]["id"].as_str().unwrap_or_default();
        if self.now().path.is_empty() {
            // At the start of a conversation, the model is the one that was selected last.
            model.clone_into(&mut self.session().now.model);
        } else {
            same("the model", &model, &self.now().model.as_str())?;
        }
        Ok(())
    }

    /// A new prompt of a random kind.
    fn new_turn(&mut self) -> Turn {
        let kind = if self.random.once_in(3) {
            Kind::Put
        } else {
            Kind::Say
        };
        Turn {
            number: self.turns.len() as u64 + 1,
            kind,
            has_picture: self.random.once_in(4),
            model: self.now().model.clone(),
            before: self.now().path.clone(),
            file: self.file(),
            prompt_id: String::new(),
            answer_id: String::new(),
        }
    }

    fn send(&mut self, turn: &Turn) {
        let mut line = json!({"type": "prompt", "message": turn.text()});
        if turn.has_picture {
            let picture = json!({"type": "image", "data": PICTURE, "mimeType": "image/png"});
            line["images"] = json!([picture]);
        }
        self.rpc.send(&line);
    }

    fn prompt(&mut self) -> Outcome {
        let turn = self.new_turn();
        self.server.take();
        self.send(&turn);
        self.ran(turn)
    }

    /// Waits for the end of the turn and checks its requests.
    fn ran(&mut self, turn: Turn) -> Outcome {
        let settled = |line: &Value| line["type"] == "agent_settled";
        let settled = self.rpc.until(PATIENCE, settled);
        settled.ok_or("the run does not end")?;
        self.after_run(turn)
    }

    /// Checks the requests of the turn, and learns its entries.
    fn after_run(&mut self, mut turn: Turn) -> Outcome {
        let mut request = self.now().context(&self.turns);
        request.push(turn.prompt());
        let mut expected = vec![(turn.model.clone(), request.clone())];
        if turn.kind == Kind::Put {
            request.extend(["call".to_owned(), "result".to_owned()]);
            expected.push((turn.model.clone(), request));
        }
        same("the requests", &self.server.take(), &expected)?;
        let entries = self.new_entries()?;
        let with_role = |role: &'static str| {
            move |entry: &&Value| entry["message"]["role"].as_str() == Some(role)
        };
        let id = |entry: Option<&Value>| {
            let id = entry.and_then(|entry| entry["id"].as_str());
            id.map(str::to_owned).ok_or("a message is not stored")
        };
        turn.prompt_id = id(entries.iter().find(with_role("user")))?;
        turn.answer_id = id(entries.iter().rev().find(with_role("assistant")))?;
        self.turns.push(turn);
        let number = self.turns.len() - 1;
        self.session().continued(number);
        Ok(())
    }

    /// Sends a command that moves the conversation to `to`, and checks that the editor gets the
    /// prompt and one entry is stored.
    fn jump(&mut self, (command, parameters): (&str, Value), to: Position, jump: Jump) -> Outcome {
        if self.random.once_in(8) {
            return self.jump_with_a_kill((command, parameters), to, jump);
        }
        let moved = self.ask(command, parameters)?;
        let prompt = to.editor.map(|turn| self.turns[turn].clone());
        same(
            "the editor",
            &in_editor(&moved["prompt"]),
            &prompt.map(|turn| turn.prompt()),
        )?;
        self.jumped(to, jump)
    }

    /// Checks that the move to `to` is stored as one entry, or as none if it is the current
    /// position.
    fn jumped(&mut self, to: Position, jump: Jump) -> Outcome {
        let leaf = to.leaf.clone();
        let before = self.sessions[self.open].clone();
        let entries = self.new_entries()?;
        let kinds: Vec<&str> = entries
            .iter()
            .filter_map(|entry| entry["type"].as_str())
            .collect();
        if kinds.iter().any(|kind| *kind != "leaf") || kinds.len() > 1 {
            return Err(format!("a move stores {kinds:?}"));
        }
        let session = &mut self.sessions[self.open];
        let arrived = session.now.leaf.clone();
        session.now = before.now;
        let is_step = matches!(jump, Jump::Back | Jump::Forward);
        if is_step {
            same("the entry", &arrived, &leaf)?;
        }
        let is_same = (&arrived, to.editor) == (&session.now.leaf, session.now.editor);
        if kinds.is_empty() && !is_same {
            return Err("a move is not stored".to_owned());
        }
        session.jump(
            Position {
                leaf: arrived,
                ..to
            },
            jump,
        );
        Ok(())
    }

    /// The program is killed soon after the command: the move is complete, or did not happen.
    fn jump_with_a_kill(
        &mut self,
        (command, parameters): (&str, Value),
        to: Position,
        jump: Jump,
    ) -> Outcome {
        let mut line = parameters;
        line["type"] = json!(command);
        self.rpc.send(&line);
        self.wait(8);
        self.restart()?;
        let session = &self.sessions[self.open];
        let since = session.last_entry.clone();
        let stored = self.ask("get_entries", json!({"since": since}))?;
        let is_stored = stored["entries"]
            .as_array()
            .is_some_and(|entries| !entries.is_empty());
        if is_stored {
            self.jumped(to, jump)
        } else {
            Ok(())
        }
    }

    /// Waits up to `most` milliseconds.
    fn wait(&mut self, most: u64) {
        let microseconds = self.random.below(most * 1000);
        thread::sleep(Duration::from_micros(microseconds));
    }

    /// The position before the prompt of a turn.
    fn before(&self, turn: usize) -> Position {
        Position {
            path: self.turns[turn].before.clone(),
            editor: Some(turn),
            model: self.turns[turn].model.clone(),
            leaf: None,
        }
    }

    /// The position after the answer of a turn.
    fn after(&self, turn: usize) -> Position {
        let mut path = self.turns[turn].before.clone();
        path.push(Step::Turn(turn));
        Position {
            path,
            editor: None,
            model: self.turns[turn].model.clone(),
            leaf: None,
        }
    }

    fn undo(&mut self) -> Outcome {
        let Some(last) = self.now().turns().last().copied() else {
            return self.refused("undo_prompt", json!({}));
        };
        self.jump(("undo_prompt", json!({})), self.before(last), Jump::Undo)
    }

    fn redo(&mut self) -> Outcome {
        match self.session().redo() {
            Some(to) => self.jump(("redo_prompt", json!({})), to, Jump::Back),
            None => self.refused("redo_prompt", json!({})),
        }
    }

    fn step_in_history(&mut self, jump: Jump) -> Outcome {
        let command = if jump == Jump::Back {
            "go_back"
        } else {
            "go_forward"
        };
        match self.session().target(jump) {
            Some(to) => self.jump((command, json!({})), to, jump),
            None => self.refused(command, json!({})),
        }
    }

    /// Checks that a command is refused and stores nothing.
    fn refused(&mut self, command: &str, parameters: Value) -> Outcome {
        if self.ask(command, parameters).is_ok() {
            return Err(format!("{command} is not refused"));
        }
        let entries = self.new_entries()?;
        if entries.is_empty() {
            Ok(())
        } else {
            Err(format!("{command} stores {entries:?}"))
        }
    }

    /// Goes to a random prompt or answer of any branch.
    fn go_to(&mut self) -> Outcome {
        let turns = self.session().turns.clone();
        // A fork of the first prompt has none.
        if turns.is_empty() {
            return Ok(());
        }
        let turn = *self.random.pick(&turns);
        let to_prompt = self.random.once_in(2);
        let (to, entry) = if to_prompt {
            (self.before(turn), &self.turns[turn].prompt_id)
        } else {
            (self.after(turn), &self.turns[turn].answer_id)
        };
        let parameters = json!({"entryId": entry});
        self.jump(("move_to", parameters), to, Jump::Undo)
    }

    fn select_model(&mut self) -> Outcome {
        let model = *self.random.pick(&MODELS);
        self.ask("set_model", json!({"reference": format!("t/{model}")}))?;
        model.clone_into(&mut self.session().now.model);
        self.new_entries().map(drop)
    }

    /// Sends the last prompt again, to a random model.
    fn retry(&mut self) -> Outcome {
        let Some(last) = self.now().turns().last().copied() else {
            return self.refused("retry_prompt", json!({}));
        };
        let model = *self.random.pick(&MODELS);
        self.server.take();
        let parameters = json!({"model": format!("t/{model}")});
        let file = self.file();
        // The answer to the command can come after the end of the run.
        let mut line = parameters;
        line["type"] = json!("retry_prompt");
        self.rpc.send(&line);
        let mut before = self.before(last);
        let moved = self.rpc.until(PATIENCE, |line| line["type"] == "moved");
        let moved = moved.ok_or("the conversation does not move")?;
        before.leaf = moved["leaf"].as_str().map(str::to_owned);
        let turn = Turn {
            model: model.to_owned(),
            file,
            ..self.turns[last].clone()
        };
        self.session().jump(before, Jump::Usual);
        model.clone_into(&mut self.session().now.model);
        self.ran(turn)
    }

    fn retry_with_an_unknown_model(&mut self) -> Outcome {
        self.refused("retry_prompt", json!({"model": "nosuchmodel"}))
    }

    fn name(&mut self) -> Outcome {
        let name = format!("name {}", self.random.below(100));
        self.ask("set_session_name", json!({"name": name}))?;
        self.new_entries().map(drop)
    }

    fn file(&self) -> Option<String> {
        std::fs::read_to_string(self.home.work().join(FILE)).ok()
    }

    fn edit_by_hand(&mut self) -> Outcome {
        let text = format!("by hand {}", self.random.below(1_000));
        std::fs::write(self.home.work().join(FILE), text).map_err(|error| error.to_string())
    }

    /// Restores the files from before a prompt that changed them.
    fn restore(&mut self) -> Outcome {
        let mut turns = self.session().turns.clone();
        turns.retain(|turn| self.turns[*turn].kind == Kind::Put);
        if turns.is_empty() {
            return Ok(());
        }
        let turn = self.turns[*self.random.pick(&turns)].clone();
        let at = json!({"at": "entry", "entryId": turn.prompt_id});
        self.ask("restore_files", json!({"at": at, "byHand": true}))?;
        same("the file", &self.file(), &turn.file)?;
        self.new_entries().map(drop)
    }

    /// Summarizes everything before a random prompt of the branch.
    fn compact(&mut self) -> Outcome {
        let ends = self.now().summary_ends();
        if ends.is_empty() {
            return Ok(());
        }
        let from = *self.random.pick(&ends);
        let entry = self.turns[from].prompt_id.clone();
        let outcome = self.ask("compact", json!({"upTo": entry}))?;
        let entries = self.new_entries()?;
        if !entries.iter().any(|entry| entry["type"] == "compaction") {
            return Err(format!("no summary is stored: {outcome}"));
        }
        self.session().now.path.push(Step::Summary { from });
        Ok(())
    }

    /// The end of a fork at a random turn, before its prompt or after its answer, with its parameters.
    fn fork_target(&mut self) -> Option<(Position, Value)> {
        let turns = self.session().turns.clone();
        if turns.is_empty() {
            return None;
        }
        let turn = *self.random.pick(&turns);
        let is_first = self.turns[turn].before.is_empty();
        let (to, entry) = if self.random.once_in(2) && !is_first {
            (self.before(turn), &self.turns[turn].prompt_id)
        } else {
            (self.after(turn), &self.turns[turn].answer_id)
        };
        Some((to, json!({"entryId": entry})))
    }

    fn fork(&mut self) -> Outcome {
        let Some((to, parameters)) = self.fork_target() else {
            return Ok(());
        };
        let forked = self.ask("fork", parameters)?;
        self.copied(&forked, to)
    }

    /// Sends a prompt and forks while it runs. The run continues.
    fn fork_in_a_run(&mut self) -> Outcome {
        let Some((to, mut line)) = self.fork_target() else {
            return Ok(());
        };
        let turn = self.new_turn();
        self.server.take();
        self.send(&turn);
        self.id += 1;
        line["id"] = json!(self.id);
        line["type"] = json!("fork");
        self.rpc.send(&line);
        let (mut answer, mut is_settled) = (None, false);
        while answer.is_none() || !is_settled {
            let is_awaited =
                |seen: &Value| seen["id"] == line["id"] || seen["type"] == "agent_settled";
            let seen = self.rpc.until(PATIENCE, is_awaited);
            let seen = seen.ok_or("no end of the run, or no fork")?;
            if seen["type"] == "agent_settled" {
                is_settled = true;
            } else {
                answer = Some(seen);
            }
        }
        self.after_run(turn)?;
        let forked = answer.unwrap_or_default()["data"].take();
        self.copied(&forked, to)
    }

    fn clone_branch(&mut self) -> Outcome {
        if self.now().path.is_empty() {
            return Ok(());
        }
        let to = Position {
            editor: None,
            ..self.now().clone()
        };
        let cloned = self.ask("clone", json!({}))?;
        self.copied(&cloned, to)
    }

    /// Checks that a copy up to `to` is stored while this session stays open, and opens the copy sometimes.
    fn copied(&mut self, forked: &Value, mut to: Position) -> Outcome {
        let prompt = to.editor.take().map(|turn| self.turns[turn].prompt());
        same("the editor", &in_editor(&forked["prompt"]), &prompt)?;
        let state = self.ask("get_state", json!({}))?;
        let open = self.session().id.clone();
        for id in [&state["sessionId"], &forked["parentSession"]] {
            same("the open session", &id.as_str(), &Some(&*open))?;
        }
        let copy = forked["session"].as_str().unwrap_or_default().to_owned();
        let path = Path::new(forked["path"].as_str().unwrap_or_default());
        same("the file of the copy", &path.exists(), &true)?;
        let turns = to.turns();
        // The copy also has the labels of the branch.
        let mut labels = self.session().labels.clone();
        let ids: Vec<&String> = turns
            .iter()
            .map(|turn| &self.turns[*turn].prompt_id)
            .collect();
        labels.retain(|entry, _| ids.contains(&entry));
        let end_of_copy = turns.last().copied();
        let mut session = Session::new(copy, turns, to);
        session.end_of_copy = end_of_copy;
        session.labels = labels;
        self.sessions.push(session);
        if self.random.once_in(2) {
            self.check()?;
            return self.open_session(self.sessions.len() - 1);
        }
        Ok(())
    }

    fn open_session(&mut self, place: usize) -> Outcome {
        self.open = place;
        let id = self.session().id.clone();
        self.ask("switch_session", json!({"target": id}))?;
        self.new_entries().map(drop)
    }

    /// Opens another session.
    fn switch(&mut self) -> Outcome {
        let place = self.random.below(self.sessions.len() as u64);
        self.open_session(usize::try_from(place).unwrap_or(0))
    }

    /// Kills the program and opens the session again.
    fn restart(&mut self) -> Outcome {
        self.rpc.kill();
        let id = self.session().id.clone();
        let started = Rpc::start(&self.home, &self.program, &["rpc", "--resume", &id]);
        self.rpc = started.map_err(|error| error.to_string())?;
        let opened = |line: &Value| line["type"] == "session_opened";
        let opened = self.rpc.until(PATIENCE, opened);
        opened
            .map(drop)
            .ok_or_else(|| "the session does not open again".to_owned())
    }

    /// Kills the program soon after a prompt and checks that everything stored before is still
    /// there; then another session is open.
    fn kill_in_a_prompt(&mut self) -> Outcome {
        let turn = self.new_turn();
        self.send(&turn);
        self.wait(60);
        self.restart()?;
        let messages = self.ask("get_messages", json!({}))?;
        let messages = messages["messages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let shown: Vec<String> = messages.iter().filter_map(line).collect();
        let before = self.now().transcript(&self.turns);
        let length = before.len().min(shown.len());
        same(
            "the conversation before",
            &shown[..length].to_vec(),
            &before,
        )?;
        if let Some(next) = shown.get(length) {
            same("the prompt", next, &turn.prompt())?;
        }
        // The answer can be incomplete: the branch continues in a session of its own.
        self.sessions.remove(self.open);
        if self.sessions.is_empty() {
            self.ask("new_session", json!({}))?;
            return self.begin();
        }
        self.open = 0;
        self.switch()
    }
}

/// A stored message as a line.
fn line(message: &Value) -> Option<String> {
    match message["role"].as_str()? {
        "user" => Some(user_line(message)),
        "assistant" => {
            let blocks = message["content"].as_array()?;
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            let text: String = texts.collect();
            let is_call = text.is_empty();
            Some(if is_call {
                "call".to_owned()
            } else {
                format!("assistant {}", text.trim())
            })
        }
        "toolResult" => Some("result".to_owned()),
        "compactionSummary" => Some("summary".to_owned()),
        _ => None,
    }
}

fn user_line(message: &Value) -> String {
    let text = message["text"].as_str().unwrap_or_default().trim();
    let pictures = message["attachments"].as_array().map_or(0, Vec::len);
    let picture = if pictures > 0 { " picture" } else { "" };
    format!("user {text}{picture}")
}

/// A prompt that a move returns to the editor.
fn in_editor(prompt: &Value) -> Option<String> {
    prompt.is_object().then(|| user_line(prompt))
}

fn same<T: PartialEq + std::fmt::Debug>(subject: &str, seen: &T, wanted: &T) -> Outcome {
    if seen == wanted {
        return Ok(());
    }
    Err(format!("{subject}: {seen:?}, expected {wanted:?}"))
}
