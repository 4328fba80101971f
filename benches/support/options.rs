//! The arguments after `cargo bench --bench terminal --`.

/// The scenarios to measure, and the format of the results.
#[derive(Debug)]
pub(crate) struct Options {
    scenarios: Vec<String>,
    only: Vec<String>,
    /// The number of runs; the median is shown.
    pub(crate) runs: usize,
    pub(crate) markdown: bool,
}

impl Options {
    pub(crate) fn parse(
        arguments: impl Iterator<Item = String>,
        names: &[&str],
    ) -> Result<Self, String> {
        let mut options = Self {
            scenarios: Vec::new(),
            only: Vec::new(),
            runs: 3,
            markdown: false,
        };
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or(format!("`{argument}` needs a value"))
            };
            match argument.as_str() {
                // Cargo passes this to every benchmark.
                "--bench" => {}
                "--markdown" => options.markdown = true,
                "--only" => options.only.extend(value()?.split(',').map(str::to_owned)),
                "--runs" => {
                    let value = value()?;
                    let runs = value.parse().ok().filter(|runs| *runs > 0);
                    options.runs = runs.ok_or(format!("`{value}` is no number of runs"))?;
                }
                name if names.contains(&name) => options.scenarios.push(argument),
                other => {
                    let names = names.join(", ");
                    return Err(format!("`{other}` is no scenario; they are {names}"));
                }
            }
        }
        Ok(options)
    }

    pub(crate) fn wants_scenario(&self, name: &str) -> bool {
        self.scenarios.is_empty() || self.scenarios.iter().any(|wanted| wanted == name)
    }

    pub(crate) fn wants_agent(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }
}
