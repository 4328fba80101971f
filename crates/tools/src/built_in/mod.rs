//! The row of a tool: what the program knows of the tool without running it, and how the tool prepares its calls. Everything that
//! differs between tools is in their rows; no other list of tools exists.

mod effect;
pub(crate) mod peer;
mod rule_text;
mod view;

use std::sync::Arc;

use osier_agent::{Preparing, Spellings, Tool, ToolHints, ToolResultMessage};
use osier_llm::ToolSpec;
use serde_json::{Map, Value};

pub use self::effect::ToolEffect;
pub(crate) use self::peer::GeminiForm;
pub use self::peer::{PeerTool, Renamed};
pub use self::rule_text::RuleText;
pub use self::view::{Collapsed, Count, Part, PartKind, ToolView, Verbs};
use crate::files::target::{FileArgument, NamedFile};
use crate::workspace::Workspace;

type Arguments = Map<String, Value>;

/// A built-in tool.
#[derive(Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    /// A sentence for the documentation, without its subject and full stop.
    pub does: &'static str,
    pub effect: ToolEffect,
    /// Arguments without which a call only looks, whatever the effect of the tool is.
    pub acts_with: &'static [&'static str],
    /// The argument that the patterns of rules are compared with, if it is not the first text of the subject.
    pub(crate) rule_argument: Option<&'static str>,
    /// The argument that names a file.
    pub file: Option<FileArgument>,
    /// The files that a call names, for a tool that changes several.
    pub files: Option<fn(&Value) -> Vec<NamedFile>>,
    /// The tools whose rules and hooks are also about this one.
    pub replaces: &'static [&'static str],
    pub view: ToolView,
    /// The names at other agents.
    pub peers: &'static [PeerTool],
    pub(crate) gemini: Option<GeminiForm>,
    /// The tool is another form of the tools in `replaces`: a model gets this tool or those tools, never both.
    pub(crate) is_form: bool,
    /// How models write its calls.
    pub spellings: &'static Spellings,
    /// Converts arguments, if the spellings do not.
    pub(crate) adapt: Option<fn(&Workspace, &mut Arguments) -> Vec<String>>,
    /// Another call that a call means.
    pub(crate) redirect: fn(&Arguments) -> Option<(&'static str, Arguments)>,
    /// Whether the run ends with a result.
    pub(crate) ends_run: fn(&ToolResultMessage) -> bool,
    /// How it runs; `None` if the session provides the tool.
    pub(crate) run: Option<Run>,
}

/// The definition of a tool and how it prepares calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) spec: fn() -> &'static ToolSpec,
    pub(crate) prepare: fn(Arc<Workspace>, Value) -> Preparing,
}

impl BuiltIn {
    /// A tool whose arguments name no file.
    pub(crate) const fn new(
        name: &'static str,
        effect: ToolEffect,
        spec: fn() -> &'static ToolSpec,
        prepare: fn(Arc<Workspace>, Value) -> Preparing,
    ) -> Self {
        Self {
            run: Some(Run { spec, prepare }),
            ..Self::of_session(name, effect)
        }
    }

    /// A tool that the session provides.
    pub(crate) const fn of_session(name: &'static str, effect: ToolEffect) -> Self {
        Self {
            name,
            does: "",
            effect,
            acts_with: &[],
            rule_argument: None,
            file: None,
            files: None,
            replaces: &[],
            view: ToolView::new(Verbs::new("", "", ""), &[]),
            peers: &[],
            gemini: None,
            is_form: false,
            spellings: &Spellings::NONE,
            adapt: None,
            redirect: |_| None,
            ends_run: |_| false,
            run: None,
        }
    }

    /// Whether a call with these arguments runs without permission: it changes nothing and does not use the network.
    pub fn is_free(&self, arguments: &Value) -> bool {
        let acts = || {
            self.acts_with
                .iter()
                .any(|name| arguments.get(name).is_some())
        };
        self.effect.is_free() || (!self.acts_with.is_empty() && !acts())
    }

    /// The text of a call that the patterns of rules are compared with, unless the call names files.
    pub fn rule_text(&self) -> RuleText {
        let file = self.file.map(|file| file.name);
        match self.rule_argument {
            Some(argument) => RuleText::Argument(argument),
            None => RuleText::of(self.view.subject, file),
        }
    }

    /// The subject of a call, as its header shows it: `x in src (*.rs)`. `None` if the call has none of its arguments.
    pub fn subject(&self, arguments: &Value) -> Option<String> {
        let patched = || {
            let files = self.files.map_or_else(Vec::new, |files| files(arguments));
            files.into_iter().map(|file| file.path).collect()
        };
        view::subject(self.view.subject, arguments, &patched)
    }

    /// How much a result is, by its details: `3 matches in 2 files`.
    pub fn counted(&self, details: &Value) -> Option<String> {
        view::counted(self.view.counts, details)
    }

    /// The tool, working in `workspace`; `None` if the session provides it.
    pub(crate) fn make(&'static self, workspace: &Arc<Workspace>) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(BuiltInTool {
            row: self,
            run: self.run?,
            workspace: Arc::clone(workspace),
        }))
    }
}

/// A built-in tool of one session.
#[derive(Debug)]
struct BuiltInTool {
    row: &'static BuiltIn,
    run: Run,
    workspace: Arc<Workspace>,
}

impl Tool for BuiltInTool {
    fn spec(&self) -> &ToolSpec {
        (self.run.spec)()
    }

    fn hints(&self) -> ToolHints {
        self.row.effect.hints()
    }

    fn spellings(&self) -> &'static Spellings {
        self.row.spellings
    }

    fn adapt(&self, arguments: &mut Arguments) -> Vec<String> {
        match self.row.adapt {
            Some(adapt) => adapt(&self.workspace, arguments),
            None => (self.row.spellings.adapt)(arguments),
        }
    }

    fn replaces(&self) -> &'static [&'static str] {
        if self.row.is_form {
            self.row.replaces
        } else {
            &[]
        }
    }

    fn redirect(&self, arguments: &Arguments) -> Option<(&'static str, Arguments)> {
        (self.row.redirect)(arguments)
    }

    fn ends_run(&self, result: &ToolResultMessage) -> bool {
        (self.row.ends_run)(result)
    }

    fn prepare(self: Arc<Self>, arguments: Value) -> Preparing {
        (self.run.prepare)(Arc::clone(&self.workspace), arguments)
    }
}
