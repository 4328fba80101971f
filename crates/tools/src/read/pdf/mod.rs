//! The text of PDF files. A file can be built to need any amount of memory and time, or to crash the library that reads it,
//! so another process of osier reads it (`helper`), which has limits.

pub mod helper;

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;
use tokio::runtime::Handle;

pub(crate) use self::helper::LIMIT;
use self::helper::{DOCUMENT, TEXT};
use crate::workspace::Workspace;
use osier_base::process::{Invocation, QuietError, run_bounded};

/// Pages of one call, at most.
pub(crate) const PAGES: usize = 100;
/// Time for one call.
const TIME: Duration = Duration::from_secs(30);
/// Bytes of the answer of the helper at most.
const ANSWER: usize = 4 * TEXT + DOCUMENT * 3 / 2;

/// Pages of a PDF.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PdfPages {
    pub total: usize,
    /// The first page, from 1, and the texts from it on.
    pub first: usize,
    pub texts: Vec<String>,
    /// The pages as a PDF in base64, if a page has no text.
    pub document: Option<String>,
    /// Why the pages after these are missing.
    pub problem: Option<String>,
}

/// Why a PDF cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum PdfError {
    #[error("has more than {} MB, the limit for PDF files", LIMIT / 1024 / 1024)]
    Large,
    #[error("needs more than {} seconds to read; it may be damaged or built to do harm", TIME.as_secs())]
    Late,
    #[error("cannot be read as PDF: {0}")]
    Invalid(String),
    #[error("has {total} pages, so there is no page {first}")]
    NoPage { first: usize, total: usize },
    #[error("cannot be read: {0}")]
    Helper(String),
}

/// A line of the helper.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Total { total: usize },
    Page { text: String },
    Document { document: String },
    Problem { problem: String },
}

/// Whether a file begins as a PDF does.
pub(crate) fn is_pdf(start: &[u8]) -> bool {
    start.starts_with(b"%PDF-")
}

/// Reads at most `count` pages from `first` on, counted from 1. Blocks; must run on a blocking thread of a runtime.
pub(crate) fn pages(
    workspace: &Workspace,
    bytes: &[u8],
    first: usize,
    count: usize,
) -> Result<PdfPages, PdfError> {
    Handle::current().block_on(read(workspace, bytes, first, count))
}

/// Reads pages of a PDF, without blocking.
pub(crate) async fn read(
    workspace: &Workspace,
    bytes: &[u8],
    first: usize,
    count: usize,
) -> Result<PdfPages, PdfError> {
    if bytes.len() as u64 > LIMIT {
        return Err(PdfError::Large);
    }
    let program = workspace.confinement().program();
    let program = program.ok_or_else(|| PdfError::Helper("osier's own path is unknown".into()))?;
    let (from, most) = (first.to_string(), count.min(PAGES).to_string());
    let invocation = Invocation::new(program, [helper::NAME, &from, &most]);
    let output = run_bounded(&invocation, Some(bytes), ANSWER, TIME).await;
    let output = output.map_err(|error| match error {
        QuietError::Timeout { .. } => PdfError::Late,
        error => PdfError::Helper(error.to_string()),
    })?;
    let mut pages = PdfPages {
        first,
        ..PdfPages::default()
    };
    let mut is_counted = false;
    for line in output.stdout.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::Total { total }) => {
                pages.total = total;
                is_counted = true;
            }
            Ok(Line::Page { text }) => pages.texts.push(text),
            Ok(Line::Document { document }) => pages.document = Some(document),
            Ok(Line::Problem { problem }) => pages.problem = Some(problem),
            Err(_) => {}
        }
    }
    if !is_counted {
        let crash =
            "reading it needed too much memory or failed; it may be damaged or built to do harm";
        let problem = pages.problem.unwrap_or_else(|| crash.to_owned());
        return Err(PdfError::Invalid(problem));
    }
    if first > pages.total.max(1) {
        let total = pages.total;
        return Err(PdfError::NoPage { first, total });
    }
    if !output.exit.is_success() && pages.problem.is_none() {
        pages.problem = Some("the next page needs too much memory or time".to_owned());
    }
    Ok(pages)
}

impl PdfPages {
    /// The texts of the pages for a model.
    pub(crate) fn texts_for_model(&self) -> String {
        let mut text = String::new();
        for (number, page) in (self.first..).zip(&self.texts) {
            let page = match page.trim() {
                "" if self.document.is_some() => {
                    "(no text: a model that accepts PDF files sees the page)"
                }
                "" => "(no text: the page may be an image)",
                page => page,
            };
            let _ = writeln!(text, "<page number=\"{number}\">\n{page}\n</page>");
        }
        text
    }

    /// The texts for the model with advice how to continue, and whether more pages follow.
    pub(crate) fn for_model(&self) -> (String, bool) {
        let mut text = self.texts_for_model();
        let next = self.first + self.texts.len();
        let more = next <= self.total;
        if let Some(problem) = &self.problem {
            let _ = writeln!(
                text,
                "[page {next} cannot be read: {problem}; continue with offset {}]",
                next + 1
            );
        } else if more {
            let (first, last, total) = (self.first, next - 1, self.total);
            let _ = writeln!(
                text,
                "[pages {first}-{last} of {total}; continue with offset {next}]"
            );
        }
        (text, more)
    }
}
