//! The command line. Arguments of libtest that do not concern this program are accepted and ignored.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The seed of the short version, so that CI runs the same each time.
const SEED: u64 = 20;

/// Options of libtest that are followed by a value.
const WITH_VALUE: &[&str] = &[
    "--test-threads",
    "--skip",
    "--color",
    "--format",
    "--logfile",
    "-Z",
    "--shuffle-seed",
];

/// The options of a run.
#[derive(Debug)]
pub(crate) struct Options {
    /// The hours that the parts run; `None` for the short version.
    pub(crate) hours: Option<f64>,
    pub(crate) only: Vec<String>,
    pub(crate) seed: u64,
    /// Prompts per minute of `mixed`.
    pub(crate) pace: Option<f64>,
    pub(crate) plot: Option<PathBuf>,
    /// Runs only the cases of `stuck`, `limits` and `trouble` whose name contains this.
    pub(crate) case: Option<String>,
    /// Whether the parts were named on the command line.
    pub(crate) is_chosen: bool,
    /// Whether the run of `mixed` whose results are in `out` is continued.
    pub(crate) is_resumed: bool,
    program: Option<PathBuf>,
    out: Option<PathBuf>,
}

impl Options {
    /// The options of `arguments`; `None` if nothing is to be run.
    pub(crate) fn parse(
        arguments: impl Iterator<Item = String>,
        parts: &[&str],
    ) -> Result<Option<Self>, String> {
        let mut options = Self {
            hours: None,
            only: parts.iter().map(|&part| part.to_owned()).collect(),
            seed: SEED,
            pace: None,
            plot: None,
            case: None,
            is_chosen: false,
            is_resumed: false,
            program: None,
            out: None,
        };
        let mut filters = Vec::new();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.ok_or_else(|| format!("`{argument}` needs a value"))
            };
            match argument.as_str() {
                "--list" => return Ok(None),
                "--hours" => options.hours = Some(number(&argument, &value()?)?),
                "--pace" => options.pace = Some(number(&argument, &value()?)?),
                "--seed" => options.seed = number(&argument, &value()?)?,
                "--case" => options.case = Some(value()?),
                "--out" => options.out = Some(value()?.into()),
                "--resume" => {
                    options.out = Some(value()?.into());
                    options.is_resumed = true;
                    options.only = vec!["mixed".to_owned()];
                }
                "--program" => options.program = Some(value()?.into()),
                "--plot" => options.plot = Some(value()?.into()),
                "--only" => {
                    let list = value()?;
                    options.is_chosen = true;
                    options.only = list.split(',').map(str::to_owned).collect();
                    if let Some(wrong) = options
                        .only
                        .iter()
                        .find(|name| !parts.contains(&name.as_str()))
                    {
                        return Err(format!(
                            "unknown part `{wrong}`; expected some of {}",
                            parts.join(", ")
                        ));
                    }
                }
                name if WITH_VALUE.contains(&name) => drop(value()?),
                name if name.starts_with('-') => {}
                filter => filters.push(filter.to_owned()),
            }
        }
        if let (true, Some(out)) = (options.is_resumed, &options.out)
            && !out.join("mixed/usage.tsv").is_file()
        {
            return Err(format!(
                "`{}` has no run of `mixed` to resume",
                out.display()
            ));
        }
        // As in libtest, a word selects what contains it.
        if !filters.is_empty() {
            let is_wanted = |part: &String| {
                let name = format!("torture::{part}");
                filters.iter().any(|filter| name.contains(filter))
            };
            options.only.retain(is_wanted);
        }
        Ok(Some(options))
    }

    /// How long a part runs: `short` in CI.
    pub(crate) fn time(&self, short: Duration) -> Duration {
        let hours = self
            .hours
            .map(|hours| Duration::from_secs_f64(hours * 3600.0));
        hours.unwrap_or(short)
    }

    /// When a part by hand ends.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.hours
            .map(|_| Instant::now() + self.time(Duration::ZERO))
    }

    pub(crate) fn is_short(&self) -> bool {
        self.hours.is_none()
    }

    /// The program under test.
    pub(crate) fn program(&self) -> &Path {
        let built = Path::new(env!("CARGO_BIN_EXE_osier"));
        self.program.as_deref().unwrap_or(built)
    }

    /// A folder for everything that `part` writes; without `--out` it is removed at the end.
    pub(crate) fn folder(&self, part: &str) -> io::Result<Folder> {
        match &self.out {
            Some(out) => {
                let path = out.join(part);
                std::fs::create_dir_all(&path)?;
                Ok(Folder {
                    path: path.canonicalize()?,
                    _temporary: None,
                })
            }
            None => {
                let temporary = tempfile::tempdir()?;
                Ok(Folder {
                    path: temporary.path().canonicalize()?,
                    _temporary: Some(temporary),
                })
            }
        }
    }
}

/// A folder, removed when it is dropped if it is temporary.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    _temporary: Option<TempDir>,
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    let parsed = value.parse();
    parsed.map_err(|_| format!("`{name}` needs a number, not `{value}`"))
}
