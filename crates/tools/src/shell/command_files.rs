//! The files that a shell command shows or writes, where that is obvious: `cat FILE`, `sed -n 1,9p FILE`, `… > FILE`. The
//! model knows them as if it had used `read` or `write`.
//!
//! Only obvious files count: for all others, the model has to read the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_agent::FileUse;

use crate::commands::outcome::{ShellEnd, ShellOutcome};
use crate::files::ledger::state_of;
use crate::files::target::NamedFile;
use crate::workspace::Workspace;

impl Workspace {
    /// The known files that are unchanged, before a command runs.
    pub(crate) async fn unchanged_files(self: &Arc<Self>) -> Vec<PathBuf> {
        let workspace = Arc::clone(self);
        let files = osier_base::task::spawn_blocking(move || workspace.ledger.unchanged());
        files.await.unwrap_or_default()
    }

    /// Records the files that a command has shown, written or changed. The files `before` were unchanged before the
    /// command ran, so the command changed the files among them that differ now.
    pub(crate) async fn command_ended(
        self: &Arc<Self>,
        outcome: &ShellOutcome,
        before: Vec<PathBuf>,
    ) {
        let (workspace, command) = (Arc::clone(self), outcome.details.command.clone());
        let is_success = outcome.end == ShellEnd::Exited && outcome.exit.is_success();
        let work = move || {
            let files = CommandFiles::of(&command, workspace.cwd());
            workspace.ledger.record_command(before, &files.named);
            if is_success {
                files
                    .known
                    .iter()
                    .for_each(|path| workspace.record_known(path));
            }
        };
        let _ = osier_base::task::spawn_blocking(work).await;
    }

    fn record_known(&self, path: &Path) {
        let target = self.resolve(&NamedFile::new(path.display().to_string(), FileUse::Read));
        if let Some((stamp, text)) = state_of(&target.host) {
            self.ledger.record(&target, stamp, text.as_deref());
        }
    }
}

/// Programs that show the contents of their files.
const SHOWING: [&str; 10] = [
    "bat", "batcat", "cat", "head", "less", "more", "nl", "sed", "tac", "tail",
];

/// The files of `command`, which runs in `cwd`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandFiles {
    /// Files whose contents the model knows: the command showed them, or wrote text of the model.
    pub(crate) known: Vec<PathBuf>,
    /// Words that could name a file, without their directory.
    pub(crate) named: Vec<String>,
}

impl CommandFiles {
    pub(crate) fn of(command: &str, cwd: &Path) -> Self {
        let Some(pipelines) = pipelines(command) else {
            return Self::default();
        };
        let mut files = Self::default();
        let mut folder = cwd.to_owned();
        for pipeline in &pipelines {
            for word in pipeline.stages.iter().flat_map(|stage| &stage.words) {
                let name = word.text.rsplit('/').next().unwrap_or_default();
                files.named.push(name.to_owned());
            }
            let names = |stage: &Stage| {
                stage
                    .words
                    .iter()
                    .map(|word| word.text.clone())
                    .collect::<Vec<_>>()
            };
            if let [only] = &pipeline.stages[..]
                && let [cd, target] = &names(only)[..]
                && cd == "cd"
            {
                folder.push(target);
                continue;
            }
            let found = pipeline.known().into_iter();
            files.known.extend(found.map(|file| folder.join(file)));
        }
        files
    }
}

#[derive(Debug, Default)]
struct Pipeline {
    stages: Vec<Stage>,
}

#[derive(Debug, Default)]
struct Stage {
    words: Vec<Word>,
    /// The file that gets the output.
    output: Option<Word>,
    /// The output is appended to the contents of the file.
    appends: bool,
    /// A file from which the input comes.
    input: Option<Word>,
}

#[derive(Debug, Default, Clone)]
struct Word {
    text: String,
    /// The command alone does not determine the value of the word.
    is_open: bool,
}

impl Pipeline {
    fn known(&self) -> Vec<String> {
        let fixed = |word: &Word| (!word.is_open).then(|| word.text.clone());
        let Some((first, rest)) = self.stages.split_first() else {
            return Vec::new();
        };
        let last = rest.last().unwrap_or(first);
        if let Some(output) = &last.output {
            let is_written = !last.appends && output.text != "/dev/null";
            return fixed(output).into_iter().filter(|_| is_written).collect();
        }
        if last.words.first().is_some_and(|word| word.text == "tee") {
            let files = last.words[1..]
                .iter()
                .filter(|word| !word.text.starts_with('-'));
            let appends = last
                .words
                .iter()
                .any(|word| word.text == "-a" || word.text == "--append");
            return files.filter_map(fixed).filter(|_| !appends).collect();
        }
        if !self.stages.iter().all(Stage::shows) {
            return Vec::new();
        }
        let words = first
            .words
            .iter()
            .skip(1)
            .filter(|word| !word.text.starts_with('-'));
        words.chain(&first.input).filter_map(fixed).collect()
    }
}

impl Stage {
    /// Whether all output is contents of files, or of the input.
    fn shows(&self) -> bool {
        let Some(program) = self.words.first() else {
            return false;
        };
        let name = program.text.rsplit('/').next().unwrap_or_default();
        let in_place =
            |word: &Word| word.text.starts_with("-i") || word.text.starts_with("--in-place");
        SHOWING.contains(&name) && !(name == "sed" && self.words.iter().any(in_place))
    }
}

/// The pipelines of `command`; `None` for what is not a plain list of commands.
fn pipelines(command: &str) -> Option<Vec<Pipeline>> {
    let mut reader = Reader {
        rest: command,
        pipelines: vec![Pipeline::default()],
        stage: Stage::default(),
        documents: Vec::new(),
    };
    while reader.step()? {}
    reader.end_pipeline();
    Some(reader.pipelines)
}

struct Reader<'c> {
    rest: &'c str,
    pipelines: Vec<Pipeline>,
    stage: Stage,
    /// The ends of the here-documents that start after the line.
    documents: Vec<String>,
}

impl Reader<'_> {
    /// Reads the next word or operator; false at the end.
    fn step(&mut self) -> Option<bool> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let Some(first) = self.rest.chars().next() else {
            return Some(false);
        };
        match first {
            '\n' => {
                self.advance(1);
                self.end_pipeline();
                self.skip_documents();
            }
            ';' => {
                self.advance(1);
                self.end_pipeline();
            }
            '&' if self.rest.starts_with("&&") => {
                self.advance(2);
                self.end_pipeline();
            }
            '|' if self.rest.starts_with("||") => {
                self.advance(2);
                self.end_pipeline();
            }
            '|' => {
                self.advance(if self.rest.starts_with("|&") { 2 } else { 1 });
                self.end_stage();
            }
            '#' => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.advance(end);
            }
            // Groups, functions and jobs.
            '(' | ')' | '&' | '{' | '}' | '!' => return None,
            _ => self.word_or_redirect()?,
        }
        Some(true)
    }

    fn advance(&mut self, length: usize) {
        self.rest = &self.rest[length..];
    }

    fn word_or_redirect(&mut self) -> Option<()> {
        let digits = self.rest.len()
            - self
                .rest
                .trim_start_matches(|char: char| char.is_ascii_digit())
                .len();
        let after = &self.rest[digits..];
        let descriptor = &self.rest[..digits];
        if !after.starts_with(['<', '>']) {
            let word = self.word()?;
            self.stage.words.push(word);
            return Some(());
        }
        let is_output = descriptor.is_empty() || descriptor == "1";
        let operators = ["<<<", "<<-", "<<", "<", ">>", ">&", ">|", ">"];
        let operator = operators
            .iter()
            .find(|operator| after.starts_with(**operator))?;
        self.advance(digits + operator.len());
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let word = self.word()?;
        match *operator {
            "<<" | "<<-" => self.documents.push(word.text),
            "<" => self.stage.input = Some(word),
            ">" | ">|" if is_output => self.stage.output = Some(word),
            ">>" if is_output => {
                self.stage.output = Some(word);
                self.stage.appends = true;
            }
            _ => {}
        }
        Some(())
    }

    /// A word without its quotes.
    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let mut chars = self.rest.char_indices();
        let mut quote = None;
        let mut end = self.rest.len();
        while let Some((at, char)) = chars.next() {
            match (char, quote) {
                (char, Some(open)) if char == open => quote = None,
                ('\\', None | Some('"')) => word.text.push(chars.next()?.1),
                ('\'' | '"', None) => quote = Some(char),
                ('$' | '`', None | Some('"')) | ('*' | '?' | '[' | '~', None) => {
                    word.is_open = true;
                    word.text.push(char);
                }
                (' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')', None) => {
                    end = at;
                    break;
                }
                (char, _) => word.text.push(char),
            }
        }
        if quote.is_some() {
            return None;
        }
        self.advance(end);
        Some(word)
    }

    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            let mut lines = self.rest.split_inclusive('\n');
            let mut length = 0;
            for line in &mut lines {
                length += line.len();
                if line.trim() == end {
                    break;
                }
            }
            self.rest = &self.rest[length..];
        }
    }

    fn end_stage(&mut self) {
        let stage = std::mem::take(&mut self.stage);
        if let Some(pipeline) = self.pipelines.last_mut() {
            pipeline.stages.push(stage);
        }
    }

    fn end_pipeline(&mut self) {
        self.end_stage();
        self.pipelines.push(Pipeline::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(command: &str) -> Vec<String> {
        let files = CommandFiles::of(command, Path::new("/w")).known.into_iter();
        files.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn files_that_a_command_shows_or_writes_are_known() {
        for (command, expected) in [
            ("cat a b/c", vec!["/w/a", "/w/b/c"]),
            ("cat -n 'a b.rs' | head -20", vec!["/w/a b.rs"]),
            ("sed -n '1,20p' src/a.rs", vec!["/w/1,20p", "/w/src/a.rs"]),
            (
                "cd sub && tail -5 a; nl ../b",
                vec!["/w/sub/a", "/w/sub/../b"],
            ),
            ("head -n 5 < a 2>/dev/null", vec!["/w/5", "/w/a"]),
            (
                "cat > a.txt <<'EOF'\ncat b > c\nEOF\ncat d",
                vec!["/w/a.txt", "/w/d"],
            ),
            ("echo x | tee a", vec!["/w/a"]),
            // Not shown, not only its contents, or not known.
            ("cat a | wc -l", vec![]),
            ("cat a > /dev/null", vec![]),
            ("echo x >> a", vec![]),
            ("sed -i s/a/b/ a", vec![]),
            ("cat $FILE *.rs", vec![]),
            ("(cat a)", vec![]),
            ("cat 'a", vec![]),
            ("grep x a", vec![]),
        ] {
            assert_eq!(known(command), expected, "{command}");
        }
        let named = CommandFiles::of("sed -i s/a/b/ src/x.rs", Path::new("/w")).named;
        assert_eq!(named, ["sed", "-i", "", "x.rs"]);
    }
}
