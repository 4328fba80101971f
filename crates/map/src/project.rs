//! The map of one project: an index in memory, which a thread brings up to date while others use it.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::definition::Definition;
use crate::index::{FileState, Index};
use crate::outline::{Outline, Outliner, Parsed, Request};
use crate::symbols::{self, SymbolMatch};
use crate::{storage, update};
use osier_base::file_stamp::FileStamp;

/// How long the first answer waits for all files, and after which time it is content with the files
/// that are known.
const COLD: Duration = Duration::from_millis(2700);
const EARLY: Duration = Duration::from_secs(2);
/// How long an answer waits for changes if there is an index.
const WARM: Duration = Duration::from_millis(60);
const WARM_SMALL: Duration = Duration::from_secs(1);
/// Within this time, files are not checked again.
const FRESH: Duration = Duration::from_millis(300);
/// An index with more files is large: it is checked while it is used, and stored only after a pause.
const LARGE: usize = 5000;
const PAUSE: Duration = Duration::from_mins(1);
/// Maximum number of files that were parsed since the index was made.
const PARSED: usize = 5000;

/// The map of a project. It reads nothing before it is used.
#[derive(Debug)]
pub struct ProjectMap {
    root: PathBuf,
    /// The file in which the index is stored.
    file: Option<PathBuf>,
    state: Mutex<State>,
    /// The state has changed.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    index: Option<Arc<Index>>,
    is_loaded: bool,
    is_updating: bool,
    /// The end of the last check.
    checked: Option<Instant>,
    saved: Option<Instant>,
    parsed: HashMap<String, (FileStamp, Vec<Definition>)>,
}

impl State {
    /// Whether the files were checked just now.
    fn is_fresh(&self) -> bool {
        self.checked
            .is_some_and(|checked| checked.elapsed() < FRESH)
    }
}

/// The root of a map and the folder where it is stored.
type Place = (PathBuf, Option<PathBuf>);

/// The maps of the process.
static MAPS: Mutex<Vec<(Place, Weak<ProjectMap>)>> = Mutex::new(Vec::new());

impl ProjectMap {
    /// The map of the project in `root`, a real path. Sessions of the same project share it. Its index is stored in
    /// the folder `store`, or only in memory.
    pub fn of(root: &Path, store: Option<&Path>) -> Arc<Self> {
        let mut maps = MAPS.lock();
        maps.retain(|(_, map)| map.strong_count() > 0);
        let place = (root.to_owned(), store.map(Path::to_owned));
        let known = maps.iter().find(|(known, _)| *known == place);
        if let Some(map) = known.and_then(|(_, map)| map.upgrade()) {
            return map;
        }
        let map = Arc::new(Self {
            root: root.to_owned(),
            file: store.map(|folder| storage::file(folder, root)),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        maps.push((place, Arc::downgrade(&map)));
        map
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The outline of the files that `may_show` accepts by their real paths. Blocks for three seconds at most the first
    /// time, and shortly afterwards.
    pub fn outline(
        self: &Arc<Self>,
        request: &Request,
        may_show: &dyn Fn(&Path) -> bool,
    ) -> Outline {
        let (index, is_checking) = self.current(COLD);
        let Some(index) = index else {
            return Outline {
                is_starting: true,
                ..Outline::default()
            };
        };
        let parsed = |path: &str, version: FileStamp| {
            let state = self.state.lock();
            let (of, found) = state.parsed.get(path)?;
            (*of == version).then(|| found.clone())
        };
        let outliner = Outliner {
            root: &self.root,
            index: &index,
            request,
            may_show,
            parsed: &parsed,
        };
        let (mut outline, parsed) = outliner.outline();
        outline.is_checking = is_checking;
        self.remember(parsed);
        outline
    }

    /// The symbols whose names match `query`, the best first. Blocks like [`Self::outline`].
    pub fn symbols(
        self: &Arc<Self>,
        query: &str,
        limit: usize,
        may_show: &dyn Fn(&Path) -> bool,
    ) -> Vec<SymbolMatch> {
        let (index, _) = self.current(COLD);
        index.map_or_else(Vec::new, |index| {
            symbols::find(&self.root, &index, query, limit, may_show)
        })
    }

    /// Waits until every file is known as it is now. For tests and measurements.
    pub fn complete(self: &Arc<Self>) {
        self.load();
        let mut state = self.state.lock();
        while state.is_updating {
            self.changed.wait_for(&mut state, Duration::from_mins(1));
        }
        state.checked = None;
        state = self.start_update(state);
        while state.is_updating {
            self.changed.wait_for(&mut state, Duration::from_mins(1));
        }
    }

    /// The index, if there is one yet, and whether it is still being brought up to date.
    fn current(self: &Arc<Self>, cold: Duration) -> (Option<Arc<Index>>, bool) {
        let start = Instant::now();
        self.load();
        let mut state = self.state.lock();
        if !state.is_fresh() {
            state = self.start_update(state);
        }
        let limit = match &state.index {
            Some(index) if index.rows.len() > LARGE => WARM,
            Some(_) => WARM_SMALL,
            None => cold,
        };
        while state.is_updating {
            let Some(left) = limit.checked_sub(start.elapsed()) else {
                break;
            };
            // The first answer uses a part of the index as soon as there is one.
            if limit == cold && state.index.is_some() {
                break;
            }
            self.changed.wait_for(&mut state, left);
        }
        (state.index.clone(), state.is_updating)
    }

    /// Loads the stored index once.
    fn load(&self) {
        let mut state = self.state.lock();
        if !state.is_loaded {
            state.is_loaded = true;
            let file = self.file.as_deref();
            state.index = file.and_then(storage::load).map(Arc::new);
        }
    }

    fn start_update<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        if !state.is_updating {
            let map = Arc::clone(self);
            let thread = std::thread::Builder::new().name("map".to_owned());
            state.is_updating = thread.spawn(move || map.update()).is_ok();
        }
        state
    }

    /// Brings the index up to date. Runs on a separate thread.
    fn update(&self) {
        let mut end = EndOfUpdate {
            map: self,
            has_checked: false,
            index: None,
        };
        let (old, parsed, is_fresh) = {
            let state = self.state.lock();
            let old = state.index.clone().unwrap_or_default();
            let is_fresh = state.is_fresh();
            (old, state.parsed.clone(), is_fresh)
        };
        let old = if parsed.is_empty() {
            old
        } else {
            Arc::new(with_parsed(&old, &parsed))
        };
        let early = Instant::now() + EARLY;
        let mut publish = |index: Index| self.replace(Arc::new(index));
        let new = if is_fresh {
            None
        } else {
            end.has_checked = true;
            update::update(&self.root, &old, early, &mut publish)
        };
        let is_new = new.is_some() || !parsed.is_empty();
        let index = new.map_or(old, Arc::new);
        self.state.lock().parsed.retain(|path, (version, _)| {
            parsed.get(path).is_none_or(|(merged, _)| merged != version)
        });
        end.index = Some(Arc::clone(&index));
        drop(end);
        if is_new {
            self.save(&index);
        }
    }

    /// Stores the index. A large index is not stored again within [`PAUSE`]: the next process reads
    /// what is missing in it.
    fn save(&self, index: &Index) {
        let Some(file) = &self.file else { return };
        {
            let mut state = self.state.lock();
            let is_recent = state.saved.is_some_and(|saved| saved.elapsed() < PAUSE);
            if is_recent && index.rows.len() > LARGE {
                return;
            }
            state.saved = Some(Instant::now());
        }
        storage::save(file, index);
    }

    fn replace(&self, index: Arc<Index>) {
        self.state.lock().index = Some(index);
        self.changed.notify_all();
    }

    /// Remembers the definitions that were parsed, and stores them.
    fn remember(self: &Arc<Self>, parsed: Vec<Parsed>) {
        if parsed.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        if state.parsed.len() > PARSED {
            state.parsed.clear();
        }
        for file in parsed {
            state
                .parsed
                .insert(file.path, (file.version, file.definitions));
        }
        drop(self.start_update(state));
    }
}

/// Ends an update when dropped, also after a panic.
struct EndOfUpdate<'a> {
    map: &'a ProjectMap,
    has_checked: bool,
    index: Option<Arc<Index>>,
}

impl Drop for EndOfUpdate<'_> {
    fn drop(&mut self) {
        let mut state = self.map.state.lock();
        state.is_updating = false;
        if let Some(index) = self.index.take() {
            state.index = Some(index);
        }
        if self.has_checked {
            state.checked = Some(Instant::now());
        }
        drop(state);
        self.map.changed.notify_all();
    }
}

/// The index with the definitions that grammars have found since.
fn with_parsed(old: &Index, parsed: &HashMap<String, (FileStamp, Vec<Definition>)>) -> Index {
    let mut index = Index {
        is_cut: old.is_cut,
        ..Index::default()
    };
    for row in &old.rows {
        let (path, uses) = (old.path(row), old.uses(row));
        match parsed.get(path) {
            Some((version, definitions)) if *version == row.version => {
                let mut stored = Vec::new();
                for definition in definitions {
                    definition.store(&mut stored);
                }
                let row = crate::index::Row {
                    state: FileState::Parsed,
                    ..*row
                };
                index.push(path, &stored, uses, row);
            }
            _ => index.push(path, old.definitions(row), uses, *row),
        }
    }
    index
}
