//! The session tree without its texts.

use crate::Tag;
use serde::{Deserialize, Serialize};

/// No parent.
const NONE: u32 = u32::MAX;

/// Consecutive entries of a session, including moves of the current entry (`Tag::Leaf`, no parent).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "Wire", into = "Wire")]
pub struct Outline {
    /// Number of the first entry.
    first: u32,
    /// All ids in one string, and the end of each.
    ids: String,
    ends: Vec<u32>,
    parents: Vec<u32>,
    tags: Vec<Tag>,
    /// Labels of entries of the complete session, by number.
    pub labels: Vec<(u32, String)>,
    /// Numbers of entries of the complete session that are hidden with all entries below them, in the order in which
    /// they were hidden.
    pub hidden: Vec<u32>,
    /// Numbers of entries of the complete session below which the tree is collapsed.
    pub folded: Vec<u32>,
    /// The number of the current entry; `None` before every root.
    pub leaf: Option<u32>,
    /// Numbers of the current entries before the last moves, newest first.
    pub recent: Vec<u32>,
}

/// One entry of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutlineEntry<'a> {
    pub id: &'a str,
    /// Number of its parent.
    pub parent: Option<u32>,
    pub tag: Tag,
}

/// The serialized form of an outline.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Wire {
    first: u32,
    /// Id, number of the parent, kind.
    entries: Vec<(String, Option<u32>, Tag)>,
    labels: Vec<(u32, String)>,
    hidden: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    folded: Vec<u32>,
    leaf: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    recent: Vec<u32>,
}

impl Outline {
    /// An outline that begins with the entry `first`, with capacity for `count` entries.
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

    /// The number after the last entry.
    pub fn end(&self) -> u32 {
        self.first + self.tags.len() as u32
    }

    /// The entry `number`, if the outline contains it.
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

    /// Appends the entries that follow; false when `later` does not begin where this outline ends.
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
        self.folded = later.folded;
        self.leaf = later.leaf;
        self.recent = later.recent;
        true
    }

    /// Adds an entry; `id` appends the entry's id to the string.
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
            folded: wire.folded,
            leaf: wire.leaf,
            recent: wire.recent,
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
            folded: outline.folded.clone(),
            leaf: outline.leaf,
            recent: outline.recent.clone(),
        }
    }
}
