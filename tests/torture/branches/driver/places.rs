//! Steps with labels, deleted branches, turns that are undone with their files, worktrees, and other directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Driver, Outcome, PATIENCE, in_editor, line, same};
use crate::branches::reference::{FILE, Jump, Kind, Position};
use crate::support::home::Home;
use crate::support::rpc::Rpc;

/// Makes the project a repository with one commit, because worktrees need one.
pub(super) fn prepare(home: &Home) -> std::io::Result<()> {
    fs::create_dir_all(home.work().with_file_name("elsewhere"))?;
    for words in ["init --quiet", "commit --quiet --allow-empty -m begin"] {
        let mut git = home.command("git".as_ref());
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        let done = git.args(words.split(' ')).output()?;
        if !done.status.success() {
            let text = String::from_utf8_lossy(&done.stderr).into_owned();
            return Err(std::io::Error::other(text));
        }
    }
    Ok(())
}

impl Driver {
    /// Labels a random prompt or removes its label, and checks all labels.
    pub(super) fn label(&mut self) -> Outcome {
        let turns = self.session().turns.clone();
        if turns.is_empty() {
            return Ok(());
        }
        let entry = self.turns[*self.random.pick(&turns)].prompt_id.clone();
        let label = *self.random.pick(&["", "good", "try again"]);
        self.ask("label_entry", json!({"entryId": entry, "label": label}))?;
        let labels = &mut self.session().labels;
        if label.is_empty() {
            labels.remove(&entry);
        } else {
            labels.insert(entry, label.to_owned());
        }
        self.new_entries()?;
        self.check_labels()
    }

    fn check_labels(&mut self) -> Outcome {
        let tree = self.ask("get_tree", json!({}))?;
        let outline = &tree["outline"];
        let name = |number: &Value| {
            let number = usize::try_from(number.as_u64()?).ok()?;
            let id = outline["entries"][number][0].as_str()?;
            Some(id.to_owned())
        };
        let labels = outline["labels"].as_array().map_or(&[][..], Vec::as_slice);
        let labels = labels.iter().filter_map(|label| {
            let text = label[1].as_str()?.to_owned();
            Some((name(&label[0])?, text))
        });
        let labels: BTreeMap<String, String> = labels.collect();
        same("the labels", &labels, &self.session().labels.clone())
    }

    /// Deletes a random branch permanently; osier must refuse it if the branch is the current one.
    pub(super) fn delete_branch(&mut self) -> Outcome {
        let turns = self.session().turns.clone();
        if turns.is_empty() {
            return Ok(());
        }
        let top = *self.random.pick(&turns);
        let prompt = self.turns[top].prompt_id.clone();
        let parameters = json!({"entryId": prompt});
        if self.now().turns().contains(&top) {
            return self.refused("delete_branch", parameters);
        }
        let gone = self.sessions[self.open].below(top, &self.turns);
        self.ask("delete_branch", parameters.clone())?;
        let ids: Vec<String> = gone
            .iter()
            .map(|turn| self.turns[*turn].prompt_id.clone())
            .collect();
        let session = self.session();
        session.forget(&gone);
        session.labels.retain(|entry, _| !ids.contains(entry));
        self.new_entries()?;
        self.check_labels()?;
        self.refused("move_to", parameters)?;
        self.texts_are_gone(&gone)
    }

    /// Checks that the session file no longer contains the prompts of these turns, except prompts that are also on another branch.
    fn texts_are_gone(&mut self, gone: &[usize]) -> Outcome {
        let id = self.session().id.clone();
        let left = self.session().turns.clone();
        let left: Vec<u64> = left.iter().map(|turn| self.turns[*turn].number).collect();
        let files = self.home.sessions().into_iter();
        let mut files = files.filter(|path| path.to_string_lossy().contains(&id));
        let file = files.next().ok_or("the session has no file")?;
        let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
        for turn in gone.iter().map(|turn| &self.turns[*turn]) {
            let prompt = format!("\"{}\"", turn.text());
            if !left.contains(&turn.number) && text.contains(&prompt) {
                return Err(format!("{prompt} is still in the session file"));
            }
        }
        Ok(())
    }

    /// Undoes the last prompt with its files. If the turn changed the file, the file must be as before the prompt.
    pub(super) fn undo_with_files(&mut self) -> Outcome {
        let Some(last) = self.now().turns().last().copied() else {
            return self.refused("undo_prompt", json!({"withFiles": true}));
        };
        let (before, file) = (self.before(last), self.file());
        let from = self.now().leaf.clone();
        let undo = ("undo_prompt", json!({"withFiles": true}));
        let moved = self.ask(undo.0, undo.1)?;
        let prompt = Some(self.turns[last].prompt());
        same("the editor", &in_editor(&moved["prompt"]), &prompt)?;
        self.jumped(before, Jump::Undo)?;
        let written = Some(self.turns[last].number.to_string());
        let has_changed = self.turns[last].file != written;
        if self.turns[last].kind == Kind::Put && has_changed {
            let at = json!({"at": "undone", "entryId": from});
            self.ask("restore_files", json!({"at": at, "byHand": true}))?;
            let before = self.turns[last].file.clone();
            same("the file", &self.file(), &before)?;
        } else {
            same("the file", &self.file(), &file)?;
        }
        self.new_entries().map(drop)
    }

    /// Forks a random turn into a new worktree, checks the files and the conversation there, and removes the worktree.
    pub(super) fn fork_in_worktree(&mut self) -> Outcome {
        let turns = self.session().turns.clone();
        if turns.is_empty() {
            return Ok(());
        }
        let turn = *self.random.pick(&turns);
        let is_first = self.turns[turn].before.is_empty();
        let is_before = self.random.once_in(2) && !is_first;
        let (to, entry) = if is_before {
            (self.before(turn), self.turns[turn].prompt_id.clone())
        } else {
            (self.after(turn), self.turns[turn].answer_id.clone())
        };
        let forked = self.ask("fork_worktree", json!({"entryId": entry}))?;
        let prompt = to.editor.map(|turn| self.turns[turn].prompt());
        same("the editor", &in_editor(&forked["prompt"]), &prompt)?;
        let (Some(id), Some(cwd)) = (forked["session"].as_str(), forked["cwd"].as_str()) else {
            return Err(format!("no fork: {forked}"));
        };
        let cwd = PathBuf::from(cwd);
        let copied = fs::read_to_string(cwd.join(FILE)).ok();
        let is_end_of_copy = !is_before && self.sessions[self.open].end_of_copy == Some(turn);
        let forked_turn = &self.turns[turn];
        let expected = match (forked["files"].as_str(), forked_turn.kind) {
            // A copy ends with the files that the session had when it was copied.
            (Some("point"), _) if is_end_of_copy => copied.clone(),
            (Some("point"), Kind::Put) if is_before => forked_turn.file.clone(),
            (Some("point"), Kind::Put) => Some(forked_turn.number.to_string()),
            // The files that were recorded last before it.
            (Some("point"), Kind::Say) => copied.clone(),
            _ => self.file(),
        };
        same("the file of the worktree", &copied, &expected)?;
        let mut copy = self.start_in(&cwd, id)?;
        let opened = copy.until(PATIENCE, |line| line["type"] == "session_opened");
        opened.ok_or("the fork does not open")?;
        self.has_conversation(&mut copy, &to)?;
        copy.kill();
        let mut git = self.home.command("git".as_ref());
        git.args(["worktree", "remove", "--force"]).arg(&cwd);
        let removed = git.output().map_err(|error| error.to_string())?;
        let problem = String::from_utf8_lossy(&removed.stderr).into_owned();
        same("removing the worktree", &problem, &String::new())
    }

    /// Starts a program in another directory that opens the session.
    fn start_in(&self, cwd: &std::path::Path, id: &str) -> Result<Rpc, String> {
        let arguments = ["rpc", "--resume", id];
        let started = Rpc::start_in(&self.home, &self.program, &arguments, cwd);
        started.map_err(|error| error.to_string())
    }

    fn has_conversation(&self, rpc: &mut Rpc, at: &Position) -> Outcome {
        let line_of = json!({"id": 1, "type": "get_messages"});
        let messages = rpc.ask(&line_of, PATIENCE).ok_or("no messages")?;
        let messages = messages["data"]["messages"].as_array();
        let messages = messages.map_or(&[][..], Vec::as_slice);
        let shown: Vec<String> = messages.iter().filter_map(line).collect();
        same(
            "the conversation there",
            &shown,
            &at.transcript(&self.turns),
        )
    }

    /// Opens the session in another directory, which asks where to continue. Continues there or starts a new session, and then returns.
    pub(super) fn visit_another_directory(&mut self) -> Outcome {
        self.rpc.kill();
        let (id, now) = (self.session().id.clone(), self.now().clone());
        let elsewhere = self.home.work().with_file_name("elsewhere");
        let stays = self.random.once_in(2);
        let mut there = self.start_in(&elsewhere, &id)?;
        let asks = |line: &Value| line["type"] == "session_elsewhere";
        there
            .until(PATIENCE, asks)
            .ok_or("it is not asked where to continue")?;
        self.has_conversation(&mut there, &now)?;
        if stays {
            let line = json!({"id": 2, "type": "continue_here"});
            let continued = there.ask(&line, PATIENCE).ok_or("no answer")?;
            same("continuing there", &(continued["success"] == true), &true)?;
            self.has_conversation(&mut there, &now)?;
        } else {
            let line = json!({"id": 2, "type": "new_session"});
            there.ask(&line, PATIENCE).ok_or("no answer")?;
        }
        there.kill();
        let work = self.home.work();
        self.rpc = self.start_in(&work, &id)?;
        if stays {
            // The session now belongs to the other directory.
            let asked = self.rpc.until(PATIENCE, asks);
            asked.ok_or("it is not asked where to continue after it was moved")?;
            self.ask("continue_here", json!({}))?;
        } else {
            let opened = |line: &Value| line["type"] == "session_opened";
            self.rpc
                .until(PATIENCE, opened)
                .ok_or("the session does not open")?;
        }
        self.new_entries().map(drop)
    }
}
