//! Writes a long session to open by hand:
//! `cargo run --release --example long_session -- FILE [ENTRIES] [--short] [--cwd DIRECTORY]`.

#[path = "../benches/support/session_fixture.rs"]
mod session_fixture;

use std::path::PathBuf;

use session_fixture::{FIRST_PROMPT, LAST_ANSWER, Shape, write};

fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let mut plain = Vec::new();
    let (mut short, mut cwd) = (false, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--short" => short = true,
            "--cwd" => cwd = words.next(),
            _ => plain.push(word),
        }
    }
    let Some(path) = plain.first().map(PathBuf::from) else {
        return Err(std::io::Error::other("the file to write is missing"));
    };
    let entries = plain.get(1).and_then(|count| count.parse().ok());
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
