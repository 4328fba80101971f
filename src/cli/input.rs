//! The prompts of a run: arguments of the command line, `@` files and piped text.
//!
//! Standard input may be open although nobody writes to it, in CI and editors for example. So a run with a prompt takes the
//! text that is there and starts, unless `-` or `--stdin` says that it is a part of the prompt.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use osier_base::path;
use osier_base::terminal_output::stderr;
use osier_permissions::denies_reading;
use osier_protocol::Prompt;
use osier_tools::attachment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The prompt that stands for standard input.
pub(super) const STDIN: &str = "-";

/// Time without new text until osier says that it waits, or starts with the text so far.
const PATIENCE: Duration = Duration::from_secs(1);

/// Longest time that a text which keeps arriving delays a run with a prompt.
const LONGEST: Duration = Duration::from_secs(10);

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
    /// Standard input may be open without a reason: only the text that is there is read.
    Optional,
    /// Standard input is read to its end, because `-` or `--stdin` asks for it.
    Requested,
    /// Standard input is read to its end: it is the prompt.
    Prompt,
}

impl Piped {
    /// The note when it is still open after `bytes`.
    fn note(self, bytes: usize) -> String {
        match (self, bytes) {
            (Self::Optional, 0) => "nothing arrived on standard input within a second, so the run starts without it; pass `-` or `--stdin` to wait for it".to_owned(),
            (Self::Optional, _) => format!("standard input is still open after {bytes} bytes, so the run starts with these; pass `-` or `--stdin` to wait for its end, and `</dev/null` to read nothing"),
            (Self::Prompt, 0) => "waiting for the prompt on standard input, which is open; pass the prompt as an argument, and `</dev/null` to read nothing".to_owned(),
            _ => format!(
                "waiting for the end of standard input, {bytes} bytes so far; pass `</dev/null` to read nothing"
            ),
        }
    }
}

/// The line below a text that may be incomplete, for the model.
const OPEN: &str = "[standard input was still open here: the text may be incomplete]";

/// Reads the piped text; `None` if it is optional and nothing arrives.
///
/// # Errors
/// The input is not text, or too long.
pub(super) fn read_pipe(pipe: impl Read + AsFd, how: Piped) -> Result<Option<String>, String> {
    let note = |note: &str| {
        // Nothing reads it when standard error is closed.
        let _ = std::io::Write::write_fmt(&mut stderr(), format_args!("osier: {note}\n"));
    };
    read_noting(pipe, how, LONGEST, note)
}

fn read_noting(
    mut pipe: impl Read + AsFd,
    how: Piped,
    longest: Duration,
    mut note: impl FnMut(&str),
) -> Result<Option<String>, String> {
    let started = Instant::now();
    let failed = |error: std::io::Error| format!("cannot read standard input: {error}");
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut is_noted = false;
    while bytes.len() as u64 <= PIPE_LIMIT {
        if !is_noted {
            let is_late = how == Piped::Optional && started.elapsed() > longest;
            if is_late || is_quiet(&pipe) {
                note(&how.note(bytes.len()));
                if how == Piped::Optional {
                    return match bytes.len() {
                        0 => Ok(None),
                        _ => text(bytes, true).map(Some),
                    };
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
    text(bytes, false).map(Some)
}

/// Whether nothing arrives for a second. If a signal comes, or the descriptor cannot be polled, reading decides.
fn is_quiet(pipe: impl AsFd) -> bool {
    let patience = Timespec {
        tv_sec: PATIENCE.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&patience)) == Ok(0)
}

/// `bytes` as text. The end of a text that is still `open` may be a part of a character.
fn text(mut bytes: Vec<u8>, open: bool) -> Result<String, String> {
    if open
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err(NO_TEXT.to_owned()),
        Ok(text) if open => Ok(format!("{}\n{OPEN}", text.trim_end())),
        text => text.map_err(|_| NO_TEXT.to_owned()),
    }
}

const NO_TEXT: &str = "standard input is not text; pass the file as `@FILE`";

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
    fn read(text: &[u8], how: Piped) -> (Option<String>, Vec<String>) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(text).unwrap();
        let mut writer = Some(writer);
        let mut notes = Vec::new();
        let read = read_noting(reader, how, LONGEST, |note| {
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
                "".as_bytes(),
                Piped::Optional,
                None,
                "pass `-` or `--stdin` to wait for it",
            ),
            (
                b"",
                Piped::Requested,
                text(""),
                "waiting for the end of standard input, 0 bytes",
            ),
            (
                b"",
                Piped::Prompt,
                text(""),
                "waiting for the prompt on standard input",
            ),
            (
                b"begun\xc3",
                Piped::Optional,
                Some(format!("begun\n{OPEN}")),
                "standard input is still open after 6 bytes, so the run starts with these",
            ),
            (
                b"begun",
                Piped::Requested,
                text("begun"),
                "waiting for the end of standard input, 5 bytes",
            ),
        ] {
            let (read, notes) = read(given, how);
            assert_eq!(read, expected, "{given:?} {how:?}");
            assert_eq!(notes.len(), 1, "{notes:?}");
            assert!(notes[0].contains(note), "{notes:?}");
        }
    }

    #[test]
    fn a_pipe_that_ends_is_read_without_a_note() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"all").unwrap();
        drop(writer);
        let read = read_noting(reader, Piped::Optional, LONGEST, |note| panic!("{note}"));
        assert_eq!(read, Ok(Some("all".to_owned())));
    }

    #[test]
    fn a_text_without_an_end_delays_a_run_only_for_a_while() {
        let pipe = std::fs::File::open("/dev/zero").unwrap();
        let mut notes = Vec::new();
        let read = read_noting(pipe, Piped::Optional, Duration::ZERO, |note| {
            notes.push(note.to_owned());
        });
        assert_eq!((read, notes.len()), (Ok(None), 1));
    }
}
