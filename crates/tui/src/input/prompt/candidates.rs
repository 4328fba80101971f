//! Candidates for the word at the cursor: a slash command and its argument, a file after `@`, or a
//! path. Pure: the session provides the file list, and the caller the directory listings.

use osier_base::sort;
use std::ops::Range;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::actions::command::commands;
use osier_base::text;
use osier_llm::ThinkingLevel;
use osier_protocol::slash::{self, SlashClient};
use osier_protocol::{AddedCommand, ProjectSymbol};
use osier_term::theme::ThemeStore;

/// Files and symbols shown at most.
pub(super) const CANDIDATE_LIMIT: usize = 20;
/// How many of them are symbols, if there are so many.
const SYMBOLS: usize = 8;

/// One completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The text that replaces `Completion::range`.
    pub text: String,
    pub label: String,
    pub detail: String,
}

/// The candidates for one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Completion {
    /// Bytes of the text before the cursor that a candidate replaces.
    pub range: Range<usize>,
    pub candidates: Vec<Candidate>,
}

/// The kind of word at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// `/na`, at the start of the text.
    Command(&'a str),
    /// `/name arg`.
    Argument {
        command: &'a str,
        argument: &'a str,
        start: usize,
    },
    /// `@pa`.
    File { query: &'a str, start: usize },
    /// Anything else up to the cursor, since the last white space.
    Plain { word: &'a str, start: usize },
}

/// Reads the word that ends at the end of `before`, the text before the cursor.
pub(super) fn word(before: &str) -> Word<'_> {
    if let Some(body) = before.strip_prefix('/').filter(|body| !body.contains('\n')) {
        match body.split_once(' ') {
            None if !body.contains('/') => return Word::Command(body),
            Some((command, argument)) if !command.contains('/') => {
                let start = before.len() - argument.len();
                return Word::Argument {
                    command,
                    argument,
                    start,
                };
            }
            _ => {}
        }
    }
    let start = before.rfind(char::is_whitespace).map_or(0, |space| {
        space + before[space..].chars().next().map_or(1, char::len_utf8)
    });
    let word = &before[start..];
    match word.strip_prefix('@') {
        Some(query) => Word::File { query, start },
        None => Word::Plain { word, start },
    }
}

/// A model that can be completed: its reference and its thinking levels.
pub(super) type NamedModel = (String, Vec<ThinkingLevel>);

/// The models and levels with which arguments are completed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KnownModels<'a> {
    pub(super) all: &'a [NamedModel],
    /// The thinking levels of the session's model, the current one first. Empty if the model has only one level.
    pub(super) levels: &'a [ThinkingLevel],
}

/// Slash commands that match `query`, built in or added, or values of a command's argument.
pub(super) fn command_or_value(
    word: &Word<'_>,
    models: KnownModels<'_>,
    added: &[&AddedCommand],
) -> Option<Completion> {
    let (range, candidates) = match word {
        Word::Command(query) => {
            let is_replaced = |name: &str| added.iter().any(|command| command.name == name);
            let own = slash::COMMANDS.iter();
            let own = own.filter(|slash| !is_replaced(slash.name));
            let names = own.flat_map(|slash| {
                // An alias is offered only to users who begin to type it.
                let aliases = slash.aliases.iter().copied();
                let aliases = aliases.filter(|alias| !query.is_empty() && alias.starts_with(query));
                [slash.name].into_iter().chain(aliases)
            });
            let names = names.chain(added.iter().map(|command| command.name.as_str()));
            let mut candidates = ranked(query, names, usize::MAX, |name| {
                command_candidate(name, added)
            });
            if candidates.is_empty() {
                candidates = by_meaning(query, added);
            }
            (0..query.len() + 1, candidates)
        }
        Word::Argument { .. } if let Some((name, start)) = model_name(word) => {
            let levels = levels_of(name, models.all);
            let names = models.all.iter().map(|(name, _)| name.as_str());
            let levels = levels.iter().map(String::as_str);
            let values: Vec<&str> = match levels.len() {
                0 => names.collect(),
                _ => levels.collect(),
            };
            let candidates = ranked(name, values.into_iter(), usize::MAX, value_candidate);
            (start..start + name.len(), candidates)
        }
        Word::Argument {
            command,
            argument,
            start,
        } => {
            let values: Vec<&str> = match (*command, slash::find(command)) {
                ("thinking", _) => models.levels.iter().map(|level| level.name()).collect(),
                ("theme", _) => ThemeStore::embedded(),
                (_, Some(slash)) => slash.values.to_vec(),
                (name, None) => {
                    let known = added.iter().find(|known| known.name == name)?;
                    known.values.iter().map(String::as_str).collect()
                }
            };
            let candidates = ranked(argument, values.into_iter(), usize::MAX, value_candidate);
            (*start..start + argument.len(), candidates)
        }
        _ => return None,
    };
    (!candidates.is_empty()).then_some(Completion { range, candidates })
}

/// The start of a model's name in an argument, and where it begins; `None` where the command takes no model.
pub(super) fn model_name<'a>(word: &Word<'a>) -> Option<(&'a str, usize)> {
    let Word::Argument {
        command,
        argument,
        start,
    } = word
    else {
        return None;
    };
    let from = match *command {
        "model" | "retry" => 0,
        "fan" if !argument.contains("--") => argument.rfind(' ').map_or(0, |space| space + 1),
        "role" => argument.find(' ')? + 1,
        _ => return None,
    };
    Some((&argument[from..], start + from))
}

fn value_candidate(value: &str) -> Candidate {
    Candidate {
        text: value.to_owned(),
        label: value.to_owned(),
        detail: String::new(),
    }
}

/// Slash commands of which a word in the description or the argument begins with the query, or which the palette finds by the query.
fn by_meaning(query: &str, added: &[&AddedCommand]) -> Vec<Candidate> {
    const LEAST: usize = 3;
    let query = query.to_lowercase();
    if query.chars().count() < LEAST {
        return Vec::new();
    }
    let has_word = |text: &str| {
        let text = text.to_lowercase();
        let mut words = text.split(|letter: char| !letter.is_alphanumeric());
        words.any(|word| word.starts_with(&query))
    };
    let rows = commands().filter_map(|info| {
        let slash = info.slash?;
        // The best matches come first: by a query of the palette, then in the argument, then in the description.
        let found = [
            info.queries.contains(&query.as_str()),
            has_word(slash.argument),
            has_word(slash.description),
        ];
        Some((found.iter().position(|found| *found)?, slash))
    });
    let mut rows: Vec<_> = rows.collect();
    sort::by_key(&mut rows, |(rank, _)| *rank);
    let candidates = rows.iter();
    candidates
        .map(|(_, slash)| command_candidate(slash.name, added))
        .collect()
}

/// The mistake in a word that begins like a slash command, if no command has its name.
pub(super) fn unknown(word: &Word<'_>, added: &[&AddedCommand]) -> Option<String> {
    let name = match word {
        Word::Command(name) => name,
        Word::Argument { command, .. } => command,
        _ => return None,
    };
    if slash::find(name).is_some() {
        return None;
    }
    let typed = format!("/{name}");
    let is_added = |name: &str| added.iter().any(|one| one.name == name);
    let mistake = slash::parse(&typed, SlashClient::Terminal, is_added)?.err()?;
    Some(text::unticked(&mistake))
}

/// Whether the word is an argument that names entries of the session.
pub(super) fn wants_points(word: &Word<'_>) -> bool {
    matches!(word, Word::Argument { command, .. } if matches!(*command, "restore" | "diff"))
}

/// Values of a command, and the prompts of the session with these ids and texts. The second of two ids is completed, too.
pub(super) fn points(word: &Word<'_>, points: &[(String, String)]) -> Option<Completion> {
    let Word::Argument {
        command,
        argument,
        start,
    } = word
    else {
        return None;
    };
    let own = argument.rsplit(' ').next().unwrap_or_default();
    let from = start + argument.len() - own.len();
    let values = slash::find(command).filter(|_| own.len() == argument.len());
    let values = values.map_or(&[][..], |slash| slash.values);
    let mut candidates = ranked(own, values.iter().copied(), usize::MAX, value_candidate);
    let typed = own.to_lowercase();
    let found = points
        .iter()
        .filter(|(id, text)| id.starts_with(own) || text.to_lowercase().contains(&typed));
    candidates.extend(found.take(CANDIDATE_LIMIT).map(|(id, text)| Candidate {
        text: id.clone(),
        label: id.clone(),
        detail: text::single_line(text),
    }));
    let range = from..from + own.len();
    (!candidates.is_empty()).then_some(Completion { range, candidates })
}

/// The model named by the complete argument, with each of its thinking levels.
fn levels_of(argument: &str, models: &[NamedModel]) -> Vec<String> {
    let named = models.iter().find(|(model, _)| {
        let rest = argument.strip_prefix(model.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    });
    let Some((model, levels)) = named.filter(|(_, levels)| levels.len() > 1) else {
        return Vec::new();
    };
    let levels = levels.iter();
    levels
        .map(|level| format!("{model}:{}", level.name()))
        .collect()
}

fn command_candidate(name: &str, added: &[&AddedCommand]) -> Candidate {
    let brought = added.iter().find(|command| command.name == name);
    let brought = brought.map(|command| (command.argument.as_str(), command.description.clone()));
    let own = || {
        let slash = slash::find(name)?;
        let description = if slash.aliases.contains(&name) {
            format!("alias of /{}: {}", slash.name, slash.description)
        } else {
            slash.description.to_owned()
        };
        Some((slash.argument, description))
    };
    let (argument, description) = brought.or_else(own).unwrap_or_default();
    Candidate {
        text: format!("/{name} "),
        label: text::single_line(&format!("/{name} {argument}"))
            .trim_end()
            .to_owned(),
        detail: text::single_line(&description),
    }
}

/// Files for the text after `@`: the best matches in `others`, then `found`; without a query, the first files.
/// `symbols` follow them.
pub(super) fn files(
    word: &Word<'_>,
    found: &[&str],
    others: [&[String]; 2],
    symbols: &[&ProjectSymbol],
) -> Option<Completion> {
    let Word::File { query, start } = word else {
        return None;
    };
    let others = others.into_iter().flatten().map(String::as_str);
    let mut candidates = ranked(query, others, CANDIDATE_LIMIT, file_candidate);
    candidates.extend(found.iter().map(|path| file_candidate(path)));
    candidates.truncate(CANDIDATE_LIMIT - symbols.len().min(SYMBOLS));
    candidates.extend(symbols.iter().map(|symbol| symbol_candidate(symbol)));
    candidates.truncate(CANDIDATE_LIMIT);
    let range = *start..start + 1 + query.len();
    (!candidates.is_empty()).then_some(Completion { range, candidates })
}

/// `@path` for a prompt.
pub(crate) fn reference(path: &str) -> String {
    format!("@{}", quoted(path))
}

/// A path with spaces, quotes or line breaks as JSON, which models read.
fn quoted(path: &str) -> String {
    let is_odd = |char: char| char.is_whitespace() || char.is_control() || char == '"';
    if path.contains(is_odd) {
        serde_json::Value::from(path).to_string()
    } else {
        path.to_owned()
    }
}

fn symbol_candidate(symbol: &ProjectSymbol) -> Candidate {
    let ProjectSymbol {
        name,
        kind,
        path,
        line,
    } = symbol;
    Candidate {
        text: format!("{}:{line}", reference(path)),
        label: text::single_line(name),
        detail: text::single_line(&format!("{kind} {path}:{line}")),
    }
}

fn file_candidate(path: &str) -> Candidate {
    Candidate {
        text: reference(path),
        label: text::single_line(path),
        detail: String::new(),
    }
}

/// Entries of a directory that begin like the last part of a path; `list` gives the names in a
/// directory, directories with a trailing slash.
pub(super) fn path(word: &Word<'_>, list: impl FnOnce(&str) -> Vec<String>) -> Option<Completion> {
    let (text, start) = match word {
        Word::Plain { word, start } if !word.is_empty() => (*word, *start),
        Word::File { query, start } => (*query, start + 1),
        _ => return None,
    };
    let split = text.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, prefix) = text.split_at(split);
    let mut names = list(folder);
    names.retain(|name| {
        name.starts_with(prefix) && (prefix.starts_with('.') || !name.starts_with('.'))
    });
    sort::by_key(&mut names, |name| (!name.ends_with('/'), name.clone()));
    names.truncate(CANDIDATE_LIMIT);
    let candidates: Vec<Candidate> = names
        .into_iter()
        .map(|name| Candidate {
            text: quoted(&format!("{folder}{name}")),
            label: text::single_line(&name),
            detail: String::new(),
        })
        .collect();
    (!candidates.is_empty()).then_some(Completion {
        range: start..start + text.len(),
        candidates,
    })
}

/// The longest start all candidates share: what Tab inserts before it lists.
pub(super) fn common_prefix(candidates: &[Candidate]) -> &str {
    let Some((first, others)) = candidates.split_first() else {
        return "";
    };
    let mut prefix = first.text.as_str();
    for other in others {
        let shared = prefix
            .char_indices()
            .zip(other.text.chars())
            .find(|((_, left), right)| left != right)
            .map_or(prefix.len().min(other.text.len()), |((offset, _), _)| {
                offset
            });
        prefix = &prefix[..prefix.floor_char_boundary(shared)];
    }
    prefix
}

/// The best fuzzy matches, at most `limit`, best first; without a query, the first ones in the given order.
fn ranked<'a>(
    query: &str,
    names: impl Iterator<Item = &'a str>,
    limit: usize,
    candidate: impl Fn(&'a str) -> Candidate,
) -> Vec<Candidate> {
    if query.is_empty() {
        return names.take(limit).map(candidate).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(
        &text::composed(query),
        CaseMatching::Smart,
        Normalization::Smart,
    );
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, usize, &str)> = names
        .filter_map(|name| {
            let score = pattern.score(
                Utf32Str::new(&text::composed(name), &mut buffer),
                &mut matcher,
            )?;
            Some((score, name.len(), name))
        })
        .collect();
    sort::by(&mut scored, |left, right| {
        right
            .0
            .cmp(&left.0)
            .then(left.1.cmp(&right.1))
            .then(left.2.cmp(right.2))
    });
    scored
        .into_iter()
        .take(limit)
        .map(|(_, _, name)| candidate(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(completion: Option<Completion>) -> (Range<usize>, Vec<String>) {
        let completion = completion.unwrap();
        let texts = completion
            .candidates
            .into_iter()
            .map(|candidate| candidate.text)
            .collect();
        (completion.range, texts)
    }

    #[test]
    fn names_with_line_breaks_stay_on_one_line() {
        assert_eq!(reference("a b\nc.txt"), r#"@"a b\nc.txt""#);
        let candidate = file_candidate("a\nb.txt");
        assert_eq!(
            (candidate.text, candidate.label),
            (r#"@"a\nb.txt""#.to_owned(), "a⏎b.txt".to_owned())
        );
    }

    #[test]
    fn complete_name_of_a_model_gets_its_thinking_levels() {
        use ThinkingLevel::{High, Low, Off};
        let models = [
            ("a/one", vec![Low, High]),
            ("a/one-mini", vec![Off, High]),
            ("a/plain", vec![Off]),
        ];
        let models = models.map(|(name, levels)| (name.to_owned(), levels));
        let levels = |argument: &str| levels_of(argument, &models);
        assert_eq!(levels("a/on"), Vec::<String>::new());
        assert_eq!(levels("a/one"), ["a/one:low", "a/one:high"]);
        assert_eq!(
            levels("a/one-mini:hi"),
            ["a/one-mini:off", "a/one-mini:high"]
        );
        assert_eq!(levels("a/plain"), Vec::<String>::new());
    }

    #[test]
    fn commands_that_take_models_complete_their_names() {
        use ThinkingLevel::{High, Off};
        let all = [("a/one", vec![Off, High]), ("b/two", vec![Off])];
        let all = all.map(|(name, levels)| (name.to_owned(), levels));
        let models = KnownModels {
            all: &all,
            ..KnownModels::default()
        };
        let offered = |text: &str| command_or_value(&word(text), models, &[]);
        for (text, start) in [
            ("/model tw", 7),
            ("/retry tw", 7),
            ("/fan tw", 5),
            ("/fan a/one tw", 11),
            ("/role plan tw", 11),
        ] {
            let found = texts(offered(text));
            assert_eq!(found, (start..text.len(), vec!["b/two".into()]), "{text}");
        }
        let levels = texts(offered("/retry a/one")).1;
        assert_eq!(levels, ["a/one:off", "a/one:high"]);
        assert_eq!(texts(offered("/role pl")).1, ["plan"]);
        assert_eq!(offered("/fan a/one b/two -- tw"), None);
    }

    #[test]
    fn levels_of_the_model_are_completed_and_the_current_one_is_first() {
        let models = KnownModels {
            levels: &[ThinkingLevel::High, ThinkingLevel::Off],
            ..KnownModels::default()
        };
        let offered = |text: &str| texts(command_or_value(&word(text), models, &[]));
        assert_eq!(offered("/thinking ").1, ["high", "off"]);
        assert_eq!(offered("/thinking o").1, ["off"]);
        let none = command_or_value(&word("/thinking "), KnownModels::default(), &[]);
        assert_eq!(none, None);
    }

    #[test]
    fn entries_are_completed_by_id_and_by_words_of_their_prompts() {
        let known = [("a1", "Fix the\nparser"), ("b2", "Add a test")];
        let known = known.map(|(id, text)| (id.to_owned(), text.to_owned()));
        let found = |text: &str| texts(points(&word(text), &known));
        let all = ["undo", "redo", "a1", "b2"].map(str::to_owned).to_vec();
        assert_eq!(found("/restore "), (9..9, all));
        assert_eq!(found("/restore pars"), (9..13, vec!["a1".to_owned()]));
        assert_eq!(found("/diff a1 b"), (9..10, vec!["b2".to_owned()]));
        assert_eq!(points(&word("/diff zzz"), &known), None);
        assert!(!wants_points(&word("/model a")));
        let completion = points(&word("/restore a"), &known).unwrap();
        assert_eq!(completion.candidates[0].detail, "Fix the⏎parser");
    }

    #[test]
    fn the_word_at_the_cursor_is_read() {
        assert_eq!(word("/mo"), Word::Command("mo"));
        assert_eq!(
            word("/model son"),
            Word::Argument {
                command: "model",
                argument: "son",
                start: 7
            }
        );
        assert_eq!(
            word("see @src/m"),
            Word::File {
                query: "src/m",
                start: 4
            }
        );
        assert_eq!(
            word("/etc/ho"),
            Word::Plain {
                word: "/etc/ho",
                start: 0
            }
        );
        assert_eq!(
            word("a b"),
            Word::Plain {
                word: "b",
                start: 2
            }
        );
        assert_eq!(word(""), Word::Plain { word: "", start: 0 });
    }

    #[test]
    fn commands_complete_by_name_alias_and_description() {
        assert_eq!(
            texts(command_or_value(
                &word("/thin"),
                KnownModels::default(),
                &[]
            )),
            (0..5, vec!["/thinking ".into()])
        );
        let aliases = command_or_value(&word("/beside"), KnownModels::default(), &[])
            .unwrap()
            .candidates;
        assert_eq!(
            (aliases[0].label.as_str(), aliases[0].detail.as_str()),
            (
                "/beside [ID]",
                "alias of /tab: Start a new session in a new tab"
            )
        );
        assert_eq!(
            texts(command_or_value(
                &word("/keys"),
                KnownModels::default(),
                &[]
            ))
            .1[0],
            "/keys "
        );
        // The query is not the start of the alias, so only commands with such a word in their description match.
        assert_eq!(
            texts(command_or_value(
                &word("/side"),
                KnownModels::default(),
                &[]
            ))
            .1,
            ["/fan ", "/panel "]
        );
        // Words for an undo lead to it first.
        for query in ["/revert", "/rollback", "/files", "/conversation"] {
            let found = command_or_value(&word(query), KnownModels::default(), &[]);
            let first = found.unwrap().candidates.swap_remove(0);
            assert_eq!(
                (first.label.as_str(), first.detail.as_str()),
                (
                    "/undo [files|both]",
                    "Undo conversation and files of the last prompt, or one of both"
                ),
                "{query}"
            );
        }
        assert_eq!(
            command_or_value(&word("/zzq"), KnownModels::default(), &[]),
            None
        );
    }

    #[test]
    fn files_symbols_and_paths_complete() {
        assert_eq!(
            texts(files(&word("in @main"), &["src/main.rs"], [&[], &[]], &[])),
            (3..8, vec!["@src/main.rs".into()])
        );
        assert_eq!(
            texts(files(
                &word("@txt"),
                &["a b.txt"],
                [&[], &["docs:txt".to_owned()]],
                &[]
            )),
            (0..4, vec!["@docs:txt".into(), "@\"a b.txt\"".into()])
        );
        let symbol = ProjectSymbol {
            name: "total".to_owned(),
            kind: "function".to_owned(),
            path: "a b.rs".to_owned(),
            line: 7,
        };
        let found = files(&word("@to"), &["to.rs"], [&[], &[]], &[&symbol]);
        let symbols = found.as_ref().unwrap().candidates[1..].to_vec();
        assert_eq!(symbols[0].detail, "function a b.rs:7");
        assert_eq!(
            texts(found),
            (0..3, vec!["@to.rs".into(), "@\"a b.rs\":7".into()])
        );
        let list = |folder: &str| {
            assert_eq!(folder, "src/");
            vec![
                "main.rs".to_owned(),
                "modes/".to_owned(),
                ".hidden".to_owned(),
            ]
        };
        assert_eq!(
            texts(path(&word("x src/m"), list)),
            (2..7, vec!["src/modes/".into(), "src/main.rs".into()])
        );
    }

    #[test]
    fn the_shared_start_ends_where_candidates_differ() {
        let candidate = |text: &str| Candidate {
            text: text.into(),
            label: String::new(),
            detail: String::new(),
        };
        assert_eq!(
            common_prefix(&[candidate("modes/"), candidate("model.rs")]),
            "mode"
        );
        assert_eq!(common_prefix(&[candidate("äb"), candidate("äc")]), "ä");
        assert_eq!(common_prefix(&[]), "");
    }
}
