//! Control sequences for the desktop: title, progress, notifications, bell. They are queued on the
//! frame writer and never move the cursor.

use super::kind::{NotificationProtocol, TerminalHost, TerminalKind};
use osier_base::text;

/// Progress in the taskbar (OSC 9;4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    None,
    Busy,
    Percent(u8),
    Failed,
    Paused,
}

/// Maximum length of a title or notification in bytes.
const MAX_TEXT: usize = 200;

impl TerminalKind {
    /// Sets the window title; empty if the terminal has none.
    pub fn title(&self, title: &str) -> Vec<u8> {
        if !self.has_strings() {
            return Vec::new();
        }
        format!("\x1b]2;{}\x1b\\", clean(title)).into_bytes()
    }

    /// Saves the window title on the terminal's stack.
    pub fn save_title(&self) -> Vec<u8> {
        self.title_stack("\x1b[22;2t")
    }

    /// Restores the saved window title.
    pub fn restore_title(&self) -> Vec<u8> {
        self.title_stack("\x1b[23;2t")
    }

    fn title_stack(&self, sequence: &str) -> Vec<u8> {
        if self.has_strings() {
            sequence.as_bytes().to_vec()
        } else {
            Vec::new()
        }
    }

    /// Shows progress; empty if the terminal would show a notification instead.
    pub fn progress(&self, progress: Progress) -> Vec<u8> {
        if !self.progress || self.host != TerminalHost::Emulator {
            return Vec::new();
        }
        let value = match progress {
            Progress::None => "0;0".to_owned(),
            Progress::Percent(percent) => format!("1;{}", percent.min(100)),
            Progress::Failed => "2;100".to_owned(),
            Progress::Busy => "3;0".to_owned(),
            Progress::Paused => "4;100".to_owned(),
        };
        format!("\x1b]9;4;{value}\x1b\\").into_bytes()
    }

    /// A desktop notification in the protocol of this terminal, or its bell.
    pub fn notification(&self, title: &str, body: &str) -> Vec<u8> {
        let (title, body) = (clean(title), clean(body));
        match self.notification_protocol {
            NotificationProtocol::Bell => b"\x07".to_vec(),
            NotificationProtocol::Osc9 => format!("\x1b]9;{title}: {body}\x1b\\").into_bytes(),
            NotificationProtocol::Osc777 => {
                let title = title.replace(';', ",");
                format!("\x1b]777;notify;{title};{body}\x1b\\").into_bytes()
            }
            NotificationProtocol::Osc99 => {
                format!("\x1b]99;i=osier:d=0;{title}\x1b\\\x1b]99;i=osier:p=body;{body}\x1b\\")
                    .into_bytes()
            }
        }
    }
}

fn clean(text: &str) -> String {
    text::head_bytes(&text::single_line(text), MAX_TEXT).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_end_their_control_string() {
        let kind = TerminalKind {
            notification_protocol: NotificationProtocol::Osc777,
            ..TerminalKind::default()
        };
        assert_eq!(
            kind.title("a\x1b\\\x1b[2Jb\n"),
            b"\x1b]2;ab\xe2\x8f\x8e\x1b\\"
        );
        assert_eq!(
            kind.notification("done; really", "ok\x07"),
            b"\x1b]777;notify;done, really;ok\x1b\\"
        );
        assert_eq!(kind.progress(Progress::Busy), b"");
        let console = TerminalKind {
            host: TerminalHost::Console,
            ..TerminalKind::default()
        };
        assert_eq!(console.title("x"), b"");
        assert_eq!(console.notification("x", "y"), b"\x07");
    }
}
