//! `osier rewind`: moves a stored session to another entry, and restores the files of that point.

use std::io::Write;

use clap::Args;

use crate::cli::exit::Exit;
use osier_agent::{Severity, Subscription};
use osier_base::text::{self, counted};
use osier_protocol::{CheckpointEvent, CheckpointOp, Event, FilesAt, Op, TreeEvent, TreeOp};
use osier_session::{SessionChoice, SessionHandle, SessionSetup};

#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct RewindArgs {
    /// Move the session with this id, id prefix, name or file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// Continue after this entry; for a prompt, before it. `osier tree` lists the entries
    #[arg(value_name = "ENTRY")]
    pub entry: String,

    /// Restore the files, too; files changed by hand stay
    #[arg(long)]
    pub files: bool,
}

/// Moves the session. Prints where it continues, and the files.
///
/// # Errors
/// The session or the entry does not exist, or another process has the session open.
pub(in crate::cli) async fn run(
    args: &RewindArgs,
    setup: SessionSetup,
    out: &mut dyn Write,
) -> Result<Exit, String> {
    let setup = SessionSetup {
        session: SessionChoice::Resume(args.session.clone()),
        may_demo: true,
        ..setup
    };
    let (session, mut events) = SessionHandle::start(setup).map_err(|error| error.to_string())?;
    let done = rewind(args, &session, &mut events, out).await;
    session.send(Op::ShutDown);
    while let Some(event) = events.recv().await {
        if event == Event::ShutDown {
            break;
        }
    }
    done.map(|()| Exit::Success)
}

async fn rewind(
    args: &RewindArgs,
    session: &SessionHandle,
    events: &mut Subscription<Event>,
    out: &mut dyn Write,
) -> Result<(), String> {
    loop {
        match events.recv().await {
            Some(Event::SessionOpened { .. }) => break,
            Some(Event::SessionFailed { message, .. }) => return Err(message),
            Some(_) => {}
            None => return Err("the session has ended".to_owned()),
        }
    }
    let op = TreeOp::MoveTo {
        entry_id: Some(args.entry.clone()),
        last_prompt: false,
        summarize: false,
        instructions: None,
    };
    let moved = answers(session, events, op.into()).await?;
    for event in moved {
        if let Event::Tree(TreeEvent::Moved { prompt, leaf, .. }) = event {
            let line = match (prompt, leaf) {
                (Some(prompt), _) => {
                    let prompt = text::single_line(&prompt.text);
                    format!(
                        "continues before the prompt: {}",
                        text::truncate(&prompt, 100)
                    )
                }
                (None, Some(leaf)) => format!("continues after {leaf}"),
                (None, None) => "continues at the start".to_owned(),
            };
            writeln!(out, "{line}").map_err(|error| error.to_string())?;
        }
    }
    if !args.files {
        return Ok(());
    }
    let op = CheckpointOp::RestoreFiles {
        at: FilesAt::Here,
        by_hand: false,
    };
    for event in answers(session, events, Op::Checkpoint(op)).await? {
        if let Event::Checkpoint(CheckpointEvent::FilesRestored { changes, left }) = event {
            let mut lines = vec![format!(
                "restored {}",
                counted(changes.len(), "file", "files")
            )];
            lines.extend(
                left.iter()
                    .map(|left| format!("not restored: {}: {}", left.path, left.reason)),
            );
            writeln!(out, "{}", lines.join("\n")).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// The events of a request, up to its end.
async fn answers(
    session: &SessionHandle,
    events: &mut Subscription<Event>,
    op: Op,
) -> Result<Vec<Event>, String> {
    let number = session.next_request();
    session.ask(number, op);
    let mut answers = Vec::new();
    while let Some(event) = events.recv().await {
        match event {
            Event::OpEnded { request, .. } if request == number => return Ok(answers),
            Event::Notice {
                severity: Severity::Warning | Severity::Error,
                text,
                request: Some(request),
            } if request == number => return Err(text),
            event => answers.push(event),
        }
    }
    Err("the session has ended".to_owned())
}
