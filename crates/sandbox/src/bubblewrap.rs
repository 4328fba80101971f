//! The file system that a command in namespaces can see and write to. Bubblewrap and the starter make the same one.

use std::ffi::OsString;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::backend::base_arguments;
#[cfg(target_os = "linux")]
use super::backend::{BASE_NAMESPACES, BASE_WORDS};
use super::mounts::{Mounts, Source};
use super::spec::Network;
use osier_base::folders::Folders;

/// The path of the proxy's socket in the sandbox.
const PROXY_SOCKET: &str = "/run/osier-network.sock";

/// Parts of `/run` with programs and libraries that nothing listens on.
const SYSTEMS: [&str; 3] = [
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
];

/// The temporary directories of a workspace.
#[derive(Debug, Clone)]
pub(super) struct Temporary(PathBuf);

impl Temporary {
    pub(super) fn at(root: &Path) -> Self {
        Self(root.canonicalize().unwrap_or_else(|_| root.to_owned()))
    }

    pub(super) fn create(root: &Path) -> io::Result<()> {
        for name in ["tmp", "var-tmp"] {
            let path = root.join(name);
            DirBuilder::new().mode(0o700).create(&path)?;
            // The mode of `/tmp` on any system, independent of the umask.
            std::fs::set_permissions(&path, Permissions::from_mode(0o1777))?;
        }
        Ok(())
    }

    pub(super) fn root(&self) -> &Path {
        &self.0
    }
}

/// The mounts of a command and its network.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) mounts: Mounts,
    /// Symbolic links that no command can replace. `bwrap` follows links, so the starter mounts them.
    links: Vec<PathBuf>,
    unshares_network: bool,
}

impl Layout {
    /// A layout that shows nothing of the project.
    pub(super) fn new(temporary: &Temporary, network: &Network) -> Self {
        let mut mounts = Mounts::default();
        // Sockets of daemons and of other users' programs.
        for (path, name) in [("/tmp", "tmp"), ("/var/tmp", "var-tmp")] {
            if let Ok(path) = Path::new(path).canonicalize() {
                mounts.add(path, Source::Private(temporary.root().join(name)));
            }
        }
        mounts.add("/run", Source::Fresh);
        let mut shown: Vec<PathBuf> = SYSTEMS.map(PathBuf::from).into();
        match network {
            Network::Off => {}
            // This file is often a link to a file of the resolver below `/run`.
            Network::All => shown.push("/etc/resolv.conf".into()),
            Network::Proxy(socket) => mounts.add(PROXY_SOCKET, Source::Other(socket.clone())),
        }
        let mut layout = Self {
            mounts,
            links: Vec::new(),
            unshares_network: *network != Network::All,
        };
        for path in &shown {
            layout.show(path);
        }
        layout
    }

    /// The network as the helper finds it in the sandbox.
    pub(super) fn network(network: Network) -> Network {
        match network {
            Network::Proxy(_) => Network::Proxy(PROXY_SOCKET.into()),
            other => other,
        }
    }

    /// Hides osier's own files except the skills, because commands run their programs.
    pub(super) fn hide(&mut self, folders: &Folders) {
        for folder in [&folders.config, &folders.data] {
            if let Ok(path) = folder.canonicalize() {
                self.mounts.add(path, Source::Empty);
            }
        }
        self.show(&folders.config.join("skills"));
    }

    /// Shows a file or directory that would be hidden.
    pub(super) fn show(&mut self, path: &Path) {
        if let Ok(path) = path.canonicalize()
            && self.mounts.hides(&path)
        {
            self.mounts.add(path, Source::ReadOnly);
        }
    }

    /// Shows the working directory and the repository around it.
    pub(super) fn show_project(&mut self, cwd: &Path) {
        self.show(cwd);
        let above = cwd.ancestors().skip(1);
        let mut above = above.filter(|path| path.join(".git").exists());
        // Any user can put a `.git` into `/tmp`, which then is no repository.
        let is_place = |root: &Path| self.mounts.at(root).is_some_and(|(mount, _)| mount == root);
        if let Some(root) = above.next().filter(|root| !is_place(root)) {
            self.show(root);
        }
    }

    /// Keeps commands from moving the directories above osier's own files, if they can write there: the next command would find
    /// the files under another name.
    pub(super) fn keep_hidden(&mut self, folders: &Folders) {
        for folder in [&folders.config, &folders.data] {
            if let Ok(path) = folder.canonicalize() {
                self.pin(&path);
            }
        }
    }

    /// Lets a command write to the real `path`, unless an earlier command has put a link there or above it.
    pub(super) fn open(&mut self, path: &Path) {
        if path.canonicalize().is_ok_and(|real| real == path) {
            self.mounts.add(path, Source::Writable);
        }
    }

    /// Hides a file or the contents of a directory.
    pub(super) fn block(&mut self, path: &Path) {
        let source = match path.symlink_metadata() {
            Ok(data) if data.is_dir() => Source::Empty,
            Ok(_) => Source::Blocked,
            Err(_) => return,
        };
        // Mounts below would be made later, and would be visible.
        self.mounts.remove_below(path);
        self.links.retain(|link| !link.starts_with(path));
        if !self.mounts.hides(path) {
            self.pin(path);
            self.mounts.add(path, source);
        }
    }

    /// Makes a file or a directory, with everything in it, read-only.
    pub(super) fn lock(&mut self, path: &Path) {
        if path.symlink_metadata().is_err() {
            return;
        }
        self.mounts.lock_below(path);
        if self.mounts.is_open(path) {
            self.pin(path);
            self.mounts.add(path, Source::ReadOnly);
        }
    }

    /// Keeps commands from replacing the symbolic link `path`.
    pub(super) fn keep_link(&mut self, path: &Path) {
        if self.mounts.is_open(path) && !self.links.iter().any(|link| link == path) {
            self.pin(path);
            self.links.push(path.to_owned());
        }
    }

    /// The links that the first process of the command mounts.
    pub(super) fn links(&self) -> &[PathBuf] {
        &self.links
    }

    /// Keeps commands from moving the directories above `path`: otherwise the next command would
    /// find the file under another name. A mounted directory cannot be renamed.
    fn pin(&mut self, path: &Path) {
        for above in path.ancestors().skip(1) {
            match self.mounts.at(above) {
                Some((mount, Source::Writable)) if mount != above => {
                    self.mounts.add(above, Source::Writable);
                }
                _ => break,
            }
        }
    }

    /// The paths below which commands can write, with the devices of bubblewrap.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let mut writable = self.mounts.writable();
        writable.push("/dev".into());
        writable
    }

    /// Makes `paths` read-only again. Commands can choose them by links, so that hidden ones stay hidden.
    pub(super) fn protect(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if self.mounts.is_open(path) {
                self.mounts.add(path, Source::ReadOnly);
            }
        }
    }

    /// The arguments of `bwrap`.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut args = base_arguments();
        if self.unshares_network {
            args.push("--unshare-net".into());
        }
        if !self.links.is_empty() {
            // For the first process, which mounts the links and drops both.
            for capability in ["CAP_SYS_ADMIN", "CAP_SETPCAP"] {
                args.extend(["--cap-add".into(), capability.into()]);
            }
        }
        args.extend(self.mounts.arguments());
        args
    }

    /// The namespaces that the starter makes for this layout.
    #[cfg(target_os = "linux")]
    pub(super) fn namespaces(&self) -> i32 {
        let network = if self.unshares_network {
            libc::CLONE_NEWNET
        } else {
            0
        };
        BASE_NAMESPACES | network
    }

    /// The mounts as words for the starter: those of every command, then those of the layout.
    #[cfg(target_os = "linux")]
    pub(super) fn words(&self) -> Vec<OsString> {
        let base = BASE_WORDS.iter().map(OsString::from);
        base.chain(self.mounts.words()).collect()
    }
}
