//! A client of `osier serve`: opens a session, sends a prompt and prints the answer while it streams. It uses
//! plain HTTP, which works in any language.
//!
//!     osier serve
//!     cargo run --example headless -- 127.0.0.1:7433 TOKEN "What does this project do?"

use std::error::Error;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;

/// Runs one prompt in a new session, passes the deltas of the answer to `print` and returns the outcome.
pub(crate) async fn ask(
    address: &str,
    token: &str,
    prompt: &str,
    mut print: impl FnMut(&str),
) -> Result<String, Box<dyn Error>> {
    let opened = post(address, token, "/api/sessions", &json!({})).await?;
    let id = opened.json().await?["id"]
        .as_str()
        .ok_or("no session id")?
        .to_owned();
    let path = format!("/api/sessions/{id}/prompt");
    let mut run = post(address, token, &path, &json!({"message": prompt})).await?;
    while let Some(event) = run.event().await? {
        if let Some(text) = event["delta"]["delta"].as_str()
            && event["delta"]["type"] == "text_delta"
        {
            print(text);
        }
        if event["type"] == "agent_settled" {
            return Ok(event["outcome"]["type"].to_string());
        }
    }
    Err("the server closed the connection".into())
}

/// The body of an HTTP response.
struct Response(Lines<BufReader<TcpStream>>);

impl Response {
    /// Reads the next server-sent event. The chunk sizes between the events are skipped.
    async fn event(&mut self) -> Result<Option<Value>, Box<dyn Error>> {
        while let Some(line) = self.0.next_line().await? {
            if let Some(data) = line.strip_prefix("data: ") {
                return Ok(Some(serde_json::from_str(data)?));
            }
        }
        Ok(None)
    }

    /// Reads a JSON body of one line.
    async fn json(mut self) -> Result<Value, Box<dyn Error>> {
        let line = self.0.next_line().await?.ok_or("empty response")?;
        Ok(serde_json::from_str(&line)?)
    }
}

async fn post(
    address: &str,
    token: &str,
    path: &str,
    body: &Value,
) -> Result<Response, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut lines = BufReader::new(stream).lines();
    let status = lines.next_line().await?.unwrap_or_default();
    // An empty line ends the headers.
    while lines
        .next_line()
        .await?
        .is_some_and(|line| !line.is_empty())
    {}
    if !status.contains(" 20") {
        return Err(lines.next_line().await?.unwrap_or(status).into());
    }
    Ok(Response(lines))
}

#[cfg_attr(test, expect(dead_code, reason = "the test calls `ask`"))]
#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "this program prints the answer")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, token, prompt] = &arguments[..] else {
        return Err("usage: headless ADDRESS TOKEN PROMPT".into());
    };
    let outcome = ask(address, token, prompt, |delta| print!("{delta}")).await?;
    println!("\n{outcome}");
    Ok(())
}
