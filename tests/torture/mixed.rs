//! Several osiers used at once for hours: prompts of all kinds, moves in the tree, fans, model switches, resizes, a
//! server with clients that come and go, and kills. Every half minute a line for each process goes to `usage.tsv`.

mod sampler;
mod worker;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::options::Options;
use crate::support::home::Home;
use crate::support::model::ModelServer;
use crate::support::{signal, until};
use crate::{Report, plot};
use sampler::{Sample, Sampler};
use worker::{Counts, Worker};

/// How long processes of an earlier run may take to end.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long the short version runs.
const SHORT: Duration = Duration::from_secs(8);
/// Prompts per minute by hand: 5,000 in eight hours.
const PACE: f64 = 11.0;
/// The name of each worker and how it starts osier.
const WORKERS: &[(&str, &[&str])] = &[("alone", &[]), ("second", &[]), ("attached", &["attach"])];

/// A server for tools over stdio.
const MCP_SERVER: &str = include_str!("../it/mcp_server.sh");

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("mixed")?;
    let server = Arc::new(ModelServer::start()?);
    let end = Instant::now() + options.time(SHORT);
    let pace = options.pace.or((!options.is_short()).then_some(PACE));
    let interval = pace.map(|pace| Duration::from_secs_f64(60.0 * WORKERS.len() as f64 / pace));
    let mut workers = Vec::new();
    let mut followed = Vec::new();
    for (index, (name, arguments)) in WORKERS.iter().enumerate() {
        let home = home(&folder.path.join(name), &server)?;
        let counts = Arc::new(Counts::default());
        followed.push((*name, home.clone(), Arc::clone(&counts)));
        let seed = options.seed + index as u64;
        let mut worker = Worker::new(
            name,
            arguments,
            options.program(),
            home,
            Arc::clone(&server),
            counts,
            seed,
        );
        worker.keep_totals(folder.path.join(format!("{name}.json")), options.is_resumed);
        workers.push(worker);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let every = if options.is_short() {
        Duration::from_secs(1)
    } else {
        Duration::from_secs(30)
    };
    let sampler = Sampler::start(&folder.path, options.program(), followed, every, &is_over)?;
    let threads: Vec<_> = workers
        .into_iter()
        .map(|mut worker| {
            thread::spawn(move || {
                worker.work(end, interval);
                worker.finish()
            })
        })
        .collect();
    let mut report = Report::default();
    for thread in threads {
        let one = thread.join();
        report.add(one.map_err(|_| io::Error::other("a worker has failed"))?);
    }
    is_over.store(true, Ordering::Relaxed);
    let samples = sampler
        .join()
        .map_err(|_| io::Error::other("the sampler has failed"))?;
    report
        .notes
        .push(format!("{} model calls in this run", server.requests()));
    if let Some(sample) = samples.last() {
        let hours = sample.seconds / 3600.0;
        report.notes.push(format!("{hours:.2} hours in all runs"));
    }
    report.notes.extend(growth(&samples));
    if !options.is_short() {
        let drawn = plot::run(&folder.path.join("usage.tsv"))?;
        report.notes.push(format!("plots: {}", drawn.display()));
    }
    if !report.failures.is_empty() {
        fs::write(
            folder.path.join("failures.txt"),
            report.failures.join("\n\n"),
        )?;
    }
    Ok(report)
}

fn home(folder: &Path, server: &ModelServer) -> io::Result<Home> {
    let settings = "model = \"openai-chat-completions/m\"\nsubagents = true\n";
    let home = Home::new(folder.to_owned(), &server.models_json(), settings)?;
    // A server that an interrupted run left uses another model server.
    let are_gone = until(PATIENCE, || {
        let left = home.processes();
        for process in &left {
            signal(process.id, rustix::process::Signal::KILL);
        }
        left.is_empty()
    });
    if !are_gone {
        return Err(io::Error::other(format!(
            "processes of an earlier run are left: {:?}",
            home.processes()
        )));
    }
    let script = home.home().join("mcp_server.sh");
    fs::write(&script, MCP_SERVER)?;
    let servers = serde_json::json!({"mcpServers": {"fake": {"command": "sh", "args": [script]}}});
    home.config("mcp.json", &servers.to_string())?;
    Ok(home)
}

/// Compares the memory at the end with that after the warm-up, the first tenth of the run.
fn growth(samples: &[Sample]) -> Vec<String> {
    let [first, last] =
        [samples.first(), samples.last()].map(|sample| sample.map_or(0.0, |sample| sample.seconds));
    let at = |part: f64| first + (last - first) * part;
    let mean = |name: &str, role: &str, from: f64, to: f64| {
        let chosen = samples.iter().filter(|sample| {
            sample.worker == name && sample.role == role && (from..=to).contains(&sample.seconds)
        });
        let values: Vec<f64> = chosen.map(|sample| sample.usage.memory_kb as f64).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let mut notes = Vec::new();
    for (name, _) in WORKERS {
        for role in ["osier", "serve"] {
            let early = mean(name, role, at(0.1), at(0.2));
            let late = mean(name, role, at(0.9), last);
            if early > 0.0 && late > 0.0 {
                let factor = late / early;
                notes.push(format!(
                    "{name} {role}: {:.0} MB after the warm-up, {:.0} MB at the end: factor {factor:.2}",
                    early / 1000.0,
                    late / 1000.0
                ));
            }
        }
    }
    notes
}
