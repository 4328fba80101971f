//! How important the files are: a file that uses a name gives a part of its importance to the files
//! that define it. The fewer files define a name, the more it counts.

use std::ops::Range;

use crate::definition::{hash, stored};
use crate::index::Index;
use crate::walk::threads;

/// A name that more files define is ignored.
pub(crate) const COMMON: usize = 8;
const DAMPING: f32 = 0.85;
const ROUNDS: usize = 12;
/// Shorter names are not in the lists of uses.
const SHORTEST: usize = 3;

/// The files that define each name.
struct Names {
    /// Sorted.
    hashes: Vec<u32>,
    /// For each hash, the position of its first file in `files`; then the end of `files`.
    starts: Vec<u32>,
    files: Vec<u32>,
    weights: Vec<f32>,
    /// The first hash of each 16 high bits.
    buckets: Vec<u32>,
    /// A set of the 24 high bits of the hashes.
    bits: Vec<u64>,
}

impl Names {
    /// The names that the files `rows` define.
    fn of(index: &Index) -> Self {
        let mut all: Vec<(u32, u32, u8)> = Vec::new();
        for (number, row) in index.rows.iter().enumerate() {
            for found in stored(index.definitions(row)) {
                if found.name.len() >= SHORTEST {
                    let weight = quality(found.name);
                    all.push((hash(found.name.as_bytes()), number as u32, weight));
                }
            }
        }
        all.sort_unstable();
        all.dedup_by_key(|(hash, file, _)| (*hash, *file));
        let mut names = Self {
            hashes: Vec::new(),
            starts: Vec::new(),
            files: Vec::new(),
            weights: Vec::new(),
            buckets: Vec::with_capacity((1 << 16) + 1),
            bits: vec![0; 1 << 18],
        };
        for group in all.chunk_by(|one, other| one.0 == other.0) {
            if group.len() > COMMON {
                continue;
            }
            let (hash, _, quality) = group[0];
            names.hashes.push(hash);
            names.starts.push(names.files.len() as u32);
            names.weights.push(f32::from(quality) / group.len() as f32);
            names.files.extend(group.iter().map(|(_, file, _)| *file));
            names.bits[(hash >> 14) as usize] |= 1 << (hash >> 8 & 63);
        }
        names.starts.push(names.files.len() as u32);
        for bucket in 0..=1_u64 << 16 {
            let first = names
                .hashes
                .partition_point(|hash| u64::from(*hash) < bucket << 16);
            names.buckets.push(first as u32);
        }
        names
    }

    /// The position of a name.
    fn find(&self, hash: u32) -> Option<usize> {
        if self.bits[(hash >> 14) as usize] >> (hash >> 8 & 63) & 1 == 0 {
            return None;
        }
        let bucket = (hash >> 16) as usize;
        let start = self.buckets[bucket] as usize;
        let end = self.buckets[bucket + 1] as usize;
        let found = self.hashes[start..end].binary_search(&hash);
        found.ok().map(|place| start + place)
    }

    fn files_of(&self, name: usize) -> &[u32] {
        &self.files[self.starts[name] as usize..self.starts[name + 1] as usize]
    }

    /// Calls `visit` for each name of another file that the file uses, with the files that define the name, and its
    /// weight.
    fn used<'a>(
        &'a self,
        index: &'a Index,
        number: usize,
    ) -> impl Iterator<Item = (usize, &'a [u32], f32)> {
        let uses = index.uses(&index.rows[number]).iter();
        uses.filter_map(move |hash| {
            let name = self.find(*hash)?;
            let files = self.files_of(name);
            let is_own = files.contains(&(number as u32));
            (!is_own).then(|| (name, files, self.weights[name]))
        })
    }
}

/// Adds up the weights of the same file and makes all of them add up to 1.
fn merge(edges: &mut Vec<(u32, f32)>) {
    edges.sort_unstable_by_key(|(file, _)| *file);
    edges.dedup_by(|next, first| {
        let is_same = next.0 == first.0;
        if is_same {
            first.1 += next.1;
        }
        is_same
    });
    let sum: f32 = edges.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in edges {
        *weight /= sum;
    }
}

/// The quality of a name: one of several words is more likely to name only one thing.
pub(crate) fn quality(name: &str) -> u8 {
    let is_compound = name.trim_matches('_').contains('_')
        || name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    1 + u8::from(name.len() >= 8) + u8::from(is_compound)
}

/// The uses of names in a part of the files.
struct PartEdges {
    /// Edges of each file.
    counts: Vec<u32>,
    edges: Vec<(u32, f32)>,
    /// Names that were used.
    names: Vec<u32>,
}

/// Computes the ranks of all files and how many files use each definition.
pub(crate) fn rank(index: &mut Index) {
    let names = Names::of(index);
    let parts = edges(index, &names);
    let mut used = vec![0_u32; names.hashes.len()];
    for name in parts.iter().flat_map(|part| &part.names) {
        used[*name as usize] += 1;
    }
    let ranks = spread(index.rows.len(), &parts);
    drop(parts);
    for (row, rank) in index.rows.iter_mut().zip(ranks) {
        row.rank = rank;
    }
    let mut counts = Vec::new();
    for row in &index.rows {
        for found in stored(index.definitions(row)) {
            let name = names.find(hash(found.name.as_bytes()));
            let count = name.map_or(0, |name| used[name].min(255)) as u8;
            counts.push((row.definitions.0 as usize + found.uses_at, count));
        }
    }
    for (place, count) in counts {
        index.definitions[place] = count;
    }
}

fn edges(index: &Index, names: &Names) -> Vec<PartEdges> {
    let size = index.rows.len().div_ceil(threads()).max(1);
    let part = |range: Range<usize>| {
        let mut part = PartEdges {
            counts: Vec::with_capacity(range.len()),
            edges: Vec::new(),
            names: Vec::new(),
        };
        let mut own = Vec::new();
        for number in range {
            own.clear();
            for (name, files, weight) in names.used(index, number) {
                part.names.push(name as u32);
                own.extend(files.iter().map(|file| (*file, weight)));
            }
            merge(&mut own);
            part.counts.push(own.len() as u32);
            part.edges.extend_from_slice(&own);
        }
        part
    };
    let part = &part;
    std::thread::scope(|scope| {
        let starts = (0..index.rows.len()).step_by(size);
        let threads: Vec<_> = starts
            .map(|start| start..(start + size).min(index.rows.len()))
            .map(|range| scope.spawn(move || part(range)))
            .collect();
        let parts = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        parts.filter_map(Result::ok).collect()
    })
}

/// The importance of each file, 1 in the mean.
fn spread(count: usize, parts: &[PartEdges]) -> Vec<f32> {
    let mut ranks = vec![1.0_f32; count];
    for _ in 0..ROUNDS {
        let mut next = vec![1.0 - DAMPING; count];
        let mut number = 0;
        for part in parts {
            let mut at = 0;
            for edges in &part.counts {
                let end = at + *edges as usize;
                for (file, weight) in &part.edges[at..end] {
                    next[*file as usize] += DAMPING * weight * ranks[number];
                }
                at = end;
                number += 1;
            }
        }
        // Files that use nothing pass nothing on; the scaling keeps the mean at 1.
        let sum: f32 = next.iter().sum();
        let factor = count as f32 / sum.max(f32::MIN_POSITIVE);
        for rank in &mut next {
            *rank *= factor;
        }
        ranks = next;
    }
    ranks
}
