//! A program without a person: it opens a session of `osier serve`, asks one thing and says the answer as it is
//! written. Plain HTTP, as any language has it.
//!
//!     osier serve
//!     cargo run --example headless -- 127.0.0.1:7433 TOKEN "What does this project do?"

use std::error::Error;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;

/// Asks in a session of its own and gives `say` the answer in pieces; how the run ended.
pub(crate) async fn ask(
    (address, token): (&str, &str),
    prompt: &str,
    mut say: impl FnMut(&str),
) -> Result<String, Box<dyn Error>> {
    let opened = post((address, token), "/api/sessions", &json!({})).await?;
    let id = opened.json().await?["id"]
        .as_str()
        .ok_or("no session")?
        .to_owned();
    let path = format!("/api/sessions/{id}/prompt");
    let mut run = post((address, token), &path, &json!({"message": prompt})).await?;
    while let Some(event) = run.event().await? {
        if let Some(text) = event["delta"]["delta"].as_str()
            && event["delta"]["type"] == "text_delta"
        {
            say(text);
        }
        if event["type"] == "agent_settled" {
            return Ok(event["outcome"]["type"].to_string());
        }
    }
    Err("the server has gone".into())
}

/// An answer that is being read.
struct Answer(Lines<BufReader<TcpStream>>);

impl Answer {
    /// The next of its server-sent events. The sizes of chunks stand between them and say nothing.
    async fn event(&mut self) -> Result<Option<Value>, Box<dyn Error>> {
        while let Some(line) = self.0.next_line().await? {
            if let Some(data) = line.strip_prefix("data: ") {
                return Ok(Some(serde_json::from_str(data)?));
            }
        }
        Ok(None)
    }

    /// Its body, which is one line.
    async fn json(mut self) -> Result<Value, Box<dyn Error>> {
        let line = self.0.next_line().await?.ok_or("no answer")?;
        Ok(serde_json::from_str(&line)?)
    }
}

async fn post(
    (address, token): (&str, &str),
    path: &str,
    body: &Value,
) -> Result<Answer, Box<dyn Error>> {
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
    // An empty line ends the head.
    while lines
        .next_line()
        .await?
        .is_some_and(|line| !line.is_empty())
    {}
    if !status.contains(" 20") {
        return Err(lines.next_line().await?.unwrap_or(status).into());
    }
    Ok(Answer(lines))
}

#[cfg_attr(test, expect(dead_code, reason = "the test calls what is above"))]
#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "this program says what it hears")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, token, prompt] = &words[..] else {
        return Err("headless ADDRESS TOKEN PROMPT".into());
    };
    let outcome = ask((address, token), prompt, |piece| print!("{piece}")).await?;
    println!("\n{outcome}");
    Ok(())
}
