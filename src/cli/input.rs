//! The prompts of a run: words of the command line, files named with `@`, and what is piped in.

use std::io::Read;
use std::path::Path;

use osier_base::path;
use osier_session::user_prompt::Prompt;
use osier_tools::attachment;

/// Largest piped text, in bytes.
const PIPE_LIMIT: u64 = 10 * 1024 * 1024;

/// Puts the parts together: files and the piped text stand before the first prompt.
///
/// # Errors
/// One sentence that names the file or the pipe, and the mend.
pub(super) fn prompts(
    words: &[String],
    piped: Option<String>,
    cwd: &Path,
) -> Result<Vec<Prompt>, String> {
    let mut prompts = Vec::new();
    let mut attachments = Vec::new();
    for word in words {
        match word.strip_prefix('@').filter(|name| !name.is_empty()) {
            Some(name) => {
                let path = path::resolve_existing(cwd, name);
                attachments.push(attachment::load(&path).map_err(|error| error.to_string())?);
            }
            None if word.trim().is_empty() => {
                return Err("a prompt is empty: say what is to be done".to_owned());
            }
            None => prompts.push(Prompt {
                text: word.clone(),
                attachments: Vec::new(),
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
        }
    }
    Ok(prompts)
}

/// Reads everything that is piped in.
///
/// # Errors
/// One sentence when it is no text or too much.
pub(super) fn read_pipe(pipe: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = pipe.take(PIPE_LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input cannot be read: {error}"))?;
    if bytes.len() as u64 > PIPE_LIMIT {
        return Err(format!(
            "standard input has more than {} MiB: put it into a file and let the agent read it",
            PIPE_LIMIT / 1024 / 1024
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("standard input is not text: name the file as @FILE instead".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_the_pipe_stand_before_the_first_prompt() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::io::Write::write_all(&mut std::fs::File::create(&file).unwrap(), b"text").unwrap();
        let words = ["first".to_owned(), "@a.txt".to_owned(), "second".to_owned()];
        let prompts = prompts(&words, Some("piped\n".into()), folder.path()).unwrap();
        let texts: Vec<(&str, usize)> = prompts
            .iter()
            .map(|prompt| (prompt.text.as_str(), prompt.attachments.len()))
            .collect();
        assert_eq!(texts, [("piped\n\nfirst", 1), ("second", 0)]);
    }

    #[test]
    fn what_is_no_prompt_is_refused_in_one_sentence() {
        let cwd = Path::new("/");
        assert!(
            prompts(&["@missing".into()], None, cwd)
                .unwrap_err()
                .starts_with("`/missing` cannot be read")
        );
        assert!(prompts(&[" ".into()], None, cwd).is_err());
        assert_eq!(prompts(&[], Some("  ".into()), cwd).unwrap(), Vec::new());
        assert!(
            read_pipe(&b"\xff\xfe"[..])
                .unwrap_err()
                .contains("not text")
        );
    }
}
