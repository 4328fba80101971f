//! Other paths of a file: where the same part of a file system is mounted again (`mount --bind`, `/sysroot` of ostree).

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// All mounts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MountTable(Vec<Mount>);

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    device: Vec<u8>,
    /// The directory or file of the file system that is there.
    root: PathBuf,
    at: PathBuf,
}

impl MountTable {
    /// The mounts of this process. Empty on other systems than Linux.
    pub(super) fn read() -> Self {
        Self::parse(&fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(text: &[u8]) -> Self {
        let mounts = text.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            Some(Mount {
                device: fields.next()?.to_owned(),
                root: unescaped(fields.next()?),
                at: unescaped(fields.next()?),
            })
        });
        Self(mounts.collect())
    }

    /// The other paths of the file or directory at `path`, which has no symbolic links.
    pub(super) fn other_paths(&self, path: &Path) -> Vec<PathBuf> {
        let identity = |path: &Path| {
            let data = path.symlink_metadata().ok()?;
            Some((data.dev(), data.ino()))
        };
        let own = identity(path);
        let candidates = self.candidates(path).into_iter();
        // Another mount can be above the path.
        let others = candidates.filter(|other| own.is_some() && identity(other) == own);
        others.collect()
    }

    fn candidates(&self, path: &Path) -> Vec<PathBuf> {
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        // The last one of a path is on top.
        let Some(own) = above.max_by_key(|mount| mount.at.components().count()) else {
            return Vec::new();
        };
        let Ok(below) = path.strip_prefix(&own.at) else {
            return Vec::new();
        };
        let inside = join(&own.root, below);
        let others = self.0.iter().filter(|mount| mount.device == own.device);
        let paths = others.filter_map(|mount| {
            let below = inside.strip_prefix(&mount.root).ok()?;
            Some(join(&mount.at, below)).filter(|other| other != path)
        });
        paths.collect()
    }
}

/// Joins two paths without a slash at the end, which would name the target of a file.
fn join(path: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() {
        path.to_owned()
    } else {
        path.join(below)
    }
}

/// The kernel writes blanks and the like as `\040`.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = field;
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..3).filter(|_| *first == b'\\');
        let text = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = text.and_then(|text| u8::from_str_radix(text, 8).ok()) {
            path.push(byte);
            rest = &others[3..];
        } else {
            path.push(*first);
            rest = others;
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_path_in_each_mount_of_its_directory() {
        let table = MountTable::parse(
            b"21 1 254:0 / / rw - ext4 /dev/vda rw\n\
            30 21 254:0 /usr /mnt/other\\040disk rw - ext4 /dev/vda rw\n\
            31 21 254:0 /usr/bin/touch /opt/made ro - ext4 /dev/vda rw\n\
            32 21 0:30 / /run rw - tmpfs tmpfs rw\n\
            33 32 254:0 / /run/host rw - ext4 /dev/vda rw\n",
        );
        for (path, expected) in [
            (
                "/usr/bin/touch",
                &[
                    "/mnt/other disk/bin/touch",
                    "/opt/made",
                    "/run/host/usr/bin/touch",
                ][..],
            ),
            ("/mnt/other disk/bin", &["/usr/bin", "/run/host/usr/bin"]),
            (
                "/opt/made",
                &[
                    "/usr/bin/touch",
                    "/mnt/other disk/bin/touch",
                    "/run/host/usr/bin/touch",
                ],
            ),
            ("/etc/passwd", &["/run/host/etc/passwd"]),
            ("/run/user", &[]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(table.candidates(Path::new(path)), expected, "{path}");
        }
        assert_eq!(
            MountTable::read().other_paths(Path::new("/missing")),
            Vec::<PathBuf>::new()
        );
    }
}
