//! Favourites and roles among the models. Both are settings of the user, which are read anew before each
//! change: another session may have changed them.

use super::host::Task;
use crate::roles::Role;
use osier_agent::Severity;
use osier_llm::ThinkingLevel;
use osier_settings::{Settings, quoted, write};

impl Task {
    /// The role whose model and level are chosen.
    pub(super) fn role(&self, level: ThinkingLevel) -> Option<Role> {
        let model = self.models.chosen();
        Role::ALL.into_iter().find(|role| {
            let set = role.of(&self.setup.settings);
            let found = set.and_then(|reference| self.models.find(reference).ok());
            found.is_some_and(|(known, named)| {
                let level_fits = named.is_none_or(|named| model.clamp(named) == model.clamp(level));
                known.reference() == model.reference() && level_fits
            })
        })
    }

    /// Takes the model and the level of a role, or of the one that is not on. A role without a model of its own
    /// means what was chosen before.
    pub(super) async fn switch_role(&mut self, role: Option<Role>) {
        self.read_roles();
        let now = self.role(self.level);
        let role = role.unwrap_or_else(|| now.map_or(Role::Plan, Role::other));
        let set = role.of(&self.setup.settings).map(str::to_owned);
        if now.is_none() {
            self.before_role = Some((self.models.chosen(), self.level));
        }
        if let Some(reference) = set {
            return self.select_model(&reference).await;
        }
        if let Some((model, level)) = self.before_role.clone().filter(|_| now.is_some()) {
            return self.choose(model, Some(level)).await;
        }
        let (name, setting) = (role.name(), role.setting());
        let text = format!(
            "the role `{name}` has no model yet: `/role {name} MODEL` or the setting `{setting}` gives it one"
        );
        self.notice(Severity::Warning, text);
    }

    /// Gives a role its model, or takes it away.
    pub(super) fn set_role(&mut self, role: Role, reference: Option<&str>) {
        let found = reference.map(|reference| self.models.find(reference));
        let value = match found.transpose() {
            Ok(found) => found.map(|(model, level)| match level {
                Some(level) => quoted(&format!("{}:{}", model.reference(), level.name())),
                None => quoted(&model.reference()),
            }),
            Err(error) => return self.notice(Severity::Error, error.to_string()),
        };
        if self.write_setting(role.setting(), value.as_deref()) {
            self.read_roles();
            self.publish_selected(self.level);
        }
    }

    /// Makes a model a favourite, or no longer.
    pub(super) fn set_favourite(&mut self, reference: &str, on: bool) {
        let reference = match self.models.find(reference) {
            Ok((model, _)) => model.reference(),
            // One that is gone can still be taken away.
            Err(_) if !on => reference.to_owned(),
            Err(error) => return self.notice(Severity::Error, error.to_string()),
        };
        self.read_roles();
        let mut favourites = self.setup.settings.favourites.clone();
        favourites.retain(|known| *known != reference);
        if on {
            favourites.push(reference);
        }
        let names: Vec<String> = favourites.iter().map(|name| quoted(name)).collect();
        let value = format!("[{}]", names.join(", "));
        if self.write_setting("favourites", Some(&value)) {
            self.read_roles();
            self.publish_models();
        }
    }

    /// Tells the models, with the favourites that hold now.
    pub(super) fn list_models(&mut self) {
        self.read_roles();
        self.publish_models();
    }

    /// Takes over what the settings say of models now.
    fn read_roles(&mut self) {
        let (settings, _) = Settings::load_for(&self.setup.folders, &self.setup.cwd);
        self.models.set_favourites(settings.favourites.clone());
        let own = &mut self.setup.settings;
        own.favourites = settings.favourites;
        own.plan_model = settings.plan_model;
        own.edit_model = settings.edit_model;
    }

    fn write_setting(&self, name: &str, value: Option<&str>) -> bool {
        let written = write(&self.setup.folders.settings(), name, value);
        if let Err(error) = &written {
            self.notice(Severity::Error, format!("`{name}` was not kept: {error}"));
        }
        written.is_ok()
    }
}
