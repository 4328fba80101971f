//! Resources that are attached to the conversation. osier subscribes to them and tells the model once when one has changed.

#![expect(
    deprecated,
    reason = "servers of versions before 2026-07-28 have a request for each subscription"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_agent::{AgentMessage, CustomMessage};
use osier_base::{clock, text};
use parking_lot::Mutex;
use rmcp::model::{
    ProtocolVersion, ServerNotification, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RoleClient};
use serde_json::json;

/// The largest number of attached resources of one server.
const MOST: usize = 100;
/// The largest width of an address in a message, in columns.
const SHOWN: usize = 200;

/// The attached resources of one server, and whether each has changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Attached(Arc<Mutex<BTreeMap<String, bool>>>);

impl Attached {
    /// Adds a resource. Returns whether it is new and there is room for it.
    fn add(&self, uri: &str) -> bool {
        let mut all = self.0.lock();
        if let Some(has_changed) = all.get_mut(uri) {
            // The model has just received the new content.
            *has_changed = false;
            return false;
        }
        let fits = all.len() < MOST;
        if fits {
            all.insert(uri.to_owned(), false);
        }
        fits
    }

    /// Marks the resources that the server's message is about: the one with this address, and those that contain it.
    pub(super) fn changed(&self, uri: &str) {
        let mut all = self.0.lock();
        for (attached, has_changed) in &mut *all {
            let rest = uri.strip_prefix(attached.trim_end_matches('/'));
            *has_changed |= rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        }
    }

    /// Removes the resources that have changed, and returns them.
    fn take_changed(&self) -> Vec<String> {
        let mut all = self.0.lock();
        let changed = all.extract_if(.., |_, has_changed| *has_changed);
        changed.map(|(uri, _)| uri).collect()
    }

    /// Subscribes to an attached resource in the background, if the server offers it.
    pub(super) fn subscribe(&self, uri: &str, peer: &Peer<RoleClient>) {
        let info = peer.peer_info();
        let offers = info.as_ref().is_some_and(|info| {
            let resources = info.capabilities.resources.as_ref();
            resources.and_then(|resources| resources.subscribe) == Some(true)
        });
        if !offers || !self.add(uri) {
            return;
        }
        let is_new =
            info.is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28);
        let (all, peer, uri) = (self.clone(), peer.clone(), uri.to_owned());
        osier_base::task::spawn(async move {
            if is_new {
                all.follow(&peer, &uri).await;
            } else if peer
                .subscribe(SubscribeRequestParams::new(&*uri))
                .await
                .is_err()
            {
                all.0.lock().remove(&uri);
            }
        });
    }

    /// Waits until a subscription of a new server says that the resource has changed.
    async fn follow(&self, peer: &Peer<RoleClient>, uri: &str) {
        let filter = SubscriptionFilter::builder().resource_subscription(uri);
        let Ok(mut subscription) = peer.listen(filter.build()).await else {
            self.0.lock().remove(uri);
            return;
        };
        while let Ok(Some(notification)) = subscription.next().await {
            if let ServerNotification::ResourceUpdatedNotification(updated) = notification {
                return self.changed(&updated.params.uri);
            }
        }
    }

    /// The message for the model about changed resources of `server`; `None` if nothing has changed.
    pub(super) fn news(
        &self,
        server: &str,
        peer: Option<&Peer<RoleClient>>,
    ) -> Option<AgentMessage> {
        let changed = self.take_changed();
        if changed.is_empty() {
            return None;
        }
        if let Some(peer) = peer.cloned() {
            let uris = changed.clone();
            osier_base::task::spawn(async move {
                for uri in uris {
                    let params = UnsubscribeRequestParams::new(uri);
                    // A server that has ended has no subscriptions, so an error does not matter.
                    let _ = peer.unsubscribe(params).await;
                }
            });
        }
        let names = changed.iter().map(|uri| {
            let name = text::single_line(uri).replace(['<', '>'], "?");
            format!("@{server}:{}", text::truncate(&name, SHOWN))
        });
        let names: Vec<String> = names.collect();
        let text = format!(
            "<system-reminder>\nThese attached resources have changed on their server since you got them; what you have is \
             old: {}\n</system-reminder>",
            names.join(", ")
        );
        Some(AgentMessage::Custom(CustomMessage {
            kind: "mcp_resources".to_owned(),
            text,
            display: false,
            details: json!({"server": server, "resources": changed}),
            timestamp: clock::now_ms(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_until_the_resource_is_attached_again() {
        let attached = Attached::default();
        let news = || attached.news("shop", None).map(|message| message.text());
        assert!(attached.add("file:///a"));
        assert!(attached.add("file:///b/"));
        assert_eq!(news(), None);
        for uri in ["file:///a", "file:///b/c", "file:///ab", "file:///d"] {
            attached.changed(uri);
        }
        let expected = "<system-reminder>\nThese attached resources have changed on their server since you got them; what you \
            have is old: @shop:file:///a, @shop:file:///b/\n</system-reminder>";
        assert_eq!(news().as_deref(), Some(expected));
        attached.changed("file:///a");
        assert_eq!(news(), None);
        // The model receives the new content.
        assert!(attached.add("file:///a"));
        attached.changed("file:///a");
        assert!(!attached.add("file:///a"));
        assert_eq!(news(), None);
    }
}
