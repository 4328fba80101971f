//! A workspace in a temporary directory, and calls of its tools.

#![cfg_attr(fuzzing, allow(dead_code))]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests and fuzz targets use it"
)]

use std::fmt::Write as _;
use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::build;
use crate::files::target::NamedFile;
use crate::workspace::Workspace;
use osier_agent::{FileTarget, FileUse, Tool, ToolContext, ToolOutput, UpdateSink};
use osier_base::atomic_file::{Options, write_with};

pub(super) struct Bench {
    pub(super) workspace: Arc<Workspace>,
    dir: TempDir,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(|workspace| workspace)
    }

    /// A bench with a customised workspace.
    pub(super) fn with(set_up: impl FnOnce(Workspace) -> Workspace) -> Self {
        let dir = TempDir::new().unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        Self {
            workspace: Arc::new(set_up(Workspace::new(cwd))),
            dir,
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file without the tools.
    pub(super) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let parents = Options {
            parents: true,
            ..Options::default()
        };
        write_with(&self.path(name), bytes.as_ref(), parents).unwrap();
    }

    /// The file that a call of `edit` would use.
    pub(super) fn target(&self, name: &str) -> FileTarget {
        self.workspace.resolve(&NamedFile::new(name, FileUse::Edit))
    }

    pub(super) fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(super) async fn run(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.run_with(
            tool,
            arguments,
            &CancellationToken::new(),
            UpdateSink::discard(),
        )
        .await
    }

    pub(super) async fn run_with(
        &self,
        tool: &str,
        arguments: Value,
        cancel: &CancellationToken,
        updates: UpdateSink,
    ) -> ToolOutput {
        let tools = build(&self.workspace, Some(&[tool.to_owned()])).unwrap();
        let cx = ToolContext {
            call_id: "call".to_owned(),
            cancel: cancel.clone(),
            updates,
        };
        run_tool(&tools[0], arguments, cx).await
    }
}

pub(super) async fn run_tool(
    tool: &Arc<dyn Tool>,
    arguments: Value,
    cx: ToolContext,
) -> ToolOutput {
    match Arc::clone(tool).prepare(arguments).await {
        Ok(mut call) => call.run(cx).await,
        Err(refusal) => refusal.into(),
    }
}

/// The numbers of `range`, one per line.
pub(super) fn numbered(range: RangeInclusive<usize>) -> String {
    let mut text = String::new();
    for number in range {
        let _ = writeln!(text, "{number}");
    }
    text
}

/// `old` with the unified `diff` applied to it, as `patch` would.
pub(super) fn patched(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let mut done = 0;
    let mut new = String::new();
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(line) = lines.next() {
        if let Some(header) = line.strip_prefix("@@ -") {
            let (span, _) = header.split_once(' ').unwrap();
            let (start, count) = span.split_once(',').unwrap_or((span, "1"));
            let start: usize = start.parse().unwrap();
            let start = if count == "0" { start } else { start - 1 };
            new.extend(old[done..start].iter().copied());
            done = start;
            continue;
        }
        // The line before has no newline.
        let bare = lines.next_if(|next| next.starts_with('\\')).is_some();
        let (mark, text) = line.split_at(1);
        let text = if bare {
            text.strip_suffix('\n').unwrap()
        } else {
            text
        };
        if mark != "+" {
            assert_eq!(old[done], text);
            done += 1;
        }
        if mark != "-" {
            new.push_str(text);
        }
    }
    new.extend(old[done..].iter().copied());
    new
}

/// The text for the model.
pub(super) fn text(output: &ToolOutput) -> String {
    output
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect()
}

/// An image of one colour.
pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    let picture = image::RgbImage::from_pixel(width, height, image::Rgb([9, 99, 199]));
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}
