//! The tools that only ask: `definition`, `references`, `symbols`, `hover`, `diagnostics`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use osier_agent::{
    FileUse, PreparedCall, Preparing, Refusal, ToolContext, ToolOutput, prepare_typed,
};
use osier_base::regular_file;
use osier_llm::ToolSpec;
use osier_lsp::{Capability, Server};
use serde::Deserialize;
use serde_json::{Value, json};

use super::locate::locate;
use super::report::{Findings, words};
use super::show;
use crate::built_in::{BuiltIn, Part, ToolEffect, ToolView, Verbs};
use crate::call::arguments;
use crate::files::target::FileArgument;
use crate::workspace::{CodeServers, Opened, Workspace};

/// Places that a result shows.
const PLACES: usize = 100;
const SYMBOLS: usize = 200;
const DIAGNOSTICS: usize = 50;
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// The query of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    Definition,
    References,
    Symbols,
    Hover,
    Diagnostics,
}

fn spec(name: &str, description: &str, of_symbol: bool) -> ToolSpec {
    let parameters = if of_symbol {
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "symbol": {"type": "string"},
                "line": {"type": "integer", "minimum": 1},
            },
            "required": ["file_path", "symbol"],
        })
    } else if name == "symbols" {
        json!({
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "query": {"type": "string"}},
        })
    } else {
        json!({"type": "object", "properties": {"file_path": {"type": "string"}}})
    };
    ToolSpec {
        freeform: None,
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
    }
}

/// The message without a server.
pub(super) const NO_SERVER: &str = "no language server runs here; use grep and read";

pub(super) const FILE: FileArgument = FileArgument::new("file_path", FileUse::Read);

/// A tool that only asks, with the subject of its calls.
const fn row(
    name: &'static str,
    does: &'static str,
    verbs: Verbs,
    subject: &'static [Part],
    spec: fn() -> &'static ToolSpec,
    prepare: fn(Arc<Workspace>, Value) -> Preparing,
) -> BuiltIn {
    BuiltIn {
        does,
        file: Some(FILE),
        view: ToolView::new(verbs, subject),
        ..BuiltIn::new(name, ToolEffect::Looks, spec, prepare)
    }
}

const SYMBOL_IN_FILE: &[Part] = &[
    Part::text("symbol"),
    Part::path(FILE.name).around(" in ", ""),
];

pub(super) static ROWS: &[BuiltIn] = &[
    row(
        "definition",
        "finds where a symbol is defined, with a [language server](code-intelligence.md#tools)",
        Verbs::new(
            "Finding the definition of",
            "Found the definition of",
            "find the definition of",
        ),
        SYMBOL_IN_FILE,
        || &SPECS[0],
        |workspace, arguments| prepare(workspace, arguments, Query::Definition),
    ),
    row(
        "references",
        "finds the uses of a symbol, with a [language server](code-intelligence.md#tools)",
        Verbs::new("Finding uses of", "Found uses of", "find uses of"),
        SYMBOL_IN_FILE,
        || &SPECS[1],
        |workspace, arguments| prepare(workspace, arguments, Query::References),
    ),
    row(
        "symbols",
        "lists the symbols of a file, or finds symbols by name, with a [language server](code-intelligence.md#tools)",
        Verbs::new("Outlining", "Outlined", "outline"),
        &[Part::path(FILE.name), Part::text("query")],
        || &SPECS[2],
        |workspace, arguments| prepare(workspace, arguments, Query::Symbols),
    ),
    row(
        "hover",
        "shows the type and documentation of a symbol, with a [language server](code-intelligence.md#tools)",
        Verbs::new("Looking up", "Looked up", "look up"),
        SYMBOL_IN_FILE,
        || &SPECS[3],
        |workspace, arguments| prepare(workspace, arguments, Query::Hover),
    ),
    row(
        "diagnostics",
        "reports the errors and warnings of a [language server](code-intelligence.md#tools)",
        Verbs::new("Checking", "Checked", "check"),
        &[Part::path(FILE.name)],
        || &SPECS[4],
        |workspace, arguments| prepare(workspace, arguments, Query::Diagnostics),
    ),
];

static SPECS: LazyLock<[ToolSpec; 5]> = LazyLock::new(|| {
    [
        spec(
            "definition",
            "Find where a symbol that occurs in a file is defined.",
            true,
        ),
        spec(
            "references",
            "List all uses of a symbol that occurs in a file.",
            true,
        ),
        spec(
            "symbols",
            "Outline a file (file_path), or find symbols of the project by name (query).",
            false,
        ),
        spec(
            "hover",
            "Show the type and documentation of a symbol in a file.",
            true,
        ),
        spec(
            "diagnostics",
            "List errors and warnings of a file, or of all checked files.",
            false,
        ),
    ]
});

/// A call.
struct QueryCall {
    workspace: Arc<Workspace>,
    query: Query,
    arguments: Arguments,
    path: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    file_path: Option<String>,
    symbol: Option<String>,
    query: Option<String>,
    #[serde(default, deserialize_with = "arguments::count")]
    line: Option<u64>,
}

/// A symbol in an open file.
pub(super) struct Spotted {
    pub(super) server: Arc<Server>,
    pub(super) path: PathBuf,
    pub(super) line: usize,
    pub(super) byte: usize,
}

impl Spotted {
    pub(super) fn at(&self) -> (&Path, usize, usize) {
        (&self.path, self.line, self.byte)
    }
}

fn prepare(workspace: Arc<Workspace>, arguments: Value, query: Query) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let given = arguments.file_path.as_deref();
        let file = match given.filter(|path| !path.is_empty()) {
            Some(given) => Some(workspace.target(FILE, Some(given)).await?),
            None => None,
        };
        let call = QueryCall {
            workspace,
            query,
            arguments,
            path: file.as_ref().map(|file| file.host.clone()),
        };
        let run = async move |cx: ToolContext| {
            tokio::select! {
                answer = call.answer() => match answer {
                    Ok(text) => ToolOutput::success(text, Value::Null),
                    Err(refusal) => refusal.into(),
                },
                () = cx.cancel.cancelled() => Refusal::Interrupted("interrupted").into(),
            }
        };
        Ok(PreparedCall::new(run).on(file.into_iter().collect()))
    })
}

impl QueryCall {
    async fn answer(&self) -> Result<String, Refusal> {
        let servers = self.workspace.code_servers();
        let servers = servers.ok_or_else(|| Refusal::Failed(NO_SERVER.to_owned()))?;
        let arguments = &self.arguments;
        match (self.query, self.path.clone()) {
            (Query::Symbols, None) => {
                let query = arguments.query.as_deref().unwrap_or_default();
                self.search(servers.as_ref(), query).await
            }
            (Query::Symbols, Some(path)) => self.outline(servers.as_ref(), &path).await,
            (Query::Diagnostics, path) => self.diagnostics(servers.as_ref(), path).await,
            (query, Some(path)) => {
                let symbol = arguments.symbol.as_deref().unwrap_or_default();
                let capability = match query {
                    Query::Definition => Capability::Definition,
                    Query::References => Capability::References,
                    _ => Capability::Hover,
                };
                let near = arguments.line;
                let workspace = &self.workspace;
                let spot = spot(workspace, servers.as_ref(), path, symbol, near, capability).await;
                self.ask(spot.map_err(Refusal::Failed)?, symbol).await
            }
            (_, None) => Err(Refusal::invalid("missing `file_path`")),
        }
    }

    async fn ask(&self, spot: Spotted, symbol: &str) -> Result<String, Refusal> {
        let failed = |problem| Refusal::Failed(format!("{}: {problem}", spot.server.name()));
        let nothing = |what: &str| format!("No {what} of `{symbol}` found.");
        if self.query == Query::Hover {
            let text = spot.server.hover(spot.at()).await.map_err(failed)?;
            return Ok(match text.as_str() {
                "" => nothing("description"),
                _ => text,
            });
        }
        let is_definition = self.query == Query::Definition;
        let (places, count) = if is_definition {
            let places = spot.server.definition(spot.at(), PLACES).await;
            (places.map_err(failed)?, 0)
        } else {
            let places = spot.server.references(spot.at(), PLACES).await;
            places.map_err(failed)?
        };
        if places.is_empty() {
            return Ok(nothing(if is_definition { "definition" } else { "uses" }));
        }
        let workspace = Arc::clone(&self.workspace);
        let shown = osier_base::task::spawn_blocking(move || {
            if is_definition {
                show::definitions(&workspace, &places)
            } else {
                show::references(&workspace, &places, count)
            }
        });
        shown
            .await
            .map_err(|error| Refusal::Failed(error.to_string()))
    }

    async fn outline(&self, servers: &dyn CodeServers, path: &Path) -> Result<String, Refusal> {
        let opened = servers.open(path).await.map_err(Refusal::Failed)?;
        let server = able(&opened, Capability::DocumentSymbols).map_err(Refusal::Failed)?;
        let found = server.document_symbols(path, SYMBOLS).await;
        let found =
            found.map_err(|problem| Refusal::Failed(format!("{}: {problem}", server.name())));
        let (mut symbols, count) = found?;
        for symbol in &mut symbols {
            symbol.path = None;
        }
        Ok(match symbols.as_slice() {
            [] => "The file has no symbols.".to_owned(),
            symbols => show::symbols(&self.workspace, symbols, count),
        })
    }

    async fn search(&self, servers: &dyn CodeServers, query: &str) -> Result<String, Refusal> {
        let (mut found, mut count, mut problems) = (Vec::new(), 0, Vec::new());
        let running = servers.running().into_iter();
        let mut running = running
            .filter(|server| server.can(Capability::WorkspaceSymbols))
            .peekable();
        if running.peek().is_none() {
            return Err(Refusal::Failed(NO_SERVER.to_owned()));
        }
        for server in running {
            match server.workspace_symbols(query, SYMBOLS).await {
                Ok((symbols, all)) => {
                    found.extend(symbols);
                    count += all;
                }
                Err(problem) => problems.push(format!("{}: {problem}", server.name())),
            }
        }
        if found.is_empty() && !problems.is_empty() {
            return Err(Refusal::Failed(problems.join("; ")));
        }
        found.truncate(SYMBOLS);
        Ok(match found.as_slice() {
            [] => format!("No symbols match `{query}`."),
            found => show::symbols(&self.workspace, found, count),
        })
    }

    async fn diagnostics(
        &self,
        servers: &dyn CodeServers,
        path: Option<PathBuf>,
    ) -> Result<String, Refusal> {
        let mut findings = Findings::default();
        let mut late = "";
        if let Some(path) = path {
            let opened = servers.open(&path).await.map_err(Refusal::Failed)?;
            if !reported(&opened, servers.patience()).await {
                late = "[the server is still working: there may be more]\n";
            }
            for (server, _) in &opened {
                let found = server.diagnostics(&path);
                findings.counts.plus(found.counts);
                let list = found.worst.into_iter();
                findings.list.extend(list.map(|one| (path.clone(), one)));
            }
        } else {
            let filter = self.workspace.read_filter();
            for server in servers.running() {
                for (path, found) in server.all_diagnostics() {
                    if filter(&path) {
                        findings.counts.plus(found.counts);
                        let list = found.worst.into_iter();
                        findings.list.extend(list.map(|one| (path.clone(), one)));
                    }
                }
            }
        }
        findings.cut(DIAGNOSTICS);
        let (words, lines) = (words(findings.counts), findings.lines(&self.workspace));
        Ok(format!("{words}\n{lines}{late}"))
    }
}

/// Waits until all servers have reported, or for `limit`.
async fn reported(opened: &[Opened], limit: Duration) -> bool {
    let reports = opened
        .iter()
        .map(|(server, change)| server.reported(change));
    let all = futures_util::future::join_all(reports);
    let all = tokio::time::timeout(limit, all).await;
    all.is_ok_and(|results| results.iter().all(Result::is_ok))
}

/// The first server with this capability.
fn able(opened: &[Opened], capability: Capability) -> Result<&Arc<Server>, String> {
    let mut servers = opened.iter().map(|(server, _)| server);
    let found = servers.find(|server| server.can(capability));
    found.ok_or_else(|| "the language server of this file cannot do that".to_owned())
}

/// Opens the file and finds the symbol.
pub(super) async fn spot(
    workspace: &Workspace,
    servers: &dyn CodeServers,
    path: PathBuf,
    symbol: &str,
    near: Option<u64>,
    capability: Capability,
) -> Result<Spotted, String> {
    let name = workspace.display(&path);
    let opened = servers.open(&path).await?;
    let server = Arc::clone(able(&opened, capability)?);
    let reads = opened.iter().map(|(server, change)| server.read(change));
    futures_util::future::join_all(reads).await;
    let (file, wanted) = (path.clone(), symbol.to_owned());
    let found = osier_base::task::spawn_blocking(move || {
        let text = regular_file::read(&file, FILE_LIMIT).map_err(|error| error.to_string())?;
        let text = String::from_utf8(text).map_err(|_| "it is not UTF-8 text".to_owned())?;
        Ok(locate(&text, &wanted, near))
    });
    let found: Result<_, String> = found.await.unwrap_or_else(|error| Err(error.to_string()));
    let found = found.map_err(|error| format!("cannot read `{name}`: {error}"))?;
    let (line, byte) = found.ok_or_else(|| {
        format!("`{symbol}` does not occur in `{name}`; name a symbol as it is written there")
    })?;
    Ok(Spotted {
        server,
        path,
        line,
        byte,
    })
}
