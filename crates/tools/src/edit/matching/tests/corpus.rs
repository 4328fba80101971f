//! Edits as models write them: clean edits of five languages, each with one kind of noise. An edit that is applied must
//! have the effect of the clean edit, and an ambiguous or outdated edit, or one with another word, must be refused.

use std::collections::BTreeMap;

use super::*;

const FILES: [&str; 5] = [
    include_str!("corpus/account.rs.txt"),
    include_str!("corpus/queue.py.txt"),
    include_str!("corpus/cache.go.txt"),
    include_str!("corpus/cart.ts.txt"),
    include_str!("corpus/list.c.txt"),
];

/// File, first and last line, the replaced text in these lines, and its replacement.
pub(super) type Clean = (usize, usize, usize, &'static str, &'static str);

pub(super) const CLEAN: [Clean; 25] = [
    (0, 10, 18, "amount <= 0", "amount < 1"),
    (
        0,
        12,
        16,
        "*balance += amount;",
        "*balance += amount;\n        if *balance < 0 {\n            *balance = 0;\n        }",
    ),
    (0, 22, 28, "not enough money", "no money"),
    (0, 26, 30, "        *balance -= amount;\n", ""),
    (
        0,
        34,
        40,
        "names.push(name.as_str());",
        "if !name.is_empty() {\n                names.push(name.as_str());\n            }",
    ),
    (
        1,
        13,
        22,
        "return 0",
        "self.jobs = []\n            return 0",
    ),
    (1, 15, 22, "json.loads(line)", "json.loads(line.strip())"),
    (1, 24, 28, "priority < 5", "priority < 9"),
    (1, 26, 31, "        job[\"priority\"] = priority\n", ""),
    (
        1,
        34,
        40,
        "continue",
        "if job[\"priority\"] > 5:\n                    print(job)\n                continue",
    ),
    (2, 15, 24, "c.hits++", "c.hits += 1"),
    (
        2,
        17,
        23,
        "c.hits++",
        "c.hits++\n\tif c.hits > 100 {\n\t\tc.hits = 0\n\t}",
    ),
    (2, 27, 34, "map[string]string{}", "make(map[string]string)"),
    (2, 39, 45, "break", "fmt.Println(key)\n\t\t\tbreak"),
    (
        2,
        37,
        46,
        "\tvar keys []string\n",
        "\tkeys := make([]string, 0, len(c.values))\n",
    ),
    (
        3,
        12,
        19,
        "found.count += count;",
        "found.count = Math.max(0, found.count + count);",
    ),
    (
        3,
        13,
        20,
        "    this.lines.push(line);\n",
        "    this.lines.push(line);\n    if (count < 0) {\n      throw new Error(\"count\");\n    }\n",
    ),
    (3, 23, 31, "sum * (1 - discount)", "sum - discount"),
    (
        3,
        25,
        31,
        "        sum +=",
        "        // Free items cost nothing.\n        sum +=",
    ),
    (3, 35, 39, "<li class=\"line\">", "<li>"),
    (4, 9, 19, "return head;", "return NULL;"),
    (4, 12, 18, "        return head;\n", ""),
    (4, 22, 31, "total >= limit", "total > limit"),
    (
        4,
        24,
        30,
        "total += head->value;",
        "if (head->value > 0) {\n            total += head->value;\n        }",
    ),
    (
        4,
        37,
        42,
        "free(head);",
        "head->next = NULL;\n        free(head);",
    ),
];

/// A typical change that a model makes to an edit; `None` when it makes no difference.
type Noise = fn(&str) -> Option<String>;

/// Noise in both texts.
const NOISES: [(&str, Noise); 19] = [
    ("none", |text| Some(text.to_owned())),
    ("dedented", |text| {
        Some(each_line(text, |line| {
            line.strip_prefix(unit(text)).unwrap_or(line).to_owned()
        }))
    }),
    ("outer level lost", |text| {
        let lines = text
            .lines()
            .filter(|line| !line.is_empty())
            .map(indentation::indentation);
        let outer = lines.min_by_key(|text| text.len())?;
        Some(each_line(text, |line| {
            line.strip_prefix(outer).unwrap_or(line).to_owned()
        }))
    }),
    ("indented", |text| {
        Some(each_line(text, |line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("    {line}")
            }
        }))
    }),
    ("tabs for spaces", |text| {
        each_indentation(text, |width| {
            if unit(text) == "\t" {
                None
            } else {
                Some("\t".repeat(width))
            }
        })
    }),
    ("spaces for tabs", |text| {
        each_indentation(text, |width| {
            if unit(text) == "\t" {
                Some("    ".repeat(width))
            } else {
                None
            }
        })
    }),
    ("other width", |text| {
        let other = if unit(text) == "  " { "    " } else { "  " };
        each_indentation(text, |width| Some(other.repeat(width)))
    }),
    ("blank lines lost", |text| {
        Some(
            text.lines()
                .filter(|line| !line.is_empty())
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }),
    ("blank lines added", |text| {
        Some(text.replacen(";\n", ";\n\n", 1).replacen(":\n", ":\n\n", 1))
    }),
    ("blank edges", |text| Some(format!("\n{text}\n\n"))),
    ("trailing spaces", |text| {
        Some(each_line(text, |line| format!("{line}  ")))
    }),
    ("all escaped", |text| {
        let escaped = serde_json::to_string(text).ok()?;
        Some(escaped[1..escaped.len() - 1].to_owned())
    }),
    ("quotes escaped", |text| Some(text.replace('"', "\\\""))),
    ("HTML entities", |text| {
        Some(
            text.replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('"', "&quot;"),
        )
    }),
    ("curly quotes", |text| {
        Some(text.replace(" \"", " \u{201c}").replace("\")", "\u{201d})"))
    }),
    ("line numbers", |text| {
        Some(numbered(text, |number, line| {
            format!("{number:>6}\t{line}")
        }))
    }),
    ("line numbers with arrows", |text| {
        Some(numbered(text, |number, line| {
            format!("{number}\u{2192}{line}")
        }))
    }),
    ("fences", |text| Some(format!("```\n{text}\n```"))),
    ("inner spaces", |text| {
        Some(text.replace(", ", ",").replace(" += ", "+="))
    }),
];

pub(super) fn each_line(text: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(change).collect::<Vec<_>>().join("\n")
}

/// One level of indentation.
pub(super) fn unit(text: &str) -> &'static str {
    let lines = || {
        text.lines()
            .map(indentation::indentation)
            .filter(|text| !text.is_empty())
    };
    match lines().next() {
        Some(tabs) if tabs.starts_with('\t') => "\t",
        _ if lines().any(|spaces| spaces.len() % 4 != 0) => "  ",
        _ => "    ",
    }
}

pub(super) fn each_indentation(
    text: &str,
    change: impl Fn(usize) -> Option<String>,
) -> Option<String> {
    let lines: Option<Vec<String>> = text
        .lines()
        .map(|line| {
            let found = indentation::indentation(line);
            Some(change(found.len() / unit(text).len())? + &line[found.len()..])
        })
        .collect();
    Some(lines?.join("\n"))
}

pub(super) fn numbered(text: &str, change: impl Fn(usize, &str) -> String) -> String {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| change(index + 9, line));
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn clean_edit(clean: &Clean) -> (&'static str, Edit) {
    let (file, first, last, from, to) = *clean;
    let lines: Vec<&str> = FILES[file].lines().collect();
    let old = lines[first - 1..last].join("\n");
    let new = old.replacen(from, to, 1);
    assert_ne!(old, new, "{clean:?}");
    (
        FILES[file],
        Edit {
            old,
            new,
            replace_all: false,
        },
    )
}

/// Whether an edit with noise did what was meant. Noise in blank lines and in spaces may stay in new lines.
fn same(name: &str, text: &str, expected: &str) -> bool {
    let spaces = name == "inner spaces";
    let plain = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() || !name.starts_with("blank"));
        let lines = lines.map(|line| {
            if spaces {
                line.replace(' ', "")
            } else {
                line.to_owned()
            }
        });
        lines.collect::<Vec<_>>()
    };
    plain(text) == plain(expected)
}

/// Right, refused and wrong.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Score(usize, usize, usize);

#[test]
fn noisy_edits_do_what_was_meant_or_nothing() {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let mut wrong = Vec::new();
    for clean in &CLEAN {
        let (file, edit) = clean_edit(clean);
        let expected = file.replacen(&edit.old, &edit.new, 1);
        for (name, noise) in NOISES {
            let texts = noise(&edit.old).zip(noise(&edit.new));
            let Some((old, new)) = texts.filter(|texts| name == "none" || texts.0 != edit.old)
            else {
                continue;
            };
            let score = scores.entry(name).or_default();
            let noisy = Edit {
                old,
                new,
                replace_all: false,
            };
            match apply(file, std::slice::from_ref(&noisy), true) {
                Ok(applied) if same(name, &applied.text, &expected) => score.0 += 1,
                Ok(applied) => {
                    score.2 += 1;
                    wrong.push(format!(
                        "{name} {clean:?}\n{}\n---\n{}",
                        noisy.new, applied.text
                    ));
                }
                Err(_) => score.1 += 1,
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n=====\n"));
    let total = scores.values().fold(Score::default(), |all, one| {
        Score(all.0 + one.0, all.1 + one.1, all.2 + one.2)
    });
    assert_eq!(total, Score(398, 5, 0), "{scores:#?}");
}

/// Edits of which the old text is not in the file: an identifier, a number or a word differs.
#[test]
fn other_words_are_refused() {
    let mut tried = 0;
    for clean in &CLEAN {
        let (file, edit) = clean_edit(clean);
        for (from, to) in [
            ("balance", "account"),
            ("name", "title"),
            ("job", "task"),
            ("0", "1"),
            ("key", "keys"),
            ("line", "row"),
            ("head", "tail"),
            ("return", "yield"),
            ("limit", "limits"),
            (";", ","),
        ] {
            let old = edit.old.replacen(from, to, 1);
            if old == edit.old || file.contains(&old) {
                continue;
            }
            for (name, noise) in NOISES {
                let Some((old, new)) = noise(&old).zip(noise(&edit.new)) else {
                    continue;
                };
                let noisy = [Edit {
                    old,
                    new,
                    replace_all: false,
                }];
                tried += 1;
                assert_eq!(
                    apply(file, &noisy, true),
                    Err(MatchError::NotFound { index: 0 }),
                    "{name} {noisy:?}"
                );
            }
        }
    }
    assert_eq!(tried, 1512);
}

/// Noise after which the indentation says nothing.
const INDENTATION: [&str; 6] = [
    "dedented",
    "outer level lost",
    "indented",
    "tabs for spaces",
    "spaces for tabs",
    "other width",
];

/// The same passage twice, also at another depth: nothing says which one is meant.
#[test]
fn ambiguous_edits_are_refused() {
    let mut tried = 0;
    for clean in &CLEAN {
        let (file, edit) = clean_edit(clean);
        let deeper = |line: &str| {
            let unit = if line.is_empty() { "" } else { unit(&edit.old) };
            format!("{unit}{line}")
        };
        let deeper = each_line(&edit.old, deeper);
        for (name, noise) in NOISES {
            let Some((old, new)) = noise(&edit.old).zip(noise(&edit.new)) else {
                continue;
            };
            for copy in [&edit.old, &deeper] {
                let twice = format!("{file}\n{copy}\n");
                // Blank lines at the edges may distinguish the two.
                let exact = twice.matches(&old).count();
                if exact == 1 || (copy == &deeper && !INDENTATION.contains(&name)) {
                    continue;
                }
                let noisy = Edit {
                    old: old.clone(),
                    new: new.clone(),
                    replace_all: false,
                };
                tried += 1;
                let result = apply(&twice, &[noisy], true);
                assert!(
                    matches!(result, Err(MatchError::Ambiguous { .. })),
                    "{name} {old} {result:?}"
                );
            }
        }
    }
    assert_eq!(tried, 551);
}
