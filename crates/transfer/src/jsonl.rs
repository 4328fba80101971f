//! Exports the session file itself, so that another osier can continue it: all lines unchanged, except for
//! removed keys. The copy is verified.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use super::error::TransferError;
use super::options::ExportOptions;
use super::plan::Plan;
use osier_base::redact::redact;
use osier_protocol::{Entry, EntryKind, ExportScope, ExportSummary, Tag};
use osier_store::Reading;

/// Members that are not text: base64 data, and data that only a vendor can read.
const OPAQUE: &[&str] = &["signature", "preview"];
/// The type of the entry with the log.
const LOG: &str = "osier_log";

pub(super) fn write(
    reading: &Reading,
    scope: ExportScope,
    options: &ExportOptions,
    out: &mut dyn Write,
    place: &Path,
) -> Result<ExportSummary, TransferError> {
    if reading.count() == 0 {
        return Err(TransferError::Empty);
    }
    let mut lines = Lines {
        out,
        place,
        summary: ExportSummary {
            branches: Plan::new(reading, scope).chains().len(),
            ..ExportSummary::default()
        },
    };
    lines.put(&serde_json::to_vec(reading.header())?)?;
    let leaf = match scope {
        ExportScope::Tree => {
            for number in 0..reading.count() {
                lines.copy(reading, number)?;
            }
            reading.leaf().map(|leaf| reading.id(leaf))
        }
        ExportScope::Branch => lines.branch(reading)?,
    };
    if let Some(log) = &options.log {
        let entry = EntryKind::Custom {
            custom_type: LOG.to_owned(),
            data: serde_json::to_value(log)?,
        };
        lines.entry(&Entry::new(leaf, entry))?;
    }
    Ok(lines.summary)
}

struct Lines<'a> {
    out: &'a mut dyn Write,
    place: &'a Path,
    summary: ExportSummary,
}

impl Lines<'_> {
    /// An entry as it is in the file, or as it was parsed if the line cannot be copied.
    fn copy(&mut self, reading: &Reading, number: u32) -> Result<(), TransferError> {
        let Some(entry) = reading.entry(number) else {
            self.summary.unreadable += 1;
            return Ok(());
        };
        if let EntryKind::Leaf {
            target_id: Some(target),
            ..
        } = &entry.kind
            && reading.number(target).is_none()
        {
            // The entry selects an entry that is lost.
            return Ok(());
        }
        match reading.line(number) {
            Some(line) => {
                self.summary.entries += 1;
                self.put(&line)
            }
            None => self.entry(&entry),
        }
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), TransferError> {
        self.summary.entries += 1;
        self.put(&serde_json::to_vec(entry)?)
    }

    /// The current branch as a separate session. The labels of its entries move to the end of the file; a
    /// reference to a label becomes a reference to the next copied entry. Returns the last entry.
    fn branch(&mut self, reading: &Reading) -> Result<Option<String>, TransferError> {
        let path = reading.path(reading.leaf());
        let kept = |number: &u32| !matches!(reading.tag(*number), Tag::Label | Tag::Hide);
        let moved = moved(reading, &path, kept);
        let mut last: Option<String> = None;
        for number in path.iter().copied().filter(kept) {
            let Some(mut entry) = reading.entry(number) else {
                self.summary.unreadable += 1;
                continue;
            };
            let refers = match &mut entry.kind {
                EntryKind::Compaction {
                    first_kept_entry_id: id,
                    ..
                } => moved.get(id.as_str()).inspect(|next| id.clone_from(next)),
                _ => None,
            };
            if entry.parent_id == last && refers.is_none() {
                self.copy(reading, number)?;
            } else {
                entry.parent_id = last;
                self.entry(&entry)?;
            }
            last = Some(entry.id);
        }
        let named = path.iter().copied().filter(kept);
        let labels = named.filter_map(|number| reading.label_entry(number));
        let name = reading.name_entry().filter(|entry| {
            let on_path = |number: &u32| reading.id(*number) == entry.id;
            !path.iter().any(on_path)
        });
        let extra: Vec<Entry> = labels.chain(name).collect();
        for mut entry in extra {
            entry.parent_id = last;
            self.entry(&entry)?;
            last = Some(entry.id);
        }
        Ok(last)
    }

    fn put(&mut self, line: &[u8]) -> Result<(), TransferError> {
        let clean = without_keys(line)?;
        self.out
            .write_all(clean.as_deref().unwrap_or(line))
            .and_then(|()| self.out.write_all(b"\n"))
            .map_err(|error| TransferError::io("write", self.place, error))
    }
}

/// Maps the ids of omitted entries to the next copied one.
fn moved(reading: &Reading, path: &[u32], kept: impl Fn(&u32) -> bool) -> HashMap<String, String> {
    let mut moved = HashMap::new();
    let mut next: Option<String> = None;
    for number in path.iter().rev() {
        if kept(number) {
            next = Some(reading.id(*number));
        } else if let Some(next) = &next {
            moved.insert(reading.id(*number), next.clone());
        }
    }
    moved
}

/// The line without keys; `None` when there is nothing to remove.
fn without_keys(line: &[u8]) -> Result<Option<Vec<u8>>, TransferError> {
    let Ok(text) = std::str::from_utf8(line) else {
        return Ok(None);
    };
    if matches!(redact(text), std::borrow::Cow::Borrowed(_)) {
        return Ok(None);
    }
    let mut value: Value = serde_json::from_str(text)?;
    clean(&mut value);
    Ok(Some(serde_json::to_vec(&value)?))
}

/// Removes keys from all texts of `value`. The parser limits the depth.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(cleaned) = redact(text) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(members) => {
            let bytes = members.contains_key("mimeType");
            for (name, member) in members {
                let opaque = OPAQUE.contains(&name.as_str())
                    || (bytes && matches!(name.as_str(), "data" | "content") && member.is_string());
                if !opaque {
                    clean(member);
                }
            }
        }
        _ => {}
    }
}

/// Verifies the copy at `written`: the number of entries, and that each is complete.
pub(super) fn verify(
    written: &Path,
    place: &Path,
    summary: ExportSummary,
) -> Result<(), TransferError> {
    let copy = Reading::open(written)?;
    let findings = copy.findings();
    let damaged = findings.damaged + findings.reattached;
    let whole = (0..copy.count()).all(|number| copy.entry(number).is_some());
    let found = copy.count() as usize;
    if found == summary.entries && damaged == 0 && findings.torn_bytes == 0 && whole {
        return Ok(());
    }
    Err(TransferError::Unfaithful {
        path: place.to_owned(),
        what: format!("{found} of {} entries, {damaged} damaged", summary.entries),
    })
}
