//! The agent's to-do list: published when the agent changes it and when another branch becomes current.

use osier_protocol::{Event, TOOL, TodoList};
use osier_store::SessionStore;

use crate::emitter::{Callback, Emitter};

/// The to-do list of the current branch.
#[derive(Debug, Default)]
pub(crate) struct TodoState {
    list: TodoList,
    /// How often a list was published: a list that was read before the last change is outdated.
    version: u64,
}

/// A list that was read from a session file.
#[derive(Debug)]
pub(crate) struct StoredTodo {
    session: String,
    version: u64,
    list: TodoList,
}

impl TodoState {
    /// Publishes the list that a call of the tool has set.
    pub(crate) fn on_event(&mut self, event: &Event, emitter: &Emitter) {
        if let Event::Agent(osier_agent::Event::ToolExecutionEnd {
            tool_name, result, ..
        }) = event
            && tool_name == TOOL
            && result.status.is_success()
            && let Some(list) = TodoList::of(&result.details)
        {
            self.set(list, emitter);
        }
    }

    /// Reads the list of the current branch in the background.
    pub(crate) fn read(&self, store: &SessionStore, done: Callback<StoredTodo>) {
        let (store, version) = (store.clone(), self.version);
        osier_base::task::spawn_blocking(move || {
            let result = store.index().last_result(TOOL);
            let list = result.and_then(|result| TodoList::of(&result.details));
            done.call(StoredTodo {
                session: store.id().to_owned(),
                version,
                list: list.unwrap_or_default(),
            });
        });
    }

    /// Publishes a list that was read, unless the agent has changed it since. `open` is the open session.
    pub(crate) fn loaded(&mut self, stored: StoredTodo, open: Option<&str>, emitter: &Emitter) {
        let is_current = open == Some(&stored.session) && stored.version == self.version;
        if is_current && stored.list != self.list {
            self.set(stored.list, emitter);
        }
    }

    /// Another session has opened.
    pub(crate) fn clear(&mut self, emitter: &Emitter) {
        if !self.list.items.is_empty() {
            self.set(TodoList::default(), emitter);
        }
    }

    fn set(&mut self, list: TodoList, emitter: &Emitter) {
        self.list = list.clone();
        self.version += 1;
        emitter.publish(Event::Todo { list });
    }
}
