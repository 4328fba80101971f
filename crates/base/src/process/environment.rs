//! The environment variables that children do not inherit: the keys of osier, and the repository of a git that
//! started osier.
//!
//! Like the environment itself, the names belong to the process. Every child lacks these variables unless its
//! `Invocation` says otherwise, so that no new caller can forget to remove them.

use parking_lot::RwLock;
use std::collections::BTreeSet;

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

#[derive(Debug)]
struct Names {
    withheld: BTreeSet<String>,
    passed: BTreeSet<String>,
}

static NAMES: RwLock<Names> = RwLock::new(Names {
    withheld: BTreeSet::new(),
    passed: BTreeSet::new(),
});

/// Adds variables that children do not inherit.
pub fn withhold_variables(names: impl IntoIterator<Item = String>) {
    let mut all = NAMES.write();
    all.withheld.extend(names);
}

/// Adds variables that children inherit although they are keys: those that the user's settings name.
pub fn pass_variables(names: impl IntoIterator<Item = String>) {
    let mut all = NAMES.write();
    all.passed.extend(names);
}

/// Whether the user's settings name the variable.
pub(super) fn is_passed(name: &str) -> bool {
    NAMES.read().passed.contains(name)
}

/// The variables that a child does not inherit.
pub(super) fn withheld() -> Vec<String> {
    let all = NAMES.read();
    all.withheld.difference(&all.passed).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::{Invocation, run_captured};

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
        withhold_variables(owned(&["CARGO_PKG_NAME", "CARGO_PKG_VERSION"]));
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
}
