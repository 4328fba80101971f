use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::files::{FILE_LIMIT, TOTAL_LIMIT};
use super::*;

struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self {
            folder: TempDir::new().unwrap(),
        };
        for (name, text) in files {
            place.write(name, text.as_bytes());
        }
        place
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        osier_base::atomic_file::write(&path, bytes).unwrap();
    }

    /// Loads the context for a session in `repo/src`.
    fn load(&self) -> ProjectContext {
        let root = self.folder.path();
        fs::create_dir_all(root.join("repo/src")).unwrap();
        ProjectContext::load(&ContextSources {
            config: root.join("config"),
            home: Some(root.join("home")),
            cwd: root.join("repo/src"),
            extra: Vec::new(),
        })
    }

    fn problems(&self, context: &ProjectContext) -> Vec<String> {
        let root = format!("{}/", self.folder.path().display());
        let shown = context.problems.iter().map(ToString::to_string);
        shown.map(|line| line.replace(&root, "")).collect()
    }

    fn relative(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.folder.path()).unwrap();
        path.to_string_lossy().into_owned()
    }
}

#[test]
fn instructions_are_read_from_the_global_folder_and_from_the_root_down() {
    let place = Fixture::new(&[
        ("AGENTS.md", "outside"),
        ("config/AGENTS.md", "global"),
        ("repo/.git/HEAD", "ref: refs/heads/main"),
        ("repo/AGENTS.md", "plain"),
        ("repo/AGENTS.override.md", "override"),
        ("repo/src/CLAUDE.md", "fallback"),
        ("repo/src/deeper/AGENTS.md", "not on the way"),
    ]);
    let context = place.load();
    let read: Vec<(String, &str)> = context
        .files
        .iter()
        .map(|file| (place.relative(&file.path), file.text.as_str()))
        .collect();
    assert_eq!(
        read,
        [
            ("config/AGENTS.md".to_owned(), "global"),
            ("repo/AGENTS.override.md".to_owned(), "override"),
            ("repo/src/CLAUDE.md".to_owned(), "fallback"),
        ]
    );
    assert_eq!(context.problems, []);
}

#[test]
fn named_files_come_last_without_duplicates() {
    let place = Fixture::new(&[("repo/src/AGENTS.md", "work"), ("notes/more.md", "more")]);
    let root = place.folder.path();
    fs::create_dir_all(root.join("empty")).unwrap();
    let context = ProjectContext::load(&ContextSources {
        config: root.join("config"),
        home: None,
        cwd: root.join("repo/src"),
        extra: vec![
            root.join("notes/more.md"),
            root.join("repo/src"),
            root.join("empty"),
        ],
    });
    let texts: Vec<&str> = context
        .files
        .iter()
        .map(|file| file.text.as_str())
        .collect();
    assert_eq!(texts, ["work", "more"]);
    assert_eq!(
        place.problems(&context),
        ["empty: contains no AGENTS.md; name a file with `--context`"]
    );
}

#[test]
fn long_and_unreadable_files_are_one_line_each() {
    let place = Fixture::new(&[("repo/.git/HEAD", "")]);
    place.write("config/AGENTS.md", &[0xff, 0xfe, b'a']);
    place.write("repo/AGENTS.md", "ä".repeat(FILE_LIMIT).as_bytes());
    place.write("repo/src/AGENTS.md", b"short");
    let context = place.load();
    let sizes: Vec<usize> = context.files.iter().map(|file| file.text.len()).collect();
    assert_eq!(sizes, [FILE_LIMIT, 5]);
    assert_eq!(
        place.problems(&context),
        [
            format!(
                "repo/AGENTS.md: has 65536 bytes; only the first 32768 are used; \
                 shorten it: the limits are {FILE_LIMIT} bytes per file and {TOTAL_LIMIT} in total"
            ),
            "config/AGENTS.md: is not UTF-8 text; it is ignored".to_owned(),
        ]
    );
}

#[test]
fn skills_are_found_in_every_folder_and_the_nearest_wins() {
    let skill = |name: &str, what: &str| {
        format!("---\nname: {name}\ndescription: {what}\n---\nBody of {what}.\n")
    };
    let place = Fixture::new(&[
        ("repo/.git/HEAD", ""),
        ("repo/.osier/skills/pdf/SKILL.md", &skill("pdf", "near")),
        (
            "repo/.agents/skills/group/tables/SKILL.md",
            &skill("tables", "tables"),
        ),
        (
            "repo/.claude/skills/notes/SKILL.md",
            &skill("notes", "notes"),
        ),
        ("config/skills/pdf/SKILL.md", &skill("pdf", "far")),
        ("home/.agents/skills/mail/SKILL.md", &skill("mail", "mail")),
        (
            "config/skills/full/SKILL.md",
            "---\nname: full\ndescription: all fields\nlicense: MIT\ncompatibility: needs git\n\
             metadata:\n  author: me\nallowed-tools: read bash\ndisable-model-invocation: true\n---\nBody\n",
        ),
    ]);
    let context = place.load();
    let found: Vec<(&str, String)> = context
        .skills
        .iter()
        .map(|skill| (skill.name.as_str(), place.relative(&skill.path)))
        .collect();
    assert_eq!(
        found,
        [
            ("full", "config/skills/full/SKILL.md".to_owned()),
            ("mail", "home/.agents/skills/mail/SKILL.md".to_owned()),
            ("notes", "repo/.claude/skills/notes/SKILL.md".to_owned()),
            ("pdf", "repo/.osier/skills/pdf/SKILL.md".to_owned()),
            (
                "tables",
                "repo/.agents/skills/group/tables/SKILL.md".to_owned()
            ),
        ]
    );
    let full = Skill {
        name: "full".into(),
        description: "all fields".into(),
        path: place.folder.path().join("config/skills/full/SKILL.md"),
        license: Some("MIT".into()),
        compatibility: Some("needs git".into()),
        metadata: vec![("author".into(), "me".into())],
        allowed_tools: vec!["read".into(), "bash".into()],
        model_invocable: false,
    };
    assert_eq!(context.skills[0], full);
    let prompt = context.prompt(true);
    assert!(prompt.contains("- pdf: near ("), "{prompt}");
    assert!(
        !prompt.contains("full") && !prompt.contains("Body"),
        "{prompt}"
    );
    assert_eq!(context.prompt(false), "");
    let called = context.expand("pdf", "page 3").unwrap().unwrap();
    assert!(
        called.starts_with("page 3\n\nFollow the skill `pdf` for this.\n\n<skill name=\"pdf\"")
    );
    assert!(called.ends_with("Body of near.\n</skill>"), "{called}");
    assert_eq!(
        context.expand("skill:pdf", "page 3").unwrap().unwrap(),
        called
    );
    assert!(context.expand("nothing", "").is_none());
}

#[test]
fn an_invalid_skill_is_reported_and_the_others_work() {
    let place = Fixture::new(&[
        (
            "config/skills/good/SKILL.md",
            "---\nname: good\ndescription: x\n---\n",
        ),
        ("config/skills/mute/SKILL.md", "---\nname: mute\n---\n"),
        (
            "config/skills/bad/SKILL.md",
            "---\nname: Bad Name\n!!\ndescription: x\n---\n",
        ),
        ("config/skills/open/SKILL.md", "---\nname: open\n"),
    ]);
    let context = place.load();
    let names: Vec<&str> = context
        .skills
        .iter()
        .map(|skill| skill.name.as_str())
        .collect();
    assert_eq!(names, ["bad", "good"]);
    assert_eq!(
        place.problems(&context),
        [
            "config/skills/bad/SKILL.md:3: `!!` is not `name: value`; the line is ignored",
            "config/skills/bad/SKILL.md:2: invalid name `Bad Name` for the skill in `bad`; \
             use a-z, 0-9 and single hyphens, and the name of the folder",
            "config/skills/mute/SKILL.md:1: the skill has no description; \
             add a `description:` that says what it does and when to use it",
            "config/skills/open/SKILL.md:1: the front matter has no closing `---`; the line is ignored",
            "config/skills/open/SKILL.md:1: the skill has no description; \
             add a `description:` that says what it does and when to use it",
        ]
    );
}

#[test]
fn templates_are_commands_with_a_cost() {
    let place = Fixture::new(&[
        ("repo/.git/HEAD", ""),
        (
            "repo/.osier/prompts/review.md",
            "---\ndescription: review a file\nargument-hint: FILE\n---\nReview $1 with care.\n",
        ),
        ("config/prompts/review.md", "the user's"),
        ("config/prompts/git/amend.md", "# Amend it\n\nAmend."),
        ("config/AGENTS.md", "Be brief."),
    ]);
    let context = place.load();
    let command = |name: &str, argument: &str, description: &str| AddedCommand {
        name: name.into(),
        argument: argument.into(),
        description: description.into(),
        origin: "prompt".into(),
        values: Vec::new(),
    };
    assert_eq!(
        context.commands(),
        [
            command("git:amend", "", "Amend it"),
            command("review", "FILE", "review a file"),
        ]
    );
    assert_eq!(
        context.expand("review", "a.rs").unwrap().unwrap(),
        "Review a.rs with care."
    );
    let costs: Vec<(PartKind, String, u64, bool)> = context
        .parts()
        .into_iter()
        .map(|part| (part.kind, part.name, part.tokens, part.call_tokens > 0))
        .collect();
    assert_eq!(
        costs,
        [
            (PartKind::File, "AGENTS.md".to_owned(), 3, false),
            (PartKind::Template, "git:amend".to_owned(), 0, true),
            (PartKind::Template, "review".to_owned(), 0, true),
        ]
    );
}

#[test]
fn only_a_name_after_the_slash_is_a_command() {
    assert_eq!(slash_parts("/review a b"), Some(("review", "a b")));
    assert_eq!(slash_parts("/review"), Some(("review", "")));
    assert_eq!(slash_parts("/etc/hosts looks odd"), None);
    assert_eq!(slash_parts("/ x"), None);
}
