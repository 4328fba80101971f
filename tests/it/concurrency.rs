//! Many agents in one process against one server: each has its own conversation and finishes. `cargo bench --bench
//! agents` measures two hundred.

use std::sync::Arc;

use osier_agent::{Agent, AgentConfig, Event, Op, ProviderTransport, RunOutcome};
use osier_llm::{Api, HttpProvider, Model};
use osier_tools::Workspace;
use serde_json::{Value, json};

use crate::support::agent::model;
use crate::support::web_server::{ReceivedRequest, WebServer, events, plain};

const AGENTS: usize = 24;

/// The number in the prompt of the calling agent.
fn number(asked: &ReceivedRequest) -> String {
    let body = asked.json();
    let user = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|message| message["role"] == "user");
    let text = user.unwrap()["content"].to_string();
    text.chars().filter(char::is_ascii_digit).collect()
}

/// A call of `read` for the file of each agent, an error for every fifth, then the content of the file.
fn answer(asked: &ReceivedRequest) -> Vec<u8> {
    let number = number(asked);
    let body = asked.json();
    let results: Vec<&Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .collect();
    let Some(result) = results.first() else {
        let arguments = json!({"file_path": format!("{number}.txt")}).to_string();
        let call = json!({"index": 0, "id": format!("call_{number}"), "type": "function",
            "function": {"name": "read", "arguments": arguments}});
        return events(&[
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}),
        ]);
    };
    let heard = result["content"].to_string();
    let said = format!(
        "{number} heard {}",
        heard.contains(&format!("secret of {number}."))
    );
    events(&[
        json!({"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": "stop"}]}),
    ])
}

#[tokio::test]
async fn concurrent_agents_finish_with_their_own_answers() {
    let server = WebServer::start(|asked, before| match before % 5 {
        // Some requests are rejected with "overloaded".
        3 => plain("503 Service Unavailable", "retry-after-ms: 1\r\n", "{}"),
        _ => answer(asked),
    });
    let folder = tempfile::tempdir().unwrap();
    for number in 0..AGENTS {
        let path = folder.path().join(format!("{number}.txt"));
        osier_base::atomic_file::write(&path, format!("secret of {number}.\n").as_bytes()).unwrap();
    }
    let workspace = Arc::new(Workspace::new(folder.path()));
    let provider = HttpProvider::default();
    let tasks: Vec<_> = (0..AGENTS)
        .map(|number| {
            let transport = ProviderTransport::new(Arc::new(provider.clone()), None);
            let here = Model {
                api: Api::OpenaiChatCompletions,
                base_url: format!("{}/v1", server.url()),
                ..model("here/m")
            };
            let mut config = AgentConfig::new(Arc::new(transport), here);
            config.tools = osier_tools::build(&workspace, None).unwrap();
            config.retry.max_retries = 50;
            let agent = Agent::spawn(config);
            let mut events = agent.subscribe();
            let text = format!("I am {number}");
            agent.send(Op::Prompt {
                text,
                attachments: Vec::new(),
                typed: None,
                once: None,
            });
            tokio::spawn(async move {
                loop {
                    if let Event::AgentSettled { outcome } = events.recv().await.unwrap() {
                        let said = agent.state().messages.last().unwrap().text();
                        return (outcome, said);
                    }
                }
            })
        })
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        let expected = (RunOutcome::Completed, format!("{number} heard true"));
        assert_eq!(task.await.unwrap(), expected);
    }
}
