//! Writes a long session for manual tests:
//! `cargo run --release --example long_session -- FILE [ENTRIES] [--short] [--cwd DIRECTORY]`.

#[path = "../benches/support/session_fixture.rs"]
mod session_fixture;

use std::path::PathBuf;

use session_fixture::{FIRST_PROMPT, LAST_ANSWER, Shape, write};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut positional = Vec::new();
    let (mut short, mut cwd) = (false, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--short" => short = true,
            "--cwd" => cwd = arguments.next(),
            _ => positional.push(argument),
        }
    }
    let Some(path) = positional.first().map(PathBuf::from) else {
        return Err(std::io::Error::other("missing argument: FILE"));
    };
    let entries = positional.get(1).and_then(|count| count.parse().ok());
    let entries = entries.unwrap_or(if short { 10_000 } else { 100_000 });
    let mut shape = if short {
        Shape::messages(entries)
    } else {
        Shape::work(entries)
    };
    if let Some(cwd) = cwd {
        shape.cwd = cwd;
    }
    write(&path, &shape)?;
    let size = std::fs::metadata(&path)?.len();
    let note = format!(
        "{}: {entries} entries, {size} bytes\nfirst: {FIRST_PROMPT}\nlast: {LAST_ANSWER}\n",
        path.display()
    );
    std::io::Write::write_all(&mut std::io::stdout(), note.as_bytes())
}
