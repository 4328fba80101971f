//! Instructions, skills and prompt templates in a complete session.

use std::path::Path;

use osier_llm::Script;
use osier_protocol::{Event, Op, PartKind};
use osier_session::SessionChoice;

use crate::support::session::{OpenSession, TestProject};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    osier_base::atomic_file::write(path, text.as_bytes()).unwrap();
}

fn place() -> TestProject {
    let place = TestProject::new();
    let work = place.work();
    write(&place.data().join("AGENTS.md"), "Answer in rhyme.");
    write(&work.join("AGENTS.md"), "Use tabs.");
    write(
        &work.join(".osier/prompts/review.md"),
        "---\ndescription: review a file\nargument-hint: FILE\n---\nReview $1.",
    );
    write(
        &work.join(".agents/skills/pdf/SKILL.md"),
        "---\nname: pdf\ndescription: reads PDF files\n---\nUse pdftotext.",
    );
    place
}

fn prompts(open: &OpenSession) -> Vec<String> {
    let requests = open.provider.requests();
    let prompts = requests
        .iter()
        .map(|request| request.context.system_prompt.clone());
    prompts.collect()
}

#[tokio::test]
async fn first_prompt_has_the_project_context_and_the_prefix_is_stable() {
    let place = place();
    let mut open = place.open(SessionChoice::New, Script::always("ok")).await;
    open.run("one").await;
    open.run("two").await;
    let before = prompts(&open);
    let prompt = &before[0];
    let (global, near) = (prompt.find("Answer in rhyme."), prompt.find("Use tabs."));
    assert!(global.is_some() && global < near, "{prompt}");
    assert!(prompt.contains("- pdf: reads PDF files ("), "{prompt}");
    assert!(!prompt.contains("pdftotext"), "{prompt}");
    assert_eq!(before[0], before[1]);

    write(&place.work().join("AGENTS.md"), "Use spaces.");
    open.run("three").await;
    assert_eq!(prompts(&open)[2], before[0]);
    open.host.send(Op::Reload);
    open.run("four").await;
    let now = prompts(&open)[3].clone();
    assert_eq!(now, prompt.replace("Use tabs.", "Use spaces."));
    // A session that is opened later knows it too.
    open.host.send(Op::NewSession);
    open.opened().await;
    open.run("five").await;
    assert_eq!(prompts(&open)[4], now);
    open.close().await;
}

#[tokio::test]
async fn templates_and_skills_are_expanded_when_sent() {
    let place = place();
    let mut open = place.open(SessionChoice::New, Script::always("ok")).await;
    open.run("/review src/main.rs").await;
    assert_eq!(
        open.last_request().last().unwrap(),
        "user: Review src/main.rs."
    );
    open.run("/pdf page 3").await;
    let path = place.work().join(".agents/skills/pdf/SKILL.md");
    let expected = format!(
        "user: page 3\n\nFollow the skill `pdf` for this.\n\n\
         <skill name=\"pdf\" path=\"{}\">\nUse pdftotext.\n</skill>",
        path.display()
    );
    assert_eq!(open.last_request().last().unwrap(), &expected);
    open.run("/nothing of ours").await;
    assert_eq!(
        open.last_request().last().unwrap(),
        "user: /nothing of ours"
    );
    open.close().await;
}

#[tokio::test]
async fn context_lists_tokens_of_every_part_and_reports_problems() {
    let place = place();
    write(
        &place.work().join(".agents/skills/mute/SKILL.md"),
        "---\nname: mute\n---\n",
    );
    let mut open = place.open(SessionChoice::New, Script::always("ok")).await;
    let told = open
        .until(|event| matches!(event, Event::Notice { .. }))
        .await;
    let Some(Event::Notice { text, .. }) = told.last() else {
        panic!("nothing was told");
    };
    assert!(
        text.contains("mute/SKILL.md:1: the skill has no description"),
        "{text}"
    );
    open.host.send(Op::ListContext);
    let seen = open
        .until(|event| matches!(event, Event::ContextParts { .. }))
        .await;
    let Some(Event::ContextParts { parts }) = seen.last() else {
        panic!("nothing was listed");
    };
    let listed: Vec<(PartKind, &str, bool)> = parts
        .iter()
        .map(|part| (part.kind, part.name.as_str(), part.tokens > 0))
        .collect();
    assert_eq!(
        listed,
        [
            (PartKind::File, "AGENTS.md", true),
            (PartKind::File, "AGENTS.md", true),
            (PartKind::Skill, "pdf", true),
            (PartKind::Template, "review", false),
        ]
    );
    open.close().await;
}

#[tokio::test]
async fn instructions_of_the_context_flag_are_added() {
    let place = place();
    let notes = place.work().join("notes.md");
    write(&notes, "Mind the gap.");
    let mut open = place
        .open_with(SessionChoice::Unstored, Script::always("ok"), |setup| {
            setup.context = vec![notes.clone()];
        })
        .await;
    open.run("one").await;
    assert!(prompts(&open)[0].contains("Mind the gap."));
    open.close().await;
}
