//! The boundaries between changes of files, for tests that end the process at each of them.

use std::sync::OnceLock;

/// Called before and after each change.
type Hook = Box<dyn Fn() + Send + Sync>;

static HOOK: OnceLock<Hook> = OnceLock::new();

/// Calls `hook` at every boundary from now on. Only the first call of a process has an effect.
pub fn at_every_point(hook: impl Fn() + Send + Sync + 'static) {
    let _ = HOOK.set(Box::new(hook));
}

/// A boundary: files were changed before it or are changed after it.
pub fn point() {
    if let Some(hook) = HOOK.get() {
        hook();
    }
}
