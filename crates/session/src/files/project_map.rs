//! The map of the project: for clients an outline, and symbols by name, which are read in the background; for the model
//! a tool, if the project is large enough.

use async_trait::async_trait;
use osier_agent::{Interceptor, StopRun, ToolSet, ToolSource, UserMessage};
use osier_protocol::{Event, MappedFile, MappedSymbol, ProjectMap, ProjectSymbol};
use osier_tools::{MAP, Outline, OutlinedFile, Symbol, SymbolMatch, Workspace};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::cx::Cx;

/// Symbols that a client gets at most.
const SYMBOLS: usize = 30;
/// How long the first message waits for the size of the project: a file system may never answer.
const MEASURE_LIMIT: Duration = Duration::from_secs(2);

/// Publishes the map.
pub(crate) fn outline(request: u64, query: String, tokens: Option<u64>, cx: Cx<'_>) {
    read(cx, move |workspace| Event::ProjectMap {
        request,
        map: workspace.map_or_else(ProjectMap::default, |workspace| {
            shown(workspace.outline(&query, tokens))
        }),
    });
}

/// Publishes the symbols whose names match `query`.
pub(crate) fn symbols(request: u64, query: String, cx: Cx<'_>) {
    read(cx, move |workspace| {
        let found = workspace.map(|workspace| workspace.find_symbols(&query, SYMBOLS));
        let symbols = found.unwrap_or_default().into_iter().map(symbol);
        Event::Symbols {
            request,
            symbols: Arc::new(symbols.collect()),
        }
    });
}

fn read(cx: Cx<'_>, event: impl FnOnce(Option<&Workspace>) -> Event + Send + 'static) {
    let workspace = cx.session.map(|session| Arc::clone(&session.workspace));
    let emitter = cx.emitter.clone();
    osier_base::task::spawn_blocking(move || emitter.post(event(workspace.as_deref())));
}

fn shown(outline: Outline) -> ProjectMap {
    let notices = outline.notices();
    let file = |file: OutlinedFile| MappedFile {
        path: file.path,
        symbols: file.symbols.into_iter().map(mapped).collect(),
        more: file.more,
    };
    ProjectMap {
        files: outline.files.into_iter().map(file).collect(),
        notices,
    }
}

fn mapped(symbol: Symbol) -> MappedSymbol {
    MappedSymbol {
        name: symbol.name,
        kind: symbol.kind.name().to_owned(),
        line: symbol.line,
        code: symbol.code,
    }
}

fn symbol(found: SymbolMatch) -> ProjectSymbol {
    ProjectSymbol {
        name: found.name,
        kind: found.kind.name().to_owned(),
        path: found.path,
        line: found.line,
    }
}

/// Offers the tool for maps in large projects. The size of the project is measured at the first message, so that a start does
/// not wait, and only once, so that cached prompts stay valid.
#[derive(Debug)]
pub(crate) struct MapSource {
    workspace: Arc<Workspace>,
    tools: OnceLock<ToolSet>,
}

impl MapSource {
    /// For an agent; `wanted` are the tools to offer, all if not set.
    pub(crate) fn new(workspace: &Arc<Workspace>, wanted: Option<&[String]>) -> Arc<Self> {
        let is_wanted = wanted.is_none_or(|names| names.iter().any(|name| name == MAP));
        let tools = OnceLock::new();
        if !is_wanted {
            let _ = tools.set(ToolSet::new());
        }
        Arc::new(Self {
            workspace: Arc::clone(workspace),
            tools,
        })
    }
}

impl ToolSource for MapSource {
    fn tools(&self) -> ToolSet {
        self.tools.get().cloned().unwrap_or_default()
    }
}

#[async_trait]
impl Interceptor for MapSource {
    async fn on_input(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        self.workspace.note_mentions(&message.text);
        if self.tools.get().is_none() {
            let workspace = Arc::clone(&self.workspace);
            let measured = osier_base::task::spawn_blocking(move || workspace.map_tool());
            let tool = tokio::time::timeout(MEASURE_LIMIT, measured).await;
            let tool = tool.ok().and_then(Result::ok).flatten();
            let _ = self.tools.set(tool.into_iter().collect());
        }
        Ok(())
    }
}
