//! The settings in the form that other crates use.

use std::collections::BTreeMap;
use std::time::Duration;

use osier_llm::HttpOptions;
use osier_permissions::RuleLists;
use osier_protocol::Budget;

use super::table::Settings;
use super::values::Images;

/// Maximum seconds of a timeout: a year. Larger numbers cannot be added to a time.
const LONGEST: u64 = 365 * 24 * 60 * 60;

/// The environment variable for screen reader mode.
pub const READING: &str = "OSIER_SCREEN_READER";

/// Whether the environment enables screen reader mode.
pub fn wants_reading(environment: &BTreeMap<String, String>) -> bool {
    let value = environment.get(READING).map(String::as_str);
    !matches!(value, None | Some("" | "0" | "false"))
}

impl Settings {
    /// The permission rules.
    pub fn rules(&self) -> RuleLists<'_> {
        RuleLists {
            allow: &self.allow,
            ask: &self.ask,
            deny: &self.deny,
        }
    }

    /// The budget of each session.
    pub fn budget(&self) -> Budget {
        Budget {
            cost: self.max_cost,
            tokens: self.max_tokens,
            turns: self.max_session_turns,
        }
    }

    /// The HTTP options for requests.
    pub fn http(&self) -> HttpOptions {
        HttpOptions {
            ca_file: self.ca_file.as_deref().map(Into::into),
            idle_timeout: Duration::from_secs(self.idle_timeout.min(LONGEST)),
            ..HttpOptions::default()
        }
    }

    /// The HTTP options for model calls; `is_watched` if a user can stop them.
    pub fn model_http(&self, is_watched: bool) -> HttpOptions {
        let limit = Duration::from_secs(self.answer_timeout.min(LONGEST));
        HttpOptions {
            answer_timeout: (!is_watched).then_some(limit),
            ..self.http()
        }
    }

    /// Disables what does not suit a screen reader; `asked` when a flag or the environment enables the mode.
    pub fn read_aloud(&mut self, asked: bool) {
        let screen = &mut self.screen;
        screen.screen_reader |= asked;
        screen.reduced_motion |= screen.screen_reader;
        if screen.screen_reader {
            screen.images = Images::Off;
        }
    }
}
