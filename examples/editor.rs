//! A minimal editor for the Agent Client Protocol: starts `osier acp`, sends one prompt, prints the updates and
//! allows every tool call once.
//!
//!     cargo run --example editor -- "List the files" osier acp --permissions ask

use std::error::Error;
use std::path::Path;

use osier_base::process::{Invocation, spawn_piped};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

/// The client of an agent that runs as a child process.
struct Agent<S> {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    print: S,
}

impl<S: FnMut(&str)> Agent<S> {
    /// Sends a request and handles messages until its response arrives.
    async fn call(&mut self, method: &str, params: Value) -> Result<Value, Box<dyn Error>> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({"id": id, "method": method, "params": params}))
            .await?;
        while let Some(line) = self.output.next_line().await? {
            let mut message: Value = serde_json::from_str(&line)?;
            match message["method"].as_str() {
                Some("session/update") => self.show(&message["params"]["update"]),
                Some("session/request_permission") => self.allow(&message).await?,
                Some(_) => {}
                None if message["id"] == id && message["error"].is_null() => {
                    return Ok(message["result"].take());
                }
                None => return Err(message["error"]["message"].to_string().into()),
            }
        }
        Err("the agent exited".into())
    }

    async fn send(&mut self, mut message: Value) -> Result<(), Box<dyn Error>> {
        message["jsonrpc"] = json!("2.0");
        let line = format!("{message}\n");
        Ok(self.input.write_all(line.as_bytes()).await?)
    }

    fn show(&mut self, update: &Value) {
        let text = match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => update["content"]["text"].as_str(),
            Some("tool_call") => update["title"].as_str(),
            _ => None,
        };
        if let Some(text) = text {
            (self.print)(text);
        }
    }

    /// Selects the option that allows the tool call once.
    async fn allow(&mut self, request: &Value) -> Result<(), Box<dyn Error>> {
        let mut options = request["params"]["options"]
            .as_array()
            .into_iter()
            .flatten();
        let once = options.find(|option| option["kind"] == "allow_once");
        let outcome = once.map_or(
            json!({"outcome": "cancelled"}),
            |option| json!({"outcome": "selected", "optionId": option["optionId"]}),
        );
        self.send(json!({"id": request["id"], "result": {"outcome": outcome}}))
            .await
    }
}

/// Sends one prompt to an agent in `cwd` and returns its stop reason.
pub(crate) async fn converse(
    agent: &Invocation,
    cwd: &Path,
    prompt: &str,
    print: impl FnMut(&str),
) -> Result<String, Box<dyn Error>> {
    let (child, pipes) = spawn_piped(agent)?;
    let mut agent = Agent {
        input: pipes.stdin,
        output: BufReader::new(pipes.stdout).lines(),
        last_id: 0,
        print,
    };
    agent
        .call("initialize", json!({"protocolVersion": 1}))
        .await?;
    let new = json!({"cwd": cwd, "mcpServers": []});
    let session = agent.call("session/new", new).await?["sessionId"].take();
    let prompt = json!([{"type": "text", "text": prompt}]);
    let turn = json!({"sessionId": session, "prompt": prompt});
    let ended = agent.call("session/prompt", turn).await?;
    drop(agent);
    child.end().await;
    Ok(ended["stopReason"].as_str().unwrap_or_default().to_owned())
}

#[cfg_attr(test, expect(dead_code, reason = "the test calls `converse`"))]
#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "this program prints the answer")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let prompt = arguments.next().ok_or("missing argument: PROMPT")?;
    let program = arguments.next().ok_or("missing argument: AGENT")?;
    let agent = Invocation::new(program, arguments);
    let cwd = std::env::current_dir()?;
    let reason = converse(&agent, &cwd, &prompt, |text| print!("{text}")).await?;
    println!("\n[{reason}]");
    Ok(())
}
