//! The environment variables that children do not inherit: keys, and the repository of a git that started osier.
//!
//! Like the environment itself, the names belong to the process. Every child lacks these variables unless its
//! `Invocation` says otherwise, so that no new caller can forget to remove them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use parking_lot::RwLock;

use crate::secrets::{add_known, is_secret_name};

/// With these variables git names its own repository to an alias, a hook or another program. A git in another folder
/// must not obey them: it would change the index of that repository. `git rev-parse --local-env-vars` lists them.
pub(super) const GIT_LOCAL: [&str; 16] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Variables that are never withheld, because programs need them, even if a configuration file uses
/// them as keys. Neither are names with `LC_` or `XDG_`.
#[rustfmt::skip]
const NEEDED: [&str; 14] = [
    "DISPLAY", "HOME", "HOSTNAME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "SSH_AUTH_SOCK", "TEMP", "TERM", "TMPDIR", "TZ",
    "USER",
];

#[derive(Debug)]
struct Names {
    /// Variables that are withheld although their names do not say that they are secret.
    withheld: BTreeSet<String>,
    /// The withheld variables that only files of a project have named.
    of_project: BTreeSet<String>,
    passed: BTreeSet<String>,
}

static NAMES: RwLock<Names> = RwLock::new(Names {
    withheld: BTreeSet::new(),
    of_project: BTreeSet::new(),
    passed: BTreeSet::new(),
});

/// Variables that children have instead of those of this process.
static LENT: RwLock<BTreeMap<String, String>> = RwLock::new(BTreeMap::new());

impl Names {
    /// Whether the value is a key: a configuration file uses it as one, or its name says so.
    fn is_secret(&self, name: &str) -> bool {
        self.withheld.contains(name) || is_secret_name(name)
    }
}

/// Adds variables that children do not inherit, whatever their names are: those that settings use as keys.
pub fn withhold_variables(names: impl IntoIterator<Item = String>, of_project: bool) {
    let is_needed = |name: &String| {
        NEEDED.contains(&name.as_str()) || name.starts_with("LC_") || name.starts_with("XDG_")
    };
    {
        let mut all = NAMES.write();
        for name in names.into_iter().filter(|name| !is_needed(name)) {
            if !of_project {
                all.of_project.remove(&name);
            } else if !all.withheld.contains(&name) {
                all.of_project.insert(name.clone());
            }
            all.withheld.insert(name);
        }
    }
    remember_values();
}

/// Adds variables that children inherit although they are keys: those that the user's settings name.
pub fn pass_variables(names: impl IntoIterator<Item = String>) {
    let mut all = NAMES.write();
    all.passed.extend(names);
}

/// Gives children these variables instead of those of this process, from now on. Others that were lent before stay.
pub fn lend_variables(variables: BTreeMap<String, String>) {
    LENT.write().extend(variables);
}

pub(super) fn lent() -> BTreeMap<String, String> {
    LENT.read().clone()
}

/// Whether the user's settings name the variable.
pub(super) fn is_passed(name: &str) -> bool {
    NAMES.read().passed.contains(name)
}

/// Whether children do not inherit the variable.
pub fn is_withheld(name: &str) -> bool {
    let all = NAMES.read();
    all.is_secret(name) && !all.passed.contains(name)
}

/// Whether the variable is a key of the user, which a file of a project may not name.
pub fn is_kept_from_projects(name: &str) -> bool {
    is_withheld(name) && (is_secret_name(name) || !NAMES.read().of_project.contains(name))
}

/// The variables that a child does not inherit.
pub(super) fn withheld() -> Vec<OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names
        .filter(|name| is_withheld(&name.to_string_lossy()))
        .collect()
}

/// Registers the values of keys as known secrets, also those that children inherit: no text that
/// leaves osier contains them.
fn remember_values() {
    let all = NAMES.read();
    let variables = std::env::vars_os().filter(|(name, _)| all.is_secret(&name.to_string_lossy()));
    let values = variables.filter_map(|(_, value)| value.into_string().ok());
    // The path of a file with credentials is no secret.
    add_known(values.filter(|value| !value.starts_with('/') || !Path::new(value).exists()));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::{Invocation, run_captured};

    /// Names that no rule knows are withheld if a setting uses them.
    #[test]
    fn variables_that_programs_need_are_never_withheld() {
        withhold_variables(["HOME", "LC_ALL", "HDR"].map(str::to_owned), false);
        let all = NAMES.read();
        assert_eq!(
            ["HOME", "LC_ALL", "HDR", "ACME_TOKEN"].map(|name| all.is_secret(name)),
            [false, false, true, true]
        );
    }

    /// A variable is not a key of the user if only a project names it as a key.
    #[test]
    fn keys_of_the_user_are_kept_from_projects() {
        let kept = || ["ACME_TOKEN", "OF_PROJECT", "OF_USER"].map(is_kept_from_projects);
        withhold_variables(["OF_PROJECT".to_owned()], true);
        withhold_variables(["OF_USER".to_owned()], false);
        withhold_variables(["OF_USER".to_owned()], true);
        assert_eq!(kept(), [true, false, true]);
        withhold_variables(["OF_PROJECT".to_owned()], false);
        assert_eq!(kept(), [true, true, true]);
        pass_variables(["OF_USER".to_owned()]);
        assert_eq!(kept(), [true, true, false]);
    }

    async fn printed(invocation: Invocation) -> String {
        let output = run_captured(&invocation, None, Duration::from_mins(1)).await;
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    #[tokio::test]
    async fn every_variable_of_git_is_known() {
        if !osier_testing::skip::has(&["git"], "apt install git") {
            return;
        }
        let listed = printed(Invocation::new("git", ["rev-parse", "--local-env-vars"])).await;
        let unknown = listed.lines().filter(|name| !GIT_LOCAL.contains(name));
        assert_eq!(unknown.collect::<Vec<_>>(), [""; 0]);
    }

    #[tokio::test]
    async fn children_inherit_withheld_variables_only_if_they_are_passed() {
        // Cargo sets these for every test; other tests of this process do not read them.
        let owned = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        withhold_variables(owned(&["CARGO_PKG_NAME", "CARGO_PKG_VERSION"]), false);
        pass_variables(owned(&["CARGO_PKG_VERSION"]));
        let script = "echo ${CARGO_PKG_NAME-none} ${CARGO_PKG_VERSION-none}";
        let child = || Invocation::new("sh", ["-c", script]);
        let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        assert_eq!(printed(child()).await, format!("none {version}\n"));
        let own = Invocation {
            has_keys: true,
            ..child()
        };
        assert_eq!(printed(own).await, format!("{name} {version}\n"));
        let explicit = Invocation {
            env: vec![("CARGO_PKG_NAME".into(), "given".into())],
            ..child()
        };
        assert_eq!(printed(explicit).await, format!("given {version}\n"));
    }

    #[tokio::test]
    async fn children_have_the_variables_that_were_lent() {
        for value in ["one", "two"] {
            let name = "OSIER_TEST_LENT".to_owned();
            lend_variables(BTreeMap::from([(name, value.to_owned())]));
            let child = Invocation::new("sh", ["-c", "echo $OSIER_TEST_LENT"]);
            assert_eq!(printed(child).await, format!("{value}\n"));
        }
    }

    /// The children are commands, servers and formatters, terminals, short programs and editors.
    #[tokio::test]
    async fn no_kind_of_child_inherits_them() {
        withhold_variables(["CARGO_PKG_NAME".to_owned()], false);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let script = format!(
            "echo ${{CARGO_PKG_NAME-none}} ${{CARGO_PKG_LICENSE-none}} > '{}'",
            file.display()
        );
        let child = Invocation::new("sh", ["-c", &script]);
        let expected = format!("none {}\n", env!("CARGO_PKG_LICENSE"));
        let check = |kind: &str| {
            let written = std::fs::read_to_string(&file).unwrap();
            assert_eq!(written, expected, "{kind}");
            std::fs::remove_file(&file).unwrap();
        };
        let mut buffer = [0; 64];
        let mut running = crate::process::spawn(&child).unwrap();
        while running.read(&mut buffer).await.unwrap() > 0 {}
        check("command");
        let (piped, pipes) = crate::process::spawn_piped(&child).unwrap();
        drop(pipes.stdin);
        assert!(piped.end().await.unwrap().is_success());
        check("server");
        run_captured(&child, None, Duration::from_mins(1))
            .await
            .unwrap();
        check("short program");
        crate::foreground::run("sh", ["-c", &script]).unwrap();
        check("editor");
        let size = crate::process::PtySize {
            rows: 24,
            columns: 80,
        };
        if let Ok(mut terminal) = crate::process::spawn_terminal(&child, size) {
            while terminal.read(&mut buffer).await.unwrap() > 0 {}
            check("terminal");
        }
    }
}
