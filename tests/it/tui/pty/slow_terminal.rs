//! A terminal that stops reading while an answer streams and continues later: a few frames wait, not the complete
//! answer.

use std::fs;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::program::{environment, holds};

/// Bytes per read.
const STEP: usize = 64;
/// An answer in many small deltas, each in a separate frame.
const PARTS: usize = 150;
/// Maximum bytes in flight: the sent frame, the echo, and the frames that were drawn before the first reply was late.
const UNDER_WAY: usize = 4_500;

/// The master side of a pseudo-terminal, which is read only on request.
struct Glass {
    reader: Box<dyn Read + Send>,
    writer: Box<dyn Write + Send>,
    parser: vt100::Parser,
    /// The end of the read bytes, which may contain a part of a query.
    tail: Vec<u8>,
    read: usize,
}

impl Glass {
    /// Reads once and replies to the queries.
    fn step(&mut self) {
        let mut bytes = [0; STEP];
        let count = self.reader.read(&mut bytes).unwrap();
        assert!(count > 0, "the program has ended");
        self.read += count;
        self.parser.process(&bytes[..count]);
        let fence = b"\x1b[c";
        self.tail.extend(&bytes[..count]);
        let questions = self.tail.windows(3).filter(|bytes| bytes == fence).count();
        self.tail.drain(..self.tail.len() - 2);
        for _ in 0..questions {
            self.writer.write_all(b"\x1b[?62c").unwrap();
        }
    }

    fn until(&mut self, text: &str) {
        while !self.parser.screen().contents().contains(text) {
            self.step();
        }
    }
}

#[test]
fn key_echo_does_not_wait_for_missed_frames() {
    let parts: Vec<String> = (0..PARTS)
        .map(|part| format!(r#"{{"text": "part {part} of an answer that fills a good part of each of its rows\n\n"}}, {{"wait": 15}}"#))
        .collect();
    let script = format!(
        r#"{{"turns": [{{"steps": [{}, {{"text": "The end."}}]}}]}}"#,
        parts.join(", ")
    );
    let place = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("home/settings.toml", "discover_local_models = false\n"),
        ("work/s.json", &script),
    ] {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let size = PtySize {
        rows: 24,
        cols: 80,
        ..PtySize::default()
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_osier"));
    command.env_clear();
    for (name, value) in environment(&place) {
        command.env(name, value);
    }
    command.cwd(place.path().join("work"));
    command.args(["--model", "script/s.json"]);
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut glass = Glass {
        reader: pair.master.try_clone_reader().unwrap(),
        writer: pair.master.take_writer().unwrap(),
        parser: vt100::Parser::new(24_u16.try_into().unwrap(), 80_u16.try_into().unwrap(), 0),
        tail: Vec::new(),
        read: 0,
    };
    glass.until("Ask,");
    glass.writer.write_all(b"go\r").unwrap();
    glass.until("part 5 ");

    // Stops reading until the answer is complete.
    let deadline = Instant::now() + Duration::from_mins(2);
    while !holds(&place.path().join("home"), "The end.") {
        assert!(Instant::now() < deadline, "the answer does not end");
        osier_testing::poll::pause();
    }
    glass.writer.write_all(b"typed").unwrap();
    glass.read = 0;
    glass.until("❯ typed");
    assert!(glass.read <= UNDER_WAY, "{} bytes", glass.read);
    glass.until("The end.");
    assert!(glass.read <= UNDER_WAY, "{} bytes", glass.read);
    child.kill().unwrap();
    child.wait().unwrap();
}
