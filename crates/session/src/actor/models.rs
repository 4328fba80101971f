//! Requests about models that concern the open session too.

use super::run::Actor;
use crate::choices::Origin;
use crate::conversation::titles::{TitleWriter, Titled};
use crate::extensions::hooks::Source;
use crate::extensions::model_switch;
use crate::extensions::sampling::{self, SamplingNews};
use crate::models::accounts::login::LoginOutcome;
use crate::models::refresh::Refreshed;
use crate::models::{
    Choice, DailyRefresh, Models, SeveralModels, SmallModel, SmallModelRequest, WAIT,
    refresh_if_due,
};
use crate::safety::review::{self, ReviewNews};
use crate::setup::SessionChoice;
use futures_util::future::FutureExt as _;
use osier_agent::Severity;
use osier_extensions::hooks::ModelSwitch;
use osier_index::{SessionFilter, SessionIndex};
use osier_llm::catalogue::discovery::DEADLINE;
use osier_llm::{Model, ProviderEntry, ignored_options, ignores_temperature};
use osier_protocol::{Event, HookEvent, IndexEvent, ModelOp};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Actor {
    /// Handles a request about models.
    pub(super) async fn apply_model(&mut self, op: ModelOp) {
        if let ModelOp::SelectModel { reference } = &op
            && self.setup.answers_questions
            && let Some(several) = self.selection.models.several(reference)
        {
            return self.ask_for_model(several);
        }
        let requested = match &op {
            ModelOp::SelectModel { reference } => Some(reference.clone()),
            _ => None,
        };
        if matches!(op, ModelOp::ListModels) {
            self.read_speeds();
        }
        let refreshed = self.callback(Self::refreshed);
        let session = self.session.as_ref().map(|session| &session.active);
        let (setup, emitter) = (&mut self.setup, &self.emitter);
        let handled = self
            .selection
            .handle(op, session, setup, emitter, refreshed);
        if let Some(choice) = handled.await {
            self.switch(choice, requested).await;
        }
    }

    /// Selects a model for the user, if the hooks allow it.
    async fn switch(&mut self, choice: Choice, requested: Option<String>) {
        let hooks = self.session_hooks().cloned();
        let Some((hooks, switch)) = hooks
            .filter(|hooks| hooks.has(HookEvent::PreModelSwitch))
            .zip(self.model_switch(&choice.0, requested, false))
        else {
            return self.choose(choice).await;
        };
        let questions = self
            .setup
            .answers_questions
            .then(|| self.safety.questions.clone());
        let cwd = self.setup.cwd.clone();
        let decided = self.async_callback(|actor, (choice, refused): (Choice, Option<String>)| {
            actor.switched(choice, refused).boxed()
        });
        osier_base::task::spawn(async move {
            let decision = hooks.before_switch(&switch, &cwd).await;
            let refused = model_switch::refusal(decision, &switch, questions).await;
            decided.call((choice, refused));
        });
    }

    /// Selects a model unless it was refused.
    async fn switched(&mut self, choice: Choice, refused: Option<String>) {
        match refused {
            None => self.choose(choice).await,
            Some(reason) => {
                let model = choice.0.reference();
                self.notice(
                    Severity::Warning,
                    format!("{model} was not selected: {reason}"),
                );
            }
        }
    }

    /// The switch to a model, for hooks; `None` if it is selected already.
    fn model_switch(
        &self,
        to: &Model,
        requested: Option<String>,
        is_automatic: bool,
    ) -> Option<ModelSwitch> {
        let from = self.selection.models.chosen();
        let retention = self.setup.settings.cache_retention;
        let last = self.progress.usage.last_request();
        (from.reference() != to.reference())
            .then(|| model_switch::described((&from, to), requested, is_automatic, last, retention))
    }

    /// Reads in the background how fast models were, and publishes the list again if the speeds
    /// changed.
    fn read_speeds(&self) {
        let library = SessionIndex::new(&self.setup.folders.data);
        let done = self.callback(Self::speeds_read);
        osier_base::task::spawn_blocking(move || {
            let costs = library.query(|index| index.costs(&SessionFilter::default()));
            let costs = costs.unwrap_or_default().into_iter();
            let speeds = costs.filter_map(|cost| Some((cost.speed()?, cost.model)));
            done.call(speeds.map(|(speed, model)| (model, speed)).collect());
        });
    }

    fn speeds_read(&mut self, speeds: BTreeMap<String, u64>) {
        if self.selection.models.set_speeds(speeds) {
            self.selection.publish(&self.emitter);
        }
    }

    /// Asks which of several models a name means, and selects it.
    fn ask_for_model(&self, several: SeveralModels) {
        let select = self.async_callback(|actor, reference: String| {
            let select = ModelOp::SelectModel { reference };
            actor.apply_model(select).boxed()
        });
        several.ask(self.safety.questions.clone(), self.emitter.clone(), select);
    }

    /// Asks which model the command line or the settings mean, if they fit several.
    pub(super) fn ask_for_unclear_model(&self) {
        if let Some(several) = self.selection.models.unclear() {
            self.ask_for_model(several);
        }
    }

    fn refreshed_daily(&mut self, daily: DailyRefresh) {
        self.selection
            .refreshed_daily(daily, &self.setup, &self.emitter);
    }

    fn refreshed(&mut self, outcome: Result<Refreshed, String>) {
        self.selection
            .refreshed(outcome, &self.setup, &self.emitter);
    }

    /// Selects a model for the session and its subagents.
    pub(super) async fn choose(&mut self, choice: Choice) {
        let hooks = self.session_hooks().cloned();
        let switch = hooks
            .filter(|hooks| hooks.has(HookEvent::PostModelSwitch))
            .zip(self.model_switch(&choice.0, None, false));
        let session = self.session.as_ref();
        let active = session.map(|session| &session.active);
        let settings = &self.setup.settings;
        self.selection
            .choose(choice, active, settings, &self.emitter)
            .await;
        if let Some(session) = session {
            let models = self.selection.models.call_order();
            session.subagents.set_models(models, self.selection.level);
        }
        self.warn_about_options();
        if let Some((hooks, switch)) = switch {
            let cwd = self.setup.cwd.clone();
            osier_base::task::spawn(async move { hooks.after_switch(&switch, &cwd).await });
        }
    }

    /// Warns about options that the user has set and the model does not take.
    pub(super) fn warn_about_options(&self) {
        let (model, level) = (self.selection.models.chosen(), self.selection.level);
        for option in ignored_options(&model) {
            let text = format!(
                "`{option}` is not sent: the API of {} does not have it; change `model_options` in `settings.toml` or the \
                 model in `models.json`",
                model.reference()
            );
            self.notice(Severity::Warning, text);
        }
        if self.setup.temperature.is_some() && ignores_temperature(&model, level) {
            let text = format!(
                "`--temperature` is not sent: {} does not accept it at this thinking level; choose `--thinking off` \
                 or another model",
                model.reference()
            );
            self.notice(Severity::Warning, text);
        }
    }

    /// Handles a message of auto review to the session.
    pub(super) fn review_news(&mut self, news: ReviewNews) {
        match news {
            ReviewNews::Model(reply) => {
                let budget = self.session.as_ref().map(|session| &session.budget);
                review::send_model(&self.selection.models, budget, &self.setup, reply);
            }
            ReviewNews::Judged(judged) => {
                judged.publish(&mut self.progress.usage, &self.emitter);
            }
            ReviewNews::Stopped(text) => {
                self.safety.permissions.publish(&self.emitter);
                self.notice(Severity::Warning, text);
            }
        }
    }

    pub(super) fn sampling_news(&mut self, news: SamplingNews) {
        match news {
            SamplingNews::Model(reply) => {
                let budget = self.session.as_ref().map(|session| &session.budget);
                sampling::send_model(&self.selection.models, budget, reply);
            }
            SamplingNews::HookModel(name, reply) => {
                let small = match name {
                    None => self.small_model(),
                    Some(_) => SmallModel::Off,
                };
                let models = &self.selection.models;
                let budget = self.session.as_ref().map(|session| &session.budget);
                sampling::send_hook_model(models, name.as_deref(), small.model(), budget, reply);
            }
            SamplingNews::Called(call) => call.publish(&mut self.progress.usage, &self.emitter),
        }
    }

    /// Sends the small model to the work that requested it.
    pub(super) fn send_small_model(&mut self, reply: SmallModelRequest) {
        // The caller was interrupted if nobody waits for it.
        let _ = reply.send(self.small_model());
    }

    fn small_model(&mut self) -> SmallModel {
        self.selection
            .models
            .small(&self.setup)
            .unwrap_or_else(|problem| {
                self.notice(Severity::Warning, problem);
                // Report this once: features that need the small model work without it.
                self.setup.settings.small_model = Some("off".to_owned());
                SmallModel::Off
            })
    }

    /// Requests a title if the event is the first prompt of a session without a name.
    pub(super) fn title_first_prompt(&mut self, event: &Event) {
        let Some(prompt) = self.progress.titles.on_event(event) else {
            return;
        };
        let small = self.small_model();
        let (Some(model), Some(session)) = (small.model(), &self.session) else {
            return;
        };
        let writer = TitleWriter {
            model: Arc::clone(model),
            transport: session.budget.transport(self.selection.models.transport()),
            store: session.store.clone(),
            done: self.async_detached(|actor, titled| actor.titled(titled).boxed()),
        };
        writer.start(prompt);
    }

    /// Names the session as a model proposed, unless the user did or another one is open now.
    pub(super) async fn titled(&mut self, titled: Titled) {
        let open = self.session.as_ref().map(|session| session.id());
        if open != Some(&titled.session) {
            return;
        }
        let entry = titled.accounting;
        self.progress.usage.add(&entry);
        self.publish(Event::Agent(osier_agent::Event::Accounting { entry }));
        if let Some(title) = titled.title.filter(|_| !self.progress.titles.is_named()) {
            self.rename(title).await;
            self.publish(Event::Index(IndexEvent::SessionsChanged));
        }
    }

    /// Background work of a new actor: the git branch, local servers, new models.
    pub(super) fn start_discovery(&self) {
        self.project.directory.describe(&self.emitter);
        let refreshed = self.callback(Self::refreshed_daily);
        refresh_if_due(&self.setup, &self.selection.models, refreshed);
        if self.setup.settings.discover_local_models && self.setup.local_models.is_none() {
            let done = self.async_callback(|actor, found| actor.discovered(found).boxed());
            let search = self.selection.models.search_local(DEADLINE);
            osier_base::task::spawn(async move { done.call(search.await) });
        }
    }

    /// Waits for local servers if there is no other model, so that the first prompt has one.
    pub(super) async fn wait_for_local_models(&mut self) {
        if self.selection.models.waits_for_local(&self.setup) {
            let found = self.selection.models.search_local(WAIT).await;
            self.discovered(found).await;
        }
    }

    /// Adds the models of local servers.
    pub(super) async fn discovered(&mut self, found: Vec<Model>) {
        if self.selection.models.discovered(found) {
            self.selection.publish(&self.emitter);
            self.choose_better_default().await;
        }
    }

    /// Replaces the demo if there is a model that can be called now. A run ends with the model that it began with.
    pub(super) async fn choose_better_default(&mut self) {
        if self.is_streaming() {
            self.selection.is_default_late = true;
            return;
        }
        self.selection.is_default_late = false;
        let Some(model) = self.selection.models.better_default() else {
            return;
        };
        // The level of the demo is not the user's choice.
        let set = self.setup.thinking.or(self.setup.settings.thinking);
        self.selection.level = set.unwrap_or_else(|| model.default_thinking());
        self.choose((model, None)).await;
    }

    /// Reads the files of models again.
    pub(super) async fn reload_models(&mut self) {
        match Models::load(&self.setup) {
            Ok((models, problems)) => {
                self.selection.models.reloaded(models).await;
                self.emitter.problems(&problems);
                self.enable_providers();
                self.selection.ask_server(&self.emitter).await;
                self.selection.publish(&self.emitter);
                self.choose_better_default().await;
            }
            Err(error) => self.notice(Severity::Error, error.to_string()),
        }
    }

    /// Handles a new token for the osier server.
    pub(super) async fn signed_in_to_server(&mut self) {
        if self.selection.models.is_served() {
            self.selection.ask_server(&self.emitter).await;
        } else {
            let asked = self.selection.ask_server_first(&self.setup, &self.emitter);
            if let Err(error) = asked.await {
                self.notice(Severity::Error, error.to_string());
            }
        }
        self.enable_providers();
        self.selection.publish(&self.emitter);
        if self.session.is_none() {
            let choice = (SessionChoice::New, Origin::CommandLine);
            return self.open(choice, Source::Startup).await;
        }
        let chosen = self.selection.models.chosen();
        self.choose((chosen, None)).await;
    }

    /// Has the agent call providers again that have failed.
    fn enable_providers(&self) {
        for model in self.selection.models.call_order() {
            self.enable(&model.provider);
        }
    }

    /// Has the agent call `provider` again.
    pub(super) fn enable(&self, provider: &str) {
        if let Some(session) = &self.session {
            let provider = provider.to_owned();
            session
                .agent
                .send(osier_agent::Op::EnableProvider { provider });
        }
    }

    /// A sign-in has ended.
    pub(super) async fn login_ended(&mut self, outcome: LoginOutcome) {
        self.selection.logins.ended(&outcome, &self.emitter);
        if outcome.error.is_some() {
            return;
        }
        let provider = outcome.provider;
        self.notice(Severity::Info, format!("signed in to {provider}"));
        self.selection.models.credentials_changed();
        if provider == ProviderEntry::server().name {
            return self.signed_in_to_server().await;
        }
        self.enable(&provider);
        self.selection.publish(&self.emitter);
        let chosen = self.selection.models.chosen();
        match self.selection.models.better_default() {
            Some(model) => self.choose((model, None)).await,
            None if chosen.provider == provider => self.choose((chosen, None)).await,
            None => {}
        }
    }
}
