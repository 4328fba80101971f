//! Programs of projects that were changed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use osier_base::atomic_file;
use osier_base::folders::Folders;

use super::programs::ProjectPrograms;
use super::{ProgramUse, ProjectFiles, Trust};

struct Place {
    folder: tempfile::TempDir,
    trust: Trust,
    project: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trust = Trust::new(&Folders::under(&folder.path().join("home")));
        let project = folder.path().join("project");
        fs::create_dir_all(&project).unwrap();
        let project = project.canonicalize().unwrap();
        Self {
            folder,
            trust,
            project,
        }
    }

    /// A file before a decision.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        path
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // The system's clock for files is coarse: the change is later than what happened before.
        loop {
            let before = std::time::SystemTime::now();
            let mut file = fs::File::create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            if path.metadata().unwrap().modified().unwrap() >= before {
                return path;
            }
        }
    }

    fn link(&self, target: &str, name: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, &path).unwrap();
        path
    }

    fn decide(&self, trusted: bool) {
        let files = ProjectFiles::read(&self.project);
        self.trust.decide(&files, trusted).unwrap();
    }

    fn program(&self, program: &Path) -> ProgramUse {
        ProgramUse {
            name: program.display().to_string(),
            cwd: self.project.clone(),
            files: vec![program.to_owned()],
            ..ProgramUse::default()
        }
    }

    fn check(&self, program: &Path) -> Result<(), String> {
        let programs = ProjectPrograms::new(self.trust.clone(), &self.project);
        let checked = programs.check(&self.program(program));
        checked.map_err(|changed| changed.reason)
    }
}

/// The files of a project whose formatter, language server and hook are attacked.
fn installed() -> (Place, Vec<PathBuf>) {
    let place = Place::new();
    place.write(
        "node_modules/prettier/bin/prettier.cjs",
        "#!/usr/bin/env node\n",
    );
    place.write("node_modules/prettier/index.cjs", "1");
    place.write(
        "node_modules/prettier/package.json",
        r#"{"dependencies": {"@x/deep": "1"}}"#,
    );
    place.write("node_modules/.pnpm/deep/node_modules/@x/deep/index.js", "1");
    place.link("../.pnpm/deep/node_modules/@x/deep", "node_modules/@x/deep");
    place.write("lib/plugin.mjs", "1");
    place.write("lib/inner.mjs", "1");
    place.write("lib/plugin.mjs", "import x from './inner.mjs'");
    place.write("venv/pyvenv.cfg", "");
    place.write("venv/lib/python3/site-packages/black/__init__.py", "1");
    place.write(
        "venv/lib/python3/site-packages/black/__pycache__/x.pyc",
        "1",
    );
    place.write("venv/bin/python", "1");
    place.write(".claude/hooks/helper.py", "1");
    place.write("scripts/lib.sh", "1");
    let linked = place.link("../prettier/bin/prettier.cjs", "node_modules/.bin/prettier");
    let wrapper = "#!/bin/sh\nexec node \"$basedir/../prettier/bin/prettier.cjs\" \"$@\"\n";
    let programs = vec![
        linked,
        place.write("node_modules/.bin/wrapped", wrapper),
        place.write(
            "prettier.config.mjs",
            "export default {plugins: [\"./lib/plugin.mjs\"]}",
        ),
        place.write("venv/bin/black", "#!venv/bin/python\nimport black\n"),
        place.write(
            ".claude/hooks/check.py",
            "#!/usr/bin/env python3\nimport helper\n",
        ),
        place.write("scripts/check.sh", "#!/bin/sh\n. ./lib.sh\nnpx prettier\n"),
    ];
    (place, programs)
}

#[test]
fn a_program_runs_only_as_it_was_trusted() {
    let package = "node_modules/prettier/index.cjs";
    let dependency = "node_modules/.pnpm/deep/node_modules/@x/deep/index.js";
    let attacks: &[(usize, &[&str])] = &[
        (
            0,
            &[
                "node_modules/prettier/bin/prettier.cjs",
                package,
                dependency,
                "node_modules/prettier/new.js",
            ],
        ),
        (1, &["node_modules/.bin/wrapped", package, dependency]),
        (
            2,
            &["prettier.config.mjs", "lib/plugin.mjs", "lib/inner.mjs"],
        ),
        (
            3,
            &[
                "venv/bin/black",
                "venv/bin/click.py",
                "venv/lib/python3/site-packages/evil.pth",
            ],
        ),
        (
            4,
            &[
                ".claude/hooks/check.py",
                ".claude/hooks/helper.py",
                ".claude/hooks/json.py",
            ],
        ),
        (5, &["scripts/check.sh", "scripts/lib.sh", package]),
    ];
    // The program ran before the attack, or did not.
    let (place, programs) = installed();
    for ran in [true, false] {
        for (number, files) in attacks {
            for file in *files {
                let program = &programs[*number];
                place.decide(true);
                if ran {
                    assert_eq!(place.check(program), Ok(()), "{file}");
                }
                let before = fs::read_to_string(place.project.join(file)).ok();
                let attacked = place.put(file, "evil");
                let reason = place.check(program).expect_err(file);
                let expected = "has changed since you trusted the folder";
                assert!(reason.starts_with(expected), "{file}: {reason}");
                match before {
                    Some(text) => drop(place.put(file, &text)),
                    None => fs::remove_file(attacked).unwrap(),
                }
            }
        }
    }
}

#[test]
fn a_link_to_another_program_is_a_change() {
    let (place, programs) = installed();
    place.put("tools/other.cjs", "1");
    place.decide(true);
    assert_eq!(place.check(&programs[0]), Ok(()));
    fs::remove_file(&programs[0]).unwrap();
    // Without its script, a guard would fail, and some failures pass.
    assert!(place.check(&programs[0]).is_err());
    place.link("../../tools/other.cjs", "node_modules/.bin/prettier");
    assert!(place.check(&programs[0]).is_err());
    // Also a link that leads out of the project.
    fs::remove_file(&programs[0]).unwrap();
    let outside = place.folder.path().join("outside");
    atomic_file::write(&outside, b"1").unwrap();
    place.link(outside.to_str().unwrap(), "node_modules/.bin/prettier");
    assert!(place.check(&programs[0]).is_err());
    assert_eq!(place.check(&outside), Ok(()));
}

#[test]
fn what_does_not_run_changes_nothing() {
    let (place, programs) = installed();
    place.decide(true);
    place.put("src/main.js", "new");
    place.put("node_modules/other/index.js", "new");
    place.put(
        "venv/lib/python3/site-packages/black/__pycache__/y.pyc",
        "new",
    );
    for program in &programs {
        assert_eq!(place.check(program), Ok(()), "{}", program.display());
    }
}

/// A formatter with plugins that lie in the project, and the files with which the model can change what it runs.
#[allow(clippy::too_many_lines, reason = "a table of attacks")]
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
    // The files of the project, and the file that the model changes or adds.
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
        let (place, _) = installed();
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
        // Ordinary work asks nothing.
        place.put("src/main.js", "2");
        place.put("src/index.js", "2");
        place.put("README.md", "2");
        place.put("src/sub/package.json", nearer);
        assert_eq!(check(), Ok(()), "{case}");
        place.put(
            attacked,
            if attacked.ends_with("json") {
                nearer
            } else {
                "2"
            },
        );
        let changed = check().expect_err(case);
        // A new folder has changed, too.
        let folder = Path::new(attacked).parent().unwrap().display();
        let names = [attacked.to_owned(), folder.to_string()].map(|name| format!("(`{name}`)"));
        let reason = changed.reason;
        assert!(
            names.iter().any(|name| reason.ends_with(name)),
            "{case}: {reason}"
        );
    }
}

/// Ordinary changes of a manifest and a plain configuration.
#[test]
fn a_plain_configuration_asks_nothing() {
    let (place, programs) = installed();
    place.decide(true);
    let plain = r#"{"dependencies": {"x": "1"}, "prettier": {"semi": false, "overrides": [
        {"files": "*.md", "options": {"proseWrap": "always"}}]}}"#;
    place.put("package.json", plain);
    let run = ProgramUse {
        cwd: place.project.join("src"),
        tools: &["prettier"],
        ..place.program(&programs[0])
    };
    let all = ProjectPrograms::new(place.trust.clone(), &place.project);
    assert_eq!(all.check(&run), Ok(()));
    for unknown in [
        r#"{"prettier": {"pluginSearchDirs": ["."]}}"#,
        r#"{"prettier": {"parser": "./x"}}"#,
        r#"{"prettier": "x"}"#,
        r#"{"prettier": {"semi": true}, "number": 1e999}"#,
        "\u{feff}{}",
    ] {
        place.put("package.json", unknown);
        assert!(all.check(&run).is_err(), "{unknown}");
    }
}

/// The compiler of a language server loads plugins that are packages.
#[test]
fn a_language_server_loads_no_plug_in_that_was_changed() {
    let plugin = r#"{"compilerOptions": {"plugins": [{"name": "pp"}], "outDir": "./src"}}"#;
    for (attacked, text) in [
        ("packages/pp/index.js", "2"),
        (
            "tsconfig.json",
            r#"{"compilerOptions": {"plugins": [{"name": "qq"}]}}"#,
        ),
        ("src/deep/tsconfig.app.json", plugin),
        (
            "src/jsconfig.json",
            r#"{"compilerOptions": {"plugin\u0073": []}}"#,
        ),
    ] {
        let (place, _) = installed();
        place.put("packages/pp/index.js", "1");
        place.link("../packages/pp", "node_modules/pp");
        place.put("tsconfig.json", plugin);
        place.decide(true);
        let run = ProgramUse {
            command: "'server' '--stdio'".to_owned(),
            tools: &["tsconfig", "jsconfig"],
            ..place.program(Path::new("/usr/bin/server"))
        };
        let check = || ProjectPrograms::new(place.trust.clone(), &place.project).check(&run);
        place.put("src/index.ts", "2");
        place.put(
            "src/tsconfig.json",
            r#"{"compilerOptions": {"strict": true}}"#,
        );
        assert_eq!(check(), Ok(()), "{attacked}");
        place.put(attacked, text);
        let changed = check().expect_err(attacked);
        assert!(changed.reason.contains(attacked), "{}", changed.reason);
    }
}

/// Commands of hooks and of servers, and the file that they run.
#[allow(clippy::too_many_lines, reason = "a table of attacks")]
#[test]
fn a_command_runs_no_file_that_was_changed() {
    for (command, attacked) in [
        ("npm run -s lint", "scripts/lint.js"),
        ("npm run -s lint", "scripts/prelint.js"),
        ("npm run -s all", "scripts/lint.js"),
        ("npm run -s lint", "package.json"),
        ("npm run -s lint", ".npmrc"),
        ("yarn fix", "node_modules/prettier/index.cjs"),
        ("make -s chk", "Makefile"),
        ("make -s chk", "tools/chk.py"),
        ("make -s chk", "rules.mk"),
        ("make -Csub chk", "sub/Makefile"),
        ("make -C sub chk", "sub/check.sh"),
        ("python3 -m tools.chk", "tools/chk.py"),
        ("python3 -m tools.chk", "tools/__init__.py"),
        ("python3 -m tools.chk", "tools/helper.py"),
        ("python3 -m tools.chk", "tools/signal.py"),
        ("python3 -m tools.chk", "json.py"),
        ("python3 -m tools", "tools/__main__.py"),
        ("python3 tools/chk.py", "tools/signal/__init__.py"),
        ("python3 tools/chk.py", "tools/parts/one.py"),
        ("cd scripts && ./run", "scripts/run"),
        ("cd scripts && ./run", "scripts/lib.sh"),
        ("cd scripts\n./run", "scripts/run"),
        ("pushd scripts; sh run", "scripts/run"),
        ("\"$CLAUDE_PROJECT_DIR\"/scripts/run", "scripts/run"),
        ("${OSIER_PROJECT_DIR}/scripts/run", "scripts/run"),
        (
            "$(git rev-parse --show-toplevel)/scripts/run",
            "scripts/run",
        ),
        ("sh -c \"A=1 ./scripts/run;true\"", "scripts/run"),
        ("eval \"$(cat scripts/command.txt)\"", "scripts/command.txt"),
        ("for f in hooks.d/*; do . $f; done", "hooks.d/new.sh"),
        ("'a b/check.sh' x", "a b/check.sh"),
        ("go run ./tools/gen", "tools/gen/main.go"),
        ("node --require=./scripts/lint.js x", "scripts/lint.js"),
        ("'node' './server.js'", "server.js"),
        ("'node' './server.js'", "server/part.js"),
        ("'PYTHONPATH=tools' 'python3' '-m' 'chk'", "tools/chk.py"),
        ("npx prettier -w x", "src/deep/prettier.config.js"),
        ("npm run -s lint", ".tool-versions"),
        ("npm -w app run lint", "packages/app/tool.js"),
        ("pnpm -r lint", "packages/app/package.json"),
        ("uv run chk", "tools/chk.py"),
        ("uv run chk", "venv/bin/chk"),
        ("python3 -c 'import chk'", "chk.py"),
        ("python3 -c 'import json'", "signal.py"),
        ("run-parts hooks.d", "hooks.d/new.sh"),
        ("node all.js", "rules/new.js"),
        ("make -f rules.mk", "parts/new.mk"),
        ("stylelint src", "stylelint.config.js"),
        ("stylelint src", ".stylelintrc.json"),
        ("npx prettier -w x", "node_modules/prettier/index.cjs"),
    ] {
        let (place, _) = installed();
        for (name, text) in [
            (
                "package.json",
                r#"{"scripts": {"all": "npm run lint", "lint": "node scripts/lint", "prelint": "node ./scripts/prelint.js", "fix": "prettier -w .", "start": "node src/main.js"}}"#,
            ),
            (".npmrc", ""),
            (
                "packages/app/package.json",
                r#"{"scripts": {"lint": "./tool.js"}}"#,
            ),
            ("packages/app/tool.js", "1"),
            (
                "venv/bin/chk",
                "#!venv/bin/python\nfrom tools.chk import main\n",
            ),
            (
                "all.js",
                "for (const name of fs.readdirSync(path.join(__dirname, 'rules'))) require(name)",
            ),
            ("rules/old.js", "1"),
            ("scripts/lint.js", "1"),
            ("scripts/prelint.js", "1"),
            (
                "Makefile",
                "include rules.mk\nchk:\n\tpython3 tools/chk.py\n",
            ),
            ("rules.mk", "-include parts/*.mk\n"),
            ("parts/old.mk", ""),
            ("sub/Makefile", "chk:\n\t./check.sh\n"),
            ("sub/check.sh", "1"),
            ("tools/__init__.py", ""),
            ("tools/__main__.py", ""),
            (
                "tools/chk.py",
                "import json\nfrom . import helper\nfrom parts import (\n    one,\n)\n",
            ),
            ("tools/helper.py", "1"),
            ("tools/parts/one.py", "1"),
            ("tools/gen/main.go", "1"),
            ("scripts/run", "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\n"),
            ("scripts/lib.sh", "1"),
            ("scripts/command.txt", "1"),
            ("hooks.d/old.sh", "1"),
            ("a b/check.sh", "1"),
            ("server.js", "import './server/part.js'"),
            ("server/part.js", "1"),
        ] {
            place.write(name, text);
        }
        let runnable = place.project.join("scripts/run");
        fs::set_permissions(runnable, fs::Permissions::from_mode(0o755)).unwrap();
        place.decide(true);
        let run = ProgramUse {
            name: command.to_owned(),
            cwd: place.project.clone(),
            command: command.to_owned(),
            ..ProgramUse::default()
        };
        let check = || ProjectPrograms::new(place.trust.clone(), &place.project).check(&run);
        for ordinary in ["src/main.js", "src/index.js", "src/test.py", "README.md"] {
            place.put(ordinary, "new");
        }
        assert_eq!(check(), Ok(()), "{command}");
        place.put(attacked, "new");
        let changed = check().expect_err(command);
        let expected = format!("(`{attacked}`)");
        assert!(
            changed.reason.ends_with(&expected),
            "{command}: {}",
            changed.reason
        );
    }
}

/// Commands that run nothing of the project, also if they name files of it.
#[test]
fn an_ordinary_command_asks_nothing() {
    let (place, _) = installed();
    place.put("check.sh", "#!/bin/sh\n# The main file of src\nfile=$(jq -r .tool_input.file_path)\ncase $file in src/*.ts) npx prettier $file;; esac\n");
    place.put(
        "package.json",
        r#"{"scripts": {"lint": "eslint src", "build": "node build.js"}, "main": "src/main.js"}"#,
    );
    place.decide(true);
    for ordinary in [
        "src/main.js",
        "src/main.ts",
        "src/index.ts",
        "main.py",
        "config.js",
        "build.js",
        "README.md",
        "ran",
        "made",
        "log",
        "log.txt",
    ] {
        place.put(ordinary, "new");
    }
    for command in [
        "cargo test",
        "touch ran; tee made; test -f \"$CLAUDE_PROJECT_DIR/ran\"",
        "cat >> log.txt; cat > 'log'",
        "./check.sh",
        "npm run lint",
        "grep -q x README.md",
        "jq . /etc/passwd",
        "npx prettier --check src",
    ] {
        let run = ProgramUse {
            name: command.to_owned(),
            cwd: place.project.clone(),
            command: command.to_owned(),
            ..ProgramUse::default()
        };
        let all = ProjectPrograms::new(place.trust.clone(), &place.project);
        assert_eq!(all.check(&run), Ok(()), "{command}");
    }
}

#[test]
fn the_same_content_is_no_change_and_a_changed_one_can_be_allowed() {
    let (place, programs) = installed();
    place.decide(true);
    assert_eq!(place.check(&programs[0]), Ok(()));
    let package = "node_modules/prettier/index.cjs";
    place.put(package, "1");
    assert_eq!(place.check(&programs[0]), Ok(()));
    place.put(package, "2");
    let all = ProjectPrograms::new(place.trust.clone(), &place.project);
    let run = place.program(&programs[0]);
    let changed = all.check(&run).unwrap_err();
    all.allow(&changed).unwrap();
    assert_eq!(all.check(&run), Ok(()));
    place.put(package, "3");
    assert!(all.check(&run).is_err());
    // A new decision is about the folder as it is.
    place.decide(true);
    assert_eq!(all.check(&run), Ok(()));
}

#[test]
fn nothing_is_known_without_a_decision() {
    let (place, programs) = installed();
    let unknown = "lies in this folder, and is not known as you trusted it";
    assert_eq!(place.check(&programs[0]), Err(unknown.to_owned()));
    place.decide(false);
    assert_eq!(place.check(&programs[0]), Err(unknown.to_owned()));
    assert_eq!(place.check(Path::new("/bin/sh")), Ok(()));
}
