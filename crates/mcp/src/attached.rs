//! Resources that are attached to the conversation: osier subscribes to them, and says once that one has changed.

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

/// Resources of one server that are watched.
const MOST: usize = 100;
/// Columns of an address in a message.
const SHOWN: usize = 200;

/// The attached resources of one server, and whether each has changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Attached(Arc<Mutex<BTreeMap<String, bool>>>);

impl Attached {
    /// Notes a resource. Returns whether it is a new one, of which there are not too many.
    fn add(&self, uri: &str) -> bool {
        let mut all = self.0.lock();
        if let Some(has_changed) = all.get_mut(uri) {
            // The model has just received the new state.
            *has_changed = false;
            return false;
        }
        let fits = all.len() < MOST;
        if fits {
            all.insert(uri.to_owned(), false);
        }
        fits
    }

    /// The server says that the resource has changed, or a part of it.
    pub(super) fn changed(&self, uri: &str) {
        let mut all = self.0.lock();
        for (attached, has_changed) in &mut *all {
            let rest = uri.strip_prefix(attached.trim_end_matches('/'));
            *has_changed |= rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        }
    }

    /// The resources that have changed. They are attached no longer.
    fn take_changed(&self) -> Vec<String> {
        let mut all = self.0.lock();
        let changed = all.extract_if(.., |_, has_changed| *has_changed);
        changed.map(|(uri, _)| uri).collect()
    }

    /// Subscribes to a resource that was attached, in the background.
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

    /// Follows the subscription until the resource has changed.
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

    /// A message for the model about the resources of `server` that have changed.
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
                    // A server that ends has no subscriptions.
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
        // The model has the new state.
        assert!(attached.add("file:///a"));
        attached.changed("file:///a");
        assert!(!attached.add("file:///a"));
        assert_eq!(news(), None);
    }
}
