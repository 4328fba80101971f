//! The diagnostics of a server that the model knows: only new diagnostics are reported.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;

use osier_lsp::{Diagnostic, FileDiagnostics, Severity};
use osier_tools::code::report::Findings;

/// The diagnostics of one server that the model knows.
#[derive(Debug, Default)]
pub(super) struct KnownDiagnostics {
    files: HashMap<PathBuf, HashSet<u64>>,
    /// There was a report before: new errors in other files are news now.
    has_reported: bool,
}

/// A diagnostic without its place, which changes with the lines before it.
fn key(diagnostic: &Diagnostic) -> u64 {
    let mut hasher = DefaultHasher::new();
    let Diagnostic {
        severity,
        message,
        code,
        ..
    } = diagnostic;
    (severity, message, code).hash(&mut hasher);
    hasher.finish()
}

impl KnownDiagnostics {
    /// Adds what is new: in `touched` files all diagnostics but notes, in others errors.
    pub(super) fn add_new(
        &mut self,
        all: Vec<(PathBuf, FileDiagnostics)>,
        touched: &HashSet<PathBuf>,
        findings: &mut Findings,
    ) {
        let others_count = std::mem::replace(&mut self.has_reported, true);
        let mut files = HashMap::with_capacity(all.len());
        for (path, found) in all {
            let before = self.files.remove(&path).unwrap_or_default();
            let is_touched = touched.contains(&path);
            let least = if is_touched {
                Severity::Warning
            } else {
                Severity::Error
            };
            let is_reported = is_touched || others_count;
            let mut new = 0;
            for diagnostic in &found.worst {
                let is_new = !before.contains(&key(diagnostic));
                if is_new && is_reported && diagnostic.severity <= least {
                    new += usize::from(diagnostic.severity == Severity::Error);
                    findings.push(path.clone(), diagnostic.clone());
                }
            }
            // A flood has more than are stored.
            let stored = found.worst.iter();
            let stored = stored.filter(|one| one.severity == Severity::Error).count();
            if new > 0 && new == stored {
                findings.counts.errors += found.counts.errors - stored;
            }
            files.insert(path, found.worst.iter().map(key).collect());
        }
        self.files = files;
    }

    /// Records the diagnostics without reporting them.
    pub(super) fn absorb(&mut self, all: Vec<(PathBuf, FileDiagnostics)>) {
        self.has_reported = true;
        let keys = |found: FileDiagnostics| found.worst.iter().map(key).collect();
        self.files = all
            .into_iter()
            .map(|(path, found)| (path, keys(found)))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use osier_lsp::Counts;

    use super::*;

    fn found(list: &[(Severity, u32, &str)]) -> FileDiagnostics {
        let mut counts = Counts::default();
        let worst = list.iter().map(|(severity, line, message)| {
            counts.add(*severity, 1);
            Diagnostic {
                severity: *severity,
                line: *line,
                column: 1,
                message: (*message).to_owned(),
                code: String::new(),
            }
        });
        let worst = worst.collect();
        FileDiagnostics { counts, worst }
    }

    fn new(known: &mut KnownDiagnostics, all: &[(&str, FileDiagnostics)]) -> Vec<String> {
        let all = all
            .iter()
            .map(|(path, found)| (PathBuf::from(path), found.clone()));
        let touched = HashSet::from([PathBuf::from("/touched")]);
        let mut findings = Findings::default();
        known.add_new(all.collect(), &touched, &mut findings);
        let list = findings.list.iter();
        list.map(|(path, one)| format!("{}:{} {}", path.display(), one.line, one.message))
            .collect()
    }

    #[test]
    fn only_what_is_new_is_reported() {
        let mut known = KnownDiagnostics::default();
        let touched = found(&[
            (Severity::Error, 1, "a"),
            (Severity::Warning, 2, "w"),
            (Severity::Hint, 3, "h"),
        ]);
        let other = found(&[(Severity::Error, 9, "old")]);
        let all = [("/touched", touched.clone()), ("/other", other)];
        // Diagnostics that other files had before are not reported as new.
        assert_eq!(new(&mut known, &all), ["/touched:1 a", "/touched:2 w"]);
        assert_eq!(new(&mut known, &all), [""; 0]);
        let moved = found(&[(Severity::Error, 5, "a"), (Severity::Error, 6, "b")]);
        let broken = found(&[
            (Severity::Error, 9, "old"),
            (Severity::Error, 1, "broke"),
            (Severity::Warning, 2, "x"),
        ]);
        let all = [("/touched", moved), ("/other", broken)];
        assert_eq!(new(&mut known, &all), ["/touched:6 b", "/other:1 broke"]);
        // A diagnostic that was solved and appears again is reported again.
        assert_eq!(new(&mut known, &[]), [""; 0]);
        assert_eq!(
            new(&mut known, &[("/touched", touched)]),
            ["/touched:1 a", "/touched:2 w"]
        );
    }

    #[test]
    fn errors_that_are_not_stored_are_counted() {
        let mut known = KnownDiagnostics::default();
        let mut flood = found(&[(Severity::Error, 1, "flood")]);
        flood.counts.errors = 100_000;
        let mut findings = Findings::default();
        let touched = HashSet::from([PathBuf::from("/f")]);
        known.add_new(vec![("/f".into(), flood)], &touched, &mut findings);
        assert_eq!(findings.counts.errors, 100_000);
    }
}
