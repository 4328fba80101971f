//! `grep`: finds lines that match a regular expression like `rg --sort path --heading`, on all cores.
//! docs/tools.md lists the differences.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use osier_walk::{Override, OverrideBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::grep_file::{FileMatches, Line, Meaning, Pattern, search};
use super::listing::Listing;
use super::ordered_jobs::in_order;
use super::walk::{Problems, Root, entries, names_hidden, with_literal_brackets};
use crate::built_in::{
    BuiltIn, Count, GeminiForm, Part, PeerTool, ToolEffect, ToolView, Verbs, peer,
};
use crate::call::arguments;
use crate::call::spellings;
use crate::call::to_value;
use crate::files::target::{FileArgument, reason};
use crate::workspace::Workspace;
use osier_agent::{
    FileUse, OtherName, PreparedCall, Preparing, Refusal, Spellings, ToolContext, ToolOutput,
    ToolStatus, UpdateSink, prepare_typed,
};
use osier_base::text::counted;
use osier_llm::{ContentBlock, ToolSpec};

/// Default number of matches.
const DEFAULT_LIMIT: u64 = 100;
/// Maximum lines of context; for more, reading the file is better.
const MAX_CONTEXT: u64 = 50;

const FILE: FileArgument = FileArgument::new("path", FileUse::Search);

/// The name of the tool.
pub const GREP: &str = "grep";

pub(crate) const ROW: BuiltIn = BuiltIn {
    file: Some(FILE),
    spellings: &SPELLINGS,
    peers: &[
        PeerTool::claude(
            "Grep",
            &[
                peer::PATTERN,
                peer::PATH,
                ("glob", "glob"),
                ("-i", "ignore_case"),
                ("literal", "literal"),
                ("-C", "context"),
                ("head_limit", "limit"),
            ],
        ),
        PeerTool::pi(
            "grep",
            &[
                peer::PATTERN,
                peer::PATH,
                ("glob", "glob"),
                ("ignoreCase", "ignore_case"),
                ("literal", "literal"),
                ("context", "context"),
                peer::LIMIT,
            ],
        ),
        PeerTool::opencode("grep", &[peer::PATTERN, peer::PATH, ("include", "glob")]),
    ],
    gemini: Some(GeminiForm {
        name: "grep_search",
        arguments: &[("path", "dir_path"), ("glob", "include_pattern")],
    }),
    view: ToolView {
        counts: &[
            Count::new("matches", "match", "matches"),
            Count::new("files", "file", "files"),
        ],
        ..ToolView::new(
            Verbs::new("Searching", "Searched", "search").several("searched", "time"),
            &[
                Part::text("pattern"),
                Part::path(FILE.name).around(" in ", ""),
                Part::text("glob").around(" (", ")"),
            ],
        )
    },
    does: "finds lines that match a regular expression",
    ..BuiltIn::new(GREP, ToolEffect::Looks, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("rg"),
        OtherName::of("ripgrep"),
        OtherName::of("grep_search"),
        OtherName::of("grep_files"),
        OtherName::of("search_file_content"),
        OtherName::of("search_files"),
        OtherName::of("content_search"),
    ],
    arguments: &[
        (
            "pattern",
            &["query", "regex", "regexp", "search_pattern", "search"],
        ),
        ("path", spellings::FOLDER),
        (
            "glob",
            &["include", "include_pattern", "file_pattern", "includes"],
        ),
        ("ignore_case", &["-i", "case_insensitive", "insensitive"]),
        ("literal", &["-F", "fixed_strings", "fixed_string"]),
        ("context", &["-C", "context_lines"]),
        ("limit", &["head_limit", "max_results", "max_count", "-m"]),
    ],
    without_effect: &[
        "description",
        "explanation",
        "reason",
        "thought",
        "-n",
        "line_numbers",
    ],
    adapt: spellings::values::grep,
    ..Spellings::NONE
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
        freeform: None,
        name: GREP.to_owned(),
        description: "Search file contents for a regex. Skips ignored and hidden files unless path or glob names them.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string"},
                "glob": {"type": "string", "description": "e.g. *.{ts,tsx}"},
                "ignore_case": {"type": "boolean"},
                "literal": {"type": "boolean"},
                "context": {"type": "integer"},
                "limit": {"type": "integer"},
            },
            "required": ["pattern"],
        }),
    }
});

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct GrepDetails {
    pattern: String,
    /// Absolute path.
    path: String,
    /// Matches that are shown, without context lines.
    matches: u64,
    /// Files with matches.
    files: u64,
    /// There are more matches than shown.
    truncated: bool,
    /// Number of files and directories that could not be read.
    unreadable: u64,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    ignore_case: Option<bool>,
    literal: Option<bool>,
    #[serde(default, deserialize_with = "arguments::count")]
    context: Option<u64>,
    #[serde(default, deserialize_with = "arguments::count")]
    limit: Option<u64>,
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let meaning = Meaning {
            ignore_case: arguments.ignore_case.unwrap_or(false),
            literal: arguments.literal.unwrap_or(false),
        };
        if arguments.pattern.is_empty() {
            return Err(Refusal::invalid("the pattern is empty"));
        }
        let pattern = Pattern::new(&arguments.pattern, meaning).map_err(|error| {
            Refusal::Invalid(format!(
                "{error}\nEscape special characters, or set literal"
            ))
        })?;
        let target = workspace.target(FILE, arguments.path.as_deref()).await?;
        let root = target.clone();
        let search = move |cx: ToolContext| {
            let root = Root::find(&workspace, root)?;
            let plan = Plan::new(workspace, root, pattern, arguments)?;
            Ok(plan.execute(&cx.cancel, cx.updates))
        };
        Ok(PreparedCall::blocking("searching", search).on(vec![target]))
    })
}

/// A search with valid arguments.
struct Plan {
    workspace: Arc<Workspace>,
    given: String,
    pattern: Pattern,
    root: Root,
    overrides: Option<Override>,
    /// The glob names hidden files.
    hidden: bool,
    context: usize,
    limit: usize,
}

impl Plan {
    fn new(
        workspace: Arc<Workspace>,
        root: Root,
        pattern: Pattern,
        arguments: Arguments,
    ) -> Result<Self, Refusal> {
        let glob = arguments.glob.filter(|glob| !glob.is_empty());
        let overrides = match &glob {
            Some(glob) if !root.is_file => Some(overrides(&root, glob)?),
            _ => None,
        };
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Ok(Self {
            workspace,
            given: arguments.pattern,
            pattern,
            root,
            overrides,
            hidden: glob.is_some_and(|glob| names_hidden(&glob)),
            context: count(arguments.context.unwrap_or(0).min(MAX_CONTEXT)),
            limit: count(arguments.limit.unwrap_or(DEFAULT_LIMIT).max(1)),
        })
    }

    fn execute(&self, cancel: &CancellationToken, updates: UpdateSink) -> ToolOutput {
        let problems = Problems::default();
        // Only files with shown matches are checked. A file that the call names was checked before.
        let (may_show, mut hidden) = (self.workspace.read_filter(), 0);
        // Cancelled also when enough matches were found, so that no thread keeps searching.
        let stop = cancel.child_token();
        let mut results = Results {
            listing: Listing::new(updates),
            matches: 0,
            files: 0,
            more: false,
        };
        let files = || {
            let entries = entries(
                &self.root.path,
                self.overrides.clone(),
                self.hidden,
                &problems,
            );
            let files = entries.filter(|entry| entry.kind.is_file());
            let files = files.map(|entry| entry.path);
            let named = self.root.is_file.then(|| self.root.path.clone());
            let walked = (!self.root.is_file).then_some(files).into_iter().flatten();
            walked.chain(named).take_while(|_| !stop.is_cancelled())
        };
        let worker = || {
            let mut searcher = self.pattern.searcher(self.context);
            let (stop, problems) = (&stop, &problems);
            move |path: PathBuf| {
                let search = search(
                    &path,
                    &self.pattern,
                    &mut searcher,
                    self.limit,
                    self.root.is_file,
                    stop,
                );
                match search {
                    Ok(found) if found.matches > 0 => Some((path, found)),
                    Ok(_) => None,
                    Err(error) => {
                        problems.note(|| format!("`{}`: {}", self.name_of(&path), reason(&error)));
                        None
                    }
                }
            }
        };
        in_order(files, worker, |found| {
            if let Some(Some((path, found))) = found {
                if !self.root.is_file && !may_show(&self.root.real_of(&path)) {
                    hidden += 1;
                } else {
                    results.add(&self.name_of(&path), found, self);
                }
            }
            results.listing.show();
            let go_on = !results.is_full() && !cancel.is_cancelled();
            if !go_on {
                stop.cancel();
            }
            go_on
        });
        let mut output = self.output(results, &problems, cancel.is_cancelled());
        if hidden > 0 {
            let files = counted(hidden, "file", "files");
            let note = format!("[{files} with matches skipped by permission rules]\n");
            output.content.push(ContentBlock::text(note));
        }
        output
    }

    fn name_of(&self, path: &Path) -> String {
        self.workspace.display(&self.root.name_of(path))
    }

    fn output(&self, results: Results, problems: &Problems, aborted: bool) -> ToolOutput {
        let Results {
            listing,
            matches,
            files,
            more,
        } = results;
        let cut = listing.is_full();
        let mut notices = Vec::new();
        if aborted {
            notices.push(format!(
                "[interrupted after {}]",
                counted(matches, "match", "matches")
            ));
        } else if more || cut {
            notices.push(format!(
                "[stopped after {}; there are more: narrow the pattern, path or glob{}]",
                counted(matches, "match", "matches"),
                if cut { "" } else { ", or raise limit" }
            ));
        } else if matches == 0 {
            let hidden = if self.root.is_file {
                ""
            } else {
                "; ignored and hidden files were skipped"
            };
            notices.push(format!("no matches{hidden}"));
        }
        notices.extend(problems.notice());
        let details = GrepDetails {
            pattern: self.given.clone(),
            path: self.root.named().display().to_string(),
            matches: matches as u64,
            files: files as u64,
            truncated: more || cut || aborted,
            unreadable: problems.count() as u64,
        };
        let text = listing.end(&notices);
        ToolOutput {
            status: if aborted {
                ToolStatus::Aborted
            } else {
                ToolStatus::Success
            },
            ..ToolOutput::success(text, to_value(&details))
        }
    }
}

/// The files that a glob includes; a glob that starts with `!` excludes.
fn overrides(root: &Root, glob: &str) -> Result<Override, Refusal> {
    let mut builder = OverrideBuilder::new(&root.path);
    let mut add = |glob: &str| {
        let added = builder.add(glob).map(drop);
        added.map_err(|error| Refusal::Invalid(error.to_string()))
    };
    add(glob)?;
    // Brackets are also parts of names: `app/[id]/**`.
    if let Some(literal) = with_literal_brackets(glob) {
        add(&literal)?;
    }
    let built = builder.build();
    built.map_err(|error| Refusal::Invalid(error.to_string()))
}

/// The results so far, in order.
struct Results {
    listing: Listing,
    matches: usize,
    files: usize,
    /// There are more matches than the limit.
    more: bool,
}

impl Results {
    fn is_full(&self) -> bool {
        self.more || self.listing.is_full()
    }

    fn add(&mut self, name: &str, mut found: FileMatches, plan: &Plan) {
        let room = plan.limit - self.matches;
        if room == 0 {
            self.more = true;
            return;
        }
        if found.matches > room {
            shorten(&mut found, room, plan.context);
        }
        self.more |= found.more;
        self.files += 1;
        let mut text = String::new();
        if self.files > 1 {
            text.push('\n');
        }
        let _ = writeln!(text, "{name}");
        self.listing.push(&text);
        for line in &found.lines {
            let text = match line {
                Line::Match(number, text) | Line::Further(number, text) => {
                    format!("{number}:{text}\n")
                }
                Line::Context(number, text) => format!("{number}-{text}\n"),
                Line::Gap => "--\n".to_owned(),
            };
            if !self.listing.push(&text) {
                return;
            }
            self.matches += usize::from(matches!(line, Line::Match(..)));
        }
        if found.binary {
            self.listing.push(if plan.root.is_file {
                "[a binary file; NUL bytes count as line ends]\n"
            } else {
                "[binary data from here on; the rest was not searched]\n"
            });
        }
    }
}

/// Shortens to the first `room` matches, with the context after the last.
fn shorten(found: &mut FileMatches, room: usize, context: usize) {
    let matches = found.lines.iter().enumerate();
    let mut matches = matches.filter(|(_, line)| matches!(line, Line::Match(..)));
    let Some((next, _)) = matches.nth(room) else {
        return;
    };
    let is_context = |line: &Line| matches!(line, Line::Context(..) | Line::Gap);
    let before = &found.lines[..next];
    let last = before
        .iter()
        .rposition(|line| !is_context(line))
        .unwrap_or(0);
    let after = before[last + 1..].iter();
    let after = after
        .take(context)
        .take_while(|line| matches!(line, Line::Context(..)));
    let end = last + 1 + after.count();
    found.lines.truncate(end);
    found.matches = room;
    found.more = true;
}

#[cfg(test)]
mod tests;
