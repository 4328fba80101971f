//! The models that a session can use: the catalogue, the keys, the current model, and the models to cycle through.

mod described;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::calls::{DialectTransport, Dispatch, SessionKeys};
use super::files::{read_keys, read_models_file, withhold_keys};
use super::placeholder::placeholder;
use super::refresh;
use super::scripts::{self, TOUR};
use super::search::SearchKeys;
use super::server::Server;
use crate::setup::SessionSetup;
use osier_agent::{KeySource, ProviderTransport, Transport};
use osier_base::problem::Problem;
use osier_llm::auth::{KeyStatus, Keys};
use osier_llm::catalogue::{Catalogue, FindError, PROVIDERS, ProviderEntry, Published, VendorList};
use osier_llm::{Api, CacheRetention, Model, Provider, Providers, Secret, ThinkingLevel};
use osier_protocol::KeyState;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error("{0}")]
    Script(String),
    #[error("{0}")]
    NoKey(String),
}

/// Why no model of an osier server can be selected.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The server did not send a valid answer.
    #[error("{0}")]
    Silent(String),
    #[error(transparent)]
    Named(#[from] ModelError),
}

/// The models that a session can use.
#[derive(Debug)]
pub struct Models {
    pub(super) catalogue: Catalogue,
    pub(super) keys: Arc<Keys>,
    /// The providers for all sessions of the actor: they share connections.
    providers: Providers,
    cwd: PathBuf,
    pub(super) embedded: Option<(Arc<Model>, Arc<dyn Provider>)>,
    /// The osier server that receives all calls.
    pub(super) server: Option<Server>,
    pub(super) chosen: Arc<Model>,
    /// The level named with the model, as in `sonnet:high`.
    level: Option<ThinkingLevel>,
    fallback: Vec<Arc<Model>>,
    /// Names and patterns; empty means every model with a key.
    pub(super) cycle: Vec<String>,
    /// `PROVIDER/ID`s that are first in lists; also the models to cycle through if `cycle` is empty.
    pub(super) favourites: Vec<String>,
    pub(super) cache_retention: CacheRetention,
    /// Output tokens a second by `PROVIDER/ID`, as far as they are known.
    pub(super) speeds: BTreeMap<String, u64>,
    /// Whether the user or a setting selected the model. If not, a model of a local server can replace it.
    pub(super) named: bool,
    /// The provider of the named model, and the base URL of the command line for it.
    base_url: Option<(String, String)>,
    /// Scripts that the user selected in this process.
    scripts: Vec<Arc<Model>>,
    /// The script of a stored session that was not selected.
    pub(super) refused: Option<String>,
    /// The model of a stored session that does not exist any more.
    pub(super) gone: Option<String>,
    /// A name that fits several models, until the user selects one.
    pub(super) unclear: Option<SeveralModels>,
    /// A line about an unlisted selected model, until it is published.
    pub(super) assumptions: Option<String>,
}

/// A name that fits several models.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeveralModels {
    pub wanted: String,
    /// The `PROVIDER/ID`s of the models.
    pub fits: Vec<String>,
    pub level: Option<ThinkingLevel>,
}

impl ModelError {
    /// The models that a name fits.
    pub(super) fn several(&self) -> Option<SeveralModels> {
        match self {
            Self::Find(FindError::Several {
                wanted,
                fits,
                level,
            }) => Some(SeveralModels {
                wanted: wanted.clone(),
                fits: fits.clone(),
                level: *level,
            }),
            _ => None,
        }
    }
}

impl Models {
    /// Reads the files and selects a model.
    ///
    /// # Errors
    /// The model of the command line does not exist.
    pub fn load(setup: &SessionSetup) -> Result<(Self, Vec<Problem>), ModelError> {
        let (mut models, mut problems) = Self::load_lenient(setup);
        // An unknown name may be in the list of the server, which is read later.
        if models.server.is_none() {
            models.select_named(setup, &mut problems)?;
            let report = models.check_names_at_start(setup);
            problems.extend(report.problems);
            let path = setup.folders.settings();
            let notes = report.notes.into_iter();
            problems.extend(notes.map(|note| Problem::of_file(path.clone(), note, "")));
        }
        Ok((models, problems))
    }

    /// Selects the models of the command line and the settings.
    pub(super) fn select_named(
        &mut self,
        setup: &SessionSetup,
        problems: &mut Vec<Problem>,
    ) -> Result<(), ModelError> {
        self.unclear = None;
        let by_flag = setup.model.as_ref();
        if let Some(reference) = by_flag.or(setup.settings.model.as_ref()) {
            match self.find(reference) {
                Ok((model, level)) => {
                    self.set_chosen(&model, setup);
                    self.level = level;
                    self.named = true;
                }
                Err(error) => match error.several() {
                    Some(several) if setup.answers_questions => {
                        self.unclear = Some(several);
                        self.chosen = placeholder();
                        self.named = true;
                    }
                    // Without a person, another model would answer unnoticed.
                    None if by_flag.is_none() && setup.answers_questions => {
                        let hint = "another model was selected";
                        let path = setup.folders.settings();
                        problems.push(Problem::of_file(path, format!("`model`: {error}"), hint));
                    }
                    _ => return Err(error),
                },
            }
        }
        if !setup.cycle.is_empty()
            && let Some(error) = self.cycle_errors().next()
        {
            return Err(error);
        }
        let names = if setup.fallback.is_empty() {
            &setup.settings.fallback
        } else {
            &setup.fallback
        };
        self.fallback.clear();
        for name in names {
            let (model, _) = self.find(name)?;
            if let Some(note) = self.assumed_of(&model) {
                let path = setup.folders.settings();
                problems.push(Problem::of_file(path, format!("`fallback`: {note}"), ""));
            }
            self.fallback.push(model);
        }
        Ok(())
    }

    /// Reads the models of the osier server, if there is a server and its models were not read yet, and selects a model.
    ///
    /// # Errors
    /// The server does not answer, or it does not have the model.
    pub(crate) async fn ask_server_first(
        &mut self,
        setup: &SessionSetup,
    ) -> Result<Vec<Problem>, ServerError> {
        let mut problems = Vec::new();
        if self.server.is_some() && !self.is_served() {
            self.ask_server().await.map_err(ServerError::Silent)?;
            self.select_named(setup, &mut problems)?;
            if let Some(first) = self.catalogue.first_served().filter(|_| !self.named) {
                self.chosen = Arc::clone(first);
            }
        }
        Ok(problems)
    }

    /// Whether the models of an osier server are known.
    pub fn is_served(&self) -> bool {
        self.catalogue.first_served().is_some()
    }

    /// Reads the models of the osier server again.
    ///
    /// # Errors
    /// The server did not send a valid answer.
    pub async fn ask_server(&mut self) -> Result<(), String> {
        if let Some(server) = &self.server {
            let models = server.models().await;
            let models = models.map_err(|status| status.message().to_owned())?;
            self.catalogue.set_served(models);
        }
        Ok(())
    }

    /// Loads the catalogue without the models of the command line and the settings: for lists and checks.
    pub fn load_lenient(setup: &SessionSetup) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let file = read_models_file(&setup.folders.models(), &mut problems);
        let keys = read_keys(setup, &mut problems);
        let variables = Arc::clone(&setup.environment);
        let environment = Arc::new(move |name: &str| variables.get(name).cloned());
        let mut catalogue = Catalogue::new(file)
            .with_published(refresh::read(&setup.folders.published(), &mut problems))
            .with_environment(environment)
            .with_options(setup.settings.model_options.clone());
        if let Some(local) = &setup.local_models {
            catalogue.set_local(local.clone());
        }
        withhold_keys(&catalogue, setup);
        let http = setup.settings.model_http(setup.answers_questions);
        let providers = Providers::new(http, scripts::provider(&setup.cwd));
        let keys = Arc::new(keys);
        let embedded = setup
            .embedded
            .as_ref()
            .map(|(model, provider)| (Arc::new(model.clone()), Arc::clone(provider)));
        let server = Server::of(setup, &keys);
        let default = match (&embedded, &server) {
            (Some((model, _)), _) => Some(Arc::clone(model)),
            // Until its models are known: a script must not look like the answer of a model.
            (None, Some(_)) => catalogue.models_of(PROVIDERS[0].name).first().cloned(),
            (None, None) => catalogue
                .default_model(&keys)
                .or_else(|| scripts::default_of(&catalogue, setup)),
        };
        let cycle = if setup.cycle.is_empty() {
            &setup.settings.models
        } else {
            &setup.cycle
        };
        let models = Self {
            server,
            catalogue,
            keys,
            providers,
            cwd: setup.cwd.clone(),
            embedded,
            chosen: default.unwrap_or_else(placeholder),
            level: None,
            fallback: Vec::new(),
            cycle: cycle.clone(),
            favourites: setup.settings.favourites.clone(),
            cache_retention: setup.settings.cache_retention,
            speeds: BTreeMap::new(),
            named: false,
            base_url: None,
            scripts: Vec::new(),
            refused: None,
            gone: None,
            unclear: None,
            assumptions: None,
        };
        (models, problems)
    }

    /// The model that `reference` names, and the level in it.
    pub fn find(&self, reference: &str) -> Result<(Arc<Model>, Option<ThinkingLevel>), ModelError> {
        if let Some((model, _)) = &self.embedded {
            let is_named = |name: &str| model.reference() == name || model.id == name;
            if is_named(reference) {
                return Ok((Arc::clone(model), None));
            }
            if let Some((name, level)) = reference.rsplit_once(':')
                && is_named(name)
                && let Some(level) = ThinkingLevel::from_name(level)
            {
                return Ok((Arc::clone(model), Some(level)));
            }
        }
        let found = self
            .catalogue
            .find(reference, &|model| self.is_usable(model))?;
        scripts::check(&self.cwd, &found.model).map_err(ModelError::Script)?;
        Ok((self.at_given_url(found.model), found.level))
    }

    /// The model, with the base URL of the command line if it is for its provider.
    fn at_given_url(&self, model: Arc<Model>) -> Arc<Model> {
        let given = self.base_url.as_ref();
        match given.filter(|(provider, _)| *provider == model.provider) {
            Some((_, url)) => Arc::new(Model {
                base_url: url.clone(),
                ..Model::clone(&model)
            }),
            None => model,
        }
    }

    /// The model of the next request.
    pub fn chosen(&self) -> Arc<Model> {
        Arc::clone(&self.chosen)
    }

    /// The provider and the id of the chosen model.
    pub fn chosen_name(&self) -> (String, String) {
        (self.chosen.provider.clone(), self.chosen.id.clone())
    }

    /// The level that was named with the model.
    pub fn level(&self) -> Option<ThinkingLevel> {
        self.level
    }

    pub fn choose(&mut self, model: &Arc<Model>) {
        self.assumptions = self.assumed_of(model);
        self.chosen = Arc::clone(model);
        self.named = true;
        if scripts::must_be_selected(&model.provider) {
            self.scripts.push(Arc::clone(model));
        }
    }

    /// Selects the model that a stored session last used, if it still exists. A script is a file that may belong to the
    /// project, so the user must have named it.
    pub(crate) fn choose_stored(&mut self, provider: &str, id: &str) {
        if !self.may_play(provider, id) {
            self.refused = Some(format!("{provider}/{id}"));
            return;
        }
        let reference = format!("{provider}/{id}");
        let found = self.find(&reference);
        let is_same = |model: &Model| model.provider == provider && model.id == id;
        if !found.as_ref().is_ok_and(|(model, _)| is_same(model)) {
            self.gone = Some(reference);
        }
        if let Ok((model, _)) = found {
            self.choose(&model);
            // If a key is added later, its model replaces the demo.
            self.named = model.reference() != TOUR;
        }
    }

    /// The current model, then the fallback models.
    pub(crate) fn call_order(&self) -> Vec<Arc<Model>> {
        let others = self
            .fallback
            .iter()
            .filter(|model| model.reference() != self.chosen.reference());
        std::iter::once(&self.chosen)
            .chain(others)
            .cloned()
            .collect()
    }

    /// The next or previous model to cycle to.
    pub(crate) fn cycled(&self, backward: bool) -> Option<Arc<Model>> {
        let set = self.cycle_set();
        let here = set
            .iter()
            .position(|model| model.reference() == self.chosen.reference());
        let next = match (here, backward) {
            (None, _) => 0,
            (Some(place), false) => (place + 1) % set.len(),
            (Some(place), true) => (place + set.len() - 1) % set.len(),
        };
        set.get(next)
            .filter(|model| model.reference() != self.chosen.reference())
            .cloned()
    }

    /// Replaces the catalogue and keeps the selection.
    pub async fn reloaded(&mut self, fresh: Self) {
        // The new keys do not know about renewals that are running.
        self.settle().await;
        let chosen = self.chosen();
        let named = self.named;
        let served = self.catalogue.take_served();
        let speeds = std::mem::take(&mut self.speeds);
        *self = fresh;
        self.speeds = speeds;
        if let Some(models) = served {
            self.catalogue.set_served(models);
        }
        self.chosen = chosen;
        self.named = named;
    }

    /// Sets how fast models were. Whether that changes anything.
    pub(crate) fn set_speeds(&mut self, speeds: BTreeMap<String, u64>) -> bool {
        let is_new = self.speeds != speeds;
        self.speeds = speeds;
        is_new
    }

    /// Adds newly published models.
    pub fn published(&mut self, published: Published) {
        self.catalogue.set_published(published);
    }

    /// The keys of search services.
    pub(crate) fn search_keys(&self) -> SearchKeys {
        SearchKeys::new(&self.keys)
    }

    /// The transport of a session.
    pub fn transport(&self) -> Arc<dyn Transport> {
        let here = ProviderTransport::new(self.provider(), Some(self.keys()));
        let own = self.embedded.as_ref().map(|(model, _)| model.reference());
        let plain = match &self.server {
            Some(server) => server.transport(here, own),
            None => Arc::new(here),
        };
        Arc::new(DialectTransport::new(plain))
    }

    fn provider(&self) -> Arc<dyn Provider> {
        let embedded = self.embedded.clone();
        Arc::new(Dispatch {
            providers: self.providers.clone(),
            embedded,
        })
    }

    /// The keys of a session.
    fn keys(&self) -> Arc<dyn KeySource> {
        let entries = self.catalogue.shared_providers();
        Arc::new(SessionKeys {
            keys: Arc::clone(&self.keys),
            entries,
        })
    }

    /// Waits for renewals of sign-ins: cancelling one can lose the sign-in.
    pub async fn settle(&self) {
        self.keys.renewals().settle().await;
    }

    /// Reads the credential store again.
    pub(crate) fn credentials_changed(&self) {
        self.keys.reload();
    }

    /// Whether a call of `model` can succeed.
    pub(super) fn is_usable(&self, model: &Model) -> bool {
        self.key_state(model) != KeyState::Absent
    }

    /// Applies the flags that belong to the provider of the named model.
    fn set_chosen(&mut self, model: &Arc<Model>, setup: &SessionSetup) {
        self.assumptions = self.assumed_of(model);
        let url = setup.base_url.as_ref().map(|url| url.trim_end_matches('/'));
        self.base_url = url.map(|url| (model.provider.clone(), url.to_owned()));
        if let Some(key) = &setup.api_key {
            self.add_key(&model.provider, key, setup);
        }
        self.chosen = self.at_given_url(Arc::clone(model));
    }

    fn add_key(&mut self, provider: &str, key: &Secret, setup: &SessionSetup) {
        let keys = read_keys(setup, &mut Vec::new());
        self.keys = Arc::new(keys.with_flag(provider, key.clone()));
    }

    fn cycle_set(&self) -> Vec<Arc<Model>> {
        if !self.cycle.is_empty() {
            let mut set: Vec<Arc<Model>> = Vec::new();
            // An unknown name does not remove the other names.
            let preferred = |model: &Model| self.is_usable(model);
            let selected = self.cycle.iter().flat_map(|pattern| {
                let selected = self.catalogue.select(pattern, &preferred);
                selected.unwrap_or_default()
            });
            for found in selected {
                let model = self.at_given_url(found.model);
                if !set.contains(&model) {
                    set.push(model);
                }
            }
            return set;
        }
        let favourites: Vec<Arc<Model>> = self
            .favourites
            .iter()
            .filter_map(|reference| Some(self.find(reference).ok()?.0))
            .filter(|model| self.key_state(model) != KeyState::Absent)
            .collect();
        if !favourites.is_empty() {
            return favourites;
        }
        let usable = |model: &&Arc<Model>| {
            model.api != Api::Scripted && self.key_state(model) == KeyState::Present
        };
        let mut set: Vec<Arc<Model>> = self
            .catalogue
            .list()
            .iter()
            .filter(usable)
            .map(|model| self.at_given_url(Arc::clone(model)))
            .collect();
        if let Some((model, _)) = &self.embedded {
            set.insert(0, Arc::clone(model));
        }
        set
    }

    /// Whether a model is no script, or one that the command line, the user's settings or a request selected.
    pub(crate) fn may_play(&self, provider: &str, id: &str) -> bool {
        let is_same = |model: &Arc<Model>| model.provider == provider && model.id == id;
        !scripts::must_be_selected(provider)
            || self.scripts.iter().any(is_same)
            || self.call_order().iter().any(is_same)
    }

    /// The lists of the bundled providers with a key.
    pub fn vendor_lists(&self) -> impl Future<Output = Vec<VendorList>> + Send + use<> {
        let keys = Arc::clone(&self.keys);
        let entries = self.catalogue.shared_providers();
        let is_here = self.server.is_none();
        async move {
            let mut lists = Vec::new();
            let bundled =
                |entry: &&ProviderEntry| PROVIDERS.iter().any(|row| row.name == entry.name);
            for entry in entries.iter().filter(bundled).filter(|_| is_here) {
                if keys.status(entry) != KeyStatus::Present {
                    continue;
                }
                let access = keys.access(entry).await;
                lists.extend(
                    access
                        .ok()
                        .and_then(|access| VendorList::new(entry, &access)),
                );
            }
            lists
        }
    }

    /// Whether the selected model is called at a bundled provider.
    pub(crate) fn is_of_bundled_vendor(&self) -> bool {
        let is_bundled = PROVIDERS.iter().any(|row| row.name == self.chosen.provider);
        is_bundled && self.server.is_none() && self.chosen.base_url.starts_with("https://")
    }
}

#[cfg(test)]
mod tests {
    use osier_base::folders::Folders;

    use super::*;

    #[test]
    fn a_model_keeps_its_address_of_the_command_line_however_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut setup = SessionSetup::new(Folders::under(folder.path()), folder.path().to_owned());
        let (models, _) = Models::load_lenient(&setup);
        let known = models.catalogue.list().iter();
        let (of_provider, others): (Vec<_>, Vec<_>) =
            known.partition(|model| model.provider == "anthropic");
        let (named, second, other) = (of_provider[0], of_provider[1], others[0]);
        setup.model = Some(named.reference());
        setup.api_key = Some(Secret::new("k".to_owned()));
        setup.base_url = Some("http://127.0.0.1:9/".to_owned());
        let (mut models, _) = Models::load(&setup).unwrap();
        models.choose(second);
        let address = |models: &Models, name: &str| models.find(name).unwrap().0.base_url.clone();
        for name in [
            &named.reference(),
            &format!("{}:high", named.reference()),
            &second.reference(),
        ] {
            assert_eq!(address(&models, name), "http://127.0.0.1:9", "{name}");
        }
        assert_eq!(address(&models, &other.reference()), other.base_url);
    }
}
