//! `osier sessions check`: what is damaged. Changes nothing.

use tokio_util::sync::CancellationToken;

use super::{Answer, Desk};
use crate::cli::exit::Exit;
use osier_index::check;

#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::cli) struct Options {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: Options, desk: &mut Desk<'_>) -> Answer {
    let mut findings = Vec::new();
    let cancel = CancellationToken::new();
    let files = check(&desk.library, &cancel, &mut |finding| {
        findings.push(finding);
    })?;
    for finding in &findings {
        if options.json {
            desk.json(finding)?;
        } else {
            let path = finding.path.display();
            desk.line(&format!("{path}: {}; {}", finding.what, finding.hint))?;
        }
    }
    if !options.json {
        let verdict = match findings.len() {
            0 => format!("{files} sessions, nothing is damaged"),
            found => format!("{files} sessions, {found} findings"),
        };
        desk.line(&verdict)?;
    }
    Ok(if findings.is_empty() {
        Exit::Success
    } else {
        Exit::Failure
    })
}
