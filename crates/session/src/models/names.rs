//! The models that settings name: whether they exist, and what osier assumes about unknown models.

use std::path::Path;

use super::small::OFF;
use super::{ModelError, Models};
use crate::setup::SessionSetup;
use osier_base::problem::Problem;
use osier_llm::Model;
use osier_settings::Settings;

/// The model that a setting names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A model.
    Name,
    /// Models, also as globs.
    List,
    /// Models to which options apply.
    Pattern,
}

/// A setting, what it names, and the names in it.
type Row = (&'static str, Form, fn(&Settings) -> Vec<&str>);

fn one(name: Option<&String>) -> Vec<&str> {
    name.map(String::as_str).into_iter().collect()
}

fn all(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// The settings that name models.
const ROWS: [Row; 8] = [
    ("model", Form::Name, |settings| one(settings.model.as_ref())),
    ("small_model", Form::Name, |settings| {
        one(settings.small_model.as_ref().filter(|name| *name != OFF))
    }),
    ("plan_model", Form::Name, |settings| {
        one(settings.plan_model.as_ref())
    }),
    ("review_model", Form::Name, |settings| {
        one(settings.review_model.as_ref())
    }),
    ("fallback", Form::Name, |settings| all(&settings.fallback)),
    ("favourites", Form::Name, |settings| {
        all(&settings.favourites)
    }),
    ("models", Form::List, |settings| all(&settings.models)),
    ("model_options", Form::Pattern, |settings| {
        let options = settings.model_options.iter();
        options.map(|options| options.models.as_str()).collect()
    }),
];

/// The settings that are checked when a session starts: models that are used without a further request of the user, and
/// are found without reading the complete catalogue. `model` and `fallback` are checked where they are selected.
const CHECKED_AT_START: [&str; 3] = ["small_model", "plan_model", "review_model"];

/// The problems of the names in settings.
#[derive(Debug, Default)]
pub struct NameReport {
    pub problems: Vec<Problem>,
    /// Lines about models that only their provider knows.
    pub notes: Vec<String>,
}

impl Models {
    /// Checks all settings that name models.
    pub fn check_names(&self, setup: &SessionSetup) -> NameReport {
        self.check(setup, &mut ROWS.iter())
    }

    /// Checks the settings of `CHECKED_AT_START`.
    pub(super) fn check_names_at_start(&self, setup: &SessionSetup) -> NameReport {
        let is_checked = |row: &&Row| CHECKED_AT_START.contains(&row.0);
        self.check(setup, &mut ROWS.iter().filter(is_checked))
    }

    /// The errors of the patterns that the user cycles through.
    pub(super) fn cycle_errors(&self) -> impl Iterator<Item = ModelError> {
        let patterns = self.cycle.iter();
        patterns.filter_map(|pattern| self.check_name(Form::List, pattern).err())
    }

    fn check(
        &self,
        setup: &SessionSetup,
        rows: &mut dyn Iterator<Item = &'static Row>,
    ) -> NameReport {
        let mut report = NameReport::default();
        let path = setup.folders.settings();
        for (setting, form, names) in rows {
            for name in names(&setup.settings) {
                match self.check_name(*form, name) {
                    Ok(None) => {}
                    Ok(Some(note)) => report.notes.push(format!("`{setting}`: {note}")),
                    Err(error) => report.problems.push(problem(&path, setting, &error)),
                }
            }
        }
        report
    }

    /// A line about a model that the catalogue does not have.
    fn check_name(&self, form: Form, name: &str) -> Result<Option<String>, ModelError> {
        let preferred = |model: &Model| self.is_usable(model);
        match form {
            Form::Name => {
                let (model, _) = self.find(name)?;
                Ok(self.assumed_of(&model))
            }
            Form::List => {
                let found = self.catalogue.select(name, &preferred)?;
                let mut notes = found
                    .iter()
                    .filter_map(|found| self.assumed_of(&found.model));
                Ok(notes.next())
            }
            Form::Pattern if name.contains(['*', '?']) => {
                self.catalogue.select(name, &preferred)?;
                Ok(None)
            }
            // Options name a model exactly or by its id.
            Form::Pattern => Ok(self.assumed_of(&self.find(name)?.0)),
        }
    }
}

fn problem(path: &Path, setting: &str, error: &ModelError) -> Problem {
    let hint = "`osier models` lists the models";
    Problem::of_file(path, format!("`{setting}`: {error}"), hint)
}
