//! The idempotency keys that are stored with messages of a session.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use memchr::memmem::find_iter;
use osier_base::regular_file;

/// Bytes at the end of the file that are read: a client asks about its last commands.
const TAIL: u64 = 32 * 1024 * 1024;
/// Maximum bytes of a key.
const LONGEST: usize = 64;
const FIELD: &[u8] = b"\"once\":\"";

/// The keys in the session file at `path`. Blocks.
///
/// # Errors
/// The file cannot be read.
pub fn stored_keys(path: &Path) -> io::Result<HashSet<String>> {
    let file = regular_file::open_plain(path)?;
    let size = file.metadata()?.len();
    let start = size.saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(size - start).unwrap_or_default()];
    file.read_exact_at(&mut bytes, start)?;
    let keys = find_iter(&bytes, FIELD).filter_map(|at| {
        let rest = &bytes[at + FIELD.len()..];
        let rest = &rest[..rest.len().min(LONGEST + 1)];
        let key = &rest[..rest.iter().position(|byte| *byte == b'"')?];
        String::from_utf8(key.to_vec()).ok()
    });
    Ok(keys.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_messages_are_found() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = "{\"message\":{\"role\":\"user\",\"text\":\"say \\\"once\\\":\\\"no\\\"\",\"once\":\"a1\"}}\n\
            {\"message\":{\"once\":\"b2\",\"timestamp\":1}}\n{\"once\":\"cut";
        osier_base::atomic_file::write(file.path(), lines.as_bytes()).unwrap();
        let expected = ["a1", "b2"].map(str::to_owned);
        assert_eq!(stored_keys(file.path()).unwrap(), HashSet::from(expected));
        assert!(stored_keys(Path::new("/no/such/file")).is_err());
    }
}
