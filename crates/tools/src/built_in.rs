//! The row of a tool: the facts that the program needs without running the tool, and the function that prepares its
//! calls.

use std::sync::Arc;

use osier_agent::{Preparing, Spellings, Tool, ToolHints, ToolResultMessage};
use osier_llm::ToolSpec;
use serde_json::{Map, Value};

use crate::files::target::{FileArgument, NamedFile};
use crate::workspace::Workspace;

type Arguments = Map<String, Value>;

/// A built-in tool.
#[derive(Debug)]
pub struct BuiltIn {
    /// The name for models.
    pub name: &'static str,
    /// The name for people.
    pub label: &'static str,
    /// The tool changes nothing, so it runs without a question.
    pub read_only: bool,
    /// The tool only reads, but from the network: plan mode asks before it runs.
    pub reads_web: bool,
    /// The tool waits for an answer of the user, so subagents do not have it.
    pub asks_user: bool,
    /// The main argument, shown next to the label.
    pub main_argument: &'static str,
    /// The argument that names a file.
    pub file: Option<FileArgument>,
    /// The files that a call names, for a tool that changes several.
    pub files: Option<fn(&Value) -> Vec<NamedFile>>,
    /// The tools whose rules are also about this one.
    pub replaces: &'static [&'static str],
    /// Whether the tool is another form of the tools in `replaces`: a model gets either this tool or the others.
    pub(crate) is_form: bool,
    pub(crate) spec: fn() -> &'static ToolSpec,
    /// How models write its calls.
    pub(crate) spellings: &'static Spellings,
    /// Converts arguments, if the spellings do not.
    pub(crate) adapt: Option<fn(&Workspace, &mut Arguments) -> Vec<String>>,
    /// The call that a call of this tool stands for.
    pub(crate) redirect: fn(&Arguments) -> Option<(&'static str, Arguments)>,
    /// Whether the run ends with a result.
    pub(crate) ends_run: fn(&ToolResultMessage) -> bool,
    pub(crate) prepare: fn(Arc<Workspace>, Value) -> Preparing,
}

impl BuiltIn {
    /// A tool that changes something, and whose arguments name no file.
    pub(crate) const fn new(
        name: &'static str,
        label: &'static str,
        main_argument: &'static str,
        spec: fn() -> &'static ToolSpec,
        prepare: fn(Arc<Workspace>, Value) -> Preparing,
    ) -> Self {
        Self {
            name,
            label,
            read_only: false,
            reads_web: false,
            asks_user: false,
            main_argument,
            file: None,
            files: None,
            replaces: &[],
            is_form: false,
            spec,
            spellings: &Spellings::NONE,
            adapt: None,
            redirect: |_| None,
            ends_run: |_| false,
            prepare,
        }
    }

    /// The tool, working in `workspace`.
    pub(crate) fn make(&'static self, workspace: &Arc<Workspace>) -> Arc<dyn Tool> {
        Arc::new(BuiltInTool {
            row: self,
            workspace: Arc::clone(workspace),
        })
    }
}

/// A built-in tool of one session.
#[derive(Debug)]
struct BuiltInTool {
    row: &'static BuiltIn,
    workspace: Arc<Workspace>,
}

impl Tool for BuiltInTool {
    fn spec(&self) -> &ToolSpec {
        (self.row.spec)()
    }

    fn hints(&self) -> ToolHints {
        match self.row {
            row if row.read_only => ToolHints::READS,
            row if row.reads_web => ToolHints {
                open_world: Some(true),
                ..ToolHints::READS
            },
            _ => ToolHints::default(),
        }
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
        (self.row.prepare)(Arc::clone(&self.workspace), arguments)
    }
}
