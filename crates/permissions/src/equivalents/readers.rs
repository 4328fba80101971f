//! Programs that run commands from their standard input, if it is connected to something.

use super::inputs::{has_flag, is_input, operands};
use crate::programs::{Shell, find};
use crate::shell::Word;

/// Whether `name` can run commands from its input.
pub(super) fn decide(name: &str, arguments: &[Word]) -> bool {
    let program = find(name);
    let names = |word: &str| word.is_empty() || arguments.iter().any(|given| given.text == word);
    let mut starters = program.starts_shell.iter();
    let script = program.script_option;
    program.reads_commands
        || program
            .reads_with
            .is_some_and(|flag| has_flag(arguments, flag))
        || (program.shell == Shell::OfUser && !has_flag(arguments, 'c'))
        || starters.any(|(word, own)| names(word) && operands(arguments) <= *own)
        || script.is_some_and(|(short, long)| reads_script(arguments, short, long))
}

/// Whether the value of the option `short` or one of `long` is the input.
fn reads_script(arguments: &[Word], short: char, long: &str) -> bool {
    let is_long = |text: &str| {
        long.split(' ')
            .any(|known| !known.is_empty() && known == text)
    };
    let is_option = |text: &str| {
        let group = text
            .strip_prefix('-')
            .filter(|group| !group.starts_with('-'));
        group.is_some_and(|group| group.ends_with(short)) || is_long(text)
    };
    arguments.iter().enumerate().any(|(place, word)| {
        let text = word.text.as_str();
        let attached = match text.split_once('=') {
            Some((option, value)) if is_long(option) => Some(value),
            _ => text
                .strip_prefix('-')
                .and_then(|group| group.split_once(short))
                .map(|(_, value)| value),
        };
        if attached.is_some_and(|value| is_input(&Word::literal(value))) {
            return true;
        }
        let is_value = place
            .checked_sub(1)
            .is_some_and(|before| is_option(&arguments[before].text));
        is_input(word) && (is_value || short == ' ')
    })
}
