//! The map of a project with 100,000 files: `cargo bench -p osier-map`. It makes the files in `$TMPDIR`, and prints the
//! wall time and the processor time of a first map, of one in a new process, and of one in the same process.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use osier_base::atomic_file;
use osier_map::{ProjectMap, Request};

const FOLDERS: usize = 4000;
const FILES: usize = 25;

fn main() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap().join("project");
    let store = place.path().join("maps");
    let start = Instant::now();
    let bytes = make(&root);
    println!(
        "{} files, {} MB, made in {:?}",
        FOLDERS * FILES,
        bytes >> 20,
        start.elapsed()
    );
    let request = Request {
        tokens: 2000,
        ..Request::default()
    };
    let focus = Request {
        focus: vec!["src/p7/m3/file_2.py".to_owned()],
        ..request.clone()
    };
    let measure = |name: &str, request: &Request| {
        let map = ProjectMap::of(&root, Some(&store));
        let (start, used) = (Instant::now(), processor());
        let outline = map.outline(request, &|_| true);
        let (took, used) = (start.elapsed(), processor().saturating_sub(used));
        let text = outline.text();
        let notices = outline.notices().join("; ");
        println!(
            "{name}: {took:?} ({used:?} of processor time), {} bytes, {} files shown [{notices}]",
            text.len(),
            outline.files.len()
        );
        map
    };
    let (start, used) = (Instant::now(), processor());
    let map = measure("cold", &request);
    map.complete();
    println!(
        "cold, complete: {:?} ({:?} of processor time)",
        start.elapsed(),
        processor().saturating_sub(used)
    );
    measure("warm, same process", &request);
    measure("warm, with files of the conversation", &focus);
    let (start, used) = (Instant::now(), processor());
    let found = map.symbols("total_12", 20, &|_| true).len();
    println!(
        "symbols: {:?} ({:?} of processor time), {found} found",
        start.elapsed(),
        processor().saturating_sub(used)
    );
    // Only a complete check reads all other files again.
    let (start, used) = (Instant::now(), processor());
    map.complete();
    println!(
        "check of all files: {:?} ({:?} of processor time)",
        start.elapsed(),
        processor().saturating_sub(used)
    );
    change(&root);
    let (start, used) = (Instant::now(), processor());
    map.complete();
    println!(
        "check with 100 changed files: {:?} ({:?} of processor time)",
        start.elapsed(),
        processor().saturating_sub(used)
    );
    std::thread::sleep(Duration::from_secs(2));
    drop(map);
    let map = measure("warm, stored index", &request);
    map.complete();
    let size = fs::read_dir(&store)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len());
    println!("stored index: {} MB", size.sum::<u64>() >> 20);
}

/// The time that all threads of the process have run.
fn processor() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks: u64 = fields[11..13]
        .iter()
        .map(|ticks| ticks.parse::<u64>().unwrap())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// About 3 kB for each file, in five languages; the bytes of all.
fn make(root: &Path) -> usize {
    let mut bytes = 0;
    for folder in 0..FOLDERS {
        let path = root.join(format!("src/p{}/m{}", folder / 40, folder % 40));
        fs::create_dir_all(&path).unwrap();
        for file in 0..FILES {
            let (name, text) = source(folder, file);
            bytes += text.len();
            atomic_file_free_write(&path.join(name), &text);
        }
    }
    bytes
}

fn change(root: &Path) {
    for folder in 0..100 {
        let path = root.join(format!("src/p{folder}/m1"));
        let (name, text) = source(folder * 40 + 1, 3);
        atomic_file::write(&path.join(name), format!("{text}\n\n").as_bytes()).unwrap();
    }
}

/// Writes without syncing: making 100,000 files durable takes minutes.
fn atomic_file_free_write(path: &Path, text: &str) {
    use std::io::Write as _;
    let mut file = fs::File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn source(folder: usize, file: usize) -> (String, String) {
    let mut text = String::new();
    let used = |n: usize| (folder * 7 + file * 13 + n * n * 31) % (FOLDERS * FILES / 4);
    let (open, close, end) = match file % 5 {
        0 => ("pub fn", "(value: u32) -> u32 {", "}"),
        1 => ("def", "(value):", ""),
        2 => ("export function", "(value: number): number {", "}"),
        3 => ("func", "(value int) int {", "}"),
        _ => ("int", "(int value) {", "}"),
    };
    let ending = ["rs", "py", "ts", "go", "c"][file % 5];
    for n in 0..12 {
        let id = folder * FILES + file;
        let comment = if file % 5 == 1 { "#" } else { "//" };
        let _ = writeln!(
            text,
            "{comment} Adds up the values of the order and returns what is left of them."
        );
        let _ = writeln!(text, "{open} total_{id}_{n}{close}");
        for call in 0..4 {
            let other = used(n * 4 + call);
            let _ = writeln!(
                text,
                "    local_value_{call} = total_{other}_{call}(value + {n})"
            );
        }
        let _ = writeln!(text, "    return local_value_1 + local_value_2\n{end}\n");
    }
    (format!("file_{file}.{ending}"), text)
}
