//! Reading cells: the result of `read` for a notebook.

use std::fmt::Write as _;
use std::fs::Metadata;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::parse::Notebook;
use super::render::render;
use crate::call::to_value;
use crate::files::ledger::{ContentHash, Stamp};
use crate::read::ReadDetails;
use crate::workspace::Workspace;
use osier_agent::{FileTarget, ToolOutput, ToolStatus};
use osier_llm::ContentBlock;

/// How the model can change what it sees.
const ADVICE: &str = "[`edit` changes the text of cells; with `cell_id` and `edit_mode` insert or delete it adds or removes a cell]";

/// The cells of the notebook `content` in a range of offset and limit; `None` if it is no notebook.
///
/// # Errors
/// The notebook has fewer cells: their number.
pub(crate) fn read(
    workspace: &Workspace,
    target: &FileTarget,
    metadata: &Metadata,
    content: &str,
    (offset, limit): (Option<u64>, Option<u64>),
) -> Option<Result<ToolOutput, u64>> {
    let notebook = Notebook::parse(content)?;
    let total = notebook.cells.len() as u64;
    let offset = offset.unwrap_or(1).max(1);
    if offset > total.max(1) {
        return Some(Err(total));
    }
    let limit = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let rendered = render(&notebook, offset as usize - 1, limit.max(1));
    let mut hash = ContentHash::default();
    hash.update(content.as_bytes());
    let stamp = Stamp::hashed(metadata, &hash);
    workspace
        .ledger
        .record(target, stamp, hash.text().as_deref());
    let next = offset + rendered.shown as u64;
    let mut text = rendered.text;
    if total == 0 {
        text.push_str("(no cells)\n");
    }
    if next <= total {
        let last = next - 1;
        let _ = writeln!(
            text,
            "[cells {offset}-{last} of {total}; continue with offset {next}]"
        );
    }
    text.push_str(ADVICE);
    let details = ReadDetails {
        file_path: target.named.display().to_string(),
        total_lines: total,
        lines_read: rendered.shown as u64,
        offset,
        truncated: next <= total,
        mime_type: None,
    };
    let mut content = vec![ContentBlock::text(text)];
    content.extend(
        rendered
            .images
            .into_iter()
            .map(|image| ContentBlock::Image {
                data: STANDARD.encode(&image.bytes),
                mime_type: image.mime_type.to_owned(),
            }),
    );
    Some(Ok(ToolOutput {
        content,
        details: to_value(&details),
        status: ToolStatus::Success,
    }))
}
