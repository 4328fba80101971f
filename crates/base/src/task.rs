//! Tasks of tokio whose machinery exists once per result type in the program, and not once per place that starts one:
//! 1.5 kB each.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// `tokio::spawn`.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    tokio::spawn(future)
}

/// `tokio::task::spawn_blocking`.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    tokio::task::spawn_blocking(work)
}
