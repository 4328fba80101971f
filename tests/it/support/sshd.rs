//! The server of OpenSSH on the loopback interface.

#![expect(clippy::disallowed_methods, reason = "the test runs a server")]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use osier_testing::skip;
use tempfile::TempDir;

/// A Debian sshd with its own keys.
pub(crate) struct Sshd {
    folder: TempDir,
    pub(crate) port: u16,
    server: Child,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Sshd {
    /// `None`, reported as a skip, if it cannot run.
    pub(crate) fn start() -> Option<Self> {
        let program = Path::new("/usr/sbin/sshd");
        if !program.is_file() {
            skip::missing("sshd", "apt install openssh-server");
            return None;
        }
        if !skip::has(&["ssh", "ssh-keygen"], "apt install openssh-client") {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            skip::unsupported("sshd", "the server must run as root");
            return None;
        }
        fs::create_dir_all("/run/sshd").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)])
                .status();
            assert!(made.unwrap().success());
        }
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let config = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             PermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\nPidFile none\n",
            path("host"),
            path("user.pub"),
        );
        fs::write(path("sshd_config"), config).unwrap();
        let client = format!(
            "Host *\n  IdentityFile {}\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  LogLevel ERROR\n",
            path("user"),
        );
        fs::write(path("ssh_config"), client).unwrap();
        let server = Command::new(program)
            .args(["-D", "-e", "-f", &path("sshd_config")])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self {
            folder,
            port,
            server,
        })
    }

    pub(crate) fn client_config(&self) -> PathBuf {
        self.folder.path().join("ssh_config")
    }

    /// The ssh command of the client.
    pub(crate) fn command(&self) -> String {
        format!("ssh -F {}", self.client_config().display())
    }
}
