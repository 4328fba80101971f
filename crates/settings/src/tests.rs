use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use osier_base::folders::Folders;
use osier_llm::ThinkingLevel;
use osier_protocol::{NetworkAccess, PermissionMode, SandboxMode};

use super::*;

#[test]
fn invalid_lines_are_reported_and_the_rest_is_used() {
    let file = "model = \"a/b\"\nthem = \"dark\"\nmouse = 3\nthinking = \"high\"\n";
    let (settings, problems) = Settings::parse(Path::new("settings.toml"), file);
    let expected = Settings {
        model: Some("a/b".into()),
        thinking: Some(ThinkingLevel::High),
        ..Settings::default()
    };
    assert_eq!(settings, expected);
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "settings.toml:2:1: unknown setting `them`; did you mean `theme`?",
            "settings.toml:3:9: invalid value `3` for `mouse`; expected true or false",
        ]
    );
}

#[test]
fn a_rule_for_a_tool_that_is_almost_built_in_is_a_warning() {
    let file = "deny = [\"bash(rm *)\", \"bsh(rm *)\", \"github__red\", \"mine\", \"task\"]\n";
    let (settings, problems) = Settings::parse(Path::new("s.toml"), file);
    assert_eq!((settings.faults.len(), settings.deny.len()), (0, 5));
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["s.toml:1:23: no built-in tool has the name in `bsh(rm *)`; did you mean `bash`?"]
    );
}

#[test]
fn a_rule_that_is_likely_to_match_nothing_is_a_warning() {
    for (rule, expected) in [
        (
            "shell(rm *)",
            "no built-in tool has the name in `shell(rm *)`; did you mean `bash`?",
        ),
        (
            "bash(rm a))",
            "the rule `bash(rm a))` is likely to match nothing; it contains an extra `)`",
        ),
        (
            "bash(rm\u{a0}*)",
            "the rule `bash(rm\u{a0}*)` is likely to match nothing; it contains a blank that is not a plain space",
        ),
        (
            "bash(rm.*)",
            "the rule `bash(rm.*)` is likely to match nothing; it looks like a regular expression: write `*` for any text",
        ),
    ] {
        let (settings, problems) =
            Settings::parse(Path::new("s.toml"), &format!("deny = [\"{rule}\"]\n"));
        assert_eq!((settings.faults.len(), settings.deny.len()), (0, 1));
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown, [format!("s.toml:1:9: {expected}")]);
    }
}

/// Commands reach the hosts of `sandbox_network`, so a rule about connections only denies.
#[test]
fn a_rule_about_connections_is_one_of_deny() {
    let parse = |text: &str| {
        let (settings, problems) = Settings::parse(Path::new("s.toml"), text);
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        (settings.faults.len(), shown)
    };
    let host = "[\"connect(example.org)\", \"connect\"]\n";
    assert_eq!(parse(&format!("deny = {host}")), (0, Vec::new()));
    let asked = "s.toml:1:8: the rule `connect(example.org)` asks about `web_fetch` only; a rule about the connections of \
                 commands is one of `deny`";
    assert_eq!(
        parse("ask = [\"connect(example.org)\"]\n"),
        (0, vec![asked.to_owned()])
    );
    assert_eq!(parse(&format!("allow = {host}")).0, 1);
    assert_eq!(parse("deny = [\"connect(a b)\"]\n").0, 1);
}

/// A home whose settings were valid, and what applies after they were replaced with `broken`.
fn held(valid: Option<&str>, broken: &str) -> Settings {
    let home = tempfile::tempdir().unwrap();
    let folders = Folders::under(home.path());
    let write = |text: &str| {
        osier_base::atomic_file::write(&folders.settings(), text.as_bytes()).unwrap();
        Settings::load_for(&folders, home.path()).0
    };
    if let Some(valid) = valid {
        assert_eq!(write(valid).faults, []);
    }
    let settings = write(broken);
    assert_ne!(settings.faults, []);
    settings
}

/// Mode, loosest mode of flags, sandbox, rules of allow and deny.
fn summary(settings: &Settings) -> String {
    format!(
        "{} {} {} {:?} {:?}",
        settings.permissions.name(),
        settings.least.name(),
        settings.sandbox.name(),
        settings.allow,
        settings.deny
    )
}

#[test]
fn the_last_valid_settings_or_the_strictest_apply() {
    let valid =
        "permissions = \"auto\"\nsandbox = \"workspace\"\nallow = [\"ls\"]\ndeny = [\"a\"]\n";
    let syntax = "theme = \n";
    for (before, broken, expected) in [
        (Some(valid), syntax, "auto yolo workspace [\"ls\"] [\"a\"]"),
        (None, syntax, "ask ask read-only [] []"),
        (
            None,
            "permissions = \"Ask\"\ndeny = [\"a\"]\nallow = [\"b\"]\n",
            "ask ask read-only [] [\"a\"]",
        ),
        // Settings that restrict nothing, and no setting that could: nothing changes.
        (Some("theme = \"dark\"\n"), syntax, "yolo yolo off [] []"),
        (Some(""), "permissions = ask\n", "ask yolo off [] []"),
        (Some(""), "permissions = \"Ask\"\n", "ask yolo off [] []"),
        (Some(""), "permision = \"ask\"\n", "ask yolo off [] []"),
        (
            Some(""),
            "sandbox = \"readonly\"\n",
            "yolo yolo read-only [] []",
        ),
        (Some(""), "sandbox = 'off\n", "yolo yolo read-only [] []"),
        (
            Some(""),
            "deny = [\"b\", \"c(\"]\n",
            "ask ask off [] [\"b\"]",
        ),
        (Some(""), "approvals = 1\n", "ask ask read-only [] []"),
        (
            Some(""),
            "permissions = \"plan\"\npermissions = \"yolo\"\n",
            "plan yolo off [] []",
        ),
        (
            Some(""),
            "permissions = \"yolo\"\npermissions = \"plan\"\n",
            "ask yolo off [] []",
        ),
        (
            Some(valid),
            "sandbox = \"readonly\"\n",
            "auto yolo workspace [] [\"a\"]",
        ),
        (
            Some(valid),
            "deny = [\"b\", \"c(\"]\nallow = [\"ls\", \"rm\"]\n",
            "ask ask workspace [\"ls\"] [\"b\", \"a\"]",
        ),
        (
            Some(valid),
            "permissions = \"plan\"\ntheme = \n",
            "plan yolo workspace [\"ls\"] [\"a\"]",
        ),
        (
            Some(valid),
            "theme = \"\"\"\npermissions = \"plan\"\n",
            "ask yolo workspace [\"ls\"] [\"a\"]",
        ),
    ] {
        assert_eq!(
            summary(&held(before, broken)),
            expected,
            "{before:?} {broken:?}"
        );
    }
}

/// The settings before had no safety settings.
#[test]
fn safety_settings_in_lines_that_are_no_toml_are_strict() {
    for (broken, expected) in [
        (
            "theme = \"dark\" permissions = \"ask\"\n",
            "ask yolo off [] []",
        ),
        (
            "{\"permissions\": \"ask\", \"sandbox\": \"read-only\"}\n",
            "ask yolo read-only [] []",
        ),
        ("- permissions: ask\n", "ask ask off [] []"),
        ("export permissions=\"ask\"\n", "ask ask off [] []"),
        ("set permissions ask\n", "ask ask off [] []"),
        ("let permissions = \"ask\"\n", "ask ask off [] []"),
        (
            "theme=\"dark\"; permissions=\"ask\"\n",
            "ask yolo off [] []",
        ),
        ("* deny = [\"bash(rm *)\"]\n", "ask ask off [] []"),
        ("[a] permissions = \"ask\"\n", "ask ask off [] []"),
        (
            "<<<<<<< HEAD\n+permissions=\"ask\"\n=======\n>>>>>>> x\n",
            "ask yolo off [] []",
        ),
        ("# permissions = \"ask\"\ntheme = \n", "yolo yolo off [] []"),
    ] {
        assert_eq!(summary(&held(Some(""), broken)), expected, "{broken:?}");
    }
}

#[test]
fn every_safety_setting_has_a_strict_value() {
    let strictest = Settings {
        permissions: PermissionMode::Ask,
        least: PermissionMode::Ask,
        sandbox: SandboxMode::ReadOnly,
        ..Settings::default()
    };
    let mut loose = Settings {
        allow: vec!["bash".into()],
        sandbox_network: NetworkAccess::All,
        sandbox_write: vec!["/".into()],
        pass_environment: vec!["KEY".into()],
        secret_warnings: false,
        ..Settings::default()
    };
    loose.be_strict();
    assert_eq!(loose, strictest);
}

#[test]
fn stored_settings_are_written_once_and_verified() {
    let home = tempfile::tempdir().unwrap();
    let folders = Folders::under(home.path());
    let stored = folders.data.join("last-safety-settings.toml");
    let write = |path: &Path, text: &str| {
        osier_base::atomic_file::write(path, text.as_bytes()).unwrap();
    };
    let load = || Settings::load_for(&folders, home.path()).0;
    let inode = || std::fs::metadata(&stored).unwrap().ino();
    // Without a settings file, nothing is written.
    load();
    assert!(!stored.exists());
    let valid = "permissions = \"plan\"\n";
    write(&folders.settings(), valid);
    load();
    let (first, text) = (inode(), std::fs::read_to_string(&stored).unwrap());
    assert_eq!(std::fs::metadata(&stored).unwrap().mode() & 0o777, 0o600);
    write(&folders.settings(), &format!("theme = \"dark\"\n{valid}"));
    load();
    assert_eq!(inode(), first);
    write(&folders.settings(), "theme = \n");
    assert_eq!(load().permissions, PermissionMode::Plan);
    // Every change of what is stored is noticed: then nothing is known.
    let strict = "ask ask read-only [] []";
    for at in (0..text.len()).step_by(3) {
        let mut damaged = text.clone().into_bytes();
        damaged[at] ^= 1;
        osier_base::atomic_file::write(&stored, &damaged).unwrap();
        assert_eq!(summary(&load()), strict, "{at}");
        osier_base::atomic_file::write(&stored, &text.as_bytes()[..at]).unwrap();
        assert_eq!(summary(&load()), strict, "{at}");
    }
    std::fs::remove_file(&stored).unwrap();
    std::fs::create_dir(&stored).unwrap();
    assert_eq!(summary(&load()), strict);
    // Another file's settings do not apply.
    std::fs::remove_dir(&stored).unwrap();
    write(&stored, &text.replace("settings.toml", "other.toml"));
    assert_eq!(summary(&load()), strict);
    write(&folders.settings(), valid);
    assert_eq!(load().faults, []);
    assert_eq!(std::fs::read_to_string(&stored).unwrap(), text);
}

#[test]
fn in_a_session_a_broken_or_missing_file_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let folders = Folders::under(home.path());
    let write = |text: &str| {
        osier_base::atomic_file::write(&folders.settings(), text.as_bytes()).unwrap();
    };
    write("permissions = \"ask\"\ndeny = [\"a\"]\nallow = [\"b\"]\n");
    let (current, _) = Settings::load_for(&folders, home.path());
    let reload = || Settings::reload_for(&folders, home.path(), &current).0;
    let expected = summary(&current);
    // The stored settings do not matter.
    std::fs::remove_file(folders.data.join("last-safety-settings.toml")).unwrap();
    for broken in ["theme = \n", "", "\0", "permissions"] {
        write(broken);
        assert_eq!(reload().faults.len(), 1, "{broken:?}");
        assert_eq!(summary(&reload()), expected, "{broken:?}");
    }
    std::fs::remove_file(folders.settings()).unwrap();
    assert_eq!(summary(&reload()), expected);
    assert_eq!(reload().faults[0].message, "does not exist");
    write("permissions = \"auto\"\n");
    assert_eq!(summary(&reload()), "auto yolo off [] []");
}

/// The product code below a folder without its blanks.
fn code(folder: &Path) -> String {
    let mut found = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found += &code(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]\nmod tests {").next();
            found.extend(product.unwrap_or_default().split_whitespace());
        }
    }
    found
}

/// A setting without an effect would be accepted and ignored.
#[test]
fn every_setting_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = code(&root.join("src"));
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default();
        if name != "settings" && name != "testing" {
            sources += &code(&path.join("src"));
        }
    }
    let options = include_str!("options.rs");
    let is_read = |field: &str, code: &str| {
        code.match_indices(field).any(|(at, _)| {
            let next = code[at + field.len()..].chars().next();
            next.is_none_or(|next| !next.is_alphanumeric() && !"_(".contains(next))
        })
    };
    let unread = SETTINGS.iter().map(|setting| setting.name).filter(|name| {
        let owners = ["settings", "settings()", "screen"];
        let outside = owners.map(|owner| format!("{owner}.{name}"));
        let is_option = is_read(&format!("self.{name}"), options);
        !is_option && !outside.iter().any(|field| is_read(field, &sources))
    });
    let unread: Vec<&str> = unread.collect();
    assert_eq!(unread, [""; 0], "these settings have no effect");
}
