//! Measures the start of `bash -c true`: without the sandbox, in bubblewrap, and with the starter alone, in a small project and in one with
//! many directories. Run with `cargo bench -p osier-sandbox`; it prints the fastest sample and the median. The time includes osier's
//! preparation of the command.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use osier_base::process::Invocation;
use osier_protocol::SandboxMode;
use osier_sandbox::{Confinement, Preferred};

const SAMPLES: usize = 150;
const FOLDERS: usize = 5000;

fn main() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    for folders in [1, FOLDERS] {
        let project = tempfile::tempdir_in(std::env::home_dir().unwrap()).unwrap();
        let root = project.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        for number in 0..folders {
            fs::create_dir_all(root.join(format!("{}/{number}", number % 100))).unwrap();
        }
        // Directories that have changed just now are read again each time.
        std::thread::sleep(Duration::from_secs(3));
        let plain = || Invocation::new("/bin/bash", ["-c", "true"]);
        println!("{folders} directories:");
        measure("without the sandbox", &root, plain);
        for (name, preferred) in [
            ("in bubblewrap", Preferred::Bubblewrap),
            ("by the starter alone", Preferred::Namespaces),
        ] {
            let confinement = Confinement::new(&root, None);
            confinement.set(SandboxMode::Workspace, false, Vec::new());
            confinement.prefer(preferred);
            runtime.block_on(confinement.ready()).unwrap();
            if preferred == Preferred::Namespaces && !confinement.starts_alone() {
                println!("  {name}: not possible here");
                continue;
            }
            measure(name, &root, || confinement.wrap(plain()).unwrap());
        }
    }
}

fn measure(name: &str, root: &Path, invocation: impl Fn() -> Invocation) {
    let sample = |_| {
        let start = Instant::now();
        let invocation = invocation();
        let mut command = Command::new(&invocation.program);
        command.args(&invocation.args).envs(invocation.env);
        let command = command.current_dir(root).stdin(Stdio::null());
        assert!(command.status().unwrap().success());
        start.elapsed()
    };
    let mut took: Vec<Duration> = (0..SAMPLES).map(sample).collect();
    took.sort();
    println!(
        "  {name}: {:.2?} fastest, {:.2?} median",
        took[0],
        took[SAMPLES / 2]
    );
}
