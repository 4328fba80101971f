//! Answers that are interrupted, limited, or streamed while something else moves.

use std::time::Duration;

use serde_json::{Value, json};

use super::{PATIENCE, Trial, end};
use crate::support::model::cut_turn;
use crate::support::until;
use crate::support::wires::Wire;

/// Interrupts an answer after each of its events, in every wire format.
pub(super) fn interrupts(trial: &mut Trial) -> Result<(), String> {
    for wire in Wire::ALL {
        let model = format!("{}/m", wire.api());
        let mut rpc = trial.rpc(&["--model", &model])?;
        let events = wire.frames(&cut_turn()).len();
        let step = if trial.is_short { 5 } else { 1 };
        for event in (0..=events).step_by(step) {
            let (number, held) = (trial.next_number(), trial.server.held());
            rpc.send(&json!({"type": "prompt", "message": format!("GO cut{event} {number}")}));
            if !until(PATIENCE, || trial.server.held() > held) {
                return Err(format!("{model}: the answer does not reach event {event}"));
            }
            let left = trial.random.below(4);
            std::thread::sleep(Duration::from_millis(left));
            rpc.send(&json!({"type": "abort"}));
            let settled = rpc.until(PATIENCE, |line| line["type"] == "agent_settled");
            if settled.is_none() {
                return Err(format!(
                    "{model}: an interrupt after event {event} does not end the run"
                ));
            }
            trial
                .prompt(&mut rpc, "text")
                .map_err(|problem| format!("{model}, after event {event}: {problem}"))?;
        }
        end(rpc)?;
    }
    Ok(())
}

/// A limit is reached between two calls of a run; after it is raised, the session continues.
pub(super) fn budget(trial: &mut Trial) -> Result<(), String> {
    for limit in [json!({"turns": 2}), json!({"tokens": 2000})] {
        let mut rpc = trial.rpc(&[])?;
        let set = |budget: &Value| json!({"id": "budget", "type": "set_budget", "budget": budget});
        rpc.ask(&set(&limit), PATIENCE)
            .ok_or("the budget is not set")?;
        let number = trial.next_number();
        if !rpc.prompt(&format!("GO tools {number}"), PATIENCE) {
            return Err(format!("a run at the limit {limit} does not end"));
        }
        let text = rpc.ask(
            &json!({"id": "text", "type": "get_last_assistant_text"}),
            PATIENCE,
        );
        if text.is_some_and(|text| text.to_string().contains(&format!("done {number}"))) {
            return Err(format!("the limit {limit} did not stop the run"));
        }
        rpc.ask(&set(&json!({"turns": 0, "tokens": 0})), PATIENCE)
            .ok_or("the budget is not removed")?;
        trial.prompt(&mut rpc, "tools")?;
        end(rpc)?;
    }
    Ok(())
}

/// Moves in the tree, and sends other requests, while an answer streams. Each must be answered, and
/// the run must end.
pub(super) fn moves(trial: &mut Trial) -> Result<(), String> {
    let mut rpc = trial.rpc(&[])?;
    trial.prompt(&mut rpc, "tools")?;
    trial.prompt(&mut rpc, "tools")?;
    let prompts = json!({"id": "prompts", "type": "get_fork_messages"});
    let prompts = rpc.ask(&prompts, PATIENCE).unwrap_or_default();
    let second = &prompts["data"]["messages"][1]["entryId"];
    if !second.is_string() {
        return Err(format!("the second prompt is not listed: {prompts}"));
    }
    for command in [
        json!({"type": "undo_prompt"}),
        // The undo leaves a branch, and the next commands return to it.
        json!({"type": "move_to", "entryId": second}),
        json!({"type": "go_back"}),
        json!({"type": "go_forward"}),
        json!({"type": "redo_prompt"}),
        json!({"type": "branch"}),
        json!({"type": "restore_files", "at": {"at": "last_prompt"}, "byHand": true}),
        json!({"type": "undo_restore"}),
        json!({"type": "compact"}),
        json!({"type": "set_model", "reference": "anthropic-messages/m"}),
    ] {
        let (number, held) = (trial.next_number(), trial.server.held());
        rpc.send(&json!({"type": "prompt", "message": format!("GO half {number}")}));
        if !until(PATIENCE, || trial.server.held() > held) {
            return Err(format!("the answer {number} does not begin"));
        }
        let mut command = command;
        command["id"] = json!("moved");
        rpc.send(&command);
        // Some commands wait for the end of the run.
        rpc.send(&json!({"type": "abort"}));
        let (mut is_answered, mut is_settled) = (false, false);
        while !(is_answered && is_settled) {
            let line = rpc.until(PATIENCE, |line| {
                line["id"] == "moved" || line["type"] == "agent_settled"
            });
            let Some(line) = line else {
                return Err(format!(
                    "{command}: answered {is_answered}, settled {is_settled}"
                ));
            };
            is_answered |= line["id"] == "moved";
            is_settled |= line["type"] == "agent_settled";
        }
        trial
            .prompt(&mut rpc, "text")
            .map_err(|problem| format!("after {command}: {problem}"))?;
    }
    end(rpc)
}
