//! Bytes that tell the desktop something: title, progress, notifications, bell. They are queued on the
//! frame writer and never move the cursor.

use super::kind::{Host, Notice, TerminalKind};
use osier_base::text;

/// What the taskbar shows (OSC 9;4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    None,
    Busy,
    Percent(u8),
    Failed,
    Paused,
}

/// Longest text of a title or notification, in bytes.
const LONGEST: usize = 200;

impl TerminalKind {
    /// Sets the window title; empty where there is none.
    pub fn title(&self, title: &str) -> Vec<u8> {
        if !self.has_strings() {
            return Vec::new();
        }
        format!("\x1b]2;{}\x1b\\", clean(title)).into_bytes()
    }

    /// Has the terminal remember the title it has.
    pub fn keep_title(&self) -> Vec<u8> {
        self.on_title("\x1b[22;2t")
    }

    /// Brings back the title that was remembered.
    pub fn restore_title(&self) -> Vec<u8> {
        self.on_title("\x1b[23;2t")
    }

    fn on_title(&self, sequence: &str) -> Vec<u8> {
        if self.has_strings() {
            sequence.as_bytes().to_vec()
        } else {
            Vec::new()
        }
    }

    /// Shows progress; empty where that would be taken for a notification.
    pub fn progress(&self, progress: Progress) -> Vec<u8> {
        if !self.progress || self.host != Host::Emulator {
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

    /// A desktop notification in the way of this terminal, or its bell.
    pub fn notification(&self, title: &str, body: &str) -> Vec<u8> {
        let (title, body) = (clean(title), clean(body));
        match self.notice {
            Notice::Bell => b"\x07".to_vec(),
            Notice::Osc9 => format!("\x1b]9;{title}: {body}\x1b\\").into_bytes(),
            Notice::Osc777 => {
                let title = title.replace(';', ",");
                format!("\x1b]777;notify;{title};{body}\x1b\\").into_bytes()
            }
            Notice::Osc99 => {
                format!("\x1b]99;i=osier:d=0;{title}\x1b\\\x1b]99;i=osier:p=body;{body}\x1b\\")
                    .into_bytes()
            }
        }
    }

    pub fn bell(&self) -> Vec<u8> {
        b"\x07".to_vec()
    }
}

fn clean(text: &str) -> String {
    text::head_bytes(&text::single_line(text), LONGEST).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_leave_their_control_string() {
        let kind = TerminalKind {
            notice: Notice::Osc777,
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
            host: Host::Console,
            ..TerminalKind::default()
        };
        assert_eq!(console.title("x"), b"");
        assert_eq!(console.notification("x", "y"), b"\x07");
    }
}
