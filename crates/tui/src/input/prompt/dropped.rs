//! Images that are dropped on the terminal, which types their paths.

use std::path::{Path, PathBuf};

use osier_base::percent;

/// Maximum number of files in one paste that are attached as pictures.
const DROPPED: usize = 16;
/// Longest paste that may be paths of files.
const LONGEST: usize = 8192;
/// Extensions of dropped files that are attached as images.
const EXTENSIONS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];

/// The pictures that a paste names, if it names nothing else. A terminal types the paths of dropped
/// files: quoted, escaped, as addresses, or plain.
pub(super) fn dropped_pictures(paste: &str) -> Option<Vec<PathBuf>> {
    let paste = paste.trim();
    if paste.is_empty() || paste.len() > LONGEST {
        return None;
    }
    let names = if is_picture(Path::new(paste)) {
        vec![paste.to_owned()]
    } else {
        words(paste)?
    };
    let paths: Vec<PathBuf> = names
        .iter()
        .map(|name| PathBuf::from(unescaped(name)))
        .collect();
    (paths.len() <= DROPPED && paths.iter().all(|path| is_picture(path))).then_some(paths)
}

fn is_picture(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let known = extension
        .is_some_and(|extension| EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()));
    known && path.is_absolute() && path.is_file()
}

/// The words of a line as a shell reads them; `None` for an open quote.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().push(characters.next()?),
            (character, Some(open)) if character == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (character, None) if character.is_whitespace() => words.extend(word.take()),
            (character, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

/// The path of a `file://` address, or the path as it is.
fn unescaped(name: &str) -> String {
    let Some(rest) = name.strip_prefix("file://") else {
        return name.to_owned();
    };
    // The path may follow a host name.
    let path = rest.find('/').map_or(rest, |slash| &rest[slash..]);
    percent::decoded(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_files_are_known_however_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b's.png");
        std::fs::File::create(&path).unwrap();
        let plain = path.to_str().unwrap();
        let escaped = plain.replace(' ', "\\ ").replace('\'', "\\'");
        let quoted = format!("\"{plain}\"");
        let shell = format!("'{}'", plain.replace('\'', "'\\''"));
        let address = format!("file://{}", plain.replace(' ', "%20"));
        for paste in [plain, &escaped, &quoted, &shell, &address] {
            let paste = if paste == address {
                paste.replace('\'', "%27")
            } else {
                paste.to_owned()
            };
            assert_eq!(
                dropped_pictures(&paste),
                Some(vec![path.clone()]),
                "{paste}"
            );
        }
        let two = format!("{escaped} {escaped}\n");
        assert_eq!(
            dropped_pictures(&two),
            Some(vec![path.clone(), path.clone()])
        );
        for text in ["", "a.png", "/etc/passwd", "look at 'this", "/no/such.png"] {
            assert_eq!(dropped_pictures(text), None, "{text}");
        }
        assert_eq!(dropped_pictures(&format!("see {escaped}")), None);
    }
}
