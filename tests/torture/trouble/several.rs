//! Several osiers, and subagents that are killed.

use std::time::Duration;

use serde_json::json;

use super::{PATIENCE, Trial, end};
use crate::support::until;

/// Two osiers on one session, then two sessions in one directory.
pub(super) fn two_osiers(trial: &mut Trial) -> Result<(), String> {
    let mut first = trial.rpc(&[])?;
    trial.prompt(&mut first, "tools")?;
    let mut second = trial.rpc(&["-c"])?;
    // The second one does not get the session, and says why.
    let refused = second.until(PATIENCE, |line| line["type"] == "session_failed");
    let refused = refused.ok_or("the second osier opens the same session")?;
    trial.notes.push(refused["message"].to_string());
    let number = trial.next_number();
    let prompt = json!({"id": "prompt", "type": "prompt", "message": format!("GO text {number}")});
    let answer = second.ask(&prompt, PATIENCE).unwrap_or_default();
    if answer["success"] != false || trial.server.has_arrived(number) {
        return Err(format!("a prompt without a session: {answer}"));
    }
    end(second)?;
    trial.prompt(&mut first, "tools")?;
    end(first)?;
    let (mut one, mut other) = (trial.rpc(&[])?, trial.rpc(&[])?);
    for _ in 0..3 {
        trial.prompt(&mut one, "tools")?;
        trial.prompt(&mut other, "files")?;
        for rpc in [&mut one, &mut other] {
            let undo = json!({"id": "undo", "type": "undo_prompt"});
            rpc.ask(&undo, PATIENCE).ok_or("an undo is not answered")?;
        }
    }
    end(one)?;
    end(other)
}

/// Kills osier while twenty subagents work.
pub(super) fn subagents(trial: &mut Trial) -> Result<(), String> {
    let rounds = if trial.is_short { 2 } else { 20 };
    for _ in 0..rounds {
        let number = trial.next_number();
        let mut rpc = trial.rpc(&["-c"])?;
        rpc.send(&json!({"type": "prompt", "message": format!("GO agents {number}")}));
        if !until(PATIENCE, || trial.server.has_arrived(number)) {
            return Err(format!("prompt {number} does not arrive"));
        }
        std::thread::sleep(Duration::from_millis(trial.random.below(1_500)));
        rpc.kill();
        let mut next = trial.rpc(&["-c"])?;
        trial.prompt(&mut next, "text")?;
        end(next)?;
    }
    let mut rpc = trial.rpc(&["-c"])?;
    trial.prompt(&mut rpc, "agents")?;
    end(rpc)
}
