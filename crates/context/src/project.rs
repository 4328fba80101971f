//! All context of a project, with the text for the system prompt and the slash commands.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::files;
use super::path_rules::{ContextFile, PathRule};
use super::skill::{self, Skill};
use super::sources::ContextSources;
use super::template::{self, Template};
use super::tokens;
use osier_base::problem::Problem;
use osier_peers::commands::{Expansion, Placeholders};
use osier_protocol::{AddedCommand, ContextPart, PartKind};

/// All context that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectContext {
    /// The instruction files, the nearest last.
    pub files: Vec<ContextFile>,
    /// Instructions for some paths only.
    pub rules: Vec<PathRule>,
    /// The real paths of all instructions that were read.
    pub(super) seen: BTreeSet<PathBuf>,
    pub skills: Vec<Skill>,
    pub templates: Vec<Template>,
    pub problems: Vec<Problem>,
}

impl ProjectContext {
    /// Reads all context. Blocks.
    pub fn load(sources: &ContextSources) -> Self {
        let mut problems = Vec::new();
        let instructions = files::load(sources, &mut problems);
        Self {
            files: instructions.files,
            rules: instructions.rules,
            seen: instructions.seen,
            skills: skill::load(sources, &mut problems),
            templates: template::load(sources, &mut problems),
            problems,
        }
    }

    /// The text for the system prompt; empty when there is none. Skills are listed only for a model that can
    /// read files.
    pub fn prompt(&self, can_read: bool) -> String {
        let mut prompt = String::new();
        for file in &self.files {
            let (path, text) = (file.path.display(), file.text.trim());
            let _ = write!(
                prompt,
                "\n\n<instructions from=\"{path}\">\n{text}\n</instructions>"
            );
        }
        let offered = self.skills.iter().filter(|skill| skill.model_invocable);
        let lines: Vec<String> = offered.map(Skill::line).collect();
        if can_read && !lines.is_empty() {
            prompt.push_str(
                "\n\nSkills. When a task fits one, read its file first and follow it; \
                 paths in it are relative to its folder.\n",
            );
            prompt.push_str(&lines.join("\n"));
        }
        prompt
    }

    /// Every part with its size, in the order of the prompt.
    pub fn parts(&self) -> Vec<ContextPart> {
        let files = self.files.iter().map(|file| ContextPart {
            kind: PartKind::File,
            name: file_name(&file.path),
            description: String::new(),
            path: file.path.display().to_string(),
            tokens: tokens::estimate(&file.text),
            call_tokens: 0,
        });
        let skills = self.skills.iter().map(|skill| ContextPart {
            kind: PartKind::Skill,
            name: skill.name.clone(),
            description: skill.description.clone(),
            path: skill.path.display().to_string(),
            tokens: if skill.model_invocable {
                tokens::estimate(&skill.line())
            } else {
                0
            },
            call_tokens: skill::read(&skill.path).map_or(0, |text| tokens::estimate(&text)),
        });
        let templates = self.templates.iter().map(|template| ContextPart {
            kind: PartKind::Template,
            name: template.name.clone(),
            description: template.description.clone(),
            path: template.path.display().to_string(),
            tokens: 0,
            call_tokens: tokens::estimate(&template.body),
        });
        files.chain(skills).chain(templates).collect()
    }

    /// The slash commands of skills and templates; a template has priority over a skill of the same name.
    pub fn commands(&self) -> Vec<AddedCommand> {
        let templates = self.templates.iter().map(|template| AddedCommand {
            name: template.name.clone(),
            aliases: Vec::new(),
            argument: template.argument_hint.clone(),
            description: template.description.clone(),
            origin: "prompt".to_owned(),
            values: Vec::new(),
        });
        let is_free = |skill: &&Skill| self.templates.iter().all(|known| known.name != skill.name);
        let skills = self
            .skills
            .iter()
            .filter(|skill| skill.user_invocable && is_free(skill))
            .map(|skill| AddedCommand {
                name: skill.name.clone(),
                aliases: Vec::new(),
                argument: "[TASK]".to_owned(),
                description: skill.description.clone(),
                origin: "skill".to_owned(),
                values: Vec::new(),
            });
        templates.chain(skills).collect()
    }

    /// The prompt for `/name arguments`; `None` for an unknown name. `/skill:name` selects a skill whose name
    /// is also a command.
    pub fn expand(
        &self,
        name: &str,
        arguments: &str,
        values: &Placeholders,
    ) -> Option<Result<Expansion, Problem>> {
        if let Some(template) = self.templates.iter().find(|known| known.name == name) {
            let expansion = template.expand(arguments, values);
            return Some(Ok(expansion.from(&template.path, template.of_project)));
        }
        let name = name.strip_prefix("skill:").unwrap_or(name);
        let mut skills = self.skills.iter().filter(|skill| skill.user_invocable);
        let skill = skills.find(|known| known.name == name)?;
        let expansion = skill.call(arguments, values);
        Some(expansion.map(|expansion| expansion.from(&skill.path, skill.of_project)))
    }
}

fn file_name(path: &std::path::Path) -> String {
    let name = path.file_name();
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
