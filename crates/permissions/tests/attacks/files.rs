//! Files that make other programs run code: a general rule does not allow to write them.

use osier_permissions::Verdict;
use osier_protocol::PermissionMode::{Ask, Yolo};
use serde_json::json;

use super::{Table, permissions};

/// Files of a project.
const PROJECT: &[&str] = &[
    ".opencode/plugin/x.js",
    "opencode.jsonc",
    ".pi/extensions/x.js",
    ".windsurf/mcp.json",
    ".roo/mcp.json",
    ".cline/x",
    ".kilocode/mcp.json",
    ".qwen/settings.json",
    ".amazonq/mcp.json",
    ".continue/config.yaml",
    ".junie/mcp/mcp.json",
    ".factory/mcp.json",
    ".crush.json",
    ".Copilot/mcp-config.json",
    "sub/.devcontainer.json",
    ".idea/workspace.xml",
];

/// Files of a project that a tool runs or obeys: in `yolo` they need no permission.
const TOOLS: &[&str] = &[
    "node_modules/.bin/prettier",
    "web/node_modules/prettier/index.cjs",
    ".venv/bin/ruff",
    "venv/bin/python",
    ".venv/lib/python3/site-packages/x.pth",
    ".cargo/config.toml",
    "rust-toolchain.toml",
    "build.rs",
    "crates/a/build.rs",
    ".envrc",
    ".direnv/x",
    ".npmrc",
    ".yarnrc.yml",
    ".yarn/releases/yarn.cjs",
    ".pnpmfile.cjs",
    ".pnp.cjs",
    ".vscode/settings.json",
    ".vscode/launch.json",
    "x.code-workspace",
    "mise.toml",
    ".mise.toml",
    ".tool-versions",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "conftest.py",
    "tests/conftest.py",
    "sitecustomize.py",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".rspec",
    ".irbrc",
    ".mvn/jvm.config",
    "gradle/wrapper/gradle-wrapper.properties",
    ".bazelrc",
    ".gdbinit",
    ".lldbinit",
    "src/.exrc",
    ".nvim.lua",
    ".dir-locals.el",
    ".prettierrc.js",
    "prettier.config.mjs",
    "eslint.config.js",
];

/// Files of a home directory.
const HOME: &[&str] = &[
    ".config/emacs/init.el",
    ".gvimrc",
    ".config/vim/vimrc",
    ".exrc",
    ".ideavimrc",
    ".doom.d/init.el",
    ".spacemacs",
    ".config/kak/kakrc",
    ".config/foot/foot.ini",
    ".config/zellij/config.kdl",
    ".config/terminator/config",
    ".config/Cursor/User/settings.json",
    ".config/VSCodium/User/settings.json",
    ".mkshrc",
    ".yashrc",
    ".xonshrc",
    ".config/xonsh/rc.xsh",
    ".config/elvish/rc.elv",
    ".config/powershell/profile.ps1",
    ".bash_completion",
    ".cargo/env",
    ".config/starship.toml",
    ".vscode/extensions/x/package.json",
    ".asdf/shims/ls",
    ".gnupg/gpg-agent.conf",
    ".hgrc",
    ".rustup/settings.toml",
    ".config/nvim-other/init.lua",
    "Library/Application Support/Code/User/tasks.json",
];

/// Files of a project that no program runs.
const OTHERS: &[&str] = &[
    "/work/.agents/skills/x/SKILL.md",
    "/work/.github/dependabot.yml",
    "/work/AGENTS.md",
    "/work/Makefile",
    "/work/package.json",
    "/work/pyproject.toml",
    "/work/Cargo.toml",
    "/work/opencode.md",
    "/work/dotfiles/.bashrc",
    "/work/.editorconfig",
    "/home/other/.config/app/settings.json",
    "/home/other/.cargo/registry/x",
];

#[test]
fn files_that_run_code_are_asked_for() {
    let project = PROJECT.iter().map(|path| format!("/work/{path}"));
    let home = HOME.iter().flat_map(|path| {
        ["/root", "/home/other", "/Users/other"].map(|home| format!("{home}/{path}"))
    });
    let code: Vec<String> = project.chain(home).collect();
    let mut wrong = Vec::new();
    for mode in [Ask, Yolo] {
        let permissions = permissions(&Table {
            mode,
            allow: &["write", "write(/**)", "write(./**)"],
            ask: &[],
            deny: &[],
            expected: "ask",
            commands: &[],
        });
        let is_asked = |path: &str| {
            let arguments = json!({"file_path": path, "content": "x"});
            let verdict = permissions.decide("write", &arguments, None, false);
            matches!(verdict, Verdict::Ask { .. })
        };
        wrong.extend(code.iter().filter(|path| !is_asked(path)).cloned());
        let tools: Vec<String> = TOOLS.iter().map(|path| format!("/work/{path}")).collect();
        let strange = tools.iter().filter(|path| is_asked(path) == (mode == Yolo));
        wrong.extend(strange.cloned());
        let others = OTHERS.iter().filter(|path| is_asked(path));
        wrong.extend(others.map(|path| (*path).to_owned()));
    }
    assert_eq!(wrong, Vec::<String>::new());
}
