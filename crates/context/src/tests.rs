use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::files::{FILE_LIMIT, TOTAL_LIMIT};
use super::skill::Skill;
use super::*;
use osier_peers::commands::{Expansion, Placeholders};
use osier_protocol::{AddedCommand, PartKind};
use std::collections::BTreeMap;

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
        fs::create_dir_all(self.folder.path().join("repo/src")).unwrap();
        ProjectContext::load(&self.sources())
    }

    fn sources(&self) -> ContextSources {
        let root = self.folder.path();
        ContextSources {
            config: root.join("config"),
            peers: Some(osier_peers::PeerFolders::new(
                &root.join("home"),
                &BTreeMap::default(),
            )),
            cwd: root.join("repo/src"),
            extra: Vec::new(),
        }
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

fn expand(context: &ProjectContext, name: &str, arguments: &str) -> String {
    let expansion = context.expand(name, arguments, &Placeholders::default());
    expansion.unwrap().unwrap().text
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
        peers: None,
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
            "config/AGENTS.md: is not UTF-8 text; it is ignored".to_owned(),
            format!(
                "repo/AGENTS.md: has 65536 bytes; only the first 32768 are used; \
                 shorten it: the limits are {FILE_LIMIT} bytes per file and {TOTAL_LIMIT} in total"
            ),
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
        user_invocable: true,
        of_project: false,
        is_claude: false,
    };
    assert_eq!(context.skills[0], full);
    let prompt = context.prompt(true);
    assert!(prompt.contains("- pdf: near ("), "{prompt}");
    assert!(
        !prompt.contains("full") && !prompt.contains("Body"),
        "{prompt}"
    );
    assert_eq!(context.prompt(false), "");
    let called = expand(&context, "pdf", "page 3");
    assert!(
        called.starts_with("page 3\n\nFollow the skill `pdf` for this.\n\n<skill name=\"pdf\"")
    );
    assert!(called.ends_with("Body of near.\n</skill>"), "{called}");
    assert_eq!(expand(&context, "skill:pdf", "page 3"), called);
    assert!(
        context
            .expand("nothing", "", &Placeholders::default())
            .is_none()
    );
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
        aliases: Vec::new(),
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
    assert_eq!(expand(&context, "review", "a.rs"), "Review a.rs with care.");
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

/// The order is the same as in Claude Code 2.1.331 for these files, without the imports that lead
/// out of the project.
#[test]
fn files_of_claude_code_are_read_with_their_imports() {
    let place = Fixture::new(&[
        ("home/.claude/CLAUDE.md", "user claude @more.md"),
        ("home/.claude/more.md", "more @~/own.md"),
        ("home/.claude/rules/u.md", "user rule"),
        ("home/own.md", "own"),
        ("repo/.git/HEAD", ""),
        (
            "repo/CLAUDE.md",
            "Project @sub/imp.md `@sub/code.md` x@y.z @../outside.md @~/own.md",
        ),
        ("repo/sub/imp.md", "imported @imp2.md"),
        ("repo/sub/imp2.md", "imported2 @imp.md @nothing.md"),
        ("repo/sub/code.md", "code"),
        ("outside.md", "outside"),
        ("repo/.claude/CLAUDE.md", "dotclaude"),
        ("repo/.claude/rules/plain.md", "plain rule"),
        (
            "repo/.claude/rules/ts.md",
            "---\npaths:\n  - \"**/*.ts\"\n---\nts rule\n",
        ),
        ("repo/CLAUDE.local.md", "local text"),
    ]);
    let context = place.load();
    let read: Vec<String> = context
        .files
        .iter()
        .map(|file| place.relative(&file.path))
        .collect();
    assert_eq!(
        read,
        [
            "home/.claude/CLAUDE.md",
            "home/.claude/more.md",
            "home/own.md",
            "home/.claude/rules/u.md",
            "repo/CLAUDE.md",
            "repo/sub/imp.md",
            "repo/sub/imp2.md",
            "repo/.claude/CLAUDE.md",
            "repo/.claude/rules/plain.md",
            "repo/CLAUDE.local.md",
        ]
    );
    let hint = "it is ignored; use `--context`, or import it in your own instructions";
    let root = format!("{}/", place.folder.path().display());
    let problems: Vec<String> = place.problems(&context);
    assert_eq!(
        problems,
        [format!(
            "repo/CLAUDE.md: the import of `repo/../outside.md` leads out of the project; {hint}"
        )]
    );
    assert!(!context.prompt(true).contains(&format!("{root}outside")));
}

#[test]
fn imports_end_after_five_levels() {
    let files: Vec<(String, String)> = (0..8)
        .map(|number| (format!("repo/{number}.md"), format!("@{}.md", number + 1)))
        .collect();
    let mut all = vec![("repo/.git/HEAD", ""), ("repo/CLAUDE.md", "@0.md")];
    all.extend(files.iter().map(|(name, text)| (&**name, &**text)));
    let place = Fixture::new(&all);
    let context = place.load();
    assert_eq!(context.files.len(), 6);
    assert_eq!(
        place.problems(&context),
        ["repo/4.md: the import of `repo/5.md` is ignored; the limits are 5 levels and 100 files"]
    );
}

#[test]
fn without_own_instructions_the_first_of_another_agent_is_used() {
    let read = |files: &[(&str, &str)]| {
        let place = Fixture::new(files);
        let context = place.load();
        let paths = context.files.iter().map(|file| place.relative(&file.path));
        paths.collect::<Vec<_>>()
    };
    let codex = ("home/.codex/AGENTS.md", "codex");
    let pi = ("home/.pi/agent/AGENTS.md", "pi");
    let gemini = ("home/.gemini/GEMINI.md", "gemini");
    assert_eq!(read(&[codex, pi, gemini]), ["home/.codex/AGENTS.md"]);
    assert_eq!(read(&[pi, gemini]), ["home/.pi/agent/AGENTS.md"]);
    assert_eq!(read(&[gemini]), ["home/.gemini/GEMINI.md"]);
    assert_eq!(
        read(&[("config/AGENTS.md", "own"), codex, pi]),
        ["config/AGENTS.md"]
    );
}

#[test]
fn instructions_of_gemini_and_copilot_are_read_where_there_are_no_others() {
    let place = Fixture::new(&[
        ("repo/.git/HEAD", ""),
        ("repo/.github/copilot-instructions.md", "copilot @x.md"),
        ("repo/.github/x.md", "no import"),
        (
            "repo/.github/instructions/all.instructions.md",
            "---\napplyTo: \"**\"\n---\nall",
        ),
        ("repo/src/GEMINI.md", "gemini @./part.md"),
        ("repo/src/part.md", "part"),
    ]);
    let context = place.load();
    let texts: Vec<&str> = context
        .files
        .iter()
        .map(|file| file.text.as_str())
        .collect();
    assert_eq!(texts, ["copilot @x.md", "all", "gemini @./part.md", "part"]);
    assert_eq!(context.problems, []);
}

#[test]
fn instructions_for_a_path_are_found_once_when_work_moves_there() {
    let place = Fixture::new(&[
        ("repo/.git/HEAD", ""),
        ("repo/AGENTS.md", "root"),
        (
            "repo/.claude/rules/ts.md",
            "---\npaths: [\"lib/**/*.{ts,tsx}\"]\n---\nts rule\n",
        ),
        ("repo/lib/AGENTS.md", "lib"),
        ("repo/lib/deep/CLAUDE.md", "deep @note.md"),
        ("repo/lib/deep/note.md", "note"),
        ("repo/src/inner/AGENTS.md", "inner"),
        ("other/AGENTS.md", "other"),
    ]);
    let context = place.load();
    let sources = place.sources();
    let mut paths = PathInstructions::new(&sources, &context);
    let mut found = |file: &str| {
        let (files, problems) = paths.for_file(&place.folder.path().join(file));
        assert_eq!(problems, []);
        files.into_iter().map(|file| file.text).collect::<Vec<_>>()
    };
    assert_eq!(found("repo/README.md"), [""; 0]);
    assert_eq!(
        found("repo/lib/deep/x.tsx"),
        ["lib", "deep @note.md", "note", "ts rule\n"]
    );
    assert_eq!(found("repo/lib/deep/y.ts"), [""; 0]);
    assert_eq!(found("repo/src/inner/a.rs"), ["inner"]);
    assert_eq!(found("other/x.rs"), [""; 0]);
    assert_eq!(found("repo/src/../../other/x.rs"), [""; 0]);
}

#[test]
fn commands_and_skills_of_claude_code_have_their_placeholders() {
    let place = Fixture::new(&[
        ("repo/.git/HEAD", ""),
        (
            "repo/.claude/commands/fix.md",
            "---\nmodel: sonnet\nallowed-tools: Bash(git log:*)\n---\nFix $0: !`git log -1 $1`\n",
        ),
        ("home/.claude/commands/mine.md", "Mine $0."),
        ("repo/.osier/prompts/own.md", "Own $1."),
        (
            "repo/.claude/skills/tool/SKILL.md",
            "---\nname: tool\ndescription: d\n---\nRun ${CLAUDE_SKILL_DIR}/x $0\n",
        ),
        (
            "repo/.claude/skills/hidden/SKILL.md",
            "---\nname: hidden\ndescription: d\nuser-invocable: false\n---\nx\n",
        ),
    ]);
    let context = place.load();
    let root = place.folder.path();
    let fix = context
        .expand("fix", "a b", &Placeholders::default())
        .unwrap()
        .unwrap();
    let expected = Expansion {
        text: "Fix a: !`git log -1 $1`".to_owned(),
        commands: vec![osier_peers::commands::EmbeddedCommand {
            range: 7..23,
            command: "git log -1 b".to_owned(),
        }],
        mentions: Vec::new(),
        model: Some("sonnet".to_owned()),
        allowed_tools: vec!["Bash(git log:*)".to_owned()],
        path: root.join("repo/.claude/commands/fix.md"),
        of_project: true,
    };
    assert_eq!(fix, expected);
    assert_eq!(expand(&context, "mine", "a b"), "Mine a.");
    assert_eq!(expand(&context, "own", "a b"), "Own a.");
    let skill = root.join("repo/.claude/skills/tool");
    assert_eq!(
        expand(&context, "tool", "fast"),
        format!(
            "Follow the skill `tool`.\n\n<skill name=\"tool\" path=\"{0}/SKILL.md\">\nRun {0}/x fast\n</skill>",
            skill.display()
        )
    );
    assert!(
        context
            .expand("hidden", "", &Placeholders::default())
            .is_none()
    );
    let commands = context.commands();
    let names: Vec<&str> = commands.iter().map(|command| &*command.name).collect();
    assert_eq!(names, ["fix", "mine", "own", "tool"]);
}

#[test]
fn instructions_of_parents_start_at_the_root_of_any_repository_or_at_the_home() {
    let place = Fixture::new(&[
        ("home/AGENTS.md", "of home"),
        ("home/.claude/rules/all.md", "a rule of the user"),
        ("home/a/AGENTS.md", "of a"),
        ("home/a/b/CLAUDE.md", "of b"),
        ("AGENTS.md", "above home"),
        ("other/AGENTS.md", "of others"),
        ("other/c/AGENTS.md", "of c"),
    ]);
    let names = |cwd: &str| {
        let sources = ContextSources {
            cwd: place.folder.path().join(cwd),
            ..place.sources()
        };
        let context = ProjectContext::load(&sources);
        let files = context.files.iter();
        files
            .map(|file| place.relative(&file.path))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names("home/a/b"),
        ["home/AGENTS.md", "home/a/AGENTS.md", "home/a/b/CLAUDE.md"]
    );
    assert_eq!(names("other/c"), ["other/c/AGENTS.md"]);
    for mark in [".jj", ".hg", ".svn", ".fslckout"] {
        let mark = format!("home/a/{mark}");
        place.write(&mark, b"");
        assert_eq!(
            names("home/a/b"),
            ["home/a/AGENTS.md", "home/a/b/CLAUDE.md"],
            "{mark}"
        );
        fs::remove_file(place.folder.path().join(mark)).unwrap();
    }
}

#[test]
fn a_link_that_was_checked_out_as_text_does_not_hide_its_file() {
    let place = Fixture::new(&[
        ("repo/.git/HEAD", ""),
        ("repo/AGENTS.md", "docs/RULES.md"),
        ("repo/docs/RULES.md", "rules"),
        ("repo/sub/AGENTS.md", "no file of this name"),
    ]);
    let context = place.load();
    let texts: Vec<&str> = context.files.iter().map(|file| &*file.text).collect();
    assert_eq!(texts, ["rules"]);
}
