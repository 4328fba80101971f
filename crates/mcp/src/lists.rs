//! The latest lists of a server: tools, resources and prompts. Only the offered entries stay in
//! memory: each page is dropped before the next one is requested.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{PaginatedRequestParams, Prompt, Resource, ResourceTemplate};
use rmcp::service::{Peer, RoleClient, ServiceError};

use super::repair;
use super::tools::ServerTool;
use osier_base::text;
use osier_protocol::{PromptArgumentInfo, PromptInfo, ResourceInfo};

/// Maximum pages of a list.
pub(super) const PAGE_LIMIT: usize = 200;
/// Maximum bytes of a description in lists.
const DESCRIPTION_LIMIT: usize = 300;
/// Maximum number of tools per server. Many tools are loaded on demand.
const TOOL_LIMIT: usize = 1000;
/// Maximum size of all tools: see [`ServerTool::size`].
const TOOL_SIZE_LIMIT: usize = 64 * 1024 * 1024;
/// Maximum number of resources and prompts.
const ENTRY_LIMIT: usize = 5000;
/// Time for the list of resource templates.
const TEMPLATES_WAIT: Duration = Duration::from_secs(2);
/// Maximum bytes of all resources and of all prompts.
const ENTRY_SIZE_LIMIT: usize = 4 * 1024 * 1024;

/// The lists that were requested.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub tools: Option<Listed<Arc<ServerTool>>>,
    pub resources: Option<Listed<ResourceInfo>>,
    pub prompts: Option<Listed<PromptInfo>>,
    /// The number of announced changes that `tools` includes.
    pub tool_changes: u64,
    /// The server's instructions for the use of its tools; empty if it has none.
    pub instructions: Option<String>,
    pub version: Option<String>,
    pub protocol: Option<String>,
}

impl Lists {
    /// The entries that could not be read.
    pub(super) fn unreadable(&self) -> Vec<String> {
        let lists = [
            self.tools.as_ref().map(|list| &list.unreadable),
            self.resources.as_ref().map(|list| &list.unreadable),
            self.prompts.as_ref().map(|list| &list.unreadable),
        ];
        lists.into_iter().flatten().flatten().cloned().collect()
    }
}

/// The entries of one list that are within the limits, in order.
#[derive(Debug)]
pub(super) struct Listed<T> {
    pub entries: Vec<T>,
    /// The number of entries that were read.
    pub total: usize,
    /// The number of entries beyond the limits.
    pub left_out: usize,
    /// Whether some entries were not read.
    pub is_partial: bool,
    /// The names of entries and fields that cannot be read.
    pub unreadable: Vec<String>,
    /// The cursor of the last page.
    cursor: Option<String>,
    count_limit: usize,
    size_left: usize,
}

impl Listed<Arc<ServerTool>> {
    /// A list of tools.
    pub(super) fn tools() -> Self {
        Self::new(TOOL_LIMIT, TOOL_SIZE_LIMIT)
    }
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl<T> Listed<T> {
    fn new(count_limit: usize, size_limit: usize) -> Self {
        Self {
            entries: Vec::new(),
            total: 0,
            left_out: 0,
            is_partial: false,
            unreadable: Vec::new(),
            cursor: None,
            count_limit,
            size_left: size_limit,
        }
    }

    /// Adds the next entry if it fits. `entry` returns the entry and its size.
    pub(super) fn add(&mut self, entry: impl FnOnce() -> (T, usize)) {
        self.total += 1;
        let entry = (self.entries.len() < self.count_limit).then(entry);
        match entry {
            Some((entry, size)) if size <= self.size_left => {
                self.size_left -= size;
                self.entries.push(entry);
            }
            _ => self.left_out += 1,
        }
    }

    /// Ends a page, and returns the request for the next one if there is one to read.
    pub(super) fn next(&mut self, cursor: Option<String>) -> Option<PaginatedRequestParams> {
        let cursor = cursor.filter(|cursor| !cursor.is_empty())?;
        if self.left_out > 0 {
            self.is_partial = true;
            return None;
        }
        if self.cursor.as_ref() == Some(&cursor) {
            // The server sends the same page again and again.
            return None;
        }
        self.cursor = Some(cursor.clone());
        let mut params = PaginatedRequestParams::default();
        params.cursor = Some(cursor);
        Some(params)
    }

    /// A list that the server did not send.
    pub(super) fn failed(what: &str, error: &ServiceError) -> Self {
        Self {
            unreadable: vec![format!("the list of {what} ({error})")],
            ..Self::default()
        }
    }

    /// The count as `1000 tools`; `what` is the singular.
    pub(super) fn count(&self, what: &str) -> String {
        let more = if self.is_partial { "more than " } else { "" };
        let count = text::counted(self.total, what, &format!("{what}s"));
        format!("{more}{count}")
    }
}

pub(super) async fn listed_resources(
    peer: &Peer<RoleClient>,
) -> Result<Listed<ResourceInfo>, ServiceError> {
    let mut resources = Listed::new(ENTRY_LIMIT, ENTRY_SIZE_LIMIT);
    let mut params = PaginatedRequestParams::default();
    for _ in 0..PAGE_LIMIT {
        let page = peer.list_resources(Some(params)).await?;
        resources
            .unreadable
            .extend(repair::left_out(page.meta.as_ref()));
        for resource in page.resources {
            resources.add(|| resource_info(resource));
        }
        match resources.next(page.next_cursor) {
            Some(next) => params = next,
            None => break,
        }
    }
    resources.cursor = None;
    // Servers without templates may not answer.
    let templates = tokio::time::timeout(TEMPLATES_WAIT, add_templates(peer, &mut resources));
    if let Ok(Err(error @ ServiceError::UnexpectedResponse)) = templates.await {
        let unread = format!("the templates of resources ({error})");
        resources.unreadable.push(unread);
    }
    Ok(resources)
}

/// Adds the templates of resources, whose URIs have variables that the user replaces.
async fn add_templates(
    peer: &Peer<RoleClient>,
    resources: &mut Listed<ResourceInfo>,
) -> Result<(), ServiceError> {
    let mut params = PaginatedRequestParams::default();
    for _ in 0..PAGE_LIMIT {
        let page = peer.list_resource_templates(Some(params)).await?;
        let unread = repair::left_out(page.meta.as_ref());
        resources.unreadable.extend(unread);
        for template in page.resource_templates {
            resources.add(|| template_info(template));
        }
        match resources.next(page.next_cursor) {
            Some(next) => params = next,
            None => break,
        }
    }
    Ok(())
}

fn template_info(template: ResourceTemplate) -> (ResourceInfo, usize) {
    let mut resource = Resource::new(template.uri_template, template.name);
    resource.description = template.description;
    resource_info(resource)
}

fn resource_info(resource: Resource) -> (ResourceInfo, usize) {
    let info = ResourceInfo {
        name: text::single_line(&resource.name),
        description: short(resource.description.as_deref()),
        uri: resource.uri,
    };
    let size = info.name.len() + info.description.len() + info.uri.len();
    (info, size)
}

pub(super) async fn listed_prompts(
    peer: &Peer<RoleClient>,
) -> Result<Listed<PromptInfo>, ServiceError> {
    let mut prompts = Listed::new(ENTRY_LIMIT, ENTRY_SIZE_LIMIT);
    let mut params = PaginatedRequestParams::default();
    for _ in 0..PAGE_LIMIT {
        let page = peer.list_prompts(Some(params)).await?;
        prompts
            .unreadable
            .extend(repair::left_out(page.meta.as_ref()));
        for prompt in page.prompts {
            prompts.add(|| prompt_info(prompt));
        }
        match prompts.next(page.next_cursor) {
            Some(next) => params = next,
            None => break,
        }
    }
    Ok(prompts)
}

fn prompt_info(prompt: Prompt) -> (PromptInfo, usize) {
    let arguments = prompt.arguments.unwrap_or_default().into_iter();
    let arguments: Vec<PromptArgumentInfo> = arguments
        .map(|argument| PromptArgumentInfo {
            description: short(argument.description.as_deref()),
            required: argument.required == Some(true),
            name: argument.name,
        })
        .collect();
    let description = short(prompt.description.as_deref());
    let size = |argument: &PromptArgumentInfo| {
        size_of::<PromptArgumentInfo>() + argument.name.len() + argument.description.len()
    };
    let size = prompt.name.len() + description.len() + arguments.iter().map(size).sum::<usize>();
    let info = PromptInfo {
        name: prompt.name,
        description,
        arguments,
    };
    (info, size)
}

fn short(description: Option<&str>) -> String {
    let description = description.unwrap_or_default();
    text::single_line(text::head_bytes(description, DESCRIPTION_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds resources whose URIs have these lengths. Returns the lengths of all accepted ones.
    fn accepted(
        list: &mut Listed<ResourceInfo>,
        uris: impl IntoIterator<Item = usize>,
    ) -> Vec<usize> {
        for length in uris {
            list.add(|| resource_info(Resource::new("u".repeat(length), "")));
        }
        list.entries.iter().map(|entry| entry.uri.len()).collect()
    }

    #[test]
    fn only_entries_that_fit_are_kept() {
        let mut list = Listed::new(3, 100);
        assert_eq!(accepted(&mut list, [60, 101]), [60]);
        assert_eq!((list.total, list.left_out, list.size_left), (2, 1, 40));
        assert_eq!(accepted(&mut list, [41, 40, 0, 0, 0]), [60, 40, 0]);
        assert_eq!((list.total, list.left_out, list.size_left), (7, 4, 0));
        assert_eq!(list.count("resource"), "7 resources");
        assert_eq!(list.next(Some("2".into())), None);
        assert_eq!(list.count("resource"), "more than 7 resources");
    }

    #[test]
    fn pages_are_requested_until_something_does_not_fit() {
        let mut list = Listed::new(ENTRY_LIMIT, ENTRY_SIZE_LIMIT);
        accepted(&mut list, vec![1; 4999]);
        let next = list.next(Some("2".into())).unwrap();
        assert_eq!(next.cursor.as_deref(), Some("2"));
        accepted(&mut list, [1; 2]);
        assert_eq!((list.entries.len(), list.left_out), (5000, 1));
        assert_eq!(list.next(Some("3".into())), None);
        assert_eq!(Listed::<ResourceInfo>::new(1, 1).next(None), None);
    }
}
