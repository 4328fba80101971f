//! Reads an image file that a model names in an answer. The path is untrusted: nothing outside of the working
//! directory is read, even through links.

use std::path::Path;

use super::attachment;
use osier_agent::AttachmentKind;
use osier_base::percent;

/// The image at `path`, as written in an answer, in base64; or the reason why it is not shown. `path` is
/// relative to `cwd` or absolute, may start with `file://` and may be percent-encoded. The size limits of
/// attachments apply.
pub fn read(cwd: &Path, path: &str) -> Result<String, String> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let missing = || "the file does not exist".to_owned();
    let root = cwd.canonicalize().map_err(|_| missing())?;
    let found = [path.to_owned(), percent::decoded(path)]
        .iter()
        .find_map(|path| root.join(path).canonicalize().ok());
    let found = found.ok_or_else(missing)?;
    if !found.starts_with(&root) {
        return Err("it is outside the working directory".to_owned());
    }
    // Opening a pipe would block.
    if !found.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let file = attachment::load(&found).map_err(|error| error.to_string())?;
    match file.kind {
        AttachmentKind::Image => Ok(file.content),
        AttachmentKind::Document => Err("it is not a supported image".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use osier_base::atomic_file;

    const PIXEL: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\x9cc\xa8\x07\x00\x00\x81\x00\x80\xd3\x94SJ\x00\x00\x00\x00IEND\xaeB`\x82";

    #[test]
    fn only_images_in_the_working_directory_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().join("project");
        std::fs::create_dir_all(cwd.join("docs")).unwrap();
        for path in ["project/docs/a b.png", "outside.png", "project/100%.png"] {
            atomic_file::write(&dir.path().join(path), PIXEL).unwrap();
        }
        atomic_file::write(&cwd.join("notes.png"), b"no picture").unwrap();
        let outside = dir.path().join("outside.png");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside, cwd.join("link.png")).unwrap();
        let read = |path: &str| super::read(&cwd, path).map(|base64| base64.len());
        let whole = Ok(PIXEL.len().div_ceil(3) * 4);
        for path in [
            "docs/a b.png".to_owned(),
            "./docs/a%20b.png".to_owned(),
            "100%.png".to_owned(),
            format!("file://{}", cwd.join("docs/a%20b.png").display()),
        ] {
            assert_eq!(read(&path), whole, "{path}");
        }
        let outside = outside.display().to_string();
        for (path, expected) in [
            ("docs", "it is not a regular file"),
            ("docs/c.png", "the file does not exist"),
            ("../outside.png", "it is outside the working directory"),
            (outside.as_str(), "it is outside the working directory"),
            #[cfg(unix)]
            ("link.png", "it is outside the working directory"),
            ("notes.png", "it is not a supported image"),
        ] {
            assert_eq!(read(path), Err(expected.to_owned()), "{path}");
        }
    }
}
