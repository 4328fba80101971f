//! The prompts of a run: arguments of the command line, `@` files and piped text.

use std::io::Read;
use std::path::Path;

use osier_base::path;
use osier_permissions::denies_reading;
use osier_protocol::Prompt;
use osier_tools::attachment;

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
    for word in words {
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

/// Reads the piped text.
///
/// # Errors
/// The input is not text, or too long.
pub(super) fn read_pipe(pipe: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = pipe.take(PIPE_LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    if bytes.len() as u64 > PIPE_LIMIT {
        return Err(format!(
            "standard input is longer than {} MiB; write it to a file and name the file in the prompt",
            PIPE_LIMIT / 1024 / 1024
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("standard input is not text; pass the file as `@FILE`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            read_pipe(&b"\xff\xfe"[..]),
            Err("standard input is not text; pass the file as `@FILE`".to_owned())
        );
    }
}
