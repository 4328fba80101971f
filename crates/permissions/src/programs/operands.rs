//! Operands of programs: words that are no options.

use crate::shell::Word;

/// Words that are no options, and not the value of an option as far as that is known.
pub(super) fn count(arguments: &[Word]) -> usize {
    let mut found = 0;
    let mut after_option = false;
    for word in arguments {
        let text = word.text.as_str();
        if text.starts_with('-') {
            after_option = text != "--";
            continue;
        }
        // `--depth 1`.
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        found += usize::from(!(after_option && is_number));
        after_option = false;
    }
    found
}

/// Whether the second operand of `uniq` or `xxd`, which names an output file, can be there.
pub(super) fn names_output(name: &str, arguments: &[Word]) -> bool {
    if arguments.iter().any(|word| word.splits) {
        return true;
    }
    let mut found = 0;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "--" => {
                found += rest.count();
                break;
            }
            text if text == "-" || !text.starts_with('-') => found += 1,
            text if takes_value(name, text) => drop(rest.next()),
            _ => {}
        }
    }
    found > 1
}

/// Whether the next word is the value of `option`.
fn takes_value(name: &str, option: &str) -> bool {
    const OF_XXD: [&str; 16] = [
        "c",
        "cols",
        "g",
        "group",
        "groupsize",
        "l",
        "len",
        "length",
        "n",
        "name",
        "o",
        "offset",
        "R",
        "s",
        "seek",
        "skip",
    ];
    if name == "xxd" {
        return OF_XXD.contains(&option.trim_start_matches('-'));
    }
    match option.strip_prefix("--") {
        Some(long) => ["skip-fields", "skip-chars", "check-chars"].contains(&long),
        // A group of flags that ends with an option.
        None => {
            option.ends_with(['f', 's', 'w'])
                && option[1..option.len() - 1]
                    .chars()
                    .all(|flag| "cdDuiz".contains(flag))
        }
    }
}
