//! Operands of programs: words that are no options.

use super::options::has;
use super::table::OutputOperand;
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

/// Whether the second operand, which names an output file, can be there.
pub(super) fn names_output(known: OutputOperand, arguments: &[Word]) -> bool {
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
            text if takes_value(known, text) => drop(rest.next()),
            _ => {}
        }
    }
    found > 1
}

/// Whether the next word is the value of `option`.
fn takes_value(known: OutputOperand, option: &str) -> bool {
    let name = option.trim_start_matches('-');
    let is_group = name.len() + 1 == option.len();
    let ends = name.ends_with(|letter| known.last.contains(letter));
    has(known.valued, option)
        || has(known.valued, name)
        || (is_group
            && ends
            && name[..name.len() - 1]
                .chars()
                .all(|flag| known.flags.contains(flag)))
}
