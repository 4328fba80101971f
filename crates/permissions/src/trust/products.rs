//! Files that one part of a line writes and a later part runs: what the earlier part reads is the code of the later one.

use std::path::{Path, PathBuf};

use osier_base::{path, regular_file};

use super::known_programs::{is_builder, is_in};
use super::places::folders_below;
use super::reach::{FOLDERS, Search, TEXT};
use crate::shell::Word;

/// Folders into which builds write.
const BUILT: &str = "dist build out lib bin target _build .output generated gen cjs esm";
/// Ends of the names of sources that a build turns into JavaScript.
const SOURCES: &str = "ts tsx mts cts";
/// Programs whose arguments, after the first one, are files or folders that they write; `tee` writes to all of them.
const COPIES: &str = "cp mv ln install rsync tee scp";
/// Options whose value is a file or a folder that the program writes.
const OUTPUTS: [&str; 6] = [
    "-o",
    "--output",
    "--out",
    "--outfile",
    "--out-file",
    "--outdir",
];

/// What the commands so far have written.
#[derive(Debug, Default)]
pub(super) struct Products {
    commands: Vec<Vec<Word>>,
    targets: Vec<PathBuf>,
    /// A command has compiled the project.
    is_built: bool,
}

impl Search<'_> {
    /// Remembers the files that a command writes.
    pub(super) fn writes(&mut self, name: &str, arguments: &[Word]) {
        self.products.commands.push(arguments.to_vec());
        let mut before = "";
        let mut files = Vec::new();
        for word in arguments {
            let text = word.text.as_str();
            match text.split_once('=') {
                Some((option, value)) if OUTPUTS.contains(&option) => self.writes_to(value),
                _ if OUTPUTS.contains(&before) => self.writes_to(text),
                _ if text.starts_with('-') => {}
                _ => files.push(text),
            }
            before = text;
        }
        if is_in(COPIES, name) {
            for target in files.iter().skip(usize::from(name != "tee")) {
                self.writes_to(target);
            }
        }
        self.products.is_built |= is_builder(name, arguments) && !self.only_checks(arguments);
    }

    /// Remembers a file or a folder that a command writes.
    pub(super) fn writes_to(&mut self, target: &str) {
        let target = path::resolve(&self.cwd, target);
        if target.starts_with(self.project) {
            self.products.targets.push(target);
        }
    }

    /// Whether a compiler writes nothing.
    fn only_checks(&self, arguments: &[Word]) -> bool {
        let is_option = |word: &Word| word.text.eq_ignore_ascii_case("--noEmit");
        let others = ["-p", "--project", "-b", "--build"];
        let is_other = |word: &Word| others.contains(&word.text.as_str());
        let settings = self.above().into_iter().map(|folder| {
            regular_file::read_text(&folder.join("tsconfig.json"), TEXT).unwrap_or_default()
        });
        let mut nearest = settings.filter(|text| !text.is_empty()).take(1);
        arguments.iter().any(is_option)
            || !arguments.iter().any(is_other)
                && nearest.any(|text| text.replace(' ', "").contains("\"noEmit\":true"))
    }

    /// Adds what the commands so far have read, if one of them can have written the script.
    pub(super) fn product(&mut self, script: &Path, kind: &str) -> Result<(), String> {
        if self.products.is_built && !self.reach.all && self.is_built(script) {
            self.all();
        }
        let mut targets = self.products.targets.iter();
        if !targets.any(|target| script.starts_with(target))
            || !self.tasks.insert((script.to_owned(), "product".to_owned()))
        {
            return Ok(());
        }
        for words in self.products.commands.clone() {
            self.arguments(&words);
            for word in words.iter().filter(|word| word.is_fixed()) {
                let file = path::resolve(&self.cwd, &word.text);
                if file.starts_with(self.project) && file.is_file() {
                    self.script(&file, kind)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a build writes the script: because of its folder, or because a source has its name.
    fn is_built(&self, script: &Path) -> bool {
        let below = script.strip_prefix(self.project).unwrap_or(script);
        let mut folders = below.parent().into_iter().flat_map(Path::components);
        if folders.any(|part| is_in(BUILT, &part.as_os_str().to_string_lossy())) {
            return true;
        }
        let stem = script.file_stem().unwrap_or_default();
        let is_script = script.extension().is_some_and(|end| {
            let end = end.to_string_lossy();
            is_in("js mjs cjs", &end)
        });
        let mut waiting = vec![(self.project.to_owned(), 0)];
        while let Some((folder, depth)) = waiting.pop().filter(|_| is_script) {
            let mut ends = SOURCES.split(' ');
            if ends.any(|end| folder.join(stem).with_extension(end).is_file()) {
                return true;
            }
            waiting.extend(folders_below(&folder, depth, FOLDERS));
        }
        false
    }
}
