//! Files that one part of a line writes and a later part runs: what the earlier part reads is the code of the later one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use osier_base::path;

use crate::shell::Word;
use crate::trust::facts::places::folders_below;
use crate::trust::facts::programs::is_in;

/// The depth of folders in which sources are looked for.
const DEPTH: usize = 12;
/// Folders into which builds write.
const BUILT: &str = "dist build out lib bin target _build .output generated gen cjs esm";
/// Ends of the names of sources that a build turns into JavaScript.
const SOURCES: &str = "ts tsx mts cts";
const SCRIPTS: &str = "js mjs cjs";
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

/// The files that the commands so far have written.
#[derive(Debug, Default)]
pub(in crate::trust) struct Products {
    pub commands: Vec<Vec<Word>>,
    targets: Vec<PathBuf>,
    /// A command has compiled the project.
    pub is_built: bool,
    /// The names of the sources that a build turns into JavaScript, without their ends.
    sources: Option<BTreeSet<OsString>>,
}

impl Products {
    /// Adds a command in the directory, with the files that it writes.
    pub(in crate::trust) fn add(&mut self, cwd: &Path, name: &str, arguments: &[Word]) {
        self.commands.push(arguments.to_vec());
        let mut before = "";
        let mut files = Vec::new();
        for word in arguments {
            let text = word.text.as_str();
            match text.split_once('=') {
                Some((option, value)) if OUTPUTS.contains(&option) => self.add_target(cwd, value),
                _ if OUTPUTS.contains(&before) => self.add_target(cwd, text),
                _ if text.starts_with('-') => {}
                _ => files.push(text),
            }
            before = text;
        }
        if is_in(COPIES, name) {
            for target in files.iter().skip(usize::from(name != "tee")) {
                self.add_target(cwd, target);
            }
        }
    }

    /// Adds a file or a folder that a command writes.
    pub(in crate::trust) fn add_target(&mut self, cwd: &Path, target: &str) {
        self.targets.push(path::resolve(cwd, target));
    }

    /// Whether a command can have written the script.
    pub(in crate::trust) fn is_target(&self, script: &Path) -> bool {
        self.targets.iter().any(|target| script.starts_with(target))
    }

    /// Whether a build writes the script: because of its folder, or because a source has its name.
    pub(in crate::trust) fn is_of_build(&mut self, script: &Path, project: &Path) -> bool {
        let below = script.strip_prefix(project).unwrap_or(script);
        let mut folders = below.parent().into_iter().flat_map(Path::components);
        if folders.any(|part| is_in(BUILT, &part.as_os_str().to_string_lossy())) {
            return true;
        }
        let sources = self.sources.get_or_insert_with(|| sources(project));
        is_in(SCRIPTS, end_of(script))
            && script
                .file_stem()
                .is_some_and(|stem| sources.contains(stem))
    }
}

fn end_of(file: &Path) -> &str {
    let end = file.extension().and_then(|end| end.to_str());
    end.unwrap_or_default()
}

/// The names of the sources in the project.
fn sources(project: &Path) -> BTreeSet<OsString> {
    let mut waiting = vec![(project.to_owned(), 0)];
    let mut found = BTreeSet::new();
    while let Some((folder, depth)) = waiting.pop() {
        let files = folder.read_dir().into_iter().flatten().flatten();
        let files = files.map(|entry| entry.path());
        let files = files.filter(|file| is_in(SOURCES, end_of(file)));
        found.extend(files.filter_map(|file| Some(file.file_stem()?.to_owned())));
        waiting.extend(folders_below(&folder, depth, DEPTH));
    }
    found
}
