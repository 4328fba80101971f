//! Finds the tool that a vendor refuses, if its errors do not name it.
//!
//! Refused requests cost nothing, and answers are never wasted: after a refusal, half of the
//! suspects are held back and the request is sent again. When the model answers, the tools of that
//! request are known to be good, and the next request of the session includes half of the tools
//! that were held back. So one refused tool of n is found after about log2(n) refusals.

use std::collections::BTreeSet;

use super::{ToolKey, server_of};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Search {
    /// Tools that are held back, in order.
    held: Vec<ToolKey>,
    /// Tools of requests that succeeded.
    good: BTreeSet<ToolKey>,
    /// Whether a request succeeded.
    has_succeeded: bool,
    /// The last suspect, without which the next request is sent.
    last: Option<ToolKey>,
}

/// The result of a refusal.
#[derive(Debug, PartialEq)]
pub(super) enum Held {
    /// The tool is found.
    Found(ToolKey),
    /// The names of the tools that are held back.
    Suspects(Vec<String>),
}

impl Search {
    pub(super) fn is_active(&self) -> bool {
        !self.held.is_empty()
    }

    pub(super) fn holds(&self, tool: &ToolKey) -> bool {
        self.held.contains(tool)
    }

    /// Records that a request with the tools `sent` was refused. `None` if none of them can be the
    /// reason: then all are sent again.
    pub(super) fn refused(&mut self, sent: Vec<ToolKey>) -> Option<Held> {
        // The tools of osier itself are accepted everywhere.
        let is_suspect = |tool: &ToolKey| server_of(&tool.0).is_some() && !self.good.contains(tool);
        let mut suspects: Vec<ToolKey> = sent.into_iter().filter(is_suspect).collect();
        if suspects.len() == 1 && self.has_succeeded {
            return suspects.pop().map(Held::Found);
        }
        if suspects.is_empty() {
            self.held.clear();
            self.last = None;
            return None;
        }
        if let [last] = suspects.as_slice() {
            self.last = Some(last.clone());
        }
        self.held.extend(suspects.split_off(suspects.len() / 2));
        let names = self.held.iter().map(|(name, _)| name.clone());
        Some(Held::Suspects(names.collect()))
    }

    /// Records that a request with the tools `sent` succeeded. Returns the refused tool if this
    /// shows which one it is.
    pub(super) fn accepted(&mut self, sent: Vec<ToolKey>) -> Option<ToolKey> {
        self.good.extend(sent);
        self.has_succeeded = true;
        let found = self.last.take();
        self.held.retain(|tool| found.as_ref() != Some(tool));
        // The next request includes half of the held tools: no tool is blamed before a request with
        // it was refused.
        self.held.truncate(self.held.len() / 2);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches for the `refused` tools among `count`. Returns the number of requests, and the
    /// tools that are omitted in the end.
    fn searched(count: usize, refused: &[usize]) -> (usize, Vec<usize>) {
        let key = |number: usize| (format!("s__t{number}"), number as u64);
        let (mut search, mut found, mut requests) = (Search::default(), BTreeSet::new(), 0);
        loop {
            requests += 1;
            assert!(requests < 100, "the search ends");
            let all = (0..count).map(key);
            let sent = all.filter(|key| !found.contains(key) && !search.holds(key));
            let sent: Vec<ToolKey> = sent.collect();
            let is_refused = sent.iter().any(|key| refused.contains(&(key.1 as usize)));
            if is_refused {
                match search.refused(sent) {
                    Some(Held::Found(tool)) => drop(found.insert(tool)),
                    Some(Held::Suspects(_)) => {}
                    None => panic!("a tool is the reason"),
                }
                continue;
            }
            let count_sent = sent.len();
            found.extend(search.accepted(sent));
            if count_sent + found.len() == count {
                return (requests, found.iter().map(|key| key.1 as usize).collect());
            }
        }
    }

    #[test]
    fn refused_tools_are_found_and_no_others() {
        for (count, refused) in [
            (1, &[0][..]),
            (2, &[1]),
            (40, &[17]),
            (40, &[0, 39]),
            (64, &[5, 6, 7]),
        ] {
            let (requests, found) = searched(count, refused);
            assert_eq!(found, refused, "{count}");
            assert!(requests <= 16 + 16 * refused.len(), "{count} {requests}");
        }
    }

    #[test]
    fn tools_that_are_not_the_reason_are_sent_again() {
        let mut search = Search::default();
        let sent = vec![("s__a".to_owned(), 1), ("bash".to_owned(), 2)];
        let suspects = Held::Suspects(vec!["s__a".to_owned()]);
        assert_eq!(search.refused(sent), Some(suspects));
        assert_eq!(search.refused(vec![("bash".to_owned(), 2)]), None);
        assert!(!search.is_active());
    }
}
