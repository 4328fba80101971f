//! Checks that other users cannot read the folders and files that may contain secrets.

use osier_agent::Severity;
use osier_base::folders::Folders;
use osier_base::private;

use crate::emitter::Emitter;

/// Removes permissions of other users, in the background, and reports files. A read-only file system is left as it is.
pub(crate) fn restrict(folders: &Folders, emitter: Emitter) {
    let own = folders.clone();
    let files = [
        folders.credentials(),
        folders.servers(),
        folders.models(),
        folders.history(),
    ];
    osier_base::task::spawn_blocking(move || {
        own.restrict();
        for path in files {
            if private::restrict(&path).unwrap_or_default() {
                let path = path.display();
                emitter.post_notice(
                    Severity::Warning,
                    format!("other users could read `{path}`; osier changed its permissions"),
                );
            }
        }
    });
}
