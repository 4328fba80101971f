//! Requests about stored sessions, which need not be open.

use std::path::Path;

use agent_client_protocol_schema::v1 as acp;

use crate::jsonrpc::{error, internal_error, invalid_params};
use osier_base::folders::Folders;
use osier_index::SessionIndex;
use osier_protocol::Mark;
use osier_session::session_index::flags::SessionFlags;
use osier_store::{Scope, SessionDirectory, SessionError};

/// Sessions in one response to `session/list`.
const PAGE_SIZE: usize = 100;

/// A page of the stored sessions, those last changed first.
pub(super) fn list(
    folders: &Folders,
    request: &acp::ListSessionsRequest,
) -> acp::Result<acp::AgentResponse> {
    let scope = request.cwd.as_deref().map_or(Scope::All, Scope::Project);
    let start: usize = match request.cursor.as_deref().map(str::parse) {
        None => 0,
        Some(Ok(start)) => start,
        Some(Err(_)) => {
            let text = "invalid `cursor`; expected a `nextCursor` of this agent";
            return Err(invalid_params(text));
        }
    };
    let (archived, others) = match request.archived.clone().unwrap_or_default() {
        acp::SessionArchiveFilter::Exclude => (false, true),
        acp::SessionArchiveFilter::Include => (true, true),
        acp::SessionArchiveFilter::Only => (true, false),
        _ => {
            let text = "unknown `archived`; expected `exclude`, `include` or `only`";
            return Err(invalid_params(text));
        }
    };
    let flags = SessionFlags::read(&folders.marks());
    let is_archived = |id: &str| flags.has(Mark::Archived, id);
    let is_wanted = |id: &str| if is_archived(id) { archived } else { others };
    let sessions = SessionDirectory::new(&folders.data).list(scope);
    let sessions = sessions
        .map_err(|error| internal_error(error.to_string()))?
        .into_iter();
    let mut sessions = sessions
        .filter(|session| Path::new(&session.cwd).is_absolute() && is_wanted(&session.id))
        .skip(start);
    let page = sessions.by_ref().take(PAGE_SIZE).map(|session| {
        let updated = jiff::Timestamp::from_millisecond(session.modified).ok();
        let archived = is_archived(&session.id);
        acp::SessionInfo::new(session.id, session.cwd)
            .archived(archived)
            .title(session.name.or(session.first_prompt))
            .updated_at(updated.map(|time| time.to_string()))
    });
    let response = acp::ListSessionsResponse::new(page.collect());
    let next = sessions.next().map(|_| (start + PAGE_SIZE).to_string());
    Ok(acp::AgentResponse::ListSessionsResponse(
        response.next_cursor(next),
    ))
}

/// Moves a closed session to the trash. `osier sessions restore` restores it.
pub(super) fn delete(folders: &Folders, id: &acp::SessionId) -> acp::Result<acp::AgentResponse> {
    SessionDirectory::new(&folders.data)
        .find(&id.0)
        .and_then(|path| SessionIndex::new(&folders.data).trash().delete(&path))
        .map_err(|cause| missing(&cause))?;
    let response = acp::DeleteSessionResponse::new();
    Ok(acp::AgentResponse::DeleteSessionResponse(response))
}

/// Archives a closed session.
pub(super) fn archive(folders: &Folders, id: &acp::SessionId) -> acp::Result<acp::AgentResponse> {
    mark(folders, id, true)?;
    let response = acp::ArchiveSessionResponse::new();
    Ok(acp::AgentResponse::ArchiveSessionResponse(response))
}

pub(super) fn unarchive(folders: &Folders, id: &acp::SessionId) -> acp::Result<acp::AgentResponse> {
    mark(folders, id, false)?;
    let response = acp::UnarchiveSessionResponse::new();
    Ok(acp::AgentResponse::UnarchiveSessionResponse(response))
}

fn mark(folders: &Folders, id: &acp::SessionId, archived: bool) -> acp::Result<()> {
    SessionDirectory::new(&folders.data)
        .find(&id.0)
        .map_err(|cause| missing(&cause))?;
    SessionFlags::set(&folders.marks(), &id.0, Mark::Archived, archived)
        .map_err(|cause| internal_error(cause.to_string()))?;
    Ok(())
}

/// Whether a session is open here or stored.
pub(super) fn status(
    folders: &Folders,
    id: &acp::SessionId,
    is_open: bool,
) -> acp::Result<acp::AgentResponse> {
    let status = if is_open {
        acp::SessionStatus::Open
    } else {
        SessionDirectory::new(&folders.data)
            .find(&id.0)
            .map_err(|cause| missing(&cause))?;
        acp::SessionStatus::Saved
    };
    let response = acp::SessionStatusResponse::new(status);
    Ok(acp::AgentResponse::SessionStatusResponse(response))
}

/// The title of a request, in one line.
///
/// # Errors
/// It is empty.
pub(super) fn title(request: &acp::SetSessionTitleRequest) -> acp::Result<String> {
    let words: Vec<&str> = request.title.split_whitespace().collect();
    let title = words.join(" ");
    if title.is_empty() {
        return Err(invalid_params("`title` is empty; expected the new title"));
    }
    Ok(title)
}

/// Renames a closed session.
pub(super) async fn rename(
    folders: Folders,
    id: acp::SessionId,
    title: String,
) -> acp::Result<acp::AgentResponse> {
    let path = SessionDirectory::new(&folders.data)
        .find(&id.0)
        .map_err(|cause| missing(&cause))?;
    osier_store::rename(&path, Some(&title))
        .await
        .map_err(|cause| internal_error(cause.to_string()))?;
    Ok(titled(title))
}

/// The response to a request that has set the title.
pub(super) fn titled(title: String) -> acp::AgentResponse {
    acp::AgentResponse::SetSessionTitleResponse(acp::SetSessionTitleResponse::new(title))
}

fn missing(cause: &SessionError) -> acp::Error {
    error(acp::ErrorCode::ResourceNotFound, cause.to_string())
}
