//! `exit_plan_mode`: presents a plan. The user approves it, edits it, or sends the model back to planning.
//!
//! The tool is offered in every mode, because the tools are part of the prompt that providers cache; outside of plan mode
//! it refuses. The session provides the mode and the dialog.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::built_in::{BuiltIn, Part, PartKind, PeerTool, ToolEffect, ToolView, Verbs};
use crate::call::spellings;
use crate::call::to_value;
use crate::files::diff::unified;
use crate::workspace::{PlanAnswer, PlanDecision, Workspace};
use osier_agent::{
    Concurrency, OtherName, PreparedCall, Preparing, Refusal, Spellings, ToolContext, ToolOutput,
    ToolStatus, prepare_typed,
};
use osier_base::visible::visible;
use osier_llm::ToolSpec;
use osier_protocol::{PLAN_TOOL, PermissionMode, PlanOutcome, PresentedPlan};

/// Maximum bytes of a plan.
pub const PLAN_BYTES: usize = 64 * 1024;

const OUTSIDE: &str = "Plan mode is not on, so no approval is needed: continue with the work.";
const NOBODY: &str = "Nobody can approve a plan here: answer with the plan.";
const UNANSWERED: &str = "The plan is not approved. Plan mode stays on: wait for the user.";

pub(crate) const ROW: BuiltIn = BuiltIn {
    spellings: &SPELLINGS,
    ends_run: |result| {
        PresentedPlan::of(&result.details)
            .is_some_and(|presented| presented.outcome == PlanOutcome::Unanswered)
    },
    peers: &[PeerTool::claude("ExitPlanMode", &[("plan", "plan")])],
    view: ToolView::new(
        Verbs::new("Presenting a plan", "Presented a plan", "present a plan"),
        &[Part::of("plan", PartKind::Title)],
    ),
    does: "presents a plan for your approval in [plan mode](safety.md#plan-mode)",
    ..BuiltIn::new(PLAN_TOOL, ToolEffect::Asks, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("present_plan"),
        OtherName::of("submit_plan"),
        OtherName::of("plan_exit"),
        OtherName::of("plan_mode_respond"),
    ],
    arguments: &[("plan", &["plan_text", "markdown", "content", "response"])],
    without_effect: spellings::DESCRIPTIONS,
    ..Spellings::NONE
};

/// Shared by all sessions. Short, because every request contains it.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    name: PLAN_TOOL.to_owned(),
    description: "In plan mode: present the complete plan in Markdown for approval.".to_owned(),
    parameters: json!({
        "type": "object",
        "properties": {"plan": {"type": "string"}},
        "required": ["plan"],
    }),
    freeform: None,
});

/// The call runs after the other calls of an answer, so that the user decides with their results.
fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |Arguments { plan }| {
        let plan = check(&plan)?;
        let call = PreparedCall::new(async move |cx| present(&workspace, plan, &cx).await);
        Ok(call.running(Concurrency::Exclusive))
    })
}

async fn present(workspace: &Workspace, plan: String, cx: &ToolContext) -> ToolOutput {
    let Some(mode) = workspace.plan_mode() else {
        return ToolOutput::error(NOBODY);
    };
    if !mode.is_on() {
        return ToolOutput::error(OUTSIDE);
    }
    let decision = mode.present(&plan, &cx.call_id, &cx.cancel).await;
    if cx.cancel.is_cancelled() && decision.answer == PlanAnswer::Unanswered {
        return ToolOutput::failed(
            ToolStatus::Aborted,
            "interrupted before the user decided about the plan",
        );
    }
    result(plan, decision)
}

#[derive(Debug, Deserialize)]
struct Arguments {
    plan: String,
}

/// The plan as it is shown and saved, without hidden characters.
fn check(plan: &str) -> Result<String, Refusal> {
    let plan = visible(plan.trim()).into_owned();
    if plan.is_empty() {
        return Err(Refusal::invalid(
            "`plan` is empty; write the plan in Markdown",
        ));
    }
    if plan.len() > PLAN_BYTES {
        return Err(Refusal::Invalid(format!(
            "the plan has {} bytes, and the limit is {PLAN_BYTES}; shorten it",
            plan.len()
        )));
    }
    Ok(plan)
}

/// The result for the model.
fn result(plan: String, decision: PlanDecision) -> ToolOutput {
    let PlanDecision { answer, path } = decision;
    let mut presented = PresentedPlan {
        outcome: PlanOutcome::Unanswered,
        plan_path: path,
        mode: None,
        plan,
    };
    let text = match answer {
        PlanAnswer::Unanswered => UNANSWERED.to_owned(),
        PlanAnswer::Refused { reason } => {
            presented.outcome = PlanOutcome::Refused;
            format!(
                "The user wants to keep planning: {}. Plan mode stays on: change the plan and present it again.",
                reason.trim_end_matches('.')
            )
        }
        PlanAnswer::Approved { mode, plan } => {
            presented.outcome = PlanOutcome::Approved;
            presented.mode = Some(mode);
            let changes = unified("plan.md", Some(&presented.plan), &plan).text;
            presented.plan = plan;
            approved(&presented, mode, &changes)
        }
    };
    ToolOutput::success(text, to_value(&presented))
}

fn approved(presented: &PresentedPlan, mode: PermissionMode, changes: &str) -> String {
    let path = presented.plan_path.as_ref();
    let file = path.map_or_else(String::new, |path| format!(" It is in `{path}`."));
    let start = format!(
        "The user approved the plan{}. Plan mode is off. Permission mode: `{}` ({}).{file}",
        if changes.is_empty() {
            ""
        } else {
            " with changes"
        },
        mode.name(),
        mode.meaning(),
    );
    if changes.is_empty() {
        return format!("{start} Carry it out.");
    }
    let plan = &presented.plan;
    format!(
        "{start} Carry out the changed plan.\n\nWhat the user changed:\n\n{changes}\nThe changed plan:\n\n{plan}"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::testing::{Bench, text};
    use crate::workspace::PlanMode;

    /// A session in which the user gives one answer.
    #[derive(Debug)]
    struct Scripted {
        on: bool,
        answer: PlanAnswer,
        path: Option<&'static str>,
        shown: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl PlanMode for Scripted {
        fn is_on(&self) -> bool {
            self.on
        }

        async fn present(
            &self,
            plan: &str,
            call_id: &str,
            _cancel: &CancellationToken,
        ) -> PlanDecision {
            self.shown
                .lock()
                .unwrap()
                .push(format!("{call_id}: {plan}"));
            PlanDecision {
                answer: self.answer.clone(),
                path: self.path.map(str::to_owned),
            }
        }
    }

    fn scripted(answer: PlanAnswer) -> Scripted {
        Scripted {
            on: true,
            answer,
            path: Some("/plans/a.md"),
            shown: Mutex::default(),
        }
    }

    /// The text for the model, the details, and what the user saw.
    async fn presented(mode: Scripted, plan: &str) -> (ToolOutput, Vec<String>) {
        let mode = Arc::new(mode);
        let bench = Bench::with(|workspace| workspace.with_plan_mode(Some(mode.clone())));
        let output = bench.run(PLAN_TOOL, json!({ "plan": plan })).await;
        let shown = std::mem::take(&mut *mode.shown.lock().unwrap());
        (output, shown)
    }

    #[tokio::test]
    async fn an_approved_plan_names_the_mode() {
        let answer = PlanAnswer::Approved {
            mode: PermissionMode::Ask,
            plan: "# Plan\n\n1. Test".to_owned(),
        };
        let (output, shown) = presented(scripted(answer), " # Plan\n\n1. Test\n").await;
        assert_eq!(
            text(&output),
            "The user approved the plan. Plan mode is off. Permission mode: `ask` (ask before changes). \
             It is in `/plans/a.md`. Carry it out."
        );
        assert_eq!(
            output.details,
            json!({"outcome": "approved", "plan": "# Plan\n\n1. Test", "planPath": "/plans/a.md", "mode": "ask"})
        );
        assert_eq!(shown, ["call: # Plan\n\n1. Test"]);
    }

    #[tokio::test]
    async fn an_edited_plan_comes_with_the_changes_of_the_user() {
        let answer = PlanAnswer::Approved {
            mode: PermissionMode::Yolo,
            plan: "# Plan\n1. Test\n2. Fix".to_owned(),
        };
        let mode = Scripted {
            path: None,
            ..scripted(answer)
        };
        let (output, _) = presented(mode, "# Plan\n1. Fix").await;
        assert_eq!(
            text(&output),
            "\
The user approved the plan with changes. Plan mode is off. Permission mode: `yolo` (run everything unless denied). \
Carry out the changed plan.

What the user changed:

--- a/plan.md
+++ b/plan.md
@@ -1,2 +1,3 @@
 # Plan
-1. Fix
\\ No newline at end of file
+1. Test
+2. Fix
\\ No newline at end of file

The changed plan:

# Plan
1. Test
2. Fix"
        );
        assert_eq!(
            output.details,
            json!({"outcome": "approved", "plan": "# Plan\n1. Test\n2. Fix", "mode": "yolo"})
        );
    }

    #[tokio::test]
    async fn without_an_approval_plan_mode_stays_on() {
        let reason = "test it first.".to_owned();
        let (output, _) = presented(scripted(PlanAnswer::Refused { reason }), "a").await;
        assert_eq!(
            text(&output),
            "The user wants to keep planning: test it first. Plan mode stays on: change the plan and present it again."
        );
        assert_eq!(output.details["outcome"], "refused");
        let (output, _) = presented(scripted(PlanAnswer::Unanswered), "a").await;
        assert_eq!(text(&output), UNANSWERED);
        assert_eq!(
            output.details,
            json!({"outcome": "unanswered", "plan": "a", "planPath": "/plans/a.md"})
        );
    }

    #[tokio::test]
    async fn outside_of_plan_mode_nothing_is_presented() {
        let off = Scripted {
            on: false,
            ..scripted(PlanAnswer::Unanswered)
        };
        let (output, shown) = presented(off, "a").await;
        assert_eq!((text(&output).as_str(), shown), (OUTSIDE, Vec::new()));
        let output = Bench::new().run(PLAN_TOOL, json!({"plan": "a"})).await;
        assert_eq!(text(&output), NOBODY);
    }

    #[tokio::test]
    async fn invalid_plans_are_refused_and_hidden_characters_shown() {
        for (plan, fault) in [
            (
                " \n".to_owned(),
                "`plan` is empty; write the plan in Markdown",
            ),
            (
                "x".repeat(PLAN_BYTES + 1),
                "the plan has 65537 bytes, and the limit is 65536; shorten it",
            ),
        ] {
            let (output, shown) = presented(scripted(PlanAnswer::Unanswered), &plan).await;
            assert_eq!(text(&output), format!("invalid arguments: {fault}"));
            assert_eq!(shown, [""; 0]);
        }
        let (_, shown) = presented(scripted(PlanAnswer::Unanswered), "a\x1b[2Jb").await;
        assert_eq!(shown, ["call: a^[[2Jb"]);
    }
}
