//! The file `auth.json`: mode 0600 in a 0700 directory, replaced atomically, changed under a lock.
//!
//! The lock file is next to the real file (symbolic links are resolved first) and uses advisory locks of the
//! system, so that it is released however the process ends. Every change reads the file again under the lock,
//! so that two processes do not overwrite each other's changes.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use super::store::{Store, StoreError};
use super::system_keyring::{self, Vault};
use osier_base::atomic_file;
use osier_base::atomic_file::WriteError;
use osier_base::regular_file::{self, ReadError};

/// Maximum wait for another process; longer than any renewal takes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(90);
/// Interval between two attempts to get the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The credential store on disk.
#[derive(Debug, Clone)]
pub struct CredentialFile {
    path: PathBuf,
    /// The system keyring, if this build supports it.
    vault: Option<Arc<dyn Vault>>,
    keep_in_vault: bool,
}

/// Why the file cannot be read or changed.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("`{}` {reason}", path.display())]
    Read { path: PathBuf, reason: ReadError },
    #[error(transparent)]
    Content(StoreError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("`{}` cannot be locked: {source}", path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error("another process has locked `{}`", path.display())]
    Locked { path: PathBuf },
}

impl FileError {
    /// A suggestion for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } | Self::Lock { .. } => {
                "check its permissions and those of its folder"
            }
            Self::Content(_) => "fix it, or remove it and sign in again",
            Self::Write(error) => error.hint(),
            Self::Locked { .. } => "end the other osier, or try again",
        }
    }
}

impl CredentialFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            vault: system_keyring::system(),
            keep_in_vault: false,
        }
    }

    /// Whether to store new credentials in the system keyring. Existing ones there are found in both cases.
    #[must_use]
    pub fn keep_in_vault(mut self, keep: bool) -> Self {
        self.keep_in_vault = keep;
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the store. A missing file is an empty store.
    pub fn read(&self) -> Result<Store, FileError> {
        let text = match regular_file::read_text(&self.path, regular_file::SMALL) {
            Ok(text) => text,
            Err(ReadError::Missing) => String::new(),
            Err(reason) => {
                let path = self.path.clone();
                return Err(FileError::Read { path, reason });
            }
        };
        let store = Store::parse(&text).map_err(FileError::Content)?;
        Ok(store.with_vault(self.vault.clone(), self.keep_in_vault))
    }

    /// Waits for the lock.
    pub async fn lock(&self) -> Result<LockedFile, FileError> {
        let lock = self.lock_file().map_err(|source| FileError::Lock {
            path: self.path.clone(),
            source,
        })?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match osier_base::locked_file::try_lock(&lock) {
                Ok(true) => break,
                Err(source) => {
                    let path = self.path.clone();
                    return Err(FileError::Lock { path, source });
                }
                Ok(false) if Instant::now() >= deadline => {
                    let path = self.path.clone();
                    return Err(FileError::Locked { path });
                }
                Ok(false) => tokio::time::sleep(LOCK_PAUSE).await,
            }
        }
        Ok(LockedFile {
            file: self.clone(),
            _lock: lock.into(),
        })
    }

    /// Reads, changes and writes the store under the lock.
    pub async fn change<T>(&self, change: impl FnOnce(&mut Store) -> T) -> Result<T, FileError> {
        let locked = self.lock().await?;
        let mut store = locked.read()?;
        let outcome = change(&mut store);
        locked.write(&store)?;
        Ok(outcome)
    }

    /// Opens the lock file of the real file, so that two names of one file share a lock.
    fn lock_file(&self) -> io::Result<File> {
        let folder = private_folder(&self.path)?;
        let name = self.path.file_name().unwrap_or_default();
        let real = fs::canonicalize(&self.path).unwrap_or_else(|_| folder.join(name));
        let mut lock = real.into_os_string();
        lock.push(".lock");
        Ok(regular_file::open_own(Path::new(&lock), Some(0o600))?)
    }
}

/// The locked file. Dropping it releases the lock.
#[derive(Debug)]
pub struct LockedFile {
    file: CredentialFile,
    _lock: osier_base::locked_file::LockedFile,
}

impl LockedFile {
    pub fn read(&self) -> Result<Store, FileError> {
        self.file.read()
    }

    pub fn write(&self, store: &Store) -> Result<(), FileError> {
        let private = atomic_file::Options {
            mode: Some(0o600),
            ..atomic_file::Options::default()
        };
        Ok(atomic_file::write_with(
            &self.file.path,
            store.to_text().as_bytes(),
            private,
        )?)
    }
}

/// Creates the directory of `path` with mode 0700, or removes the permissions of other users from an existing
/// one. Shared directories such as `/tmp` are not changed.
fn private_folder(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    let folder = fs::canonicalize(folder)?;
    let metadata = fs::metadata(&folder)?;
    let mode = metadata.mode() & 0o7777;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if ours && mode & 0o1000 == 0 && mode & 0o077 != 0 {
        fs::set_permissions(&folder, Permissions::from_mode(mode & 0o7700))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::super::credential::Credential;
    use super::super::source::KeySource;
    use super::*;
    use tempfile::TempDir;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn key(text: &str) -> Credential {
        Credential::Key(KeySource::parse(text))
    }

    #[tokio::test]
    async fn stored_credentials_are_private() {
        let dir = TempDir::new().unwrap();
        let file = CredentialFile::new(dir.path().join("new/deep/auth.json"));
        assert_eq!(file.read().unwrap(), Store::default());
        file.change(|store| store.put("a", &key("k")))
            .await
            .unwrap();
        assert_eq!(mode(file.path()), 0o600);
        assert_eq!(mode(file.path().parent().unwrap()), 0o700);
        assert_eq!(file.read().unwrap().get("a"), Some(key("k")));

        fs::set_permissions(file.path(), Permissions::from_mode(0o644)).unwrap();
        let folder = file.path().parent().unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        file.change(|store| store.put("b", &key("l")))
            .await
            .unwrap();
        assert_eq!((mode(file.path()), mode(folder)), (0o600, 0o700));
        let providers: Vec<String> = file
            .read()
            .unwrap()
            .providers()
            .map(str::to_owned)
            .collect();
        assert_eq!(providers, ["a", "b"]);
    }

    #[tokio::test]
    async fn symlinks_share_the_lock_of_the_real_file() {
        let dir = TempDir::new().unwrap();
        let real = CredentialFile::new(dir.path().join("auth.json"));
        real.change(|store| store.put("a", &key("k")))
            .await
            .unwrap();
        std::os::unix::fs::symlink(real.path(), dir.path().join("other.json")).unwrap();
        let other = CredentialFile::new(dir.path().join("other.json"));
        let locked = real.lock().await.unwrap();
        let waiting = tokio::spawn(async move {
            other
                .change(|store| store.put("b", &key("l")))
                .await
                .unwrap();
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        let mut store = locked.read().unwrap();
        store.put("c", &key("m"));
        locked.write(&store).unwrap();
        drop(locked);
        waiting.await.unwrap();
        let stored = real.read().unwrap();
        assert_eq!(stored.providers().collect::<Vec<_>>(), ["a", "c", "b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn lock_timeout_is_an_error() {
        let dir = TempDir::new().unwrap();
        let file = CredentialFile::new(dir.path().join("auth.json"));
        let _lock = file.lock().await.unwrap();
        assert!(matches!(file.lock().await, Err(FileError::Locked { .. })));
    }

    #[tokio::test]
    async fn damaged_file_is_not_overwritten() {
        let dir = TempDir::new().unwrap();
        let file = CredentialFile::new(dir.path().join("auth.json"));
        atomic_file::write(file.path(), b"{\"a\": ").unwrap();
        let error = file
            .change(|store| store.put("b", &key("l")))
            .await
            .unwrap_err();
        assert!(matches!(error, FileError::Content(_)), "{error:?}");
        assert_eq!(fs::read(file.path()).unwrap(), b"{\"a\": ");
    }
}
