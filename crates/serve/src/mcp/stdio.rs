//! A client on standard input and output: one message a line.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::client::{Client, Reply, Service};
use super::protocol::{PARSE, Refusal};
use serde_json::Value;

/// Serves a client until its input ends or `stop` is ready. Then all calls are cancelled, and have ended on return.
///
/// # Errors
/// The input cannot be read, or the output is closed.
pub async fn serve_lines(
    service: &Service,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let client = Client::new(service);
    let (sender, mut messages) = mpsc::unbounded_channel();
    // Each running call has a clone: without this one, the messages end with the last call.
    let mut open = Some(sender);
    let mut lines = input.split(b'\n');
    tokio::pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop, if open.is_some() => {
                service.cancel();
                open = None;
            }
            message = messages.recv() => {
                let Some(message) = message else { break };
                output.write_all(format!("{message}\n").as_bytes()).await?;
                output.flush().await?;
            }
            line = lines.next_segment(), if open.is_some() => {
                if let (Some(line), Some(sender)) = (line?, &open) {
                    handle(&client, &line, sender);
                } else {
                    service.cancel();
                    open = None;
                }
            }
        }
    }
    service.ended().await;
    Ok(())
}

fn handle(client: &std::sync::Arc<Client>, line: &[u8], messages: &mpsc::UnboundedSender<Value>) {
    if line.trim_ascii().is_empty() {
        return;
    }
    // The receiver lives as long as the loop, so sending cannot fail.
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        let refusal = Refusal::new(PARSE, "not valid JSON");
        let _ = messages.send(refusal.response(&Value::Null));
        return;
    };
    match client.message(&message) {
        Reply::Nothing => {}
        Reply::Response(response) => {
            let _ = messages.send(response);
        }
        Reply::Call(mut call) => {
            let messages = messages.clone();
            osier_base::task::spawn(async move {
                while let Some(message) = call.messages.recv().await {
                    let _ = messages.send(message);
                }
            });
        }
    }
}
