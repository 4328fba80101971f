//! Embeds an agent in a program: sends a prompt and prints the answer while it streams.
//!
//!     cargo run --example embed -- script/FILE "What does this project do?"

use std::error::Error;
use std::sync::Arc;

use osier_agent::RunOutcome;
use osier_base::folders::Folders;
use osier_llm::Delta;
use osier_protocol::{Event, Op};
use osier_session::{SessionHandle, SessionSetup};
use osier_settings::Settings;

/// Runs one prompt in a new session and passes the deltas of the answer to `print`.
pub(crate) async fn ask(
    setup: SessionSetup,
    prompt: &str,
    mut print: impl FnMut(&str),
) -> Result<RunOutcome, Box<dyn Error>> {
    let (session, mut events) = SessionHandle::start(setup)?;
    let (text, attachments) = (prompt.to_owned(), Vec::new());
    session.send(
        osier_agent::Op::Prompt {
            text,
            attachments,
            typed: None,
            once: None,
        }
        .into(),
    );
    let outcome = loop {
        match events.recv().await.ok_or("the agent exited")? {
            Event::SessionFailed { message, .. } => return Err(message.into()),
            Event::Agent(osier_agent::Event::MessageUpdate {
                delta: Delta::TextDelta { delta, .. },
                ..
            }) => print(&delta),
            Event::Agent(osier_agent::Event::AgentSettled { outcome }) => break outcome,
            _ => {}
        }
    };
    // The session is stored when the shutdown is complete.
    session.send(Op::ShutDown);
    while events
        .recv()
        .await
        .is_some_and(|event| event != Event::ShutDown)
    {}
    Ok(outcome)
}

#[cfg_attr(test, expect(dead_code, reason = "the test calls `ask`"))]
#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "this program prints the answer")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().ok_or("missing argument: MODEL")?;
    let prompt = arguments.next().ok_or("missing argument: PROMPT")?;
    let (folders, cwd) = (Folders::find(None)?, std::env::current_dir()?);
    let setup = SessionSetup {
        settings: Settings::load_for(&folders, &cwd).0,
        environment: Arc::new(std::env::vars().collect()),
        model: Some(model),
        ..SessionSetup::new(folders, cwd)
    };
    let outcome = ask(setup, &prompt, |delta| print!("{delta}")).await?;
    println!();
    outcome.error().map_or(Ok(()), |error| Err(error.into()))
}
