//! Runs the async part of a command.

use std::time::Duration;

use osier_base::allocator;
use tokio::runtime::{Builder, Runtime};

/// The time after which the start is over: the memory of its code is returned to the system then.
const START: Duration = Duration::from_millis(400);

/// How long blocking work, such as a write of the session index, may take to end after everything else.
pub(super) const LAST_WORK: Duration = Duration::from_millis(100);

/// Runs `work` to its end. What still blocks a thread then, such as a lock that another process holds, is left behind.
pub(super) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = start()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_timeout(LAST_WORK);
    Ok(outcome)
}

/// Like [`block_on`], for a mode that reads standard input: a thread may wait endlessly for more input.
pub(super) fn block_on_with_input<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = start()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(outcome)
}

fn start() -> Result<Runtime, String> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the async runtime: {error}"))?;
    if !cfg!(debug_assertions) {
        runtime.spawn(async {
            tokio::time::sleep(START).await;
            allocator::give_back_code();
        });
    }
    Ok(runtime)
}
