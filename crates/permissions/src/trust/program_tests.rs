//! Programs of projects that were changed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
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

    fn hook(&self, command: &str) -> ProgramUse {
        ProgramUse {
            name: command.to_owned(),
            cwd: self.project.clone(),
            command: (*command).to_owned(),
            ..ProgramUse::default()
        }
    }

    fn programs(&self) -> ProjectPrograms {
        ProjectPrograms::new(self.trust.clone(), &self.project)
    }

    /// The reason why the use does not run.
    fn refused(&self, run: &ProgramUse) -> Option<String> {
        self.programs()
            .check(run)
            .err()
            .map(|changed| changed.reason)
    }

    fn check(&self, program: &Path) -> Result<(), String> {
        let programs = ProjectPrograms::new(self.trust.clone(), &self.project);
        let checked = programs.check(&self.program(program));
        checked.map_err(|changed| changed.reason)
    }
}

/// A project with the usual tools. Its files are as the user trusts them.
fn installed() -> Place {
    let place = Place::new();
    for (name, text) in [
        (
            "package.json",
            r#"{"version": "1", "scripts": {"lint": "node scripts/lint.js", "style": "prettier --check .", "all": "npm run lint", "test": "vitest"}}"#,
        ),
        (
            "Makefile",
            "chk:\n\t@./tools/c\n\t@npm run lint\n\t@$(MAKE) -C sub\n",
        ),
        ("tools/c", "#!/bin/sh\n"),
        ("sub/Makefile", "all:\n\t./check.sh\n"),
        ("sub/check.sh", "1"),
        ("tsconfig.json", "{}"),
        ("README.md", "1"),
        ("docs/steps.md", "echo"),
        ("package-lock.json", "{}"),
        ("src/main.js", "1"),
        ("src/main.py", "1"),
        ("src/config.py", "1"),
        ("src/lib/rules.py", "1"),
        ("lib/Rules.pm", "1"),
        ("lib/rules.rb", "1"),
        ("part", "echo"),
        ("hooks.d/one.sh", "echo"),
        ("tests/unit/test_a.py", "1"),
        (".git/config", ""),
        // Hooks.
        (
            "scripts/guard.py",
            "import json, sys\nPROTECTED = ['src/config.py', 'package-lock.json']\nfor line in sys.stdin:\n    if any(name in line for name in PROTECTED): sys.exit(2)\n",
        ),
        (
            "scripts/lazy.py",
            "import sys\ndef check():\n    from rules import (\n        one,\n        two)\n    import datetime\n",
        ),
        ("scripts/rules.py", "one = two = 1\n"),
        (
            "scripts/dynamic.py",
            "import importlib\nimportlib.import_module('rules')\n",
        ),
        ("scripts/built.py", "__import__('r' + 'ules')\n"),
        ("scripts/layout.py", "import mypackage\n"),
        (
            "scripts/runs.py",
            "import subprocess\nsubprocess.run(['make', 'chk'])\n",
        ),
        ("scripts/opens.py", "exec(open('docs/steps.md').read())\n"),
        (
            "scripts/lint.js",
            "const fs = require('fs');\nconst rules = require('./rules.js');\nif (fs.existsSync('tsconfig.json')) process.exit(0);\n",
        ),
        ("scripts/rules.js", "module.exports = 1;\n"),
        ("scripts/typed.mjs", "import x from './deep/x.js';\n"),
        ("scripts/deep/x.ts", "1"),
        ("scripts/away.js", "require('../src/main.js')\n"),
        (
            "scripts/all.js",
            "for (const name of fs.readdirSync('rules')) require(name)\n",
        ),
        (
            "scripts/plain.sh",
            "#!/bin/sh\ninput=$(cat)\nif echo \"$input\" | grep -q 'rm -rf'; then echo no >&2; exit 2; fi\n. scripts/part.sh\n",
        ),
        ("scripts/part.sh", "echo part\n"),
        ("scripts/text.sh", "#!/bin/sh\n. docs/steps.md\n"),
        ("scripts/bare.sh", "#!/bin/sh\nsh part\n"),
        (
            "scripts/find.sh",
            "#!/bin/sh\nfind hooks.d -name '*.sh' -exec sh {} \\;\n",
        ),
        ("scripts/cat.sh", "#!/bin/sh\ncat hooks.d/*.sh | sh\n"),
        (
            "scripts/while.sh",
            "#!/bin/sh\nls hooks.d | while read -r name; do sh \"hooks.d/$name\"; done\n",
        ),
        (
            "scripts/braces.sh",
            "#!/bin/sh\nfor file in hooks.d/{one,two}.sh; do . $file; done\n",
        ),
        ("scripts/name.sh", "#!/bin/sh\nname=hooks.d/one.sh\n$name\n"),
        ("scripts/make.sh", "#!/bin/sh\nmake chk\n"),
        (
            "scripts/perl.pl",
            "#!/usr/bin/perl\nuse lib 'lib'; use Rules;\n",
        ),
        ("scripts/ruby.rb", "require_relative '../lib/rules'\n"),
        ("hooks/__main__.py", "import checks\n"),
        ("hooks/checks.py", "1"),
        ("hooks/index.js", "require('./checks.js')\n"),
        ("hooks/checks.js", "1"),
        ("check.py", "import json\n"),
        ("a b/check.sh", "#!/bin/sh\n. './a b/part'\n"),
        ("a b/part", "echo"),
        (".claude/hooks/check.sh", "#!/bin/sh\necho ok\n"),
        // Installed packages.
        (
            "node_modules/prettier/bin/prettier.cjs",
            "#!/usr/bin/env node\n",
        ),
        ("node_modules/prettier/index.cjs", "1"),
        ("node_modules/.bin/server", "#!/bin/sh\n"),
        ("venv/pyvenv.cfg", ""),
        ("venv/bin/black", "#!venv/bin/python\nimport black\n"),
        ("venv/bin/python", "1"),
        ("venv/lib/python3/site-packages/black/__init__.py", "1"),
    ] {
        place.write(name, text);
    }
    place.link("../prettier/bin/prettier.cjs", "node_modules/.bin/prettier");
    place.link("../src/lib", "scripts/linked");
    place
}

/// Hooks and servers, and the file that the model changes or adds.
#[rustfmt::skip]
const ATTACKS: &[(&str, &str)] = &[
    // Python.
    ("python3 scripts/guard.py", "scripts/_json.py"),
    ("python3 scripts/guard.py", "scripts/guard.py"),
    ("python3 scripts/lazy.py", "scripts/_strptime.py"),
    ("python3 scripts/lazy.py", "scripts/rules.py"),
    ("python3 scripts/lazy.py", "scripts/rules/__init__.py"),
    ("python3 scripts/dynamic.py", "src/lib/rules.py"),
    ("python3 scripts/built.py", "src/main.py"),
    ("python3 scripts/layout.py", "src/mypackage/__init__.py"),
    ("python3 scripts/runs.py", "tools/c"),
    ("python3 scripts/opens.py", "docs/steps.md"),
    ("python3 -c 'import json'", "_json.py"),
    ("python3 -c 'import json'", "json/__init__.py"),
    ("python3 -m tools.chk", "tools/chk.py"),
    ("python3 hooks", "hooks/checks.py"),
    ("python3 check.py", "json.py"),
    ("PYTHONPATH=src python3 scripts/guard.py", "src/json.py"),
    ("'python3' 'scripts/guard.py' 'PYTHONPATH=src'", "src/json.py"),
    ("venv/bin/black -q src", "venv/lib/python3/site-packages/evil.pth"),
    ("venv/bin/python scripts/guard.py", "venv/lib/python3/site-packages/sitecustomize.py"),
    // Node.
    ("node scripts/lint.js", "scripts/rules.js"),
    ("node scripts/lint.js", "scripts/rules.ts"),
    ("node scripts/typed.mjs", "scripts/deep/x.ts"),
    ("node scripts/away.js", "src/main.js"),
    ("node scripts/all.js", "rules/new.js"),
    ("node hooks", "hooks/checks.js"),
    ("node --require ./scripts/rules.js -e 1", "scripts/rules.js"),
    ("NODE_OPTIONS=--require=./src/main.js node scripts/lint.js", "src/main.js"),
    ("tsx scripts/typed.mjs", "src/paths.ts"),
    ("npx prettier -w x", "node_modules/prettier/index.cjs"),
    ("npx prettier -w x", "prettier.config.mjs"),
    ("npx prettier -w x", "src/.prettierrc"),
    ("npm run lint", "scripts/rules.js"),
    ("npm run all", "scripts/lint.js"),
    ("npm run style", "node_modules/prettier/index.cjs"),
    ("npm -w app run lint", "packages/app/tool.js"),
    ("eslint src", "eslint.config.js"),
    // Shells.
    ("sh scripts/plain.sh", "scripts/part.sh"),
    ("sh scripts/text.sh", "docs/steps.md"),
    ("sh scripts/bare.sh", "part"),
    ("sh docs/steps.md", "docs/steps.md"),
    ("scripts/find.sh", "hooks.d/one.sh"),
    ("sh scripts/cat.sh", "hooks.d/two.sh"),
    ("sh scripts/while.sh", "hooks.d/two.sh"),
    ("bash scripts/braces.sh", "hooks.d/one.sh"),
    ("sh scripts/name.sh", "hooks.d/one.sh"),
    ("find hooks.d -exec sh {} \\;", "hooks.d/two.sh"),
    ("cat hooks.d/*.sh | sh", "hooks.d/one.sh"),
    ("ls hooks.d | while read f; do . hooks.d/$f; done", "hooks.d/two.sh"),
    ("sh -c \"A=1 ./scripts/plain.sh;true\"", "scripts/part.sh"),
    ("cd scripts && ./plain.sh", "scripts/plain.sh"),
    ("'a b/check.sh' x", "a b/part"),
    ("$CHECK now", "scripts/plain.sh"),
    ("\"$CLAUDE_PROJECT_DIR\"/scripts/plain.sh", "scripts/plain.sh"),
    ("eval \"$(cat docs/steps.md)\"", "docs/steps.md"),
    (".claude/hooks/check.sh", ".claude/hooks/check.sh"),
    // Runners and other languages.
    ("make -s chk", "Makefile"),
    ("make -s chk", "tools/c"),
    ("make -s chk", "sub/check.sh"),
    ("sh scripts/make.sh", "tools/c"),
    ("perl scripts/perl.pl", "lib/Rules.pm"),
    ("ruby scripts/ruby.rb", "lib/rules.rb"),
    ("go run ./tools/gen", "tools/gen/main.go"),
    ("run-parts hooks.d", "hooks.d/new.sh"),
    ("my-checker --rules scripts/rules.js", "scripts/rules.js"),
    // Attacks of another kind.
    ("python3 scripts/guard.py", "src/lib/rules.py"),
    ("timeout 5 nice sh scripts/text.sh", "docs/steps.md"),
    ("bash -c 'exec node hooks'", "hooks/checks.js"),
    ("env -S 'node scripts/lint.js'", "scripts/rules.js"),
    ("xargs -n1 sh < list", "part"),
    ("echo scripts/plain.sh | xargs sh", "scripts/plain.sh"),
    ("awk -f scripts/rules.awk", "scripts/rules.awk"),
    ("bash --rcfile docs/steps.md -i", "docs/steps.md"),
    ("BASH_ENV=docs/steps.md bash scripts/plain.sh", "docs/steps.md"),
    ("python3 - < docs/steps.md", "docs/steps.md"),
    ("node < docs/steps.md", "docs/steps.md"),
    ("PATH=tools:$PATH check", "tools/check"),
    ("npm test --prefix sub", "sub/package.json"),
    ("(cd sub; make)", "sub/check.sh"),
    ("trap 'sh part' EXIT", "part"),
    ("sudo -E ./tools/c", "tools/c"),
    ("python3 -c \"exec(open('part').read())\"", "part"),
    ("node -e \"require('./src/main.js')\"", "src/main.js"),
    ("npx eslint --fix", "eslint.config.js"),
    ("npm run lint", ".npmrc"),
];

#[test]
fn a_program_that_could_load_changed_code_does_not_run() {
    for ran in [true, false] {
        for (command, attacked) in ATTACKS {
            let place = installed();
            place.decide(true);
            let run = place.hook(command);
            if ran {
                assert_eq!(place.refused(&run), None, "{command}");
            }
            place.put(attacked, "evil");
            let reason = place.refused(&run).unwrap_or_default();
            assert!(
                reason.contains("since you trusted the folder"),
                "{command}: {attacked}: {reason}"
            );
        }
    }
}

/// Ordinary changes and commands; `false` if osier asks nevertheless.
#[rustfmt::skip]
const ORDINARY: &[(&str, &str, bool)] = &[
    ("python3 scripts/guard.py", "src/config.py", true),
    ("python3 scripts/guard.py", "package-lock.json", true),
    ("grep -c x src/main.py", "src/main.py", true),
    ("make -s chk", "Makefile", false),
    ("npm run lint", "package.json", true),
    ("node scripts/lint.js", "tsconfig.json", true),
    ("pytest tests/unit", "tests/unit/test_a.py", true),
    ("pytest tests/unit", "src/main.py", true),
    ("ruff format src/main.py", "src/main.py", true),
    ("npx prettier -w src/main.js", "src/main.js", true),
    ("sh scripts/plain.sh", "src/main.py", true),
    ("sh scripts/plain.sh", "README.md", true),
    ("cargo test", "src/main.rs", true),
    ("npm run lint", "src/main.js", true),
    ("make fmt", "src/main.py", false),
    // Others.
    ("npm run style", "src/main.js", true),
    ("npm test", "src/main.js", true),
    ("jq -r .tool_input.file_path | xargs npx prettier --write", "src/main.js", true),
    ("input=$(cat); echo \"$input\" >> log.txt", "log.txt", true),
    ("notify-send done; afplay x.wav", "src/main.py", true),
    ("touch ran; tee made; test -f src/main.js", "src/main.js", true),
    ("git diff --quiet || git add -A", "src/main.py", true),
    ("python3 -c 'import json,sys; json.load(sys.stdin)'", "src/main.py", true),
    ("go test ./...", "main.go", true),
    ("/usr/bin/env python3 scripts/guard.py", "tests/unit/test_a.py", true),
    ("python3 /opt/guard.py", "src/main.py", true),
];

#[test]
fn an_ordinary_change_asks_nothing() {
    for (command, changed, is_free) in ORDINARY {
        let place = installed();
        place.decide(true);
        let run = place.hook(command);
        assert_eq!(place.refused(&run), None, "{command}");
        let text = match *changed {
            "package.json" => fs::read_to_string(place.project.join(changed))
                .unwrap()
                .replace("\"1\"", "\"2\""),
            _ => "new".to_owned(),
        };
        place.put(changed, &text);
        let refused = place.refused(&run);
        assert_eq!(
            refused.is_none(),
            *is_free,
            "{command}: {changed}: {refused:?}"
        );
    }
    let asked = ORDINARY.iter().filter(|(.., is_free)| !is_free);
    assert!(asked.count() <= 3);
}

/// A program, the tools whose settings it reads, its command, a file that it could load, and the changed text of the file.
type Tool = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static str,
);

const TOOLS: &[Tool] = &[
    (
        "node_modules/.bin/prettier",
        &["prettier"],
        "",
        "node_modules/prettier/index.cjs",
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
        "node_modules/.bin/server",
        &[],
        "'server' '--stdio'",
        "node_modules/.bin/server",
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
        &["tsconfig", "jsconfig"],
        "'server'",
        "tsconfig.json",
        r#"{"plugins": []}"#,
    ),
    (
        "/usr/bin/server",
        &["tsconfig", "jsconfig"],
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
];

/// A formatter and a language server that osier starts without a command.
#[test]
fn a_tool_of_the_project_runs_only_as_it_was_trusted() {
    for (program, tools, command, attacked, text) in TOOLS {
        let place = installed();
        place.decide(true);
        let run = ProgramUse {
            cwd: place.project.join("src"),
            tools,
            command: (*command).to_owned(),
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
        // Ordinary work, and plain settings.
        place.put("src/main.js", "2");
        place.put("src/index.ts", "2");
        assert_eq!(place.refused(&run), None, "{program}");
        place.put(".prettierrc", "{\"semi\": false}");
        place.put("src/.prettierrc", "semi: false\ntabWidth: 2\n");
        place.put("package.json", r#"{"version": "2", "prettier": {"overrides": [{"files": "*.md", "options": {"proseWrap": "always"}}]}}"#);
        place.put(
            "src/tsconfig.json",
            r#"{"compilerOptions": {"strict": true}}"#,
        );
        assert_eq!(place.refused(&run), None, "{program}");
        place.put(attacked, text);
        let reason = place.refused(&run).unwrap_or_default();
        assert!(
            reason.contains("since you trusted the folder"),
            "{program}: {attacked}: {reason}"
        );
    }
}

/// A lane of `/fan` works in a copy: its hooks run the files of the copy.
#[test]
fn a_copy_runs_only_what_the_project_runs() {
    let place = installed();
    place.decide(true);
    let copy = place.folder.path().join("copy");
    let put = |name: &str, text: &str| {
        let path = copy.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
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
    // The user can allow it.
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
    // Without its script, a guard would fail, and some failures pass.
    assert!(place.check(&linked).is_err());
    place.link("../../tools/other.cjs", "node_modules/.bin/prettier");
    assert!(place.check(&linked).is_err());
    // Also a link that leads out of the project.
    fs::remove_file(&linked).unwrap();
    let outside = place.folder.path().join("outside");
    atomic_file::write(&outside, b"1").unwrap();
    place.link(outside.to_str().unwrap(), "node_modules/.bin/prettier");
    assert!(place.check(&linked).is_err());
    assert_eq!(place.check(&outside), Ok(()));
}

#[test]
fn the_same_content_is_no_change_and_a_changed_one_can_be_allowed() {
    let place = installed();
    place.decide(true);
    let run = place.hook("python3 scripts/lazy.py");
    let all = place.programs();
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "one = two = 1\n");
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "2");
    let changed = all.check(&run).unwrap_err();
    assert_eq!(changed.files, ["scripts/rules.py"]);
    all.allow(&changed).unwrap();
    assert_eq!(all.check(&run), Ok(()));
    place.put("scripts/rules.py", "3");
    let reason = all.check(&run).unwrap_err().reason;
    assert_eq!(
        reason,
        "could load code that has changed since you allowed it (`scripts/rules.py`)"
    );
    // A new decision is about the folder as it is.
    place.decide(true);
    assert_eq!(all.check(&run), Ok(()));
    // Trust in all code holds for later changes.
    place.put("scripts/rules.py", "4");
    assert!(all.check(&run).is_err());
    all.allow_all();
    place.put("scripts/rules.py", "5");
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
