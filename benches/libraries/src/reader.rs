//! What crossterm's reader makes of the bytes of a terminal.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crossterm::event::{Event, poll, read};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The argument of the process that reads.
pub const CHILD: &str = "--read";

/// Reads events for a second from the terminal, and prints each, and each wait that is too long.
pub fn child() -> io::Result<()> {
    crossterm::terminal::enable_raw_mode()?;
    eprintln!("ready");
    let (start, mut events) = (Instant::now(), Vec::new());
    let mut longest = Duration::ZERO;
    while start.elapsed() < Duration::from_secs(1) {
        let before = Instant::now();
        let is_ready = poll(Duration::from_millis(20))?;
        longest = longest.max(before.elapsed());
        if is_ready {
            events.push(match read()? {
                Event::Key(key) => format!("{} {}", key.modifiers, key.code),
                other => format!("{other:?}"),
            });
        }
    }
    eprintln!(
        "{} events, longest poll(20 ms) {longest:.0?}: {}",
        events.len(),
        events.join(", ")
    );
    Ok(())
}

/// The inputs of the page: each is a list of writes with 100 ms between them.
const INPUTS: [(&str, &[&[u8]]); 8] = [
    ("an arrow key, split after ESC", &[b"\x1b", b"[A"]),
    ("half of a sequence", &[b"\x1b["]),
    ("half of a key with a number", &[b"\x1b[20"]),
    ("two bytes of an emoji", &[b"\xf0\x9f"]),
    (
        "the background colour",
        &[b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\"],
    ),
    ("the name of the terminal", &[b"\x1bP>|foot(1.16.2)\x1b\\"]),
    ("ctrl+i in the encoding of xterm", &[b"\x1b[27;5;105~"]),
    ("ctrl+c with a Cyrillic layout", &[b"\x1b[1089::99;5u"]),
];

/// Sends each input to a reader on a terminal of its own.
pub fn measure() -> Result<(), Box<dyn std::error::Error>> {
    for (name, writes) in INPUTS {
        let pty = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&pty)?;
        unlockpt(&pty)?;
        let path = ptsname(&pty, Vec::new())?;
        let terminal = || -> Result<File, Box<dyn std::error::Error>> {
            let path = path.to_str()?;
            Ok(File::options().read(true).write(true).open(path)?)
        };
        let mut child = Command::new(std::env::current_exe()?)
            .arg(CHILD)
            .stdin(Stdio::from(terminal()?))
            .stdout(Stdio::from(terminal()?))
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no output")?).lines();
        lines.next().ok_or("no line")??;
        let mut pty = File::from(pty);
        for bytes in writes {
            pty.write_all(bytes)?;
            sleep(Duration::from_millis(100));
        }
        sleep(Duration::from_secs(1));
        // A key ends a wait for more bytes.
        let _ = pty.write_all(b"~");
        println!("crossterm: {name}: {}", lines.next().ok_or("no line")??);
        child.wait()?;
    }
    Ok(())
}
