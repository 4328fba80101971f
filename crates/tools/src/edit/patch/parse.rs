//! Parses patches in the format that GPT models are trained with: sections of files between `*** Begin Patch` and
//! `*** End Patch`, with hunks that name lines instead of line numbers.

use thiserror::Error;

/// Bytes of a patch. A model writes far less; the limit bounds the work.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum number of files of a patch, because each is checked and the user is asked about it.
const MAX_FILES: usize = 100;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const UPDATE: &str = "*** Update File:";
const DELETE: &str = "*** Delete File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// The sections of a patch, in order. Every path occurs once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) sections: Vec<Section>,
    /// Deviations from the format, for the model.
    pub(super) notes: Vec<&'static str>,
}

/// The part of a patch that changes one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// As the patch names it.
    pub(super) path: String,
    pub(super) action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Creates the file with this content.
    Add(String),
    Delete,
    Update {
        /// The new path.
        moved_to: Option<String>,
        /// May be empty when the file is moved.
        hunks: Vec<Hunk>,
    },
}

/// Lines that are replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines above the hunk, such as the line of a class and the line of its method: hints where the hunk is.
    pub(super) headers: Vec<String>,
    /// The unchanged lines, with the removed and with the added ones.
    pub(super) old: Vec<String>,
    pub(super) new: Vec<String>,
    /// The hunk is at the end of the file.
    pub(super) at_end: bool,
}

/// Why a text is not a patch. The model receives the message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum PatchError {
    #[error(
        "the patch has {size} bytes, and the limit is {MAX_BYTES}; make smaller patches, or write large files with a command"
    )]
    TooLarge { size: usize },
    #[error("the patch names more than {MAX_FILES} files; split it")]
    TooManyFiles,
    #[error(
        "this is a binary patch, and apply_patch changes only text files; change the file with a command"
    )]
    Binary,
    #[error(
        "this is a unified diff; write `*** Begin Patch`, a line such as `*** Update File: PATH` for each file, and hunks that begin with `@@` without line numbers"
    )]
    UnifiedDiff,
    #[error("the patch does not begin with `{BEGIN}`")]
    NoBegin,
    #[error("text follows `{END}`; write nothing after it")]
    BehindEnd,
    #[error("the patch contains no files; write a line such as `{UPDATE} PATH`")]
    Empty,
    #[error("line {line} of the patch, `{text}`, names no file")]
    NoPath { line: usize, text: String },
    #[error(
        "line {line} of the patch, `{text}`, belongs to no file; write a line such as `{UPDATE} PATH` before it"
    )]
    NoFile { line: usize, text: String },
    #[error(
        "line {line} of the patch, `{text}`, must begin with `+`: `{path}` is a new file; use `{UPDATE} {path}` to change a file"
    )]
    NotAdded {
        line: usize,
        text: String,
        path: String,
    },
    #[error(
        "line {line} of the patch, `{text}`, must begin with a space, `-` or `+`, or with `@@` for a new hunk"
    )]
    NotALine { line: usize, text: String },
    #[error("line {line} of the patch, `{text}`, follows the deletion of `{path}`")]
    AfterDeletion {
        line: usize,
        text: String,
        path: String,
    },
    #[error("the section of `{path}` in the patch changes nothing")]
    NoChange { path: String },
    #[error("the patch has several sections for `{path}`; combine them")]
    Repeated { path: String },
}

impl Patch {
    /// Parses `text`. Code fences and the frame of a here-document around the patch are ignored.
    pub(super) fn parse(text: &str) -> Result<Self, PatchError> {
        if text.len() > MAX_BYTES {
            return Err(PatchError::TooLarge { size: text.len() });
        }
        let (lines, notes) = framed(text)?;
        let mut parser = Parser {
            notes,
            ..Parser::default()
        };
        let mut lines = lines.into_iter().peekable();
        while let Some((index, line)) = lines.next() {
            let next = lines.peek().map(|(_, next)| *next);
            if next.is_some_and(|next| parser.is_diff_header(line, next)) {
                lines.next();
                parser.note("the header of a unified diff was ignored");
                continue;
            }
            parser.line(index + 1, line)?;
        }
        parser.end()
    }

    /// The paths of the patch, each with whether the file should exist.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&str, bool)> {
        self.sections.iter().flat_map(|section| {
            let exists = !matches!(section.action, Action::Add(_));
            let target = section.moved_to().map(|path| (path, false));
            [(section.path.as_str(), exists)].into_iter().chain(target)
        })
    }
}

impl Section {
    pub(super) fn moved_to(&self) -> Option<&str> {
        match &self.action {
            Action::Update { moved_to, .. } => moved_to.as_deref(),
            _ => None,
        }
    }
}

/// Lines with their indexes.
type Lines<'t> = Vec<(usize, &'t str)>;

/// The lines of the patch, without the frame of a code fence, a command or a here-document, and the deviations from the format.
fn framed(text: &str) -> Result<(Lines<'_>, Vec<&'static str>), PatchError> {
    // A carriage return before the line break is not part of the line.
    let is = |line: &'static str| move |(_, text): &(usize, &str)| text.trim() == line;
    let mut lines: Lines<'_> = text.lines().enumerate().collect();
    if text.contains('\0') || lines.iter().any(|(_, line)| is_binary(line)) {
        return Err(PatchError::Binary);
    }
    let mut notes = Vec::new();
    let is_start = |(_, line): &(usize, &str)| {
        let line = line.trim();
        line == BEGIN || SECTIONS.iter().any(|start| line.starts_with(start))
    };
    let Some(start) = lines.iter().position(is_start) else {
        let is_diff = lines.iter().any(|(_, line)| line.starts_with("--- "));
        return Err(if is_diff {
            PatchError::UnifiedDiff
        } else {
            PatchError::NoBegin
        });
    };
    if !lines[..start].iter().all(|(_, line)| is_frame(line)) {
        return Err(PatchError::NoBegin);
    }
    let words: Vec<&str> = lines[..start]
        .iter()
        .filter_map(|(_, line)| end_of(line))
        .collect();
    let is_end_of_frame = |(_, line): &(usize, &str)| {
        let line = line.trim();
        line.is_empty() || line == "```" || line == "~~~" || words.contains(&line)
    };
    if lines[start].1.trim() == BEGIN {
        lines.drain(..=start);
    } else {
        lines.drain(..start);
        notes.push("the patch had no `*** Begin Patch`");
    }
    if let Some(end) = lines.iter().rposition(is(END)) {
        // The end of a here-document or of a code fence may follow.
        let is_word = |(_, line): &(usize, &str)| !line.trim().contains([' ', '*', '@', '+']);
        if lines.len() - end > 4 || !lines[end + 1..].iter().all(is_word) {
            return Err(PatchError::BehindEnd);
        }
        lines.truncate(end);
    } else {
        let last = lines.iter().rposition(|line| !is_end_of_frame(line));
        lines.truncate(last.map_or(0, |last| last + 1));
        notes.push("the patch had no `*** End Patch`");
    }
    Ok((lines, notes))
}

/// How sections begin.
const SECTIONS: [&str; 3] = [ADD, UPDATE, DELETE];

/// Whether a line can stand before a patch: a code fence, or the command that applies it.
fn is_frame(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with("```")
        || line.starts_with("~~~")
        || line.starts_with("<<")
        || line.trim_start_matches("$ ").starts_with("apply_patch")
}

/// The word that ends the here-document of a line: `apply_patch <<'EOF'`.
fn end_of(line: &str) -> Option<&str> {
    let word = line.split_once("<<")?.1.trim_start_matches('-').trim();
    Some(word.trim_matches(['\'', '"']))
}

fn is_binary(line: &str) -> bool {
    line == "GIT binary patch" || (line.starts_with("Binary files ") && line.ends_with(" differ"))
}

/// A line of a new file that does not begin with `+`.
struct Bare {
    number: usize,
    text: String,
}

#[derive(Default)]
struct Parser {
    sections: Vec<Section>,
    notes: Vec<&'static str>,
    /// Lines of a new file without `+`, by the section.
    bare: Vec<(usize, Bare)>,
    /// The next changed line begins a hunk, even without `@@`.
    is_between_hunks: bool,
}

impl Parser {
    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Whether two lines are the header of a unified diff of the file of this section. Elsewhere they are changed lines.
    fn is_diff_header(&self, line: &str, next: &str) -> bool {
        let Some(Section { path, action }) = self.sections.last() else {
            return false;
        };
        let is_first = matches!(action, Action::Update { hunks, .. } if hunks.is_empty());
        let names = |line: &str, sign: &str, side: &str| {
            let name = line.strip_prefix(sign).map(str::trim);
            name.is_some_and(|name| name == path || name.strip_prefix(side) == Some(path.as_str()))
        };
        is_first && names(line, "--- ", "a/") && names(next, "+++ ", "b/")
    }

    fn line(&mut self, number: usize, text: &str) -> Result<(), PatchError> {
        if text.starts_with("*** ") && self.header(number, text)? {
            return Ok(());
        }
        let shown = || shown(text);
        let index = self.sections.len().saturating_sub(1);
        let Some(Section { path, action }) = self.sections.last_mut() else {
            return match text.trim() {
                "" => Ok(()),
                _ => Err(PatchError::NoFile {
                    line: number,
                    text: shown(),
                }),
            };
        };
        match action {
            Action::Add(content) => {
                let added = text.strip_prefix('+').unwrap_or(text);
                if added.len() == text.len() {
                    let bare = Bare {
                        number,
                        text: text.to_owned(),
                    };
                    self.bare.push((index, bare));
                }
                content.push_str(added);
                content.push('\n');
                Ok(())
            }
            Action::Delete if text.trim().is_empty() => Ok(()),
            Action::Delete => Err(PatchError::AfterDeletion {
                line: number,
                text: shown(),
                path: path.clone(),
            }),
            Action::Update { hunks, .. } => {
                if let Some(header) = text.strip_prefix("@@") {
                    open_hunk(hunks, header);
                    self.is_between_hunks = false;
                    return Ok(());
                }
                if hunks.is_empty() || self.is_between_hunks {
                    hunks.push(Hunk::default());
                    self.is_between_hunks = false;
                }
                let Some(hunk) = hunks.last_mut() else {
                    return Ok(());
                };
                match Sign::of(text) {
                    Some(sign) => hunk.push(sign, text.get(1..).unwrap_or_default()),
                    // The note of a diff about the last line.
                    None if text.starts_with("\\ No newline") => {}
                    None if text.starts_with("***") => {
                        return Err(PatchError::NotALine {
                            line: number,
                            text: shown(),
                        });
                    }
                    // An unchanged line lost its space. If it is another mistake, the line is not
                    // found in the file.
                    None => {
                        hunk.push(Sign::Same, text);
                        self.note(
                            "unchanged lines without a space before them were taken as they are",
                        );
                    }
                }
                Ok(())
            }
        }
    }

    /// A line that starts with `*** `; false if the line is unknown.
    fn header(&mut self, number: usize, text: &str) -> Result<bool, PatchError> {
        let path = |start: &str| {
            let path = text.strip_prefix(start)?.trim();
            Some(match path {
                "" => Err(PatchError::NoPath {
                    line: number,
                    text: shown(text),
                }),
                path => Ok(path.to_owned()),
            })
        };
        if let Some(path) = path(ADD) {
            self.open(path?, Action::Add(String::new()))?;
        } else if let Some(path) = path(DELETE) {
            self.open(path?, Action::Delete)?;
        } else if let Some(path) = path(UPDATE) {
            let (path, action) = (
                path?,
                Action::Update {
                    moved_to: None,
                    hunks: Vec::new(),
                },
            );
            // A model may name a file again instead of beginning a hunk.
            let is_same = |section: &Section| {
                section.path == path && matches!(section.action, Action::Update { .. })
            };
            if let Some(known) = self.sections.iter().position(is_same) {
                let known = self.sections.remove(known);
                self.sections.push(known);
            } else {
                self.open(path, action)?;
            }
            self.is_between_hunks = true;
        } else if let Some(path) = path(MOVE) {
            match self.sections.last_mut().map(|section| &mut section.action) {
                Some(Action::Update { moved_to, hunks }) if hunks.is_empty() => {
                    *moved_to = Some(path?);
                }
                _ => {
                    return Err(PatchError::NoFile {
                        line: number,
                        text: shown(text),
                    });
                }
            }
        } else if text.trim_end() == END_OF_FILE {
            if let Some(Action::Update { hunks, .. }) =
                self.sections.last_mut().map(|section| &mut section.action)
                && let Some(hunk) = hunks.last_mut()
            {
                hunk.at_end = true;
                self.is_between_hunks = true;
            }
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn open(&mut self, path: String, action: Action) -> Result<(), PatchError> {
        if self.sections.len() >= MAX_FILES {
            return Err(PatchError::TooManyFiles);
        }
        self.is_between_hunks = false;
        self.sections.push(Section { path, action });
        Ok(())
    }

    /// New files whose lines have no `+` at all are taken as they are; in others only empty lines may lack it.
    fn check_bare_lines(&mut self) -> Result<(), PatchError> {
        for (index, section) in self.sections.iter().enumerate() {
            let Action::Add(content) = &section.action else {
                continue;
            };
            let bare: Vec<&Bare> = self
                .bare
                .iter()
                .filter(|(of, _)| *of == index)
                .map(|(_, bare)| bare)
                .collect();
            let written = |bare: &&&Bare| !bare.text.trim().is_empty();
            let is_whole = bare.len() == content.lines().count();
            let has_signs = bare
                .iter()
                .any(|bare| bare.text.starts_with("@@") || bare.text.starts_with("***"));
            if let Some(first) = bare.iter().find(written).filter(|_| !is_whole || has_signs) {
                return Err(PatchError::NotAdded {
                    line: first.number,
                    text: shown(&first.text),
                    path: section.path.clone(),
                });
            }
        }
        if self
            .bare
            .iter()
            .any(|(_, bare)| !bare.text.trim().is_empty())
        {
            self.note("the lines of a new file had no `+` and were taken as they are");
        }
        Ok(())
    }

    fn end(mut self) -> Result<Patch, PatchError> {
        self.check_bare_lines()?;
        for Section { path, action } in &mut self.sections {
            if let Action::Update { moved_to, hunks } = action {
                hunks.retain(|hunk| hunk.old != hunk.new);
                if hunks.is_empty() && moved_to.is_none() {
                    return Err(PatchError::NoChange { path: path.clone() });
                }
            }
        }
        let patch = Patch {
            sections: self.sections,
            notes: self.notes,
        };
        let paths: Vec<&str> = patch.paths().map(|(path, _)| path).collect();
        let is_repeated = |(index, path): &(usize, &&str)| paths[..*index].contains(*path);
        if let Some((_, path)) = paths.iter().enumerate().find(is_repeated) {
            let path = (*path).to_owned();
            return Err(PatchError::Repeated { path });
        }
        if patch.sections.is_empty() {
            return Err(PatchError::Empty);
        }
        Ok(patch)
    }
}

/// Begins a hunk with this text after `@@`. A second header without lines between belongs to the same hunk.
fn open_hunk(hunks: &mut Vec<Hunk>, header: &str) {
    let header = without_numbers(header).trim();
    let is_open = hunks
        .last()
        .is_some_and(|hunk| hunk.old.is_empty() && hunk.new.is_empty());
    if !is_open {
        hunks.push(Hunk::default());
    }
    if let Some(hunk) = hunks.last_mut().filter(|_| !header.is_empty()) {
        hunk.headers.push(header.to_owned());
    }
}

/// The header without the line numbers of a unified diff: ` -1,2 +1,3 @@ fn main() {`.
fn without_numbers(header: &str) -> &str {
    let is_range = |range: &str| {
        range.trim().split(' ').all(|part| {
            part.starts_with(['-', '+'])
                && part[1..]
                    .chars()
                    .all(|char| char.is_ascii_digit() || char == ',')
        })
    };
    match header.split_once("@@") {
        Some((range, rest)) if is_range(range) => rest,
        // `@@ fn main() { @@` has the same on both sides.
        Some((text, "")) => text,
        _ if is_range(header) && !header.trim().is_empty() => "",
        _ => header,
    }
}

#[derive(Clone, Copy)]
enum Sign {
    Same,
    Added,
    Removed,
}

impl Sign {
    fn of(line: &str) -> Option<Self> {
        match line.chars().next() {
            // Blank lines often lose the space.
            None | Some(' ') => Some(Self::Same),
            Some('+') => Some(Self::Added),
            Some('-') => Some(Self::Removed),
            Some(_) => None,
        }
    }
}

impl Hunk {
    fn push(&mut self, sign: Sign, line: &str) {
        if !matches!(sign, Sign::Added) {
            self.old.push(line.to_owned());
        }
        if !matches!(sign, Sign::Removed) {
            self.new.push(line.to_owned());
        }
    }
}

/// A line of the patch in a message.
fn shown(line: &str) -> String {
    const COLUMNS: usize = 80;
    osier_base::visible::one_line(line, COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(headers: &[&str], old: &[&str], new: &[&str]) -> Hunk {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Hunk {
            headers: owned(headers),
            old: owned(old),
            new: owned(new),
            at_end: false,
        }
    }

    fn update(path: &str, moved_to: Option<&str>, hunks: Vec<Hunk>) -> Section {
        let moved_to = moved_to.map(str::to_owned);
        Section {
            path: path.to_owned(),
            action: Action::Update { moved_to, hunks },
        }
    }

    fn parsed(body: &str) -> Result<Vec<Section>, String> {
        let patch = Patch::parse(&format!("*** Begin Patch\n{body}*** End Patch\n"));
        patch
            .map(|patch| patch.sections)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_kind_of_section_is_parsed() {
        let sections = parsed(
            "*** Add File: a/new.txt\n+one\n+\n*** Update File: b.py\n*** Move to: c.py\n@@ class A:\n@@   def f(self):\n x\n-y\n+z\n\n@@\n-last\n*** End of File\n*** Delete File: d\n",
        );
        let end = Hunk {
            at_end: true,
            ..hunk(&[], &["last"], &[])
        };
        let first = hunk(
            &["class A:", "def f(self):"],
            &["x", "y", ""],
            &["x", "z", ""],
        );
        assert_eq!(
            sections.unwrap(),
            [
                Section {
                    path: "a/new.txt".to_owned(),
                    action: Action::Add("one\n\n".to_owned()),
                },
                update("b.py", Some("c.py"), vec![first, end]),
                Section {
                    path: "d".to_owned(),
                    action: Action::Delete,
                },
            ]
        );
    }

    #[test]
    fn a_hunk_needs_no_header_and_may_have_line_numbers() {
        let plain = vec![hunk(&[], &["a"], &["b"])];
        for body in [
            "-a\n+b\n",
            "@@\n-a\n+b\n",
            "@@ -1,2 +1,2 @@\n-a\n+b\n",
            "@@ -1 +1\n-a\n+b\n",
            // Without a change, a hunk means nothing.
            "@@\n x\n@@\n-a\n+b\n",
        ] {
            let sections = parsed(&format!("*** Update File: x\n{body}"));
            assert_eq!(
                sections.unwrap(),
                [update("x", None, plain.clone())],
                "{body}"
            );
        }
        let named = vec![hunk(&["fn f() {"], &["a"], &["b"])];
        for header in ["@@ fn f() {", "@@ -3,4 +3,4 @@ fn f() {", "@@ fn f() { @@"] {
            let sections = parsed(&format!("*** Update File: x\n{header}\n-a\n+b\n"));
            assert_eq!(
                sections.unwrap(),
                [update("x", None, named.clone())],
                "{header}"
            );
        }
    }

    #[test]
    fn sections_of_the_same_file_are_combined() {
        let sections =
            parsed("*** Update File: x\n-a\n+b\n*** Delete File: y\n*** Update File: x\n-c\n+d\n");
        let hunks = vec![hunk(&[], &["a"], &["b"]), hunk(&[], &["c"], &["d"])];
        let deletion = Section {
            path: "y".to_owned(),
            action: Action::Delete,
        };
        assert_eq!(sections.unwrap(), [deletion, update("x", None, hunks)]);
    }

    #[test]
    fn the_frame_of_a_patch_is_ignored() {
        let patch = "*** Begin Patch\n*** Delete File: x\n*** End Patch";
        let plain = Patch::parse(patch).unwrap();
        for text in [
            format!("\n  {patch}\n\n"),
            format!("```\n{patch}\n```"),
            format!("<<'EOF'\n{patch}\nEOF\n"),
            patch.replace('\n', "\r\n"),
        ] {
            assert_eq!(Patch::parse(&text).as_ref(), Ok(&plain), "{text:?}");
        }
    }

    #[test]
    fn patches_as_models_write_them_mean_the_same() {
        let plain = "*** Begin Patch\n*** Update File: x\n@@\n a\n-b\n+c\n*** End Patch";
        let meant = Patch::parse(plain).unwrap().sections;
        let without = |line: &str| plain.replace(line, "");
        for (text, note) in [
            (format!("```diff\n{plain}\n```"), None),
            (format!("apply_patch <<'EOF'\n{plain}\nEOF"), None),
            (
                format!("$ apply_patch << \"PATCH\"\n{plain}\nPATCH\n"),
                None,
            ),
            (
                without("\n*** End Patch"),
                Some("the patch had no `*** End Patch`"),
            ),
            (
                format!("```\n{}\n```", without("\n*** End Patch")),
                Some("the patch had no `*** End Patch`"),
            ),
            (
                format!("apply_patch <<EOF\n{}\nEOF", without("\n*** End Patch")),
                Some("the patch had no `*** End Patch`"),
            ),
            (
                without("*** Begin Patch\n"),
                Some("the patch had no `*** Begin Patch`"),
            ),
            (
                plain.replace("@@", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@"),
                Some("the header of a unified diff was ignored"),
            ),
            (
                plain.replace("\n a", "\na"),
                Some("unchanged lines without a space before them were taken as they are"),
            ),
            (
                plain.replace("+c", "+c\n\\ No newline at end of file"),
                None,
            ),
        ] {
            let patch = Patch::parse(&text).unwrap();
            assert_eq!(patch.sections, meant, "{text}");
            assert_eq!(patch.notes, Vec::from_iter(note), "{text}");
        }
        // Changed lines that look like the header of another file stay what they are.
        let sections = parsed("*** Update File: x\n--- a\n+++ b\n").unwrap();
        assert_eq!(
            sections,
            [update("x", None, vec![hunk(&[], &["-- a"], &["++ b"])])]
        );
        for body in ["one\n\n two\n", "+one\n\n+ two\n"] {
            let sections = parsed(&format!("*** Add File: x\n{body}")).unwrap();
            assert_eq!(sections[0].action, Action::Add("one\n\n two\n".to_owned()));
        }
    }

    #[test]
    fn what_is_no_patch_is_refused() {
        for (text, expected) in [
            ("", "the patch does not begin with `*** Begin Patch`"),
            (
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
                "this is a unified diff; write `*** Begin Patch`, a line such as `*** Update File: PATH` for each file, and hunks that begin with `@@` without line numbers",
            ),
            (
                "*** Begin Patch\n*** End Patch\nrm -rf x\n",
                "text follows `*** End Patch`; write nothing after it",
            ),
            (
                "*** Begin Patch\n*** Update File: x\nGIT binary patch\nliteral 3\n*** End Patch",
                "this is a binary patch, and apply_patch changes only text files; change the file with a command",
            ),
            (
                "*** Begin Patch\n*** End Patch",
                "the patch contains no files; write a line such as `*** Update File: PATH`",
            ),
        ] {
            let error = Patch::parse(text).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text:?}");
        }
        for (body, expected) in [
            (
                "*** Update File:\n",
                "line 2 of the patch, `*** Update File:`, names no file",
            ),
            (
                "-a\n",
                "line 2 of the patch, `-a`, belongs to no file; write a line such as `*** Update File: PATH` before it",
            ),
            (
                "*** Add File: x\n+one\ntwo\n",
                "line 4 of the patch, `two`, must begin with `+`: `x` is a new file; use `*** Update File: x` to change a file",
            ),
            (
                "*** Update File: x\n*** Rename: y\n",
                "line 3 of the patch, `*** Rename: y`, must begin with a space, `-` or `+`, or with `@@` for a new hunk",
            ),
            (
                "*** Add File: x\n@@\none\n",
                "line 3 of the patch, `@@`, must begin with `+`: `x` is a new file; use `*** Update File: x` to change a file",
            ),
            (
                "*** Delete File: x\n-a\n",
                "line 3 of the patch, `-a`, follows the deletion of `x`",
            ),
            (
                "*** Update File: x\n",
                "the section of `x` in the patch changes nothing",
            ),
            (
                "*** Add File: x\n+a\n*** Delete File: x\n",
                "the patch has several sections for `x`; combine them",
            ),
        ] {
            assert_eq!(parsed(body), Err(expected.to_owned()), "{body:?}");
        }
        let large = "x".repeat(10 * 1024 * 1024);
        assert_eq!(
            Patch::parse(&large).unwrap_err().to_string(),
            "the patch has 10485760 bytes, and the limit is 1048576; make smaller patches, or write large files with a command"
        );
        let many: Vec<String> = (0..101)
            .map(|n| format!("*** Delete File: {n}\n"))
            .collect();
        assert_eq!(
            parsed(&many.concat()),
            Err("the patch names more than 100 files; split it".to_owned())
        );
    }
}
