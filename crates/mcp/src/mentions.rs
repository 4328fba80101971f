//! References to servers in a prompt: `@server:uri` attaches a resource, and `/mcp__server__prompt arguments`
//! inserts the text of the server's prompt. Both are resolved when the prompt enters the conversation, in
//! every mode.

use async_trait::async_trait;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{GetPromptRequestParams, JsonObject, ResourceContents, Role};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Wait};
use super::entry::Known;
use super::manager::{Mcp, Shared};
use super::result::Parts;
use osier_agent::{
    AgentAccess, AgentMessage, Attachment, AttachmentKind, Interceptor, StopRun, UpdateSink,
    UserMessage,
};
use osier_base::server_tool::tool_name;
use osier_base::slash_text::SlashText;
use osier_base::{ids, text};
use osier_llm::ContentBlock;
use osier_protocol::{PromptInfo, ResourceInfo, ServerInfo};
use osier_tools::{Workspace, attachment};

/// Maximum bytes of text of a resource.
const TEXT_LIMIT: usize = 1024 * 1024;

/// Prefix of prompt commands: `/mcp__git__review`.
pub const PROMPT_PREFIX: &str = "/mcp__";

/// Resolves references.
#[derive(Debug)]
pub struct Mentions {
    shared: Arc<Shared>,
    workspace: Arc<Workspace>,
}

/// The command for the prompt `prompt` of `server`. Different prompts have different commands.
pub fn prompt_command(server: &str, prompt: &str) -> String {
    format!("{PROMPT_PREFIX}{}", tool_name(server, prompt))
}

impl Mentions {
    pub fn new(mcp: &Mcp, workspace: Arc<Workspace>) -> Self {
        let shared = Arc::clone(mcp.shared());
        Self { shared, workspace }
    }

    fn known(&self) -> Vec<Known> {
        let known = self.shared.known.lock();
        known.values().cloned().collect()
    }

    async fn resolve(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        if !message.text.starts_with(PROMPT_PREFIX) && !message.text.contains('@') {
            return Ok(());
        }
        let known = self.known();
        // A server's prompt cannot refer to a resource: only text that the user typed does.
        let typed = message.text.clone();
        // `//mcp__…` is text.
        let given = message.typed.as_deref().unwrap_or(&message.text);
        let is_literal = matches!(SlashText::read(given), SlashText::Literal(_));
        if message.text.starts_with(PROMPT_PREFIX) && !is_literal {
            self.expand(message, &known).await?;
        }
        for (server, uri) in mentions(&typed, &known) {
            if let Some(variable) = variable(&server.info.resources, &uri) {
                let name = &server.info.name;
                let message = format!("replace `{variable}` in `@{name}:{uri}` by a value");
                return Err(StopRun { message });
            }
            let resource = self.read(server, &uri).await;
            let resource = resource.map_err(|error| StopRun {
                message: format!("cannot read `@{}:{uri}`: {error}", server.info.name),
            })?;
            message.attachments.extend(resource);
        }
        Ok(())
    }

    async fn expand(&self, message: &mut UserMessage, known: &[Known]) -> Result<(), StopRun> {
        let stop = |message: String| StopRun { message };
        let (command, rest) = match message.text.split_once(char::is_whitespace) {
            Some((command, rest)) => (command, rest.trim()),
            None => (message.text.as_str(), ""),
        };
        let Some((server, prompt)) = prompt_of(known, command) else {
            return Err(stop(format!(
                "no MCP server has the prompt `{command}`: list the prompts with `/mcp`"
            )));
        };
        let arguments = arguments(prompt, rest).map_err(stop)?;
        let connection = server.link.get().map_err(stop)?;
        let mut params = GetPromptRequestParams::new(prompt.name.clone());
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let answer = connection.get_prompt(params, &wait(server)).await;
        let answer = answer.map_err(|error| stop(format!("`{command}` failed: {error}")))?;
        let mut parts = Parts::default();
        for message in answer.messages {
            if message.role == Role::Assistant && !parts.text.is_empty() {
                parts.text.push_str("\n\nYou answered:");
            }
            parts.add(message.content, &self.workspace).await;
        }
        let parts = parts.end();
        message.text = text::sanitize(&parts.text).into_owned();
        let images = parts.images.into_iter().filter_map(|block| match block {
            ContentBlock::Image { data, mime_type } => Some(picture(&prompt.name, data, mime_type)),
            ContentBlock::File {
                data,
                mime_type,
                name,
                ..
            } => Some(Attachment {
                kind: AttachmentKind::Document,
                ..picture(&name, data, mime_type)
            }),
            ContentBlock::Text { .. } => None,
        });
        message.attachments.extend(images);
        Ok(())
    }

    async fn read(&self, server: &Known, uri: &str) -> Result<Vec<Attachment>, String> {
        let connection = server.link.get()?;
        let read = connection.read_resource(uri, &wait(server)).await;
        let contents = read.map_err(|error| error.to_string())?.contents;
        let attachments: Result<Vec<_>, String> = contents.into_iter().map(attachment).collect();
        if attachments.is_ok() {
            server.attached.subscribe(uri, connection.peer());
        }
        attachments
    }
}

/// The first variable of `uri`, if `uri` is a template of the server.
fn variable<'u>(resources: &[ResourceInfo], uri: &'u str) -> Option<&'u str> {
    let mut templates = resources.iter();
    templates.find(|resource| resource.uri == uri)?;
    let start = uri.find('{')?;
    let end = start + uri[start..].find('}')?;
    Some(&uri[start..=end])
}

/// The prompt of the command `command`, and its server.
pub(super) fn prompt_of<'a>(
    known: &'a [Known],
    command: &str,
) -> Option<(&'a Known, &'a PromptInfo)> {
    for server in known {
        let mut prompts = server.info.prompts.iter();
        let is_it =
            |prompt: &&PromptInfo| prompt_command(&server.info.name, &prompt.name) == command;
        if let Some(prompt) = prompts.find(is_it) {
            return Some((server, prompt));
        }
    }
    None
}

fn wait(server: &Known) -> Wait {
    Wait {
        cancel: CancellationToken::new(),
        timeout: server.timeout,
        updates: UpdateSink::discard(),
    }
}

#[async_trait]
impl Interceptor for Mentions {
    async fn on_input(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        self.resolve(message).await
    }

    async fn reminders(&self, _agent: &dyn AgentAccess) -> Vec<AgentMessage> {
        let known = self.known();
        let news = known.iter().filter_map(|server| {
            let connection = server.link.get().ok();
            let peer = connection.as_ref().map(Connection::peer);
            server.attached.news(&server.info.name, peer)
        });
        news.collect()
    }
}

fn picture(name: &str, content: String, mime_type: String) -> Attachment {
    Attachment {
        id: ids::prefixed("attachment"),
        kind: AttachmentKind::Image,
        file_name: name.to_owned(),
        mime_type,
        size: content.len() as u64 / 4 * 3,
        content,
        extracted_text: None,
    }
}

fn attachment(contents: ResourceContents) -> Result<Attachment, String> {
    match contents {
        ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text,
            ..
        } => {
            if text.len() > TEXT_LIMIT {
                return Err(format!(
                    "it has {} bytes, and the limit is {TEXT_LIMIT}",
                    text.len()
                ));
            }
            Ok(Attachment {
                id: ids::prefixed("attachment"),
                kind: AttachmentKind::Document,
                file_name: text::single_line(&uri),
                mime_type: mime_type.unwrap_or_else(|| "text/plain".to_owned()),
                size: text.len() as u64,
                content: String::new(),
                extracted_text: Some(text::sanitize(&text).into_owned()),
            })
        }
        ResourceContents::BlobResourceContents { uri, blob, .. } => {
            let bytes = STANDARD.decode(blob.trim_ascii());
            let bytes = bytes.map_err(|_| "it is not valid base64".to_owned())?;
            let name = text::single_line(&uri);
            let read = attachment::of_bytes(Path::new(&name), bytes);
            let read = read.map_err(|error| error.to_string())?;
            Ok(Attachment {
                file_name: name,
                ..read
            })
        }
        _ => Err("its type is not supported".to_owned()),
    }
}

/// The resources of `known` servers that `text` mentions, each once.
fn mentions<'a>(text: &str, known: &'a [Known]) -> Vec<(&'a Known, String)> {
    let mut found: Vec<(&Known, String)> = Vec::new();
    for word in text.split_whitespace() {
        let Some((server, uri)) = word.strip_prefix('@').and_then(|word| word.split_once(':'))
        else {
            continue;
        };
        let Some(known) = known.iter().find(|known| known.info.name == server) else {
            continue;
        };
        let uri = resource_uri(&known.info, uri);
        if !uri.is_empty()
            && !found
                .iter()
                .any(|(one, other)| one.info.name == server && *other == uri)
        {
            found.push((known, uri));
        }
    }
    found
}

/// `uri` without the punctuation of the sentence, unless the server lists the complete text as a
/// URI.
fn resource_uri(info: &ServerInfo, uri: &str) -> String {
    let listed = info.resources.iter().any(|resource| resource.uri == uri);
    let uri = if listed {
        uri
    } else {
        uri.trim_end_matches(['.', ',', ';', ')', '?', '!'])
    };
    uri.to_owned()
}

/// The arguments of a prompt as typed: `name=value`, or values in order, of which the last is the
/// rest of the text.
fn arguments(prompt: &PromptInfo, typed: &str) -> Result<JsonObject, String> {
    let mut arguments = JsonObject::new();
    let mut words = words(typed).into_iter().peekable();
    let mut left = prompt.arguments.iter().peekable();
    while let Some(word) = words.next() {
        let named = word.split_once('=').filter(|(name, _)| {
            prompt
                .arguments
                .iter()
                .any(|argument| argument.name == *name)
        });
        if let Some((name, value)) = named {
            arguments.insert(name.to_owned(), value.into());
            continue;
        }
        let Some(argument) = left.find(|argument| !arguments.contains_key(&argument.name)) else {
            let text = format!(
                "`{}` takes {} arguments",
                prompt.name,
                prompt.arguments.len()
            );
            return Err(text);
        };
        let mut value = word;
        if left.peek().is_none() {
            while let Some(more) = words.next_if(|word| !word.contains('=')) {
                value = format!("{value} {more}");
            }
        }
        arguments.insert(argument.name.clone(), value.into());
    }
    let missing = prompt
        .arguments
        .iter()
        .find(|argument| argument.required && !arguments.contains_key(&argument.name));
    match missing {
        None => Ok(arguments),
        Some(argument) => Err(format!(
            "`{}` needs the argument `{}`{}",
            prompt.name,
            argument.name,
            match argument.description.as_str() {
                "" => String::new(),
                description => format!(": {description}"),
            }
        )),
    }
}

/// Splits into words; quotes group words.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut open) = (String::new(), None, false);
    for char in text.chars() {
        match (quote, char) {
            (Some(mark), char) if mark == char => quote = None,
            (None, '"' | '\'') => (quote, open) = (Some(char), true),
            (None, char) if char.is_whitespace() => {
                if open {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            (_, char) => {
                word.push(char);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use osier_protocol::PromptArgumentInfo;

    fn typed(text: &str) -> Result<Value, String> {
        let argument = |name: &str, required| PromptArgumentInfo {
            name: name.into(),
            description: "what it is".into(),
            required,
        };
        let prompt = PromptInfo {
            name: "review".into(),
            description: String::new(),
            arguments: vec![argument("file", true), argument("focus", false)],
        };
        arguments(&prompt, text).map(Value::Object)
    }

    #[test]
    fn different_prompts_have_different_commands() {
        assert_eq!(prompt_command("git", "review"), "/mcp__git__review");
        assert_ne!(
            prompt_command("git", "x__review"),
            prompt_command("git__x", "review")
        );
    }

    #[test]
    fn a_template_has_variables_to_replace() {
        let resource = |uri: &str| osier_protocol::ResourceInfo {
            uri: uri.to_owned(),
            name: "file".to_owned(),
            description: String::new(),
        };
        let listed = ["file:///{path}", "plain:///x", "odd://{"].map(resource);
        for (uri, expected) in [
            ("file:///{path}", Some("{path}")),
            ("file:///src/{id}.rs", None),
            ("plain:///x", None),
            ("odd://{", None),
        ] {
            assert_eq!(variable(&listed, uri), expected, "{uri}");
        }
    }

    /// A resource can have any content that a file of a prompt can have.
    #[test]
    fn blobs_are_attached_by_their_content() {
        let read = |data: &[u8]| {
            let blob = STANDARD.encode(data);
            let read = attachment(ResourceContents::blob(blob, "notes://a/b"));
            read.map(|file| (file.file_name, file.mime_type, file.extracted_text))
        };
        let expected = |mime_type: &str, text: Option<&str>| {
            Ok((
                "notes://a/b".to_owned(),
                mime_type.to_owned(),
                text.map(str::to_owned),
            ))
        };
        assert_eq!(
            read(b"plain words\n"),
            expected("text/plain", Some("plain words\n"))
        );
        assert_eq!(read(b"%PDF-1.4\n"), expected("application/pdf", None));
        assert!(read(&[0, 159, 146, 150]).is_err());
    }

    #[test]
    fn arguments_are_taken_in_order_or_by_name() {
        assert_eq!(typed("a.rs"), Ok(json!({"file": "a.rs"})));
        assert_eq!(
            typed("'a b.rs' look at names"),
            Ok(json!({"file": "a b.rs", "focus": "look at names"}))
        );
        assert_eq!(
            typed("focus=speed a.rs"),
            Ok(json!({"focus": "speed", "file": "a.rs"}))
        );
        assert_eq!(
            typed(""),
            Err("`review` needs the argument `file`: what it is".into())
        );
    }
}
