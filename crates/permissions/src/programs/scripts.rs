//! Programs whose arguments are scripts: awk and sed.

use super::options::is_given;
use crate::shell::{Word, is_assignment};

/// Whether the arguments of awk are operands and a program that can only read its input and print.
pub(crate) fn awk_is_plain(arguments: &[Word]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let is_assigned = |word: &Word| word.is_fixed() && is_assignment(&word.text);
        if text == "-v" {
            // `-v` sets a variable, which a plain program can only print and compare.
            if !rest.next().is_some_and(is_assigned) {
                return false;
            }
        } else if text == "-F" {
            // Without quotes, the separator can expand to a separator and a program.
            if rest.next().is_some_and(|separator| separator.splits) {
                return false;
            }
        } else if !word.is_fixed() || !is_plain_awk(text) {
            return false;
        }
    }
    true
}

/// Whether an argument of awk is an operand, a program that runs and writes nothing, or the field
/// separator, which is the only harmless option.
fn is_plain_awk(text: &str) -> bool {
    let is_option = text.starts_with('-') && text != "-" && !text.starts_with("-F");
    // A comparison and a logical operator, never a file or a command.
    let text = text.replace(">=", "").replace("||", "");
    !is_option
        && !text.contains("\\\n")
        && !text.contains(['|', '@', '`'])
        && (!text.contains('>') || compares_only(&text))
        && !["system", "getline", "close", "fflush"]
            .iter()
            .any(|word| text.contains(word))
}

/// Whether each `>` of an awk program compares: in a pattern or in parentheses. This can only be
/// decided for programs without regular expressions, comments and continued lines.
fn compares_only(text: &str) -> bool {
    let (mut braces, mut parentheses, mut is_text) = (0_usize, 0_usize, false);
    let mut chars = text.chars();
    let mut last = ' ';
    while let Some(char) = chars.next() {
        match char {
            '\\' if is_text => drop(chars.next()),
            '"' => is_text = !is_text,
            '\n' if is_text => return false,
            _ if is_text => {}
            '{' => braces += 1,
            '}' if braces > 0 && parentheses == 0 => braces -= 1,
            '(' => parentheses += 1,
            ')' if parentheses > 0 => parentheses -= 1,
            '>' if last == '>' || (braces > 0 && parentheses == 0) => return false,
            '/' | '#' | '\\' | '}' | ')' => return false,
            _ => {}
        }
        last = char;
    }
    !is_text
}

/// Whether the scripts of sed only print, delete and substitute: no `e`, `r`, `w` and no such flag.
pub(crate) fn sed_scripts_are_plain(arguments: &[Word]) -> bool {
    let mut rest = arguments.iter();
    let mut scripts = Vec::new();
    let mut first = None;
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-e" | "--expression" => scripts.extend(rest.next()),
            // Options end here: the next word can be the script, and all later words are files.
            "--" => {
                first = first.or(rest.next());
                break;
            }
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "--quiet" | "--silent" => {}
            text if text.starts_with('-')
                && !is_given("-i", text, false)
                && text != "--in-place" =>
            {
                return false;
            }
            text if text.starts_with('-') => {}
            _ => first = first.or(Some(word)),
        }
    }
    if scripts.is_empty() {
        scripts.extend(first);
    }
    scripts
        .iter()
        .all(|word| word.is_fixed() && is_plain_sed(&word.text))
}

/// Whether a sed script consists of lines such as `1,20p`, `/x/d`, `$!d`, `/a/,/b/{s/a/b/g;p}` and
/// `1!G;h`.
fn is_plain_sed(script: &str) -> bool {
    script.split([';', '\n']).all(|command| {
        let command = command.trim();
        let address = |char: char| char.is_ascii_digit() || "$,~+!{ ".contains(char);
        let mut command = command.trim_start_matches(address);
        while let Some(regex) = command.strip_prefix('/') {
            let Some(after) = after_addresses(regex) else {
                return false;
            };
            command = after.trim_start_matches(address);
        }
        let command = command.trim_end_matches(['}', ' ']);
        let mut chars = command.chars();
        match chars.next() {
            None | Some('#') => true,
            Some('p' | 'd' | 'q' | '=' | 'n' | 'h' | 'H' | 'g' | 'G' | 'x' | 'N' | 'P' | 'D') => {
                chars.as_str().is_empty()
            }
            Some(kind @ ('s' | 'y')) => {
                let Some(mark) = chars.next().filter(char::is_ascii_punctuation) else {
                    return false;
                };
                let parts: Vec<&str> = chars.as_str().split(mark).collect();
                let is_flag =
                    |flag: char| kind == 's' && (flag.is_ascii_digit() || "gpiI".contains(flag));
                mark != '\\'
                    && parts.len() == 3
                    && !is_open(parts[0])
                    && !parts[0].ends_with('\\')
                    && !parts[1].ends_with('\\')
                    && parts[2].trim().chars().all(is_flag)
            }
            _ => false,
        }
    })
}

/// The command after `/regex/` and a second address. `text` begins in the regular expression.
fn after_addresses(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let mut is_escaped = false;
        let is_end = |char: char| {
            let ends = char == '/' && !is_escaped;
            is_escaped = char == '\\' && !is_escaped;
            ends
        };
        let (regex, after) = rest.split_at(rest.find(is_end)?);
        if is_open(regex) {
            return None;
        }
        let other = |char: char| char.is_ascii_digit() || "$,~+!IM ".contains(char);
        let after = after[1..].trim_start_matches(other);
        match after.strip_prefix('/') {
            Some(second) => rest = second,
            None => return Some(after),
        }
    }
}

/// Whether a bracket can be open at the end of a regular expression: not every sed ends it there.
fn is_open(regex: &str) -> bool {
    let (mut opened, mut closed, mut is_inside) = (0_usize, 0_usize, false);
    let mut chars = regex.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if !is_inside => drop(chars.next()),
            '[' => {
                opened += 1;
                if !std::mem::replace(&mut is_inside, true) {
                    let _ = chars.next_if_eq(&'^');
                    let _ = chars.next_if_eq(&']');
                }
            }
            ']' => {
                closed += 1;
                is_inside = false;
            }
            _ => {}
        }
    }
    is_inside || opened > closed
}
