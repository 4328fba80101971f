//! Tasks of tokio whose machinery exists once per result type in the program, and not once per place that starts one:
//! 1.5 kB each.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

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

/// Waits until `deadline`; forever without one.
pub async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The result of `work`, or a message for the user if it panics: otherwise its caller would wait
/// forever.
///
/// # Errors
/// It panicked, which the hook of panics has reported.
pub fn caught<T>(work: impl Future<Output = T>) -> impl Future<Output = Result<T, String>> {
    // The future of a run is large.
    let mut work = Box::pin(work);
    poll_fn(
        move |cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(described(&*panic))),
        },
    )
}

fn described(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error: {}", text.unwrap_or("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_of_work_is_its_result() {
        assert_eq!(caught(async { 1 }).await, Ok(1));
        let late = async {
            tokio::task::yield_now().await;
            let number = 2;
            assert_eq!(number, 1, "two is not one");
        };
        let error = caught(late).await.unwrap_err();
        assert!(error.starts_with("internal error: "), "{error}");
        assert!(error.contains("two is not one"), "{error}");
        let fixed = caught(async { panic!("fixed") }).await;
        assert_eq!(fixed, Err::<(), _>("internal error: fixed".to_owned()));
    }
}
