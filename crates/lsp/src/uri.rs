//! Paths as `file` URIs.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// Maximum bytes of a URI that is read.
const LIMIT: usize = 8 * 1024;
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

pub(crate) fn of_path(path: &Path) -> String {
    let path = percent_encode(path.as_os_str().as_bytes(), ESCAPED);
    format!("file://{path}")
}

/// The absolute path of a `file` URI.
pub(crate) fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri
        .get(..7)
        .filter(|start| start.eq_ignore_ascii_case("file://"));
    let rest = rest
        .and_then(|_| uri.get(7..))
        .filter(|rest| rest.len() <= LIMIT)?;
    // A host can only be that of the server itself.
    let path = &rest[rest.find('/')?..];
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    (!bytes.contains(&0)).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_conversion() {
        for path in ["/a/b.rs", "/a b/é#?.rs", "/100%/x:y"] {
            assert_eq!(to_path(&of_path(Path::new(path))), Some(path.into()));
        }
        assert_eq!(of_path(Path::new("/a b")), "file:///a%20b");
        assert_eq!(to_path("file://localhost/a"), Some("/a".into()));
        assert_eq!(to_path("FILE:///c%3A/x"), Some("/c:/x".into()));
        for other in ["untitled:1", "file://", "file:///a%00b", "é"] {
            assert_eq!(to_path(other), None, "{other}");
        }
    }
}
