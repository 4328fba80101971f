//! The prompts of a run: arguments of the command line, `@` files and piped text.
//!
//! Standard input may be open although nobody writes to it, in CI and editors for example. So a run with a prompt reads it
//! only if something is there, unless `-` or `--stdin` says that it is a part of the prompt.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

use osier_base::path;
use osier_base::terminal_output::stderr;
use osier_permissions::denies_reading;
use osier_protocol::Prompt;
use osier_tools::attachment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The prompt that stands for standard input.
pub(super) const STDIN: &str = "-";

/// Time until osier says that it waits, or continues without standard input.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Largest piped text, in bytes.
const PIPE_LIMIT: u64 = 10 * 1024 * 1024;

/// Builds the prompts. Files and piped text go before the text of the first one.
///
/// # Errors
/// Names the file or the pipe, the cause and the fix.
pub(super) fn prompts(
    words: &[String],
    piped: Option<String>,
    cwd: &Path,
    deny: &[String],
) -> Result<Vec<Prompt>, String> {
    let mut prompts = Vec::new();
    let mut attachments = Vec::new();
    for word in words.iter().filter(|word| *word != STDIN) {
        match word.strip_prefix('@').filter(|name| !name.is_empty()) {
            Some(name) => {
                let path = path::resolve_existing(cwd, name);
                if let Some(rule) = denies_reading(deny, cwd, &path) {
                    return Err(format!(
                        "`{name}` is not attached: the rule `{rule}` denies it; change `deny` in `settings.toml`"
                    ));
                }
                attachments.push(attachment::load(&path).map_err(|error| error.to_string())?);
            }
            None if word.trim().is_empty() => {
                return Err("a prompt is empty; pass the text of the prompt".to_owned());
            }
            None => prompts.push(Prompt {
                text: word.clone(),
                ..Prompt::default()
            }),
        }
    }
    let piped = piped.filter(|text| !text.trim().is_empty());
    if prompts.is_empty() && (piped.is_some() || !attachments.is_empty()) {
        prompts.push(Prompt::default());
    }
    if let Some(first) = prompts.first_mut() {
        first.attachments = attachments;
        if let Some(piped) = piped {
            let rest = std::mem::take(&mut first.text);
            let joined = format!("{}\n\n{rest}", piped.trim_end());
            joined.trim_end().clone_into(&mut first.text);
            first.typed = Some(rest);
        }
    }
    Ok(prompts)
}

/// How much standard input is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piped {
    /// It may be open without a reason.
    Optional,
    /// Until its end: `-` or `--stdin` asks for it.
    Requested,
    /// Until its end: it is the prompt.
    Prompt,
}

impl Piped {
    /// The note after a second in which nothing arrived.
    fn note(self, bytes: usize) -> String {
        match (self, bytes) {
            (Self::Optional, 0) => "nothing arrived on standard input within a second, so the run starts without it; pass `-` or `--stdin` to wait for it".to_owned(),
            (Self::Prompt, 0) => "waiting for the prompt on standard input, which is open; pass the prompt as an argument, and `</dev/null` to read nothing".to_owned(),
            _ => format!(
                "waiting for the end of standard input, {bytes} bytes so far; pass `</dev/null` to read nothing"
            ),
        }
    }
}

/// Reads the piped text; `None` if it is optional and nothing arrives.
///
/// # Errors
/// The input is not text, or too long.
pub(super) fn read_pipe(pipe: impl Read + AsFd, how: Piped) -> Result<Option<String>, String> {
    read_noting(pipe, how, |note| {
        // Nothing reads it when standard error is closed.
        let _ = std::io::Write::write_fmt(&mut stderr(), format_args!("osier: {note}\n"));
    })
}

fn read_noting(
    mut pipe: impl Read + AsFd,
    how: Piped,
    mut note: impl FnMut(&str),
) -> Result<Option<String>, String> {
    let failed = |error: std::io::Error| format!("cannot read standard input: {error}");
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut is_noted = false;
    while bytes.len() as u64 <= PIPE_LIMIT {
        if !is_noted {
            let mut waiting = [PollFd::new(&pipe, PollFlags::IN)];
            // A signal that is handled, or a descriptor that cannot be polled: reading decides.
            let is_idle = poll(&mut waiting, Some(&PATIENCE)) == Ok(0);
            if is_idle {
                note(&how.note(bytes.len()));
                if how == Piped::Optional && bytes.is_empty() {
                    return Ok(None);
                }
                is_noted = true;
            }
        }
        match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    if bytes.len() as u64 > PIPE_LIMIT {
        return Err(format!(
            "standard input is longer than {} MiB; write it to a file and name the file in the prompt",
            PIPE_LIMIT / 1024 / 1024
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(Some(text)),
        _ => Err("standard input is not text; pass the file as `@FILE`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn files_and_piped_text_go_before_the_first_prompt() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::io::Write::write_all(&mut std::fs::File::create(&file).unwrap(), b"text").unwrap();
        let words = ["first".to_owned(), "@a.txt".to_owned(), "second".to_owned()];
        let rules = ["read(*.pem)".to_owned()];
        let prompts = prompts(&words, Some("piped\n".into()), folder.path(), &rules).unwrap();
        let texts: Vec<(&str, usize)> = prompts
            .iter()
            .map(|prompt| (prompt.text.as_str(), prompt.attachments.len()))
            .collect();
        assert_eq!(texts, [("piped\n\nfirst", 1), ("second", 0)]);
    }

    #[test]
    fn a_file_that_a_rule_denies_is_not_attached() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(".env", folder.path().join("link")).unwrap();
        let rules = ["read(.env)".to_owned()];
        for word in ["@.env", "@link", "@./x/../.env"] {
            let error = prompts(&[word.into()], None, folder.path(), &rules).unwrap_err();
            let name = &word[1..];
            let expected = format!(
                "`{name}` is not attached: the rule `read(.env)` denies it; change `deny` in `settings.toml`"
            );
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn invalid_prompts_are_errors() {
        let cwd = Path::new("/");
        assert!(
            prompts(&["@missing".into()], None, cwd, &[])
                .unwrap_err()
                .starts_with("cannot read `/missing`")
        );
        assert_eq!(
            prompts(&[" ".into()], None, cwd, &[]),
            Err("a prompt is empty; pass the text of the prompt".to_owned())
        );
        assert_eq!(
            prompts(&[], Some("  ".into()), cwd, &[]).unwrap(),
            Vec::new()
        );
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"\xff\xfe").unwrap();
        drop(writer);
        assert_eq!(
            read_pipe(reader, Piped::Optional),
            Err("standard input is not text; pass the file as `@FILE`".to_owned())
        );
    }

    /// The text and the notes when `text` arrives and the pipe stays open until the first note.
    fn read(text: &str, how: Piped) -> (Option<String>, Vec<String>) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        let mut writer = Some(writer);
        let mut notes = Vec::new();
        let read = read_noting(reader, how, |note| {
            notes.push(note.to_owned());
            writer = None;
        });
        (read.unwrap(), notes)
    }

    #[test]
    fn an_open_pipe_is_named_and_waited_for_only_if_it_is_needed() {
        let text = |text: &str| Some(text.to_owned());
        for (given, how, expected, note) in [
            (
                "",
                Piped::Optional,
                None,
                "pass `-` or `--stdin` to wait for it",
            ),
            (
                "",
                Piped::Requested,
                text(""),
                "waiting for the end of standard input, 0 bytes",
            ),
            (
                "",
                Piped::Prompt,
                text(""),
                "waiting for the prompt on standard input",
            ),
            (
                "begun",
                Piped::Optional,
                text("begun"),
                "waiting for the end of standard input, 5 bytes",
            ),
        ] {
            let (read, notes) = read(given, how);
            assert_eq!(read, expected, "{given} {how:?}");
            assert_eq!(notes.len(), 1, "{notes:?}");
            assert!(notes[0].contains(note), "{notes:?}");
        }
    }

    #[test]
    fn a_pipe_that_ends_is_read_without_a_note() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"all").unwrap();
        drop(writer);
        let read = read_noting(reader, Piped::Optional, |note| panic!("{note}"));
        assert_eq!(read, Ok(Some("all".to_owned())));
    }
}
