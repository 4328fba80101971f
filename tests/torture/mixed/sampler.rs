//! Samples the resources of the processes while they run.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::worker::Counts;
use crate::support::home::Home;
use crate::support::process::Usage;

/// One line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    pub(crate) worker: String,
    /// `osier` or `serve`.
    pub(crate) role: String,
    pub(crate) usage: Usage,
}

impl Sample {
    /// The sample in a line of the table.
    fn read(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split('\t').collect();
        let number = |place: usize| cells.get(place)?.parse().ok();
        Some(Self {
            seconds: number(0)? as f64,
            worker: (*cells.get(1)?).to_owned(),
            role: (*cells.get(2)?).to_owned(),
            usage: Usage {
                memory_kb: number(4)?,
                descriptors: usize::try_from(number(5)?).ok()?,
                threads: number(6)?,
            },
        })
    }
}

type Followed = Vec<(&'static str, Home, Arc<Counts>)>;

pub(crate) struct Sampler {
    table: File,
    program: PathBuf,
    followed: Followed,
    /// The seconds that earlier runs have recorded in the same table.
    before: f64,
    begun: Instant,
    samples: Vec<Sample>,
}

impl Sampler {
    /// Writes `usage.tsv` until `is_over`. The table of an earlier run is continued.
    pub(crate) fn start(
        folder: &Path,
        program: &Path,
        followed: Followed,
        every: Duration,
        is_over: &Arc<AtomicBool>,
    ) -> io::Result<JoinHandle<Vec<Sample>>> {
        let path = folder.join("usage.tsv");
        let earlier = fs::read_to_string(&path).unwrap_or_default();
        let samples: Vec<Sample> = earlier.lines().filter_map(Sample::read).collect();
        let mut table = File::options().create(true).append(true).open(path)?;
        if earlier.is_empty() {
            writeln!(
                table,
                "seconds\tworker\trole\tpid\tmemory_kb\tdescriptors\tthreads\tdata_bytes\ttemporary_files\tprompts"
            )?;
        }
        let mut sampler = Self {
            table,
            program: program.canonicalize()?,
            followed,
            before: samples.last().map_or(0.0, |sample| sample.seconds),
            begun: Instant::now(),
            samples,
        };
        let is_over = Arc::clone(is_over);
        Ok(thread::spawn(move || {
            let mut next = Instant::now() + every;
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(100));
                if Instant::now() >= next {
                    next += every;
                    // A full disk must not end the run.
                    let _ = sampler.sample();
                }
            }
            sampler.samples
        }))
    }

    fn sample(&mut self) -> io::Result<()> {
        let seconds = self.before + self.begun.elapsed().as_secs_f64();
        for (worker, home, counts) in &self.followed {
            let (bytes, temporary) = (home.bytes(), home.temporary_files().len());
            let prompts = counts.prompts.load(Ordering::Relaxed);
            for process in home.processes() {
                let program = std::fs::read_link(format!("/proc/{}/exe", process.id));
                if program.ok().as_ref() != Some(&self.program) {
                    continue;
                }
                let role = if process.command.contains(" serve ") {
                    "serve"
                } else {
                    "osier"
                };
                let usage = process.usage();
                writeln!(
                    self.table,
                    "{seconds:.0}\t{worker}\t{role}\t{}\t{}\t{}\t{}\t{bytes}\t{temporary}\t{prompts}",
                    process.id, usage.memory_kb, usage.descriptors, usage.threads
                )?;
                self.samples.push(Sample {
                    seconds,
                    worker: (*worker).to_owned(),
                    role: role.to_owned(),
                    usage,
                });
            }
        }
        Ok(())
    }
}
