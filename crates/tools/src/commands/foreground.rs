//! The commands of the model that run in the foreground, which the user can move to the background.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The commands of a workspace that can be moved. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Foreground(Arc<Mutex<Vec<Arc<Notify>>>>);

/// A command in the foreground. It leaves the list when it is dropped.
#[derive(Debug)]
pub(crate) struct ForegroundCommand {
    list: Foreground,
    moved: Arc<Notify>,
}

impl Foreground {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command.
    pub(crate) fn enter(&self) -> ForegroundCommand {
        let moved = Arc::new(Notify::new());
        self.lock().push(Arc::clone(&moved));
        ForegroundCommand {
            list: self.clone(),
            moved,
        }
    }

    /// Asks every command to continue in the background. Returns how many there are.
    pub(crate) fn move_all(&self) -> usize {
        let commands = self.lock();
        for moved in commands.iter() {
            moved.notify_one();
        }
        commands.len()
    }
}

impl ForegroundCommand {
    /// Waits until the user moves the command to the background.
    pub(crate) async fn moved(&self) {
        self.moved.notified().await;
    }
}

impl Drop for ForegroundCommand {
    fn drop(&mut self) {
        let own = &self.moved;
        self.list.lock().retain(|other| !Arc::ptr_eq(own, other));
    }
}
