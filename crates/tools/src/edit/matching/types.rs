//! An edit and its result.

/// Replace `old` by `new`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) replace_all: bool,
}

/// The result of all edits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) text: String,
    /// One entry per edit, in order.
    pub(crate) matches: Vec<Match>,
}

/// The matches of one edit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) count: usize,
    /// The text of the first match, when it differs from the searched text.
    pub(crate) actual: Option<String>,
    /// Notes about corrections that made the edit match.
    pub(crate) notes: Vec<&'static str>,
}

impl Match {
    /// An edit that was exact at `count` places.
    pub(crate) fn exact(count: usize) -> Self {
        Self {
            count,
            ..Self::default()
        }
    }
}

impl Applied {
    /// The places that changed.
    pub(crate) fn places(&self) -> usize {
        self.matches.iter().map(|found| found.count).sum()
    }

    /// Whether an edit did not match exactly.
    pub(crate) fn is_inexact(&self) -> bool {
        self.matches.iter().any(|found| found.actual.is_some())
    }

    /// The notes of all edits, for the model; `named` returns the name of the edit with an index.
    pub(crate) fn notes(&self, named: impl Fn(usize) -> String) -> String {
        let with_notes = self.matches.iter().enumerate();
        let with_notes = with_notes.filter(|(_, found)| !found.notes.is_empty());
        let note = |(index, found): (usize, &Match)| {
            format!("; {}{}", named(index), found.notes.join(", "))
        };
        with_notes.map(note).collect::<Vec<_>>().concat()
    }
}

/// Why no edit was applied. `index` is the index of the edit, from 0.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MatchError {
    EmptyOld {
        index: usize,
    },
    NoChange {
        index: usize,
    },
    NotFound {
        index: usize,
    },
    /// Line numbers of the matches, from 1; `more` when there are further matches.
    Ambiguous {
        index: usize,
        lines: Vec<usize>,
        more: bool,
    },
    Overlap {
        first: usize,
        second: usize,
    },
    /// The text does not match exactly, which is required of a file that was not read.
    NotExact {
        index: usize,
    },
    /// The new text has a line such as `// ... existing code ...` in place of code.
    Placeholder {
        index: usize,
        line: String,
    },
}
