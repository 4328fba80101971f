//! Paths in a session: text, or a list of bytes if the name is not UTF-8. No path is lost or changed.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize)]
#[serde(untagged)]
enum Name<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OwnedName {
    Text(PathBuf),
    Bytes(Vec<u8>),
}

pub(super) fn serialize<S: Serializer>(
    paths: &[PathBuf],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| match path.to_str() {
        Some(text) => Name::Text(text),
        None => Name::Bytes(path.as_os_str().as_bytes()),
    }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PathBuf>, D::Error> {
    let names = Vec::<OwnedName>::deserialize(deserializer)?;
    let paths = names.into_iter().map(|name| match name {
        OwnedName::Text(path) => path,
        OwnedName::Bytes(bytes) => OsString::from_vec(bytes).into(),
    });
    Ok(paths.collect())
}
