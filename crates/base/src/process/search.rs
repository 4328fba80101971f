//! Finds programs in `PATH`. Entries of `PATH` that depend on the working directory, such as `.` or
//! `node_modules/.bin`, are ignored: the working directory may contain anything.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The program to start for a name, with the current `PATH`.
pub fn program_path(name: &OsStr) -> Cow<'_, OsStr> {
    program(name, None)
}

/// The program to start for `name` with this `PATH`, or the current one: unchanged if all entries are absolute.
pub(super) fn program<'a>(name: &'a OsStr, path: Option<&OsStr>) -> Cow<'a, OsStr> {
    if Path::new(name).components().count() != 1 || name.as_encoded_bytes().contains(&b'/') {
        return Cow::Borrowed(name);
    }
    let current = || std::env::var_os("PATH").unwrap_or_default();
    let path = path.map_or_else(current, OsStr::to_owned);
    if std::env::split_paths(&path).all(|folder| folder.is_absolute()) {
        return Cow::Borrowed(name);
    }
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let found = folders.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()));
    // A path that cannot exist: looking the name up would find the ignored entries.
    let missing = || {
        let mut missing = OsString::from("/dev/null/");
        missing.push(name);
        missing
    };
    Cow::Owned(found.map_or_else(missing, Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_entries_of_the_path_are_ignored() {
        for (name, path, expected) in [
            ("sh", "/usr/bin:/bin", "sh"),
            ("sh", ".:/bin", "/bin/sh"),
            ("sh", "/bin::", "/bin/sh"),
            ("sh", "node_modules/.bin:/nowhere", "/dev/null/sh"),
            ("./sh", ".:/bin", "./sh"),
            ("/bin/sh", ".", "/bin/sh"),
        ] {
            let found = program(OsStr::new(name), Some(OsStr::new(path)));
            assert_eq!(found.to_str(), Some(expected), "{name} in {path}");
        }
    }
}
