//! The latest lists of a server: tools, resources and prompts.

use std::sync::Arc;

use rmcp::model::PaginatedRequestParams;
use rmcp::service::{Peer, RoleClient, ServiceError};

use super::tools::ServerTool;
use osier_base::text;
use osier_protocol::{PromptArgumentInfo, PromptInfo, ResourceInfo};

/// Maximum bytes of a description in lists.
const DESCRIPTION_LIMIT: usize = 300;
/// Maximum number of resources and prompts.
const ENTRY_LIMIT: usize = 5000;

/// The parts that were listed.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub tools: Option<Vec<Arc<ServerTool>>>,
    pub resources: Option<Vec<ResourceInfo>>,
    pub prompts: Option<Vec<PromptInfo>>,
    pub version: Option<String>,
    pub protocol: Option<String>,
}

pub(super) async fn listed_resources(
    peer: &Peer<RoleClient>,
    pages: usize,
) -> Result<Vec<ResourceInfo>, ServiceError> {
    let mut resources = Vec::new();
    let mut params = PaginatedRequestParams::default();
    for _ in 0..pages {
        let page = peer.list_resources(Some(params.clone())).await?;
        resources.extend(page.resources.into_iter().map(|resource| ResourceInfo {
            uri: resource.uri,
            name: text::single_line(&resource.name),
            description: short(resource.description.as_deref()),
        }));
        params.cursor = page.next_cursor;
        if params.cursor.is_none() || resources.len() >= ENTRY_LIMIT {
            break;
        }
    }
    resources.truncate(ENTRY_LIMIT);
    Ok(resources)
}

pub(super) async fn listed_prompts(
    peer: &Peer<RoleClient>,
    pages: usize,
) -> Result<Vec<PromptInfo>, ServiceError> {
    let mut prompts = Vec::new();
    let mut params = PaginatedRequestParams::default();
    for _ in 0..pages {
        let page = peer.list_prompts(Some(params.clone())).await?;
        prompts.extend(page.prompts.into_iter().map(|prompt| {
            let arguments = prompt.arguments.unwrap_or_default().into_iter();
            let arguments = arguments.map(|argument| PromptArgumentInfo {
                description: short(argument.description.as_deref()),
                required: argument.required == Some(true),
                name: argument.name,
            });
            PromptInfo {
                name: prompt.name,
                description: short(prompt.description.as_deref()),
                arguments: arguments.collect(),
            }
        }));
        params.cursor = page.next_cursor;
        if params.cursor.is_none() || prompts.len() >= ENTRY_LIMIT {
            break;
        }
    }
    prompts.truncate(ENTRY_LIMIT);
    Ok(prompts)
}

fn short(description: Option<&str>) -> String {
    let description = description.unwrap_or_default();
    text::single_line(text::head_bytes(description, DESCRIPTION_LIMIT))
}
