//! Definitions of subagents: Markdown files with front matter; the body is the prompt.

use osier_base::sort;
use std::path::{Path, PathBuf};

use osier_base::config_file::ConfigFile;
use osier_base::problem::Problem;
use osier_base::regular_file::ReadError;
use osier_base::text;
use osier_base::walk::Walk;
use osier_context::skill;
use osier_peers::front_matter::{self, Document, Value};
use osier_peers::tools::{ending, is_part, our_tool};
use osier_permissions::trust::ProjectFiles;
use osier_tools::{BUILT_IN, SUBAGENT, ToolEffect, WEB_SEARCH};

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
    /// Rules that deny parts of these tools: names of Claude Code's tools that are only a part of a
    /// tool of osier.
    pub denied: Vec<String>,
    /// `PROVIDER/ID` or part of a name; the model of the caller if not set.
    pub model: Option<String>,
    pub prompt: String,
    pub path: PathBuf,
}

/// All definitions, by name. Definitions in `given` override those of files, those of the project
/// override those of the user, and the user's definitions for osier override those in `claude`, the
/// folder of Claude Code.
pub(crate) fn load(
    config: &Path,
    claude: Option<&Path>,
    project: &ProjectFiles,
    given: &[String],
) -> (Vec<Definition>, Vec<Problem>) {
    let mut definitions: Vec<Definition> = Vec::new();
    let mut problems = Vec::new();
    for text in given {
        match parse(Path::new("agent of the program"), text, &mut problems) {
            Ok(definition) => definitions.push(definition),
            Err(problem) => problems.push(problem),
        }
    }
    let of_project =
        PROJECT_FOLDERS.map(|name| files_in(&project.root().join(name), project.below(name)));
    let of_user = std::iter::once(config).chain(claude).flat_map(|folder| {
        let folder = folder.join("agents");
        let entries = Walk::new(None).entries(&folder).into_iter();
        files_in(&folder, entries.map(|entry| entry.path.into()).collect())
    });
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
    if let Some((line, message)) = unclear_limit(&document, text) {
        return Err(Problem {
            line: Some(line),
            ..Problem::of_file(
                path,
                message,
                "the agent is not offered, because it would have more tools than it should; write `tools: Read, Grep` or \
                 `disallowedTools: Bash`",
            )
        });
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = document.text("name").filter(|name| !name.is_empty());
    Ok(Definition {
        name: name.unwrap_or_else(|| stem.into_owned()),
        description: text::single_line(&description),
        tools: tools(path, &document, problems),
        denied: denied_parts(&document),
        model: document
            .text("model")
            .filter(|model| !model.is_empty() && model != "inherit"),
        prompt: document.body.trim().to_owned(),
        path: path.to_owned(),
    })
}

/// The line that limits the tools in a form that is not understood, and what is wrong with it.
fn unclear_limit(document: &Document<'_>, text: &str) -> Option<(usize, String)> {
    const FORMS: &[(&str, &str)] = &[
        ("tools", "tools"),
        ("allowedtools", "tools"),
        ("disallowedtools", "disallowedTools"),
        ("deniedtools", "disallowedTools"),
    ];
    let form_of = |name: &str| {
        let plain = name.to_lowercase().replace(['-', '_', '.'], "");
        let mut forms = FORMS.iter();
        forms.find(|(form, _)| *form == plain).map(|(_, name)| name)
    };
    let unclear = document.fields.iter().find_map(|field| {
        let name = form_of(&field.name)?;
        let message = match document.words(name) {
            _ if *name != field.name => format!("the field `{}` is called `{name}`", field.name),
            None => format!("`{name}` is no list of names"),
            Some(_) => return None,
        };
        Some((field.line, message))
    });
    let is_limit = |line: usize| {
        let line = text.lines().nth(line - 1).unwrap_or_default();
        form_of(line.split(':').next().unwrap_or_default().trim()).is_some()
    };
    let invalid = || {
        let fault = document.faults.iter().find(|fault| is_limit(fault.line))?;
        Some((fault.line, fault.message.clone()))
    };
    unclear.or_else(invalid)
}

fn denied_parts(document: &Document<'_>) -> Vec<String> {
    let denied = document.words("disallowedTools").unwrap_or_default();
    denied.into_iter().filter(|tool| is_rule(tool)).collect()
}

/// Whether the tool of Claude Code is a part of a tool of osier, so that a rule denies it: `NotebookEdit`.
fn is_rule(tool: &str) -> bool {
    let plain = tool.split('(').next().unwrap_or_default();
    is_part(plain) || ending(plain).is_some()
}

/// The tools that the definition offers. A name that no tool has is left out and reported.
fn tools(path: &Path, document: &Document<'_>, problems: &mut Vec<Problem>) -> Option<Vec<String>> {
    let denied = document.words("disallowedTools").unwrap_or_default();
    if denied.iter().any(|tool| tool == "*") {
        return Some(Vec::new());
    }
    let is_empty_list = document
        .field("tools")
        .is_some_and(|field| field.value == Value::List(Vec::new()));
    let named = document.words("tools").filter(|tools| {
        is_empty_list || (!tools.is_empty() && !tools.iter().any(|tool| tool == "*"))
    });
    if named.is_none() && denied.is_empty() {
        return None;
    }
    let mut report = |field: &str, unknown: Vec<String>, hint: &str| {
        if !unknown.is_empty() {
            let message = format!("subagents have no tool `{}`", unknown.join("`, `"));
            problems.push(Problem {
                line: document.field(field).map(|field| field.line),
                ..Problem::of_file(path, message, hint)
            });
        }
    };
    let mut offered = if let Some(named) = named {
        let (own, unknown) = own_names(&named);
        report("tools", unknown, "the agent works without it");
        own
    } else {
        // A tool that is another form of tools comes with those tools; listed on its own, it would
        // be an additional tool.
        let tools = BUILT_IN.iter().filter(|tool| tool.replaces.is_empty());
        tools.map(|tool| tool.name).collect()
    };
    let denied: Vec<_> = denied.into_iter().filter(|tool| !is_rule(tool)).collect();
    let (denied, mut unknown) = own_names(&denied);
    unknown.retain(|name| !name.contains("__") && our_tool(name) != WEB_SEARCH);
    report("disallowedTools", unknown, "correct the name, or remove it");
    offered.retain(|tool| !denied.contains(tool));
    Some(offered.into_iter().map(str::to_owned).collect())
}

/// osier's names of `tools`, and the names that no tool of a subagent has. Neither list has tools of Claude Code that are
/// only a part of a tool of osier, or that wait for the user.
fn own_names(tools: &[String]) -> (Vec<&'static str>, Vec<String>) {
    let (mut own, mut unknown) = (Vec::new(), Vec::new());
    for tool in tools {
        // `Bash(git *)` offers the tool; the rules of the session decide about its calls.
        let plain = tool.split('(').next().unwrap_or_default();
        let name = our_tool(plain);
        let lower = name.to_lowercase();
        match BUILT_IN.iter().find(|known| known.name == lower) {
            Some(known) if own.contains(&known.name) || known.effect == ToolEffect::Asks => {}
            Some(known) => own.push(known.name),
            None if name == SUBAGENT || is_part(plain) => {}
            None => unknown.push(plain.to_owned()),
        }
    }
    unknown.dedup();
    (own, unknown)
}

#[cfg(test)]
mod tests {
    use osier_peers::tools::tools_of;
    use osier_protocol::ImportSource;

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
        let (definitions, problems) = load(place.path(), None, &ProjectFiles::default(), &[]);
        let expected = Definition {
            name: "reviewer".into(),
            description: "reviews".into(),
            tools: Some(vec!["read".into(), "bash".into()]),
            denied: Vec::new(),
            model: Some("small".into()),
            prompt: "Review.".into(),
            path: folder.join("reviewer.md"),
        };
        assert_eq!(definitions, [expected]);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].line, Some(1));
    }

    #[test]
    fn definitions_of_the_program_override_files() {
        let place = tempfile::TempDir::new().unwrap();
        let folder = place.path().join("agents");
        std::fs::create_dir(&folder).unwrap();
        let text = "---\ndescription: of a file\n---\nWork.\n";
        osier_base::atomic_file::write(&folder.join("critic.md"), text.as_bytes()).unwrap();
        let given = "---\nname: \"critic\"\ndescription: \"a \\\"hard\\\" critic\"\ntools: [\"Read\",\"Grep\"]\n---\nFind faults.\n";
        let given = [given.to_owned()];
        let (definitions, problems) = load(place.path(), None, &ProjectFiles::default(), &given);
        let expected = Definition {
            name: "critic".into(),
            description: "a \"hard\" critic".into(),
            tools: Some(vec!["read".into(), "grep".into()]),
            denied: Vec::new(),
            model: None,
            prompt: "Find faults.".into(),
            path: "agent of the program".into(),
        };
        assert_eq!((definitions, problems), (vec![expected], Vec::new()));
    }

    #[test]
    fn agent_with_an_unclear_limit_is_not_offered() {
        let path = Path::new("/a/agent.md");
        let parsed = |fields: &str| {
            let text = format!("---\ndescription: d\n{fields}\n---\nWork.\n");
            let parsed = parse(path, &text, &mut Vec::new());
            parsed
                .map(|agent| agent.tools)
                .map_err(|problem| problem.message)
        };
        for (fields, expected) in [
            (
                "tools: {read: true, bash: false}",
                Err("`tools` is no list of names"),
            ),
            ("tools:\n  bash: false", Err("`tools` is no list of names")),
            (
                "disallowedTools: {Bash: true}",
                Err("`disallowedTools` is no list of names"),
            ),
            (
                "disallowed_tools: Bash",
                Err("the field `disallowed_tools` is called `disallowedTools`"),
            ),
            ("Tools: Read", Err("the field `Tools` is called `tools`")),
            (
                "allowed-tools: Read",
                Err("the field `allowed-tools` is called `tools`"),
            ),
            ("tools: []", Ok(Some(Vec::new()))),
            ("disallowedTools: \"*\"", Ok(Some(Vec::new()))),
            ("tools: \"*\"", Ok(None)),
            ("tools:", Ok(None)),
        ] {
            assert_eq!(parsed(fields), expected.map_err(str::to_owned), "{fields}");
        }
        assert!(parsed("tools: [Read").is_err());
    }

    #[test]
    fn agents_of_claude_code_get_the_tools_that_osier_has() {
        let place = tempfile::TempDir::new().unwrap();
        let claude = place.path().join("claude");
        std::fs::create_dir_all(claude.join("agents")).unwrap();
        let write = |name: &str, text: &str| {
            let path = claude.join("agents").join(name);
            osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
        };
        let head = "---\nname: NAME\ndescription: d\n";
        let agent = |name: &str, fields: &str| {
            write(
                &format!("{name}.md"),
                &format!("{}{fields}---\nWork.\n", head.replace("NAME", name)),
            );
        };
        agent("all", "color: blue\nmodel: inherit\n");
        agent(
            "denied",
            "disallowedTools: Write, Edit, Bash, TodoWrite, LS, WebFetch, WebSearch\n",
        );
        agent("list", "tools:\n  - Read\n  - Bash(git log:*)\n");
        agent(
            "web",
            "tools: Read, Glob, Grep, WebFetch, mcp__x__y, Task\nmodel: sonnet\n",
        );
        let project = ProjectFiles::default();
        let (definitions, problems) = load(place.path(), Some(&claude), &project, &[]);
        let found: Vec<(&str, Option<String>, Option<&str>)> = definitions
            .iter()
            .map(|agent| {
                let tools = agent.tools.as_ref().map(|tools| tools.join(" "));
                (agent.name.as_str(), tools, agent.model.as_deref())
            })
            .collect();
        assert_eq!(
            found,
            [
                ("all", None, None),
                (
                    "denied",
                    Some("read grep find ask_user exit_plan_mode".into()),
                    None
                ),
                ("list", Some("read bash".into()), None),
                (
                    "web",
                    Some("read find grep web_fetch".into()),
                    Some("sonnet")
                ),
            ]
        );
        let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
        let path = claude.join("agents/web.md");
        assert_eq!(
            problems,
            [format!(
                "{}:4: subagents have no tool `mcp__x__y`; the agent works without it",
                path.display()
            )]
        );
    }

    #[test]
    fn every_name_of_claude_code_is_known() {
        for row in tools_of(ImportSource::Claude) {
            let (own, unknown) = own_names(&[row.name.to_owned()]);
            let known = BUILT_IN.iter().find(|known| known.name == row.ours);
            let is_offered =
                known.is_some_and(|known| known.effect != ToolEffect::Asks) && !row.is_part;
            let expected = if is_offered {
                vec![row.ours]
            } else {
                Vec::new()
            };
            assert_eq!(own, expected, "{row:?}");
            // A language server or a large project can add this tool, but subagents do not have it.
            let is_absent = known.is_none() && row.ours != SUBAGENT;
            assert_eq!(unknown.is_empty(), !is_absent, "{row:?}");
        }
    }
}
