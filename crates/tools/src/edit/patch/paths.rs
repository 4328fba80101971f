//! Checks the paths of a patch: all of them are in the working directory, and no file occurs twice.

use std::path::Path;

use super::parse::Patch;
use crate::workspace::Workspace;
use osier_agent::FileTarget;
use osier_base::path::canonical_key;

/// Why the patch cannot be applied to these files, which are in the order of [`Patch::paths`].
pub(super) fn check(
    workspace: &Workspace,
    patch: &Patch,
    targets: &[FileTarget],
) -> Result<(), String> {
    let roots = workspace.roots();
    let is_inside = |path: &Path, root: &Path| path != root && path.starts_with(root);
    for (index, ((given, _), target)) in patch.paths().zip(targets).enumerate() {
        let named = roots.iter().any(|root| is_inside(&target.named, root));
        let real = || {
            let mut roots = roots.iter().map(|root| canonical_key(root));
            roots.any(|root| is_inside(&target.real, &root))
        };
        if !named || !real() {
            return Err(format!(
                "`{given}` is outside of the working directory, and a patch changes only files in it; nothing was changed. Use a command for other files"
            ));
        }
        if targets[..index]
            .iter()
            .any(|other| other.host == target.host)
        {
            return Err(format!(
                "the patch names `{given}` twice, also by another path; combine its sections. Nothing was changed"
            ));
        }
    }
    Ok(())
}
