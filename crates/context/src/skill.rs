//! Agent Skills (agentskills.io): folders with a `SKILL.md`. The prompt contains name and description; the
//! body is read on demand, by the model or when the user calls the skill.

use osier_base::sort;
use std::path::{Path, PathBuf};

use super::area::{Area, folders};
use super::sources::ContextSources;
use osier_base::problem::Problem;
use osier_base::walk::{Entry, Walk};
use osier_base::{regular_file, text};
use osier_peers::commands::{self, Expansion, Fields, Placeholders};
use osier_peers::front_matter::{self, Document, Value};

/// Folders of a project that contain skills.
pub const PROJECT_FOLDERS: [&str; 3] = [".osier/skills", ".agents/skills", commands::SKILLS];
/// Limits of the standard for a name and a description, in bytes.
const NAME_LIMIT: usize = 64;
const DESCRIPTION_LIMIT: usize = 1024;
/// Maximum size of a skill, a prompt template or the definition of an agent.
pub const FILE_LIMIT: u64 = 1024 * 1024;
/// Maximum depth of a skill.
const DEPTH: usize = 4;

/// A skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The path of its `SKILL.md`.
    pub path: PathBuf,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub metadata: Vec<(String, String)>,
    pub allowed_tools: Vec<String>,
    /// Whether the prompt lists the skill; otherwise only the user can call it.
    pub model_invocable: bool,
    /// Whether the user can call the skill.
    pub user_invocable: bool,
    /// The file belongs to the project.
    pub of_project: bool,
    /// The skill has the placeholders of Claude Code.
    pub is_claude: bool,
}

impl Skill {
    /// The line for the prompt.
    pub fn line(&self) -> String {
        let path = self.path.display();
        format!("- {}: {} ({path})", self.name, self.description)
    }

    /// The message to the model when the user calls the skill.
    pub fn call(&self, arguments: &str, values: &Placeholders) -> Result<Expansion, Problem> {
        let text = read(&self.path)?;
        let document = front_matter::parse(&text);
        let name = &self.name;
        let path = self.path.display();
        let (mut expansion, used) = if self.is_claude {
            let fields = Fields::read(&document);
            fields.expand_parts(document.body.trim(), arguments, values, self.path.parent())
        } else {
            (Expansion::of_text(document.body.trim().to_owned()), false)
        };
        let task = match arguments.trim() {
            arguments if used || arguments.is_empty() => format!("Follow the skill `{name}`."),
            arguments => format!("{arguments}\n\nFollow the skill `{name}` for this."),
        };
        expansion.wrap(
            &format!("{task}\n\n<skill name=\"{name}\" path=\"{path}\">\n"),
            "\n</skill>",
        );
        Ok(expansion)
    }
}

/// All skills by name. A project skill has priority over a user skill, a nearer one over a farther one.
pub(super) fn load(sources: &ContextSources, problems: &mut Vec<Problem>) -> Vec<Skill> {
    let nearest_first = folders(&sources.cwd).into_iter().rev();
    let of_project = nearest_first.flat_map(|folder| PROJECT_FOLDERS.map(|name| folder.join(name)));
    let peers = sources.peers.iter();
    let shared = peers.flat_map(|peers| {
        [
            peers.home.join(".agents/skills"),
            peers.claude.join("skills"),
        ]
    });
    let of_user = std::iter::once(sources.config.join("skills")).chain(shared);
    let project = Area::of_project(&sources.cwd);
    let roots = of_project.map(|root| (root, &project));
    let roots = roots.chain(of_user.map(|root| (root, &Area::User)));
    let mut skills: Vec<Skill> = Vec::new();
    for (root, area) in roots {
        let mut paths = Vec::new();
        find(&mut area.walk(), &root, DEPTH, &mut paths);
        for path in paths {
            let text = area.check(&path).and_then(|()| read(&path));
            let skill = text.and_then(|text| parse(&path, &text, problems));
            let skill = skill.map(|skill| Skill {
                of_project: matches!(area, Area::Project(_)),
                is_claude: root.ends_with(commands::SKILLS)
                    || sources
                        .peers
                        .as_ref()
                        .is_some_and(|peers| root.starts_with(&peers.claude)),
                ..skill
            });
            match skill {
                Ok(skill) if skills.iter().any(|known| known.name == skill.name) => {}
                Ok(skill) => skills.push(skill),
                Err(problem) => problems.push(problem),
            }
        }
    }
    sort::by(&mut skills, |left, right| left.name.cmp(&right.name));
    skills
}

/// Collects the `SKILL.md` files below `folder`. A skill contains no other skills.
fn find(walk: &mut Walk, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let mut entries = walk.entries(folder);
    let is_skill = |entry: &Entry| !entry.is_folder && entry.path.ends_with("SKILL.md");
    if let Some(skill) = entries.iter().position(is_skill) {
        found.push(entries.swap_remove(skill).path);
        return;
    }
    if depth > 0 {
        for entry in entries.iter().filter(|entry| entry.is_folder) {
            find(walk, &entry.path, depth - 1, found);
        }
    }
}

/// Reads a skill or a template.
pub(super) fn read(path: &Path) -> Result<String, Problem> {
    let text = regular_file::read_text(path, FILE_LIMIT);
    text.map_err(|error| Problem::of_file(path, error.to_string(), "it is ignored"))
}

/// Parses a `SKILL.md`. Harmless violations of the standard are reported and accepted.
fn parse(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Result<Skill, Problem> {
    let document = front_matter::parse(text);
    problems.extend(faults(path, &document));
    let at = |field: &str, message: String, hint: &str| Problem {
        line: Some(document.field(field).map_or(1, |field| field.line)),
        ..Problem::of_file(path, message, hint)
    };
    let description = document.text("description").unwrap_or_default();
    if description.trim().is_empty() {
        let hint = "add a `description:` that says what it does and when to use it";
        return Err(at(
            "description",
            "the skill has no description".to_owned(),
            hint,
        ));
    }
    if description.len() > DESCRIPTION_LIMIT {
        let message = format!("the description has {} bytes", description.len());
        problems.push(at("description", message, "only 1024 are used"));
    }
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let name = document.text("name").unwrap_or_default();
    if name.is_empty() {
        problems.push(at(
            "name",
            "the skill has no name".to_owned(),
            "the name of its folder is used",
        ));
    } else if !is_name(&name) || name != folder {
        let message = format!("invalid name `{name}` for the skill in `{folder}`");
        let hint = "use a-z, 0-9 and single hyphens, and the name of the folder";
        problems.push(at("name", message, hint));
    }
    let name = if name.contains(char::is_whitespace) || name.contains('/') || name.is_empty() {
        folder
    } else {
        name
    };
    let is_true = |field: &str| document.text(field).is_some_and(|value| value == "true");
    Ok(Skill {
        name,
        description: text::single_line(text::head_bytes(description.trim(), DESCRIPTION_LIMIT)),
        path: path.to_owned(),
        license: document.text("license"),
        compatibility: document.text("compatibility"),
        metadata: match document.field("metadata").map(|field| &field.value) {
            Some(Value::Map(pairs)) => pairs.clone(),
            _ => Vec::new(),
        },
        allowed_tools: document.words("allowed-tools").unwrap_or_default(),
        model_invocable: !is_true("disable-model-invocation"),
        user_invocable: document
            .text("user-invocable")
            .is_none_or(|value| value != "false"),
        ..Skill::default()
    })
}

/// The errors in the front matter, with their lines.
pub fn faults(path: &Path, document: &Document<'_>) -> Vec<Problem> {
    let faults = document.faults.iter().map(|fault| Problem {
        line: Some(fault.line),
        ..Problem::of_file(path, &fault.message, "the line is ignored")
    });
    faults.collect()
}

fn is_name(name: &str) -> bool {
    let allowed = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    name.len() <= NAME_LIMIT
        && name.chars().all(allowed)
        && !name.contains("--")
        && !name.starts_with('-')
        && !name.ends_with('-')
}
