//! Tests with programs of a project that has changed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use osier_base::atomic_file;

use crate::trust::ProgramUse;
use crate::trust::programs::ProjectPrograms;
use crate::trust::tests::examples::{ATTACKS, EDITS, EVERYDAY, STARTED, installed};
use crate::trust::tests::place::Place;

#[test]
fn a_program_that_could_load_changed_code_does_not_run() {
    let mut through = Vec::new();
    let place = installed();
    for (command, attacked) in ATTACKS {
        let files = place.remember([*attacked]);
        place.decide(true);
        let run = place.own_hook(command);
        let before = place.refused(&run);
        let path = place.project.join(attacked);
        place.put(attacked, "evil");
        if *attacked == ".git/hooks/pre-commit" {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        let reason = place.refused(&run).unwrap_or_default();
        if before.is_some() || !reason.contains("since you trusted the folder") {
            through.push(format!("{command}: {attacked}: {before:?} {reason}"));
        }
        Place::restore(files);
    }
    assert_eq!(through, Vec::<String>::new());
}

/// Before a change osier asks about nothing, and after ordinary work about at most one program in twenty.
#[test]
fn everyday_tools_and_hooks_run_unasked() {
    let place = installed();
    place.decide(true);
    let hooks = EVERYDAY
        .iter()
        .map(|(command, asks)| (place.own_hook(command), *asks));
    let started = STARTED.iter().map(|row| (place.started(*row), false));
    let all: Vec<_> = hooks.chain(started).collect();
    for (run, _) in &all {
        assert_eq!(place.refused(run), None, "{}", run.name);
    }
    for name in EDITS {
        place.put(name, "new");
    }
    let mut wrong = Vec::new();
    for (run, asks) in &all {
        let refused = place.refused(run);
        if refused.is_some() != *asks {
            wrong.push(format!("{}: {refused:?}", run.name));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let asked = all.iter().filter(|(_, asks)| *asks).count();
    assert!(asked * 20 <= all.len(), "{asked} of {}", all.len());
}

/// In a folder that the user does not trust, hooks of the user run unasked if they run nothing of the folder.
#[test]
fn hooks_of_the_user_run_in_every_folder() {
    let place = installed();
    for command in [
        "sed -i s/a/b/ src/main.js",
        "sed -i \"s/$A/$B/\" \"$F\"",
        "mkfifo p",
        "jq . | tee log",
        "my-notifier \"$MESSAGE\"",
        "HOME/guard.py",
        "HOME/log.sh",
        "HOME/own.py",
        "git status --short",
        "ruff format src",
        "notify-send \"$(basename \"$PWD\")\"",
    ] {
        let checked = place.programs().check(&place.own_hook(command));
        assert_eq!(checked, Ok(()), "{command}");
    }
    for command in [
        "HOME/format.sh",
        "npx prettier -w x",
        "make lint",
        "python3 scripts/guard.py",
    ] {
        assert!(
            place.refused(&place.own_hook(command)).is_some(),
            "{command}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of attacks")]
fn a_tool_of_the_project_runs_only_as_it_was_trusted() {
    let package = "node_modules/prettier/index.cjs";
    let compiler: &[&str] = &["tsconfig", "jsconfig"];
    for (program, tools, command, attacked, text) in [
        (
            "node_modules/.bin/prettier",
            &["prettier"][..],
            "",
            package,
            "2",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "node_modules/other/index.js",
            "2",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "node_modules/prettier.js",
            "2",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "src/.prettierrc",
            "plugins: [x]",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "prettier.config.mts",
            "{}",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "package.yaml",
            "prettier: x",
        ),
        (
            "node_modules/.bin/prettier",
            &["prettier"],
            "",
            "package.json",
            r#"{"prettier": {"plugins": ["./x.mjs"]}}"#,
        ),
        (
            "/usr/bin/prettier",
            &["prettier"],
            "",
            ".prettierrc",
            r#"{"parser": "./x"}"#,
        ),
        (
            "node_modules/.bin/pyright-langserver",
            &[],
            "'pyright-langserver' '--stdio'",
            "node_modules/.bin/pyright-langserver",
            "2",
        ),
        (
            "venv/bin/black",
            &[],
            "",
            "venv/lib/python3/site-packages/click.py",
            "2",
        ),
        (
            "/usr/bin/server",
            compiler,
            "'server'",
            "tsconfig.json",
            r#"{"plugins": []}"#,
        ),
        (
            "/usr/bin/server",
            compiler,
            "'server'",
            "src/tsconfig.app.json",
            r#"{"extends": "x"}"#,
        ),
        (
            "/usr/bin/server",
            &["svelte"],
            "'server'",
            "svelte.config.js",
            "2",
        ),
        ("/usr/bin/server", &["hie"], "'server'", "hie.yaml", "2"),
    ] {
        let place = installed();
        place.decide(true);
        let run = ProgramUse {
            cwd: place.project.join("src"),
            tools,
            command: command.to_owned(),
            ..place.program(&place.project.join(program))
        };
        let run = ProgramUse {
            cwd: if command.is_empty() {
                run.cwd
            } else {
                place.project.clone()
            },
            ..run
        };
        // Ordinary work follows.
        place.put("src/main.js", "2");
        place.put("src/index.ts", "2");
        assert_eq!(place.refused(&run), None, "{program}");
        place.put(attacked, text);
        let reason = place.refused(&run).unwrap_or_default();
        assert!(
            reason.contains("since you trusted the folder"),
            "{program}: {attacked}: {reason}"
        );
    }
}

/// Settings that could load any code.
const OPEN: [&str; 5] = [
    "an import map",
    "a map elsewhere",
    "its own name",
    "a name that is computed",
    "a template",
];

/// A formatter with plugins in the project, and the files with which the model can change the code that it runs.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of attacks")]
fn a_formatter_loads_no_code_that_was_changed() {
    let pretty = r#"{"prettier": {"plugins": ["./lib/p.mjs"]}}"#;
    let overrides =
        r#"{"prettier": {"overrides": [{"files": "*", "options": {"plugins": ["pp"]}}]}}"#;
    let large = format!(
        "{{\"x\": \"{}\", \"prettier\": {{\"plugins\": [\"pp\"]}}}}",
        "x".repeat(300_000)
    );
    let linked = "packages/pp/deep.js";
    let nearer = r#"{"prettier": {"plugins": ["./evil.mjs"]}}"#;
    // The files of the project, and the files that the model changes or adds.
    for (case, files, attacked) in [
        (
            "a plugin in `package.json`",
            &[("package.json", pretty)][..],
            "lib/p.mjs",
        ),
        (
            "what it imports",
            &[("package.json", pretty)],
            "lib/inner.mjs",
        ),
        ("a new `package.json`", &[], "src/package.json"),
        (
            "a new `package.yaml`",
            &[(".prettierrc", "{}")],
            "src/package.yaml",
        ),
        (
            "a new `.prettierrc.mts`",
            &[(".prettierrc", "{}")],
            "src/.prettierrc.mts",
        ),
        ("overrides", &[("package.json", overrides)], linked),
        ("a large manifest", &[("package.json", &large)], linked),
        (
            "a part of a linked package",
            &[(".prettierrc", "plugins: [pp/deep.js]")],
            linked,
        ),
        (
            "a shared configuration",
            &[("package.json", r#"{"prettier": "pp"}"#)],
            linked,
        ),
        (
            "a part of one",
            &[("package.json", r#"{"prettier": "pp/deep"}"#)],
            linked,
        ),
        (
            "what one loads",
            &[("package.json", r#"{"prettier": "pp"}"#)],
            "packages/other/x.js",
        ),
        (
            "an import map",
            &[(
                "package.json",
                r##"{"imports": {"#p": "./lib/p.mjs"}, "prettier": {"plugins": ["#p"]}}"##,
            )],
            "lib/p.mjs",
        ),
        (
            "a map elsewhere",
            &[
                ("package.json", r##"{"imports": {"#p": "./lib/p.mjs"}}"##),
                (".prettierrc", "{\"plugins\": [\"#p\"]}"),
            ],
            "lib/p.mjs",
        ),
        (
            "its own name",
            &[
                (
                    "package.json",
                    r#"{"name": "me", "exports": {"./p": "./lib/p.mjs"}}"#,
                ),
                (".prettierrc", "{\"plugins\": [\"me/p\"]}"),
            ],
            "lib/p.mjs",
        ),
        (
            "`require(\".\")`",
            &[
                ("lib/p.mjs", "require('.')"),
                ("package.json", pretty),
                ("lib/index.cjs", "1"),
            ],
            "lib/index.cjs",
        ),
        (
            "`require(\"..\")`",
            &[
                ("lib/p.mjs", "require('..')"),
                ("package.json", pretty),
                ("index.js", "1"),
            ],
            "index.js",
        ),
        (
            "a directory",
            &[
                ("lib/p.mjs", "import './deep'"),
                ("package.json", pretty),
                ("lib/deep/package.json", r#"{"main": "x"}"#),
                ("lib/deep/x.js", "1"),
            ],
            "lib/deep/x.js",
        ),
        (
            "a name that is computed",
            &[(
                "prettier.config.cjs",
                "module.exports = require(path.join(__dirname, 'lib', 'p'))",
            )],
            "lib/p.mjs",
        ),
        (
            "a template",
            &[(
                "prettier.config.cjs",
                "x = 'lib';\nrequire(`${__dirname}/p.mjs`)",
            )],
            "lib/p.mjs",
        ),
        (
            "what a plugin loads",
            &[
                (".prettierrc", "plugins: [prettier-plugin-toolcss]"),
                ("node_modules/prettier-plugin-toolcss/index.js", "1"),
            ],
            "tool.config.js",
        ),
        (
            "what a style sheet loads",
            &[
                (".prettierrc", "tailwindStylesheet: ./app.css"),
                ("app.css", "@plugin './lib/p.mjs'"),
            ],
            "lib/p.mjs",
        ),
        (
            "a plugin of prettier 2",
            &[(".prettierrc", "{}")],
            "node_modules/prettier-plugin-x/index.js",
        ),
        (
            "a file instead of a package",
            &[(".prettierrc", "plugins: [pp]")],
            "node_modules/pp.js",
        ),
        (
            "a nearer package",
            &[(".prettierrc", "plugins: [pp]")],
            "src/.prettierrc",
        ),
        (
            "a character that is not UTF-8",
            &[("prettier.config.cjs", "\u{feff}require('./lib/p.mjs')")],
            "lib/p.mjs",
        ),
    ] {
        let place = installed();
        place.put("lib/p.mjs", "import './inner.mjs'");
        place.put("lib/inner.mjs", "1");
        place.put("packages/pp/package.json", "{}");
        place.put("packages/pp/index.js", "require('../other/x')");
        place.put(linked, "1");
        place.put("packages/other/x.js", "1");
        place.link("../packages/pp", "node_modules/pp");
        place.put("src/main.js", "1");
        for (name, text) in files {
            place.write(name, text);
        }
        place.decide(true);
        let run = ProgramUse {
            cwd: place.project.join("src"),
            tools: &["prettier"],
            ..place.program(&place.project.join("node_modules/.bin/prettier"))
        };
        let check = || ProjectPrograms::new(place.trust.clone(), &place.project).check(&run);
        assert_eq!(check(), Ok(()), "{case}");
        // osier asks nothing after ordinary work, unless all code counts.
        place.put("README.md", "2");
        place.put("src/main.js", "2");
        let asks = check().is_err();
        let text = if attacked.ends_with("json") {
            nearer
        } else {
            "2"
        };
        place.put(attacked, text);
        let changed = check().expect_err(case);
        let is_named = changed.files.iter().any(|file| file == attacked);
        assert!(is_named, "{case}: {:?}", changed.files);
        assert!(!asks || OPEN.contains(&case), "{case}");
    }
}

/// A lane of `/fan` works in a copy of the project: its hooks run the files of the copy.
#[test]
fn a_copy_runs_only_what_the_project_runs() {
    let place = installed();
    place.decide(true);
    let copy = place.folder.path().join("copy");
    let put = |name: &str, text: &str| {
        let path = copy.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        atomic_file::write(&path, text.as_bytes()).unwrap();
    };
    for name in [
        "scripts/guard.py",
        "scripts/rules.py",
        "scripts/lint.js",
        "scripts/rules.js",
    ] {
        put(name, &fs::read_to_string(place.project.join(name)).unwrap());
    }
    let copy = copy.canonicalize().unwrap();
    let run = ProgramUse {
        copy: Some((copy.clone(), copy.clone())),
        ..place.hook("python3 scripts/guard.py")
    };
    assert_eq!(place.refused(&run), None);
    put("src/main.py", "new");
    assert_eq!(place.refused(&run), None);
    put("scripts/rules.py", "evil");
    let reason = place.refused(&run).unwrap();
    assert_eq!(
        reason,
        "could load code that has changed in this copy of the folder (`scripts/rules.py`)"
    );
    // The user can allow the program in the copy.
    let all = place.programs();
    all.allow(&all.check(&run).unwrap_err()).unwrap();
    assert_eq!(place.refused(&run), None);
    put("scripts/_json.py", "evil");
    assert!(place.refused(&run).is_some());
}

#[test]
fn a_link_to_another_program_is_a_change() {
    let place = installed();
    let linked = place.project.join("node_modules/.bin/prettier");
    place.put("tools/other.cjs", "1");
    place.decide(true);
    assert_eq!(place.check(&linked), Ok(()));
    fs::remove_file(&linked).unwrap();
    // A guard without its script fails, and a failure can let a call pass.
    assert!(place.check(&linked).is_err());
    place.link("../../tools/other.cjs", "node_modules/.bin/prettier");
    assert!(place.check(&linked).is_err());
    // The link can also lead out of the project.
    fs::remove_file(&linked).unwrap();
    let outside = place.folder.path().join("outside");
    atomic_file::write(&outside, b"1").unwrap();
    place.link(outside.to_str().unwrap(), "node_modules/.bin/prettier");
    assert!(place.check(&linked).is_err());
    assert_eq!(place.check(&outside), Ok(()));
}

#[test]
fn a_program_of_the_user_loads_its_own_modules() {
    let place = installed();
    place.decide(true);
    let folder = place.folder.path().join("server");
    let program = folder.join("node_modules/server/dist/index.js");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    let text = "#!/usr/bin/env node\nimport './args.js'\nimport 'zod'\n";
    atomic_file::write(&program, text.as_bytes()).unwrap();
    atomic_file::write(&program.with_file_name("args.js"), b"1").unwrap();
    let link = folder.join("node_modules/.bin/server");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink("../server/dist/index.js", &link).unwrap();
    for command in [
        format!("{} stdio", link.display()),
        format!("node {}", program.display()),
    ] {
        assert_eq!(place.refused(&place.own_hook(&command)), None, "{command}");
    }
}

#[test]
fn a_change_can_be_allowed_and_the_same_content_is_no_other_change() {
    let place = installed();
    place.decide(true);
    let run = place.hook("python3 scripts/lazy.py");
    let all = place.programs();
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "2");
    let changed = all.check(&run).unwrap_err();
    assert_eq!(changed.files, ["scripts/rules.py"]);
    assert_eq!(
        changed.reason,
        "could load code that has changed since you trusted the folder (`scripts/rules.py`)"
    );
    all.allow(&changed).unwrap();
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "2");
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "3");
    assert!(all.check(&run).is_err());
    // A new decision trusts the folder as it is now.
    place.decide(true);
    assert_eq!(all.check(&run), Ok(()));
}

#[test]
fn nothing_is_known_without_a_decision() {
    let place = installed();
    let linked = place.project.join("node_modules/.bin/prettier");
    let unknown = "runs code of this folder, which is not known as you trusted it";
    for decided in [None, Some(false)] {
        if let Some(trusted) = decided {
            place.decide(trusted);
        }
        assert_eq!(place.check(&linked), Err(unknown.to_owned()));
        assert_eq!(place.check(Path::new("/bin/sh")), Ok(()));
        assert_eq!(place.refused(&place.hook("jq . | tee log")), None);
    }
}
