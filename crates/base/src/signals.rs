//! The signals that end a mode without a screen.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::signal::unix::{SignalKind, signal};

/// Waits for the first SIGTERM, SIGINT or SIGHUP. Returns its number.
pub async fn signalled() -> i32 {
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hang_up)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        return std::future::pending().await;
    };
    let kind = tokio::select! {
        _ = interrupt.recv() => SignalKind::interrupt(),
        _ = terminate.recv() => SignalKind::terminate(),
        _ = hang_up.recv() => SignalKind::hangup(),
    };
    kind.as_raw_value()
}

/// Makes a write beyond the limit for the size of files (`ulimit -f`) an error instead of the end of the process.
pub fn report_file_size_limit() {
    // The flag is not read: with any handler the write fails with EFBIG. Programs that osier starts get the default back.
    let handler = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, handler);
}
