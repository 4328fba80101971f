//! The selection of the model and the thinking level for the next request: by name, by cycling, by role. Favourites and
//! roles are settings of the user. They are read again before each change, because another session may have changed
//! them.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::{Op, Severity};
use osier_llm::catalogue::refresh::SOURCE;
use osier_llm::{Model, ThinkingLevel};
use osier_protocol::{AccountOp, EntryKind, Event, KeyState, ModelOp, Role};
use osier_settings::{Settings, quoted, write};

use super::accounts::Accounts;
use super::accounts::login::{LoginOutcome, Logins};
use super::refresh::{self, Refreshed};
use super::{ModelError, Models, ServerError};
use crate::cx::{ActiveSession, Cx, store_entry};
use crate::emitter::{Callback, Emitter};
use crate::setup::SessionSetup;

/// The time between the start of a session and the refresh of a default setting.
const REFRESH_DELAY: Duration = Duration::from_secs(20);

/// A model to select, and the level that was named with it.
pub(crate) type Choice = (Arc<Model>, Option<ThinkingLevel>);

/// The models and their selection.
#[derive(Debug)]
pub(crate) struct ModelSelection {
    pub(crate) models: Models,
    /// The last requested level. The state of the agent lags behind its requests.
    pub(crate) level: ThinkingLevel,
    /// The selection before the one of a role.
    before_role: Option<(Arc<Model>, ThinkingLevel)>,
    /// Whether a run must end before a better default model is selected.
    pub(crate) is_default_late: bool,
    pub(crate) logins: Logins,
}

impl ModelSelection {
    pub(crate) fn new(models: Models) -> Self {
        Self {
            models,
            level: ThinkingLevel::default(),
            before_role: None,
            is_default_late: false,
            logins: Logins::default(),
        }
    }

    /// Handles a request about models. Returns the model to select, if there is one.
    pub(crate) async fn handle(
        &mut self,
        op: ModelOp,
        session: Option<&ActiveSession>,
        setup: &mut SessionSetup,
        emitter: &Emitter,
        refreshed: Callback<Result<Refreshed, String>>,
    ) -> Option<Choice> {
        match op {
            ModelOp::ListModels => self.list(setup, emitter),
            ModelOp::RefreshModels => refresh_now(setup, &self.models, refreshed),
            ModelOp::SelectModel { reference } => return self.find(&reference, emitter),
            ModelOp::CycleModel { backward } => return self.cycle(backward, emitter),
            ModelOp::SwitchRole { role } => return self.switch_role(role, setup, emitter),
            ModelOp::SetRole { role, reference } => {
                self.set_role(role, reference.as_deref(), setup, emitter);
            }
            ModelOp::SetFavourite { reference, on } => {
                self.set_favourite(&reference, on, setup, emitter);
            }
            ModelOp::CycleThinkingLevel => {
                if let Some(session) = session {
                    self.cycle_thinking(session, emitter).await;
                }
            }
        }
        None
    }

    /// Handles a request about accounts. `done` gets the end of a sign-in.
    pub(crate) async fn handle_account(
        &mut self,
        op: AccountOp,
        cx: Cx<'_>,
        done: Callback<LoginOutcome>,
    ) {
        let (accounts, emitter) = (|| Accounts::of(cx.setup), cx.emitter);
        match op {
            AccountOp::ListAccounts => accounts().publish(emitter),
            AccountOp::Login { provider, method } => {
                self.logins
                    .start(accounts(), &provider, method, emitter, done);
            }
            AccountOp::LoginInput { text } => self.logins.input(&text, emitter),
            AccountOp::CancelLogin => self.logins.cancel(emitter),
            AccountOp::Logout { provider } => {
                accounts().log_out(&provider, emitter).await;
                self.models.credentials_changed();
                self.publish(emitter);
            }
        }
    }

    /// The model that `reference` names. Publishes an error if there is none.
    pub(crate) fn find(&self, reference: &str, emitter: &Emitter) -> Option<Choice> {
        match self.models.find(reference) {
            Ok(choice) => Some(choice),
            Err(error) => {
                emitter.notice(Severity::Error, error.to_string());
                None
            }
        }
    }

    /// Selects a model, stores that in the session and publishes it.
    pub(crate) async fn choose(
        &mut self,
        choice: Choice,
        session: Option<&ActiveSession>,
        settings: &Settings,
        emitter: &Emitter,
    ) {
        let (model, level) = choice;
        if self.models.key_state(&model) == KeyState::Absent {
            emitter.notice(Severity::Warning, self.models.missing_key(&model));
        }
        self.models.choose(&model);
        let Some(session) = session else { return };
        let (provider, model_id) = (model.provider.clone(), model.id.clone());
        let kind = EntryKind::ModelChange { provider, model_id };
        store_entry(&session.store, kind, emitter).await;
        if let Some(level) = level.filter(|level| *level != self.level) {
            self.set_level(level, Some(session), emitter).await;
        }
        session.set_models(&self.models.call_order(), self.level);
        self.publish_selected(settings, emitter);
    }

    /// The next or previous model to cycle to.
    fn cycle(&self, backward: bool, emitter: &Emitter) -> Option<Choice> {
        for error in self.models.cycle_errors() {
            emitter.notice(Severity::Warning, format!("`models`: {error}"));
        }
        let next = self.models.cycled(backward);
        if next.is_none() {
            emitter.notice(
                Severity::Warning,
                "no other model with an API key to switch to; `/login` signs in to a provider",
            );
        }
        Some((next?, None))
    }

    /// Selects the next level of the model.
    async fn cycle_thinking(&mut self, session: &ActiveSession, emitter: &Emitter) {
        let model = self.models.chosen();
        if !model.can_think() {
            let text = format!("{} has no thinking levels", model.reference());
            emitter.notice(Severity::Info, text);
            return;
        }
        let current = model.clamp(self.level);
        let levels = &model.thinking_levels;
        let index = levels.iter().position(|level| *level == current);
        let level = levels[(index.unwrap_or(0) + 1) % levels.len()];
        emitter.passed_to_agent();
        session.agent.send(Op::SetThinkingLevel { level });
        self.set_level(level, Some(session), emitter).await;
    }

    /// Remembers the level that was requested, and stores it.
    pub(crate) async fn set_level(
        &mut self,
        level: ThinkingLevel,
        session: Option<&ActiveSession>,
        emitter: &Emitter,
    ) {
        self.level = level;
        if let Some(session) = session {
            let thinking_level = level;
            let kind = EntryKind::ThinkingLevelChange { thinking_level };
            store_entry(&session.store, kind, emitter).await;
        }
    }

    /// The role whose model and level are selected.
    fn role(&self, settings: &Settings) -> Option<Role> {
        let model = self.models.chosen();
        let level = model.clamp(self.level);
        Role::ALL.into_iter().find(|role| {
            let set = role_model(*role, settings);
            let found = set.and_then(|reference| self.models.find(reference).ok());
            found.is_some_and(|(known, named)| {
                let level_fits = named.is_none_or(|named| model.clamp(named) == level);
                known.reference() == model.reference() && level_fits
            })
        })
    }

    /// The model and the level of a role; without `role`, of the role that is not selected. A role without a model is the
    /// selection before.
    fn switch_role(
        &mut self,
        role: Option<Role>,
        setup: &mut SessionSetup,
        emitter: &Emitter,
    ) -> Option<Choice> {
        self.read_roles(setup);
        let current = self.role(&setup.settings);
        let role = role.unwrap_or_else(|| current.map_or(Role::Plan, Role::other));
        if current.is_none() {
            self.before_role = Some((self.models.chosen(), self.level));
        }
        if let Some(reference) = role_model(role, &setup.settings) {
            return self.find(reference, emitter);
        }
        if let Some((model, level)) = self.before_role.clone().filter(|_| current.is_some()) {
            return Some((model, Some(level)));
        }
        let (name, setting) = (role.name(), role.setting());
        let text = format!(
            "the role `{name}` has no model: use `/role {name} MODEL` or the setting `{setting}`"
        );
        emitter.notice(Severity::Warning, text);
        None
    }

    /// Sets or removes the model of a role.
    fn set_role(
        &mut self,
        role: Role,
        reference: Option<&str>,
        setup: &mut SessionSetup,
        emitter: &Emitter,
    ) {
        let found = reference.map(|reference| self.models.find(reference));
        let value = match found.transpose() {
            Ok(found) => found.map(|(model, level)| match level {
                Some(level) => quoted(&format!("{}:{}", model.reference(), level.name())),
                None => quoted(&model.reference()),
            }),
            Err(error) => return emitter.notice(Severity::Error, error.to_string()),
        };
        if write_setting(setup, role.setting(), value.as_deref(), emitter) {
            self.read_roles(setup);
            self.publish_selected(&setup.settings, emitter);
        }
    }

    /// Adds or removes a favourite.
    fn set_favourite(
        &mut self,
        reference: &str,
        on: bool,
        setup: &mut SessionSetup,
        emitter: &Emitter,
    ) {
        let reference = match self.models.find(reference) {
            Ok((model, _)) => model.reference(),
            // A model that no longer exists can be removed.
            Err(_) if !on => reference.to_owned(),
            Err(error) => return emitter.notice(Severity::Error, error.to_string()),
        };
        self.read_roles(setup);
        let mut favourites = setup.settings.favourites.clone();
        favourites.retain(|known| *known != reference);
        if on {
            favourites.push(reference);
        }
        let names: Vec<String> = favourites.iter().map(|name| quoted(name)).collect();
        let value = format!("[{}]", names.join(", "));
        if write_setting(setup, "favourites", Some(&value), emitter) {
            self.list(setup, emitter);
        }
    }

    /// Publishes the models with the current favourites.
    fn list(&mut self, setup: &mut SessionSetup, emitter: &Emitter) {
        self.read_roles(setup);
        self.publish(emitter);
    }

    /// Reads the settings of models again.
    fn read_roles(&mut self, setup: &mut SessionSetup) {
        let (settings, _) = Settings::load_for(&setup.folders, &setup.cwd);
        self.models.favourites.clone_from(&settings.favourites);
        set_roles(settings, &mut setup.settings);
    }

    /// Publishes the models.
    pub(crate) fn publish(&self, emitter: &Emitter) {
        emitter.publish(Event::Models {
            models: self.models.list(),
        });
    }

    /// Publishes the selected model and level.
    pub(crate) fn publish_selected(&mut self, settings: &Settings, emitter: &Emitter) {
        if let Some(script) = self.models.refused.take() {
            let text = format!(
                "the session used the scripted model `{script}`; to play it again, start with `--model {script}`"
            );
            emitter.notice(Severity::Warning, text);
        }
        if let Some(text) = self.models.assumptions.take() {
            emitter.notice(Severity::Warning, text);
        }
        let model = self.models.chosen();
        if let Some(gone) = self.models.gone.take() {
            let now = model.reference();
            let text = format!(
                "the session used `{gone}`, which is not available any more: `{now}` answers now; choose another one with `/model` or `--model`"
            );
            emitter.notice(Severity::Warning, text);
        }
        emitter.publish(Event::ModelSelected {
            level: model.clamp(self.level),
            role: self.role(settings),
            model: Box::new(self.models.info(&model)),
        });
    }

    /// Reads the models of the osier server before the first session, if there is a server. Without an answer a session
    /// still opens: its calls report the error, and `/login` may fix it.
    pub(crate) async fn ask_server_first(
        &mut self,
        setup: &SessionSetup,
        emitter: &Emitter,
    ) -> Result<(), ModelError> {
        match self.models.ask_server_first(setup).await {
            Ok(problems) => {
                emitter.problems(&problems);
                Ok(())
            }
            Err(ServerError::Silent(message)) => {
                emitter.notice(Severity::Error, message);
                Ok(())
            }
            Err(ServerError::Named(error)) => Err(error),
        }
    }

    /// Reads the models of the osier server again.
    pub(crate) async fn ask_server(&mut self, emitter: &Emitter) {
        if let Err(message) = self.models.ask_server().await {
            emitter.notice(Severity::Error, message);
        }
    }

    /// Handles the result of a refresh without a request. By default, only the first one is announced, and there is no
    /// warning: a machine can be offline for long.
    pub(crate) fn refreshed_daily(
        &mut self,
        daily: DailyRefresh,
        setup: &SessionSetup,
        emitter: &Emitter,
    ) {
        let DailyRefresh {
            outcome,
            by_default,
            is_first,
        } = daily;
        if !by_default {
            return self.refreshed(outcome, setup, emitter);
        }
        let Ok(outcome) = outcome else { return };
        if is_first {
            let text = format!(
                "models: {}. osier reads new models and prices from models.dev once a day; `refresh_models = false` in \
                 `settings.toml` turns this off",
                outcome.described()
            );
            emitter.notice(Severity::Info, text);
        }
        self.publish_models(setup, emitter);
    }

    fn publish_models(&mut self, setup: &SessionSetup, emitter: &Emitter) {
        let path = setup.folders.published();
        self.models.published(refresh::read(&path, &mut Vec::new()));
        self.publish(emitter);
    }

    /// Applies the result of a refresh.
    pub(crate) fn refreshed(
        &mut self,
        outcome: Result<Refreshed, String>,
        setup: &SessionSetup,
        emitter: &Emitter,
    ) {
        match outcome {
            Ok(outcome) => {
                emitter.notice(Severity::Info, format!("models: {}", outcome.described()));
                self.publish_models(setup, emitter);
            }
            Err(message) => emitter.notice(Severity::Warning, message),
        }
    }
}

/// Replaces the models for roles by those in newly read settings.
pub(crate) fn set_roles(settings: Settings, current: &mut Settings) {
    current.favourites = settings.favourites;
    current.plan_model = settings.plan_model;
    current.edit_model = settings.edit_model;
    current.small_model = settings.small_model;
}

/// A refresh without a request, and whether it was the first.
pub(crate) struct DailyRefresh {
    outcome: Result<Refreshed, String>,
    /// The source is the one of the default setting.
    by_default: bool,
    is_first: bool,
}

/// Refreshes the models if the settings enable it and a day has passed. By default only where a user watches, for models
/// of bundled providers, and some time after the start.
pub(crate) fn refresh_if_due(setup: &SessionSetup, models: &Models, done: Callback<DailyRefresh>) {
    let Some(source) = setup.settings.refresh_models.clone() else {
        return;
    };
    let by_default = source == SOURCE;
    if by_default && !(setup.answers_questions && models.is_of_bundled_vendor()) {
        return;
    }
    let (folders, http) = (setup.folders.clone(), setup.settings.http());
    let lists = models.vendor_lists();
    osier_base::task::spawn(async move {
        if by_default {
            tokio::time::sleep(REFRESH_DELAY).await;
        }
        let stored = folders.clone();
        let state = move || (refresh::is_due(&stored), refresh::is_first(&stored));
        let state = osier_base::task::spawn_blocking(state).await;
        if let Ok((true, is_first)) = state {
            done.call(DailyRefresh {
                outcome: refresh::refresh(&folders, &http, &source, &lists.await).await,
                by_default,
                is_first,
            });
        }
    });
}

/// Refreshes the models.
fn refresh_now(setup: &SessionSetup, models: &Models, done: Callback<Result<Refreshed, String>>) {
    let source = setup.settings.refresh_models.clone();
    let source = source.unwrap_or_else(|| SOURCE.to_owned());
    let (folders, http) = (setup.folders.clone(), setup.settings.http());
    let lists = models.vendor_lists();
    osier_base::task::spawn(async move {
        done.call(refresh::refresh(&folders, &http, &source, &lists.await).await);
    });
}

fn write_setting(setup: &SessionSetup, name: &str, value: Option<&str>, emitter: &Emitter) -> bool {
    let written = write(&setup.folders.settings(), name, value);
    if let Err(error) = &written {
        emitter.notice(Severity::Error, format!("cannot save `{name}`: {error}"));
    }
    written.is_ok()
}

/// The model that the settings have for a role.
fn role_model(role: Role, settings: &Settings) -> Option<&str> {
    match role {
        Role::Plan => settings.plan_model.as_deref(),
        Role::Edit => settings.edit_model.as_deref(),
    }
}
