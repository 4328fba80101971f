//! `osier __pdf FIRST COUNT`: reads a PDF from standard input and writes the text of pages as JSON lines. Memory and
//! processor time are limited. If a page ends the process, the pages that were written before count.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use osier_base::process::limit_own;
use osier_base::terminal_output;
use osier_base::text::{head_bytes, sanitize};
use pdf_extract::{Document, PlainTextOutput, output_doc_page};
use serde_json::json;

/// The name of the hidden subcommand.
pub const NAME: &str = "__pdf";

/// Bytes of a file at most.
pub(crate) const LIMIT: u64 = 32 * 1024 * 1024;
/// Bytes of the text of all pages at most.
pub(super) const TEXT: usize = 100 * 1024;
/// Bytes, and number, of the pages without text that are passed on as a PDF, at most.
pub(super) const DOCUMENT: usize = 8 * 1024 * 1024;
const SHOWN: usize = 20;
/// Bytes of address space, and seconds of processor time.
const MEMORY: u64 = 768 * 1024 * 1024;
const SECONDS: u64 = 20;
/// The stack: the library is recursive.
const STACK: usize = 64 * 1024 * 1024;

/// Runs the helper if `arguments` select it.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != NAME {
        return None;
    }
    let mut number = || arguments.next()?.to_str()?.parse().ok();
    let (first, count) = (number().unwrap_or(1), number().unwrap_or(1));
    limit_own(MEMORY, SECONDS);
    // A panic is an answer, not a message.
    panic::set_hook(Box::new(|_| {}));
    let work = std::thread::Builder::new().stack_size(STACK);
    let work = work.spawn(move || extract(first, count));
    let ended = work.map(std::thread::JoinHandle::join);
    Some(match ended {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        Ok(Ok(Err(problem))) => {
            write(&json!({ "problem": problem }));
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    })
}

fn extract(first: u32, count: u32) -> Result<(), String> {
    let mut bytes = Vec::new();
    let input = std::io::stdin().lock();
    let read = input.take(LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    let parse = || Document::load_mem(&bytes);
    let loaded = panic::catch_unwind(AssertUnwindSafe(parse));
    let loaded = loaded.map_err(|_| "its structure is damaged".to_owned())?;
    let mut document = loaded.map_err(|error| short(&error.to_string()))?;
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err("it is protected by a password".to_owned());
    }
    let total = document.get_pages().len();
    write(&json!({ "total": total }));
    let mut written = 0;
    let mut end = first;
    let mut is_blank = false;
    for page in (first..).take(count as usize) {
        if page as usize > total || written >= TEXT {
            break;
        }
        let text = text_of(&document, page)?;
        let text = sanitize(&text).into_owned();
        let text = head_bytes(&text, TEXT);
        written += text.len();
        if written > TEXT && written > text.len() {
            break;
        }
        write(&json!({ "text": text }));
        end = page + 1;
        is_blank |= text.trim().is_empty();
    }
    if is_blank && (end - first) as usize <= SHOWN {
        let cut = move || only(document, first..end);
        if let Ok(Some(pages)) = panic::catch_unwind(AssertUnwindSafe(cut)) {
            write(&json!({ "document": STANDARD.encode(pages) }));
        }
    }
    Ok(())
}

/// A document with these pages, if it is small enough.
fn only(mut document: Document, pages: Range<u32>) -> Option<Vec<u8>> {
    let numbers = document.get_pages().into_keys();
    let others: Vec<u32> = numbers.filter(|page| !pages.contains(page)).collect();
    document.delete_pages(&others);
    document.prune_objects();
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).ok()?;
    (bytes.len() <= DOCUMENT).then_some(bytes)
}

fn text_of(document: &Document, page: u32) -> Result<String, String> {
    let extract = || {
        let mut text = String::new();
        let mut output = PlainTextOutput::new(&mut text);
        let outcome = output_doc_page(document, &mut output, page);
        outcome
            .map(|()| text)
            .map_err(|error| short(&error.to_string()))
    };
    let extracted = panic::catch_unwind(AssertUnwindSafe(extract));
    extracted.unwrap_or_else(|_| Err("its content is damaged".to_owned()))
}

fn short(error: &str) -> String {
    head_bytes(&osier_base::text::single_line(error), 200).to_owned()
}

/// Writes a line. A parent that does not read any more has ended the call.
fn write(line: &serde_json::Value) {
    let mut stdout = terminal_output::stdout();
    let _ = writeln!(stdout, "{line}");
    let _ = stdout.flush();
}
