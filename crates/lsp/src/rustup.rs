//! The proxies of rustup: links in `~/.cargo/bin` that run a component of the toolchain, which may not be installed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use osier_base::process::{Invocation, run_captured};

use crate::launch::Launch;

/// Time for rustup to look a component up.
const LOOKUP: Duration = Duration::from_secs(5);

/// Whether `program` is a proxy of rustup for a component that the toolchain of `root` does not have.
pub(crate) async fn lacks_component(program: &Path, root: &Path, launch: &dyn Launch) -> bool {
    let (Some(rustup), Some(name)) = (rustup_of(program), program.file_name()) else {
        return false;
    };
    let invocation = Invocation {
        cwd: Some(root.to_owned()),
        // This look-up must not download a toolchain.
        env: vec![("RUSTUP_AUTO_INSTALL".into(), "0".into())],
        ..Invocation::new(rustup, ["which".as_ref(), name])
    };
    let Ok(invocation) = launch.wrap(invocation, "").await else {
        return false;
    };
    let found = run_captured(&invocation, None, LOOKUP).await;
    found.is_ok_and(|output| !output.exit.is_success())
}

/// The rustup that a proxy is a symbolic or hard link to.
fn rustup_of(program: &Path) -> Option<PathBuf> {
    let rustup = program.with_file_name("rustup");
    let file = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    (file(program)? == file(&rustup)?).then_some(rustup)
}
