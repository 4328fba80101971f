//! Programs whose arguments are scripts: awk and sed.

use super::options::is_given;
use crate::shell::Word;

/// Whether the arguments of awk are a program that can only read its input and print, and operands.
pub(crate) fn awk_is_plain(arguments: &[Word]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if text == "-F" {
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

/// Only the field separator is an option that runs and writes nothing.
fn is_plain_awk(text: &str) -> bool {
    let is_option = text.starts_with('-') && text != "-" && !text.starts_with("-F");
    // A comparison, never a file.
    let text = text.replace(">=", "");
    !is_option
        && !text.contains("\\\n")
        && !text.contains(['|', '>', '@', '`'])
        && !["system", "getline", "close", "fflush"]
            .iter()
            .any(|word| text.contains(word))
}

/// Whether the scripts of sed only print, delete and substitute: no `e`, `r`, `w` and no such flag.
pub(crate) fn sed_scripts_are_plain(arguments: &[Word]) -> bool {
    let mut rest = arguments.iter();
    let mut scripts = Vec::new();
    let mut first = None;
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-e" | "--expression" => scripts.extend(rest.next()),
            // Options end here: the next word can be the script, and what follows are files.
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

/// Whether a sed script is lines such as `1,20p`, `/x/d`, `$!d` and `s/a/b/g`.
fn is_plain_sed(script: &str) -> bool {
    script.split([';', '\n']).all(|command| {
        let command = command.trim();
        let address = |char: char| char.is_ascii_digit() || "$,~+! ".contains(char);
        let command = command.trim_start_matches(address);
        let mut chars = command.chars();
        match chars.next() {
            None | Some('#') => true,
            Some('p' | 'd' | 'q' | '=' | 'n') => chars.as_str().trim().is_empty(),
            Some('/') => {
                let end = after_addresses(chars.as_str());
                end.is_some_and(|end| matches!(end.trim(), "p" | "d" | "q" | "="))
            }
            Some('s') => {
                let Some(mark) = chars.next().filter(char::is_ascii_punctuation) else {
                    return false;
                };
                let parts: Vec<&str> = chars.as_str().split(mark).collect();
                let is_flag = |flag: char| flag.is_ascii_digit() || "gpiI".contains(flag);
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

/// Whether a bracket is open at the end of a regular expression: not every sed ends it there.
fn is_open(regex: &str) -> bool {
    regex.matches('[').count() > regex.matches(']').count()
}
