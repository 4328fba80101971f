//! The environment of the newest client: commands use the ssh agent and the display of that
//! client's login, not of the login that started the server.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::HeaderMap;
use osier_base::process::lend_variables;
use osier_rpc::client_environment::{AGENT_SOCKET, HEADER, decode};

/// The name of the link in the data directory.
const LINK: &str = "ssh-agent.sock";

/// The links that this process has made.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Adopts the variables of a client that has the token. `data` is the data directory.
pub(super) fn adopt(headers: &HeaderMap, data: &Path) {
    let header = headers.get(HEADER);
    let Some(mut variables) = header.and_then(|value| decode(value.as_bytes())) else {
        return;
    };
    // Shells and servers that run keep their environment: only the link leads them to the newest agent.
    if let Some(socket) = variables.get_mut(AGENT_SOCKET)
        && let Some(link) = linked(Path::new(socket.as_str()), data)
    {
        *socket = link;
    }
    lend_variables(variables);
}

/// A path that stays, and leads to `socket` from now on.
fn linked(socket: &Path, data: &Path) -> Option<String> {
    let link = data.join(LINK);
    let path = link.to_str()?.to_owned();
    // A client that is a command of this server has the link itself.
    if socket != link {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let new = data.join(format!(".{LINK}-{}-{number}", std::process::id()));
        symlink(socket, &new).ok()?;
        std::fs::rename(&new, &link).ok()?;
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_leads_to_the_newest_agent() {
        let data = tempfile::tempdir().unwrap();
        let expected = data.path().join(LINK);
        for socket in ["/tmp/one", "/tmp/two"] {
            let path = linked(Path::new(socket), data.path()).unwrap();
            assert_eq!(Path::new(&path), expected);
            assert_eq!(expected.read_link().unwrap(), Path::new(socket));
        }
        linked(&expected, data.path()).unwrap();
        assert_eq!(expected.read_link().unwrap(), Path::new("/tmp/two"));
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 1);
    }
}
