//! What the agent has set out to do, told when it changes and when the conversation goes on elsewhere.

use super::event::Event;
use super::host::{Job, Task};

use osier_tools::todo_list;
use osier_tools::todo_list::TodoList;

impl Task {
    /// Tells the list of a call that has just ended.
    pub(super) fn note_todo(&mut self, event: &Event) {
        if let Event::Agent(osier_agent::Event::ToolExecutionEnd {
            tool_name, result, ..
        }) = event
            && tool_name == todo_list::TOOL
            && result.status.is_success()
            && let Some(list) = TodoList::of(&result.details)
        {
            self.tell_todo(list);
        }
    }

    /// Looks for the list of the branch that is open now.
    pub(super) fn find_todo(&self) {
        let Some(session) = self.session.as_ref().filter(|session| session.indexed) else {
            return;
        };
        let (store, jobs) = (session.store.clone(), self.jobs.own());
        let told = self.todo.1;
        tokio::task::spawn_blocking(move || {
            let result = store.index().last_result(todo_list::TOOL);
            let list = result.and_then(|result| TodoList::of(&result.details));
            let found = list.unwrap_or_default();
            let _ = jobs.send(Job::Todo(store.id().to_owned(), told, found));
        });
    }

    /// A list was found in the file, unless the agent has changed it meanwhile.
    pub(super) fn found_todo(&mut self, session: &str, told: u64, list: TodoList) {
        let open = self.session.as_ref().map(|session| session.store.id());
        if open == Some(session) && told == self.todo.1 && list != self.todo.0 {
            self.tell_todo(list);
        }
    }

    /// The list of another session is none of this one's.
    pub(super) fn forget_todo(&mut self) {
        if !self.todo.0.items.is_empty() {
            self.tell_todo(TodoList::default());
        }
        self.find_todo();
    }

    fn tell_todo(&mut self, list: TodoList) {
        self.todo = (list.clone(), self.todo.1 + 1);
        self.publish(Event::Todo { list });
    }
}
