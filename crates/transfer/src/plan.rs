//! Selects the entries of an export, and their structure.
//!
//! Entries that a transcript does not show (model changes, checkpoints) are omitted; their children become
//! children of the next shown ancestor. Hidden branches are omitted, except the current one. All steps are
//! linear and use entry numbers.

use osier_store::Reading;

use osier_protocol::ExportScope;

/// The number that stands for no entry.
const NONE: u32 = u32::MAX;

/// The structure of an export.
#[derive(Debug)]
pub(super) struct Plan {
    /// Shown entries in the order they were stored.
    pub shown: Vec<u32>,
    /// The nodes, by entry number.
    nodes: Vec<Node>,
    roots: Kin,
    /// The last shown entry of the current branch.
    pub leaf: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    /// The next shown ancestor.
    above: u32,
    /// The entry is on the current branch.
    on_path: bool,
    children: Kin,
    /// Number of siblings before it, and its position from 1.
    before: u32,
    after: u32,
    place: u32,
}

/// Shown entries with the same shown parent.
#[derive(Debug, Clone, Copy)]
struct Kin {
    first: u32,
    last: u32,
    count: u32,
}

const NO_KIN: Kin = Kin {
    first: NONE,
    last: NONE,
    count: 0,
};

/// The siblings of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Siblings {
    pub before: Option<u32>,
    pub after: Option<u32>,
    /// Position from 1.
    pub place: u32,
    pub count: u32,
}

fn known(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

impl Plan {
    pub(super) fn new(reading: &Reading, scope: ExportScope) -> Self {
        let count = reading.count() as usize;
        let node = Node {
            above: NONE,
            on_path: false,
            children: NO_KIN,
            before: NONE,
            after: NONE,
            place: 0,
        };
        let mut plan = Self {
            shown: Vec::new(),
            nodes: vec![node; count],
            roots: NO_KIN,
            leaf: None,
        };
        for number in reading.path(reading.leaf()) {
            plan.nodes[number as usize].on_path = true;
        }
        let mut hidden = vec![false; count];
        for number in 0..reading.count() {
            let place = number as usize;
            let parent = reading.parent(number);
            let on_path = plan.nodes[place].on_path;
            hidden[place] = !on_path
                && (reading.is_hidden(number)
                    || parent.is_some_and(|parent| hidden[parent as usize]));
            plan.nodes[place].above = parent.map_or(NONE, |parent| {
                if reading.tag(parent).is_shown() {
                    parent
                } else {
                    plan.nodes[parent as usize].above
                }
            });
            let wanted = on_path || (scope == ExportScope::Tree && !hidden[place]);
            if wanted && reading.tag(number).is_shown() {
                plan.show(number);
            }
        }
        plan
    }

    fn show(&mut self, number: u32) {
        let node = self.nodes[number as usize];
        if node.on_path {
            self.leaf = Some(number);
        }
        self.shown.push(number);
        let kin = match self.nodes.get_mut(node.above as usize) {
            Some(above) => &mut above.children,
            None => &mut self.roots,
        };
        let before = std::mem::replace(&mut kin.last, number);
        kin.count += 1;
        let place = kin.count;
        if before == NONE {
            kin.first = number;
        } else {
            self.nodes[before as usize].after = number;
        }
        let node = &mut self.nodes[number as usize];
        (node.before, node.place) = (before, place);
    }

    pub(super) fn above(&self, number: u32) -> Option<u32> {
        known(self.nodes[number as usize].above)
    }

    pub(super) fn is_on_path(&self, number: u32) -> bool {
        self.nodes[number as usize].on_path
    }

    pub(super) fn children(&self, number: Option<u32>) -> impl Iterator<Item = u32> {
        let kin = number.map_or(self.roots, |number| self.nodes[number as usize].children);
        std::iter::successors(known(kin.first), |number| {
            known(self.nodes[*number as usize].after)
        })
    }

    /// The siblings of `number`; `None` when it has none.
    pub(super) fn siblings(&self, number: u32) -> Option<Siblings> {
        let node = self.nodes[number as usize];
        let kin = known(node.above).map_or(self.roots, |above| self.nodes[above as usize].children);
        (kin.count > 1).then_some(Siblings {
            before: known(node.before),
            after: known(node.after),
            place: node.place,
            count: kin.count,
        })
    }

    /// All shown entries with their depth, branch by branch: the descendants of an entry precede the next
    /// branch. Only branches increase the depth.
    pub(super) fn in_tree_order(&self) -> Vec<(u32, usize)> {
        let mut order = Vec::with_capacity(self.shown.len());
        let mut next: Vec<(u32, usize)> = Vec::new();
        let put = |next: &mut Vec<(u32, usize)>, above: Option<u32>, depth: usize| {
            let from = next.len();
            next.extend(self.children(above).map(|child| (child, depth)));
            if next.len() - from > 1 {
                for (_, depth) in &mut next[from..] {
                    *depth += 1;
                }
            }
            next[from..].reverse();
        };
        put(&mut next, None, 0);
        while let Some((number, depth)) = next.pop() {
            order.push((number, depth));
            put(&mut next, Some(number), depth);
        }
        order
    }

    /// The shown entries as chains: the current branch first, then each other branch from where it splits off, in
    /// order of creation.
    pub(super) fn chains(&self) -> Vec<Vec<u32>> {
        let mut taken = vec![false; self.nodes.len()];
        let main: Vec<u32> = self
            .shown
            .iter()
            .copied()
            .filter(|number| self.is_on_path(*number))
            .collect();
        for number in &main {
            taken[*number as usize] = true;
        }
        let mut chains = vec![main];
        for start in &self.shown {
            let mut chain = Vec::new();
            let mut next = *start;
            while next != NONE && !taken[next as usize] {
                taken[next as usize] = true;
                chain.push(next);
                next = self.nodes[next as usize].children.last;
            }
            if !chain.is_empty() {
                chains.push(chain);
            }
        }
        chains
    }
}
