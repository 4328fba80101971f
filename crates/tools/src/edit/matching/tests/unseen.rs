//! A second corpus: other languages, files with escapes and entities of their own and with Windows line endings, several
//! kinds of noise at once, noise in the old text only, and files that another program changed.

use std::collections::BTreeMap;

use super::corpus::{self, each_indentation, each_line, numbered, unit};
use super::*;

const FILES: [&str; 6] = [
    include_str!("unseen/Orders.java.txt"),
    include_str!("unseen/tree.rb.txt"),
    include_str!("unseen/deploy.yaml.txt"),
    include_str!("unseen/page.html.txt"),
    include_str!("unseen/rules.mk.txt"),
    include_str!("unseen/Cache.cs.txt"),
];

/// File, first and last line, the replaced text in these lines, and its replacement.
type Clean = (usize, usize, usize, &'static str, &'static str);

const CLEAN: [Clean; 29] = [
    (0, 11, 18, "order.price() < 0", "order.price() <= 0"),
    (
        0,
        20,
        28,
        "found.add(order);",
        "found.add(order);\n                if (found.size() > 100) {\n                    return found;\n                }",
    ),
    (0, 30, 38, "        // The sum stands at the end.\n", ""),
    (0, 31, 37, r#"append("\n")"#, r#"append(";\n")"#),
    (
        0,
        41,
        47,
        "order.setPaid(true);",
        "open.remove(order);\n                order.setPaid(true);",
    ),
    (1, 12, 17, "sum + child.size", "sum + child.size + 1"),
    (
        1,
        19,
        25,
        "    return child if rest.empty?\n",
        "    return child if rest.empty?\n    return if child.nil?\n",
    ),
    (1, 27, 33, "@@depth@@", ""),
    (1, 35, 41, "warn", "log"),
    (
        1,
        27,
        33,
        "lines << child.to_s(depth + 1)",
        "unless child.name.start_with?(\".\")\n        lines << child.to_s(depth + 1)\n      end",
    ),
    (2, 16, 21, "npm ci", "npm ci --no-audit"),
    (
        2,
        20,
        24,
        "CI: \"true\"",
        "CI: \"true\"\n          NODE_ENV: test",
    ),
    (2, 26, 31, "needs: build", "needs: [build]"),
    (
        2,
        32,
        37,
        "        env:\n",
        "        timeout-minutes: 5\n        env:\n",
    ),
    (
        2,
        5,
        9,
        "default: staging",
        "default: staging\n        required: true",
    ),
    (3, 9, 12, "sort=date", "sort=name"),
    (
        3,
        15,
        24,
        "          <th class=\"number\">Price</th>\n",
        "          <th class=\"number\">Price</th>\n          <th>Paid</th>\n",
    ),
    (3, 28, 35, "toggle(\"chosen\")", "toggle(\"chosen\", true)"),
    (3, 3, 7, "Orders &amp; invoices", "Orders"),
    (3, 24, 26, ">More<", ">All<"),
    (4, 13, 15, "compile %s", "building %s"),
    (4, 20, 26, "exit 1;", "rm -f build/app; exit 1;"),
    (4, 10, 11, "-o $@ $^", "-o $@ $^ $(LDLIBS)"),
    (
        4,
        21,
        26,
        "\t\t\texit 1; \\\n",
        "\t\t\tcat \"$$test\"; \\\n\t\t\texit 1; \\\n",
    ),
    (5, 18, 24, "out value!", "out value"),
    (
        5,
        26,
        41,
        "values[key] = value;",
        "values[key] = value;\n\t\t\t\thits++;",
    ),
    (5, 13, 16, "limit > 0 ?", "limit >= 0 ?"),
    (5, 43, 46, "} of {", "} / {"),
    (
        5,
        30,
        40,
        "\t\t\t\t\tvalues.Remove(order.Dequeue());\n",
        "\t\t\t\t\tvar oldest = order.Dequeue();\n\t\t\t\t\tvalues.Remove(oldest);\n",
    ),
];

type Texts = (String, String);

/// A typical change that a model makes to the texts of an edit; `None` when the texts do not allow it.
type Noise = fn(&str, &str) -> Option<Texts>;

#[expect(clippy::unnecessary_wraps, reason = "the result of every `Noise`")]
fn both(old: &str, new: &str, change: impl Fn(&str) -> String) -> Option<Texts> {
    Some((change(old), change(new)))
}

fn dedented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.is_empty());
    let outer = lines
        .map(indentation::indentation)
        .min_by_key(|text| text.len());
    let outer = outer.unwrap_or_default();
    each_line(text, |line| {
        line.strip_prefix(outer).unwrap_or(line).to_owned()
    })
}

fn tabs(text: &str) -> Option<String> {
    each_indentation(text, |width| {
        (unit(text) != "\t").then(|| "\t".repeat(width))
    })
}

fn spaces(text: &str, width: usize) -> Option<String> {
    each_indentation(text, |level| {
        (unit(text) == "\t").then(|| " ".repeat(width * level))
    })
}

fn without_blank(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines.join("\n")
}

fn escaped(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    json[1..json.len() - 1].to_owned()
}

fn entities(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn with_numbers(text: &str) -> String {
    numbered(text, |number, line| format!("{number}\t{line}"))
}

fn fenced(text: &str) -> String {
    format!("```text\n{text}\n```")
}

fn trailing(text: &str) -> String {
    each_line(text, |line| format!("{line} "))
}

fn no_first_indentation(text: &str) -> String {
    text.trim_start_matches([' ', '\t']).to_owned()
}

/// The middle lines that both have, as one comment.
fn elided(old: &str, new: &str) -> Option<Texts> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| old == new)
        .count();
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    // Most common lines are at the start or at the end.
    let (from, count) = if head >= tail {
        (1, head.saturating_sub(2))
    } else {
        (0, 0)
    };
    if count < 2 {
        return None;
    }
    let cut = |lines: &[&str]| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let note = format!(
            "{}// ... existing code ...",
            indentation::indentation(&lines[from])
        );
        lines.splice(from..from + count, [note]);
        lines.join("\n")
    };
    Some((cut(&old), cut(&new)))
}

const NOISES: [(&str, Noise); 38] = [
    ("none", |old, new| both(old, new, str::to_owned)),
    ("first line not indented", |old, new| {
        both(old, new, no_first_indentation)
    }),
    ("first line not indented in old", |old, new| {
        Some((no_first_indentation(old), new.to_owned()))
    }),
    ("outer level lost", |old, new| both(old, new, dedented)),
    ("outer level lost in old", |old, new| {
        Some((dedented(old), new.to_owned()))
    }),
    ("tabs for spaces", |old, new| Some((tabs(old)?, tabs(new)?))),
    ("tabs for spaces in old", |old, new| {
        Some((tabs(old)?, new.to_owned()))
    }),
    ("outer level lost, tabs", |old, new| {
        Some((tabs(&dedented(old))?, tabs(&dedented(new))?))
    }),
    ("two spaces for tabs", |old, new| {
        Some((spaces(old, 2)?, spaces(new, 2)?))
    }),
    ("eight spaces for tabs", |old, new| {
        Some((spaces(old, 8)?, spaces(new, 8)?))
    }),
    ("three spaces more", |old, new| {
        both(old, new, |text| {
            each_line(text, |line| {
                if line.is_empty() {
                    String::new()
                } else {
                    format!("   {line}")
                }
            })
        })
    }),
    ("blank lines lost", |old, new| both(old, new, without_blank)),
    ("blank lines lost, outer level lost", |old, new| {
        both(old, new, |text| without_blank(&dedented(text)))
    }),
    ("blank line at the start", |old, new| {
        both(old, new, |text| format!("\n{text}"))
    }),
    ("blank edges in old", |old, new| {
        Some((format!("\n{old}\n\n"), format!("{new}\n")))
    }),
    ("spaces in blank lines", |old, new| {
        both(old, new, |text| {
            each_line(text, |line| {
                if line.is_empty() {
                    "    ".to_owned()
                } else {
                    line.to_owned()
                }
            })
        })
    }),
    ("trailing spaces", |old, new| both(old, new, trailing)),
    ("Windows line endings", |old, new| {
        both(old, new, |text| text.replace('\n', "\r\n"))
    }),
    ("line numbers", |old, new| both(old, new, with_numbers)),
    ("line numbers in old", |old, new| {
        Some((with_numbers(old), new.to_owned()))
    }),
    ("line numbers of grep", |old, new| {
        both(old, new, |text| {
            numbered(text, |number, line| format!("{number}:{line}"))
        })
    }),
    ("line numbers with a bar", |old, new| {
        both(old, new, |text| {
            numbered(text, |number, line| format!("{number:>4} | {line}"))
        })
    }),
    ("line numbers with L", |old, new| {
        both(old, new, |text| {
            numbered(text, |number, line| format!("L{number}: {line}"))
        })
    }),
    ("line numbers, fences", |old, new| {
        both(old, new, |text| fenced(&with_numbers(text)))
    }),
    ("fences", |old, new| both(old, new, fenced)),
    ("fences in old", |old, new| {
        Some((fenced(old), new.to_owned()))
    }),
    ("fences, outer level lost", |old, new| {
        both(old, new, |text| fenced(&dedented(text)))
    }),
    ("escaped", |old, new| both(old, new, escaped)),
    ("escaped, outer level lost", |old, new| {
        both(old, new, |text| escaped(&dedented(text)))
    }),
    ("backslashes doubled", |old, new| {
        both(old, new, |text| text.replace('\\', "\\\\"))
    }),
    ("quotes escaped", |old, new| {
        both(old, new, |text| text.replace('"', "\\\""))
    }),
    ("escapes of JSON for HTML", |old, new| {
        both(old, new, |text| {
            text.replace('<', "\\u003c")
                .replace('>', "\\u003e")
                .replace('&', "\\u0026")
        })
    }),
    ("HTML entities", |old, new| both(old, new, entities)),
    ("HTML entities, trailing spaces", |old, new| {
        // Nothing shows them if only the new text has any.
        let is_shown = entities(old) != old;
        is_shown.then(|| both(old, new, |text| trailing(&entities(text))))?
    }),
    ("curly quotes", |old, new| {
        both(old, new, |text| {
            text.replace(" \"", " \u{201c}")
                .replace("\")", "\u{201d})")
                .replace(" '", " \u{2018}")
        })
    }),
    ("no-break spaces", |old, new| {
        both(old, new, |text| {
            each_line(text, |line| {
                let indentation = indentation::indentation(line);
                format!(
                    "{}{}",
                    indentation.replace(' ', "\u{a0}"),
                    &line[indentation.len()..]
                )
            })
        })
    }),
    ("inner spaces", |old, new| {
        both(old, new, |text| {
            text.replace(", ", ",").replace(" += ", "+=")
        })
    }),
    ("existing code", elided),
];

/// A file as it is on the disk: the one in C# has Windows line endings.
fn file(index: usize) -> String {
    let text = FILES[index];
    if index == 5 {
        text.replace('\n', "\r\n")
    } else {
        text.to_owned()
    }
}

fn clean_edit(clean: &Clean) -> (String, Texts) {
    let (index, first, last, from, to) = *clean;
    let (from, to) = if from == "@@depth@@" {
        ("#{name}", "#{name}/")
    } else {
        (from, to)
    };
    let lines: Vec<&str> = FILES[index].lines().collect();
    let old = lines[first - 1..last].join("\n");
    let new = old.replacen(from, to, 1);
    assert_ne!(old, new, "{clean:?}");
    (file(index), (old, new))
}

/// The file after the clean edit.
fn expected(file: &str, texts: &Texts) -> String {
    let plain = file.replace("\r\n", "\n").replacen(&texts.0, &texts.1, 1);
    if file.contains("\r\n") {
        plain.replace('\n', "\r\n")
    } else {
        plain
    }
}

/// Whether the result is what was meant. Noise in blank lines and in spaces may stay in new lines.
fn is_same(name: &str, text: &str, expected: &str) -> bool {
    let plain = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| !name.contains("blank") || !line.trim().is_empty());
        let lines = lines.map(|line| {
            if name == "inner spaces" {
                line.replace(' ', "")
            } else {
                line.to_owned()
            }
        });
        lines.collect::<Vec<_>>()
    };
    plain(text) == plain(expected)
}

fn edit(texts: Texts) -> Edit {
    Edit {
        old: texts.0,
        new: texts.1,
        replace_all: false,
    }
}

/// Right, refused and wrong.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Score(usize, usize, usize);

#[test]
fn noisy_edits_do_what_was_meant_or_nothing() {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let mut failures = Vec::new();
    let first = corpus::CLEAN.iter().map(|clean| {
        let (file, edit) = corpus::clean_edit(clean);
        (file.to_owned(), (edit.old, edit.new))
    });
    for (file, texts) in first.chain(CLEAN.iter().map(clean_edit)) {
        let expected = expected(&file, &texts);
        for (name, noise) in NOISES {
            let noisy = noise(&texts.0, &texts.1);
            let Some(noisy) = noisy.filter(|noisy| name == "none" || noisy.0 != texts.0) else {
                continue;
            };
            let score = scores.entry(name).or_default();
            let noisy = edit(noisy);
            match apply(&file, std::slice::from_ref(&noisy), true) {
                Ok(applied) if is_same(name, &applied.text, &expected) => score.0 += 1,
                Ok(applied) => {
                    score.2 += 1;
                    let diff =
                        crate::files::diff::unified("f", Some(&expected), &applied.text).text;
                    failures.push(format!("WRONG {name}\n{diff}"));
                }
                Err(error) => {
                    score.1 += 1;
                    failures.push(format!("refused {name} {texts:?} {error:?}"));
                }
            }
        }
    }
    let total = scores.values().fold(Score::default(), |all, one| {
        Score(all.0 + one.0, all.1 + one.1, all.2 + one.2)
    });
    assert_eq!(
        total,
        Score(1652, 1, 0),
        "{scores:#?}\n{}",
        failures.join("\n")
    );
}

/// Edits of which the old text is not in the file: one word differs.
#[test]
fn other_words_are_refused() {
    let mut tried = 0;
    for clean in &CLEAN {
        let (file, texts) = clean_edit(clean);
        let mut words: Vec<&str> = texts
            .0
            .split(|char: char| !char.is_alphanumeric())
            .collect();
        words.retain(|word| word.len() > 3);
        for word in words.iter().step_by(3) {
            let other = format!("{word}x");
            let old = texts.0.replacen(word, &other, 1);
            for (name, noise) in NOISES {
                let noisy = noise(&old, &texts.1).filter(|noisy| noisy.0.contains(&other));
                let Some(noisy) = noisy else { continue };
                tried += 1;
                let result = apply(&file, &[edit(noisy)], true);
                assert_eq!(
                    result,
                    Err(MatchError::NotFound { index: 0 }),
                    "{name} {old}"
                );
            }
        }
    }
    assert!(tried > 4000, "{tried}");
}

/// The same passage twice: nothing says which one is meant.
#[test]
fn ambiguous_edits_are_refused() {
    let mut tried = 0;
    for clean in &CLEAN {
        let (file, texts) = clean_edit(clean);
        let plain = file.replace("\r\n", "\n");
        let twice = format!("{plain}\n{}\n", texts.0);
        for (name, noise) in NOISES {
            let Some(noisy) = noise(&texts.0, &texts.1) else {
                continue;
            };
            // Blank lines at the edges may distinguish the two.
            if twice.matches(&noisy.0).count() == 1 {
                continue;
            }
            tried += 1;
            let result = apply(&twice, &[edit(noisy)], true);
            assert!(result.is_err(), "{name} {clean:?} {result:?}");
        }
    }
    assert!(tried > 700, "{tried}");
}

/// Every edit of a file that another edit has changed: both are done, unless they have to do with the same lines.
#[test]
fn edits_of_changed_files_keep_both_changes() {
    let mut results = [0, 0];
    for ours in &CLEAN {
        for theirs in CLEAN
            .iter()
            .filter(|theirs| theirs.0 == ours.0 && *theirs != ours)
        {
            let (file, (old, new)) = clean_edit(ours);
            let changed = expected(&file, &clean_edit(theirs).1);
            let merged =
                crate::edit::stale::merge(&file, &changed, &[edit((old.clone(), new.clone()))]);
            let is_apart = ours.2 < theirs.1 || theirs.2 < ours.1;
            results[usize::from(merged.is_ok())] += 1;
            match merged {
                Ok(merged) => assert_eq!(merged.applied.text, expected(&changed, &(old, new))),
                Err(lines) => assert!(!is_apart, "{ours:?} {theirs:?} {lines}"),
            }
        }
    }
    assert_eq!(results, [8, 104]);
}
