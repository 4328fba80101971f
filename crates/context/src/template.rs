//! Prompt templates: Markdown files that become slash commands. `$1`, `$@` and `$ARGUMENTS` insert arguments,
//! `${1:-text}` has a default, `${@:2}` and `${@:2:3}` insert a range. Commands of Claude Code have its placeholders
//! (`osier_peers::commands`).

use osier_base::sort;
use std::path::{Path, PathBuf};

use super::area::{Area, folders};
use super::skill;
use super::sources::ContextSources;
use osier_base::problem::Problem;
use osier_base::text;
use osier_base::walk::{Entry, Walk};
use osier_peers::commands::{self, Expansion, Fields, Placeholders, words};
use osier_peers::front_matter;

/// Folders of a project that contain templates.
pub const PROJECT_FOLDERS: [&str; 2] = [".osier/prompts", commands::COMMANDS];
/// Maximum depth below a templates folder.
const DEPTH: usize = 3;
/// Maximum bytes of a description.
const DESCRIPTION_LIMIT: usize = 200;

/// A prompt template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    /// The file name without its extension, prefixed with its folders: `git:review`.
    pub name: String,
    pub description: String,
    /// A hint about the arguments.
    pub argument_hint: String,
    pub path: PathBuf,
    pub body: String,
    /// The file belongs to the project.
    pub of_project: bool,
    /// Further fields of a command of Claude Code.
    pub claude: Option<Fields>,
}

impl Template {
    /// The prompt for `arguments`. Arguments without a placeholder are appended.
    pub fn expand(&self, arguments: &str, values: &Placeholders) -> Expansion {
        match &self.claude {
            Some(fields) => fields.expand(&self.body, arguments, values, None),
            None => Expansion::of_text(self.text(arguments)),
        }
    }

    fn text(&self, arguments: &str) -> String {
        let words = words(arguments);
        let mut used = false;
        let mut prompt = String::with_capacity(self.body.len() + arguments.len());
        let mut rest = self.body.as_str();
        while let Some(dollar) = rest.find('$') {
            prompt.push_str(&rest[..dollar]);
            let (length, value) = placeholder(&rest[dollar..], arguments.trim(), &words);
            match value {
                Some(value) => {
                    prompt.push_str(&value);
                    used = true;
                }
                None => prompt.push_str(&rest[dollar..dollar + length]),
            }
            rest = &rest[dollar + length..];
        }
        prompt.push_str(rest);
        if !used && !arguments.trim().is_empty() {
            prompt = format!("{}\n\n{}", prompt.trim_end(), arguments.trim());
        }
        prompt
    }
}

/// The length of the placeholder at the start of `text`, and its value; text that only starts with `$` has no
/// value.
fn placeholder(text: &str, all: &str, words: &[String]) -> (usize, Option<String>) {
    let name = &text[1..];
    if name.starts_with("ARGUMENTS") {
        return (10, Some(all.to_owned()));
    }
    if name.starts_with('@') {
        return (2, Some(all.to_owned()));
    }
    let digits = name.len()
        - name
            .trim_start_matches(|char: char| char.is_ascii_digit())
            .len();
    if digits > 0 {
        let value = numbered(&name[..digits], words);
        return (1 + digits, value.or_else(|| Some(String::new())));
    }
    let inner = name.strip_prefix('{').and_then(|name| name.split_once('}'));
    match inner {
        Some((inner, _)) => (inner.len() + 3, braced(inner, all, words)),
        None => (1, None),
    }
}

fn numbered(number: &str, words: &[String]) -> Option<String> {
    let place: usize = number.parse().ok()?;
    words.get(place.checked_sub(1)?).cloned()
}

/// The value of a placeholder in braces: a name, a name with a default, or a range.
fn braced(inner: &str, all: &str, words: &[String]) -> Option<String> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let or_default = |value: Option<String>| {
        let value = value.filter(|value| !value.is_empty());
        Some(value.unwrap_or_else(|| default.unwrap_or_default().to_owned()))
    };
    if name == "@" || name == "ARGUMENTS" {
        return or_default(Some(all.to_owned()));
    }
    if name.chars().all(|char| char.is_ascii_digit()) && !name.is_empty() {
        return or_default(numbered(name, words));
    }
    let slice = name.strip_prefix("@:")?;
    let (start, length) = match slice.split_once(':') {
        Some((start, length)) => (start, length.parse().ok()?),
        None => (slice, usize::MAX),
    };
    let start = start.parse::<usize>().ok()?.checked_sub(1)?;
    let some = words.iter().skip(start).take(length);
    Some(some.cloned().collect::<Vec<_>>().join(" "))
}

/// All templates by name; project templates have priority over the user's.
pub(super) fn load(sources: &ContextSources, problems: &mut Vec<Problem>) -> Vec<Template> {
    let nearest_first = folders(&sources.cwd).into_iter().rev();
    let of_project = nearest_first.flat_map(|folder| PROJECT_FOLDERS.map(|name| folder.join(name)));
    let project = Area::of_project(&sources.cwd);
    let roots = of_project.map(|root| (root, &project));
    let own = std::iter::once(sources.config.join("prompts"));
    let of_claude = sources.peers.iter();
    let own = own.chain(of_claude.map(|peers| peers.claude.join("commands")));
    let mut templates: Vec<Template> = Vec::new();
    for (root, area) in roots.chain(own.map(|root| (root, &Area::User))) {
        let is_claude = root.ends_with(commands::COMMANDS)
            || sources
                .peers
                .as_ref()
                .is_some_and(|peers| root.starts_with(&peers.claude));
        let mut paths = Vec::new();
        find(&mut area.walk(), &root, "", DEPTH, &mut paths);
        paths.sort();
        for (name, path) in paths {
            if templates.iter().any(|known| known.name == name) {
                continue;
            }
            match area.check(&path).and_then(|()| skill::read(&path)) {
                Ok(text) => {
                    let mut template = parse(name, &path, &text, problems);
                    template.of_project = matches!(area, Area::Project(_));
                    template.claude = is_claude.then(|| Fields::read(&front_matter::parse(&text)));
                    templates.push(template);
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    sort::by(&mut templates, |left, right| left.name.cmp(&right.name));
    templates
}

/// Collects the Markdown files below `folder` with their command names.
fn find(
    walk: &mut Walk,
    folder: &Path,
    prefix: &str,
    depth: usize,
    found: &mut Vec<(String, PathBuf)>,
) {
    for Entry { path, is_folder } in walk.entries(folder) {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy());
        let Some(stem) = stem.filter(|stem| !stem.contains(char::is_whitespace)) else {
            continue;
        };
        let name = format!("{prefix}{stem}");
        if is_folder && depth > 0 {
            find(walk, &path, &format!("{name}:"), depth - 1, found);
        } else if !is_folder && path.extension().is_some_and(|ending| ending == "md") {
            found.push((name, path));
        }
    }
}

fn parse(name: String, path: &Path, text: &str, problems: &mut Vec<Problem>) -> Template {
    let document = front_matter::parse(text);
    problems.extend(skill::faults(path, &document));
    let first_line = || document.body.lines().find(|line| !line.trim().is_empty());
    let description = document
        .text("description")
        .filter(|description| !description.is_empty())
        .or_else(|| first_line().map(|line| line.trim_start_matches(['#', ' ']).to_owned()));
    let description = text::single_line(&description.unwrap_or_default());
    Template {
        name,
        description: text::head_bytes(&description, DESCRIPTION_LIMIT).to_owned(),
        argument_hint: document.text("argument-hint").unwrap_or_default(),
        path: path.to_owned(),
        body: document.body.trim().to_owned(),
        ..Template::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(body: &str, arguments: &str) -> String {
        let template = Template {
            body: body.to_owned(),
            ..Template::default()
        };
        template.text(arguments)
    }

    #[test]
    fn placeholders_are_replaced() {
        let arguments = "one \"two words\" 'it''s' don't";
        assert_eq!(words(arguments), ["one", "two words", "its", "don't"]);
        for (body, expected) in [
            ("a $1 b $2 $9.", "a one b two words ."),
            ("$ARGUMENTS|$@", &*format!("{arguments}|{arguments}")),
            ("${1:-x} ${7:-none}", "one none"),
            ("${@:2:2}/${@:4}", "two words its/don't"),
            ("costs $5.00? ${HOME} $ x $1", "costs .00? ${HOME} $ x one"),
            ("no place", &*format!("no place\n\n{arguments}")),
        ] {
            assert_eq!(expand(body, arguments), expected);
        }
        assert_eq!(expand("${@:-all of it}, $1", ""), "all of it, ");
        assert_eq!(expand("no place", " "), "no place");
        // A value is not expanded again.
        assert_eq!(expand("$1", "$ARGUMENTS"), "$ARGUMENTS");
    }
}
