//! The session tree without its texts.

use crate::Tag;
use serde::{Deserialize, Serialize};

/// No parent.
const NONE: u32 = u32::MAX;

/// Consecutive entries of a session, moves of the leaf among them (`Tag::Leaf`, no parent).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "Wire", into = "Wire")]
pub struct Outline {
    /// Number of the first entry.
    first: u32,
    /// The ids one behind the other, and where each ends.
    ids: String,
    ends: Vec<u32>,
    parents: Vec<u32>,
    tags: Vec<Tag>,
    /// Names of entries of the whole session, by number.
    pub labels: Vec<(u32, String)>,
    /// Entries of the whole session that are out of sight with what hangs on them.
    pub hidden: Vec<u32>,
    /// The current leaf; `None` before every root.
    pub leaf: Option<u32>,
}

/// One entry of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutlineEntry<'a> {
    pub id: &'a str,
    /// Number of what it hangs on.
    pub parent: Option<u32>,
    pub tag: Tag,
}

/// How an outline travels.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Wire {
    first: u32,
    /// Id, number of the parent, kind.
    entries: Vec<(String, Option<u32>, Tag)>,
    labels: Vec<(u32, String)>,
    hidden: Vec<u32>,
    leaf: Option<u32>,
}

impl Outline {
    /// An outline that begins at the entry `first`, with room for `count` entries.
    pub fn starting_at(first: u32, count: usize) -> Self {
        Self {
            first,
            ids: String::with_capacity(count * 8),
            ends: Vec::with_capacity(count),
            parents: Vec::with_capacity(count),
            tags: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    /// Number of the first entry.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Entries of the session up to the last one here.
    pub fn end(&self) -> u32 {
        self.first + self.tags.len() as u32
    }

    /// The entry `number`, if it is here.
    pub fn get(&self, number: u32) -> Option<OutlineEntry<'_>> {
        let place = number.checked_sub(self.first)? as usize;
        let parent = *self.parents.get(place)?;
        let start = place
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        Some(OutlineEntry {
            id: &self.ids[start..self.ends[place] as usize],
            parent: (parent != NONE).then_some(parent),
            tag: self.tags[place],
        })
    }

    /// Goes on with what follows; false when it does not follow.
    pub fn extend(&mut self, later: Self) -> bool {
        if later.first != self.end() {
            return false;
        }
        let offset = self.ids.len() as u32;
        self.ids.push_str(&later.ids);
        self.ends.extend(later.ends.iter().map(|end| end + offset));
        self.parents.extend(later.parents);
        self.tags.extend(later.tags);
        self.labels = later.labels;
        self.hidden = later.hidden;
        self.leaf = later.leaf;
        true
    }

    /// Adds an entry; `id` appends its id.
    pub fn push(&mut self, id: impl FnOnce(&mut String), parent: Option<u32>, tag: Tag) {
        id(&mut self.ids);
        self.ends.push(self.ids.len() as u32);
        self.parents.push(parent.unwrap_or(NONE));
        self.tags.push(tag);
    }
}

impl From<Wire> for Outline {
    fn from(wire: Wire) -> Self {
        let mut outline = Self {
            first: wire.first,
            labels: wire.labels,
            hidden: wire.hidden,
            leaf: wire.leaf,
            ..Self::default()
        };
        for (id, parent, tag) in wire.entries {
            outline.push(|ids| ids.push_str(&id), parent, tag);
        }
        outline
    }
}

impl From<Outline> for Wire {
    fn from(outline: Outline) -> Self {
        let entries = (outline.first..outline.end()).filter_map(|number| {
            let entry = outline.get(number)?;
            Some((entry.id.to_owned(), entry.parent, entry.tag))
        });
        Self {
            first: outline.first,
            entries: entries.collect(),
            labels: outline.labels.clone(),
            hidden: outline.hidden.clone(),
            leaf: outline.leaf,
        }
    }
}
