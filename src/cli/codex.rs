//! The command line of `codex exec`, as people and the Codex SDK write it, in osier's words.

use std::ffi::{OsStr, OsString};

/// The value of a flag, and osier's words for it.
type Choice = (&'static str, &'static [&'static str]);

/// The words of osier for a flag of Codex.
#[derive(Clone, Copy)]
enum Words {
    /// These, for a flag without a value.
    Alone(&'static [&'static str]),
    /// Another name; the value stays.
    Named(&'static str),
    /// The words for the value. Other values stay as they are: osier names them.
    Chosen(&'static [Choice]),
    /// A file for the first prompt.
    File,
    /// The words for the key in `KEY=VALUE`.
    Key,
}

use Words::{Alone, Chosen, File, Key, Named};

const SANDBOX: Words = Chosen(&[
    ("workspace-write", &["--sandbox", "workspace"]),
    ("danger-full-access", &["--sandbox", "off"]),
]);

const FLAGS: &[(&str, Words)] = &[
    ("--experimental-json", Alone(&["--json"])),
    ("--json", Alone(&["--json"])),
    // osier runs in every folder.
    ("--skip-git-repo-check", Alone(&[])),
    ("--cd", Named("--cwd")),
    ("-C", Named("--cwd")),
    ("--sandbox", SANDBOX),
    ("-s", SANDBOX),
    ("--image", File),
    ("-i", File),
    ("--config", Key),
];

/// The keys of `--config`. osier has its own for the others.
const KEYS: &[(&str, Words)] = &[
    ("model_reasoning_effort", Named("--thinking")),
    ("openai_base_url", Named("--base-url")),
    (
        "sandbox_workspace_write.network_access",
        Chosen(&[
            ("true", &["--config", "sandbox_network=true"]),
            ("false", &["--config", "sandbox_network=false"]),
        ]),
    ),
    (
        "web_search",
        Chosen(&[
            ("disabled", &["--config", "web_search=off"]),
            ("cached", &["--config", "web_search=auto"]),
            ("live", &["--config", "web_search=auto"]),
        ]),
    ),
    (
        "approval_policy",
        // Nobody can be asked: a call that needs permission is denied.
        Chosen(&[
            ("never", &[]),
            ("on-request", &[]),
            ("on-failure", &[]),
            ("untrusted", &["--permissions", "ask"]),
        ]),
    ),
];

fn find(table: &[(&str, Words)], name: &str) -> Option<Words> {
    let row = table.iter().find(|(known, _)| *known == name);
    row.map(|(_, words)| *words)
}

/// A command line with osier's words where `osier exec` has those of Codex. `key` is the API key that the SDK gives.
pub(super) fn expand(
    line: impl IntoIterator<Item = OsString>,
    key: Option<OsString>,
) -> Vec<OsString> {
    let mut line: Vec<OsString> = line.into_iter().collect();
    if line.get(1).is_none_or(|command| command != "exec") {
        return line;
    }
    let mut rest = line.split_off(2).into_iter();
    let mut of_sdk = false;
    let mut files = Vec::new();
    // Whether the next word can be the value of a flag of osier.
    let mut is_value = false;
    while let Some(word) = rest.next() {
        if word == "--" {
            line.push(word);
            line.extend(rest);
            break;
        }
        if word == "resume" && !is_value {
            match rest.next() {
                Some(last) if last == "--last" => line.push("--continue".into()),
                Some(id) => line.extend(["--resume".into(), id]),
                None => line.push(word),
            }
            continue;
        }
        let text = word.to_str().unwrap_or_default();
        of_sdk |= text == "--experimental-json";
        let (name, attached) = match text.split_once('=').filter(|_| text.starts_with("--")) {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (text, None),
        };
        let Some(words) = find(FLAGS, name) else {
            is_value = text.starts_with('-') && attached.is_none();
            line.push(word);
            continue;
        };
        is_value = false;
        if let Alone(words) = words {
            line.extend(words.iter().map(OsString::from));
            continue;
        }
        let Some(value) = attached.or_else(|| rest.next()) else {
            line.push(word);
            continue;
        };
        match words {
            File => files.push(value),
            words => line.extend(osiers(name, &value, words)),
        }
    }
    for file in &files {
        let mut prompt = OsString::from("@");
        prompt.push(file);
        line.push(prompt);
    }
    if of_sdk {
        // The SDK writes the prompt to standard input.
        if !files.is_empty() {
            line.push("-".into());
        }
        line.extend(key.into_iter().flat_map(|key| ["--api-key".into(), key]));
    }
    line
}

/// osier's words for the flag or key `name` with a value.
fn osiers(name: &str, value: &OsStr, words: Words) -> Vec<OsString> {
    let unchanged = || vec![name.into(), value.to_owned()];
    match (words, value.to_str()) {
        (Named(own), _) => vec![own.into(), value.to_owned()],
        (Chosen(choices), Some(text)) => {
            let chosen = choices.iter().find(|(known, _)| *known == text);
            chosen.map_or_else(unchanged, |(_, words)| {
                words.iter().map(OsString::from).collect()
            })
        }
        (Key, Some(text)) => {
            let setting = text.split_once('=').and_then(|(key, typed)| {
                let (key, typed) = (key.trim(), typed.trim().trim_matches('"'));
                let words = find(KEYS, key)?;
                match words {
                    Chosen(choices) if !choices.iter().any(|(known, _)| *known == typed) => None,
                    words => Some(osiers(key, OsStr::new(typed), words)),
                }
            });
            setting.unwrap_or_else(unchanged)
        }
        _ => unchanged(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use osier_testing::skip;

    use super::*;

    fn expanded(line: &str) -> String {
        let words = ["osier"].into_iter().chain(line.split(' '));
        let key = Some("sk-1".into());
        let words = expand(words.map(OsString::from), key).into_iter().skip(1);
        let words: Vec<String> = words.map(|word| word.into_string().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn words_of_codex_are_osiers() {
        for (codex, osier) in [
            (
                "exec --experimental-json --model m --sandbox workspace-write --cd /w --add-dir /d --skip-git-repo-check",
                "exec --json --model m --sandbox workspace --cwd /w --add-dir /d --api-key sk-1",
            ),
            (
                "exec --json --config model_reasoning_effort=\"high\" --config openai_base_url=\"http://h/v1\"",
                "exec --json --thinking high --base-url http://h/v1",
            ),
            (
                "exec --config sandbox_workspace_write.network_access=true --config web_search=\"live\" fix it",
                "exec --config sandbox_network=true --config web_search=auto fix it",
            ),
            (
                "exec --config approval_policy=\"never\" --config approval_policy=\"untrusted\" x",
                "exec --permissions ask x",
            ),
            (
                "exec --experimental-json --output-schema s.json resume 01ab --image a.png",
                "exec --json --output-schema s.json --resume 01ab @a.png - --api-key sk-1",
            ),
            (
                "exec --json resume --last more",
                "exec --json --continue more",
            ),
            (
                "exec --sandbox=danger-full-access -C /w x",
                "exec --sandbox off --cwd /w x",
            ),
            // osier's own words stay, and what it does not have is named by it.
            (
                "exec --config theme=nord --sandbox workspace x",
                "exec --config theme=nord --sandbox workspace x",
            ),
            (
                "exec --config approval_policy=\"loud\" x",
                "exec --config approval_policy=\"loud\" x",
            ),
            ("exec --model resume x", "exec --model resume x"),
            ("exec x -- resume --cd", "exec x -- resume --cd"),
            ("-p --cd x", "-p --cd x"),
        ] {
            assert_eq!(expanded(codex), osier, "{codex}");
        }
    }

    /// The flags that osier has by the same name, and those that it refuses by name.
    const SAME: [&str; 3] = ["--model", "--add-dir", "--output-schema"];
    const REFUSED: [&str; 2] = ["--thread-source", "--cyber-access-program"];

    /// Every flag and key that the SDK can give has a row.
    #[test]
    fn every_word_of_the_sdk_is_known() {
        let folder = PathBuf::from(std::env::var_os("OSIER_TEST_SDK_NODE").unwrap_or_default());
        let path = folder.join("node_modules/@openai/codex-sdk/dist/index.js");
        let Ok(source) = std::fs::read_to_string(&path) else {
            return skip::missing(&path.display().to_string(), ".ci/run");
        };
        let (_, source) = source.split_once("const commandArgs").unwrap();
        let (source, _) = source.split_once("const env").unwrap();
        let mut count = 0;
        let pieces = source.split(['"', '`']).skip(1).step_by(2);
        for piece in pieces {
            let (table, name) = match piece.split_once('=') {
                Some((key, _)) => (KEYS, key),
                None if piece.starts_with("--") => (FLAGS, piece),
                None => continue,
            };
            count += 1;
            let is_known =
                find(table, name).is_some() || SAME.contains(&name) || REFUSED.contains(&name);
            assert!(is_known, "{name}");
        }
        assert!(count > 15, "{count}");
    }
}
