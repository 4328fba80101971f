//! Files that are related to the files of the conversation, because one uses the other. Each
//! direction needs one pass over the index.

use std::collections::{BTreeMap, HashMap};

use crate::definition::{hash, stored};
use crate::index::Index;
use crate::rank::{COMMON, quality};

/// Maximum boosts of a file of the conversation, of all files that it uses, and of each file that
/// uses it.
const OWN: f32 = 20.0;
const USED: f32 = 100.0;
const USERS: f32 = 10.0;

/// A set of names that rejects most other names without a search.
struct Wanted {
    shares: HashMap<u32, f32>,
    bits: Vec<u64>,
}

impl Wanted {
    fn new() -> Self {
        Self {
            shares: HashMap::new(),
            bits: vec![0; 1 << 12],
        }
    }

    fn add(&mut self, hash: u32, share: f32) {
        *self.shares.entry(hash).or_insert(0.0) += share;
        self.bits[(hash >> 20) as usize] |= 1 << (hash >> 14 & 63);
    }

    fn get(&self, hash: u32) -> Option<f32> {
        let may_be = self.bits[(hash >> 20) as usize] >> (hash >> 14 & 63) & 1 == 1;
        may_be.then(|| self.shares.get(&hash).copied()).flatten()
    }
}

/// The boosts of all files, from the files `focus` of the conversation, the most recent first.
pub(crate) fn boosts(index: &Index, focus: &[usize]) -> HashMap<u32, f32> {
    let mut boosts = HashMap::new();
    if focus.is_empty() {
        return boosts;
    }
    let (mut used, mut defined) = (Wanted::new(), Wanted::new());
    for (place, number) in focus.iter().enumerate() {
        let share = 1.0 / (1.0 + place as f32 / 4.0);
        *boosts.entry(*number as u32).or_insert(0.0) += OWN * share;
        let row = &index.rows[*number];
        let own: Vec<u32> = stored(index.definitions(row))
            .map(|found| hash(found.name.as_bytes()))
            .collect();
        let uses = index.uses(row).iter();
        for hash in uses.filter(|hash| !own.contains(hash)) {
            used.add(*hash, share);
        }
        for found in stored(index.definitions(row)).filter(|found| found.uses > 0) {
            defined.add(hash(found.name.as_bytes()), share);
        }
    }
    add_used(index, &used, &mut boosts);
    for (number, row) in index.rows.iter().enumerate() {
        let shares = index.uses(row).iter().filter_map(|hash| defined.get(*hash));
        let sum: f32 = shares.sum();
        if sum > 0.0 {
            *boosts.entry(number as u32).or_insert(0.0) += sum.min(USERS);
        }
    }
    boosts
}

/// Adds boosts to the files that define the names.
fn add_used(index: &Index, used: &Wanted, boosts: &mut HashMap<u32, f32>) {
    let mut found: BTreeMap<u32, (f32, Vec<u32>)> = BTreeMap::new();
    for (number, row) in index.rows.iter().enumerate() {
        for symbol in stored(index.definitions(row)) {
            let name = hash(symbol.name.as_bytes());
            if let Some(share) = used.get(name) {
                let weight = share * f32::from(quality(symbol.name));
                let (_, files) = found.entry(name).or_insert((weight, Vec::new()));
                if files.last() != Some(&(number as u32)) {
                    files.push(number as u32);
                }
            }
        }
    }
    found.retain(|_, (_, files)| files.len() <= COMMON);
    let sum: f32 = found.values().map(|(weight, _)| weight).sum();
    for (weight, files) in found.into_values() {
        let each = USED * weight / sum / files.len() as f32;
        for file in files {
            *boosts.entry(file).or_insert(0.0) += each;
        }
    }
}
