//! Opens a URL in the user's browser, if there is a display.

use std::time::Duration;

use super::process::run_quietly;

/// Time limit for the opener.
const OPEN_TIME: Duration = Duration::from_secs(10);

/// Opens `url`; false if it cannot. On a remote machine there is no display, and because URLs come from servers, only
/// web addresses are opened. `is_set` tells whether an environment variable has a value.
pub async fn open(url: &str, is_set: impl Fn(&str) -> bool) -> bool {
    let web = url.starts_with("https://") || url.starts_with("http://");
    let remote = is_set("SSH_CONNECTION") || is_set("SSH_TTY");
    let screen = cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    if !web || remote || !screen {
        return false;
    }
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let opened = run_quietly(program, [url], None, OPEN_TIME).await;
    opened.is_ok_and(|output| output.exit.is_success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_web_addresses_are_opened() {
        for url in ["file:///etc/passwd", "--help", "ssh://host", ""] {
            assert!(!open(url, |name| name == "DISPLAY").await, "{url}");
        }
    }
}
