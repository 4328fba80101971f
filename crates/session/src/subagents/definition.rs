//! Definitions of subagents: Markdown files with front matter; the body is the prompt.

use osier_base::sort;
use std::path::{Path, PathBuf};

use osier_base::config_file::ConfigFile;
use osier_base::problem::Problem;
use osier_base::regular_file::ReadError;
use osier_base::text;
use osier_base::walk::Walk;
use osier_context::{front_matter, skill};
use osier_permissions::trust::ProjectFiles;

/// Folders of a project with definitions.
const PROJECT_FOLDERS: [&str; 2] = [".osier/agents", ".claude/agents"];

/// The definition of a subagent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Definition {
    pub name: String,
    /// When the model should use it.
    pub description: String,
    /// Names of its tools; the tools of every subagent if not set.
    pub tools: Option<Vec<String>>,
    /// `PROVIDER/ID` or part of a name; the model of the caller if not set.
    pub model: Option<String>,
    pub prompt: String,
    pub path: PathBuf,
}

/// All definitions, by name. A definition of the project overrides one of the user.
pub(crate) fn load(config: &Path, project: &ProjectFiles) -> (Vec<Definition>, Vec<Problem>) {
    let mut definitions: Vec<Definition> = Vec::new();
    let mut problems = Vec::new();
    let of_project =
        PROJECT_FOLDERS.map(|name| files_in(&project.root().join(name), project.below(name)));
    let own = config.join("agents");
    let entries = Walk::new(None).entries(&own).into_iter();
    let of_user = files_in(&own, entries.map(|entry| entry.path.into()).collect());
    for file in of_project.into_iter().flatten().chain(of_user) {
        let path = &file.path;
        match text_of(&file).and_then(|text| parse(path, &text, &mut problems)) {
            Ok(found) if definitions.iter().any(|known| known.name == found.name) => {}
            Ok(found) => definitions.push(found),
            Err(problem) => problems.push(problem),
        }
    }
    sort::by(&mut definitions, |left, right| left.name.cmp(&right.name));
    (definitions, problems)
}

/// The Markdown files directly in `folder`.
fn files_in(folder: &Path, mut files: Vec<ConfigFile>) -> Vec<ConfigFile> {
    files.retain(|file| {
        let ending = file.path.extension();
        file.path.parent() == Some(folder) && ending.is_some_and(|ending| ending == "md")
    });
    files
}

fn text_of(file: &ConfigFile) -> Result<String, Problem> {
    let problem =
        |error: ReadError| Problem::of_file(&file.path, error.to_string(), "it is ignored");
    let text = file.text(skill::FILE_LIMIT).map_err(problem)?;
    text.ok_or_else(|| problem(ReadError::Missing))
}

fn parse(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Result<Definition, Problem> {
    let document = front_matter::parse(text);
    problems.extend(skill::faults(path, &document));
    let description = document.text("description").unwrap_or_default();
    if description.trim().is_empty() {
        return Err(Problem {
            line: Some(1),
            ..Problem::of_file(
                path,
                "the agent has no description",
                "add a `description:` that says when to use it",
            )
        });
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = document.text("name").filter(|name| !name.is_empty());
    Ok(Definition {
        name: name.unwrap_or_else(|| stem.into_owned()),
        description: text::single_line(&description),
        // Claude Code writes `Read, Bash`.
        tools: document
            .words("tools")
            .map(|tools| tools.iter().map(|tool| tool.to_lowercase()).collect()),
        model: document
            .text("model")
            .filter(|model| !model.is_empty() && model != "inherit"),
        prompt: document.body.trim().to_owned(),
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read_and_invalid_ones_are_problems() {
        let place = tempfile::TempDir::new().unwrap();
        let folder = place.path().join("agents");
        std::fs::create_dir(&folder).unwrap();
        let write = |name: &str, text: &str| {
            osier_base::atomic_file::write(&folder.join(name), text.as_bytes()).unwrap();
        };
        write(
            "reviewer.md",
            "---\ndescription: reviews\ntools: Read, Bash\nmodel: small\n---\nReview.\n",
        );
        write("mute.md", "Nothing said.");
        let (definitions, problems) = load(place.path(), &ProjectFiles::default());
        let expected = Definition {
            name: "reviewer".into(),
            description: "reviews".into(),
            tools: Some(vec!["read".into(), "bash".into()]),
            model: Some("small".into()),
            prompt: "Review.".into(),
            path: folder.join("reviewer.md"),
        };
        assert_eq!(definitions, [expected]);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].line, Some(1));
    }
}
