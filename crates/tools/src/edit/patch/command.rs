//! Patches in shell commands: `apply_patch <<'EOF' … EOF`, which models write that were trained with such a program.

use std::path::Path;

/// Names of the program.
const PROGRAMS: [&str; 2] = ["apply_patch", "applypatch"];

/// The patch of a command that applies one and does nothing else. Paths are relative to the directory of a `cd` before it.
/// `None` for every other command.
pub(crate) fn patch_of_command(command: &str) -> Option<String> {
    let rest = command.trim();
    let (folder, rest) = match rest.strip_prefix("cd ") {
        Some(after) => {
            let (folder, rest) = after.split_once("&&")?;
            (Some(word(folder.trim())?), rest.trim_start())
        }
        None => (None, rest),
    };
    let rest = PROGRAMS
        .iter()
        .find_map(|program| rest.strip_prefix(program))?;
    let argument = rest.strip_prefix([' ', '\t', '\n'])?.trim_start();
    let patch = match argument.strip_prefix("<<") {
        Some(document) => here_document(document)?,
        None => quoted(argument)?,
    };
    if !patch.trim_start().starts_with("*** Begin Patch") {
        return None;
    }
    Some(match folder {
        Some(folder) => moved(&patch, &folder),
        None => patch,
    })
}

/// A plain or quoted word without anything that the shell expands.
fn word(text: &str) -> Option<String> {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    let word = inner('\'').or_else(|| inner('"')).unwrap_or(text);
    let is_plain = |char: char| char.is_alphanumeric() || "_./-+@%,~ ".contains(char);
    let is_one = word != text || !word.contains(' ');
    (!word.is_empty() && !word.starts_with('-') && is_one && word.chars().all(is_plain))
        .then(|| word.to_owned())
}

/// The text of the only here-document. `document` is what follows `<<`.
fn here_document(document: &str) -> Option<String> {
    let (is_indented, document) = match document.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, document),
    };
    let (line, body) = document.split_once('\n')?;
    let end = word(line.trim())?;
    let mut text = String::new();
    let mut lines = body.lines();
    for line in lines.by_ref() {
        let line = if is_indented {
            line.trim_start_matches('\t')
        } else {
            line
        };
        if line == end {
            // With another command after the document, the command does more than apply a patch.
            return lines.all(|line| line.trim().is_empty()).then_some(text);
        }
        text.push_str(line);
        text.push('\n');
    }
    None
}

/// A patch as an argument in quotes. In double quotes, the shell could expand it.
fn quoted(argument: &str) -> Option<String> {
    let inner = argument.strip_prefix('\'')?.strip_suffix('\'')?;
    // `'\''` is a quote in a quoted word.
    let text = inner.replace("'\\''", "\0");
    (!text.contains('\'')).then(|| text.replace('\0', "'"))
}

/// The patch with its paths below `folder`.
fn moved(patch: &str, folder: &str) -> String {
    let lines = patch.split_inclusive('\n').map(|line| {
        let starts = [
            "*** Add File: ",
            "*** Update File: ",
            "*** Delete File: ",
            "*** Move to: ",
        ];
        let start = starts.iter().find(|start| line.starts_with(**start));
        let Some((start, name)) = start.and_then(|start| Some((start, line.strip_prefix(start)?)))
        else {
            return line.to_owned();
        };
        let folder = Path::new(folder.trim_start_matches("./"));
        format!("{start}{}\n", folder.join(name.trim()).display())
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Update File: a\n-x\n+y's $HOME\n*** End Patch\n";

    #[test]
    fn a_command_that_only_applies_a_patch_is_recognised() {
        let below = PATCH.replace("File: a", "File: sub/dir/a");
        let quoted = PATCH.replace('\'', "'\\''");
        for (command, expected) in [
            (format!("apply_patch <<'EOF'\n{PATCH}EOF"), PATCH),
            (
                format!("  apply_patch <<\"PATCH\"\n{PATCH}PATCH\n\n"),
                PATCH,
            ),
            (format!("applypatch << EOF\n{PATCH}EOF\n"), PATCH),
            (format!("apply_patch '{quoted}'"), PATCH),
            (
                format!("cd sub/dir && apply_patch <<'EOF'\n{PATCH}EOF"),
                below.as_str(),
            ),
            (
                format!("cd './sub/dir' &&\napply_patch <<'EOF'\n{PATCH}EOF"),
                &below,
            ),
        ] {
            assert_eq!(
                patch_of_command(&command).as_deref(),
                Some(expected),
                "{command}"
            );
        }
    }

    #[test]
    fn other_commands_stay_commands() {
        for command in [
            "apply_patch".to_owned(),
            "apply_patch --help".to_owned(),
            "apply_patch <<'EOF'\nno patch\nEOF".to_owned(),
            // Not complete, or more than a patch.
            format!("apply_patch <<'EOF'\n{PATCH}"),
            format!("apply_patch <<'EOF'\n{PATCH}EOF\nrm -rf /"),
            format!("apply_patch <<'EOF' && rm x\n{PATCH}EOF"),
            format!("rm x; apply_patch <<'EOF'\n{PATCH}EOF"),
            format!("apply_patch '{PATCH}'"),
            format!("cd \"$(pwd)\" && apply_patch <<'EOF'\n{PATCH}EOF"),
            format!("cd a b && apply_patch <<'EOF'\n{PATCH}EOF"),
            format!("git apply_patch <<'EOF'\n{PATCH}EOF"),
        ] {
            assert_eq!(patch_of_command(&command), None, "{command}");
        }
    }
}
